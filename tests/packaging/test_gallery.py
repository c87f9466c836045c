"""reports/gallery has a page for each known bug, made from the schedules that were recorded; and an index.

python -m tests.packaging.test_gallery
"""

from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from tests.search.builders import RECORDED
from zabcheck.counterexample.explain import explain
from zabcheck.counterexample.forms.exports import FORMS
from zabcheck.counterexample.forms.gallery import Exhibit, index
from zabcheck.counterexample.story import Story
from zabcheck.mutants.catalogue import CATALOGUE, Mutant
from zabcheck.simulation import schedule as schedules

GALLERY = Path(__file__).parents[2] / "reports/gallery"
ABOUT = (
    "Each of these is one step of Zab done wrong, and the shortest run found in which that shows. Open one and "
    "step through it with the arrow keys. Made by python -m tests.packaging.test_gallery."
)
PICTURE = "history-by-zxid-only"
"""The bug whose diagram README shows."""
LARGEST = 300_000
"""Bytes, of a page."""


@cache
def story_of(name: str) -> Story:
    """The run in which a bug breaks what it breaks first."""
    return explain(RECORDED[f"{name}.{CATALOGUE[name].breaks[0].replace(' ', '-')}"], decisive=True)


def written(mutant: Mutant) -> Iterator[tuple[str, bytes]]:
    """The names and contents of the files of one bug."""
    story, schedule = story_of(mutant.name), f"{mutant.name}.schedule.json"
    yield schedule, story.schedule
    yield f"{mutant.name}.html", FORMS[".html"].make(story, schedule)
    if mutant.name == PICTURE:
        yield f"{mutant.name}.svg", FORMS[".svg"].make(story, schedule)


def index_page() -> bytes:
    exhibits = [Exhibit(mutant.name, f"{mutant.name}.html", story_of(mutant.name)) for mutant in CATALOGUE.values()]
    return index("What zabcheck finds in Zab", ABOUT, exhibits).encode()


@pytest.mark.parametrize("mutant", CATALOGUE.values(), ids=CATALOGUE.keys())
def test_the_page_of_each_bug_is_up_to_date(mutant: Mutant) -> None:
    """If what reports look like was changed on purpose: see above how to make them anew."""
    for name, content in written(mutant):
        assert (GALLERY / name).read_bytes() == content, name


def test_the_index_is_up_to_date_and_there_is_nothing_else() -> None:
    assert (GALLERY / "index.html").read_bytes() == index_page()
    names = {name for mutant in CATALOGUE.values() for name, _ in written(mutant)}
    assert {path.name for path in GALLERY.iterdir()} == {"index.html", *names}


@pytest.mark.parametrize("mutant", CATALOGUE.values(), ids=CATALOGUE.keys())
def test_each_shows_what_breaks_first_and_is_small(mutant: Mutant) -> None:
    story = story_of(mutant.name)
    assert story.violation is not None
    assert story.violation.property == mutant.breaks[0]
    assert schedules.load(story.schedule, "schedule").mutant == mutant.name
    assert (GALLERY / f"{mutant.name}.html").stat().st_size < LARGEST


if __name__ == "__main__":
    GALLERY.mkdir(parents=True, exist_ok=True)
    for path in GALLERY.iterdir():
        path.unlink()
    for mutant in CATALOGUE.values():
        for name, content in written(mutant):
            (GALLERY / name).write_bytes(content)
    (GALLERY / "index.html").write_bytes(index_page())
