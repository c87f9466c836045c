"""Servers that are held back, stopped, killed and started again while clients are recorded at them."""

from collections.abc import Iterator
from time import monotonic

from zabcheck.zookeeper.clients.disturbance import PATIENCE, Disturbance
from zabcheck.zookeeper.run.ensemble import Ensemble

OPTIONS = (
    "-Dzookeeper.snapCount=500",
    "-Dzookeeper.extendedTypesEnabled=true",
    "-Dznode.container.checkIntervalMs=200",
    "-Dznode.container.maxNeverUsedIntervalMs=1000",
)
"""Have servers write snapshots often, which they start from, and delete soon what they have to delete."""
_MOMENT = 0.2
"""Seconds between two things."""
_HELD = 0.5
"""Seconds for which a follower is told of no commit."""
_DEPOSED = 3.0
"""Seconds for which a leader is stopped, so that the others elect another."""


class ServerDisturbances(Disturbance):
    """The disturbances of servers, one after the other, again and again.

    A follower hears of no commit, and clients that come from others are refused by it; a follower is stopped, and the
    leader; every other time long enough for another to be elected. Then the leader is killed while multis are open, and
    starts from a snapshot and its log.
    """

    def __init__(self, ensemble: Ensemble) -> None:
        self._ensemble = ensemble
        self._steps = self._all_steps()
        self._until = 0.0
        self._needs_multis = self._is_last = self._is_over = False
        self.times = 0
        """The number of times that all of this was done."""
        self.with_multis = 0
        """The number of leaders that were killed while multis were open."""

    def go_on(self, multis: int) -> None:
        """Do what is due. EnsembleError if a server cannot be started."""
        if self._is_over or monotonic() < self._until or (self._needs_multis and not multis):
            return
        if self._needs_multis:
            self._needs_multis = False
            self.with_multis += 1
        pause = next(self._steps, None)
        self._is_over = pause is None
        self._until = monotonic() + (pause or 0.0)

    def finish(self) -> None:
        """End the round, for which it waits, or the first one; and wait until all servers serve."""
        self._is_last = True
        begun = monotonic()
        while not self._is_over and monotonic() < begun + PATIENCE * self._ensemble.slowness():
            self._needs_multis = False
            self.go_on(0)
        self._ensemble.await_patiently(PATIENCE, self._all_serve)

    def _all_serve(self) -> bool:
        return all(map(self._ensemble.served, self._ensemble.servers))

    def _all_steps(self) -> Iterator[float]:
        while not self._is_last:
            yield from self._round()

    def _round(self) -> Iterator[float]:
        """Yield the seconds until the next thing is done."""
        ensemble, servers = self._ensemble, self._ensemble.servers
        while not self._all_serve() or (leader := ensemble.leader()) is None:
            yield _MOMENT
            if self._is_last and self.times:
                return
        follower = max(each for each in servers if each != leader)
        ensemble.proxy.hold(leader, follower, "COMMIT")
        yield _HELD
        ensemble.proxy.release(leader, follower)
        for number, seconds in ((follower, _MOMENT), (leader, _DEPOSED if self.times % 2 else _MOMENT)):
            yield _MOMENT
            servers[number].pause()
            yield seconds
            servers[number].resume()
        yield _MOMENT
        leader = ensemble.leader() or leader
        self._needs_multis = True
        yield 0.0
        servers[leader].kill()
        yield _MOMENT
        ensemble.start(leader)
        self.times += 1
