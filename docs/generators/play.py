"""docs/play.md shows what its commands print."""

from pathlib import Path

from docs.generators.output import DOCS, read, with_output

PAGE = DOCS / "play.md"


def made() -> dict[Path, str]:
    """Return the page with all output made anew."""
    return {PAGE: with_output(read(PAGE))}
