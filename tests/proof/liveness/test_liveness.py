"""The proof of liveness: what is proved, what is refused, and runs of the abstraction that are fair."""

from collections.abc import Iterable, Iterator
from random import Random

import pytest

from tests.proof.test_obligations import table
from tests.tiers import sweep
from zabcheck.mutants.catalogue import CATALOGUE
from zabcheck.proof import prover
from zabcheck.proof.finite import Facts, Thing, bindings_of, holds, take
from zabcheck.proof.liveness.conjuncts import CONJUNCTS
from zabcheck.proof.liveness.example import C1, C2, C2_AGAIN, C3, EXAMPLE, NEW, OLD, START, UNIVERSE
from zabcheck.proof.liveness.iteration import Iteration
from zabcheck.proof.liveness.mutants import MUTANTS
from zabcheck.proof.liveness.stages import STAGES, is_positive
from zabcheck.proof.liveness.steps import STEPS
from zabcheck.proof.liveness.theory import GIVEN, theory
from zabcheck.proof.logic import Connection
from zabcheck.proof.mutants import OUTSIDE
from zabcheck.proof.obligations import Obligation, Theory, leave_out, obligations
from zabcheck.proof.steps import Step

ALL = obligations(theory())
TABLE = "known bug of liveness | refused at | breaks"
REFUSED = {mutant: (step, broken.split(", ")) for mutant, step, broken in table(TABLE)}
"""For each known bug the step at which it is refused, and all that it breaks."""
NEEDED_BY = {
    "cepochs are answered": "the conjuncts imply somebody waits to join",
    "cepochs count": "the conjuncts imply somebody waits to join",
    "one new epoch": "the conjuncts imply hear ack e is possible",
    "epochs are greater": "the conjuncts imply promise is possible",
    "ack es are answered": "the conjuncts imply somebody waits to join",
    "ack es count": "the conjuncts imply somebody waits to join",
    "discovered asked": "choose history keeps histories are sent in order",
    "histories are sent in order": "hear cepoch keeps newleader comes first",
    "all is sent": "the conjuncts imply somebody waits to accept",
    "nothing else is sent": "hear ack e keeps newleader comes first",
    "newleader comes first": "adopt keeps accepted in order",
    "adopted were sent": "hear ack e keeps adopted accepted",
    "adopted accepted": "the conjuncts imply somebody waits to accept",
    "accepted adopted": "hear ack e keeps accepted in order",
    "accepted in order": "accept keeps waiting for deliver",
    "ack lds count": "the conjuncts imply somebody waits to accept",
    "ack lds are answered": "the conjuncts imply somebody waits to join",
    "released synced": "the conjuncts imply somebody waits to accept",
    "commits are told": "the conjuncts imply somebody waits to deliver",
    "histories begin with the initial one": "hear ack ld keeps commits are told",
}
"""For each conjunct an obligation that is refused without it."""


def test_every_obligation_has_a_name_of_its_own() -> None:
    assert len({each.name for each in ALL}) == len({each.file for each in ALL}) == len(ALL)
    assert {each.kind for each in ALL} == {"start", "step", "end", "property"}


def name(step: Step, broken: str) -> str:
    """The name of the obligation of a step that breaks a conjunct, or may not be possible."""
    return f"the conjuncts imply {broken}" if broken.endswith("is possible") else f"{step.name} keeps {broken}"


def undecided(every: list[Obligation]) -> set[str]:
    """The names of the obligations that are not proved by the first short try."""
    z3 = prover.load()
    return {each.name for each in every if not prover._unsatisfiable(z3, each.script(), prover.EFFORTS[0], 0)}


def test_what_carries_the_proof_is_proved() -> None:
    assert (
        undecided([each for each in ALL if each.kind == "property" and each.claim.name.startswith("somebody")]) == set()
    )


@pytest.mark.parametrize("mutant", sweep(REFUSED, ["ignore-closed-connection", "commit-ld-before-counting"]))
def test_a_known_bug_is_refused_at_its_own_step_and_nothing_else_is(mutant: str) -> None:
    """The obligations of other steps are those of Zab."""
    known = MUTANTS[mutant]
    own = [each for each in obligations(known.theory()) if each.step is None or each.step is known.step]
    step, broken = REFUSED[mutant]
    assert known.step.number == step
    assert undecided(own) == {name(known.step, each) for each in broken}


@pytest.mark.parametrize("mutant", sweep(REFUSED, ["no-acks-after-return", "commit-ld-before-counting"]))
def test_what_is_refused_of_a_known_bug_is_drawn(mutant: str) -> None:
    known, (_, broken) = MUTANTS[mutant], REFUSED[mutant]
    [first] = [each for each in obligations(known.theory()) if each.name == name(known.step, broken[0])]
    found = prover.refute(first)
    assert found is not None
    assert f"broken: {first.claim.name}" in "\n".join(found.lines())
    assert found.witness


def test_every_known_bug_that_breaks_liveness_alone_is_refused() -> None:
    alone = [name for name, reason in OUTSIDE.items() if "--liveness" in reason]
    assert {*alone, "propose-to-acked-only"} == {*MUTANTS} == {*REFUSED}
    for name in alone:
        assert CATALOGUE[name].breaks == ("epoch progress",)


@pytest.mark.parametrize("conjunct", sweep([each.name for each in CONJUNCTS], ["commits are told"]))
def test_each_conjunct_is_needed(conjunct: str) -> None:
    [needs] = [each for each in obligations(leave_out(theory(), conjunct)) if each.name == NEEDED_BY[conjunct]]
    assert prover.refute(needs)


def test_the_conjuncts_the_properties_and_the_assumptions_are_true_in_a_run() -> None:
    """So they do not contradict each other; and the run takes every step, and uses every relation."""
    states = list(EXAMPLE.states())
    told = theory()
    for state in states[::8]:
        claims = {each.name: each.of(Iteration()) for each in (*told.conjuncts, *told.properties)}
        wrong = [name for name, each in {**claims, **told.assumptions}.items() if not holds(each, UNIVERSE, state)]
        assert wrong == []
    assert {step for step, _ in EXAMPLE.steps} == {*STEPS}
    assert {name for name, _ in states[-1]} == Iteration.relations.keys()
    assert holds(told.start(Iteration()), UNIVERSE, START)
    assert {name for name, _ in START} == GIVEN - {"delivered"}


def test_what_waits_goes_on_waiting_as_relations_grow_or_by_an_obligation() -> None:
    grow = [each.step.name for each in STAGES if each.stays is None]
    assert [each.step.name for each in STAGES if each.stays is not None] == ["accept", "deliver"]
    assert len(grow) == len(STAGES) - 2
    s, c = Iteration(), Connection("c")
    assert is_positive(s.opened(c) & ~~s.asked(c))
    assert not is_positive(s.opened(c) >> s.asked(c))


def possible(state: Facts, steps: Iterable[Step]) -> Iterator[tuple[Step, tuple[Thing, ...]]]:
    """Each of these steps that is possible in a state, with what it is about, and adds something."""
    for step in steps:
        options: list[tuple[Thing, ...]] = [()]
        for term in step.terms:
            options = [(*each, it) for each in options for it in UNIVERSE.all(type(term))]
        for things in options:
            if holds(step.change.when, UNIVERSE, state, bindings_of(step, things)):
                yield step, things


def left_undone(of: Theory, seed: int) -> set[tuple[Thing, Thing]]:
    """The transactions that a run broadcasts and leaves undelivered on lasting connections, each with its process.

    Steps are taken at random until none is possible, those of some connections and some kinds rarely. One transaction
    is broadcast, if any can be, and p2's first connection is closed at a random moment.
    """
    random, broadcasts = Random(seed), 0
    given = {("promised", (C2_AGAIN, 0)), ("abandoned", (C2_AGAIN,))}
    state: Facts = START - {("promised", (C2_AGAIN, 1))} | given
    state |= {("has_history", (node, OLD)) for node in UNIVERSE.nodes}
    closed = random.randrange(25)
    rare = {each for each in (*of.steps, *UNIVERSE.connections) if random.random() < 0.3}
    while options := [
        (step, things)
        for step, things in possible(state, of.steps)
        if (closed > 0 or C2 not in things) and (step.number != "l.3.1" or (things == (NEW,) and not broadcasts))
    ]:
        weights = [0.01 if step in rare or not rare.isdisjoint(things) else 1 for step, things in options]
        [(step, things)] = random.choices(options, weights)
        after = take(step, UNIVERSE, state, things)
        assert after is not None
        state, closed, broadcasts = after, closed - 1, broadcasts + (step.number == "l.3.1")
    return {(c[0], t) for c in (C1, C2_AGAIN, C3) for t in (OLD, NEW) if ("delivered", (c[0], t)) not in state}


def test_a_run_to_its_end_delivers_all_that_is_broadcast() -> None:
    """As the rule of the stages says: a run that takes whatever waits is fair."""
    assert [seed for seed in range(2) if left_undone(theory(), seed)] == []


SEEDS = {
    "ignore-closed-connection": 0,
    "late-cepoch-unanswered": 1,
    "commit-ld-initial": 1,
    "late-ack-ld-unanswered": 0,
    "no-acks-after-return": 63,
    "propose-to-acked-only": 9,
}
"""A run of each known bug that stops too early; the moment of commit-ld-before-counting comes in no run of 150."""


@pytest.mark.parametrize("mutant", SEEDS)
def test_a_known_bug_leaves_something_undone(mutant: str) -> None:
    assert left_undone(MUTANTS[mutant].theory(), SEEDS[mutant])
    assert not left_undone(theory(), SEEDS[mutant])
