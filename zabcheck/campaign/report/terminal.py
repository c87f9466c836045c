"""A campaign in the terminal: in short when it ends, in full for `zabcheck campaign report`.

Colour alone carries no information, and every text goes through `Pen.write`, which cleans it.
"""

from collections.abc import Iterable, Iterator, Mapping

from rich.console import RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from zabcheck.campaign.report import sheets
from zabcheck.campaign.report.sheets import Sheet, Tone
from zabcheck.campaign.report.wording import named
from zabcheck.campaign.results import CampaignReport
from zabcheck.text.pen import BOLD, DIM, RED, Drawing, Pen
from zabcheck.text.words import counted

STYLES: Mapping[Tone, str] = {"": "", "good": "green", "warning": "yellow", "bad": RED}

MOST_FINDINGS = 6
"""The number of findings in the short form."""
LONGEST_NAME = 30
"""The longest name that is never broken into lines, in characters."""
POINTS = 10
"""The approximate number of points of the growth in the full form."""


def render_short(report: CampaignReport) -> RenderableType:
    """Render the output of `zabcheck campaign` at its end: fewer than 40 lines of 100 characters, with few findings."""
    return Drawing(lambda pen: _short(pen, report))


def render(report: CampaignReport) -> RenderableType:
    """Render everything, as `zabcheck campaign report` prints it."""
    return Drawing(lambda pen: _full(pen, report))


def _short(pen: Pen, report: CampaignReport) -> Iterator[RenderableType]:
    yield from _headlines(pen, report)
    yield from _findings(pen, report, in_short=True)


def _findings(pen: Pen, report: CampaignReport, in_short: bool = False) -> Iterator[RenderableType]:
    """Draw two lines for each finding in short, and a third in full; nothing if the campaign has written none."""
    found = report.findings
    if found is None:
        return
    yield Text()
    most = report.plan.get("minimise")
    of_which = "" if most is None else f", of the first {most:,} violating runs of each bug and property"
    yield pen.write(f"Findings{of_which}" if found else "Findings: none", BOLD)
    for each in found[: MOST_FINDINGS if in_short else None]:
        runs, steps = counted(each["runs"], "run", "runs"), counted(each["steps"], "step", "steps")
        name = f"{named(each['mutant'])}: {each['property']}"
        yield pen.write(f"{name}, {steps}; {runs} came down to it, first run {each['run']:,}")
        if not in_short:
            yield Padding(pen.write(f"{each['summary']}; seed {each['seed']}"), (0, 0, 0, 2))
        yield Padding(pen.write(f"findings/{each['schedule']}"), (0, 0, 0, 2))
    if in_short and len(found) > MOST_FINDINGS:
        yield pen.write(f"and {len(found) - MOST_FINDINGS:,} more")


def _full(pen: Pen, report: CampaignReport) -> Iterator[RenderableType]:
    yield from _headlines(pen, report)
    yield from _findings(pen, report)
    shown = [
        sheets.mutants(report, in_short=True),
        sheets.properties(report),
        sheets.goals(report),
        sheets.growth(report, POINTS),
        sheets.raised(report),
        *(sheets.settings(name, rows, all_of_them=False) for name, rows in sheets.groups(report)),
        sheets.distributions(report),
    ]
    yield from draw_sheets(pen, [sheet for sheet in shown if sheet is not None])


def draw_sheets(pen: Pen, shown: Iterable[Sheet]) -> Iterator[RenderableType]:
    """Draw sheets, each with its title and note."""
    for sheet in shown:
        yield Text()
        yield pen.write(sheet.title, BOLD)
        if sheet.note:
            yield pen.write(sheet.note, DIM)
        if sheet.rows:
            yield _table(pen, sheet)


def _headlines(pen: Pen, report: CampaignReport) -> Iterator[RenderableType]:
    yield pen.write(f"{report.name}: {sheets.title(report)}", BOLD)
    for phrase in sheets.headlines(report):
        yield pen.write(phrase.text, STYLES[phrase.tone])


def _table(pen: Pen, sheet: Sheet) -> Table:
    """Draw a sheet. Figures are never broken into lines, nor are names unless they are long."""
    table = Table(box=None, pad_edge=False)
    names = max(len(row[0].text) for row in sheet.rows)
    for place, column in enumerate(sheet.columns):
        figure = place >= sheet.words
        whole = figure or (place == 0 and names <= LONGEST_NAME)
        table.add_column(pen.write(column), justify="right" if figure else "left", overflow="fold", no_wrap=whole)
    for row in sheet.rows:
        table.add_row(*(pen.write(cell.text, STYLES[cell.tone]) for cell in row))
    return table
