"""Where the packets of a real ensemble first diverge from the steps of Zab: the rule, and the packets before it."""

from collections.abc import Iterator

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from zabcheck.ensemble.rules.steps import Divergence, Judgement, explain
from zabcheck.text.pen import BOLD, DIM, RED, Drawing, Pen
from zabcheck.text.words import counted


def render_packets(judgement: Judgement, ascii_only: bool | None = None) -> RenderableType:
    """The first divergence with its context, and how many more there are; or how many packets were judged."""
    return Drawing(lambda pen: _judgement(pen, judgement), ascii_only)


def render_divergence(divergence: Divergence, ascii_only: bool | None = None) -> RenderableType:
    """One of them."""
    return Drawing(lambda pen: _divergence(pen, divergence), ascii_only)


def _judgement(pen: Pen, judgement: Judgement) -> Iterator[RenderableType]:
    first = next(iter(judgement.divergences), None)
    if first is None:
        packets = counted(judgement.packets, "packet", "packets")
        yield pen.write(f"Each of {packets} follows from what its sender had received before.", BOLD)
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
