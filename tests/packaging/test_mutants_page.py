"""docs/mutants.md is the catalogue, and the schedules that were recorded."""

from pathlib import Path

from tests.search.builders import RECORDED
from zabcheck.mutants.catalogue import CATALOGUE, Mutant
from zabcheck.search.run import replay

PAGE = Path(__file__).parents[2] / "docs/mutants.md"
HEAD = """# The known bugs

Each is one step of Zab done wrong (`zabcheck run --mutant NAME` plants it); the last ones are of Zab as LADIS 2008 has
it (`--protocol ladis`). What is said to break was seen to: for each
property there is a schedule in `tests/schedules`, judged by that property alone, which the protocol without the bug
survives; and any two bugs are told apart by one of them. "First" is what breaks first in the shortest run; the numbers
are the steps that the schedules take. [detection.md](detection.md) says how soon a search finds the bugs.

This page is made by `python -m tests.packaging.test_mutants_page`.
"""


def page() -> str:
    return "\n".join([HEAD, *map(entry, CATALOGUE.values())])


def entry(mutant: Mutant) -> str:
    first, *others = mutant.breaks
    also = ", ".join(f"{name} ({steps(mutant.name, name)})" for name in others)
    size = "" if mutant.processes == 3 else f" A search needs {mutant.processes} processes to find it soon."
    return f"""## {mutant.name}

{sentence(mutant.wrong)} Source: {mutant.source}. Least faults: {mutant.faults}.{size}

First {first} ({steps(mutant.name, first)}); also {also}.
"""


def sentence(text: str) -> str:
    return f"{text[0].upper()}{text[1:]}."


def steps(mutant: str, property_: str) -> int:
    schedule = RECORDED[f"{mutant}.{property_.replace(' ', '-')}"]
    return replay(schedule, [property_]).steps


def test_the_page_is_up_to_date() -> None:
    assert PAGE.read_text(encoding="utf-8") == page()


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
