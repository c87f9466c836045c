"""A property that no adapter monitors is judged in a search just the same, with more states."""

from collections.abc import Callable, Sequence
from typing import Any

import pytest

from invariants import (
    Deliver,
    Event,
    Invariant,
    Judge,
    Local,
    LocalPrimaryOrder,
    Promise,
    TotalOrder,
    Txn,
    Violation,
    select,
)
from invariants.quorums import Quorums
from invariants.record import Record
from tests.tiers import sweep
from zabcheck.explore.bounds import Bounds
from zabcheck.explore.judges import MonitoredInvariant, judged_in_every_state, monitored, monitors
from zabcheck.explore.results import SearchResult
from zabcheck.explore.space import Space
from zabcheck.mutants.catalogue import mutated
from zabcheck.protocols.switches import Switches
from zabcheck.search.run import replay, schedule_of
from zabcheck.simulation.choices import AnyChoice

ABRUPT = Switches(sync="atomic", closing="abrupt")


class Ascending(Invariant):
    """A property of a user: each process delivers in the order of zxids. It keeps more than it has to."""

    name = "ascending"
    statement = "No process delivers a zxid below one that it has delivered."
    source = "of its own"
    looks_at = ()

    def __init__(self, record: Record, order: str) -> None:
        super().__init__(record, order)
        self.last: dict[tuple[int, int], Txn] = {}
        self.wrong: list[Deliver] = []
        self.pairs = 0

    def observers(self) -> dict[type[Event], Callable[[Any], bool]]:
        return {Deliver: self._deliver}

    def _deliver(self, event: Deliver) -> bool:
        actor = event.process, event.incarnation
        last = self.last.get(actor)
        self.last[actor] = event.txn
        if last is None:
            return False
        self.pairs += 1
        if event.txn.zxid < last.zxid:
            self.wrong.append(event)
        return bool(self.wrong)

    def judged(self) -> int:
        return self.pairs

    def violation(self) -> Violation | None:
        if not self.wrong:
            return None
        least = min(self.wrong, key=lambda event: (event.txn, event.process, event.incarnation))
        return self._violation(f"p{least.process} delivered {least.txn} after something later", least)


def explored(*properties: type[Invariant]) -> SearchResult:
    return Space(mutated("zab"), Quorums(2), ABRUPT, Bounds(2, 1, 2, 1, 1), properties, reduction=True).explore()


def test_a_property_of_ones_own_is_proved() -> None:
    found = explored(Ascending)
    assert (found.whole, found.broken, found.exercised) == (True, None, {"ascending": True})


@pytest.mark.slow
@pytest.mark.parametrize("mutant", ["quorum-off-by-one", "duplicate-proposal", "deliver-initial-history-last"])
@pytest.mark.parametrize("symmetry", sweep((True, False), normal=(True,)))
def test_a_bug_that_breaks_a_property_of_ones_own_is_found_by_a_real_run(symmetry: bool, mutant: str) -> None:
    bounds = Bounds(2, 2, 2, 1, 0)
    found = Space(mutated("zab", mutant), Quorums(2), ABRUPT, bounds, (Ascending,), symmetry=symmetry).explore()
    assert found.broken == "ascending"
    assert status_after(found.choices, mutant) == "violated"
    assert status_after(found.choices[:-1], mutant) != "violated"


def status_after(choices: Sequence[AnyChoice], mutant: str) -> str:
    judge = Judge([Ascending], quorums=Quorums(2))
    for event in replay(schedule_of("zab", mutant, 2, choices, switches=ABRUPT)).events:
        if isinstance(event, Local):
            judge.observe(event)
    [verdict] = judge.finish()
    return verdict.status


JUDGED = [kind for kind in select(None) if judged_in_every_state(kind)]


@pytest.mark.parametrize("kind", sweep(JUDGED, normal=JUDGED[::5]), ids=lambda kind: kind.name)
def test_each_property_says_the_same_without_what_monitors_it(kind: type[Invariant]) -> None:
    plain = type(f"Plain{kind.__name__}", (kind,), {})
    assert not issubclass(monitored(plain), monitored(kind))
    bounds = Bounds(2, 1, 1, 1, 1)
    known, all_ = (
        Space(mutated("zab"), Quorums(2), ABRUPT, bounds, (each,), reduction=True, forgetful=True).explore()
        for each in (kind, plain)
    )
    assert (all_.whole, all_.broken, all_.exercised) == (known.whole, known.broken, known.exercised)
    assert all_.states >= known.states


def test_some_properties_have_fewer_states_for_what_monitors_them() -> None:
    class Plain(LocalPrimaryOrder):
        pass

    assert explored(LocalPrimaryOrder).states < explored(Plain).states


def test_a_property_may_bring_what_monitors_it() -> None:
    class Promised(Invariant):
        name = "promised"
        looks_at = (Promise,)

        def __init__(self, record: Record, order: str) -> None:
            super().__init__(record, order)
            self.promises = 0

        def observers(self) -> dict[type[Event], Callable[[Any], bool]]:
            return {Promise: self._promise}

        def _promise(self, event: Promise) -> bool:
            self.promises += 1
            return False

        def judged(self) -> int:
            return self.promises

        def violation(self) -> Violation | None:
            return None

    class Plain(Promised):
        pass

    @monitors(Promised)
    class MonitoredPromised(MonitoredInvariant, Promised):
        reads_sequences = False

        def remembers(self, incarnations: object) -> None:
            return None

    assert monitored(Promised) is MonitoredPromised
    assert monitored(Plain) is monitored(Plain)
    assert explored(Promised).states < explored(Plain).states


def test_a_monitor_is_a_subclass_of_its_property() -> None:
    with pytest.raises(AssertionError, match="judged as the property is"):
        monitors(TotalOrder)(MonitoredInvariant)
