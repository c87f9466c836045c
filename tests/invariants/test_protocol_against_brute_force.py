"""The properties of protocol events, of liveness and of state say what their sentences say, read word for word.

On thousands of random protocol traces: the verdict, the witness, and whatever order the logs are merged in.
"""

from collections import Counter
from functools import cache
from random import Random

import pytest
from msgspec.structs import replace

from invariants import Event, Judge, Verdict, check, select
from invariants.events import Local
from invariants.quorums import Quorums, quorums_of
from tests.invariants.builders import Order, ensemble, merge, whole
from tests.invariants.by_property import OF_SEQUENCES, OF_THE_PROTOCOL, OWN_TRACES
from tests.invariants.oracle import Finding, Reading
from tests.invariants.protocol_defects import DEFECTS
from tests.invariants.protocol_oracle import chosen
from tests.invariants.protocol_traces import LONGEST, random_protocol_trace
from tests.invariants.traces import random_trace
from tests.tiers import sweep

NAMES = list(OF_THE_PROTOCOL)
TRACES = 800
BLOCK = 500
QUICK = range(60)
"""The seeds of the normal tier."""
blocks = pytest.mark.parametrize(
    "seeds",
    sweep(
        [QUICK, range(len(QUICK), BLOCK), *(range(first, first + BLOCK) for first in range(BLOCK, 8000, BLOCK))],
        normal=[QUICK],
    ),
    ids=lambda seeds: f"from-{seeds[0]}",
)
one_block = pytest.mark.parametrize("seeds", sweep((QUICK, range(len(QUICK), BLOCK)), normal=(QUICK,)), ids=str)
all_traces = pytest.mark.parametrize("seeds", sweep((QUICK, range(len(QUICK), TRACES)), normal=(QUICK,)), ids=str)

ORDERS: tuple[Order, ...] = ("global", "per-process")

CERTAIN = ["invariant 1", "invariant 2", "invariant 3", "chosen", "epoch uniqueness", "zxid uniqueness", "state"]
"""The properties that, once broken, stay broken."""

AT_ONCE = ["invariant 1", "invariant 2", "invariant 3", "chosen", "epoch uniqueness", "state"]
"""Those that are found broken with the event that makes it certain, always."""


def found(verdict: Verdict) -> Finding:
    return verdict.status, None if verdict.violation is None else verdict.violation.witness


def observed(events: list[Event], order: Order = "global", processes: int | None = None) -> Judge:
    judge = Judge(select(NAMES), order, Quorums(processes or ensemble(events)))
    for event in events:
        judge.observe(event)
    return judge


def findings(events: list[Event]) -> list[tuple[Verdict, tuple[Event, ...], str]]:
    """The verdicts, without the number of the event with which a violation was found."""
    return [
        (replace(verdict, violation=None), broken.witness if broken else (), broken.summary if broken else "")
        for verdict in check(whole(events, "per-process", processes=ensemble(events)), NAMES)
        for broken in [verdict.violation]
    ]


@blocks
def test_every_verdict_and_witness_is_that_of_the_literal_reading(seeds: range) -> None:
    for seed in seeds:
        events = random_protocol_trace(seed).events
        for order in ORDERS:
            reading = Reading(events, order)
            trace = whole(events, order, processes=ensemble(events))
            got = {verdict.property: found(verdict) for verdict in check(trace, NAMES)}
            assert got == {name: literal(reading) for name, literal in OF_THE_PROTOCOL.items()}, f"seed {seed}, {order}"


@pytest.mark.parametrize(
    "name",
    sweep(
        ["majority", "weights 3,1,1,1", "weights 0,1,1,0", "sets 1+2,2+3,1+3", "sets 2"],
        normal=[],
    ),
)
def test_so_it_is_of_what_is_chosen_by_another_quorum_system(name: str) -> None:
    quorums = quorums_of(name, 4)
    for seed in range(TRACES // 4):
        events = random_protocol_trace(seed).events
        for order in ORDERS:
            [verdict] = check(whole(events, order, processes=4, quorums=name), ["chosen"])
            assert found(verdict) == chosen(Reading(events, order), quorums.contains), f"seed {seed}, {order}"


@all_traces
def test_so_it_is_of_traces_without_protocol_events(seeds: range) -> None:
    for seed in seeds:
        events = random_trace(seed).events
        reading = Reading(events)
        got = {verdict.property: found(verdict) for verdict in check(whole(events, "global"), NAMES)}
        assert got == {name: literal(reading) for name, literal in OF_THE_PROTOCOL.items()}, f"seed {seed}"
        assert {name for name in NAMES if got[name][0] != "not exercised"} <= {
            "epoch uniqueness",
            "zxid uniqueness",
            "zxid assignment",
        }


@blocks
def test_no_merge_of_the_logs_changes_a_verdict_or_a_witness(seeds: range) -> None:
    for seed in seeds[::4]:
        events = random_protocol_trace(seed).events
        expected = findings(events)
        rng = Random(seed)
        for sign in (1, -1):
            in_a_row = sorted(events, key=lambda event: sign * event.process)  # type: ignore[attr-defined]  # all local
            assert findings(in_a_row) == expected, f"seed {seed}"
        for _ in range(3):
            assert findings(merge(rng, events)) == expected, f"seed {seed}"


@one_block
@pytest.mark.parametrize("name", NAMES)
def test_a_property_judged_alone_says_the_same(name: str, seeds: range) -> None:
    for seed in seeds:
        trace, together = judged_together(seed)
        assert check(trace, [name]) == [v for v in together if v.property == name], f"seed {seed}"


@cache
def judged_together(seed: int) -> tuple[list[Event], list[Verdict]]:
    """A random trace, and what all properties of NAMES say of it."""
    events = random_protocol_trace(seed).events
    trace = whole(events, "global", processes=ensemble(events))
    return trace, check(trace, NAMES)


@blocks
def test_what_is_found_while_the_trace_grows_is_a_violation(seeds: range) -> None:
    for seed in seeds[::2]:
        events = random_protocol_trace(seed).events
        judge = observed(events)
        for name in set(judge.broken).intersection(CERTAIN):
            status, _ = OF_THE_PROTOCOL[name](Reading(events[: judge.broken[name] + 1]))
            assert status == "violated", f"seed {seed}, {name}"
        for verdict in judge.finish():
            assert verdict.violation or verdict.property not in judge.broken or verdict.property not in CERTAIN


@blocks
def test_a_violation_is_found_with_the_event_that_makes_it_certain(seeds: range) -> None:
    for seed in seeds[::2]:
        events = random_protocol_trace(seed).events
        judge = observed(events)
        for name in AT_ONCE:
            before = Reading(events[: judge.broken.get(name, len(events))])
            assert OF_THE_PROTOCOL[name](before)[0] != "violated", f"seed {seed}, {name}"


@blocks
def test_in_the_order_of_time_a_violation_of_invariants_4_and_5_is_found_when_it_happens(seeds: range) -> None:
    """So a search need not wait for the end; that there was none after all may still turn out."""
    for seed in seeds[::4]:
        events = random_protocol_trace(seed).events
        judge = Judge(select(["invariant 4", "invariant 5"]), "global")
        for number, event in enumerate(events, 1):
            judge.observe(event)
            reading = Reading(events[:number])
            for name in ("invariant 4", "invariant 5"):
                if OF_THE_PROTOCOL[name](reading)[0] == "violated" and name not in judge.broken:
                    # Only what somebody else did makes it one now: there was no AckEpoch at all, or β_e went on.
                    assert not ends_with_its_witness(OF_THE_PROTOCOL[name](reading), event), f"seed {seed}"


def ends_with_its_witness(finding: Finding, event: Event) -> bool:
    _, witness = finding
    return witness is not None and witness[-1] == event


@one_block
def test_finishing_changes_nothing(seeds: range) -> None:
    for seed in seeds:
        events = random_protocol_trace(seed).events
        judge = Judge(select(NAMES), "global", Quorums(ensemble(events)))
        for event in events:
            judge.observe(event)
            judge.finish()
        expected = [found(v) for v in check(whole(events, "global", processes=ensemble(events)), NAMES)]
        assert [found(v) for v in judge.finish()] == expected, f"seed {seed}"


@all_traces
def test_a_fork_says_what_a_judge_says_that_saw_the_same(seeds: range) -> None:
    """At any point of a trace; and the original goes its own way."""
    for seed in seeds:
        events, other = random_protocol_trace(seed).events, random_protocol_trace(seed + 50_000).events
        at = Random(seed).randint(0, len(events))
        highest = 1 + max(event.incarnation for event in events)  # type: ignore[attr-defined]  # all local
        other = [replace(event, incarnation=event.incarnation + highest) for event in other]  # type: ignore[attr-defined]  # all local
        order = ORDERS[seed // 2 % 2]
        original = observed(events[:at], order, 3)
        fork = original.fork()
        first, second = (fork, original) if seed % 2 else (original, fork)
        for judge, rest in ((first, other), (second, events[at:])):
            for event in rest:
                judge.observe(event)
        for judge, saw in ((first, events[:at] + other), (second, events)):
            expected = observed(saw, order, 3)
            assert judge.finish() == expected.finish(), f"seed {seed}"
            assert judge.broken == expected.broken, f"seed {seed}"


@one_block
def test_a_trace_that_is_cut_off_is_concluded_upon_only_if_nothing_can_repair_it(seeds: range) -> None:
    for seed in seeds:
        events = random_protocol_trace(seed).events
        at = len(events) * 2 // 3
        for order in ORDERS:
            size = ensemble(events)
            cut = check(whole(events[:at], order, complete=False, processes=size), NAMES)
            later = {v.property: v.status for v in check(whole(events, order, processes=size), NAMES)}
            for verdict in cut:
                assert verdict.status in ("inconclusive", "violated")
                assert verdict.status == "inconclusive" or later[verdict.property] == "violated", f"seed {seed}"


# The random traces are worth judging.


@pytest.fixture(scope="module")
def defects() -> Counter[str]:
    return Counter(defect for seed in range(TRACES) for defect in random_protocol_trace(seed).defects)


@pytest.fixture(scope="module")
def verdicts() -> Counter[tuple[str, str]]:
    readings = [Reading(random_protocol_trace(seed).events) for seed in range(TRACES)]
    return Counter((name, literal(reading)[0]) for reading in readings for name, literal in OF_THE_PROTOCOL.items())


@pytest.mark.parametrize("defect", DEFECTS)
def test_every_defect_is_frequent(defect: str, defects: Counter[str]) -> None:
    assert defects[defect] >= TRACES // 50


@pytest.mark.slow
@pytest.mark.xdist_group("protocol traces")
@pytest.mark.parametrize("status", ["violated", "holds", "not exercised"])
@pytest.mark.parametrize("name", [name for name in NAMES if name not in OWN_TRACES])
def test_every_verdict_is_frequent(name: str, status: str, verdicts: Counter[tuple[str, str]]) -> None:
    assert verdicts[name, status] >= TRACES // 20


@all_traces
def test_a_run_without_defects_breaks_nothing(seeds: range) -> None:
    """The generator's own protocol is correct, so what a broken trace shows comes from its defects."""
    clean = [trace.events for trace in map(random_protocol_trace, seeds) if not trace.defects]
    assert len(clean) >= len(seeds) // 10
    literal = {**OF_SEQUENCES, **OF_THE_PROTOCOL}
    assert not [(name, events) for events in clean for name in literal if literal[name](Reading(events))[1]]


def test_traces_are_small_and_keep_their_processes_in_order() -> None:
    for seed in range(TRACES):
        events = random_protocol_trace(seed).events
        assert 1 <= len(events) <= LONGEST
        latest: dict[int, int] = {}
        for event in events:
            assert isinstance(event, Local)
            assert latest.get(event.process, 0) <= event.incarnation
            latest[event.process] = event.incarnation
