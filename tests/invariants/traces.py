"""Random traces: small runs of a correct primary order broadcast, with defects of every kind put in on purpose."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from random import Random

from invariants import Broadcast, Crash, Deliver, Event, Recover, Restore, Txn, Zxid
from tests.invariants.builders import restore


@dataclass
class RandomTrace:
    """Events, and which kinds of defect were put into them."""

    events: list[Event]
    defects: set[str]


@dataclass
class Node:
    """A process of the run."""

    process: int
    incarnation: int = 0
    sequence: list[Txn] = field(default_factory=list)
    left_out: set[Txn] = field(default_factory=set)


class Run:
    """A run that is correct as long as nobody calls a defect."""

    def __init__(self, rng: Random) -> None:
        self.rng = rng
        self.nodes = [Node(process) for process in range(1, rng.randint(1, 4) + 1)]
        self.epoch = 0
        self.counter = 0
        self.primary: Node | None = None
        self.log: list[Txn] = []  # the common order
        self.dropped: list[Txn] = []  # broadcast, and left out of the common order
        self.all: list[Txn] = []
        self.delivered: set[Txn] = set()  # by anybody, ever
        self.events: list[Event] = []
        self.defects: set[str] = set()

    # What a correct run does.

    def step(self) -> None:
        actions: list[Callable[[], object]] = [self.deliver] * 8 + [self.broadcast] * 5 + [self.new_epoch, self.crash]
        self.rng.choice(actions)()

    def deliver(self, node: Node | None = None) -> bool:
        node = node or self.rng.choice(self.nodes)
        missing = self.missing(node)
        if missing:
            self._deliver(node, missing[0])
        return bool(missing)

    def missing(self, node: Node) -> list[Txn]:
        return [txn for txn in self.log if txn not in node.sequence and txn not in node.left_out]

    def broadcast(self) -> None:
        if self.primary is None or self.rng.random() < 0.1:
            self.new_epoch()
            return
        self._broadcast(self.primary, self.epoch, self._new_txn())

    def new_epoch(self, catch_up: bool = True) -> Node:
        """The next primary starts from all that anybody delivered, and perhaps more."""
        self.epoch += self.rng.choice((1, 1, 1, 2))
        self.counter = 0
        while self.log and self.log[-1] not in self.delivered and self.rng.random() < 0.5:
            self.dropped.append(self.log.pop())
        self.primary = self.rng.choice(self.nodes)
        if catch_up:
            while self.deliver(self.primary):
                pass
        return self.primary

    def crash(self) -> None:
        node = self.rng.choice(self.nodes)
        if self.rng.random() < 0.5:
            self.events.append(Crash(node.process, node.incarnation))
        if node is self.primary:
            self.primary = None
        node.incarnation += 1
        if self.rng.random() < 0.3:
            self.events.append(Recover(node.process, node.incarnation))
        old = node.sequence
        node.sequence = []
        node.left_out.clear()
        if self.rng.random() < 0.5:
            self._restore(node, old[: self.rng.randint(0, len(old))])

    def _new_txn(self) -> Txn:
        self.counter += 1
        return Txn(Zxid(self.epoch, self.counter), self.rng.choice("vw"))

    def _deliver(self, node: Node, txn: Txn) -> None:
        if txn not in node.sequence:
            node.sequence.append(txn)
        self.delivered.add(txn)
        self.events.append(Deliver(node.process, node.incarnation, txn))

    def _broadcast(self, node: Node, epoch: int, txn: Txn) -> None:
        self.events.append(Broadcast(node.process, node.incarnation, epoch, txn))
        self.all.append(txn)
        if txn not in self.log:
            self.log.append(txn)

    def _restore(self, node: Node, prefix: Sequence[Txn]) -> None:
        self.events.append(restore(node.process, *prefix, incarnation=node.incarnation))
        node.sequence = list(prefix)

    # Defects. Each returns whether it could be put in.

    def unbroadcast_delivery(self) -> bool:
        self._deliver(self.rng.choice(self.nodes), Txn(Zxid(max(1, self.epoch), self.rng.randint(1, 4)), "ghost"))
        return True

    def two_values_for_a_zxid(self) -> bool:
        if not self.all or self.primary is None:
            return False
        twin = Txn(self.rng.choice(self.all).zxid, "twin")
        if self.rng.random() < 0.7:
            self._broadcast(self.primary, self.epoch, twin)
        if self.rng.random() < 0.5:
            self._deliver(self.rng.choice(self.nodes), twin)
        return True

    def swapped_deliveries(self) -> bool:
        node = self.rng.choice(self.nodes)
        missing = self.missing(node)
        if len(missing) < 2:
            return False
        self._deliver(node, missing[1])
        self._deliver(node, missing[0])
        return True

    def skipped_delivery(self) -> bool:
        node = self.rng.choice(self.nodes)
        missing = self.missing(node)
        if len(missing) < 2:
            return False
        node.left_out.add(missing[0])
        self._deliver(node, missing[1])
        return True

    def double_broadcast(self) -> bool:
        if self.primary is None:
            return False
        own = [e for e in self.events if isinstance(e, Broadcast) and e.process == self.primary.process]
        if not own:
            return False
        again = self.rng.choice(own)
        self._broadcast(self.primary, self.rng.choice((again.epoch, self.epoch)), again.txn)
        return True

    def two_broadcasters_of_an_epoch(self) -> bool:
        others = [node for node in self.nodes if node is not self.primary]
        if not self.epoch or not others:
            return False
        other = self.rng.choice(others)
        txn = self.rng.choice(self.all) if self.all and self.rng.random() < 0.4 else self._new_txn()
        self._broadcast(other, self.epoch, txn)
        return True

    def late_first_broadcast(self) -> bool:
        if not self.log:
            return False
        primary = self.new_epoch(catch_up=False)
        behind = bool(self.missing(primary))
        self._broadcast(primary, self.epoch, self._new_txn())
        return behind

    def old_epoch_afterwards(self) -> bool:
        old = [txn for txn in self.dropped if txn.zxid.epoch < self.epoch]
        if not old:
            return False
        self._deliver(self.rng.choice(self.nodes), self.rng.choice(old))
        return True

    def lost_after_delivery(self) -> bool:
        """The next primary starts without what was delivered last."""
        if not self.log or self.log[-1] not in self.delivered:
            return False
        self.dropped.append(self.log.pop())
        primary = self.new_epoch()
        self._broadcast(primary, self.epoch, self._new_txn())
        return True

    def duplicate_delivery(self) -> bool:
        node = self.rng.choice(self.nodes)
        if not node.sequence:
            return False
        self._deliver(node, self.rng.choice(node.sequence))
        return True

    def wrong_restore(self) -> bool:
        node = self.rng.choice(self.nodes)
        right = restore(node.process, *node.sequence, incarnation=node.incarnation)
        wrong = self.rng.choice(
            (
                Restore(right.process, right.incarnation, right.zxid, right.length, right.hash ^ 1),
                Restore(right.process, right.incarnation, right.zxid, right.length + 1, right.hash),
                Restore(right.process, right.incarnation, Zxid(9, 9), right.length, right.hash),
                restore(node.process, *node.sequence, Txn(Zxid(1, 7), "never"), incarnation=node.incarnation),
            )
        )
        self.events.append(wrong)
        return True

    def restore_in_between(self) -> bool:
        node, other = self.rng.choice(self.nodes), self.rng.choice(self.nodes)
        self._restore(node, other.sequence[: self.rng.randint(0, len(other.sequence))])
        return True

    def restore_ahead_of_the_record(self) -> bool:
        """A snapshot whose transactions others deliver only later in the file, if at all."""
        node = self.rng.choice(self.nodes)
        missing = self.missing(node)
        if not missing:
            return False
        self._restore(node, [*node.sequence, *missing[: self.rng.randint(1, len(missing))]])
        return True

    def epoch_unlike_the_zxid(self) -> bool:
        if self.primary is None:
            return False
        epoch = max(1, self.epoch + self.rng.choice((-2, -1, 1)))
        self._broadcast(self.primary, epoch, self._new_txn())
        return epoch != self.epoch

    def descending_zxids(self) -> bool:
        if self.primary is None:
            return False
        self.counter += 2
        self._broadcast(self.primary, self.epoch, Txn(Zxid(self.epoch, self.counter), "v"))
        self._broadcast(self.primary, self.epoch, Txn(Zxid(self.epoch, self.counter - 1), "v"))
        return True

    def delivered_before_broadcast(self) -> bool:
        if self.primary is None:
            return False
        txn = self._new_txn()
        for node in self.rng.sample(self.nodes, self.rng.randint(1, len(self.nodes))):
            self._deliver(node, txn)
        for _ in range(self.rng.randint(0, 3)):
            self.deliver()
        if self.rng.random() < 0.8:
            self._broadcast(self.primary, self.epoch, txn)
        return True

    def diverging_sequences(self) -> bool:
        if not self.all:
            return False
        for node in self.rng.sample(self.nodes, len(self.nodes)):
            rest = [txn for txn in self.all if txn not in node.sequence]
            if rest:
                self._deliver(node, self.rng.choice(rest))
        return True


DEFECTS: dict[str, Callable[[Run], bool]] = {
    defect.__name__: defect
    for defect in (
        Run.unbroadcast_delivery,
        Run.two_values_for_a_zxid,
        Run.swapped_deliveries,
        Run.skipped_delivery,
        Run.double_broadcast,
        Run.two_broadcasters_of_an_epoch,
        Run.late_first_broadcast,
        Run.old_epoch_afterwards,
        Run.lost_after_delivery,
        Run.duplicate_delivery,
        Run.wrong_restore,
        Run.restore_in_between,
        Run.restore_ahead_of_the_record,
        Run.epoch_unlike_the_zxid,
        Run.descending_zxids,
        Run.delivered_before_broadcast,
        Run.diverging_sequences,
    )
}


def random_trace(seed: int) -> RandomTrace:
    """The trace of this seed: 40 events at most, 4 processes at most, none to all kinds of defect."""
    rng = Random(seed)
    run = Run(rng)
    size = rng.choice((rng.randint(1, 8), rng.randint(5, 40), rng.randint(15, 40)))
    kinds = rng.sample(list(DEFECTS), rng.choice((0, 1, 1, 2, 2, 3, 5)))
    while len(run.events) < size:
        if kinds and rng.random() < 0.2:
            kind = rng.choice(kinds)
            if DEFECTS[kind](run):
                run.defects.add(kind)
        else:
            run.step()
    events = run.events[:40]
    return RandomTrace(events, run.defects)
