"""The table of deliveries: the delivered sequences side by side, and where they differ."""

from collections.abc import Iterable, Iterator, Mapping, Sequence

from msgspec import Struct
from rich.cells import cell_len
from rich.text import Text

from zabcheck.counterexample.pieces import labels_of
from zabcheck.invariants import Broadcast, Deliver, Event, Local, Txn, Violation
from zabcheck.text.pen import BOLD, DIM, RED, Pen, padded
from zabcheck.text.words import clean, name

CONTEXT = 3
"""The number of positions shown around one that matters, where the sequences are long."""
LONGEST_VALUE = 16
"""The longest value that is shown whole, in characters."""

Actor = tuple[int, int]
"""A process and its incarnation."""
Delivered = Sequence[tuple[int, int, tuple[Txn, ...]]]
"""The incarnations, each as (process, incarnation, the transactions that it delivered)."""


class Cell(Struct, frozen=True):
    """The transaction that an incarnation delivered at a position, if any; `label` marks an event of the witness.

    `is_gap`: the text counts the deliveries left out.
    """

    text: str = ""
    label: str | None = None
    is_wrong: bool = False
    is_gap: bool = False


class Row(Struct, frozen=True):
    """A position: "3", "≠ 3" where the sequences first differ, "…" for positions left out, or "never"."""

    head: str
    cells: tuple[Cell, ...]
    is_wrong: bool = False


class DeliveryTable(Struct, frozen=True):
    """The delivered sequences side by side, a column an incarnation."""

    title: str
    actors: tuple[Actor, ...]
    rows: tuple[Row, ...]


def table_of(delivered: Delivered, violation: Violation | None) -> DeliveryTable:
    """Make the table, marking the events of the witness and the first difference.

    Of long sequences, it has only the positions near these marks, and the last ones.
    """
    labels = labels_of(violation)
    sequences = {(process, incarnation): txns for process, incarnation, txns in delivered}
    lacking = _lacking(sequences, labels)
    actors = tuple(sorted({*sequences, *lacking}))
    sequences = {actor: sequences.get(actor, ()) for actor in actors}
    marks = {
        (index, actor): label
        for actor in actors
        for index, txn in enumerate(sequences[actor])
        if (label := labels.get(Deliver(*actor, txn))) is not None
    }
    clash = _first_difference(list(sequences.values()))
    important = {index for index, _ in marks} | ({clash} if clash is not None else set())
    rows: list[Row] = []
    previous = -1
    for index in _worth_showing(max(map(len, sequences.values()), default=0), important):
        if index > previous + 1:
            more = (min(index, len(sequences[actor])) - previous - 1 for actor in actors)
            rows.append(Row("…", tuple(Cell(f"{count} more", is_gap=True) if count > 0 else Cell() for count in more)))
        previous = index
        cells = (
            Cell(_short(sequences[actor][index]), marks.get((index, actor)))
            if index < len(sequences[actor])
            else Cell()
            for actor in actors
        )
        rows.append(Row(f"{'≠' if index == clash else ' '} {index + 1}", tuple(cells), index == clash))
    if lacking:
        cells = (Cell(" ".join(map(_short, lacking.get(actor, ()))), is_wrong=True) for actor in actors)
        rows.append(Row("never", tuple(cells), is_wrong=True))
    title = "Delivered" + (", ≠ is the first difference" if clash is not None else "")
    return DeliveryTable(title, actors, tuple(rows))


def draw_delivered(pen: Pen, delivered: Delivered, violation: Violation | None) -> Iterator[Text]:
    """Draw the table: a column for each incarnation, a row for each position; nothing if there are no deliveries."""
    if not delivered:
        return
    table = table_of(delivered, violation)
    if not table.rows:  # there was only a snapshot of transactions that nobody delivered
        return
    yield Text()
    heads = [pen.write(row.head, RED if row.is_wrong else "") for row in table.rows]
    rows = [[_cell(pen, cell) for cell in row.cells] for row in table.rows]
    titles = [pen.write(name(*actor), BOLD) for actor in table.actors]
    yield from _side_by_side(pen, [pen.write("Delivered", BOLD), *heads], [titles, *rows])


def _cell(pen: Pen, cell: Cell) -> Text:
    text = pen.write(cell.text, RED if cell.is_wrong else DIM if cell.is_gap else "")
    return text if cell.label is None else Text(" ").join([text, pen.mark(cell.label)])


def _first_difference(sequences: Sequence[Sequence[Txn]]) -> int | None:
    """Return the first position at which two processes delivered different transactions."""
    longest: Sequence[Txn] = max(sequences, key=len, default=())
    for index in range(len(longest)):
        if any(len(each) > index and each[index] != longest[index] for each in sequences):
            return index
    return None


def _worth_showing(length: int, marked: set[int]) -> list[int]:
    """Return the positions to show: all of short sequences; of long ones those near a mark, and near the end."""
    if length <= 4 * CONTEXT:
        return list(range(length))
    near = {near for index in marked | {length - 1} for near in range(index - CONTEXT, index + CONTEXT + 1)}
    return sorted(index for index in near if 0 <= index < length)


def _short(txn: Txn) -> str:
    value = clean(txn.value)
    return f"{value if len(value) <= LONGEST_VALUE else value[: LONGEST_VALUE - 1] + '…'}{txn.zxid}"


def _lacking(sequences: Mapping[Actor, Sequence[Txn]], labels: Iterable[Event]) -> dict[Actor, list[Txn]]:
    """Return what an incarnation of the witness lacks: transactions that others delivered and it did not broadcast."""
    delivered = dict.fromkeys(event.txn for event in labels if isinstance(event, Deliver))
    broadcast = {((event.process, event.incarnation), event.txn) for event in labels if isinstance(event, Broadcast)}
    lacking = {}
    for event in labels:
        if isinstance(event, Local):
            actor = event.process, event.incarnation
            have = sequences.get(actor, ())
            lacking[actor] = [txn for txn in delivered if txn not in have and (actor, txn) not in broadcast]
    return {actor: txns for actor, txns in lacking.items() if txns}


def _side_by_side(pen: Pen, heads: Sequence[Text], rows: Sequence[Sequence[Text]]) -> Iterator[Text]:
    """Draw columns of one width, as many as fit side by side, the others below. The first row has the titles."""
    margin = max(cell_len(head.plain) for head in heads) + 2
    width = min(max(1, pen.width - margin), max(cell.cell_len for row in rows for cell in row))
    at_once = max(1, (pen.width - margin + 3) // (width + 3))
    for start in range(0, len(rows[0]), at_once):
        for head, row in zip(heads, rows, strict=True):
            cells = [[cell] for cell in row[start : start + at_once]]
            yield Text.assemble(padded(head.copy(), margin), pen.row(cells, width))
