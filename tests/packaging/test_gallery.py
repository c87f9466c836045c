"""reports/gallery has a page for each known bug, made from the schedules that were recorded; and an index."""

import pytest

from docs.generators.gallery import FOLDER, files_of, story_of
from zabcheck.mutants.catalogue import CATALOGUE
from zabcheck.mutants.mutant import Mutant
from zabcheck.simulation import schedule as schedules

LARGEST = 300_000
"""Bytes, of a page."""


def test_there_is_nothing_else() -> None:
    names = {file for name in CATALOGUE for file in files_of(name)}
    assert {path.name for path in FOLDER.iterdir()} == {"index.html", *names}


@pytest.mark.parametrize("mutant", CATALOGUE.values(), ids=CATALOGUE.keys())
def test_each_shows_what_breaks_first_and_is_small(mutant: Mutant) -> None:
    story = story_of(mutant.name)
    assert story.violation is not None
    assert story.violation.property == mutant.breaks[0]
    assert schedules.load(story.schedule, "schedule").mutant == mutant.name
    assert (FOLDER / f"{mutant.name}.html").stat().st_size < LARGEST
