"""reports/gallery has a page for each known bug, made from the schedules that were recorded; and an index."""

import pytest

from docs.generators.gallery import FOLDER, KEPT_CHANCES, estimated, files_of, first_run, hash_of, loss_of, story_of
from zabcheck.counterexample.forms.page import STANDS_STILL
from zabcheck.mutants.catalogue import CATALOGUE
from zabcheck.mutants.mutant import Mutant
from zabcheck.play.loss import lost_in
from zabcheck.simulation import schedule as schedules

LARGEST = 300_000
"""Bytes, of a page."""


@pytest.mark.slow
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


@pytest.mark.parametrize("mutant", CATALOGUE.values(), ids=CATALOGUE.keys())
def test_a_bug_that_breaks_an_invariant_first_also_shows_what_a_user_loses(mutant: Mutant) -> None:
    loss, page = loss_of(mutant.name), (FOLDER / f"{mutant.name}.html").read_text(encoding="utf-8")
    if lost_in(mutant.breaks[:1]) or not lost_in(mutant.breaks):
        assert loss is None
        assert ("What a user loses" in page) == (STANDS_STILL in page) == (not lost_in(mutant.breaks))
        return
    assert loss is not None
    assert loss.violation is not None
    assert lost_in([loss.violation.property])
    assert f'<a href="{mutant.name}.loss.html">{loss.violation.property} is violated</a>' in page
    assert STANDS_STILL not in page
    index = (FOLDER / "index.html").read_text(encoding="utf-8")
    assert f'<a href="{mutant.name}.loss.html">What a user loses by it</a>: {loss.violation.property} is' in index


@pytest.mark.parametrize("name", ["promise-not-durable", "counter-wraps"])
def test_the_chances_that_are_kept_are_those_of_the_run(name: str) -> None:
    """Runs with few steps are enough: a longer one takes up to two CPU seconds."""
    assert KEPT_CHANCES[name].chances == estimated(first_run(name))


def test_of_a_bug_that_costs_progress_alone_the_index_says_so() -> None:
    index = (FOLDER / "index.html").read_text(encoding="utf-8")
    costs_progress = [name for name, mutant in CATALOGUE.items() if not lost_in(mutant.breaks)]
    assert index.count("Nothing is lost, but no progress is made") == len(costs_progress) == 9


def test_each_page_tells_how_likely_its_bug_is() -> None:
    assert KEPT_CHANCES.keys() == CATALOGUE.keys()
    for name, kept in KEPT_CHANCES.items():
        assert kept.schedule == hash_of(first_run(name))
        assert kept.chances.broken[-1] == kept.chances.tries
        assert "How likely from here" in (FOLDER / f"{name}.html").read_text(encoding="utf-8")
