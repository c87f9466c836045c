"""The matrix of mutants and properties, at any width."""

from io import StringIO

import pytest
from rich.console import Console

from invariants import PROPERTIES
from zabcheck.mutants.catalogue import CATALOGUE
from zabcheck.search.hunt import MutantSummary, Spread, spread
from zabcheck.search.report.matrix import caught, code, markdown, render

WIDE, NARROW = 160, 80
MANY, CPU, STEPS = Spread(12_345, 7, 99_999), Spread(2.5, 0.1, 59.99), Spread(31, 9, 120)


def row(mutant: str, **first: int) -> MutantSummary:
    """A mutant that was found in 20 hunts, by properties whose names have `_` for a space here."""
    counts = {name.replace("_", " "): count for name, count in first.items()}
    return MutantSummary(mutant, 20, sum(counts.values()), counts, MANY, MANY, CPU, STEPS, CPU)


EVERYTHING = [
    row(mutant, **{name.replace(" ", "_"): 20}) for mutant, name in zip(CATALOGUE, [*PROPERTIES] * 3, strict=False)
]
SURVIVED = MutantSummary("counter-wraps", 3, 0, {}, None, None, None, None, None)


def text(rows: list[MutantSummary], width: int = WIDE) -> str:
    console = Console(file=StringIO(), width=width)
    console.print(render(rows, PROPERTIES, width), crop=False)
    assert isinstance(console.file, StringIO)
    return console.file.getvalue()


def cells(out: str, mutant: str) -> list[str]:
    """Return the cells beside a mutant in the first of the tables that has it."""
    return next(line for line in out.splitlines() if line.startswith(mutant)).split()[1:]


def test_no_two_properties_have_the_same_code() -> None:
    assert len({code(name) for name in PROPERTIES}) == len(PROPERTIES)
    assert [code(name) for name in ("po causal order", "invariant 4", "chosen")] == ["PCO", "I4", "cho"]


def test_each_property_that_caught_something_has_a_column() -> None:
    rows = [row("no-truncation", total_order=15, invariant_4=5), SURVIVED]
    assert caught(rows, PROPERTIES) == ["total order", "invariant 4"]
    out = text(rows)
    assert cells(out, "mutant") == ["found", "TO", "I4"]
    assert cells(out, "no-truncation") == ["20", "of", "20", "15", "5"]
    assert cells(out, "counter-wraps") == ["0", "of", "3"]
    assert "TO total order, I4 invariant 4" in out


def test_where_the_columns_do_not_fit_each_mutant_names_its_properties() -> None:
    out = text([*EVERYTHING, row("no-truncation", total_order=15, invariant_4=5)], NARROW)
    assert cells(out, "mutant") == ["found", "by"]
    assert "\nno-truncation                 20 of 20  TO 15, I4 5" in out
    assert cells(text(EVERYTHING, 200), "mutant") == ["found", *(code(name) for name in caught(EVERYTHING, PROPERTIES))]


@pytest.mark.slow
@pytest.mark.parametrize("width", [NARROW, 100, 120, WIDE])
def test_nothing_is_cut_off(width: int) -> None:
    out = text(EVERYTHING, width)
    assert "…" not in out
    assert max(map(len, out.splitlines())) <= width
    assert out.count("(99,999)") == 2 * len(EVERYTHING)
    for mutant in CATALOGUE:
        assert out.count(f"\n{mutant} ") == 2


def test_an_empty_matrix_says_so_by_its_heads_only() -> None:
    assert [line.rstrip() for line in text([]).splitlines()] == [
        "who caught it first, and how often",
        "mutant  found",
        "",
        "how soon, median (worst), and how short",
        "mutant  runs  steps  CPU s  minimised  CPU s to minimise",
    ]


def test_markdown_has_the_names_in_full_and_as_many_cells_in_each_line() -> None:
    lines = markdown([row("no-truncation", total_order=15, invariant_4=5), SURVIVED], PROPERTIES).splitlines()
    assert lines[0].startswith("| mutant | found | total order | invariant 4 | runs |")
    assert lines[2].startswith("| no-truncation | 20 of 20 | 15 | 5 | 12,345 (99,999) |")
    assert lines[3].startswith("| counter-wraps | 0 of 3 |  |  |  |")
    assert {line.count("|") for line in lines} == {10}


def test_figures_that_look_the_same_are_shown_once() -> None:
    same = Spread(0.0012, 0.001, 0.0014)
    out = text([MutantSummary("no-truncation", 2, 2, {}, MANY, MANY, same, STEPS, CPU)])
    assert " 0.00 " in out
    assert "0.00 (0.00)" not in out


def test_a_spread_is_median_least_and_most() -> None:
    assert spread([4, 1, 9]) == Spread(4, 1, 9)
    assert spread([]) is None
