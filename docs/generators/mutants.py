"""docs/mutants.md lists the known bugs: the catalogue, and how long the schedules are that were recorded."""

from pathlib import Path

from docs.generators.output import DOCS
from docs.generators.recorded import recorded
from zabcheck.mutants.catalogue import CATALOGUE
from zabcheck.mutants.mutant import Mutant
from zabcheck.search.run import replay

PAGE = DOCS / "mutants.md"
HEAD = """# The known bugs

Each known bug is one step of Zab done wrong; `zabcheck run --mutant NAME` plants it. The last ones are bugs of Zab as
LADIS 2008 describes it (`--protocol ladis`).

For every property that a bug is said to break, there is a schedule in `tests/schedules` that breaks it. Each schedule
is judged by that property alone, and the protocol without the bug survives it. Any two bugs are told apart by at least
one schedule. "First" is the property that breaks first in the shortest run; the numbers are the steps of the schedules.
[How soon a search finds the bugs](notes/detection.md) is measured on a page of its own, and the
[gallery](../reports/gallery/index.html) has a page to step through for each bug.

`make docs` makes this page.
"""


def made() -> dict[Path, str]:
    """Return the page."""
    return {PAGE: "\n".join([HEAD, *map(entry, CATALOGUE.values())])}


def entry(mutant: Mutant) -> str:
    """Return the section about one bug."""
    first, *others = mutant.breaks
    also = ", ".join(f"{name} ({steps(mutant.name, name)})" for name in others)
    found = f"First {first} ({steps(mutant.name, first)})" + (f"; also {also}." if also else ".")
    size = "" if mutant.processes == 3 else f" A search needs {mutant.processes} processes to find it soon."
    return f"""## {mutant.name}

{sentence(mutant.wrong)} Source: {mutant.source}. Least faults: {mutant.faults}.{size}

{found}
"""


def sentence(text: str) -> str:
    """Return a phrase as a sentence."""
    return f"{text[0].upper()}{text[1:]}."


def steps(mutant: str, property_: str) -> int:
    """Return the steps of the schedule with which the bug breaks the property."""
    return replay(recorded(mutant, property_), [property_]).steps
