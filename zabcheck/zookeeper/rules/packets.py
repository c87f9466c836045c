"""The packets of a recording that do not follow from what their sender had received before, by DSN 2011, IV.

The comparison with the model of ZooKeeper (`conformance`) covers most of this. These rules are for where
ZooKeeper departs from the paper, and the model with it; and for observers, which the model does not have.

The rules of a follower are in `follower`, those of a leader in `leader`, and those of a leader towards an observer in
`observer`; what they know is in `knowledge`. A packet is judged when it was sent, by what had been passed on to its
sender, and then noted, whether it was right or not. PING, REVALIDATE, SYNC and REQUEST are not judged, nor is what an
observer sends.

The proxies record what they have read and passed on in one order. What a server sends because of a packet is read after
that packet was passed on, so whatever the server knew is recorded before. The reverse need not hold: a packet that was
passed on may not have been read by the server. Therefore no rule says that a server has to answer.
"""

from collections.abc import Iterable
from pathlib import Path

from msgspec import Struct

from zabcheck.zookeeper.recording.folder import read
from zabcheck.zookeeper.recording.records import (
    AnyRecord,
    Closed,
    Lost,
    Opened,
    Passed,
    Reconfigures,
    Run,
    Sent,
    Started,
    Undecoded,
    Wiped,
    ZxidSet,
    changes_members,
)
from zabcheck.zookeeper.rules import follower as follower_rules
from zabcheck.zookeeper.rules import leader as leader_rules
from zabcheck.zookeeper.rules import observer as observer_rules
from zabcheck.zookeeper.rules.knowledge import (
    LOST,
    RECEIVED,
    JudgedConnection,
    KeptPacket,
    KnownServer,
    PrecedingTxn,
)
from zabcheck.zookeeper.rules.rule import Gap, Rule, Wrong
from zabcheck.zookeeper.wire.streams import is_for_good

JUDGED = frozenset(("FOLLOWERINFO", "LEADERINFO", "ACKEPOCH", "DIFF", "TRUNC", "SNAP", "NEWLEADER", "UPTODATE")) | {
    *("PROPOSAL", "ACK", "COMMIT")
}
"""The kinds of packets between a follower and its leader that rules are about: by themselves, or by what they tell."""


class ShownPacket(Struct, frozen=True):
    """A packet for a report; `state` is what had become of the packet when the divergence was seen.

    `position` is its place among the judged packets of its connection, from 0.
    """

    packet: Sent
    position: int
    state: str


class EarlierClaim(Struct, frozen=True):
    """An earlier claim of a server, made with packet number `packet`. `restarted`: it has been started again since.

    `sync` is DIFF, TRUNC or SNAP if the claim came at the end of a synchronisation, or after one that was broken off.
    """

    what: str
    packet: int
    zxid: int
    restarted: bool
    sync: str = ""


class Divergence(Struct, frozen=True):
    """A packet that does not follow from what its sender had received.

    `packet` is its number, `server` its sender. `step` is the step of DSN 2011, IV; `name` is the function that checks
    the rule, and `rule` says the rule in a sentence. `before`: how the connection began, the last packets, and this one
    itself. `contradicts`: the earlier claim of the server that this packet contradicts, if there is one. `gap`: where
    the history that a leader brings is not one.
    """

    packet: int
    time: int
    server: int
    step: str
    name: str
    rule: str
    expected: str
    seen: str
    before: tuple[ShownPacket, ...]
    contradicts: EarlierClaim | None = None
    gap: Gap | None = None

    def sentence(self) -> str:
        """Describe it in one sentence."""
        return f"server {self.server}, step {self.step}: {self.rule}; expected {self.expected}, seen {self.seen}"


class Judgement(Struct, frozen=True):
    """The findings in a recording. `judged` counts the packets by kind; `notes` has the exemptions, with reasons.

    A rule that is broken several times on one connection is reported once: what is wrong there may stay wrong.
    """

    divergences: tuple[Divergence, ...]
    judged: dict[str, int]
    notes: tuple[str, ...] = ()

    @property
    def packets(self) -> int:
        """The number of packets that were judged."""
        return sum(self.judged.values())


def judge_recording(folder: Path) -> Judgement:
    """Judge the packets of the recording in a folder. RecordingError if it cannot be read."""
    return judge(read(folder))


def judge(records: Iterable[AnyRecord]) -> Judgement:
    """Judge packets; the divergences are in their order. O(records × servers)."""
    judging = _Judging()
    for record in records:
        judging.take(record)
    return Judgement(tuple(judging.divergences), judging.judged, tuple(judging.notes))


class _Judging:
    """Judges packets while the records come in."""

    def __init__(self) -> None:
        self.divergences: list[Divergence] = []
        self.judged: dict[str, int] = {}
        self.notes: list[str] = []
        self._quorum = 1
        self._blind = False
        self._reconfigured = False
        self._beginnings: dict[int, PrecedingTxn] = {}
        self._jumps: dict[int, int] = {}
        self._servers: dict[int, KnownServer] = {}
        self._connections: dict[int, JudgedConnection] = {}
        self._on_the_way: dict[int, tuple[JudgedConnection, KeptPacket]] = {}
        self._broken: dict[tuple[int, str], bool] = {}

    def take(self, record: AnyRecord) -> None:
        """Take in the next record."""
        if not self._reconfigured and changes_members(record):
            self._reconfigured = True
            how = "asked for" if isinstance(record, Reconfigures) else "given to a server that was started"
            self.notes.append(f"another configuration was {how}: no rule that counts a quorum is judged after that")
        match record:
            case Run():
                self._quorum = record.quorum
            case Started(server=server):
                self._server(server).starts()
            case Wiped(server=server, copy=copy):
                self._server(server).is_wiped()
                how = "wiped" if copy is None else "replaced by an older copy"
                self.notes.append(f"the disk of server {server} was {how}: it may forget what it had acknowledged")
            case ZxidSet(before=before, after=after):
                self._jumps[after + 1] = before
            case Opened(connection=connection, client=client, server=server, port="quorum"):
                self._connections[connection] = self._connection(connection, client, server)
            case Undecoded(connection=connection, reason=reason) if is_for_good(reason):
                self._undecoded(connection, reason)
            case Closed(connection=connection):
                self._connections.pop(connection, None)
            case Sent():
                self._sent(record)
            case Passed(packet=packet):
                self._passed(packet)
            case Lost(packet=packet):
                if packet in self._on_the_way:
                    self._on_the_way.pop(packet)[1].state = LOST

    def _undecoded(self, connection: int, reason: str) -> None:
        """Stop judging: unless all packets can be read, no quorum can be counted."""
        if connection in self._connections and not self._blind:
            self._blind = True
            self.notes.append(f"connection {connection} cannot be read {reason}; no packet after that is judged")

    def _server(self, number: int) -> KnownServer:
        if number not in self._servers:
            self._servers[number] = KnownServer(number)
        return self._servers[number]

    def _connection(self, connection: int, follower: int, leader: int) -> JudgedConnection:
        return JudgedConnection(
            connection, self._server(follower), self._server(leader), self._quorum, self._beginnings, self._jumps
        )

    def _sent(self, packet: Sent) -> None:
        at = self._connections.get(packet.connection)
        if at is None:
            return
        at.observes |= packet.kind == "OBSERVERINFO"
        if packet.plain_kind not in (observer_rules.NOTED if at.observes else JUDGED) or self._blind:
            return
        follows = packet.sender == at.follower_server.number
        self._on_the_way[packet.packet] = at, at.add(packet)
        rules = observer_rules if at.observes else follower_rules if follows else leader_rules
        own = rules.RULES.get(packet.plain_kind, ()) if not (at.observes and follows) else ()
        if own or not at.observes:
            self.judged[packet.plain_kind] = self.judged.get(packet.plain_kind, 0) + 1
        for rule in own:
            if self._reconfigured and rule.counts_a_quorum:
                continue
            wrong = rule.check(at, packet)
            if wrong is not None:
                self._note(at, packet, rule, wrong)
        rules.sent(at, packet)

    def _note(self, at: JudgedConnection, packet: Sent, rule: Rule, wrong: Wrong) -> None:
        if (at.connection, rule.name) in self._broken:
            return
        self._broken[at.connection, rule.name] = True
        before = tuple(ShownPacket(entry.sent, entry.position, entry.state) for entry in at.shown())
        claim = wrong.claim
        incarnation = at.incarnation if packet.sender == at.follower_server.number else at.leader_server.incarnation
        said = claim and EarlierClaim(claim.said, claim.packet, claim.zxid, claim.incarnation < incarnation, claim.sync)
        self.divergences.append(
            Divergence(
                packet.packet,
                packet.time,
                packet.sender,
                rule.step,
                rule.name,
                rule.sentence,
                wrong.expected,
                wrong.seen,
                before,
                said,
                wrong.gap,
            )
        )

    def _passed(self, number: int) -> None:
        if number not in self._on_the_way:
            return
        at, entry = self._on_the_way.pop(number)
        entry.state = RECEIVED
        follows = entry.sent.sender == at.follower_server.number
        rules = observer_rules if at.observes else leader_rules if follows else follower_rules
        rules.received(at, entry.sent)
