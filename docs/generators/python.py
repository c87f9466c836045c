"""docs/python.md shows what its examples print."""

from pathlib import Path

from docs.generators.counterexamples import PYTHON, with_printed
from docs.generators.output import DOCS, read

PAGE = DOCS / "python.md"


def made() -> dict[Path, str]:
    """Return the page with what each example prints now."""
    return {PAGE: PYTHON.sub(lambda each: with_printed(each[1]), read(PAGE))}
