"""Refutations: obligations have them, whatever is true has none, and a line that does not follow is told."""

import random
import subprocess
import sys
from pathlib import Path

import pytest

from tests.tiers import sweep
from zabcheck.proof import models, refutation, refuter
from zabcheck.proof.obligations import Theory, obligations
from zabcheck.proof.refutation import NotRefuted, check
from zabcheck.proof.subject import Subject

ALL = {each.name: each for each in obligations(Theory())}
SHORT = "accept keeps not choosable"
LONG = "choose keeps logs match"


def text(name: str) -> str:
    """An obligation with the hypotheses from which it is likely to follow."""
    obligation = ALL[name]
    return obligation.script(obligation.likely())


def accepted(script: str, lines: str) -> bool:
    try:
        check(script, lines)
    except NotRefuted:
        return False
    return True


@pytest.mark.parametrize("name", sweep([SHORT, "promise keeps promises leave", LONG], [SHORT]))
def test_an_obligation_is_refuted_and_the_refutation_is_accepted(name: str) -> None:
    found = refuter.refute(text(name))
    assert found is not None
    check(text(name), found)


DECLARED = """(set-logic UF)
(declare-sort Node 0)
(declare-const a Node)
(declare-const b Node)
(declare-fun next (Node) Node)
(declare-fun likes (Node Node) Bool)
(define-fun friends ((x Node) (a Node)) Bool (and (likes x a) (likes a x)))
"""


def asserting(*formulas: str) -> str:
    return DECLARED + "".join(f"(assert {each})\n" for each in formulas) + "(check-sat)\n"


CONTRADICTIONS = {
    "somebody that all like, and somebody who likes nobody": (
        "(exists ((y Node)) (forall ((x Node)) (likes x y)))",
        "(not (forall ((x Node)) (exists ((y Node)) (likes x y))))",
    ),
    "who drinks if all drink": ("(not (exists ((x Node)) (or (not (likes x x)) (forall ((y Node)) (likes y y)))))",),
    "a function of equals": ("(= a b)", "(not (= (next (next a)) (next (next b))))"),
    "equals of equals": ("(= a (next a))", "(= (next a) b)", "(not (= a b))"),
    "a relation of equals": ("(= a b)", "(likes a (next b))", "(not (likes b (next a)))"),
    "a parameter called as a constant": ("(friends b a)", "(not (likes a b))"),
    "a constant called as a variable outside": ("(forall ((b Node)) (friends b b))", "(not (likes b b))"),
    "four cases": (
        "(or (likes a a) (likes a b))",
        "(or (likes a a) (not (likes a b)))",
        "(or (not (likes a a)) (likes b b))",
        "(or (not (likes a a)) (not (likes b b)))",
    ),
    "no model is empty": ("(forall ((x Node)) (likes x x))", "(forall ((x Node)) (not (likes x x)))"),
    "falsehood": ("false",),
    "not itself": ("(not (= a a))",),
}
SATISFIABLE = {
    "all like somebody, and nobody is liked by all": (
        "(forall ((x Node)) (exists ((y Node)) (likes x y)))",
        "(not (exists ((y Node)) (forall ((x Node)) (likes x y))))",
    ),
    "no two are equal": ("(not (= a b))", "(not (= (next a) (next b)))"),
    "one way": ("(likes a b)", "(not (likes b a))"),
    "the same value of two": ("(= (next a) (next b))", "(not (= a b))"),
    "a definition's parameter is no constant": ("(friends b b)", "(not (likes a b))"),
    "truth": ("true",),
}


@pytest.mark.parametrize("name", CONTRADICTIONS)
def test_a_contradiction_is_refuted(name: str) -> None:
    script = asserting(*CONTRADICTIONS[name])
    found = refuter.refute(script)
    assert found is not None
    check(script, found)


@pytest.mark.parametrize("name", SATISFIABLE)
def test_what_has_a_model_is_not_refuted(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(refuter, "EFFORTS", (3_000,))
    assert refuter.refute(asserting(*SATISFIABLE[name])) is None


@pytest.mark.parametrize("name", CONTRADICTIONS)
def test_the_refutation_of_a_contradiction_refutes_nothing_that_has_a_model(name: str) -> None:
    found = refuter.refute(asserting(*CONTRADICTIONS[name]))
    assert found is not None
    assert not any(accepted(asserting(*each), found) for each in SATISFIABLE.values())


def anything(random: random.Random, script: refutation.Script) -> str:
    """Lines of the right form, drawn at random: instances, axioms and lemmas."""
    terms = ["a", "b", "(next a)", "(next b)", *(name for name, (of, _) in script.functions.items() if not of)]

    def line() -> str:
        match random.randrange(4):
            case 0 if script.universals:
                number = random.randrange(len(script.universals))
                values = random.choices(terms, k=len(script.universals[number].variables))
                return " ".join(["instance", str(number + 1), *values])
            case 1:
                return " ".join(["transitive", *random.choices(terms, k=3)])
            case 2:
                relation = random.choice(["next {}", "likes {} {}"])
                return "congruent ({}) ({})".format(*(relation.format(*random.choices(terms, k=2)) for _ in "ab"))
        return " ".join(
            ["lemma", *(str(random.choice((1, -1)) * random.randrange(1, 6)) for _ in range(random.randrange(3)))]
        )

    return "\n".join(line() for _ in range(random.randrange(1, 12)))


@pytest.mark.parametrize("name", SATISFIABLE)
def test_no_lines_at_all_refute_what_has_a_model(name: str) -> None:
    script = asserting(*SATISFIABLE[name])
    drawn = random.Random(1)
    assert not any(accepted(script, anything(drawn, refutation.read(script)) + "\nlemma") for _ in range(300))


def test_random_lines_do_refute_contradictions() -> None:
    """So the test above is one."""
    script = asserting(*CONTRADICTIONS["four cases"])
    drawn = random.Random(1)
    lines = "".join(f"instance {number}\n" for number in (1, 2, 3, 4))
    assert any(accepted(script, lines + anything(drawn, refutation.read(script)) + "\nlemma") for _ in range(300))


@pytest.mark.slow
def test_without_any_of_its_instances_a_refutation_is_none() -> None:
    script = text(SHORT)
    found = refuter.refute(script)
    assert found is not None
    lines = found.splitlines(keepends=True)
    assert len(lines) > 5
    assert not any(accepted(script, "".join(lines[:at] + lines[at + 1 :])) for at in range(len(lines)))


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        ("", "the last line is no empty lemma"),
        ("instance 3\n", "line 1: no formula 3"),
        ("instance 0\n", "line 1: no formula 0"),
        ("instance 1\ninstance 2 a\n", "line 2: formula 2 is about nothing"),
        ("instance 1 c\n", "line 1: no function `c`"),
        ("instance 1 (next a b)\n", "line 1: `next` takes Node"),
        ("transitive a b (likes a b)\n", "line 1: expected three terms of one sort"),
        ("congruent (next a) (likes a b)\n", "line 1: expected one function of two lists of arguments"),
        ("congruent a b\n", "line 1: expected one function of two lists of arguments"),
        ("instance 2\nlemma\n", "line 2: the lemma does not follow from the clauses before it"),
        ("instance 2\nlemma 7\n", "line 2: `7` is no literal"),
        ("instance 2\nlemma 0\n", "line 2: `0` is no literal"),
        ("instance 2\nlemma (a)\n", "line 2: `(a)` is no literal"),
        ("believe me\n", "line 1: expected an instance, transitive, congruent or a lemma"),
        ("lemma )\n", "line 1: a `)` without its `(`"),
    ],
)
def test_a_line_that_does_not_follow_is_told(lines: str, said: str) -> None:
    script = asserting("(= a b)", "(not (likes a b))")
    with pytest.raises(NotRefuted) as told:
        check(script, lines)
    assert str(told.value) == said


@pytest.mark.parametrize(
    "command",
    [
        "(declare-const a Node)",
        "(declare-fun and (Node) Bool)",
        "(exit)",
        "(define-fun friends () Bool false)",
        "(assert",
    ],
)
def test_a_script_that_is_no_obligation_is_refused(command: str) -> None:
    with pytest.raises(NotRefuted, match="the obligation: "):
        check(DECLARED + command, "lemma\n")


def test_the_checker_has_nothing_of_zabcheck_and_no_solver() -> None:
    source = Path(refutation.__file__).read_text(encoding="utf-8")
    imported = [line.split()[1] for line in source.splitlines() if line.startswith(("import ", "from "))]
    assert imported == ["re", "sys", "collections", "collections.abc", "dataclasses", "typing"]


def test_the_checker_can_be_run_alone(tmp_path: Path) -> None:
    good, bad, none = (tmp_path / f"{name}.smt2" for name in ("good", "bad", "none"))
    for path in (good, bad, none):
        path.write_text(asserting("false"), encoding="utf-8")
    (tmp_path / "good.smt2.refutation").write_text("instance 1\nlemma\n", encoding="utf-8")
    (tmp_path / "bad.smt2.refutation").write_text("lemma\n", encoding="utf-8")
    command = [sys.executable, "-I", refutation.__file__]
    done = subprocess.run([*command, good], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "1 of 1 refuted\n")
    done = subprocess.run([*command, good, bad, none], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (1, "1 of 3 refuted\n")
    assert f"{bad}: line 1: the lemma does not follow" in done.stderr
    assert "none.smt2.refutation" in done.stderr


def test_what_each_obligation_assumes_is_true_in_a_model() -> None:
    """The obligations of a step assume the same."""
    known = models.models(Subject())
    one_of_each = {models.of(each): each for each in ALL.values()}
    assert set(one_of_each) == set(known)
    assert [name for name, each in one_of_each.items() if models.Evaluation(known[name]).false_in(each.script())] == []


def test_what_a_mutant_assumes_is_true_in_a_model_but_for_its_own_step() -> None:
    subject = Subject("quorum-off-by-one")
    known = models.models(subject)
    assert {models.of(each) for each in obligations(subject.theory())} == set(known)


def test_a_hypothesis_that_is_false_in_a_model_is_told() -> None:
    [start] = [each for each in ALL.values() if each.name == "the start satisfies one promise"]
    later = models.models(Subject())["property"]
    wrong = models.Evaluation(later).false_in(start.script())
    assert wrong is not None
    assert "promised" in refutation.written(wrong)
