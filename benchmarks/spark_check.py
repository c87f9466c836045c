"""The cost of the six properties on Spark: CPU microseconds a delivery, of all processes, for many runs and for one.

Traces of a correct protocol are written as Parquet first. They have several processes and epochs, and an incarnation
that delivers again from the start. Each measurement is made in a process of its own, and counts what that process and
its children (Java, Python workers) used.
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from invariants.columns import PARQUET, SCHEMA
from zabcheck.campaign.judging.facts import facts_of
from zabcheck.campaign.judging.properties import ON_A_PATH, judge
from zabcheck.campaign.judging.verdicts import HOLDS, SIX, columns_of
from zabcheck.campaign.session import session

SIZES = (10_000_000, 50_000_000)
"""The number of deliveries."""

SHORT_TXNS = 20
"""The number of transactions in an epoch, where there are many runs."""

BATCH = 3_000_000
"""About how many deliveries are in a file; for the one long run, a file holds an epoch."""

Columns = dict[str, Any]


def main(sizes: Sequence[int] = SIZES) -> None:
    for deliveries in sizes:
        for one_run in (False, True):
            folder = Path(tempfile.mkdtemp(prefix="zabcheck-spark-check-"))
            try:
                made = write_long(folder, deliveries) if one_run else write_short(folder, deliveries)
                print(f"{made:,} deliveries, {'one run' if one_run else 'many runs'}:", flush=True)
                subprocess.run([sys.executable, "-m", "benchmarks.spark_check", str(folder), str(made)], check=True)
            finally:
                shutil.rmtree(folder)


# Traces.


def epoch_of(run: int, epoch: int, txns: int, processes: int, seq: int) -> Columns:
    """Make an epoch without faults that begins at `seq`: each transaction is broadcast, then delivered by all."""
    each = processes + 1
    counter = np.repeat(np.arange(1, txns + 1), each)
    broadcasts = np.tile(np.arange(each) == 0, txns)
    return {
        "run": np.full(txns * each, run),
        "seq": np.arange(seq, seq + txns * each),
        "event": np.where(broadcasts, "broadcast", "deliver"),
        "process": np.where(broadcasts, epoch % processes + 1, np.tile(np.arange(each), txns)),
        "incarnation": np.zeros(txns * each, np.int64),
        "epoch": np.where(broadcasts, epoch, -1),
        "zxid_epoch": np.full(txns * each, epoch),
        "zxid_counter": counter,
    }


def again(run: int, process: int, epochs: Sequence[int], txns: int, seq: int) -> Columns:
    """Make the deliveries of a process's next incarnation, which delivers everything from the start."""
    size = len(epochs) * txns
    return {
        "run": np.full(size, run),
        "seq": np.arange(seq, seq + size),
        "event": np.full(size, "deliver"),
        "process": np.full(size, process),
        "incarnation": np.ones(size, np.int64),
        "epoch": np.full(size, -1),
        "zxid_epoch": np.repeat(epochs, txns),
        "zxid_counter": np.tile(np.arange(1, txns + 1), len(epochs)),
    }


def write_short(folder: Path, deliveries: int) -> int:
    """Write runs of three processes and two epochs, with about `deliveries` deliveries in all.

    After the second epoch a process delivers everything again, in its next incarnation.
    """
    processes, txns = 3, SHORT_TXNS
    first = epoch_of(0, 1, txns, processes, 2)
    second = epoch_of(0, 2, txns, processes, 2 + txns * (processes + 1))
    third = again(0, 1, (1, 2), txns, 2 + 2 * txns * (processes + 1))
    template = {name: np.concatenate([first[name], second[name], third[name]]) for name in first}
    events = len(template["seq"])
    each = int(np.count_nonzero(template["event"] == "deliver"))
    made, run = 0, 0
    while made < deliveries:
        runs = min(BATCH, deliveries - made) // each + 1
        columns = {name: np.tile(column, runs) for name, column in template.items()}
        columns["run"] = np.repeat(np.arange(run, run + runs), events)
        ends = [_ends(number, events, processes) for number in range(run, run + runs)]
        rows = pa.concat_tables([_table(columns), *_joined(ends)])
        _write(folder, run, rows.sort_by([("run", "ascending"), ("seq", "ascending")]))
        made, run = made + runs * each, run + runs
    return made


def write_long(folder: Path, deliveries: int) -> int:
    """Write one run of five processes. After the first epoch, process 9 delivers that epoch, too."""
    processes = 5
    made, seq, epoch = 0, 2, 0
    while made < deliveries:
        epoch += 1
        txns = min(BATCH, deliveries - made) // processes + 1
        tables = [_table(epoch_of(0, epoch, txns, processes, seq))]
        seq += tables[0].num_rows
        if epoch == 1:
            tables.append(_table(again(0, 9, (1,), txns, seq)))
            seq += txns
            made += txns
        made += txns * processes
        _write(folder, epoch, pa.concat_tables(tables))
    _write(folder, 0, pa.concat_tables(_joined([_ends(0, seq - 2, 9)])))
    return made


def _ends(run: int, events: int, processes: int) -> list[dict[str, Any]]:
    header = {"run": run, "seq": 1, "event": "header"}
    end = {"run": run, "seq": events + 2, "event": "end", "rest": f'{{"count":{events}}}'}
    return [header | {"rest": f'{{"version":1,"processes":{processes},"protocol":"made"}}'}, end]


def _joined(ends: list[list[dict[str, Any]]]) -> list[pa.Table]:
    return [pa.Table.from_pylist([row for rows in ends for row in rows], SCHEMA)]


def _table(columns: Columns) -> pa.Table:
    values = pa.array(np.char.add("v", (columns["zxid_counter"] % 1000).astype(str)))
    epoch = pa.array(columns["epoch"], pa.int64(), mask=columns["epoch"] < 0)
    known = {**columns, "epoch": epoch, "value": values}
    empty = pa.nulls(len(values))
    arrays = [pa.array(known.get(field.name, empty)).cast(field.type) for field in SCHEMA]
    return pa.Table.from_arrays(arrays, schema=SCHEMA)


def _write(folder: Path, number: int, rows: pa.Table) -> None:
    pq.write_table(rows, folder / f"part-{number:012}.parquet", row_group_size=1_000_000, **PARQUET)


# What it costs.


def judge_folder(folder: str, deliveries: int) -> None:
    """Judge the runs in a folder, and print what that cost."""
    spark = session()
    start = time.monotonic()
    events = spark.read.parquet(folder)
    facts = facts_of(events).persist()
    wrong = facts.filter("wrong is not null").count()
    counted, looked = cpu_seconds(), time.monotonic() - start
    found = judge(events, facts).groupBy("how", *(columns_of(name)[0] for name in SIX)).count().collect()
    spent, memory = cpu_seconds(), most_memory()
    print(
        f"  {spent:.0f} CPU s, {spent / deliveries * 1e6:.2f} us a delivery, of these {counted:.0f} CPU s to start and "
        f"to count; {time.monotonic() - start:.0f} s, {looked:.0f} of them to count; at most {memory / 2**30:.1f} GiB"
    )
    assert not wrong
    assert [row["how"] for row in found] == [ON_A_PATH], found
    assert {row[columns_of(name)[0]] for row in found for name in SIX} == {HOLDS}
    spark.stop()


def _own_processes() -> Iterator[Path]:
    """Return the folders under /proc of this process and of its descendants."""
    parents = {}
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            try:
                parents[int(folder.name)] = int((folder / "stat").read_text().rpartition(")")[2].split()[1])
            except OSError:
                continue
    wanted = {os.getpid()}
    for _ in parents:
        more = {child for child, parent in parents.items() if parent in wanted} - wanted
        wanted |= more
        if not more:
            break
    yield from (Path("/proc", str(each)) for each in wanted)


def cpu_seconds() -> float:
    """Return the CPU seconds of this process and its descendants, including those that have ended."""
    ticks = 0
    for folder in _own_processes():
        ticks += sum(map(int, (folder / "stat").read_text().rpartition(")")[2].split()[11:15]))
    return ticks / os.sysconf("SC_CLK_TCK")


def most_memory() -> int:
    """Return the sum of the memory peaks of this process and its descendants, in bytes."""
    peaks = [re.search(r"VmHWM:\s+(\d+)", (folder / "status").read_text()) for folder in _own_processes()]
    return sum(int(peak[1]) * 1024 for peak in peaks if peak)


if __name__ == "__main__":
    judge_folder(sys.argv[1], int(sys.argv[2]))
