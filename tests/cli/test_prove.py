"""`zabcheck prove`."""

import json
import sys
from pathlib import Path

import pytest

from tests.cli.conftest import Command
from zabcheck.extras import pip_install
from zabcheck.proof import prover, refuter
from zabcheck.proof.obligations import Obligation


def test_a_step_is_proved(zabcheck: Command) -> None:
    done = zabcheck("prove", "--step", "f.3.2", "--conjunct", "not-choosable")
    assert done.code == 0
    part = "1 of 262 obligations proved, a part and no proof of the protocol: accept keeps not choosable"
    assert done.out.splitlines()[-1] == f"PASS: Zab: {part}"


PROVED = {
    (): "Zab: all 262 obligations proved, for any number of processes, epochs and transactions",
    ("--mutant", "quorum-off-by-one", "--step", "f.1.2"): (
        "Zab with quorum-off-by-one: 22 of 262 obligations proved, a part and no proof of the protocol: "
        "promise keeps one promise, promise keeps promises leave, promise keeps leaders have promises, "
        "promise keeps opened by leaders and 18 more"
    ),
    ("--property", "agreement", "--without", "logs-match"): (
        "Zab without the conjunct logs match: 1 of 251 obligations proved, a part and no proof of the protocol: "
        "the conjuncts imply agreement"
    ),
    ("--liveness",): (
        "liveness of Zab: all 397 obligations proved, for any number of processes, connections and transactions"
    ),
    ("--reconfiguration", "--property", "one-chain"): (
        "Zab with reconfiguration: 1 of 508 obligations proved, a part and no proof of the protocol: "
        "the conjuncts imply one chain"
    ),
    ("--implemented", "--property", "durability"): (
        "implemented Zab: 1 of 829 obligations proved, a part and no proof of the protocol: "
        "the conjuncts imply durability"
    ),
    ("--implemented", "--mutant", "n1-cut-unproposed", "--without", "logs-match", "--step", "l.2.1"): (
        "implemented Zab with n1-cut-unproposed without the conjunct logs match: 132 of 805 obligations proved, a part "
        "and no proof of the protocol: diff keeps epochs rise, diff keeps one promise, diff keeps current is accepted, "
        "diff keeps leaders have promises and 128 more"
    ),
    ("--liveness", "--mutant", "no-acks-after-return", "--without", "commits-are-told", "--step", "l.3.4"): (
        "liveness of Zab with no-acks-after-return without the conjunct commits are told: 23 of 381 obligations "
        "proved, a part and no proof of the protocol: hear ack ld keeps cepochs are answered, hear ack ld keeps "
        "cepochs count, hear ack ld keeps one new epoch, hear ack ld keeps epochs are greater and 19 more"
    ),
}


@pytest.mark.parametrize("options", PROVED)
def test_the_verdict_and_the_certificate_say_what_is_proved_and_of_what(
    options: tuple[str, ...], zabcheck: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(prover, "decide", lambda obligation, _: prover.Decision(obligation, "proved", 0.1, 1))
    monkeypatch.setattr(prover, "needed", lambda _: [])
    monkeypatch.setattr(refuter, "refute", lambda _: None)
    done = zabcheck("prove", *options, "--certificate", "proof")
    said = PROVED[options]
    assert (done.code, done.out.splitlines()[-1]) == (0, f"PASS: {said}; next: zabcheck verify proof")
    told = zabcheck("prove", *options, "--format", "json").json
    subject, _, counts = said.partition(": ")
    number, of = len(told["obligations"]), told["of"]
    assert counts.startswith(f"all {of} " if number == of else f"{number} of {of} ")
    title = f"A proof of {subject}" if number == of else f"{number} of the {of} obligations of a proof of {subject}"
    readme = (tmp_path / "proof/README.md").read_text()
    assert readme.startswith(f"# {title}, in SMT-LIB 2.6\n")
    assert ("This is no proof of the protocol" in readme) == (number < of)
    manifest = json.loads((tmp_path / "proof/manifest.json").read_text())
    expected = {key: told[key] for key in ("kind", "mutant", "without")} | {"obligations": number, "of": of}
    assert {**expected, "zabcheck": manifest["zabcheck"]} == manifest


MUTANT = ("prove", "--mutant", "accept-equal-epoch", "--step", "f.1.2", "--conjunct", "one promise")


def test_a_known_bug_is_refused_with_a_drawing(zabcheck: Command) -> None:
    done = zabcheck(*MUTANT)
    assert done.code == 1
    assert "promise again keeps one promise: refused" in done.out
    lines = [" ".join(line.split()) for line in done.out.splitlines()]
    assert "step f.1.2 promise again, with n = p1, e = epoch 1, l = p2" in lines
    assert "promised (ACK-E) e1 to p1 ◀W1 +e1 to p2 ◀W2" in lines
    assert (
        done.out.splitlines()[-1]
        == "FAIL: Zab with accept-equal-epoch: 1 obligation of 1 refused: promise again keeps one promise"
    )


@pytest.mark.slow
def test_what_is_refused_is_drawn_as_a_page_too(zabcheck: Command, tmp_path: Path) -> None:
    done = zabcheck(*MUTANT, "--out", "drawn")
    assert "wrote drawn/refused.html" in done.out.splitlines()
    assert "promise again keeps one promise: refused" in (tmp_path / "drawn/refused.html").read_text(encoding="utf-8")
    told = json.loads(zabcheck(*MUTANT, "--out", "drawn", "--format", "json").out)
    assert told["page"] == "drawn/refused.html"


def test_where_nothing_is_refused_there_is_no_page(zabcheck: Command, tmp_path: Path) -> None:
    proved = ("prove", "--step", "f.3.2", "--conjunct", "one promise", "--out", "drawn")
    assert json.loads(zabcheck(*proved, "--format", "json").out)["page"] is None
    assert not (tmp_path / "drawn").exists()


def test_the_page_needs_a_folder(zabcheck: Command, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    done = zabcheck(*MUTANT, "--out", "file")
    assert (done.code, done.err) == (2, "zabcheck: --out file: expected a directory, file is a file\n")


def test_an_undecided_obligation_is_no_proof(zabcheck: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    def undecided(obligation: Obligation, seconds: float) -> prover.Decision:
        return prover.Decision(obligation, "not decided", seconds, 9)

    monkeypatch.setattr(prover, "decide", undecided)
    done = zabcheck("prove", "--property", "agreement")
    assert done.code == 3
    last = done.out.splitlines()[-1]
    assert last == "INCONCLUSIVE: Zab: 1 obligation of 1 not decided, which is no proof: the conjuncts imply agreement"


def test_without_the_solver_one_line_names_the_extra(zabcheck: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "z3", None)
    done = zabcheck("prove")
    assert (done.code, done.err) == (2, f"zabcheck: z3 is not installed: {pip_install('prove')}\n")


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("--step", "acept"), "--step: no `acept`; did you mean `accept`?"),
        (("--conjunct", "log-match"), "--conjunct: no `log-match`; did you mean `logs-match`?"),
        (("--property", "agrement"), "--property: no `agrement`; did you mean `agreement`?"),
        (("--mutant", "ignore-digest"), "--mutant: `ignore-digest` is not expressed by the abstraction: a disk"),
        (("--implemented", "--mutant", "1653"), "--mutant: `1653` is not expressed by the abstraction: a server that"),
        (("--implemented", "--liveness"), "--liveness and --implemented: each is a proof of its own"),
        (("--step", "accept", "--property", "agreement"), "no obligation is of all of these"),
    ],
)
def test_unknown_names_are_refused(zabcheck: Command, arguments: tuple[str, ...], told: str) -> None:
    done = zabcheck("prove", *arguments)
    assert done.code == 2
    assert done.err.startswith(f"zabcheck: {told}")
