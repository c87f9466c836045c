"""A ZooKeeper as clients see it: nodes and sessions in memory, served on a socket, right or with one fault."""

import socket
from collections.abc import Callable
from copy import deepcopy
from itertools import count
from struct import Struct
from threading import Lock, Thread
from typing import Literal, NamedTuple

from zabcheck.zookeeper.wire.jute import Operation, Reader

Fault = Literal["", "stale reads", "ephemerals stay", "sets are lost", "overtaking", "nonsense"]
_STAT = Struct(">qqqqiiiqiiq")
_ERRORS = {"NoNode": -101, "BadVersion": -103, "NodeExists": -110}
EXISTS, GET_DATA, GET_CHILDREN, SYNC, PING, CLOSE = 3, 4, 8, 9, 11, -11


class Node(NamedTuple):
    created: int
    changed: int
    version: int
    data: bytes
    owner: int = 0

    def stat(self) -> bytes:
        return _STAT.pack(self.created, self.changed, 0, 0, self.version, 0, 0, self.owner, len(self.data), 0, 0)


class Refused(Exception):
    """A request that is answered with an error."""


class State:
    """Nodes and sessions; `zxid` is the last one that was given."""

    def __init__(self) -> None:
        self.nodes: dict[str, Node] = {}
        self.before: dict[str, Node] = {}
        self.sessions: dict[int, bool] = {}
        self.zxid = 1 << 32

    def apply(self, kind: int, body: Reader, session: int, fault: Fault) -> bytes:
        """Do a request that changes something; return the body of its answer."""
        if kind == Operation.MULTI:
            return self._multi(body, session, fault)
        path = body.string() or ""
        match kind:
            case Operation.CREATE2:
                data = body.buffer() or b""
                for _ in range(body.int32()):
                    body.int32(), body.string(), body.string()
                owner = session if body.int32() else 0
                if path in self.nodes:
                    raise Refused("NodeExists")
                self.nodes[path] = Node(self.zxid, self.zxid, 0, data, owner)
                return len(path).to_bytes(4) + path.encode() + self.nodes[path].stat()
            case Operation.SET_DATA:
                data, version = body.buffer() or b"", body.int32()
                node = self._node(path)
                if version not in (-1, node.version):
                    raise Refused("BadVersion")
                new = Node(node.created, self.zxid, node.version + 1, data, node.owner)
                self.before[path] = node
                if fault != "sets are lost":
                    self.nodes[path] = new
                return new.stat()
            case Operation.DELETE:
                self._node(path)
                del self.nodes[path]
                return b""
        raise AssertionError(kind)

    def _node(self, path: str) -> Node:
        if path not in self.nodes:
            raise Refused("NoNode")
        return self.nodes[path]

    def _multi(self, body: Reader, session: int, fault: Fault) -> bytes:
        answer, nodes = b"", dict(self.nodes)
        while True:
            kind, done, _ = body.int32(), body.bool(), body.int32()
            if done:
                return answer + Struct(">i?i").pack(-1, True, -1)
            try:
                answer += Struct(">i?i").pack(kind, False, 0) + self.apply(kind, body, session, fault)
            except Refused as error:
                self.nodes = nodes
                return Struct(">i?ii?i").pack(-1, False, 0, _ERRORS[str(error)], True, -1)

    def end(self, session: int, fault: Fault) -> None:
        self.sessions[session] = False
        if fault != "ephemerals stay":
            self.nodes = {path: node for path, node in self.nodes.items() if node.owner != session}


class Service:
    """Serves a state to clients. Two services of one state are two servers that never differ."""

    def __init__(self, state: State, fault: Fault = "") -> None:
        self.state = state
        self.fault = fault
        self.served: list[socket.socket] = []
        self._lock = Lock()
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        self._ids = count(self.port << 32)
        self._spawn(self._listen)

    def altered(self, path: str, data: bytes) -> "Service":
        """Another server whose copy of a node has other data, with the same counters."""
        state = deepcopy(self.state)
        state.nodes[path] = state.nodes[path]._replace(data=data)
        return Service(state)

    def close(self) -> None:
        for each in (self._listener, *self.served):
            each.close()

    def _spawn(self, target: Callable[..., None], *arguments: socket.socket) -> None:
        Thread(target=target, args=arguments, daemon=True).start()

    def _listen(self) -> None:
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            self.served.append(connection)
            self._spawn(self._serve, connection)

    def _serve(self, connection: socket.socket) -> None:
        with connection:
            try:
                session = self._greet(connection)
                while session and self._answer(connection, session):
                    pass
            except OSError:
                pass  # the client is gone

    def _greet(self, connection: socket.socket) -> int:
        reader = Reader(_message(connection))
        reader.int32(), reader.int64(), reader.int32()
        session = reader.int64()
        with self._lock:
            if session and not self.state.sessions.get(session):
                session, timeout = 0, 0
            else:
                session, timeout = session or next(self._ids), 2000
                self.state.sessions[session] = True
        _send(connection, Struct(">iiqi").pack(0, timeout, session, 16) + bytes(16) + b"\0")
        return session

    def _answer(self, connection: socket.socket, session: int) -> bool:
        """Answer the next request; whether the session goes on."""
        answer, goes_on = self._answer_to(Reader(_message(connection)), session)
        if self.fault == "overtaking" and int.from_bytes(answer[:4]) % 2:
            after, goes_on = self._answer_to(Reader(_message(connection)), session)
            _send(connection, after)
        _send(connection, answer)
        return goes_on

    def _answer_to(self, reader: Reader, session: int) -> tuple[bytes, bool]:
        xid, kind, error, body = reader.int32(), reader.int32(), 0, b""
        with self._lock:
            state = self.state
            if kind == CLOSE:
                state.zxid += 1
                state.end(session, self.fault)
            elif kind in (EXISTS, GET_DATA, GET_CHILDREN, SYNC):
                body, error = self._read(kind, reader)
            elif kind != PING:
                state.zxid += 1
                try:
                    body = state.apply(kind, reader, session, self.fault)
                except Refused as refused:
                    error = _ERRORS[str(refused)]
            if self.fault == "nonsense":
                xid += 100
            return Struct(">iqi").pack(xid, state.zxid, error) + body, kind != CLOSE

    def _read(self, kind: int, reader: Reader) -> tuple[bytes, int]:
        path = reader.string() or ""
        if kind == SYNC:
            return len(path).to_bytes(4) + path.encode(), 0
        nodes = self.state.nodes if self.fault != "stale reads" else {**self.state.nodes, **self.state.before}
        if kind == GET_CHILDREN:
            names = [name[1:].encode() for name in nodes]
            return len(names).to_bytes(4) + b"".join(len(name).to_bytes(4) + name for name in names), 0
        if path not in nodes:
            return b"", _ERRORS["NoNode"]
        node = nodes[path]
        return (len(node.data).to_bytes(4) + node.data if kind == GET_DATA else b"") + node.stat(), 0


def _message(connection: socket.socket) -> bytes:
    size = int.from_bytes(_exactly(connection, 4))
    return _exactly(connection, size)


def _exactly(connection: socket.socket, size: int) -> bytes:
    data = b""
    while len(data) < size:
        part = connection.recv(size - len(data))
        if not part:
            raise ConnectionResetError
        data += part
    return data


def _send(connection: socket.socket, message: bytes) -> None:
    connection.sendall(len(message).to_bytes(4) + message)
