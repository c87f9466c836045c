"""The proof of Zab with configurations that change: it has a run of its steps, and known bugs are refused."""

import pytest

from tests.tiers import sweep
from zabcheck.counterexample.induction.lanes import drawing
from zabcheck.mutants.catalogue import CATALOGUE
from zabcheck.proof import prover
from zabcheck.proof.finite import holds
from zabcheck.proof.obligations import Obligation, obligations
from zabcheck.proof.reconfiguration.example import EXAMPLE, UNIVERSE
from zabcheck.proof.reconfiguration.mutants import MUTANTS, OUTSIDE
from zabcheck.proof.reconfiguration.relations import Configured
from zabcheck.proof.reconfiguration.theory import theory

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


def test_each_known_bug_is_refused_or_outside() -> None:
    of_protocol = {name for name, each in CATALOGUE.items() if each.protocol == "zab-reconfiguration"}
    assert {*REFUSED} == {*MUTANTS}
    assert [named(bug).name for bug in REFUSED] == [*REFUSED.values()]
    assert {*MUTANTS, *OUTSIDE} == of_protocol


def test_a_lemma_may_use_those_before_it_and_none_behind() -> None:
    lemmas = [each for each in obligations(theory()) if each.kind == "lemma" and each.step == theory().steps[1]]
    first, second, *_ = lemmas
    assert first.claim.name in second.given()
    assert second.claim.name not in first.given()
