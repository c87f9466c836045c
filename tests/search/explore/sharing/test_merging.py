"""What a worker has filled in is taken over: all of it, under the search's own numbers, and without its steps."""

from typing import Any

import numpy as np
import pytest

from invariants import select
from invariants.quorums import Quorums
from zabcheck.mutants.catalogue import mutated
from zabcheck.protocols import PROTOCOLS
from zabcheck.protocols.switches import Switches
from zabcheck.search.explore import space as module
from zabcheck.search.explore.at_once.index import Ints
from zabcheck.search.explore.at_once.many import Found
from zabcheck.search.explore.bounds import UNLIMITED, Bounds
from zabcheck.search.explore.sharing.merging import Merge, Numbers, encoded
from zabcheck.search.explore.sharing.portions import Portions
from zabcheck.search.explore.space import Space
from zabcheck.search.explore.tables import components as components_module
from zabcheck.search.explore.tables.journal import Entry
from zabcheck.search.explore.tables.monitors import judged_in_every_state

ABRUPT = Switches(sync="atomic", closing="abrupt")
VOTES = Switches(sync="atomic", closing="abrupt", elections="oracle")
PROPERTIES = tuple(kind for kind in select(None) if judged_in_every_state(kind))
LEVELS = 7


def test_numbers_up_to_those_in_common_are_the_same() -> None:
    numbers = Numbers(5)
    numbers.update({5: 7, 8: 5})
    assert [numbers[each] for each in (0, 4, 5, 8)] == [0, 4, 7, 5]
    assert numbers.of(np.array([[8, 0], [4, 5]])).tolist() == [[5, 0], [4, 7]]
    assert numbers.of(np.empty((0, 2), np.int64)).shape == (0, 2)


@pytest.mark.parametrize("number", [5, 6, 9])
def test_what_was_not_taken_over_has_no_number(number: int) -> None:
    numbers = Numbers(5)
    numbers.update({7: 6})
    with pytest.raises(KeyError):
        numbers[number]


def test_no_state_has_a_number_that_was_not_taken_over() -> None:
    numbers = Numbers(5)
    numbers.update({7: 6})
    with pytest.raises(AssertionError):
        numbers.of(np.array([6]))


def zab(bounds: Bounds) -> Space:
    return Space(mutated("zab", None), Quorums(bounds.processes), ABRUPT, bounds, PROPERTIES, reduction=True)


def zookeeper(bounds: Bounds) -> Space:
    return Space(PROTOCOLS["zookeeper"], Quorums(bounds.processes), VOTES, bounds, select(["core"]), reduction=True)


SPACES = {
    "zab": lambda: zab(Bounds(3, 2, 1, 1, 1)),
    "unlimited faults": lambda: zab(Bounds(2, 2, 1, UNLIMITED, UNLIMITED)),
    "zookeeper": lambda: zookeeper(Bounds(3, 2, 1, 0, 1)),
}


class Pair:
    """A search, and a copy of it that goes on, as a worker does: `entries` are what it fills in."""

    def __init__(self, name: str) -> None:
        self.search, self.worker = (SPACES[name]() for _ in range(2))
        for each in (self.search, self.worker):
            each.explore(levels=LEVELS)
        self.merge = Merge(self.search.local_states, self.search.monitors)
        self.entries: list[Entry] = []
        self.worker.components.entries = self.entries

    def level(self) -> Ints:
        """The states that come next; both have the same numbers for these."""
        rows = [self._portions(each).states.array(each._expanded, each._end) for each in (self.search, self.worker)]
        assert np.array_equal(*rows)
        return rows[0]

    def expanded(self, who: Space, rows: Ints) -> Found:
        many = self._portions(who).many
        assert many is not None
        return many.of(rows, every=True)

    def take_all(self) -> None:
        choices = self.worker.local_states.choices
        self.merge.take(encoded(self.entries, {each: number for number, each in enumerate(choices) if each}))

    @staticmethod
    def _portions(who: Space) -> Portions:
        assert isinstance(who._portions, Portions)
        return who._portions


@pytest.fixture
def steps(monkeypatch: pytest.MonkeyPatch) -> list[object]:
    """The steps that are executed."""
    executed: list[object] = []
    next_state = components_module.next_state

    def noted(*arguments: Any) -> Any:
        executed.append(arguments[3])
        return next_state(*arguments)

    monkeypatch.setattr(module, "LARGE", 1)
    monkeypatch.setattr(components_module, "next_state", noted)
    return executed


@pytest.mark.parametrize("name", SPACES)
def test_what_was_taken_over_need_not_be_found_again(name: str, steps: list[object]) -> None:
    pair = Pair(name)
    rows = pair.level()
    steps.clear()
    there = pair.expanded(pair.worker, rows)
    needed = len(steps)
    steps.clear()
    pair.take_all()
    again, journal = len(steps), len(pair.search.components.journal)
    here = pair.expanded(pair.search, rows)
    assert len(steps) == again, "it has all steps"
    assert not [key for key in pair.search.components.journal[journal:] if key[0] != "kinds"], "and all entries"
    assert np.array_equal(pair.merge.rows(there.rows), here.rows)
    assert np.array_equal(there.first, here.first)
    assert 0 < again < needed / 2, "few of them had to be made again"


@pytest.mark.parametrize("name", SPACES)
def test_numbers_of_its_own_make_no_difference(name: str, steps: list[object]) -> None:
    """The search has expanded other states meanwhile, so nothing new has the number here that it has there."""
    pair = Pair(name)
    rows = pair.level()
    middle = len(rows) // 2
    there = pair.expanded(pair.worker, rows[middle:])
    pair.expanded(pair.search, rows[:middle])
    pair.take_all()
    here = pair.expanded(pair.search, rows[middle:])
    taken = pair.merge.rows(there.rows)
    assert np.array_equal(taken, here.rows)
    assert not np.array_equal(taken, there.rows)
