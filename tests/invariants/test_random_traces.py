"""Each property says of thousands of random traces what its sentence says, read word for word over all tuples.

There are three sources of traces: of what is broadcast and delivered; of these with protocol events, states and
promises of the environment; of these with clients. On all of them the verdicts and witnesses are those of the
literal readings, whatever order the logs are merged in, whoever is judged along, and wherever a judge is forked or
finished.
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from itertools import pairwise
from random import Random
from typing import Any, NamedTuple

import pytest
from msgspec.structs import replace

from invariants import (
    GROUPS,
    PROPERTIES,
    Broadcast,
    ClientAck,
    Deliver,
    Event,
    FinalRead,
    Judge,
    Txn,
    Verdict,
    Zxid,
    select,
)
from invariants import check as judged
from invariants.events import Local
from invariants.quorums import Quorums, quorums_of
from tests.invariants import protocol_defects, traces
from tests.invariants.builders import Order, ensemble, merge, whole
from tests.invariants.by_property import OF_CLIENTS, OF_SEQUENCES, OF_THE_PROTOCOL, OWN_TRACES, Literal
from tests.invariants.oracle import Finding, Reading
from tests.invariants.protocol_oracle import chosen
from tests.invariants.protocol_traces import LONGEST, random_protocol_trace
from tests.invariants.recorded import PROCESSES, RECORDED
from tests.invariants.traces import random_trace
from tests.tiers import sweep

BLOCK = 500
QUICK = range(40)
"""The seeds of the normal tier."""
TRACES = 800
ORDERS: tuple[Order, ...] = ("global", "per-process")
TXNS = [Txn(Zxid(epoch, counter), value) for epoch in (1, 2) for counter in (1, 2) for value in "vw"]


def with_clients(seed: int) -> list[Event]:
    """Few transactions, so that they meet: most of them are told and read, and some are forgotten."""
    rng = Random(seed)
    txns = rng.sample(TXNS, rng.randint(1, 4))
    events: list[Event] = list(random_trace(seed).events[:5])
    told = range(rng.randint(0, 5))
    events += [ClientAck(rng.randint(1, 3), rng.randint(0, 1), rng.choice(txns)) for _ in told]
    for _ in range(rng.choice((0, 1, 2, 2, 3, 4))):
        held = [txn for txn in txns if rng.random() < 0.9]
        rng.shuffle(held)
        events.append(FinalRead(rng.randint(1, 3), rng.randint(0, 1), tuple(held)))
    rng.shuffle(events)
    return sorted(events, key=lambda event: event.incarnation)  # type: ignore[attr-defined]  # all are local


class Source(NamedTuple):
    """A source of random traces, and the properties that are judged on them."""

    events: Callable[[int], list[Event]]
    literal: Mapping[str, Literal]
    """The literal readings of the properties that these traces are made for."""
    judged: Sequence[str]
    orders: Sequence[Order]
    seeds: int
    lasting: Sequence[str]
    """The properties that, once broken, stay broken."""


SOURCES = {
    "sequences": Source(
        lambda seed: random_trace(seed).events,
        OF_SEQUENCES,
        tuple(PROPERTIES),
        ("global",),  # see below for the other one
        1400,
        (
            "total order",
            "local primary order",
            "global primary order",
            "primary integrity",
            "po causal order",
            "clock",
            "causal order",
            "redelivery",
        ),
    ),
    "protocol": Source(
        lambda seed: random_protocol_trace(seed).events,
        OF_THE_PROTOCOL,
        tuple(OF_THE_PROTOCOL),
        ORDERS,
        900,
        ("invariant 1", "invariant 2", "invariant 3", "chosen", "epoch uniqueness", "zxid uniqueness", "state"),
    ),
    "clients": Source(with_clients, OF_CLIENTS, GROUPS["clients"], ("per-process",), 800, ()),
}
MADE = {"sequences": random_trace, "protocol": random_protocol_trace}
"""The sources that say which defects they have put into a trace."""
DEFECTS = [
    *(("sequences", each) for each in traces.DEFECTS),
    *(("protocol", each) for each in protocol_defects.DEFECTS),
]


def _parts(most: int | None, names: Sequence[str]) -> Any:
    """Sweep over the first seeds of these sources, up to so many (None: all of them), in blocks."""
    cases = []
    for name in names:
        seeds = range(SOURCES[name].seeds if most is None else most)
        parts = [QUICK, seeds[len(QUICK) : BLOCK], *(seeds[at : at + BLOCK] for at in range(BLOCK, len(seeds), BLOCK))]
        cases += [(name, part) for part in parts]
    return pytest.mark.parametrize(("name", "seeds"), sweep(cases, normal=[(name, QUICK) for name in names]), ids=str)


every_trace = _parts(None, tuple(SOURCES))
some = _parts(600, tuple(SOURCES))
of_defects = _parts(None, tuple(MADE))
of_sequences = _parts(None, ("sequences",))
of_the_protocol = _parts(600, ("protocol",))


def found(verdict: Verdict) -> Finding:
    return verdict.status, None if verdict.violation is None else verdict.violation.witness


def check(source: Source, events: list[Event], order: Order, names: Sequence[str] | None = None) -> list[Verdict]:
    return judged(whole(events, order, processes=ensemble(events)), source.judged if names is None else names)


def observed(source: Source, events: list[Event], order: Order = "global", processes: int | None = None) -> Judge:
    judge = Judge(select(source.judged), order, Quorums(processes or ensemble(events)))
    for event in events:
        judge.observe(event)
    return judge


def findings(events: list[Event], processes: int = 9, names: Sequence[str] | None = None) -> list[Any]:
    """The verdicts, without the number of the event with which a violation was found."""
    return [
        (replace(verdict, violation=None), broken.witness if broken else (), broken.summary if broken else "")
        for verdict in judged(whole(events, "per-process", processes=processes), names)
        for broken in [verdict.violation]
    ]


# The literal readings.


@every_trace
def test_every_verdict_and_witness_is_that_of_the_literal_reading(name: str, seeds: range) -> None:
    source = SOURCES[name]
    for seed in seeds:
        events = source.events(seed)
        for order in source.orders:
            got = {verdict.property: found(verdict) for verdict in check(source, events, order, [*source.literal])}
            reading = Reading(events, order)
            assert got == {name: literal(reading) for name, literal in source.literal.items()}, f"seed {seed}, {order}"


@of_sequences
def test_the_order_of_the_file_matters_to_the_clock_alone(name: str, seeds: range) -> None:
    source = SOURCES[name]
    for seed in seeds:
        with_clock, without = (
            {v.property: found(v) for v in check(source, source.events(seed), order)} for order in ORDERS
        )
        assert without == with_clock | {"clock": ("not exercised", None)}, f"seed {seed}"


@pytest.mark.parametrize(
    "name", sweep(["majority", "weights 3,1,1,1", "weights 0,1,1,0", "sets 1+2,2+3,1+3", "sets 2"], normal=[])
)
def test_so_it_is_of_what_is_chosen_by_another_quorum_system(name: str) -> None:
    quorums = quorums_of(name, 4)
    for seed in range(100):
        events = random_protocol_trace(seed).events
        for order in ORDERS:
            [verdict] = judged(whole(events, order, processes=4, quorums=name), ["chosen"])
            assert found(verdict) == chosen(Reading(events, order), quorums.contains), f"seed {seed}, {order}"


@_parts(800, ("sequences",))
def test_so_it_is_of_traces_without_the_events_that_a_property_looks_at(name: str, seeds: range) -> None:
    literal = {**OF_THE_PROTOCOL, **OF_CLIENTS}
    for seed in seeds:
        events = random_trace(seed).events
        got = {v.property: found(v) for v in check(SOURCES[name], events, "global", [*literal])}
        assert got == {name: of(Reading(events)) for name, of in literal.items()}, f"seed {seed}"
        exercised = {name for name in literal if got[name][0] != "not exercised"}
        assert exercised <= {"epoch uniqueness", "zxid uniqueness", "zxid assignment"}


# Other orders, other company.


@_parts(1000, tuple(SOURCES))
def test_no_merge_of_the_logs_changes_a_verdict_or_a_witness(name: str, seeds: range) -> None:
    source = SOURCES[name]
    for seed in seeds[::2]:
        events = source.events(seed)
        size, rng = ensemble(events), Random(seed)
        expected = findings(events, size, source.judged)
        for sign in (1, -1):
            in_a_row = sorted(events, key=lambda event: sign * event.process)  # type: ignore[attr-defined]  # all local
            assert findings(in_a_row, size, source.judged) == expected, f"seed {seed}"
        for _ in range(3):
            assert findings(merge(rng, events), size, source.judged) == expected, f"seed {seed}"


@pytest.mark.parametrize("name", sweep(RECORDED, normal=list(RECORDED)[::120]))
def test_no_merge_of_what_a_simulator_showed_changes_a_verdict_or_a_witness(name: str) -> None:
    events = RECORDED[name]()
    expected = findings(events, PROCESSES[name])
    rng = Random(name)
    for _ in range(8):
        assert findings(merge(rng, events), PROCESSES[name]) == expected


@some
def test_a_property_judged_alone_says_the_same(name: str, seeds: range) -> None:
    source = SOURCES[name]
    for seed in seeds:
        events = source.events(seed)
        for verdict in check(source, events, "global"):
            assert check(source, events, "global", [verdict.property]) == [verdict], f"seed {seed}"


# While the trace grows.


@of_defects
def test_what_is_found_while_the_trace_grows_is_a_violation(name: str, seeds: range) -> None:
    """Never a false alarm: what is reported at an event is broken by the trace up to that event."""
    source = SOURCES[name]
    for seed in seeds[::2]:
        events = source.events(seed)
        judge = observed(source, events)
        early = set(judge.broken).intersection(source.lasting)
        for each in early:
            status, _ = source.literal[each](Reading(events[: judge.broken[each] + 1]))
            assert status == "violated", f"seed {seed}, {each}"
        assert not [verdict for verdict in judge.finish() if verdict.property in early and not verdict.violation]


@of_defects
def test_a_violation_is_found_with_the_event_that_makes_it_certain(name: str, seeds: range) -> None:
    """Always for the first of them; for the others as far as their modules promise it."""
    source = SOURCES[name]
    for seed in seeds[::2]:
        events = source.events(seed)
        judge = observed(source, events)
        for each in at_once(name, events, judge):
            before = Reading(events[: judge.broken.get(each, len(events))])
            assert source.literal[each](before)[0] != "violated", f"seed {seed}, {each}"


def at_once(name: str, events: list[Event], judge: Judge) -> list[str]:
    """Return the properties that are found broken in these events with the one that makes it certain."""
    if name == "protocol":
        return [each for each in SOURCES[name].lasting if each != "zxid uniqueness"]
    exact = ["total order", "local primary order", "clock", "redelivery", "prefix"]
    if only_first_broadcasts_before_deliveries(events):
        exact += ["global primary order", "causal order"]
        if not judge.record.resumed:
            exact += ["po causal order", "strict causality"]
        if zxids_ascend(Reading(events)):
            exact.append("primary integrity")
    return exact


def only_first_broadcasts_before_deliveries(events: list[Event]) -> bool:
    """Return True if no transaction is broadcast after it was delivered, or broadcast by somebody else."""
    delivered = set()
    primaries: dict[object, tuple[int, int, int]] = {}
    for event in events:
        if isinstance(event, Deliver):
            delivered.add(event.txn)
        elif isinstance(event, Broadcast):
            primary = event.epoch, event.process, event.incarnation
            if primaries.setdefault(event.txn, primary) != primary or event.txn in delivered:
                return False
    return True


def zxids_ascend(reading: Reading) -> bool:
    """Return True if each delivery was broadcast, in the epoch of its zxid, and zxids ascend."""
    broadcast = {cast.txn for cast in reading.casts if cast.event.epoch == cast.txn.zxid.epoch}
    return all(
        broadcast.issuperset(sequence) and all(a.zxid < b.zxid for a, b in pairwise(sequence))
        for _, sequence in reading.segments
    )


@_parts(None, ("protocol",))
def test_in_the_order_of_time_a_violation_of_invariants_4_and_5_is_found_when_it_happens(
    name: str, seeds: range
) -> None:
    """A search need not wait for the end; it may still turn out that there was none after all."""
    for seed in seeds[::4]:
        events = SOURCES[name].events(seed)
        judge = Judge(select(["invariant 4", "invariant 5"]), "global")
        for number, event in enumerate(events, 1):
            judge.observe(event)
            reading = Reading(events[:number])
            for each in ("invariant 4", "invariant 5"):
                status, witness = OF_THE_PROTOCOL[each](reading)
                if status == "violated" and each not in judge.broken:
                    # Only what somebody else did makes it one now: there was no AckEpoch at all, or β_e went on.
                    assert witness is None or witness[-1] != event, f"seed {seed}"


@some
def test_the_event_of_detection_is_reported_with_the_violation(name: str, seeds: range) -> None:
    reported = 0
    for seed in seeds:
        judge = observed(SOURCES[name], SOURCES[name].events(seed))
        for verdict in judge.finish():
            if verdict.violation is not None:
                assert verdict.violation.detected == judge.broken.get(verdict.property)
                reported += verdict.violation.detected is not None
    assert reported > len(seeds) // 10 or name == "clients"


@some
def test_finishing_changes_nothing(name: str, seeds: range) -> None:
    """A trace may be judged as if it ended here, and go on."""
    source = SOURCES[name]
    for seed in seeds[::2]:
        events = source.events(seed)
        judge = observed(source, [], processes=ensemble(events))
        for event in events:
            judge.observe(event)
            judge.finish()
        assert list(map(found, judge.finish())) == list(map(found, check(source, events, "global"))), f"seed {seed}"


@some
def test_a_fork_says_what_a_judge_says_that_saw_the_same(name: str, seeds: range) -> None:
    """At any point of a trace; and the original goes its own way."""
    source = SOURCES[name]
    for seed in seeds:
        events, other = source.events(seed), source.events(seed + 50_000)
        at = Random(seed).randint(0, len(events))
        highest = 1 + max([0, *(event.incarnation for event in events)])  # type: ignore[attr-defined]  # all local
        other = [replace(event, incarnation=event.incarnation + highest) for event in other]  # type: ignore[attr-defined]  # all local
        order = ORDERS[seed // 2 % 2]
        original = observed(source, events[:at], order, 3)
        fork = original.fork()
        first, second = (fork, original) if seed % 2 else (original, fork)
        for judge, rest in ((first, other), (second, events[at:])):
            for event in rest:
                judge.observe(event)
        for judge, saw in ((first, events[:at] + other), (second, events)):
            expected = observed(source, saw, order, 3)
            assert judge.finish() == expected.finish(), f"seed {seed}"
            assert judge.broken == expected.broken, f"seed {seed}"


@of_the_protocol
def test_a_trace_that_is_cut_off_is_concluded_upon_only_if_nothing_can_repair_it(name: str, seeds: range) -> None:
    for seed in seeds:
        events = SOURCES[name].events(seed)
        cut_off = events[: len(events) * 2 // 3]
        for order in ORDERS:
            size, names = ensemble(events), SOURCES[name].judged
            cut = judged(whole(cut_off, order, complete=False, processes=size), names)
            later = {v.property: v.status for v in judged(whole(events, order, processes=size), names)}
            for verdict in cut:
                assert verdict.status in ("inconclusive", "violated")
                assert verdict.status == "inconclusive" or later[verdict.property] == "violated", f"seed {seed}"


# The random traces are worth judging.


@cache
def defects_of(name: str) -> Counter[str]:
    return Counter(defect for seed in range(TRACES) for defect in MADE[name](seed).defects)


@cache
def verdicts_of(name: str) -> Counter[tuple[str, str]]:
    readings = [Reading(SOURCES[name].events(seed)) for seed in range(TRACES)]
    literal = SOURCES[name].literal
    return Counter((each, of(reading)[0]) for reading in readings for each, of in literal.items())


@pytest.mark.parametrize(("name", "defect"), DEFECTS)
def test_every_defect_is_frequent(name: str, defect: str) -> None:
    assert defects_of(name)[defect] >= TRACES // 50


@pytest.mark.slow
@pytest.mark.xdist_group("random traces")
@pytest.mark.parametrize("status", ["violated", "holds", "not exercised"])
@pytest.mark.parametrize(
    ("name", "of"), [(name, of) for name in SOURCES for of in SOURCES[name].literal if of not in OWN_TRACES]
)
def test_every_verdict_is_frequent(name: str, of: str, status: str) -> None:
    assert verdicts_of(name)[of, status] >= TRACES // (40 if name == "clients" else 20)


@_parts(800, tuple(MADE))
def test_a_run_without_defects_breaks_nothing(name: str, seeds: range) -> None:
    """The generator's own protocol is correct, so what a broken trace shows comes from its defects."""
    clean = [trace.events for trace in map(MADE[name], seeds) if not trace.defects]
    assert len(clean) >= len(seeds) // 10
    literal = {**OF_SEQUENCES, **OF_THE_PROTOCOL}
    assert not [(each, events) for events in clean for each in literal if literal[each](Reading(events))[1]]


@pytest.mark.parametrize(("name", "longest"), [("sequences", 40), ("protocol", LONGEST)])
def test_traces_are_small_and_keep_their_processes_in_order(name: str, longest: int) -> None:
    for seed in range(TRACES):
        events = SOURCES[name].events(seed)
        assert 1 <= len(events) <= longest
        latest: dict[int, int] = {}
        for event in events:
            assert isinstance(event, Local)
            assert latest.get(event.process, 0) <= event.incarnation
            latest[event.process] = event.incarnation


def test_a_seed_gives_one_trace() -> None:
    assert random_trace(7).events == random_trace(7).events
