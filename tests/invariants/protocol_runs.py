"""Small runs of a correct Zab, in a few strokes, from which random protocol traces are made."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from random import Random

from invariants import (
    Accept,
    AckEpoch,
    Adopt,
    Broadcast,
    CommitEpoch,
    Crash,
    Deliver,
    Establish,
    Event,
    Promise,
    Recover,
    Stabilised,
    State,
    Txn,
    Zxid,
)
from tests.invariants.builders import restore, told


@dataclass
class Node:
    """A process of the run."""

    process: int
    incarnation: int = 0
    promised: int = 0
    current: int = 0
    history: list[Txn] = field(default_factory=list)
    delivered: list[Txn] = field(default_factory=list)
    follows: bool = False
    """True if it is in the broadcast phase of the run's epoch."""

    @property
    def actor(self) -> tuple[int, int]:
        return self.process, self.incarnation


class Run:
    """A run that is correct as long as nobody calls a defect."""

    def __init__(self, rng: Random) -> None:
        self.rng = rng
        self.nodes = [Node(process) for process in range(1, rng.choice((1, 2, 3, 3, 3, 4)) + 1)]
        self.epoch = 0
        self.leader: Node | None = None
        self.log: list[Txn] = []
        """I_e ∘ β_e of the epoch under way."""
        self.committed = 0
        """The number of these that may be delivered."""
        self.events: list[Event] = []
        self.defects: set[str] = set()

    # What a correct run does.

    def step(self) -> None:
        actions: list[Callable[[], object]] = [self.broadcast] * 4 + [self.accept] * 9 + [self.deliver] * 7
        actions += [self.join] * 2 + [self.new_epoch, self.crash, self.state, self.state]
        self.rng.choice(actions)()

    def new_epoch(self) -> None:
        """A quorum promises and answers, adopts the latest history of them, and is told that the epoch is committed."""
        quorum = self.rng.sample(self.nodes, self.rng.randint(len(self.nodes) // 2 + 1, len(self.nodes)))
        self.abandon()
        self.epoch = max(node.promised for node in self.nodes) + self.rng.choice((1, 1, 1, 2))
        for node in quorum:
            self.promise(node)
            self.ack_epoch(node)
        if self.rng.random() < 0.1:
            return
        self.log = list(max(quorum, key=lambda node: (node.current, told(node.history)[0])).history)
        self.committed = len(self.log)
        for node in quorum:
            self.adopt(node)
        self.leader = quorum[0]
        self.events.append(Establish(*self.leader.actor, self.epoch))
        for node in quorum:
            self.commit_epoch(node)

    def abandon(self) -> None:
        self.leader = None
        for node in self.nodes:
            node.follows = False

    def promise(self, node: Node) -> None:
        if node.promised < self.epoch:
            node.promised = self.epoch
            self.events.append(Promise(*node.actor, self.epoch))

    def ack_epoch(self, node: Node) -> None:
        self.events.append(AckEpoch(*node.actor, self.epoch, node.current, *told(node.history)))

    def adopt(self, node: Node) -> None:
        node.current, node.history = self.epoch, list(self.log)
        self.events.append(Adopt(*node.actor, self.epoch, *told(node.history)))

    def commit_epoch(self, node: Node) -> None:
        node.follows = True
        self.events.append(CommitEpoch(*node.actor, self.epoch))
        if node.delivered != node.history[: len(node.delivered)]:
            node.delivered = []
        if node is not self.leader and self.rng.random() < 0.3:
            self.take_over(node)
        while (node is self.leader or self.rng.random() < 0.5) and self.deliver(node):
            pass

    def take_over(self, node: Node) -> None:
        """A snapshot of the leader's in place of the deliveries."""
        delivered = [] if self.leader is None else self.leader.delivered
        if len(delivered) > len(node.delivered) and node.history[: len(delivered)] == delivered:
            self.restore(node, delivered[: self.rng.randint(len(node.delivered), len(delivered))])

    def join(self) -> None:
        """A follower joins late, perhaps one that has been there before."""
        node = self.rng.choice(self.nodes)
        if self.leader is None or node is self.leader or node.promised > self.epoch:
            return
        if node.promised < self.epoch:
            self.promise(node)
            self.ack_epoch(node)
        node.follows = False
        self.adopt(node)
        self.commit_epoch(node)

    def broadcast(self) -> bool:
        if self.leader is None:
            self.new_epoch()
            return False
        self.broadcasts(self.leader, self.new_txn())
        return True

    def new_txn(self) -> Txn:
        last = told(self.log)[0]
        return Txn(Zxid(self.epoch, last.counter + 1 if last.epoch == self.epoch else 1), self.rng.choice("vw"))

    def broadcasts(self, node: Node, txn: Txn) -> None:
        self.events.append(Broadcast(*node.actor, self.epoch, txn))
        self.log.append(txn)

    def accept(self, node: Node | None = None) -> bool:
        followers = self.followers()
        if node is None and not followers:
            return False
        node = node or self.rng.choice(followers)
        if node.history != self.log[: len(node.history)] or len(node.history) == len(self.log):
            return False
        self.accepts(node, self.log[len(node.history)])
        holders = sum(len(each.history) >= len(node.history) for each in followers)
        if 2 * holders > len(self.nodes):
            self.committed = max(self.committed, len(node.history))
        return True

    def accepts(self, node: Node, txn: Txn) -> None:
        node.history.append(txn)
        self.events.append(Accept(*node.actor, self.epoch, txn))

    def followers(self) -> list[Node]:
        return [node for node in self.nodes if node.follows]

    def deliver(self, node: Node | None = None) -> bool:
        followers = self.followers()
        if node is None and not followers:
            return False
        node = node or self.rng.choice(followers)
        missing = self.missing(node)
        if missing:
            self.delivers(node, missing[0])
        return bool(missing)

    def missing(self, node: Node) -> list[Txn]:
        return [txn for txn in node.history[: self.committed] if txn not in node.delivered]

    def delivers(self, node: Node, txn: Txn) -> None:
        if txn not in node.delivered:
            node.delivered.append(txn)
        self.events.append(Deliver(*node.actor, txn))

    def crash(self, node: Node | None = None) -> None:
        node = node or self.rng.choice(self.nodes)
        if self.rng.random() < 0.6:
            self.events.append(Crash(*node.actor))
        if node is self.leader:
            self.abandon()
        node.follows = False
        node.incarnation += 1
        if self.rng.random() < 0.6:
            self.events.append(Recover(*node.actor))
        taken = node.delivered[: self.rng.randint(0, len(node.delivered))]
        node.delivered = []
        if taken and self.rng.random() < 0.5:
            self.restore(node, taken)

    def restore(self, node: Node, prefix: Sequence[Txn]) -> None:
        self.events.append(restore(node.process, *prefix, incarnation=node.incarnation))
        node.delivered = list(prefix)

    def state(self) -> None:
        node = self.rng.choice(self.nodes)
        self.events.append(State(*node.actor, *told(node.delivered)))

    def stabilise(self) -> None:
        """The environment keeps its promise: everybody joins, and what is broadcast then gets everywhere."""
        if self.leader is None:
            self.new_epoch()
        leader = self.leader
        if leader is None:
            return
        for node in self.nodes:
            if not node.follows and node.promised <= self.epoch:
                self.promise(node)
                self.adopt(node)
                self.commit_epoch(node)
        self.events.append(Stabilised(*leader.actor, tuple(node.process for node in self.followers())))
        for _ in range(self.rng.randint(1, 2)):
            self.broadcasts(leader, self.new_txn())
        for step in (self.accept, self.deliver):
            for node in self.followers():
                while step(node):
                    pass
        if self.rng.random() < 0.3:
            self.state()
