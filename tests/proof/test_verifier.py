"""The process of the solvers: what it answers, and what it cannot do."""

from contextlib import suppress
from pathlib import Path
from threading import Timer

import pytest

from zabcheck.proof import solvers, verifier
from zabcheck.proof.verifier import Verifier

FALSE = "(set-logic UF)\n(assert false)\n(check-sat)\n"


def answers(text: str) -> list[str]:
    with Verifier() as asked:
        [checked] = asked.check({"one.smt2": text}, 20)
    return list(checked.answers.values())


def test_both_solvers_answer() -> None:
    assert answers(FALSE) == ["unsat", "unsat"]
    assert answers(FALSE.replace("false", "true")) == ["sat", "sat"]


@pytest.mark.parametrize("solver", solvers.SOLVERS)
def test_a_solver_writes_no_file_even_if_it_is_asked_to(
    solver: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(verifier, "SOLVERS", (solver,))
    there = tmp_path / "there"
    there.write_text("before")
    for file in (there, tmp_path / "new"):
        with suppress(verifier.SolverFailed):
            answers(f'(set-logic UF)\n(set-option :regular-output-channel "{file}")\n(echo "x")\n(assert false)')
    assert [each.name for each in tmp_path.iterdir()] == ["there"]
    assert there.read_text() == "before"


def test_a_text_that_is_no_smt_lib_is_told() -> None:
    with pytest.raises(verifier.SolverFailed, match=r"one\.smt2: z3 failed: "):
        answers("(assert (x)")


def test_a_solver_that_overlooks_its_limit_is_stopped_and_the_next_one_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    left = [0.0, 60.0]
    monkeypatch.setattr(verifier, "Timer", lambda _, kill: Timer(left.pop(0), kill))
    assert answers(FALSE) == ["unknown", "unsat"]


def test_the_solvers_have_nothing_of_the_prover() -> None:
    source = Path(solvers.__file__).read_text(encoding="utf-8")
    assert "from zabcheck" not in source
    assert "import zabcheck" not in source
