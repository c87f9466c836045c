"""The protocol between ZooKeeper and a client: requests as bytes, and answers from bytes.

Every message is an int, its length, and a record in Jute (declared in ZooKeeper's zookeeper.jute, module
org.apache.zookeeper.proto). The first in each direction opens a session, or takes one up again at another server; then
a request is a number of the client's (xid), a type and a body, and an answer the same number, a zxid, an error and a
body. A server answers the requests of a connection in their order.
"""

import zlib
from collections.abc import Iterable
from struct import Struct
from typing import Literal, NamedTuple

from zabcheck.zookeeper.wire.jute import NULL, JuteError, Operation, Reader

EVENT = -1
"""The xid of an event."""
PING = -2
"""The xid of a ping, and of its answer."""
SET_WATCHES = -8
"""The xid of the request that sets watches again, and of its answer."""
NOTHING_EXPECTED = -1
"""The version that matches any."""
EXISTS, GET_DATA, GET_ACL, GET_CHILDREN, SYNC, GET_CHILDREN2, CHECK_WATCHES, REMOVE_WATCHES = 3, 4, 6, 8, 9, 12, 17, 18
MULTI_READ, AUTH, SET_WATCHES1, SET_WATCHES2, ADD_WATCH = 22, 100, 101, 105, 106
"""The types of requests that become no transaction."""
EPHEMERAL, SEQUENTIAL, CONTAINER, WITH_TTL = 1, 2, 4, 5
"""Flags of a node that is created."""
CHILD_WATCH, ANY_WATCH = 1, 3
"""Kinds of watches that are taken away (Watcher.WatcherType)."""
LONGEST = 1 << 24
"""The longest answer that is accepted, in bytes."""

_CONNECT = Struct(">iqiqi")
_HEADER = Struct(">ii")
ANSWER = Struct(">iqi")
STAT = Struct(">qqqqiiiqiiq")
MULTI_HEADER = Struct(">i?i")
PING_TYPE = 11
_ALL, READ, _WRITE = 31, 1, 2
"""Permissions (ZooDefs.Perms): to do anything, to read a node, and to set its data."""
EVERYBODY = "world", "anyone"
"""The scheme and the identity of those who have a permission that everybody has (ZooDefs.Ids)."""

EventType = Literal["NodeCreated", "NodeDeleted", "NodeDataChanged", "NodeChildrenChanged"]
_EVENTS: dict[int, EventType] = {
    1: "NodeCreated",
    2: "NodeDeleted",
    3: "NodeDataChanged",
    4: "NodeChildrenChanged",
}
_ERRORS = {
    -1: "SystemError",
    -2: "RuntimeInconsistency",
    -4: "ConnectionLoss",
    -6: "Unimplemented",
    -8: "BadArguments",
    -13: "NewConfigNoQuorum",
    -14: "ReconfigInProgress",
    -101: "NoNode",
    -102: "NoAuth",
    -103: "BadVersion",
    -108: "NoChildrenForEphemerals",
    -110: "NodeExists",
    -111: "NotEmpty",
    -112: "SessionExpired",
    -114: "InvalidACL",
    -115: "AuthFailed",
    -118: "SessionMoved",
    -120: "EphemeralOnLocalSession",
    -121: "NoWatcher",
    -123: "ReconfigDisabled",
    -125: "QuotaExceeded",
    -127: "ThrottledOp",
}
"""The names of the errors that may come here (KeeperException.Code)."""


class SessionOpened(NamedTuple):
    """The answer to the first message. `session` is 0 if the session that was asked for has expired."""

    session: int
    password: bytes
    timeout: int


class ReplyPacket(NamedTuple):
    """The answer to request `xid`: the server's last zxid, the name of an error or "", and the rest."""

    xid: int
    zxid: int
    error: str
    body: bytes


class WatchTold(NamedTuple):
    """A change that a watch has told; `zxid` is -1 if the server does not say it."""

    type: EventType
    path: str
    zxid: int


class NodeStat(NamedTuple):
    """A node's counters: the transactions that created and changed it, its version, and the session that owns it."""

    czxid: int
    mzxid: int
    version: int
    owner: int


class Part(NamedTuple):
    """A request, or one of the parts of a multi: its type and its body."""

    type: int
    body: bytes


def _buffer(data: bytes) -> bytes:
    return len(data).to_bytes(4) + data


def _int(number: int) -> bytes:
    return number.to_bytes(4, signed=True)


def content_of(data: bytes) -> int:
    """Return the CRC-32 of a node's data, which a recording has instead of the data."""
    return zlib.crc32(data)


def connect(session: int, password: bytes, timeout: int, seen: int) -> bytes:
    """Make the message that opens a session (`session` is 0) or resumes one. `timeout` is in ms, `seen` a zxid."""
    return _buffer(_CONNECT.pack(0, seen, timeout, session, len(password)) + password + b"\0")


def session_asked_for(message: bytes) -> str:
    """Return the session that a client's first message asks for, in hex. JuteError if it is no such message."""
    reader = Reader(message)
    if reader.int32("the protocol version") != 0:
        raise JuteError(0, "a protocol version that is not 0")
    reader.int64("the last zxid"), reader.int32("the time-out")
    return f"0x{reader.int64('the session') & ((1 << 64) - 1):x}"


def request(xid: int, part: Part) -> bytes:
    """Make a request."""
    return _buffer(_HEADER.pack(xid, part.type) + part.body)


def ping() -> bytes:
    """Make the request that keeps a session alive."""
    return request(PING, Part(PING_TYPE, b""))


def _anybody(permissions: int) -> bytes:
    """Return a list of permissions, of anybody."""
    return _int(1) + _int(permissions) + b"".join(_buffer(each.encode()) for each in EVERYBODY)


_OPEN = _anybody(_ALL)
"""The list of permissions that lets anybody do anything."""


def create(path: str, data: bytes, flags: int = 0) -> Part:
    """Make a request to create a node, which is `EPHEMERAL`, `SEQUENTIAL`, both or a `CONTAINER`, or none of these."""
    kind = Operation.CREATE_CONTAINER if flags == CONTAINER else Operation.CREATE2
    return Part(kind, _buffer(path.encode()) + _buffer(data) + _OPEN + _int(flags))


def create_with_ttl(path: str, data: bytes, milliseconds: int) -> Part:
    """Make a request to create a node that the service deletes if it is empty and was not set for so long."""
    body = _buffer(path.encode()) + _buffer(data) + _OPEN + _int(WITH_TTL) + milliseconds.to_bytes(8)
    return Part(Operation.CREATE_TTL, body)


def set_open_permissions(path: str) -> Part:
    """Make a request that lets anybody do anything with a node, as before."""
    return Part(Operation.SET_ACL, _buffer(path.encode()) + _OPEN + _int(NOTHING_EXPECTED))


def forbid_writes(path: str) -> Part:
    """Make a request that lets nobody set the data of a node, and anybody do everything else."""
    return Part(Operation.SET_ACL, _buffer(path.encode()) + _anybody(_ALL - _WRITE) + _int(NOTHING_EXPECTED))


def set_data(path: str, data: bytes, version: int = NOTHING_EXPECTED) -> Part:
    """Make a request to set the data of a node, if it has this version."""
    return Part(Operation.SET_DATA, _buffer(path.encode()) + _buffer(data) + _int(version))


def delete(path: str, version: int = NOTHING_EXPECTED) -> Part:
    """Make a request to delete a node, if it has this version."""
    return Part(Operation.DELETE, _buffer(path.encode()) + _int(version))


def check(path: str, version: int) -> Part:
    """Make a part of a multi, which is refused unless the node has this version."""
    return Part(Operation.CHECK, _buffer(path.encode()) + _int(version))


def get_data(path: str, watch: bool = False) -> Part:
    """Make a request to read a node."""
    return Part(GET_DATA, _buffer(path.encode()) + bytes([watch]))


def exists(path: str, watch: bool = False) -> Part:
    """Make a request for the counters of a node."""
    return Part(EXISTS, _buffer(path.encode()) + bytes([watch]))


def sync(path: str) -> Part:
    """Make a request after whose answer the server has what was acknowledged before it was asked."""
    return Part(SYNC, _buffer(path.encode()))


def get_children(path: str) -> Part:
    """Make a request for the names of a node's children, without a watch."""
    return Part(GET_CHILDREN, _buffer(path.encode()) + b"\0")


def get_children2(path: str, watch: bool = False) -> Part:
    """Make a request for the names of a node's children, and for its counters."""
    return Part(GET_CHILDREN2, _buffer(path.encode()) + bytes([watch]))


def add_watch(path: str, is_recursive: bool) -> Part:
    """Make a request for a persistent watch."""
    return Part(ADD_WATCH, _buffer(path.encode()) + _int(is_recursive))


def remove_watches(path: str, kind: int = ANY_WATCH) -> Part:
    """Make a request that takes the watches of a kind on a node away."""
    return Part(REMOVE_WATCHES, _buffer(path.encode()) + _int(kind))


def set_watches(relative: int, lists: Iterable[Iterable[str]]) -> Part:
    """Make a request to set watches again that were lost at a zxid: data, exist, child, persistent, recursive."""
    body = relative.to_bytes(8)
    for paths in lists:
        encoded = [_buffer(path.encode()) for path in paths]
        body += _int(len(encoded)) + b"".join(encoded)
    return Part(SET_WATCHES2, body)


def reconfigure(joining: Iterable[str], leaving: Iterable[int]) -> Part:
    """Make a request for another configuration: lines `server.N=…` of servers that join, and numbers of the others."""
    lists = (",".join(joining), ",".join(map(str, leaving)))
    body = b"".join(_buffer(each.encode()) if each else _int(NULL) for each in lists)
    return Part(Operation.RECONFIG, body + _int(NULL) + NOTHING_EXPECTED.to_bytes(8, signed=True))


def multi(parts: Iterable[Part], kind: int = Operation.MULTI) -> Part:
    """Make a request to do all of these, or none; or a `MULTI_READ`."""
    body = b"".join(MULTI_HEADER.pack(part.type, False, -1) + part.body for part in parts)
    return Part(kind, body + MULTI_HEADER.pack(-1, True, -1))


def close() -> Part:
    """Make the request that ends the session."""
    return Part(Operation.CLOSE_SESSION, b"")


def opened(message: bytes) -> SessionOpened:
    """Decode the answer to `connect`. Raises JuteError if it is none."""
    reader = Reader(message)
    reader.int32("the protocol version")
    timeout, session = reader.int32("the time-out"), reader.int64("the session")
    return SessionOpened(session if timeout > 0 else 0, reader.buffer("the password") or b"", timeout)


def answered(message: bytes) -> ReplyPacket:
    """Decode an answer. Raises JuteError if it is none."""
    if len(message) < ANSWER.size:
        raise JuteError(0, f"an answer has at least {ANSWER.size} bytes, and here are {len(message)}")
    xid, zxid, error = ANSWER.unpack_from(message)
    return ReplyPacket(xid, zxid, error_name(error), message[ANSWER.size :])


def event_of(answer: ReplyPacket) -> WatchTold | None:
    """Decode an event; None if it is not of a node. JuteError if it is none."""
    reader = Reader(answer.body)
    kind, _, path = reader.int32("a type"), reader.int32("a state"), reader.string("a path")
    return WatchTold(_EVENTS[kind], path or "/", max(-1, answer.zxid)) if kind in _EVENTS else None


def error_name(error: int) -> str:
    """Return the name of an error, "" if it is none."""
    return "" if not error else _ERRORS.get(error, f"error {error}")


def stat_of(reader: Reader) -> NodeStat:
    """Decode a Stat."""
    czxid, mzxid, _, _, version, _, _, owner, *_ = STAT.unpack(reader.raw(STAT.size, "a stat"))
    return NodeStat(czxid, mzxid, version, owner)


def data_of(answer: ReplyPacket) -> tuple[bytes, NodeStat]:
    """Decode the answer to `get_data`. Raises JuteError if it is none."""
    reader = Reader(answer.body)
    return reader.buffer("the data") or b"", stat_of(reader)


def children_of(answer: ReplyPacket) -> list[str]:
    """Decode the answer to `get_children`. Raises JuteError if it is none."""
    reader = Reader(answer.body)
    return [reader.string("a name") or "" for _ in range(reader.int32("the number of children"))]


def error_of_multi(answer: ReplyPacket) -> str:
    """Return the name of the error for which a multi was refused, "" if it was done. JuteError if it is no multi."""
    reader = Reader(answer.body)
    while True:
        kind, done, _ = MULTI_HEADER.unpack(reader.raw(MULTI_HEADER.size, "the header of a part"))
        if done:
            return ""
        if kind == Operation.ERROR:
            error = reader.int32("an error")
            if error:  # the parts before the one that failed have 0
                return error_name(error)
        elif kind == Operation.CREATE2:
            reader.string("a path")
            stat_of(reader)
        elif kind == Operation.SET_DATA:
            stat_of(reader)
