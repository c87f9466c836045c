"""`zabcheck prove`."""

import sys

import pytest

from tests.cli.conftest import Command
from zabcheck.proof import prover
from zabcheck.proof.obligations import Obligation


def test_a_step_is_proved(zabcheck: Command) -> None:
    done = zabcheck("prove", "--step", "f.3.2", "--conjunct", "not-choosable")
    assert done.code == 0
    assert (
        done.out.splitlines()[-1] == "PASS: 1 obligation proved, for any number of processes, epochs and transactions"
    )


def test_a_known_bug_is_refused_with_a_counterexample(zabcheck: Command) -> None:
    done = zabcheck("prove", "--mutant", "accept-equal-epoch", "--step", "f.1.2", "--conjunct", "one promise")
    assert done.code == 1
    assert "promise again keeps one promise: refused" in done.out
    assert "step f.1.2 (promise again), with n = " in done.out
    assert done.out.splitlines()[-1] == "FAIL: 1 obligation of 1 refused: promise again keeps one promise"


def test_what_is_not_decided_is_no_proof(zabcheck: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    def undecided(obligation: Obligation, seconds: float) -> prover.Decision:
        return prover.Decision(obligation, "not decided", seconds, 9)

    monkeypatch.setattr(prover, "decide", undecided)
    done = zabcheck("prove", "--property", "agreement")
    assert done.code == 3
    last = done.out.splitlines()[-1]
    assert last == "INCONCLUSIVE: 1 obligation of 1 not decided, which is no proof: the conjuncts imply agreement"


def test_without_the_solver_one_line_names_the_extra(zabcheck: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "z3", None)
    done = zabcheck("prove")
    assert (done.code, done.err) == (2, "zabcheck: z3 is not installed: pip install 'zabcheck[prove]'\n")


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("--step", "acept"), "--step: no `acept`; did you mean `accept`?"),
        (("--conjunct", "log-match"), "--conjunct: no `log-match`; did you mean `logs-match`?"),
        (("--property", "agrement"), "--property: no `agrement`; did you mean `agreement`?"),
        (("--mutant", "ignore-digest"), "--mutant: `ignore-digest` is not expressed by the abstraction: a disk"),
        (("--step", "accept", "--property", "agreement"), "no obligation is of all of these"),
    ],
)
def test_what_there_is_not(zabcheck: Command, arguments: tuple[str, ...], told: str) -> None:
    done = zabcheck("prove", *arguments)
    assert done.code == 2
    assert done.err.startswith(f"zabcheck: {told}")
