"""What a worker has filled in is taken over: all of it, under the search's own numbers, and without its steps."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from msgspec.structs import replace

from invariants import CommitEpoch, Deliver, Event, Promise, Txn, Zxid, select
from invariants.quorums import Quorums
from zabcheck.explore import space as module
from zabcheck.explore.at_once.index import Ints
from zabcheck.explore.at_once.many import Found
from zabcheck.explore.bounds import UNLIMITED, Bounds
from zabcheck.explore.sharing.merging import Merge, Numbers, encoded
from zabcheck.explore.sharing.portions import Portions
from zabcheck.explore.space import Space
from zabcheck.explore.states.checkpoint import Checkpoints
from zabcheck.explore.tables import components as components_module
from zabcheck.explore.tables.journal import FilledIn
from zabcheck.explore.tables.judges import judged_in_every_state
from zabcheck.mutants.catalogue import mutated
from zabcheck.protocols import PROTOCOLS
from zabcheck.protocols.switches import Switches

ABRUPT = Switches(sync="atomic", closing="abrupt")
VOTES = Switches(sync="atomic", closing="abrupt", elections="oracle")
NO_DEFECTS = replace(VOTES, defects="none")
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
    """A search, and a copy of it that goes on, as a worker does: `filled_in` is what it fills in."""

    def __init__(self, name: str) -> None:
        self.search, self.worker = (SPACES[name]() for _ in range(2))
        for each in (self.search, self.worker):
            each.explore(levels=LEVELS)
        self.merge = Merge(self.search.local_states, self.search.monitors)
        self.filled_in: list[FilledIn] = []
        self.worker.components.filled_in = self.filled_in

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
        self.merge.take(encoded(self.filled_in, {each: number for number, each in enumerate(choices) if each}))

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


def test_what_a_judge_sees_for_the_first_time_gets_its_number_from_the_journal(tmp_path: Path) -> None:
    """The number itself is nowhere; but of all steps that look the same to a judge the first one is renamed later.

    Here the worker met another first one than the search: some judges do not look at what it shows besides.
    """
    zookeeper, txn = PROTOCOLS["zookeeper"], Txn(Zxid(1, 1), "v")
    kinds = tuple(kind for kind in select(zookeeper.properties) if judged_in_every_state(kind))
    search, worker, resumed = (
        Space(zookeeper, Quorums(3), NO_DEFECTS, Bounds(3, 1, 1, 0, 1), kinds, reduction=True) for _ in range(3)
    )
    short = {p: (CommitEpoch(p, 0, 1), Deliver(p, 0, txn)) for p in (2, 3)}
    long = {p: (CommitEpoch(p, 0, 1), Promise(p, 0, 1), Deliver(p, 0, txn)) for p in (2, 3)}

    def after(space: Space, monitor: int, *shown: Event) -> int:
        return space.monitors.after(monitor, space.components._intern_events(shown))

    for each in (search, worker, resumed):  # stands for steps that were executed before
        for p in (2, 3):
            for shown in ((short[p][0],), (short[p][1],), short[p], long[p]):
                each.components._intern_events(shown)
    for each in (search, worker):
        each._begin()
        after(each, after(each, 0, short[3][0]), short[3][1])
        committed = after(each, 0, short[2][0])
    merge, worker.components.filled_in = Merge(search.local_states, search.monitors), []
    worker.monitors.renamed(after(worker, 0, *short[2]), (0, 1, 3, 2))
    after(search, 0, *long[2])
    merge.take(encoded(worker.components.filled_in, {}))
    search.monitors.renamed(after(search, 0, *long[2]), (0, 1, 3, 2))
    search.monitors.renamed(after(search, committed, *long[3]), (0, 3, 2, 1))
    resumed._restore(Checkpoints(tmp_path / "checkpoint", {}), search._reached(), 1, None)
    assert resumed.components.events == search.components.events
    assert [judge._events for judge in resumed.monitors.judges] == [judge._events for judge in search.monitors.judges]


class Epoch(int):
    """A number that is no plain one."""


def test_a_user_may_have_epochs_of_a_class_of_ones_own(steps: list[object]) -> None:
    protocol = mutated("zab", None)
    told = protocol.highest_epoch
    assert told is not None
    mine = replace(protocol, highest_epoch=lambda state: Epoch(told(state)))
    searched = Space(mine, Quorums(2), ABRUPT, Bounds(2, 1, 1, 1, 1), PROPERTIES, reduction=True)
    searched.components.filled_in = filled_in = list[FilledIn]()
    searched.explore(levels=LEVELS)
    choices = {each: number for number, each in enumerate(searched.local_states.choices) if each}
    assert encoded(filled_in, choices)
