"""The pages in docs/start, one for each kind of reader, show what the first commands print."""

from collections.abc import Callable
from pathlib import Path

from docs.generators.output import DOCS, read, with_output
from docs.generators.properties import table
from zabcheck.papers.lessons import LESSONS
from zabcheck.zookeeper.bugs.catalogue import BUGS
from zabcheck.zookeeper.report.bugs import affected

FOLDER = DOCS / "start"
END = "<!-- end -->\n"


def made() -> dict[Path, str]:
    """Return the pages with the output of their commands, and with what is generated in its place."""
    places = {"bugs": bugs, "lessons": lessons}
    pages = {}
    for page in sorted(FOLDER.glob("*.md")):
        text = with_output(read(page))
        for name, content in places.items():
            text = _filled(text, f"<!-- {name} -->\n", content)
        pages[page] = text
    return pages


def _filled(text: str, begin: str, content: Callable[[], str]) -> str:
    """Return a page with this content in its place, if it has one."""
    before, begins, rest = text.partition(begin)
    if not begins:
        return text
    _, end, after = rest.partition(END)
    assert end, f"{begin} has no end"
    return f"{before}{begin}\n{content()}\n{end}{after}"


def bugs() -> str:
    """Return the table of ZooKeeper's known bugs."""
    rows = [
        (f"[{bug.name}](../zookeeper-catalogue.md#{bug.name.lower()})", bug.lost, affected(bug), bug.remedy)
        for bug in BUGS
    ]
    return table(("bug", "what is lost", "versions", "workaround"), rows)


def lessons() -> str:
    """Return the list of the lessons."""
    rows = (
        f"{number}. [{lesson.title}](../../reports/lessons/{name}.html)"
        for number, (name, lesson) in enumerate(LESSONS.items(), 1)
    )
    return "\n".join(rows) + "\n"
