"""The graph of a counterexample: the witness in its causal past, and the edge that breaks the property.

It shows the events of the witness and what led to them by PO-precedence: broadcasts, deliveries and snapshots, reduced
transitively. What breaks the property is an edge with a mark:

- "broken": the two are in an order, or side by side, in which they must not be;
- "missing": the one must precede the other, and does not. If it is nowhere in the trace, it is a node of its own that
  says `never`.

How a witness is made up is said in the docstring of each property's module; the table at the end of this one says which
of its events the mark joins.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Literal, NamedTuple

import networkx as nx

from invariants import (
    AckEpoch,
    Broadcast,
    Deliver,
    Event,
    Judge,
    Local,
    Promise,
    Restore,
    Stabilised,
    Txn,
    Violation,
    select,
)
from invariants.stabilised import Liveness
from zabcheck.counterexample.causality import Causality, attributes
from zabcheck.counterexample.pieces import labels_of
from zabcheck.counterexample.story import Story
from zabcheck.text.words import clean, name, sentence

WHOLE = 15
"""Up to so many nodes the whole causal past is shown: its broadcasts, deliveries and snapshots."""
MOST = 40
"""A graph has no more nodes than this, however many would belong in it."""

_SHOWN = Broadcast | Deliver | Restore
_Node = int | str
"""A position in the trace; or "W1" for a delivery that a snapshot brought, "N1" for what never happened."""


class _Mark(NamedTuple):
    first: _Node
    second: _Node
    mark: Literal["broken", "missing"]
    why: str


def witness_graph(events: Iterable[Event], violation: Violation) -> nx.DiGraph:
    """The graph of `violation`, which was found in the trace `events`.

    Nodes and edges have the attributes of `Causality.to_networkx`, and moreover: a node of the witness `witness`, "W1"
    for its first event, and so on, as in all reports; a node of something that is not in the trace `never`, and no
    `position`; a marked edge `mark`, "broken" or "missing", and `why`, in a few words. The rule of an edge is "clash"
    where two events may not be in one trace, and "missing" where that is its mark. A delivery of the witness that a
    snapshot brought is a node behind that of the `Restore`.

    At most `MOST` nodes. O(n) for each event of the witness. ValueError if an event of the witness
    is not in the trace, or no property or protocol event.
    """
    causality = Causality(events)
    case = _Case(causality, violation)
    marks = list(_MARKS.get(violation.property, _no_marks)(case))
    graph = causality.reduction(case.nodes())
    case.complete(graph)
    for first, second, mark, why in marks:
        if not graph.has_edge(first, second):
            graph.add_edge(first, second, rule=_rule(causality, graph, first, second, mark))
        graph.edges[first, second].update(mark=mark, why=clean(why))
    return graph


def graph_of(story: Story) -> nx.DiGraph:
    """The graph of what the story is about. ValueError if no property is violated."""
    if story.violation is None:
        raise ValueError("no property is violated, so there is no witness to draw a graph of")
    return witness_graph((event for _, event in story.trace), story.violation)


def _rule(causality: Causality, graph: nx.DiGraph, first: _Node, second: _Node, mark: str) -> str:
    if mark == "missing":
        return mark
    if isinstance(first, int) and isinstance(second, int):
        return causality.rule(first, second) or "clash"
    # A snapshot brought one of them, or both.
    return "local" if graph.nodes[first]["process"] == graph.nodes[second]["process"] else "clash"


class _Case:
    """The events of a witness where they are in the trace, and what else its graph needs."""

    def __init__(self, causality: Causality, violation: Violation) -> None:
        self.causality = causality
        self.witness: tuple[Any, ...] = violation.witness  # the kinds of event are those that the property tells
        self.positions = _positions(causality, violation.witness)
        self.labels = labels_of(violation)
        self.others: list[int] = []  # that marks join
        self.never: dict[str, dict[str, Any]] = {}

    def at(self, number: int) -> _Node:
        """The node of the witness's event `number`, from 0."""
        position, event = self.positions[number], self.witness[number]
        return self.labels[event] if self._is_brought(number) else position

    def _is_brought(self, number: int) -> bool:
        position, event = self.positions[number], self.witness[number]
        return isinstance(event, Deliver) and self.causality.events[position] != event

    def no(self, event: Local) -> str:
        """The node of an event that is not in the trace."""
        return self._no(attributes(event))

    def undelivered(self, actor: Local, txn: Txn) -> str:
        """The node of a delivery that the incarnation of `actor` lacks; it may have it in a sequence of another
        snapshot, each of which counts by itself (see `invariants.record`)."""
        event = Deliver(*_actor(actor), txn)
        node = attributes(event)
        if event in self.causality:
            node["label"] += " in this sequence"
        return self._no(node)

    def nothing(self, label: str, kind: str, process: int | None = None) -> str:
        """The node of something that is not in the trace, if no event says it."""
        return self._no({"kind": kind, "label": clean(label), **({} if process is None else {"process": process})})

    def _no(self, node: dict[str, Any]) -> str:
        label = f"N{len(self.never) + 1}"
        self.never[label] = {**node, "never": True}
        return label

    def later(self, actor: Local, txn: Txn, position: int) -> _Node:
        """The first delivery of `txn` by the incarnation of `actor` behind `position`; if there is none, that."""
        causality = self.causality
        for each in causality:
            event = causality.events[each]
            if each > position and isinstance(event, Deliver | Restore) and _actor(event) == _actor(actor):
                if not causality.delivers(each, txn):
                    continue
                wanted = Deliver(*_actor(actor), txn)
                for number, place in enumerate(self.positions):
                    if place == each and self.witness[number] == wanted:
                        return self.at(number)
                self.others.append(each)
                return each
        return self.undelivered(actor, txn)

    def nodes(self) -> list[int]:
        """The positions to show."""
        causality = self.causality
        brought = sum(map(self._is_brought, range(len(self.witness))))
        room = MOST - brought - len(self.never)
        own = list(dict.fromkeys([*self.others, *self.positions[-1:], *self.positions]))[:room]
        casts = [
            position
            for event in self.witness
            if isinstance(event, Broadcast | Deliver)
            for position in causality.broadcasts(event.txn)[:2]  # two are enough to see that there are several
        ]
        nodes = list(dict.fromkeys([*own, *casts]))[:room]
        past = [each for each in causality.past(*nodes) if isinstance(causality.events[each], _SHOWN)]
        whole = list(dict.fromkeys([*nodes, *past]))
        if len(whole) + brought + len(self.never) <= WHOLE:
            return whole
        for end in own:
            for chain in causality.chains(own, end):
                longer = list(dict.fromkeys([*nodes, *chain]))
                if len(longer) <= room:
                    nodes = longer
        return nodes

    def complete(self, graph: nx.DiGraph) -> None:
        """Put in what the relation does not know, and name the witness."""
        for number, event in enumerate(self.witness):
            node, position = self.at(number), self.positions[number]
            if position not in graph:
                continue  # there was no room
            if self._is_brought(number):
                graph.add_node(node, position=position, **attributes(event))
                graph.nodes[node]["label"] += " with a snapshot"
                graph.add_edge(position, node, rule="restores")
            graph.nodes[node]["witness"] = self.labels[event]
        graph.add_nodes_from(self.never.items())


def _actor(event: Local) -> tuple[int, int]:
    return event.process, event.incarnation


# Where the events of a witness are.


def _positions(causality: Causality, witness: Sequence[Event]) -> list[int]:
    """Where each event of a witness is: as a rule the first that is equal to it.

    Where a witness shows two events of one process in a row, it means them in this order, and those that are closest to
    each other: an event may have come before, without being part of what is shown.
    """
    places = _places(causality, witness)
    found: list[int] = []
    while len(found) < len(witness):
        number = len(found)
        first, *rest = witness[number : number + 2]
        pair = None
        if rest and isinstance(first, Local) and isinstance(rest[0], Local) and first.process == rest[0].process:
            line = _line(causality, first.process)
            shown = max((place for place in found if place in line), default=-1)
            later = [place for place in places[number] if place > shown]
            pair = _closest(line, later or places[number], places[number + 1], first == rest[0])
        found += pair or places[number][:1]
    return found


def _line(causality: Causality, process: int) -> dict[int, int]:
    """The nodes of a process, and which of them it is."""
    own = [each for each in causality if getattr(causality.events[each], "process", None) == process]
    return {position: number for number, position in enumerate(own)}


def _places(causality: Causality, witness: Sequence[Event]) -> list[list[int]]:
    """All positions where each event of a witness may be. One of a primary's broadcasts counts, the first."""
    places: dict[Event, list[int]] = {event: [] for event in witness}
    restores = []
    for position in causality:
        event = causality.events[position]
        if event in places and not (places[event] and isinstance(event, Broadcast)):
            places[event].append(position)
        if isinstance(event, Restore):
            restores.append((position, event))
    for event, found in places.items():
        if not found and isinstance(event, Deliver):
            found += [
                position
                for position, restore in restores
                if _actor(restore) == _actor(event)
                and (causality.delivers(position, event.txn) or restore.zxid == event.txn.zxid)
            ]
        if not found:
            raise ValueError(f"an event of the witness is not in the trace: {clean(sentence(event))}")
    return [places[event] for event in witness]


def _closest(line: dict[int, int], firsts: Sequence[int], seconds: Sequence[int], apart: bool) -> list[int] | None:
    """Of a first and a second behind it the two that are closest; they are one if a snapshot brought both."""
    pairs = []
    for second in seconds:
        behind = bisect_left(firsts, second) if apart else bisect_right(firsts, second)
        if behind:
            first = firsts[behind - 1]
            pairs.append((line[second] - line[first], first, second))
    return list(min(pairs)[1:]) if pairs else None


# What is marked, by property.


def _no_marks(case: _Case) -> Iterator[_Mark]:
    yield from ()


def _in_order(why: str, first: int = 0, second: int = 1) -> Callable[[_Case], Iterator[_Mark]]:
    """Two events that must not be in this order, or not both. `why` is a format: {0} is the first of the witness."""

    def marks(case: _Case) -> Iterator[_Mark]:
        yield _Mark(case.at(first), case.at(second), "broken", why.format(*case.witness))

    return marks


def _left_out(case: _Case) -> Iterator[_Mark]:
    """…, …, p delivers b, and, later or never, a, which the first event is about."""
    a, delivery = case.witness[0].txn, case.witness[2]
    if len(case.witness) > 3:
        yield _Mark(case.at(2), case.at(3), "broken", f"{a} has to come first")
    else:
        yield _Mark(case.undelivered(delivery, a), case.at(2), "missing", "it must be delivered too")


def _integrity(case: _Case) -> Iterator[_Mark]:
    [event] = case.witness
    if isinstance(event, Deliver):
        nobody = case.nothing(f"somebody broadcasts {event.txn}", "broadcast")
        yield _Mark(nobody, case.at(0), "missing", "nobody broadcast it")
    else:
        nobody = case.nothing("somebody delivers this prefix", "deliver")
        yield _Mark(nobody, case.at(0), "missing", "nobody delivered it")


def _agreement(case: _Case) -> Iterator[_Mark]:
    first, second = case.witness
    for number, event, other in ((0, first, second), (1, second, first)):
        never = case.undelivered(event, other.txn)
        yield _Mark(case.at(number), never, "missing", "one of the two has to be there")


def _primary_integrity(case: _Case) -> Iterator[_Mark]:
    first, second, _ = case.witness
    delivery = case.later(second, first.txn, case.positions[1])
    yield _Mark(delivery, case.at(1), "missing", f"epoch {first.epoch} comes first")


def _strict_causality(case: _Case) -> Iterator[_Mark]:
    for first, second in ((0, 1), (1, 0)):
        yield _Mark(case.at(first), case.at(second), "missing", "neither precedes the other")


def _reliable_delivery(case: _Case) -> Iterator[_Mark]:
    delivery, stabilised = case.witness
    yield _Mark(
        case.at(0), _lagging(case, "reliable delivery", stabilised, delivery.txn), "missing", "it has to follow"
    )


def _convergence(case: _Case) -> Iterator[_Mark]:
    stabilised, *broadcast = case.witness
    if broadcast:
        never = _lagging(case, "convergence", stabilised, broadcast[0].txn)
        yield _Mark(case.at(1), never, "missing", "it has to follow")
    else:
        never = case.nothing(f"{name(*_actor(stabilised))} broadcasts something", "broadcast", stabilised.process)
        yield _Mark(case.at(0), never, "missing", "it has to follow")


def _lagging(case: _Case, property_: str, stabilised: Stabilised, txn: Txn) -> str:
    """The delivery that the least member of a quorum lacks."""
    judge = Judge(select([property_]), "per-process")
    for event in case.causality.events:
        judge.observe(event)
    [invariant] = judge.invariants
    assert isinstance(invariant, Liveness)
    member = next(invariant.lacking(stabilised, txn))
    incarnation = max(0, judge.record.incarnation(member))
    return case.no(Deliver(member, incarnation, txn))


def _invariant_1(case: _Case) -> Iterator[_Mark]:
    *adopt, accept = case.witness
    if adopt:
        yield _Mark(case.at(0), case.at(1), "broken", f"f.a is {adopt[0].epoch}, not {accept.epoch}")
    else:
        label = f"{name(*_actor(accept))} accepts the initial history of epoch {accept.epoch}"
        yield _Mark(case.nothing(label, "adopt", accept.process), case.at(0), "missing", "f.a is ⊥")


def _invariant_3(case: _Case) -> Iterator[_Mark]:
    *promise, event = case.witness
    if promise:
        yield _Mark(case.at(0), case.at(1), "broken", f"epoch {promise[0].epoch} was promised, not {event.epoch}")
    else:
        yield _Mark(case.no(Promise(*_actor(event), event.epoch)), case.at(0), "missing", "not promised")


def _invariant_4(case: _Case) -> Iterator[_Mark]:
    [event] = case.witness
    if isinstance(event, AckEpoch):
        label = f"{name(*_actor(event))} has this history, up to {event.zxid}"
        yield _Mark(case.nothing(label, "accept", event.process), case.at(0), "missing", "it has another one")
    else:
        label = f"a follower provides this history, up to {event.zxid}"
        yield _Mark(case.nothing(label, "ack_epoch"), case.at(0), "missing", "nobody provided it")


def _chosen(case: _Case) -> Iterator[_Mark]:
    last = len(case.witness) - 1
    quorum = case.nothing(f"a quorum accepts {case.witness[last].txn}", "accept")
    yield _Mark(quorum, case.at(last), "missing", "no quorum accepted it")


_MARKS: dict[str, Callable[[_Case], Iterator[_Mark]]] = {
    "integrity": _integrity,
    "total order": _left_out,
    "agreement": _agreement,
    "local primary order": _left_out,
    "global primary order": _in_order("epoch {0.epoch} comes first", 2, 3),
    "primary integrity": _primary_integrity,
    "po causal order": _left_out,
    "strict causality": _strict_causality,
    "clock": _in_order("delivered before it was broadcast", 1, 0),
    "prefix": _left_out,
    "causal order": _in_order("{3.txn} has to come first", 2, 3),
    "redelivery": _in_order("{1.txn} comes next", 2, 3),
    "invariant 1": _invariant_1,
    "invariant 2": _in_order("the zxid is not higher"),
    "invariant 3": _invariant_3,
    "invariant 4": _invariant_4,
    "invariant 5": _in_order("not what was broadcast next"),
    "chosen": _chosen,
    "epoch uniqueness": _in_order("two leaders of epoch {0.epoch}"),
    "zxid uniqueness": _in_order("both are {0.txn.zxid}"),
    "convergence": _convergence,
    "reliable delivery": _reliable_delivery,
    "state": _in_order("not the same state"),
    "durability": _in_order("it has to be there"),
    "final agreement": _in_order("not the same"),
}
