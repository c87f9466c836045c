"""GraphML read back by networkx, DOT by pydot."""

import html
from io import BytesIO
from typing import Any
from xml.etree import ElementTree

import networkx as nx
import pydot
import pytest

from tests.counterexample.stories import HOSTILE
from zabcheck.counterexample.forms.graph_files import to_dot, to_graphml
from zabcheck.text.words import clean

pytestmark = pytest.mark.filterwarnings("ignore:'setParseAction' deprecated")  # pydot calls pyparsing by old names

NASTY = HOSTILE + "\ud800\r\t" + "x" * 1000


def graph() -> nx.DiGraph:
    made = nx.DiGraph()
    made.add_node(7, label="p2 broadcasts x⟨1,1⟩", process=2, kind="broadcast", witness="W1", never=False)
    made.add_node(0, label=NASTY, process=1, kind="deliver", never=True, hash=2**64 - 1)
    made.add_node(3, label="", process=2, witness=None)
    made.add_node("N1")
    made.add_edge(7, 0, rule="delivers", mark="broken", why=NASTY)
    made.add_edge(7, 3, rule="local")
    made.add_edge(0, 3, rule="primary", mark="missing", why="it is not there")
    return made


def name_of(node: str) -> int | str:
    """A node as it was, of what stands in the file."""
    return int(node) if node.isdigit() else node


def cleaned(attributes: dict[str, Any]) -> dict[str, Any]:
    return {
        key: clean(value, longest=len(value)) if isinstance(value, str) else value
        for key, value in attributes.items()
        if value not in (None, "")
    }


def test_graphml_brings_back_the_whole_graph() -> None:
    made = graph()
    data = to_graphml(made)
    back = nx.read_graphml(BytesIO(data), node_type=name_of)
    assert back.is_directed()
    assert list(back.nodes) == [7, 0, 3, "N1"]
    assert dict(back.nodes(data=True)) == {node: cleaned(found) for node, found in made.nodes(data=True)}
    edges = {(start, end): cleaned(found) for start, end, found in made.edges(data=True)}
    assert {(start, end): found for start, end, found in back.edges(data=True)} == edges
    assert ElementTree.fromstring(data).tag.endswith("graphml")
    assert data == to_graphml(graph())


def test_graphml_leaves_the_graph_as_it_was() -> None:
    made = graph()
    to_graphml(made)
    assert made.nodes[0]["label"] == NASTY


def parsed(made: nx.DiGraph) -> pydot.Dot:
    [dot] = pydot.graph_from_dot_data(to_dot(made))
    return dot


def shown(quoted: str) -> str:
    """Return the text that Graphviz shows for a quoted string: its own escapes, then entities."""
    assert quoted[0] == quoted[-1] == '"'
    inner, out = iter(quoted[1:-1]), []
    for character in inner:
        assert character != '"', "it would end here"
        if character == "\\":
            character = next(inner)
            assert character in '"\\', "any other escape means something"
        out.append(character)
    return html.unescape("".join(out))


def test_dot_has_a_frame_for_each_process_and_all_edges() -> None:
    dot = parsed(graph())
    frames = {
        frame.get_name(): [node.get_name() for node in frame.get_nodes() if node.get_name() != "graph"]
        for frame in dot.get_subgraphs()
    }
    assert frames == {"cluster_2": ['"7"', '"3"'], "cluster_1": ['"0"']}
    assert [node.get_name() for node in dot.get_nodes() if node.get_name()[0] == '"'] == ['"N1"']
    assert {(e.get_source(), e.get_destination()) for e in dot.get_edges()} == {
        ('"7"', '"0"'),
        ('"7"', '"3"'),
        ('"0"', '"3"'),
    }


def test_dot_draws_the_marks() -> None:
    dot = parsed(graph())
    edges = {e.get_source() + e.get_destination(): e.get_attributes() for e in dot.get_edges()}
    red = '"#b3261e"'
    assert (edges['"7""0"']["color"], edges['"7""0"']["style"], edges['"7""0"']["label"]) == (
        red,
        '"bold"',
        '"delivers (broken)"',
    )
    assert (edges['"0""3"']["color"], edges['"0""3"']["style"]) == (red, '"dashed"')
    assert edges['"7""3"']["color"] != red
    assert "style" not in edges['"7""3"']
    nodes = {node.get_name(): node.get_attributes() for frame in dot.get_subgraphs() for node in frame.get_nodes()}
    assert nodes['"0"']["style"] == '"dashed"'
    assert "style" not in nodes['"7"']
    assert nodes['"7"']["label"] == '"p2 broadcasts x⟨1,1⟩ ◀W1"'


def test_a_hostile_text_is_shown_by_dot_as_it_is() -> None:
    dot = parsed(graph())
    nodes = {node.get_name(): node.get_attributes() for frame in dot.get_subgraphs() for node in frame.get_nodes()}
    assert shown(nodes['"0"']["tooltip"]) == clean(NASTY)
    assert shown(nodes['"0"']["label"]).startswith(clean(HOSTILE)[:40])
    [why] = [e.get_attributes()["tooltip"] for e in dot.get_edges() if e.get_source() + e.get_destination() == '"7""0"']
    assert shown(why) == clean(NASTY)


def test_an_empty_graph() -> None:
    assert parsed(nx.DiGraph()).get_edges() == []
    assert list(nx.read_graphml(BytesIO(to_graphml(nx.DiGraph())))) == []
