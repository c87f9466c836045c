"""reports/gallery has a page for each known bug, made from the schedules that were recorded; and an index."""

from functools import cache
from pathlib import Path

from docs.generators.output import ROOT
from docs.generators.recorded import recorded
from zabcheck.counterexample.explain import explain
from zabcheck.counterexample.forms.gallery import index_of_bugs, pages
from zabcheck.counterexample.story import Story
from zabcheck.mutants.catalogue import CATALOGUE
from zabcheck.simulation.schedule import Schedule

FOLDER = ROOT / "reports/gallery"
"""Has nothing but what is made here."""


def made() -> dict[Path, str]:
    """Return the pages, schedules and the picture."""
    found = {FOLDER / name: content.decode() for mutant in CATALOGUE for name, content in files_of(mutant).items()}
    return {**found, FOLDER / "index.html": index_page().decode()}


def first_run(name: str) -> Schedule:
    """Return the schedule in which a bug breaks what it breaks first."""
    return recorded(name, CATALOGUE[name].breaks[0])


@cache
def story_of(name: str) -> Story:
    """Return the run in which a bug breaks what it breaks first."""
    return explain(first_run(name), decisive=True)


@cache
def files_of(name: str) -> dict[str, bytes]:
    """Return the names and contents of the files of one bug."""
    return dict(pages(name, first_run(name)))


def index_page() -> bytes:
    """Return the index of the gallery."""
    return index_of_bugs({name: first_run(name) for name in CATALOGUE})
