"""The tree as far as a history proves it: the known changes of each node, and how long each state lasted at least.

An answer as of zxid z with a Stat proves that the data of the node did not change from its `mzxid` to z, nor its
children from its `pzxid` to z. An acknowledged write proves a change. So each node has sightings: spans of zxids in
which it had one state. Two that overlap and differ contradict each other, whoever saw them. One look-up finds such a
pair; no order has to be searched for.
"""

from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator
from functools import cached_property
from itertools import pairwise
from operator import attrgetter
from typing import NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from zabcheck.zookeeper.clients.exchange import Effect, Exchange, Operation, effects_of, is_restricted
from zabcheck.zookeeper.clients.history import NOBODY, Answer, Content, InitialNode, Result, Stat, content_of

ROOT = "/"
UNKNOWN_VERSION = -1
"""The version of a node after a set that was answered without a Stat; its czxid, pzxid and owner are unknown too."""
_SPAN = attrgetter("start", "until")
READS = ("getData", "exists", "getChildren", "getACL")
"""The operations that read one node."""
ENDING = frozenset(("ephemeral", "container", "ttl"))
"""The modes of nodes that end by themselves."""


class Sighting(Struct, frozen=True, eq=False):
    """A node as an operation showed it, or its absence if `stat` is None, from zxid `start` to `until`.

    `content` and `children` are None where the operation does not show them.
    """

    start: int
    until: int
    stat: Stat | None
    content: Content | None
    children: tuple[str, ...] | None
    by: Operation | InitialNode
    is_change: bool
    """True if the operation made this state, False if it only read it."""


class Conflict(NamedTuple):
    """Two sightings of a node that contradict each other: `change` begins within `stale`, which began earlier."""

    path: str
    stale: Sighting
    change: Sighting


Sightings = dict[tuple[str, Content], list[Sighting]]
"""Sightings by path and content."""


class Changes:
    """States of one node, or of several, sorted by `start`."""

    def __init__(self, states: list[Sighting]) -> None:
        self.states = states
        self.starts = [seen.start for seen in states]

    def next(self, zxid: int) -> Sighting | None:
        """Return the first state after `zxid`."""
        index = bisect_right(self.starts, zxid)
        return self.states[index] if index < len(self.states) else None

    def last(self, after: int, until: int) -> Sighting | None:
        """Return the last state after one zxid and up to another; of several that began at once the first."""
        index = bisect_right(self.starts, until) - 1
        if index < 0 or self.starts[index] <= after:
            return None
        return self.states[bisect_left(self.starts, self.starts[index])]


_NONE = Changes([])
_NO_SPANS: tuple[list[int], list[Sighting], bool] = [], [], False


class Tree:
    """The sightings of all nodes in a history. Each list is sorted by `start`."""

    def __init__(self, exchange: Exchange, lasting: Collection[str] = ()) -> None:
        """Make the tree; `lasting` has the paths of ephemerals whose sessions are known not to have ended."""
        self._lasting = lasting
        self.data: dict[str, list[Sighting]] = defaultdict(list)
        """By path: the sightings of its data, each from the transaction that set the data, or deleted the node."""
        self.children: dict[str, list[Sighting]] = defaultdict(list)
        """By path: the sightings of its children, each from the transaction that last created or deleted one."""
        self.unsettled: set[str] = set()
        """The paths that a write of unknown outcome may have changed, and those of nodes that end by themselves."""
        self.restricted: set[str] = set()
        """The paths of nodes that not everybody may have been allowed to read at some time."""
        self._owns = exchange.owns
        self.complete = exchange.header.complete
        self._complete = tuple(top.rstrip("/") + "/" for top in self.complete)
        for node in exchange.nodes:
            self._look(node.path, node.stat, node.zxid, content_of(node.data), None, node)
        for operation in exchange.operations:
            if operation.is_known:
                self._add(operation)
            elif operation.is_write:
                self.unsettled.update(each.path for each in effects_of(operation))
            if is_restricted(operation.request) and (operation.is_done or not operation.is_known):
                self.restricted.update(each.created for each in effects_of(operation))
        for lists in (self.data, self.children):
            for sightings in lists.values():
                sightings.sort(key=_SPAN)
        self._changes = {path: Changes([*filter(is_state, sightings)]) for path, sightings in self.data.items()}
        self._spans = {
            path: (changes.starts, _running(changes.states), path not in self.unsettled and self.is_complete(path))
            for path, changes in self._changes.items()
        }
        self._below: dict[str, Changes] = {}

    def _add(self, operation: Operation) -> None:
        if operation.is_write:
            if operation.is_done:
                for effect in _last_effects(operation):
                    self._change(operation, effect)
            return
        request = operation.request
        if request.op == "multiRead":
            for effect in effects_of(operation):
                self._read(effect.op, effect.path, effect.result, operation)
        elif request.path is not None:
            self._read(request.op, request.path, operation.answer, operation)

    def _read(self, op: str, path: str, result: Answer | Result | None, by: Operation) -> None:
        if op not in READS or result is None:
            return
        if result.error == "NoNode" and by.zxid:
            if self._owns(path):
                self.data[path].append(Sighting(by.zxid, by.zxid, None, None, None, by, False))
        elif result.error == "" and result.stat is not None:
            content = content_of(result.data) if op == "getData" else None
            self._look(path, result.stat, by.zxid, content, result.children, by)

    def _change(self, operation: Operation, effect: Effect) -> None:
        zxid, path, stat = operation.zxid, effect.created, getattr(effect.result, "stat", None)
        if effect.op == "create":
            if stat is None and zxid:
                owner = operation.session if "ephemeral" in effect.mode else NOBODY
                stat = Stat(zxid, zxid, zxid, 0, 0, ephemeral_owner=owner)
            if effect.mode and not ENDING.isdisjoint(effect.mode) and path not in self._lasting:
                self.unsettled.add(path)
        elif effect.op == "setData" and stat is None and zxid:
            version = UNKNOWN_VERSION if effect.version < 0 else effect.version + 1
            stat = Stat(0, zxid, 0, version)
        start = zxid or (stat.mzxid if stat is not None else 0)
        if effect.op not in ("create", "setData", "delete"):
            return
        if not start:
            self.unsettled.add(path)  # nobody knows when
            return
        if self._owns(path):
            if effect.op == "delete":
                self.data[path].append(Sighting(start, start, None, None, None, operation, True))
            elif stat is not None:
                self.data[path].append(Sighting(start, start, stat, effect.content, None, operation, True))
        if effect.op in ("create", "delete") and self._owns(parent(path)):
            self.children[parent(path)].append(Sighting(start, start, None, None, None, operation, True))

    def _look(
        self,
        path: str,
        stat: Stat,
        zxid: int,
        content: Content | None,
        children: tuple[str, ...] | None,
        by: Operation | InitialNode,
    ) -> None:
        if not self._owns(path):
            return
        changed, below = stat.mzxid, stat.pzxid
        self.data[path].append(
            Sighting(changed, zxid if zxid > changed else changed, stat, content, children, by, False)
        )
        self.children[path].append(Sighting(below, zxid if zxid > below else below, stat, None, children, by, False))

    @cached_property
    def reads(self) -> list[tuple[str, list[Sighting]]]:
        """The sightings of each node that are reads, by path."""
        return [(path, [seen for seen in self.data[path] if not seen.is_change]) for path in sorted(self.data)]

    def with_content(self, wanted: Sightings) -> Sightings:
        """Add the sightings of each content of each node that is wanted, and return them. O(sightings)."""
        for path in sorted({path for path, _ in wanted}):
            for seen in self.data.get(path, ()):
                if seen.content is not None and (path, seen.content) in wanted:
                    wanted[path, seen.content].append(seen)
        return wanted

    def is_complete(self, path: str) -> bool:
        """Return True if all writers of this node are recorded."""
        return path.startswith(self._complete) or path in self.complete

    @cached_property
    def _unsettled_or_above(self) -> set[str]:
        return {above for path in self.unsettled for above in (path, *ancestors(path))}

    def may_change_unseen(self, path: str) -> bool:
        """Return True if this node, or one below it, may have changed without a record of it."""
        return path in self._unsettled_or_above

    def state_at(self, path: str, zxid: int) -> Sighting | None:
        """Return the sighting that shows the node as of `zxid`; None if nothing proves how it was. O(log sightings)."""
        starts, longest, is_settled = self._spans.get(path, _NO_SPANS)
        index = bisect_right(starts, zxid) - 1
        if index < 0:
            return None
        seen = longest[index]
        return seen if is_settled or seen.until >= zxid else None

    def changes(self, path: str) -> Changes:
        """Return the known changes of a node."""
        return self._changes.get(path, _NONE)

    @cached_property
    def _ends(self) -> dict[str, Changes]:
        return {
            path: Changes([seen for seen in changes.states if seen.stat is None])
            for path, changes in self._changes.items()
        }

    def ends(self, path: str) -> Changes:
        """Return the known ends of a node."""
        return self._ends.get(path, _NONE)

    @cached_property
    def _absences(self) -> dict[str, Changes]:
        return {
            path: Changes([seen for seen in sightings if seen.stat is None]) for path, sightings in self.data.items()
        }

    def absences(self, path: str) -> Changes:
        """Return the sightings of a node that was not there."""
        return self._absences.get(path, _NONE)

    @cached_property
    def _changes_of_children(self) -> dict[str, Changes]:
        return {path: Changes(sightings) for path, sightings in self.children.items()}

    def changes_of_children(self, path: str) -> Changes:
        """Return the known changes of a node's children."""
        return self._changes_of_children.get(path, _NONE)

    def changes_below(self, path: str) -> Changes:
        """Return the known changes of all nodes below a node. O(changes) for the first time."""
        if path not in self._below:
            states = [seen for each in self.data if path in ancestors(each) for seen in self.changes(each).states]
            self._below[path] = Changes(sorted(states, key=lambda seen: seen.start))
        return self._below[path]

    @cached_property
    def conflicts(self) -> list[Conflict]:
        """The pairs of sightings of one node's data that contradict each other, by path."""
        return [*self._conflicts()]

    def _conflicts(self) -> Iterator[Conflict]:
        for path in sorted(self.data):
            yield from _conflicts(path, self.data[path])
            for before, seen in pairwise(self.data[path]):
                if before.start == seen.start and (before.stat is None) != (seen.stat is None):
                    yield Conflict(path, *((before, seen) if seen.is_change else (seen, before)))

    def conflicts_of_children(self) -> Iterator[Conflict]:
        """Yield the pairs of sightings of one node's children that contradict each other, by path."""
        for path in sorted(self.children):
            yield from _conflicts(path, self.children[path])


def is_state(seen: Sighting) -> bool:
    """Return True if the state is known to begin at `start`; an absence that was read may have begun earlier."""
    return seen.is_change or seen.stat is not None


def parent(path: str) -> str:
    """Return the path of the node above."""
    return path.rpartition("/")[0] or ROOT


def ancestors(path: str) -> Iterator[str]:
    """Yield the paths of all nodes above, the nearest first."""
    while path != ROOT:
        path = parent(path)
        yield path


def _last_effects(operation: Operation) -> Iterable[Effect]:
    """Return the effects of a write; of those of a multi on one node only the last, as no other can be seen."""
    if operation.request.op != "multi":
        return effects_of(operation)
    last: dict[str, Effect] = {}
    for effect in effects_of(operation):
        if effect.op == "check":
            continue
        before = last.get(effect.created)
        if before is not None and before.op == "create" and effect.op == "setData":
            effect = replace(effect, mode=before.mode)
        last[effect.created] = effect
    return [*last.values()]


def _running(sightings: list[Sighting]) -> list[Sighting]:
    """Return for each of these, sorted by start, the one so far that began last; of equal starts, the longest."""
    longest: list[Sighting] = []
    for seen in sightings:
        before = longest[-1] if longest else None
        longest.append(
            before if before is not None and before.start == seen.start and before.until > seen.until else seen
        )
    return longest


def _conflicts(path: str, sightings: list[Sighting]) -> Iterator[Conflict]:
    reaching: Sighting | None = None  # the longest-lasting of those that began before this one
    candidate: Sighting | None = None  # the longest-lasting of all so far
    reach = begun = last = -1  # the end of `reaching`, and start and end of `candidate`
    for seen in sightings:
        start = seen.start
        if begun < start:
            reaching, reach = candidate, last
        if reaching is not None and reach >= start and not (reaching.stat is None and seen.stat is None):
            yield Conflict(path, reaching, seen)
        if seen.until > last:
            candidate, begun, last = seen, start, seen.until
