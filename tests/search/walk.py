"""Walk randomly over choices: the plain way to drive the simulator, without Hypothesis' overhead.

Most steps let the protocol go on: a waiting message is handled, a disk is synced, a client asks. Now and then there is
a fault, its repair, or an answer of the oracle. Each kind has a weight.
"""

from collections.abc import Mapping
from random import Random

from zabcheck.simulation import choices
from zabcheck.simulation.channels import NOBODY
from zabcheck.simulation.choices import Choice
from zabcheck.simulation.simulator import Simulator

DEFAULT_FAULTS: Mapping[type[Choice], int] = {
    choices.Elect: 30,
    choices.Notice: 20,
    choices.Recover: 16,
    choices.Wake: 16,
    choices.Heal: 8,
    choices.Mend: 4,
    choices.Snapshot: 20,
    choices.Timeout: 2,
    choices.Crash: 3,
    choices.PowerLoss: 1,
    choices.Cut: 3,
    choices.Stall: 2,
    choices.Hold: 2,
    choices.Mute: 1,
    choices.Bridge: 1,
    choices.Ring: 1,
    choices.Flap: 1,
    choices.Pause: 3,
    choices.Reset: 3,
}
"""The share of `_TRIES` tries for each kind of choice that is not the protocol's own progress.

No record is altered: a process that has halted never comes back, so every walk would end. And no message overtakes
others: on channels that keep the order none can.
"""

_TRIES = 1000
_REQUEST_SHARE = 0.2
_SYNC_SHARE = 0.35
_CHANGE_OF_MIND = 0.1
_FLAPS = 3
_CUT_SHARE = 0.3


class Walk:
    """A seeded random walk of `simulator`. One seed gives one walk, everywhere."""

    def __init__(self, simulator: Simulator, seed: int, weights: Mapping[type[Choice], int] = DEFAULT_FAULTS) -> None:
        assert sum(weights.values()) <= _TRIES
        self.simulator = simulator
        self._random = Random(seed).random
        self._table: list[type[Choice] | None] = [None] * _TRIES
        place = 0
        for kind, weight in weights.items():
            self._table[place : place + weight] = [kind] * weight
            place += weight
        self._leader = 1  # whom the oracles name, mostly

    def step(self) -> bool:
        """Try one choice; return whether it was enabled."""
        kind = self._table[int(self._random() * _TRIES)]
        choice = self._progress() if kind is None else self._other(kind)
        return choice is not None and self.simulator.execute(choice) > 0

    def _progress(self) -> Choice:
        simulator, random = self.simulator, self._random
        if random() < _REQUEST_SHARE:
            process = self._leader if random() >= _CHANGE_OF_MIND else 1 + int(random() * len(simulator.ids))
            state = simulator.states[process]
            if state is not None and process not in simulator.paused and simulator.protocol.can_broadcast(state):
                return choices.Request(process)
        first, second = (self._sync, self._receive) if random() < _SYNC_SHARE else (self._receive, self._sync)
        progress = first() or second() or self._recover() or self._wake()
        return progress or self._elect(1 + int(random() * len(simulator.ids)))

    def _receive(self) -> Choice | None:
        waiting = self.simulator.waiting()
        if not waiting:
            return None
        process, sender, _ = waiting[int(self._random() * len(waiting))]
        return choices.Receive(process, sender)

    def _sync(self) -> Choice | None:
        disks, n = self.simulator.disks, len(self.simulator.ids)
        first = int(self._random() * n)
        for index in range(first, first + n):
            process = 1 + index % n
            if disks[process].unsynced and process not in self.simulator.paused:
                return choices.Sync(process)
        return None

    def _other(self, kind: type[Choice]) -> Choice | None:
        simulator, random = self.simulator, self._random
        n = len(simulator.ids)
        process = 1 + int(random() * n)
        if kind is choices.Elect:
            return self._elect(process)
        if kind is choices.Notice:
            closed = simulator.closed()
            return choices.Notice(*closed[int(random() * len(closed))]) if closed else None
        if kind is choices.Recover:
            return self._recover()
        if kind is choices.Wake:
            return self._wake()
        if kind is choices.Heal or kind is choices.Ring:
            return kind()
        if kind is choices.Crash:
            return choices.Crash(process, int(random() * (1 + len(simulator.disks[process].unsynced))))
        if kind is choices.Snapshot:
            return choices.Snapshot(process, cut=random() < _CUT_SHARE)
        if kind is choices.PowerLoss:
            return choices.PowerLoss(int(random() * n))
        if kind is choices.Cut or kind is choices.Reset or kind is choices.Stall:
            return kind(process, 1 + int(random() * n))
        if kind is choices.Mend:
            links = simulator.obstructed()
            return choices.Mend(*links[int(random() * len(links))]) if links else None
        if kind is choices.Hold:
            return self._hold(process)
        if kind is choices.Mute:
            return choices.Mute(self._some())
        if kind is choices.Bridge:
            return choices.Bridge(process, self._some())
        if kind is choices.Flap:
            return choices.Flap(process, 1 + int(random() * n), 1 + int(random() * _FLAPS))
        return kind(process)  # the other kinds take a process only

    def _hold(self, sender: int) -> Choice | None:
        random, kinds = self._random, tuple(self.simulator.protocol.kinds.values())
        receiver = 1 + int(random() * len(self.simulator.ids))
        return choices.Hold(sender, receiver, kinds[int(random() * len(kinds))]) if kinds else None

    def _some(self) -> tuple[int, ...]:
        """Draw a subset of the processes."""
        return tuple(process for process in self.simulator.ids if self._random() < 0.5)

    def _recover(self) -> Choice | None:
        for process in self.simulator.ids:
            if not self.simulator.is_up(process) and not self.simulator.halted[process]:
                return choices.Recover(process)
        return None

    def _wake(self) -> Choice | None:
        paused = self.simulator.paused
        return choices.Wake(next(p for p in self.simulator.ids if p in paused)) if paused else None

    def _elect(self, process: int) -> Choice:
        """Name a leader, mostly the one that others follow, to a process, mostly one that has none."""
        random, following = self._random, self.simulator.following
        if random() < _CHANGE_OF_MIND:
            self._leader = process
        if following[self._leader] != self._leader:
            return choices.Elect(self._leader, self._leader)
        return choices.Elect(next((p for p in self.simulator.ids if following[p] == NOBODY), process), self._leader)
