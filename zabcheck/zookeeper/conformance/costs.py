"""The costs of moves: low for one that leads towards what was observed, high for any other."""

from collections.abc import Iterable

from zabcheck.invariants import Zxid
from zabcheck.zookeeper.conformance.attempt import Attempt
from zabcheck.zookeeper.conformance.observations import (
    Applies,
    Ends,
    Observation,
    Proposes,
    Sends,
    ServerRecord,
)
from zabcheck.zookeeper.conformance.packets import Key
from zabcheck.zookeeper.model.server import Link

NEAR, ASIDE, FAR = 1, 5, 10
"""The cost of a move that leads towards the observation, of one that may have to come before, and of any other."""


class Costs:
    """The costs of the moves of one server, by its recording."""

    def __init__(self, record: ServerRecord) -> None:
        self.record = record

    def wanted(self, attempt: Attempt, goal: Observation) -> tuple[Key, ...]:
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

    def of_reading(self, attempt: Attempt, goal: Observation, wanted: tuple[Key, ...], connection: int) -> int:
        """Return the cost of reading the next packet on a connection."""
        there = self.record.connections[connection]
        key = there.inbound[attempt.reads[connection]].key
        if not attempt.server.leads:
            return NEAR if isinstance(goal, Sends | Applies) else FAR
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
        return FAR

    def _has_ack(self, attempt: Attempt, connection: int, zxid: Zxid, time: int) -> bool:
        """Return True if an ACK of the transaction can be read on this connection by `time`."""
        index = self.record.connections[connection].acks.get(zxid, -1)
        inbound = self.record.connections[connection].inbound
        return index >= attempt.reads[connection] and inbound[index].time <= time

    def of_running(self, attempt: Attempt, goal: Observation, wanted: tuple[Key, ...], thread: str) -> int:
        """Return the cost of letting a thread go on."""
        kinds = [key[0] for key in wanted]
        match thread:
            case "main" if attempt.server.leads and isinstance(goal, Sends) and "UPTODATE" not in kinds:
                return ASIDE  # once a leader serves it synchronises otherwise
            case "main" | "log too long" | "start late" | "handlers sleep":
                return NEAR
            case "commit":
                return NEAR if isinstance(goal, Applies) else ASIDE
            case "handlers":
                return NEAR if ("UPTODATE",) in wanted else ASIDE
            case "force":
                return NEAR if ("ACK", attempt.server.to_flush[-1].zxid) in wanted else ASIDE
            case "sync" if "ACK" in kinds or isinstance(goal, Ends):
                return NEAR
            case "sync" if attempt.server.leads and ("COMMIT" in kinds or isinstance(goal, Applies)):
                return NEAR + 1
        return ASIDE

    def of_proposing(self, goal: Observation, wanted: tuple[Key, ...]) -> int:
        """Return the cost of broadcasting the next transaction."""
        is_next = not wanted or any(key[0] == "PROPOSAL" for key in wanted)
        return NEAR if is_next and isinstance(goal, Proposes | Sends) else ASIDE

    def is_of_use(self, thread: str, attempt: Attempt, readable: Iterable[int]) -> bool:
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
