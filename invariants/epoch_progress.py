"""Epoch progress (DSN 2011, IV, steps l.3.2 to l.3.4, f.2.2 and f.3.3; V-C): what a running epoch owes, once at rest.

    When nothing is left to be done, each follower that is connected to an established leader has delivered what that
    leader delivered; a leader that is connected to a quorum has delivered what it broadcast in its epoch; and no
    process follows a leader that has closed their connection.

The paper has no such sentence: claim 7 speaks of a leader that was just elected. This is what the claim's conditions
come to without a new election, by the steps: a late CEPOCH is answered with NEWLEADER (l.3.3), its ACK-LD with a
commit (l.3.4), which makes the follower deliver (f.2.2); what a quorum acknowledges is committed (l.3.2) and delivered
(f.3.3). And V-C: a follower that has lost its leader goes back to election.

"Nothing is left to be done" is what the `Quiescent` events of one `rest` tell. A leader is established if it follows
itself and is `primary`. It is connected to itself, and to those whose connection to it is "open". Its epoch is the one
of its last `Ready`, or of its last broadcast if that came later. Nothing is said of a process that took over a snapshot
whose prefix is not on record. What comes after a rest does not change what it owes, so a trace that is cut off is
judged by the rests that it has.

Witness: what is lacking, then the `Quiescent` of the leader, then that of the follower that lacks it: the delivery of
the leader, or the broadcast that a leader has not delivered, least by (zxid and value, process that lacks it, leader,
rest). If nobody lacks anything, the `Quiescent` of the least process that follows a leader which has closed their
connection. Exercised by: a follower connected to an established leader that has delivered something; an established
leader that is connected to a quorum and has broadcast in its epoch; a process that follows a leader which is gone.
Cost: O(1) an event; at the end O(processes) for each rest, and O(log n) for each transaction that a follower lacks or
a leader has broadcast.
"""

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from invariants.base import Invariant, Violation
from invariants.events import Deliver, Event, Quiescent, Ready, Txn
from invariants.record import Record, Sent, Standing


class AtRest(NamedTuple):
    """What is known of a process at a rest: what it had delivered, its epoch, and its last broadcast until then."""

    event: Quiescent
    delivered: Standing
    epoch: int
    last: Sent | None


class Lacking(NamedTuple):
    """A transaction that a process lacks at a rest, though its leader has delivered or broadcast it."""

    txn: Txn
    process: int
    leader: int
    rest: int


class EpochProgress(Invariant):
    name = "epoch progress"
    group = "liveness"
    statement = (
        "When nothing is left to be done, each follower that is connected to an established leader has delivered what "
        "that leader delivered, a leader that is connected to a quorum has delivered what it broadcast in its epoch, "
        "and no process follows a leader that has closed their connection."
    )
    source = "DSN 2011, IV (steps l.3.2 to l.3.4, f.2.2, f.3.3) and V-C"
    looks_at = (Quiescent, Ready)
    needs = ("the whole path",)

    def __init__(self, record: Record, order: str) -> None:
        super().__init__(record, order)
        self.seen: dict[tuple[int, int], AtRest] = {}  # by (rest, process)
        self.epochs: dict[tuple[int, int], int] = {}  # by actor: of its last `Ready` or broadcast
        self.last: dict[tuple[int, int], Sent] = {}  # by actor

    def observers(self) -> dict[type[Event], Callable[[Any], bool]]:
        return {Quiescent: self._rests, Ready: self._ready}

    def on_sent(self, sent: Sent) -> bool:
        actor = sent.event.process, sent.event.incarnation
        self.last[actor] = sent
        self.epochs[actor] = sent.epoch
        return False

    def _ready(self, event: Ready) -> bool:
        self.epochs[event.process, event.incarnation] = event.epoch
        return False

    def _rests(self, event: Quiescent) -> bool:
        actor = event.process, event.incarnation
        delivered = self.record.standing(*actor)
        self.seen[event.rest, event.process] = AtRest(event, delivered, self.epochs.get(actor, 0), self.last.get(actor))
        return False

    def judged(self) -> int:
        judged = 0
        for leader, follower in self._connected():
            judged += bool(self.record.resolved(leader.delivered)) and follower is not leader
            judged += follower is leader and self._has_quorum(leader) and next(_broadcast(leader), None) is not None
        return judged + len(self._left_behind())

    def violation(self) -> Violation | None:
        lacking = min(self._lacking(), default=None)
        if lacking is None:
            left = self._left_behind()
            return None if not left else self._alone(min(left, key=lambda event: (event.process, event.rest)))
        txn, process, leader, rest = lacking
        at_rest = self.seen[rest, leader].event
        if process == leader:
            [broadcast] = [sent.event for sent in _broadcast(self.seen[rest, leader]) if sent.txn == txn]
            summary = f"p{leader} never delivered {txn}, which it broadcast in an epoch in which a quorum is connected"
            return self._violation(f"{summary}, and nothing is left to be done", broadcast, at_rest)
        summary = f"p{process} never delivered {txn}, which its leader p{leader} has delivered"
        return self._violation(
            f"{summary}, and nothing is left to be done",
            Deliver(leader, at_rest.incarnation, txn),
            at_rest,
            self.seen[rest, process].event,
        )

    def _alone(self, event: Quiescent) -> Violation:
        return self._violation(
            f"p{event.process} still follows p{event.leader}, which has closed their connection, and nothing is left "
            "to be done",
            event,
        )

    def _connected(self) -> Iterator[tuple[AtRest, AtRest]]:
        """Yield each established leader at a rest with each process that is connected to it, itself included."""
        for (rest, process), follower in self.seen.items():
            event = follower.event
            if event.leader is None or (event.leader != process and event.connection != "open"):
                continue
            leader = self.seen.get((rest, event.leader))
            if leader is not None and leader.event.primary and leader.event.leader == event.leader:
                yield leader, follower

    def _has_quorum(self, leader: AtRest) -> bool:
        members = [follower.event.process for each, follower in self._connected() if each is leader]
        return self.record.quorums is not None and self.record.quorums.contains(members)

    def _left_behind(self) -> list[Quiescent]:
        return [each.event for each in self.seen.values() if each.event.connection == "closed"]

    def _lacking(self) -> Iterator[Lacking]:
        for leader, follower in self._connected():
            has, owed = self.record.resolved(follower.delivered), self.record.resolved(leader.delivered)
            if has is None or owed is None:
                continue
            txns: list[Txn] = []
            if follower is not leader and not has.starts_with(owed):
                txns = owed.after(owed.common_prefix(has).length)
            elif follower is leader and self._has_quorum(leader):
                txns = [sent.txn for sent in _broadcast(leader)]
            for txn in txns:
                if not self.record.contains(has, txn):
                    yield Lacking(txn, follower.event.process, leader.event.process, leader.event.rest)


def _broadcast(leader: AtRest) -> Iterator[Sent]:
    """Yield what a leader had broadcast in its epoch until a rest, the last first."""
    sent = leader.last
    while sent is not None and sent.epoch == leader.epoch:
        yield sent
        sent = sent.previous
