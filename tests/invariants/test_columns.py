"""Judging by counting, in columns: the same verdicts as those of a judge, whatever the blocks are; or it gives up."""

import tracemalloc
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from io import BytesIO
from random import Random

import numpy as np
import pyarrow as pa
import pytest
from msgspec.structs import replace

from invariants import (
    GROUPS,
    PROPERTIES,
    Broadcast,
    Crash,
    Deliver,
    Event,
    Halt,
    Header,
    Integrity,
    Quiescent,
    Ready,
    Recover,
    Restore,
    Stabilised,
    TraceError,
    Txn,
    Verdict,
    Zxid,
    check,
    select,
    trace,
)
from invariants.columns.hashes import hashes_of
from invariants.columns.in_order import Proof
from invariants.columns.lines import judge_in_order
from invariants.columns.verdicts import BESIDE
from invariants.columns.verdicts import COUNTED as COUNTED_THERE
from invariants.quorums import Quorums
from invariants.record import Record
from tests.invariants.broken import BREAKS, Ensemble
from tests.invariants.builders import A, B, C, D, Order, broadcasts, deliveries, ensemble, merge, restore, whole
from tests.invariants.columns import assert_agrees, by_lines, opened, verdicts_of
from tests.invariants.protocol_traces import random_protocol_trace
from tests.invariants.recorded import SCHEDULES
from tests.invariants.traces import random_trace
from tests.tiers import sweep
from zabcheck.protocols import PROTOCOLS
from zabcheck.search.run import Run, Search, replay, schedule_of
from zabcheck.search.swarm import find
from zabcheck.simulation.schedule import load

BLOCKS = (130, 200, 300, 700, 100_000)
"""Bytes: about one line, two, three, seven, and all."""
COUNTED = ("core", "causality", "ladis")
"""The groups of properties that look at broadcasts, deliveries and snapshots only."""


def variants(seed: int) -> Iterator[list[Event]]:
    """The random trace of this seed: in both orders, shuffled, and cut off, as far as a judge takes it."""
    rng = Random(seed)
    events = random_trace(seed).events
    forms: list[tuple[list[Event], Order]] = [
        (events, "global"),
        (events, "per-process"),
        (merge(rng, events), "per-process"),
    ]
    for form, order in forms:
        lines = whole(form, order, complete=rng.random() < 0.7)
        yield lines if rng.random() < 0.9 else lines[:-1]


def is_violated(verdicts: Sequence[Verdict]) -> bool:
    return any(verdict.violation is not None for verdict in verdicts)


@pytest.mark.parametrize(
    "seeds",
    sweep((range(20), range(20, 100), range(100, 300)), normal=(range(20),)),
    ids=lambda s: f"{s[0]}",
)
def test_json_lines_are_judged_as_by_a_judge(seeds: range) -> None:
    decided = sound = 0
    for seed in seeds:
        for lines in variants(seed):
            wanted = check(lines)
            found = by_lines(lines, BLOCKS[seed % len(BLOCKS)])
            assert found in (None, wanted), f"seed {seed}"
            decided += found is not None
            sound += not is_violated(wanted)
    assert decided > 0.7 * sound  # the others are unusual, such as those with zxids that descend


@pytest.mark.parametrize(
    "seeds",
    sweep([range(first, first + 50) for first in range(0, 250, 50)], normal=(range(50),)),
    ids=lambda s: f"{s[0]}",
)
def test_a_file_of_many_runs_is_judged_as_each_by_a_judge(seeds: range) -> None:
    rng = Random(seeds[0])
    traces = [rng.choice(list(variants(seed))) for seed in seeds]
    wanted = verdicts_of(traces)
    file = opened(traces, row_group=rng.choice((5, 50, 1 << 20)))
    for rows in (rng.choice((1, 2, 3)), 7, 100, 1 << 16):
        assert_agrees(file.judge(PROPERTIES.values(), rows), wanted)
    run = rng.randrange(len(traces))
    assert file.judge_run(run, list(PROPERTIES.values())) == wanted[run]


@pytest.mark.parametrize("seeds", sweep((range(4), range(4, 60)), normal=(range(4),)), ids=str)
@pytest.mark.parametrize("name", PROPERTIES)
def test_a_property_by_itself_is_judged_as_by_a_judge(name: str, seeds: range) -> None:
    for seed in seeds:
        lines = whole(random_trace(seed).events, "global")
        assert by_lines(lines, 400, [name]) in (None, check(lines, [name])), f"seed {seed}"


# What is counted.


def test_every_property_is_counted_or_looks_at_events_of_its_own() -> None:
    """A trace without such events can then be judged by counting."""
    life = {Broadcast, Deliver, Restore, Crash, Recover, Halt}
    for name, kind in PROPERTIES.items():
        assert kind.looks_at is not None, f"{kind.__name__} does not say what it looks at: see `Invariant.looks_at`"
        assert {*kind(Record(Quorums(3)), "global").observers()} - life == set(kind.looks_at), name
        assert name in (BESIDE if kind.looks_at and name not in COUNTED_THERE else COUNTED_THERE), name


def test_counts_are_of_what_they_are_said_to_be() -> None:
    assert set(Proof(1, np.array([True]), redelivery=True).finish()) == COUNTED_THERE


def test_by_a_property_that_does_not_say_what_it_looks_at_nothing_is_counted() -> None:
    class Mine(Integrity):
        name = "mine"
        looks_at = None

    lines = whole([*broadcasts(1, 1, A), *deliveries(1, A)], "global")
    source = BytesIO(b"".join(trace.dump(lines)))
    assert judge_in_order(source, [Mine], 100) is None
    assert judge_in_order(source, [Integrity], 100) is not None


IN_ORDER: dict[str, list[Event]] = {
    "nothing": [],
    "events that nobody counts": [Crash(1, 0), Recover(1, 1)],
    "three epochs": [
        *broadcasts(1, 1, A, B, C),
        *deliveries(1, A, B),
        *deliveries(2, A, B),
        *broadcasts(2, 2, D),
        *deliveries(2, D),
        *deliveries(1, D),
        *deliveries(3, A),
    ],
    "a restart from the beginning": [
        *broadcasts(1, 1, A, B),
        *deliveries(1, A, B),
        *deliveries(1, A, B, incarnation=1),
        *deliveries(2, A),
        *deliveries(2, A, B, incarnation=3),
    ],
    "a restart from a snapshot": [
        *broadcasts(1, 1, A, B, C),
        *deliveries(1, A, B),
        restore(2, A, B),
        *deliveries(2, C),
        restore(1, A, B, incarnation=1),
        *deliveries(1, C, incarnation=1),
        restore(1, A, incarnation=1),
        *deliveries(1, B, C, incarnation=1),
        restore(1, incarnation=2),
        *deliveries(1, A, incarnation=2),
    ],
    "deliveries and broadcasts that are repeated": [
        *broadcasts(1, 1, A, B, C),
        *broadcasts(1, 1, B),
        *deliveries(1, A, B, A, B, C, C, A),
        *deliveries(2, A, A, B),
    ],
    "what nobody delivered": [*broadcasts(1, 1, A, B), *deliveries(2, A), *broadcasts(2, 2, D), *deliveries(2, D)],
}


@pytest.mark.parametrize("events", IN_ORDER.values(), ids=IN_ORDER)
@pytest.mark.parametrize("order", ["global", "per-process"])
@pytest.mark.parametrize("complete", [True, False])
def test_what_is_in_order_is_judged_by_counting(events: list[Event], order: Order, complete: bool) -> None:
    lines = whole(events, order, complete=complete)
    wanted = check(lines)
    assert not is_violated(wanted)
    for block in BLOCKS:
        assert by_lines(lines, block) == wanted
    found = opened([lines] * 3).judge(PROPERTIES.values())
    assert_agrees(found, [wanted] * 3)
    assert found.by_a_judge == 0


def test_merged_logs_that_are_in_order_are_judged_by_counting() -> None:
    """Deliveries may come before their broadcasts, and a process may be far behind."""
    events = [*deliveries(2, A, B, C), *deliveries(3, A), *broadcasts(1, 1, A, B, C), *deliveries(1, A, B)]
    lines = whole(events)
    assert by_lines(lines, 200) == check(lines)
    assert by_lines(whole(events, "global"), 200) is None  # the clock


@cache
def searched() -> list[list[Event]]:
    """Return traces of searches of the reference protocol: crashes, snapshots, repeated deliveries, lost writes."""
    runs: list[list[Event]] = []

    def on_run(run: Run) -> None:
        simulator = run.simulator
        runs.append(replay(schedule_of("zab", None, 3, simulator.executed, switches=simulator.switches)).events)

    assert find(Search(PROTOCOLS["zab"], 3, ("integrity",), 60, 150, 1, on_run)) is None
    return runs


@pytest.mark.slow
def test_runs_of_the_reference_protocol_are_judged_by_counting() -> None:
    wanted = verdicts_of(searched(), COUNTED)
    found = opened(searched()).judge([PROPERTIES[v.property] for v in wanted[0]], 1000)
    assert_agrees(found, wanted)
    assert (found.runs, found.by_a_judge) == (60, 0)
    kinds = {type(event) for run in searched() for event in run}
    assert {Restore, Crash, Recover, Deliver, Broadcast} <= kinds
    assert all(found.judged[name] for name in (*GROUPS["core"], *GROUPS["causality"], *GROUPS["ladis"]))


@pytest.mark.slow
def test_runs_of_the_reference_protocol_in_json_lines_are_judged_by_counting_with_all_their_events() -> None:
    for lines in searched():
        assert by_lines(lines, 5000) == check(lines)


@pytest.mark.parametrize("seeds", sweep((range(40), range(40, 300)), normal=(range(40),)), ids=str)
def test_so_is_a_random_run_of_zab_if_nothing_is_wrong(seeds: range) -> None:
    """Merged logs seldom are not: of a follower that joined late, if its log comes first."""
    sound, refused = 0, 0
    for seed in seeds:
        events = random_protocol_trace(seed).events
        for order in ("global", "per-process"):
            lines = whole(events, order, processes=ensemble(events))
            wanted, found = check(lines), by_lines(lines, BLOCKS[seed % len(BLOCKS)])
            assert found in (None, wanted), f"seed {seed}"
            if not is_violated(wanted):
                sound += 1
                refused += found is None
    assert refused < sound / 20


@pytest.mark.parametrize("order", ["global", "per-process"])
def test_every_kind_of_event_in_a_long_run_is_judged_by_counting(order: Order) -> None:
    events = list(Ensemble(400, 4).events())
    kinds = {type(event) for event in events}
    assert {kind for each in PROPERTIES.values() for kind in each.looks_at or ()} <= kinds
    for lines in (whole(events, order, processes=3), whole(merge(Random(1), events), processes=3)):
        wanted = check(lines)
        assert not is_violated(wanted)
        assert by_lines(lines, 3000) == wanted


@pytest.mark.parametrize("is_later", [True, False])
def test_a_promise_that_is_taken_back_counts_for_nothing(is_later: bool) -> None:
    promises = Stabilised(1, 0, (1, 2)), Stabilised(1, 0, ())
    later = broadcasts(1, 1, B)
    sent = [*promises, *later] if is_later else [*promises[:1], *later, *promises[1:]]
    lines = whole([*broadcasts(1, 1, A), *sent, *deliveries(1, A, B), *deliveries(2, A, B)], processes=2)
    assert by_lines(lines, 1000) == check(lines)


def test_a_primary_that_is_ready_in_an_older_epoch_again_is_left_to_a_judge() -> None:
    events = [*broadcasts(1, 1, A), *broadcasts(1, 2, D), *deliveries(1, A, D), Ready(1, 0, 1)]
    lines = whole([*events, Quiescent(1, 0, 1, 1, "none", True)], processes=1)
    assert by_lines(lines, 1000) in (None, check(lines))


@pytest.mark.parametrize("name", BREAKS)
def test_what_breaks_such_a_run_is_noticed(name: str) -> None:
    lines = whole(BREAKS[name](list(Ensemble(200, 4).events())), "global", processes=3)
    try:
        wanted = check(lines)
    except TraceError:  # an incarnation that goes back
        assert by_lines(lines, 3000) is None
        return
    assert by_lines(lines, 3000) == (None if is_violated(wanted) else wanted)


def test_fields_to_ignore_are_skipped_and_others_are_not() -> None:
    [header, *lines] = whole([*broadcasts(1, 1, A, B), *deliveries(1, A, B)], "global")
    assert isinstance(header, Header)
    data = b"".join(trace.dump([replace(header, ignores=("ts", "host")), *lines]))
    data = data.replace(b'{"event":"deliver",', b'{"ts":1.5,"event":"deliver","host":{"a":[]},')
    assert judge_in_order(BytesIO(data), select(), 150) == check([header, *lines])
    assert judge_in_order(BytesIO(data.replace(b'"host":{', b'"hosts":{')), select(), 150) is None


def test_a_long_run_in_parquet_is_judged_by_its_events() -> None:
    lines = whole(list(Ensemble(2000, 2).events()), "global", processes=3)
    wanted = check(lines)
    assert_agrees(opened([lines]).judge(PROPERTIES.values(), len(lines) // 8), [wanted])
    assert opened([lines]).judge(PROPERTIES.values(), len(lines) // 8).by_a_judge == 0


def test_with_protocol_events_short_runs_in_parquet_are_left_to_a_judge() -> None:
    some = searched()[:5]
    found = opened(some).judge(PROPERTIES.values())
    assert_agrees(found, verdicts_of(some))
    assert found.by_a_judge == 5


@pytest.mark.slow
def test_the_saved_counterexamples_are_judged_as_by_a_judge() -> None:
    schedules = [load(file.read_bytes(), file.name) for file in sorted(SCHEDULES.glob("*.json"))[::4]]
    traces = [replay(schedule).events for schedule in schedules]
    wanted = verdicts_of(traces, COUNTED)
    kinds = [PROPERTIES[verdict.property] for verdict in wanted[0]]
    found = opened(traces).judge(kinds, 500)
    assert_agrees(found, wanted)
    # A judge reads those that violate something, and those whose configuration changes.
    changing = [PROTOCOLS[schedule.protocol].environment.configurations for schedule in schedules]
    read = [is_violated(verdicts) or changes for verdicts, changes in zip(wanted, changing, strict=True)]
    assert sum(read) <= found.by_a_judge < 1.1 * sum(read)
    for lines, verdicts in zip(traces, wanted, strict=True):
        assert by_lines(lines, 5000, COUNTED) in (None, verdicts)


# Long traces.


def long_run(count: int) -> list[Event]:
    """Return a run of so many transactions of three epochs at three processes, one of which goes on from a snapshot."""
    events: list[Event] = []
    sequence: list[Txn] = []
    for number in range(1, count + 1):
        epoch = 1 + 3 * (number - 1) // count
        txn = Txn(Zxid(epoch, number), f"v{number}")
        sequence.append(txn)
        events.append(Broadcast(epoch, 0, epoch, txn))
        events += [Deliver(process, 0, txn) for process in (1, 2, 3)]
        if number >= 10:
            events.append(Deliver(4, 0, sequence[number - 10]))
    events += [Crash(4, 0), restore(4, *sequence[: count // 2], incarnation=1)]
    events += [Deliver(4, 1, txn) for txn in sequence[count // 2 :]]
    return events


@pytest.mark.slow
def test_a_long_run_is_judged_by_counting() -> None:
    lines = whole(long_run(38_000), "global")
    assert len(lines) > 200_000
    wanted = check(lines)
    assert not is_violated(wanted)
    assert by_lines(lines, 1 << 20) == wanted
    found = opened([lines], 40_000).judge(PROPERTIES.values(), 10_000)
    assert_agrees(found, [wanted])
    assert found.by_a_judge == 0


def moved(rng: Random, events: list[Event]) -> None:
    events.insert(rng.randrange(len(events)), events.pop(rng.randrange(len(events))))


def dropped(rng: Random, events: list[Event]) -> None:
    del events[rng.randrange(len(events))]


def duplicated(rng: Random, events: list[Event]) -> None:
    events.insert(rng.randrange(len(events)), rng.choice(events))


def altered(rng: Random, events: list[Event]) -> None:
    place = rng.randrange(len(events))
    event = events[place]
    if isinstance(event, Broadcast):
        events[place] = Broadcast(event.process, event.incarnation, event.epoch, Txn(event.txn.zxid, "other"))
    elif isinstance(event, Deliver):
        events[place] = Deliver(event.process, event.incarnation, Txn(event.txn.zxid, "other"))
    elif isinstance(event, Restore):
        events[place] = Restore(event.process, event.incarnation, event.zxid, event.length, event.hash ^ 1)


def another_zxid(rng: Random, events: list[Event]) -> None:
    place = rng.randrange(len(events))
    event = events[place]
    if isinstance(event, Deliver):
        txn = Txn(Zxid(event.txn.zxid.epoch, event.txn.zxid.counter + rng.choice((-1, 1, 1000))), event.txn.value)
        events[place] = Deliver(event.process, event.incarnation, txn)


@pytest.mark.parametrize("seeds", sweep((range(3), range(3, 30)), normal=(range(3),)), ids=str)
@pytest.mark.parametrize("mutate", [moved, dropped, duplicated, altered, another_zxid])
def test_one_wrong_event_is_noticed(mutate: Callable[[Random, list[Event]], None], seeds: range) -> None:
    sound = long_run(30)
    assert not is_violated(check(whole(sound, "global")))
    noticed = 0
    for seed in seeds:
        rng = Random(seed)
        events = sound.copy()
        mutate(rng, events)
        lines = whole(events, rng.choice(("global", "per-process")))
        found = by_lines(lines, rng.choice(BLOCKS))
        try:
            wanted = check(lines)
        except TraceError:  # an incarnation that goes back
            assert found is None
            with pytest.raises(TraceError):
                opened([lines, lines]).judge(PROPERTIES.values())
            continue
        noticed += is_violated(wanted)
        assert found in (None, wanted), f"seed {seed}"
        assert_agrees(opened([lines, lines]).judge(PROPERTIES.values(), rng.choice((50, 100, 1000))), [wanted] * 2)
    assert noticed > len(seeds) / 3


# What is no trace, or unusual.


@pytest.mark.parametrize(
    "damage",
    [
        lambda data: data[:-5],
        lambda data: data.replace(b"}\n", b"}\n\n", 1),
        lambda data: data.replace(b"}\n", b"} ", 1),
        lambda data: data.replace(b'{"event":"deliver",', b'{"event":"deliver",\n', 1).replace(b"}\n{", b"} {", 1),
        lambda data: data.replace(b'"process":2', b'"process":10', 1),
        lambda data: data.replace(b'"count":6', b'"count":7'),
        lambda data: data + data.splitlines(keepends=True)[-1],
        lambda data: data + data.splitlines(keepends=True)[0],
        lambda data: data.split(b"\n", 1)[1],
        lambda data: data[:0],
        lambda data: b"x" * len(data),
    ],
)
def test_json_lines_that_are_no_trace_are_left_to_the_reader(damage: Callable[[bytes], bytes]) -> None:
    data = b"".join(trace.dump(whole([*broadcasts(1, 1, A, B), *deliveries(1, A, B), *deliveries(2, A, B)], "global")))
    assert judge_in_order(BytesIO(data), select()) is not None
    damaged = damage(data)
    for block in BLOCKS:
        assert judge_in_order(BytesIO(damaged), select(), block) is None
    with pytest.raises(TraceError):
        check(trace.loads(damaged))


def test_carriage_returns_and_a_last_line_without_a_line_feed_do_no_harm() -> None:
    lines = whole([*broadcasts(1, 1, A), *deliveries(1, A)])
    data = b"".join(trace.dump(lines)).replace(b"\n", b"\r\n")[:-2]
    assert judge_in_order(BytesIO(data), select(), 150) == check(lines)


def test_numbers_that_do_not_fit_are_left_to_a_judge() -> None:
    most = 2**32 - 1
    for zxid in (Zxid(1, most), Zxid(most, 1), Zxid(1 << 24, 1), Zxid(1, 1 << 24)):
        txn = Txn(zxid, "x")
        lines = whole([Broadcast(1, 2**63 - 1, zxid.epoch, txn), Deliver(1, 2**63 - 1, txn)], "global")
        wanted = check(lines)
        assert by_lines(lines, 400) in (None, wanted)
        assert_agrees(opened([lines] * 3).judge(PROPERTIES.values()), [wanted] * 3)
        assert opened([lines] * 3).judge(PROPERTIES.values()).by_a_judge > 0


def test_a_snapshot_of_any_length_is_refused_or_right() -> None:
    right = restore(2, A, B)
    for wrong in (
        Restore(2, 0, right.zxid, 2**63 - 1, right.hash),
        Restore(2, 0, right.zxid, 1, right.hash),
        Restore(2, 0, Zxid(9, 9), 2, right.hash),
        Restore(2, 0, Zxid(0, 0), 0, 5),
        Restore(2, 0, Zxid(0, 1), 0, 0),
    ):
        lines = whole([*broadcasts(1, 1, A, B), *deliveries(1, A, B), wrong])
        assert is_violated(check(lines))
        assert by_lines(lines, 300) is None
        assert_agrees(opened([lines, lines]).judge(PROPERTIES.values()), verdicts_of([lines, lines]))


def test_a_snapshot_is_not_explained_by_what_was_delivered_after_it() -> None:
    """Both processes took over what neither delivered from the start."""
    lines = whole(
        [*broadcasts(1, 1, A, B), restore(1, A, B), *deliveries(1, A, B), restore(2, A, B), *deliveries(2, A)]
    )
    assert is_violated(check(lines))
    assert by_lines(lines, 10_000) is None
    assert_agrees(opened([lines, lines]).judge(PROPERTIES.values()), verdicts_of([lines, lines]))


def test_hashes_tell_texts_apart() -> None:
    texts = ["", "a", "b", "ab", "a" * 7, "a" * 8, "a" * 9, "a" * 16, "a" * 17, "a" * 16 + "b", "\0", "\0\0", "é", None]
    texts += [f"value {number}" for number in range(10_000)]
    hashes = hashes_of(pa.array(texts, pa.string())).tolist()
    known = [hash_ for text, hash_ in zip(texts, hashes, strict=True) if text is not None]
    assert len(set(known)) == len(known)
    assert hashes_of(pa.array(texts, pa.string()).slice(3, 9)).tolist() == hashes[3:12]
    assert hashes_of(pa.array([], pa.string())).tolist() == []
    assert hashes_of(pa.array(["", None], pa.string())).tolist() == [hashes[0], hashes[0]]


@pytest.mark.slow
def test_memory_does_not_grow_with_the_events_but_with_distinct_transactions() -> None:
    """A process that begins anew, and is told the same again, costs nothing: neither here nor in arrays."""

    def peak(restarts: int) -> int:
        events = list(Ensemble(400, 2).events())
        delivered = [event.txn for event in events if isinstance(event, Deliver) and event.process == 3]
        for life in range(9, 9 + restarts):
            events += [
                Crash(3, life - 1),
                Recover(3, life),
                *deliveries(3, *dict.fromkeys(delivered), incarnation=life),
            ]
        data = b"".join(trace.dump(whole(events, "global", processes=3)))
        tracemalloc.start()
        try:
            assert judge_in_order(BytesIO(data), select(), 1000) is not None
            return tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()

    peak(1)  # numpy imports a few modules when they are needed first
    assert peak(100) < 1.2 * peak(10)
