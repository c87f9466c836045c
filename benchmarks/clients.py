"""Operations a CPU second that `zabcheck clients check` judges by all promises, and the peak of its memory.

The histories are those of the service in memory that the tests have, which breaks nothing. Each is judged in a process
of its own, whose start counts, too. Then follows what each phase takes of the first, by the screens and by the proofs.
"""

import gc
from collections import deque
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from io import BytesIO
from pathlib import Path
from tempfile import TemporaryDirectory
from time import process_time
from typing import TypeVar

from benchmarks.check import REPEATS, measured
from tests.zookeeper.clients.service import World
from zabcheck.zookeeper.clients import history, parquet
from zabcheck.zookeeper.clients.exchange import read
from zabcheck.zookeeper.clients.history import HistoryLine, Request
from zabcheck.zookeeper.clients.judge import PROMISES
from zabcheck.zookeeper.clients.promise import Findings
from zabcheck.zookeeper.clients.screen import look
from zabcheck.zookeeper.clients.screen.columns import Columns, Gathering
from zabcheck.zookeeper.clients.screen.lines import decoded_lines
from zabcheck.zookeeper.clients.screen.nodes import Nodes
from zabcheck.zookeeper.clients.tree import Tree

OPERATIONS = (100_000, 1_000_000)
T = TypeVar("T")


def main() -> None:
    print(f"operations a CPU second, all promises, nothing broken, the best of {REPEATS}:")
    print(f"  {'':12}{'operations':>12}{'a CPU second':>14}{'MB at most':>12}{'MB on disk':>12}")
    with TemporaryDirectory() as folder, ProcessPoolExecutor(1) as apart:
        for operations in OPERATIONS:
            as_lines, as_parquet = Path(folder, "history.jsonl"), Path(folder, "history.parquet")
            count = apart.submit(write, operations, as_lines, as_parquet).result()
            for name, path in (("JSON Lines", as_lines), ("Parquet", as_parquet)):
                found = [measured("clients", path, "check") for _ in range(REPEATS)]
                rate, megabytes = count / min(each[0] for each in found), max(each[1] for each in found)
                size = path.stat().st_size / 1e6
                print(f"  {name:12}{count:>12,}{rate:>14,.0f}{megabytes:>12,}{size:>12,.0f}", flush=True)
    phases(World(seed=1).history(OPERATIONS[0]))


def write(operations: int, as_lines: Path, as_parquet: Path) -> int:
    """Write a history in both forms, and return its operations.

    This is done in a process apart: its memory counts as that of processes which it begins.
    """
    lines = World(seed=1).history(operations)
    with as_lines.open("wb") as text, as_parquet.open("wb") as columns:
        text.writelines(history.dump(lines))
        parquet.dump(lines, columns)
    return sum(isinstance(line, Request) for line in lines)


def phases(lines: list[HistoryLine]) -> None:
    """Print the microseconds of an operation that each phase takes, in this process, without collections of garbage."""
    count = sum(isinstance(line, Request) for line in lines)
    text = b"".join(history.dump(lines))
    gc.disable()

    def timed(phase: Callable[[], T]) -> tuple[T, float]:
        before = process_time()
        result = phase()
        return result, (process_time() - before) / count * 1e6

    def say(name: str, *microseconds: float) -> None:
        print(f"  {name:32}{''.join(f'{each:>12.2f}' for each in microseconds)}", flush=True)

    print("microseconds an operation:")
    print(f"  {'':32}{'screen':>12}{'proof':>12}")
    _, proving = timed(lambda: deque(history.blocks(BytesIO(text), "history"), 0))
    blocks, decoding = timed(lambda: [*history.blocks(BytesIO(text), "history", decoded_lines)])
    say("JSON Lines", decoding, proving)
    gathering = Gathering()
    _, adding = timed(lambda: deque(map(gathering.add, blocks), 0))
    exchange, reading = timed(lambda: read(lines, "history"))
    say("fields, exchange", adding, reading)
    columns, joining = timed(lambda: Columns(gathering))
    nodes, looking = timed(lambda: Nodes(columns))
    tree, growing = timed(lambda: Tree(exchange))
    say("columns", joining)
    say("nodes, tree", looking, growing)
    total = [decoding + adding + joining + looking, proving + reading + growing]
    for name, promise in PROMISES.items():
        found = Findings()
        cases, screening = timed(lambda: look(name, columns, nodes))  # noqa: B023
        _, proving = timed(lambda: promise.check(exchange, tree, found))  # noqa: B023
        assert cases == found.judged
        say(name, screening, proving)
        total = [total[0] + screening, total[1] + proving]
    say("all", *total)
    gc.enable()
