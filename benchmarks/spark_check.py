"""The cost of Spark where it is not needed: CPU seconds of `check --engine spark`, beside `check`, on the same file.

The file has traces of a correct protocol: many runs, or one. They have several processes and epochs, and an incarnation
that delivers again from the start. The CPU seconds are those of all processes, Java and Python workers included.
"""

import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.small import adopt_what_is_left, measured
from zabcheck.invariants.columns import PARQUET, SCHEMA

EVENTS = 4_000_000
"""About how many events a file has."""

SHORT_TXNS = 20
"""The number of transactions in an epoch, where there are many runs."""

Columns = dict[str, Any]


def main(events: int = EVENTS) -> None:
    """Print the CPU seconds of the two commands on each of the two files."""
    adopt_what_is_left()
    print(f"CPU s for about {events:,} events\n\n{'':12}{'check':>8}{'--engine spark':>16}{'more':>8}")
    for name, table in (("many runs", short_runs(events)), ("one run", long_run(events))):
        with tempfile.TemporaryDirectory() as folder:
            pq.write_table(table, Path(folder, "x.parquet"), row_group_size=1_000_000, **PARQUET)
            check = (sys.executable, "-m", "zabcheck", "check", "x.parquet")
            here, on_spark = (measured(command, folder)[0] for command in (check, (*check, "--engine", "spark")))
        print(f"{name:12}{here:8.1f}{on_spark:16.1f}{on_spark - here:8.1f}", flush=True)


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


def short_runs(total: int) -> pa.Table:
    """Make runs of three processes and two epochs, with about `total` events in all.

    After the second epoch a process delivers everything again, in its next incarnation.
    """
    processes, txns = 3, SHORT_TXNS
    first = epoch_of(0, 1, txns, processes, 2)
    second = epoch_of(0, 2, txns, processes, 2 + txns * (processes + 1))
    third = again(0, 1, (1, 2), txns, 2 + 2 * txns * (processes + 1))
    template = {name: np.concatenate([first[name], second[name], third[name]]) for name in first}
    events = len(template["seq"])
    runs = total // events
    columns = {name: np.tile(column, runs) for name, column in template.items()}
    columns["run"] = np.repeat(np.arange(runs), events)
    rows = pa.concat_tables([_table(columns), _ends(range(runs), events, processes)])
    return rows.sort_by([("run", "ascending"), ("seq", "ascending")])


def long_run(total: int) -> pa.Table:
    """Make one run of five processes and two epochs. After the first, process 9 delivers that epoch, too."""
    processes, txns = 5, total // 13
    first = epoch_of(0, 1, txns, processes, 2)
    late = again(0, 9, (1,), txns, 2 + txns * (processes + 1))
    second = epoch_of(0, 2, txns, processes, 2 + txns * (processes + 2))
    columns = {name: np.concatenate([first[name], late[name], second[name]]) for name in first}
    columns["incarnation"] = np.zeros(len(columns["seq"]), np.int64)
    rows = pa.concat_tables([_table(columns), _ends(range(1), len(columns["seq"]), 9)])
    return rows.sort_by([("seq", "ascending")])


def _ends(runs: range, events: int, processes: int) -> pa.Table:
    """Make the header and the end of each run of so many events."""
    header = f'{{"version":1,"processes":{processes},"protocol":"made"}}'
    rows: list[dict[str, Any]] = []
    for run in runs:
        rows.append({"run": run, "seq": 1, "event": "header", "rest": header})
        rows.append({"run": run, "seq": events + 2, "event": "end", "rest": f'{{"count":{events}}}'})
    return pa.Table.from_pylist(rows, SCHEMA)


def _table(columns: Columns) -> pa.Table:
    values = pa.array(np.char.add("v", (columns["zxid_counter"] % 1000).astype(str)))
    epoch = pa.array(columns["epoch"], pa.int64(), mask=columns["epoch"] < 0)
    known = {**columns, "epoch": epoch, "value": values}
    empty = pa.nulls(len(values))
    arrays = [pa.array(known.get(field.name, empty)).cast(field.type) for field in SCHEMA]
    return pa.Table.from_arrays(arrays, schema=SCHEMA)
