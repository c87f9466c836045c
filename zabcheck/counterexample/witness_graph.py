"""The graph of a counterexample: the witness in its causal past, and the edge that breaks the property.

It shows the events of the witness and what led to them by PO-precedence: broadcasts, deliveries and snapshots, reduced
transitively. What breaks the property is an edge with a mark:

- "broken": the two are in an order, or side by side, in which they must not be;
- "missing": the one must precede the other, and does not. If it is nowhere in the trace, it is a node of its own that
  says `never`.

How a witness is made up is said in the docstring of each property's module. Which of its events the mark joins is said
where the property is explained, in `zabcheck.counterexample.explanation`.
"""

from collections.abc import Iterable

import networkx as nx

from zabcheck.counterexample.causality import Causality, attributes
from zabcheck.counterexample.explanation.edges import Case, Node
from zabcheck.counterexample.explanation.sentences import EXPLAINED
from zabcheck.counterexample.story import Story
from zabcheck.invariants import Broadcast, Deliver, Event, Restore, Violation
from zabcheck.text.words import clean

WHOLE = 15
"""Up to this many nodes, the whole causal past is shown: its broadcasts, deliveries and snapshots."""
MOST = 40
"""A graph has no more nodes than this, however many would belong in it."""

_SHOWN = Broadcast | Deliver | Restore


def witness_graph(events: Iterable[Event], violation: Violation) -> nx.DiGraph:
    """Draw up the graph of `violation`, which was found in the trace `events`.

    Nodes and edges have the attributes of `Causality.to_networkx`, and moreover: a node of the witness `witness`, "W1"
    for its first event, and so on, as in all reports; a node of something that is not in the trace `never`, and no
    `position`; a marked edge `mark`, "broken" or "missing", and `why`, in a few words. The rule of an edge is "clash"
    where two events may not be in one trace, and "missing" where that is its mark. A delivery of the witness that a
    snapshot brought is a node behind that of the `Restore`.

    A property that `explanation` does not know gets no mark. At most `MOST` nodes. O(n) for each event of the witness.
    ValueError if an event of the witness is not in the trace, or no property or protocol event.
    """
    causality = Causality(events)
    case = Case(causality, violation)
    explained = EXPLAINED.get(violation.property)
    marks = [] if explained is None else list(explained.edges(case))
    graph = causality.reduction(_positions_to_show(case))
    _complete(case, graph)
    for first, second, mark, why in marks:
        if not graph.has_edge(first, second):
            graph.add_edge(first, second, rule=_rule(causality, graph, first, second, mark))
        graph.edges[first, second].update(mark=mark, why=clean(why))
    return graph


def graph_of(story: Story) -> nx.DiGraph:
    """Draw up the graph of the violation that the story is about. ValueError if no property is violated."""
    if story.violation is None:
        raise ValueError("no property is violated, so there is no witness to draw a graph of")
    return witness_graph((event for _, event in story.trace), story.violation)


def _rule(causality: Causality, graph: nx.DiGraph, first: Node, second: Node, mark: str) -> str:
    if mark == "missing":
        return mark
    if isinstance(first, int) and isinstance(second, int):
        return causality.rule(first, second) or "clash"
    # A snapshot brought one of them, or both.
    return "local" if graph.nodes[first]["process"] == graph.nodes[second]["process"] else "clash"


def _positions_to_show(case: Case) -> list[int]:
    causality = case.causality
    brought = sum(map(case.is_brought, range(len(case.witness))))
    room = MOST - brought - len(case.never)
    own = list(dict.fromkeys([*case.others, *case.positions[-1:], *case.positions]))[:room]
    casts = [
        position
        for event in case.witness
        if isinstance(event, Broadcast | Deliver)
        for position in causality.broadcasts(event.txn)[:2]  # two are enough to see that there are several
    ]
    nodes = list(dict.fromkeys([*own, *casts]))[:room]
    past = [each for each in causality.past(*nodes) if isinstance(causality.events[each], _SHOWN)]
    whole = list(dict.fromkeys([*nodes, *past]))
    if len(whole) + brought + len(case.never) <= WHOLE:
        return whole
    for end in own:
        for chain in causality.chains(own, end):
            longer = list(dict.fromkeys([*nodes, *chain]))
            if len(longer) <= room:
                nodes = longer
    return nodes


def _complete(case: Case, graph: nx.DiGraph) -> None:
    """Add the nodes and edges that the relation does not know, and name the witness."""
    for number, event in enumerate(case.witness):
        node, position = case.at(number), case.positions[number]
        if position not in graph:
            continue  # there was no room
        if case.is_brought(number):
            graph.add_node(node, position=position, **attributes(event))
            graph.nodes[node]["label"] += " with a snapshot"
            graph.add_edge(position, node, rule="restores")
        graph.nodes[node]["witness"] = case.labels[event]
    graph.add_nodes_from(case.never.items())
