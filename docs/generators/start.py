"""The pages in docs/start, one for each kind of reader, show what the first commands print."""

from pathlib import Path

from docs.generators.output import DOCS, read, with_output
from docs.generators.properties import table
from zabcheck.zookeeper.bugs.catalogue import BUGS
from zabcheck.zookeeper.report.bugs import affected

FOLDER = DOCS / "start"
BUGS_BEGIN, BUGS_END = "<!-- bugs -->\n", "<!-- end -->\n"


def made() -> dict[Path, str]:
    """Return the pages with the output of their commands."""
    return {page: _with_bugs(with_output(read(page))) for page in sorted(FOLDER.glob("*.md"))}


def _with_bugs(text: str) -> str:
    """Return a page with the table of ZooKeeper's known bugs, if it has a place for it."""
    before, begin, rest = text.partition(BUGS_BEGIN)
    if not begin:
        return text
    _, end, after = rest.partition(BUGS_END)
    assert end, "the place of the bugs has an end"
    rows = [
        (f"[{bug.name}](../zookeeper-catalogue.md#{bug.name.lower()})", bug.lost, affected(bug), bug.remedy)
        for bug in BUGS
    ]
    return f"{before}{begin}\n{table(('bug', 'what is lost', 'versions', 'a way round'), rows)}\n{end}{after}"
