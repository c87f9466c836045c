"""Events a CPU second that `zabcheck check` judges by all properties, and the peak of its memory.

The files are written to a temporary folder. Each is judged in a process of its own, whose start counts, too.
"""

import subprocess
import sys
from collections.abc import Iterable
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory

import pyarrow as pa
import pyarrow.parquet as pq

from tests.invariants.broken import Ensemble
from zabcheck.invariants import Broadcast, Crash, Deliver, End, Event, Header, Recover, Txn, Zxid, trace
from zabcheck.invariants.columns import PARQUET, SCHEMA, Rows

EVENTS = 10_000_000
SHORT = 200
"""The number of events in a run, where there are many runs."""

REPEATS = 3
PROGRAM = """
import resource, sys
from zabcheck.cli import main
try:
    main()
except SystemExit as ended:
    code = ended.code or 0
used = resource.getrusage(resource.RUSAGE_SELF)
print(code, used.ru_utime + used.ru_stime, used.ru_maxrss // 1024, file=sys.stderr)
"""


def main() -> None:
    with TemporaryDirectory() as folder:
        few = EVENTS // 50
        path = Path(folder, "few.jsonl")
        write_lines(path, few)
        slow = few / min(measured("check", path, "--merge")[0] for _ in range(REPEATS))
        print(f"events a CPU second, all properties, nothing broken, the best of {REPEATS}:")
        print(f"  {'':24}{'events':>12}{'a CPU second':>14}{'times':>7}{'MB at most':>12}{'MB on disk':>12}")
        print(f"  {'JSON Lines, by line':24}{few:>12,}{slow:>14,.0f}{1:>7}", flush=True)
        for name, write in (
            ("JSON Lines, one run", write_lines),
            ("the same, every kind", write_whole),
            ("Parquet, one run", write_long),
            (f"Parquet, runs of {SHORT}", write_many),
        ):
            path = Path(folder, "file")
            count = write(path)
            found = [measured("check", path) for _ in range(REPEATS)]
            rate, megabytes = count / min(each[0] for each in found), max(each[1] for each in found)
            size = path.stat().st_size / 1e6
            print(f"  {name:24}{count:>12,}{rate:>14,.0f}{rate / slow:>7.1f}{megabytes:>12,}{size:>12,.0f}", flush=True)


def measured(command: str, path: Path, *options: str, broken: bool = False) -> tuple[float, int]:
    """Run a command on a trace in a process of its own, and return its CPU seconds and megabytes."""
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, command, *options, str(path)], capture_output=True, text=True, check=True
    )
    code, seconds, megabytes = done.stderr.split()
    assert code in ("01" if broken else "0"), done.stdout
    return float(seconds), int(megabytes)


def events(count: int) -> Iterable[Event]:
    """Yield events, a quarter of them broadcasts, each of which three processes deliver."""
    for number in range(1, count // 4 + 1):
        txn = Txn(Zxid(1, number), f"v{number}")
        yield Broadcast(1, 0, 1, txn)
        yield from (Deliver(process, 0, txn) for process in (1, 2, 3))


def lines(count: int) -> Iterable[Event]:
    yield Header(1, 3, "benchmark", order="per-process")
    yield from events(count)
    yield End(count)


def write_lines(path: Path, count: int = EVENTS) -> int:
    with path.open("wb") as file:
        file.writelines(trace.dump(lines(count)))
    return count


def write_whole(path: Path) -> int:
    events = list(Ensemble(EVENTS // 5).events())
    with path.open("wb") as file:
        file.writelines(trace.dump([Header(1, 3, "benchmark"), *events, End(len(events))]))
    return len(events)


def write_long(path: Path) -> int:
    rows = Rows()
    rest = iter(lines(EVENTS))
    line = 1
    with pq.ParquetWriter(path, SCHEMA, **PARQUET) as writer:
        while some := list(islice(rest, 1 << 18)):
            rows.add(0, some)
            batch = rows.take()
            numbers = pa.array(range(line, line + len(some)), pa.int64())
            writer.write_batch(batch.set_column(1, SCHEMA.field("seq"), numbers))
            line += len(some)
    return EVENTS


def write_many(path: Path) -> int:
    """Write many runs. Each has two epochs, and a process that recovers and begins again."""
    first, second = ([Txn(Zxid(epoch, number), f"v{number}") for number in range(1, 25)] for epoch in (1, 2))
    run: list[Event] = []
    for txns, primary in ((first, 1), (second, 2)):
        for txn in txns:
            run += [Broadcast(primary, 0, txn.zxid.epoch, txn), *(Deliver(process, 0, txn) for process in (1, 2, 3))]
    run += [Crash(3, 0), Recover(3, 1), *(Deliver(3, 1, txn) for txn in first[:4])]
    run = [Header(1, 3, "benchmark"), *run, End(len(run))]
    assert len(run) == SHORT
    rows = Rows()
    with pq.ParquetWriter(path, SCHEMA, **PARQUET) as writer:
        for number in range(EVENTS // SHORT):
            rows.add(number, run)
            if len(rows) > 1 << 18:
                writer.write_batch(rows.take())
        writer.write_batch(rows.take())
    return EVENTS
