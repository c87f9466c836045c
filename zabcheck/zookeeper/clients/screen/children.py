"""Screens lists of children: the hash of a list is the sum of those of the created names, less the deleted ones."""

from functools import lru_cache
from typing import Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from zabcheck.zookeeper.clients.screen.columns import (
    DONE,
    MODES,
    NONE,
    NOT_EMPTY,
    OPS,
    Bools,
    Columns,
    Ints,
    Table,
)
from zabcheck.zookeeper.clients.screen.digests import NAME, hash_of
from zabcheck.zookeeper.clients.screen.nodes import CREATE, DELETE, ENDING, Nodes


def lists(columns: Columns, nodes: Nodes) -> int | None:
    """Compare lists of children with the changes that are known, as `clients.children` does."""
    listed = _listed(nodes)
    if not len(listed["path"]):
        return 0
    known = _known(columns, nodes, listed)
    if (known.is_decided & (known.sums - listed["children"] & NAME != 0)).any() or _contradict(listed, known):
        return None
    return int((known.is_decided & listed["is_bare"]).sum())


def has_other_cversions(columns: Columns, nodes: Nodes) -> bool:
    """Return True if the cversion beside a list of children may differ from the number of changes."""
    listed = _listed(nodes)
    if not len(listed["path"]):
        return False
    known, cversion = _known(columns, nodes, listed), listed["cversion"]
    risen = known.last - known.first
    wrong = (risen > cversion) | (known.is_decided & (risen != cversion))
    return bool((known.is_usable & (cversion != NONE) & wrong).any())


class _KnownChanges(NamedTuple):
    """The known changes that each list has to show: from number `first` to before `last`, with the sum of their names.

    The list `is_usable` if it is known which changes count, and `is_decided` if there can be no others.
    """

    first: Ints
    last: Ints
    sums: Ints
    is_usable: Bools
    is_decided: Bools
    every: Ints
    """The sums of all changes, by number."""


def _known(columns: Columns, nodes: Nodes, listed: Table) -> _KnownChanges:
    below, path, until = _below(columns, nodes), listed["path"], listed["until"]
    begin, is_made = below.begins(listed)
    first = below.place(path, np.minimum(begin, until), "left")
    last = below.place(path, until, "right")
    usable = ~below.undecided[path] & (begin > 0) & (begin <= until)
    return _KnownChanges(
        first,
        last,
        below.sums[last] - below.sums[first],
        usable,
        usable & ~below.unsettled[path] & is_made,
        below.sums,
    )


def deletes(columns: Columns, nodes: Nodes) -> int | None:
    """Compare the outcome of each delete with the children that the node had, as `clients.children` does."""
    rows = _deletes(columns, nodes)
    if not len(rows):
        return 0
    effects, below = nodes.effects, _below(columns, nodes)
    path, zxid, error = effects["created"][rows], columns.zxid[effects["row"][rows]], effects["error"][rows]
    some = {"path": path, "until": zxid, "czxid": zxid, "is_bare": np.ones(len(rows), np.bool_)}
    begin, is_made = below.begins(some)
    decided = is_made & ~below.unsettled[path] & ~below.undecided[path]
    sums = below.sums[below.place(path, zxid, "right")] - below.sums[below.place(path, begin, "left")]
    wrong = (sums & NAME == 0) != (error == DONE)
    return None if (decided & wrong).any() else int(decided.sum())


def _deletes(columns: Columns, nodes: Nodes) -> Ints:
    """Return the effects that are deletes, done or refused because of children."""
    effects = nodes.effects
    rows = np.flatnonzero(effects["op"] == DELETE)
    row, error = effects["row"][rows], effects["error"][rows]
    judged = (columns.op[row] == DELETE) & columns.is_known[row] & (columns.zxid[row] > 0)
    judged &= ((error == DONE) | (error == NOT_EMPTY)) & nodes.is_owned[effects["created"][rows]]
    found: Ints = rows[judged]
    return found


def _contradict(listed: Table, known: _KnownChanges) -> bool:
    """Return True if a list is not the one before it with the changes since, though the cversion has no others."""
    first, last, sums = known.first, known.last, known.every
    chosen = np.flatnonzero(known.is_usable & (listed["cversion"] != NONE))
    chosen = chosen[np.lexsort([listed[name][chosen] for name in ("row", "start", "until", "czxid", "path")])]
    path, begin, cversion, named = (listed[name][chosen] for name in ("path", "czxid", "cversion", "children"))
    is_first = (np.diff(path, prepend=-1) != 0) | (np.diff(begin, prepend=-1) != 0)
    since = np.where(is_first, first[chosen], np.roll(last[chosen], 1))
    risen = cversion - np.where(is_first, 0, np.roll(cversion, 1))
    before = np.where(is_first, 0, np.roll(named, 1))
    wrong = before + sums[last[chosen]] - sums[since] - named & NAME != 0
    return bool((wrong & (last[chosen] - since >= risen)).any())


@lru_cache(maxsize=1)
def _below(columns: Columns, nodes: Nodes) -> "_ChildChanges":
    deleted = nodes.effects["created"][_deletes(columns, nodes)]
    return _ChildChanges(columns, nodes, np.append(_listed(nodes)["path"], deleted))


class _ChildChanges:
    """The known changes of children, and the nodes that may have had others, as in `clients.children`."""

    def __init__(self, columns: Columns, nodes: Nodes, paths: npt.NDArray[Any]) -> None:
        """Collect the changes below these paths, which are listed or deleted."""
        self._nodes = nodes
        above, is_listed = nodes.parents, np.zeros(len(nodes.unsettled), np.bool_)
        is_listed[paths] = True
        self.unsettled, self.undecided = ~nodes.is_complete, np.zeros(len(nodes.unsettled), np.bool_)
        effects = self._effects(is_listed)
        self.unsettled[above[effects["path"][~columns.is_known[effects["row"]]]]] = True
        effects = {name: values[columns.is_done[effects["row"]]] for name, values in effects.items()}
        self._doubt(effects, columns.op[effects["row"]] == OPS["multi"])
        created, is_create, zxid = effects["created"], effects["op"] == CREATE, effects["zxid"]
        self._made = np.sort(nodes.key(created, zxid)[is_create & (zxid > 0)])
        changes = np.flatnonzero(is_listed[above[created]] & (zxid > 0))
        key = nodes.key(above[created[changes]], zxid[changes])
        order = np.argsort(key, kind="stable")
        self._key, changes = key[order], changes[order]
        names = np.where(is_create[changes], 1, -1) * _hashes(created[changes], columns)
        self.sums: Ints = np.append(0, np.cumsum(names))
        """At place n: the sum of the first n changes, right in the lowest 62 bits."""

    def _effects(self, is_listed: Bools) -> Table:
        """Return the creates and deletes of listed nodes and their children, with their zxids, 0 if unknown."""
        nodes = self._nodes
        effects, above = nodes.effects, nodes.parents
        created = effects["created"]
        of_listed = is_listed[created] | is_listed[above[created]] | is_listed[above[effects["path"]]]
        rows = np.flatnonzero(((effects["op"] == CREATE) | (effects["op"] == DELETE)) & of_listed)
        some = {name: effects[name][rows] for name in ("row", "op", "path", "created", "mode", "result")}
        zxid, result = nodes.columns.zxid[some["row"]], some.pop("result")
        told = np.where(nodes.result("czxid", result) != NONE, nodes.result("mzxid", result), 0)
        return some | {"zxid": np.where(zxid > 0, zxid, told)}

    def _doubt(self, effects: Table, is_part: Bools) -> None:
        """Find the nodes with changes that may be unseen, with unknown names, or that a multi creates anew."""
        above, path, is_create = self._nodes.parents[effects["created"]], effects["created"], effects["op"] == CREATE
        self.unsettled[above[(effects["zxid"] == 0) | (is_create & (effects["mode"] & ENDING > 0))]] = True
        is_nameless = (effects["mode"] & MODES["sequential"] > 0) & (path == effects["path"])
        self.undecided[above[is_nameless]] = True
        above, path, is_create = above[is_part], path[is_part], is_create[is_part]
        of_multi = effects["row"][is_part] * len(self.undecided)
        self.undecided[above[~is_create & np.isin(of_multi + above, (of_multi + path)[is_create])]] = True

    def begins(self, listed: Table) -> tuple[Ints, Bools]:
        """Return the create since which each list counts, and whether it is known: the last one if there is no Stat."""
        path, until, is_bare = listed["path"], listed["until"], listed["is_bare"]
        if not len(self._made):
            return listed["czxid"], np.zeros(len(path), np.bool_)
        last = self._made[np.searchsorted(self._made, self._nodes.key(path, until), "right") - 1]
        bits = self._nodes.bits
        begin = np.where(is_bare, np.where(last >> bits == path, last & ((1 << bits) - 1), 0), listed["czxid"])
        key = self._nodes.key(path, np.minimum(begin, until))
        place = np.minimum(np.searchsorted(self._made, key), len(self._made) - 1)
        return begin, self._made[place] == key

    def place(self, path: npt.NDArray[Any], zxid: Ints, side: Literal["left", "right"]) -> Ints:
        """Return the number of the first change of each path at a zxid or after it ("left"), or only after it."""
        place: Ints = np.searchsorted(self._key, self._nodes.key(path, zxid), side)
        return place


def _listed(nodes: Nodes) -> Table:
    """Return the lists of children; one that `is_bare` came without a Stat, as in `clients.children`."""
    children = nodes.children
    dated = np.flatnonzero(children["children"] != NONE)
    bare = nodes.bare_lists
    return {name: np.append(children[name][dated], bare[name]) for name in bare} | {
        "is_bare": np.repeat([False, True], [len(dated), len(bare["path"])])
    }


def _hashes(path: npt.NDArray[Any], columns: Columns) -> Ints:
    """Return the hashes of the names of nodes."""
    of = np.zeros(len(columns.paths), np.int64)
    numbers = np.flatnonzero(np.bincount(path, minlength=len(of)))
    paths = columns.paths
    of[numbers] = [hash_of(paths[number].rpartition("/")[2]) for number in numbers.tolist()]
    found: Ints = of[path]
    return found
