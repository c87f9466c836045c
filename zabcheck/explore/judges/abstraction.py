"""The properties of the proof (`zabcheck.proof.monitors`), which keep a state of the abstraction."""

from collections.abc import Collection, Hashable, Sequence

from zabcheck.explore.judges.monitored import MonitoredInvariant, monitors
from zabcheck.invariants.quorums import Configuration, Quorums
from zabcheck.proof.abstraction import name_of
from zabcheck.proof.compiled import World, of
from zabcheck.proof.monitors import Proof, Refinement
from zabcheck.proof.relations import RELATIONS


class _WithoutConfigurations(MonitoredInvariant):
    """Judges no run in which the configuration changes: processes are renamed in states, and not in configurations."""

    def judges(self, quorums: Quorums) -> bool:
        return not isinstance(quorums, Configuration)


@monitors(Refinement)
class MonitoredRefinement(_WithoutConfigurations, Refinement):
    reads_sequences = False

    def remembers(self, incarnations: Sequence[int]) -> Hashable:
        """Return the part of the abstraction's state that the next verdicts depend on."""
        if self.world is None:
            return None
        return self.tells, self.wrong is not None, _state(self.world, incarnations, self.depends_on)


@monitors(Proof)
class MonitoredProof(_WithoutConfigurations, Proof):
    reads_sequences = False

    def remembers(self, incarnations: Sequence[int]) -> Hashable:
        """Return the state of the abstraction, and True if some event was no instance of a step."""
        if self.world is None:
            return self.has_left, None
        state = _state(self.world, incarnations, self.depends_on)
        return self.has_left, (self.tells, self.wrong is not None, state)


def _state(world: World, incarnations: Sequence[int], relations: Collection[str]) -> Hashable:
    """Return the facts in these relations, except for deliveries of incarnations that are over.

    `incarnations` are the current ones, by process (entry 0 is not used); their numbers do not matter.
    """
    current = {f"{name_of(n)}.{now}": f"{name_of(n)}+" for n, now in enumerate(incarnations) if now}
    over = {n for n in world[0] if "." in n and n not in current}
    delivered = frozenset((current.get(str(n), n), t) for n, t in of(world, "delivered") if n not in over)
    rest = tuple(of(world, name) for name in RELATIONS if name in relations and name != "delivered")
    return tuple(map(bool, incarnations)), delivered, *rest
