"""Promises about the contents of the tree: data, versions and counters, atomic writes, and conditions."""

from collections import defaultdict
from collections.abc import Iterator
from itertools import pairwise

from zabcheck.zookeeper.clients.children import cversions, deletes, lists
from zabcheck.zookeeper.clients.exchange import Effect, Exchange, Operation, effects_of
from zabcheck.zookeeper.clients.history import NOBODY, Answer, Content, InitialNode, Stat
from zabcheck.zookeeper.clients.promise import GUIDE, USENIX, Findings, Promise
from zabcheck.zookeeper.clients.tree import UNKNOWN_VERSION, Conflict, Sighting, Tree, parent
from zabcheck.zookeeper.wire.zxids import shown

_OF_NO_PART = "RuntimeInconsistency"
"""The result of each part after the one because of which a multi is refused."""
_OF_EPHEMERAL = "NoChildrenForEphemerals"


def _name(by: Operation | InitialNode) -> str:
    return by.name if isinstance(by, Operation) else f"the initial {by.path}"


def _story(conflict: Conflict) -> str:
    """Return the contradiction of two sightings as text."""
    path, stale, change = conflict
    knew = f"{path} was {'deleted' if change.stat is None else 'changed'} at {shown(change.start)} ({_name(change.by)})"
    if change.stat is None and not change.is_change:
        knew = f"{_name(change.by)} finds no {path} as of {shown(change.start)}"
    has = f"finds it as of {shown(stale.start)}" if stale.stat is not None else "finds no such node"
    return f"{knew}, but {_name(stale.by)}, as of {shown(stale.until)}, {has}"


def _has_its_data(conflict: Conflict) -> bool:
    """Return True if the older sighting shows the data of the newer one, so that only its counters are old."""
    return conflict.stale.content is not None and conflict.stale.content == conflict.change.content


def reads(exchange: Exchange, tree: Tree, found: Findings) -> None:
    """Compare each read with the state of its node as of its zxid, where the history proves that."""
    for path, sightings in tree.reads:
        if len(tree.data[path]) > 1:
            found.case(len(sightings))
        for seen in sightings:
            _look_at_a_read(path, seen, tree, found)
    for conflict in tree.conflicts:
        if not _has_its_data(conflict):
            found.breach(conflict.change.start, _story(conflict), conflict.change.by, conflict.stale.by)
    lists(exchange, tree, found)


def _look_at_a_read(path: str, seen: Sighting, tree: Tree, found: Findings) -> None:
    stat, zxid = seen.stat, seen.by.zxid
    if stat is not None:
        if 0 < zxid < stat.mzxid or 0 < zxid < stat.czxid:
            text = f"{_name(seen.by)}, as of {shown(zxid)}, shows {path} as of {shown(max(stat.mzxid, stat.czxid))}"
            found.breach(zxid, text, seen.by)
        return
    known = tree.state_at(path, zxid)
    if known is not None and known.stat is not None and known is not seen:
        text = (
            f"{_name(seen.by)} finds no {path} as of {shown(zxid)}, but it has been there since {shown(known.start)} "
            f"({_name(known.by)})"
        )
        found.breach(zxid, text, known.by, seen.by)


def reliability(exchange: Exchange, tree: Tree, found: Findings) -> None:
    """Look for later views that lack a change that was acknowledged, or that anybody had read."""
    found.case(sum(seen.until > seen.start for _, sightings in tree.reads for seen in sightings))
    for conflict in tree.conflicts:
        if not _has_its_data(conflict) and conflict.change.by is not conflict.stale.by:
            found.breach(conflict.change.start, _story(conflict), conflict.change.by, conflict.stale.by)


def agreement(exchange: Exchange, tree: Tree, found: Findings) -> None:
    """Compare all sightings of one node as of one transaction."""
    for path in sorted(tree.data):
        for first, second in pairwise(tree.data[path]):
            if first.start == second.start and first.stat is not None and second.stat is not None:
                found.case()
                differ = "" if _is_equal(first, second) else _difference(first, second)
                if differ:
                    _disagree(f"the {differ} of {path}", first, second, found)
    for path in sorted(tree.children):
        shown_to = [seen for seen in tree.children[path] if seen.stat is not None]
        for first, second in pairwise(shown_to):
            if first.start == second.start and _czxid(first) == _czxid(second):
                found.case()
                one, other = first.children, second.children
                if one is not None and other is not None and {*one} != {*other}:
                    _disagree(f"the children of {path}", first, second, found)


def _is_equal(first: Sighting, second: Sighting) -> bool:
    return first.stat == second.stat and first.content == second.content


def _disagree(what: str, first: Sighting, second: Sighting, found: Findings) -> None:
    """Note that two sightings as of one transaction show different states."""
    text = f"{what} as of {shown(first.start)} differ between {_name(first.by)} and {_name(second.by)}"
    found.breach(first.start, text, first.by, second.by)


def _czxid(seen: Sighting) -> int:
    return seen.stat.czxid if seen.stat is not None else 0


def _difference(first: Sighting, second: Sighting) -> str:
    """Return the name, in the plural, of what differs between two sightings of one state; "" if nothing does."""
    assert first.stat is not None
    assert second.stat is not None
    if first.content is not None and first.content.differs(second.content):
        return "data"
    if UNKNOWN_VERSION not in (first.stat.version, second.stat.version) and first.stat.version != second.stat.version:
        return "versions"
    if not (first.stat.czxid and second.stat.czxid):
        return ""
    for field in ("czxid", "ephemeral_owner"):
        if getattr(first.stat, field) != getattr(second.stat, field):
            return {"ephemeral_owner": "owners"}.get(field, f"{field}s")
    times = {first.stat.mtime, second.stat.mtime} - {None}
    return "mtimes" if len(times) > 1 else ""


def multi(exchange: Exchange, tree: Tree, found: Findings) -> None:
    """Check the results of each multi, and look for views that have only a part of it."""
    results_of_multis(exchange, tree, found)
    views_of_multis(exchange, tree, found)


def results_of_multis(exchange: Exchange, tree: Tree, found: Findings) -> None:
    """Check the results of each multi."""
    for operation in exchange.writes:
        if operation.request.op == "multi":
            found.case()
            if operation.answer is not None and operation.answer.error == "":
                _look_at_results(operation, operation.answer, found)


def views_of_multis(exchange: Exchange, tree: Tree, found: Findings) -> None:
    """Look for views that have only a part of a multi, or any part of one that was refused."""
    refused: dict[tuple[str, Content | None], Operation] = {}
    for operation in exchange.writes:
        if operation.request.op == "multi" and operation.is_known and not operation.is_done:
            refused |= dict.fromkeys(_written(operation), operation)
    paths = {path for path, _ in refused}
    suspicious = [
        (source, path, seen)
        for path, sightings in tree.reads
        if path in paths
        for seen in sightings
        if seen.content is not None and (source := refused.get((path, seen.content)))
    ]
    written = {*_written_otherwise(exchange)} if suspicious else ()
    for source, path, seen in suspicious:
        if (path, seen.content) not in written:
            found.breach(
                seen.start,
                f"{source.name} was refused, but {_name(seen.by)} finds what it would have written to {path}",
                source,
                seen.by,
            )
    for conflict in tree.conflicts:
        change = conflict.change.by
        if isinstance(change, Operation) and change.request.op == "multi":
            found.breach(conflict.change.start, _story(conflict), change, conflict.stale.by)


def _written(operation: Operation) -> Iterator[tuple[str, Content]]:
    """Yield the paths that a write sets, or would have set, each with its content."""
    return ((each.path, each.content) for each in effects_of(operation) if each.content is not None)


def _written_otherwise(exchange: Exchange) -> Iterator[tuple[str, Content]]:
    """Yield the paths and contents that were or may have been written by anything but a refused multi."""
    for operation in exchange.writes:
        if operation.request.op != "multi" or operation.is_done or not operation.is_known:
            yield from _written(operation)


def _look_at_results(operation: Operation, answer: Answer, found: Findings) -> None:
    errors = [result.error for result in answer.results]
    if len(errors) != len(operation.request.parts):
        text = f"{operation.name} has {len(operation.request.parts)} parts but {len(errors)} results"
        found.breach(operation.zxid, text, operation)
    elif any(errors):
        failed = next(number for number, error in enumerate(errors) if error)
        rest = errors[failed + 1 :]
        if errors[failed] == _OF_NO_PART or any(error != _OF_NO_PART for error in rest):
            text = (
                f"{operation.name} was refused with the results {', '.join(error or 'done' for error in errors)}; "
                f"expected one error, and {_OF_NO_PART} after it"
            )
            found.breach(operation.zxid, text, operation)


def multi_read(exchange: Exchange, tree: Tree, found: Findings) -> None:
    """Look for a multi whose reads show different trees."""
    count_multi_reads(exchange, tree, found)
    if found.judged:
        views_of_multi_reads(exchange, tree, found)


def count_multi_reads(exchange: Exchange, tree: Tree, found: Findings) -> None:
    """Count the multis that read, and were answered."""
    found.case(sum(each.is_known and each.request.op == "multiRead" for each in exchange.operations))


def views_of_multi_reads(exchange: Exchange, tree: Tree, found: Findings) -> None:
    """Look for reads of a multi that no one tree explains."""
    for path, seen in ((path, seen) for path, sightings in tree.reads for seen in sightings):
        if _is_multi_read(seen) and seen.stat is not None and 0 < seen.by.zxid < seen.stat.mzxid:
            text = f"{_name(seen.by)}, as of {shown(seen.by.zxid)}, shows {path} as of {shown(seen.stat.mzxid)}"
            found.breach(seen.by.zxid, text, seen.by)
    for conflict in tree.conflicts:
        if _is_multi_read(conflict.stale):
            found.breach(conflict.change.start, _story(conflict), conflict.change.by, conflict.stale.by)


def _is_multi_read(seen: Sighting) -> bool:
    return isinstance(seen.by, Operation) and seen.by.request.op == "multiRead"


# Conditions.


def conditions(exchange: Exchange, tree: Tree, found: Findings) -> None:
    """Compare the outcome of each write with the node, its parent and its children before it, where they are known."""
    for operation in exchange.writes:
        if not operation.is_known or not operation.zxid or operation.answer is None:
            continue
        if operation.request.op == "multi" and len(operation.request.parts) != len(operation.answer.results):
            continue
        touched: set[str] = set()
        for effect in effects_of(operation):
            error = effect.result.error if effect.result is not None else ""
            if error != _OF_NO_PART and effect.op != "closeSession":
                if effect.created not in touched and exchange.owns(effect.created):
                    _judge_condition(operation, effect, error, tree, found)
                above = parent(effect.created)
                if effect.op == "create" and above not in touched and exchange.owns(above):
                    _judge_parent(above, operation, error, tree, found)
            touched.add(effect.created)
    deletes(exchange, tree, found)


def _judge_condition(operation: Operation, effect: Effect, error: str, tree: Tree, found: Findings) -> None:
    """Judge the outcome of one request; of the parts of a multi, that of the first one on its node."""
    before = tree.state_at(effect.created, operation.zxid - 1)
    stat = effect.result.stat if effect.result is not None else None
    if effect.version >= 0 and not error:
        found.case()
        if stat is not None and effect.op == "setData" and stat.version != effect.version + 1:
            text = (
                f"{operation.name} expected version {effect.version} of {effect.path}, but made version {stat.version}"
            )
            found.breach(operation.zxid, text, operation)
    if before is None:
        return
    found.case()
    wrong = _unfounded(effect, error, before.stat, stat)
    if wrong:
        text = (
            f"{effect.created} {wrong[0]} as of {shown(before.start)}, but {operation.name} {wrong[1]} at "
            f"{shown(operation.zxid)}"
        )
        found.breach(operation.zxid, text, before.by, operation)


def _judge_parent(path: str, operation: Operation, error: str, tree: Tree, found: Findings) -> None:
    """Judge the create of a child by its parent at `path`."""
    before = tree.state_at(path, operation.zxid - 1)
    if before is None:
        return
    found.case()
    stat, wrong = before.stat, ""
    if stat is None:
        wrong = "was not there" if error in ("", _OF_EPHEMERAL) else ""
    elif error == "NoNode":
        wrong = "was there"
    elif stat.czxid and error == ("" if stat.ephemeral_owner != NOBODY else _OF_EPHEMERAL):
        wrong = "was an ephemeral node" if not error else "was not an ephemeral node"
    if wrong:
        did = f"was refused with {error}" if error else "was done"
        text = f"{path} {wrong} as of {shown(before.start)}, but {operation.name} {did} at {shown(operation.zxid)}"
        found.breach(operation.zxid, text, before.by, operation)


def _unfounded(effect: Effect, error: str, before: Stat | None, after: Stat | None) -> tuple[str, str] | None:
    """Return the state of the node, and the outcome that it does not allow, as text; None if it allows the outcome."""
    if before is None:
        if not error and effect.op in ("setData", "delete", "check"):
            return "was not there", "was done"
        return ("was not there", "was refused with NodeExists") if error == "NodeExists" else None
    version = f"had version {before.version}" if before.version != UNKNOWN_VERSION else "was there"
    if error == "NoNode" and effect.op != "create":
        return version, "was refused with NoNode"
    if error == "BadVersion" and effect.version == before.version:
        return version, f"expected version {effect.version} and was refused with BadVersion"
    if error:
        return None
    if effect.op == "create" and "sequential" not in effect.mode:
        return "was there", "was done"
    if before.version == UNKNOWN_VERSION:
        return None
    if effect.op in ("setData", "delete", "check") and effect.version not in (-1, before.version):
        return version, f"expected version {effect.version} and was done"
    if effect.op == "setData" and after is not None and after.version != before.version + 1:
        return version, f"made version {after.version}"
    return None


# Counters.


def counters(exchange: Exchange, tree: Tree, found: Findings) -> None:
    """Compare the counters of nodes with each other, with the data, and with the known changes."""
    _possible(tree, found)
    _up_to_date(tree, found)
    _one_cversion(tree, found)
    cversions(exchange, tree, found)
    _owners(exchange, tree, found)


def _possible(tree: Tree, found: Findings) -> None:
    """Look for counters that no node can have."""
    for path in sorted(tree.data):
        shown_to = [seen for seen in tree.data[path] if seen.stat is not None]
        found.case(len(shown_to))
        for seen in shown_to:
            assert seen.stat is not None
            wrong = _impossible(seen.stat, seen)
            if wrong:
                found.breach(seen.until, f"{_name(seen.by)} shows {path} with {wrong}: no node can be so", seen.by)


def _up_to_date(tree: Tree, found: Findings) -> None:
    """Look for an mzxid older than the data beside it, and a pzxid older than a change of the children."""
    for conflict in tree.conflicts:
        if _has_its_data(conflict):
            text = (
                f"{_name(conflict.stale.by)} finds the data that {_name(conflict.change.by)} wrote to {conflict.path} "
                f"at {shown(conflict.change.start)}, but with mzxid {shown(conflict.stale.start)}"
            )
            found.breach(conflict.change.start, text, conflict.change.by, conflict.stale.by)
    for conflict in tree.conflicts_of_children():
        text = (
            f"a child of {conflict.path} was created or deleted at {shown(conflict.change.start)} "
            f"({_name(conflict.change.by)}), but {_name(conflict.stale.by)}, as of {shown(conflict.stale.until)}, "
            f"shows pzxid {shown(conflict.stale.start)}"
        )
        found.breach(conflict.change.start, text, conflict.change.by, conflict.stale.by)


def _one_cversion(tree: Tree, found: Findings) -> None:
    """Look for two different cversions with one pzxid."""
    for path in sorted(tree.children):
        shown_to = [seen for seen in tree.children[path] if seen.stat is not None and seen.stat.cversion is not None]
        for first, second in pairwise(shown_to):
            assert first.stat is not None
            assert second.stat is not None
            if (
                first.start == second.start
                and first.stat.cversion != second.stat.cversion
                and first.stat.czxid == second.stat.czxid
            ):
                text = (
                    f"{path} with pzxid {shown(first.start)} has cversion {first.stat.cversion} in "
                    f"{_name(first.by)}, but {second.stat.cversion} in {_name(second.by)}"
                )
                found.breach(first.start, text, first.by, second.by)


def _impossible(stat: Stat, seen: Sighting) -> str:
    """Return as text the counters that no node can have together; "" if a node can have all of them."""
    if stat.czxid > stat.mzxid or stat.czxid > stat.pzxid:
        return f"czxid {shown(stat.czxid)}, mzxid {shown(stat.mzxid)} and pzxid {shown(stat.pzxid)}"
    if (stat.version == 0) != (stat.mzxid == stat.czxid) and stat.version <= 0:
        return f"version {stat.version}, czxid {shown(stat.czxid)} and mzxid {shown(stat.mzxid)}"
    if stat.num_children is not None and seen.children is not None and stat.num_children != len(seen.children):
        return f"{len(seen.children)} children and numChildren {stat.num_children}"
    children, changes = stat.num_children, stat.cversion
    if children is not None and changes is not None and (changes < children or (changes - children) % 2):
        return f"cversion {changes} and numChildren {children}"
    if stat.data_length is not None and seen.content is not None and stat.data_length != seen.content.length:
        return f"{seen.content.length} bytes of data and dataLength {stat.data_length}"
    return ""


def _owners(exchange: Exchange, tree: Tree, found: Findings) -> None:
    """Compare the owner of each node with the session that created it."""
    created: dict[str, dict[int, tuple[Operation, str]]] = defaultdict(dict)
    for operation in exchange.done:
        for effect in effects_of(operation):
            if effect.op == "create":
                owner = operation.session if "ephemeral" in effect.mode else NOBODY
                created[effect.created][operation.zxid] = operation, owner
    for path in sorted(created):
        for seen in tree.data[path]:
            by = created[path].get(seen.stat.czxid) if seen.stat is not None else None
            if by is not None and seen.stat is not None and seen.stat.ephemeral_owner != by[1]:
                text = (
                    f"{by[0].name} created {path} with the owner {by[1]}, but {_name(seen.by)} shows the owner "
                    f"{seen.stat.ephemeral_owner}"
                )
                found.breach(seen.until, text, by[0], seen.by)


def sequential(exchange: Exchange, tree: Tree, found: Findings) -> None:
    """Compare the numbers of sequential nodes below each parent, in the order of their zxids."""
    below: dict[str, list[tuple[int, Effect, Operation]]] = defaultdict(list)
    uncertain: set[str] = set()
    for operation in exchange.writes:
        for effect in effects_of(operation):
            if effect.op == "create":
                if operation.is_done and operation.zxid:
                    below[parent(effect.created)].append((operation.zxid, effect, operation))
                elif not operation.is_known:
                    uncertain.add(parent(effect.path))
    for top in filter(exchange.owns, sorted(below)):
        creates = sorted(below[top], key=lambda create: create[0])
        numbers = [index for index, (_, effect, _) in enumerate(creates) if "sequential" in effect.mode]
        for first, second in pairwise(numbers):
            (zxid, effect, operation), (next_zxid, next_effect, next_operation) = creates[first], creates[second]
            if _is_deleted(top, zxid, next_zxid, tree):
                continue  # the next one counts from 0
            found.case()
            number, next_number = _number(effect), _number(next_effect)
            if next_number <= number:
                text = (
                    f"{effect.created} was created at {shown(zxid)}, and {next_effect.created}, whose number is not "
                    f"higher, at {shown(next_zxid)}"
                )
                found.breach(next_zxid, text, operation, next_operation)
            elif tree.is_complete(top) and top not in uncertain and next_number - number != second - first:
                text = (
                    f"{effect.created} was created at {shown(zxid)} and {next_effect.created} at {shown(next_zxid)}, "
                    f"but the number of nodes created between them is {second - first - 1}"
                )
                found.breach(next_zxid, text, operation, next_operation, kind="by the code")


def _is_deleted(path: str, since: int, until: int, tree: Tree) -> bool:
    """Return True if a node is known to have been deleted after one zxid and up to another."""
    return tree.ends(path).last(since, until) is not None


def _number(effect: Effect) -> int:
    suffix = effect.created[-10:]
    return int(suffix) if suffix.isdecimal() else -1


VALUES = (
    Promise(
        "reads as of one zxid",
        "An answer shows the tree as all transactions up to one zxid left it.",
        f"{GUIDE}, Data Access; CommitProcessor runs no read beside a write",
        "documented",
        reads,
    ),
    Promise(
        "reliability",
        "What was acknowledged, or read by anybody, stays until it is changed again.",
        f"{GUIDE}, Consistency Guarantees: reliability",
        "documented",
        reliability,
    ),
    Promise(
        "agreement",
        "As of one transaction all sessions see the same data and the same children.",
        f"{GUIDE}, Time in ZooKeeper: zxids are unique",
        "documented",
        agreement,
    ),
    Promise(
        "multi",
        "A multi is done as a whole, at one zxid, or not at all.",
        f"{GUIDE}, Consistency Guarantees: atomicity; ZooKeeper.multi",
        "documented",
        multi,
    ),
    Promise(
        "multi read",
        "All reads of a multi see the same tree.",
        "FinalRequestProcessor, multiRead",
        "by the code",
        multi_read,
    ),
    Promise(
        "conditions",
        "A request that expects a version, or a node, is done if it finds what it expects, and refused if not.",
        f"{GUIDE}, ZNodes; {USENIX}, 2.1",
        "documented",
        conditions,
    ),
    Promise(
        "Stat",
        "The counters of a node say which transactions changed it, and how often.",
        f"{GUIDE}, ZooKeeper Stat Structure; DataNode.copyStat",
        "documented",
        counters,
    ),
    Promise(
        "sequential nodes",
        "The numbers of sequential nodes are unique below their parent, and rise.",
        f"{GUIDE}, Sequence Nodes; PrepRequestProcessor.pRequest2TxnCreate",
        "documented",
        sequential,
    ),
)
"""The promises of this module, in the order of reports."""
