"""Digests depend on what is digested alone, and so what a search finds does not depend on how it came to its tables."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import Enum, IntEnum
from hashlib import sha256
from random import Random
from typing import Any, NamedTuple

import numpy as np
import pytest
from msgspec import Struct

from invariants import Chain, Txn, Zxid, select
from invariants.quorums import quorums_of
from tests.explore.at_once.test_many import ABRUPT, ANY, NEVER, ORACLE, by_vote, space
from tests.explore.told import all_of, everything
from tests.tiers import sweep
from zabcheck.explore import portions as portions_module
from zabcheck.explore.at_once.arrays import Arrays
from zabcheck.explore.at_once.representatives import Representatives
from zabcheck.explore.bounds import Bounds
from zabcheck.explore.exploration import COARSE
from zabcheck.explore.space import Space
from zabcheck.explore.tables.digests import BITS, _hash_of_object, digest
from zabcheck.protocols.reconfiguration import RECONFIGURATION
from zabcheck.simulation.network import End


class Color(Enum):
    RED = 1
    BLUE = 2


class Point(NamedTuple):
    x: int
    y: int


class Place(NamedTuple):
    x: int
    y: int


class Level(IntEnum):
    LOW = 0


class Note(Struct, frozen=True):
    text: str
    at: int | None = None


@dataclass(frozen=True, eq=False)
class Pair:
    inside: Any


class Opaque:
    def __init__(self, number: int) -> None:
        self.number = number


DIFFERENT = [
    *(0, 1, -3, 1 << 70, 0.5, None, "", "a", "b", b"a", (), (0,), (0, 0), ((0,), 0), frozenset(), frozenset({0, 1})),
    *(Color.RED, Color.BLUE, Point(0, 0), Place(0, 0), Note("a"), Note("a", 1), Pair(1), Pair([1]), Opaque(1), Opaque),
    *(Zxid(1, 1), Zxid(1, 2), Txn(Zxid(1, 1), "a"), Txn(Zxid(1, 1), "b")),
    *(Chain.of([]), Chain.of([Txn(Zxid(1, 1), "a")]), Chain.of([Txn(Zxid(1, 1), "a"), Txn(Zxid(1, 2), "b")])),
]


def test_different_values_have_different_digests() -> None:
    found = [digest(value) for value in DIFFERENT]
    assert len(set(found)) == len(DIFFERENT)
    assert all(0 <= each < 1 << BITS for each in found)


def test_equal_values_have_equal_digests() -> None:
    assert digest((frozenset({"a", "b"}), Note("c"))) == digest((frozenset({"b", "a"}), Note("c")))
    assert digest(True) == digest(1)
    assert digest(Chain.of([Txn(Zxid(1, 1), "a")])) == digest(Chain.of([Txn(Zxid(1, 1), "a")]))


def test_a_digest_does_not_depend_on_what_was_asked_before() -> None:
    """Although these are equal, and have one hash."""
    for alike in ([End.WAITING, Level.LOW, 0.0], [Point(0, 0), Place(0, 0)]):
        found = []
        for values in (alike, alike[::-1]):
            _hash_of_object.cache_clear()
            digests = [digest(value) for value in values]
            found.append({type(value): each for value, each in zip(values, digests, strict=True)})
        assert found[0] == found[1]
        assert len(set(found[0].values())) == len(alike)


def test_a_value_that_is_no_data_is_told_by_its_kind() -> None:
    assert digest(Opaque(1)) == digest(Opaque(2)) != digest(Pair(1))


def test_a_digest_is_the_same_in_every_process() -> None:
    """Python's own hashes of strings, and of None, are not. These digests were made by another process."""
    assert sha256(repr([digest(value) for value in DIFFERENT]).encode()).hexdigest()[:16] == "8b99d0f22edfb313"


ORDERS: dict[str, Any] = {
    "any faults": lambda: space(Bounds(2, 2, 1, ANY, ANY), ABRUPT),
    "three processes": lambda: space(Bounds(3, 1, 1, 1, 1), ABRUPT),
    "no names": lambda: space(Bounds(2, 2, 1, 1, 1), ABRUPT, symmetry=False),
    "a known bug": lambda: space(Bounds(3, 1, 1, 1, 0), ABRUPT, "commit-on-own-ack"),
    "by vote": lambda: by_vote(Bounds(3, 2, 1, 0, 1), ORACLE),
    "forgetful": lambda: space(Bounds(3, 2, 1, 0, 1), ABRUPT, moments=False, forgetful=True),
    "forgetful, three epochs": lambda: space(Bounds(3, 3, 0, 1, 0), ABRUPT, moments=False, forgetful=True),
}


@pytest.mark.parametrize("name", sweep(ORDERS, normal=("a known bug",)))
def test_what_is_found_does_not_depend_on_the_order_in_which_tables_are_filled(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(portions_module, "LARGE", NEVER)
    expected, rng = everything(ORDERS[name]()), Random(1)
    searched = ORDERS[name]()
    steps = Space._steps

    def looking_ahead(self: Space) -> Any:
        """Look up what comes after the states of a level, in any order, before that is asked for."""
        level = list(self.states.rows(self._expanded, self._end))
        for row in rng.sample(level, len(level)):
            for successor in searched.successors.of(row):
                searched.canonical(tuple(successor.row))
        return steps(self)

    monkeypatch.setattr(Space, "_steps", looking_ahead)
    assert all_of(searched, searched.explore()) == expected


def rows_under_all_names(searched: Space, most: int) -> Iterator[tuple[int, ...]]:
    assert searched.symmetry is not None
    rows = list(searched.rows())
    for row in Random(1).sample(rows, min(most, len(rows))):
        yield from (searched.symmetry.renamed(row, names) for names in searched.symmetry.renamings)


def of_changes() -> Space:
    """Return a search where only two of three processes are interchangeable."""
    bounds, first = Bounds(3, 1, 1, 0, 0, changes=("config 1,2,3",)), quorums_of("config 1,2", 3)
    return Space(RECONFIGURATION, first, COARSE, bounds, select(["chosen"]))


@pytest.mark.parametrize(
    "made",
    [
        pytest.param(lambda: space(Bounds(3, 1, 1, 1, 0), ABRUPT), id="three"),
        pytest.param(lambda: space(Bounds(5, 1, 0, 0, 0), ABRUPT), id="five", marks=pytest.mark.slow),
        pytest.param(of_changes, id="two of three"),
    ],
)
def test_a_state_has_one_representative_under_all_names_found_one_by_one_or_many_at_once(
    made: Callable[[], Space],
) -> None:
    searched = made()
    searched.explore(levels=8)
    symmetry = searched.symmetry
    assert symmetry is not None
    rows = list(rows_under_all_names(searched, 60))
    expected = [symmetry.canonical(row) for row in rows]
    per_state = len(symmetry.renamings)
    for start in range(0, len(rows), per_state):
        assert len({representative for representative, _ in expected[start : start + per_state]}) == 1
    arrays = Arrays(searched.local_states, searched.monitors, symmetry)
    arrays.refresh()
    found, namings = Representatives(arrays).of(np.array(rows))
    assert [
        (tuple(row), symmetry.renamings[naming]) for row, naming in zip(found.tolist(), namings, strict=True)
    ] == expected
