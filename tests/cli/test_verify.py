"""The certificate of a proof: what is written, and what is found when it is changed."""

from hashlib import sha256
from pathlib import Path

import pytest

from tests.cli.conftest import Command
from tests.cli.documented import assert_documented
from zabcheck.proof import certificate, verifier
from zabcheck.proof.obligations import Theory, obligations

ALL = {each.name: each for each in obligations(Theory())}
NAMES = ("accept keeps not choosable", "promise keeps one promise")


@pytest.fixture
def folder(zabcheck: Command, tmp_path: Path) -> Path:
    done = zabcheck("prove", "--step", "f.1.2", "--conjunct", "one-promise", "--certificate", "proof")
    assert done.code == 0
    assert done.out.splitlines()[-1].endswith("; next: zabcheck verify proof")
    return tmp_path / "proof"


def test_a_certificate_is_verified_by_both_solvers(zabcheck: Command, folder: Path) -> None:
    done = zabcheck("verify", "proof")
    assert done.code == 0
    assert done.out.splitlines()[-1] == "PASS: 1 obligation proved, 1 of them by both solvers"


def test_the_forms_are_the_documented_ones(zabcheck: Command, folder: Path) -> None:
    bug = ("--mutant", "accept-equal-epoch", "--step", "f.1.2", "--conjunct", "one-promise")
    for arguments in (("prove", *bug), ("verify", "proof")):
        assert_documented(zabcheck(*arguments, "--format", "json").json)


def test_what_a_proof_does_not_need_is_left_out(folder: Path) -> None:
    text = (folder / "promise.one-promise.smt2").read_text(encoding="utf-8")
    assert "; before: one promise" in text
    assert "; before: logs match" not in text
    assert "from what\npromise.one-promise.smt2\tpromise keeps one promise\t" in (folder / "INDEX.tsv").read_text()


def test_a_changed_file_is_found(zabcheck: Command, folder: Path) -> None:
    (folder / "promise.one-promise.smt2").write_text("(assert false)(check-sat)")
    done = zabcheck("verify", "proof")
    assert (done.code, "promise.one-promise.smt2: changed: " in done.err) == (2, True)


@pytest.mark.parametrize(
    ("content", "said"), [(b"(assert (x)", "z3 cannot read it: "), (b"\xff", "no UTF-8 at byte 0")]
)
def test_a_file_that_no_solver_can_read_is_one_line(zabcheck: Command, folder: Path, content: bytes, said: str) -> None:
    (folder / "promise.one-promise.smt2").write_bytes(content)
    (folder / "SHA256SUMS").write_text(f"{sha256(content).hexdigest()}  promise.one-promise.smt2\n")
    done = zabcheck("verify", "proof")
    assert (done.code, f"promise.one-promise.smt2: {said}" in done.err) == (2, True)
    assert done.err.count("\n") == 1


def test_a_missing_file_is_found(zabcheck: Command, folder: Path) -> None:
    (folder / "promise.one-promise.smt2").unlink()
    done = zabcheck("verify", "proof")
    assert (done.code, "promise.one-promise.smt2: missing: " in done.err) == (2, True)


def test_a_file_that_is_not_in_the_index_is_found(zabcheck: Command, folder: Path) -> None:
    (folder / "more.smt2").write_text("(check-sat)")
    done = zabcheck("verify", "proof")
    assert (done.code, "more.smt2: not in SHA256SUMS" in done.err) == (2, True)


@pytest.mark.parametrize("index", ["", "nothing", "0" * 64 + "  ../x.smt2"])
def test_an_index_that_is_none_is_found(zabcheck: Command, folder: Path, index: str) -> None:
    (folder / verifier.SUMS).write_text(index)
    assert zabcheck("verify", "proof").code == 2


def test_a_file_that_is_satisfiable_is_refused(zabcheck: Command, tmp_path: Path) -> None:
    """Without any hypothesis nothing follows."""
    certificate.write(tmp_path / "proof", certificate.contents([certificate.Entry(ALL[NAMES[1]], [])]))
    done = zabcheck("verify", "proof")
    assert done.code == 1
    assert done.out.splitlines()[-1] == "FAIL: 1 file of 1 refused: promise.one-promise.smt2"


def test_the_verifier_uses_nothing_of_the_prover() -> None:
    source = Path(verifier.__file__).read_text(encoding="utf-8")
    assert "from zabcheck" not in source
    assert "import zabcheck" not in source
