"""What an evaluation found, as data. Times are nanoseconds of simulated time, sizes bytes."""

from collections.abc import Sequence

from msgspec import Struct


class Settings(Struct, frozen=True):
    """What was simulated. `bandwidth`: bits a second; `disk_rate`: bytes a second; `detect`: nobody notices a crash
    for so long; the others as in `zabcheck.evaluation.costs`."""

    servers: tuple[int, ...]
    operations: int
    size: int
    outstanding: int
    bandwidth: int
    ping_ns: int
    header: int
    cpu_ns: int
    cached_sync_ns: int
    uncached_sync_ns: int
    disk_rate: int
    detect_ns: int


class ThroughputRow(Struct, frozen=True):
    """A leader under load. `cap`: bandwidth / ((n - 1) × size), rounded.

    `latency_ns`: from the request to its delivery at the leader, on average. `network` and `disk_busy`: which part of
    the time the leader's network card was sending, and its disk syncing. `per_sync`: operations that the leader's disk
    wrote with one sync, on average; 0 without a disk.
    """

    servers: int
    disk: str
    cap: int
    operations_per_second: int
    latency_ns: int
    network: float
    disk_busy: float
    per_sync: float


class LatencyRow(Struct, frozen=True):
    """A single operation, with nothing else going on: from the request to its delivery by who was asked.

    `leader_ns`: the leader was asked, as in the paper; `follower_ns`: a follower, which passes it on.
    """

    servers: int
    disk: str
    leader_ns: int
    follower_ns: int


class RecoveryRow(Struct, frozen=True):
    """A leader crashed under load, and a server that was away since the load began took over.

    `history`: how many transactions were in every log before the load; `lacked`: how many more the new leader had to
    fetch. `discovery_ns`: from the end of the election until the new leader has proposed its initial history;
    `synchronization_ns`: from then until it is established; `all_ns`: from the end of the election until the last
    survivor has committed the epoch. `sent`: bytes, by all survivors until then.
    """

    servers: int
    history: int
    histories: str
    lacked: int
    discovery_ns: int
    synchronization_ns: int
    all_ns: int
    sent: int


class JudgedRow(Struct, frozen=True):
    """One property over all runs: "violated" if it is in one, else "holds" if one exercised it; and in how many."""

    property: str
    status: str
    exercised: int
    judged: int


class Evaluation(Struct, frozen=True):
    """All that was measured. `seconds` is CPU time of the simulation."""

    settings: Settings
    throughput: Sequence[ThroughputRow]
    latency: Sequence[LatencyRow]
    recovery: Sequence[RecoveryRow]
    runs: int
    properties: Sequence[JudgedRow]
    seconds: float
