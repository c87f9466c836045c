"""The deterministic cluster of the db-19 lab: its clock, its heap of messages, its schedule of proposals, its dump.

The nodes take the same steps as in a search; here the clock decides which comes next. Time is counted in ticks. All
numbers are unsigned and of 64 bits; overflow wraps around.

Ticks in which nothing can happen are skipped: no message arrives, no timer runs out, no proposal is due, and none waits
while there is a leader to take it. So a run costs O(messages × log messages under way + nodes × other ticks), however
many ticks there are.

Source: the db-19 lab, "How does it work?". What its text leaves open is decided in the code that needs the decision;
docs/db19.md lists all decisions.
"""

import struct
from collections.abc import Callable, Collection, Iterator, Sequence
from hashlib import sha256
from heapq import heappop, heappush

from msgspec import Struct

import zabcheck.invariants as invariants
from zabcheck.invariants import Event, Receive
from zabcheck.invariants.quorums import Quorums
from zabcheck.protocols.base import Effect, Message, ProcessId, Request, ResetTimer, Send, Started, TimedOut
from zabcheck.protocols.db19 import DB19
from zabcheck.protocols.db19.broadcast import can_broadcast
from zabcheck.protocols.db19.node import Node, Role, start
from zabcheck.protocols.switches import LETTER

BITS = 2**64 - 1
"""The highest number; what goes beyond it wraps around."""
MAGIC = b"DSEZAB01"
HEARTBEAT = 50
"""Ticks from one heartbeat of a leader to the next."""
ELECTION = 150
"""The least number of ticks that a node waits for its leader; the jitter added is below the same number."""
DELAYS = 3
"""The greatest number of ticks that a message takes; the least is 1."""

_STARTED, _TIMED_OUT = Started(), TimedOut()
_NEVER = BITS + 1


def splitmix64(x: int) -> int:
    """The lab's mixing function. Its first factor ends in E7B5; the usual one ends in E5B9."""
    x = (x + 0x9E3779B97F4A7C15) & BITS
    z = ((x ^ (x >> 30)) * 0xBF58476D1CE4E7B5) & BITS
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & BITS
    return z ^ (z >> 31)


class Setting(Struct, frozen=True):
    """The parameters of a run.

    `partition` has the links, (from, to) by the lab's ids, on which every message is lost.
    """

    seed: int
    nodes: int
    rounds: int
    proposals: int
    partition: Collection[tuple[int, int]] = ()


class Proposals:
    """The payloads of clients. Number i of K, from 0 on, becomes pending at tick (i+1) × rounds / (K+1)."""

    __slots__ = ("_order", "_proposals", "_rounds", "due", "proposed")

    def __init__(self, rounds: int, proposals: int) -> None:
        self._rounds = rounds
        self._proposals = proposals
        # In the order of their ticks, which is that of their numbers unless a product overflows.
        self._order: Sequence[int] = range(proposals)
        if proposals * rounds > BITS:
            self._order = sorted(self._order, key=self.tick_of)
        self.due = self.proposed = 0

    def tick_of(self, number: int) -> int:
        """Return the tick at which this payload is due."""
        return ((number + 1) * self._rounds & BITS) // (self._proposals + 1)

    @property
    def next(self) -> int:
        """The tick at which the next payload becomes due; later than all ticks if there is none."""
        return self.tick_of(self._order[self.due]) if self.due < self._proposals else _NEVER

    @property
    def pending(self) -> bool:
        return self.proposed < self.due

    def enqueue(self, t: int) -> None:
        """Make the payloads pending that are due at tick `t`."""
        while self.next == t:
            self.due += 1

    def take(self) -> str:
        """Remove and return the payload that has been pending longest."""
        assert self.pending
        self.proposed += 1
        return f"zab-{self._order[self.proposed - 1]}"


class Cluster:
    """A run of the lab's cluster.

    `show` is called with each event; with `network` also with those for messages sent and received. The constructor
    does what comes before the first tick.
    """

    def __init__(self, setting: Setting, show: Callable[[Event], None], *, network: bool = False) -> None:
        assert setting.nodes >= 1
        self.setting = setting
        self.show = show
        self.network = network
        self.messages = 0  # the number of messages put on the heap, and so the number of the next one
        self._seed = setting.seed
        self._partition = frozenset((sender + 1, to + 1) for sender, to in setting.partition)
        self._heap: list[tuple[int, ProcessId, int, ProcessId, Message]] = []
        self._steps = DB19.steps
        quorums = Quorums(setting.nodes)
        self.nodes = [start(process, 1, quorums, {}, LETTER) for process in range(1, setting.nodes + 1)]
        self._due = [0] * setting.nodes  # the tick at which the timer of each node runs out
        self.proposals = Proposals(setting.rounds, setting.proposals)
        for node in self.nodes:
            self._step(node, node.id, _STARTED, 0)

    # Time.

    def ticks(self) -> Iterator[int]:
        """Run the ticks in which something can happen, and yield each one when it is over."""
        rounds = self.setting.rounds
        t = 0
        while t < rounds:
            self.tick(t)
            yield t
            t = self._next(t)

    def tick(self, t: int) -> None:
        """Run one round of the lab's simulator loop."""
        self.proposals.enqueue(t)
        if self.proposals.pending:
            self._inject(t)
        heap = self._heap
        while heap and heap[0][0] <= t:
            _, sender, number, to, message = heappop(heap)
            if self.network:
                self.show(Receive(to, 1, sender, number))
            self._step(self.nodes[to - 1], sender, message, t)
        for index, due in enumerate(self._due):
            if due <= t:
                node = self.nodes[index]
                self._step(node, node.id, _TIMED_OUT, t)

    def _next(self, t: int) -> int:
        """Return the next tick after `t` in which something can happen."""
        soonest = min(self.proposals.next, *self._due)
        if self._heap:
            soonest = min(soonest, self._heap[0][0])
        if self.proposals.pending and self._primary() is not None:
            soonest = t + 1
        assert soonest > t, "a timer that has run out is started again, and no message arrives when it is sent"
        return soonest

    # Clients.

    def _primary(self) -> Node | None:
        """Return the node with the lowest id that leads and is synced, if there is one."""
        return next((node for node in self.nodes if can_broadcast(node)), None)

    def _inject(self, t: int) -> None:
        """Have the primary propose all pending payloads; without a primary they wait."""
        primary = self._primary()
        if primary is None:
            return
        while self.proposals.pending:
            self._step(primary, primary.id, Request(self.proposals.take()), t)

    # Steps.

    def _step(self, node: Node, sender: ProcessId, stimulus: object, t: int) -> None:
        effects: list[Effect] = self._steps[type(stimulus)](node, sender, stimulus)  # type: ignore[index]  # it has all
        for effect in effects:
            kind = type(effect)
            if kind is Send:
                self._send(node.id, effect, t)  # type: ignore[arg-type]  # it is a Send
            elif kind is ResetTimer:
                self._due[node.id - 1] = self._deadline(node, t)
            else:
                self.show(effect)  # type: ignore[arg-type]  # the other effects are events

    def _deadline(self, node: Node, t: int) -> int:
        """Return the tick at which the timer of `node` runs out if it starts at tick `t`."""
        if node.role is Role.LEADING:
            return t + HEARTBEAT
        return t + ELECTION + splitmix64(self._seed ^ (node.id - 1) ^ t) % ELECTION

    def _send(self, sender: ProcessId, effect: Send, t: int) -> None:
        """Put a message on the heap, unless its link is in the partition."""
        to = effect.to
        if (sender, to) in self._partition:
            return
        delivery = t + 1 + splitmix64(self._seed ^ (sender - 1) ^ (to - 1) ^ t) % DELAYS
        heappush(self._heap, (delivery, sender, self.messages, to, effect.message))
        if self.network:
            self.show(invariants.Send(sender, 1, to, self.messages, *DB19.show(effect.message)))
        self.messages += 1

    # The result.

    def dump(self) -> Iterator[bytes]:
        """Yield the canonical dump in pieces: the magic and the number of nodes, then each node."""
        yield MAGIC + struct.pack("<I", len(self.nodes))
        for node in self.nodes:
            yield _of_node(node)

    def digest(self) -> str:
        """Return the SHA-256 of the dump in lowercase hexadecimal: the result of the lab's command."""
        hashed = sha256()
        for piece in self.dump():
            hashed.update(piece)
        return hashed.hexdigest()


def _of_node(node: Node) -> bytes:
    """Return one node as bytes of the dump."""
    last, committed = node.history.zxid, node.last_committed
    pieces = [
        struct.pack(
            "<IBIIIIIII",
            node.id - 1,
            node.role,
            node.current_epoch,
            node.accepted_epoch,
            last.epoch,
            last.counter,
            committed.epoch,
            committed.counter,
            node.history.chain.length,
        )
    ]
    for txn in node.history.chain:
        payload = txn.value.encode()
        pieces.append(struct.pack("<III", txn.zxid.epoch, txn.zxid.counter, len(payload)) + payload)
    return b"".join(pieces)
