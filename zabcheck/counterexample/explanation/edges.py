"""The edge that breaks a property, in the graph of its witness (see `zabcheck.counterexample.witness_graph`).

`Case` has the events of a witness, each where it is in the trace. The edges of a property are a function that takes the
case and yields marks; `in_order` and `left_out` are for what several properties have in common.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Literal, NamedTuple

from zabcheck.counterexample.causality import Causality, attributes
from zabcheck.counterexample.pieces import labels_of
from zabcheck.invariants import Broadcast, Deliver, Event, Local, Restore, Txn, Violation
from zabcheck.text.words import clean, sentence

Node = int | str
"""A position in the trace; or "W1" for a delivery that a snapshot brought, "N1" for what never happened."""


class Mark(NamedTuple):
    """An edge with a mark, from node `first` to node `second`, and `why` it breaks the property, in a few words.

    "broken": the two are in an order, or side by side, in which they must not be. "missing": the first must precede the
    second, and does not.
    """

    first: Node
    second: Node
    mark: Literal["broken", "missing"]
    why: str


class Case:
    """The events of a witness where they are in the trace, and the nodes that marks have added."""

    def __init__(self, causality: Causality, violation: Violation) -> None:
        self.causality = causality
        self.witness: tuple[Any, ...] = violation.witness  # the kinds of event are those that the property tells
        self.positions = _positions(causality, violation.witness)
        self.labels = labels_of(violation)
        self.others: list[int] = []
        """Positions of other events that a mark joins."""
        self.never: dict[str, dict[str, Any]] = {}
        """Nodes of what is not in the trace, by name, with their attributes."""

    def at(self, number: int) -> Node:
        """Return the node of event `number` of the witness, from 0."""
        position, event = self.positions[number], self.witness[number]
        return self.labels[event] if self.is_brought(number) else position

    def is_brought(self, number: int) -> bool:
        """Return True if event `number` of the witness is a delivery that a snapshot brought."""
        position, event = self.positions[number], self.witness[number]
        return isinstance(event, Deliver) and self.causality.events[position] != event

    def no(self, event: Local) -> str:
        """Return a new node, of an event that is not in the trace."""
        return self._no(attributes(event))

    def undelivered(self, actor: Local, txn: Txn) -> str:
        """Return a new node, of a delivery that the incarnation of `actor` lacks.

        It may have it in a sequence of another snapshot, each of which counts by itself (see `invariants.record`).
        """
        event = Deliver(*actor_of(actor), txn)
        node = attributes(event)
        if event in self.causality:
            node["label"] += " in this sequence"
        return self._no(node)

    def nothing(self, label: str, kind: str, process: int | None = None) -> str:
        """Return a new node, of something that is not in the trace and that no kind of event tells."""
        return self._no({"kind": kind, "label": clean(label), **({} if process is None else {"process": process})})

    def _no(self, node: dict[str, Any]) -> str:
        label = f"N{len(self.never) + 1}"
        self.never[label] = {**node, "never": True}
        return label

    def later(self, actor: Local, txn: Txn, position: int) -> Node:
        """Return the node of the first delivery of `txn` behind `position` by the incarnation of `actor`.

        If there is none, that is a new node, of what is not in the trace.
        """
        causality = self.causality
        for each in causality:
            event = causality.events[each]
            if each > position and isinstance(event, Deliver | Restore) and actor_of(event) == actor_of(actor):
                if not causality.delivers(each, txn):
                    continue
                wanted = Deliver(*actor_of(actor), txn)
                for number, place in enumerate(self.positions):
                    if place == each and self.witness[number] == wanted:
                        return self.at(number)
                self.others.append(each)
                return each
        return self.undelivered(actor, txn)


def actor_of(event: Local) -> tuple[int, int]:
    """Return the process and the incarnation."""
    return event.process, event.incarnation


# Where the events of a witness are.


def _positions(causality: Causality, witness: Sequence[Event]) -> list[int]:
    """Return the position of each event of a witness: as a rule that of the first event that is equal to it.

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
    """Return the nodes of a process, each with its number among these."""
    own = [each for each in causality if getattr(causality.events[each], "process", None) == process]
    return {position: number for number, position in enumerate(own)}


def _places(causality: Causality, witness: Sequence[Event]) -> list[list[int]]:
    """Return all positions where each event of a witness may be. Of equal broadcasts only the first counts."""
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
                if actor_of(restore) == actor_of(event)
                and (causality.delivers(position, event.txn) or restore.zxid == event.txn.zxid)
            ]
        if not found:
            raise ValueError(f"an event of the witness is not in the trace: {clean(sentence(event))}")
    return [places[event] for event in witness]


def _closest(line: dict[int, int], firsts: Sequence[int], seconds: Sequence[int], apart: bool) -> list[int] | None:
    """Return a first and a second position, in this order, that are closest to each other; None if there are none."""
    pairs = []
    for second in seconds:
        behind = bisect_left(firsts, second) if apart else bisect_right(firsts, second)
        if behind:
            first = firsts[behind - 1]
            pairs.append((line[second] - line[first], first, second))
    return list(min(pairs)[1:]) if pairs else None


# What several properties have in common.

Marks = Callable[[Case], Iterator[Mark]]
"""The marked edges of one property."""


def in_order(why: str, first: int = 0, second: int = 1) -> Callable[[Case], Iterator[Mark]]:
    """Mark two events of the witness, by number, that must not be in this order, or not both be there.

    `why` is a format: {0} stands for the first event of the witness, {1} for the second.
    """

    def marks(case: Case) -> Iterator[Mark]:
        yield Mark(case.at(first), case.at(second), "broken", why.format(*case.witness))

    return marks


def left_out(case: Case) -> Iterator[Mark]:
    """Mark a delivery that came too late, or never. The witness: about a, …, p delivers b, p delivers a (if ever)."""
    a, delivery = case.witness[0].txn, case.witness[2]
    if len(case.witness) > 3:
        yield Mark(case.at(2), case.at(3), "broken", f"{a} has to come first")
    else:
        yield Mark(case.undelivered(delivery, a), case.at(2), "missing", "it must be delivered too")
