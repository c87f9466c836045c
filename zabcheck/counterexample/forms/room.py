"""The space that is taken in a drawing, so that a text can be placed where it overlaps nothing."""

from collections.abc import Iterator, Sequence
from itertools import pairwise
from math import cos, radians, sin
from unicodedata import east_asian_width

from zabcheck.counterexample.forms.lanes import ROW

Corner = tuple[float, float]
Shape = tuple[Corner, ...]
"""The corners of a rectangle, in order, or the two ends of a line."""


def breadth(text: str, bold: bool = False) -> float:
    """Return about how many pixels `text` takes at 11 px, rather too many: only the font knows the exact width."""
    return sum(map(_width, text)) * (1.14 if bold else 1)


def _width(character: str) -> float:
    """Return the width of a character of DejaVu Sans, rounded up; most fonts are narrower."""
    if character in " .,:;'|!ijl":
        return 3.7
    if character in "()[]⟨⟩trf-/":
        return 4.8
    if character in "mwMW→←◀×+−=%…" or east_asian_width(character) in "WF":
        return 11.0
    if character in "OQGDNHU":
        return 8.8
    return 8.0 if character.isupper() else 7.1


def box(x: float, y: float, width: float, height: float) -> Shape:
    """Return the rectangle whose upper left corner is (x, y)."""
    return (x, y), (x + width, y), (x + width, y + height), (x, y + height)


def turned(shape: Shape, degrees: float, x: float, y: float) -> Shape:
    """Return `shape`, turned clockwise around (x, y)."""
    c, s = cos(radians(degrees)), sin(radians(degrees))
    return tuple((x + (a - x) * c - (b - y) * s, y + (a - x) * s + (b - y) * c) for a, b in shape)


def overlap(one: Shape, other: Shape) -> bool:
    """Return True if two shapes have a point in common: no line separates them."""
    for normal in (*_normals(one), *_normals(other)):
        first, second = _range(one, normal), _range(other, normal)
        if first[1] <= second[0] or second[1] <= first[0]:
            return False
    return True


def _normals(shape: Shape) -> Iterator[Corner]:
    for (x1, y1), (x2, y2) in pairwise(shape[: len(shape) // 2 + 1]):  # the other sides are parallel to these
        yield y1 - y2, x2 - x1
        if len(shape) == 2:  # a line has no breadth, but a length
            yield x2 - x1, y2 - y1


def _range(shape: Sequence[Corner], normal: Corner) -> tuple[float, float]:
    values = [x * normal[0] + y * normal[1] for x, y in shape]
    return min(values), max(values)


class Room:
    """The shapes that are drawn so far. Asking for one and adding one takes time in proportion to the rows it spans."""

    def __init__(self) -> None:
        self._rows: dict[int, list[tuple[_Bounds, Shape]]] = {}

    def take(self, shape: Shape) -> None:
        bounds = _bounds(shape)
        for row in _rows(bounds):
            self._rows.setdefault(row, []).append((bounds, shape))

    def is_free(self, shape: Shape) -> bool:
        bounds = left, right, top, bottom = _bounds(shape)
        for row in _rows(bounds):
            for (x1, x2, y1, y2), other in self._rows.get(row, ()):
                if x1 < right and left < x2 and y1 < bottom and top < y2 and overlap(shape, other):
                    return False
        return True


_Bounds = tuple[float, float, float, float]
"""The least and the greatest x, then y, of a shape."""


def _bounds(shape: Shape) -> _Bounds:
    xs, ys = [x for x, _ in shape], [y for _, y in shape]
    return min(xs), max(xs), min(ys), max(ys)


def _rows(bounds: _Bounds) -> range:
    return range(int(bounds[2] // ROW), int(bounds[3] // ROW) + 1)
