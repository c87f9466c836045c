"""Each goal is reached by what it describes, and not by what only resembles it."""

from collections import Counter
from collections.abc import Hashable, Sequence
from random import Random

import pytest

from invariants import (
    NO_ZXID,
    Accept,
    Adopt,
    Corrupt,
    Crash,
    Deliver,
    Establish,
    Event,
    Halt,
    Local,
    Promise,
    Ready,
    Recover,
    Truncate,
)
from invariants.quorums import Quorums
from tests.explore.judges.continuations import MUTANTS, run_of, varied
from tests.invariants.builders import A, B, D, broadcasts, deliveries, restore
from tests.tiers import sweep
from zabcheck.search.goals import _NEEDED_FOR, GOALS, NEEDS, Goals
from zabcheck.search.run import replay, schedule_of
from zabcheck.simulation import choices
from zabcheck.simulation.choices import AnyChoice

DOWN: list[Event] = [Crash(1, 0), Crash(2, 0), Crash(3, 0)]
DELIVERED_BY_1: list[Event] = [Accept(1, 0, 1, A), Accept(2, 0, 1, A), *deliveries(1, A)]
PROMISED_BY_2_AND_3: list[Event] = [Promise(2, 0, 2), Promise(3, 0, 2)]
FROM_2 = Adopt(2, 0, 2, A.zxid, 1, 7)

REACHED: list[tuple[str, list[Event]]] = [
    ("three epochs", [Establish(1, 0, 1), Establish(2, 0, 4), Establish(1, 0, 5)]),
    ("several outstanding", broadcasts(1, 1, A, B)),
    ("partial replication", [Accept(1, 0, 1, A), FROM_2, Establish(2, 0, 2)]),
    ("truncation", [Truncate(1, 0, A.zxid, 1)]),
    ("single survivor", [*DELIVERED_BY_1, *PROMISED_BY_2_AND_3, FROM_2]),
    ("late joiner", [Establish(1, 0, 1), *broadcasts(1, 1, A), Adopt(2, 0, 1, A.zxid, 1, 7)]),
    ("loaded late joiner", [*broadcasts(1, 1, A, B), *deliveries(1, A), Adopt(2, 0, 1, A.zxid, 1, 7)]),
    ("tail lost", [Crash(1, 0, 1)]),
    ("power loss", [*DOWN, Recover(1, 1), Recover(2, 1), Establish(2, 1, 2)]),
    ("two leaders", [Establish(1, 0, 1), Establish(2, 0, 2), *broadcasts(1, 1, A)]),
    ("repeated delivery", [*deliveries(1, A), Crash(1, 0), Recover(1, 1), *deliveries(1, A, incarnation=1)]),
    ("restored snapshot", [Recover(1, 1), restore(1, A, incarnation=1)]),
    ("received snapshot", [restore(1, A)]),
    ("altered record", [Halt(1, 1, "altered")]),
]

NEAR_MISSES: list[tuple[str, str, list[Event]]] = [
    ("three epochs", "one of them twice", [Establish(1, 0, 1), Establish(2, 0, 2), Establish(2, 0, 2)]),
    ("several outstanding", "delivered", [*broadcasts(1, 1, A), *deliveries(1, A), *broadcasts(1, 1, B)]),
    ("several outstanding", "of another epoch", [*broadcasts(1, 1, A), *broadcasts(1, 2, D)]),
    ("several outstanding", "of another primary", [*broadcasts(1, 1, A), *broadcasts(2, 1, B)]),
    ("partial replication", "a quorum has it", [Accept(1, 0, 1, A), Accept(2, 0, 1, A), FROM_2, Establish(2, 0, 2)]),
    (
        "partial replication",
        "a late joiner has it too",
        [Accept(1, 0, 1, A), Adopt(3, 0, 1, A.zxid, 1, 7), FROM_2, Establish(2, 0, 2)],
    ),
    ("partial replication", "no new epoch", [Accept(1, 0, 1, A)]),
    ("truncation", "nothing is lost", [Adopt(1, 0, 2, A.zxid, 1, 7)]),
    ("single survivor", "another has it", [*DELIVERED_BY_1, Accept(3, 0, 1, A), *PROMISED_BY_2_AND_3, FROM_2]),
    ("single survivor", "nothing was delivered", [Accept(2, 0, 1, A), *PROMISED_BY_2_AND_3, FROM_2]),
    ("single survivor", "of one process", [*DELIVERED_BY_1, Promise(2, 0, 2), FROM_2]),
    ("late joiner", "too early", [Adopt(2, 0, 1, NO_ZXID, 0, 0), Establish(1, 0, 1), *broadcasts(1, 1, A)]),
    ("late joiner", "of another epoch", [Establish(1, 0, 1), *broadcasts(1, 1, A), FROM_2]),
    ("tail lost", "all was synced", [Crash(1, 0)]),
    ("power loss", "one is always up", [*DOWN[:2], Recover(1, 1), DOWN[2], Establish(1, 1, 2)]),
    ("power loss", "no epoch after it", [Establish(1, 0, 1), *DOWN]),
    ("two leaders", "the old one is silent", [Establish(1, 0, 1), *broadcasts(1, 1, A), Establish(2, 0, 2)]),
    ("two leaders", "the newest one", [Establish(1, 0, 1), Establish(2, 0, 2), *broadcasts(2, 2, D)]),
    ("repeated delivery", "without a crash", deliveries(1, A, A)),
    ("repeated delivery", "by another", [*deliveries(2, A), Recover(1, 1), Deliver(1, 1, A)]),
    ("received snapshot", "its own", [Recover(1, 1), restore(1, A, incarnation=1)]),
    ("restored snapshot", "that of another", [restore(1, A)]),
    (
        "loaded late joiner",
        "all was delivered",
        [*broadcasts(1, 1, A), *deliveries(1, A), Adopt(2, 0, 1, A.zxid, 1, 7)],
    ),
    ("loaded late joiner", "joins a new epoch", [*broadcasts(1, 1, A), FROM_2]),
    ("altered record", "nobody has read it", [Corrupt(1, 0, "history", A.zxid), Crash(1, 0)]),
    ("restored snapshot", "without one", [Recover(1, 1), *deliveries(1, A, incarnation=1)]),
]


def reached(events: Sequence[Event], processes: int = 3) -> list[str]:
    goals = Goals(Quorums(processes))
    for event in events:
        if type(event) in goals.observers:
            goals.observers[type(event)](event)
    return list(goals.reached)


def test_every_goal_is_in_this_test() -> None:
    assert [goal for goal, _ in REACHED] == list(GOALS)
    assert {goal for goal, _, _ in NEAR_MISSES} == set(GOALS)


@pytest.mark.parametrize(("goal", "events"), REACHED, ids=[goal for goal, _ in REACHED])
def test_a_goal_is_reached_by_what_it_describes(goal: str, events: Sequence[Event]) -> None:
    assert goal in reached(events)
    assert goal not in reached(events[:-1])


@pytest.mark.parametrize(("goal", "events"), REACHED, ids=[goal for goal, _ in REACHED])
def test_what_a_goal_needs_has_been_shown_where_it_is_reached(goal: str, events: Sequence[Event]) -> None:
    assert watched(events).shown >= {*NEEDS[goal]}
    assert not watched([]).shown


@pytest.mark.parametrize("goal", ["three epochs", "power loss", "two leaders"])
def test_a_protocol_that_shows_ready_alone_has_its_leaders_counted(goal: str) -> None:
    [events] = [events for name, events in REACHED if name == goal]
    ready = [Ready(e.process, e.incarnation, e.epoch) if isinstance(e, Establish) else e for e in events]
    assert goal in reached(ready)
    assert Establish not in watched(ready).shown


@pytest.mark.parametrize(("goal", "why", "events"), NEAR_MISSES, ids=[f"{goal}: {why}" for goal, why, _ in NEAR_MISSES])
def test_a_near_miss_does_not_reach_it(goal: str, why: str, events: Sequence[Event]) -> None:
    assert goal not in reached(events)


EPOCH: list[AnyChoice] = [choices.Lead(1, (2, 3)), choices.Settle(9)]
A_TRANSACTION: list[AnyChoice] = [*EPOCH, choices.Request(1), choices.Settle(9)]


@pytest.mark.parametrize(
    ("run", "goals"),
    [
        (EPOCH, []),
        (A_TRANSACTION, []),
        ([*EPOCH, choices.Request(1), choices.Request(1)], ["several outstanding"]),
        (
            [choices.Lead(1, (2,)), choices.Settle(9), choices.Request(1), choices.Elect(3, 1), choices.Settle(9)],
            ["late joiner"],
        ),
        (
            [*EPOCH, choices.Lead(1, (2, 3)), choices.Settle(9), choices.Lead(1, (2, 3)), choices.Settle(9)],
            ["three epochs"],
        ),
        ([*EPOCH, choices.Lead(2, (3,)), choices.Settle(9), choices.Request(1)], ["two leaders"]),
        (
            [
                *EPOCH,
                choices.Request(1),
                choices.Sync(1),
                choices.Crash(1),
                choices.Lead(2, (3,)),
                choices.Settle(9),
                choices.Recover(1),
                choices.Elect(1, 2),
            ],
            ["partial replication"],
        ),
        (
            [
                *A_TRANSACTION,
                choices.Snapshot(2),
                choices.Sync(2),
                choices.PowerLoss(),
                *(choices.Recover(p) for p in (1, 2, 3)),
                *A_TRANSACTION,
            ],
            ["restored snapshot", "power loss", "repeated delivery"],
        ),
    ],
)
def test_runs_reach_the_goals_that_they_should(run: Sequence[AnyChoice], goals: Sequence[str]) -> None:
    assert replay(schedule_of("zab", None, 3, run)).goals == goals


def test_goals_fork_apart() -> None:
    before = watched(DELIVERED_BY_1)
    kept = before.identity()
    after = before.fork()
    after.observe(Promise(2, 0, 2))
    other = after.fork()
    other.observe(Accept(3, 0, 1, A))
    assert before.identity() == kept == watched(DELIVERED_BY_1).identity()
    assert after.identity() == watched([*DELIVERED_BY_1, Promise(2, 0, 2)]).identity()
    assert len({goals.identity() for goals in (before, after, other)}) == 3


def test_goals_of_one_identity_are_reached_alike() -> None:
    """The past of two runs, in another order or earlier, makes no difference to what they reach from then on."""
    accepted: list[Event] = [Accept(2, 0, 1, B), Accept(3, 0, 1, B)]
    befores = [DELIVERED_BY_1 + accepted, DELIVERED_BY_1 + accepted[::-1], [Truncate(1, 0, A.zxid, 1), *DELIVERED_BY_1]]
    befores[2] += accepted
    assert len({watched(before).identity() for before in befores}) == 1
    seen = set()
    for _, continuation in REACHED:
        reached = {
            tuple(goal for goal in watched(before + continuation).reached if goal not in watched(before).reached)
            for before in befores[:2]
        }
        assert len(reached) == 1
        seen |= reached
    assert len(seen) > 5


def test_what_decides_about_goals_is_told_apart() -> None:
    """Each of these events decides about some goal, and no two of them about the same."""
    events: list[Event] = [
        *(Promise(1, 0, 2), Accept(1, 0, 1, A), FROM_2, Establish(1, 0, 1), Crash(1, 0), Recover(1, 1)),
        *broadcasts(1, 1, A),
        *deliveries(1, A),
        restore(1, A),
    ]
    assert len({watched([event]).identity() for event in events} | {watched([]).identity()}) == len(events) + 1


@pytest.mark.parametrize("runs", sweep((40, 300), normal=(40,)))
def test_fewer_goals_need_less_knowledge(runs: int) -> None:
    """If runs are one but for some goals, each continuation of theirs reaches the same other goals."""
    compared: Counter[str] = Counter()
    for seed in range(runs):
        rng = Random(seed)
        events = [each for each in run_of(MUTANTS[seed % len(MUTANTS)], seed) if isinstance(each, Local)]
        at = rng.randint(len(events) // 3, len(events))
        befores = [events[:at], *(varied(tuple(events[:at]), rng) for _ in range(30))]
        for _ in range(5):
            but = rng.sample(list(GOALS), rng.randint(6, len(GOALS) - 1))
            alike: dict[Hashable, set[tuple[str, ...]]] = {}
            different: dict[Hashable, set[Hashable]] = {}
            for before in befores:
                goals = watched(before)
                told = goals.identity(but)
                different.setdefault(told, set()).add(goals.identity())
                goals.reached.clear()
                for event in events[at:]:
                    goals.observe(event)
                alike.setdefault(told, set()).add(tuple(goal for goal in goals.reached if goal not in but))
            assert all(len(each) == 1 for each in alike.values()), (seed, but)
            compared["apart but for these"] += sum(len(each) > 1 for each in different.values())
            compared["reached"] += sum(each != {()} for each in alike.values())
    assert min(compared.values()) > runs


def test_every_goal_that_needs_the_past_is_named_with_what_it_needs() -> None:
    kept = {name for name in vars(Goals(Quorums(3))) if name not in ("quorums", "reached")}
    assert set(_NEEDED_FOR) == kept
    assert {goal for goals in _NEEDED_FOR.values() for goal in goals} <= GOALS.keys()
    assert Goals(Quorums(3)).identity(GOALS) == (None,) * len(kept)


def watched(events: Sequence[Event]) -> Goals:
    goals = Goals(Quorums(3))
    for event in events:
        goals.observe(event)
    return goals
