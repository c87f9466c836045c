"""Epoch progress (DSN 2011, IV, steps l.3.2 to l.3.4, f.2.2 and f.3.3; V-C): obligations of a running epoch at rest.

    When nothing is left to be done, each follower that is connected to an established leader has delivered what that
    leader delivered; a leader that is connected to a quorum has delivered what it broadcast in its epoch; and no
    process follows a leader that has closed their connection.

The paper has no such sentence: claim 7 speaks of a leader that was just elected. This follows from the claim's
conditions without a new election, by the steps: a late CEPOCH is answered with NEWLEADER (l.3.3), its ACK-LD with a
commit (l.3.4), which makes the follower deliver (f.2.2); a transaction that a quorum acknowledges is committed (l.3.2)
and delivered (f.3.3). And V-C: a follower that has lost its leader goes back to election.

Where configurations change, a leader is connected to a quorum if it is so in the configuration that governs what it has
delivered, and in each one that it has broadcast and not delivered.

The `Quiescent` events of one `rest` mean that nothing is left to be done. A leader is established if it follows
itself and is `primary`. It is connected to itself, and to the processes whose connection to it is "open". Its epoch is
the one of its last `Ready`, or of its last broadcast if that came later. A process that took over a snapshot
whose prefix is not on record is not judged. Events after a rest do not change its verdict, so a trace that is cut off
is judged by the rests that it has.

Witness: the lacking transaction, then the `Quiescent` of the leader, then that of the follower that lacks it: the
delivery of the leader, or the broadcast that a leader has not delivered, least by (zxid and value, process that lacks
it, leader, rest). If no process lacks anything, the `Quiescent` of the least process that follows a leader which has
closed their connection. Exercised by: a follower connected to an established leader that has delivered something; an
established leader that is connected to a quorum and has broadcast in its epoch; a process that follows a leader which
is gone. Detection: with the last of the events that show it. Cost: O(1) an event; at a rest O(processes) for each of
its events, and O(log n) for each transaction that the leader has delivered or broadcast since the last rest.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

from zabcheck.invariants.base import Invariant, Violation
from zabcheck.invariants.chain import EMPTY, Chain
from zabcheck.invariants.configurations import Configurations, without_quorum
from zabcheck.invariants.events import Deliver, Event, Quiescent, Ready, Txn
from zabcheck.invariants.quorums import Configuration, configuration_of
from zabcheck.invariants.record import Primary, Record, Sent, Standing


class AtRest(NamedTuple):
    """The state of a process at a rest: what it had delivered, and the last that it had broadcast in its epoch."""

    event: Quiescent
    delivered: Standing
    last: Sent | None


class Lacking(NamedTuple):
    """A transaction that a process lacks at a rest, though its leader has delivered or broadcast it."""

    txn: Txn
    member: AtRest
    leader: AtRest

    @property
    def rank(self) -> tuple[Txn, int, int, int]:
        leader = self.leader.event
        return self.txn, self.member.event.process, leader.process, leader.rest


class Examined(NamedTuple):
    """The point up to which a process and its leader were compared at the last rest."""

    has: Chain
    owed: Chain
    last: Sent | None


class EpochProgress(Invariant):
    """Obligations of a running epoch, judged at each rest."""

    name = "epoch progress"
    group = "liveness"
    statement = (
        "When nothing is left to be done, each follower that is connected to an established leader has delivered what "
        "that leader delivered, a leader that is connected to a quorum has delivered what it broadcast in its epoch, "
        "and no process follows a leader that has closed their connection."
    )
    source = "DSN 2011, IV (steps l.3.2 to l.3.4, f.2.2, f.3.3) and V-C"
    looks_at = (Quiescent, Ready)

    def __init__(self, record: Record, order: str) -> None:
        super().__init__(record, order)
        self.seen: dict[int, tuple[AtRest, ...]] = {}  # by rest
        self.epochs: dict[tuple[int, int], int] = {}  # by actor: of its last `Ready` or broadcast
        self.last: dict[Primary, Sent] = {}
        self.broken = False
        self.examined: dict[tuple[int, int], Examined] = {}  # while nothing is broken
        self.configurations: Configurations | None = None
        """The chain of configurations, where they change."""
        if isinstance(record.quorums, Configuration):
            self.configurations = Configurations(record.quorums)

    def observers(self) -> dict[type[Event], Callable[[Any], bool]]:
        return {Quiescent: self._rests, Ready: self._ready}

    def on_sent(self, sent: Sent) -> bool:
        actor = sent.event.process, sent.event.incarnation
        self.last[sent.primary] = sent
        self.epochs[actor] = sent.epoch
        return False

    def _ready(self, event: Ready) -> bool:
        self.epochs[event.process, event.incarnation] = event.epoch
        return False

    def _rests(self, event: Quiescent) -> bool:
        actor = event.process, event.incarnation
        delivered = self.record.standing(*actor)
        seen = AtRest(event, delivered, self.last.get((self.epochs.get(actor, 0), *actor)))
        self.seen[event.rest] = (*self.seen.get(event.rest, ()), seen)
        if not self.broken:
            lacking = next(self._lacking(event.rest, self.examined), None)
            self.broken = event.connection == "closed" or lacking is not None
        return self.broken

    def judged(self) -> int:
        judged = 0
        for rest in self.seen:
            for leader, members in self._led(rest):
                judged += (len(members) - 1) * bool(self.record.resolved(leader.delivered))
                judged += self._is_quorum(members) and next(_broadcast(leader), None) is not None
        return judged + len(self._left_behind())

    def violation(self) -> Violation | None:
        examined: dict[tuple[int, int], Examined] = {}
        found = (each for rest in sorted(self.seen) for each in self._lacking(rest, examined))
        lacking = min(found, key=lambda each: each.rank, default=None)
        if lacking is None:
            left = self._left_behind()
            return None if not left else self._alone(min(left, key=lambda event: (event.process, event.rest)))
        txn, process, number, _ = lacking.rank
        leader, event = lacking.leader, lacking.member.event
        if lacking.member is leader:
            [broadcast] = [sent.event for sent in _broadcast(leader) if sent.txn == txn]
            summary = f"p{number} never delivered {txn}, which it broadcast, although a quorum is connected to it"
            return self._violation(f"{summary} and nothing is left to be done", broadcast, event)
        summary = f"p{process} never delivered {txn}, which its leader p{number} has delivered"
        return self._violation(
            f"{summary}, and nothing is left to be done",
            Deliver(number, leader.event.incarnation, txn),
            leader.event,
            event,
        )

    def _alone(self, event: Quiescent) -> Violation:
        return self._violation(
            f"p{event.process} still follows p{event.leader}, which has closed their connection, and nothing is left "
            "to be done",
            event,
        )

    def _led(self, rest: int) -> Iterator[tuple[AtRest, list[AtRest]]]:
        """Yield each established leader at a rest with the processes that are connected to it, itself included."""
        for leader in self.seen[rest]:
            number = leader.event.process
            if leader.event.primary and leader.event.leader == number:
                followers = (e for e in self.seen[rest] if e.event.leader == number and e.event.connection == "open")
                yield leader, [leader, *(each for each in followers if each is not leader)]

    def _is_quorum(self, members: Sequence[AtRest]) -> bool:
        """Return True if the members, of which the first leads, are a quorum wherever it needs one."""
        quorums, processes = self.record.quorums, [each.event.process for each in members]
        if self.configurations is None or quorums is None:
            return quorums is not None and quorums.contains(processes)
        delivered = self.record.resolved(members[0].delivered)
        if delivered is None:
            return False
        pending = [sent.txn for sent in _broadcast(members[0]) if not self.record.contains(delivered, sent.txn)]
        named = [configuration_of(txn.value, quorums.size) for txn in pending]
        required = (self.configurations.governing(delivered), *filter(None, named))
        return not without_quorum(required, processes)

    def _left_behind(self) -> list[Quiescent]:
        return [each.event for seen in self.seen.values() for each in seen if each.event.connection == "closed"]

    def _lacking(self, rest: int, examined: dict[tuple[int, int], Examined]) -> Iterator[Lacking]:
        """Yield what processes lack at a rest, except for what they lacked at an earlier one, as far as `examined`."""
        for leader, members in self._led(rest):
            owed = self.record.resolved(leader.delivered)
            for member in members:
                has = self.record.resolved(member.delivered)
                if has is None or owed is None or (member is leader and not self._is_quorum(members)):
                    continue
                pair = member.event.process, leader.event.process
                before = examined.get(pair)
                if before is None or not (has.starts_with(before.has) and owed.starts_with(before.owed)):
                    before = Examined(EMPTY, EMPTY, None)
                examined[pair] = Examined(has, owed, leader.last)
                txns: list[Txn] = []
                if member is leader:
                    txns = [sent.txn for sent in _broadcast(leader, before.last)]
                elif not has.starts_with(owed):
                    txns = owed.after(max(before.owed.length, owed.common_prefix(has).length))
                for txn in txns:
                    if not self.record.contains(has, txn):
                        yield Lacking(txn, member, leader)


def _broadcast(leader: AtRest, before: Sent | None = None) -> Iterator[Sent]:
    """Yield the broadcasts of a leader in its epoch until a rest, the last first, up to but not including `before`."""
    sent = leader.last
    while sent is not None and sent is not before:
        yield sent
        sent = sent.previous
