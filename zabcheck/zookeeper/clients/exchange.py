"""The connections of a history, and the operations on each, with their answers.

Also the rules that lines must keep together to be a history: one answer a request, nothing after the end of a
connection, and so on.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from zabcheck.zookeeper.clients.history import (
    Answer,
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
    Told,
    WatchEvent,
    content_of,
)

BESIDE_THE_ORDER = ("ping", "auth")
"""The operations that a server may answer out of turn."""
WRITES = ("create", "delete", "setData", "setACL", "multi", "reconfig", "closeSession")
"""The operations that become a transaction."""
UNKNOWN = ("ConnectionLoss", "OperationTimeout")
"""The errors after which nobody knows whether a request was done."""


@dataclass(slots=True, eq=False)
class Exchanged:
    """A request and its answer, or the answer alone if it is stray.

    `sent` and `answered` are places in the stream of the connection, in records; None where there is none. `zxid` is
    that of the answer's header, 0 if it tells none. The outcome `is_known` unless the answer is missing, and the
    request `is_done` if the answer says so; a multi is done as a whole, and one that is refused has no error.
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
        """Take the answer, which came at this place in the stream."""
        self.answer, self.answered = answer, answered
        self.zxid = max(0, answer.zxid)
        self.is_known = answer.error not in UNKNOWN
        is_refused = self.request.op == "multi" and any(result.error for result in answer.results)
        self.is_done = not answer.error and not is_refused

    @property
    def session(self) -> str:
        return self.connection.session

    @property
    def witness(self) -> tuple[Record, ...]:
        return (self.request,) if self.answer is None else (self.request, self.answer)

    @property
    def name(self) -> str:
        """The request as text."""
        where = f" {self.request.path}" if self.request.path is not None else ""
        server = f" at {self.connection.connect.server}" if self.connection.connect.server is not None else ""
        return f"request {self.request.xid} ({self.request.op}{where}) of client {self.request.client}{server}"


Item = Exchanged | WatchEvent
"""An answer, as the operation that it answers, or an event."""


@dataclass(slots=True, eq=False)
class Connection:
    """One connection of a client, from `connect` to its end. `received` is in the order in which it came."""

    connect: Connect
    connected: Connected | None = None
    operations: list[Exchanged] = field(default_factory=list)
    received: list[Item] = field(default_factory=list)
    lost: Lost | None = None
    length: int = 0
    time: int = 0
    open: dict[int, Exchanged] = field(default_factory=dict)

    @property
    def client(self) -> int:
        return self.connect.client

    @property
    def session(self) -> str:
        """The session that it has, or that it asked for as long as it has no answer."""
        return self.connect.session if self.connected is None else self.connected.session

    @property
    def name(self) -> str:
        return f"connection {self.connect.connection} of client {self.client}"


class Effect(NamedTuple):
    """A change that an operation makes, if it is done, or a part of it that fails."""

    op: str
    path: str
    version: int
    content: Content | None
    mode: tuple[str, ...]
    result: Answer | Result | None
    """The answer, or the part of it that is about this request; None if it has none."""

    @property
    def created(self) -> str:
        """The path, with the number of a sequential node."""
        return self.result.path if self.result is not None and self.result.path is not None else self.path


def effects_of(operation: Exchanged) -> tuple[Effect, ...]:
    """Return the requests that an operation consists of: its parts if it is a multi, or itself."""
    if operation.effects is None:
        operation.effects = tuple(_effects(operation))
    return operation.effects


def _effects(operation: Exchanged) -> Iterator[Effect]:
    request, answer = operation.request, operation.answer
    if request.op in ("multi", "multiRead"):
        results = answer.results if answer is not None else ()
        for number, part in enumerate(request.parts):
            yield _effect(part, results[number] if number < len(results) else None)
    elif request.path is not None:
        yield _effect(request, answer)


def _effect(asked: Request | Part, result: Answer | Result | None) -> Effect:
    assert asked.path is not None
    return Effect(asked.op, asked.path, asked.version, content_of(asked.data), asked.mode, result)


@dataclass(slots=True, eq=False)
class Exchange:
    """A whole history. `operations` are in the order of their requests in the file."""

    header: HistoryHeader
    nodes: list[InitialNode] = field(default_factory=list)
    connections: dict[int, Connection] = field(default_factory=dict)
    operations: list[Exchanged] = field(default_factory=list)
    told: list[Told] = field(default_factory=list)
    is_whole: bool = False


def read(lines: Iterable[HistoryLine], name: str) -> Exchange:
    """Read the lines of a history. HistoryError, with name, line and field, at the first that contradicts another.

    O(lines) time and memory.
    """
    found: Exchange | None = None
    for number, line in enumerate(lines, 1):
        where = f"{name}, line {number}"
        if found is None:
            if not isinstance(line, HistoryHeader):
                raise HistoryError(f"{where}, field `record`: expected `header`, found `{_tag(line)}`")
            found = Exchange(line)
            continue
        if found.is_whole:
            raise HistoryError(f"{where}: expected nothing after `end`")
        match line:
            case HistoryHeader():
                raise HistoryError(f"{where}, field `record`: a second header")
            case HistoryEnd():
                if line.count != number - 2:
                    raise HistoryError(f"{where}, field `count`: expected {number - 2}, found {line.count}")
                found.is_whole = True
            case InitialNode():
                if found.header.initial != "given":
                    raise HistoryError(f"{where}, field `record`: a node, and the header does not say initial: given")
                found.nodes.append(line)
            case Told():
                found.told.append(line)
            case _:
                _take(found, line, where)
    assert found is not None, "the reader tells an empty file"
    return found


def _tag(line: HistoryLine) -> str:
    return str(type(line).__struct_config__.tag)


def _take(found: Exchange, line: Record, where: str) -> None:
    """Add a record of a connection."""
    if isinstance(line, Connect):
        if line.connection in found.connections:
            raise HistoryError(f"{where}, field `connection`: connection {line.connection} was opened before")
        found.connections[line.connection] = Connection(line, time=line.time or 0)
        return
    connection = _of(found, line, where)
    match line:
        case Connected():
            if connection.connected is not None:
                raise HistoryError(f"{where}: connection {line.connection} was answered before")
            connection.connected = line
        case Request():
            operation = Exchanged(connection, line, connection.length, line.op in WRITES)
            if line.xid in connection.open and line.op != "ping":
                raise HistoryError(f"{where}, field `xid`: request {line.xid} has no answer yet")
            connection.open[line.xid] = operation
            connection.operations.append(operation)
            found.operations.append(operation)
        case Answer():
            answered = connection.open.pop(line.xid, None)
            if answered is None and not line.stray:
                raise HistoryError(f"{where}, field `xid`: no request {line.xid} waits for an answer")
            if answered is None:
                asked = Request(client=line.client, connection=line.connection, xid=line.xid, op="other")
                answered = Exchanged(connection, asked, -1, is_write=False)
            answered.take(line, connection.length)
            connection.received.append(answered)
        case WatchEvent():
            connection.received.append(line)
        case Lost():
            connection.lost = line
    connection.length += 1


def _of(found: Exchange, line: Record, where: str) -> Connection:
    """Return the connection of a record, which must be open, of that client, and not be in the future."""
    connection = found.connections.get(line.connection)
    if connection is None:
        raise HistoryError(f"{where}, field `connection`: connection {line.connection} was not opened")
    if connection.client != line.client:
        raise HistoryError(
            f"{where}, field `client`: connection {line.connection} is of client {connection.client}, "
            f"found {line.client}"
        )
    if connection.lost is not None:
        raise HistoryError(f"{where}: connection {line.connection} was lost")
    if line.time is not None:
        if line.time < connection.time:
            raise HistoryError(f"{where}, field `time`: expected {connection.time} or later, found {line.time}")
        connection.time = line.time
    return connection
