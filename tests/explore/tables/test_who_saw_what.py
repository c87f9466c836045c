"""Partial-order reduction keeps what each process shows, and what the others have shown in the same run.

That is more than that each process comes to the same: a leader may have committed what a follower acknowledged right
before it left, and has not read on. Compared are all runs, as the sequences of events that their processes showed.
"""

from collections.abc import Callable, Hashable, Sequence
from itertools import product
from typing import Any

import pytest
from msgspec.structs import replace

from invariants import (
    Accept,
    AckEpoch,
    Adopt,
    Broadcast,
    CommitEpoch,
    Deliver,
    Event,
    Promise,
    Ready,
    Violation,
)
from invariants.quorums import Quorums
from invariants.record import Record
from tests.explore.tables.test_reduction import ABRUPT, GRACEFUL, PROPERTIES
from tests.tiers import sweep
from zabcheck.explore.bounds import UNLIMITED, Bounds
from zabcheck.explore.judges import MonitoredInvariant
from zabcheck.explore.space import Space
from zabcheck.mutants.catalogue import mutated
from zabcheck.mutants.mutant import Mutant
from zabcheck.protocols.base import Effect, ProcessId
from zabcheck.protocols.switches import Switches
from zabcheck.protocols.zab.leader import on_ack
from zabcheck.protocols.zab.messages import Ack
from zabcheck.protocols.zab.process import Leader

Shown = tuple[tuple[Event, ...], ...]
"""The events that each process has shown, in order, each once: so there is an end of it."""

_KINDS: tuple[type[Event], ...] = (Broadcast, Deliver, AckEpoch, Adopt, Accept, CommitEpoch, Ready, Promise)


class Diary(MonitoredInvariant):
    """Holds always, and remembers what each process has shown: so states differ in that, too."""

    name = "diary"
    group = "protocol"
    reads_sequences = False
    looks_at = _KINDS

    def __init__(self, record: Record, order: str) -> None:
        super().__init__(record, order)
        self.by: dict[int, tuple[Event, ...]] = {}

    def observers(self) -> dict[type[Event], Callable[[Any], bool]]:
        return dict.fromkeys(_KINDS, self._note)

    def _note(self, event: Any) -> bool:
        first = replace(event, incarnation=0)
        noted = self.by.get(event.process, ())
        if first not in noted:
            self.by[event.process] = (*noted, first)
        return False

    def remembers(self, incarnations: Sequence[int]) -> Hashable:
        return tuple(sorted(self.by.items()))

    def judged(self) -> int:
        return 1

    def violation(self) -> Violation | None:
        return None


def shown(bounds: Bounds, switches: Switches, mutant: str | None, *, reduction: bool) -> set[Shown]:
    protocol, quorums = mutated("zab", mutant), Quorums(bounds.processes)
    space = Space(protocol, quorums, switches, bounds, (Diary,), symmetry=False, reduction=reduction, moments=False)
    assert space.reduced == reduction
    assert space.explore().whole
    [group] = space.monitors.judges
    found = set[Shown]()
    for number in range(len(group.broken)):
        [diary] = group.known(number).judge.invariants
        assert isinstance(diary, Diary)
        found.add(tuple(diary.by.get(process, ()) for process in space.components.ids))
    return found


def begun(runs: set[Shown]) -> set[Shown]:
    """Return all that runs have shown at some time, if no process waits for another one."""
    return {first for run in runs for first in product(*([each[:n] for n in range(len(each) + 1)] for each in run))}


ANY = UNLIMITED
DISK = Switches(closing="abrupt")
CASES = {
    "any time-outs": (Bounds(2, 1, 1, ANY, 0), ABRUPT, None),
    "any time-outs, graceful": (Bounds(2, 1, 1, ANY, 0), GRACEFUL, None),
    "any faults": (Bounds(2, 1, 2, ANY, ANY), ABRUPT, None),
    "any cuts": (Bounds(2, 1, 2, ANY, 0, ANY), ABRUPT, None),
    "counted": (Bounds(2, 1, 2, 2, 0), ABRUPT, None),
    "a disk": (Bounds(2, 1, 1, 1, 1), DISK, None),
    "keep-own-history": (Bounds(2, 2, 1, ANY, 0), ABRUPT, "keep-own-history"),
}


@pytest.mark.parametrize("name", sweep(CASES, normal=("any time-outs",)))
def test_whatever_processes_show_in_a_run_they_show_with_reduction(name: str) -> None:
    whole, reduced = (shown(*CASES[name], reduction=reduction) for reduction in (False, True))
    assert reduced <= whole <= begun(reduced)


def count_ack_for_everything(leader: Leader, sender: ProcessId, m: Ack) -> list[Effect]:
    """Step l.3.2, but an ACK counts for all that was proposed."""
    proposed = leader.proposed if leader.leads else None
    return on_ack(leader, sender, m if proposed is None else Ack(m.epoch, proposed.zxid))


@pytest.mark.parametrize("crashes", [0, ANY])
def test_a_process_that_leaves_now_may_have_acknowledged_before(crashes: int) -> None:
    """A follower leaves before it has read the second proposal, and its leader counts the ACK of the first for both."""
    bug = Mutant("acks-for-everything", "zab", "", "", (), "", {Ack: count_ack_for_everything})
    space = Space(
        bug.apply(mutated("zab")), Quorums(2), ABRUPT, Bounds(2, 1, 2, ANY, crashes), PROPERTIES, reduction=True
    )
    assert space.explore().broken == "chosen"
