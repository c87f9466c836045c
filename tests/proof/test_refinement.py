"""The link from the proof to the code: each event of a run of Zab is an instance of steps of the abstraction."""

import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from random import Random

import pytest
from msgspec.structs import replace

from invariants import (
    FURTHER,
    Accept,
    AckEpoch,
    Adopt,
    Broadcast,
    Deliver,
    End,
    Establish,
    Event,
    Header,
    Judge,
    Promise,
    Txn,
    Verdict,
    Zxid,
    check,
    select,
)
from invariants.chain import Chain
from invariants.quorums import Quorums, quorums_of
from zabcheck.explore.bounds import Bounds
from zabcheck.explore.space import Space
from zabcheck.mutants.catalogue import CATALOGUE, mutated
from zabcheck.proof import compiled
from zabcheck.proof.abstraction import LOOKS_AT, abstract, at_start, provides_what_it_accepted
from zabcheck.proof.compiled import of
from zabcheck.proof.conjuncts import CONJUNCTS
from zabcheck.proof.example import EXAMPLE
from zabcheck.proof.finite import SMALL, Facts, holds
from zabcheck.proof.finite import take as take_facts
from zabcheck.proof.logic import SORTS
from zabcheck.proof.monitors import Proof, Refinement
from zabcheck.proof.mutants import OUTSIDE
from zabcheck.proof.properties import PROPERTIES
from zabcheck.proof.refinement import transition
from zabcheck.proof.relations import RELATIONS, State
from zabcheck.proof.steps import STEPS
from zabcheck.protocols.switches import Switches
from zabcheck.search.engines import Engine, find
from zabcheck.search.run import Run, Search, named_by, simulate
from zabcheck.search.swarm import drive
from zabcheck.simulation.choices import Choice
from zabcheck.simulation.schedule import load


def world(facts: Facts) -> compiled.World:
    relations: dict[str, set[tuple[object, ...]]] = {}
    for name, things in facts:
        relations.setdefault(name, set()).add(things)
    things = (SMALL.nodes, SMALL.quorums, SMALL.epochs, SMALL.transactions)
    return compiled.world_of(things, {name: frozenset(tuples) for name, tuples in relations.items()})


def test_a_compiled_step_does_what_the_step_does() -> None:
    for facts in EXAMPLE.states():
        for other, others in EXAMPLE.steps:
            expected = take_facts(other, SMALL, facts, others)
            assert compiled.take(other, world(facts), others) == (None if expected is None else world(expected))


def test_a_compiled_claim_says_what_the_claim_says() -> None:
    """In states with some facts too few, of which most satisfy some claims and break others."""
    random, said = Random(1), Counter[bool]()
    for facts in EXAMPLE.states():
        fewer = facts - {*random.sample(sorted(facts, key=str), len(facts) // 4)}
        for claim in random.sample((*CONJUNCTS, *PROPERTIES), 3):
            expected = holds(claim.of(State()), SMALL, fewer)
            found = compiled.broken(claim, world(fewer))
            assert (found is None) == expected
            said[expected] += 1
            if found is not None:
                bound = {term.number: found[term.name] for term in claim.terms}
                assert not holds(claim.says(State(), *claim.terms), SMALL, fewer, bound)
    assert min(said[True], said[False]) > 5


def steps_of(seed: int) -> Iterator[str]:
    """The names of the steps that a run of the swarm takes; some states of it satisfy all conjuncts and properties."""
    shown: list[Event] = []
    watcher = dict.fromkeys(LOOKS_AT, shown.append)
    search = Search(mutated("zab"), 3, None, 1, 100, quorums=Quorums(3))
    drive(search, [], seed, lambda _: [watcher])
    state = at_start(Quorums(3))
    for event in shown:
        found = transition(state, event)
        assert found.refused is None
        yield from (step.name for step, _ in found.steps)
        if found.steps and len(of(found.after, "accepted")) % 5 == 4:
            wrong = [each.name for each in (*CONJUNCTS, *PROPERTIES) if compiled.broken(each, found.after)]
            assert wrong == []
        state = found.after


def test_each_step_is_taken_by_some_run() -> None:
    assert {name for seed in range(2) for name in steps_of(seed)} == {step.name for step in STEPS}


def test_runs_of_zab_are_runs_of_the_abstraction() -> None:
    """docs/notes/proof.md says how many more were tried."""
    changes = 0

    def count(run: Run) -> None:
        nonlocal changes
        changes += run.judge.invariants[0].judged()

    search = Search(mutated("zab"), None, ("refinement",), 25, 150, 1, count)
    assert find(Engine.swarm, search) is None
    assert changes > 1000


def test_no_step_depends_on_what_a_primary_knew() -> None:
    """So states that differ in it alone are one for a search. The conjuncts do depend on it."""
    assert RELATIONS.keys() - {*Refinement.depends_on} == {"knew"}
    assert {*Proof.depends_on} == RELATIONS.keys()


COARSE = Switches(sync="atomic", closing="abrupt")


@pytest.mark.parametrize(
    ("bounds", "reduction"),
    [(Bounds(2, 1, 2, 1, 1), True), (Bounds(3, 1, 1, 0, 0), False)],
)
def test_every_transition_of_a_space_is_an_instance(bounds: Bounds, reduction: bool) -> None:
    space = Space(mutated("zab"), Quorums(bounds.processes), COARSE, bounds, [Refinement], reduction=reduction)
    found = space.explore()
    assert (found.whole, found.broken, found.exercised) == (True, None, {"refinement": True})


LIVENESS = [
    "commit-ld-initial",
    "commit-ld-before-counting",
    "late-ack-ld-unanswered",
    "late-cepoch-unanswered",
    "ignore-closed-connection",
    "no-acks-after-return",
    "rebuild-without-resending",
    "count-from-nothing",
]
"""Known bugs that do nothing that is not allowed: they do not do enough."""
NO_INSTANCE = {
    "quorum-off-by-one": ("integrity", "l.1.2", 1, "leaders have promises", 1, 2, 12),
    "reuse-highest-epoch": ("total order", "f.1.2", 9, "one promise", 9, 12, 22),
    "accept-equal-epoch": ("total order", "l.2.2", 14, "established lead", 14, 22, 31),
    "promise-not-durable": ("total order", "l.1.2", 7, "leaders have promises", 7, 3, 42),
    "ack-before-sync": ("total order", "l.3.2", 15, "committed by a quorum", 15, 24, 35),
    "commit-on-own-ack": ("integrity", "l.3.2", 7, "committed by a quorum", 7, 7, 21),
    "commit-only-named": ("local primary order", "f.3.3", 13, "delivered is a prefix", 13, 13, 13),
    "broadcast-before-established": ("primary integrity", "l.3.1", 5, "primaries are established", 5, 12, 12),
    "stale-proposal-accepted": ("total order", "f.3.2", 15, "not choosable", 15, 15, 20),
    "history-by-zxid-only": ("primary integrity", "l.1.2", 18, "not skipped", 18, 20, 20),
    "keep-own-history": ("integrity", "l.1.2", 6, "not choosable", 6, 12, 12),
    "keep-longer-history": ("integrity", "l.1.2", 22, "not choosable", 22, 31, 34),
    "no-truncation": ("integrity", "l.1.2", 21, "not choosable", 21, 21, 30),
    "non-fifo-link": ("total order", "f.3.2", 11, "accepted is a prefix", 11, 13, 14),
    "count-acks-not-senders": ("total order", "l.3.2", 23, "committed by a quorum", 23, 23, 47),
    "propose-to-acked-only": ("total order", "f.3.2", 15, "accepted is a prefix", 15, 16, 17),
    "accept-past-a-hole": ("chosen", "f.3.2", 26, "accepted is a prefix", 26, 27, 27),
    "lossy-past-a-gap": ("chosen", "f.3.2", 12, "accepted is a prefix", 12, 13, 13),
    "lossy-old-iteration": ("invariant 4", "l.1.2", 15, "leaders have promises", 15, 15, 15),
    "duplicate-proposal": ("primary integrity", "f.1.2", 28, "initial history accepted", 32, 28, 35),
    "commit-ld-zxid": ("total order", "l.3.2", 23, "committed by a quorum", 23, 23, 29),
    "ignore-digest": ("integrity", "f.1.2", 9, "not choosable", 9, 9, 9),
    "deliver-initial-history-last": ("primary integrity", "f.3.3", 6, "delivered is a prefix", 6, 6, 6),
    "redeliver-with-gap": ("primary integrity", "f.3.3", 6, "delivered is a prefix", 6, 6, 6),
    "counter-wraps": ("total order", "l.3.1", 10, "initial history accepted", 17, 10, 23),
}
"""For each other known bug of Zab a kept schedule, by the property that it breaks; at which step of Zab it is the first
time no instance, after how many steps of the run; which conjunct is false first, and after how many; and after how many
the first property breaks, and that one."""
KEPT = Path(__file__).parents[1] / "schedules"


def first_steps(path: Path) -> tuple[dict[str, int], dict[str, str]]:
    """For each property that a kept schedule breaks, after how many steps it does, and how."""
    schedule = load(path.read_bytes(), str(path))
    protocol = named_by(schedule)
    found: dict[str, int] = {}
    kinds = select([*protocol.properties, "refinement", "proof"])
    judge = Judge(kinds, quorums=quorums_of(schedule.quorums, schedule.processes))
    simulator = simulate(protocol, schedule, judge.observe)
    steps = 0

    def count(choice: Choice) -> None:
        nonlocal steps
        steps += 1
        for name in judge.broken:
            found.setdefault(name, steps)

    simulator.on_step = count
    for choice in schedule.choices:
        simulator.execute(choice)
    violations = [verdict.violation for verdict in judge.finish() if verdict.violation is not None]
    said = {each.property: each.summary for each in violations}
    return {name: found.get(name, steps) for name in said}, said


@pytest.mark.parametrize("mutant", NO_INSTANCE)
def test_a_known_bug_is_no_instance_at_its_own_step(mutant: str) -> None:
    breaks, number, refused, conjunct, outside, first, last = NO_INSTANCE[mutant]
    found, said = first_steps(KEPT / f"{mutant}.{breaks.replace(' ', '-')}.json")
    assert f"no instance of step {number} " in said["refinement"]
    assert f"`{conjunct}` is false" in said["proof"]
    others = [steps for name, steps in found.items() if name not in ("refinement", "proof")]
    assert (found["refinement"], found["proof"], min(others), found[breaks]) == (refused, outside, first, last)


@pytest.mark.parametrize("mutant", LIVENESS)
def test_a_known_bug_of_liveness_is_an_instance(mutant: str) -> None:
    found, _ = first_steps(KEPT / f"{mutant}.epoch-progress.json")
    assert found.keys() == {"epoch progress"}
    assert mutant in OUTSIDE


def test_each_known_bug_is_in_a_table() -> None:
    zab = [name for name, known in CATALOGUE.items() if known.protocol == "zab"]
    assert sorted([*NO_INSTANCE, *LIVENESS]) == sorted(zab)


def test_the_documented_table_is_the_measured_one() -> None:
    page = (Path(__file__).parents[2] / "docs/notes/proof.md").read_text(encoding="utf-8")
    for mutant, (breaks, number, refused, conjunct, outside, first, last) in NO_INSTANCE.items():
        assert f"\n{mutant} | {number} | {refused} | {conjunct} | {outside} | {first} | {breaks} | {last}\n" in page


# Traces that are not the simulator's.

T = Txn(Zxid(1, 1), "x")
ONE = [
    Header(1, 1, "zab"),
    Promise(1, 0, 1, 1),
    Adopt(1, 0, 1, Zxid(0, 0), 0, 0),
    Establish(1, 0, 1),
    Broadcast(1, 0, 1, T),
    Accept(1, 0, 1, T),
    Deliver(1, 0, T),
]
"""A trace of one process."""


def judged(events: Sequence[Event], name: str = "refinement") -> Verdict:
    [verdict] = check([*events, End(len(events) - 1)], [name])
    return verdict


@pytest.mark.parametrize("name", ["refinement", "proof"])
def test_a_trace_is_judged_by_name(name: str) -> None:
    verdict = judged(ONE, name)
    assert (verdict.status, verdict.judged) == ("holds", 6)
    assert name in FURTHER
    assert name not in [kind.name for kind in select()]


@pytest.mark.parametrize(
    ("left_out", "number", "conjunct"),
    [
        (1, "l.1.2", "promises leave"),
        (2, "l.2.2", "established lead"),
        (3, "l.3.1", "primaries are established"),
        (4, "f.3.2", "accepted in the epoch"),
        (5, "l.3.2", "committed by a quorum"),
    ],
)
def test_each_event_is_needed(left_out: int, number: str, conjunct: str) -> None:
    events = [*ONE[:left_out], *ONE[left_out + 1 :]]
    refused, outside = judged(events).violation, judged(events, "proof").violation
    assert refused is not None
    assert outside is not None
    assert f"no instance of step {number} " in refused.summary
    assert f"`{conjunct}` is false" in outside.summary
    assert refused.witness == (ONE[left_out + 1],)


def test_merged_logs_are_judged_in_an_order_in_which_all_are_instances() -> None:
    x, y = Txn(Zxid(1, 1), "x"), Txn(Zxid(1, 2), "y")
    empty = Zxid(0, 0), 0, 0
    leader = [Promise(1, 0, 1, 1), Adopt(1, 0, 1, *empty), Establish(1, 0, 1), Broadcast(1, 0, 1, x)]
    leader += [Broadcast(1, 0, 1, y), Accept(1, 0, 1, x), Deliver(1, 0, x)]
    follower = [Promise(2, 0, 1, 1), Adopt(2, 0, 1, *empty), Accept(2, 0, 1, x), Accept(2, 0, 1, y), Deliver(2, 0, x)]
    header = Header(1, 2, "zab", order="per-process")
    for first, second in ((leader, follower), (follower, leader)):
        assert judged([header, *first, *second]).status == "holds"
        assert judged([header, *first, *second], "proof").status == "holds"
    early = Deliver(2, 0, y)
    for name in ("refinement", "proof"):
        wrong = judged([header, *follower, early, *leader], name)
        assert wrong.violation is not None
        assert wrong.violation.witness == (early,)


def test_a_history_may_be_longer_than_python_calls_may_nest() -> None:
    txns = [Txn(Zxid(1, number), f"v{number}") for number in range(1, 2 * sys.getrecursionlimit())]
    initial = at_start(Quorums(1))
    accepted = frozenset(("p1", 1, abstract(txn, initial)) for txn in txns)
    relations = {"adopted": of(initial, "adopted") | {("p1", 1)}, "accepted": accepted}
    world = compiled.world_of(initial[: len(SORTS)], relations)
    whole = Chain.of(txns)
    answer = AckEpoch(1, 0, 2, 1, txns[-1].zxid, whole.length, whole.hash)
    assert provides_what_it_accepted(world, answer)
    assert not provides_what_it_accepted(world, replace(answer, hash=whole.hash + 1))


def test_a_trace_without_protocol_events_exercises_neither() -> None:
    plain = [ONE[0], *(each for each in ONE if isinstance(each, Broadcast | Deliver))]
    unnamed = [ONE[0], Promise(1, 0, 1), *ONE[2:]]
    many = [Header(1, 9, "zab"), *ONE[1:]]
    for events in (plain, unnamed, many):
        assert judged(events).status == judged(events, "proof").status == "not exercised"
