"""Measurements on a cluster: throughput and latency (DSN 2011, VII, figures 6 and 7), and recovery.

The six properties of the paper (III-A) judge every run while it goes on.
"""

from collections.abc import Callable
from functools import cache

from zabcheck.invariants import (
    EMPTY,
    PROPERTIES,
    Broadcast,
    Chain,
    CommitEpoch,
    Crash,
    Deliver,
    Establish,
    Event,
    Judge,
    Recover,
    Txn,
    Verdict,
    Zxid,
)
from zabcheck.invariants.quorums import Quorums
from zabcheck.papers.evaluation.cluster import Cluster
from zabcheck.papers.evaluation.costs import SECOND, Costs, Disk
from zabcheck.papers.evaluation.results import (
    BoundRow,
    BroadcastRow,
    JudgedRow,
    LatencyRow,
    RecoveryRow,
    RelayRow,
    ThroughputRow,
)
from zabcheck.protocols.base import Message, Protocol
from zabcheck.protocols.zab import ZAB
from zabcheck.protocols.zab.messages import NewLeader

SIX = ("integrity", "total order", "agreement", "local primary order", "global primary order", "primary integrity")
LEADER = 1
"""The leader of every cluster, until it crashes."""
WAYS = {"leader": "with COMMITs", "acks": "without COMMITs"}
"""The ways to broadcast, by the value of the switch `commits`, and their names in reports."""
LEAST_COUNTED = 100
"""The fewest operations that are measured with a bound of proposals."""
SINGLE_OPERATIONS = 3
"""The number of operations that are made one at a time to measure a latency; the last one is measured."""


class Stuck(Exception):
    """The protocol makes no progress: nothing is left to happen, and what was waited for did not happen."""


class VerdictCounts:
    """Collects what the properties say of all runs so far."""

    def __init__(self) -> None:
        self.runs = 0
        self._verdicts: dict[str, list[Verdict]] = {name: [] for name in SIX}

    def add(self, judge: Judge) -> None:
        """Add the verdicts on a run that has ended."""
        self.runs += 1
        for verdict in judge.finish():
            self._verdicts[verdict.property].append(verdict)

    def rows(self) -> list[JudgedRow]:
        """Return a row for each property."""
        return [_judged(name, verdicts) for name, verdicts in self._verdicts.items()]


def _judged(name: str, verdicts: list[Verdict]) -> JudgedRow:
    exercised = sum(verdict.judged > 0 for verdict in verdicts)
    violated = any(verdict.status == "violated" for verdict in verdicts)
    status = "violated" if violated else "holds" if exercised else "not exercised"
    return JudgedRow(name, status, exercised, sum(verdict.judged for verdict in verdicts))


class Load:
    """Clients whose requests always wait at the leader, until it has delivered `most` operations.

    The leader has as many proposals outstanding as its cluster allows (LADIS 2008, 4.2), so that is the load. One
    request waits: when it is broadcast, the clients send another. `broadcast` and `delivered` hold the times at the
    leader, in order.
    """

    def __init__(self, cluster: Cluster, most: int) -> None:
        self.cluster = cluster
        self.most = most
        self.requests = 0
        self.broadcast: list[int] = []
        self.delivered: list[int] = []

    def begin(self) -> None:
        """Send the first request."""
        self._request()

    def on_broadcast(self) -> None:
        """Note that the leader has broadcast an operation; the next request comes right after the step."""
        self.broadcast.append(self.cluster.now)
        self.cluster.at(self.cluster.now, self._request)

    def on_delivered(self) -> None:
        """Note that the leader has delivered an operation."""
        self.delivered.append(self.cluster.now)

    def stop(self) -> None:
        """Stop sending requests."""
        self.most = 0

    def is_done(self) -> bool:
        """Return True once all operations are delivered, or the load was stopped."""
        return len(self.delivered) >= self.most

    def _request(self) -> None:
        if not self.is_done():
            self.requests += 1
            self.cluster.request(LEADER, f"v{self.requests}")


def throughput(
    judged: VerdictCounts,
    servers: int,
    disk: Disk | None,
    costs: Costs,
    operations: int,
    outstanding: int,
    name: str,
    protocol: Protocol = ZAB,
    shape: str = "star",
) -> ThroughputRow:
    """Measure the throughput of `operations` with `outstanding` proposals, after as many operations to warm up.

    The load goes on until the last measured operation is delivered. Stuck if that never happens. O(operations ×
    servers).
    """
    judge = _judge(servers)

    def show(event: Event) -> None:
        judge.observe(event)
        if type(event) is Broadcast:
            load.on_broadcast()
        elif type(event) is Deliver and event.process == LEADER:
            load.on_delivered()

    cluster = Cluster(protocol, servers, costs, disk, show, outstanding=outstanding, shape=shape)
    load = Load(cluster, outstanding + operations)
    _establish(cluster)
    load.begin()
    _run(cluster, lambda: len(load.delivered) >= outstanding)
    first, sending, syncing, syncs = cluster.now, *_used(cluster)
    _run(cluster, load.is_done)
    time = max(1, cluster.now - first)
    sent, synced, count = (
        after - before for after, before in zip(_used(cluster), (sending, syncing, syncs), strict=True)
    )
    _run(cluster)
    judged.add(judge)
    counted = range(outstanding, outstanding + operations)
    return ThroughputRow(
        servers=servers,
        disk=name,
        cap=round(costs.cap(servers)),
        operations_per_second=round(operations * SECOND / time),
        latency_ns=round(sum(load.delivered[each] - load.broadcast[each] for each in counted) / operations),
        network=round(sent / time, 3),
        disk_busy=round(synced / time, 3),
        per_sync=round(operations / count, 1) if count else 0.0,
    )


def bounded(
    judged: VerdictCounts,
    servers: int,
    disk: Disk | None,
    costs: Costs,
    outstanding: int,
    name: str,
    protocol: Protocol = ZAB,
) -> BoundRow:
    """Measure a leader with a bound of proposals: ten times as many operations, and at least `LEAST_COUNTED`."""
    operations = max(LEAST_COUNTED, 10 * outstanding)
    return bound_of(throughput(judged, servers, disk, costs, operations, outstanding, name, protocol), outstanding)


def bound_of(row: ThroughputRow, outstanding: int) -> BoundRow:
    """Return what a load with this bound has shown."""
    return BoundRow(outstanding, row.servers, row.disk, row.operations_per_second, row.latency_ns)


def _used(cluster: Cluster) -> tuple[int, int, int]:
    return cluster.sent_for(LEADER), cluster.synced_for(LEADER), cluster.syncs[LEADER]


def latency(
    judged: VerdictCounts, servers: int, disk: Disk | None, costs: Costs, name: str, protocol: Protocol = ZAB
) -> LatencyRow:
    """Measure the latency of one operation at a time: for a client of the leader, and for one of the last follower.

    Stuck if an operation is never delivered.
    """
    judge = _judge(servers)
    delivered: dict[tuple[int, str], int] = {}

    def show(event: Event) -> None:
        judge.observe(event)
        if type(event) is Deliver:
            delivered.setdefault((event.process, event.txn.value), cluster.now)

    cluster = Cluster(protocol, servers, costs, disk, show)
    _establish(cluster)
    took = {}
    for server in (LEADER, servers):
        for number in range(SINGLE_OPERATIONS):
            value, start = f"v{server}-{number}", cluster.now
            if server == LEADER:
                cluster.request(LEADER, value)
            else:
                cluster.forward(server, LEADER, value)
            _run(cluster)
            if (server, value) not in delivered:
                raise Stuck
            took[server] = delivered[server, value] - start
    judged.add(judge)
    return LatencyRow(servers, name, took[LEADER], took[servers])


def broadcast(
    judged: VerdictCounts, servers: int, commits: str, costs: Costs, protocol: Protocol = ZAB
) -> BroadcastRow:
    """Measure a way to broadcast with a single operation, on the network only. Stuck if a server never delivers it."""
    messages, leader, last = _one_operation(judged, servers, costs, protocol, commits, "star")
    return BroadcastRow(WAYS[commits], servers, messages, leader, last)


def relay(
    judged: VerdictCounts,
    servers: int,
    shape: str,
    costs: Costs,
    operations: int,
    outstanding: int,
    protocol: Protocol = ZAB,
) -> RelayRow:
    """Measure one of the `SHAPES`, on the network only: an operation alone, then `operations` under load.

    Stuck if an operation is not delivered. O((operations + outstanding) × servers).
    """
    _, _, last = _one_operation(judged, servers, costs, protocol, "leader", shape)
    load = throughput(judged, servers, None, costs, operations, outstanding, "", protocol, shape)
    return RelayRow(shape, servers, last, load.operations_per_second)


def _one_operation(
    judged: VerdictCounts, servers: int, costs: Costs, protocol: Protocol, commits: str, shape: str
) -> tuple[int, int, int]:
    """Return the messages of a single operation, and the times until the leader, and the last server, delivers it."""
    judge = _judge(servers)
    delivered: dict[int, int] = {}
    messages: list[Message] = []

    def show(event: Event) -> None:
        judge.observe(event)
        if type(event) is Deliver:
            delivered[event.process] = cluster.now

    def on_send(sender: int, message: Message) -> None:
        messages.append(message)

    cluster = Cluster(protocol, servers, costs, None, show, commits=commits, shape=shape, on_send=on_send)
    _establish(cluster)
    start = 0
    for number in range(SINGLE_OPERATIONS):
        messages.clear()
        delivered.clear()
        start = cluster.now
        cluster.request(LEADER, f"v{number}")
        _run(cluster)
        if len(delivered) < servers:
            raise Stuck
    judged.add(judge)
    return len(messages), delivered[LEADER] - start, max(delivered.values()) - start


def recovery(
    judged: VerdictCounts,
    servers: int,
    history: int,
    histories: str,
    disk: Disk | None,
    costs: Costs,
    outstanding: int,
    detect: int,
    protocol: Protocol = ZAB,
) -> RecoveryRow:
    """Measure the recovery after the leader crashes under load, once `outstanding` operations are delivered.

    All servers have `history` transactions before the load. The last server takes no part in the load, as nobody tells
    it who leads. `detect` nanoseconds after the crash all survivors are told to follow that server, which has the most
    to fetch. Stuck if it does not reach the broadcast phase. `servers` is 3 or more. O(outstanding × servers +
    history).
    """
    chain, before = committed(history)
    new = servers
    seen = _Recovery(before.fork(), chain.zxid.epoch, servers - 1, lambda: cluster.now)

    def show(event: Event) -> None:
        if seen.observe(event):
            load.on_delivered()
        elif type(event) is Broadcast and not seen.has_begun:
            load.on_broadcast()

    def on_send(sender: int, message: Message) -> None:
        seen.send(message, costs.bytes_of(message))

    cluster = Cluster(
        protocol,
        servers,
        costs,
        disk,
        show,
        histories=histories,
        outstanding=outstanding,
        history=chain,
        on_send=on_send,
    )
    load = Load(cluster, 2 * outstanding)
    _establish(cluster, list(range(1, servers)))
    load.begin()
    _run(cluster, lambda: len(load.delivered) >= outstanding)
    load.stop()
    cluster.crash(LEADER)
    waited: list[int] = []
    cluster.at(cluster.now + detect, waited.append, 1)
    _run(cluster, lambda: bool(waited))
    leader = cluster.processes.states[new]
    had, start, seen.has_begun = leader.history.length, cluster.now, True
    cluster.elect(new, [new, *range(2, servers)])
    _run(cluster, seen.is_over)
    end = cluster.now
    cluster.request(new, "after")  # so that the properties have two primaries to judge
    _run(cluster)
    judged.add(seen.judge)
    return RecoveryRow(
        servers=servers,
        history=history,
        histories=histories,
        lacked=leader.history.length - 1 - had,
        discovery_ns=seen.proposed[0] - start,
        synchronization_ns=seen.established[0] - seen.proposed[0],
        all_ns=end - start,
        sent=seen.sent,
    )


class _Recovery:
    """A recovery while it goes on: its moments, in nanoseconds, and the bytes that are sent until it is over."""

    def __init__(self, judge: Judge, first_epoch: int, survivors: int, now: Callable[[], int]) -> None:
        self.judge = judge
        self.first_epoch = first_epoch
        self.survivors = survivors
        self.now = now
        self.has_begun = False
        self.proposed: list[int] = []
        self.established: list[int] = []
        self.committed_epoch: list[int] = []
        self.sent = 0

    def is_over(self) -> bool:
        return len(self.committed_epoch) == self.survivors

    def observe(self, event: Event) -> bool:
        """Judge an event, and note its moment. Return True if the first leader delivers an operation of the load."""
        self.judge.observe(event)
        match event:
            case Establish() if self.has_begun:
                self.established.append(self.now())
            case CommitEpoch() if self.has_begun:
                self.committed_epoch.append(self.now())
            case Deliver():
                loaded = event.process == LEADER and event.txn.zxid.epoch > self.first_epoch
                return loaded and not self.has_begun
        return False

    def send(self, message: Message, size: int) -> None:
        """Note a message of `size` bytes."""
        if self.has_begun and not self.is_over():
            self.sent += size
            if type(message) is NewLeader:
                self.proposed.append(self.now())


@cache
def committed(length: int) -> tuple[Chain, Judge]:
    """Return `length` transactions that server 1 broadcast and delivered in epoch 1, and a judge that has seen it.

    After that server 1 crashed and recovered. Fork the judge before use, as it is shared. O(length), once.
    """
    judge = Judge([PROPERTIES[name] for name in SIX])
    chain = EMPTY
    for counter in range(1, length + 1):
        chain = chain.append(Txn(Zxid(1, counter), f"old{counter}"))
        judge.observe(Broadcast(LEADER, 0, 1, chain.txn))
        judge.observe(Deliver(LEADER, 0, chain.txn))
    if length:
        judge.observe(Crash(LEADER, 0, 0))
        judge.observe(Recover(LEADER, 1))
    return chain, judge


def _judge(servers: int) -> Judge:
    return Judge([PROPERTIES[name] for name in SIX], quorums=Quorums(servers))


def _establish(cluster: Cluster, members: list[int] | None = None) -> None:
    """Make server 1 the leader of `members`, or of all servers, and let time pass until nothing is left to happen."""
    cluster.elect(LEADER, list(cluster.ids) if members is None else members)
    cluster.run()
    if not cluster.processes.protocol.can_broadcast(cluster.processes.states[LEADER]):
        raise Stuck


def _run(cluster: Cluster, done: Callable[[], bool] | None = None) -> None:
    """Let time pass until `done`; Stuck if nothing is left to happen before that."""
    if not cluster.run(done):
        raise Stuck
