"""docs/mutants.md lists the known bugs: the catalogue, and the length of the shortest recorded schedule of each."""

from pathlib import Path

from docs.generators.output import DOCS
from docs.generators.recorded import recorded
from zabcheck.mutants.catalogue import CATALOGUE
from zabcheck.mutants.mutant import Mutant
from zabcheck.search.run import replay
from zabcheck.text.words import counted

PAGE = DOCS / "mutants.md"
HEAD = """# The known bugs

Each known bug is one step of Zab done wrong, and `zabcheck run --mutant NAME` plants it. Some are bugs of Zab as LADIS
2008 describes it (`--protocol ladis`), and others are bugs of Zab with
[configurations that change](reconfiguration.md#known-bugs) (`--protocol zab-reconfiguration`). The last ones are
of a causal broadcast (`--protocol causal`) and of [channels over lossy links](channel.md) (`--protocol channel`).

Each name links to a page on which you can step through the shortest run. `tests/schedules` has a schedule for every
property that a bug breaks. [How soon a search finds each bug](notes/detection.md) is measured in a note. `make docs`
makes this page.
"""


def made() -> dict[Path, str]:
    """Return the page."""
    return {PAGE: "\n".join([HEAD, *map(entry, CATALOGUE.values())])}


def entry(mutant: Mutant) -> str:
    """Return the section about one bug."""
    first, *others = mutant.breaks
    also = f", and {counted(len(others), 'more property', 'more properties')}" if others else ""
    size = "" if mutant.processes == 3 else f" A search needs {mutant.processes} processes to find it soon."
    return f"""## [{mutant.name}](../reports/gallery/{mutant.name}.html)

{sentence(mutant.wrong)} Source: {mutant.source}. Least faults: {mutant.faults}.{size}

Breaks *{first}* after {counted(steps(mutant.name, first), "step", "steps")}{also}.
"""


def sentence(text: str) -> str:
    """Return a phrase as a sentence."""
    return f"{text[0].upper()}{text[1:]}."


def steps(mutant: str, property_: str) -> int:
    """Return the steps of the schedule with which the bug breaks the property."""
    return replay(recorded(mutant, property_), [property_]).steps
