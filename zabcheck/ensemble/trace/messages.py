"""Messages, faults of the network and pauses as events of a trace: no property asks for them, drawings show them.

A message is *received* once it was passed on to its receiver, or its receiver answered it. Whether a server that was
killed soon after had read it, nobody knows.
"""

from collections.abc import Callable

from invariants.events import Cut, Drop, Event, Heal, Hold, Mend, Pause, Receive, Send, Wake, Zxid
from zabcheck.ensemble.records import AnyRecord, Fault, Lost, Paused, Resumed, Sent
from zabcheck.ensemble.trace.names import Names
from zabcheck.ensemble.wire.streams import FIRST_ACK

EPOCHS = ("FOLLOWERINFO", "LEADERINFO", "NEWLEADER", FIRST_ACK)
"""The messages that carry an epoch, and nothing else of interest."""
ZXIDS = ("DIFF", "TRUNC", "SNAP", "ACK", "COMMIT")
"""Those that carry a zxid."""


class Messages:
    """The messages between servers, each told at most once as sent, as received and as lost, in this order."""

    def __init__(self, names: Names) -> None:
        self._names = names
        self._under_way: set[int] = set()
        self._answered: set[int] = set()  # connections on which NEWLEADER was acknowledged

    def sent(self, packet: Sent, incarnation: int) -> Send | None:
        """`incarnation` of its sender has sent it; None if it is no step of Zab, as a PING is none."""
        kind = packet.kind
        if kind == "ACK" and not packet.zxid & 0xFFFF_FFFF and packet.connection not in self._answered:
            self._answered.add(packet.connection)
            kind = FIRST_ACK
        text = self._text(kind, packet)
        if text is None:
            return None
        self._under_way.add(packet.packet)
        return Send(packet.sender, incarnation, packet.receiver, packet.packet, kind, text)

    def received(self, packet: Sent, incarnation: int) -> Receive | None:
        """`incarnation` of its receiver got it; None if it was not told as sent."""
        if packet.packet not in self._under_way:
            return None
        self._under_way.remove(packet.packet)
        return Receive(packet.receiver, incarnation, packet.sender, packet.packet)

    def lost(self, record: Lost) -> Drop | None:
        """Its connection is closed; None if it was not told as sent, or has arrived for all that is known."""
        if record.packet not in self._under_way:
            return None
        self._under_way.remove(record.packet)
        return Drop(record.packet)

    def _text(self, kind: str, packet: Sent) -> str | None:
        """What it carries, in the words of the paper."""
        zxid = Zxid.unpack(packet.zxid & 0xFFFF_FFFF_FFFF_FFFF)
        if kind in EPOCHS:
            return str(zxid.epoch)
        if kind in ZXIDS:
            return str(zxid)
        match kind:
            case "ACKEPOCH" if packet.epoch is None or packet.epoch < 0:
                return str(zxid)
            case "ACKEPOCH":
                return f"{packet.epoch}, {zxid}"
            case "PROPOSAL" if packet.txn is not None:
                return str(self._names.txn(packet.txn))
            case "PROPOSAL":
                return str(zxid)
            case "UPTODATE":
                return ""
        return None


class Network:
    """What is cut and held, and the events that tell of it. `incarnation` gives that of a server, for its pauses."""

    def __init__(self, incarnation: Callable[[int], int]) -> None:
        self._incarnation = incarnation
        self._cut: set[tuple[int, int]] = set()
        self._held: set[tuple[int, int]] = set()

    def event(self, record: AnyRecord) -> Event | None:
        """What a record says was done, None if a drawing has nothing to show of it."""
        match record:
            case Paused(_, server):
                return Pause(server, self._incarnation(server))
            case Resumed(_, server):
                return Wake(server, self._incarnation(server))
            case Fault(_, what, sender, receiver, kind):
                return self._fault(what, (sender, receiver), kind)
        return None

    def _fault(self, what: str, link: tuple[int, int], kind: str) -> Event | None:
        """A link is whole again when it is neither cut nor held. What a delay or a trap does shows in other events."""
        was_whole = link not in self._cut and link not in self._held
        match what:
            case "cut":
                self._cut.add(link)
                return Cut(*link)
            case "hold":
                self._held.add(link)
                return Hold(*link, kind)
            case "mend":
                self._cut.discard(link)
            case "release":
                self._held.discard(link)
            case "heal":
                broken = self._cut | self._held
                self._cut.clear()
                self._held.clear()
                return Heal() if broken else None
        is_whole = link not in self._cut and link not in self._held
        return Mend(*link) if is_whole and not was_whole else None
