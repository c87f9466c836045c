"""The steps of a run in the terminal, each with what it changed."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from types import MappingProxyType

from msgspec import Struct
from msgspec.structs import replace
from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from zabcheck.counterexample.pieces import (
    DELIVERED,
    LONGEST_PIECE,
    MOST_ENTRIES,
    Entry,
    Piece,
    Tone,
    entries_of,
    labels_by_step,
)
from zabcheck.counterexample.story import Change, Moment, Story, states_after
from zabcheck.invariants import Deliver
from zabcheck.text.pen import BOLD, DIM, RED, WITNESS, Pen, padded
from zabcheck.text.words import cut_between_words, name, names

STYLES: Mapping[Tone, str] = {
    "fault": RED,
    "disk": DIM,
    "state": "yellow",
    "phase": "magenta",
    "message": "cyan",
    "lost": "red",
    "event": BOLD,
    "txn": "bold green",
    "witness": WITNESS,
}
LEGEND = {
    "←": "← received",
    "→ p": "→ sent",
    "×": "× lost",
    "\n[": "[phase]",
    " +": "+ added",
    " −": "− removed",
}
"""The meaning of each sign, by a text that shows that the sign occurs; pieces begin with a line break there."""


def draw_steps(pen: Pen, story: Story) -> Iterator[Text]:
    """Draw a line for each step, with a lane for each process before it."""
    if not story.moments:
        return
    labels = labels_by_step(story)
    entries = _join_network([entry for moment in story.moments for entry in entries_of(moment, labels)])
    processes = sorted({entry.process for entry in entries if entry.process is not None})
    yield Text()
    yield from pen.flow(
        [pen.write(f"{story.unit.capitalize()}s", BOLD), *(pen.write(sign, DIM) for sign in _legend(story, entries))],
        pen.width,
    )
    yield from _lanes(pen, entries, processes)
    idle = [process for process in range(1, story.processes + 1) if process not in processes]
    if idle:
        yield pen.write(f"{names(idle)}: no step", DIM)


def draw_step(
    pen: Pen,
    story: Story,
    position: int,
    kept: Mapping[int, Mapping[str, str | tuple[str, ...]]] = MappingProxyType({}),
    deliveries: Mapping[int, tuple[str, ...]] = MappingProxyType({}),
) -> Iterator[RenderableType]:
    """Draw one step, and the variables of each process after it; a changed variable with its old value.

    `kept` has the values on the disk where they are others, and `deliveries` the transactions of a row of their own.
    """
    moment = story.moments[position]
    who = name(moment.process) if moment.process is not None else "the network"
    yield Text()
    yield pen.write(f"{story.unit} {moment.step} of {story.moments[-1].step}: {who}", BOLD)
    for line in _lines(entries_of(moment, labels_by_step(story))):
        yield from pen.flow([_piece(pen, piece) for piece in line.pieces], pen.width)
    states = states_after(story, position)
    variables = dict.fromkeys(variable for state in states.values() for variable in state)
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    table.add_column("")
    for process in states:
        table.add_column(pen.write(name(process), BOLD), overflow="fold")
    for variable in variables:
        cells = []
        for process, state in states.items():
            change = next((c for c in moment.changes.get(process, ()) if c.variable == variable), None)
            cell = _value(pen, state.get(variable, ""), change)
            if variable in kept.get(process, ()):
                cell = Text.assemble(
                    cell, "\n", pen.write("on disk: ", DIM), _value(pen, kept[process][variable], None)
                )
            cells.append(cell)
        table.add_row(pen.write(variable or "does", DIM), *cells)
    if any(deliveries.values()):
        table.add_row(pen.write(DELIVERED, DIM), *(_delivered(pen, moment, p, deliveries.get(p, ())) for p in states))
    yield table


def _delivered(pen: Pen, moment: Moment, process: int, txns: tuple[str, ...]) -> Text:
    """Draw what a process has delivered, with what it delivered in this step as new."""
    shown = [str(event.txn) for event in moment.shown if isinstance(event, Deliver) and event.process == process]
    new = tuple(each for each in txns if each in shown)
    return _value(pen, txns, Change(DELIVERED, (), new, is_sequence=True) if new else None)


def _value(pen: Pen, value: str | tuple[str, ...], change: Change | None) -> Text:
    if isinstance(value, str):
        before = f"{change.removed[0]} → " if change is not None and change.removed[0] else ""
        return pen.write(before + value, "yellow" if change is not None else "")
    added = len(change.added) if change is not None else 0
    new = change.new if change is not None else ()
    kept = (*value[: len(value) - added], *(each for each in value[len(value) - added :] if each not in new))
    texts = [f"… {len(kept) - MOST_ENTRIES} more"] if len(kept) > MOST_ENTRIES else []
    pieces = [pen.write(text) for text in (*texts, *kept[-MOST_ENTRIES:])]
    if change is not None:
        pieces += [pen.write(f"−{entry}", "red") for entry in change.gone[-MOST_ENTRIES:]]
        pieces += [pen.write(f"+{entry}", "yellow") for entry in change.new[-MOST_ENTRIES:]]
    return Text(" ").join(pieces) if pieces else pen.write("empty", DIM)


def _legend(story: Story, entries: Iterable[Entry]) -> Iterator[str]:
    """Yield the meanings of the signs and variables that occur."""
    said = "".join(f"\n{piece.text}" for entry in entries for piece in entry.pieces)
    yield from (meaning for sign, meaning in LEGEND.items() if sign in said)
    yield from (f"{name} {meaning}" for name, meaning in story.legend if name and name in said)


def _join_network(entries: Iterable[Entry]) -> list[Entry]:
    """Join what happened to the network in a row into one entry: isolating a process takes many cuts."""
    joined: list[Entry] = []
    for entry in entries:
        if joined and joined[-1].process is None and entry.process is None:
            action, *_ = entry.pieces
            more = replace(action, text=f"{entry.step} {action.text}")
            joined[-1] = replace(joined[-1], pieces=(*joined[-1].pieces, more))
        else:
            joined.append(entry)
    return joined


def _piece(pen: Pen, piece: Piece) -> Text:
    said = piece.text if piece.tone == "state" else cut_between_words(piece.text, LONGEST_PIECE)
    text = pen.write(said, STYLES.get(piece.tone, ""))
    return text if piece.label is None else Text(" ").join([text, pen.mark(piece.label)])


class Line(Struct, frozen=True):
    """A step in one line: the processes that take part, and what is to be said of all of them."""

    step: int
    processes: tuple[int, ...]
    pieces: tuple[Piece, ...]


def _lanes(pen: Pen, entries: Sequence[Entry], processes: Sequence[int]) -> Iterator[Text]:
    """Draw a line for each step, with a lane for each process before it, unless the lanes took a third of the width.

    Consecutive steps of a process share a line if they fit.
    """
    digits = len(str(entries[-1].step))
    lane = len(name(processes[-1])) + 1 if processes else 0
    narrow = lane * len(processes) > pen.width // 3
    room = pen.width - digits - 2 - (lane if narrow else lane * len(processes)) - 1
    for together in _together(pen, _lines(entries), room):
        first = together[0]
        if narrow:
            lanes = pen.write(name(first.processes[0]) if len(first.processes) == 1 else "", BOLD)
        else:
            here = (pen.write(name(p), BOLD) if p in first.processes else pen.write("·", DIM) for p in processes)
            lanes = Text().join(padded(text, lane) for text in here)
        head = Text.assemble(pen.write(f"{first.step:>{digits}}  ", BOLD), padded(lanes, lane), " ")
        pieces = [text for line in together for text in _with_number(pen, line, line is not first)]
        for index, text in enumerate(pen.flow(pieces, room)):
            yield Text.assemble(head if not index else " " * head.cell_len, text)


def _lines(entries: Iterable[Entry]) -> Iterator[Line]:
    """Yield a line for each step. The effects of a step on another process come after that process's name."""
    for step, group in groupby(entries, key=lambda entry: entry.step):
        first, *others = group
        pieces = list(first.pieces)
        for entry in others:
            assert entry.process is not None, "what happened to the network comes first"
            for number, piece in enumerate(entry.pieces):
                if piece.tone != "phase":
                    pieces.append(replace(piece, text=f"{name(entry.process)}: {piece.text}") if not number else piece)
                elif piece not in pieces:
                    pieces.append(piece)
        yield Line(step, tuple(entry.process for entry in (first, *others) if entry.process is not None), tuple(pieces))


def _together(pen: Pen, lines: Iterable[Line], room: int) -> Iterator[list[Line]]:
    """Group consecutive lines of one process that fit into one."""
    together: list[Line] = []
    used = 0
    for line in lines:
        width = sum(text.cell_len + 2 for text in _with_number(pen, line, bool(together)))
        fits = together and len(line.processes) == 1 and line.processes == together[0].processes
        if together and not (fits and used + width - 2 <= room):
            yield together
            together, used = [], 0
        together.append(line)
        used += width
    if together:
        yield together


def _with_number(pen: Pen, line: Line, has_number: bool) -> list[Text]:
    texts = [_piece(pen, piece) for piece in line.pieces]
    if has_number and texts:
        texts[0] = Text.assemble(pen.write(f"{line.step} ", BOLD), texts[0])
    return texts
