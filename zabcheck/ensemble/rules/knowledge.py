"""What is known of servers, leaders and connections while the packets of a recording are judged.

An *iteration* of a follower (DSN 2011, IV) is one connection of it to a prospective leader. A server that is down, cut
off or paused goes on to be what it was: only what it sends next tells more.

Whatever is noted here is certain, or it is noted in the direction that excuses more: a packet that was passed on may
never have been read by a process that died, so a rule asks "could it have known?" of what was passed on, and "must it
know?" only of what the server itself has sent before. Packets that a server sent on another connection count from the
moment that a new one was opened: a server talks to one leader at a time.
"""

from collections import deque
from typing import NamedTuple

from zabcheck.ensemble.iteration import EpochAck, FollowerSide, LeaderSide
from zabcheck.ensemble.records import Sent
from zabcheck.ensemble.wire.zxids import is_txn

SHOWN = 10
"""How many of the last packets of a connection are kept for a report, beside those of its handshake."""

HANDSHAKE = ("FOLLOWERINFO", "LEADERINFO", "ACKEPOCH", "DIFF", "TRUNC", "SNAP")
"""What a connection begins with: what the follower has, and how it is brought up to date."""

RECEIVED, ON_ITS_WAY, LOST = "received", "on its way", "lost"


class KeptPacket:
    """A packet, the how-manieth it is on its connection, and what became of it: it is received, on its way, or lost."""

    def __init__(self, sent: Sent, position: int) -> None:
        self.sent = sent
        self.position = position
        self.state = ON_ITS_WAY


class Claim(NamedTuple):
    """A server said that it has the history up to `zxid`: with this packet, of its incarnation number `incarnation`.

    `said` is "ACK", "ACK of NEWLEADER", "ACKEPOCH", or "COMMIT" of a leader that needed its own vote. `sync` is how it
    got there: the DIFF, TRUNC or SNAP before an ACK of NEWLEADER; before ACKEPOCH, one that was broken off.
    """

    zxid: int
    said: str = ""
    packet: int = 0
    incarnation: int = 0
    sync: str = ""


NOTHING = Claim(0)


class Adoption(NamedTuple):
    """NEWLEADER of `epoch` was passed on, behind a history up to `zxid`."""

    epoch: int
    zxid: int


class KnownServer:
    """What has to survive on the disk of a server, as far as its own packets tell.

    `promised`: the last epoch that it promised, as follower or leader (f.p).
    `adopted`: the last epoch whose NEWLEADER it acknowledged, or that it leads (f.a): at least; `adopted_at_most`: None
    as long as nothing is known. `acknowledged`: up to here it said that it has the history. `adoption`: the last epoch
    that it may have adopted as follower. `at_most`: its history ends here at the latest, None if that is not known.
    `broken_off`: the kind of the synchronisation that it has begun and not acknowledged since it was started, or "".
    `asking`: the connections on which followers have asked it for an epoch and have no answer.
    `leaderships`: those of it, by epoch. `incarnation` counts its starts.
    """

    def __init__(self, number: int) -> None:
        self.number = number
        self.incarnation = 0
        self.promised = 0
        self.adopted = 0
        self.adopted_at_most: int | None = None
        self.acknowledged = NOTHING
        self.adoption: Adoption | None = None
        self.at_most: Claim | None = None
        self.broken_off = ""
        self.asking: list[JudgedConnection] = []
        self.leaderships: dict[int, Leadership] = {}

    def may_adopt(self, epoch: int) -> None:
        """From here on its f.a may be this."""
        self.adopted_at_most = max(epoch, self.adopted_at_most or 0)

    def has_adopted(self, epoch: int) -> None:
        """It says that its f.a is this."""
        self.adopted = max(self.adopted, epoch)
        self.may_adopt(epoch)

    def has_acknowledged(self, zxid: int, said: str, packet: int, sync: str = "") -> None:
        """It says that it has the history up to here."""
        if is_txn(zxid) and zxid > self.acknowledged.zxid:
            self.acknowledged = Claim(zxid, said, packet, self.incarnation, sync)

    def is_cut_to(self, zxid: int) -> None:
        """It was told to take over a history that ends here: it may forget what comes after."""
        if zxid < self.acknowledged.zxid:
            self.acknowledged = self.acknowledged._replace(zxid=zxid)
        if self.adoption is not None and zxid < self.adoption.zxid:
            self.adoption = self.adoption._replace(zxid=zxid)

    def is_handed(self, zxid: int) -> None:
        """A leader sends it something: its history may go up to here."""
        if self.at_most is not None and zxid > self.at_most.zxid:
            self.at_most = self.at_most._replace(zxid=zxid)

    def is_told_to_adopt(self, epoch: int, zxid: int) -> None:
        """NEWLEADER was passed on. If that comes twice, one of the two may have been done."""
        self.may_adopt(epoch)
        if self.adoption is not None and self.adoption.epoch == epoch:
            zxid = min(zxid, self.adoption.zxid)
        self.adoption = Adoption(epoch, zxid)

    def is_wiped(self) -> None:
        """It lost its disk: nothing can be asked of it any more."""
        self.promised = self.adopted = 0
        self.adopted_at_most = self.adoption = self.at_most = None
        self.acknowledged = NOTHING

    def starts(self) -> None:
        """It starts: whoever asked it for an epoch before asked in vain."""
        self.incarnation += 1
        self.broken_off = ""
        self.asking = []


class Leadership:
    """What a leader of one epoch has received. A server that leads again leads another epoch.

    `acknowledged`: what the leader had acknowledged as a follower, or shown as a leader, before this epoch.
    `ack_e`: the last ACKEPOCH of each follower that counts. `ack_ld`: who acknowledged NEWLEADER. `acks`: the highest
    ACK of each. `committed`: the highest zxid that it committed. `adopted_at_most`: its f.a before, as in `Server`.
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
        self.committed = 0

    def is_quorum(self, followers: int) -> bool:
        """Whether so many followers and the leader are one.

        What the leader itself has done is not on the wire: it counts as done.
        """
        return followers + 1 >= self.quorum

    def established(self) -> bool:
        """Whether a quorum has acknowledged NEWLEADER."""
        return self.is_quorum(len(self.ack_ld))

    def having(self, zxid: int) -> int:
        """How many followers have acknowledged this transaction. O(servers)."""
        return sum(acked >= zxid for acked in self.acks.values())


class PrecedingTxn(NamedTuple):
    """What was proposed right before the first transaction of an epoch, as `packet` showed."""

    zxid: int
    packet: int


class JudgedConnection:
    """One connection of a follower to a leader: what each of the two has sent, and what of it was passed on.

    What its two servers have promised, adopted, acknowledged is what they had by the time that it was opened.
    `beginnings` is one for all connections: by the first zxid of an epoch, what comes before it in the history.
    """

    def __init__(
        self,
        connection: int,
        follower: KnownServer,
        leader: KnownServer,
        quorum: int,
        beginnings: dict[int, PrecedingTxn],
    ) -> None:
        self.connection = connection
        self.beginnings = beginnings
        self.follower_server = follower
        self.leader_server = leader
        self.quorum = quorum
        self.promised = follower.promised
        self.adopted = follower.adopted
        self.acknowledged = follower.acknowledged
        self.adoption = follower.adoption
        self.at_most = follower.at_most
        self.incarnation = follower.incarnation
        self.leader_promised = leader.promised
        self.observes = False
        self.bound: int | None = None
        self.follower = FollowerSide()
        self.leader = LeaderSide(self.follower)
        self.length = 0
        self._handshake: list[KeptPacket] = []
        self._last: deque[KeptPacket] = deque(maxlen=SHOWN)

    def add(self, sent: Sent) -> KeptPacket:
        """Keep a packet for a report: those of the handshake, and the last ones. Memory is O(1) a connection."""
        packet = KeptPacket(sent, self.length)
        self.length += 1
        self._last.append(packet)
        if sent.kind in HANDSHAKE and len(self._handshake) < len(HANDSHAKE):
            self._handshake.append(packet)
        return packet

    def shown(self) -> list[KeptPacket]:
        """What is kept, in order."""
        return [*(each for each in self._handshake if each.position < self._last[0].position), *self._last]

    @property
    def leadership(self) -> Leadership | None:
        """That of the epoch which the leader proposed here."""
        epoch = self.leader.newepoch
        return None if epoch is None else self.leader_server.leaderships.get(epoch)
