"""Promises about watches, all judged in one pass over the answers and events of each connection.

A watch is armed as of the zxid of the answer that set it. The event of the first change of its kind after that has to
come before any answer that is as of the change or later.
"""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import lru_cache, partial
from heapq import heappop, heappush
from itertools import count
from typing import Literal, get_args

from zabcheck.zookeeper.clients.exchange import Connection, Exchange, Operation
from zabcheck.zookeeper.clients.history import Request, WatchEvent
from zabcheck.zookeeper.clients.promise import GUIDE, Findings, Promise
from zabcheck.zookeeper.clients.tree import Changes, Sighting, Tree, ancestors
from zabcheck.zookeeper.wire.zxids import shown

Kind = Literal["data", "exist", "child", "persistent", "recursive"]
_KINDS: tuple[Kind, ...] = get_args(Kind)
_LASTING: tuple[Kind, ...] = ("persistent", "recursive")
_TOLD_BY: dict[str, tuple[Kind, ...]] = {
    "NodeCreated": ("exist",),
    "NodeDataChanged": ("data",),
    "NodeDeleted": ("data", "child", "exist"),
    "NodeChildrenChanged": ("child",),
}
"""The kinds of watches that an event ends, by its type."""
_REMOVED: dict[str, tuple[Kind, ...]] = {
    "data": ("data", "exist"),
    "children": ("child",),
    "persistent": ("persistent",),
    "recursive": ("recursive",),
}
"""The kinds of watches that a removeWatches of some kind removes; one of any other kind removes all."""
_ABOUT = frozenset(("addWatch", "removeWatches", "setWatches"))
"""The operations that only concern watches."""
_NEVER = 1 << 63


@dataclass(slots=True, eq=False)
class ArmedWatch:
    """A watch on a connection, as of zxid `since`; `due` is the zxid of its next known change, or `_NEVER`."""

    path: str
    kind: Kind
    since: int
    by: Operation
    due: int = _NEVER
    change: Sighting | None = None
    is_armed: bool = True


@dataclass(slots=True)
class WatchFindings:
    """The findings on each of the promises about watches."""

    fires: Findings = field(default_factory=Findings)
    cause: Findings = field(default_factory=Findings)
    order: Findings = field(default_factory=Findings)
    rearming: Findings = field(default_factory=Findings)
    persistent: Findings = field(default_factory=Findings)
    removal: Findings = field(default_factory=Findings)


class _Stream:
    """The watches of one connection, while its answers and events are read in order."""

    def __init__(self, connection: Connection, tree: Tree, found: WatchFindings) -> None:
        self.connection = connection
        self.tree = tree
        self.found = found
        self.arms: dict[tuple[str, Kind], ArmedWatch] = {}
        self.ended: dict[tuple[str, Kind], Operation | WatchEvent] = {}
        self.heap: list[tuple[int, int, ArmedWatch]] = []
        self.numbers = count()
        self.place = 0
        self.last: tuple[int, WatchEvent] | None = None
        self.told: dict[tuple[str, str, int], WatchEvent] = {}
        self.resumed: dict[Operation, list[ArmedWatch]] = {}
        self.resuming: set[ArmedWatch] = set()
        self.may_be_set: set[str] = set()
        """The paths at which a watch may be set: the client gave up the request."""
        self.may_be_removed: set[str] = set()
        self.alike: Counter[tuple[str, str]] = Counter()
        """The number of further events of a path and type that may come: setWatches tells a change once for each list
        that has the node."""

    def judge(self) -> None:
        for operation in self.connection.operations:
            if operation.request.op == "setWatches":
                self.resumed[operation] = [
                    self._arm(path, kind, operation.request.relative, operation, is_due=False)
                    for kind, paths in lists_of(operation.request)
                    for path in paths
                ]
                self.resuming.update(self.resumed[operation])
        for item in self.connection.received:
            self.place += 1
            if isinstance(item, WatchEvent):
                self._hear(item)
            elif item.request.watch or item.request.op in _ABOUT or (self.heap and self.heap[0][0] <= item.zxid):
                self._answer(item)

    def _arm(self, path: str, kind: Kind, since: int, by: Operation, is_due: bool = True) -> ArmedWatch:
        standing = self.arms.get((path, kind))
        if standing is not None and standing.is_armed and standing.due != _NEVER:
            return standing  # one event is for both
        arm = self.arms[path, kind] = ArmedWatch(path, kind, since, by)
        self.ended.pop((path, kind), None)
        if is_due and since:
            self._expect(arm, since)
        return arm

    def _expect(self, arm: ArmedWatch, after: int) -> None:
        """Look up the next change, after a zxid, that a watch has to tell."""
        arm.since = after
        arm.change = None
        for each in self._changes(arm):
            seen = each.next(after)
            if seen is not None and (arm.change is None or seen.start < arm.change.start):
                arm.change = seen
        arm.due = arm.change.start if arm.change is not None else _NEVER
        if arm.change is not None:
            heappush(self.heap, (arm.due, next(self.numbers), arm))

    def _changes(self, arm: ArmedWatch) -> Iterator[Changes]:
        yield self.tree.ends(arm.path) if arm.kind == "child" else self.tree.changes(arm.path)
        if arm.kind in ("child", "persistent"):
            yield self.tree.changes_of_children(arm.path)
        if arm.kind == "recursive":
            yield self.tree.changes_below(arm.path)

    # What comes.

    def _answer(self, operation: Operation) -> None:
        zxid = operation.zxid
        if operation in self.resumed and operation.is_done:
            self._resume(operation)
        while self.heap and self.heap[0][0] <= zxid:
            due, _, arm = heappop(self.heap)
            if arm.is_armed and arm.due == due and self.arms.get((arm.path, arm.kind)) is arm:
                self._miss(arm, operation)
        request, path = operation.request, operation.request.path
        if path is None or operation.answer is None:
            return
        if not operation.is_known:
            (self.may_be_removed if request.op == "removeWatches" else self.may_be_set).add(path)
            return
        if request.op == "removeWatches":
            self._look_at_a_removal(path, operation)
        if request.op == "removeWatches" and operation.is_done:
            for kind in _REMOVED.get(request.watch, _KINDS):
                if self.arms.pop((path, kind), None) is not None:
                    self.found.removal.case()
                    self.ended[path, kind] = operation
        elif request.op == "addWatch" and operation.is_done:
            self._arm(path, "recursive" if request.watch == "recursive" else "persistent", zxid, operation)
        elif request.watch and request.op in ("getData", "exists", "getChildren"):
            if operation.is_done:
                self._arm(path, "child" if request.op == "getChildren" else "data", zxid, operation)
            elif request.op == "exists" and operation.answer.error == "NoNode":
                self._arm(path, "exist", zxid, operation)

    def _look_at_a_removal(self, path: str, operation: Operation) -> None:
        """Compare the outcome of a removal with the watches of the node.

        If it is done, there may have been only a watch of another kind: servers keep data watches and persistent ones
        together.
        """
        assert operation.answer is not None
        if path in self.may_be_set or path in self.may_be_removed:
            return
        arms = [arm for kind in _KINDS if (arm := self.arms.get((path, kind))) is not None]
        asked = [arm for arm in arms if arm.kind in _REMOVED.get(operation.request.watch, _KINDS)]
        standing = next((arm for arm in asked if arm.is_armed and arm not in self.resuming), None)
        if operation.is_done and not arms:
            text = f"client {self.connection.client} did not watch {path}, but {operation.name} was done"
            self.found.removal.breach(operation.zxid, f"{text} at {shown(operation.zxid)}", operation)
        elif operation.answer.error == "NoWatcher" and standing is not None:
            text = f"client {self.connection.client} watched {path} as of {shown(standing.since)}"
            text += f", but {operation.name} was refused with NoWatcher"
            self.found.removal.breach(operation.zxid, text, standing.by, operation)

    def _miss(self, arm: ArmedWatch, answer: Operation) -> None:
        """Note that an answer came before the event that was due."""
        found = self.found.persistent if arm.kind in _LASTING else self.found.fires
        arm.is_armed = False
        if arm.path in self.may_be_removed:
            return
        if self._may_be_withheld(arm):
            found.is_undecided = True
            return
        found.case()
        assert arm.change is not None
        text = (
            f"client {self.connection.client} watched {arm.path} as of {shown(arm.since)}, but was answered as of "
            f"{shown(answer.zxid)} before it heard of the change at {shown(arm.due)}"
        )
        found.breach(arm.due, text, arm.by, arm.change.by, answer)

    def _may_be_withheld(self, arm: ArmedWatch) -> bool:
        """Return True if a server may withhold events, as the client may not read the node (since 3.8.4 and 3.9.2).

        A history does not say which clients may.
        """
        if arm.kind == "recursive":
            return any(arm.path in (each, *ancestors(each)) for each in self.tree.restricted)
        return arm.path in self.tree.restricted

    def _resume(self, operation: Operation) -> None:
        """Look for changes that no event told before the answer to setWatches; arm the other watches."""
        since, zxid = operation.request.relative, operation.zxid
        self.resuming.difference_update(self.resumed[operation])
        for arm in self.resumed[operation]:
            self.found.rearming.case()
            if self.arms.get((arm.path, arm.kind)) is not arm or not arm.is_armed:
                continue
            changes = [seen for each in self._changes(arm) if (seen := each.last(since, zxid)) is not None]
            last = max(changes, key=lambda seen: seen.start, default=None)
            is_told = arm.kind not in _LASTING and (arm.kind != "exist" or self._exists(arm.path, zxid))
            if is_told and last is not None and self._may_be_withheld(arm):
                self.found.rearming.is_undecided = True
            elif is_told and last is not None:
                text = (
                    f"{arm.path} changed at {shown(last.start)} while client {self.connection.client}, which had seen "
                    f"{shown(since)}, was away, but no event told it before setWatches was answered as of "
                    f"{shown(zxid)}"
                )
                self.found.rearming.breach(last.start, text, last.by, arm.by)
                arm.is_armed = False
            else:
                self._expect(arm, zxid)

    def _exists(self, path: str, zxid: int) -> bool:
        """Return True if a node is known to exist as of this zxid."""
        seen = self.tree.state_at(path, zxid)
        return seen is not None and seen.stat is not None

    def _hear(self, event: WatchEvent) -> None:
        arms = [
            arm
            for kind in (*_TOLD_BY[event.type], "persistent")
            if (arm := self.arms.get((event.path, kind))) is not None
        ]
        if event.type != "NodeChildrenChanged":
            arms += [arm for arm in self._above(event.path) if arm.kind == "recursive"]
        if not arms:
            self._unasked(event)
            return
        self.found.cause.case()
        self.alike[event.path, event.type] = sum(arm in self.resuming for arm in arms) - 1
        zxid = self._change_told(event, arms)
        self._is_caused(event, arms)
        self._in_order(event, zxid, arms)
        if event.zxid > 0:
            before = self.told.setdefault((event.path, event.type, event.zxid), event)
            if before is not event:
                self.found.cause.breach(
                    event.zxid,
                    f"client {self.connection.client} heard twice that {event.path} changed at {shown(event.zxid)}",
                    before,
                    event,
                )
        for arm in arms:
            (self.found.persistent if arm.kind in _LASTING else self.found.fires).case()
            if arm.kind in _LASTING:
                # An event that may tell an unknown change may also tell the next known one.
                told = zxid if zxid != _NEVER else arm.due
                self._expect(arm, told if told != _NEVER else arm.since)
            else:
                arm.is_armed = False
                del self.arms[arm.path, arm.kind]
                self.ended[arm.path, arm.kind] = event

    def _change_told(self, event: WatchEvent, arms: list[ArmedWatch]) -> int:
        """Return the zxid of the change that an event tells; `_NEVER` if neither it nor the history says which."""
        if event.zxid > 0:
            return event.zxid
        is_unclear = any(arm in self.resuming or not arm.is_armed for arm in arms)
        is_unclear |= any(self._may_be_withheld(arm) for arm in arms)
        if is_unclear or not self.tree.is_complete(event.path) or self.tree.may_change_unseen(event.path):
            return _NEVER
        return min(arm.due for arm in arms)

    def _may_tell_later(self, arms: list[ArmedWatch], zxid: int) -> bool:
        """Return True if an event without a zxid may tell a change at this zxid or later, up to the next answer.

        If it does, the earlier changes were not told.
        """
        received = self.connection.received
        next_ones = (received[place] for place in range(self.place, len(received)))
        until = next((each.zxid for each in next_ones if isinstance(each, Operation) and each.zxid), _NEVER)
        return any(each.last(zxid - 1, until) is not None for arm in arms for each in self._changes(arm))

    def _above(self, path: str) -> Iterator[ArmedWatch]:
        """Yield the recursive watches on a node and on those above it."""
        while True:
            arm = self.arms.get((path, "recursive"))
            if arm is not None:
                yield arm
            if path == "/":
                return
            path = path.rpartition("/")[0] or "/"

    def _unasked(self, event: WatchEvent) -> None:
        """Note an event for which there is no watch."""
        if self.alike[event.path, event.type] > 0:
            self.alike[event.path, event.type] -= 1
            return
        if not self.may_be_set.isdisjoint((event.path, *ancestors(event.path))):
            return
        about = f"client {self.connection.client} heard {event.type} of {event.path}"
        kinds: tuple[Kind, ...] = (*_TOLD_BY[event.type], *_LASTING)
        ends = [self.ended[event.path, kind] for kind in kinds if (event.path, kind) in self.ended]
        recursive = next(self._above(event.path), None)
        if recursive is not None:
            self.found.persistent.breach(
                max(0, event.zxid), f"{about} though its watch is recursive", recursive.by, event
            )
        elif ends and isinstance(ends[0], Operation):
            self.found.removal.breach(max(0, event.zxid), f"{about} after its watch was removed", ends[0], event)
        elif ends:
            self.found.cause.breach(max(0, event.zxid), f"{about} twice from one watch", ends[0], event)
        else:
            self.found.cause.breach(max(0, event.zxid), f"{about}, which it does not watch", event)

    def _is_caused(self, event: WatchEvent, arms: list[ArmedWatch]) -> None:
        """Note an event without a change, if all changes are known."""
        path = event.path
        if not self.tree.is_complete(path) or self.tree.may_change_unseen(path):
            return
        if not all(arm.since and arm.by.request.op != "setWatches" for arm in arms):
            return
        about, due = f"client {self.connection.client} heard {event.type} of {path}", min(arm.due for arm in arms)
        is_next = self.last is None or event.zxid > self.last[0]
        if due == _NEVER:
            text = f"{about}, which did not change after {shown(arms[0].since)}"
            self.found.cause.breach(arms[0].since, text, arms[0].by, event)
        elif is_next and 0 < event.zxid < due:
            text = f"{about} at {shown(event.zxid)}, which did not change before {shown(due)}"
            self.found.cause.breach(event.zxid, text, arms[0].by, event, kind="by the code")

    def _in_order(self, event: WatchEvent, zxid: int, arms: list[ArmedWatch]) -> None:
        if zxid == _NEVER:
            return
        if self.last is not None:
            self.found.order.case()
            if zxid < self.last[0]:
                if event.zxid <= 0 and self._may_tell_later(arms, self.last[0]):
                    return
                text = (
                    f"client {self.connection.client} heard of the change at {shown(self.last[0])} before the one at "
                    f"{shown(zxid)}"
                )
                self.found.order.breach(zxid, text, self.last[1], event)
        self.last = zxid, event


def lists_of(request: Request) -> Iterator[tuple[Kind, tuple[str, ...]]]:
    """Yield the lists of a setWatches, with the kinds of their watches."""
    yield "data", request.data_watches
    yield "exist", request.exist_watches
    yield "child", request.child_watches
    yield "persistent", request.persistent_watches
    yield "recursive", request.recursive_watches


@lru_cache(maxsize=1)
def watch_findings(exchange: Exchange, tree: Tree) -> WatchFindings:
    """Judge the watches of all connections. O((requests + events) · log changes), without recursive watches."""
    found = WatchFindings()
    for connection in exchange.connections.values():
        _Stream(connection, tree, found).judge()
    return found


def _judge(name: str, exchange: Exchange, tree: Tree, found: Findings) -> None:
    mine: Findings = getattr(watch_findings(exchange, tree), name)
    found.cases, found.breaches, found.is_undecided = mine.cases, mine.breaches, mine.is_undecided


WATCHES = (
    Promise(
        "watch fires",
        "The event of a watch comes before any answer that is as of the change or later.",
        f"{GUIDE}, ZooKeeper Watches: guarantees",
        "documented",
        partial(_judge, "fires"),
    ),
    Promise(
        "watch fires once, for a cause",
        "Each event is caused by a change that is watched, and ends one watch.",
        f"{GUIDE}, ZooKeeper Watches: one-time trigger",
        "documented",
        partial(_judge, "cause"),
    ),
    Promise(
        "event order",
        "The events of a connection come in the order of the changes.",
        f"{GUIDE}, ZooKeeper Watches: guarantees",
        "documented",
        partial(_judge, "order"),
    ),
    Promise(
        "re-arming",
        "Watches that are set again tell what changed while the client was away.",
        f"{GUIDE}, ZooKeeper Watches; DataTree.setWatches",
        "documented",
        partial(_judge, "rearming"),
    ),
    Promise(
        "persistent watches",
        "A persistent watch tells each change until it is removed; a recursive one also those of all nodes below.",
        f"{GUIDE}, Persistent, Recursive Watches",
        "documented",
        partial(_judge, "persistent"),
    ),
    Promise(
        "removal",
        "A watch that was removed tells nothing more; a watch can be removed if it is set, and only then.",
        f"{GUIDE}, Remove Watches",
        "documented",
        partial(_judge, "removal"),
    ),
)
"""The promises of this module, in the order of reports."""
