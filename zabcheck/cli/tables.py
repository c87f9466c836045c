"""The tables that commands print: verdicts, counts, violated runs, and the names that there are to choose from."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from zabcheck.invariants import Verdict, Violation
from zabcheck.text.pen import BOLD, DIM, RED, Drawing, Pen

if TYPE_CHECKING:
    from zabcheck.zookeeper.clients.judge import Judgement

STATUS_STYLES = {"holds": "green", "violated": RED, "not exercised": "yellow", "inconclusive": "yellow"}
MOST_UNEXERCISED = 3
"""The most properties that nothing exercised with a line for each; more of them share one."""
LEAST_ROOM = 24
"""The least width in which a sentence is set beside other columns."""


def render_verdicts(verdicts: Sequence[Verdict]) -> RenderableType:
    """Render a line for each property: the verdict, how often its condition was met, and what broke it.

    If nothing exercised many of them, these share the last line.
    """
    return Drawing(lambda pen: [_verdicts(pen, verdicts)])


def render_promises(judgements: Sequence["Judgement"]) -> RenderableType:
    """Render a line for each promise to clients: the verdict, how often it could have been broken, and its source."""
    return Drawing(lambda pen: [_promises(pen, judgements)])


def render_counts(titles: Sequence[str], rows: Mapping[str, Sequence[int]]) -> RenderableType:
    """Render a line for each row: its name, then its numbers."""
    return Drawing(lambda pen: [_counts(pen, titles, rows)])


def render_rows(titles: Sequence[str], rows: Iterable[Sequence[str]]) -> RenderableType:
    """Render a line for each row of texts; all columns but the first and the last are numbers."""
    return Drawing(lambda pen: [_rows(pen, titles, rows)])


def render_runs(violations: Sequence[tuple[int, Violation]]) -> RenderableType:
    """Render a line for each violation, with the number of its run."""
    return Drawing(lambda pen: [_runs(pen, violations)])


def render_catalogue(groups: Mapping[str, Mapping[str, tuple[str, str]]]) -> RenderableType:
    """Render a table for each group of names, each name with its meaning and its source."""
    return Drawing(lambda pen: _catalogue(pen, groups))


def _verdicts(pen: Pen, verdicts: Iterable[Verdict]) -> RenderableType:
    told = [
        (each.property, each.status, each.judged, "" if each.violation is None else each.violation.summary)
        for each in verdicts
    ]
    unexercised = [each for each in told if each[1] == "not exercised"]
    if len(unexercised) > MOST_UNEXERCISED:
        names = ", ".join(name for name, *_ in unexercised)
        told = [each for each in told if each not in unexercised]
        told.append((f"{len(unexercised)} properties", "not exercised", 0, names))
    rows = [
        (pen.write(name), pen.write(status, STATUS_STYLES[status]), pen.write(f"{judged:,}"), pen.write(what))
        for name, status, judged, what in told
    ]
    return _told(pen, ("property", "verdict", "judged", "what broke it"), rows, numbers=[2])


def _promises(pen: Pen, judgements: Iterable["Judgement"]) -> RenderableType:
    rows = [
        (
            pen.write(each.promise.name),
            pen.write(each.status, STATUS_STYLES[each.status]),
            pen.write(f"{each.judged:,}"),
            pen.write(each.promise.kind if each.breach is None else each.breach.kind),
        )
        for each in judgements
    ]
    return _told(pen, ("promise", "verdict", "judged", "promised"), rows, numbers=[2])


def _counts(pen: Pen, titles: Sequence[str], rows: Mapping[str, Sequence[int]]) -> Table:
    numbers = range(1, len(titles))
    lines = [(pen.write(row), *(pen.write(f"{number:,}") for number in counts)) for row, counts in rows.items()]
    return _table(pen, titles, lines, numbers)


def _rows(pen: Pen, titles: Sequence[str], rows: Iterable[Sequence[str]]) -> RenderableType:
    lines = [[pen.write(text) for text in row] for row in rows]
    return _told(pen, titles, lines, numbers=range(1, len(titles) - 1))


def _runs(pen: Pen, violations: Sequence[tuple[int, Violation]]) -> RenderableType:
    rows = [(pen.write(f"{run}"), pen.write(each.property, RED), pen.write(each.summary)) for run, each in violations]
    return _told(pen, ("run", "property", "what broke it"), rows)


def _catalogue(pen: Pen, groups: Mapping[str, Mapping[str, tuple[str, str]]]) -> Iterator[RenderableType]:
    for number, (group, entries) in enumerate(groups.items()):
        if number:
            yield Text()
        rows = [
            (pen.write(entry, BOLD), pen.write(meaning), pen.write(source, DIM))
            for entry, (meaning, source) in entries.items()
        ]
        yield _told(pen, (group, "what it is", "source"), rows, sentences=2)


def _told(
    pen: Pen, titles: Sequence[str], rows: Sequence[Sequence[Text]], numbers: Collection[int] = (), sentences: int = 1
) -> RenderableType:
    """Make a table whose last columns are sentences; where these have too little room, they follow below their row."""
    short = len(titles) - sentences
    widths = [max(len(titles[i]), *(row[i].cell_len for row in rows), 0) for i in range(short)]
    room = (pen.width - sum(width + 2 for width in widths)) // sentences
    if room >= min(LEAST_ROOM, max((cell.cell_len for row in rows for cell in row[short:]), default=0)):
        return _table(pen, titles, rows, numbers)
    lines = [_line([pen.write(title, BOLD) for title in titles[:short]], widths, numbers)]
    for row in rows:
        lines.append(_line(row[:short], widths, numbers))
        for sentence in row[short:]:
            lines += [Text("  ") + line for line in pen.fold(sentence, pen.width - 2) if line]
    return Group(*lines)


def _line(cells: Sequence[Text], widths: Sequence[int], numbers: Collection[int]) -> Text:
    """Put cells side by side."""
    for number, (cell, width) in enumerate(zip(cells, widths, strict=True)):
        missing = max(0, width - cell.cell_len)
        (cell.pad_left if number in numbers else cell.pad_right)(missing)
    return Text("  ").join(cells)


def _table(pen: Pen, titles: Sequence[str], rows: Iterable[Sequence[Text]], numbers: Collection[int]) -> Table:
    """Make a table whose first column is never broken into lines."""
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for number, title in enumerate(titles):
        table.add_column(pen.write(title), overflow="fold", justify="right" if number in numbers else "left")
    table.columns[0].no_wrap = True
    for row in rows:
        table.add_row(*row)
    return table
