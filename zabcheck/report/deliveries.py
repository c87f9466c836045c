"""Who delivered what: the delivered sequences side by side, and where they clash."""

from collections.abc import Iterable, Iterator, Mapping, Sequence

from rich.cells import cell_len
from rich.text import Text

from invariants import Broadcast, Deliver, Event, Local, Txn, Violation
from zabcheck.report.pen import BOLD, DIM, RED, Pen, labels_of, padded
from zabcheck.report.words import clean, name

CONTEXT = 3
"""How many positions are shown around one that matters, where the sequences are long."""
LONGEST_VALUE = 16
"""The longest value that is shown whole, in characters."""

Actor = tuple[int, int]
"""A process and its incarnation."""
Delivered = Sequence[tuple[int, int, tuple[Txn, ...]]]
"""(process, incarnation, what it delivered)."""


def draw_delivered(pen: Pen, delivered: Delivered, violation: Violation | None) -> Iterator[Text]:
    """A column for each incarnation, a row for each position; what is in the witness, and what clashes, is marked."""
    if not delivered:
        return
    labels = labels_of(violation)
    sequences = {(process, incarnation): txns for process, incarnation, txns in delivered}
    lacking = _lacking(sequences, labels)
    actors = sorted({*sequences, *lacking})
    sequences = {actor: sequences.get(actor, ()) for actor in actors}
    marks = {
        (index, actor): label
        for actor in actors
        for index, txn in enumerate(sequences[actor])
        if (label := labels.get(Deliver(*actor, txn))) is not None
    }
    clash = _first_difference(list(sequences.values()))
    important = {index for index, _ in marks} | ({clash} if clash is not None else set())
    rows: list[list[Text]] = []
    heads: list[Text] = []
    previous = -1
    length = max(map(len, sequences.values()))
    for index in _worth_showing(length, important):
        if index > previous + 1:
            heads.append(pen.write("…"))
            rows.append([pen.write(f"{index - previous - 1} more", DIM)] * len(actors))
        previous = index
        heads.append(pen.write(f"≠ {index + 1}", RED) if index == clash else pen.write(f"  {index + 1}"))
        rows.append([_delivery(pen, sequences[actor], index, marks.get((index, actor))) for actor in actors])
    if lacking:
        heads.append(pen.write("never", RED))
        rows.append([pen.write(" ".join(_short(pen, txn) for txn in lacking.get(actor, ())), RED) for actor in actors])
    yield Text()
    yield pen.write("Delivered" + (", ≠ is the first difference" if clash is not None else ""), BOLD)
    yield from _side_by_side(pen, [pen.write(name(*actor), BOLD) for actor in actors], heads, rows)


def _first_difference(sequences: Sequence[Sequence[Txn]]) -> int | None:
    """The first position at which two processes delivered different transactions."""
    longest = max(sequences, key=len)
    for index in range(len(longest)):
        if any(len(each) > index and each[index] != longest[index] for each in sequences):
            return index
    return None


def _worth_showing(length: int, marked: set[int]) -> list[int]:
    """All positions of short sequences; of long ones those near a marked one, and the last."""
    if length <= 4 * CONTEXT:
        return list(range(length))
    near = {near for index in marked | {length - 1} for near in range(index - CONTEXT, index + CONTEXT + 1)}
    return sorted(index for index in near if 0 <= index < length)


def _delivery(pen: Pen, sequence: Sequence[Txn], index: int, label: str | None) -> Text:
    if index >= len(sequence):
        return Text()
    text = pen.write(_short(pen, sequence[index]))
    return text if label is None else Text(" ").join([text, pen.mark(label)])


def _short(pen: Pen, txn: Txn) -> str:
    value = clean(txn.value, pen.ascii_only)
    return f"{value if len(value) <= LONGEST_VALUE else value[: LONGEST_VALUE - 1] + '…'}{txn.zxid}"


def _lacking(sequences: Mapping[Actor, Sequence[Txn]], labels: Iterable[Event]) -> dict[Actor, list[Txn]]:
    """What others delivered in the witness, and a process that the witness names did not, nor was it its own."""
    delivered = dict.fromkeys(event.txn for event in labels if isinstance(event, Deliver))
    broadcast = {((event.process, event.incarnation), event.txn) for event in labels if isinstance(event, Broadcast)}
    lacking = {}
    for event in labels:
        if isinstance(event, Local):
            actor = event.process, event.incarnation
            have = sequences.get(actor, ())
            lacking[actor] = [txn for txn in delivered if txn not in have and (actor, txn) not in broadcast]
    return {actor: txns for actor, txns in lacking.items() if txns}


def _side_by_side(
    pen: Pen, titles: Sequence[Text], heads: Sequence[Text], rows: Sequence[Sequence[Text]]
) -> Iterator[Text]:
    """Columns of one width, as many as there is room for; the others below them."""
    margin = max(cell_len(head.plain) for head in heads) + 2
    width = min(max(1, pen.width - margin), max(cell.cell_len for row in [titles, *rows] for cell in row))
    at_once = max(1, (pen.width - margin + 3) // (width + 3))
    for start in range(0, len(titles), at_once):
        for head, row in zip([Text(), *heads], [titles, *rows], strict=True):
            cells = [[cell] for cell in row[start : start + at_once]]
            yield Text.assemble(padded(head.copy(), margin), pen.row(cells, width))
