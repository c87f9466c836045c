"""Random protocol traces: small runs of a correct Zab, in a few strokes, with defects of every kind put in."""

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
    Halt,
    Promise,
    Recover,
    Stabilised,
    State,
    Txn,
    Zxid,
)
from tests.invariants.builders import restore, told
from tests.invariants.traces import RandomTrace

LONGEST = 150


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
    """Whether it is in the broadcast phase of the run's epoch."""

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
        """How many of these may be delivered."""
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
        self._broadcast(self.leader, self.new_txn())
        return True

    def new_txn(self) -> Txn:
        last = told(self.log)[0]
        return Txn(Zxid(self.epoch, last.counter + 1 if last.epoch == self.epoch else 1), self.rng.choice("vw"))

    def _broadcast(self, node: Node, txn: Txn) -> None:
        self.events.append(Broadcast(*node.actor, self.epoch, txn))
        self.log.append(txn)

    def accept(self, node: Node | None = None) -> bool:
        followers = self.followers()
        if node is None and not followers:
            return False
        node = node or self.rng.choice(followers)
        if node.history != self.log[: len(node.history)] or len(node.history) == len(self.log):
            return False
        self._accept(node, self.log[len(node.history)])
        holders = sum(len(each.history) >= len(node.history) for each in followers)
        if 2 * holders > len(self.nodes):
            self.committed = max(self.committed, len(node.history))
        return True

    def _accept(self, node: Node, txn: Txn) -> None:
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
            self._deliver(node, missing[0])
        return bool(missing)

    def missing(self, node: Node) -> list[Txn]:
        return [txn for txn in node.history[: self.committed] if txn not in node.delivered]

    def _deliver(self, node: Node, txn: Txn) -> None:
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
            self._broadcast(leader, self.new_txn())
        for step in (self.accept, self.deliver):
            for node in self.followers():
                while step(node):
                    pass
        if self.rng.random() < 0.3:
            self.state()

    # Defects. Each returns whether it could be put in.

    def accept_of_another_epoch(self) -> bool:
        if not self.followers() or not self.log:
            return False
        node = self.rng.choice(self.followers())
        self.events.append(Accept(*node.actor, self.epoch + self.rng.choice((-1, 1)), self.rng.choice(self.log)))
        return True

    def accept_before_adopting(self) -> bool:
        node = self.rng.choice(self.nodes)
        epoch = max(node.current, node.promised) + 1
        self.events.append(Accept(*node.actor, epoch, Txn(Zxid(epoch, 1), "early")))
        return True

    def accept_again(self) -> bool:
        """Something that is in the history already, or behind a gap."""
        node = self.rng.choice(self.nodes)
        if not node.current or not self.log:
            return False
        self.events.append(Accept(*node.actor, node.current, self.rng.choice(self.log)))
        return True

    def swapped_deliveries(self) -> bool:
        node = self.with_two_to_deliver()
        if node is None:
            return False
        first, second, *_ = self.missing(node)
        self._deliver(node, second)
        self._deliver(node, first)
        return True

    def skipped_delivery(self) -> bool:
        node = self.with_two_to_deliver()
        if node is None:
            return False
        self._deliver(node, self.missing(node)[-1])
        return True

    def with_two_to_deliver(self) -> Node | None:
        if self.leader is None:
            return None
        for _ in range(2):
            self.broadcast()
        for node in self.followers():
            while self.accept(node):
                pass
        nodes = [node for node in self.followers() if len(self.missing(node)) > 1]
        return self.rng.choice(nodes) if nodes else None

    def delivered_again(self) -> bool:
        while self.leader is not None and self.deliver():
            pass
        nodes = [node for node in self.nodes if node.delivered]
        if not nodes:
            return False
        node = self.rng.choice(nodes)
        self._deliver(node, self.rng.choice(node.delivered[-2:]))
        return True

    def ack_epoch_without_a_promise(self) -> bool:
        node = self.rng.choice(self.nodes)
        epoch = node.promised + self.rng.choice((1, 2))
        self.events.append(AckEpoch(*node.actor, epoch, node.current, *told(node.history)))
        return True

    def broken_promise(self) -> bool:
        node = self.rng.choice(self.nodes)
        if not node.current:
            return False
        self.events.append(Promise(*node.actor, node.promised + 1))
        node.promised += 1
        if self.log and self.rng.random() < 0.6:
            self.events.append(Accept(*node.actor, node.current, self.new_txn()))
        else:
            self.events.append(Adopt(*node.actor, node.current, *told(node.history)))
        return True

    def altered_ack_epoch(self) -> bool:
        node = self.rng.choice(self.nodes)
        self.epoch_to_promise(node)
        self.events.append(AckEpoch(*node.actor, node.promised, node.current, *self.altered(node.history)))
        return True

    def epoch_to_promise(self, node: Node) -> None:
        node.follows = False
        if node is self.leader:
            self.abandon()
        node.promised = max(node.promised, self.epoch) + 1
        self.events.append(Promise(*node.actor, node.promised))

    def altered(self, txns: list[Txn]) -> tuple[Zxid, int, int]:
        zxid, length, value = told(txns)
        ghost = Txn(Zxid(zxid.epoch, zxid.counter + 1), "ghost")
        wrong = (
            told(txns[:-1]),
            told(txns[1:]),
            told(txns[::-1]),
            told([*txns, ghost]),
            (zxid, length, value ^ 1),
            (zxid, length + 1, value),
            (Zxid(9, 9), length, value),
        )
        return self.rng.choice([each for each in wrong if each != told(txns)])

    def altered_initial_history(self) -> bool:
        node = self.rng.choice(self.nodes)
        if self.leader is None or node.promised > self.epoch:
            return False
        self.promise(node)
        node.current, node.history = self.epoch, list(self.log)
        self.events.append(Adopt(*node.actor, self.epoch, *self.altered(self.log)))
        if self.rng.random() < 0.5:
            self.commit_epoch(node)
        return True

    def history_of_nobody(self) -> bool:
        """An epoch for which nobody provided anything."""
        node = self.rng.choice(self.nodes)
        self.epoch_to_promise(node)
        node.current = node.promised
        self.events.append(Adopt(*node.actor, node.current, *told(node.history)))
        return True

    def second_leader(self) -> bool:
        if self.leader is None:
            return False
        node = self.rng.choice(self.nodes)
        self.events.append(Establish(*node.actor, self.epoch))
        return node is not self.leader

    def led_again(self) -> bool:
        """A leader that crashed is established for its epoch again."""
        if self.leader is None:
            return False
        leader = self.leader
        self.crash(leader)
        self.events.append(Establish(*leader.actor, self.epoch))
        return True

    def two_values(self) -> bool:
        if not self.log:
            return False
        twin = Txn(self.rng.choice(self.log).zxid, "twin")
        node = self.rng.choice(self.nodes)
        show: Sequence[Event] = (
            Broadcast(*node.actor, self.epoch, twin),
            Deliver(*node.actor, twin),
            Accept(*node.actor, self.epoch, twin),
        )
        self.events += self.rng.sample(show, self.rng.randint(1, 2))
        return True

    def two_broadcasters(self) -> bool:
        others = [node for node in self.nodes if node is not self.leader]
        if not self.epoch or not others:
            return False
        txn = self.rng.choice(self.log) if self.log and self.rng.random() < 0.5 else self.new_txn()
        epoch = self.epoch + self.rng.choice((0, 0, 1))
        self.events.append(Broadcast(*self.rng.choice(others).actor, epoch, txn))
        return True

    def broadcast_again(self) -> bool:
        own = [e for e in self.events if self.leader is not None and isinstance(e, Broadcast) and e.epoch == self.epoch]
        if not own or self.leader is None:
            return False
        self.events.append(Broadcast(*self.leader.actor, self.epoch, self.rng.choice(own).txn))
        return True

    def descending_zxids(self) -> bool:
        if self.leader is None or not self.log:
            return False
        txn = self.new_txn()
        self._broadcast(self.leader, Txn(Zxid(self.epoch, txn.zxid.counter + 1), "v"))
        self._broadcast(self.leader, txn)
        return True

    def done_before_broadcast(self) -> bool:
        """The order of the file is not the order in time."""
        followers = [node for node in self.followers() if node.history == self.log]
        if self.leader is None or not followers:
            return False
        txn = self.new_txn()
        for node in followers:
            self._accept(node, txn)
            self._deliver(node, txn)
        self.log.append(txn)
        self.committed = len(self.log)
        if self.rng.random() < 0.8:
            self.events.append(Broadcast(*self.leader.actor, self.epoch, txn))
        return True

    def delivered_alone(self) -> bool:
        if self.leader is None or len(self.nodes) == 1:
            return False
        self.broadcast()
        while self.accept(self.leader):
            pass
        self._deliver(self.leader, self.leader.history[-1])
        return True

    def accepted_by_few_in_each_epoch(self) -> bool:
        """By every process, but by no quorum in one epoch."""
        if self.leader is None:
            return False
        txn = self.new_txn()
        last = self.epoch + self.rng.choice((0, 0, 1, 2))
        for node in self.rng.sample(self.nodes, self.rng.randint(0, len(self.nodes))):
            self.events.append(Accept(*node.actor, self.rng.randint(self.epoch, last), txn))
        for node in self.rng.sample(self.nodes, self.rng.randint(1, len(self.nodes))):
            self.events.append(Deliver(*node.actor, txn))
        return True

    def accept_not_shown(self) -> bool:
        """What the histories that go on from there hold is not known."""
        followers = [node for node in self.followers() if node.history == self.log[: len(node.history)]]
        if self.leader is None or not followers:
            return False
        self.broadcast()
        node = self.rng.choice(followers)
        shown = self.events.copy()
        while self.accept(node):
            pass
        self.events = shown
        return True

    def phase_begun_again(self) -> bool:
        node = self.rng.choice(self.nodes)
        self.events.append(CommitEpoch(*node.actor, max(1, self.epoch + self.rng.choice((0, 0, 1)))))
        return True

    def restore_in_between(self) -> bool:
        node, other = self.rng.choice(self.nodes), self.rng.choice(self.nodes)
        taken = other.delivered[: self.rng.randint(0, len(other.delivered))]
        self.restore(node, [*taken, Txn(Zxid(9, 9), "never")] if self.rng.random() < 0.3 else taken)
        return True

    def stabilised_too_early(self) -> bool:
        """Nobody sees to it that what follows gets anywhere."""
        node = self.leader or self.rng.choice(self.nodes)
        quorum = self.rng.sample(self.nodes, len(self.nodes) // 2 + 1)
        self.events.append(Stabilised(*node.actor, tuple(each.process for each in quorum)))
        return True

    def restarted_after_all(self) -> bool:
        """A process loses what it had, or stops."""
        node = self.rng.choice(self.nodes)
        if self.rng.random() < 0.3:
            self.events.append(Halt(*node.actor, "enough"))
            return True
        self.crash(node)
        return True

    def diverging_state(self) -> bool:
        node = self.rng.choice(self.nodes)
        zxid, length, digest = told(node.delivered)
        self.events.append(State(*node.actor, zxid, length, digest))
        self.events.append(State(*self.rng.choice(self.nodes).actor, zxid, length, digest ^ self.rng.choice((1, 2))))
        return True


DEFECTS: dict[str, Callable[[Run], bool]] = {
    defect.__name__: defect
    for defect in (
        Run.accept_of_another_epoch,
        Run.accept_before_adopting,
        Run.accept_again,
        Run.swapped_deliveries,
        Run.skipped_delivery,
        Run.delivered_again,
        Run.ack_epoch_without_a_promise,
        Run.broken_promise,
        Run.altered_ack_epoch,
        Run.altered_initial_history,
        Run.history_of_nobody,
        Run.second_leader,
        Run.led_again,
        Run.two_values,
        Run.two_broadcasters,
        Run.broadcast_again,
        Run.descending_zxids,
        Run.done_before_broadcast,
        Run.delivered_alone,
        Run.accepted_by_few_in_each_epoch,
        Run.accept_not_shown,
        Run.phase_begun_again,
        Run.restore_in_between,
        Run.stabilised_too_early,
        Run.restarted_after_all,
        Run.diverging_state,
    )
}


def random_protocol_trace(seed: int) -> RandomTrace:
    """The trace of this seed: 150 events at most, 4 processes at most, none to all kinds of defect."""
    rng = Random(seed)
    run = Run(rng)
    size = rng.choice((rng.randint(1, 8), rng.randint(5, 45), rng.randint(20, 45), rng.randint(20, 45)))
    kinds = rng.sample(list(DEFECTS), rng.choice((0, 1, 1, 2, 2, 3, 5)))
    while len(run.events) < size:
        if kinds and rng.random() < 0.2:
            kind = rng.choice(kinds)
            if DEFECTS[kind](run):
                run.defects.add(kind)
        else:
            run.step()
    if size > 8 and rng.random() < 0.7:
        run.stabilise()
        if kinds and rng.random() < 0.9:
            kind = rng.choice(kinds)
            if DEFECTS[kind](run):
                run.defects.add(kind)
    return RandomTrace(run.events[:size] if size <= 8 else run.events, run.defects)
