"""Knowledge about servers, leaders and connections, gathered while the packets of a recording are judged.

A server that is down, cut off or paused is taken to be what it was before: only what it sends next says more.

Whatever is noted here is certain, or it errs on the side of the server: a packet that was passed on may never have been
read by a process that died. So a rule asks "could the server have known?" of what was passed on, and "must it know?"
only of what the server itself has sent before. What a server has sent on one connection counts on another from the
moment that the other one is opened: a server talks to one leader at a time.
"""

from collections import deque
from typing import NamedTuple

from zabcheck.zookeeper.recording.iteration import EpochAck, FollowerSide, LeaderSide
from zabcheck.zookeeper.recording.records import Sent
from zabcheck.zookeeper.wire.zxids import epoch_of, is_txn

SHOWN = 10
"""The number of a connection's last packets that are kept for a report, beside those of its handshake."""

HANDSHAKE = ("FOLLOWERINFO", "LEADERINFO", "ACKEPOCH", "DIFF", "TRUNC", "SNAP")
"""The packets by which the follower says what it has, and learns how it is brought up to date."""

RECEIVED, ON_ITS_WAY, LOST = "received", "on its way", "lost"


class KeptPacket:
    """A packet, its place on its connection (from 0), and what became of it: received, on its way, or lost."""

    def __init__(self, sent: Sent, position: int) -> None:
        self.sent = sent
        self.position = position
        self.state = ON_ITS_WAY


class Claim(NamedTuple):
    """A server's claim to have the history up to `zxid`, made with this packet in incarnation `incarnation`.

    `said` is "ACK", "ACK of NEWLEADER", "ACKEPOCH", or "COMMIT" of a leader that needed its own vote. `sync` is the
    DIFF, TRUNC or SNAP before an ACK of NEWLEADER; before an ACKEPOCH it is the one that was broken off.
    """

    zxid: int
    said: str = ""
    packet: int = 0
    incarnation: int = 0
    sync: str = ""


NOTHING = Claim(0)


class Adoption(NamedTuple):
    """NEWLEADER of `epoch` was passed on, after a history up to `zxid`."""

    epoch: int
    zxid: int


class KnownServer:
    """Knowledge about a server from its own packets: what has to be on its disk, and whom it leads.

    adopted          the last epoch whose NEWLEADER it acknowledged, or in which it leads: f.a is at least this
    adopted_at_most  f.a is at most this; None as long as nothing is known
    promised         for each epoch that it has promised, the number of the leader
    acknowledged     its claim to have the history up to a zxid
    adoption         the last epoch that it may have adopted as follower
    at_most          its history ends here at the latest; None if that is not known
    broken_off       the kind of the synchronisation that it has begun since it was started, and not acknowledged; or ""
    leaderships      its leaderships, by epoch
    incarnation      how often it was started
    """

    def __init__(self, number: int) -> None:
        self.number = number
        self.incarnation = 0
        self.adopted = 0
        self.adopted_at_most: int | None = None
        self.promised: dict[int, int] = {}
        self.acknowledged = NOTHING
        self.adoption: Adoption | None = None
        self.at_most: Claim | None = None
        self.broken_off = ""
        self.leaderships: dict[int, Leadership] = {}

    def may_adopt(self, epoch: int) -> None:
        """Note that f.a may be this epoch from here on."""
        self.adopted_at_most = max(epoch, self.adopted_at_most or 0)

    def has_adopted(self, epoch: int) -> None:
        """Note that it says that f.a is this epoch."""
        self.adopted = max(self.adopted, epoch)
        self.may_adopt(epoch)

    def has_acknowledged(self, zxid: int, said: str, packet: int, sync: str = "") -> None:
        """Note its claim to have the history up to this zxid."""
        if is_txn(zxid) and zxid > self.acknowledged.zxid:
            self.acknowledged = Claim(zxid, said, packet, self.incarnation, sync)

    def is_cut_to(self, zxid: int, unless_of: int | None = None) -> None:
        """Note that it is to take over a history that ends here: it may forget what comes after.

        A claim to have a transaction of the epoch `unless_of` stays.
        """
        if zxid < self.acknowledged.zxid and epoch_of(self.acknowledged.zxid) != unless_of:
            self.acknowledged = self.acknowledged._replace(zxid=zxid)
        if self.adoption is not None and zxid < self.adoption.zxid:
            self.adoption = self.adoption._replace(zxid=zxid)

    def is_handed(self, zxid: int) -> None:
        """Note that a leader has sent it a transaction: its history may reach up to here."""
        if self.at_most is not None and zxid > self.at_most.zxid:
            self.at_most = self.at_most._replace(zxid=zxid)

    def is_told_to_adopt(self, epoch: int, zxid: int) -> None:
        """Note that NEWLEADER was passed on. If that happens twice, the server may have acted on either."""
        self.may_adopt(epoch)
        if self.adoption is not None and self.adoption.epoch == epoch:
            zxid = min(zxid, self.adoption.zxid)
        self.adoption = Adoption(epoch, zxid)

    def is_wiped(self) -> None:
        """Note that its disk was wiped: it may forget everything."""
        self.adopted = 0
        self.adopted_at_most = self.adoption = self.at_most = None
        self.promised = {}
        self.acknowledged = NOTHING

    def starts(self) -> None:
        """Note that it starts."""
        self.incarnation += 1
        self.broken_off = ""


class CutOff(NamedTuple):
    """A TRUNC to `zxid`, packet number `packet`, for a follower that had acknowledged up to `acknowledged` before."""

    zxid: int
    packet: int
    acknowledged: int


class Leadership:
    """The packets that the leader of one epoch has received. A server that leads again leads another epoch.

    `acknowledged`: the leader's claim before this epoch. `ack_e`: by follower, the last ACKEPOCH that counts. `ack_ld`:
    who acknowledged NEWLEADER. `acks`: by follower, the highest zxid that it acknowledged. `kept`: the same, without
    what it was sent a TRUNC for since; `cut_off` has those. `committed`: the highest zxid that was committed.
    `adopted_at_most`: the leader's f.a before this epoch, as in `KnownServer`.
    """

    def __init__(self, leader: KnownServer, epoch: int, quorum: int) -> None:
        self.leader_server = leader
        self.epoch = epoch
        self.quorum = quorum
        self.adopted_at_most = leader.adopted_at_most
        self.acknowledged = leader.acknowledged
        self.ack_e: dict[int, EpochAck] = {}
        self.ack_ld: dict[int, bool] = {}
        self.acks: dict[int, int] = {}
        self.kept: dict[int, int] = {}
        self.cut_off: dict[int, CutOff] = {}
        self.committed = 0

    def is_quorum(self, followers: int) -> bool:
        """Return True if this number of followers and the leader are a quorum.

        The leader's own acts are not on the wire: they count as done.
        """
        return followers + 1 >= self.quorum

    def established(self) -> bool:
        """Return True if a quorum has acknowledged NEWLEADER."""
        return self.is_quorum(len(self.ack_ld))

    def having(self, zxid: int) -> int:
        """Return the number of followers that have acknowledged this transaction. O(servers)."""
        return sum(acked >= zxid for acked in self.acks.values())

    def keeping(self, zxid: int) -> int:
        """Return the number of those that were not told since to cut it off. O(servers)."""
        return sum(kept >= zxid for kept in self.kept.values())

    def is_acknowledged(self, follower: int, zxid: int) -> None:
        """Note that a follower has acknowledged the transactions up to this one."""
        for acks in (self.acks, self.kept):
            acks[follower] = max(acks.get(follower, 0), zxid)

    def cuts_off(self, follower: int, zxid: int, packet: int) -> None:
        """Note that the leader has sent a TRUNC to this zxid."""
        if self.kept.get(follower, 0) > zxid:
            self.cut_off[follower] = CutOff(zxid, packet, self.kept[follower])
            self.kept[follower] = zxid


class PrecedingTxn(NamedTuple):
    """The zxid of what was proposed right before the first transaction of an epoch, as packet number `packet` shows."""

    zxid: int
    packet: int


class JudgedConnection:
    """One connection of a follower to a leader, with what was known of the two servers when it was opened.

    `follower` and `leader` are its two ends, as packets were sent and passed on. `observes`: the follower is an
    observer; `informed` is the zxid of the last INFORM to it. `beginnings` is shared by all connections: by the first
    zxid of an epoch, the transaction before it in the history. So is `jumps`: by the first zxid behind a gap that was
    made on purpose, the last one before it.
    """

    def __init__(
        self,
        connection: int,
        follower: KnownServer,
        leader: KnownServer,
        quorum: int,
        beginnings: dict[int, PrecedingTxn],
        jumps: dict[int, int],
    ) -> None:
        self.connection = connection
        self.beginnings = beginnings
        self.jumps = jumps
        self.follower_server = follower
        self.leader_server = leader
        self.quorum = quorum
        self.adopted = follower.adopted
        self.acknowledged = follower.acknowledged
        self.adoption = follower.adoption
        self.at_most = follower.at_most
        self.incarnation = follower.incarnation
        self.observes = False
        self.informed = 0
        self.follower = FollowerSide()
        self.leader = LeaderSide(self.follower)
        self.length = 0
        self._handshake: list[KeptPacket] = []
        self._last: deque[KeptPacket] = deque(maxlen=SHOWN)

    def add(self, sent: Sent) -> KeptPacket:
        """Keep a packet for a report: the handshake and the last packets are kept. Memory is O(1) a connection."""
        packet = KeptPacket(sent, self.length)
        self.length += 1
        self._last.append(packet)
        if sent.kind in HANDSHAKE and len(self._handshake) < len(HANDSHAKE):
            self._handshake.append(packet)
        return packet

    def shown(self) -> list[KeptPacket]:
        """Return the kept packets, in order."""
        return [*(each for each in self._handshake if each.position < self._last[0].position), *self._last]

    @property
    def leadership(self) -> Leadership | None:
        """The leadership of the epoch that the leader proposed on this connection."""
        epoch = self.leader.newepoch
        return None if epoch is None else self.leader_server.leaderships.get(epoch)
