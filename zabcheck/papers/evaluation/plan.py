"""A whole evaluation: which runs are made, and in which order."""

from collections.abc import Callable
from itertools import product
from time import process_time
from typing import TypeVar

from msgspec import Struct

from zabcheck.papers.evaluation.cluster import SHAPES
from zabcheck.papers.evaluation.costs import (
    CACHED,
    CACHED_SYNC,
    DISK_RATE,
    MILLISECOND,
    NETWORK_ONLY,
    UNCACHED,
    UNCACHED_SYNC,
    Costs,
    Disk,
)
from zabcheck.papers.evaluation.measure import (
    WAYS,
    VerdictCounts,
    bound_of,
    bounded,
    broadcast,
    latency,
    recovery,
    relay,
    throughput,
)
from zabcheck.papers.evaluation.results import (
    BoundRow,
    BroadcastRow,
    Evaluation,
    LatencyRow,
    RecoveryRow,
    RelayRow,
    Settings,
    ThroughputRow,
)
from zabcheck.protocols.base import Protocol
from zabcheck.protocols.zab import ZAB

Row = TypeVar("Row")
DISKS = {"none": NETWORK_ONLY, "cache": CACHED, "no-cache": UNCACHED}
"""The name of each disk on the command line, and its name in reports."""
LEAST_TO_RECOVER = 3
"""The fewest servers that can recover: of fewer, no quorum is left when one has crashed."""

FEWER = 4
"""Shapes are compared with a fourth of the plan's operations: the network alone is steady much sooner than a disk."""
ON_THE_WAY = 200
"""The most operations that are outstanding when shapes are compared: twice what fills the longest chain."""
BOUNDS = (1, 10, 100)
"""The bounds of proposals that the plan's `outstanding` is compared with, if they are less."""
UNDER_WAY = 100
"""The most operations that are outstanding when a leader crashes; fewer if the plan's `outstanding` is less."""


class Plan(Struct, frozen=True):
    """The runs to measure.

    Without `histories` no recovery is measured. Survivors notice a crash after `detect` nanoseconds. The defaults for
    servers, size of an operation, ping, and outstanding operations are the paper's; the paper has 250,000 operations.
    """

    servers: tuple[int, ...] = (3, 5, 7, 9, 11, 13)
    disks: tuple[str, ...] = tuple(DISKS)
    histories: tuple[int, ...] = (1_000, 10_000, 100_000)
    operations: int = 4_000
    outstanding: int = 1_000
    detect: int = 200 * MILLISECOND
    costs: Costs = Costs()
    cached_sync: int = CACHED_SYNC
    uncached_sync: int = UNCACHED_SYNC
    disk_rate: int = DISK_RATE

    def disk(self, name: str) -> Disk | None:
        """Return the disk of this name, None for "none"."""
        if name == "none":
            return None
        return Disk(DISKS[name], self.cached_sync if name == "cache" else self.uncached_sync, self.disk_rate)

    @property
    def bounds(self) -> tuple[int, ...]:
        """The bounds of proposals that are measured besides `outstanding`."""
        return tuple(bound for bound in BOUNDS if bound < self.outstanding)

    @property
    def runs(self) -> int:
        """The number of runs."""
        recovering = sum(servers >= LEAST_TO_RECOVER for servers in self.servers)
        bounded = len(self.bounds) * len(self.disks)
        return (
            bounded
            + (2 * len(self.disks) + len(WAYS) + 2 * len(SHAPES)) * len(self.servers)
            + 2 * len(self.histories) * recovering
        )


def evaluate(plan: Plan, on_run: Callable[[int], None], protocol: Protocol = ZAB) -> Evaluation:
    """Make all runs; `on_run` is called with the number of finished runs. Stuck if the protocol makes no progress.

    Recovery is measured on disks with a write cache.
    """
    start = process_time()
    judged = VerdictCounts()
    under_load: list[ThroughputRow] = []
    single: list[LatencyRow] = []
    recovered: list[RecoveryRow] = []

    def add(rows: list[Row], row: Row) -> None:
        rows.append(row)
        on_run(judged.runs)

    for disk, servers in product(plan.disks, plan.servers):
        kind, name = plan.disk(disk), DISKS[disk]
        add(single, latency(judged, servers, kind, plan.costs, name, protocol))
        loaded = throughput(judged, servers, kind, plan.costs, plan.operations, plan.outstanding, name, protocol)
        add(under_load, loaded)
    fewest = min(plan.servers)
    bounds: list[BoundRow] = []
    for bound, disk in product(plan.bounds, plan.disks):
        add(bounds, bounded(judged, fewest, plan.disk(disk), plan.costs, bound, DISKS[disk], protocol))
    bounds += [bound_of(row, plan.outstanding) for row in under_load if row.servers == fewest]
    ways: list[BroadcastRow] = []
    for commits, servers in product(WAYS, plan.servers):
        add(ways, broadcast(judged, servers, commits, plan.costs, protocol))
    relayed: list[RelayRow] = []
    for shape, servers in product(SHAPES, plan.servers):
        operations = -(-plan.operations // FEWER)
        outstanding = min(plan.outstanding, ON_THE_WAY)
        add(relayed, relay(judged, servers, shape, plan.costs, operations, outstanding, protocol))
    disk_with_cache, outstanding = plan.disk("cache"), min(plan.outstanding, UNDER_WAY)
    for histories, history, servers in product(("full", "missing"), plan.histories, plan.servers):
        if servers >= LEAST_TO_RECOVER:
            costs, detect = plan.costs, plan.detect
            row = recovery(judged, servers, history, histories, disk_with_cache, costs, outstanding, detect, protocol)
            add(recovered, row)
    seconds = round(process_time() - start, 2)
    return Evaluation(
        _settings(plan), under_load, bounds, single, ways, relayed, recovered, judged.runs, judged.rows(), seconds
    )


def _settings(plan: Plan) -> Settings:
    costs = plan.costs
    return Settings(
        servers=plan.servers,
        operations=plan.operations,
        size=costs.size,
        outstanding=plan.outstanding,
        bandwidth=costs.bandwidth,
        ping_ns=costs.ping,
        header=costs.header,
        cpu_ns=costs.cpu,
        cached_sync_ns=plan.cached_sync,
        uncached_sync_ns=plan.uncached_sync,
        disk_rate=plan.disk_rate,
        detect_ns=plan.detect,
    )
