"""The connections of a history, and the operations on each, with their answers.

Also checks the rules that the lines of a history keep together: one answer for each request, nothing after the end of a
connection, and so on.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain, repeat
from typing import Any

from msgspec import Struct

from zabcheck.zookeeper.clients.history import (
    NOBODY,
    Answer,
    ClientMessage,
    Connect,
    Connected,
    Content,
    HistoryEnd,
    HistoryError,
    HistoryHeader,
    HistoryLine,
    InitialNode,
    Lost,
    Part,
    Record,
    Request,
    Result,
    WatchEvent,
    content_of,
)

BESIDE_THE_ORDER = ("ping", "auth")
"""The operations that a server may answer out of turn."""
WRITES = frozenset(("create", "delete", "setData", "setACL", "multi", "reconfig", "closeSession"))
"""The operations that become a transaction if they are done."""
UNKNOWN = ("ConnectionLoss", "OperationTimeout", "RequestTimeout")
"""The errors after which nobody knows whether a request was done."""


class Operation(Struct, eq=False):
    """An operation: a request and its answer, if there is one; a stray answer has a made-up request.

    `sent` and `answered` are places in the stream of the connection, counted in records; `answered` is None without an
    answer. `zxid` is that of the answer's header, 0 if there is none. `is_known` if an answer tells whether the request
    was done, `is_done` if it was. A multi is done as a whole; if it is refused, not its answer has an error, but its
    results have.
    """

    connection: "Connection"
    request: Request
    sent: int
    is_write: bool
    answer: Answer | None = None
    answered: int | None = None
    zxid: int = 0
    is_known: bool = False
    is_done: bool = False
    effects: "tuple[Effect, ...] | None" = None

    def take(self, answer: Answer, answered: int) -> None:
        """Add the answer, which came at this place in the stream."""
        self.answer, self.answered = answer, answered
        if answer.zxid > 0:
            self.zxid = answer.zxid
        self.is_known = answer.error not in UNKNOWN
        self.is_done = not answer.error and not (
            self.request.op == "multi" and any(result.error for result in answer.results)
        )

    @property
    def session(self) -> str:
        return self.connection.session

    @property
    def sender(self) -> "Sender":
        return self.connection.sender

    @property
    def witness(self) -> tuple[Request | Answer, ...]:
        return (self.request,) if self.answer is None else (self.request, self.answer)

    @property
    def name(self) -> str:
        """The request as text."""
        where = f" {self.request.path}" if self.request.path is not None else ""
        server = f" at {self.connection.connect.server}" if self.connection.connect.server is not None else ""
        return f"request {self.request.xid} ({self.request.op}{where}) of client {self.request.client}{server}"


Item = Operation | WatchEvent
"""An item that a connection received: the operation that was answered, or an event."""


@dataclass(slots=True, eq=False)
class Connection:
    """One connection of a client, from `connect` to its end. `received` is in the order in which it came."""

    connect: Connect
    client: int
    session: str
    """The session that it has; before the answer to `connect`, the one that it asked for."""
    time: int
    connected: Connected | None = None
    operations: list[Operation] = field(default_factory=list)
    received: list[Item] = field(default_factory=list)
    answers: list[Operation] = field(default_factory=list)
    """The operations whose answers have a zxid."""
    strays: list[Operation] = field(default_factory=list)
    """The answers for which no request was waiting."""
    lost: Lost | None = None
    seen_before: Operation | None = None
    """The answer with the highest zxid on any connection of the session, when this connection was asked for."""
    written_before: Operation | None = None
    """The same, of the writes that were done."""
    length: int = 0
    open: dict[int, Operation] = field(default_factory=dict)
    """The requests that wait for an answer, by number; of several pings, which share a number, the first."""
    pings: list[Operation] = field(default_factory=list)
    """The pings that were sent while another waited."""

    @property
    def name(self) -> str:
        return f"connection {self.connect.connection} of client {self.client}"

    @property
    def sender(self) -> "Sender":
        """The session; if it is unknown, the connection, as no other can then be known to share it."""
        return self if self.session == NOBODY else self.session


Sender = str | Connection
"""A session, or one connection of an unknown session: its requests are done in the order in which they were sent."""


class Effect(Struct, frozen=True, eq=False, gc=False):
    """A single request of an operation: the operation itself, or a part of a multi."""

    op: str
    path: str
    created: str
    """The path, with the number of a sequential node."""
    version: int
    content: Content | None
    mode: tuple[str, ...]
    result: Answer | Result | None
    """The answer, or the part of it that is about this request; None if it has none."""


def effects_of(operation: Operation) -> tuple[Effect, ...]:
    """Return the single requests of an operation: the parts of a multi, or itself; none if it has no path."""
    if operation.effects is None:
        operation.effects = _effects(operation)
    return operation.effects


def is_restricted(request: Request) -> bool:
    """Return True if a request, or a part of it, sets permissions that do not let everybody read a node."""
    return request.restricted or any(part.restricted for part in request.parts)


def _effects(operation: Operation) -> tuple[Effect, ...]:
    request, answer = operation.request, operation.answer
    if request.op in ("multi", "multiRead"):
        results = answer.results if answer is not None else ()
        return tuple(map(_effect, request.parts, chain(results, repeat(None))))
    return (_effect(request, answer),) if request.path is not None else ()


def _effect(asked: Request | Part, result: Answer | Result | None) -> Effect:
    path = asked.path
    assert path is not None
    created = path if result is None else result.path or path
    return Effect(asked.op, path, created, asked.version, content_of(asked.data), asked.mode, result)


def _every(path: str) -> bool:
    return True


@dataclass(eq=False)
class Exchange:
    """A history, or a part of one. `operations` are in the order of their requests in the file."""

    header: HistoryHeader
    nodes: list[InitialNode] = field(default_factory=list)
    connections: dict[int, Connection] = field(default_factory=dict)
    operations: list[Operation] = field(default_factory=list)
    told: list[ClientMessage] = field(default_factory=list)
    seen: dict[Sender, Operation] = field(default_factory=dict)
    """By session: the answer with the highest zxid."""
    written: dict[Sender, Operation] = field(default_factory=dict)
    """By session: the write that was done with the highest zxid."""
    is_whole: bool = False
    owns: Callable[[str], bool] = _every
    """Returns True for a path if all operations on that node are here: always, unless this is a part of a history."""

    @cached_property
    def writes(self) -> list[Operation]:
        """The operations that become a transaction if they are done."""
        return [each for each in self.operations if each.is_write]

    @cached_property
    def done(self) -> list[Operation]:
        """The writes that were done at a known zxid."""
        return [each for each in self.writes if each.is_done and each.zxid]


class _Contradiction(ValueError):
    """A line that contradicts another. As text it follows the name of the file and the number of the line."""


def read(lines: Iterable[HistoryLine], name: str) -> Exchange:
    """Read the lines of a history. HistoryError, with name, line and field, at the first that contradicts another.

    O(lines) time and memory.
    """
    source = iter(lines)
    number = 1
    try:
        found = Exchange(_header(next(source)))
        for number, line in enumerate(source, 2):
            if found.is_whole:
                raise _Contradiction(": expected nothing after `end`")
            if isinstance(line, HistoryEnd):
                if line.count != number - 2:
                    raise _Contradiction(f", field `count`: expected {number - 2}, found {line.count}")
                found.is_whole = True
            else:
                _TAKE[type(line)](found, line)
    except _Contradiction as contradiction:
        raise HistoryError(f"{name}, line {number}{contradiction}") from None
    return found


def _header(line: HistoryLine) -> HistoryHeader:
    if not isinstance(line, HistoryHeader):
        raise _Contradiction(f", field `record`: expected `header`, found `{line.__struct_config__.tag}`")
    return line


def _take_header(found: Exchange, line: HistoryHeader) -> None:
    raise _Contradiction(", field `record`: a second header")


def _take_node(found: Exchange, line: InitialNode) -> None:
    if found.header.initial != "given":
        raise _Contradiction(', field `record`: a node, but the header does not say `"initial":"given"`')
    found.nodes.append(line)


def _take_told(found: Exchange, line: ClientMessage) -> None:
    found.told.append(line)


def _take_connect(found: Exchange, line: Connect) -> None:
    if line.connection in found.connections:
        raise _Contradiction(f", field `connection`: connection {line.connection} has been opened already")
    found.connections[line.connection] = opened = Connection(line, line.client, line.session, line.time or 0)
    _begin(found, opened)


def _begin(found: Exchange, connection: Connection) -> None:
    """Note the highest zxids that the session has seen and written so far, on any of its connections."""
    connection.seen_before = found.seen.get(connection.sender)
    connection.written_before = found.written.get(connection.sender)


def _take_connected(found: Exchange, line: Connected) -> None:
    connection = _connection_of(found, line)
    if connection.connected is not None:
        raise _Contradiction(f": connection {line.connection} has been answered already")
    connection.connected, connection.session = line, line.session
    if line.session != connection.connect.session:
        _begin(found, connection)


def _take_request(found: Exchange, line: Request) -> None:
    connection = _connection_of(found, line)
    if line.xid in connection.open and line.op != "ping":
        raise _Contradiction(f", field `xid`: request {line.xid} has no answer yet")
    operation = Operation(connection, line, connection.length, line.op in WRITES)
    if connection.open.setdefault(line.xid, operation) is not operation:
        connection.pings.append(operation)
    connection.operations.append(operation)
    found.operations.append(operation)


def _take_answer(found: Exchange, line: Answer) -> None:
    connection = _connection_of(found, line)
    answered = connection.open.pop(line.xid, None)
    if connection.pings and connection.pings[0].request.xid == line.xid:
        connection.open[line.xid] = connection.pings.pop(0)
    if answered is None:
        if not line.stray:
            raise _Contradiction(f", field `xid`: no request {line.xid} waits for an answer")
        asked = Request(client=line.client, connection=line.connection, xid=line.xid, op="other")
        answered = Operation(connection, asked, -1, is_write=False)
        connection.strays.append(answered)
    answered.take(line, connection.length)
    connection.received.append(answered)
    if answered.zxid:
        connection.answers.append(answered)
        _raise(found.seen, answered)
        if answered.is_write and answered.is_done:
            _raise(found.written, answered)


def _raise(highest: dict[Sender, Operation], answered: Operation) -> None:
    sender = answered.sender
    if sender not in highest or answered.zxid > highest[sender].zxid:
        highest[sender] = answered


def _take_event(found: Exchange, line: WatchEvent) -> None:
    _connection_of(found, line).received.append(line)


def _take_lost(found: Exchange, line: Lost) -> None:
    _connection_of(found, line).lost = line


_TAKE: dict[type[HistoryLine], Callable[[Exchange, Any], None]] = {
    HistoryHeader: _take_header,
    InitialNode: _take_node,
    Connect: _take_connect,
    Connected: _take_connected,
    Request: _take_request,
    Answer: _take_answer,
    WatchEvent: _take_event,
    Lost: _take_lost,
    ClientMessage: _take_told,
}


def _connection_of(found: Exchange, line: Record) -> Connection:
    """Return the connection of a record, and count the record. It must be open, of that client, and not later."""
    connection = found.connections.get(line.connection)
    if connection is None:
        raise _Contradiction(f", field `connection`: connection {line.connection} has not been opened")
    if connection.client != line.client:
        raise _Contradiction(
            f", field `client`: connection {line.connection} belongs to client {connection.client}, found {line.client}"
        )
    if connection.lost is not None:
        raise _Contradiction(f": connection {line.connection} was lost")
    if line.time is not None:
        if line.time < connection.time:
            raise _Contradiction(f", field `time`: expected {connection.time} or later, found {line.time}")
        connection.time = line.time
    connection.length += 1
    return connection
