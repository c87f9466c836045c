"""The certificate of a proof: what is written, and what is found when it is changed."""

import json
import os
from collections.abc import Iterator, Mapping
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Command
from tests.cli.documented import assert_documented
from zabcheck.proof import certificate, verifier
from zabcheck.proof.obligations import Theory, obligations
from zabcheck.proof.solvers import SOLVERS
from zabcheck.proof.subject import Subject

ALL = {each.name: each for each in obligations(Theory())}
FILE = "promise.one-promise.smt2"


@pytest.fixture
def folder(zabcheck: Command, tmp_path: Path) -> Path:
    done = zabcheck("prove", "--step", "f.1.2", "--conjunct", "one-promise", "--certificate", "proof")
    assert done.code == 0
    assert done.out.splitlines()[-1].endswith("; next: zabcheck verify proof")
    return tmp_path / "proof"


def written(folder: Path, subject: Subject, names: list[str]) -> None:
    """Write a certificate of these obligations, with all that is given, and have no solver prove them."""
    entries = [
        certificate.Entry(each, each.given())
        for each in obligations(subject.theory())
        if not names or each.name in names
    ]
    certificate.write(folder, certificate.contents(entries, subject))


def summed(folder: Path, **fields: Any) -> None:
    """Make the sums anew, and the manifest with them, as whoever changes a certificate can."""
    files = sorted(folder.glob("*.smt2"))
    sums = [f"{sha256(each.read_bytes()).hexdigest()}  {each.name}\n" for each in files]
    (folder / certificate.SUMS).write_text("".join(sums))
    manifest = json.loads((folder / certificate.MANIFEST).read_text())
    (folder / certificate.MANIFEST).write_text(json.dumps({**manifest, "obligations": len(files), **fields}))


@pytest.fixture
def believed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have the solvers say `unsat` of everything, at once."""

    def check(self: verifier.Verifier, texts: Mapping[str, str], seconds: float) -> Iterator[verifier.SolverAnswers]:
        for file in texts:
            yield verifier.SolverAnswers(file, dict.fromkeys(SOLVERS, "unsat"), dict.fromkeys(SOLVERS, 0.0))

    monkeypatch.setattr(verifier.Verifier, "check", check)


@pytest.mark.slow
def test_a_part_is_verified_by_both_solvers_and_is_no_proof(zabcheck: Command, folder: Path) -> None:
    done = zabcheck("verify", "proof")
    assert done.code == 3
    said = (
        "INCONCLUSIVE: Zab: 1 of 262 obligations proved, 1 of them without a solver and 1 by both solvers: "
        "a part, no proof; missing: "
    )
    assert done.out.splitlines()[-1].startswith(said)
    done = zabcheck("verify", "proof", "--format", "json")
    assert done.json["missing"] == [name for name in ALL if name != "promise keeps one promise"]


@pytest.mark.usefixtures("believed")
def test_a_whole_certificate_is_a_proof(zabcheck: Command, tmp_path: Path) -> None:
    written(tmp_path / "proof", Subject(), [])
    done = zabcheck("verify", "proof")
    last = "PASS: Zab: all 262 obligations proved, 0 of them without a solver and 262 by both solvers"
    assert (done.code, done.out.splitlines()[-1]) == (0, last)


def test_without_a_solver_a_refutation_proves(zabcheck: Command, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(verifier, "SOLVERS", {"a solver that nobody has": None})
    done = zabcheck("verify", "--proofs", "proof")
    lines = done.out.splitlines()
    assert done.code == 3
    assert lines[0] == "refutations checked without a solver: 1 of 1"
    assert lines[1] == "obligations whose hypotheses are true in a model: 1 of 1"
    assert lines[-1].startswith(
        "INCONCLUSIVE: Zab: 1 of 262 obligations proved, 1 of them without a solver: a part, no"
    )
    (folder / f"{FILE}{certificate.REFUTATION}").unlink()
    done = zabcheck("verify", "--proofs", "proof")
    assert done.code == 3
    assert done.out.splitlines()[-1] == f"INCONCLUSIVE: Zab: 1 file of 1 without a refutation: {FILE}"


@pytest.mark.slow
def test_all_obligations_of_a_step_have_a_refutation(zabcheck: Command) -> None:
    assert zabcheck("prove", "--step", "f.3.2", "--certificate", "proof").code == 0
    assert "obligations proved, 22 of them without a solver: a part" in zabcheck("verify", "--proofs", "proof").out


@pytest.mark.parametrize(
    ("file", "change", "said"),
    [
        (f"{FILE}.refutation", lambda text: "instance 99\n" + text, "line 1: no formula 99"),
        (f"{FILE}.refutation", lambda _: "lemma\n", "line 1: the lemma does not follow from the clauses before it"),
        (f"{FILE}.refutation", lambda _: "", "the last line is no empty lemma"),
        (f"{FILE}.refutation", lambda _: "lemma 1\n" * 9000, "expected at most 65,536 bytes"),
        ("another.smt2.refutation", lambda _: "lemma\n", "no file of SHA256SUMS is refuted by it"),
        ("models.json", lambda _: "{", "expected what `zabcheck prove --certificate` writes: "),
        ("models.json", lambda text: text.replace('"promise":{', '"promise":{"more":1,'), "unknown field `more`"),
        (
            "models.json",
            lambda text: text.replace('"n":"p1","e":"2"', '"n":"p1","e":"0"', 1),
            f"promise: false in this model, which {FILE} assumes: (and (before zero e) (and (not (left n e))",
        ),
        ("models.json", lambda text: text.replace('"n":"p1","e":"2"', '"e":"2"', 1), "promise: no `n`"),
        (
            "models.json",
            lambda text: text.replace('"Node":[', '"Node":[' + '"x",' * 7, 1),
            "start: Node: expected at most 8 things",
        ),
    ],
)
def test_a_refutation_or_a_model_that_is_wrong_is_refused(
    zabcheck: Command, folder: Path, file: str, change: Any, said: str
) -> None:
    path = folder / file
    path.write_text(change(path.read_text() if path.exists() else ""))
    done = zabcheck("verify", "--proofs", "proof")
    assert done.code == 2
    assert done.err.startswith(f"zabcheck: proof/{file}: ")
    assert said in done.err
    assert done.err.count("\n") == 1


@pytest.mark.slow
@pytest.mark.usefixtures("believed")
def test_a_proof_of_a_mutant_is_none_of_zab(zabcheck: Command, tmp_path: Path) -> None:
    written(tmp_path / "proof", Subject("quorum-off-by-one"), [])
    done = zabcheck("verify", "proof")
    assert done.code == 3
    assert done.out.splitlines()[-1].startswith("INCONCLUSIVE: Zab with quorum-off-by-one: all 262 obligations proved")
    assert done.out.splitlines()[-1].endswith("no proof of Zab itself")


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (
            lambda text: text.replace("UF)\n", 'UF)\n(set-option :regular-output-channel "w")\n(echo "x")\n'),
            '2: expected `(declare-sort Node 0)` of the obligation, found `(set-option :regular-output-channel "w")`',
        ),
        (lambda _: "(display true)", "1: expected `(set-logic UF)` of the obligation, found `(display true)`"),
        (lambda text: text.replace("(check-sat)", "(assert false)\n(check-sat)"), "expected `(check-sat)` of the"),
        (lambda text: text.replace("UF)\n", "UF)\n\x1b]0;x\a\n"), "found `\\x1b]0;x\\x07`"),
        (lambda text: text + '(exit)\n(echo "x")\n', "expected the end of the obligation, found `(exit)`"),
        (lambda text: text.partition("(check-sat)")[0], "expected `(check-sat)` of the obligation, found the end"),
        (lambda _: "(" * 200_000, "1: expected `(set-logic UF)` of the obligation, found `((("),
        (
            lambda _: ALL["promise keeps logs match"].script(),
            "expected `; not so: one promise` of the obligation, found",
        ),
    ],
)
def test_a_file_that_is_no_obligation_is_refused(zabcheck: Command, tmp_path: Path, change: Any, said: str) -> None:
    """No solver sees it, though its sum is right."""
    written(tmp_path / "proof", Subject(), ["promise keeps one promise"])
    path = tmp_path / "proof" / FILE
    path.write_text(change(path.read_text()))
    summed(tmp_path / "proof")
    done = zabcheck("verify", "proof")
    assert done.code == 2
    assert f"proof/{FILE}:" in done.err
    assert said in done.err
    assert done.err.count("\n") == 1
    assert [each.name for each in tmp_path.iterdir()] == ["proof"]


def test_a_name_that_no_obligation_has_is_refused(zabcheck: Command, folder: Path) -> None:
    (folder / FILE).rename(folder / "a.smt2")
    summed(folder)
    done = zabcheck("verify", "proof")
    assert (done.code, done.err) == (2, "zabcheck: proof/a.smt2: Zab has no obligation of this name\n")


def test_the_obligation_of_another_version_is_refused_with_its_version(zabcheck: Command, folder: Path) -> None:
    (folder / FILE).write_text("(set-logic ALL)")
    summed(folder, zabcheck="9.8.7")
    done = zabcheck("verify", "proof")
    assert done.code == 2
    assert "found `(set-logic ALL)`; zabcheck 9.8.7 wrote it, this is " in done.err


def test_the_same_obligations_of_another_version_are_verified(zabcheck: Command, folder: Path) -> None:
    summed(folder, zabcheck="9.8.7")
    assert "1 of 262 obligations proved" in zabcheck("verify", "proof").out


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"mutant": "quorum-off-by-two"}, "mutant: no `quorum-off-by-two`"),
        ({"without": "logs-match"}, "without: no `logs-match`"),
        ({"of": "x"}, "Expected `int`, got `str` - at `$.of`"),
        ({"more": 1}, "Object contains unknown field `more`"),
        ({"obligations": 262}, "expected 1 of 262 obligations, as in SHA256SUMS, found 262 of 262"),
    ],
)
def test_a_manifest_that_does_not_fit_is_refused(zabcheck: Command, folder: Path, fields: Any, said: str) -> None:
    summed(folder, **fields)
    done = zabcheck("verify", "proof")
    assert (done.code, f"proof/manifest.json: {said}" in done.err.replace(WRITES, "")) == (2, True)


def test_a_manifest_or_an_index_that_is_no_text_is_refused(zabcheck: Command, folder: Path) -> None:
    (folder / certificate.MANIFEST).write_bytes(b'{"zabcheck": "\xff"}')
    done = zabcheck("verify", "proof")
    assert (done.code, f"proof/manifest.json: {WRITES}" in done.err) == (2, True)
    summed_index = (folder / certificate.SUMS).read_bytes()
    (folder / certificate.MANIFEST).write_text('{"zabcheck":"1","mutant":null,"without":null,"obligations":1,"of":262}')
    (folder / certificate.SUMS).write_bytes(summed_index.replace(b"promise.", b"promise\0"))
    done = zabcheck("verify", "proof")
    assert (done.code, "proof/SHA256SUMS:1: expected a SHA-256 sum" in done.err) == (2, True)


WRITES = "expected what `zabcheck prove --certificate` writes: "


def test_the_forms_are_the_documented_ones(zabcheck: Command, folder: Path) -> None:
    bug = ("--mutant", "accept-equal-epoch", "--step", "f.1.2", "--conjunct", "one-promise")
    for arguments in (("prove", *bug), ("verify", "proof")):
        assert_documented(zabcheck(*arguments, "--format", "json").json)


def test_what_a_proof_does_not_need_is_left_out(folder: Path) -> None:
    text = (folder / FILE).read_text(encoding="utf-8")
    assert "; before: one promise" in text
    assert "; before: logs match" not in text
    assert "from what\npromise.one-promise.smt2\tpromise keeps one promise\t" in (folder / "INDEX.tsv").read_text()


def test_a_changed_file_is_found(zabcheck: Command, folder: Path) -> None:
    (folder / FILE).write_text("(assert false)(check-sat)")
    done = zabcheck("verify", "proof")
    assert (done.code, f"{FILE}: changed: " in done.err) == (2, True)


def test_a_file_that_is_no_text_is_one_line(zabcheck: Command, folder: Path) -> None:
    (folder / FILE).write_bytes(b"\xff")
    summed(folder)
    done = zabcheck("verify", "proof")
    assert (done.code, done.err) == (2, f"zabcheck: proof/{FILE}: no UTF-8 at byte 0\n")


def test_a_file_that_never_ends_is_not_read(zabcheck: Command, folder: Path) -> None:
    (folder / FILE).unlink()
    os.mkfifo(folder / FILE)
    assert f"{FILE}: expected a file" in zabcheck("verify", "proof").err
    (folder / FILE).unlink()
    (folder / FILE).write_bytes(bytes(certificate.LARGEST + 1))
    assert f"{FILE}: expected at most 1,048,576 bytes" in zabcheck("verify", "proof").err


def test_a_missing_file_is_found(zabcheck: Command, folder: Path) -> None:
    (folder / FILE).unlink()
    done = zabcheck("verify", "proof")
    assert (done.code, f"{FILE}: missing: " in done.err) == (2, True)


def test_a_file_that_is_not_in_the_index_is_found(zabcheck: Command, folder: Path) -> None:
    (folder / "more.smt2").write_text("(check-sat)")
    done = zabcheck("verify", "proof")
    assert (done.code, "more.smt2: not in SHA256SUMS" in done.err) == (2, True)


@pytest.mark.parametrize("index", ["", "nothing", "0" * 64 + "  ../x.smt2"])
def test_an_index_that_is_none_is_found(zabcheck: Command, folder: Path, index: str) -> None:
    (folder / certificate.SUMS).write_text(index)
    assert zabcheck("verify", "proof").code == 2


def test_a_file_that_is_satisfiable_is_refused(zabcheck: Command, tmp_path: Path) -> None:
    """Without any hypothesis nothing follows."""
    entry = certificate.Entry(ALL["promise keeps one promise"], [])
    certificate.write(tmp_path / "proof", certificate.contents([entry], Subject()))
    done = zabcheck("verify", "proof")
    assert done.code == 1
    assert done.out.splitlines()[-1] == f"FAIL: Zab: 1 file of 1 refused: {FILE}"
