"""Nothing has changed that a change of the code's shape must not change; so nothing depends on the order of hashes."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.frozen.__main__ import Chosen, differences, known
from tests.frozen.hashing import hash_of, parts_of, plain
from tests.frozen.items import ITEMS

ROOT = Path(__file__).parents[2]
QUICK = (
    "list",
    "swarm/zab",
    "swarm/ladis-2008",
    "swarm/db19-fifo",
    "swarm/zookeeper-3.8.0",
    "kept/commit",
    "kept/figure-1",
    "for servers/kept",
    "judge/lost-write-3.8.0",
    "conform/4837-3.9.5",
    "db19",
    "exec",
    "zookeeper logs",
)
"""A little of each part: few CPU seconds."""


def frozen(*arguments: str, hash_seed: str) -> subprocess.CompletedProcess[str]:
    """The script in a process of its own, where no other test has left anything, with this order of hashes."""
    return subprocess.run(
        [sys.executable, "-m", "tests.frozen", *arguments],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT), "PYTHONHASHSEED": hash_seed},
        capture_output=True,
        encoding="utf-8",
        check=False,
    )


def test_quick_items_are_as_they_were() -> None:
    result = frozen(*QUICK, hash_seed="77")
    assert result.returncode == 0, result.stdout + result.stderr


@pytest.mark.slow
def test_everything_that_is_made_by_default_is_as_it_was() -> None:
    result = frozen(hash_seed="4711")
    assert result.returncode == 0, result.stdout + result.stderr


def test_a_python_within_the_checkout_is_named_as_one_elsewhere_is(monkeypatch: pytest.MonkeyPatch) -> None:
    for executable in (str(ROOT / ".venv/bin/python"), "/usr/bin/python3"):
        monkeypatch.setattr(sys, "executable", executable)
        assert (
            plain(f"exec:{executable} {ROOT}/kits/python/zab.py", Path("/nowhere"))
            == "exec:PYTHON FOLDER/kits/python/zab.py"
        )


def test_a_difference_is_named() -> None:
    wanted = Chosen(["kept/db19"])
    before = wanted.only(known())
    [first, second, *others] = before
    now = {**{name: before[name] for name in others}, first: "another", "kept/db19/more": "hash"}
    assert differences(wanted, now) == [f"changed  {first}", f"gone     {second}", "new      kept/db19/more"]


def test_every_committed_hash_is_of_an_item() -> None:
    assert [name for name in known() if not any(name == item or name.startswith(f"{item}/") for item in ITEMS)] == []


def hashes(value: object) -> dict[str, str]:
    return {name: hash_of(data) for name, data in parts_of("item", {"": value})}


def test_words_change_a_hash_of_their_own() -> None:
    before, after = (hashes({"property": "chosen", "summary": words}) for words in ("one", "other"))
    assert before["item"] == after["item"]
    assert before["item/words"] != after["item/words"]
    assert hashes({"property": "prefix", "summary": "one"})["item"] != before["item"]


def test_varying_texts_change_no_hash(tmp_path: Path) -> None:
    assert hashes({"runs": 1, "seconds": 0.1}) == hashes({"runs": 1, "seconds": 0.2})
    assert plain(f"{tmp_path}/a took 0.31 CPU seconds", tmp_path) == "FOLDER/a took N CPU seconds"
