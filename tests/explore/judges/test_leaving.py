"""A property gives the same verdicts when it forgets a process that has left its iteration, or says that it cannot."""

from collections import Counter
from collections.abc import Collection, Hashable, Iterable, Iterator, Sequence
from random import Random
from typing import NamedTuple

import pytest
from msgspec.structs import replace

from invariants import (
    Accept,
    AckEpoch,
    Adopt,
    Broadcast,
    CommitEpoch,
    EpochUniqueness,
    Establish,
    Event,
    Invariant,
    Invariant2,
    Invariant5,
    Local,
    Promise,
    Ready,
    Txn,
    ZxidAssignment,
    select,
)
from invariants.quorums import Quorums
from tests.explore.judges.continuations import (
    MIXES,
    MUTANTS,
    Events,
    broken,
    cut,
    lives_of,
    of_few,
    run_of,
)
from tests.invariants.builders import A, B, C, D, adopt, broadcasts, deliveries, restore
from tests.invariants.protocol_traces import random_protocol_trace
from tests.tiers import sweep
from zabcheck.explore.judges import MonitorJudge, WentOn
from zabcheck.explore.judges.identity import identity, named

BOTH = (Invariant2, Invariant5)
FORGETFUL = (*BOTH, *select(["core"]), EpochUniqueness, ZxidAssignment, *select(["invariant 4", "chosen"]))
PHASE: list[Event] = [*broadcasts(1, 1, A, B), adopt(2, 1), CommitEpoch(2, 0, 1), *deliveries(2, A)]


def judge_of(*kinds: type[Invariant], told: bool = True) -> MonitorJudge:
    return MonitorJudge(kinds, Quorums(4), told_of_leaving=told)


def observed(kind: type[Invariant], events: Sequence[Event | int], *, left: bool = False) -> MonitorJudge:
    """Return a judge that has seen this; a number is a process that leaves its iteration."""
    judge = judge_of(kind)
    for event in (*events, 2) if left else events:
        if isinstance(event, int):
            judge.leave(event)
        else:
            judge.observe(event)
    return judge


def knows(kind: type[Invariant], events: Sequence[Event | int]) -> Hashable:
    return identity(observed(kind, events), (0,) * 5, [kind.name])


@pytest.mark.parametrize("kind", BOTH)
def test_the_phase_is_forgotten(kind: type[Invariant2] | type[Invariant5]) -> None:
    one, other = (observed(kind, [*PHASE, *more], left=True) for more in ([], deliveries(2, B)))
    assert identity(one, (0,) * 5) == identity(other, (0,) * 5)
    one, other = (observed(kind, [*PHASE, *more], left=False) for more in ([], deliveries(2, B)))
    assert identity(one, (0,) * 5) != identity(other, (0,) * 5)


@pytest.mark.parametrize("kind", BOTH)
def test_a_process_that_delivers_in_a_phase_that_was_left_has_gone_on(
    kind: type[Invariant2] | type[Invariant5],
) -> None:
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


# Epochs, and what is broadcast in them.

FIRST: list[Event | int] = [Promise(2, 0, 1, 1), Establish(1, 0, 1), Ready(1, 0, 1)]
SECOND: list[Event | int] = [Promise(3, 0, 2, 3), Establish(3, 0, 2)]


def test_the_primary_of_an_epoch_is_forgotten_and_whether_one_below_had_any() -> None:
    other: list[Event | int] = [Promise(1, 0, 1, 2), Establish(2, 0, 1)]
    assert knows(EpochUniqueness, FIRST) != knows(EpochUniqueness, other)
    assert knows(EpochUniqueness, [*FIRST, 1]) == knows(EpochUniqueness, [*other, 2])
    assert knows(EpochUniqueness, [*FIRST, 1]) != knows(EpochUniqueness, [*FIRST[:1], 1])
    assert knows(EpochUniqueness, [*FIRST, 1, *SECOND]) == knows(EpochUniqueness, [*FIRST[:1], 1, *SECOND])
    assert knows(EpochUniqueness, [*FIRST, 1, *SECOND]) == knows(EpochUniqueness, [*FIRST[:1], *SECOND, 1])
    assert knows(EpochUniqueness, [*FIRST, 1, *SECOND]) != knows(EpochUniqueness, [*FIRST[:1], *SECOND])


def test_an_epoch_that_is_asked_for_may_have_a_primary_later_than_one_above() -> None:
    judge = observed(EpochUniqueness, [*FIRST[:1], *SECOND])
    judge.observe(Establish(1, 0, 1))
    assert not broken(judge)
    judge.observe(Establish(2, 0, 1))
    assert broken(judge) == ["epoch uniqueness"]


@pytest.mark.parametrize("before", [[*FIRST, 1], [*FIRST[:1], *SECOND, 1], SECOND], ids=["had one", "none", "unasked"])
def test_a_process_that_becomes_the_primary_of_an_epoch_that_is_over_has_gone_on(before: list[Event | int]) -> None:
    for claim in (Establish(1, 0, 1), Ready(2, 0, 1), *broadcasts(2, 1, A)):
        with pytest.raises(WentOn):
            observed(EpochUniqueness, before).observe(claim)


def test_what_a_primary_broadcast_last_is_forgotten() -> None:
    judges = [observed(kind, [*FIRST, *broadcasts(1, 1, A), 1]) for kind in (*select(["core"]), ZxidAssignment)]
    for judge in judges:
        assert not judge.record._last
        with pytest.raises(WentOn):
            judge.fork().observe(broadcasts(1, 1, B)[0])
        judge.observe(Ready(1, 0, 2))
        judge.observe(broadcasts(1, 2, D)[0])
    again: list[Event | int] = [*broadcasts(1, 1, B), 1]
    assert knows(ZxidAssignment, [*FIRST, *broadcasts(1, 1, A), 1]) == knows(ZxidAssignment, [*FIRST, *again])
    assert knows(ZxidAssignment, [*FIRST, 1]) != knows(ZxidAssignment, [*FIRST, *again])


def test_a_process_that_is_told_the_epoch_again_that_it_has_left_has_gone_on() -> None:
    judge = observed(ZxidAssignment, [Ready(1, 0, 1), *broadcasts(1, 1, B), 1])
    judge.observe(Ready(1, 0, 1))
    with pytest.raises(WentOn):
        judge.observe(broadcasts(1, 1, A)[0])


def test_nobody_else_broadcasts_in_the_epoch_of_a_primary_that_has_left() -> None:
    [integrity] = select(["integrity"])
    with pytest.raises(WentOn):
        observed(integrity, [*broadcasts(1, 1, A), 1]).observe(broadcasts(2, 1, B)[0])
    observed(integrity, [*broadcasts(1, 1, A), 2]).observe(broadcasts(1, 1, B)[0])


# On random traces.

_BEGINNINGS = (Promise, AckEpoch, Adopt, CommitEpoch, Accept)


def leaving_now_and_then(events: Sequence[Event], random: Random) -> Iterator[Event | int]:
    """Yield the events, and before some of them a process that leaves its iteration, mostly where another may begin."""
    for event in events:
        if isinstance(event, Local) and random.random() < (0.2 if isinstance(event, _BEGINNINGS) else 0.01):
            yield event.process
        yield event


SEEDS = [range(450, 600), range(1000)]
"""Among the first are runs that break each property."""


@pytest.mark.parametrize("seeds", sweep(SEEDS, normal=SEEDS[:1]))
def test_what_is_forgotten_changes_no_verdict(seeds: range) -> None:
    """Compare verdicts on random traces with defects of every kind, and on runs of Zab and its mutants."""
    compared: Counter[str] = Counter()
    for seed in seeds:
        zab = seed % 3 == 0
        events = run_of(MUTANTS[seed // 3 % len(MUTANTS)], seed) if zab else random_protocol_trace(seed).events
        for kind in FORGETFUL:
            knowing, forgetful = judge_of(kind, told=False), judge_of(kind)
            try:
                for event in leaving_now_and_then(events, Random(seed)):
                    if isinstance(event, int):
                        forgetful.leave(event)
                        compared["left"] += 1
                        continue
                    knowing.observe(event)
                    forgetful.observe(event)
                    said = [each.finish()[0].status for each in (knowing, forgetful)]
                    assert said[0] == said[1], (seed, event)
                    compared[f"{kind.name} {said[0]}"] += 1
            except WentOn:
                compared["went on"] += 1
    runs = len(seeds)
    assert compared["left"] > 5 * runs
    assert runs < compared["went on"] < runs * len(FORGETFUL)
    assert all(compared[f"{kind.name} violated"] > runs // 40 for kind in FORGETFUL)


GROUPS = {**{kind.name: (kind,) for kind in FORGETFUL}, "core": select(["core"]), "all": FORGETFUL}


class Both(NamedTuple):
    """Two judges of one trace: one forgets who leaves, and one knows all; and the incarnation of each process."""

    forgetful: MonitorJudge
    knowing: MonitorJudge
    lives: list[int]


def alike(kinds: Sequence[type[Invariant]], variants: Sequence[Events], rng: Random) -> Iterable[list[Both]]:
    """Return the variants after which the judges that forget know the same, if nothing is broken."""
    found: dict[Hashable, list[Both]] = {}
    for before in variants:
        judges = Both(judge_of(*kinds), judge_of(*kinds, told=False), lives_of(before))
        try:
            for event in leaving_now_and_then(once(before), rng):
                _step(judges.forgetful, event, (0,) * 5)
                _step(judges.knowing, event, (0,) * 5)
        except WentOn:
            continue
        if not broken(judges.knowing):
            found.setdefault(identity(judges.forgetful, judges.lives), []).append(judges)
    return (group for group in found.values() if len(group) > 1)


def _step(judge: MonitorJudge, event: Event | int, lives: Sequence[int]) -> None:
    if not isinstance(event, int):
        assert isinstance(event, Local)
        judge.observe(replace(event, incarnation=lives[event.process] + event.incarnation))
    elif judge.told_of_leaving:
        judge.leave(event)


def once(events: Sequence[Local]) -> list[Local]:
    """Return the events without what is broadcast again."""
    sent = set[Txn]()
    found = []
    for event in events:
        if not _sends(event, sent):
            found.append(event)
        if isinstance(event, Broadcast):
            sent.add(event.txn)
    return found


def _sends(event: Event, txns: Collection[Txn]) -> bool:
    return isinstance(event, Broadcast) and event.txn in txns


def _said(judge: MonitorJudge, rest: Sequence[Event | int], lives: Sequence[int]) -> list[str | None]:
    """Return which property stands for what is violated after each event, up to where somebody has gone on."""
    judge, said = judge.fork(), list[str | None]()
    for event in rest:
        try:
            _step(judge, event, lives)
        except WentOn:
            break
        said.append(named(judge, broken(judge)))
        if said[-1] is not None:
            break
    return said


RARELY_BROKEN = {"global primary order": 40, "clock": 80, "total order": 30}
"""The properties that take more seeds."""


@pytest.mark.parametrize(
    ("name", "seeds"),
    sweep([("core", 5), *((name, RARELY_BROKEN.get(name, 15)) for name in GROUPS)], normal=[("core", 5)]),
)
def test_judges_that_know_the_same_say_the_same_until_a_process_has_gone_on(name: str, seeds: int) -> None:
    """A judge that forgets says what each says that knows all, after whatever trace the first knows as much."""
    compared: Counter[str] = Counter()
    for seed in range(seeds):
        rng = Random(seed)
        made = cut(run_of(MUTANTS[seed // 2 % len(MUTANTS)], seed), rng, 25) if seed % 2 else of_few(rng, 60, MIXES[1])
        for group in alike(GROUPS[name], made.before, rng):
            sent = {txn for one in group for txn in one.knowing.record.sent}
            for after in made.after:
                rest = list(leaving_now_and_then([each for each in once(after) if not _sends(each, sent)], rng))
                exactly = {tuple(_said(one.knowing, rest, one.lives)) for one in group}
                for one in group:
                    said = tuple(_said(one.forgetful, rest, one.lives))
                    assert all(said == each[: len(said)] for each in exactly), (seed, rest)
                    is_broken = bool(said) and said[-1] is not None
                    compared["broken" if is_broken else "went on" if len(said) < len(rest) else "held"] += 1
    assert compared["held"] > 10 * seeds
    assert compared["broken"] > seeds // 10
    assert compared["went on"] > seeds
