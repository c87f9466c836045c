"""Screens the promises of `clients.watches` in columns.

The change that each watch has to tell next, and the line before which it has to, are looked up for all at once. Then
one pass over the answers that set watches, and over the events, is left.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain
from typing import Any, NamedTuple, get_args

import numpy as np
import numpy.typing as npt

from zabcheck.zookeeper.clients.screen.columns import (
    ABOUT_WATCHES,
    NO_ID,
    NO_NODE,
    NO_WATCHER,
    NONE,
    OPS,
    TYPES,
    Columns,
    Ints,
    is_one_of,
)
from zabcheck.zookeeper.clients.screen.nodes import NEVER, Nodes
from zabcheck.zookeeper.clients.screen.orders import rising_view, views
from zabcheck.zookeeper.clients.tree import ancestors
from zabcheck.zookeeper.clients.watches import Kind, lists_of

KINDS: dict[str, int] = {name: number for number, name in enumerate(get_args(Kind))}
"""The numbers of the kinds of watches."""
DATA, EXIST, CHILD, PERSISTENT, RECURSIVE = KINDS.values()
_KINDS = len(KINDS)
_TOLD_BY = {
    TYPES["NodeCreated"]: (EXIST, PERSISTENT),
    TYPES["NodeDataChanged"]: (DATA, PERSISTENT),
    TYPES["NodeDeleted"]: (DATA, CHILD, EXIST, PERSISTENT),
    TYPES["NodeChildrenChanged"]: (CHILD, PERSISTENT),
}
_REMOVED = {"data": (DATA, EXIST), "children": (CHILD,), "persistent": (PERSISTENT,), "recursive": (RECURSIVE,)}
_READS = [OPS[name] for name in ("getData", "exists", "getChildren")]
_CHANGED_BELOW = TYPES["NodeChildrenChanged"]
_RESUMED, _ARMED, _ANSWERED, _HEARD = range(4)
"""The kinds of records: a setWatches when it is sent, a read that sets a watch, other answers, and events."""


class _Broken(Exception):
    """A watch may be broken."""


@dataclass(slots=True, eq=False)
class _ArmedWatch:
    """A watch: the zxid of the change that it is due to tell, and the line before which it has to."""

    kind: int
    since: int
    due: int
    deadline: int
    is_set_again: bool = False
    is_resuming: bool = False


class Cases(NamedTuple):
    """The number of cases of each promise about watches."""

    fires: int
    cause: int
    order: int
    rearming: int
    persistent: int
    removal: int


@lru_cache(maxsize=1)
def watch_cases(columns: Columns, nodes: Nodes) -> Cases | None:
    """Return the cases; None if a promise about watches may be broken."""
    try:
        return _WatchScreen(columns, nodes).judge() if rising_view(columns, nodes) is not None else None
    except _Broken:
        return None


def cases(name: str, columns: Columns, nodes: Nodes) -> int | None:
    """Return the cases of a promise."""
    found = watch_cases(columns, nodes)
    return None if found is None else int(getattr(found, name))


class _Changes:
    """The changes that watches tell."""

    def __init__(self, columns: Columns, nodes: Nodes) -> None:
        self._columns, self._nodes = columns, nodes
        data = nodes.data
        self._data, self._ends = data["key"][nodes.states], data["key"][nodes.ends]
        self._children = nodes.children["key"]
        self._below: dict[int, Ints] = {}
        connection, zxid = views(columns)
        self._seen = connection.astype(np.int64) << nodes.bits | zxid
        self._lines = columns.answers["line"][columns.answers_by_connection][
            columns.answers["zxid"][columns.answers_by_connection] > 0
        ]

    def next(self, kind: npt.NDArray[Any], path: npt.NDArray[Any], after: npt.NDArray[Any]) -> Ints:
        """Return the zxid of the first change of each node, after a zxid, that a watch of some kind tells."""
        key, is_child = self._nodes.key(path, after), kind == CHILD
        found = np.where(is_child, NEVER, self._following(self._data, path, key))
        below = is_child | (kind == PERSISTENT)
        found[is_child] = self._following(self._ends, path[is_child], key[is_child])
        found[below] = np.minimum(found[below], self._following(self._children, path[below], key[below]))
        for place in np.flatnonzero(kind == RECURSIVE).tolist():
            starts = self._all_below(int(path[place]))
            first = np.searchsorted(starts, after[place], "right")
            if first < len(starts):
                found[place] = min(found[place], starts[first])
        return found

    def _following(self, keys: Ints, path: npt.NDArray[Any], key: Ints) -> Ints:
        if not len(keys):
            return np.full(len(path), NEVER)
        found = keys[np.minimum(np.searchsorted(keys, key, "right"), len(keys) - 1)]
        return np.where(
            (found > key) & (found >> self._nodes.bits == path), found & ((1 << self._nodes.bits) - 1), NEVER
        )

    def _all_below(self, path: int) -> Ints:
        if path not in self._below:
            name, paths = self._columns.paths[path], self._columns.paths
            below = [number for number, each in enumerate(paths) if name in ancestors(each)]
            rows = self._nodes.states[np.isin(self._nodes.data["path"][self._nodes.states], below)]
            self._below[path] = np.sort(self._nodes.data["start"][rows])
        return self._below[path]

    def deadlines(self, connection: npt.NDArray[Any], due: Ints) -> Ints:
        """Return the lines of the first answers on these connections that are as of a change; `NEVER` if none is."""
        if not len(self._seen):
            return np.full(len(due), NEVER)
        is_due = due != NEVER
        key = connection.astype(np.int64) << self._nodes.bits | np.where(is_due, due, 0)
        place = np.minimum(np.searchsorted(self._seen, key), len(self._seen) - 1)
        found = is_due & (self._seen[place] >= key) & (self._seen[place] >> self._nodes.bits == connection)
        return np.where(found, self._lines[place], NEVER)


class _WatchScreen:
    def __init__(self, columns: Columns, nodes: Nodes) -> None:
        self.columns, self.nodes = columns, nodes
        if nodes.bits + len(columns.connects).bit_length() > 62 or columns.events["zxid"].max(initial=0) >> nodes.bits:
            raise _Broken
        self.changes = _Changes(columns, nodes)
        self.cases = dict.fromkeys(Cases._fields, 0)
        unsettled = {columns.all_paths[number] for number in np.flatnonzero(nodes.unsettled).tolist()}
        unsettled |= {above for path in unsettled for above in ancestors(path)}
        unseen = [path in unsettled for path in columns.all_paths]
        self.is_clear = (nodes.is_complete & ~np.array(unseen, np.bool_)).tolist()
        """By path: every change of the node, and of those below, is known."""

    def judge(self) -> Cases:
        columns = self.columns
        about = is_one_of(columns.op, ABOUT_WATCHES)
        armed = is_one_of(columns.op, _READS) & (columns.watch > 0) & (columns.path != NO_ID)
        armed &= columns.is_done | ((columns.op == OPS["exists"]) & (columns.error == NO_NODE))
        armed_rows = np.flatnonzero(armed)
        kind = np.where(columns.op[armed_rows] == OPS["getChildren"], CHILD, DATA)
        kind[columns.error[armed_rows] == NO_NODE] = EXIST
        since, path = columns.zxid[armed_rows], columns.path[armed_rows].astype(np.int64)
        due = np.where(since > 0, self.changes.next(kind, path, since), NEVER)
        deadline = self.changes.deadlines(columns.connection[armed_rows], due)
        others = np.flatnonzero(about & (columns.is_done | (columns.error == NO_WATCHER)))
        resumed = np.flatnonzero(columns.op == OPS["setWatches"])
        events = columns.events
        line = np.concatenate(
            [np.full(len(resumed), -1), columns.answered[armed_rows], columns.answered[others], events["line"]]
        )
        connection = np.concatenate(
            [
                columns.connection[resumed],
                columns.connection[armed_rows],
                columns.connection[others],
                events["connection"],
            ]
        )
        index = np.concatenate([np.arange(len(each)) for each in (resumed, armed_rows, others, events["line"])])
        what = np.repeat(
            (_RESUMED, _ARMED, _ANSWERED, _HEARD), [len(resumed), len(armed_rows), len(others), len(events["line"])]
        )
        order = np.lexsort((line, connection))
        arms = [*zip((path * _KINDS + kind).tolist(), since.tolist(), due.tolist(), deadline.tolist(), strict=True)]
        heard = [*zip(*(events[name].tolist() for name in ("path", "type", "zxid")), strict=True)]
        again = self._set_again(resumed)
        stream = _Stream(self, -1)
        for number, at, which, item in zip(
            *(each[order].tolist() for each in (connection, line, what, index)), strict=True
        ):
            if number != stream.connection:
                stream.end()
                stream = _Stream(self, number)
            if which == _ARMED:
                key, as_of, is_due, until = arms[item]
                standing = stream.arms.get(key)
                if standing is None or standing.due == NEVER:
                    stream.arms[key] = _ArmedWatch(key % _KINDS, as_of, is_due, until)
            elif which == _HEARD:
                stream.hear(at, *heard[item])
            elif which == _ANSWERED:
                stream.answer(at, int(others[item]), again)
            else:
                stream.resume(int(resumed[item]), again)
        stream.end()
        return Cases(**self.cases)

    def _set_again(self, rows: Ints) -> "dict[int, list[_Again]]":
        """Return for each setWatches the new state of each watch in its lists."""
        columns, nodes, numbers = self.columns, self.nodes, self.columns.path_numbers
        requests = [columns.watches[line] for line in columns.sent[rows].tolist()]
        lists = [
            (number, KINDS[kind], numbers[path])
            for number, request in enumerate(requests)
            for kind, paths in lists_of(request)
            for path in paths
        ]
        found: dict[int, list[_Again]] = {row: [] for row in rows.tolist()}
        if not lists:
            return found
        number, kind, path = np.fromiter(chain.from_iterable(lists), np.int64, 3 * len(lists)).reshape(-1, 3).T
        row = rows[number]
        relative = np.array([max(request.relative, 0) for request in requests], np.int64)[number]
        zxid = columns.zxid[row]
        if (relative >> nodes.bits).any():
            raise _Broken
        changed = self.changes.next(kind, path, relative) <= zxid
        known = nodes.state_at(path, zxid)
        is_there = nodes.shown("czxid", known) != NONE
        is_told = (kind < PERSISTENT) & ((kind != EXIST) | is_there) & changed
        due = self.changes.next(kind, path, zxid)
        deadline = self.changes.deadlines(columns.connection[row], due)
        fields = (path * _KINDS + kind, relative, zxid, is_told, due, deadline)
        watches = map(_Again._make, zip(*(each.tolist() for each in fields), strict=True))
        for of, watch in zip(row.tolist(), watches, strict=True):
            found[of].append(watch)
        return found


class _Again(NamedTuple):
    """A watch that is set again as of `zxid`, unless it `is_told`: a change since `relative` has to be told first."""

    key: int
    relative: int
    zxid: int
    is_told: bool
    due: int
    deadline: int


class _Stream:
    """The watches of one connection, while its answers and events are read in order."""

    def __init__(self, watched: _WatchScreen, connection: int) -> None:
        self.watched, self.connection = watched, connection
        self.arms: dict[int, _ArmedWatch] = {}
        self.resumed: dict[int, list[_ArmedWatch]] = {}
        self.has_recursive = False
        self.last = -1
        self.told: set[tuple[int, int, int]] = set()
        self.alike: dict[tuple[int, int], int] = {}

    def end(self) -> None:
        if [True for arm in self.arms.values() if arm.deadline != NEVER]:
            raise _Broken

    def resume(self, row: int, again: dict[int, list[_Again]]) -> None:
        self.resumed[row] = []
        for each in again[row]:
            arm = _ArmedWatch(each.key % _KINDS, each.relative, NEVER, NEVER, is_set_again=True, is_resuming=True)
            self.arms[each.key] = arm
            self.resumed[row].append(arm)
            self.has_recursive |= arm.kind == RECURSIVE

    def answer(self, line: int, row: int, again: dict[int, list[_Again]]) -> None:
        """Take the answer to an operation that only concerns watches."""
        columns = self.watched.columns
        op = columns.op[row]
        if columns.error[row] == NO_WATCHER:
            self._not_removed(row)
        elif op == OPS["setWatches"]:
            self._set_again(row, again[row])
        elif columns.path[row] != NO_ID:
            watch = columns.watches[int(columns.sent[row])].watch
            if op == OPS["addWatch"]:
                self._add(RECURSIVE if watch == "recursive" else PERSISTENT, row)
            else:
                self._remove(watch, line, row)

    def _set_again(self, row: int, again: list[_Again]) -> None:
        for arm in self.resumed[row]:
            arm.is_resuming = False
        for arm, each in zip(self.resumed[row], again, strict=True):
            self.watched.cases["rearming"] += 1
            if self.arms.get(each.key) is arm:
                if each.is_told:
                    raise _Broken
                arm.since, arm.due, arm.deadline = each.zxid, each.due, each.deadline

    def _add(self, kind: int, row: int) -> None:
        path, zxid = int(self.watched.columns.path[row]), int(self.watched.columns.zxid[row])
        key = path * _KINDS + kind
        self.has_recursive |= kind == RECURSIVE
        standing = self.arms.get(key)
        if standing is None or standing.due == NEVER:
            arm = self.arms[key] = _ArmedWatch(kind, zxid, NEVER, NEVER, False)
            if zxid:
                self._expect(arm, path, zxid)

    def _remove(self, watch: str, line: int, row: int) -> None:
        path = int(self.watched.columns.path[row]) * _KINDS
        kinds = _REMOVED.get(watch, range(_KINDS))
        if not any(path + kind in self.arms for kind in range(_KINDS)):
            raise _Broken
        for kind in kinds:
            removed = self.arms.pop(path + kind, None)
            if removed is not None:
                if removed.deadline <= line:
                    raise _Broken
                self.watched.cases["removal"] += 1

    def _not_removed(self, row: int) -> None:
        """Check that a node has no watch of this kind, as the answer says."""
        path = int(self.watched.columns.path[row]) * _KINDS
        asked = self.watched.columns.watches[int(self.watched.columns.sent[row])].watch
        kinds = _REMOVED.get(asked, range(_KINDS))
        if any((arm := self.arms.get(path + kind)) and not arm.is_resuming for kind in kinds):
            raise _Broken

    def _expect(self, arm: _ArmedWatch, path: int, after: int) -> None:
        kind, at = np.array([arm.kind]), np.array([path])
        due = self.watched.changes.next(kind, at, np.array([after]))
        arm.since, arm.due = after, int(due[0])
        arm.deadline = int(self.watched.changes.deadlines(np.array([self.connection]), due)[0])

    def hear(self, line: int, path: int, kind: int, zxid: int) -> None:
        arms, cases = self.arms, self.watched.cases
        own = path * _KINDS
        found = [(key, arms[key]) for each in _TOLD_BY[kind] if (key := own + each) in arms]
        if self.has_recursive and kind != _CHANGED_BELOW:
            found += self._above(path)
        if not found:
            left = self.alike.get((path, kind), 0)
            if left <= 0:
                raise _Broken
            self.alike[path, kind] = left - 1
            return
        cases["cause"] += 1
        resuming = len([arm for _, arm in found if arm.is_resuming])
        self.alike[path, kind] = resuming - 1
        due = min([arm.due for _, arm in found])
        is_clear = self.watched.is_clear[path]
        change = zxid if zxid > 0 else due if is_clear and not resuming else NEVER
        is_caused = due != NEVER and not (zxid > self.last and 0 < zxid < due)
        if not is_caused and is_clear and all(arm.since and not arm.is_set_again for _, arm in found):
            raise _Broken
        if change != NEVER:
            if self.last >= 0:
                cases["order"] += 1
                if change < self.last:
                    raise _Broken
            self.last = change
        if zxid > 0:
            if (path, kind, zxid) in self.told:
                raise _Broken
            self.told.add((path, kind, zxid))
        for key, arm in found:
            if arm.deadline <= line:
                raise _Broken
            if arm.kind >= PERSISTENT:
                cases["persistent"] += 1
                told = change if change != NEVER else arm.due
                self._expect(arm, key // _KINDS, told if told != NEVER else arm.since)
            else:
                cases["fires"] += 1
                del arms[key]

    def _above(self, path: int) -> Iterator[tuple[int, _ArmedWatch]]:
        """Yield the recursive watches on a node and on those above it."""
        columns = self.watched.columns
        name = columns.all_paths[path]
        for each in (name, *ancestors(name)):
            key = columns.path_numbers.get(each, -1) * _KINDS + RECURSIVE
            if key in self.arms:
                yield key, self.arms[key]
