"""Messages, faults of the network and pauses as events of a trace: properties do not look at them, drawings show them.

A message counts as received once it was passed on to its receiver, or its receiver answered it. Whether a server that
was killed soon after had read it cannot be known.
"""

from collections.abc import Callable

from zabcheck.invariants.events import Cut, Drop, Event, Heal, Hold, Mend, Pause, Receive, Send, Wake, Zxid
from zabcheck.zookeeper.recording.records import AnyRecord, Fault, Lost, Paused, Resumed, Sent
from zabcheck.zookeeper.trace.names import Names
from zabcheck.zookeeper.wire.streams import FIRST_ACK

EPOCHS = ("FOLLOWERINFO", "OBSERVERINFO", "LEADERINFO", "NEWLEADER", FIRST_ACK)
"""The messages of which the epoch is shown."""
ZXIDS = ("DIFF", "TRUNC", "SNAP", "ACK", "COMMIT")
"""The messages of which the zxid is shown."""


class Messages:
    """The messages between servers. Each is sent, and then received or lost, at most once."""

    def __init__(self, names: Names) -> None:
        self._names = names
        self._under_way: set[int] = set()
        self._answered: set[int] = set()  # connections on which NEWLEADER was acknowledged

    def sent(self, packet: Sent, incarnation: int) -> Send | None:
        """Return the event of a packet that `incarnation` of its sender has sent; None if it is no step of Zab."""
        kind = packet.plain_kind
        if kind == "ACK" and not packet.zxid & 0xFFFF_FFFF and packet.connection not in self._answered:
            self._answered.add(packet.connection)
            kind = FIRST_ACK
        text = self._text(kind, packet)
        if text is None:
            return None
        self._under_way.add(packet.packet)
        return Send(packet.sender, incarnation, packet.receiver, packet.packet, kind, text)

    def received(self, packet: Sent, incarnation: int) -> Receive | None:
        """Return the event of a packet that `incarnation` of its receiver got; None if its sending was no event."""
        if packet.packet not in self._under_way:
            return None
        self._under_way.remove(packet.packet)
        return Receive(packet.receiver, incarnation, packet.sender, packet.packet)

    def lost(self, record: Lost) -> Drop | None:
        """Return the event of a lost packet; None if its sending was no event, or it has arrived after all."""
        if record.packet not in self._under_way:
            return None
        self._under_way.remove(record.packet)
        return Drop(record.packet)

    def _text(self, kind: str, packet: Sent) -> str | None:
        """Return the contents of a packet in the paper's words; None if it is no step of Zab."""
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
            case "PROPOSAL" | "INFORM" if packet.txn is not None:
                return str(self._names.txn(packet.txn))
            case "PROPOSAL" | "INFORM":
                return str(zxid)
            case "UPTODATE":
                return ""
        return None


class Network:
    """The links that are cut and held, and their events. `incarnation` returns the present one of a server."""

    def __init__(self, incarnation: Callable[[int], int]) -> None:
        self._incarnation = incarnation
        self._cut: set[tuple[int, int]] = set()
        self._held: set[tuple[int, int]] = set()

    def event(self, record: AnyRecord) -> Event | None:
        """Return the event of a record; None if there is none."""
        match record:
            case Paused(_, server):
                return Pause(server, self._incarnation(server))
            case Resumed(_, server):
                return Wake(server, self._incarnation(server))
            case Fault(_, what, sender, receiver, kind):
                return self._fault(what, (sender, receiver), kind)
        return None

    def _fault(self, what: str, link: tuple[int, int], kind: str) -> Event | None:
        """Return the event of a fault. A link is mended once it is neither cut nor held; delays and traps have none."""
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
