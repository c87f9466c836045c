"""The graph of what had to come before what, drawn and in words."""

from xml.etree import ElementTree
from xml.etree.ElementTree import Element

import networkx as nx
import pytest

from tests.counterexample.pages import EVIL, STORIES
from zabcheck.counterexample.forms.graph_drawing import draw_graph, in_order, in_words
from zabcheck.counterexample.pieces import labels_of
from zabcheck.counterexample.story import Story
from zabcheck.counterexample.witness_graph import witness_graph
from zabcheck.text.words import clean, name

SVG = "{http://www.w3.org/2000/svg}"
WITHOUT_VIOLATION = ("raised", "raised badly", "harmless", "one process", "differs", "empty")
WITH_VIOLATION = [name for name in STORIES if name not in WITHOUT_VIOLATION]
each_story = pytest.mark.parametrize("about", WITH_VIOLATION)


def graph_of(story: Story) -> nx.DiGraph:
    assert story.violation is not None
    return witness_graph((event for _, event in story.trace), story.violation)


def drawn(about: str) -> Element:
    story = STORIES[about]()
    return ElementTree.fromstring(draw_graph(graph_of(story), story))


def of_class(root: Element, wanted: str) -> list[Element]:
    return [each for each in root.iter() if wanted in each.attrib.get("class", "").split()]


@pytest.mark.parametrize("about", WITHOUT_VIOLATION)
def test_a_story_without_a_violation_has_no_graph(about: str) -> None:
    assert STORIES[about]().violation is None


@each_story
def test_every_node_and_every_edge_is_drawn_once(about: str) -> None:
    story = STORIES[about]()
    graph, root = graph_of(story), drawn(about)
    assert len(graph) > 0
    assert len(of_class(root, "node")) == len(of_class(root, "say")) == len(graph)
    assert len(of_class(root, "edge")) == graph.number_of_edges()
    marked = [data["mark"] for _, _, data in graph.edges(data=True) if "mark" in data]
    found = [each.attrib["class"].split() for each in of_class(root, "edge") if "marked" in each.attrib["class"]]
    assert sorted(each[-1] for each in found) == sorted(marked)
    assert len(list(in_words(graph, story))) == graph.number_of_edges()


@each_story
def test_the_witness_is_ringed_and_named_by_its_marks(about: str) -> None:
    story = STORIES[about]()
    graph, root = graph_of(story), drawn(about)
    marks = {data["witness"] for _, data in graph.nodes(data=True) if "witness" in data}
    assert marks
    assert marks <= {*labels_of(story.violation).values()}
    assert len(of_class(root, "ring")) == len([1 for _, data in graph.nodes(data=True) if "witness" in data])
    said = [each.text or "" for each in of_class(root, "say")]
    for mark in marks:
        assert len([text for text in said if text.startswith(f"◀{mark} ")]) >= 1


@each_story
def test_lanes_are_those_of_the_processes_that_are_in_it(about: str) -> None:
    graph, root = graph_of(STORIES[about]()), drawn(about)
    processes = sorted({data.get("process", 0) for _, data in graph.nodes(data=True)})
    assert [each.text for each in of_class(root, "head")] == [name(p) if p else "nobody" for p in processes]
    assert len({each.attrib["x1"] for each in of_class(root, "lane")}) == len(processes)
    places = [(each.attrib["cx"], each.attrib["cy"]) for each in of_class(root, "node")]
    assert len({*places}) == len(places)
    assert len({y for _, y in places}) == len(places), "a row each"


@each_story
def test_rows_are_in_the_order_of_the_trace(about: str) -> None:
    """An event that never happened stands before those that it had to precede, or after those that it had to follow."""
    graph = graph_of(STORIES[about]())
    order = in_order(graph)
    assert len(order) == len(graph)
    positions = [graph.nodes[node]["position"] for node in order if "position" in graph.nodes[node]]
    assert positions == sorted(positions)
    row = {node: index for index, node in enumerate(order)}
    never = [node for node in order if "position" not in graph.nodes[node]]
    for node in never:
        later = [each for each in graph.successors(node) if "position" in graph.nodes[each]]
        earlier = [each for each in graph.predecessors(node) if "position" in graph.nodes[each]]
        assert any(row[each] > row[node] for each in later) or any(row[each] < row[node] for each in earlier)


@each_story
def test_everything_is_within_the_picture(about: str) -> None:
    root = drawn(about)
    width, height = float(root.attrib["width"]), float(root.attrib["height"])
    for circle in root.iter(f"{SVG}circle"):
        assert 9 <= float(circle.attrib["cx"]) <= width
        assert 9 <= float(circle.attrib["cy"]) <= height - 9
    for said in of_class(root, "say"):
        assert float(said.attrib["x"]) + 6.5 * len(said.text or "") <= width


def test_what_a_user_wrote_is_text() -> None:
    story = STORIES["hostile"]()
    text = draw_graph(graph_of(story), story)
    assert "<script>" not in text
    assert not {"\x1b", "\x00", "\r", "\u202e"} & {*text}
    assert clean(EVIL.replace("\ud800", "")) in "".join(drawn("hostile").itertext())
