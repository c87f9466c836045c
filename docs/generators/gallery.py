"""reports/gallery has a page for each known bug, made from the schedules that were recorded; and an index."""

from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path

from msgspec import Struct

from docs.generators.output import ROOT
from docs.generators.recorded import recorded
from zabcheck.counterexample.explain import explain
from zabcheck.counterexample.forms.exports import FORMS
from zabcheck.counterexample.forms.page import heading
from zabcheck.counterexample.story import Story
from zabcheck.mutants.catalogue import CATALOGUE
from zabcheck.simulation.schedule import Schedule
from zabcheck.text.html import document, text

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


# The pages.

_STYLE = """
body { max-width: 76rem; } h1 { font-size: 1.5rem; margin: 0.5rem 0; } p { max-width: 46rem; }
ol { list-style: none; margin: 0; padding: 0; }
li { padding: 0.7rem 0; border-top: 1px solid var(--line); display: grid; gap: 0 1.5rem;
  grid-template-columns: minmax(0, 2fr) minmax(0, 3fr); }
h2 { font-size: 1.05rem; margin: 0; } li p { margin: 0; } .wrong { color: var(--soft); font-size: 0.9rem; }
.broken { color: var(--bad); font-weight: 600; } .size { color: var(--soft); font-size: 0.875rem; }
@media (max-width: 45rem) { li { grid-template-columns: minmax(0, 1fr); gap: 0.3rem; } }
"""


class Exhibit(Struct, frozen=True):
    """A counterexample in the gallery, and the name of its page's file."""

    name: str
    file: str
    story: Story


def index(title: str, about: str, exhibits: Iterable[Exhibit]) -> str:
    """Return the page of the index; `about` is the text above the list."""
    items = "".join(map(_item, exhibits))
    body = f"<header>\n<h1>{text(title)}</h1>\n<p>{text(about)}</p>\n</header>\n<main>\n<ol>\n{items}</ol>\n</main>\n"
    return document(title, _STYLE, body)


def _item(exhibit: Exhibit) -> str:
    story = exhibit.story
    summary = f"{story.violation.summary}." if story.violation is not None else ""
    wrong = f'<p class="wrong">{text(story.wrong)}</p>' if story.wrong is not None else ""
    return (
        f'<li>\n<div><h2><a href="{text(exhibit.file)}">{text(exhibit.name)}</a></h2>{wrong}</div>\n'
        f'<div><p class="broken">{text(heading(story))}</p><p>{text(summary)}</p>'
        f'<p class="size">{story.processes} process{"" if story.processes == 1 else "es"}, '
        f"{len(story.moments)} step{'' if len(story.moments) == 1 else 's'}</p></div>\n</li>\n"
    )


_TITLE = "What zabcheck finds in Zab"
_ABOUT = (
    "Each of these is one step of Zab done wrong, and the shortest run found in which that shows. Open one and "
    "step through it with the arrow keys. Made by python -m tests.record."
)
WITH_PICTURE = ("history-by-zxid-only",)
"""The bugs whose diagram is there as a picture too: README shows it."""


def pages(mutant: str, schedule: Schedule) -> Iterator[tuple[str, bytes]]:
    """Yield the names and contents of the files of one bug. ValueError if `schedule` cannot be explained."""
    story = explain(schedule, decisive=True)
    file = f"{mutant}.schedule.json"
    yield file, story.schedule
    yield f"{mutant}.html", FORMS[".html"].make(story, file)
    if mutant in WITH_PICTURE:
        yield f"{mutant}.svg", FORMS[".svg"].make(story, file)


def index_of_bugs(schedules: Mapping[str, Schedule]) -> bytes:
    """Make the page that links to those of all bugs; `schedules` has one for each, in the order of the page."""
    exhibits = (Exhibit(name, f"{name}.html", explain(schedule)) for name, schedule in schedules.items())
    return index(_TITLE, _ABOUT, exhibits).encode()
