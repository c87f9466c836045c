"""The texts of the diagram stand on nothing else that is drawn, on every page in the repository."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache, partial
from random import Random

import pytest

from docs.generators import gallery, zookeeper
from tests.counterexample.pages import STORIES
from tests.tiers import sweep
from zabcheck.cli.zookeeper.recordings import story_of
from zabcheck.counterexample.forms import diagram
from zabcheck.counterexample.forms.lanes import NUMBERS
from zabcheck.counterexample.forms.room import Room, Shape, box, breadth, overlap, turned
from zabcheck.counterexample.pieces import labels_by_step
from zabcheck.counterexample.story import Story
from zabcheck.mutants.catalogue import CATALOGUE
from zabcheck.zookeeper.verdict.judge import judge


def archived(name: str) -> Story:
    with zookeeper.archived(name) as folder:
        return story_of(judge(folder))


COMMITTED: Mapping[str, Callable[[], Story]] = {
    **{name: partial(gallery.story_of, name) for name in CATALOGUE},
    "zookeeper-lost-write": lambda: story_of(judge(zookeeper.LOST_WRITE)),
    "zookeeper-healthy": lambda: story_of(judge(zookeeper.HEALTHY)),
    **{name: partial(archived, name) for name in zookeeper.ARCHIVED},
}
"""The runs of reports/gallery and docs/examples."""
PAGES = {**COMMITTED, **STORIES}
SAMPLE = [*list(COMMITTED)[::12], "zookeeper-stale-log"]
"""A sample of the pages in the repository. The pages of STORIES are drawn to be hard, so all of them are looked at."""
each_page = pytest.mark.parametrize(
    "about", sweep(PAGES, normal=[*SAMPLE, *(each for each in STORIES if each != "long")])
)
each_committed = pytest.mark.parametrize("about", sweep(COMMITTED, normal=SAMPLE))


@cache
def placed(about: str) -> diagram.Layout:
    story = PAGES[about]()
    return diagram.layout(story, labels_by_step(story))


def crosses(layout: diagram.Layout) -> Iterator[tuple[str, Shape]]:
    shared: dict[tuple[int, int, int | None, tuple[float, float]], str] = {}  # one cross for the messages of a step
    for way in layout.ways:
        if way.is_lost:
            shared.setdefault((way.flight.sender, way.flight.to, way.flight.sent, way.end), way.flight.name)
    for (*_, end), name in shared.items():
        yield f"the cross of {name}", box(end[0] - 4, end[1] - 4, 8, 8)
    for (step, event), x in layout.crosses.items():
        yield f"the cross of {event}", box(x - 4, layout.lanes.y(step) - 4, 8, 8)


def texts(layout: diagram.Layout) -> Iterator[tuple[str, Shape]]:
    return ((f"{text.kind} {text.text}", text.shape) for text in diagram.texts_of(layout))


def arrows(layout: diagram.Layout) -> Iterator[tuple[str, Shape]]:
    return ((way.flight.name, (way.begin, way.end)) for way in layout.ways)


def points(layout: diagram.Layout) -> Iterator[tuple[str, Shape]]:
    for point in layout.points:
        x, y = layout.lanes.x(point.process), layout.lanes.y(point.step)
        reach = 9 if point.has_ring else 4
        yield f"the point of step {point.step} at p{point.process}", box(x - reach, y - reach, 2 * reach, 2 * reach)


def by_height(drawn: Iterable[tuple[str, Shape]]) -> dict[int, list[tuple[str, Shape]]]:
    """Return what is drawn in each band of some pixels."""
    bands = defaultdict[int, list[tuple[str, Shape]]](list)
    for what, shape in drawn:
        for band in bands_of(shape):
            bands[band].append((what, shape))
    return bands


def bands_of(shape: Shape) -> range:
    return range(int(min(y for _, y in shape) // 20), int(max(y for _, y in shape) // 20) + 1)


def near(shape: Shape, drawn: Mapping[int, list[tuple[str, Shape]]]) -> list[tuple[str, Shape]]:
    """Return what is drawn in the bands of a shape: all else is too far away to lie on it."""
    return [each for band in bands_of(shape) for each in drawn.get(band, ())]


@each_page
def test_no_text_lies_on_an_arrow_a_point_a_cross_or_another_text(about: str) -> None:
    layout = placed(about)
    written = list(texts(layout))
    drawn = by_height([*arrows(layout), *points(layout), *crosses(layout), *written])
    bad = [
        (what, other)
        for what, shape in written
        for other, drawn_shape in near(shape, drawn)
        if shape is not drawn_shape and overlap(shape, drawn_shape)
    ]
    assert bad == []


@each_committed
def test_no_cross_lies_on_an_arrow_that_arrives_or_on_another_cross(about: str) -> None:
    layout = placed(about)
    arrived = [(way.flight.name, (way.begin, way.end)) for way in layout.ways if way.flight.received is not None]
    all_crosses = list(crosses(layout))
    drawn = by_height([*arrived, *all_crosses])
    bad = [
        (what, other)
        for what, shape in all_crosses
        for other, drawn_shape in near(shape, drawn)
        if shape is not drawn_shape and overlap(shape, drawn_shape)
    ]
    assert bad == []


@each_committed
def test_every_mark_and_every_epoch_has_found_room(about: str) -> None:
    """So have the words of the step that decided, and most names of messages that fit between two lanes."""
    story, layout = PAGES[about](), placed(about)
    bands = diagram.draw(story, labels_by_step(story), {}).count('class="band ')
    assert len(layout.epochs) == bands
    for point in layout.points:
        if point.has_ring or point.is_decided:
            assert point.tag is not None
    decision = diagram.decided(story)
    if decision is not None and decision.label:
        [label] = [point.label for point in layout.points if point.is_decided]
        assert label is not None
    kinds = {flight.kind for _, flight in layout.names}
    fit = {way.flight.kind for way in layout.ways if breadth(way.flight.kind) < layout.lanes.width - 40}
    assert len(kinds & fit) >= len(fit) / 2


@pytest.mark.parametrize("pairs", sweep((200, 2000), normal=(200,)))
def test_two_shapes_overlap_if_a_point_is_in_both(pairs: int) -> None:
    """Many points of one shape are each asked whether they are within the other."""
    rng = Random(7)
    both = 0
    for _ in range(pairs):
        one = turned(box(rng.uniform(0, 40), rng.uniform(0, 40), 30, 10), rng.uniform(-90, 90), 20, 20)
        if rng.random() < 0.5:
            other = turned(box(rng.uniform(0, 40), rng.uniform(0, 40), 20, 20), rng.uniform(-90, 90), 20, 20)
        else:
            other = (rng.uniform(0, 60), rng.uniform(0, 60)), (rng.uniform(0, 60), rng.uniform(0, 60))
        touched = any(within(point, one, margin=-0.01) for point in points_of(other))
        if touched:
            both += 1
            assert overlap(one, other)
            assert overlap(other, one)
        elif not any(within(point, one, margin=1.5) for point in points_of(other)):
            assert not overlap(one, other)
    assert 0.15 * pairs < both < 0.85 * pairs


def points_of(shape: Shape, many: int = 40) -> Iterator[tuple[float, float]]:
    a, b = shape[0], shape[1]
    d = shape[3] if len(shape) == 4 else a
    for i in range(many + 1):
        for j in range(many + 1 if len(shape) == 4 else 1):
            s, t = i / many, j / many
            yield a[0] + s * (b[0] - a[0]) + t * (d[0] - a[0]), a[1] + s * (b[1] - a[1]) + t * (d[1] - a[1])


def within(point: tuple[float, float], shape: Shape, margin: float) -> bool:
    """Return True if the point is in the rectangle, grown by `margin`."""
    (ax, ay), (bx, by), _, (dx, dy) = shape
    for ex, ey in ((bx - ax, by - ay), (dx - ax, dy - ay)):
        length = (ex * ex + ey * ey) ** 0.5
        along = ((point[0] - ax) * ex + (point[1] - ay) * ey) / length
        if not -margin <= along <= length + margin:
            return False
    return True


def test_a_taken_place_is_not_free() -> None:
    room = Room()
    room.take(((0.0, 0.0), (100.0, 300.0)))
    assert not room.is_free(box(45, 145, 20, 10))
    assert room.is_free(box(45, 45, 20, 10))
    assert breadth("9999") < NUMBERS
