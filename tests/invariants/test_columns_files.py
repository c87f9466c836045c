"""Parquet files that are no traces: one line that says where, and what was expected."""

from collections.abc import Callable
from functools import cache
from io import BytesIO
from random import Random
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from invariants import PROPERTIES, Deliver, Event, Stabilised, TraceError, check
from invariants.columns import SCHEMA
from invariants.columns.parquet import File
from tests.invariants.builders import A, B, broadcasts, deliveries, whole
from tests.invariants.columns import assert_agrees, opened, parquet_of, table_of, verdicts_of

SOUND = whole([*broadcasts(1, 1, A, B), *deliveries(1, A, B), *deliveries(2, A, B)], "global", processes=3)
"""Eight lines."""
BATCHES = (3, 8, 11, 1000)


@cache
def four_runs() -> pa.Table:
    """Four runs of eight lines. pyarrow loads pandas to make it, so no other worker does than the one that needs it."""
    return table_of([SOUND] * 4)


def said(file: Callable[[], File], batch: int = 1 << 16) -> str:
    """Return the error message about a file."""
    with pytest.raises(TraceError) as raised:
        file().judge(PROPERTIES.values(), batch)
    message = str(raised.value)
    assert message.startswith("x.parquet")
    assert "\n" not in message
    return message.removeprefix("x.parquet").removeprefix(", ")


def table(**columns: Any) -> pa.Table:
    """Four runs of eight lines, with other columns."""
    found = four_runs()
    for name, values in columns.items():
        place = SCHEMA.names.index(name)
        field = SCHEMA.field(name).with_nullable(True)
        found = found.set_column(place, field, pa.array(values, field.type))
    return found


def altered(name: str, row: int, value: Any) -> pa.Table:
    values = four_runs()[name].to_pylist()
    values[row] = value
    return table(**{name: values})


@pytest.mark.parametrize(
    ("name", "row", "value", "expected"),
    [
        ("process", 10, 4, "run 1, line 3, field `process`: expected 1 to 3, found 4"),
        ("process", 10, -1, "run 1, line 3: expected a `broadcast`, Expected `int` >= 1 - at `$.process`"),
        ("process", 10, None, "run 1, line 3: expected a `broadcast`, Object missing required field `process`"),
        ("incarnation", 11, -1, "run 1, line 4: expected a `deliver`, Expected `int` >= 0 - at `$.incarnation`"),
        ("epoch", 9, 2**32, "run 1, line 2: expected a `broadcast`, Expected `int` <= 4294967295 - at `$.epoch`"),
        ("epoch", 9, None, "run 1, line 2: expected a `broadcast`, Object missing required field `epoch`"),
        ("epoch", 12, 1, "run 1, line 5: expected a `deliver`, Object contains unknown field `epoch`"),
        ("zxid_epoch", 12, -5, "run 1, line 5: expected a `deliver`, Expected `int` >= 0 - at `$.txn.zxid[0]`"),
        (
            "zxid_counter",
            12,
            None,
            "run 1, line 5: expected a `deliver`, Expected `int`, got `null` - at `$.txn.zxid[1]`",
        ),
        ("value", 12, None, "run 1, line 5: expected a `deliver`, Expected `str`, got `null` - at `$.txn.value`"),
        ("hash", 12, 7, "run 1, line 5: expected a `deliver`, Object contains unknown field `hash`"),
        ("rest", 12, "{}", None),
        ("rest", 12, '{"more":1}', "run 1, line 5: expected a `deliver`, Object contains unknown field `more`"),
        ("event", 12, "delivers", "run 1, line 5, field `event`: expected a kind of event, found `delivers`"),
        ("event", 12, None, "row 13, column `event`: expected a value, found null"),
        ("event", 8, "deliver", "run 1, line 1: expected a `deliver`, Object contains unknown field `version`"),
        ("rest", 8, None, "run 1, line 1: expected a `header`, Object missing required field `version`"),
        ("rest", 8, "{", "run 1, line 1: expected a `header`, Input data was truncated"),
        (
            "rest",
            8,
            '{"version":2,"processes":3,"protocol":"x"}',
            "run 1, line 1: expected a `header`, Invalid enum value 2 - at `$.version`",
        ),
        (
            "rest",
            8,
            '{"version":1,"processes":3,"protocol":"x","quorums":"none"}',
            "run 1, line 1, field `quorums`: expected",
        ),
        ("rest", 15, '{"count":5}', "run 1, line 8, field `count`: expected 6, the number of events, found 5"),
        ("rest", 15, '{"count":-6}', "run 1, line 8: expected a `end`, Expected `int` >= 0 - at `$.count`"),
        ("run", 12, None, "row 13, column `run`: expected a value, found null"),
        ("run", 12, -1, "run -1, line 5, column `run`: expected 0 or more, found -1"),
        ("run", 12, 5, "run 5, line 1, column `seq`: expected 1, as the rows of a run are in order, found 5"),
        ("run", 12, 0, "run 0, line 5, column `run`: expected the rows of a run together, found others in between"),
        ("seq", 12, 4, "run 1, line 5, column `seq`: expected 5, as the rows of a run are in order, found 4"),
        ("seq", 8, 0, "run 1, line 1, column `seq`: expected 1, as the rows of a run are in order, found 0"),
        ("seq", 12, None, "row 13, column `seq`: expected a value, found null"),
    ],
)
def test_a_row_that_does_not_fit_is_named(name: str, row: int, value: Any, expected: str | None) -> None:
    for batch in BATCHES:
        if expected is None:
            assert File(parquet_of(altered(name, row, value)), "x.parquet").judge(PROPERTIES.values(), batch).runs == 4
        else:
            assert said(lambda: File(parquet_of(altered(name, row, value)), "x.parquet"), batch).startswith(expected)


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        ([*range(1, 8)], "run 0, line 1, column `seq`: expected 1, as the rows of a run are in order, found 2"),
        ([*range(8), 0], "run 0, line 9, column `seq`: expected 9, as the rows of a run are in order, found 1"),
        ([*range(16), *range(8)], "run 0, line 1, column `run`: expected the rows of a run together"),
        (
            [0, 1, 3, 2, *range(4, 8)],
            "run 0, line 3, column `seq`: expected 3, as the rows of a run are in order, found 4",
        ),
        ([], ": expected a header, the file has no rows"),
    ],
)
def test_rows_have_their_order(rows: list[int], expected: str) -> None:
    for batch in BATCHES:
        assert said(
            lambda: File(parquet_of(four_runs().take(pa.array(rows, pa.int64()))), "x.parquet"), batch
        ).startswith(expected)


def in_other_places(*kinds: str) -> pa.Table:
    """A run with lines of these kinds, each as it stands in the sound one."""
    places = {"header": 0, "broadcast": 1, "deliver": 3, "end": 7}
    taken = four_runs().take(pa.array([places[kind] for kind in kinds]))
    return taken.set_column(1, SCHEMA.field("seq"), pa.array(range(1, len(kinds) + 1), pa.int64()))


@pytest.mark.parametrize(
    ("kinds", "expected"),
    [
        (["broadcast", "deliver"], "run 0, line 1, field `event`: expected `header`, found `broadcast`"),
        (["header", "broadcast", "header", "deliver"], "run 0, line 3, field `event`: a second header"),
        (["header", *["broadcast"] * 6, "end", "deliver"], "run 0, line 9: expected nothing after `end`"),
        (["header", *["broadcast"] * 6, "end", "end"], "run 0, line 9: expected nothing after `end`"),
        (["header", "broadcast", "end"], "run 0, line 3, field `count`: expected 1, the number of events, found 6"),
    ],
)
def test_header_and_end_have_their_places(kinds: list[str], expected: str) -> None:
    for batch in (1, 2, 1000):
        assert said(lambda: File(parquet_of(in_other_places(*kinds)), "x.parquet"), batch) == expected


def test_an_incarnation_that_goes_back_is_named() -> None:
    back = whole([Deliver(1, 1, A), Deliver(1, 0, A)])
    message = "run 1, line 3, field `incarnation`: expected 1 or more at process 1, found 0"
    assert said(lambda: opened([SOUND, back, SOUND])).startswith(message)


def test_quorums_are_looked_at_where_they_matter() -> None:
    wrong: list[Event] = whole([*broadcasts(1, 1, A), Stabilised(1, 0, (1,))], processes=3)
    message = "run 1, line 3, field `quorum`: expected a majority of 3 processes, found 1"
    assert said(lambda: opened([SOUND, wrong])) == message


@pytest.mark.parametrize("name", SCHEMA.names)
def test_every_column_is_needed_with_its_type(name: str) -> None:
    assert said(lambda: File(parquet_of(four_runs().drop_columns([name])), "x.parquet")) == (
        f"column `{name}`: expected one of {SCHEMA.field(name).type}, found none"
    )
    place = SCHEMA.names.index(name)
    other = BytesIO()
    pq.write_table(four_runs().set_column(place, name, pa.array([1.5] * len(four_runs()))), other)
    assert said(lambda: File(other, "x.parquet")) == (
        f"column `{name}`: expected {SCHEMA.field(name).type}, found double"
    )


@pytest.mark.parametrize("kept", [pa.dictionary(pa.int32(), pa.string()), pa.large_string()], ids=str)
def test_other_columns_their_order_and_how_text_is_kept_do_not_matter(kept: pa.DataType) -> None:
    shuffled = four_runs().select(SCHEMA.names[::-1]).append_column("more", pa.array(range(len(four_runs()))))
    for name in ("event", "value", "rest"):
        place = shuffled.schema.get_field_index(name)
        shuffled = shuffled.set_column(place, name, shuffled[name].cast(kept))
    assert_agrees(File(parquet_of(shuffled), "x.parquet").judge(PROPERTIES.values(), 9), verdicts_of([SOUND] * 4))


def test_other_ways_to_write_the_same_table_do_not_matter() -> None:
    file = BytesIO()
    pq.write_table(
        four_runs(), file, compression="none", use_dictionary=False, data_page_version="2.0", row_group_size=5
    )
    assert_agrees(File(file, "x.parquet").judge(PROPERTIES.values(), 9), verdicts_of([SOUND] * 4))


def test_a_damaged_file_ends_in_one_line_or_is_read() -> None:
    """Whatever bytes are altered or cut off."""
    data = parquet_of(four_runs()).getvalue()
    refused = 0
    for seed in range(300):
        rng = Random(seed)
        damaged = bytearray(data)
        if seed % 3:
            for _ in range(rng.choice((1, 5, 50))):
                damaged[rng.randrange(len(damaged))] = rng.randrange(256)
        else:
            del damaged[rng.randrange(len(damaged)) :]
        message = _said(bytes(damaged))
        if message is not None:
            assert message.startswith("x.parquet")
            assert "\n" not in message
            refused += 1
    assert refused > 200


def _said(data: bytes) -> str | None:
    try:
        File(BytesIO(data), "x.parquet").judge(PROPERTIES.values())
    except TraceError as error:
        return str(error)
    return None


def test_lines_of_events_are_found_in_their_run() -> None:
    file = opened([SOUND, SOUND[:-1]], 3)
    assert file.find(1, [Deliver(2, 0, B), Deliver(3, 0, B)]) == {Deliver(2, 0, B): 7}


def test_a_run_that_is_not_there_is_an_error() -> None:
    with pytest.raises(TraceError, match="no run 4 in this file"):
        opened([SOUND] * 4).judge_run(4, list(PROPERTIES.values()))


def test_a_long_run_that_is_not_in_order_is_read_again() -> None:
    """Longer than what is kept of it, between others, and across row groups."""
    events: list[Event] = [*broadcasts(1, 1, A, B), *deliveries(1, A, B) * 50, Deliver(2, 0, B)]
    traces = [SOUND, whole(events, processes=3), SOUND]
    assert_agrees(opened(traces, 13).judge(PROPERTIES.values(), 10), verdicts_of(traces))
    assert check(traces[1]) == opened(traces, 13).judge_run(1, list(PROPERTIES.values()))
