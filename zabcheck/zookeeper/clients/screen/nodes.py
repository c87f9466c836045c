"""The nodes of a history in columns: the effects of writes on them, and their sightings, as in `clients.tree`."""

from collections.abc import Callable
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from zabcheck.zookeeper.clients.screen.columns import (
    DONE,
    MODES,
    NO_ID,
    NO_NODE,
    NONE,
    OPS,
    STAT,
    Bools,
    Columns,
    Ints,
    Table,
    Unusual,
    distinct,
    highest,
    is_one_of,
)
from zabcheck.zookeeper.clients.tree import UNKNOWN_VERSION, parent

NEVER = (1 << 63) - 1
"""A zxid that is never reached."""
CREATE, DELETE, SET, CHECK = (OPS[name] for name in ("create", "delete", "setData", "check"))
READS = [OPS[name] for name in ("getData", "exists", "getChildren", "getACL")]
_SINGLE = ("op", "path", "expected", "mode", "content", "ttl")
ENDING = MODES["ephemeral"] | MODES["container"] | MODES["ttl"]
"""The bits of the modes of nodes that end by themselves."""
_CHANGED = ("path", "row", "start", "until")
_SHOWN_BELOW = ("path", "row", "start", "until", "children", "czxid", "cversion")
_LISTED = ("path", "row", "start", "until", "children", "czxid", "cversion")
_SHOWN = ("path", "row", "start", "until", "content", "children", "names", *STAT)


class Nodes:
    """The effects of operations on nodes, and the sightings of nodes in answers."""

    def __init__(self, columns: Columns, owns: Callable[[str], bool] | None = None, latest: int = 0) -> None:
        """Collect the effects. `owns` is true for nodes with all operations here; no zxid is higher than `latest`."""
        self.columns = columns
        self._latest = latest
        self.effects = self._effects(columns.is_write, "multi")
        """The change that each write asks for, in the order of the file; `row` is that of the operation.

        `error` is its own, `NONE` without an answer; `created` is the path, with the number of a sequential node;
        `result` is an argument of the method `result`.
        """
        self.parents = self._parents()
        """By path: the number of the path above. Paths that no request names come after all others."""
        self.unsettled = np.zeros(len(columns.path_numbers) - 1, np.bool_)
        """By path: a write of unknown outcome may have changed it, or it ends by itself."""
        self.is_owned = np.ones(len(self.unsettled), np.bool_)
        """By path: all operations on the node are here."""
        self._bare_lists: Table = {}
        if owns is not None:
            self.is_owned[:] = [owns(path) for path in columns.all_paths]

    @cached_property
    def data(self) -> Table:
        """The sightings of data, as `Tree.data`: by path, `start` and `until`; `is_change` if a write made them."""
        return self._seen[0]

    @cached_property
    def children(self) -> Table:
        """The sightings of children, as `Tree.children`."""
        return self._seen[1]

    @property
    def bare_lists(self) -> Table:
        """The lists of children of owned nodes that came without a Stat."""
        assert self._seen
        return self._bare_lists

    @cached_property
    def bits(self) -> int:
        """The bits that a zxid takes in a key."""
        return self._seen[2]

    def take_seen(self, data: list[Table], children: list[Table]) -> None:
        """Take the sightings of other parts: tables as those of `settled_states` and of `children`."""
        self._is_settled = np.zeros(len(self.unsettled), np.bool_)
        none = {name: np.zeros(0, np.int64) for name in ("path", "row", "start", "until", "czxid")}
        none["is_change"] = np.zeros(0, np.bool_)
        self._seen = self._in_order([none, *data], [{name: none[name] for name in _CHANGED}, *children])

    def settled_states(self) -> Table:
        """Return the states that are known: how long each lasts at least, and whether the node is there.

        Of states with one start, only the last is returned, and the ends of nodes.
        """
        states = {name: self.data[name][self.states] for name in (*_CHANGED, "czxid", "is_change", "key")}
        is_last = np.append(np.diff(states["key"]) != 0, True)[: len(states["key"])]
        states = _only(states, is_last | (states["is_change"] & (states["czxid"] == NONE)))
        states["until"] = np.where(self._is_settled[states["path"]], NEVER, states["until"])
        return {name: values for name, values in states.items() if name != "key"}

    def _effects(self, chosen: Bools, several: str) -> Table:
        """Return the single requests of operations: those with a path, and the parts of multis."""
        columns = self.columns
        whole = np.flatnonzero(chosen & (columns.op != OPS[several]) & (columns.path != NO_ID))
        single: Table = {"row": whole, "number": np.zeros(len(whole), np.int64)}
        single |= {name: getattr(columns, name)[whole] for name in _SINGLE}
        single["result"] = columns.answer[whole]
        parts = columns.parts
        row = np.searchsorted(columns.sent, parts["line"])
        mine = columns.op[row] == OPS[several] if len(row) else np.zeros(0, np.bool_)
        if mine.any():
            of_multi: Table = {name: parts[name][mine] for name in ("number", *_SINGLE)}
            of_multi["row"] = row[mine]
            of_multi["result"] = self._results_of(of_multi["row"], of_multi["number"])
            single = {name: np.concatenate([single[name], of_multi[name]]) for name in single}
            order = np.argsort(single["row"], kind="stable")
            single = {name: values[order] for name, values in single.items()}
        single["error"], created = (self.result(name, single["result"]) for name in ("error", "created"))
        single["created"] = np.where(created >= 0, created, single["path"])
        return single

    def result(self, name: str, results: Ints) -> Ints:
        """Return a column of results, by their numbers: those of answers come first, then those of parts."""
        answers, of_parts = self.columns.answers[name], self.columns.results[name]
        if not len(of_parts):
            return _or_none(answers, results)
        is_part = results >= len(answers)
        found = _or_none(answers, np.where(is_part, -1, results))
        found[is_part] = of_parts[results[is_part] - len(answers)]
        return found

    def _results_of(self, row: Ints, number: Ints) -> Ints:
        """Return the numbers, for `result`, of the results of parts; −1 without one."""
        columns, lines = self.columns, self.columns.results["line"]
        if not len(lines):
            return np.full(len(row), -1)
        answered = columns.answered[row]
        first = np.searchsorted(lines, answered)
        count = np.searchsorted(lines, answered, "right") - first
        number_of = len(columns.answers["line"]) + first + number
        return np.where((columns.answer[row] >= 0) & (number < count), number_of, -1)

    @cached_property
    def _seen(self) -> tuple[Table, Table, int]:
        columns, effects = self.columns, self.effects
        unknown = ~columns.is_known[effects["row"]]
        self.unsettled[effects["path"][unknown]] = True
        changes, below = self._changes(columns.is_done[effects["row"]])
        data, children = self._reads()
        return self._in_order([changes, data], [below, children])

    def _in_order(self, data: list[Table], children: list[Table]) -> tuple[Table, Table, int]:
        bits = self._bits([*data, *children])
        return self._sorted(data, bits), self._sorted(children, bits), bits

    def _changes(self, done: Bools) -> tuple[Table, Table]:
        """Return the sightings that the writes which were done prove: of data, and of the children of parents."""
        columns, all_effects = self.columns, self.effects
        of_multi = columns.op[all_effects["row"]] == OPS["multi"]
        last = done & (~of_multi | (all_effects["op"] != CHECK))
        several = np.flatnonzero(last & of_multi)
        if len(several):
            node = all_effects["row"][several] * len(columns.paths) + all_effects["created"][several]
            _, from_end = np.unique(node[::-1], return_index=True)
            last[several] = False
            last[several[::-1][from_end]] = True
        chosen = np.flatnonzero(last & is_one_of(all_effects["op"], [CREATE, DELETE, SET]))
        effects = {name: values[chosen] for name, values in all_effects.items()}
        effects |= {name: self.result(name, effects["result"]) for name in STAT}
        op, row, path = effects["op"], effects["row"], effects["created"]
        zxid = columns.zxid[row]
        has_stat = effects["czxid"] != NONE
        start = np.where(zxid > 0, zxid, np.where(has_stat, effects["mzxid"], 0))
        ends = (op == CREATE) & (effects["mode"] & ENDING > 0)
        self.unsettled[path[ends]] = True
        self.unsettled[path[start == 0]] = True
        is_end = op == DELETE
        stat = {name: effects[name] for name in STAT}
        for values in stat.values():
            values[is_end] = NONE
        made = (op == CREATE) & ~has_stat
        owner = np.where(effects["mode"] & MODES["ephemeral"] > 0, columns.session[row], 0)
        for name in ("czxid", "mzxid", "pzxid"):
            np.copyto(stat[name], zxid, where=made)
        stat["version"][made] = stat["cversion"][made] = 0
        np.copyto(stat["owner"], owner, where=made)
        bare = (op == SET) & ~has_stat
        version = np.where(effects["expected"] < 0, UNKNOWN_VERSION, effects["expected"] + 1)
        stat["czxid"][bare] = stat["pzxid"][bare] = stat["owner"][bare] = 0
        np.copyto(stat["mzxid"], zxid, where=bare)
        np.copyto(stat["version"], version, where=bare)
        of: Table = {"path": path, "row": row, "start": start, "until": start}
        content = effects["content"]
        content[is_end] = NONE
        none = np.full(len(path), NONE)
        data = of | {"content": content, "children": none, "names": none} | stat
        parents = self.parents[path]
        below = of | {"path": parents, "content": none, "children": none, "names": none} | dict.fromkeys(STAT, none)
        changes = start > 0
        of_children = changes & (op != SET)
        return _only(data, changes, True), _only({name: below[name] for name in _SHOWN_BELOW}, of_children)

    def reads(self) -> Table:
        """The answers to reads: rows as those of `effects`, with `path`."""
        columns = self.columns
        is_read = is_one_of(columns.op, READS) & (columns.answer >= 0) & (columns.path != NO_ID)
        rows = np.flatnonzero(is_read)
        answer = columns.answer[rows]
        results = columns.answers
        reads: Table = {"row": rows, "path": columns.path[rows], "op": columns.op[rows]}
        shown = ("shown", "children", "names", *STAT)
        for name in ("error", *shown):
            reads[name] = _or_none(results[name], answer)
        multi = self._effects(columns.is_known & (columns.op == OPS["multiRead"]), "multiRead")
        multi = _only(multi, (columns.op[multi["row"]] == OPS["multiRead"]) & columns.is_known[multi["row"]])
        multi = _only(multi, is_one_of(multi["op"], READS) & (multi["error"] != NONE))
        if len(multi["row"]):
            multi |= {name: self.result(name, multi["result"]) for name in shown}
            reads = {name: np.concatenate([reads[name], multi[name]]) for name in reads}
        return reads

    def _reads(self) -> tuple[Table, Table]:
        """Return the sightings in reads: of data, and of children."""
        columns, reads = self.columns, self.reads()
        zxid, has_stat = columns.zxid[reads["row"]], reads["czxid"] != NONE
        absent = (reads["error"] == NO_NODE) & (zxid > 0)
        is_done = reads["error"] == DONE
        there = is_done & has_stat
        bare = is_done & ~has_stat & (reads["children"] != NONE) & (zxid > 0) & self.is_owned[reads["path"]]
        listed = reads | {"start": zxid, "until": zxid}
        self._bare_lists = _only({name: listed[name] for name in _LISTED}, bare)
        unseen = np.flatnonzero(~there & (has_stat | (reads["children"] != NONE)))
        for name in ("children", "names", *STAT) if len(unseen) else ():
            reads[name][unseen] = NONE
        start = np.where(there, reads["mzxid"], zxid)
        content = np.where(there & (reads["op"] == OPS["getData"]), reads["shown"], NONE)
        data = reads | {"start": start, "until": np.maximum(zxid, start), "content": content}
        below = np.where(there, reads["pzxid"], 0)
        none = np.full(len(start), NONE)
        children = reads | {"start": below, "until": np.maximum(zxid, below), "content": none}
        return _only(data, absent | there, False), _only({name: children[name] for name in _SHOWN_BELOW}, there)

    def _parents(self) -> Ints:
        numbers = self.columns.path_numbers
        return np.array([numbers[parent(path)] for path in self.columns.paths], np.int64)

    @cached_property
    def is_complete(self) -> Bools:
        """By path: all writers of the node are recorded."""
        tops = self.columns.header.complete
        below = tuple(top.rstrip("/") + "/" for top in tops)
        if "/" in tops:
            return np.ones(len(self.unsettled), np.bool_)
        return np.array([path.startswith(below) or path in tops for path in [*self.columns.path_numbers][1:]], np.bool_)

    def _bits(self, tables: list[Table]) -> int:
        """Return the number of bits of a zxid in a key. Unusual if a key does not fit into 62 bits."""
        times = [self.columns.zxid, *(each[name] for each in tables for name in ("start", "until"))]
        latest = max(self._latest, *(int(each.max(initial=0, where=each != NEVER)) for each in times))
        bits = latest.bit_length() + 1
        if bits + len(self.unsettled).bit_length() > 62:
            raise Unusual
        return bits

    def _sorted(self, tables: list[Table], bits: int) -> Table:
        """Return sightings of owned nodes by path, start and until; `key` is path and start."""
        table = {name: np.concatenate([each[name] for each in tables]) for name in tables[0]}
        if not self.is_owned.all():
            table = _only(table, self.is_owned[table["path"]])
        table["key"] = table["path"].astype(np.int64) << bits | table["start"]
        order = np.lexsort((table["row"], table["until"], table["key"]))
        return {name: values[order] for name, values in table.items()}

    @cached_property
    def states(self) -> Ints:
        """The rows of `data` whose state is known to begin at `start`, which an absence that was read is not."""
        return np.flatnonzero(self.data["is_change"] | (self.data["czxid"] != NONE))

    @cached_property
    def _state_keys(self) -> Ints:
        keys: Ints = self.data["key"][self.states]
        return keys

    @cached_property
    def _is_settled(self) -> Bools:
        """By path: every change is known."""
        return ~self.unsettled & self.is_complete

    def state_at(self, path: npt.NDArray[Any], zxid: npt.NDArray[Any]) -> Ints:
        """Return the rows of `data` that show nodes as of these zxids; −1 if nothing proves how they were."""
        states = self.states
        if not len(states):
            return np.full(len(path), -1)
        place = np.searchsorted(self._state_keys, self.key(path, zxid), "right") - 1
        row = states[place]
        known = (place >= 0) & (self.data["path"][row] == path)
        known &= self._is_settled[path] | (self.data["until"][row] >= zxid)
        return np.where(known, row, -1)

    def shown(self, name: str, rows: Ints) -> Ints:
        """Return a column of these rows of `data`; `NONE` for −1."""
        return _or_none(self.data[name], rows)

    def is_contradicted(self, seen: Table) -> bool:
        """Return True if two sightings contradict each other."""
        path, start, key = seen["path"], seen["start"], seen["key"]
        if not len(path):
            return False
        begins = np.flatnonzero(np.diff(key, prepend=-1) != 0)
        before = begins[1:] - 1
        later = begins[1:][path[before] == path[begins[1:]]]
        reach = highest(seen["until"], path)
        return bool((reach[later - 1] >= start[later]).any())

    @cached_property
    def has_conflicts(self) -> bool:
        """Return True if two sightings of a node's data contradict each other."""
        data = self.data
        same = np.diff(data["key"]) == 0
        is_there = data["czxid"] != NONE
        return bool((same & (is_there[1:] != is_there[:-1])).any()) or self.is_contradicted(data)

    def absence_after(self, path: npt.NDArray[Any], zxid: npt.NDArray[Any]) -> Ints:
        """Return the rows of `data` with the first absence of each node after a zxid; −1 if there is none."""
        if not len(self.absences):
            return np.full(len(path), -1)
        place = np.searchsorted(self.data["key"][self.absences], self.key(path, zxid), "right")
        row = self.absences[np.minimum(place, len(self.absences) - 1)]
        return np.where((place < len(self.absences)) & (self.data["path"][row] == path), row, -1)

    @cached_property
    def ends(self) -> Ints:
        """The rows of `data` that are ends of nodes."""
        return np.flatnonzero(self.data["is_change"] & (self.data["czxid"] == NONE))

    @cached_property
    def absences(self) -> Ints:
        """The rows of `data` in which a node was not there."""
        return np.flatnonzero(self.data["czxid"] == NONE)

    def key(self, path: npt.NDArray[Any], zxid: npt.NDArray[Any]) -> Ints:
        """Return each path and zxid as one number, which orders by path first."""
        key: Ints = path.astype(np.int64) << self.bits | zxid
        return key


class Labels:
    """Numbers for pairs of a path and a content that are looked for.

    Different data may have one content, and the same may be written twice.
    """

    def __init__(self, path: npt.NDArray[Any], content: Ints) -> None:
        """Number the pairs of these paths and contents."""
        self._is_of = np.zeros(path.max(initial=-1) + 1, np.bool_)
        self._is_of[path] = True
        self._contents = distinct(content)

    def rows(self, table: Table) -> Ints:
        """Return the rows of a table that have one of these paths, and one of these contents."""
        if not len(self._contents):
            return np.zeros(0, np.int64)
        path, content = table["path"], table["content"]
        has = (path < len(self._is_of)) & (content != NONE)
        rows = np.flatnonzero(has)
        rows = rows[self._is_of[path[rows]]]
        place = np.searchsorted(self._contents, content[rows])
        found: Ints = rows[self._contents[np.minimum(place, len(self._contents) - 1)] == content[rows]]
        return found

    def of(self, path: npt.NDArray[Any], content: Ints) -> Ints:
        """Return the numbers of pairs whose contents are among these."""
        label: Ints = path.astype(np.int64) * len(self._contents) + np.searchsorted(self._contents, content)
        return label


def _or_none(values: npt.NDArray[Any], rows: Ints) -> Ints:
    """Return these rows of a column; `NONE` for −1."""
    if not len(values):
        return np.full(len(rows), NONE)
    found: Ints = values[rows].astype(np.int64, copy=False)
    found[rows < 0] = NONE
    return found


def _only(table: Table, chosen: Bools, is_change: bool | None = None) -> Table:
    """Return some rows of a table."""
    rows = np.flatnonzero(chosen)
    if is_change is None:
        return {name: values[rows] for name, values in table.items()}
    return {name: table[name][rows] for name in _SHOWN} | {"is_change": np.full(len(rows), is_change)}
