"""Servers in simulated time: the processes of the simulator, with a clock in place of choices.

This is a discrete-event simulation: events wait in a heap, ordered by their time and then by the order in which they
were planned. So the same cluster does the same on every machine, to the nanosecond.

The protocol's steps, the handling of their effects, and the connections are those of `zabcheck.simulation`. This module
only decides when a message arrives, and when a disk has synced.
"""

from collections.abc import Callable, Mapping
from heapq import heappop, heappush
from typing import Any

from zabcheck.invariants import EMPTY, Chain, Event
from zabcheck.invariants.quorums import Quorums
from zabcheck.papers.evaluation.costs import Costs, Disk, appended
from zabcheck.protocols.base import Elected, Message, Protocol, Request
from zabcheck.protocols.switches import COUNTER_LIMIT, ZabSwitches
from zabcheck.simulation.channels import Channels
from zabcheck.simulation.network import Parcel
from zabcheck.simulation.processes import Processes

SHAPES = ("star", "tree", "chain")
"""The ways of PROPOSE and COMMIT from the leader (DSN 2011, VII): the values of the switch `dissemination`."""
NEVER = 1 << 62
"""Later than anything, in nanoseconds."""


class Cluster:
    """Servers 1 to `servers`, up and not yet told who leads.

    If `disk` is None, servers write nothing and forget nothing. A leader has up to `outstanding` proposals that are not
    committed, and lets further requests wait. With `commits` "acks" servers count ACKs for themselves (LADIS 2008,
    4.1). PROPOSE and COMMIT take the way of `shape`, one of `SHAPES`. `show` is called with each event, `on_send` with
    the sender and the message when something is sent. Every server begins with `history` in its log, and in a snapshot
    of its application; server 1 has committed it in an earlier incarnation, whose events are not shown.
    """

    def __init__(
        self,
        protocol: Protocol,
        servers: int,
        costs: Costs,
        disk: Disk | None,
        show: Callable[[Event], None],
        *,
        histories: str = "full",
        outstanding: int = COUNTER_LIMIT,
        commits: str = "leader",
        shape: str = "star",
        history: Chain = EMPTY,
        on_send: Callable[[int, Message], None] | None = None,
    ) -> None:
        self.ids = range(1, servers + 1)
        self.costs = costs
        self.disk = disk
        self.show = show
        self.on_send = on_send
        self.now = 0
        self._heap: list[tuple[int, int, Callable[..., None], tuple[Any, ...]]] = []
        self._planned = 0
        # Lists by server; entry 0 is not used.
        self.syncs = [0] * (servers + 1)  # how often the disk has synced
        self._sending = [0] * (servers + 1)  # how long the network card takes to send all it was ever given
        self._syncing = [0] * (servers + 1)  # how long the disk takes for all its syncs so far
        self._out_free = [0] * (servers + 1)  # when the network card will have sent all it has to send
        self._in_free = [0] * (servers + 1)  # when the network card will have received all that has arrived
        self._cpu_free = [0] * (servers + 1)
        self._down_since = [NEVER] * (servers + 1)
        self._disk_free = [0] * (servers + 1)
        self._in_sync = [0] * (servers + 1)  # how many writes the disk is syncing
        self._written = [history] * (servers + 1)  # the log, with writes that are not synced yet
        self._lost: set[int] = set()  # messages that closed connections have lost; never iterated
        quorums = Quorums(servers)
        sync = "atomic" if disk is None else "separate"
        settings = {"sync": sync, "histories": histories, "commits": commits, "dissemination": shape}
        switches = ZabSwitches(outstanding=outstanding, **settings)  # type: ignore[arg-type]  # literals
        self.channels = _TimedChannels(servers, self)
        self.processes = Processes(protocol, quorums, switches, show, self.channels, None, network=False)
        for server in self.ids:
            if history:
                self.processes.incarnations[server] = 1
                epoch = history.zxid.epoch
                durable = {"accepted_epoch": epoch, "current_epoch": epoch, "history": history, "snapshot": history}
                self.processes.disks[server].write(durable)
            self.processes.start(server)

    # What is done to it.

    def at(self, time: int, function: Callable[..., None], *arguments: Any) -> None:
        """Plan a call of `function` for a time, after the calls that were planned for the same time before."""
        assert time >= self.now, "the past is over"
        self._planned += 1
        heappush(self._heap, (time, self._planned, function, arguments))

    def run(self, done: Callable[[], bool] | None = None) -> bool:
        """Let time pass until `done`, or until nothing is left to happen. Return whether it is done."""
        heap = self._heap
        while heap:
            if done is not None and done():
                return True
            self.now, _, function, arguments = heappop(heap)
            function(*arguments)
        return done is None or done()

    def elect(self, leader: int, members: list[int]) -> None:
        """Let the oracles of all `members` name the leader, all at once."""
        for server in members:
            self.processes.handle(server, server, Elected(leader))
            self._look_at_disk(server)

    def request(self, leader: int, value: str) -> None:
        """Hand a client's operation to the leader. The way from the client takes no time."""
        self.processes.handle(leader, leader, Request(value))
        self._look_at_disk(leader)

    def forward(self, server: int, leader: int, value: str) -> None:
        """Hand a client's operation to a follower, which sends it on to the leader. The way from the client is free."""
        self._transfer(server, leader, self.costs.header + self.costs.size, self.request, leader, value)

    def crash(self, server: int) -> None:
        """Stop the server. Unsynced writes are lost, and so are bytes that its network card has not sent."""
        self._down_since[server] = self.now
        self.processes.crash(server, 0)

    # What can be asked.

    def sent_for(self, server: int) -> int:
        """Return how long the server's network card has been sending until now, in nanoseconds."""
        return self._sending[server] - max(0, self._out_free[server] - self.now)

    def synced_for(self, server: int) -> int:
        """Return how long the server's disk has been syncing until now, in nanoseconds."""
        return self._syncing[server] - max(0, self._disk_free[server] - self.now)

    # The network.

    def send(self, sender: int, to: int, message: Message, number: int) -> None:
        """Send a message that the channels have accepted on its way."""
        if self.on_send is not None:
            self.on_send(sender, message)
        self._transfer(sender, to, self.costs.bytes_of(message), self._receive, to, sender, number)

    def lose(self, parcels: list[Parcel]) -> None:
        """Note that these messages, which are under way, are lost: nobody will handle them."""
        self._lost.update(number for _, number in parcels)

    def _transfer(self, sender: int, to: int, size: int, function: Callable[..., None], *arguments: Any) -> None:
        """Send `size` bytes, and plan a call of `function` for when `to` has received and handled them."""
        takes = self.costs.on_the_wire(size)
        sent = max(self.now, self._out_free[sender]) + takes
        self._out_free[sender] = sent
        self._sending[sender] += takes
        self.at(sent + self.costs.ping // 2, self._arrive, sender, sent, to, takes, function, arguments)

    def _arrive(
        self, sender: int, sent: int, to: int, takes: int, function: Callable[..., None], arguments: tuple[Any, ...]
    ) -> None:
        """Let the last bit arrive, later if the receiver's network card is busy with what others sent."""
        if sent > self._down_since[sender]:
            return  # the sender went down before the message had left
        received = self._in_free[to] = max(self.now, self._in_free[to] + takes)
        handled = self._cpu_free[to] = max(received, self._cpu_free[to]) + self.costs.cpu
        self.at(handled, function, *arguments)

    def _receive(self, server: int, sender: int, number: int) -> None:
        if number in self._lost or self.processes.states[server] is None:
            return
        parcel = self.channels.take(server, sender)
        assert parcel is not None, "what was sent on a connection that is open can be received"
        assert parcel[1] == number, "messages of a connection arrive in order"
        self.processes.handle(server, sender, parcel[0])
        self._look_at_disk(server)

    def cast(self, sender: int, to: int, message: Message, number: int) -> None:
        """Send a message outside of connections on its way."""
        if self.on_send is not None:
            self.on_send(sender, message)
        self._transfer(sender, to, self.costs.bytes_of(message), self._hear, to, sender, number)

    def _hear(self, server: int, sender: int, number: int) -> None:
        if self.processes.states[server] is None:
            return
        parcel = self.channels.casts.take(server, sender)
        assert parcel is not None, "no message is lost while its receiver is up"
        assert parcel[1] == number, "messages of a link arrive in order"
        self.processes.handle(server, sender, parcel[0])
        self._look_at_disk(server)

    # The disks.

    def _look_at_disk(self, server: int) -> None:
        """Begin to sync all writes, if there are any and the disk is idle."""
        unsynced = self.processes.disks[server].unsynced
        if self.disk is None or not unsynced or self._in_sync[server]:
            return
        takes = self.disk.takes(sum(self._bytes_of_write(server, write.fields) for write in unsynced))
        self._in_sync[server] = len(unsynced)
        self._syncing[server] += takes
        self.syncs[server] += 1
        self._disk_free[server] = self.now + takes
        self.at(self._disk_free[server], self._synced, server)

    def _bytes_of_write(self, server: int, fields: Mapping[str, Any]) -> int:
        """Return the size of a write: a header for each variable, and for each new transaction in the log."""
        log = fields.get("history")
        if log is None:
            return self.costs.header * len(fields)
        before, self._written[server] = self._written[server], log
        return self.costs.header * (len(fields) - 1) + (self.costs.header + self.costs.size) * appended(before, log)

    def _synced(self, server: int) -> None:
        if self.processes.states[server] is None:
            return
        count, self._in_sync[server] = self._in_sync[server], 0
        for write in self.processes.disks[server].sync(count):
            self.processes.perform(server, write.withheld)
        self._look_at_disk(server)


class _TimedChannels(Channels):
    """Connections on which messages take time."""

    __slots__ = ("cluster",)

    def __init__(self, processes: int, cluster: Cluster) -> None:
        super().__init__(processes, cluster.lose)
        self.cluster = cluster

    def send(self, process: int, to: int, message: Message) -> int:
        number = super().send(process, to, message)
        if number:
            self.cluster.send(process, to, message, number)
        return number

    def cast(self, process: int, to: int, message: Message) -> int:
        number = super().cast(process, to, message)
        if number:
            self.cluster.cast(process, to, message, number)
        return number
