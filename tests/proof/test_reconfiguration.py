"""The proof of Zab with configurations that change: it has a run of its steps, and known bugs are refused.

Each event of a run of the protocol is steps of it, or none.
"""

import re

import pytest

from tests.proof.test_obligations import table
from tests.proof.test_refinement import KEPT, first_steps
from tests.tiers import sweep
from zabcheck.counterexample.induction.lanes import drawing
from zabcheck.mutants.catalogue import CATALOGUE
from zabcheck.proof import prover
from zabcheck.proof.finite import holds
from zabcheck.proof.obligations import Obligation, leave_out, obligations
from zabcheck.proof.reconfiguration import steps
from zabcheck.proof.reconfiguration.example import EXAMPLE, UNIVERSE
from zabcheck.proof.reconfiguration.mutants import MUTANTS, OUTSIDE
from zabcheck.proof.reconfiguration.relations import Configured
from zabcheck.proof.reconfiguration.theory import theory
from zabcheck.protocols.reconfiguration import RECONFIGURATION
from zabcheck.search.engines import Engine, find
from zabcheck.search.run import Run, Search

REFUSED = {
    "change-by-new-only": "commit by new keeps committed by a quorum",
    "change-by-old-only": "commit by old keeps committed by a quorum",
    "after-change-by-old": "commit all by base keeps committed by a quorum",
    "ignore-pending-change": "commit all by base keeps committed by a quorum",
    "complete-with-old-only": "establish by base keeps established lead",
    "discover-in-old-only": "choose by base keeps leaders have promises",
    "second-change-early": "commit second early keeps committed by a quorum",
    "activate-on-ack": "activate accepted keeps active is chosen",
    "joiner-acks-early": "accept early keeps accepted is a prefix",
    "elect-in-old-only": "establish by base keeps established lead",
    "elect-in-new-only": "choose by pending keeps bases are known",
    "lead-on-unpromised": "choose unpromised keeps leaders have promises",
}
"""For each known bug the step with it, and a conjunct that it breaks."""


def test_a_run_takes_each_step_and_satisfies_the_invariant_and_the_properties() -> None:
    *_, last = EXAMPLE.states()
    assert {step.name for step, _ in EXAMPLE.steps} == {step.name for step in theory().steps}
    claims = [*theory().conjuncts, *theory().properties]
    assert [each.name for each in claims if not holds(each.of(Configured()), UNIVERSE, last)] == []
    assert all(holds(each, UNIVERSE, last) for each in theory().assumptions.values())


def named(bug: str) -> Obligation:
    [found] = [each for each in obligations(MUTANTS[bug]) if each.name == REFUSED[bug]]
    return found


@pytest.mark.parametrize("bug", sweep(["activate-on-ack", "discover-in-old-only"], ["activate-on-ack"]))
def test_known_bugs_are_refused_at_a_conjunct(bug: str) -> None:
    found = prover.refute(named(bug))
    assert found is not None
    assert found.about is Configured
    assert {each.name for lanes in drawing(found).lanes for each in lanes.rows} >= {"active", "began in"}


@pytest.mark.slow
def test_a_lemma_that_is_refused_is_drawn_in_the_state_before_its_step() -> None:
    """Without the conjunct of single promises an epoch may have a leader already."""
    [lemma] = [
        each
        for each in obligations(leave_out(theory(), "one promise"))
        if each.name == "choose empty implies no second leader"
    ]
    found = prover.refute(lemma)
    assert found is not None
    assert (
        drawing(found).summary
        == "This state satisfies the invariant, and l.1.2 is possible in it; “no second leader” is false."
    )


def test_each_known_bug_is_refused_or_outside() -> None:
    of_protocol = {name for name, each in CATALOGUE.items() if each.protocol == "zab-reconfiguration"}
    assert {*REFUSED} == {*MUTANTS}
    assert [named(bug).name for bug in REFUSED] == [*REFUSED.values()]
    assert {*MUTANTS, *OUTSIDE} == of_protocol


def test_a_lemma_may_use_those_before_it_and_none_behind() -> None:
    lemmas = [each for each in obligations(theory()) if each.kind == "lemma" and each.step == steps.choose]
    first, second, *_ = lemmas
    assert first.claim.name in second.given()
    assert second.claim.name not in first.given()


NO_INSTANCE = {
    bug: row for bug, *row in table("known bug | no instance of | after | false | first property after | kept for")
}
"""For each known bug the step of which an event of its kept run is no instance, as docs/notes/proof.md has it."""


@pytest.mark.parametrize("bug", sweep(NO_INSTANCE, ["joiner-acks-early"]))
def test_a_run_of_a_known_bug_is_refused_at_its_step(bug: str) -> None:
    number, after, conjunct, first, kept = NO_INSTANCE[bug]
    found, said = first_steps(KEPT / f"{bug}.{kept.replace(' ', '-')}.json")
    assert f"no instance of step {number} " in said["refinement"]
    assert re.findall(r"`(.*)` is false", said["proof"]) == [conjunct]
    assert found["refinement"] == found["proof"] == int(after)
    assert min(steps for name, steps in found.items() if name not in ("refinement", "proof")) == int(first)


def test_each_known_bug_but_one_of_liveness_is_in_the_table() -> None:
    assert {*NO_INSTANCE} == {*MUTANTS, *OUTSIDE} - {"keep-cut-off-change"}


def test_each_event_of_a_run_is_steps_of_the_proof() -> None:
    """docs/notes/proof.md says how many more were tried."""
    changes = 0

    def count(run: Run) -> None:
        nonlocal changes
        changes += run.judge.invariants[0].judged()

    assert find(Engine.swarm, Search(RECONFIGURATION, None, ("refinement",), 20, 150, 1, count)) is None
    assert changes > 1000
