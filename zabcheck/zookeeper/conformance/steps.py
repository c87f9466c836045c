"""The steps of one server from one attempt to the next, each as its recording has it.

A step is one choice of a schedule, taken at the server by itself: its packets come from the recording. A packet that it
sends must be the next that the recording has on that connection; if that has no more, it was sent too late, or lost.
"""

from collections.abc import Mapping, Sequence
from copy import copy

from zabcheck.invariants import Chain, Halt
from zabcheck.invariants.quorums import Quorums
from zabcheck.protocols import base
from zabcheck.protocols.base import Message, Stimulus
from zabcheck.simulation import choices
from zabcheck.simulation.choices import AnyChoice
from zabcheck.zookeeper.conformance.attempt import Attempt, raised
from zabcheck.zookeeper.conformance.observations import Ends, Leads, Leaves, Observation, Sends, ServerRecord, Starts
from zabcheck.zookeeper.conformance.packets import in_words, key_of_message, message_of
from zabcheck.zookeeper.conformance.refusals import (
    Halted,
    RuledOut,
    WaitsForTree,
    compare_disk,
    compare_log,
    condition,
    on_disk,
)
from zabcheck.zookeeper.model import ZOOKEEPER, messages
from zabcheck.zookeeper.model.server import abandon, start
from zabcheck.zookeeper.model.switches import ZooKeeperSwitches
from zabcheck.zookeeper.trace.names import Names


class Steps:
    """The steps of one server: each makes the attempt that it leads to, or raises Refused if the recording differs.

    `trees` has the trees of SNAPs that are known, by packet. WaitsForTree if one is read that is not.
    """

    def __init__(
        self,
        record: ServerRecord,
        switches: ZooKeeperSwitches,
        servers: int,
        names: Names,
        trees: Mapping[int, Chain],
        disks: Sequence[Ends],
    ) -> None:
        self.record = record
        self.names = names
        self.trees = trees
        self.switches = switches
        self.quorums = Quorums(servers)
        self._disks = disks

    def first(self) -> Attempt:
        """Return the attempt that the server begins with: up, with an empty disk."""
        server = start(self.record.server, 0, self.quorums, {}, self.switches)
        attempt = Attempt(server, len(self.record.connections))
        self._take(attempt, self.record.server, base.Started())
        return attempt

    def _next(self, attempt: Attempt, choice: AnyChoice, goal: Observation) -> Attempt:
        new = copy(attempt)
        new.server = copy(attempt.server)
        new.before, new.choice, new.time = attempt, choice, goal.time
        new.read, new.sent, new.trees = 0, (), ()
        return new

    def read(self, attempt: Attempt, connection: int, goal: Observation) -> Attempt:
        """Read the next packet on a connection."""
        there = self.record.connections[connection]
        inbound = there.inbound[attempt.reads[connection]]
        number = inbound.packet.packet
        tree = None
        if inbound.packet.kind == "SNAP":
            tree = self.trees.get(number)
            if tree is None:
                raise WaitsForTree(number)
        new = self._next(attempt, choices.Receive(self.record.server, there.peer), goal)
        new.reads = raised(attempt.reads, connection)
        new.read = number
        if attempt.server.leads and inbound.packet.kind == "FOLLOWERINFO":
            new.open = {**attempt.open, there.peer: connection}
        self._take(new, there.peer, message_of(inbound.packet, self.names, tree))
        return new

    def run(self, attempt: Attempt, thread: str, goal: Observation) -> Attempt:
        """Let a thread go on."""
        new = self._next(attempt, choices.Run(self.record.server, thread), goal)
        if thread == "commit":
            txn = attempt.server.to_apply[0]
            told = self.record.applied[attempt.incarnation]
            if attempt.applied == len(told):
                raise RuledOut(f"it would apply {txn}, and its log has no further transaction that it applies")
            if told[attempt.applied].txn != txn:
                raise RuledOut(f"it would apply {txn}, and by its log the next one is {told[attempt.applied].txn}")
            if told[attempt.applied].time > goal.time:
                raise RuledOut(f"it would apply {txn} before its log says so")
            new.applied += 1
        self._take(new, self.record.server, base.Run(thread))
        return new

    def propose(self, attempt: Attempt, goal: Observation) -> Attempt:
        """Broadcast the next transaction, as leader."""
        txn = self.record.proposed[attempt.incarnation][attempt.proposed].txn
        new = self._next(attempt, choices.Request(self.record.server, txn.value), goal)
        new.proposed += 1
        self._take(new, self.record.server, base.Request(txn.value))
        if not new.server.outstanding or new.server.outstanding[-1].txn != txn:
            made = new.server.outstanding[-1].txn if new.server.outstanding else "nothing"
            raise RuledOut(f"it would broadcast {made}, and by its log it broadcasts {txn}")
        return new

    def follow(self, attempt: Attempt, goal: Sends) -> Attempt:
        """Follow a leader."""
        leader = self.record.connections[goal.connection].peer
        new = self._next(attempt, choices.Elect(self.record.server, leader), goal)
        new.open = {leader: goal.connection}
        self._take(new, self.record.server, base.Elected(leader))
        return new

    def lead(self, attempt: Attempt, goal: Leads) -> Attempt:
        """Lead."""
        new = self._next(attempt, choices.Elect(self.record.server, self.record.server), goal)
        new.open = {}
        self._take(new, self.record.server, base.Elected(self.record.server))
        new.at += 1
        return new

    def leave(self, attempt: Attempt, goal: Leaves) -> Attempt:
        """Leave the leader, or give up leading."""
        new = self._next(attempt, choices.Timeout(self.record.server), goal)
        self._take(new, self.record.server, base.TimedOut())
        return new

    def end(self, attempt: Attempt, goal: Ends) -> Attempt:
        """End the incarnation, with what its disk has then."""
        server = attempt.server
        synced = len(server.log) - attempt.unsynced
        log = server.log[:synced] if goal.log is None else goal.log
        compare_disk(server, synced, goal)
        new = self._next(attempt, choices.Crash(self.record.server, len(log) - synced), goal)
        new.server = copy(server)
        new.server.log = log
        if goal.snapshots is not None:
            new.server.snapshots = on_disk(server, goal.snapshots)
        abandon(new.server)
        new.unsynced = 0
        new.open = {}
        new.at += 1
        return new

    def start(self, attempt: Attempt, goal: Starts) -> Attempt:
        """Start the next incarnation."""
        new = self._next(attempt, choices.Recover(self.record.server), goal)
        s = attempt.server
        durable = {
            "accepted_epoch": s.accepted_epoch,
            "current_epoch": s.current_epoch,
            "log": s.log,
            "snapshots": s.snapshots,
        }
        new.incarnation += 1
        new.proposed = new.applied = 0
        new.server = start(self.record.server, new.incarnation, self.quorums, durable, self.switches)
        try:
            self._take(new, self.record.server, base.Started())
        except Halted as halted:
            new.halted = str(halted)
        new.at += 1
        return new

    def _take(self, attempt: Attempt, sender: int, stimulus: Message | Stimulus) -> None:
        """Let the server take a step, and send its packets. Refused if the recording has others."""
        server = attempt.server
        log = server.log
        for effect in ZOOKEEPER.steps[type(stimulus)](server, sender, stimulus):
            match effect:
                case base.Send(to, message):
                    self._send(attempt, to, message)
                case base.Buffer():
                    attempt.unsynced += 1
                case base.Flush():
                    attempt.unsynced = 0
                case base.GiveUp():
                    abandon(server)
                    attempt.open = {}
                case Halt(reason=reason):
                    raise Halted(f"{condition(attempt)}it would end itself: {reason}")
        if server.log is not log:
            self._compare_log(attempt, appended=len(server.log) - len(log))

    def _compare_log(self, attempt: Attempt, appended: int) -> None:
        """Refuse a log that cannot become that of the disk: unless it is cut again, only its end may change."""
        disk = self._disks[attempt.incarnation].log if attempt.incarnation < len(self._disks) else None
        if disk is not None and not self._may_be_cut(attempt):
            compare_log(attempt, disk, appended)

    def _may_be_cut(self, attempt: Attempt) -> bool:
        """Return True if a TRUNC is yet to be read, in this incarnation."""
        latest = max(attempt.open.values(), default=-1)
        return any(
            number >= latest and any(attempt.reads[number] <= at for at in connection.truncs)
            for number, connection in enumerate(self.record.connections)
        )

    def _send(self, attempt: Attempt, to: int, message: Message) -> None:
        number = attempt.open.get(to)
        if number is None:
            return
        outbound = self.record.connections[number].outbound
        at = attempt.outs[number]
        if at == len(outbound):
            return
        packet, key = outbound[at]
        sends = key_of_message(message)
        if sends != key:
            raise RuledOut(
                f"{condition(attempt)}it would send {in_words(sends)} to server {to}, "
                f"and it sent {in_words(key)} (packet {packet.packet})"
            )
        attempt.outs = raised(attempt.outs, number)
        attempt.sent = (*attempt.sent, packet.packet)
        if isinstance(message, messages.Snap):
            attempt.trees = (*attempt.trees, (packet.packet, message.tree))
