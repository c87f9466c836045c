"""The protocol between ZooKeeper and a client: requests as bytes, and answers from bytes.

Every message is an int, its length, and a record in Jute (declared in ZooKeeper's zookeeper.jute, module
org.apache.zookeeper.proto). The first in each direction opens a session, or takes one up again at another server; then
a request is a number of the client's (xid), a type and a body, and an answer the same number, a zxid, an error and a
body. A server answers the requests of a connection in their order.
"""

import zlib
from collections.abc import Iterable
from struct import Struct
from typing import NamedTuple

from zabcheck.zookeeper.wire.jute import JuteError, Operation, Reader

PING = -2
"""The xid of a ping, and of its answer."""
NOTHING_EXPECTED = -1
"""The version that matches any."""
GET_DATA, GET_CHILDREN, SYNC = 4, 8, 9
"""The types of requests that become no transaction."""
LONGEST = 1 << 24
"""The longest answer that is accepted, in bytes."""

_CONNECT = Struct(">iqiqi")
_HEADER = Struct(">ii")
_ANSWER = Struct(">iqi")
_STAT = Struct(">qqqqiiiqiiq")
_MULTI = Struct(">i?i")
_PING_TYPE = 11
_ANYBODY = Struct(">ii").pack(1, 31)
"""One permission, to do anything; the scheme and identity that have it follow."""

_ERRORS = {
    -4: "ConnectionLoss",
    -101: "NoNode",
    -103: "BadVersion",
    -110: "NodeExists",
    -112: "SessionExpired",
    -118: "SessionMoved",
}
"""The names of the errors that may come here (KeeperException.Code)."""


class SessionOpened(NamedTuple):
    """The answer to the first message. `session` is 0 if the session that was asked for has expired."""

    session: int
    password: bytes
    timeout: int


class Answered(NamedTuple):
    """The answer to request `xid`: the server's last zxid, the name of an error or "", and the rest."""

    xid: int
    zxid: int
    error: str
    body: bytes


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


def request(xid: int, part: Part) -> bytes:
    """Make a request."""
    return _buffer(_HEADER.pack(xid, part.type) + part.body)


def ping() -> bytes:
    """Make the request that keeps a session alive."""
    return request(PING, Part(_PING_TYPE, b""))


def create(path: str, data: bytes, ephemeral: bool = False) -> Part:
    """Make a request to create a node, which lives as long as the session if it is `ephemeral`."""
    permissions = _ANYBODY + _buffer(b"world") + _buffer(b"anyone")
    return Part(Operation.CREATE2, _buffer(path.encode()) + _buffer(data) + permissions + _int(ephemeral))


def set_data(path: str, data: bytes, version: int = NOTHING_EXPECTED) -> Part:
    """Make a request to set the data of a node, if it has this version."""
    return Part(Operation.SET_DATA, _buffer(path.encode()) + _buffer(data) + _int(version))


def delete(path: str) -> Part:
    """Make a request to delete a node."""
    return Part(Operation.DELETE, _buffer(path.encode()) + _int(NOTHING_EXPECTED))


def get_data(path: str) -> Part:
    """Make a request to read a node, without a watch."""
    return Part(GET_DATA, _buffer(path.encode()) + b"\0")


def sync(path: str) -> Part:
    """Make a request after whose answer the server has what was acknowledged before it was asked."""
    return Part(SYNC, _buffer(path.encode()))


def get_children(path: str) -> Part:
    """Make a request for the names of a node's children, without a watch."""
    return Part(GET_CHILDREN, _buffer(path.encode()) + b"\0")


def multi(parts: Iterable[Part]) -> Part:
    """Make a request to do all of these, or none."""
    body = b"".join(_MULTI.pack(part.type, False, -1) + part.body for part in parts)
    return Part(Operation.MULTI, body + _MULTI.pack(-1, True, -1))


def close() -> Part:
    """Make the request that ends the session."""
    return Part(Operation.CLOSE_SESSION, b"")


def opened(message: bytes) -> SessionOpened:
    """Decode the answer to `connect`. Raises JuteError if it is none."""
    reader = Reader(message)
    reader.int32("the protocol version")
    timeout, session = reader.int32("the time-out"), reader.int64("the session")
    return SessionOpened(session if timeout > 0 else 0, reader.buffer("the password") or b"", timeout)


def answered(message: bytes) -> Answered:
    """Decode an answer. Raises JuteError if it is none."""
    if len(message) < _ANSWER.size:
        raise JuteError(0, f"an answer has at least {_ANSWER.size} bytes, and here are {len(message)}")
    xid, zxid, error = _ANSWER.unpack_from(message)
    name = "" if not error else _ERRORS.get(error, f"error {error}")
    return Answered(xid, zxid, name, message[_ANSWER.size :])


def stat_of(reader: Reader) -> NodeStat:
    """Decode a Stat."""
    czxid, mzxid, _, _, version, _, _, owner, *_ = _STAT.unpack(reader.raw(_STAT.size, "a stat"))
    return NodeStat(czxid, mzxid, version, owner)


def data_of(answer: Answered) -> tuple[bytes, NodeStat]:
    """Decode the answer to `get_data`. Raises JuteError if it is none."""
    reader = Reader(answer.body)
    return reader.buffer("the data") or b"", stat_of(reader)


def children_of(answer: Answered) -> list[str]:
    """Decode the answer to `get_children`. Raises JuteError if it is none."""
    reader = Reader(answer.body)
    return [reader.string("a name") or "" for _ in range(reader.int32("the number of children"))]


def error_of_multi(answer: Answered) -> str:
    """Return the name of the error for which a multi was refused, "" if it was done. JuteError if it is no multi."""
    reader = Reader(answer.body)
    while True:
        kind, done, _ = _MULTI.unpack(reader.raw(_MULTI.size, "the header of a part"))
        if done:
            return ""
        if kind == Operation.ERROR:
            error = reader.int32("an error")
            if error:  # the parts before the one that failed have 0
                return _ERRORS.get(error, f"error {error}")
        elif kind == Operation.CREATE2:
            reader.string("a path")
            stat_of(reader)
        elif kind == Operation.SET_DATA:
            stat_of(reader)
