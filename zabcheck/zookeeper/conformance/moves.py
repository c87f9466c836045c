"""The moves from one attempt to the next, as far as the recording of the server allows them, each with its cost.

`steps` takes them, `costs` says which lead towards what was observed.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial

from zabcheck.invariants import Chain
from zabcheck.zookeeper.conformance.attempt import Attempt
from zabcheck.zookeeper.conformance.costs import FAR, NEAR, Costs
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
from zabcheck.zookeeper.conformance.packets import in_words
from zabcheck.zookeeper.conformance.refusals import other_tree
from zabcheck.zookeeper.conformance.steps import Steps
from zabcheck.zookeeper.model import threads
from zabcheck.zookeeper.model.server import Link, Server
from zabcheck.zookeeper.model.switches import Release, ZooKeeperSwitches
from zabcheck.zookeeper.run.server import COMMITTED_LOG
from zabcheck.zookeeper.trace.names import Names

_REJOINING = ("FOLLOWERINFO", "ACKEPOCH")  # the packets by which a follower begins
Move = Callable[[], Attempt]
"""Makes the attempt that a move leads to. Refused if the recording rules that out."""


def has_done(attempt: Attempt, observation: Observation) -> bool:
    """Return True if a server in this state has made the observation come about already."""
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


class Moves:
    """The moves of one server in the model, as far as its recording allows them."""

    def __init__(
        self, record: ServerRecord, release: Release, servers: int, names: Names, trees: Mapping[int, Chain]
    ) -> None:
        self.record = record
        self.switches = ZooKeeperSwitches(version=release, grain="G5", window=COMMITTED_LOG)
        self._threads = threads.separate(self.switches)
        self._disks = [each for each in record.observations if isinstance(each, Ends)]
        self._steps = Steps(record, self.switches, servers, names, trees, self._disks)
        self._costs = Costs(record)

    def first(self) -> Attempt:
        """Return the attempt that the server begins with: up, with an empty disk."""
        return self._steps.first()

    def explains(self, attempt: Attempt, observation: Observation) -> bool:
        """Return True if the attempt has done this already, or need not: then it is one observation further."""
        if not has_done(attempt, observation):
            return False
        attempt.at += 1
        if isinstance(observation, Leaves):
            attempt.applied = observation.applied
        return True

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
            yield NEAR if before is None else FAR * (1 + before.count - attempt.applied), direct
        server, goal = attempt.server, goal if before is None else before
        if isinstance(goal, Starts):
            return
        wanted = self._costs.wanted(attempt, goal)
        readable = list(self._readable(attempt, goal.time))
        most = NEAR + 1 if self._can_wait(server, goal, readable, attempt) else FAR
        for number in readable:
            cost = self._costs.of_reading(attempt, goal, wanted, number)
            if cost <= most:
                yield cost, partial(self._steps.read, attempt, number, goal)
        for thread, busy in self._threads.items():
            if busy(server) and self._costs.is_of_use(thread, attempt, readable):
                cost = self._costs.of_running(attempt, goal, wanted, thread)
                if cost <= most:
                    yield cost, partial(self._steps.run, attempt, thread, goal)
        if self._may_propose(attempt, goal):
            cost = self._costs.of_proposing(goal, wanted)
            if cost <= most:
                yield cost, partial(self._steps.propose, attempt, goal)

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
                    return lambda: self._steps.read(attempt, connection, goal)
        waiting = server.to_log[:1] or server.to_flush
        if waiting and all(txn.zxid not in outstanding for txn in waiting):
            disk = self._disks[attempt.incarnation] if attempt.incarnation < len(self._disks) else None
            if disk is not None and disk.log is not None and all(txn in disk.log for txn in waiting):
                return lambda: self._steps.run(attempt, "sync", goal)
        return None

    def _direct(self, attempt: Attempt, goal: Observation) -> Move | None:
        """Return the move that the observation shows; None if other moves lead to that."""
        match goal:
            case Sends(key=("FOLLOWERINFO", _)):
                return lambda: self._steps.follow(attempt, goal)
            case Leads():
                return lambda: self._steps.lead(attempt, goal)
            case Leaves():
                return lambda: self._steps.leave(attempt, goal)
            case Ends():
                return lambda: self._steps.end(attempt, goal)
            case Starts():
                return lambda: self._steps.start(attempt, goal)
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
