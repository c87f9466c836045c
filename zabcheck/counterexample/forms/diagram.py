"""The space-time diagram of a run, as SVG: time runs down, a lane a process, a row a step.

What is in a lane: the line of the process, dashed while it is down; a band for each epoch that it takes part in; a
point for each step that it made, with a sign for what the outside saw of it. Between lanes: the way of each message,
and what happened to the links. After the space-time diagrams of Lamport ("Time, clocks, and the ordering of events in
a distributed system", 1978), turned so that a long run scrolls.

Elements carry classes, not colours: `STYLE` gives them, for light and for dark. Those that belong to a step have
`data-s` (its number) and `data-p` (the process), messages also a class for their kind, so that a page can mark them.
Everything is drawn in O(steps + messages), and the same run gives the same bytes.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from html import escape
from unicodedata import east_asian_width

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
from zabcheck.counterexample.pieces import Labels, entries_of
from zabcheck.counterexample.story import Flight, Moment, Story
from zabcheck.text.words import clean, name

ROW = 26
"""The height of a row, in pixels."""
HEAD = 30
NUMBERS = 40
"""The width that the numbers of the steps take."""
BAND = 16
TAGS = 54
"""Left of the first lane's line, for the marks of the witness."""
MOST_ROOM = 130
HUES = 6
"""How many epochs have different colours; then these begin again."""
LONGEST_LABEL = 12
LONGEST_TEXT = 110

STYLE = """
.lane { stroke: LINE; stroke-width: 1.5; } .lane.down { stroke-dasharray: 2 4; stroke: FAINT; }
.band { opacity: .22; } .e0 { fill: #2f7ed8; } .e1 { fill: #e08a1e; } .e2 { fill: #3a9d5d; } .e3 { fill: #b04fc4; }
.e4 { fill: #c9a400; } .e5 { fill: #1ba3a8; }
.epoch { fill: SOFT; text-anchor: end; } .number { font-size: 11px; fill: SOFT; text-anchor: end; }
.head { font-weight: 600; text-anchor: middle; fill: INK; }
.flight { stroke: SOFT; stroke-width: 1.2; fill: none; } .tip { fill: SOFT; }
.flight.lost, .flight.open { stroke-dasharray: 4 3; } .x { stroke: BAD; stroke-width: 2; fill: none; }
.link { stroke: BAD; stroke-width: 2; stroke-dasharray: 1 4; stroke-linecap: round; } .link.mend { stroke: GOOD; }
.dot { fill: INK; } .sign.txn { fill: GOOD; } .sign.ready { fill: SOFT; }
.sign.bad { fill: none; stroke: BAD; stroke-width: 2.5; }
.label, .tag, .epoch { font-size: 11px; stroke: PAPER; stroke-width: 3px; paint-order: stroke; }
.label { fill: INK; } .tag { font-weight: 700; fill: BAD; text-anchor: end; }
.ring { fill: none; stroke: BAD; stroke-width: 2; } .hit { fill: none; pointer-events: all; }
.edge { stroke: SOFT; stroke-width: 1.4; fill: none; } .edge.marked { stroke: BAD; stroke-width: 2.5; }
.edge.missing { stroke-dasharray: 6 4; } .tip.marked { fill: BAD; }
.node { fill: INK; } .node.never { fill: PAPER; stroke: BAD; stroke-width: 2; stroke-dasharray: 3 2; }
.say { fill: INK; } .say.never { fill: BAD; }
"""
"""Words in capitals stand for colours."""
LIGHT = {
    "INK": "#1b1f24",
    "SOFT": "#57606a",
    "FAINT": "#8a929b",
    "LINE": "#8a929b",
    "PAPER": "#ffffff",
    "GOOD": "#116329",
    "BAD": "#b3261e",
}
DARK = {
    "INK": "#e4e7ea",
    "SOFT": "#a4adb6",
    "FAINT": "#7b848d",
    "LINE": "#7b848d",
    "PAPER": "#14171a",
    "GOOD": "#6fce8b",
    "BAD": "#ff8a80",
}


def style(colours: Mapping[str, str]) -> str:
    """`STYLE` in these colours."""
    text = STYLE
    for word, colour in colours.items():
        text = text.replace(f" {word};", f" {colour};")
    return text


class Lanes(Struct, frozen=True):
    """Where things are, in pixels."""

    processes: int
    rows: Mapping[int, int]
    """The row of each step, by its number."""
    width: int
    """Of a lane."""
    room: int
    """Right of the last lane's line, for what stands beside its points."""

    @classmethod
    def of(cls, story: Story) -> "Lanes":
        width = max(50, min(100, 270 // max(1, story.processes)))
        longest = max((len(_label(_of(moment, story.processes))) for moment in story.moments), default=0)
        room = max(width // 2 + width // 3, min(MOST_ROOM, 24 + 7 * longest))
        return cls(story.processes, {moment.step: row for row, moment in enumerate(story.moments)}, width, room)

    def x(self, process: int) -> float:
        return max(self.width / 2, TAGS) + (process - 1) * self.width

    def y(self, step: int | None) -> float:
        """Of a step; of none, and of one that is not shown, the end of the run."""
        row = self.rows.get(step, len(self.rows)) if step is not None else len(self.rows)
        return HEAD + (row + 0.5) * ROW

    @property
    def across(self) -> int:
        """Of all lanes, with what stands beside them."""
        return round(self.x(self.processes)) + self.room

    @property
    def height(self) -> int:
        return HEAD + (len(self.rows) + 1) * ROW


def heads(lanes: Lanes) -> str:
    """The names of the processes, above their lanes."""
    return "\n".join(
        f'<text class="head" x="{lanes.x(process):g}" y="{HEAD - 14}">{name(process)}</text>'
        for process in range(1, lanes.processes + 1)
    )


def draw(story: Story, labels: Labels, kinds: Mapping[str, str]) -> str:
    """What is in the lanes, without their heads, and without numbers and texts of the steps.

    `kinds` has a class for each kind of message.
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


def stand_alone(story: Story, labels: Labels, *, dark: bool = True) -> str:
    """The diagram as an SVG file, each step with its text. With `dark`, dark where the reader's system is."""
    lanes = Lanes.of(story)
    texts = [(moment, _row_text(moment, labels)) for moment in story.moments]
    width, height = size(story, labels)
    title = story.violation.property + " is violated" if story.violation is not None else story.protocol
    schemes = style(LIGHT) + (
        f"@media (prefers-color-scheme: dark) {{ {style(DARK)} .paper {{ fill: #14171a; }} }}" if dark else ""
    )
    rows = "".join(
        f'<text class="number" x="{NUMBERS - 8}" y="{lanes.y(moment.step) + 4:g}">{moment.step}</text>'
        f'<text class="said" xml:space="preserve" x="{NUMBERS + lanes.across + 20}" y="{lanes.y(moment.step) + 4:g}">'
        f"{_text(text)}</text>\n"
        for moment, text in texts
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" '
        f'font-family="DejaVu Sans, system-ui, sans-serif" font-size="13">\n'
        f"<title>{_text(title)}</title>\n"
        f"<style>.paper {{ fill: #ffffff; }} .said {{ font-size: 12px; fill: #57606a; }}\n{schemes}</style>\n"
        f'<rect class="paper" width="{width}" height="{height}"/>\n{rows}'
        f'<g transform="translate({NUMBERS} 0)">\n{heads(lanes)}\n{draw(story, labels, {})}\n</g>\n</svg>\n'
    )


def size(story: Story, labels: Labels) -> tuple[int, int]:
    """The width and the height that `stand_alone` has, in pixels."""
    lanes = Lanes.of(story)
    longest = max((_breadth(_row_text(moment, labels)) for moment in story.moments), default=0)
    return NUMBERS + lanes.across + 24 + longest + 12, lanes.height + 24


def _breadth(text: str) -> int:
    """About how many pixels a text of a row takes, rather too many: how many it does is for the font to say."""
    return sum(12 if east_asian_width(each) in "WF" else 9 if each.isupper() else 7 for each in text)


def _row_text(moment: Moment, labels: Labels) -> str:
    """All that is said of a step, in one line."""
    said = []
    for entry in entries_of(moment, labels):
        texts = [piece.text if piece.label is None else f"{piece.text} ◀{piece.label}" for piece in entry.pieces]
        if entry.process is not None and (entry.process != moment.process):
            texts = [f"{name(entry.process)}: {text}" for text in texts]
        said += texts
    return clean("  ".join(said), longest=LONGEST_TEXT)


# The line of a process, and its epochs.


def _lane(story: Story, lanes: Lanes, process: int) -> Iterator[str]:
    x = lanes.x(process)
    for top, bottom, epoch in _epochs(story, lanes, process):
        size = f'width="{BAND}" height="{bottom - top:g}"'
        yield f'<rect class="band e{epoch % HUES}" x="{x - BAND / 2:g}" y="{top:g}" {size}/>'
    for top, bottom, up in _lives(story, lanes, process):
        yield f'<line class="lane{"" if up else " down"}" x1="{x:g}" y1="{top:g}" x2="{x:g}" y2="{bottom:g}"/>'


def _epoch_names(story: Story, lanes: Lanes, process: int) -> Iterator[str]:
    x = lanes.x(process) - BAND / 2 - 3
    for top, _, epoch in _epochs(story, lanes, process):
        yield f'<text class="epoch" x="{x:g}" y="{top + 9:g}">e{epoch}</text>'


def _epochs(story: Story, lanes: Lanes, process: int) -> Iterator[tuple[float, float, int]]:
    """From where to where the process takes part in which epoch: the latest that it has promised, or was seen in."""
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


def _lives(story: Story, lanes: Lanes, process: int) -> Iterator[tuple[float, float, bool]]:
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
    """An arrow from where it was sent to where it was handled; a cross where it was lost."""
    if flight.sender == flight.to or max(flight.sender, flight.to) > lanes.processes:
        return
    x1, x2 = lanes.x(flight.sender), lanes.x(flight.to)
    y1 = lanes.y(flight.sent) if flight.sent is not None else float(HEAD)
    arrived = flight.received is not None
    y2 = lanes.y(flight.received if arrived else flight.lost)
    kind = kinds.get(flight.kind, "")
    data = f' data-s="{flight.sent or 0}" data-p="{flight.sender}" data-r="{flight.received or 0}" data-q="{flight.to}"'
    if not arrived:  # it got somewhere between the two
        x2, y2 = x1 + (x2 - x1) * 0.62, y1 + (min(y2, y1 + 3 * ROW) - y1) * 0.62
    reach = 7.0 if arrived else 0.0  # short of the point
    length = max(1.0, ((x2 - x1) ** 2 + (y2 - y1) ** 2) ** 0.5)
    dx, dy = (x2 - x1) / length, (y2 - y1) / length
    ex, ey = x2 - dx * reach, y2 - dy * reach
    state = "" if arrived else " lost" if flight.lost is not None else " open"
    title = f"<title>{_text(f'{name(flight.sender)} → {name(flight.to)} {flight.name}')}</title>"
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
    """What happened to a link, between its two lanes."""
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
    """The processes that took part in a step, the one that moved first."""
    moved = [moment.process] if moment.process is not None else []
    seen = [event.process for event in moment.shown if isinstance(event, Local)]
    return tuple(dict.fromkeys((*moved, *seen, *moment.changes)))


def _points(lanes: Lanes, moment: Moment, labels: Labels) -> Iterator[str]:
    """A point for each process that took part in the step."""
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
        parts.append(f'<text class="label" x="{beside:g}" y="{y + 4:g}">{_text(text)}</text>')
    if marks:
        parts.append(f'<circle class="ring" cx="{x:g}" cy="{y:g}" r="9"/>')
        tag = " ".join(marks) if len(marks) < 3 else f"{marks[0]}…{marks[-1]}"
        parts.append(f'<text class="tag" x="{x - 12:g}" y="{y + 4:g}">{tag}</text>')
    parts.append(f'<circle class="hit" cx="{x:g}" cy="{y:g}" r="12"/>')  # above the others: what a finger hits
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
    """The transactions that are broadcast or delivered; the first, and how many more."""
    txns = list(dict.fromkeys(event.txn for event in events if isinstance(event, Broadcast | Deliver)))
    if not txns:
        return next((f"ready({event.epoch})" for event in events if isinstance(event, Ready)), "")
    return _short(txns[0]) + (f" +{len(txns) - 1}" if len(txns) > 1 else "")


def _short(txn: Txn) -> str:
    value = clean(txn.value, longest=LONGEST_LABEL)
    return f"{value}{txn.zxid}"


def _text(text: str) -> str:
    return escape(clean(text))
