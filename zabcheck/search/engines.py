"""The engines that search, by name: each chooses the moves of each run in its own way."""

from enum import StrEnum

from zabcheck.search import swarm
from zabcheck.search.run import PropertyBroken, Search


class Engine(StrEnum):
    """`hypothesis`: a stateful machine of Hypothesis. `swarm`: seeded random runs, several times as fast."""

    hypothesis = "hypothesis"
    swarm = "swarm"


DEFAULT = Engine.swarm
"""The engine of every command unless another is named. Each run of it draws its number of processes and its quorums, so
that it also finds bugs that need five processes, or weights.
"""


def find(engine: Engine, search: Search) -> PropertyBroken | None:
    """Let `engine` search; return the first run that broke a property, or None.

    ProtocolRaised if the protocol's code raised.
    """
    if engine is Engine.swarm:
        return swarm.find(search)
    from zabcheck.search import machine  # Hypothesis is slow to load

    return machine.find(search)
