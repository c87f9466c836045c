"""Counterexamples to induction that no solver has to find."""

from zabcheck.proof.counterexample import Counterexample, counterexample_of
from zabcheck.proof.finite import SMALL, Fact, Thing
from zabcheck.proof.mutants import MUTANTS, RELEASES
from zabcheck.proof.obligations import Obligation, Theory, obligations

A, B, C, D = SMALL.transactions
IN_EPOCH_0: list[Fact] = [("opened", (0,)), *(("adopted", (node, 0)) for node in SMALL.nodes)]


def obligation(name: str, mutant: str) -> Obligation:
    theory = {**MUTANTS, **RELEASES}[mutant].theory() if mutant else Theory()
    return next(each for each in obligations(theory) if each.name == name)


def of(name: str, mutant: str, facts: list[Fact], *things: Thing) -> Counterexample:
    return counterexample_of(obligation(name, mutant), SMALL, frozenset([*IN_EPOCH_0, *facts]), things)


def stale_proposal() -> Counterexample:
    """p2 accepts a proposal of epoch 1 after it has left it for epoch 2."""
    facts: list[Fact] = [
        *(("promised", (node, epoch, "p1")) for node in ("p1", "p2") for epoch in (1, 2)),
        *(("left", (node, epoch)) for node in ("p1", "p2") for epoch in (0, 1)),
        *(("adopted", (node, 1)) for node in ("p1", "p2")),
        ("led", (1, "p1")),
        ("led", (2, "p1")),
        ("established", (1, "p1")),
        ("opened", (1,)),
        ("opened", (2,)),
        ("proposed", (1, A)),
    ]
    return of("accept after leaving keeps not choosable", "stale-proposal-accepted", facts, "p2", 1, A)


def promise_not_on_disk() -> Counterexample:
    return of("promise without disk keeps promises leave", "promise-not-durable", [], "p1", 1, "p2")


def uncommitted_delivery() -> Counterexample:
    facts: list[Fact] = [("accepted", ("p1", 1, A)), ("adopted", ("p1", 1)), ("proposed", (1, A)), ("left", ("p3", 1))]
    return of("deliver uncommitted keeps delivered was committed", "commit-ld-zxid", facts, "p1", 1, A)


def new_history() -> Counterexample:
    """p2 goes from epoch 1 with ⟨1,1⟩ to epoch 3 with ⟨2,1⟩, and lacks ⟨1,2⟩ of its initial history."""
    facts: list[Fact] = [
        ("promised", ("p2", 3, "p1")),
        *(("left", ("p2", epoch)) for epoch in (0, 1, 2)),
        ("adopted", ("p2", 1)),
        ("accepted", ("p2", 1, A)),
        ("accepted", ("p2", 3, C)),
        ("opened", (3,)),
        ("initial", (3, B)),
        ("knew", (C, A)),
    ]
    return of("write epoch first keeps initial history accepted", "zookeeper-3.8.0", facts, "p2", 3, "p1")


def two_leaders() -> Counterexample:
    """Two leaders of an epoch: no step, a property that would not follow."""
    return of("the conjuncts imply one leader", "", [("led", (1, "p1")), ("led", (1, "p2"))])
