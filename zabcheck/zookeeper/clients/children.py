"""Compares lists of children with the creates and deletes of children, as far as these determine them.

The children of a node are those that were created since its own creation and not deleted. The history has all of these
changes if each writer is recorded and each outcome is known. It has all changes between two lists, or before the first
one, if their number is that by which the cversion has risen.
"""

from bisect import bisect_left, bisect_right
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from itertools import groupby
from operator import attrgetter
from typing import NamedTuple

from zabcheck.zookeeper.clients.exchange import Effect, Exchange, Operation, effects_of
from zabcheck.zookeeper.clients.history import Answer, Result
from zabcheck.zookeeper.clients.promise import Findings
from zabcheck.zookeeper.clients.tree import ENDING, READS, Tree, parent
from zabcheck.zookeeper.wire.zxids import shown


class _Change(NamedTuple):
    """A child that was created or deleted as of `zxid`."""

    zxid: int
    name: str
    is_there: bool
    by: Operation


class _ChildList(NamedTuple):
    """The children of a node that was created as of `created`, as an answer shows them as of `until`.

    A list that `is_bare` came without a Stat, so `created` is that of the last create that is known.
    """

    created: int
    until: int
    changed: int
    names: tuple[str, ...]
    cversion: int | None
    is_bare: bool
    by: Operation


class _ExpectedChildren:
    """The children that a node must have, by the changes since a list of them, or since the node was created."""

    def __init__(self, names: Iterable[str] = ()) -> None:
        self._counts = Counter(names)
        self._there = {name for name, count in self._counts.items() if count == 1}
        self._odd = {name for name, count in self._counts.items() if count > 1}
        """The children that were created twice, or deleted while they were not there: then nothing is expected."""
        self.last: dict[str, _Change] = {}
        """By child: the last change."""

    def take(self, change: _Change) -> None:
        name = change.name
        self.last[name] = change
        self._counts[name] += 1 if change.is_there else -1
        count = self._counts[name]
        (self._there.add if count == 1 else self._there.discard)(name)
        (self._odd.discard if count in (0, 1) else self._odd.add)(name)

    @property
    def is_odd(self) -> bool:
        """True if the known changes contradict each other, so that nothing is expected."""
        return bool(self._odd)

    @property
    def has_none(self) -> bool:
        """True if it is known that there is no child."""
        return not self._there and not self._odd

    def wrong(self, names: Iterable[str]) -> tuple[str, bool] | None:
        """Return the first child that is listed wrongly, or not at all, and whether it has to be there."""
        name = min(self._there.symmetric_difference(names), default=None)
        return None if name is None or self._odd else (name, name in self._there)


class _ChildChanges:
    """The known changes of children, and the nodes that may have had others."""

    def __init__(self, exchange: Exchange, paths: Iterable[str]) -> None:
        """Collect the changes below these paths. O(operations · log operations)."""
        self.changes: dict[str, list[_Change]] = {path: [] for path in paths}
        self.creates: dict[str, list[tuple[int, Operation]]] = {path: [] for path in self.changes}
        """The known creates of each node itself, by zxid."""
        self.unsettled: set[str] = set()
        """The nodes with a change of unknown outcome or time, or with a child that ends by itself."""
        self.undecided: set[str] = set()
        """The nodes whose known changes cannot be put together."""
        for operation in exchange.writes:
            effects = [each for each in effects_of(operation) if each.op in ("create", "delete")]
            if operation.is_done:
                self._take(operation, effects)
            elif not operation.is_known:
                self.unsettled.update(parent(each.path) for each in effects)
        for changes in self.changes.values():
            changes.sort(key=_ZXID)
        for creates in self.creates.values():
            creates.sort(key=lambda create: create[0])

    def _take(self, operation: Operation, effects: list[Effect]) -> None:
        made = {each.created for each in effects if each.op == "create"}
        for effect in effects:
            above, is_there = parent(effect.created), effect.op == "create"
            stat = effect.result.stat if effect.result is not None else None
            zxid = operation.zxid or (stat.mzxid if stat is not None else 0)
            if not zxid or (is_there and not ENDING.isdisjoint(effect.mode)):
                self.unsettled.add(above)
            if (not is_there and above in made) or ("sequential" in effect.mode and effect.created == effect.path):
                self.undecided.add(above)  # a child of the node's predecessor, or one whose name is unknown
            if zxid and above in self.changes:
                name = effect.created.rpartition("/")[2]
                self.changes[above].append(_Change(zxid, name, is_there, operation))
            if zxid and is_there and effect.created in self.creates:
                self.creates[effect.created].append((zxid, operation))

    def created(self, path: str, until: int) -> tuple[int, Operation] | None:
        """Return the last known create of a node up to a zxid."""
        creates = self.creates[path]
        place = bisect_right(creates, until, key=lambda create: create[0])
        return creates[place - 1] if place else None


_ZXID = attrgetter("zxid")
_INCARNATION = attrgetter("created")
_STATE = attrgetter("until", "changed")


def lists(exchange: Exchange, tree: Tree, found: Findings) -> None:
    """Compare each list of children with the known changes.

    A case is only a list without a Stat: one with a Stat counts as a read already.
    """
    for family in _families(exchange, tree):
        _compare(family, found)


def cversions(exchange: Exchange, tree: Tree, found: Findings) -> None:
    """Compare the cversion beside each list of children with the number of changes."""
    for path, made, is_settled, listed, changes in _families(exchange, tree):
        first = place = bisect_left(changes, listed[0].created, key=_ZXID)
        expected = _ExpectedChildren()
        for each in listed:
            while place < len(changes) and changes[place].zxid <= each.until:
                expected.take(changes[place])
                place += 1
            if each.cversion is None or expected.is_odd:
                continue
            risen = place - first
            if risen > each.cversion or (is_settled and made is not None and risen < each.cversion):
                text = (
                    f"the number of creates and deletes of children of {path} as of {shown(each.until)} is {risen}, "
                    f"but {each.by.name} shows cversion {each.cversion}"
                )
                found.breach(each.until, text, changes[place - 1].by if risen else made, each.by)


class _Family(NamedTuple):
    """The lists of children of one incarnation of a node, in the order of zxids, and the known changes at its path.

    It `is_settled` if every change is known since `made`, the create of the node.
    """

    path: str
    made: Operation | None
    is_settled: bool
    listed: list[_ChildList]
    changes: list[_Change]


def _families(exchange: Exchange, tree: Tree) -> Iterator[_Family]:
    listed: dict[str, list[_ChildList]] = defaultdict(list)
    for path, result, by in _answers(exchange):
        if result.stat is not None:
            stat = result.stat
            until = max(by.zxid, stat.pzxid)
            if 0 < stat.czxid <= until:
                names = result.children or ()
                listed[path].append(_ChildList(stat.czxid, until, stat.pzxid, names, stat.cversion, False, by))
        elif by.zxid:
            listed[path].append(_ChildList(0, by.zxid, 0, result.children or (), None, True, by))
    below = _ChildChanges(exchange, listed)
    for path in sorted(listed.keys() - below.undecided):
        is_settled = path not in below.unsettled and tree.is_complete(path)
        some = [*_dated(path, listed[path], below)]
        for created, of_one in groupby(sorted(some, key=_INCARNATION), key=_INCARNATION):
            made = below.created(path, created)
            maker = made[1] if made is not None and made[0] == created else None
            yield _Family(path, maker, is_settled, sorted(of_one, key=_STATE), below.changes[path])


def deletes(exchange: Exchange, tree: Tree, found: Findings) -> None:
    """Compare the outcome of each delete with the children that the node had, if all their changes are known."""
    asked: dict[str, list[Operation]] = defaultdict(list)
    for operation in exchange.writes:
        path, answer = operation.request.path, operation.answer
        if operation.request.op != "delete" or path is None or answer is None or not exchange.owns(path):
            continue
        if operation.zxid and answer.error in ("", "NotEmpty"):
            asked[path].append(operation)
    below = _ChildChanges(exchange, asked)
    for path in sorted(asked.keys() - below.undecided - below.unsettled):
        if tree.is_complete(path):
            for operation in asked[path]:
                made = below.created(path, operation.zxid)
                if made is not None:
                    found.case()
                    _look_at_a_delete(path, made, operation, below.changes[path], found)


def _look_at_a_delete(
    path: str, made: tuple[int, Operation], operation: Operation, changes: list[_Change], found: Findings
) -> None:
    """Note a delete that was done while there was a child, or refused while there was none."""
    expected = _ExpectedChildren()
    first, last = (bisect_left(changes, zxid, key=_ZXID) for zxid in (made[0], operation.zxid + 1))
    for change in changes[first:last]:
        expected.take(change)
    child = expected.wrong(())
    if operation.is_done and child is not None:
        change = expected.last[child[0]]
        text = (
            f"{path}/{child[0]} has been there since {shown(change.zxid)} ({change.by.name}), but {operation.name} "
            f"was done at {shown(operation.zxid)}"
        )
        found.breach(operation.zxid, text, change.by, operation)
    elif not operation.is_done and expected.has_none:
        text = f"{path} had no children, but {operation.name} was refused at {shown(operation.zxid)} with NotEmpty"
        by = changes[last - 1].by if last > first else made[1]
        found.breach(operation.zxid, text, by, operation)


def _answers(exchange: Exchange) -> Iterator[tuple[str, Answer | Result, Operation]]:
    """Yield the lists of children that were read, with their nodes."""
    for operation in exchange.operations:
        if not operation.is_known or operation.is_write:
            continue
        request = operation.request
        if request.op == "multiRead":
            results = [(each.op, each.path, each.result) for each in effects_of(operation)]
        elif request.path is not None:
            results = [(request.op, request.path, operation.answer)]
        else:
            continue
        for op, path, result in results:
            is_list = result is not None and result.children is not None and not result.error
            if result is not None and is_list and op in READS and exchange.owns(path):
                yield path, result, operation


def _dated(path: str, listed: Iterable[_ChildList], below: _ChildChanges) -> Iterator[_ChildList]:
    """Yield the lists with a known create of their node: for a list without a Stat, the last create before it."""
    for each in listed:
        made = below.created(path, each.until) if each.is_bare else None
        if made is not None:
            yield each._replace(created=made[0])
        elif not each.is_bare:
            yield each


def _compare(family: _Family, found: Findings) -> None:
    """Compare the lists of a node, in the order of zxids, with the changes of its children."""
    path, made, is_settled, listed, changes = family
    since = place = bisect_left(changes, listed[0].created, key=_ZXID)
    before: _ChildList | None = None
    version = 0
    every, later = _ExpectedChildren(), _ExpectedChildren()
    for each in listed:
        while place < len(changes) and changes[place].zxid <= each.until:
            every.take(changes[place])
            later.take(changes[place])
            place += 1
        if is_settled and made is not None:
            found.case(each.is_bare)
            _tell(path, every, None, made, each, found)
        elif each.cversion is not None and place - since >= each.cversion - version:
            _tell(path, later, before, made, each, found)
        if each.cversion is not None:
            before, since, later, version = each, place, _ExpectedChildren(each.names), each.cversion


def _tell(
    path: str,
    expected: _ExpectedChildren,
    before: _ChildList | None,
    made: Operation | None,
    listed: _ChildList,
    found: Findings,
) -> None:
    """Note the first child that is listed wrongly, or not at all, with its last change, or the list before."""
    wrong = expected.wrong(listed.names)
    if wrong is None:
        return
    name, is_there = wrong
    change = expected.last.get(name)
    child = f"{path}/{name}"
    shows = f"{listed.by.name}, as of {shown(listed.until)}, {'does not list' if is_there else 'lists'}"
    if change is not None:
        was = f"{child} was {'created' if is_there else 'deleted'} at {shown(change.zxid)} ({change.by.name})"
        found.breach(listed.until, f"{was}, but {shows} it", change.by, listed.by)
    elif before is not None:
        showed = f"{before.by.name}, as of {shown(before.until)}, {'lists' if is_there else 'does not list'} it"
        between = f"nobody has {'deleted' if is_there else 'created'} it since"
        found.breach(listed.until, f"{shows} {child}; {showed}, and {between}", before.by, listed.by)
    else:
        found.breach(listed.until, f"{shows} {child}, which nobody has created", made, listed.by)
