"""Screens the promises of `clients.values` in columns."""

import numpy as np

from zabcheck.zookeeper.clients.screen.children import deletes, has_other_cversions, lists
from zabcheck.zookeeper.clients.screen.columns import (
    BAD_VERSION,
    DONE,
    LENGTH,
    MODES,
    NO_NODE,
    NODE_EXISTS,
    NONE,
    OF_EPHEMERAL,
    OF_NO_PART,
    OPS,
    Bools,
    Columns,
    Ints,
    Table,
    is_one_of,
)
from zabcheck.zookeeper.clients.screen.nodes import CHECK, CREATE, DELETE, SET, Labels, Nodes
from zabcheck.zookeeper.clients.tree import UNKNOWN_VERSION


def reads(columns: Columns, nodes: Nodes) -> int | None:
    """Look for sightings that contradict each other, absences of nodes that are there, and wrong lists of children."""
    data = nodes.data
    if nodes.has_conflicts or is_of_the_future(columns, nodes):
        return None
    absent = ~data["is_change"] & (data["czxid"] == NONE)
    path, zxid = data["path"][absent], columns.zxid[data["row"][absent]]
    known = nodes.state_at(path, zxid)
    if (nodes.shown("czxid", known) != NONE).any():
        return None
    bare = lists(columns, nodes)
    several = np.bincount(data["path"], minlength=1) > 1
    return None if bare is None else bare + int((several[data["path"]] & ~data["is_change"]).sum())


def is_of_the_future(columns: Columns, nodes: Nodes) -> bool:
    """Return True if an answer shows a change after its own zxid."""
    data = nodes.data
    zxid = columns.zxid[data["row"]]
    read = ~data["is_change"] & (zxid > 0)
    return bool((read & ((zxid < data["mzxid"]) | (zxid < data["czxid"]))).any())


def reliability(columns: Columns, nodes: Nodes) -> int | None:
    """Look for sightings that contradict each other."""
    data = nodes.data
    if nodes.has_conflicts:
        return None
    return int((~data["is_change"] & (data["until"] > data["start"])).sum())


def agreement(columns: Columns, nodes: Nodes) -> int | None:
    """Compare sightings of one node that begin at one zxid."""
    data, there = nodes.data, nodes.data["czxid"] != NONE
    pair = (np.diff(data["key"]) == 0) & there[1:] & there[:-1]
    cases = int(pair.sum())
    versions_known = (data["version"][1:] != UNKNOWN_VERSION) & (data["version"][:-1] != UNKNOWN_VERSION)
    differ = _differ(data, "content") | (versions_known & (data["version"][1:] != data["version"][:-1]))
    born = (data["czxid"][1:] > 0) & (data["czxid"][:-1] > 0)
    others = np.diff(data["czxid"]) != 0
    others |= np.diff(data["owner"]) != 0
    others |= _differ(data, "mtime")
    if (pair & (differ | (born & others))).any():
        return None
    children = _there(nodes.children)
    pair = (np.diff(children["key"]) == 0) & (np.diff(children["czxid"]) == 0)
    if (pair & _differ(children, "children")).any():
        return None
    return cases + int(pair.sum())


def _there(seen: Table) -> Table:
    chosen = seen["czxid"] != NONE
    return {name: seen[name][chosen] for name in ("key", "czxid", "cversion", "children")}


def _differ(seen: Table, name: str) -> Bools:
    """Compare a field of each row with the row before: True where both have it, and it is not the same."""
    first, second = seen[name][:-1], seen[name][1:]
    differ: Bools = (first != NONE) & (second != NONE) & (first != second)
    return differ


def multi(columns: Columns, nodes: Nodes) -> int | None:
    """Look at the results of each multi."""
    is_multi = columns.op == OPS["multi"]
    return int(is_multi.sum()) if _have_results(columns, is_multi & (columns.error == DONE)) else None


def views_of_multis(columns: Columns, nodes: Nodes) -> int | None:
    """Look for sightings that contradict each other, and for contents that only a refused multi would have written."""
    if nodes.has_conflicts:
        return None
    effects = nodes.effects
    of_multi = (columns.op == OPS["multi"])[effects["row"]]
    refused = of_multi & (columns.is_known & ~columns.is_done)[effects["row"]] & (effects["content"] != NONE)
    labels, data = Labels(effects["path"][refused], effects["content"][refused]), nodes.data
    seen = labels.rows(data)
    read = seen[~data["is_change"][seen]]
    if not len(read):
        return 0
    read_of_refused = np.intersect1d(
        labels.of(data["path"][read], data["content"][read]),
        labels.of(effects["path"][refused], effects["content"][refused]),
    )
    written = labels.rows(effects)
    written = written[~refused[written]]
    otherwise = labels.of(effects["path"][written], effects["content"][written])
    if not np.isin(read_of_refused, otherwise).all():
        return None
    return 0


def _have_results(columns: Columns, answered: Bools) -> bool:
    """Return False if the results of a multi do not fit its parts, or each other."""
    rows = np.flatnonzero(answered)
    lines, error = columns.results["line"], columns.results["error"]
    first = np.searchsorted(lines, columns.answered[rows])
    count = np.searchsorted(lines, columns.answered[rows], "right") - first
    parts = columns.parts["line"]
    asked = np.searchsorted(parts, columns.sent[rows], "right") - np.searchsorted(parts, columns.sent[rows])
    if (count != asked).any():
        return False
    mine = np.repeat(first, count) + np.arange(count.sum()) - np.repeat(np.cumsum(count) - count, count)
    is_wrong = error != DONE
    so_far = np.cumsum(is_wrong)
    before = np.append(0, so_far)[np.arange(len(lines)) - columns.results["number"]]
    failed = is_wrong & (so_far - before == 1)
    after = (so_far > before) & ~failed
    bad = (failed & (error == OF_NO_PART)) | (after & (error != OF_NO_PART))
    return not bad[mine].any()


def multi_read(columns: Columns, nodes: Nodes) -> int | None:
    """Count multi reads."""
    return int((columns.is_known & (columns.op == OPS["multiRead"])).sum())


def without_conflicts(columns: Columns, nodes: Nodes) -> int | None:
    """Look for sightings that contradict each other."""
    return None if nodes.has_conflicts else 0


def views_of_multi_reads(columns: Columns, nodes: Nodes) -> int | None:
    """Look for sightings that contradict each other, or their own zxid."""
    return None if nodes.has_conflicts or is_of_the_future(columns, nodes) else 0


def conditions(columns: Columns, nodes: Nodes) -> int | None:
    """Compare each outcome with the node, its parent and its children before it, where they are known."""
    answered = _answered(columns, nodes)
    parts = [look(columns, nodes, answered) for look in (_of_nodes, _of_parents)]
    cases = [*parts, deletes(columns, nodes)]
    return None if None in cases else sum(each or 0 for each in cases)


def _answered(columns: Columns, nodes: Nodes) -> Bools:
    """Return which effects have an outcome: of multis, only those with as many results as parts."""
    effects = nodes.effects
    row, error = effects["row"], effects["error"]
    answered: Bools = (columns.is_known & (columns.zxid > 0))[row] & (error != OF_NO_PART)
    is_part = columns.op[row] == OPS["multi"]
    if is_part.any():
        answered[np.isin(row, row[is_part & (error == NONE)]) & is_part] = False  # fewer results than parts
        results = np.bincount(
            np.searchsorted(columns.answers["line"], columns.results["line"]), minlength=len(columns.answers["line"])
        )
        parts = np.bincount(row[is_part], minlength=len(columns.op))
        more = (columns.answer >= 0) & (columns.op == OPS["multi"])
        more &= parts < np.where(columns.answer >= 0, results[columns.answer], 0)
        answered &= ~more[row]
    return answered


def _is_touched(columns: Columns, nodes: Nodes, path: Ints) -> Bools:
    """Return for each effect of a multi whether one before it is about the node of this path."""
    effects = nodes.effects
    row = effects["row"]
    where = np.flatnonzero(columns.op[row] == OPS["multi"])
    touched = np.zeros(len(row), np.bool_)
    if len(where):
        of_multi = row[where] * len(nodes.unsettled)
        pairs, first = np.unique(of_multi + effects["created"][where], return_index=True)
        wanted = of_multi + path[where]
        place = np.minimum(np.searchsorted(pairs, wanted), len(pairs) - 1)
        touched[where] = (pairs[place] == wanted) & (first[place] < np.arange(len(where)))
    return touched


def _of_parents(columns: Columns, nodes: Nodes, answered: Bools) -> int | None:
    """Compare the outcome of each create with the parent as it was before."""
    effects = nodes.effects
    above = nodes.parents[effects["created"]]
    judged = answered & (effects["op"] == CREATE) & nodes.is_owned[above] & ~_is_touched(columns, nodes, above)
    error, zxid = effects["error"][judged], columns.zxid[effects["row"][judged]]
    before = nodes.state_at(above[judged], zxid - 1)
    czxid, owner = nodes.shown("czxid", before), nodes.shown("owner", before)
    known, there = before >= 0, czxid != NONE
    wrong = known & ~there & ((error == DONE) | (error == OF_EPHEMERAL))
    wrong |= there & (error == NO_NODE)
    wrong |= there & (czxid > 0) & (error == np.where(owner > 0, DONE, OF_EPHEMERAL))
    return None if wrong.any() else int(known.sum())


def _of_nodes(columns: Columns, nodes: Nodes, answered: Bools) -> int | None:
    """Compare each outcome with the node as it was before."""
    effects = nodes.effects
    judged = answered & nodes.is_owned[effects["created"]] & ~_is_touched(columns, nodes, effects["created"])
    chosen = np.flatnonzero(judged)
    some = {name: effects[name][chosen] for name in ("row", "op", "created", "error", "expected", "mode")}
    op, error, expected = some["op"], some["error"], some["expected"]
    before = nodes.state_at(some["created"], columns.zxid[some["row"]] - 1)
    czxid, made = (nodes.result(name, effects["result"][chosen]) for name in ("czxid", "version"))
    has_stat = czxid != NONE
    fine = error == DONE
    cases = int((fine & (expected >= 0)).sum() + (before >= 0).sum())
    set_done = fine & (op == SET) & has_stat
    if (set_done & (expected >= 0) & (made != expected + 1)).any():
        return None
    known = before >= 0
    there = nodes.shown("czxid", before) != NONE
    gone, is_changed = known & ~there, is_one_of(op, [SET, DELETE, CHECK])
    wrong = gone & ((fine & is_changed) | (error == NODE_EXISTS))
    version = nodes.shown("version", before)
    wrong |= there & (error == NO_NODE) & (op != CREATE)
    wrong |= there & (error == BAD_VERSION) & (expected == version)
    wrong |= there & fine & (op == CREATE) & (some["mode"] & MODES["sequential"] == 0)
    there &= version != UNKNOWN_VERSION
    wrong |= there & fine & is_changed & (expected != -1) & (expected != version)
    wrong |= there & set_done & (made != version + 1)
    return None if wrong.any() else cases


def counters(columns: Columns, nodes: Nodes) -> int | None:
    """Check each Stat, and compare those of one node."""
    data = nodes.data
    there = data["czxid"] != NONE
    if nodes.has_conflicts or nodes.is_contradicted(nodes.children) or _is_impossible(data, there):
        return None
    children = _there(nodes.children)
    children = {name: values[children["cversion"] != NONE] for name, values in children.items()}
    pair = (np.diff(children["key"]) == 0) & (np.diff(children["czxid"]) == 0)
    if (pair & (np.diff(children["cversion"]) != 0)).any() or _has_another_owner(columns, nodes):
        return None
    if has_other_cversions(columns, nodes):
        return None
    return int(there.sum())


def _is_impossible(data: Table, there: Bools) -> bool:
    """Return True if a Stat is one that no node can have."""
    czxid, mzxid, version = data["czxid"], data["mzxid"], data["version"]
    wrong = (czxid > mzxid) | (czxid > data["pzxid"])
    wrong |= ((version == 0) != (mzxid == czxid)) & (version <= 0)
    count, changes, names = data["count"], data["cversion"], data["names"]
    wrong |= (count != NONE) & (names != NONE) & (count != names)
    wrong |= (count != NONE) & (changes != NONE) & ((changes < count) | ((changes - count) & 1 > 0))
    content, length = data["content"], data["length"]
    wrong |= (length != NONE) & (content != NONE) & (content & LENGTH != length)
    return bool((wrong & there).any())


def _has_another_owner(columns: Columns, nodes: Nodes) -> bool:
    """Return True if a node has another owner than the one with which it was created."""
    effects, data = nodes.effects, nodes.data
    created = (effects["op"] == CREATE) & (columns.is_done & (columns.zxid > 0))[effects["row"]]
    created = np.flatnonzero(created & nodes.is_owned[effects["created"]])
    if not len(created):
        return False
    row = effects["row"][created]
    key = nodes.key(effects["created"][created], columns.zxid[row])
    owner = np.where(effects["mode"][created] & MODES["ephemeral"] > 0, columns.session[row], 0)
    order = np.argsort(key, kind="stable")
    key, owner = key[order], owner[order]
    seen = data["czxid"] > 0
    of = nodes.key(data["path"][seen], data["czxid"][seen])
    place = np.maximum(np.searchsorted(key, of, "right") - 1, 0)
    return bool(((key[place] == of) & (owner[place] != data["owner"][seen])).any())


def sequential(columns: Columns, nodes: Nodes) -> int | None:
    """Compare the numbers of sequential nodes below each parent, in the order of zxids."""
    effects = nodes.effects
    row, is_create = effects["row"], effects["op"] == CREATE
    uncertain = np.zeros(len(nodes.unsettled), np.bool_)
    uncertain[nodes.parents[effects["path"][is_create & ~columns.is_known[row]]]] = True
    is_made = is_create & (columns.is_done & (columns.zxid > 0))[row]
    made = np.flatnonzero(is_made & nodes.is_owned[nodes.parents[effects["created"]]])
    path, zxid = effects["created"][made], columns.zxid[row[made]]
    top = nodes.parents[path]
    order = np.argsort(nodes.key(top, zxid), kind="stable")
    place = np.flatnonzero(effects["mode"][made][order] & MODES["sequential"] > 0)
    path, zxid, top = path[order][place], zxid[order][place], top[order][place]
    suffix = [columns.paths[each][-10:] for each in path.tolist()]
    number = np.array([int(each) if each.isdecimal() else -1 for each in suffix], np.int64)
    follows = np.diff(top) == 0
    ends = nodes.data["key"][nodes.ends]
    ended = np.searchsorted(ends, nodes.key(top[1:], zxid[1:]), "right") > np.searchsorted(
        ends, nodes.key(top[1:], zxid[:-1]), "right"
    )
    follows &= ~ended
    step = np.diff(number)
    exact = nodes.is_complete[top[1:]] & ~uncertain[top[1:]]
    wrong = (step <= 0) | (exact & (step != np.diff(place)))
    return None if (follows & wrong).any() else int(follows.sum())
