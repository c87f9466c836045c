"""The tables that commands print: verdicts, counts, violated runs, and the names that there are to choose from."""

from collections.abc import Iterable, Iterator, Mapping, Sequence

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from zabcheck.invariants import Verdict, Violation
from zabcheck.text.pen import BOLD, DIM, RED, Drawing, Pen

STATUS_STYLES = {"holds": "green", "violated": RED, "not exercised": "yellow", "inconclusive": "yellow"}


def render_verdicts(verdicts: Sequence[Verdict], ascii_only: bool | None = None) -> RenderableType:
    """Render a line for each property: the verdict, how often its condition was met, and what broke it."""
    return Drawing(lambda pen: [_verdicts(pen, verdicts)], ascii_only)


def render_counts(
    titles: Sequence[str], rows: Mapping[str, Sequence[int]], ascii_only: bool | None = None
) -> RenderableType:
    """Render a line for each row: its name, then its numbers."""
    return Drawing(lambda pen: [_counts(pen, titles, rows)], ascii_only)


def render_rows(titles: Sequence[str], rows: Iterable[Sequence[str]], ascii_only: bool | None = None) -> RenderableType:
    """Render a line for each row of texts; all columns but the first and the last are numbers."""
    return Drawing(lambda pen: [_rows(pen, titles, rows)], ascii_only)


def render_runs(violations: Sequence[tuple[int, Violation]], ascii_only: bool | None = None) -> RenderableType:
    """Render a line for each violation, with the number of its run."""
    return Drawing(lambda pen: [_runs(pen, violations)], ascii_only)


def render_catalogue(
    groups: Mapping[str, Mapping[str, tuple[str, str]]], ascii_only: bool | None = None
) -> RenderableType:
    """Render a table for each group of names, each name with its meaning and its source."""
    return Drawing(lambda pen: _catalogue(pen, groups), ascii_only)


def _verdicts(pen: Pen, verdicts: Iterable[Verdict]) -> Table:
    table = _table(pen, "property", "verdict", "judged", "what broke it")
    table.columns[2].justify = "right"
    for verdict in verdicts:
        summary = verdict.violation.summary if verdict.violation is not None else ""
        table.add_row(
            pen.write(verdict.property),
            pen.write(verdict.status, STATUS_STYLES[verdict.status]),
            pen.write(f"{verdict.judged:,}"),
            pen.write(summary),
        )
    return table


def _counts(pen: Pen, titles: Sequence[str], rows: Mapping[str, Sequence[int]]) -> Table:
    table = _table(pen, *titles)
    for column in table.columns[1:]:
        column.justify = "right"
    for row, numbers in rows.items():
        table.add_row(pen.write(row), *[pen.write(f"{number:,}") for number in numbers])
    return table


def _rows(pen: Pen, titles: Sequence[str], rows: Iterable[Sequence[str]]) -> Table:
    table = _table(pen, *titles)
    for column in table.columns[1:-1]:
        column.justify = "right"
    for row in rows:
        table.add_row(*[pen.write(text) for text in row])
    return table


def _runs(pen: Pen, violations: Sequence[tuple[int, Violation]]) -> Table:
    table = _table(pen, "run", "property", "what broke it")
    for run, violation in violations:
        table.add_row(pen.write(f"{run}"), pen.write(violation.property, RED), pen.write(violation.summary))
    return table


def _catalogue(pen: Pen, groups: Mapping[str, Mapping[str, tuple[str, str]]]) -> Iterator[RenderableType]:
    for number, (group, entries) in enumerate(groups.items()):
        if number:
            yield Text()
        table = _table(pen, group, "what it is", "source")
        for entry, (meaning, source) in entries.items():
            table.add_row(pen.write(entry, BOLD), pen.write(meaning), pen.write(source, DIM))
        yield table


def _table(pen: Pen, *titles: str) -> Table:
    """Make an empty table whose first column is never broken into lines."""
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for title in titles:
        table.add_column(pen.write(title), overflow="fold")
    table.columns[0].no_wrap = True
    return table
