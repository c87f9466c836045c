"""Promises about the lifetime of sessions, of ephemeral nodes, and of nodes that the service deletes by itself."""

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from operator import itemgetter
from typing import NamedTuple

from zabcheck.zookeeper.clients.exchange import Connection, Effect, Exchange, Operation, effects_of
from zabcheck.zookeeper.clients.history import NOBODY, Connected
from zabcheck.zookeeper.clients.promise import GUIDE, Findings, Promise
from zabcheck.zookeeper.clients.tree import Sighting, Tree, parent
from zabcheck.zookeeper.wire.zxids import shown

_PLACE = itemgetter(0, 1)
_MS = 1_000_000
"""Nanoseconds in a millisecond."""


@dataclass(slots=True)
class Life:
    """A session: its connections, the operation that closed it, and those that created its ephemeral nodes."""

    connections: list[Connection] = field(default_factory=list)
    closed: Operation | None = None
    last_write: Operation | None = None
    ephemerals: dict[str, Operation] = field(default_factory=dict)


@lru_cache(maxsize=1)
def lives_of(exchange: Exchange) -> dict[str, Life]:
    """Return the sessions that connected or wrote. O(operations)."""
    lives: dict[str, Life] = defaultdict(Life)
    for connection in exchange.connections.values():
        if connection.session != NOBODY:
            lives[connection.session].connections.append(connection)
    for operation in exchange.done:
        life = lives[operation.session]
        if operation.request.op == "closeSession":
            life.closed = operation
        elif life.last_write is None or operation.zxid > life.last_write.zxid:
            life.last_write = operation
        for effect in effects_of(operation):
            if effect.op == "create" and "ephemeral" in effect.mode and exchange.owns(effect.created):
                life.ephemerals[effect.created] = operation
    return lives


@lru_cache(maxsize=1)
def _deleted(exchange: Exchange) -> dict[str, int]:
    """Return the paths that some request may have deleted, with the lowest zxid at which one may have."""
    writes = (each for each in exchange.writes if each.is_done or not each.is_known)
    deleted: dict[str, int] = {}
    for write in writes:
        for effect in effects_of(write):
            if effect.op == "delete":
                deleted[effect.path] = min(deleted.get(effect.path, write.zxid), write.zxid)
    return deleted


def _may_be_deleted(deleted: Mapping[str, int], path: str, zxid: int) -> bool:
    """Return True if a request may have deleted the node by this zxid."""
    return path in deleted and deleted[path] <= zxid


class GoneNode(NamedTuple):
    """A node that was seen gone as of `zxid`, though nobody had deleted it."""

    zxid: int
    path: str
    created: Operation
    by: Operation


def _vanished(life: Life, tree: Tree, deleted: Mapping[str, int]) -> Iterator[GoneNode]:
    """Yield the nodes of a session that were seen gone though nobody deleted them."""
    for path, created in sorted(life.ephemerals.items()):
        if not tree.is_complete(path):
            continue
        gone = tree.absences(path).next(created.zxid)
        if gone is not None and not _may_be_deleted(deleted, path, gone.start):
            assert isinstance(gone.by, Operation)
            yield GoneNode(gone.start, path, created, gone.by)


def ephemeral_ends(exchange: Exchange, tree: Tree, found: Findings) -> None:
    """Look for nodes of sessions that had ended: they were closed, or another of their nodes was gone already."""
    nodes_after_ends(exchange, tree, first_gone(exchange, tree), found)


def first_gone(exchange: Exchange, tree: Tree) -> dict[str, GoneNode]:
    """Return for each session the node that was seen gone as of the lowest zxid, if there is one."""
    deleted = _deleted(exchange)
    found = ((session, [*_vanished(life, tree, deleted)]) for session, life in lives_of(exchange).items())
    return {session: min(gone, key=_PLACE) for session, gone in found if gone}


def nodes_after_ends(exchange: Exchange, tree: Tree, gone: Mapping[str, GoneNode], found: Findings) -> None:
    """Look for nodes of sessions that were closed, or had lost a node of theirs by `gone`."""
    lives = lives_of(exchange)
    ends: dict[str, tuple[int, Operation]] = {}
    for session, life in lives.items():
        if life.closed is not None:
            ends[session] = life.closed.zxid, life.closed
        elif session in gone:
            ends[session] = gone[session].zxid, gone[session].by
        found.case(len(life.ephemerals) if session in ends else 0)
    for path in sorted(tree.data):
        for seen in tree.data[path]:
            owner = seen.stat.ephemeral_owner if seen.stat is not None else NOBODY
            end = ends.get(owner)
            if end is not None and seen.until >= end[0]:
                text = f"session {owner} ended at {shown(end[0])}, but its {path} is there as of {shown(seen.until)}"
                found.breach(seen.until, text, lives[owner].ephemerals.get(path), end[1], seen.by)


def ephemeral_stays(exchange: Exchange, tree: Tree, found: Findings) -> None:
    """Look for nodes that were gone while their session lived on, though nobody had deleted them."""
    deleted = _deleted(exchange)
    for session, life in sorted(lives_of(exchange).items()):
        found.case(len(life.ephemerals))
        for gone in _vanished(life, tree, deleted):
            if life.last_write is not None and life.last_write.zxid > gone.zxid:
                text = (
                    f"session {session} lives as of {shown(life.last_write.zxid)}, but its {gone.path} is gone as of "
                    f"{shown(gone.zxid)}"
                )
                found.breach(gone.zxid, text, gone.created, life.last_write, gone.by)


def sessions(exchange: Exchange, tree: Tree, found: Findings) -> None:
    """Check the session that each connection was given, and that no session is used after its end."""
    known = _Sessions(exchange)
    for connection in exchange.connections.values():
        if connection.connected is not None:
            known.judge(connection, connection.connected, found)
            known.learn(connection, connection.connected)
            _answered_without_a_session(connection, found)


class _Sessions:
    """The facts about sessions that are known from the connections so far."""

    def __init__(self, exchange: Exchange) -> None:
        closes = [each for each in exchange.writes if each.request.op == "closeSession"]
        self._header = exchange.header
        self._closed = {each.connection: each for each in closes if each.is_done}
        self._may_be_closed = {each.session for each in closes if not each.is_known}
        self._holders: dict[str, int] = {}
        """By session: the client that has it."""
        self._ended: dict[str, Connection | Operation] = {}
        """By session: the evidence that it has ended."""
        self._timeouts: dict[str, int] = {}
        self._heard: dict[str, tuple[int, Operation]] = {}
        """By session: the time, in ns, at which its last answered request was sent, and that request."""

    def judge(self, connection: Connection, given: Connected, found: Findings) -> None:
        """Judge whether a connection was given the session that it asked for, or a new one."""
        asked = connection.connect
        if asked.session == NOBODY:
            if given.session in self._holders:
                holder = self._holders[given.session]
                text = f"client {asked.client} was given session {given.session}, which client {holder} has"
                found.breach(0, text, asked, given)
            return
        found.case()
        if given.session not in (asked.session, NOBODY):
            text = (
                f"client {asked.client} asked for session {asked.session} and was given {given.session}, without "
                "being told that it has expired"
            )
            found.breach(0, text, asked, given)
        elif given.session == NOBODY:
            if asked.session not in self._may_be_closed:
                self._expired(connection, given, found)
        elif asked.session in self._ended:
            end = self._ended[asked.session]
            witness = end.witness if isinstance(end, Operation) else (end.connect, end.connected)
            text = f"session {asked.session} had ended, and was given to client {asked.client} again"
            found.breach(0, text, *witness, asked, given)

    def _expired(self, connection: Connection, told: Connected, found: Findings) -> None:
        """Compare the time since the service last heard of a session with the time-out, less a tick."""
        session = connection.connect.session
        if session not in self._heard or told.time is None or session not in self._timeouts:
            return
        heard, operation = self._heard[session]
        silent, timeout = told.time - heard, self._timeouts[session]
        if silent < (timeout - self._header.tick) * _MS - self._header.clock_error:
            text = (
                f"session {session} is said to have expired {silent // _MS} ms after a request that was answered, but "
                f"its time-out is {timeout} ms"
            )
            found.breach(0, text, operation, connection.connect, told)

    def learn(self, connection: Connection, given: Connected) -> None:
        """Take in the facts that a connection shows of its session."""
        if given.session != NOBODY:
            self._holders[given.session] = connection.client
            self._timeouts[given.session] = given.timeout
        elif connection.connect.session != NOBODY:
            self._ended.setdefault(connection.connect.session, connection)
        for operation in reversed(connection.operations):
            if operation.is_known and operation.request.time is not None:
                self._heard[connection.session] = operation.request.time, operation
                break
        if connection in self._closed:
            self._ended[connection.session] = self._closed[connection]


def _answered_without_a_session(connection: Connection, found: Findings) -> None:
    """Note requests that were done on a connection whose session had expired."""
    if connection.connected is not None and connection.connected.session == NOBODY:
        for operation in connection.operations:
            if operation.is_done:
                text = (
                    f"client {connection.client} was told that its session has expired, but {operation.name} was done"
                )
                found.breach(operation.zxid, text, connection.connected, operation)


def is_deleted_by_the_service(effect: Effect) -> bool:
    """Return True if this creates a container or a node with a time to live."""
    return effect.op == "create" and bool(effect.mode) and not {"container", "ttl"}.isdisjoint(effect.mode)


def containers(exchange: Exchange, tree: Tree, found: Findings) -> None:
    """Look for containers that were deleted with a child in them, and for nodes that were deleted before their time."""
    made: dict[str, tuple[Operation, bool, int]] = {}
    written: dict[str, Operation] = {}
    for operation in exchange.writes:
        if operation.is_done:
            for effect in effects_of(operation):
                written[effect.created] = operation
                if is_deleted_by_the_service(effect) and exchange.owns(effect.created):
                    ttl = max((operation.request.ttl, *(part.ttl for part in operation.request.parts)))
                    made[effect.created] = operation, "container" in effect.mode, ttl
    deleted = _deleted(exchange)
    below: dict[str, list[str]] = defaultdict(list)
    for path in sorted(tree.data) if made else ():
        below[parent(path)].append(path)
    for path, (created, is_container, ttl) in sorted(made.items()):
        gone = tree.absences(path).next(created.zxid)
        if gone is None or _may_be_deleted(deleted, path, gone.start):
            continue
        found.case()
        if is_container:
            _is_empty(path, created, gone, below[path], tree, found)
        else:
            _is_due(path, ttl, written[path], gone, exchange.header.clock_error, found)


def _is_empty(path: str, created: Operation, gone: Sighting, children: list[str], tree: Tree, found: Findings) -> None:
    """Look for children of a container at the time when it was deleted."""
    for child in children:
        there = tree.state_at(child, gone.start)
        if there is not None and there.stat is not None:
            text = f"{child} is there as of {shown(gone.start)}, but its container {path} is not"
            found.breach(gone.start, text, created, there.by, gone.by)


def _is_due(path: str, ttl: int, last: Operation, gone: Sighting, clock_error: int, found: Findings) -> None:
    """Compare the time since the last write to a node with its time to live, as far as clocks tell."""
    answer = gone.by.answer if isinstance(gone.by, Operation) else None
    if answer is None or answer.time is None or last.request.time is None:
        return
    lived = answer.time - last.request.time
    if lived < ttl * _MS - clock_error:
        text = f"{path} has {ttl} ms to live after {last.name}, but is gone {lived // _MS} ms after that was sent"
        found.breach(gone.start, text, last, gone.by)


LIVES = (
    Promise(
        "ephemeral nodes end",
        "All ephemeral nodes of a session are deleted at one zxid, that of its end.",
        f"{GUIDE}, Ephemeral Nodes; DataTree.killSession",
        "documented",
        ephemeral_ends,
    ),
    Promise(
        "ephemeral nodes stay",
        "While a session lives, its ephemeral nodes stay unless somebody deletes them.",
        f"{GUIDE}, Ephemeral Nodes",
        "documented",
        ephemeral_stays,
    ),
    Promise(
        "session",
        "A client gets the session that it asks for, or hears that it has expired: not before its time-out, and for "
        "good.",
        f"{GUIDE}, ZooKeeper Sessions",
        "documented",
        sessions,
    ),
    Promise(
        "containers and TTL",
        "The service deletes a container only when it is empty, and a node with a time to live only when that is over.",
        f"{GUIDE}, Container Nodes, TTL Nodes",
        "documented",
        containers,
    ),
)
"""The promises of this module, in the order of reports."""
