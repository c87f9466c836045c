"""`python -m tests.cli.fuzzing 1000`: how much CPU time that many cases of each kind take."""

import os
import sys
import tempfile
from collections import Counter
from pathlib import Path
from time import process_time

from tests.cli.fuzzing.kinds import KINDS, fuzz


def main() -> None:
    """How much CPU time the cases of each kind take: `python -m tests.cli.fuzzing 1000`."""
    for kind in KINDS:
        with tempfile.TemporaryDirectory() as folder:
            os.chdir(folder)
            codes, slowest, start = Counter[int](), (0.0, 0), process_time()
            for case in range(int(sys.argv[1])):
                before = process_time()
                codes.update(fuzz(kind, range(case, case + 1), Path(folder)))
                slowest = max(slowest, (process_time() - before, case))
            print(kind, f"{process_time() - start:.1f} s, slowest {slowest[0]:.2f} s in {slowest[1]},", dict(codes))
            os.chdir("/")


if __name__ == "__main__":
    main()
