"""reports/gallery has a page for each known bug, made from the schedules that were recorded; and an index."""

from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from hashlib import sha256
from pathlib import Path

import msgspec
from msgspec import Struct

from docs.generators.output import ROOT
from docs.generators.recorded import recorded
from zabcheck.counterexample.explain import explain, explain_replay
from zabcheck.counterexample.forms.exports import FORMS
from zabcheck.counterexample.forms.page import Loss, heading
from zabcheck.counterexample.forms.page import page as to_page
from zabcheck.counterexample.pieces import stands_still
from zabcheck.counterexample.story import Chances, Story
from zabcheck.mutants.catalogue import CATALOGUE
from zabcheck.play.chances import chances
from zabcheck.play.loss import lost_in
from zabcheck.play.session import Session
from zabcheck.search.run import named_by, replay
from zabcheck.simulation.schedule import Schedule, dump
from zabcheck.text.html import document, text
from zabcheck.text.words import counted

FOLDER = ROOT / "reports/gallery"
"""Has nothing but what is made here."""
CHANCES = ROOT / "docs/generators/chances.json"
"""The estimates of `chances_of`, by bug."""
TRIES = 100
"""The continuations from each step: half as many as `play` makes, for there are some 70 curves."""


class KeptChances(Struct, frozen=True):
    """An estimate, and the hash of the schedule that it is of."""

    schedule: str
    chances: Chances


KEPT_CHANCES = msgspec.json.decode(CHANCES.read_bytes(), type=dict[str, KeptChances])


def made() -> dict[Path, str]:
    """Return the pages, schedules and the picture."""
    found = {FOLDER / name: content.decode() for mutant in CATALOGUE for name, content in files_of(mutant).items()}
    return {**found, FOLDER / "index.html": index_page().decode(), CHANCES: _chances_file()}


def _chances_file() -> str:
    runs = {name: first_run(name) for name in CATALOGUE}
    kept = {name: KeptChances(hash_of(run), chances_of(name, run)) for name, run in runs.items()}
    lines = ",\n".join(f'"{name}":{msgspec.json.encode(each).decode()}' for name, each in kept.items())
    return f"{{\n{lines}\n}}\n"


def first_run(name: str) -> Schedule:
    """Return the schedule in which a bug breaks what it breaks first."""
    return recorded(name, CATALOGUE[name].breaks[0])


@cache
def story_of(name: str) -> Story:
    """Return the run in which a bug breaks what it breaks first."""
    return explain(first_run(name), decisive=True)


@cache
def loss_of(name: str) -> Story | None:
    """Return the shortest recorded run in which a user loses something by a bug that breaks something else first.

    None if the first run shows that already, or if no run does.
    """
    breaks = CATALOGUE[name].breaks
    if lost_in(breaks[:1]) or not lost_in(breaks):
        return None
    runs = [replay(recorded(name, each), [each]) for each in breaks if lost_in([each])]
    return explain_replay(min(runs, key=lambda run: run.steps), decisive=True)


def chances_of(name: str, schedule: Schedule) -> Chances:
    """Return how likely a bug breaks what it breaks first, from each position of this run.

    That takes a CPU second or two, so the numbers are kept, with a hash of the schedule; for another one they are made.
    """
    return kept_in(KEPT_CHANCES, name, schedule) or estimated(schedule)


def kept_in(kept: Mapping[str, KeptChances], name: str, schedule: Schedule) -> Chances | None:
    """Return the estimate that is kept of this schedule; None if it is of another, or by another number of tries."""
    known = kept.get(name)
    is_right = known is not None and (known.schedule, known.chances.tries) == (hash_of(schedule), TRIES)
    return known.chances if known is not None and is_right else None


def estimated(schedule: Schedule) -> Chances:
    """Try random continuations from each position of a run that violates a property."""
    assert schedule.violates is not None
    session = Session.of(named_by(schedule), schedule, [schedule.violates])
    steps = tuple(session.simulator_at(position).steps for position in session.here.path)
    return Chances(schedule.violates, TRIES, steps, tuple(chances(session, schedule.violates, TRIES)))


def hash_of(schedule: Schedule) -> str:
    """Return the start of the SHA-256 of a schedule's file."""
    return sha256(dump(schedule)).hexdigest()[:16]


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
    """A counterexample in the gallery, its page's file, and what a user loses by the bug, if that is another run."""

    name: str
    file: str
    story: Story
    loss: Loss | None = None


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
        f"{len(story.moments)} step{'' if len(story.moments) == 1 else 's'}</p>{_lost(exhibit)}</div>\n</li>\n"
    )


def _lost(exhibit: Exhibit) -> str:
    loss = exhibit.loss
    if loss is None:
        return '<p class="size">Nothing is lost, but no progress is made</p>' if stands_still(exhibit.story) else ""
    said = f"{heading(loss.story)}, {counted(len(loss.story.moments), 'step', 'steps')}"
    return f'<p class="size"><a href="{text(loss.file)}">What a user loses by it</a>: {text(said)}</p>'


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
    page = _loss_page(mutant)
    yield f"{mutant}.html", to_page(story, file, chances_of(mutant, schedule), page).encode()
    if page is not None:
        file = f"{mutant}.loss.schedule.json"
        yield file, page.story.schedule
        yield page.file, FORMS[".html"].make(page.story, file)
    if mutant in WITH_PICTURE:
        yield f"{mutant}.svg", FORMS[".svg"].make(story, file)


def _loss_page(mutant: str) -> Loss | None:
    """Return what a user loses by a bug, with the name of its page; None if it has none."""
    loss = loss_of(mutant)
    return None if loss is None else Loss(f"{mutant}.loss.html", loss)


def index_of_bugs(schedules: Mapping[str, Schedule]) -> bytes:
    """Make the page that links to those of all bugs; `schedules` has one for each, in the order of the page."""
    exhibits = (
        Exhibit(name, f"{name}.html", explain(schedule), _loss_page(name)) for name, schedule in schedules.items()
    )
    return index(_TITLE, _ABOUT, exhibits).encode()
