"""The script that tells which planted bugs a file of tests finds."""

from types import ModuleType

import pytest

from tests import power
from zabcheck.mutants.catalogue import CATALOGUE
from zabcheck.protocols import PROTOCOLS, zab
from zabcheck.protocols.zab import follower
from zabcheck.search.run import Search
from zabcheck.search.swarm import find

BUG = CATALOGUE["no-truncation"]


def test_a_planted_bug_is_in_the_protocol_of_that_name_and_in_the_modules_of_its_steps(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    right = PROTOCOLS["zab"]
    changed: list[tuple[ModuleType, str]] = [*power._places(right)]
    assert (zab, "PROTOCOLS") in changed
    assert (zab, "ZAB") in changed
    steps = [right.steps[kind] for kind in BUG.steps]
    changed += [(follower, step.__name__) for step in steps]
    for module, name in changed:
        monkeypatch.setattr(module, name, getattr(module, name))  # so that it is set back
    power.plant(BUG)
    for kind, step in BUG.steps.items():
        assert PROTOCOLS["zab"].steps[kind] is step
        assert getattr(follower, right.steps[kind].__name__) is step
    assert zab.ZAB is PROTOCOLS["zab"]
    assert zab.ZAB.mutant is None
    assert find(Search(PROTOCOLS["zab"], properties=BUG.breaks[:1], runs=2000, rng=1)) is not None


@pytest.mark.slow
def test_a_file_that_finds_a_bug_is_named() -> None:
    files = ["tests/protocols/zab/test_synchronization.py", "tests/protocols/paxos/test_report.py"]
    assert power.files_that_fail(files, None) == []
    assert power.files_that_fail(files, BUG.name) == files[:1]


def test_the_tables_name_who_finds_a_bug_alone() -> None:
    assert power.table({"one": ["a.py", "b.py"], "two": ["b.py"], "three": []}).splitlines() == [
        "| bug | files | found by |",
        "| --- | ---: | --- |",
        "| three | 0 |  |",
        "| two | 1 | b.py |",
        "| one | 2 | a.py, b.py |",
        "",
        "| file | finds | which nobody else does |",
        "| --- | ---: | ---: |",
        "| b.py | 2 | 1 |",
        "| a.py | 1 | 0 |",
    ]
