"""`python -m tests.cli.fuzzing 1000`: that many cases of each kind, with their CPU time."""

import os
import sys
import tempfile
from collections import Counter
from pathlib import Path
from time import process_time

from tests.cli.fuzzing.kinds import KINDS, fuzz


def main() -> None:
    """Try that many cases of each kind; say how much CPU time they take, and which fail."""
    failed = 0
    for kind in KINDS:
        with tempfile.TemporaryDirectory() as folder:
            os.chdir(folder)
            codes, slowest, start = Counter[int](), (0.0, 0), process_time()
            for case in range(int(sys.argv[1])):
                before = process_time()
                try:
                    codes.update(fuzz(kind, range(case, case + 1), Path(folder)))
                except AssertionError as error:
                    failed += 1
                    print(error)
                slowest = max(slowest, (process_time() - before, case))
            print(kind, f"{process_time() - start:.1f} s, slowest {slowest[0]:.2f} s in {slowest[1]},", dict(codes))
            os.chdir("/")
    sys.exit(f"{failed} failed" if failed else 0)


if __name__ == "__main__":
    main()
