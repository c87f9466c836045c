"""The PO-causality graph of a counterexample as SVG, and in words.

It looks like the space-time diagram: a lane for each process, a row for each node, in the order of the trace. An event
that never happened stands where it is missing: before what it must precede, or after what it has to follow.
"""

from collections.abc import Iterator
from typing import Any

import networkx as nx

from zabcheck.counterexample.forms.lanes import HEAD
from zabcheck.counterexample.story import Story
from zabcheck.text.html import text
from zabcheck.text.words import name

LANE = 74
HEIGHT = 30
"""The height of a row, in pixels."""
NOBODY = 0
"""Stands for the process of an event that nobody showed."""


def draw_graph(graph: nx.DiGraph, story: Story) -> str:
    """Draw the graph as SVG, without a background, in the classes of the diagram."""
    order = in_order(graph)
    processes = sorted({_process(graph, node) for node in order})
    x = {process: (number + 0.5) * LANE for number, process in enumerate(processes)}
    place = {node: (x[_process(graph, node)], HEAD + (row + 0.5) * HEIGHT) for row, node in enumerate(order)}
    height = HEAD + len(order) * HEIGHT + 6
    across = len(processes) * LANE
    texts = {node: _said(graph, node, story) for node in order}
    width = across + 12 + max(len(each) for each in texts.values()) * 7.4
    lanes = "".join(
        f'<line class="lane" x1="{x[process]:g}" y1="{HEAD - 6}" x2="{x[process]:g}" y2="{height}"/>'
        f'<text class="head" x="{x[process]:g}" y="{HEAD - 14}">{name(process) if process else "nobody"}</text>\n'
        for process in processes
    )
    edges = "".join(_edge(place[first], place[second], data) for first, second, data in graph.edges(data=True))
    nodes = "".join(
        _node(place[node], graph.nodes[node]) + f'<text class="say{_never(graph, node)}" x="{across + 8}" '
        f'y="{place[node][1] + 4:g}">{text(texts[node])}</text>\n'
        for node in order
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:g} {height}" width="{width:g}" height="{height}" '
        f'aria-hidden="true" font-size="13">\n{lanes}{edges}\n{nodes}</svg>\n'
    )


def in_words(graph: nx.DiGraph, story: Story) -> Iterator[str]:
    """Yield a line for each marked edge, then a line for each other edge."""
    edges = sorted(graph.edges(data=True), key=lambda edge: "mark" not in edge[2])
    for first, second, data in edges:
        mark = f", {data['mark']}: {data['why']}" if "mark" in data else ""
        yield f"{_said(graph, first, story)} → {_said(graph, second, story)}{mark}"


def in_order(graph: nx.DiGraph) -> list[Any]:
    """Return the nodes in the order of the trace; events that never happened stand beside those that need them."""

    def position(node: Any) -> tuple[float, str]:
        data = graph.nodes[node]
        if "position" in data:
            return float(data["position"]), str(node)
        before = [graph.nodes[other].get("position") for other in graph.successors(node)]
        after = [graph.nodes[other].get("position") for other in graph.predecessors(node)]
        at = [each - 0.5 for each in before if each is not None] or [each + 0.5 for each in after if each is not None]
        return at[0] if at else -1.0, str(node)

    return sorted(graph.nodes, key=position)


def _process(graph: nx.DiGraph, node: Any) -> int:
    process: int = graph.nodes[node].get("process", NOBODY)
    return process


def _said(graph: nx.DiGraph, node: Any, story: Story) -> str:
    """Return the text of a node: its mark in the witness, its step, and its event."""
    data = graph.nodes[node]
    mark = f"◀{data['witness']} " if "witness" in data else ""
    if data.get("never"):
        return f"never: {data['label']}"
    return f"{mark}{story.unit} {story.trace[data['position']][0]}: {data['label']}"


def _never(graph: nx.DiGraph, node: Any) -> str:
    return " never" if graph.nodes[node].get("never") else ""


def _node(place: tuple[float, float], data: dict[str, Any]) -> str:
    x, y = place
    ring = f'<circle class="ring" cx="{x:g}" cy="{y:g}" r="9"/>' if "witness" in data else ""
    return f'<circle class="node{" never" if data.get("never") else ""}" cx="{x:g}" cy="{y:g}" r="5"/>{ring}'


def _edge(begin: tuple[float, float], end: tuple[float, float], data: dict[str, Any]) -> str:
    """Draw an arrow; it is bent if it would run along a lane past other nodes."""
    (x1, y1), (x2, y2) = begin, end
    mark = f" marked {data['mark']}" if "mark" in data else ""
    bow = 26.0 if x1 == x2 and abs(y2 - y1) > HEIGHT else 0.0
    cx, cy = (x1 + x2) / 2 - bow * 2, (y1 + y2) / 2
    length = max(1.0, ((x2 - cx) ** 2 + (y2 - cy) ** 2) ** 0.5)
    dx, dy = (x2 - cx) / length, (y2 - cy) / length
    ex, ey = x2 - 10 * dx, y2 - 10 * dy
    head = (
        f"M{ex:.1f} {ey:.1f}L{ex - 7 * dx - 4 * dy:.1f} {ey - 7 * dy + 4 * dx:.1f}"
        f"L{ex - 7 * dx + 4 * dy:.1f} {ey - 7 * dy - 4 * dx:.1f}z"
    )
    return (
        f'<path class="edge{mark}" d="M{x1:.1f} {y1:.1f}Q{cx:.1f} {cy:.1f} {ex:.1f} {ey:.1f}"/>'
        f'<path class="{"tip marked" if mark else "tip"}" d="{head}"/>\n'
    )
