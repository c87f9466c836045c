"""Traces on disk: what is written is what is read, and what is wrong is said with file, line and field."""

import re
from collections.abc import Sequence
from io import BytesIO
from typing import get_args

import pytest

from invariants import (
    Accept,
    AckEpoch,
    Activate,
    Adopt,
    AnyEvent,
    Broadcast,
    ClientAck,
    CommitEpoch,
    Corrupt,
    Crash,
    Cut,
    Deliver,
    Drop,
    Elect,
    End,
    Establish,
    Event,
    FinalRead,
    Halt,
    Header,
    Heal,
    Hold,
    Mend,
    Overtake,
    Pause,
    Promise,
    Quiescent,
    Ready,
    Receive,
    Recover,
    Restore,
    Send,
    Stabilised,
    Stall,
    State,
    TraceError,
    Truncate,
    Wake,
    Zxid,
    check,
    events,
    trace,
)
from tests.invariants.builders import A, B, broadcasts, deliveries, whole
from tests.invariants.traces import random_trace

EVERY_KIND: list[Event] = [
    Broadcast(1, 0, 1, A),
    Deliver(1, 0, A),
    Ready(1, 0, 1),
    Crash(1, 0),
    Crash(1, 0, 3),
    Recover(1, 1),
    Restore(1, 1, A.zxid, 1, 2**63 - 1),
    Halt(1, 1, 'corrupt: "☃"\n'),
    ClientAck(1, 1, B),
    FinalRead(1, 1, ()),
    FinalRead(1, 1, (A, B)),
    Stabilised(1, 0, (1, 2, 3, 4, 5)),
    Quiescent(1, 0, 1),
    Quiescent(1, 0, 2, 1, "none", primary=True),
    Quiescent(2, 0, 2, 1, "open"),
    State(1, 1, B.zxid, 2, 2**63 - 1),
    Promise(1, 1, 2**32 - 1),
    AckEpoch(1, 1, 2, 1, B.zxid, 2, 7),
    Adopt(1, 1, 2, B.zxid, 2, 7),
    Accept(1, 1, 2, B),
    Truncate(1, 1, A.zxid, 1),
    Establish(1, 1, 2),
    CommitEpoch(1, 1, 2),
    Activate(1, 1, A),
    Send(1, 1, 2, 5, "PROPOSE"),
    Send(1, 1, 2, 6, "ACK", "⟨1,1⟩"),
    Receive(2, 0, 1, 5),
    Drop(6),
    Cut(1, 2),
    Mend(1, 2),
    Stall(1, 2),
    Hold(1, 2, "COMMIT"),
    Overtake(1, 2),
    Heal(),
    Pause(1, 1),
    Wake(1, 1),
    Corrupt(1, 1, "history", A.zxid),
    Corrupt(1, 1, "accepted_epoch"),
    Elect(2, 0, 1),
]

HEADER = b'{"event":"header","version":1,"processes":3,"protocol":"zab"}\n'
READY = b'{"event":"ready","process":1,"incarnation":0,"epoch":1}\n'
END = b'{"event":"end","count":0}\n'


def written(trace_events: Sequence[Event]) -> bytes:
    return b"".join(trace.dump(trace_events))


def error(data: bytes) -> str:
    """The message; it is one line and names the file."""
    with pytest.raises(TraceError) as caught:
        trace.loads(data, "run.jsonl")
    message = str(caught.value)
    assert message.startswith("run.jsonl, line ")
    assert "\n" not in message
    return message.removeprefix("run.jsonl, ")


# What is right.


def test_every_kind_of_event_is_in_this_test() -> None:
    kinds = {type(event) for event in EVERY_KIND}
    assert kinds == set(get_args(AnyEvent)) == set(events.EVENTS)


@pytest.mark.parametrize("event", EVERY_KIND, ids=lambda event: type(event).__name__)
def test_every_kind_of_event_survives_the_round_trip(event: Event) -> None:
    around = whole([event])
    assert trace.loads(written(around)) == around


def test_header_and_end_survive_the_round_trip() -> None:
    around: list[Event] = [
        Header(1, 5, "zab", "weights 3,1,1,1,1", "per-process", {"steps": [1, {"a": None}], "seed": 7}),
        End(0, complete=False),
    ]
    assert trace.loads(written(around)) == around


def test_random_traces_survive_the_round_trip() -> None:
    for seed in range(300):
        around = whole(random_trace(seed).events)
        assert trace.loads(written(around)) == around


def test_a_line_is_an_event() -> None:
    lines = written(whole(EVERY_KIND)).split(b"\n")
    assert len(lines) == len(EVERY_KIND) + 3
    assert lines[-1] == b""


def test_the_form_is_the_documented_one() -> None:
    assert written([Header(1, 3, "zab"), *broadcasts(1, 1, A), *deliveries(1, A), End(2)]).splitlines() == [
        b'{"event":"header","version":1,"processes":3,"protocol":"zab","quorums":"majority","order":"global",'
        b'"schedule":null}',
        b'{"event":"broadcast","process":1,"incarnation":0,"epoch":1,"txn":{"zxid":[1,1],"value":"a"}}',
        b'{"event":"deliver","process":1,"incarnation":0,"txn":{"zxid":[1,1],"value":"a"}}',
        b'{"event":"end","count":2,"complete":true}',
    ]


def test_defaults_may_be_left_out() -> None:
    [header, end] = trace.loads(HEADER + END)
    assert header == Header(1, 3, "zab", quorums="majority", order="global", schedule=None)
    assert end == End(0, complete=True)


def test_reading_is_lazy() -> None:
    """A trace may be larger than the memory."""
    source = BytesIO(HEADER + READY + b"rubbish")
    reading = trace.load(source, "run.jsonl")
    assert isinstance(next(reading), Header)
    assert next(reading) == Ready(1, 0, 1)
    with pytest.raises(TraceError):
        next(reading)


# What is wrong.


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (READY.replace(b"1,", b'"1",', 1), "field `process`: Expected `int`, got `str`"),
        (READY.replace(b'"epoch":1', b'"epoch":null'), "field `epoch`: Expected `int`, got `null`"),
        (READY.replace(b'"epoch":1', b'"epoch":1.5'), "field `epoch`: Expected `int`, got `float`"),
        (READY.replace(b'"epoch":1', b'"epoch":-1'), "field `epoch`: Expected `int` >= 0"),
        (READY.replace(b'"epoch":1', b'"epoch":4294967296'), "field `epoch`: Expected `int` <= 4294967295"),
        (READY.replace(b'"process":1', b'"process":0'), "field `process`: Expected `int` >= 1"),
        (READY.replace(b'"process":1', b'"process":4'), "field `process`: expected 1 to 3, found 4"),
        (READY.replace(b'"incarnation":0', b'"incarnation":-1'), "field `incarnation`: Expected `int` >= 0"),
        (
            READY.replace(b'"ready"', b'"reddy"'),
            "field `event`: Invalid value 'reddy'; expected one of: "
            f"{', '.join(str(kind.__struct_config__.tag) for kind in (*get_args(AnyEvent), Header, End))}",
        ),
        (READY.replace(b'"ready"', b"7"), "field `event`: Expected `str`"),
    ],
)
def test_a_wrong_value_is_reported_with_its_field(line: bytes, message: str) -> None:
    assert error(HEADER + READY + line) == f"line 3, {message}"


@pytest.mark.parametrize(
    ("txn", "message"),
    [
        (b'{"zxid":[1,"1"],"value":"x"}', ", field `txn.zxid[1]`: Expected `int`, got `str`"),
        (b'{"zxid":[-1,1],"value":"x"}', ", field `txn.zxid[0]`: Expected `int` >= 0"),
        (b'{"zxid":[1],"value":"x"}', ", field `txn.zxid`: Expected `array` of at least length 2, got 1"),
        (b'{"zxid":[1,1,1],"value":"x"}', ": Expected `array` of at most length 2"),
        (b'{"zxid":[1,1],"value":7}', ", field `txn.value`: Expected `str`, got `int`"),
        (b'{"zxid":[1,1]}', ", field `txn`: Object missing required field `value`"),
        (b'{"zxid":[1,1],"value":"x","y":0}', ", field `txn.y`: no such field; expected one of: zxid, value"),
        (b'"x"', ", field `txn`: Expected `object`, got `str`"),
    ],
)
def test_a_wrong_transaction_is_reported_with_its_place(txn: bytes, message: str) -> None:
    line = b'{"event":"deliver","process":1,"incarnation":0,"txn":' + txn + b"}\n"
    assert error(HEADER + line).startswith("line 2" + message)


def test_unknown_and_missing_fields_are_named() -> None:
    assert error(HEADER + READY.replace(b'"epoch"', b'"apoch":1,"epoch"')) == (
        "line 2, field `apoch`: no such field; did you mean `epoch`?"
    )
    assert error(HEADER + READY.replace(b',"epoch":1', b"")) == "line 2: Object missing required field `epoch`"
    assert error(HEADER + b'{"process":1}\n') == "line 2: Object missing required field `event`"


def test_a_trace_begins_with_a_header() -> None:
    assert error(READY) == "line 1, field `event`: expected `header`, found `ready`"
    assert error(END) == "line 1, field `event`: expected `header`, found `end`"


def test_an_empty_file_is_no_trace() -> None:
    assert error(b"") == "line 1: expected a header, the file is empty"


def test_there_is_one_header() -> None:
    assert error(HEADER + READY + HEADER) == "line 3, field `event`: a second header"


def test_another_version_is_refused() -> None:
    assert error(HEADER.replace(b'"version":1', b'"version":2')) == "line 1, field `version`: expected 1"
    assert error(HEADER.replace(b'"version":1', b'"version":"1"')) == "line 1, field `version`: expected 1"


def test_an_unknown_order_is_refused() -> None:
    message = error(HEADER.replace(b"}", b',"order":"none"}'))
    assert message == "line 1, field `order`: Invalid value 'none'; expected one of: global, per-process"


@pytest.mark.parametrize(
    ("quorums", "message"),
    [
        ("most", "expected `majority`, `weights 3,1,1`, `sets 1+2,2+3,1+3` or `config 1,2,3`, found `most`"),
        ("weights 3,1", "expected 3 weights, one for each process, found 2"),
        ("sets 1+2,3", "the quorums {p1, p2} and {p3} do not intersect"),
    ],
)
def test_a_quorum_system_that_is_none_is_refused(quorums: str, message: str) -> None:
    wrong = HEADER.replace(b"}", f',"quorums":"{quorums}"}}'.encode())
    assert error(wrong + END) == f"line 1, field `quorums`: {message}"
    with pytest.raises(TraceError) as caught:
        check([Header(1, 3, "mine", quorums), End(0)])
    assert str(caught.value) == f"field `quorums`: {message}"


@pytest.mark.parametrize(
    ("quorum", "quorums", "message"),
    [
        ("[1,4]", "majority", "expected processes from 1 to 3, found 4"),
        ("[1,4]", "weights 3,1,1", "expected processes from 1 to 3, found 4"),
        ("[2,3]", "majority", "expected process 1 among its members, found it missing"),
        ("[2]", "sets 1", "expected process 1 among its members, found it missing"),
        ("[1]", "majority", "expected a majority of 3 processes, found 1"),
        ("[1,1]", "majority", "expected a majority of 3 processes, found 1"),
        ("[1,2]", "weights 1,1,2", "expected a quorum of `weights 1,1,2`, found 2 processes that are none"),
    ],
)
def test_the_quorum_of_stabilised_has_to_be_one(quorum: str, quorums: str, message: str) -> None:
    header = HEADER.replace(b"}", f',"quorums":"{quorums}"}}'.encode())
    line = f'{{"event":"stabilised","process":1,"incarnation":0,"quorum":{quorum}}}\n'.encode()
    assert error(header + line) == f"line 2, field `quorum`: {message}"


@pytest.mark.parametrize(
    ("quorum", "quorums"), [((1, 2), "majority"), ((3, 2, 1), "majority"), ((1,), "weights 3,1,1"), ((), "majority")]
)
def test_a_right_quorum_of_stabilised_is_read(quorum: tuple[int, ...], quorums: str) -> None:
    around: list[Event] = [Header(1, 3, "mine", quorums), Stabilised(1, 0, quorum), End(1)]
    assert trace.loads(written(around)) == around


def test_the_end_counts_the_events() -> None:
    assert error(HEADER + READY + END) == "line 3, field `count`: expected 1, the number of events, found 0"


def test_nothing_follows_the_end() -> None:
    assert error(HEADER + END + READY) == "line 3: expected nothing after `end`"
    assert error(HEADER + END + END) == "line 3: expected nothing after `end`"


@pytest.mark.parametrize("length", [1, 10, len(READY) - 2])
def test_a_last_line_that_is_cut_off_is_an_error(length: int) -> None:
    message = error(HEADER + READY + READY[:length])
    assert message.startswith("line 3: expected a JSON object, ")
    assert message.endswith("(the line is cut off)")


@pytest.mark.parametrize(
    "line",
    [
        b"\xff\xfe\n",
        b'{"event":"halt","process":1,"incarnation":0,"reason":"\xff"}\n',
        b'{"event":"halt","process":1,"incarnation":0,"reason":"\\ud800"}\n',
        b"\n",
        b"event\n",
        b'{"event":"heal"} {"event":"heal"}\n',
    ],
    ids=["bytes", "string-bytes", "half-a-surrogate", "empty", "word", "two-events"],
)
def test_what_is_not_json_in_utf_8_is_an_error(line: bytes) -> None:
    assert error(HEADER + line).startswith("line 2: expected a JSON object, ")


@pytest.mark.parametrize("line", [b"[]\n", b"7\n", b"null\n", b'"ready"\n'])
def test_what_is_no_object_is_an_error(line: bytes) -> None:
    assert error(HEADER + line).startswith("line 2: Expected `object`, got ")


def test_deep_nesting_is_an_error_and_no_crash() -> None:
    deep = b"[" * 100_000 + b"]" * 100_000
    assert error(HEADER.replace(b"}", b',"schedule":{"a":' + deep + b"}}")) == "line 1: nested too deeply"


def test_a_line_that_is_too_long_is_refused_without_reading_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trace, "MAX_LINE", 100)
    source = BytesIO(HEADER + READY + b"x" * 10_000 + b"\n")
    with pytest.raises(TraceError, match=re.escape("run.jsonl, line 3: expected at most 100 bytes in a line")):
        list(trace.load(source, "run.jsonl"))
    assert source.tell() <= len(HEADER + READY) + 101


def test_a_line_of_the_greatest_length_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trace, "MAX_LINE", max(len(HEADER), len(READY)))
    assert len(trace.loads(HEADER + READY)) == 2


# What is missing at the end.


def test_without_an_end_nothing_but_a_violation_is_concluded() -> None:
    good: list[Event] = [Header(1, 3, "zab"), *broadcasts(1, 1, A), *deliveries(1, A)]
    read = trace.loads(written(good))
    assert {verdict.status for verdict in check(read)} == {"inconclusive"}
    assert {verdict.status for verdict in check([*read, End(2, complete=False)])} == {"inconclusive"}
    assert "holds" in {verdict.status for verdict in check([*read, End(2)])}


def test_events_without_a_header_are_a_complete_trace_without_a_clock() -> None:
    statuses = {v.property: v.status for v in check([*deliveries(1, A), *broadcasts(1, 1, A)])}
    assert statuses["integrity"] == "holds"
    assert statuses["clock"] == "not exercised"


def test_a_wrong_count_is_an_error_for_who_judges_events_too() -> None:
    with pytest.raises(TraceError, match="field `count`: expected 1, the number of events, found 2"):
        check([Header(1, 3, "zab"), *deliveries(1, A), End(2)])


# Zxids.


@pytest.mark.parametrize(
    ("zxid", "packed"),
    [
        (Zxid(0, 0), 0),
        (Zxid(0, 2**32 - 1), 0xFFFFFFFF),
        (Zxid(1, 0), 0x100000000),
        (Zxid(5, 0x2A), 0x50000002A),
        (Zxid(2**32 - 1, 2**32 - 1), 2**64 - 1),
    ],
)
def test_zookeepers_packed_zxid_converts_both_ways(zxid: Zxid, packed: int) -> None:
    assert zxid.packed() == packed
    assert Zxid.unpack(packed) == zxid


@pytest.mark.parametrize("packed", [-1, 2**64])
def test_what_is_no_64_bit_number_cannot_be_unpacked(packed: int) -> None:
    with pytest.raises(ValueError, match=f"64 bits, not {packed}"):
        Zxid.unpack(packed)


def test_zxids_are_ordered_by_epoch_then_counter() -> None:
    zxids = [Zxid(1, 1), Zxid(1, 2), Zxid(1, 10), Zxid(2, 1), Zxid(10, 0)]
    assert sorted([zxids[3], zxids[2], zxids[4], zxids[0], zxids[1]]) == zxids
    assert sorted(zxids, key=Zxid.packed) == zxids


TIMED = [
    b'{"event":"header","version":1,"processes":3,"protocol":"mine","ignores":["time","host"]}\n',
    b'{"time":7,"event":"broadcast","process":1,"incarnation":0,"epoch":1,"txn":{"zxid":[1,1],"value":"a"}}\n',
    b'{"event":"deliver","process":1,"incarnation":0,"txn":{"zxid":[1,1],"value":"a"},"time":[8],"host":{"event":1}}\n',
    b'{"event":"deliver","process":2,"incarnation":0,"txn":{"zxid":[1,1],"value":"a"}}\n',
    b'{"event":"end","count":3,"host":"x"}\n',
]


def test_fields_that_the_header_says_to_ignore_are_skipped() -> None:
    header, *read = trace.loads(b"".join(TIMED))
    assert read == [*broadcasts(1, 1, A), *deliveries(1, A), *deliveries(2, A), End(3)]
    assert b"".join(trace.dump([header])) == TIMED[0].replace(
        b'"ignores"', b'"quorums":"majority","order":"global","schedule":null,"ignores"'
    )


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ((0, b',"host"', b""), "line 3, field `host`: no such field"),
        ((0, b',"ignores":["time","host"]', b""), "line 2, field `time`: no such field"),
        (
            (0, b'"host"', b'"process"'),
            "line 1, field `ignores`: expected names of no field of an event, found `process`",
        ),
        ((0, b'["time","host"]', b"7"), "line 1, field `ignores`: Expected `array`, got `int`"),
        ((2, b'"process":1,', b'"time":1,'), "line 3: Object missing required field `process`"),
        ((3, b"}\n", b"\n"), "line 4: expected a JSON object, "),
    ],
)
def test_other_fields_and_wrong_names_are_errors(changed: tuple[int, bytes, bytes], said: str) -> None:
    number, old, new = changed
    lines = [line.replace(old, new) if at == number else line for at, line in enumerate(TIMED)]
    with pytest.raises(TraceError, match=f"^trace, {re.escape(said)}"):
        trace.loads(b"".join(lines))
