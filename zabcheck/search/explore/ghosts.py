"""What each property still needs to know, as a number; and what the events of a step make of it.

The properties are judged by their own judges: one for those that read the same record, one for each of the others, so
that each knows little and has few states. A judge that has been shown some events is kept, and its number stands for
it; one that still knows the same (`invariants.identity`) has the same number. Every state is judged as if the trace
ended in it, so a property is violated in the first state in which it is.

In the parts of a state every process is in its first incarnation; here they are numbered as in the trace.
"""

from collections.abc import Hashable, Sequence
from typing import NamedTuple

from msgspec.structs import replace

from invariants import Event, Invariant, Judge, Local, Recover
from invariants.identity import identity
from invariants.quorums import Quorums
from zabcheck.search.explore.parts import NOTHING, Names, Parts

Group = tuple[type[Invariant], ...]
_ONE_RECORD = ("core", "causality", "ladis")


def groups_of(properties: Sequence[type[Invariant]]) -> list[Group]:
    """Those of DSN 2011, III and of LADIS 2008 together, each other one by itself."""
    together = tuple(kind for kind in properties if kind.group in _ONE_RECORD)
    alone = [(kind,) for kind in properties if kind.group not in _ONE_RECORD]
    return [*([together] if together else []), *alone]


class _Ghost(NamedTuple):
    """A judge, and the incarnation that each process is in."""

    judge: Judge
    incarnations: tuple[int, ...]


class Ghosts:
    """One group of properties. Number 0 is what they know at the start."""

    def __init__(self, group: Group, quorums: Quorums) -> None:
        judge = Judge(group, quorums=quorums)
        self.looks_at = frozenset(judge.observers) | {Recover}
        self.broken: list[str | None] = [None]
        """By number: the property that is violated."""
        self.exercised: dict[str, bool] = {kind.name: False for kind in group}
        self._ghosts = [_Ghost(judge, (0,) * (quorums.size + 1))]
        self._ids: dict[Hashable, int] = {self._identity(self._ghosts[0]): 0}
        self._next: dict[tuple[int, int], int] = {}
        self._came_from: list[tuple[int, int]] = [(0, NOTHING)]
        """By number: the ghost before, and the number of the events that led from there."""
        self._renamed: dict[tuple[int, Names], int] = {}

    def after(self, ghost: int, number: int, events: Sequence[Event]) -> int:
        """What is known after `events`, which have this number. O(1) if that was asked before."""
        key = (ghost, number)
        found = self._next.get(key)
        if found is None:
            found = self._next[key] = self._observe(ghost, number, events)
        return found

    def renamed(self, ghost: int, names: Names, parts: Parts) -> int:
        """What is known if every process had its new name from the start."""
        waiting: list[int] = []
        while ghost and (ghost, names) not in self._renamed:
            waiting.append(ghost)
            ghost = self._came_from[ghost][0]
        found = self._renamed[ghost, names] if ghost else 0
        for each in reversed(waiting):
            events = parts.renamed_events(self._came_from[each][1], names)
            found = self._renamed[each, names] = self.after(found, events, parts.events[events])
        return found

    def _observe(self, ghost: int, events_number: int, events: Sequence[Event]) -> int:
        seen = [event for event in events if type(event) in self.looks_at]
        if not seen:
            return ghost
        before = self._ghosts[ghost]
        judge, incarnations = before.judge.fork(), list(before.incarnations)
        for event in seen:
            if isinstance(event, Local):
                shown = replace(event, incarnation=before.incarnations[event.process] + event.incarnation)
                incarnations[event.process] = shown.incarnation
                judge.observe(shown)
        after = _Ghost(judge, tuple(incarnations))
        identity_ = self._identity(after)
        number = self._ids.get(identity_)
        if number is not None:
            return number
        verdicts = judge.finish()
        broken = next((verdict.property for verdict in verdicts if verdict.status == "violated"), None)
        for verdict in verdicts:
            self.exercised[verdict.property] |= verdict.judged > 0
        number = self._ids[identity_] = len(self._ghosts)
        self._ghosts.append(after)
        self._came_from.append((ghost, events_number))
        self.broken.append(broken)
        return number

    def _identity(self, ghost: _Ghost) -> Hashable:
        return identity(ghost.judge), ghost.incarnations
