"""docs/zookeeper-scale.md shows what its commands print."""

from pathlib import Path

from docs.generators.output import DOCS, read, with_output

PAGE = DOCS / "zookeeper-scale.md"


def made() -> dict[Path, str]:
    """Return the page with the output of its commands."""
    return {PAGE: with_output(read(PAGE))}
