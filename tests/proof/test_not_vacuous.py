"""The proof says something: the abstraction has runs, and the invariant has no conjunct too many."""

from itertools import pairwise

import pytest

from tests.tiers import sweep
from zabcheck.proof import prover
from zabcheck.proof.conjuncts import CONJUNCTS
from zabcheck.proof.example import EXAMPLE
from zabcheck.proof.finite import SMALL, holds
from zabcheck.proof.obligations import Theory, leave_out, obligations
from zabcheck.proof.properties import PROPERTIES
from zabcheck.proof.relations import RELATIONS, State
from zabcheck.proof.steps import STEPS


def test_each_step_of_the_run_adds_something() -> None:
    states = list(EXAMPLE.states())
    assert all(before < after for before, after in pairwise(states))


def test_a_run_commits_in_two_epochs() -> None:
    *_, last = EXAMPLE.states()
    committed = {things for name, things in last if name == "committed"}
    assert committed == {(1, (1, 1, "a")), (2, (1, 1, "a")), (2, (1, 2, "b")), (2, (2, 1, "c"))}
    assert {name for name, _ in last} == set(RELATIONS)


def test_each_step_is_possible_after_a_commit() -> None:
    """But the one that needs empty histories in a quorum: it is the first choice of all."""
    committed = next(at for at, facts in enumerate(EXAMPLE.states()) if any(name == "committed" for name, _ in facts))
    names = [step.name for step, _ in EXAMPLE.steps]
    assert {*names[committed:]} == {step.name for step in STEPS} - {"choose empty"}
    assert "choose empty" in names


def test_the_conjuncts_and_properties_hold_in_a_run() -> None:
    for facts in [*EXAMPLE.states()][::9]:
        wrong = [each.name for each in (*CONJUNCTS, *PROPERTIES) if not holds(each.of(State()), SMALL, facts)]
        assert wrong == []


NEEDED_BY = {
    "one promise": "choose keeps initial history accepted",
    "promises leave": "choose keeps not choosable",
    "leaders have promises": "choose keeps initial history accepted",
    "opened by leaders": "choose keeps initial history accepted",
    "adopted are open": "choose keeps initial history accepted",
    "accepted in the epoch": "choose keeps accepted is a prefix",
    "initial history accepted": "choose keeps not choosable",
    "accepted is a prefix": "choose keeps logs match",
    "initial is earlier": "choose keeps logs match",
    "proposed in its epoch": "choose keeps initial is earlier",
    "established lead": "broadcast keeps proposed in its epoch",
    "primaries are established": "the conjuncts imply primary integrity",
    "logs match": "choose keeps delivered is a prefix",
    "committed by a quorum": "choose keeps delivered is a prefix",
    "not choosable": "the conjuncts imply total order",
    "not skipped": "the conjuncts imply primary integrity",
    "delivered was committed": "choose keeps delivered is a prefix",
    "delivered is a prefix": "the conjuncts imply total order",
    "primary is up to date": "the conjuncts imply primary integrity",
    "knew what was committed": "broadcast keeps knew what comes before",
    "knew what comes before": "the conjuncts imply po causal order",
    "knew its initial history": "the conjuncts imply strict causality",
}
"""For each conjunct an obligation that is refused without it: that a property follows, or that another one is kept."""


@pytest.mark.parametrize("conjunct", sweep(NEEDED_BY, ["promises leave"]))
def test_each_conjunct_is_needed(conjunct: str) -> None:
    theory = leave_out(Theory(), conjunct)
    [needs] = [each for each in obligations(theory) if each.name == NEEDED_BY[conjunct]]
    assert prover.refute(needs)


def test_each_conjunct_has_what_needs_it() -> None:
    assert [*NEEDED_BY] == [each.name for each in CONJUNCTS]


def needs(conjunct: str) -> str:
    """The conjunct or property that needs a conjunct, by the table."""
    return NEEDED_BY[conjunct].removeprefix("the conjuncts imply ").rpartition(" keeps ")[2]


@pytest.mark.parametrize("conjunct", NEEDED_BY)
def test_each_conjunct_is_needed_for_a_property_in_the_end(conjunct: str) -> None:
    """So no conjuncts are there for each other alone."""
    way = [conjunct]
    while way[-1] in NEEDED_BY:
        way.append(needs(way[-1]))
        assert len(way) <= len(NEEDED_BY), f"these need each other: {way}"
    assert way[-1] in [each.name for each in PROPERTIES]
