"""docs/zookeeper-conformance.md shows what is said of a recording that conforms, and of one that does not."""

from pathlib import Path

from docs.generators.output import DOCS, read, with_output

PAGE = DOCS / "zookeeper-conformance.md"


def made() -> dict[Path, str]:
    """Return the page with the output of its commands."""
    return {PAGE: with_output(read(PAGE))}
