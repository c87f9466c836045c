"""The proof of implemented Zab: what is proved, which known defects are refused and where, and a run of its steps.

That all is proved is on docs/proof.md, which tests/packaging/test_pages.py writes anew.
"""

from typing import get_args

import pytest

from tests.proof.test_obligations import table
from tests.tiers import sweep
from zabcheck.counterexample.induction.page import page
from zabcheck.proof import prover
from zabcheck.proof.finite import holds
from zabcheck.proof.implemented import steps
from zabcheck.proof.implemented.conjuncts import CONJUNCTS
from zabcheck.proof.implemented.defects import DEFECTS, OUTSIDE
from zabcheck.proof.implemented.example import EXAMPLE
from zabcheck.proof.implemented.repairs import ACCEPTED
from zabcheck.proof.implemented.repairs import REFUSED as FALLS_SHORT
from zabcheck.proof.implemented.servers import Servers
from zabcheck.proof.implemented.steps import STEPS
from zabcheck.proof.implemented.theory import theory
from zabcheck.proof.obligations import Obligation, leave_out, obligations
from zabcheck.proof.steps import Step
from zabcheck.zookeeper.model.switches import Defects

ALL = obligations(theory())
REFUSED = {
    defect: (number, name, broken.split(", "))
    for defect, number, name, broken in table("known defect | refused at | the step with it | breaks")
}
"""For each known defect the step at which it is refused, and the conjuncts that the step breaks."""
NEEDED_BY = {
    "epochs rise": "choose keeps initial is earlier",
    "one promise": "choose keeps joined an epoch",
    "current is accepted": "choose keeps acknowledged is a prefix",
    "leaders have promises": "broadcast keeps primary is up to date",
    "opened by leaders": "the conjuncts imply nobody else leads",
    "initial is earlier": "choose keeps histories match",
    "proposed in its epoch": "append keeps accepted before logged",
    "established lead": "choose keeps established have committed",
    "primaries are established": "the conjuncts imply primary integrity",
    "established have committed": "serve keeps servers serve their epoch",
    "histories match": "diff keeps joined have its history",
    "logs match": "append keeps forced is a prefix",
    "memory matches": "write snapshot keeps logs match",
    "forced is a prefix": "promise keeps reports have what was acknowledged",
    "accepted before logged": "choose keeps initial is earlier",
    "loaded from disk": "promise keeps reports have what was acknowledged",
    "joined an epoch": "promise keeps servers serve their epoch",
    "joined have its history": "append keeps logs match",
    "joined apply what is known": "apply unsaved keeps memory matches",
    "acknowledged in the epoch": "choose keeps acknowledged is a prefix",
    "acknowledged is a prefix": "establish keeps committed by a quorum",
    "acknowledged stays": "promise keeps reports have what was acknowledged",
    "snapshot loses nothing": "write snapshot keeps acknowledged stays",
    "reports have what was acknowledged": "choose keeps not choosable",
    "written later": "choose keeps not skipped",
    "later epochs": "choose keeps not choosable",
    "committed by a quorum": "choose keeps delivered is a prefix",
    "committed in order": "diff keeps joined apply what is known",
    "not choosable": "the conjuncts imply total order",
    "not skipped": "the conjuncts imply primary integrity",
    "servers serve their epoch": "broadcast keeps primary is up to date",
    "delivered was committed": "choose keeps delivered is a prefix",
    "delivered is a prefix": "the conjuncts imply total order",
    "primary is up to date": "the conjuncts imply primary integrity",
}
"""For each conjunct an obligation that is refused without it."""


STAYS = ("acknowledged stays", "snapshot loses nothing")


def undecided(every: list[Obligation]) -> list[str]:
    """The names of the obligations that are not proved by short tries."""
    z3 = prover.load()
    tries = [*enumerate(prover.EFFORTS)]
    return [
        each.name
        for each in every
        if not any(prover._unsatisfiable(z3, each.script(), effort, seed) for seed, effort in tries)
    ]


def of_step(taken: Step) -> list[Obligation]:
    """The obligations of one step, in place of the one of its name or besides the others."""
    return [each for each in obligations(theory([taken])) if each.step is not None]


def test_every_obligation_has_a_name_of_its_own() -> None:
    assert len({each.name for each in ALL}) == len({each.file for each in ALL}) == len(ALL)


@pytest.mark.parametrize("taken", [steps.truncate, steps.write_epoch, steps.crash], ids=lambda each: each.name)
def test_what_servers_do_beyond_the_paper_keeps_the_invariant(taken: Step) -> None:
    assert undecided(of_step(taken)) == []


@pytest.mark.parametrize("defect", sweep({each.instead.name: name for name, each in DEFECTS.items()}.values(), []))
def test_a_known_defect_is_refused_at_its_step(defect: str) -> None:
    known, z3 = DEFECTS[defect], prover.load()
    own = of_step(known.instead)
    open_ = [each for each in own if not prover._unsatisfiable(z3, each.script(), prover.EFFORTS[1], 0)]
    assert [each.claim.name for each in open_ if prover.refute(each)] == REFUSED[defect][2]


def test_a_known_defect_replaces_one_step_or_adds_one() -> None:
    for defect, known in DEFECTS.items():
        assert REFUSED[defect][:2] == (known.instead.number, known.instead.name)
        others = [each for each in STEPS if each is not known.replaced]
        assert {*known.theory().steps} == {*others, known.instead}
        assert known.replaced is None or known.instead.number == known.replaced.number
    told = {(name, *broken) for _, name, broken in REFUSED.values()}
    assert len(told) == len({name for name, *_ in told}), "defects with one step break the same"


def test_every_known_defect_is_expressed_or_has_a_reason() -> None:
    assert sorted([*DEFECTS, *OUTSIDE]) == sorted({*get_args(Defects)} - {"all", "none"})
    assert list(REFUSED) == list(DEFECTS)


def test_a_refused_step_is_told_with_what_it_removes() -> None:
    [stays] = [each for each in of_step(DEFECTS["n1"].instead) if each.claim.name == "acknowledged stays"]
    found = prover.refute(stays)
    assert found is not None
    told = list(found.lines())
    gone = told[told.index("and removes") + 1 :]
    assert "<del>−b⟨1,2⟩</del>" in page([found])
    assert gone[:3] == [f"  p1 has b⟨1,2⟩ {where}" for where in ("in its log", "on its disk", "in memory")]


@pytest.mark.parametrize("conjunct", sweep([each.name for each in CONJUNCTS], ["acknowledged stays"]))
def test_each_conjunct_is_needed(conjunct: str) -> None:
    [needs] = [each for each in obligations(leave_out(theory(), conjunct)) if each.name == NEEDED_BY[conjunct]]
    assert prover.refute(needs)


def test_the_conjuncts_and_the_properties_are_true_in_a_run() -> None:
    """The run takes every step, and uses every relation."""
    states = list(EXAMPLE.states())
    told = theory()
    claims = [*told.conjuncts, *told.properties]
    for state in (*states[::18], states[-1]):
        assert [each.name for each in claims if not holds(each.of(Servers()), EXAMPLE.universe, state)] == []
    assert {each for each, _ in EXAMPLE.steps} == {*STEPS}
    assert {name for state in states for name, _ in state} == {*Servers.relations}
    assert holds(told.start(Servers()), EXAMPLE.universe, EXAMPLE.start)


@pytest.mark.parametrize("repair", sweep(ACCEPTED, ["n1-cut-unproposed"]))
def test_another_repair_of_a_defect_is_accepted(repair: str) -> None:
    """Only the repaired step differs from those that are proved."""
    assert undecided(of_step(ACCEPTED[repair].instead)) == []


@pytest.mark.slow
def test_what_looks_like_a_repair_is_refused() -> None:
    broken = {
        name: [each.claim.name for each in of_step(change.instead) if each.claim.name in STAYS and prover.refute(each)]
        for name, change in FALLS_SHORT.items()
    }
    assert broken == {
        "1653-epoch-of-log-unforced": ["acknowledged stays"],
        "n1-cut-uncommitted": ["acknowledged stays", "snapshot loses nothing"],
        "n3-force-before-ack": ["acknowledged stays"],
    }
