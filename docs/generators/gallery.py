"""reports/gallery has a page for each known bug, made from the schedules that were recorded; and an index."""

from collections.abc import Iterator
from functools import cache
from pathlib import Path

from docs.generators.output import ROOT
from docs.generators.recorded import recorded
from zabcheck.counterexample.explain import explain
from zabcheck.counterexample.forms.exports import FORMS
from zabcheck.counterexample.forms.gallery import Exhibit, index
from zabcheck.counterexample.story import Story
from zabcheck.mutants.catalogue import CATALOGUE, Mutant

FOLDER = ROOT / "reports/gallery"
"""Has nothing but what is made here."""
ABOUT = (
    "Each of these is one step of Zab done wrong, and the shortest run found in which that shows. Open one and "
    "step through it with the arrow keys. Made by make docs."
)
PICTURE = "history-by-zxid-only"
"""The bug whose diagram the documentation shows."""


def made() -> dict[Path, str]:
    """Return the pages, schedules and the picture."""
    found = {FOLDER / name: content for mutant in CATALOGUE.values() for name, content in files_of(mutant)}
    return {**found, FOLDER / "index.html": index_page()}


@cache
def story_of(name: str) -> Story:
    """Return the run in which a bug breaks what it breaks first."""
    return explain(recorded(name, CATALOGUE[name].breaks[0]), decisive=True)


def files_of(mutant: Mutant) -> Iterator[tuple[str, str]]:
    """Yield the names and contents of the files of one bug."""
    story, schedule = story_of(mutant.name), f"{mutant.name}.schedule.json"
    yield schedule, story.schedule.decode()
    yield f"{mutant.name}.html", FORMS[".html"].make(story, schedule).decode()
    if mutant.name == PICTURE:
        yield f"{mutant.name}.svg", FORMS[".svg"].make(story, schedule).decode()


def index_page() -> str:
    """Return the index of the gallery."""
    exhibits = [Exhibit(mutant.name, f"{mutant.name}.html", story_of(mutant.name)) for mutant in CATALOGUE.values()]
    return index("What zabcheck finds in Zab", ABOUT, exhibits)
