"""The figures of an evaluation, as data. Times are nanoseconds of simulated time, sizes bytes.

`measure` and `plan` make them; the report and the command line show them.
"""

from collections.abc import Sequence

from msgspec import Struct


class Settings(Struct, frozen=True):
    """The parameters of the simulation.

    `bandwidth` is in bits a second, `disk_rate` in bytes a second, and `detect_ns` is how long nobody notices a crash.
    The other fields are those of `zabcheck.papers.evaluation.costs`.
    """

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
    """A leader under load.

    `cap` is bandwidth / ((n - 1) × size), rounded. `latency_ns` is the mean time from a broadcast to its delivery at
    the leader. `network` and `disk_busy` are the shares of the time in which the leader's network card was sending and
    its disk was syncing. `per_sync` is the mean number of operations that the leader's disk wrote in a sync; 0 without
    a disk.
    """

    servers: int
    disk: str
    cap: int
    operations_per_second: int
    latency_ns: int
    network: float
    disk_busy: float
    per_sync: float


class BoundRow(Struct, frozen=True):
    """A leader under load of which at most `outstanding` proposals may be outstanding (LADIS 2008, 4.2).

    `latency_ns` is the mean time from a broadcast to its delivery at the leader.
    """

    outstanding: int
    servers: int
    disk: str
    operations_per_second: int
    latency_ns: int


class LatencyRow(Struct, frozen=True):
    """The latency of a single operation, with nothing else going on.

    It is the time from the request to the delivery by the server that the client asked: `leader_ns` if that is the
    leader, as in the paper, `follower_ns` if it is a follower, which sends the operation on to the leader.
    """

    servers: int
    disk: str
    leader_ns: int
    follower_ns: int


class BroadcastRow(Struct, frozen=True):
    """A way to broadcast: "with COMMITs", as in the paper, or "without COMMITs", where servers send their ACKs to all.

    It is measured with a single operation, on the network only: the `messages` of all servers for it, and the times
    from the request to its delivery by the leader, and by the last server.
    """

    way: str
    servers: int
    messages: int
    leader_ns: int
    last_ns: int


class RelayRow(Struct, frozen=True):
    """A leader whose proposals and commits go to all servers ("star"), or along a "tree" or a "chain" of followers.

    All is measured on the network only. `last_ns` is the time from the request of a single operation to its delivery by
    the last server, and `operations_per_second` are those of a leader under load.
    """

    shape: str
    servers: int
    last_ns: int
    operations_per_second: int


class RecoveryRow(Struct, frozen=True):
    """The recovery after a leader crashed under load; a server that had been away since the load began took over.

    `history` is the number of transactions in every log before the load, `lacked` how many more the new leader had to
    fetch. `discovery_ns` is the time from the end of the election until the new leader has proposed its initial
    history, `synchronization_ns` the time from then until the leader is established, and `all_ns` the time from the end
    of the election until the last survivor has committed the epoch. `sent` counts the bytes that all survivors sent
    until then.
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
    """A property over all runs: "violated" if a run violates it, else "holds" if a run exercised it.

    `exercised` is the number of runs that exercised it, `judged` how often it could have been broken in all.
    """

    property: str
    status: str
    exercised: int
    judged: int


class Evaluation(Struct, frozen=True):
    """All measurements. `seconds` is the CPU time of the simulation."""

    settings: Settings
    throughput: Sequence[ThroughputRow]
    bounds: Sequence[BoundRow]
    latency: Sequence[LatencyRow]
    broadcast: Sequence[BroadcastRow]
    relays: Sequence[RelayRow]
    recovery: Sequence[RecoveryRow]
    runs: int
    properties: Sequence[JudgedRow]
    seconds: float
