"""What a property forgets of a process that has left its iteration changes no verdict, or it says so."""

from collections import Counter
from collections.abc import Iterator, Sequence
from random import Random

import pytest

from invariants import Accept, AckEpoch, Adopt, CommitEpoch, Event, Invariant2, Invariant5, Judge, Local, Promise
from invariants.base import WentOn
from invariants.identity import identity
from invariants.quorums import Quorums
from tests.invariants.builders import A, B, C, D, adopt, broadcasts, deliveries, restore
from tests.invariants.continuations import MUTANTS, run_of
from tests.invariants.protocol_traces import random_protocol_trace
from tests.tiers import sweep

BOTH = (Invariant2, Invariant5)
PHASE: list[Event] = [*broadcasts(1, 1, A, B), adopt(2, 1), CommitEpoch(2, 0, 1), *deliveries(2, A)]


def judge_of(*kinds: type[Invariant2] | type[Invariant5], told: bool = True) -> Judge:
    judge = Judge(kinds, quorums=Quorums(4))
    for each in judge.invariants:
        each.told_of_leaving = told
    return judge


def observed(kind: type[Invariant2] | type[Invariant5], events: Sequence[Event], *, left: bool) -> Judge:
    judge = judge_of(kind)
    for event in events:
        judge.observe(event)
    if left:
        judge.invariants[0].leave(2)
    return judge


@pytest.mark.parametrize("kind", BOTH)
def test_the_phase_is_forgotten(kind: type[Invariant2] | type[Invariant5]) -> None:
    one, other = (observed(kind, [*PHASE, *more], left=True) for more in ([], deliveries(2, B)))
    assert identity(one, (0,) * 5) == identity(other, (0,) * 5)
    one, other = (observed(kind, [*PHASE, *more], left=False) for more in ([], deliveries(2, B)))
    assert identity(one, (0,) * 5) != identity(other, (0,) * 5)


@pytest.mark.parametrize("kind", BOTH)
def test_who_delivers_in_a_phase_that_was_left_has_gone_on(kind: type[Invariant2] | type[Invariant5]) -> None:
    with pytest.raises(WentOn):
        observed(kind, PHASE, left=True).observe(deliveries(2, B)[0])


@pytest.mark.parametrize("kind", BOTH)
def test_a_snapshot_does_not_begin_the_phase_that_was_left_anew(kind: type[Invariant2] | type[Invariant5]) -> None:
    judge = observed(kind, PHASE, left=True)
    judge.observe(restore(2, A, B))
    with pytest.raises(WentOn):
        judge.observe(deliveries(2, C)[0])


def test_a_phase_without_its_own_adopt_has_gone_on() -> None:
    with pytest.raises(WentOn):
        observed(Invariant5, PHASE, left=True).observe(CommitEpoch(2, 0, 1))


@pytest.mark.parametrize("kind", BOTH)
def test_the_next_phase_is_judged(kind: type[Invariant2] | type[Invariant5]) -> None:
    judge = observed(kind, PHASE, left=True)
    for event in (adopt(2, 2, A, B), *broadcasts(1, 2, C, D), CommitEpoch(2, 0, 2), *deliveries(2, D, C)):
        judge.observe(event)
    assert [verdict.status for verdict in judge.finish()] == ["violated"]


def test_a_deviation_from_before_is_told_after_leaving() -> None:
    judge = observed(Invariant5, [*PHASE, *deliveries(2, D)], left=True)
    assert [verdict.status for verdict in judge.finish()] == ["violated"]


@pytest.mark.parametrize("kind", BOTH)
def test_without_being_told_of_leaving_nobody_is_expected_to_leave(kind: type[Invariant2] | type[Invariant5]) -> None:
    judge = judge_of(kind, told=False)
    for event in [*deliveries(2, A), CommitEpoch(2, 0, 1), *deliveries(2, B)]:
        judge.observe(event)


_BEGINNINGS = (Promise, AckEpoch, Adopt, CommitEpoch, Accept)


def leaving_now_and_then(events: Sequence[Event], random: Random) -> Iterator[Event | int]:
    """Yield the events, and before some of them a process that leaves its iteration, mostly where another may begin."""
    for event in events:
        if isinstance(event, Local) and random.random() < (0.2 if isinstance(event, _BEGINNINGS) else 0.01):
            yield event.process
        yield event


@pytest.mark.parametrize("runs", sweep([600, 10_000], normal=[600]))
def test_what_is_forgotten_changes_no_verdict(runs: int) -> None:
    """Of random traces with defects of every kind, and of runs of Zab and its mutants."""
    compared: Counter[str] = Counter()
    for seed in range(runs):
        zab = seed % 3 == 0
        events = run_of(MUTANTS[seed // 3 % len(MUTANTS)], seed) if zab else random_protocol_trace(seed).events
        for kind in BOTH:
            knowing, forgetful = judge_of(kind, told=False), judge_of(kind)
            try:
                for event in leaving_now_and_then(events, Random(seed)):
                    if isinstance(event, int):
                        forgetful.invariants[0].leave(event)
                        compared["left"] += 1
                        continue
                    knowing.observe(event)
                    forgetful.observe(event)
                    said = [each.finish()[0].status for each in (knowing, forgetful)]
                    assert said[0] == said[1], (seed, event)
                    compared[f"{kind.name} {said[0]}"] += 1
            except WentOn:
                compared["went on"] += 1
    assert compared["left"] > 5 * runs
    assert runs // 2 < compared["went on"] < 2 * runs
    assert min(compared[f"{kind.name} violated"] for kind in BOTH) > runs // 3
