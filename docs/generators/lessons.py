"""reports/lessons has a page for each lesson, with the ways that a reader may go; and the pictures of the phases.

The pages stand alone and run no script: a way is an element that opens.
"""

from collections.abc import Iterator
from pathlib import Path

from docs.generators.output import ROOT
from zabcheck.counterexample.forms.page import heading
from zabcheck.counterexample.forms.svg import to_svg
from zabcheck.counterexample.pieces import labels_by_step
from zabcheck.counterexample.story import Story
from zabcheck.mutants.catalogue import mutated
from zabcheck.papers.lessons import LESSONS
from zabcheck.papers.lessons.base import Lesson, Way
from zabcheck.play.session import Session
from zabcheck.search.run import named_by
from zabcheck.text.html import document, text

FOLDER = ROOT / "reports/lessons"
"""Has nothing but what is made here."""
PHASES = ("discovery", "synchronization", "broadcast")
"""The lessons whose right way is there as a picture too, for docs/start/learn-zab.md."""
_STYLE = """
body { max-width: 60rem; } h1 { font-size: 1.4rem; margin: 0.2rem 0; }
h2 { font-size: 1.05rem; margin: 1.2rem 0 0.4rem; }
p { max-width: 46rem; margin: 0.5rem 0; } .source, .came { color: var(--soft); } .came.bad { color: var(--bad); }
details { border: 1px solid var(--line); border-radius: 0.4rem; margin: 0.6rem 0; }
summary { cursor: pointer; padding: 0.6rem 0.8rem; font-weight: 600; } summary:hover { background: var(--tint); }
summary:focus-visible, .run:focus-visible, a:focus-visible { outline: 3px solid var(--one); outline-offset: 2px; }
details > div { padding: 0 0.8rem 0.8rem; } .run { overflow-x: auto; } .run svg { display: block; min-width: 40rem;
  max-width: 100%; height: auto; } code { background: var(--tint); padding: 0.1rem 0.3rem; }
nav { display: flex; gap: 1.5rem; flex-wrap: wrap; margin: 1.5rem 0 0.5rem; }
"""


def made() -> dict[Path, str]:
    """Return the pages of the lessons, their index, and the pictures of the phases."""
    names: list[str | None] = [None, *LESSONS, None]
    pages = {
        FOLDER / f"{name}.html": page(LESSONS[name], before, after)
        for before, name, after in zip(names, LESSONS, names[2:], strict=False)
    }
    pictures = {FOLDER / f"{name}.svg": picture(gone(LESSONS[name], LESSONS[name].solution).story()) for name in PHASES}
    return {**pages, **pictures, FOLDER / "index.html": index()}


def gone(lesson: Lesson, way: Way | None = None) -> Session:
    """Return a session that has gone a way of a lesson; None: one that begins it."""
    session = Session.of(named_by(lesson.given), lesson.given)
    session.follow(way.choices if way is not None else ())
    return session


def picture(story: Story) -> str:
    """Return the space-time diagram of a run."""
    return to_svg(story, labels_by_step(story))


def index() -> str:
    """Return the page that lists the lessons."""
    items = "".join(
        f'<li><a href="{name}.html">{text(lesson.title)}</a><br/>{text(lesson.question)}</li>\n'
        for name, lesson in LESSONS.items()
    )
    body = (
        "<header>\n<h1>Twelve lessons on Zab</h1>\n<p>Each takes a minute or two: read, predict, then do. The first "
        "three are the phases of Zab; each of the others asks why a step is as it is.</p>\n</header>\n"
        f"<main>\n<ol>\n{items}</ol>\n</main>\n"
    )
    return document("Twelve lessons on Zab", f"{_STYLE}li {{ margin: 0.7rem 0; }}\n", body)


def page(lesson: Lesson, before: str | None, after: str | None) -> str:
    """Return the page of a lesson, with links to the lessons before and after it."""
    number = list(LESSONS).index(lesson.name) + 1
    links = [("index.html", "all lessons")]
    links += [(f"{before}.html", f"before: {LESSONS[before].title}")] if before else []
    links += [(f"{after}.html", f"next: {LESSONS[after].title}")] if after else []
    given = ""
    if lesson.given.choices:
        given = _opening("The run up to here", _scrolled(picture(gone(lesson).story()), "the run up to here"), True)
    around = "".join(f'<a href="{link}">{text(title)}</a>' for link, title in links)
    body = (
        f"<header>\n<p class='source'>Lesson {number} of {len(LESSONS)}</p>\n<h1>{text(lesson.title)}</h1>\n"
        f"<p class='source'>{text(lesson.source)}</p>\n</header>\n<main>\n<p>{text(lesson.introduction)}</p>\n{given}"
        f"<h2>Predict</h2>\n<p>{text(lesson.question)}</p>\n"
        f"<h2>Then do</h2>\n<p>{text(lesson.task.sentence)} Which of these does it? Open one.</p>\n"
        f"{''.join(_ways(lesson))}"
        f"<p>Or find it yourself: <code>zabcheck play --lesson {text(lesson.name)}</code></p>\n</main>\n"
        f"<nav aria-label='lessons'>{around}</nav>\n"
    )
    return document(f"{lesson.title}: a lesson on Zab", _STYLE, body)


def _ways(lesson: Lesson) -> Iterator[str]:
    for way in lesson.ways:
        session = gone(lesson, way)
        story = session.story()
        answer = "This does it." if way.does_it else "This does not do it."
        bad = " bad" if story.violation is not None else ""
        happened = f"{heading(story)}. {story.violation.summary}." if story.violation is not None else heading(story)
        without = ""
        if session.here.broken:
            assert not session.with_protocol(mutated(session.protocol.name)).here.broken or not session.protocol.mutant
            without = " The same choices break nothing without this bug." if session.protocol.mutant else ""
        yield _opening(
            way.label,
            f"<p><strong>{answer}</strong> {text(way.why)}</p>\n"
            f'<p class="came{bad}">{text(happened)}{without}</p>\n{_scrolled(picture(story), way.label)}',
        )


def _opening(title: str, content: str, is_open: bool = False) -> str:
    opened = ' open=""' if is_open else ""
    return f"<details{opened}>\n<summary>{text(title)}</summary>\n<div>{content}</div>\n</details>\n"


def _scrolled(svg: str, name: str) -> str:
    return f'<div class="run" role="region" tabindex="0" aria-label="{text(name)}">\n{svg}</div>\n'
