"""The space-time diagram of a run, as SVG: time runs down, a lane a process, a row a step.

A lane has the line of the process, dashed while it is down; a band for each epoch in which it takes part; and a point
for each of its steps, with a sign for what the outside saw. Between the lanes are the ways of the messages, and what
happened to the links. These are the space-time diagrams of Lamport ("Time, clocks, and the ordering of events in a
distributed system", 1978), turned so that a long run scrolls.

Elements carry classes, not colours, which `diagram_style` gives them. Elements that belong to a step have `data-s` (the
number of the step) and `data-p` (the process), and messages have a class for their kind, so that a page can mark them.
Drawing takes O(steps + messages), and the same run gives the same bytes.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from html import escape

from msgspec import Struct

from invariants import (
    Accept,
    Adopt,
    Broadcast,
    CommitEpoch,
    Corrupt,
    Crash,
    Cut,
    Deliver,
    Establish,
    Event,
    Halt,
    Hold,
    Local,
    Mend,
    Pause,
    Promise,
    Ready,
    Recover,
    Restore,
    Stall,
    Txn,
    Wake,
)
from zabcheck.counterexample.pieces import Labels
from zabcheck.counterexample.story import Flight, Moment, Story
from zabcheck.text.words import clean, name

ROW = 26
"""The height of a row, in pixels."""
HEAD = 30
NUMBERS = 40
"""The width that the numbers of the steps take."""
BAND = 16
TAGS = 54
"""The room left of the first lane's line, for the marks of the witness."""
MOST_ROOM = 130
HUES = 6
"""The number of colours for epochs; after that many epochs they repeat."""
LONGEST_LABEL = 12
"""The longest value beside a point, in characters."""


class Lanes(Struct, frozen=True):
    """The layout of the lanes, in pixels."""

    processes: int
    rows: Mapping[int, int]
    """The row of each step, by its number."""
    width: int
    """The width of a lane."""
    room: int
    """The room right of the last lane's line, for the texts beside its points."""

    @classmethod
    def of(cls, story: Story) -> "Lanes":
        width = max(50, min(100, 270 // max(1, story.processes)))
        longest = max((len(_label(_of(moment, story.processes))) for moment in story.moments), default=0)
        room = max(width // 2 + width // 3, min(MOST_ROOM, 24 + 7 * longest))
        return cls(story.processes, {moment.step: row for row, moment in enumerate(story.moments)}, width, room)

    def x(self, process: int) -> float:
        return max(self.width / 2, TAGS) + (process - 1) * self.width

    def y(self, step: int | None) -> float:
        """Return the height of a step; the end of the run for None, and for a step that is not shown."""
        row = self.rows.get(step, len(self.rows)) if step is not None else len(self.rows)
        return HEAD + (row + 0.5) * ROW

    @property
    def across(self) -> int:
        """The width of all lanes, with the texts beside the last one."""
        return round(self.x(self.processes)) + self.room

    @property
    def height(self) -> int:
        return HEAD + (len(self.rows) + 1) * ROW


def heads(lanes: Lanes) -> str:
    """Draw the names of the processes, above their lanes."""
    return "\n".join(
        f'<text class="head" x="{lanes.x(process):g}" y="{HEAD - 14}">{name(process)}</text>'
        for process in range(1, lanes.processes + 1)
    )


def draw(story: Story, labels: Labels, kinds: Mapping[str, str]) -> str:
    """Draw what is in and between the lanes, without their heads, and without the numbers and texts of the steps.

    `kinds` gives the class of each kind of message.
    """
    lanes = Lanes.of(story)
    processes = range(1, story.processes + 1)
    parts = [
        *(part for process in processes for part in _lane(story, lanes, process)),
        *(part for flight in story.flights for part in _flight(lanes, flight, kinds)),
        *(part for moment in story.moments for part in _links(lanes, moment)),
        *(part for process in processes for part in _epoch_names(story, lanes, process)),
        *(part for moment in story.moments for part in _points(lanes, moment, labels)),
    ]
    return "\n".join(parts)


# The line of a process, and its epochs.


def _lane(story: Story, lanes: Lanes, process: int) -> Iterator[str]:
    x = lanes.x(process)
    for top, bottom, epoch in _epochs(story, lanes, process):
        size = f'width="{BAND}" height="{bottom - top:g}"'
        yield f'<rect class="band e{epoch % HUES}" x="{x - BAND / 2:g}" y="{top:g}" {size}/>'
    for top, bottom, up in _up_times(story, lanes, process):
        yield f'<line class="lane{"" if up else " down"}" x1="{x:g}" y1="{top:g}" x2="{x:g}" y2="{bottom:g}"/>'


def _epoch_names(story: Story, lanes: Lanes, process: int) -> Iterator[str]:
    x = lanes.x(process) - BAND / 2 - 3
    for top, _, epoch in _epochs(story, lanes, process):
        yield f'<text class="epoch" x="{x:g}" y="{top + 9:g}">e{epoch}</text>'


def _epochs(story: Story, lanes: Lanes, process: int) -> Iterator[tuple[float, float, int]]:
    """Yield top, bottom and epoch of each band: the latest epoch that the process promised, or in which it was seen."""
    current, since = 0, float(HEAD)
    for moment in story.moments:
        y = lanes.y(moment.step)
        for event in moment.shown:
            epoch = _epoch_of(event, process)
            if epoch > current:
                if current:
                    yield since, y, current
                current, since = epoch, y
            elif isinstance(event, Crash | Halt) and event.process == process and current:
                yield since, y, current
                current = 0
    if current:
        yield since, float(lanes.height - ROW / 2), current


def _epoch_of(event: Event, process: int) -> int:
    if not isinstance(event, Local) or event.process != process:
        return 0
    match event:
        case Promise() | Adopt() | Ready() | Establish() | CommitEpoch() | Accept() | Broadcast():
            return event.epoch
        case Deliver():
            return event.txn.zxid.epoch
        case _:
            return 0


def _up_times(story: Story, lanes: Lanes, process: int) -> Iterator[tuple[float, float, bool]]:
    up, since = True, float(HEAD - 6)
    for moment in story.moments:
        for event in moment.shown:
            if not isinstance(event, Local) or event.process != process:
                continue
            now = isinstance(event, Recover | Wake) or (up and not isinstance(event, Crash | Halt | Pause))
            if now != up:
                yield since, lanes.y(moment.step), up
                up, since = now, lanes.y(moment.step)
    yield since, float(lanes.height), up


# Messages and links.


def _flight(lanes: Lanes, flight: Flight, kinds: Mapping[str, str]) -> Iterator[str]:
    """Draw a message: an arrow from where it was sent to where it was handled, or a cross where it was lost."""
    if flight.sender == flight.to or max(flight.sender, flight.to) > lanes.processes:
        return
    x1, x2 = lanes.x(flight.sender), lanes.x(flight.to)
    y1 = lanes.y(flight.sent) if flight.sent is not None else float(HEAD)
    arrived = flight.received is not None
    y2 = lanes.y(flight.received if arrived else flight.lost)
    kind = kinds.get(flight.kind, "")
    data = f' data-s="{flight.sent or 0}" data-p="{flight.sender}" data-r="{flight.received or 0}" data-q="{flight.to}"'
    if not arrived:  # it got as far as some point between the two lanes
        x2, y2 = x1 + (x2 - x1) * 0.62, y1 + (min(y2, y1 + 3 * ROW) - y1) * 0.62
    reach = 7.0 if arrived else 0.0  # how far from the receiver's point the arrow ends
    length = max(1.0, ((x2 - x1) ** 2 + (y2 - y1) ** 2) ** 0.5)
    dx, dy = (x2 - x1) / length, (y2 - y1) / length
    ex, ey = x2 - dx * reach, y2 - dy * reach
    state = "" if arrived else " lost" if flight.lost is not None else " open"
    title = f"<title>{escaped(f'{name(flight.sender)} → {name(flight.to)} {flight.name}')}</title>"
    end = (
        f'<path class="tip" d="M{ex:.1f} {ey:.1f}L{ex - 7 * dx - 3 * dy:.1f} {ey - 7 * dy + 3 * dx:.1f}'
        f'L{ex - 7 * dx + 3 * dy:.1f} {ey - 7 * dy - 3 * dx:.1f}z"/>'
        if arrived
        else f'<path class="x" d="M{ex - 4:.1f} {ey - 4:.1f}l8 8m0 -8l-8 8"/>'
        if flight.lost is not None
        else ""
    )
    way = f'<path class="flight{state}" d="M{x1:.1f} {y1:.1f}L{ex:.1f} {ey:.1f}"/>'
    yield f'<g class="f {kind}"{data}>{title}{way}{end}</g>'


def _links(lanes: Lanes, moment: Moment) -> Iterator[str]:
    """Draw what happened to links, each between its two lanes."""
    for event in moment.shown:
        if isinstance(event, Cut | Mend | Stall | Hold) and max(event.sender, event.receiver) <= lanes.processes:
            y = lanes.y(moment.step)
            good = " mend" if isinstance(event, Mend) else ""
            x1, x2 = lanes.x(event.sender), lanes.x(event.receiver)
            yield f'<line class="link{good}" x1="{x1:g}" y1="{y:g}" x2="{x2:g}" y2="{y:g}"/>'
            if not good:
                middle = (x1 + x2) / 2
                yield f'<path class="x" d="M{middle - 4:g} {y - 4:g}l8 8m0 -8l-8 8"/>'


# What a process did.


def processes_of(moment: Moment) -> tuple[int, ...]:
    """Return the processes that took part in a step; the one that made the step comes first."""
    moved = [moment.process] if moment.process is not None else []
    seen = [event.process for event in moment.shown if isinstance(event, Local)]
    return tuple(dict.fromkeys((*moved, *seen, *moment.changes)))


def _points(lanes: Lanes, moment: Moment, labels: Labels) -> Iterator[str]:
    """Draw a point for each process that took part in the step."""
    for process in processes_of(moment):
        if process <= lanes.processes:
            yield _point(lanes, moment.step, process, _of(moment, process), labels)


def _of(moment: Moment, process: int) -> list[Event]:
    return [event for event in moment.shown if isinstance(event, Local) and event.process == process]


def _point(lanes: Lanes, step: int, process: int, events: Sequence[Event], labels: Labels) -> str:
    x, y = lanes.x(process), lanes.y(step)
    marks = [label for event in events if (label := labels.get((step, event))) is not None]
    signs = list(dict.fromkeys(sign for event in events if (sign := _sign(event))))
    parts: list[str] = []
    if not signs:
        parts.append(f'<circle class="dot" cx="{x:g}" cy="{y:g}" r="3.5"/>')
    for number, sign in enumerate(signs):
        parts.append(f'<path class="sign {_SIGNS[sign][0]}" d="M{x + 11 * number:g} {y:g}{_SIGNS[sign][1]}"/>')
    text = _label(events)
    if text:
        beside = x + (13 if marks else 8) + 11 * max(0, len(signs) - 1)
        parts.append(f'<text class="label" x="{beside:g}" y="{y + 4:g}">{escaped(text)}</text>')
    if marks:
        parts.append(f'<circle class="ring" cx="{x:g}" cy="{y:g}" r="9"/>')
        tag = " ".join(marks) if len(marks) < 3 else f"{marks[0]}…{marks[-1]}"
        parts.append(f'<text class="tag" x="{x - 12:g}" y="{y + 4:g}">{tag}</text>')
    parts.append(f'<circle class="hit" cx="{x:g}" cy="{y:g}" r="12"/>')  # on top: what a finger hits
    return f'<g class="pt" data-s="{step}" data-p="{process}">{"".join(parts)}</g>'


_SIGNS = {
    "broadcasts": ("txn", "m0 -6l6 11h-12z"),
    "delivers": ("txn", "m-5 -5h10v10h-10z"),
    "ready": ("ready", "m0 -5l5 5l-5 5l-5 -5z"),
    "restores": ("txn", "m-5 -5h10v10h-10zm3 3v4h4v-4z"),
    "down": ("bad", "m-5 -5l10 10m0 -10l-10 10"),
    "up": ("ready", "m-4 0a4 4 0 1 0 8 0a4 4 0 1 0 -8 0"),
}
"""Each sign's class and its path, relative to the point."""


def _sign(event: Event) -> str | None:
    match event:
        case Broadcast():
            return "broadcasts"
        case Deliver():
            return "delivers"
        case Ready():
            return "ready"
        case Restore():
            return "restores"
        case Crash() | Halt() | Corrupt():
            return "down"
        case Recover():
            return "up"
        case _:
            return None


def _label(events: Iterable[Event]) -> str:
    """Return the label of a point: the first transaction that is broadcast or delivered, and how many more."""
    txns = list(dict.fromkeys(event.txn for event in events if isinstance(event, Broadcast | Deliver)))
    if not txns:
        return next((f"ready({event.epoch})" for event in events if isinstance(event, Ready)), "")
    return _short(txns[0]) + (f" +{len(txns) - 1}" if len(txns) > 1 else "")


def _short(txn: Txn) -> str:
    value = clean(txn.value, longest=LONGEST_LABEL)
    return f"{value}{txn.zxid}"


def escaped(text: str) -> str:
    """Return text that can stand in SVG: made clean, and escaped."""
    return escape(clean(text))
