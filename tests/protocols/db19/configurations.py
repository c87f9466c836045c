"""Random small settings of the lab's cluster, and its run."""

from random import Random

from invariants import Event
from zabcheck.protocols.db19.cluster import Cluster, Setting


def setting(case: int) -> Setting:
    """Draw a setting: in most, the links work, and something is broadcast."""
    random = Random(case)
    nodes = random.choice([1, 2, 3, 3, 3, 4, 5, 5, 7])
    rounds = random.choice([1, 2, 7, 20, 40, 200, 500, 900])
    proposals = random.choice([0, 1, 3, 10, 30, rounds + 3])
    links = [(source, target) for source in range(nodes) for target in range(nodes) if source != target]
    cut = random.sample(links, random.choice([0, 0, len(links) // 4, len(links) // 3, min(2, len(links))]))
    seed = random.choice([random.randrange(10), random.getrandbits(64)])
    return Setting(seed, nodes, rounds, proposals, tuple(cut))


def run(which: Setting, *, network: bool = False) -> tuple[Cluster, list[Event]]:
    """The cluster after its last tick, and what it showed."""
    events: list[Event] = []
    cluster = Cluster(which, events.append, network=network)
    for _ in cluster.ticks():
        pass
    return cluster, events


def dump_of(which: Setting) -> bytes:
    return b"".join(run(which)[0].dump())
