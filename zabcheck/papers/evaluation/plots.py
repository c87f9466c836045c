"""An evaluation as plots: SVG, drawn by matplotlib (of the extra `png` or `spark`), which no other module here loads.

Lines differ in colour, in dashes and in the form of their points, never in colour alone. A broad line can be seen
beneath another one with the same values. Text stays text. With one version of matplotlib, the same figures give the
same bytes.
"""

from collections.abc import Sequence
from io import StringIO
from xml.etree import ElementTree

import matplotlib
from matplotlib.figure import Figure
from matplotlib.ticker import NullFormatter
from msgspec import Struct

from zabcheck.papers.evaluation.report import HISTORIES, MILLISECOND, disks_of, servers_of, shapes_of, ways_of
from zabcheck.papers.evaluation.results import BroadcastRow, Evaluation, RecoveryRow, RelayRow

WIDTH, HEIGHT = 640, 400
"""The size of a plot in pixels, a hundred of which matplotlib takes for an inch."""

_COLOURS = ("#6f9fd8", "#9a4600", "#116329", "#7a2f8f")
_MARKS = ("o", "s", "^", "D")
_INK, _SOFT, _FAINT = "#1b1f24", "#57606a", "#d8dde3"
_SVG = "http://www.w3.org/2000/svg"
_SETTINGS = {
    "svg.fonttype": "none",
    "svg.hashsalt": "zabcheck",
    "font.size": 9,
    "text.parse_math": False,
    "text.color": _INK,
    "axes.labelcolor": _INK,
    "axes.edgecolor": _SOFT,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.grid.axis": "y",
    "axes.axisbelow": True,
    "grid.color": _FAINT,
    "xtick.color": _SOFT,
    "ytick.color": _SOFT,
}


class Line(Struct, frozen=True):
    """A line: its name, and its points from left to right. A dashed line has no marks at its points."""

    name: str
    points: tuple[tuple[float, float], ...]
    dashed: bool = False
    broad: bool = False


class Plot(Struct, frozen=True):
    """A plot of lines. A screen reader reads out `note` after the title. A logarithmic axis needs values above 0."""

    title: str
    x: str
    y: str
    lines: tuple[Line, ...]
    note: str = ""
    log_x: bool = False
    log_y: bool = False


def svg(plot: Plot) -> str:
    """Draw the plot, and return the content of an SVG file."""
    with matplotlib.rc_context(_SETTINGS):
        figure = Figure((WIDTH / 100, HEIGHT / 100))
        figure.set_layout_engine("constrained", w_pad=0.12, h_pad=0.08)
        axes = figure.add_subplot()
        for number, line in enumerate(plot.lines):
            colour = _SOFT if line.dashed else _COLOURS[number % len(_COLOURS)]
            mark, dash = (None, "--") if line.dashed else (_MARKS[number % len(_MARKS)], "-")
            xs, ys = zip(*line.points, strict=True)
            width = 4 if line.broad else 1.5
            axes.plot(xs, ys, dash, marker=mark, markersize=6, color=colour, linewidth=width, label=line.name)
        axes.set_xscale("log" if plot.log_x else "linear")
        axes.set_yscale("log" if plot.log_y else "linear")
        axes.set_xticks(sorted({x for line in plot.lines for x, _ in line.points}))
        axes.xaxis.set_minor_formatter(NullFormatter())
        for axis in (axes.xaxis, axes.yaxis):
            axis.set_major_formatter(lambda value, _: f"{value:,.10g}")
        if not plot.log_y:
            axes.set_ylim(bottom=0)
        axes.set(xlabel=plot.x, ylabel=plot.y)
        axes.set_title(plot.title, fontsize=11)
        figure.legend(loc="outside lower center", ncols=2, frameon=False)
        file = StringIO()
        figure.savefig(file, format="svg", metadata={"Date": None, "Creator": None})
    return _told(file.getvalue(), plot)


def _told(drawing: str, plot: Plot) -> str:
    """Give the drawing the title and the note that a screen reader reads out."""
    ElementTree.register_namespace("", _SVG)
    ElementTree.register_namespace("xlink", "http://www.w3.org/1999/xlink")
    root = ElementTree.fromstring(drawing)
    for metadata in root.findall(f"{{{_SVG}}}metadata"):
        root.remove(metadata)
    for place, (tag, text) in enumerate((("title", plot.title), ("desc", plot.note))):
        element = ElementTree.Element(f"{{{_SVG}}}{tag}", {"id": tag})
        element.text = text
        root.insert(place, element)
    root.attrib |= {"width": f"{WIDTH}", "height": f"{HEIGHT}", "role": "img", "aria-labelledby": "title desc"}
    return ElementTree.tostring(root, encoding="unicode") + "\n"


def drawn(found: Evaluation) -> dict[str, str]:
    """Return the content of each plot's file, by the file's name."""
    return {f"{name}.svg": svg(plot) for name, plot in plots_of(found).items()}


def plots_of(found: Evaluation) -> dict[str, Plot]:
    """Return the plots by the names of their files, without suffix."""
    drawn = {
        "throughput": _plot_of_throughput(found),
        "outstanding": _plot_of_bounds(found),
        "latency": _plot_of_latency(found),
    }
    if found.broadcast:
        drawn["broadcast"] = _plot_of_broadcast(found.broadcast)
    if found.relays:
        drawn["relays"] = _plot_of_relays(found.relays)
    recovery = [row for row in found.recovery if row.history]  # the axis is logarithmic
    return drawn | ({"recovery": _plot_of_recovery(recovery)} if recovery else {})


def _plot_of_throughput(found: Evaluation) -> Plot:
    rows = sorted(found.throughput, key=lambda row: row.servers)
    cap = {row.servers: row.cap for row in rows}
    lines = [
        Line(
            disk, tuple((row.servers, row.operations_per_second) for row in rows if row.disk == disk), broad=not number
        )
        for number, disk in enumerate(disks_of(found.throughput))
    ]
    lines.append(Line("theoretical cap", tuple(cap.items()), dashed=True))
    size = f"{found.settings.size:,}"
    return Plot(
        f"Throughput of operations of {size} bytes",
        "servers",
        "operations a second",
        tuple(lines),
        note=f"Simulated; {found.settings.outstanding:,} outstanding. The cap is bandwidth / ((n - 1) × size).",
    )


def _plot_of_bounds(found: Evaluation) -> Plot:
    """Plot the throughput over the number of proposals that may be outstanding."""
    lines = []
    for disk in disks_of(found.bounds):
        mine = [row for row in found.bounds if row.disk == disk]
        lines.append(Line(disk, tuple((row.outstanding, row.operations_per_second) for row in mine)))
    return Plot(
        f"Throughput of {found.bounds[0].servers} servers, by outstanding proposals",
        "proposals that may be outstanding",
        "operations a second",
        tuple(lines),
        note="Simulated; further requests wait at the leader.",
        log_x=True,
        log_y=True,
    )


def _plot_of_latency(found: Evaluation) -> Plot:
    rows = sorted(found.latency, key=lambda row: row.servers)
    lines = []
    for disk in disks_of(found.latency):
        mine = [row for row in rows if row.disk == disk]
        lines.append(Line(disk, tuple((row.servers, row.leader_ns / MILLISECOND) for row in mine)))
    return Plot(
        "Latency of a single operation at the leader",
        "servers",
        "milliseconds",
        tuple(lines),
        note="Simulated; nothing else is going on.",
        log_y=True,
    )


def _plot_of_broadcast(rows: Sequence[BroadcastRow]) -> Plot:
    """Plot how long an operation takes until the last server has delivered it."""
    lines = []
    for way in ways_of(rows):
        mine = [row for row in rows if row.way == way]
        lines.append(Line(way, tuple((row.servers, row.last_ns / MILLISECOND) for row in mine)))
    counted = {way: ", ".join(str(row.messages) for row in rows if row.way == way) for way in ways_of(rows)}
    return Plot(
        "Time until the last server has delivered",
        "servers",
        "milliseconds",
        tuple(lines),
        note=f"Simulated; network only. Messages: {'; '.join(f'{way} {each}' for way, each in counted.items())}.",
    )


def _plot_of_relays(rows: Sequence[RelayRow]) -> Plot:
    """Plot the throughput of each shape."""
    lines = []
    for shape in shapes_of(rows):
        mine = [row for row in rows if row.shape == shape]
        lines.append(Line(shape, tuple((row.servers, row.operations_per_second) for row in mine)))
    return Plot(
        "Throughput, with proposals along a tree or a chain",
        "servers",
        "operations a second",
        tuple(lines),
        note="Simulated; network only. Acknowledgements go straight to the leader.",
    )


def _plot_of_recovery(rows: Sequence[RecoveryRow]) -> Plot:
    """Plot the recovery of the fewest and of the most servers, over the length of the history."""
    ends = sorted({min(servers_of(rows)), max(servers_of(rows))})
    lines = []
    for histories in HISTORIES:
        for servers in ends:
            mine = [row for row in rows if (row.histories, row.servers) == (histories, servers)]
            points = {row.history: (row.discovery_ns + row.synchronization_ns) / MILLISECOND for row in mine}
            lines.append(Line(f"{servers} servers, {HISTORIES[histories]}", tuple(sorted(points.items()))))
    return Plot(
        "Recovery after the crash of a leader",
        "transactions in every history",
        "milliseconds",
        tuple(lines),
        note="Simulated; discovery and synchronization, from the end of the election on.",
        log_x=True,
        log_y=True,
    )
