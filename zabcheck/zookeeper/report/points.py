"""The list of named points, for a terminal and as JSON."""

from collections.abc import Sequence

from msgspec import Struct
from rich.console import RenderableType
from rich.table import Table

from zabcheck.text.pen import BOLD, DIM, Drawing, Pen
from zabcheck.zookeeper.debugger.points import PlacesOfPoint


class ShownPlace(Struct, frozen=True):
    """A place in the code. `at` is the index of a byte in the method's code."""

    class_name: str
    method: str
    at: int
    line: int


class ShownPoint(Struct, frozen=True):
    """The JSON form of a point. `missing` is the reason why it has no places, or is empty."""

    point: str
    thread: str
    what: str
    where: str
    places: tuple[ShownPlace, ...]
    missing: str


def shown(found: PlacesOfPoint) -> ShownPoint:
    """Make the JSON form of a point."""
    point = found.point
    places = tuple(
        ShownPlace(place.class_name.replace("/", "."), place.method, place.at, place.line) for place in found.places
    )
    return ShownPoint(point.name, point.thread, point.what, where(found), places, found.missing)


def where(found: PlacesOfPoint) -> str:
    """Return the place of a point as text: the method, and the call that it is before or after."""
    point = found.point
    class_name = point.class_name.rpartition("/")[2]
    methods = dict.fromkeys(place.method for place in found.places) or {point.method_name: None}
    method = f"{class_name}.{' or '.join(methods)}"
    return method if point.moment == "entry" else f"{method}, {point.moment} {' or '.join(point.callees)}"


def render(points: Sequence[PlacesOfPoint], version: str) -> RenderableType:
    """Render two lines for each point, and the number of points that this version has."""
    return Drawing(lambda pen: [_table(pen, points), "", _total(points, version)])


def _table(pen: Pen, points: Sequence[PlacesOfPoint]) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), show_header=False)
    table.add_column(no_wrap=True)
    table.add_column(overflow="fold")
    for found in points:
        lines = " and ".join(str(place.line) for place in found.places)
        place = f"{where(found)}, line {lines}" if lines else f"not in this version: {found.missing}"
        table.add_row(pen.write(found.point.name, BOLD), pen.write(found.point.what))
        table.add_row(pen.write(f"  {found.point.thread}", DIM), pen.write(place, DIM))
    return table


def _total(points: Sequence[PlacesOfPoint], version: str) -> str:
    there = sum(bool(each.places) for each in points)
    return f"{there} of {len(points)} points are in ZooKeeper {version}"
