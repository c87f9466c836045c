"""The logs of several processes, one a file, are one trace: in whatever order, the verdicts are the same."""

from collections.abc import Sequence
from io import BytesIO
from itertools import islice, permutations
from random import Random

import pytest
from msgspec.structs import replace

from invariants import Broadcast, Deliver, Drop, End, Event, Header, Ready, TraceError, Txn, Zxid, check, trace
from tests.invariants.builders import A, B, broadcasts, deliveries, restore, split, whole
from tests.invariants.recorded import PROCESSES, RECORDED
from tests.invariants.test_random_traces import findings
from tests.invariants.traces import random_trace
from tests.tiers import sweep

HEADER = Header(1, 9, "test", order="per-process")
BLOCK = 125
QUICK = range(30)
"""The seeds of the normal tier."""
Source = tuple[BytesIO, str]


def file(events: Sequence[Event], name: str = "p") -> Source:
    return BytesIO(b"".join(trace.dump(events))), name


def files(logs: Sequence[Sequence[Event]], header: Header = HEADER) -> list[Source]:
    return [file([header, *log, End(len(log))], f"p{number}") for number, log in enumerate(logs, 1)]


def merged(logs: Sequence[Sequence[Event]], header: Header = HEADER) -> list[Event]:
    """The events of the merged files, without header and end, which are checked."""
    found, *events, end = trace.merge(files(logs, header))
    assert found == header
    assert end == End(len(events))
    return events


# The verdicts.


@pytest.mark.parametrize(
    "seeds",
    sweep(
        [QUICK, range(len(QUICK), BLOCK), *(range(first, first + BLOCK) for first in range(BLOCK, 750, BLOCK))],
        normal=[QUICK],
    ),
    ids=lambda seeds: f"from-{seeds[0]}",
)
def test_the_verdicts_are_those_of_the_one_file(seeds: range) -> None:
    for seed in seeds:
        events = random_trace(seed).events
        logs = list(split(events).values())
        expected = findings(events)
        for order in permutations(logs):
            assert findings(merged(order)) == expected, f"seed {seed}"


@pytest.mark.parametrize("name", sweep(RECORDED, normal=list(RECORDED)[::36]))
def test_the_verdicts_of_what_was_recorded_are_those_of_the_one_file(name: str) -> None:
    events = RECORDED[name]()
    expected = findings(events)
    for order in islice(permutations(split(events).values()), 30):
        assert findings(merged(order, replace(HEADER, processes=PROCESSES[name]))) == expected


@pytest.mark.parametrize("seeds", sweep((range(50), range(50, 500)), normal=(range(50),)), ids=str)
def test_a_file_may_hold_several_processes(seeds: range) -> None:
    for seed in seeds:
        events = random_trace(seed).events
        rng = Random(seed)
        home = {process: rng.randrange(3) for process in range(1, 10)}
        parts: list[list[Event]] = [[], [], []]
        for event in events:
            parts[home[event.process]].append(event)  # type: ignore[attr-defined]  # all local
        assert findings(merged(parts)) == findings(events), f"seed {seed}"


# The order.


def test_the_order_of_each_file_is_kept_and_nothing_is_lost() -> None:
    for seed in range(500):
        logs = split(random_trace(seed).events)
        assert split(merged(list(logs.values()))) == logs


def test_the_order_of_the_files_does_not_matter() -> None:
    for seed in range(80):
        logs = list(split(random_trace(seed).events).values())
        assert all(merged(order) == merged(logs) for order in permutations(logs))


def test_what_is_broadcast_comes_before_it_is_delivered_and_a_snapshot_after_it() -> None:
    txns = [Txn(Zxid(epoch, counter), "x") for epoch in (1, 2) for counter in range(1, 50)]
    late = [restore(3, *txns[:60]), *deliveries(3, *txns[60:])]
    events = merged([late, deliveries(1, *txns), broadcasts(2, 1, *txns)])
    at = {event: number for number, event in enumerate(events)}
    assert all(at[sent] < at[Deliver(1, 0, sent.txn)] for sent in events if isinstance(sent, Broadcast))
    assert at[late[0]] > at[Deliver(1, 0, txns[59])]
    assert at[Deliver(1, 0, txns[60])] < at[late[-1]]


def test_a_violation_is_seen_before_the_end_of_a_file() -> None:
    """Reading one file after the other would not show it."""
    txns = [Txn(Zxid(1, counter), "x") for counter in range(1, 1001)]
    swapped = [txns[0], txns[2], txns[1], *txns[3:]]
    logs = [broadcasts(1, 1, *txns), deliveries(2, *txns), deliveries(3, *swapped)]
    [verdict] = check(trace.merge(files(logs)), ["total order"])
    assert verdict.violation is not None
    assert verdict.violation.detected is not None
    assert verdict.violation.detected < 12


def test_reading_is_lazy() -> None:
    """The files may be larger than the memory: a line of each is read ahead."""
    sources = files([deliveries(process, *[A, B] * 5000) for process in (1, 2)])
    events = trace.merge(sources)
    for _ in range(3):
        next(events)
    assert all(source.tell() <= 1000 for source, _ in sources)


def test_what_belongs_to_no_process_may_be_in_any_file() -> None:
    logs: list[list[Event]] = [[Drop(1), *deliveries(1, A)], [*deliveries(2, A), Drop(2)]]
    assert {*merged(logs)} == {*logs[0], *logs[1]}


# The end.


@pytest.mark.parametrize("cut", [0, 1])
@pytest.mark.parametrize("ends", [[], [End(1, complete=False)]], ids=["none", "incomplete"])
def test_a_file_without_a_complete_end_makes_it_inconclusive(cut: int, ends: list[Event]) -> None:
    logs: list[list[Event]] = [whole(deliveries(1, A)), whole(broadcasts(2, 1, A))]
    logs[cut][-1:] = ends
    events = list(trace.merge([file(log) for log in logs]))
    assert events[-1] == End(2, complete=False)
    assert {verdict.status for verdict in check(events)} == {"inconclusive"}


# What is wrong.


def error(*logs: Sequence[Event]) -> str:
    with pytest.raises(TraceError) as caught:
        list(trace.merge([file(log, f"p{number}") for number, log in enumerate(logs, 1)]))
    assert "\n" not in str(caught.value)
    return str(caught.value)


@pytest.mark.parametrize(
    ("field", "value"), [("processes", 5), ("protocol", "other"), ("quorums", "weights 1,1,1,0,0,0,0,0,0")]
)
def test_the_headers_have_to_agree(field: str, value: object) -> None:
    message = error([HEADER, End(0)], [HEADER, End(0)], [replace(HEADER, **{field: value}), End(0)])
    expected = getattr(HEADER, field)
    assert message == f"p3, line 1, field `{field}`: expected `{expected}` as in p1, line 1, found `{value}`"


@pytest.mark.parametrize("which", [0, 1])
def test_each_header_says_that_only_the_order_of_each_process_is_known(which: int) -> None:
    logs = [[HEADER, End(0)], [HEADER, End(0)]]
    logs[which][0] = replace(HEADER, order="global")
    assert error(*logs) == (
        f"p{which + 1}, line 1, field `order`: expected `per-process` in a file that is merged with others, "
        "found `global`"
    )


def test_a_schedule_in_a_header_is_left_out() -> None:
    with_schedule = replace(HEADER, schedule={"a": 1})
    assert list(trace.merge([file([with_schedule, End(0)]), file([HEADER, End(0)])])) == [HEADER, End(0)]


def test_the_events_of_a_process_are_in_one_file() -> None:
    message = error(whole(deliveries(1, A)), whole([*deliveries(2, A), Ready(1, 0, 1)]))
    assert message == (
        "p2, line 3, field `process`: expected all events of process 1 in one file, found some in p1, line 2"
    )


def test_what_is_wrong_in_a_file_is_said_with_its_name_and_line() -> None:
    assert error(whole(deliveries(1, A)), [HEADER, *deliveries(2, A, B), End(7)]) == (
        "p2, line 4, field `count`: expected 2, the number of events, found 7"
    )
    assert error(whole(deliveries(1, A)), []) == "p2, line 1: expected a header, the file is empty"
    assert error(whole(deliveries(1, A)), deliveries(2, A)).startswith("p2, line 1, field `event`: expected `header`")


def test_nothing_cannot_be_merged() -> None:
    assert error() == "expected a trace at least, found nothing to merge"


# Where an event stands.


def test_a_reader_finds_the_first_line_of_an_event() -> None:
    first, second = deliveries(1, A, B)
    source, _ = file([HEADER, first, second, first, End(3)])
    assert trace.Reader(source, "p").find([second, first, Ready(1, 0, 1)]) == {first: 2, second: 3}


def test_a_reader_stops_when_everything_is_found() -> None:
    source = BytesIO(b"".join(trace.dump([HEADER, *deliveries(1, A)])) + b"rubbish\n")
    assert trace.Reader(source, "p").find(deliveries(1, A)) == {Deliver(1, 0, A): 2}
    source.seek(0)
    assert trace.Reader(source, "p").find([]) == {}


def test_the_merged_trace_tells_where_its_last_event_stands() -> None:
    logs = {1: broadcasts(1, 1, A, B), 2: deliveries(2, A, B)}
    readers = [trace.Reader(source, name) for source, name in files(list(logs.values()))]
    together = trace.Merged(readers)
    seen = [(together.name, together.line, event) for event in together if isinstance(event, Broadcast | Deliver)]
    assert seen == [
        ("p1", 2, Broadcast(1, 0, 1, A)),
        ("p2", 2, Deliver(2, 0, A)),
        ("p1", 3, Broadcast(1, 0, 1, B)),
        ("p2", 3, Deliver(2, 0, B)),
    ]
