"""Finds where named points are in the code at hand."""

from itertools import islice
from typing import NamedTuple

from zabcheck.invariants.diagnosis import like
from zabcheck.zookeeper.debugger.catalogue import CATALOGUE, Point
from zabcheck.zookeeper.debugger.class_file import Call, Method
from zabcheck.zookeeper.debugger.class_path import ClassPath, ClassPathError

NEAREST = 4
"""The number of points that an error names at most, instead of one that is not there."""


class PointError(ValueError):
    """A point that does not exist, or not in this version. The message is one line, with the nearest names."""


class Place(NamedTuple):
    """A place: byte `at` in the code of a method of `class_name` ("org/…/Learner"), with its line."""

    class_name: str
    method: str
    descriptor: str
    at: int
    line: int


class PlacesOfPoint(NamedTuple):
    """Every place of a point in the code; none if the code lacks it, and then `missing` is the part that it lacks."""

    point: Point
    places: tuple[Place, ...]
    missing: str = ""


def named(name: str) -> Point:
    """Return the point of this name. PointError if there is none."""
    try:
        return CATALOGUE[name]
    except KeyError:
        there = like(name, CATALOGUE, "`zabcheck zookeeper points` lists what there is")
        raise PointError(f"no point `{name}`; {there}") from None


def find(point: Point, classes: ClassPath) -> PlacesOfPoint:
    """Find a point in the code. ClassPathError if a class cannot be read, or was compiled without its lines."""
    name = point.class_name
    methods = [
        method
        for method in classes.read(name).methods
        if method.name in (point.method_name, point.also)
        and method.descriptor.startswith(point.parameters)
        and method.length
    ]
    if not methods:
        return PlacesOfPoint(point, (), f"there is no {point.method}")
    if point.moment == "entry":
        return PlacesOfPoint(point, tuple(_place(name, method, 0, classes) for method in methods))
    calls = [(method, call) for method in methods for call in method.calls if _is_of(call, point.callees)]
    if not calls:
        return PlacesOfPoint(point, (), f"{point.method} does not call {' or '.join(point.callees)}")
    if point.which is not None:
        calls = [calls[point.which]]
    if point.moment == "before":
        return PlacesOfPoint(point, tuple(_place(name, method, call.at, classes) for method, call in calls))
    if any(call.following in method.targets for method, call in calls):
        return PlacesOfPoint(point, (), f"behind the call of {point.callees[0]} other paths join")
    return PlacesOfPoint(point, tuple(_place(name, method, call.following, classes) for method, call in calls))


def located(name: str, classes: ClassPath) -> PlacesOfPoint:
    """Find the point of this name. PointError if the code lacks it; ClassPathError as `find` raises it."""
    point = named(name)
    found = find(point, classes)
    if not found.places:
        names = ", ".join(islice((each.name for each in _near(point) if find(each, classes).places), NEAREST))
        raise PointError(f"ZooKeeper {classes.version()} has no point `{name}`: {found.missing}; near it: {names}")
    return found


def _near(point: Point) -> list[Point]:
    """Return the other points: those of the same method first, then those of the same class, the nearest first."""
    order = list(CATALOGUE)
    here = order.index(point.name)
    others = [each for each in CATALOGUE.values() if each != point]
    return sorted(
        others,
        key=lambda each: (
            each.method != point.method,
            each.class_name != point.class_name,
            abs(order.index(each.name) - here),
        ),
    )


def _is_meant(method: Method, point: Point) -> bool:
    return method.name in (point.method_name, point.also) and method.descriptor.startswith(point.parameters)


def _is_of(call: Call, callees: tuple[str, ...]) -> bool:
    owner = call.owner.rpartition("/")[2]
    return f"{owner}.{call.method}" in callees


def _place(class_name: str, method: Method, at: int, classes: ClassPath) -> Place:
    line = method.line(at)
    if line is None:
        java = class_name.replace("/", ".")
        raise ClassPathError(f"{classes.classpath}: {java}: expected a class with line numbers, found one without them")
    return Place(class_name, method.name, method.descriptor, at, line)
