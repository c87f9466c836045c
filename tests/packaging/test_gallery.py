"""reports/gallery has a page for each known bug, made from the schedules that were recorded; and an index.

`zabcheck mutants --record NAME` writes what belongs to one bug; python -m tests.packaging.test_gallery, all of it.
"""

from functools import cache
from pathlib import Path

import pytest

from tests.search.builders import RECORDED
from zabcheck.counterexample.explain import explain
from zabcheck.counterexample.forms.gallery import index_of_bugs, pages
from zabcheck.mutants.catalogue import CATALOGUE, Mutant
from zabcheck.simulation import schedule as schedules

GALLERY = Path(__file__).parents[2] / "reports/gallery"
LARGEST = 300_000
"""Bytes, of a page."""
FIRST = {name: RECORDED[f"{name}.{mutant.breaks[0].replace(' ', '-')}"] for name, mutant in CATALOGUE.items()}
"""By mutant: the run in which it breaks what it breaks first."""


@cache
def written(name: str) -> dict[str, bytes]:
    """The names and contents of the files of one bug."""
    return dict(pages(name, FIRST[name]))


@pytest.mark.parametrize("name", CATALOGUE)
def test_the_page_of_each_bug_is_up_to_date(name: str) -> None:
    """If what reports look like was changed on purpose: see above how to make them anew."""
    for file, content in written(name).items():
        assert (GALLERY / file).read_bytes() == content, file


def test_the_index_is_up_to_date_and_there_is_nothing_else() -> None:
    assert (GALLERY / "index.html").read_bytes() == index_of_bugs(FIRST)
    names = {file for name in CATALOGUE for file in written(name)}
    assert {path.name for path in GALLERY.iterdir()} == {"index.html", *names}


@pytest.mark.parametrize("mutant", CATALOGUE.values(), ids=CATALOGUE.keys())
def test_each_shows_what_breaks_first_and_is_small(mutant: Mutant) -> None:
    story = explain(FIRST[mutant.name])
    assert story.violation is not None
    assert story.violation.property == mutant.breaks[0]
    assert schedules.load(story.schedule, "schedule").mutant == mutant.name
    assert (GALLERY / f"{mutant.name}.html").stat().st_size < LARGEST


if __name__ == "__main__":
    GALLERY.mkdir(parents=True, exist_ok=True)
    for path in GALLERY.iterdir():
        path.unlink()
    for name in CATALOGUE:
        for file, content in written(name).items():
            (GALLERY / file).write_bytes(content)
    (GALLERY / "index.html").write_bytes(index_of_bugs(FIRST))
