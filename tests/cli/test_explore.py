"""`zabcheck explore`: what it says it proved, what it found, and what it does not take."""

from pathlib import Path

import pytest

from tests.cli.command import process
from tests.cli.conftest import Command

PROVED = ("explore", "--processes", "1", "--epochs", "2", "--txns", "2", "--crashes", "2")


def words(text: str) -> str:
    return " ".join(text.split())


def test_what_is_proved_is_said_with_the_bounds(zabcheck: Command) -> None:
    result = zabcheck(*PROVED)
    assert result.code == 0
    said = words(result.out)
    assert said.startswith("proved: zab violates none of 20 properties in any state within the bounds the bounds: ")
    assert "1 process, 2 epochs, 2 transactions, 1 time-out, 2 crashes, sync atomic" in said
    assert "switched off by the bounds: epochs " in said
    assert "two states are taken for one only if two histories of them have one hash of 63 bits" in said


def test_a_space_in_which_nothing_happens_proves_nothing(zabcheck: Command) -> None:
    result = zabcheck("explore", "--processes", "2", "--epochs", "1", "--txns", "0")
    assert result.code == 3
    assert "no state exercised: integrity, total order" in words(result.out)


def test_the_shortest_run_is_explained_and_saved(zabcheck: Command, tmp_path: Path) -> None:
    result = zabcheck("explore", "--mutant", "commit-on-own-ack", "--processes", "2", "--out", "found")
    assert result.code == 1
    assert result.out.startswith("chosen is violated, and no shorter run violates any property that was judged\n")
    assert "\nchosen is violated\np1 delivered" in result.out
    [schedule] = (tmp_path / "found").glob("*.schedule.json")
    assert f"wrote {schedule.relative_to(tmp_path)}\n" in result.out
    assert zabcheck("replay", schedule).code == 1


def test_as_json(zabcheck: Command) -> None:
    told = zabcheck("explore", "--mutant", "quorum-off-by-one", "--format", "json").json
    assert (told["command"], told["broken"], told["whole"]) == ("explore", "epoch uniqueness", False)
    assert told["counterexample"]["steps"] == len(told["counterexample"]["schedule"]["choices"]) == 2
    assert len(told["files"]) == 4
    proved = zabcheck(*PROVED, "--format", "json").json
    assert (proved["broken"], proved["whole"], proved["unexercised"], proved["counterexample"]) == (
        None,
        True,
        [],
        None,
    )
    assert proved["states"] > 100


def test_where_memory_ends_nothing_is_proved(zabcheck: Command) -> None:
    result = zabcheck("explore", "--processes", "3", "--txns", "2", "--memory", "0.05")
    assert result.code == 3
    assert result.out.startswith("not finished: nothing was found in what was explored, and nothing is proved")


def test_a_protocol_of_ones_own_can_be_explored(tmp_path: Path) -> None:
    code = (
        "import zabcheck\n\n\nclass Mine(zabcheck.Process):\n"
        "    def on_elected(self, leader):\n        if self.leads:\n            self.ready(1)\n\n"
        "    def on_request(self, value):\n        txn = zabcheck.Txn(zabcheck.Zxid(1, 1), value)\n"
        "        self.broadcast(txn)\n        self.deliver(txn)\n"
    )
    (tmp_path / "mine.py").write_text(code)
    result = process("explore", "--protocol", "mine:Mine", "--processes", "2", "--txns", "2", cwd=tmp_path)
    assert result.code == 1
    assert result.out.startswith("agreement is violated, and no shorter run") or "zxid uniqueness" in result.out
    (tmp_path / "bad.py").write_text(code.replace("self.ready(1)", "raise KeyError(7)"))
    result = process("explore", "--protocol", "bad:Mine", "--processes", "2", cwd=tmp_path)
    assert (result.code, result.out) == (2, "")
    assert "KeyError: 7" in result.err


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--timeouts", "many"), "--timeouts many: expected a number from 0 to 99, or `unlimited`"),
        (("--timeouts", "-1"), "--timeouts -1: expected a number from 0 to 99, or `unlimited`"),
        (
            ("--switch", "elections=together"),
            "--switch elections=together: expected another value, an exhaustive search",
        ),
        (("--property", "convergence"), "--property: expected one that can be judged in every state, so none of the"),
        (("--quorums", "weights 1"), "--quorums: "),
        (("--mutant", "none"), "no mutant `none`"),
    ],
)
def test_bad_input_is_one_line(arguments: tuple[str, ...], said: str, zabcheck: Command) -> None:
    result = zabcheck("explore", *arguments)
    assert (result.code, result.out) == (2, "")
    assert result.err.startswith(f"zabcheck: {said}")
    assert result.err.count("\n") == 1
