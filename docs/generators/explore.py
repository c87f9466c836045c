"""docs/explore.md shows what a proof, a trap and a certificate look like."""

from pathlib import Path

from docs.generators.output import DOCS, SHOWN, newest, read, shell

PAGE = DOCS / "explore.md"
VARIES = r"\s+[\d.]+\s+CPU\s+seconds,\s+[\d,]+\s+transitions\s+a\s+CPU\s+second"
"""The time taken, with the spaces that break the line before or within it."""


def made() -> dict[Path, str]:
    """Return the page with the output of its commands; an example of which only the time differs stays."""
    return {
        PAGE: SHOWN.sub(
            lambda found: newest(found[0], f"```text\n$ {found[1]}\n{shell(found[1])}```\n", VARIES), read(PAGE)
        )
    }
