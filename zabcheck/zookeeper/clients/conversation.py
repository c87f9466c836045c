"""The messages of a connection to a service as lines of a history.

Passwords, tokens and the contents of `auth` are never recorded. A request that cannot be decoded is recorded as
"other", and an answer without its details. To set many watches again, clients send several requests with one number
before the first is answered: each of the others is recorded with a number of its own, below all that clients can send.
"""

import re
import zlib
from collections import defaultdict, deque
from collections.abc import Callable
from itertools import count
from time import monotonic_ns
from typing import Any, NamedTuple

from zabcheck.zookeeper.clients.history import (
    Answer,
    Connect,
    Connected,
    Data,
    HistoryLine,
    Lost,
    OperationName,
    Part,
    Request,
    Result,
    Stat,
    WatchEvent,
)
from zabcheck.zookeeper.wire import client as wire
from zabcheck.zookeeper.wire.jute import JuteError, Reader
from zabcheck.zookeeper.wire.jute import Operation as Write

_CANONICAL = re.compile("/([^/]+(/[^/]+)*)?")
_CREATES = (Write.CREATE, Write.CREATE2, Write.CREATE_CONTAINER, Write.CREATE_TTL)
_OPERATIONS: dict[int, OperationName] = {
    **dict.fromkeys(map(int, _CREATES), "create"),
    Write.DELETE: "delete",
    Write.SET_DATA: "setData",
    Write.SET_ACL: "setACL",
    Write.CHECK: "check",
    Write.MULTI: "multi",
    Write.RECONFIG: "reconfig",
    Write.CLOSE_SESSION: "closeSession",
    wire.EXISTS: "exists",
    wire.GET_DATA: "getData",
    wire.GET_ACL: "getACL",
    wire.GET_CHILDREN: "getChildren",
    wire.GET_CHILDREN2: "getChildren",
    wire.SYNC: "sync",
    wire.PING_TYPE: "ping",
    wire.MULTI_READ: "multiRead",
    wire.AUTH: "auth",
    wire.ADD_WATCH: "addWatch",
    wire.REMOVE_WATCHES: "removeWatches",
    wire.SET_WATCHES1: "setWatches",
    wire.SET_WATCHES2: "setWatches",
}
_MODES: dict[int, tuple[Any, ...]] = {
    1: ("ephemeral",),
    2: ("sequential",),
    3: ("sequential", "ephemeral"),
    4: ("container",),
    5: ("ttl",),
    6: ("sequential", "ttl"),
}
_REMOVED: dict[int, Any] = {1: "children", 2: "data", 3: "any", 4: "persistent", 5: "recursive"}
_LISTS = ("data_watches", "exist_watches", "child_watches", "persistent_watches", "recursive_watches")


_LEAST = -1 << 31
"""The least number that a client can give to a request."""


class _Sent(NamedTuple):
    """A request that waits for an answer, by the number that it has in the history."""

    number: int
    kind: int


class Conversation:
    """The messages on one connection of a client, each recorded as it passes, and returned."""

    def __init__(
        self,
        client: int,
        connection: int,
        server: str,
        record: Callable[[HistoryLine], None],
        keeps_data: bool = False,
    ) -> None:
        """Record to `record`; data as a digest, or, if `keeps_data`, ASCII as it is."""
        self._ids = {"client": client, "connection": connection}
        self._server = server
        self._record = record
        self._keeps_data = keeps_data
        self._waiting: dict[int, deque[_Sent]] = defaultdict(deque)
        """The requests that wait for an answer, by the number that the client gave them."""
        self._open = 0
        self._numbers = count(_LEAST - 1, -1)
        self._is_asked = self._is_answered = False

    @property
    def open(self) -> int:
        """Count the requests that wait for an answer."""
        return self._open

    def sent(self, message: bytes) -> Connect | Request | None:
        """Record a message of the client. None for a ping while another waits. JuteError if it cannot be decoded."""
        reader = Reader(message)
        if not self._is_asked:
            self._is_asked = True
            reader.int32("the protocol version")
            seen, timeout = reader.int64("the last zxid"), reader.int32("the time-out")
            session = _hex(reader.int64("the session"))
            connect = Connect(
                **self._now(), session=session, server=self._server, seen=max(0, seen), timeout=max(0, timeout)
            )
            self._record(connect)
            return connect
        xid, kind = reader.int32("the number of a request"), reader.int32("its type")
        waiting = self._waiting[xid]
        if waiting and kind == wire.PING_TYPE:
            return None
        number = next(self._numbers) if waiting else xid
        waiting.append(_Sent(number, kind))
        self._open += 1
        request = Request(**self._now(), xid=number, op=_OPERATIONS.get(kind, "other"), **self._fields(kind, reader))
        self._record(request)
        return request

    def received(self, message: bytes) -> Connected | Answer | WatchEvent | None:
        """Record a message of the service. None if a history has no line for it. JuteError if it cannot be decoded."""
        if not self._is_answered:
            self._is_answered = True
            hello = wire.opened(message)
            connected = Connected(**self._now(), session=_hex(hello.session), timeout=max(0, hello.timeout))
            self._record(connected)
            return connected
        answer = wire.answered(message)
        line: Answer | WatchEvent
        if answer.xid == wire.EVENT:
            found = wire.event_of(answer)
            if found is None:
                return None
            line = WatchEvent(**self._now(), type=found.type, path=found.path, zxid=found.zxid)
        else:
            asked = self._answered(answer.xid)
            if asked is None and answer.xid == wire.PING:
                return None
            details = {} if asked is None or answer.error else self._details(asked.kind, Reader(answer.body))
            line = Answer(
                **self._now(),
                xid=answer.xid if asked is None else asked.number,
                zxid=max(-1, answer.zxid),
                error=answer.error,
                stray=asked is None,
                **details,
            )
        self._record(line)
        return line

    def _answered(self, xid: int) -> "_Sent | None":
        """Take the first request that waits for an answer with this number; None if there is none."""
        waiting = self._waiting.get(xid)
        if not waiting:
            return None
        asked = waiting.popleft()
        if not waiting:
            del self._waiting[xid]
        self._open -= 1
        return asked

    def lost(self, why: str = "") -> None:
        """Record the end of the connection, if anything was sent on it."""
        self._waiting.clear()
        self._open = 0
        if self._is_asked:
            self._record(Lost(**self._now(), why=why))

    def _now(self) -> dict[str, Any]:
        return {**self._ids, "time": monotonic_ns()}

    def _data(self, data: bytes | None) -> str | Data:
        data = data or b""
        if self._keeps_data and data.isascii():
            return data.decode()
        return Data(digest=f"crc32:{zlib.crc32(data):08x}", length=len(data))

    # Requests.

    def _fields(self, kind: int, reader: Reader) -> dict[str, Any]:
        """Decode the body of a request; return no fields if it makes no sense."""
        try:
            if kind in (Write.MULTI, wire.MULTI_READ):
                return {"parts": tuple(self._parts(reader))}
            if kind in (wire.SET_WATCHES1, wire.SET_WATCHES2):
                relative = reader.int64("a zxid")
                names = _LISTS if kind == wire.SET_WATCHES2 else _LISTS[:3]
                return {"relative": max(0, relative), **{name: _paths(reader) for name in names}}
            return self._of_a_node(kind, reader)
        except JuteError:
            return {}

    def _parts(self, reader: Reader) -> list[Part]:
        parts: list[Part] = []
        while True:
            kind, done, _ = wire.MULTI_HEADER.unpack(reader.raw(wire.MULTI_HEADER.size, "the header of a part"))
            if done:
                return parts
            fields = self._of_a_node(kind, reader)
            fields.pop("watch", None)
            parts.append(Part(op=_OPERATIONS.get(kind, "other"), path=fields.pop("path", "/"), **fields))

    def _of_a_node(self, kind: int, reader: Reader) -> dict[str, Any]:
        if kind not in _OPERATIONS or kind in (wire.PING_TYPE, wire.AUTH, Write.CLOSE_SESSION, Write.RECONFIG):
            return {}
        path = reader.string("a path") or ""
        fields: dict[str, Any] = {"path": path} if _CANONICAL.fullmatch(path) else {}
        if kind in _CREATES:
            fields["data"] = self._data(reader.buffer("the data"))
            fields["restricted"] = not _may_everybody_read(reader)
            fields["mode"] = _MODES.get(reader.int32("the flags"), ())
            if kind == Write.CREATE_TTL:
                fields["ttl"] = max(0, reader.int64("the time to live"))
        elif kind == Write.SET_DATA:
            fields |= {"data": self._data(reader.buffer("the data")), "version": reader.int32("a version")}
        elif kind in (Write.DELETE, Write.CHECK):
            fields["version"] = reader.int32("a version")
        elif kind == Write.SET_ACL:
            fields["restricted"] = not _may_everybody_read(reader)
        elif kind in (wire.EXISTS, wire.GET_DATA, wire.GET_CHILDREN, wire.GET_CHILDREN2):
            fields["watch"] = "standard" if reader.bool("whether to watch") else ""
        elif kind == wire.ADD_WATCH:
            fields["watch"] = "recursive" if reader.int32("a mode") else "persistent"
        elif kind == wire.REMOVE_WATCHES:
            fields["watch"] = _REMOVED.get(reader.int32("a kind"), "any")
        return fields

    # Answers.

    def _details(self, kind: int, reader: Reader) -> dict[str, Any]:
        try:
            if kind in (Write.MULTI, wire.MULTI_READ):
                return {"results": tuple(self._results(reader))}
            return self._result(kind, reader)
        except JuteError:
            return {}

    def _results(self, reader: Reader) -> list[Result]:
        results: list[Result] = []
        while True:
            kind, done, _ = wire.MULTI_HEADER.unpack(reader.raw(wire.MULTI_HEADER.size, "the header of a result"))
            if done:
                return results
            if kind == Write.ERROR:
                results.append(Result(error=wire.error_name(reader.int32("an error"))))
            else:
                results.append(Result(**self._result(kind, reader)))

    def _result(self, kind: int, reader: Reader) -> dict[str, Any]:
        fields: dict[str, Any] = {}
        if kind in _CREATES:
            fields["path"] = reader.string("a path")
        elif kind == wire.GET_DATA:
            fields["data"] = self._data(reader.buffer("the data"))
        elif kind in (wire.GET_CHILDREN, wire.GET_CHILDREN2):
            fields["children"] = _names(reader)
        elif kind == wire.GET_ACL:
            _may_everybody_read(reader)
        elif kind not in (wire.EXISTS, Write.SET_DATA, Write.SET_ACL):
            return fields
        if kind not in (Write.CREATE, wire.GET_CHILDREN):
            fields["stat"] = _stat(reader)
        return fields


def _hex(session: int) -> str:
    return f"0x{session & ((1 << 64) - 1):x}"


def _names(reader: Reader) -> tuple[str, ...]:
    return tuple(reader.strings("a list of names"))


def _paths(reader: Reader) -> tuple[str, ...]:
    return tuple(path for path in _names(reader) if _CANONICAL.fullmatch(path))


def _may_everybody_read(reader: Reader) -> bool:
    found = False
    for _ in range(max(0, reader.length("the permissions"))):
        permissions = reader.int32("a permission")
        identity = reader.string("a scheme"), reader.string("an identity")
        found |= identity == wire.EVERYBODY and bool(permissions & wire.READ)
    return found


def _stat(reader: Reader) -> Stat:
    fields = wire.STAT.unpack(reader.raw(wire.STAT.size, "a stat"))
    czxid, mzxid, ctime, mtime, version, cversion, aversion, owner, length, children, pzxid = fields
    return Stat(
        max(0, czxid),
        max(0, mzxid),
        max(0, pzxid),
        version,
        cversion,
        aversion,
        ctime,
        mtime,
        _hex(owner),
        max(0, length),
        max(0, children),
    )
