"""The proof of Zab with configurations that change: it has a run of its steps, and known bugs are refused.

Each event of a run of the protocol is steps of it, or none.
"""

import re

import pytest
from msgspec import structs

from tests.proof.test_obligations import table
from tests.proof.test_refinement import KEPT, first_steps
from tests.tiers import sweep
from zabcheck.counterexample.induction.lanes import drawing
from zabcheck.mutants.catalogue import CATALOGUE
from zabcheck.proof import prover
from zabcheck.proof.finite import FIRST_OF_THREE, THREE, Configuration, Universe, holds, majorities
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
    claims = [*theory().conjuncts, *theory().consequences, *theory().properties]
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


ONE = Universe(
    THREE,
    majorities(THREE),
    (0, 1, 2, 3),
    tuple((e, n, f"{e}.{n}", FIRST_OF_THREE) for e, n in ((1, 1), (1, 2), (2, 1), (3, 1))),
    configurations=(FIRST_OF_THREE,),
)
"""A universe in which the configuration never changes."""
C, V, W = FIRST_OF_THREE, Configuration(1, ("p1", "p4")), Configuration(2, ("p4",))
TWICE = Universe(
    UNIVERSE.nodes,
    tuple(frozenset(f"p{each}" for each in members) for members in ("12", "14", "124", "4", "1234")),
    (0, 1, 2),
    ((1, 1, "a", C), (1, 2, "to V", C, V), (1, 3, "to W", V, W), (1, 4, "b", W), (2, 1, "c", W)),
    configurations=(C, V, W),
)
"""A universe in which a quorum of W, the last configuration, has nobody of C, the first one."""
NEEDED = {
    "one promise": (ONE, "the conjuncts imply one leader"),
    "promises leave": (ONE, "the conjuncts imply invariant 3"),
    "leaders have promises": (ONE, "the conjuncts imply one leader"),
    "opened by leaders": (ONE, "the conjuncts imply one leader"),
    "one base": (TWICE, "commit keeps committed by a quorum"),
    "opened have a base": (ONE, "the conjuncts imply one leader"),
    "bases are known": (UNIVERSE, "the conjuncts imply committed survives"),
    "active is chosen": (UNIVERSE, "the conjuncts imply activation"),
    "asked in what is known": (UNIVERSE, "choose empty keeps bases are known"),
    "adopted are open": (ONE, "choose keeps initial history accepted"),
    "accepted in the epoch": (ONE, "the conjuncts imply invariant 1"),
    "initial history accepted": (ONE, "establish keeps committed by a quorum"),
    "accepted is a prefix": (ONE, "the conjuncts imply invariant 2"),
    "initial is earlier": (ONE, "the conjuncts imply invariant 4"),
    "proposed in its epoch": (ONE, "the conjuncts imply zxid uniqueness"),
    "change comes before": (UNIVERSE, "the conjuncts imply committed survives"),
    "last change governs": (UNIVERSE, "the conjuncts imply superseded decide nothing"),
    "established lead": (ONE, "the conjuncts imply epoch uniqueness"),
    "primaries are established": (ONE, "the conjuncts imply primary integrity"),
    "logs match": (ONE, "the conjuncts imply total order"),
    "committed by a quorum": (ONE, "the conjuncts imply chosen"),
    "committed is a prefix": (UNIVERSE, "the conjuncts imply committed survives"),
    "not choosable": (ONE, "the conjuncts imply committed survives"),
    "not skipped": (ONE, "the conjuncts imply primary integrity"),
    "delivered was committed": (ONE, "the conjuncts imply chosen"),
    "delivered is a prefix": (ONE, "the conjuncts imply total order"),
    "primary is up to date": (ONE, "the conjuncts imply primary integrity"),
    "knew what was committed": (ONE, "broadcast keeps knew what comes before"),
    "knew what comes before": (ONE, "the conjuncts imply po causal order"),
    "knew its initial history": (ONE, "the conjuncts imply strict causality"),
}
"""For each conjunct a universe, and an obligation that is refused there without it.

Lemmas and consequences are left out as well, for they follow from all conjuncts together.
"""


@pytest.mark.parametrize("conjunct", sweep([*NEEDED][1::3], ["one base"]))
def test_each_conjunct_is_needed(conjunct: str) -> None:
    universe, name = NEEDED[conjunct]
    without = structs.replace(leave_out(theory(), conjunct), universe=universe, consequences=(), lemmas=())
    [found] = [each for each in obligations(without) if each.name == name]
    assert prover.refute(found)


def test_each_conjunct_has_what_needs_it() -> None:
    assert [*NEEDED] == [each.name for each in theory().conjuncts]


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
