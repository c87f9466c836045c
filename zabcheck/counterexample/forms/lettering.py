"""The ends of the arrows of a diagram and the places of its texts: none lies on an arrow, a point, a cross or a text.

A mark of the witness that finds no room beside its point stands left of all lanes, where nothing is drawn. The name of
an epoch moves down its band until it finds room. A label that says what its row says too, and the name of a message,
are left out where there is no room.
"""

from collections.abc import Iterable
from math import atan2, degrees

from msgspec import Struct

from zabcheck.counterexample.forms.lanes import BAND, HEAD, ROW, Lanes
from zabcheck.counterexample.forms.room import Room, Shape, box, breadth, turned
from zabcheck.counterexample.story import Flight
from zabcheck.text.words import clean

SIZE = 11
"""The size of the texts in the diagram, in pixels."""
MOST_ROWS_DOWN = 12
"""The rows by which the name of an epoch may move down its band."""
LONGEST_NAME = 24


class MessagePath(Struct, frozen=True):
    """The way of a message, and whether a cross ends it because the message was lost."""

    flight: Flight
    begin: tuple[float, float]
    end: tuple[float, float]
    """The receiver's point, or where the arrow of a message ends that did not arrive."""
    is_lost: bool
    row: int | None = None
    """The row below those of the steps in which the message would be handled; None if it has none."""


class Text(Struct, frozen=True):
    """A text in the diagram. `kind` is its class, `shape` the room it takes, `turn` its slope in degrees."""

    kind: str
    text: str
    x: float
    y: float
    """The height of its baseline."""
    anchor: str
    shape: Shape
    turn: float = 0.0


class Lettering:
    """Takes what is drawn, one after the other, and finds room for texts among it. The order is that of importance."""

    def __init__(self, lanes: Lanes) -> None:
        self.lanes = lanes
        self.room = Room()
        self._ends: dict[tuple[int, int, int | None], tuple[float, float]] = {}

    def arrived(self, flight: Flight) -> MessagePath:
        lanes = self.lanes
        y1 = lanes.y(flight.sent) if flight.sent is not None else float(HEAD)
        way = MessagePath(flight, (lanes.x(flight.sender), y1), (lanes.x(flight.to), lanes.y(flight.received)), False)
        self.room.take((way.begin, way.end))
        return way

    def awaited(self, flight: Flight, row: int) -> MessagePath:
        """Let a message end at its receiver, in this row below those of the steps."""
        lanes = self.lanes
        y1 = lanes.y(flight.sent) if flight.sent is not None else float(HEAD)
        way = MessagePath(flight, (lanes.x(flight.sender), y1), (lanes.x(flight.to), lanes.next(row)), False, row)
        self.room.take((way.begin, way.end))
        return way

    def under_way(self, flight: Flight) -> MessagePath:
        """Let a message end between two lanes, and its cross, if it was lost, where it lies on nothing.

        Lost messages that one step sent to the same process share a cross.
        """
        lanes, is_lost = self.lanes, flight.lost is not None
        x1, x2 = lanes.x(flight.sender), lanes.x(flight.to)
        y1 = lanes.y(flight.sent) if flight.sent is not None else float(HEAD)
        low = min(max(lanes.y(flight.lost), y1 + ROW / 2), y1 + 3 * ROW)
        key = flight.sender, flight.to, flight.sent
        if is_lost and key in self._ends:
            return MessagePath(flight, (x1, y1), self._ends[key], True)
        parts = (0.62, 0.5, 0.74, 0.4, 0.82, 0.32, 0.56, 0.68, 0.45, 0.26, 0.2)
        wanted = [(x1 + (x2 - x1) * part, y1 + (low - y1) * part) for part in parts]
        wanted += [(x, y1 + ROW * steep) for steep in (0.3, 0.55, 0.8, 0.15) for x, _ in wanted]
        end = next((each for each in wanted if not is_lost or self.room.is_free(_cross(*each))), wanted[0])
        self.room.take(((x1, y1), end))
        if is_lost:
            self.room.take(_cross(*end))
            self._ends[key] = end
        return MessagePath(flight, (x1, y1), end, is_lost)

    def cross(self, x1: float, x2: float, y: float) -> float:
        """Return where on the line from x1 to x2 the cross of a link stands."""
        parts = (0.5, 0.4, 0.6, 0.3, 0.7, 0.22, 0.78, 0.15, 0.85)
        wanted = [x1 + (x2 - x1) * part for part in parts]
        x = next((each for each in wanted if self.room.is_free(_cross(each, y))), wanted[0])
        self.room.take(_cross(x, y))
        return x

    def line(self, begin: tuple[float, float], end: tuple[float, float]) -> None:
        self.room.take((begin, end))

    def link(self, x1: float, x2: float, y: float) -> None:
        self.room.take(((x1, y), (x2, y)))

    def point(self, x: float, y: float, signs: int, has_ring: bool) -> None:
        reach = 9.5 if has_ring else 5.0
        self.room.take(box(x - reach, y - reach, 2 * reach + 11 * max(0, signs - 1), 2 * reach))

    def tag(self, text: str, x: float, y: float) -> Text:
        """Place the marks of the witness."""
        beside = (((x - 12, y + dy, "end"), (x + 12, y + dy, "start")) for dy in (4, -7, 14))
        near = [each for pair in beside for each in pair]
        gutter = [(2.0, y + dy, "start") for dy in (4, -6, 13)]
        found = self._first("tag", text, [*near, *gutter], bold=True)
        return found or self._put(_text("tag", text, *gutter[0], bold=True))

    def epoch(self, text: str, x: float, top: float, bottom: float) -> Text | None:
        last = min(bottom, top + MOST_ROWS_DOWN * ROW)
        heights = [top + 9 + step * ROW / 4 for step in range(max(1, int((last - top - 9) * 4 / ROW) + 1))]
        sides = ((x - BAND / 2 - 3, "end"), (x + BAND / 2 + 3, "start"))
        return self._first("epoch", text, [(at, y, anchor) for y in heights for at, anchor in sides])

    def thread(self, text: str, x: float, top: float, bottom: float) -> Text:
        """Place the mark of a thread that is held beside its line, which is at x, or else left of all lanes."""
        heights = [top + 14 + step * ROW / 4 for step in range(max(1, int((bottom - top - 14) * 4 / ROW) + 1))]
        places = [(at, y, anchor) for y in heights for at, anchor in ((x - 4, "end"), (x + 4, "start"))]
        gutter = [(2.0, y, "start") for y in heights]
        found = self._first("thread", text, [*places, *gutter], bold=True)
        return found or self._put(_text("thread", text, *gutter[0], bold=True))

    def label(self, text: str, x: float, y: float, signs: int, has_ring: bool, must: bool = False) -> Text | None:
        """Place what a point shows; with `must`, right of the last lane if there is no room beside the point."""
        right = x + (13 if has_ring else 8) + 11 * max(0, signs - 1)
        left = x - (13 if has_ring else 8)
        wanted = [(right, y + 4, "start"), (left, y + 4, "end")]
        for dy in (-7, 14):
            wanted += [(x + 6, y + dy, "start"), (x - 6, y + dy, "end")]
        kind = "label effect" if must else "label"
        if must:
            beyond = self.lanes.x(self.lanes.processes) + 14
            wanted += [(beyond, y + 4, "start"), (beyond, y - 7, "start"), (beyond, y + 14, "start")]
        return self._first(kind, text, wanted, bold=must)

    def name(self, way: MessagePath) -> Text | None:
        """Place the name of a message along its arrow, if there is room.

        The arrow of a message that did not arrive may be shorter than its name: that goes on towards the receiver.
        """
        (x1, y1), (x2, y2) = way.begin, self._at_receiver(way)
        if x2 < x1:
            x1, y1, x2, y2 = x2, y2, x1, y1
        turn = degrees(atan2(y2 - y1, x2 - x1))
        text = clean(way.flight.kind, longest=LONGEST_NAME)
        length = ((x2 - x1) ** 2 + (y2 - y1) ** 2) ** 0.5
        if breadth(text) + 16 > length or abs(turn) > 60:
            return None
        for part in (0.5, 0.4, 0.6, 0.3, 0.7):
            for away in (-3.0, float(SIZE) + 1):
                x, y = x1 + (x2 - x1) * part, y1 + (y2 - y1) * part
                flat = _text("name", text, x, y + away, "middle")
                found = Text("name", text, x, y, "middle", turned(flat.shape, turn, x, y), turn)
                if self._is_inside(found) and self.room.is_free(found.shape):
                    shifted = turned(((x, y + away),), turn, x, y)[0]
                    return self._put(Text("name", text, *shifted, "middle", found.shape, turn))
        return None

    def _at_receiver(self, way: MessagePath) -> tuple[float, float]:
        """Return where the line of a message meets the lane of its receiver, or would have met it."""
        (x1, y1), (x2, y2), lane = way.begin, way.end, self.lanes.x(way.flight.to)
        return lane, y1 if x1 == x2 else y1 + (y2 - y1) * (lane - x1) / (x2 - x1)

    def _first(
        self, kind: str, text: str, places: Iterable[tuple[float, float, str]], bold: bool = False
    ) -> Text | None:
        for x, y, anchor in places:
            found = _text(kind, text, x, y, anchor, bold)
            if self._is_inside(found) and self.room.is_free(found.shape):
                return self._put(found)
        return None

    def _is_inside(self, text: Text) -> bool:
        lanes = self.lanes
        return all(0 <= x <= lanes.across and HEAD - 4 <= y <= lanes.height for x, y in text.shape)

    def _put(self, text: Text) -> Text:
        self.room.take(text.shape)
        return text


def _cross(x: float, y: float) -> Shape:
    return box(x - 5, y - 5, 10, 10)


def _text(kind: str, text: str, x: float, y: float, anchor: str, bold: bool = False) -> Text:
    width = breadth(text, bold)
    left = x - {"start": 0.0, "middle": 0.5, "end": 1.0}[anchor] * width
    return Text(kind, text, x, y, anchor, box(left, y - SIZE + 1.5, width, SIZE + 1))
