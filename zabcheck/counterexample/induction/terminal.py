"""A counterexample to induction in the terminal: what is broken, the state in lanes, and the witness.

Nothing is said by colour alone. `Pen.write` makes everything that is printed.
"""

from collections.abc import Iterator

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from zabcheck.counterexample.induction.lanes import MISSING, MOVES, Drawing, Item, Lanes, drawing
from zabcheck.proof.counterexample import Counterexample
from zabcheck.text import pen
from zabcheck.text.pen import BOLD, DIM, RED, Pen

CHANGED = "yellow"


def render(found: Counterexample) -> RenderableType:
    """Render a counterexample to induction."""
    return pen.Drawing(lambda by: _draw(by, drawing(found)))


def _draw(by: Pen, shown: Drawing) -> Iterator[RenderableType]:
    yield by.write(shown.title, RED)
    yield by.write(shown.summary, BOLD)
    yield Text()
    facts = Table.grid(padding=(0, 2, 0, 0))
    for label, named, says in shown.particulars:
        facts.add_row(by.write(label, DIM), by.write(named))
        facts.add_row("", by.write(says, DIM))
    yield facts
    yield Text()
    yield Text("  ").join([by.write(shown.heading, BOLD), *(by.write(sign, DIM) for sign in shown.legend)])
    first = max(len(row.name) for lanes in shown.lanes for row in lanes.rows)
    for lanes in shown.lanes:
        yield Text()
        yield _lanes(by, lanes, first)
    yield Text()
    yield by.write("Why it is false", BOLD)
    for seen in shown.witness:
        yield Text.assemble(by.mark(seen.label), " ", by.write(seen.words))


def _lanes(by: Pen, lanes: Lanes, first: int) -> Table:
    """Draw a table whose lanes are all of one width; `first` is that of the names of the rows."""
    width = max(8, (by.width - first) // max(3, len(lanes.heads)) - 2)
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    table.add_column(by.write(lanes.title, DIM), width=first, no_wrap=True)
    for head in lanes.heads:
        table.add_column(by.write(head, BOLD), width=width, overflow="fold")
    for row in lanes.rows:
        cells = [Text("\n").join(by.flow([_item(by, item) for item in cell], width)) for cell in row.cells]
        table.add_row(by.write(row.name, DIM), *cells)
    return table


def _item(by: Pen, item: Item) -> Text:
    was = f"{item.was} → " if item.was else ""
    style = CHANGED if item.is_changed else RED if item.sign == MISSING else BOLD if item.sign == MOVES else ""
    text = by.write(f"{was}{item.sign}{item.text}", style)
    return Text(" ").join([text, *(by.mark(label) for label in item.labels)])
