"""The report on packets that diverge from the steps of Zab: the rule, and the packets of the connection before it."""

from collections.abc import Iterator

from msgspec import Struct
from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from zabcheck.text.pen import BOLD, DIM, RED, Drawing, Pen
from zabcheck.text.words import counted
from zabcheck.zookeeper.recording.iteration import NOT_AGAIN
from zabcheck.zookeeper.recording.records import Sent
from zabcheck.zookeeper.rules.knowledge import RECEIVED
from zabcheck.zookeeper.rules.packets import Divergence, Judgement
from zabcheck.zookeeper.wire.zxids import epoch_of, is_txn, shown


class PacketLine(Struct, frozen=True):
    """A packet for a reader. `time` is in milliseconds since the first one shown; `wrong`: it is the one that diverges.

    `note` is the packet's name in Zab, and its fate if it was not received. `left_out` is the number of packets of the
    connection right before it that are not shown.
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


def explain(divergence: Divergence) -> tuple[PacketLine, ...]:
    """Describe the beginning of the connection, the last packets before the divergence, and the one that diverges."""
    first = divergence.before[0].packet.time
    lines = []
    expected = 0
    for each in divergence.before:
        packet = each.packet
        lines.append(
            PacketLine(
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
    """Return the name of a packet of ZooKeeper in DSN 2011."""
    epoch = epoch_of(packet.zxid)
    match packet.plain_kind:
        case "FOLLOWERINFO":
            return f"CEPOCH({epoch})"
        case "OBSERVERINFO":
            return f"CEPOCH({epoch}) of an observer"
        case "LEADERINFO":
            return f"NEWEPOCH({epoch})"
        case "ACKEPOCH" if packet.epoch == NOT_AGAIN:
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
        case "INFORM":
            return "PROPOSE and COMMIT at once, to an observer"
    return packet.kind


def render_packets(judgement: Judgement) -> RenderableType:
    """Render the first divergence with its context, and the others in a line each; or the number of packets judged."""
    return Drawing(lambda pen: _judgement(pen, judgement))


def render_divergence(divergence: Divergence) -> RenderableType:
    """Render one divergence."""
    return Drawing(lambda pen: _divergence(pen, divergence))


def _judgement(pen: Pen, judgement: Judgement) -> Iterator[RenderableType]:
    first = next(iter(judgement.divergences), None)
    if first is None:
        packets = counted(judgement.packets, "packet", "packets")
        yield pen.write(f"None of {packets} breaks a rule.", BOLD)
    else:
        yield from _divergence(pen, first)
        rest = len(judgement.divergences) - 1
        if rest:
            yield Text()
            yield pen.write(f"{counted(rest, 'later divergence', 'later divergences')}:")
            yield from (pen.write(f"- packet {each.packet}: {each.sentence()}") for each in judgement.divergences[1:])
    for note in judgement.notes:
        yield pen.write(note, DIM)


def _divergence(pen: Pen, divergence: Divergence) -> Iterator[RenderableType]:
    yield pen.write(
        f"Packet {divergence.packet} of server {divergence.server} diverges from step {divergence.step}", RED
    )
    yield Text()
    yield pen.write(f"the rule   {divergence.rule}")
    yield pen.write(f"expected   {divergence.expected}")
    yield pen.write(f"seen       {divergence.seen}")
    yield Text()
    yield pen.write("The packets of this connection", BOLD)
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for title in ("ms", "packet", "from → to", "", "zxid", "in Zab"):
        table.add_column(pen.write(title, BOLD))
    table.columns[0].justify = table.columns[1].justify = "right"
    for line in explain(divergence):
        if line.left_out:
            table.add_row("", pen.write("…"), "", "", "", pen.write(f"{line.left_out:,} more", DIM))
        style = RED if line.wrong else ""
        table.add_row(
            pen.write(f"{line.time:,.1f}", style),
            pen.write(f"{line.packet}", style),
            pen.write(f"{line.sender} → {line.receiver}", style),
            pen.write(line.kind, style),
            pen.write(line.zxid, style),
            pen.write(line.note + (" ◀ diverges" if line.wrong else ""), style),
        )
    yield table
