"""The matrix of properties and known bugs: which caught which, how soon, and how short the run is."""

from collections.abc import Iterable, Sequence

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from zabcheck.search.hunt import MutantSummary, Spread


def code(property_: str) -> str:
    """Abbreviate a property for the head of a column: to initials, or to the first letters of a single word."""
    words = property_.split()
    if len(words) == 1:
        return property_[:3]
    return "".join(word if word.isdigit() else word[0].upper() for word in words)


def caught(rows: Iterable[MutantSummary], properties: Iterable[str]) -> list[str]:
    """Return those of `properties` that were the first to break in some hunt."""
    seen = {name for row in rows for name in row.first}
    return [name for name in properties if name in seen]


def render(rows: Sequence[MutantSummary], properties: Iterable[str], width: int) -> RenderableType:
    """Draw the matrix and the figures; each property that caught something has a column, if `width` is enough."""
    columns = caught(rows, properties)
    codes = [code(name) for name in columns]
    names = max((len(row.mutant) for row in rows), default=0)
    if names + len("  99 of 99") + sum(len(each) + 2 for each in codes) <= width:
        matrix = _table(["mutant", "found", *codes])
    else:
        matrix = _table(["mutant", "found"])
        matrix.add_column("by")
        codes = []
    for row in rows:
        found = Text(f"{row.found} of {row.hunts}", "" if row.found == row.hunts else "bold red")
        counts = [str(row.first.get(name, "")) for name in columns]
        if not codes:
            counts = [", ".join(f"{code(name)} {row.first[name]}" for name in columns if name in row.first)]
        matrix.add_row(row.mutant, found, *counts)
    legend = [Text(", ".join(f"{code(name)} {name}" for name in columns), "dim")] if columns else []
    figures = _table(["mutant", "runs", "steps", "CPU s", "minimised", "CPU s to minimise"])
    for row in rows:
        figures.add_row(row.mutant, *_figures(row))
    who, how = "who caught it first, and how often", "how soon, median (worst), and how short"
    return Group(Text(who, "italic"), matrix, *legend, "", Text(how, "italic"), figures)


def markdown(rows: Sequence[MutantSummary], properties: Iterable[str]) -> str:
    """Write the matrix and the figures as one table in GitHub's Markdown."""
    columns = caught(rows, properties)
    head = ["mutant", "found", *columns, "runs", "steps", "CPU s", "minimised", "CPU s to minimise"]
    lines = [_line(head), _line(["---", *["---:"] * (len(head) - 1)])]
    for row in rows:
        first = [str(row.first.get(name, "")) for name in columns]
        lines.append(_line([row.mutant, f"{row.found} of {row.hunts}", *first, *_figures(row)]))
    return "\n".join(lines) + "\n"


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _figures(row: MutantSummary) -> list[str]:
    """Format the median and the worst of each figure; of the length also the least."""
    if row.runs is None or row.steps is None or row.seconds is None:
        return ["", "", "", "", ""]
    assert row.minimised is not None
    assert row.minimising is not None
    return [
        _figure(row.runs, ",.0f"),
        _figure(row.steps, ",.0f"),
        _figure(row.seconds, ".2f"),
        _figure(row.minimised, ".0f", least=True),
        _figure(row.minimising, ".2f"),
    ]


def _figure(spread: Spread, form: str, least: bool = False) -> str:
    """Format median and worst, as in "7 (12)"; with `least`, as in "7 (5 to 12)"; one number if all look the same."""
    middle, low, high = (f"{figure:{form}}" for figure in (spread.median, spread.least, spread.most))
    if low == high:
        return middle
    return f"{middle} ({f'{low} to ' if least else ''}{high})"


def _table(columns: Sequence[str]) -> Table:
    table = Table(box=None, pad_edge=False)
    for column in columns:
        name = column == "mutant"
        table.add_column(column, justify="left" if name else "right", no_wrap=name, overflow="fold")
    return table
