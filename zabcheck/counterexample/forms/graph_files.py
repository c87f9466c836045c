"""A graph as a file for other programs: GraphML for yEd, Gephi or networkx, and DOT for Graphviz.

Any directed graph will do if its nodes are numbers or names, and its attributes strings, numbers and truth values. Some
attributes decide how DOT draws the graph: of a node the `label`, the `process` (the nodes of a process stand in one
frame), the `witness` ("W1") and `never` (the event is not in the run); of an edge the `rule`, `why`, and `mark`, which
is "broken" or "missing".
"""

from collections.abc import Mapping
from io import BytesIO
from typing import Any

import networkx as nx

from zabcheck.text.words import clean, cut, name

LONGEST_LABEL = 80
BAD = "#b3261e"
MARKS = {
    "broken": {"color": BAD, "style": "bold"},
    "missing": {"color": BAD, "style": "dashed"},
}
"""The style of an edge, by its mark."""


def to_graphml(graph: nx.DiGraph) -> bytes:
    """Return the graph with all its attributes. Characters that XML cannot hold are written as escapes, as `\\x1b`.

    An attribute that is None or an empty string is left out.
    """
    safe = nx.DiGraph()
    safe.graph.update(_safe(graph.graph))
    safe.add_nodes_from((node, _safe(attributes)) for node, attributes in graph.nodes(data=True))
    safe.add_edges_from((start, end, _safe(attributes)) for start, end, attributes in graph.edges(data=True))
    file = BytesIO()
    nx.write_graphml_xml(safe, file)  # not write_graphml, which gives other bytes if lxml is installed
    return file.getvalue()


def _safe(attributes: Mapping[str, Any]) -> dict[str, Any]:
    return {
        clean(key): clean(value, longest=len(value)) if isinstance(value, str) else value
        for key, value in attributes.items()
        if value is not None and value != ""
    }


def to_dot(graph: nx.DiGraph) -> str:
    """Return the graph for Graphviz: time runs down, and each process has a frame."""
    frames: dict[int | None, list[Any]] = {}
    for node, process in graph.nodes(data="process"):
        frames.setdefault(process, []).append(node)
    lines = [
        "digraph {",
        '  graph [fontname="DejaVu Sans", fontsize="10"];',
        '  node [fontname="DejaVu Sans", fontsize="10", shape="box"];',
        '  edge [fontname="DejaVu Sans", fontsize="9"];',
    ]
    for process, nodes in frames.items():
        drawn = [f"  {_id(node)} {_attributes(_of_node(node, graph.nodes[node]))};" for node in nodes]
        if process is not None:
            head = _attributes({"label": name(process), "color": "#8a929b"})
            drawn = [f"  subgraph cluster_{process} {{", f"    graph {head};", *(f"  {line}" for line in drawn), "  }"]
        lines += drawn
    for start, end, attributes in graph.edges(data=True):
        lines.append(f"  {_id(start)} -> {_id(end)} {_attributes(_of_edge(attributes))};")
    return "\n".join([*lines, "}"]) + "\n"


def _id(node: object) -> str:
    return _quoted(str(node))


def _of_node(node: object, attributes: Mapping[str, Any]) -> dict[str, str]:
    label, witness = str(attributes.get("label", node)), attributes.get("witness")
    drawn = {"label": cut(label, LONGEST_LABEL) + (f" ◀{witness}" if witness else ""), "tooltip": label}
    if witness:
        drawn |= {"color": BAD, "penwidth": "2"}
    if attributes.get("never"):
        drawn |= {"style": "dashed"}
    return drawn


def _of_edge(attributes: Mapping[str, Any]) -> dict[str, str]:
    rule, mark = str(attributes.get("rule", "")), attributes.get("mark", "")
    drawn = {
        "label": f"{rule} ({mark})" if mark and mark != rule else rule,
        "tooltip": str(attributes.get("why", rule)),
    }
    return drawn | MARKS.get(mark, {"color": "#57606a"})


def _attributes(attributes: Mapping[str, str]) -> str:
    return f"[{', '.join(f'{key}={_quoted(value)}' for key, value in attributes.items() if value)}]"


def _quoted(text: str) -> str:
    """Return a DOT string. Graphviz would take a backslash for an escape, and `&` for an entity."""
    escaped = clean(text).replace("&", "&amp;").replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'
