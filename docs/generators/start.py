"""The pages in docs/start, one for each kind of reader, show what the first commands print."""

from pathlib import Path

from docs.generators.output import DOCS, read, with_output

FOLDER = DOCS / "start"


def made() -> dict[Path, str]:
    """Return the pages with the output of their commands."""
    return {page: with_output(read(page)) for page in sorted(FOLDER.glob("*.md"))}
