"""The space-time diagram of a run, as SVG: time runs down, a lane a process, a row a step.

A lane has the line of the process, dashed while it is down, and one beside it for each of its threads that is held
while others go on; a band for each epoch in which it takes part; and a point for each of its steps, with a sign for
what the outside saw. Between the lanes are the ways of the messages, and what happened to the links. These are the
space-time diagrams of Lamport ("Time, clocks, and the ordering of events in a distributed system", 1978), turned so
that a long run scrolls.

Elements carry classes, not colours, which `diagram_style` gives them. Elements that belong to a step have `data-s` (the
number of the step) and `data-p` (the process), and messages have a class for their kind, so that a page can mark them.
Drawing takes O(steps + messages) where no message is under way for long: a text is compared with what is drawn in its
rows. The same run gives the same bytes.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from html import escape
from typing import TypeGuard

from msgspec import Struct
from msgspec.structs import replace

from zabcheck.counterexample.forms.decided import MARK, DecisiveStep, decided
from zabcheck.counterexample.forms.lanes import BAND, HEAD, ROW, Lanes
from zabcheck.counterexample.forms.lettering import Lettering, MessagePath, Text
from zabcheck.counterexample.forms.room import breadth
from zabcheck.counterexample.pieces import Labels
from zabcheck.counterexample.story import Flight, HeldThread, Moment, Next, Story
from zabcheck.invariants import (
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
from zabcheck.text.words import clean, name

MOST_ROOM = 150
HUES = 6
"""The number of colours for epochs; after that many epochs they repeat."""
LONGEST_LABEL = 12
"""The longest value beside a point, in characters."""
BESIDE = 13
"""The pixels between the line of a held thread and that of its process."""
AWAY = 7
"""The pixels between the lines of two held threads of a process."""
LONGEST_EFFECT = 20
"""The longest label of the step that decided."""


class Point(Struct, frozen=True):
    """A step at one process: its signs, its texts, and a ring if it belongs to the witness."""

    step: int
    process: int
    signs: tuple[str, ...]
    has_ring: bool
    is_decided: bool
    tag: Text | None
    label: Text | None


class Branch(Struct, frozen=True):
    """The line of a thread that is held, beside that of its process, and the text that marks it."""

    thread: HeldThread
    x: float
    top: float
    bottom: float
    mark: Text


class Layout(Struct, frozen=True):
    """All that is drawn, and where."""

    lanes: Lanes
    ways: tuple[MessagePath, ...]
    crosses: Mapping[tuple[int, Event], float]
    """The place on its line of the cross of each step's cut, hold or stall."""
    epochs: tuple[Text, ...]
    points: tuple[Point, ...]
    names: tuple[tuple[Text, Flight], ...]
    branches: tuple[Branch, ...]


def lanes_of(story: Story, nexts: Sequence[Next] = ()) -> Lanes:
    """Return the layout of the lanes, with room for the texts beside the last one, and for the steps that may come."""
    width = max(50, min(100, 270 // max(1, story.processes)))
    texts = [_label(_of(moment, story.processes)) for moment in story.moments]
    decision = decided(story)
    longest = max((breadth(each) for each in texts), default=0)
    if decision is not None:
        longest = max(longest, breadth(decision.label, bold=True))
    room = max(width // 2 + width // 3, min(MOST_ROOM, 28 + round(longest)))
    rows = {moment.step: row for row, moment in enumerate(story.moments)}
    return Lanes(story.processes, rows, width, room, max(1, len(nexts)))


def layout(story: Story, labels: Labels, nexts: Sequence[Next] = ()) -> Layout:
    """Place everything: first what has its place, then the texts, those that matter most first."""
    lanes, decision = lanes_of(story, nexts), decided(story)
    lettering = Lettering(lanes)
    flights = [
        each for each in story.flights if each.sender != each.to and max(each.sender, each.to) <= lanes.processes
    ]
    arrived = [lettering.arrived(each) for each in flights if each.received is not None]
    bare = [point for moment in story.moments for point in _bare_points(lanes, moment, labels, decision)]
    for point in bare:
        lettering.point(lanes.x(point.process), lanes.y(point.step), len(point.signs), point.has_ring)
    links = [
        (moment.step, event) for moment in story.moments for event in moment.shown if _is_link(event, lanes.processes)
    ]
    crosses: dict[tuple[int, Event], float] = {  # before the lines that they stand on are taken
        (step, event): lettering.cross(lanes.x(event.sender), lanes.x(event.receiver), lanes.y(step))
        for step, event in links
        if not isinstance(event, Mend)
    }
    for step, event in links:
        lettering.link(lanes.x(event.sender), lanes.x(event.receiver), lanes.y(step))
    rows = {each.message: row for row, each in enumerate(nexts) if each.message is not None}
    under_way = [each for each in flights if each.received is None]
    awaited = [lettering.awaited(each, rows[each.number]) for each in under_way if _is_awaited(each, rows)]
    ended = [lettering.under_way(each) for each in under_way if not _is_awaited(each, rows)]
    ways = {way.flight: way for way in (*arrived, *awaited, *ended)}
    branches = _branches(story, lanes, lettering)
    points = _with_texts(story, labels, decision, lanes, lettering, bare)
    epochs = [
        lettering.epoch(f"e{epoch}", lanes.x(process), top, bottom)
        for process in range(1, story.processes + 1)
        for top, bottom, epoch in _epochs(story, lanes, process)
    ]
    moments = {moment.step: moment for moment in story.moments}
    points = tuple(_with_label(p, _of(moments[p.step], p.process), lanes, lettering) for p in points)
    ended_alone = {(way.begin, way.end): way for way in reversed(ended)}.values()  # the first of those that share one
    named = [*arrived, *reversed(ended_alone)]
    names = [(text, way.flight) for way in named if (text := lettering.name(way)) is not None]
    in_order = tuple(ways[flight] for flight in flights)
    return Layout(
        lanes, in_order, crosses, tuple(each for each in epochs if each is not None), points, tuple(names), branches
    )


def _is_awaited(flight: Flight, rows: Mapping[int, int]) -> bool:
    return flight.lost is None and flight.number in rows


def heads(lanes: Lanes) -> str:
    """Draw the names of the processes, above their lanes."""
    return "\n".join(
        f'<g transform="translate({lanes.x(process):g} {HEAD - 14})"><text class="head">{name(process)}</text></g>'
        for process in range(1, lanes.processes + 1)
    )


def draw(story: Story, labels: Labels, kinds: Mapping[str, str], nexts: Sequence[Next] = ()) -> str:
    """Draw what is in and between the lanes, without their heads, and without the numbers and texts of the steps.

    `kinds` gives the class of each kind of message. `nexts` are the steps that may come next in a run that goes on;
    each has a row below those of the run, and a message that is under way ends in its row.
    """
    placed, decision = layout(story, labels, nexts), decided(story)
    lanes = placed.lanes
    deciding = decision.flights if decision is not None else frozenset()
    parts = [
        *(part for process in range(1, story.processes + 1) for part in _lane(story, lanes, process)),
        *(_branch(lanes, branch) for branch in placed.branches),
        *(_way(way, kinds, way.flight.number in deciding) for way in placed.ways),
        *(part for moment in story.moments for part in _links(lanes, moment, placed.crosses)),
        *(_text(text) for text in placed.epochs),
        *(_text(text, kinds.get(flight.kind, "")) for text, flight in placed.names),
        *(_point(lanes, point) for point in placed.points),
        *(_next(lanes, each, row) for row, each in enumerate(nexts)),
    ]
    return "\n".join(parts)


def texts_of(placed: Layout) -> Iterator[Text]:
    """Yield every text of a layout."""
    yield from placed.epochs
    yield from (text for text, _ in placed.names)
    yield from (branch.mark for branch in placed.branches)
    for point in placed.points:
        yield from (text for text in (point.tag, point.label) if text is not None)


def _text(text: Text, more: str = "", x: float = 0, y: float = 0) -> str:
    """Draw a text; its place is said relative to (x, y)."""
    turn = f' transform="rotate({text.turn:.1f} {text.x - x:.1f} {text.y - y:.1f})"' if text.turn else ""
    anchor = f' text-anchor="{text.anchor}"' if text.anchor != "start" else ""
    classes = f"{text.kind} {more}".strip()
    return f'<text class="{classes}" x="{text.x - x:g}" y="{text.y - y:g}"{anchor}{turn}>{escaped(text.text)}</text>'


# The line of a process, and its epochs.


def _lane(story: Story, lanes: Lanes, process: int) -> Iterator[str]:
    x = lanes.x(process)
    for top, bottom, epoch in _epochs(story, lanes, process):
        size = f'width="{BAND}" height="{bottom - top:g}"'
        yield f'<rect class="band e{epoch % HUES}" x="{x - BAND / 2:g}" y="{top:g}" {size}/>'
    for top, bottom, up in _up_times(story, lanes, process):
        yield f'<line class="lane{"" if up else " down"}" x1="{x:g}" y1="{top:g}" x2="{x:g}" y2="{bottom:g}"/>'


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


# Threads that are held.


def _branches(story: Story, lanes: Lanes, lettering: Lettering) -> tuple[Branch, ...]:
    """Place the lines of the threads that are held: a lane splits where the others of its process go on."""
    placed: list[tuple[HeldThread, float, float, float]] = []
    for thread in story.threads:
        top = lanes.y(thread.since) + ROW / 4 if thread.since is not None else float(HEAD)
        bottom = max(top + ROW / 2, lanes.y(thread.until) + (3 * ROW / 4 if thread.end == "goes on" else 0))
        taken = {x for other, x, _, low in placed if other.process == thread.process and low > top}
        columns = (lanes.x(thread.process) - BESIDE - AWAY * column for column in range(len(placed) + 1))
        x = next(x for x in columns if x not in taken)
        placed.append((thread, x, top, bottom))
        lettering.line((x, top), (x, bottom))
    return tuple(
        Branch(thread, x, top, bottom, lettering.thread(thread.label, x, top, bottom))
        for thread, x, top, bottom in placed
    )


def _branch(lanes: Lanes, branch: Branch) -> str:
    """Draw a thread that is held: it leaves the line of its process, stands still, and comes back if it goes on."""
    thread, x, top, bottom, lane = branch.thread, branch.x, branch.top, branch.bottom, lanes.x(branch.thread.process)
    back = f"L{lane:g} {bottom:g}" if thread.end == "goes on" and thread.until is not None else ""
    bend = min(6.0, (bottom - top) / 2)
    title = f"<title>{escaped('. '.join((thread.head, *thread.told)))}</title>"
    line = f'<path class="held" d="M{lane:g} {top:g}L{x:g} {top + bend:g}L{x:g} {bottom - bend:g}{back}"/>'
    stands = f'<path class="held" d="M{x - 3:g} {top + bend:g}h6m-6 3h6"/>'
    return f'<g class="ht">{title}{line}{stands}{_text(branch.mark)}</g>'


# Messages and links.


def _way(way: MessagePath, kinds: Mapping[str, str], is_decided: bool) -> str:
    """Draw a message: an arrow from where it was sent to where it was handled, or a cross where it was lost."""
    flight, (x1, y1), (x2, y2) = way.flight, way.begin, way.end
    arrived = flight.received is not None
    data = f' data-s="{flight.sent or 0}" data-p="{flight.sender}" data-r="{flight.received or 0}" data-q="{flight.to}"'
    reach = 7.0 if arrived or way.row is not None else 0.0  # how far from the receiver's point the arrow ends
    length = max(1.0, ((x2 - x1) ** 2 + (y2 - y1) ** 2) ** 0.5)
    dx, dy = (x2 - x1) / length, (y2 - y1) / length
    ex, ey = x2 - dx * reach, y2 - dy * reach
    state = "" if arrived else " awaited" if way.row is not None else " lost" if way.is_lost else " open"
    title = f"<title>{escaped(f'{name(flight.sender)} → {name(flight.to)} {flight.name}')}</title>"
    size = 11 if is_decided else 7
    end = (
        f'<path class="tip" d="M{ex:.1f} {ey:.1f}L{ex - size * dx - 4 * dy:.1f} {ey - size * dy + 4 * dx:.1f}'
        f'L{ex - size * dx + 4 * dy:.1f} {ey - size * dy - 4 * dx:.1f}z"/>'
        if arrived or way.row is not None
        else f'<path class="x" d="M{ex - 4:.1f} {ey - 4:.1f}l8 8m0 -8l-8 8"/>'
        if way.is_lost
        else ""
    )
    line = f'<path class="flight{state}" d="M{x1:.1f} {y1:.1f}L{ex:.1f} {ey:.1f}"/>'
    kind = f"{kinds.get(flight.kind, '')}{' deciding' if is_decided else ''}"
    return f'<g class="f {kind}"{data}>{title}{line}{end}</g>'


def _is_link(event: Event, processes: int) -> TypeGuard[Cut | Mend | Stall | Hold]:
    return isinstance(event, Cut | Mend | Stall | Hold) and max(event.sender, event.receiver) <= processes


def _links(lanes: Lanes, moment: Moment, crosses: Mapping[tuple[int, Event], float]) -> Iterator[str]:
    """Draw what happened to links, each between its two lanes."""
    for event in moment.shown:
        if _is_link(event, lanes.processes):
            y = lanes.y(moment.step)
            good = " mend" if isinstance(event, Mend) else ""
            x1, x2 = lanes.x(event.sender), lanes.x(event.receiver)
            yield f'<line class="link{good}" x1="{x1:g}" y1="{y:g}" x2="{x2:g}" y2="{y:g}"/>'
            if not good:
                x = crosses[moment.step, event]
                yield f'<path class="x" d="M{x - 4:g} {y - 4:g}l8 8m0 -8l-8 8"/>'


# What a process did.


def processes_of(moment: Moment) -> tuple[int, ...]:
    """Return the processes that took part in a step; the one that made the step comes first."""
    moved = [moment.process] if moment.process is not None else []
    seen = [event.process for event in moment.shown if isinstance(event, Local)]
    return tuple(dict.fromkeys((*moved, *seen, *moment.changes)))


def _bare_points(lanes: Lanes, moment: Moment, labels: Labels, decision: DecisiveStep | None) -> Iterator[Point]:
    """Yield a point, still without texts, for each process that took part in the step."""
    for process in processes_of(moment):
        if process <= lanes.processes:
            events = _of(moment, process)
            signs = tuple(dict.fromkeys(sign for event in events if (sign := _sign(event))))
            marked = any((moment.step, event) in labels for event in events)
            is_decided = decision is not None and decision.step == moment.step and process == processes_of(moment)[0]
            yield Point(moment.step, process, signs, marked, is_decided, None, None)


def _with_texts(
    story: Story,
    labels: Labels,
    decision: DecisiveStep | None,
    lanes: Lanes,
    lettering: Lettering,
    points: Sequence[Point],
) -> tuple[Point, ...]:
    """Give the points their tags, and the one that decided its label, the decisive one first."""
    moments = {moment.step: moment for moment in story.moments}
    found: dict[tuple[int, int], Point] = {}
    for point in sorted(points, key=lambda each: not each.is_decided):
        events = _of(moments[point.step], point.process)
        x, y = lanes.x(point.process), lanes.y(point.step)
        marks = [mark for event in events if (mark := labels.get((point.step, event))) is not None]
        tag = " ".join(marks) if len(marks) < 3 else f"{marks[0]}…{marks[-1]}"
        tag = f"{tag} {MARK}".strip() if point.is_decided else tag
        label: Text | None = None
        if point.is_decided and decision is not None and decision.label:
            short = clean(decision.label, longest=LONGEST_EFFECT)
            label = lettering.label(short, x, y, len(point.signs), True, must=True)
        placed = lettering.tag(tag, x, y) if tag else None
        found[point.step, point.process] = replace(point, tag=placed, label=label)
    return tuple(found[point.step, point.process] for point in points)


def _with_label(point: Point, events: Sequence[Event], lanes: Lanes, lettering: Lettering) -> Point:
    """Give the point the label of what it shows, if there is room for it."""
    text = _label(events)
    if point.label is not None or not text:
        return point
    x, y = lanes.x(point.process), lanes.y(point.step)
    return replace(point, label=lettering.label(text, x, y, len(point.signs), point.has_ring or point.is_decided))


def _of(moment: Moment, process: int) -> list[Event]:
    return [event for event in moment.shown if isinstance(event, Local) and event.process == process]


def _point(lanes: Lanes, point: Point) -> str:
    """Draw a point, with everything relative to it, so that a page can squeeze the lanes without squeezing it."""
    x, y = lanes.x(point.process), lanes.y(point.step)
    parts: list[str] = []
    if point.is_decided:
        parts.append('<circle class="halo" r="12"/>')
    if not point.signs:
        parts.append('<circle class="dot" r="3.5"/>')
    for number, sign in enumerate(point.signs):
        parts.append(f'<path class="sign {_SIGNS[sign][0]}" d="M{11 * number:g} 0{_SIGNS[sign][1]}"/>')
    if point.has_ring:
        parts.append('<circle class="ring" r="9"/>')
    parts += [_text(text, "", x, y) for text in (point.label, point.tag) if text is not None]
    parts.append('<circle class="hit" r="12"/>')  # on top: what a finger hits
    shapes = "".join(parts)
    at = f'transform="translate({x:g} {y:g})" data-s="{point.step}" data-p="{point.process}"'
    return f'<g class="pt" {at}><g>{shapes}</g></g>'


def _next(lanes: Lanes, each: Next, row: int) -> str:
    """Draw where a step would stand that may come next."""
    shapes = '<circle class="dot" r="4.5"/><circle class="hit" r="12"/>'
    at = f'transform="translate({lanes.x(each.process):g} {lanes.next(row):g})" data-next="{row}"'
    return f'<g class="pt next{"" if each.is_possible else " impossible"}" {at}><g>{shapes}</g></g>'


_SIGNS = {
    "broadcasts": ("txn", "m0 -6l6 11h-12z"),
    "delivers": ("txn", "m-5 -5h10v10h-10z"),
    "ready": ("ready", "m0 -5l5 5l-5 5l-5 -5z"),
    "restores": ("txn", "m-5 -5h10v10h-10zm3 3v4h4v-4z"),
    "down": ("bad", "m-5 -5l10 10m0 -10l-10 10"),
    "up": ("up", "m-4 0a4 4 0 1 0 8 0a4 4 0 1 0 -8 0"),
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
