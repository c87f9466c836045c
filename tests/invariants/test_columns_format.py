"""The Parquet form of a trace: nothing is lost, and what is no trace is refused with file, run, line and field."""

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from invariants import Deliver, End, Event, Header, TraceError, Txn, Zxid
from invariants.columns import PARQUET, SCHEMA, Rows, events_of
from tests.invariants.test_trace_format import EVERY_KIND

RUN = [Header(1, 3, "zab"), *EVERY_KIND, End(len(EVERY_KIND), complete=False)]


def stored(path: Path, *runs: list[Event]) -> pq.ParquetFile:
    rows = Rows()
    for number, lines in enumerate(runs):
        rows.add(number, lines)
    pq.write_table(pa.Table.from_batches([rows.take()]), path, **PARQUET)
    return pq.ParquetFile(path)


def test_every_kind_of_line_comes_back_as_it_was(tmp_path: Path) -> None:
    file = stored(tmp_path / "x.parquet", RUN, RUN)
    found = list(events_of(file.iter_batches(), "x.parquet"))
    assert [event for _, _, event in found] == [*RUN, *RUN]
    assert [(run, seq) for run, seq, _ in found] == [(run, seq) for run in (0, 1) for seq in range(1, len(RUN) + 1)]


def test_extremes_fit(tmp_path: Path) -> None:
    most = 2**32 - 1
    lines: list[Event] = [
        Deliver(2**31 - 1, 2**63 - 1, Txn(Zxid(most, most), "å\n\0")),
        Deliver(1, 0, Txn(Zxid(0, 0), "")),
    ]
    file = stored(tmp_path / "x.parquet", lines)
    assert [event for _, _, event in events_of(file.iter_batches(), "x")] == lines


def test_what_was_taken_is_not_there_again() -> None:
    rows = Rows()
    rows.add(0, RUN)
    assert len(rows) == len(RUN)
    assert rows.take().num_rows == len(RUN)
    assert len(rows) == 0
    assert rows.take().num_rows == 0


@pytest.mark.parametrize(
    ("column", "value", "message"),
    [
        ("event", "delivery", "x, run 0, line 1, field `event`: expected a kind of event, found `delivery`"),
        ("process", 0, "x, run 0, line 1: expected a `deliver`, Expected `int` >= 1 - at `$.process`"),
        ("process", None, "missing required field `process`"),
        ("value", None, "x, run 0, line 1: expected a `deliver`, Expected `str`, got `null` - at `$.txn.value`"),
        ("zxid_counter", -1, "Expected `int` >= 0"),
        ("epoch", 3, "unknown field `epoch`"),
        ("rest", "{", "x, run 0, line 1: expected a `deliver`, Input data was truncated"),
        ("rest", "[]", "Expected `object`, got `array`"),
        ("rest", '{"more":1}', "unknown field `more`"),
    ],
)
def test_a_row_that_is_no_line_is_refused(column: str, value: Any, message: str) -> None:
    rows = Rows()
    rows.add(0, [Deliver(1, 0, Txn(Zxid(1, 1), "x"))])
    table = pa.Table.from_batches([rows.take()])
    place = SCHEMA.names.index(column)
    table = table.set_column(place, column, pa.array([value], SCHEMA.field(column).type))
    with pytest.raises(TraceError) as raised:
        list(events_of(table.to_batches(), "x"))
    assert message in str(raised.value)
    assert "\n" not in str(raised.value)
