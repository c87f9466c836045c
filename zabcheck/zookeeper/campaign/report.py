"""The report on a campaign on simulated servers: in the terminal, and as a page."""

from collections.abc import Iterator

from rich.console import RenderableType

from zabcheck.campaign.report.terminal import STYLES, draw_sheets
from zabcheck.text.pen import BOLD, Drawing, Pen
from zabcheck.zookeeper.campaign import sheets
from zabcheck.zookeeper.campaign.results import EnsembleReport


def render(report: EnsembleReport, in_short: bool) -> RenderableType:
    """Render the report: in short what is wrong where, else with the faults and findings."""
    return Drawing(lambda pen: _drawn(pen, report, in_short))


def _drawn(pen: Pen, report: EnsembleReport, in_short: bool) -> Iterator[RenderableType]:
    yield pen.write(f"{report.name}: {sheets.title(report)}", BOLD)
    for phrase in sheets.headlines(report):
        yield pen.write(phrase.text, STYLES[phrase.tone])
    shown = [sheets.versions(report), sheets.reached(report), sheets.bugs(report)]
    shown += [] if in_short else [sheets.faults(report, sheets.MOST_FAULTS), sheets.findings(report)]
    yield from draw_sheets(pen, [each for each in shown if each.rows])


def page(report: EnsembleReport) -> str:
    """Return a page that stands alone, with all tables that have a row."""
    from zabcheck.campaign.report.page import draw_list, draw_table, page_of

    first = (sheets.versions(report), sheets.reached(report), sheets.bugs(report))
    shown = (*first, sheets.faults(report), sheets.findings(report))
    sections = [(each.name, each.title, draw_table(each)) for each in shown if each.rows]
    return page_of(
        report.name, sheets.title(report), [("short", "In short", draw_list(sheets.headlines(report))), *sections]
    )
