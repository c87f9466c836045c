"""A small line plot as SVG, drawn without a library.

Lines differ in colour, in dashes and in the form of their points, never in colour alone. A broad line can be seen
beneath another one with the same values. The same data gives the same bytes.
"""

from collections.abc import Sequence
from html import escape
from itertools import pairwise
from math import ceil, floor, log10

from msgspec import Struct

WIDTH, HEIGHT = 640, 400
LEFT, RIGHT, BOTTOM = 76, 20, 52
LINE = 18
"""The height of a line of the legend."""
LETTER = 6.4
"""About the width of a letter."""

_INK, _SOFT, _FAINT, _PAPER = "#1b1f24", "#57606a", "#d8dde3", "#ffffff"
_COLOURS = ("#6f9fd8", "#9a4600", "#116329", "#7a2f8f", "#57606a")
_FONT = "system-ui, 'DejaVu Sans', sans-serif"
_STEPS = (1, 2, 5, 10)
MOST_TICKS = 6


class Line(Struct, frozen=True):
    """A line: its name, and its points from left to right. A dashed line has no marks at its points."""

    name: str
    points: tuple[tuple[float, float], ...]
    dashed: bool = False
    broad: bool = False


class Plot(Struct, frozen=True):
    """What is drawn. A screen reader reads out `note` after the title. A logarithmic axis needs values above 0."""

    title: str
    x: str
    y: str
    lines: tuple[Line, ...]
    note: str = ""
    log_x: bool = False
    log_y: bool = False


class _Axis(Struct, frozen=True):
    """An axis from `low`, at pixel `start`, to `high`, at pixel `end`."""

    low: float
    high: float
    start: float
    end: float
    log: bool
    ticks: tuple[float, ...]

    def at(self, value: float) -> str:
        """Return the pixel of a value, to a tenth."""
        low, high, value = (log10(each) if self.log else each for each in (self.low, self.high, value))
        return f"{self.start + (value - low) / (high - low) * (self.end - self.start):.1f}"


def svg(plot: Plot) -> str:
    """Draw the plot as the content of an SVG file. O(points)."""
    top = 44 + LINE * len(_legend_rows(plot.lines))
    xs = sorted({x for line in plot.lines for x, _ in line.points})
    ys = [y for line in plot.lines for _, y in line.points]
    across = _across(xs, plot.log_x)
    up = _up(ys, plot.log_y, HEIGHT - BOTTOM, top)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{HEIGHT}" viewBox="0 0 {WIDTH} {HEIGHT}" '
        f'role="img" aria-labelledby="title note" font-family="{_FONT}" font-size="12" fill="{_INK}">',
        f'<title id="title">{escape(plot.title)}</title><desc id="note">{escape(plot.note)}</desc>',
        f'<rect width="{WIDTH}" height="{HEIGHT}" fill="{_PAPER}"/>',
        f'<text x="{LEFT}" y="24" font-size="15" font-weight="600">{escape(plot.title)}</text>',
        *_legend(plot.lines),
        *_axes(plot, across, up),
        *(part for number, line in enumerate(plot.lines) for part in _drawn(number, line, across, up)),
        "</svg>",
    ]
    return "\n".join(parts) + "\n"


def _across(xs: Sequence[float], log: bool) -> _Axis:
    low, high = (xs[0], xs[-1]) if len(xs) > 1 else (xs[0] / 2, xs[0] * 2)
    if len(xs) == 1 and not xs[0]:
        low, high = -1, 1
    return _Axis(low, high, LEFT + 14, WIDTH - RIGHT - 14, log, tuple(xs))


def _up(ys: Sequence[float], log: bool, bottom: float, top: float) -> _Axis:
    """Make the vertical axis: from 0, or from a power of ten, to a little more than the highest value."""
    high = max(ys)
    if log:
        least, most = floor(log10(min(ys))), ceil(log10(high))
        most = max(most, least + 1)
        return _Axis(10.0**least, 10.0**most, bottom, top, True, tuple(10.0**each for each in range(least, most + 1)))
    step = _step(high or 1.0)
    count = ceil((high or 1.0) / step)
    return _Axis(0, step * count, bottom, top, False, tuple(step * each for each in range(count + 1)))


def _step(high: float) -> float:
    """Return the least of 1, 2, 5, 10, 20, … that gives at most `MOST_TICKS` ticks."""
    unit = 10.0 ** floor(log10(high / MOST_TICKS))
    return next(unit * step for step in _STEPS if unit * step * MOST_TICKS >= high)


def _axes(plot: Plot, across: _Axis, up: _Axis) -> list[str]:
    bottom = HEIGHT - BOTTOM
    parts = []
    for tick in up.ticks:
        y = up.at(tick)
        parts.append(f'<path d="M{LEFT} {y}H{WIDTH - RIGHT}" stroke="{_FAINT}"/>')
        parts.append(f'<text x="{LEFT - 8}" y="{y}" dy="4" text-anchor="end" fill="{_SOFT}">{_number(tick)}</text>')
    parts.append(f'<path d="M{LEFT} {bottom}H{WIDTH - RIGHT}" stroke="{_SOFT}"/>')
    for tick in across.ticks:
        x = across.at(tick)
        parts.append(f'<path d="M{x} {bottom}v5" stroke="{_SOFT}"/>')
        parts.append(f'<text x="{x}" y="{bottom + 19}" text-anchor="middle" fill="{_SOFT}">{_number(tick)}</text>')
    middle = (bottom + float(up.at(up.high))) / 2
    parts.append(
        f'<text x="{(LEFT + WIDTH - RIGHT) / 2}" y="{HEIGHT - 12}" text-anchor="middle">{escape(plot.x)}</text>'
    )
    parts.append(
        f'<text transform="translate(18 {middle:.1f}) rotate(-90)" text-anchor="middle">{escape(plot.y)}</text>'
    )
    return parts


def _number(value: float) -> str:
    return f"{value:,.0f}" if value == round(value) else f"{value:g}"


def _legend_rows(lines: Sequence[Line]) -> list[list[int]]:
    """Return, for each row of the legend, the numbers of the lines that it names."""
    rows: list[list[int]] = [[]]
    used = 0.0
    for number, line in enumerate(lines):
        width = _entry_width(line)
        if rows[-1] and used + width > WIDTH - LEFT - RIGHT:
            rows.append([])
            used = 0
        rows[-1].append(number)
        used += width
    return rows


def _entry_width(line: Line) -> float:
    return 52 + LETTER * len(line.name)


def _legend(lines: Sequence[Line]) -> list[str]:
    parts = []
    for row, numbers in enumerate(_legend_rows(lines)):
        x, y = float(LEFT), 44 + LINE * row
        for number in numbers:
            line = lines[number]
            parts.append(f'<path d="M{x:.1f} {y}h28" {_stroke(number, line)}/>')
            parts += [] if line.dashed else [_mark(number, f"{x + 14:.1f}", str(y))]
            parts.append(f'<text x="{x + 34:.1f}" y="{y + 4}">{escape(line.name)}</text>')
            x += _entry_width(line)
    return parts


def _drawn(number: int, line: Line, across: _Axis, up: _Axis) -> list[str]:
    places = [(across.at(x), up.at(y)) for x, y in line.points]
    way = "".join(f"M{a} {b}L{c} {d}" for (a, b), (c, d) in pairwise(places))
    marks = [] if line.dashed else [_mark(number, x, y) for x, y in places]
    return [f'<path d="{way}" {_stroke(number, line)}/>', *marks] if way else marks


def _colour(number: int, line: Line) -> str:
    return _SOFT if line.dashed else _COLOURS[number % len(_COLOURS)]


def _stroke(number: int, line: Line) -> str:
    width = 6 if line.broad else 2
    dashes = ' stroke-dasharray="6 4"' if line.dashed else ""
    return f'fill="none" stroke="{_colour(number, line)}" stroke-width="{width}" stroke-linecap="round"{dashes}'


def _mark(number: int, x: str, y: str) -> str:
    """A disc, a square, a triangle, a ring, by turns."""
    colour = _COLOURS[number % len(_COLOURS)]
    match number % 4:
        case 0:
            return f'<circle cx="{x}" cy="{y}" r="5.5" fill="{colour}"/>'
        case 1:
            return f'<path d="M{x} {y}m-4 -4h8v8h-8z" fill="{colour}"/>'
        case 2:
            return f'<path d="M{x} {y}m0 -5l5.5 9h-11z" fill="{colour}"/>'
        case _:
            return f'<circle cx="{x}" cy="{y}" r="4" fill="{_PAPER}" stroke="{colour}" stroke-width="2"/>'
