"""Operations a CPU second that `zabcheck clients check` judges by all promises, and the peak of its memory.

The histories are those of the service in memory that the tests have, which breaks nothing. Each is judged in a process
of its own, whose start counts, too.
"""

from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks.check import REPEATS, measured
from tests.zookeeper.clients.service import World
from zabcheck.zookeeper.clients import history, parquet
from zabcheck.zookeeper.clients.history import Request

OPERATIONS = (100_000, 1_000_000)


def main() -> None:
    print(f"operations a CPU second, all promises, nothing broken, the best of {REPEATS}:")
    print(f"  {'':12}{'operations':>12}{'a CPU second':>14}{'MB at most':>12}{'MB on disk':>12}")
    with TemporaryDirectory() as folder:
        for operations in OPERATIONS:
            lines = World(seed=1).history(operations)
            count = sum(isinstance(line, Request) for line in lines)
            as_lines, as_parquet = Path(folder, "history.jsonl"), Path(folder, "history.parquet")
            with as_lines.open("wb") as text, as_parquet.open("wb") as columns:
                text.writelines(history.dump(lines))
                parquet.dump(lines, columns)
            del lines
            for name, path in (("JSON Lines", as_lines), ("Parquet", as_parquet)):
                found = [measured("clients", path, "check") for _ in range(REPEATS)]
                rate, megabytes = count / min(each[0] for each in found), max(each[1] for each in found)
                size = path.stat().st_size / 1e6
                print(f"  {name:12}{count:>12,}{rate:>14,.0f}{megabytes:>12,}{size:>12,.0f}", flush=True)
