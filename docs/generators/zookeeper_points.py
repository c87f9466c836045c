"""docs/zookeeper-points.md lists the named places in the threads of the ZooKeeper that PySpark brings."""

from pathlib import Path

from docs.generators.output import DOCS, read, with_output

PAGE = DOCS / "zookeeper-points.md"


def made() -> dict[Path, str]:
    """Return the page with the output of its command."""
    return {PAGE: with_output(read(PAGE))}
