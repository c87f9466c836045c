"""A failing test is kept in Hypothesis' database, tried first by the next run, and forgotten when it fails no more."""

import unittest
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import core, settings
from hypothesis.database import InMemoryExampleDatabase
from msgspec import structs

import zabcheck
from tests.protocols.own.raising import Moody
from tests.tiers import sweep
from zabcheck.search.machine import Machine, Memory, find


class Hasty(zabcheck.Process):
    """A leader that asks nobody before it delivers."""

    patient = False

    def on_elected(self, leader: int) -> None:
        if self.leads:
            self.ready(1)

    def on_request(self, value: str) -> None:
        txn = zabcheck.Txn(zabcheck.Zxid(1, 1), value)
        self.broadcast(txn)
        if not type(self).patient:
            self.deliver(txn)


@pytest.fixture
def database() -> Iterator[InMemoryExampleDatabase]:
    """The database of the active profile of Hypothesis."""
    before = settings.get_current_profile_name()
    settings.register_profile("with a database", settings(), derandomize=False, database=InMemoryExampleDatabase())
    settings.load_profile("with a database")
    yield settings().database  # type: ignore[misc]  # it is that one
    settings.load_profile(before)


@pytest.fixture
def machine(tmp_path: Path) -> type[Machine]:
    return zabcheck.machine_for(Hasty, runs=50, properties="agreement", out=tmp_path)


def message(machine: type[Machine]) -> str:
    """Return the message with which the test of this machine fails."""
    result = unittest.TestResult()
    machine.TestCase("runTest").run(result)
    [(_, said)] = result.failures + result.errors
    return said


def test_what_was_found_is_told_even_if_it_cannot_be_saved(database: InMemoryExampleDatabase, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    said = message(zabcheck.machine_for(Hasty, runs=50, properties="agreement", out=tmp_path / "file/out"))
    assert "agreement is violated" in said
    assert f"\nnot saved: {tmp_path}/file/out: Not a directory\n" in said


def test_the_next_run_tries_it_first_and_nothing_else(
    machine: type[Machine], database: InMemoryExampleDatabase, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert "kept:   in Hypothesis' database; the next run tries it first\n" in message(machine)
    monkeypatch.setattr("zabcheck.testing.find_with", None)  # a search would fail
    said = message(machine)
    assert "agreement is violated" in said
    assert "kept:   in Hypothesis' database by an earlier run, and tried first; nothing else was tried\n" in said


@pytest.mark.slow
def test_it_is_forgotten_when_it_fails_no_more(
    machine: type[Machine], database: InMemoryExampleDatabase, monkeypatch: pytest.MonkeyPatch
) -> None:
    message(machine)
    memory = Memory(machine.search)
    assert len(memory.schedules()) == 1
    monkeypatch.setattr(Hasty, "patient", True)
    result = unittest.TestResult()
    machine.TestCase("runTest").run(result)
    assert result.wasSuccessful()
    assert memory.schedules() == []


@pytest.mark.parametrize("kept", sweep((b"", b"1\n{}", b"no number\n{}", b'1\n{"version": 9}'), normal=(b"1\n{}",)))
def test_what_is_no_schedule_is_forgotten(
    machine: type[Machine], database: InMemoryExampleDatabase, kept: bytes
) -> None:
    memory = Memory(machine.search)
    database.save(memory.key, kept)
    assert "the next run tries it first" in message(machine)
    assert kept not in set(database.fetch(memory.key))


@pytest.mark.slow
def test_with_a_seed_nothing_is_tried_or_kept(
    machine: type[Machine], database: InMemoryExampleDatabase, monkeypatch: pytest.MonkeyPatch
) -> None:
    message(machine)
    monkeypatch.setattr(core, "global_force_seed", 1)
    assert "kept:" not in message(machine)
    assert Memory(machine.search).schedules() == []


def test_the_seed_that_a_run_drew_finds_the_same_again(
    machine: type[Machine], database: InMemoryExampleDatabase, monkeypatch: pytest.MonkeyPatch
) -> None:
    message(machine)
    [(number, _)] = Memory(machine.search).schedules()
    found = find(structs.replace(machine.search, rng=number))
    assert found is not None
    assert found.property == "agreement"


def test_two_tests_do_not_share_what_they_keep(tmp_path: Path) -> None:
    keys = [
        Memory(zabcheck.machine_for(Hasty, properties=properties, processes=processes).search).key
        for properties, processes in [("agreement", 3), ("agreement", 5), ("total order", 3)]
    ]
    assert len(set(keys)) == 3


def test_a_class_that_is_not_deterministic_is_told_as_such(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Moody, "moods", 0)
    said = message(zabcheck.machine_for(Moody, runs=50, out=tmp_path))
    assert "NotDeterministic: the same schedule does something else each time: " in said
    assert "raised KeyError: '" in said
    assert " in the search, and nothing afterwards" in said
    assert list(tmp_path.iterdir()) == []
