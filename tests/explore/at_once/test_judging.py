"""Monitors have the same numbers, asked for after many steps at once or one after the other."""

from collections.abc import Callable

import pytest

from invariants import select
from invariants.quorums import Quorums
from tests.tiers import sweep
from zabcheck.explore import portions as portions_module
from zabcheck.explore.at_once import arrays
from zabcheck.explore.bounds import UNLIMITED, Bounds
from zabcheck.explore.judges import judged_in_every_state
from zabcheck.explore.space import Space
from zabcheck.mutants.catalogue import mutated
from zabcheck.protocols import PROTOCOLS
from zabcheck.protocols.switches import Switches
from zabcheck.zookeeper.model.switches import ZooKeeperSwitches

ABRUPT = Switches(sync="atomic", closing="abrupt")
VOTES = ZooKeeperSwitches(sync="atomic", closing="abrupt", elections="oracle", defects="none")
PROPERTIES = tuple(kind for kind in select(None) if judged_in_every_state(kind))
ONE_BY_ONE = 1 << 60


def zab(bounds: Bounds, mutant: str | None = None, *, forgetful: bool = True) -> Space:
    protocol, quorums = mutated("zab", mutant), Quorums(bounds.processes)
    return Space(protocol, quorums, ABRUPT, bounds, PROPERTIES, reduction=True, moments=False, forgetful=forgetful)


def zookeeper(bounds: Bounds) -> Space:
    protocol, quorums = PROTOCOLS["zookeeper"], Quorums(bounds.processes)
    return Space(protocol, quorums, VOTES, bounds, PROPERTIES, reduction=True, moments=False, forgetful=True)


SPACES: dict[str, Callable[[], Space]] = {
    "zab": lambda: zab(Bounds(3, 2, 1, 1, 1)),
    "nothing is forgotten": lambda: zab(Bounds(3, 2, 1, 1, 0), forgetful=False),
    "any faults": lambda: zab(Bounds(2, 2, 1, UNLIMITED, UNLIMITED)),
    "broken": lambda: zab(Bounds(3, 2, 2, 1, 0), "keep-own-history"),
    "broken soon": lambda: zab(Bounds(3, 2, 1, 1, 0), "commit-on-own-ack"),
    "zookeeper": lambda: zookeeper(Bounds(3, 2, 1, 1, 1)),
}


@pytest.mark.parametrize("name", sweep(SPACES, normal=("any faults", "broken soon")))
def test_all_numbers_are_given_as_one_by_one(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(portions_module, "LARGE", 1)
    searches = []
    for few in (0, ONE_BY_ONE):
        monkeypatch.setattr(arrays, "FEW", few)
        space = SPACES[name]()
        found = space.explore()
        searches.append((space, found))
    (many, found), (one, expected) = searches
    assert found == expected
    assert list(many.rows()) == list(one.rows())
    assert many._journal == one._journal
    assert many.components.events == one.components.events
    assert many.monitors.known_after == one.monitors.known_after
    assert many.monitors.known_renamed == one.monitors.known_renamed
    assert many.monitors.broken == one.monitors.broken
    for judge, twin in zip(many.monitors.judges, one.monitors.judges, strict=True):
        assert judge._events == twin._events
        assert judge._came_from == twin._came_from
        assert judge.broken == twin.broken
    assert len(many.monitors) > 100
