"""What each process did: the steps of a run, each with what changed by it."""

from collections.abc import Iterable, Iterator, Mapping, Sequence

from msgspec import Struct
from rich.text import Text

from invariants import Broadcast, ClientAck, Crash, Deliver, Event, FinalRead, Halt, Ready, Restore
from invariants import Elect as ElectEvent
from zabcheck.report.pen import BOLD, DIM, LONGEST_PIECE, RED, WITNESS, Pen, labels_of, padded
from zabcheck.report.story import Change, Moment, Story
from zabcheck.report.words import cut, name, names, said

NARROWEST_COLUMN = 48
"""In a narrower column most steps take several lines; one line for each step, across the page, is then shorter."""
MOST_ENTRIES = 4
"""How many entries of a sequence are shown whole; of a longer one the two ends."""

LEGEND = ("← received", "→ sent", "× lost", "[phase]", "+ added", "− removed", "◀ in the witness")


class Entry(Struct, frozen=True):
    """What is to be seen of one step at one process; None for the network."""

    step: int
    process: int | None
    after: set[int]
    """The processes whose steps this one depends on: those that sent what it received, or lost."""
    pieces: list[Text]


def draw_steps(pen: Pen, story: Story) -> Iterator[Text]:
    """In columns where there is room for them, otherwise a line for each step."""
    if not story.moments:
        return
    labels = {(story.step_of(event), event): label for event, label in labels_of(story.violation).items()}
    entries = _join_network(pen, [entry for moment in story.moments for entry in _entries(pen, moment, labels)])
    processes = sorted({entry.process for entry in entries if entry.process is not None})
    yield Text()
    yield from pen.flow(
        [pen.write("Steps", BOLD), *(pen.write(sign, DIM) for sign in (*LEGEND, *story.legend))], pen.width
    )
    width = (pen.width + 3) // len(processes) - 3 if processes else 0
    if width >= NARROWEST_COLUMN:
        yield from _columns(pen, entries, processes, width)
    else:
        yield from _lanes(pen, entries, processes)
    idle = [process for process in range(1, story.processes + 1) if process not in processes]
    if idle:
        yield pen.write(f"{names(idle)}: no step", DIM)


def _entries(pen: Pen, moment: Moment, labels: Mapping[tuple[int | None, Event], str]) -> Iterator[Entry]:
    """The step at the process that moved, then at any other that it changed."""
    mine = moment.changes.get(moment.process, ()) if moment.process is not None else ()
    pieces = [
        pen.piece(moment.action, _style_of(moment)),
        *_changed(pen, moment, mine),
        *_shown(pen, moment, labels),
        *(pen.piece(f"→ {names(to)} {text}", "cyan") for text, to in moment.sent),
        *(pen.piece(f"× {name(lost.sender)}→{name(lost.to)} {lost.text}", "red") for lost in moment.lost),
    ]
    after = {lost.sender for lost in moment.lost} | ({moment.peer} if moment.peer is not None else set())
    yield Entry(moment.step, moment.process, after - {moment.process}, pieces)
    for process, changes in moment.changes.items():
        if process != moment.process:
            yield Entry(moment.step, process, set(), _changed(pen, moment, changes))


def _join_network(pen: Pen, entries: Iterable[Entry]) -> list[Entry]:
    """What happened to the network in a row, in one entry: to isolate a process takes many cuts."""
    joined: list[Entry] = []
    for entry in entries:
        if joined and joined[-1].process is None and entry.process is None:
            number = pen.write(f"{entry.step} ", BOLD)
            joined[-1].pieces.append(Text.assemble(number, entry.pieces[0]))
        else:
            joined.append(entry)
    return joined


def _style_of(moment: Moment) -> str:
    if moment.process is None or any(isinstance(event, Crash) for event in moment.shown):
        return RED
    return DIM if moment.action.startswith("disk") else ""


def _changed(pen: Pen, moment: Moment, changes: Iterable[Change]) -> list[Text]:
    """The changes of one process; of its role and phase, what is new and what the step does not say itself."""
    pieces = []
    for change in changes:
        if change.variable:
            pieces.append(pen.write(_change(change), "yellow"))
            continue
        old, new = change.removed[0].split(", "), change.added[0].split(", ")
        news = [part for part in new if part not in old]
        if any(isinstance(event, ElectEvent) for event in moment.shown):
            news = new[1:]
        if any(isinstance(event, Crash) for event in moment.shown):
            news = []
        if news:
            pieces.append(pen.piece(f"[{', '.join(news)}]", "magenta"))
    return pieces


def _change(change: Change) -> str:
    if not change.is_sequence:
        return f"{change.variable} {change.removed[0]}→{change.added[0]}"
    ends = [*_ends("−", change.removed), *_ends("+", change.added)]
    return " ".join([change.variable, *ends])


def _ends(sign: str, entries: Sequence[str]) -> list[str]:
    if len(entries) > MOST_ENTRIES:
        return [*_ends(sign, entries[:1]), f"…{len(entries) - 2} more…", *_ends(sign, entries[-1:])]
    return [f"{sign}{cut(entry, LONGEST_PIECE)}" for entry in entries]


_MENTIONED = (Broadcast, Deliver, Ready, Restore, Halt, ClientAck, FinalRead)
"""The events that a step mentions; the others show as changes of variables, or as the action."""


def _shown(pen: Pen, moment: Moment, labels: Mapping[tuple[int | None, Event], str]) -> Iterator[Text]:
    for event in moment.shown:
        label = labels.get((moment.step, event))
        if label is not None:
            yield Text(" ").join([pen.piece(said(event), WITNESS), pen.mark(label)])
        elif isinstance(event, _MENTIONED) or (isinstance(event, Crash) and event.lost):
            yield pen.piece(said(event), "bold green" if isinstance(event, Broadcast | Deliver) else BOLD)


def _columns(pen: Pen, entries: Sequence[Entry], processes: Sequence[int], width: int) -> Iterator[Text]:
    """A column for each process. In one row stand steps that do not depend on each other, so time flows down."""
    yield pen.row([[pen.write(name(process), BOLD)] for process in processes], width)
    yield pen.write("─┼─".join(["─" * width] * len(processes)), DIM)
    digits = len(str(entries[-1].step))
    row: dict[int, list[Text]] = {}

    def end_row() -> Iterator[Text]:
        if row:
            yield pen.row([row.get(process, []) for process in processes], width)
            row.clear()

    for entry in entries:
        if entry.process is None:
            yield from end_row()
            yield from _network(pen, entry, digits)
            continue
        if not entry.after.isdisjoint(row):
            yield from end_row()
        lines = _numbered(pen, entry, digits, width)
        row.setdefault(entry.process, []).extend(lines)
    yield from end_row()


def _network(pen: Pen, entry: Entry, digits: int) -> Iterator[Text]:
    """A line across all columns."""
    for line in _numbered(pen, entry, digits, pen.width):
        line.append_text(pen.write(" " + "─" * max(0, pen.width - line.cell_len - 1), DIM))
        yield line


def _numbered(pen: Pen, entry: Entry, digits: int, width: int) -> list[Text]:
    """The lines of an entry, the number of its step before the first."""
    lines = pen.flow(entry.pieces, width - digits - 1)
    heads = [pen.write(f"{entry.step:>{digits}} ", BOLD), *[Text(" " * (digits + 1))] * len(lines)]
    return [Text.assemble(head, line) for head, line in zip(heads, lines, strict=False)]


def _lanes(pen: Pen, entries: Sequence[Entry], processes: Sequence[int]) -> Iterator[Text]:
    """A line for each step, and in front of it a lane for each process; without lanes if these took a third."""
    digits = len(str(entries[-1].step))
    lane = len(name(processes[-1])) + 1 if processes else 0
    narrow = lane * len(processes) > pen.width // 3
    for entry in entries:
        if narrow:
            lanes = pen.write("" if entry.process is None else name(entry.process), BOLD)
        else:
            here = (pen.write(name(p), BOLD) if p == entry.process else pen.write("·", DIM) for p in processes)
            lanes = Text().join(padded(text, lane) for text in here)
        head = Text.assemble(pen.write(f"{entry.step:>{digits}}  ", BOLD), padded(lanes, lane), " ")
        lines = pen.flow(entry.pieces, pen.width - head.cell_len)
        for index, line in enumerate(lines):
            yield Text.assemble(head if not index else " " * head.cell_len, line)
