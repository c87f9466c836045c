"""The moves from one attempt to the next, as far as the recording of the server allows them.

A move is one choice of a schedule, taken at the server by itself: its packets come from the recording. Its own packets
must be the next that the recording has on that connection; if that has no more, they were sent too late, or lost.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from copy import copy
from functools import partial

from invariants import Chain, Halt, Zxid
from invariants.quorums import Quorums
from zabcheck.protocols import base
from zabcheck.protocols.base import Message, Stimulus
from zabcheck.simulation import choices
from zabcheck.simulation.choices import AnyChoice
from zabcheck.zookeeper.conformance.attempt import Attempt, raised
from zabcheck.zookeeper.conformance.observations import (
    Answers,
    Applies,
    Ends,
    Leads,
    Leaves,
    Observation,
    Proposes,
    Reads,
    Sends,
    ServerRecord,
    Starts,
    Votes,
)
from zabcheck.zookeeper.conformance.packets import Key, in_words, key_of_message, message_of
from zabcheck.zookeeper.conformance.refusals import (
    Halted,
    Refused,
    WaitsForTree,
    compare_disk,
    compare_log,
    condition,
    on_disk,
    other_tree,
)
from zabcheck.zookeeper.model import ZOOKEEPER, messages, threads
from zabcheck.zookeeper.model.server import Link, Server, abandon, start
from zabcheck.zookeeper.model.switches import Release, ZooKeeperSwitches
from zabcheck.zookeeper.run.server import COMMITTED_LOG
from zabcheck.zookeeper.trace.names import Names

NEAR, _ASIDE, _FAR = 1, 5, 10
"""The costs of moves: one that leads towards the observation, one that may have to come before, any other."""

_REJOINING = ("FOLLOWERINFO", "ACKEPOCH")  # the packets by which a follower begins
Move = Callable[[], Attempt]
"""Makes the attempt that a move leads to. Refused if the recording rules that out."""


class Moves:
    """The moves of one server in the model, as far as its recording allows them."""

    def __init__(
        self, record: ServerRecord, release: Release, servers: int, names: Names, trees: Mapping[int, Chain]
    ) -> None:
        self.record = record
        self.names = names
        self.trees = trees
        self.switches = ZooKeeperSwitches(version=release, grain="G5", window=COMMITTED_LOG)
        self.quorums = Quorums(servers)
        self._threads = threads.separate(self.switches)
        self._disks = [each for each in record.observations if isinstance(each, Ends)]

    def first(self) -> Attempt:
        """Return the attempt that the server begins with: up, with an empty disk."""
        server = start(self.record.server, 0, self.quorums, {}, self.switches)
        attempt = Attempt(server, len(self.record.connections))
        self._take(attempt, self.record.server, base.Started())
        return attempt

    # Observations.

    def explains(self, attempt: Attempt, observation: Observation) -> bool:
        """Return True if the attempt has done this already, or need not: then it is one observation further."""
        if not self._has_done(attempt, observation):
            return False
        attempt.at += 1
        if isinstance(observation, Leaves):
            attempt.applied = observation.applied
        return True

    def _has_done(self, attempt: Attempt, observation: Observation) -> bool:
        if attempt.halted:
            return isinstance(observation, Starts | Ends)  # it is started again, and ends itself again
        match observation:
            case Sends(connection=connection, position=position):
                return attempt.outs[connection] > position
            case Leaves():
                return attempt.server.leader is None
            case Votes(zxid=zxid):
                return attempt.server.leader is None and attempt.server.database.lpz == zxid
            case Proposes(count=count):
                return attempt.proposed >= count
            case Answers(count=count):
                return attempt.applied >= count
            case Reads(count=count):
                return attempt.applied >= count and not other_tree(attempt.server.database.tree, observation)
            case Applies(count=count):
                return attempt.applied >= count or attempt.server.leader is None
        return False

    def all(self, attempt: Attempt, goal: Observation) -> Iterator[tuple[int, Move]]:
        """Yield every move that may come before `goal` is explained, or explains it, each with its cost.

        The cost is low for a move that leads towards the goal. If a move makes no difference to later moves, it is
        the only one. Moves that can wait are left out.
        """
        if attempt.halted:
            return
        settled = self._settled(attempt, goal)
        if settled is not None:
            yield 0, settled
            return
        direct = self._direct(attempt, goal)
        before = self._applies_before(attempt, goal)
        if direct is not None:
            yield NEAR if before is None else _FAR * (1 + before.count - attempt.applied), direct
        server, goal = attempt.server, goal if before is None else before
        if isinstance(goal, Starts):
            return
        wanted = self._wanted(attempt, goal)
        readable = list(self._readable(attempt, goal.time))
        most = NEAR + 1 if self._can_wait(server, goal, readable, attempt) else _FAR
        for number in readable:
            cost = self._cost_of_reading(attempt, goal, wanted, number)
            if cost <= most:
                yield cost, partial(self._reads, attempt, number, goal)
        for thread, busy in self._threads.items():
            if busy(server) and self._is_of_use(thread, attempt, readable):
                cost = self._cost_of_running(attempt, goal, wanted, thread)
                if cost <= most:
                    yield cost, partial(self._runs, attempt, thread, goal)
        if self._may_propose(attempt, goal):
            cost = self._cost_of_proposing(goal, wanted)
            if cost <= most:
                yield cost, partial(self._proposes, attempt, goal)

    def _can_wait(self, server: Server, goal: Observation, readable: Iterable[int], attempt: Attempt) -> bool:
        """Return True if the moves that do not lead towards the goal can come later just as well.

        A server that serves has queues, each of which goes through one thread in its order. Work that one of them puts
        off takes nothing from the others, until the server leaves or ends, or, at a leader, another server has to be
        synchronised: its packets depend on how far each queue is; nor does the leader read packets from an older
        connection of it any more. A thread that was left behind by an earlier iteration writes to the same log, so it
        cannot wait.
        """
        if not server.running or server.left_to_log or server.left_to_apply is not None:
            return False
        if not isinstance(goal, Sends | Applies | Proposes):
            return False
        connections = self.record.connections
        return not any(connections[each].inbound[attempt.reads[each]].key[0] in _REJOINING for each in readable)

    def _settled(self, attempt: Attempt, goal: Observation) -> Move | None:
        """Return a move that makes no difference to later moves; None if there is none.

        A leader reads an ACK that changes nothing. It logs a committed transaction, if its disk has that in the end.
        """
        server = attempt.server
        if not server.leads:
            return None
        outstanding = [each.txn.zxid for each in server.outstanding]
        for peer, connection in attempt.open.items():
            inbound = self.record.connections[connection].inbound
            at = attempt.reads[connection]
            if at < len(inbound) and server.links.get(peer) is Link.SYNCED:
                key = inbound[at].key
                if inbound[at].time <= goal.time and key[0] == "ACK" and key[1] not in outstanding:
                    return lambda: self._reads(attempt, connection, goal)
        waiting = server.to_log[:1] or server.to_flush
        if waiting and all(txn.zxid not in outstanding for txn in waiting):
            disk = self._disks[attempt.incarnation] if attempt.incarnation < len(self._disks) else None
            if disk is not None and disk.log is not None and all(txn in disk.log for txn in waiting):
                return lambda: self._runs(attempt, "sync", goal)
        return None

    def _direct(self, attempt: Attempt, goal: Observation) -> Move | None:
        """Return the move that the observation shows; None if other moves lead to that."""
        match goal:
            case Sends(key=("FOLLOWERINFO", _)):
                return lambda: self._follows(attempt, goal)
            case Leads():
                return lambda: self._leads(attempt, goal)
            case Leaves():
                return lambda: self._leaves(attempt, goal)
            case Ends():
                return lambda: self._ends(attempt, goal)
            case Starts():
                return lambda: self._starts(attempt, goal)
        return None

    def _applies_before(self, attempt: Attempt, goal: Observation) -> Applies | None:
        """Return an observation that usually comes before the server leaves or ends: it applies its log."""
        told = self.record.applied[attempt.incarnation]
        match goal:
            case Leaves(applied=count) if attempt.applied < count:
                return Applies(goal.time, goal.source, count, told[count - 1].txn)
            case Ends() if attempt.applied < len(told):
                return Applies(goal.time, goal.source, len(told), told[-1].txn)
        return None

    # Readable packets, and moves that lead towards the goal.

    def _readable(self, attempt: Attempt, time: int) -> Iterator[int]:
        """Yield the connections on which a packet can be read by `time`."""
        server = attempt.server
        if server.leader is None:
            return
        for number, connection in enumerate(self.record.connections):
            at = attempt.reads[number]
            if at == len(connection.inbound) or connection.inbound[at].time > time:
                continue
            if attempt.open.get(connection.peer) == number or (
                server.leads and connection.inbound[at].key[0] == "FOLLOWERINFO"
            ):
                yield number

    def _may_propose(self, attempt: Attempt, goal: Observation) -> bool:
        told = self.record.proposed[attempt.incarnation]
        if attempt.proposed == len(told) or told[attempt.proposed].time > goal.time:
            return False
        server = attempt.server
        return server.leads and server.running and told[attempt.proposed].txn.zxid.epoch == server.epoch

    def _wanted(self, attempt: Attempt, goal: Observation) -> tuple[Key, ...]:
        """Return the packets that have to be sent next to come nearer to `goal`.

        A leader sends PROPOSAL and COMMIT to all in one order: before it can broadcast or commit something, the next
        packet on each of its connections has to be sent.
        """
        connections, server = self.record.connections, attempt.server
        wanted: tuple[Key, ...] = ()
        if isinstance(goal, Sends):
            wanted = (connections[goal.connection].outbound[attempt.outs[goal.connection]][1],)
        to_all = isinstance(goal, Proposes | Applies) or any(key[0] in ("PROPOSAL", "COMMIT") for key in wanted)
        if not server.leads or not to_all:
            return wanted
        for peer, number in attempt.open.items():
            outbound, at = connections[number].outbound, attempt.outs[number]
            if server.links.get(peer) in (Link.SYNCING, Link.SYNCED) and at < len(outbound):
                wanted += (outbound[at][1],)
        return wanted

    def _cost_of_reading(self, attempt: Attempt, goal: Observation, wanted: tuple[Key, ...], connection: int) -> int:
        there = self.record.connections[connection]
        key = there.inbound[attempt.reads[connection]].key
        if not attempt.server.leads:
            return NEAR if isinstance(goal, Sends | Applies) else _FAR
        if key[0] == "ACKEPOCH":
            return 0  # at the first moment at which the leader would send these packets: later they may be others
        for each in wanted:
            match each:
                case ("COMMIT", Zxid() as zxid) if self._has_ack(attempt, connection, zxid, goal.time):
                    return NEAR
                case ("LEADERINFO", _) if key[0] == "FOLLOWERINFO":
                    return NEAR
                case ("UPTODATE",) if attempt.server.links.get(there.peer) is Link.SYNCING:
                    return NEAR
        if isinstance(goal, Applies) and self._has_ack(attempt, connection, goal.txn.zxid, goal.time):
            return NEAR
        return _FAR

    def _has_ack(self, attempt: Attempt, connection: int, zxid: Zxid, time: int) -> bool:
        """Return True if an ACK of the transaction can be read on this connection by `time`."""
        index = self.record.connections[connection].acks.get(zxid, -1)
        inbound = self.record.connections[connection].inbound
        return index >= attempt.reads[connection] and inbound[index].time <= time

    def _cost_of_running(self, attempt: Attempt, goal: Observation, wanted: tuple[Key, ...], thread: str) -> int:
        kinds = [key[0] for key in wanted]
        match thread:
            case "main" if attempt.server.leads and isinstance(goal, Sends) and "UPTODATE" not in kinds:
                return _ASIDE  # once a leader serves it synchronises otherwise
            case "main" | "log too long" | "start late" | "handlers sleep":
                return NEAR
            case "commit":
                return NEAR if isinstance(goal, Applies) else _ASIDE
            case "handlers":
                return NEAR if ("UPTODATE",) in wanted else _ASIDE
            case "force":
                return NEAR if ("ACK", attempt.server.to_flush[-1].zxid) in wanted else _ASIDE
            case "sync" if "ACK" in kinds or isinstance(goal, Ends):
                return NEAR
            case "sync" if attempt.server.leads and ("COMMIT" in kinds or isinstance(goal, Applies)):
                return NEAR + 1
        return _ASIDE

    def _cost_of_proposing(self, goal: Observation, wanted: tuple[Key, ...]) -> int:
        is_next = not wanted or any(key[0] == "PROPOSAL" for key in wanted)
        return NEAR if is_next and isinstance(goal, Proposes | Sends) else _ASIDE

    def _is_of_use(self, thread: str, attempt: Attempt, readable: Iterable[int]) -> bool:
        """Return True if a turn of this thread may explain something: those for recordings have one purpose each."""
        if thread == "log too long":
            return any(self._sends_snap(attempt, number) for number in readable)
        if thread == "start late":
            synced = [number for peer, number in attempt.open.items() if attempt.server.links.get(peer) is Link.SYNCED]
            return any(self._next_sent(attempt, number) not in (None, ("UPTODATE",)) for number in synced)
        if thread == "start early":
            told = self.record.proposed[attempt.incarnation][attempt.proposed :]
            return bool(told) and told[0].txn.zxid == Zxid(attempt.server.epoch, 1)
        if thread in ("handlers", "handlers sleep"):
            number = attempt.open.get(attempt.server.due[0])
            up_to_date = number is None or self._next_sent(attempt, number) in (None, ("UPTODATE",))
            return up_to_date == (thread == "handlers")
        return thread != "force" or not attempt.server.leads  # a leader's can be forced between any two broadcasts

    def _sends_snap(self, attempt: Attempt, number: int) -> bool:
        """Return True if the next packet on this connection is a SNAP, caused by packets that can be read next."""
        connection, sent = self.record.connections[number], self._next_sent(attempt, number)
        is_next = sent is not None and sent[0] == "SNAP"
        return is_next and connection.inbound[attempt.reads[number]].key[0] == "ACKEPOCH"

    def _next_sent(self, attempt: Attempt, number: int) -> Key | None:
        """Return the next packet that was sent on this connection; None if there is no more."""
        outbound, sent = self.record.connections[number].outbound, attempt.outs[number]
        return outbound[sent][1] if sent < len(outbound) else None

    def not_yet(self, attempt: Attempt, goal: Observation) -> Iterator[str]:
        """Yield differences of the tree from the final read, or packets that the server waits for."""
        if isinstance(goal, Reads) and attempt.applied >= goal.count:
            yield other_tree(attempt.server.database.tree, goal)
            return
        for peer, number in attempt.open.items():
            inbound, at = self.record.connections[number].inbound, attempt.reads[number]
            if at == len(inbound):
                yield f"it would wait for server {peer}, of which nothing was passed on after that"
            elif inbound[at].time > goal.time:
                what = f"{in_words(inbound[at].key)} of server {peer} (packet {inbound[at].packet.packet})"
                yield f"it would wait for {what}, which was passed on later"

    # Moves. Each raises Refused if the recording rules it out.

    def _next(self, attempt: Attempt, choice: AnyChoice, goal: Observation) -> Attempt:
        new = copy(attempt)
        new.server = copy(attempt.server)
        new.before, new.choice, new.time = attempt, choice, goal.time
        new.read, new.sent, new.trees = 0, (), ()
        return new

    def _reads(self, attempt: Attempt, connection: int, goal: Observation) -> Attempt:
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

    def _runs(self, attempt: Attempt, thread: str, goal: Observation) -> Attempt:
        new = self._next(attempt, choices.Run(self.record.server, thread), goal)
        if thread == "commit":
            txn = attempt.server.to_apply[0]
            told = self.record.applied[attempt.incarnation]
            if attempt.applied == len(told):
                raise Refused(f"it would apply {txn}, and its log has no further transaction that it applies")
            if told[attempt.applied].txn != txn:
                raise Refused(f"it would apply {txn}, and by its log the next one is {told[attempt.applied].txn}")
            if told[attempt.applied].time > goal.time:
                raise Refused(f"it would apply {txn} before its log says so")
            new.applied += 1
        self._take(new, self.record.server, base.Run(thread))
        return new

    def _proposes(self, attempt: Attempt, goal: Observation) -> Attempt:
        txn = self.record.proposed[attempt.incarnation][attempt.proposed].txn
        new = self._next(attempt, choices.Request(self.record.server, txn.value), goal)
        new.proposed += 1
        self._take(new, self.record.server, base.Request(txn.value))
        if not new.server.outstanding or new.server.outstanding[-1].txn != txn:
            made = new.server.outstanding[-1].txn if new.server.outstanding else "nothing"
            raise Refused(f"it would broadcast {made}, and by its log it broadcasts {txn}")
        return new

    def _follows(self, attempt: Attempt, goal: Sends) -> Attempt:
        leader = self.record.connections[goal.connection].peer
        new = self._next(attempt, choices.Elect(self.record.server, leader), goal)
        new.open = {leader: goal.connection}
        self._take(new, self.record.server, base.Elected(leader))
        return new

    def _leads(self, attempt: Attempt, goal: Leads) -> Attempt:
        new = self._next(attempt, choices.Elect(self.record.server, self.record.server), goal)
        new.open = {}
        self._take(new, self.record.server, base.Elected(self.record.server))
        new.at += 1
        return new

    def _leaves(self, attempt: Attempt, goal: Leaves) -> Attempt:
        new = self._next(attempt, choices.Timeout(self.record.server), goal)
        self._take(new, self.record.server, base.TimedOut())
        return new

    def _ends(self, attempt: Attempt, goal: Ends) -> Attempt:
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

    def _starts(self, attempt: Attempt, goal: Starts) -> Attempt:
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

    # A step of the model.

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
            raise Refused(
                f"{condition(attempt)}it would send {in_words(sends)} to server {to}, "
                f"and it sent {in_words(key)} (packet {packet.packet})"
            )
        attempt.outs = raised(attempt.outs, number)
        attempt.sent = (*attempt.sent, packet.packet)
        if isinstance(message, messages.Snap):
            attempt.trees = (*attempt.trees, (packet.packet, message.tree))
