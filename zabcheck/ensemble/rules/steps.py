"""Does each packet of a recording follow from what its sender had received before? Zab's steps (DSN 2011, IV) say.

The rules of a follower are in `follower_steps`, those of a leader in `leader_steps`; what they know is in `iterations`.
A packet is judged when it was sent, by what had been passed on to its sender, then noted as it is, whether it was right
or not. PING, REVALIDATE, SYNC, REQUEST, INFORM and the connections of observers are not judged.

The proxies record what they have read and passed on in one order. What a server sends because of a packet is read after
that packet was passed on; so whatever it knew is recorded before. The reverse need not hold, as a packet that was
passed on may not have been read by the server: therefore no rule says that a server has to answer.
"""

from collections.abc import Iterable
from pathlib import Path

from msgspec import Struct

from zabcheck.ensemble.recording import (
    AnyRecord,
    Closed,
    Lost,
    Opened,
    Passed,
    Run,
    Sent,
    Started,
    Undecoded,
    Wiped,
    read,
)
from zabcheck.ensemble.rules import follower as follower_steps
from zabcheck.ensemble.rules import leader as leader_steps
from zabcheck.ensemble.rules.iterations import (
    LOST,
    RECEIVED,
    Before,
    Iteration,
    Packet,
    Server,
    epoch_of,
    is_txn,
    shown,
)
from zabcheck.ensemble.rules.rule import Rule, Wrong

JUDGED = frozenset(follower_steps.RULES) | frozenset(leader_steps.RULES)
"""The kinds of packets for which there is a rule."""


class Shown(Struct, frozen=True):
    """A packet for a report: `state` is what had become of it when the divergence was seen.

    `position` is its place among the packets of its connection that are judged, from 0.
    """

    packet: Sent
    position: int
    state: str


class Said(Struct, frozen=True):
    """What a server said before, with packet number `packet`: `restarted` if that was before it was started again.

    `sync`: DIFF, TRUNC or SNAP, if it said so at the end of a synchronisation, or after one that was broken off.
    """

    what: str
    packet: int
    zxid: int
    restarted: bool
    sync: str = ""


class Divergence(Struct, frozen=True):
    """A packet that does not follow from what its sender had received.

    `packet` is its number, `server` its sender. `step` is that of DSN 2011, IV, `name` that of the function which is
    the rule, and `rule` says it in a sentence. `before`: how its connection began, the last packets before it, and it
    itself. `contradicts`: what the server said before, if it is that.
    """

    packet: int
    time: int
    server: int
    step: str
    name: str
    rule: str
    expected: str
    seen: str
    before: tuple[Shown, ...]
    contradicts: Said | None = None

    def sentence(self) -> str:
        """In one sentence."""
        return f"server {self.server}, step {self.step}: {self.rule}; expected {self.expected}, seen {self.seen}"


class Line(Struct, frozen=True):
    """A packet for a reader. `time` is in milliseconds since the first one shown; `wrong`: it is the one that diverges.

    `note` is what it is in Zab, and what became of it if it was not received. `left_out`: so many packets of the
    connection before it are not shown.
    """

    time: float
    packet: int
    sender: int
    receiver: int
    kind: str
    zxid: str
    note: str
    wrong: bool
    left_out: int


def explain(divergence: Divergence) -> tuple[Line, ...]:
    """How its connection began, the last packets before it, and it itself."""
    first = divergence.before[0].packet.time
    lines = []
    expected = 0
    for each in divergence.before:
        packet = each.packet
        lines.append(
            Line(
                (packet.time - first) / 1000,
                packet.packet,
                packet.sender,
                packet.receiver,
                packet.kind,
                "" if packet.kind == "UPTODATE" else shown(packet.zxid),
                in_zab(packet) + ("" if each.state == RECEIVED else f" ({each.state})"),
                packet.packet == divergence.packet,
                each.position - expected,
            )
        )
        expected = each.position + 1
    return tuple(lines)


def in_zab(packet: Sent) -> str:
    """What a packet of ZooKeeper is in the words of DSN 2011."""
    epoch = epoch_of(packet.zxid)
    match packet.kind:
        case "FOLLOWERINFO":
            return f"CEPOCH({epoch})"
        case "LEADERINFO":
            return f"NEWEPOCH({epoch})"
        case "ACKEPOCH" if packet.epoch == follower_steps.NOT_AGAIN:
            return "ACK-E that does not count"
        case "ACKEPOCH":
            return f"ACK-E, f.a = {packet.epoch}"
        case "DIFF":
            return f"initial history: what is missing, up to {shown(packet.zxid)}"
        case "TRUNC":
            return f"initial history: cut behind {shown(packet.zxid)}"
        case "SNAP":
            return f"initial history: a snapshot of {packet.size:,} bytes"
        case "NEWLEADER":
            return f"NEWLEADER({epoch}) ends the initial history"
        case "ACK" if not is_txn(packet.zxid):
            return f"ACK-LD({epoch}), or the answer to UPTODATE"
        case "UPTODATE":
            return "COMMIT-LD"
        case "PROPOSAL":
            return "PROPOSE" + (f" {packet.txn.path}" if packet.txn is not None and packet.txn.path else "")
    return packet.kind


class Judgement(Struct, frozen=True):
    """What came of a recording. `judged`: how many packets of each kind; `notes`: what is exempt, and why.

    Of one connection each rule is said to be broken at most once: what is wrong there may stay wrong.
    """

    divergences: tuple[Divergence, ...]
    judged: dict[str, int]
    notes: tuple[str, ...] = ()

    @property
    def packets(self) -> int:
        """How many were judged."""
        return sum(self.judged.values())


def judge_recording(folder: Path) -> Judgement:
    """`judge` for a folder. RecordingError if it cannot be read."""
    return judge(read(folder))


def judge(records: Iterable[AnyRecord]) -> Judgement:
    """The divergences, in the order of the packets. O(records), each with O(servers) work."""
    judging = _Judging()
    for record in records:
        judging.take(record)
    return Judgement(tuple(judging.divergences), judging.judged, tuple(judging.notes))


class _Judging:
    """The records up to one, taken in."""

    def __init__(self) -> None:
        self.divergences: list[Divergence] = []
        self.judged: dict[str, int] = {}
        self.notes: list[str] = []
        self._quorum = 1
        self._blind = False
        self._beginnings: dict[int, Before] = {}
        self._servers: dict[int, Server] = {}
        self._iterations: dict[int, Iteration] = {}
        self._on_the_way: dict[int, tuple[Iteration, Packet]] = {}
        self._broken: dict[tuple[int, str], bool] = {}

    def take(self, record: AnyRecord) -> None:
        """Take in the next one."""
        match record:
            case Run(servers=servers):
                self._quorum = servers // 2 + 1
            case Started(server=server):
                self._server(server).starts()
            case Wiped(server=server):
                self._server(server).is_wiped()
                self.notes.append(f"the disk of server {server} was wiped: it may forget what it had acknowledged")
            case Opened(connection=connection, client=client, server=server, port="quorum"):
                self._iterations[connection] = self._iteration(connection, client, server)
            case Undecoded(connection=connection, reason=reason) if reason.startswith("from byte"):
                self._undecoded(connection, reason)
            case Closed(connection=connection):
                self._iterations.pop(connection, None)
            case Sent():
                self._sent(record)
            case Passed(packet=packet):
                self._passed(packet)
            case Lost(packet=packet):
                if packet in self._on_the_way:
                    self._on_the_way.pop(packet)[1].state = LOST

    def _undecoded(self, connection: int, reason: str) -> None:
        """Without all the packets no quorum can be counted."""
        if connection in self._iterations and not self._blind:
            self._blind = True
            self.notes.append(f"connection {connection} cannot be read {reason}; no packet after that is judged")

    def _server(self, number: int) -> Server:
        if number not in self._servers:
            self._servers[number] = Server(number)
        return self._servers[number]

    def _iteration(self, connection: int, follower: int, leader: int) -> Iteration:
        return Iteration(connection, self._server(follower), self._server(leader), self._quorum, self._beginnings)

    def _sent(self, packet: Sent) -> None:
        at = self._iterations.get(packet.connection)
        if at is None:
            return
        at.observes |= packet.kind == "OBSERVERINFO"
        if at.observes or packet.kind not in JUDGED or self._blind:
            return
        self.judged[packet.kind] = self.judged.get(packet.kind, 0) + 1
        follows = packet.sender == at.follower.number
        self._on_the_way[packet.packet] = at, at.add(packet)
        steps = follower_steps if follows else leader_steps
        for rule in steps.RULES.get(packet.kind, ()):
            wrong = rule.check(at, packet)
            if wrong is not None:
                self._note(at, packet, rule, wrong)
        steps.sent(at, packet)

    def _note(self, at: Iteration, packet: Sent, rule: Rule, wrong: Wrong) -> None:
        if (at.connection, rule.name) in self._broken:
            return
        self._broken[at.connection, rule.name] = True
        before = tuple(Shown(entry.sent, entry.position, entry.state) for entry in at.shown())
        claim = wrong.claim
        incarnation = at.incarnation if packet.sender == at.follower.number else at.leader.incarnation
        said = claim and Said(claim.said, claim.packet, claim.zxid, claim.incarnation < incarnation, claim.sync)
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
            )
        )

    def _passed(self, number: int) -> None:
        if number not in self._on_the_way:
            return
        at, entry = self._on_the_way.pop(number)
        entry.state = RECEIVED
        steps = leader_steps if entry.sent.sender == at.follower.number else follower_steps
        steps.received(at, entry.sent)
