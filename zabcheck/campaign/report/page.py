"""A campaign as one HTML page that stands alone: no network, no script, no other file.

The page is well-formed XML, too, follows the reader's choice of light or dark, and fits a phone: it never scrolls
sideways, but a wide table scrolls within its box. Every text is cleaned and escaped. The same report gives the same
bytes.
"""

from collections.abc import Iterator, Sequence
from urllib.parse import quote

from zabcheck.campaign.report import plots, sheets
from zabcheck.campaign.report.sheets import Phrase, Sheet
from zabcheck.campaign.results import CampaignReport, HistogramRow, SettingRow
from zabcheck.text.html import document, text
from zabcheck.text.words import clean

_STYLE = """
body { max-width: 110rem; }
h1 { font-size: 1.5rem; margin: 0.5rem 0 0; } h2 { font-size: 1.2rem; margin: 2.5rem 0 0.5rem; }
header p { margin: 0; color: var(--soft); }
nav ul { display: flex; flex-wrap: wrap; gap: 0.25rem 1rem; list-style: none; margin: 1rem 0; padding: 0; }
.good { color: var(--good); } .warning { color: var(--warning); } .bad { color: var(--bad); font-weight: 600; }
td.good { font-weight: 600; }
.scroll { overflow-x: auto; margin: 0.75rem 0; max-width: 100%; }
table { border-collapse: collapse; font-size: 0.875rem; font-variant-numeric: tabular-nums; }
caption { text-align: left; color: var(--soft); padding-bottom: 0.4rem; max-width: min(40rem, 92vw); }
th, td { padding: 0.2rem 0.8rem 0.2rem 0; text-align: left; vertical-align: top; overflow-wrap: normal; }
th.figure, td.figure { text-align: right; white-space: nowrap; }
thead th { border-bottom: 1px solid var(--faint); vertical-align: bottom; }
tbody tr + tr > * { border-top: 1px solid var(--line); }
tbody th { font-weight: 400; min-width: 8rem; } td.words { min-width: 10rem; }
.plots { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 22rem), 1fr)); gap: 1rem; }
figure { margin: 0; padding: 0.75rem; background: var(--tint); border-radius: 0.4rem; max-width: 30rem; }
figcaption { font-size: 0.875rem; font-weight: 600; padding-bottom: 0.4rem; }
figure svg { display: block; width: 100%; height: auto; }
@media (min-width: 75rem) {
  section:has(> .plots > figure:only-child) { display: grid; grid-template-columns: 30rem minmax(0, 1fr); gap: 0 2rem; }
  section:has(> .plots > figure:only-child) > h2 { grid-column: 1 / -1; }
}
details { margin: 0.75rem 0; } summary { cursor: pointer; }
"""


def page(report: CampaignReport) -> str:
    """Return the whole page. With many mutants matplotlib takes some seconds."""
    return page_of(report.name, sheets.title(report), list(_sections(report)))


def page_of(name: str, title: str, sections: Sequence[tuple[str, str, str]]) -> str:
    """Return a page with these sections: the name, the heading and the content of each."""
    links = "".join(f'<li><a href="#{each}">{text(heading)}</a></li>' for each, heading, _ in sections)
    body = "\n".join(
        f'<section aria-labelledby="{each}">\n<h2 id="{each}">{text(heading)}</h2>\n{content}</section>'
        for each, heading, content in sections
    )
    return document(
        f"{name}: {title}",
        _STYLE,
        f"""<header>
<h1>{text(name)}</h1>
<p>{text(title)}</p>
</header>
<nav aria-label="Contents"><ul>{links}</ul></nav>
<main>
{body}
</main>
""",
    )


def _sections(report: CampaignReport) -> Iterator[tuple[str, str, str]]:
    """Yield the name, the heading and the content of each section."""
    tables = report.tables
    runs = tables.overview[0].runs
    yield "short", "In short", draw_list(sheets.headlines(report))
    found = sheets.findings(report)
    if found is not None:
        yield "findings", "Findings", draw_table(found)
    with_rates = [row for row in tables.mutants if row.mutant is not None]
    plot = _plots(plots.mutants(with_rates)) if with_rates else ""
    yield "mutants", "Mutants", plot + draw_table(sheets.mutants(report))
    yield "properties", "Properties", draw_table(sheets.properties(report))
    yield "goals", "Goals", _plots(plots.goals(tables.goals, runs)) + draw_table(sheets.goals(report))
    drawn = _plots(plots.growth(tables.growth), plots.rarity(tables.growth))
    points = _folded("All points", draw_table(sheets.growth(report)))
    yield "growth", "Growth", drawn + draw_table(sheets.saturation(report)) + points
    groups = sheets.groups(report)
    if groups:
        yield "settings", "What matters", "".join(_groups(groups))
    raised = sheets.raised(report)
    if raised is not None:
        yield "raised", "Exceptions", draw_table(raised)
    by_figure: dict[str, list[HistogramRow]] = {}
    for row in tables.histograms:
        by_figure.setdefault(row.figure, []).append(row)
    drawn = _plots(*(plots.histogram(figure, rows) for figure, rows in by_figure.items()))
    yield "distributions", "Distributions", draw_table(sheets.distributions(report)) + drawn
    yield "overview", "Overview", draw_table(sheets.overview(report))


def _groups(groups: list[tuple[str, list[SettingRow]]]) -> Iterator[str]:
    """Draw the groups of runs, the first one open, the others folded."""
    for number, (name, rows) in enumerate(groups):
        drawn = _plots(plots.ratios(f"ratios-{number}", name, rows))
        table = draw_table(sheets.settings(name, rows), f"settings-{number}")
        yield drawn + _folded("All figures", table) if number == 0 else _folded(name, drawn + table)


# Pieces.


def draw_list(items: Iterator[Phrase]) -> str:
    """Draw phrases as a list."""
    lines = "".join(f"<li{_tone(phrase)}>{text(phrase.text)}</li>\n" for phrase in items)
    return f"<ul>\n{lines}</ul>\n"


def _folded(summary: str, content: str) -> str:
    return f"<details>\n<summary>{text(summary)}</summary>\n{content}</details>\n"


def _plots(*drawn: str) -> str:
    return f'<div class="plots">\n{"".join(drawn)}</div>\n'


def draw_table(sheet: Sheet, name: str = "") -> str:
    """Draw a sheet in a box that scrolls, also by keyboard."""
    name = f"{name or sheet.name}-table"
    head = "".join(
        f'<th scope="col"{_figure(sheet, place)}>{text(column)}</th>' for place, column in enumerate(sheet.columns)
    )
    rows = "".join(
        f"<tr>{''.join(_cell(sheet, place, phrase) for place, phrase in enumerate(row))}</tr>\n" for row in sheet.rows
    )
    note = f": {text(sheet.note[:1].lower() + sheet.note[1:])}" if sheet.note else ""
    return (
        f'<div class="scroll" role="group" tabindex="0" aria-labelledby="{name}"><table>\n'
        f'<caption id="{name}">{text(sheet.title)}{note}</caption>\n'
        f"<thead><tr>{head}</tr></thead>\n<tbody>\n{rows}</tbody>\n</table></div>\n"
    )


def _cell(sheet: Sheet, place: int, phrase: Phrase) -> str:
    if place == 0:
        return f'<th scope="row"{_figure(sheet, place)}>{text(phrase.text)}</th>'
    kind = "figure" if place >= sheet.words else "words"
    shown = text(phrase.text)
    if phrase.file:
        shown = f'<a href="{text(quote(clean(phrase.file)))}">{shown}</a>'
    return f'<td class="{f"{kind} {phrase.tone}".strip()}">{shown}</td>'


def _figure(sheet: Sheet, place: int) -> str:
    return ' class="figure"' if place >= sheet.words else ""


def _tone(phrase: Phrase) -> str:
    return f' class="{phrase.tone}"' if phrase.tone else ""
