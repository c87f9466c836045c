"""The index of a gallery: an item for each counterexample, with a link to its page."""

from collections.abc import Iterable

from msgspec import Struct

from zabcheck.counterexample.forms.page import heading
from zabcheck.counterexample.story import Story
from zabcheck.text.html import document, text

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
