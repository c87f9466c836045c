"""docs/channel.md shows what its command prints."""

from pathlib import Path

from docs.generators.output import DOCS, read, with_output

PAGE = DOCS / "channel.md"


def made() -> dict[Path, str]:
    """Return the page with the output of its command."""
    return {PAGE: with_output(read(PAGE))}
