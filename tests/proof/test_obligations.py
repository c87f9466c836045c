"""The proof of Zab: what is proved, what is refused, and what is neither."""

from pathlib import Path

import pytest
from msgspec import structs

from tests.tiers import sweep
from zabcheck.mutants.catalogue import CATALOGUE
from zabcheck.proof import prover
from zabcheck.proof.conjuncts import CONJUNCTS
from zabcheck.proof.counterexample import Counterexample
from zabcheck.proof.liveness import mutants as liveness
from zabcheck.proof.mutants import MUTANTS, OUTSIDE, RELEASES
from zabcheck.proof.obligations import Obligation, Theory, obligations
from zabcheck.proof.properties import PROPERTIES

ALL = {each.name: each for each in obligations(Theory())}
QUICK = [
    "the start satisfies logs match",
    "promise keeps one promise",
    "adopt keeps initial history accepted",
    "accept keeps accepted is a prefix",
    "accept keeps not choosable",
    "commit keeps committed by a quorum",
    "deliver keeps delivered is a prefix",
    "the conjuncts imply epoch uniqueness",
]
"""Each takes some hundredths of a second."""


def table(head: str) -> list[list[str]]:
    """The rows of a table of docs/notes/proof.md, by its first line."""
    page = (Path(__file__).parents[2] / "docs/notes/proof.md").read_text(encoding="utf-8")
    rows = page.partition(f"\n{head}\n")[2].partition("\n\n")[0].splitlines()
    return [row.split(" | ") for row in rows[1:]]


FOLLOWS = dict(table("property | follows from"))


@pytest.mark.parametrize("name", sweep(FOLLOWS, ["local primary order", "one leader", "invariant 4"]))
def test_a_property_follows_from_the_conjuncts_that_the_page_names(name: str) -> None:
    kept = tuple(each for each in CONJUNCTS if each.name in FOLLOWS[name].split(", "))
    assert ", ".join(each.name for each in kept) == FOLLOWS[name]
    [follows] = [each for each in obligations(structs.replace(Theory(), conjuncts=kept)) if each.claim.name == name]
    assert prover.decide(follows).status == "proved"


def test_the_page_says_of_each_property_from_what_it_follows() -> None:
    assert list(FOLLOWS) == [each.name for each in PROPERTIES]


def test_every_obligation_has_a_name_of_its_own() -> None:
    every = obligations(Theory())
    theory = Theory()
    assert len(every) == len(theory.conjuncts) * (1 + len(theory.steps)) + len(theory.properties)
    assert len({each.name for each in every}) == len({each.file for each in every}) == len(every)


@pytest.mark.parametrize("name", QUICK)
def test_proved(name: str) -> None:
    assert prover.decide(ALL[name]).status == "proved"


@pytest.mark.slow
def test_all_is_proved() -> None:
    """The whole proof: some 10 seconds of CPU time."""
    assert {
        each.obligation.name: each.status for each in map(prover.decide, ALL.values()) if each.status != "proved"
    } == {}


def refused(mutant: str) -> list[Obligation]:
    """The obligations of a known bug that could be refused: those of the step that is wrong."""
    known = MUTANTS[mutant]
    own = [each for each in obligations(known.theory()) if each.step is not None]
    return [each for each in own if each.step is known.instead] or [each for each in own if each.step.number == "l.1.2"]


def first_refused(mutant: str) -> Counterexample:
    found = (prover.refute(each) for each in refused(mutant))
    return next(each for each in found if each is not None)


def documented() -> dict[str, tuple[str, str]]:
    """For each known bug of docs/notes/proof.md, at which step it is refused, and what breaks first."""
    told: dict[str, tuple[str, str]] = {}
    for names, step, claim in table("known bug | refused at | breaks first"):
        told |= dict.fromkeys(names.split(", "), (step.partition(":")[0], claim.partition(";")[0]))
    return told


@pytest.mark.parametrize("mutant", sweep(MUTANTS, ["accept-equal-epoch", "promise-not-durable"]))
def test_a_known_bug_is_refused_at_its_own_step(mutant: str) -> None:
    found = first_refused(mutant)
    assert found.obligation.step is not None
    assert (found.obligation.step.number, found.claim) == documented()[mutant]
    assert found.broken
    assert f"broken: {found.claim}" in "\n".join(found.lines())


@pytest.mark.parametrize(
    ("release", "broken"),
    [
        ("zookeeper-3.8.0", ["initial history accepted"]),
        ("zookeeper-3.9.5", ["accepted in the epoch", "accepted is a prefix", "not choosable"]),
    ],
)
@pytest.mark.slow
def test_the_order_of_writes_at_newleader(release: str, broken: list[str]) -> None:
    """The first of the writes breaks these conjuncts."""
    first = {"zookeeper-3.8.0": RELEASES[release].instead, "zookeeper-3.9.5": RELEASES[release].added}[release]
    own = [each for each in obligations(RELEASES[release].theory()) if each.step is first]
    assert [each.claim.name for each in own if each.claim.name in broken] == broken
    for each in own:
        if each.claim.name in broken:
            found = prover.refute(each)
            assert found is not None
            assert found.claim == each.claim.name


def test_every_known_bug_of_zab_is_expressed_or_has_a_reason() -> None:
    zab = [name for name, known in CATALOGUE.items() if known.protocol == "zab"]
    assert sorted([*MUTANTS, *OUTSIDE]) == sorted(zab)
    outside = [name for name, (step, _) in documented().items() if step == "not expressed"]
    assert [*OUTSIDE] == [*outside, *(name for name in liveness.MUTANTS if name not in MUTANTS)]
    assert sorted(documented()) == sorted([*MUTANTS, *outside])


def test_a_counterexample_is_the_same_whatever_was_asked_before() -> None:
    """The earliest epoch, with the first process."""
    first, other = (
        next(each for each in obligations(MUTANTS[mutant].theory()) if each.name == name)
        for mutant, name in (
            ("promise-not-durable", "promise without disk keeps promises leave"),
            ("accept-equal-epoch", "promise again keeps one promise"),
        )
    )
    once = prover.refute(first)
    assert prover.refute(other) is not None
    again = prover.refute(first)
    assert once is not None
    assert again is not None
    assert [*once.lines()] == [*again.lines()]
    assert once.things["n"] == "p1"


def test_what_a_proof_needs_is_the_same_whatever_was_asked_before() -> None:
    proved = prover.decide(ALL["choose empty keeps logs match"])
    once = prover.needed(proved)
    assert [prover.needed(proved) for _ in range(2)] == [once, once]


def test_a_counterexample_is_about_the_first_epochs_and_processes() -> None:
    """So that it is as easy to read as can be."""
    known = MUTANTS["stale-proposal-accepted"].theory()
    found = prover.refute(next(e for e in obligations(known) if e.name == "accept after leaving keeps not choosable"))
    assert found is not None
    epochs = [each for _, things in found.after for each in things if isinstance(each, int)]
    assert max(epochs) == 2
    assert {things[1] for name, things in found.after if name == "led"} == {"p1"}


def test_quorums_have_to_intersect() -> None:
    """Else an epoch may have two leaders."""
    every = obligations(MUTANTS["quorum-off-by-one"].theory())
    found = prover.refute(next(each for each in every if each.name == "the conjuncts imply one leader"))
    assert found is not None
    assert {name for name, _ in found.before} >= {"led"}
    assert found.broken["k"] != found.broken["l"]


def test_a_conjunct_that_is_wrong_is_never_proved() -> None:
    """A goal that the hypotheses do not imply is refused, and the state that shows it is told."""
    theory = structs.replace(Theory(), conjuncts=())
    alone = next(each for each in obligations(theory) if each.claim.name == "epoch uniqueness")
    told = prover.decide(alone)
    assert told.status == "refused"
    assert told.counterexample is not None
    assert list(told.counterexample.lines())[1:3] == [
        "  p1 is established in epoch 0",
        "  p2 is established in epoch 0",
    ]


def test_an_obligation_that_no_solver_decides_is_undecided(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(prover, "_unsatisfiable", lambda *_: False)
    ticks = iter(range(10_000))
    monkeypatch.setattr(prover, "process_time", lambda: next(ticks))
    assert prover.decide(ALL["promise keeps one promise"], seconds=10).status == "not decided"
