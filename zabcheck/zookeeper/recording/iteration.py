"""One iteration of a follower with a leader (DSN 2011, IV), followed packet by packet at both of its ends.

An iteration is one connection of a follower to a prospective leader. Its packets, with their names in the paper:

    FOLLOWERINFO    CEPOCH           from the follower (OBSERVERINFO from an observer)
    LEADERINFO      NEWEPOCH
    ACKEPOCH        ACK-E            from the follower
    DIFF, TRUNC or SNAP, then PROPOSAL and COMMIT, then NEWLEADER    NEWLEADER with its initial history
    ACK ⟨e,0⟩       ACK-LD           from the follower
    UPTODATE        COMMIT-LD
    ACK ⟨e,0⟩       that UPTODATE was received; from the follower
    PROPOSAL, ACK and COMMIT    PROPOSE, ACK and COMMIT
    INFORM          PROPOSE and COMMIT at once, to an observer, which never acknowledges a proposal

The trace and the rules are both built on this: the trace follows the packets of one server, in that server's own order;
the rules follow both ends, in the order in which the proxy saw the packets. A packet is noted here whether it is right
or wrong: the rules judge it before.
"""

from collections import deque
from typing import NamedTuple

from zabcheck.zookeeper.recording.records import Sent
from zabcheck.zookeeper.wire.zxids import COUNTER, epoch_of, is_txn

NOT_AGAIN = -1
"""The value of ACKEPOCH in place of f.a if the epoch was promised before: such an answer does not count."""


class EpochAck(NamedTuple):
    """The contents of an ACKEPOCH: f.a, or `NOT_AGAIN`, and the last zxid of the follower's history."""

    current_epoch: int
    zxid: int

    @classmethod
    def of(cls, packet: Sent) -> "EpochAck":
        """Decode an ACKEPOCH."""
        return cls(packet.epoch if packet.epoch is not None else NOT_AGAIN, packet.zxid)


class FollowerSide:
    """The packets of one iteration, sent and received by a follower. Each packet is O(1), amortised.

    Sent: `ack_e` is the contents of ACKEPOCH. `ack_ld`: an ACK of ⟨e,0⟩ was sent. `acknowledged`: an ACK was sent since
    NEWLEADER was received; ZooKeeper's leader takes the first one for that of NEWLEADER, whatever its zxid is.

    Received: `newepoch` is the epoch of LEADERINFO, `epoch` the last one that LEADERINFO or NEWLEADER named, `sync` the
    DIFF, TRUNC or SNAP. `newleader`, `uptodate`: those have come. `covered`: the ACK of NEWLEADER acknowledges the
    history up to this zxid. `handed`: the follower's own history and the packets sent to it reach up to this zxid.
    """

    def __init__(self) -> None:
        self.ack_e: EpochAck | None = None
        self.ack_ld = False
        self.acknowledged = False
        self.newepoch: int | None = None
        self.epoch: int | None = None
        self.sync: Sent | None = None
        self.newleader = False
        self.uptodate = False
        self.covered = 0
        self.handed = 0

    def sends(self, packet: Sent) -> None:
        """Note a packet that the follower has sent."""
        match packet.plain_kind:
            case "ACKEPOCH" if self.ack_e is None:
                self.ack_e = EpochAck.of(packet)
            case "ACK":
                self.acknowledged = self.acknowledged or self.newleader
                self.ack_ld = self.ack_ld or not is_txn(packet.zxid)

    def receives(self, packet: Sent) -> None:
        """Note a packet that the follower has received."""
        match packet.plain_kind:
            case "LEADERINFO":
                self.newepoch = self.epoch = _unsigned_epoch(packet.zxid)
            case "DIFF" | "TRUNC" | "SNAP":
                self.sync = self.sync or packet
                self._begins_with(packet)
            case "PROPOSAL":
                self.handed = max(self.handed, packet.zxid)
            case "COMMIT" if not self.newleader:
                self.covered = max(self.covered, packet.zxid)
            case "NEWLEADER":
                self.newleader = True
                self.epoch = _unsigned_epoch(packet.zxid)
            case "UPTODATE":
                self.uptodate = True

    def _begins_with(self, packet: Sent) -> None:
        """Begin the initial history: with the follower's own (DIFF), the rest of it (TRUNC), or a snapshot."""
        if packet.kind == "DIFF":
            self.covered = self.handed = self.ack_e.zxid if self.ack_e is not None else packet.zxid
        else:
            self.covered = packet.zxid
            self.handed = max(self.handed, packet.zxid)


def _unsigned_epoch(zxid: int) -> int:
    """Return the epoch of a zxid that may be negative: an epoch of an event never is."""
    return epoch_of(zxid) & COUNTER


class LeaderSide:
    """The packets of one iteration, sent and received by a leader. Each packet is O(1), amortised.

    Sent: `newepoch` is the epoch of LEADERINFO, `sync` the DIFF, TRUNC or SNAP. `newleader`, `uptodate`, `proposed`:
    NEWLEADER, UPTODATE and any PROPOSAL were sent. `last`: the end of the follower's history with all that was sent.
    `uncommitted` holds the zxids of the proposals that are not committed.

    Received: `ack_e`, `ack_ld`: ACKEPOCH and an ACK of ⟨e,0⟩ have come.
    """

    def __init__(self, follower: FollowerSide) -> None:
        self._follower = follower
        self.newepoch: int | None = None
        self.sync: Sent | None = None
        self.newleader = False
        self.uptodate = False
        self.proposed = False
        self.last = 0
        self.uncommitted: deque[int] = deque()
        self.ack_e = False
        self.ack_ld = False

    def sends(self, packet: Sent) -> None:
        """Note a packet that the leader has sent."""
        match packet.plain_kind:
            case "LEADERINFO" if self.newepoch is None:
                self.newepoch = epoch_of(packet.zxid)
            case "DIFF" | "TRUNC" | "SNAP":
                ack_e = self._follower.ack_e
                self.sync = packet
                self.last = ack_e.zxid if packet.kind == "DIFF" and ack_e is not None else packet.zxid
            case "NEWLEADER":
                self.newleader = True
            case "UPTODATE":
                self.uptodate = True
            case "PROPOSAL":
                self.last = packet.zxid
                self.proposed = True
                self.uncommitted.append(packet.zxid)
            case "COMMIT":
                while self.uncommitted and self.uncommitted[0] <= packet.zxid:
                    self.uncommitted.popleft()

    def receives(self, packet: Sent) -> None:
        """Note a packet that the leader has received."""
        match packet.plain_kind:
            case "ACKEPOCH":
                self.ack_e = True
            case "ACK" if not is_txn(packet.zxid):
                self.ack_ld = True
