"""The plots of a campaign's report, as SVG for an HTML page.

matplotlib draws them, and no other module of the report loads it. It is given marker colours, which are replaced by CSS
variables, so that a plot follows the page from light to dark. Text stays text. Every plot has a title and a
description, which a screen reader reads out. The same tables give the same bytes: no date, no random names.
"""

import re
from collections.abc import Iterable, Sequence
from html import escape
from io import StringIO
from math import floor, inf, log10
from typing import Any
from xml.etree import ElementTree

import matplotlib
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator, NullFormatter

from zabcheck.campaign.report.wording import by_influence, drawn, figures_name, named, stands_out
from zabcheck.campaign.results import GoalRow, GrowthRow, HistogramRow, MutantRow, SettingRow
from zabcheck.text.words import clean, counted

WIDTH = 4.6
"""The width of a plot in inches of 72 units: narrow enough for a phone, where a plot is as wide as the page."""
LINE = 0.22
"""The height of a line, in inches, in a plot that has a line for each of several names."""

INK, FAINT, ONE, TWO = "#010203", "#010204", "#010205", "#010206"
VARIABLES = {INK: "var(--ink)", FAINT: "var(--faint)", ONE: "var(--one)", TWO: "var(--two)"}
"""The CSS variable that replaces each marker colour."""

_SVG, _XLINK = "http://www.w3.org/2000/svg", "http://www.w3.org/1999/xlink"
_SETTINGS = {
    "svg.fonttype": "none",
    "svg.hashsalt": "zabcheck",
    "font.family": "sans-serif",
    "font.size": 10,
    "text.parse_math": False,
    "text.color": INK,
    "axes.labelcolor": INK,
    "axes.edgecolor": FAINT,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "xtick.color": FAINT,
    "ytick.color": FAINT,
    "xtick.labelcolor": INK,
    "ytick.labelcolor": INK,
    "patch.edgecolor": "none",
}
_LEAST, _MOST = 1 / 32, 32
"""The least and the greatest ratio that are drawn; an interval beyond them ends at the edge."""


def growth(rows: Sequence[GrowthRow]) -> str:
    """Plot states and goals over the number of runs."""
    with matplotlib.rc_context(_SETTINGS):
        figure = Figure((WIDTH, 3.0), layout="constrained")
        axes = figure.add_subplot()
        runs = [row.runs for row in rows]
        axes.plot([0, *runs], [0, *(row.states for row in rows)], color=ONE, marker=".")
        axes.set(xlabel="runs", ylabel="abstract states", xlim=(0, None), ylim=(0, None))
        _thousands(axes.xaxis, axes.yaxis)
        other = axes.twinx()
        other.step(runs, [row.goals for row in rows], color=TWO, where="post", linestyle="--")
        other.set(ylabel="goals (dashed)", ylim=(0, max(row.goals for row in rows) + 1))
        other.spines["right"].set_visible(True)
        last = rows[-1]
        reached = counted(last.states, "abstract state", "abstract states")
        goals = counted(last.goals, "goal", "goals")
        said = f"After {counted(last.runs, 'run', 'runs')} {reached} and {goals} were reached."
        return _svg(figure, "growth", "Abstract states and goals, over the number of runs", said)


def rarity(rows: Sequence[GrowthRow]) -> str:
    """Plot new states in 1,000 runs, over the number of runs."""
    with matplotlib.rc_context(_SETTINGS):
        figure = Figure((WIDTH, 3.0), layout="constrained")
        axes = figure.add_subplot()
        axes.plot([row.runs for row in rows], [row.per_1000 for row in rows], color=ONE, marker=".")
        axes.set(xlabel="runs", ylabel="new states in 1,000 runs", xlim=(0, None))
        if min(row.per_1000 for row in rows) * 10 < max(row.per_1000 for row in rows):
            axes.set_yscale("symlog", linthresh=1)
            axes.yaxis.set_minor_formatter(NullFormatter())
        axes.set_ylim(0, None)
        _thousands(axes.xaxis, axes.yaxis)
        first, last = rows[0], rows[-1]
        said = f"At first {first.per_1000:,.0f} new states in 1,000 runs, in the end {last.per_1000:,.0f}."
        return _svg(figure, "rarity", "How rare new abstract states become", said)


def goals(rows: Sequence[GoalRow], runs: int) -> str:
    """Plot the share of the runs that reached each goal."""
    shares = [(row.goal, 100 * row.runs / runs) for row in rows]
    said = f"Most often {_extreme(shares, max, ' %')}, least often {_extreme(shares, min, ' %')}."
    return _bars("goals", "Goals: in how many runs in a hundred", "% of runs", shares, said, " %")


def mutants(rows: Iterable[MutantRow]) -> str:
    """Plot each mutant's detections in a million steps."""
    rates = [(_name(named(row.mutant)), row.rate) for row in rows]
    said = f"Most often {_extreme(rates, max)}, least often {_extreme(rates, min)}."
    return _bars("mutants", "Mutants: detections in a million steps", "detections", rates, said)


def ratios(identity: str, name: str, rows: Sequence[SettingRow]) -> str:
    """Plot, for each thing that runs drew, the ratio of the rates with and without it, with its interval."""
    with matplotlib.rc_context(_SETTINGS):
        shown = by_influence(rows)[::-1]
        figure = Figure((WIDTH, 0.8 + LINE * len(shown)), layout="constrained")
        axes = figure.add_subplot()
        axes.axvline(1, color=FAINT, linewidth=1)
        for place, row in enumerate(shown):
            low, high = max(_LEAST, row.low), min(_MOST, inf if row.high is None else row.high)
            color = TWO if stands_out(row) else ONE
            axes.plot([low, high], [place, place], color=color, linewidth=1.5)
            middle = min(_MOST, max(_LEAST, inf if row.ratio is None else row.ratio))
            axes.plot([middle], [place], color=color, marker="D" if stands_out(row) else "o", markersize=4)
        axes.set_xscale("log")
        _readable_factors(axes, shown)
        axes.set(
            yticks=range(len(shown)), yticklabels=[_name(drawn(row)) for row in shown], ylim=(-0.7, len(shown) - 0.3)
        )
        axes.set_xlabel("rate with it, by the rate without it")
        names = ", ".join(_name(drawn(row)) for row in reversed(shown) if stands_out(row))
        said = f"The intervals that do not contain 1, drawn with a diamond: {names or 'none'}."
        return _svg(figure, identity, f"What matters: {_name(name)}", said)


def histogram(figure_of: str, rows: Sequence[HistogramRow]) -> str:
    """Plot the number of runs by a figure; the last bar is for all runs above it."""
    with matplotlib.rc_context(_SETTINGS):
        figure = Figure((WIDTH, 2.2), layout="constrained")
        axes = figure.add_subplot()
        scale = 1000 if figure_of == "seconds" else 1
        width = (rows[0].high - rows[0].low) * scale
        axes.bar([row.low * scale for row in rows], [row.runs for row in rows], width * 0.92, align="edge", color=ONE)
        axes.set(xlabel=figures_name(figure_of), ylabel="runs")
        _thousands(axes.xaxis, axes.yaxis)
        most = max(rows, key=lambda row: row.runs)
        said = f"Most runs, {most.runs:,}, have from {_short(most.low * scale)} to below {_short(most.high * scale)}."
        return _svg(figure, f"histogram-{figure_of}", f"Histogram: {figures_name(figure_of)}", said)


def _bars(identity: str, title: str, label: str, rows: Sequence[tuple[str, float]], said: str, unit: str = "") -> str:
    """Plot a bar for each name. If some values are over 100 times others, the scale is logarithmic, except near 0."""
    with matplotlib.rc_context(_SETTINGS):
        figure = Figure((WIDTH, 0.8 + LINE * len(rows)), layout="constrained")
        axes = figure.add_subplot()
        values = [value for _, value in rows]
        bars = axes.barh([name for name, _ in rows], values, color=ONE, height=0.7)
        axes.bar_label(bars, [f"{_short(value)}{unit}" for value in values], padding=3)
        axes.invert_yaxis()
        axes.set(xlabel=label, ylim=(len(rows) - 0.4, -0.6))
        some = [value for value in values if value > 0]
        if some and max(some) > 100 * min(some):
            axes.set_xscale("symlog", linthresh=10 ** floor(log10(min(some))))
            axes.xaxis.set_minor_formatter(NullFormatter())
            axes.xaxis.set_major_formatter(lambda value, _: f"{value:g}" if value < 1000 else f"{value / 1000:g}k")
            axes.set(xlim=(0, 10 * max(some)), xlabel=f"{label} (logarithmic)")
        else:
            axes.margins(x=0.2)
            axes.xaxis.set_major_locator(MaxNLocator(4))
            _thousands(axes.xaxis)
        return _svg(figure, identity, title, said)


def _name(text: str) -> str:
    """Return text from a file, in characters that every font has."""
    return clean(text, ascii_only=True, longest=28)


def _short(value: float) -> str:
    """Return a number with three significant digits, or whole if it is 100 or more."""
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def _thousands(*axes: Any) -> None:
    for each in axes:
        each.set_major_formatter(lambda value, _: f"{value:,.10g}")


def _readable_factors(axes: Any, rows: Iterable[SettingRow]) -> None:
    """Use halves and doubles as ticks, over the range that is drawn."""
    ends = [end for row in rows for end in (row.low, row.high, row.ratio) if end]
    least, most = max(_LEAST, min([*ends, 0.5])), min(_MOST, max([*ends, 2.0]))
    ticks = [value for value in (1 / 32, 1 / 16, 1 / 8, 1 / 4, 1 / 2, 1, 2, 4, 8, 16, 32) if least <= value <= most]
    axes.set_xlim(least * 0.9, most * 1.1)
    axes.set_xticks(ticks, [f"{value:g}" if value >= 1 else f"1/{1 / value:g}" for value in ticks])
    axes.set_xticks([], minor=True)


def _extreme(rows: Sequence[tuple[str, float]], which: Any, unit: str = "") -> str:
    name, value = which(rows, key=lambda row: row[1])
    return f"{name} ({_short(value)}{unit})"


def _svg(figure: Figure, identity: str, title: str, said: str) -> str:
    """Return a figure as SVG for a page: without a size of its own, and with ids that no other plot has."""
    file = StringIO()
    figure.savefig(file, format="svg", transparent=True, metadata={"Date": None})
    root = ElementTree.fromstring(file.getvalue())
    for namespace in ("", "{http://www.w3.org/2000/svg}"):
        for metadata in root.findall(f"{namespace}metadata"):
            root.remove(metadata)
    del root.attrib["width"], root.attrib["height"]
    used = set(re.findall(r"(?:url\(#|href=\"#)([^)\"]+)", file.getvalue()))
    for element in root.iter():
        _adapt(element, identity, used)
    for place, (tag, text) in enumerate((("title", title), ("desc", said))):
        element = ElementTree.Element(f"{{{_SVG}}}{tag}", {"id": f"{identity}-{tag}"})
        element.text = text
        root.insert(place, element)
    root.attrib |= {"role": "img", "aria-labelledby": f"{identity}-title", "aria-describedby": f"{identity}-desc"}
    ElementTree.register_namespace("", _SVG)
    ElementTree.register_namespace("xlink", _XLINK)
    drawing = ElementTree.tostring(root, encoding="unicode")
    return f"<figure>\n<figcaption>{escape(title)}</figcaption>\n{drawing}\n</figure>\n"


def _adapt(element: ElementTree.Element, identity: str, used: set[str]) -> None:
    """Replace the colours by variables, prefix ids with the plot's, and drop ids that nothing refers to."""
    name = element.attrib.pop("id", None)
    for key, value in element.attrib.items():
        value = re.sub(r"url\(#([^)]+)\)", rf"url(#{identity}-\1)", value)
        if key == f"{{{_XLINK}}}href":
            value = f"#{identity}-{value[1:]}"
        for color, variable in VARIABLES.items():
            value = value.replace(color, variable)
        element.attrib[key] = value
    if name in used:
        element.attrib["id"] = f"{identity}-{name}"
