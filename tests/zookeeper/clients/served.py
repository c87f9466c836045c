"""The service in memory behind sockets: all that ZooKeeper's own clients may ask, right or with one fault."""

import socket
from contextlib import suppress
from itertools import count
from threading import RLock, Thread

from tests.zookeeper.clients.service import DataTree, Leader
from zabcheck.zookeeper.clients.conversation import Conversation
from zabcheck.zookeeper.clients.history import Connect, Request, Result, Stat
from zabcheck.zookeeper.wire import client as wire
from zabcheck.zookeeper.wire.jute import Operation

ERRORS = {"NoNode": -101, "BadVersion": -103, "NodeExists": -110, "NotEmpty": -111, "RuntimeInconsistency": -2}
EVENTS = {"NodeCreated": 1, "NodeDeleted": 2, "NodeDataChanged": 3, "NodeChildrenChanged": 4}
ARMS = {
    "NodeCreated": ("exist", "data", "persistent"),
    "NodeDataChanged": ("data", "persistent"),
    "NodeDeleted": ("data", "child", "exist", "persistent"),
    "NodeChildrenChanged": ("child", "persistent"),
}
WRITES = ("create", "delete", "setData", "setACL", "multi")


def string(text: str) -> bytes:
    return len(text).to_bytes(4) + text.encode()


def packed(stat: Stat | None) -> bytes:
    assert stat is not None
    owner = int(stat.ephemeral_owner, 16)
    sizes = stat.data_length or 0, stat.num_children or 0
    counts = stat.version, stat.cversion or 0, stat.aversion or 0
    return wire.STAT.pack(stat.czxid, stat.mzxid, 0, 0, *counts, owner, *sizes, stat.pzxid)


class Served:
    """Servers that never differ, each at a port of its own."""

    def __init__(self, fault: str = "", servers: int = 2) -> None:
        self.fault = fault
        self.leader, self.tree = Leader(), DataTree()
        self.sessions: dict[int, bool] = {}
        self.owners: dict[str, Link] = {}
        """The latest connection of each session: what comes on an earlier one has no effect any more."""
        self.lock = RLock()
        self.ids = count(1)
        self.links: list[Link] = []
        self._listeners = [socket.create_server(("127.0.0.1", 0)) for _ in range(servers)]
        self.ports = [each.getsockname()[1] for each in self._listeners]
        for each in self._listeners:
            Thread(target=self._listen, args=(each,), daemon=True).start()

    @property
    def addresses(self) -> str:
        return ",".join(f"127.0.0.1:{port}" for port in self.ports)

    def _listen(self, listener: socket.socket) -> None:
        while True:
            try:
                connection, _ = listener.accept()
            except OSError:
                return
            Thread(target=Link(self, connection).serve, daemon=True).start()

    def close(self) -> None:
        for each in self._listeners:
            each.close()
        for link in [*self.links]:
            link.socket.close()

    def write(self, session: str, request: Request) -> tuple[int, list[Result]]:
        parts = [*request.parts] if request.op == "multi" else [request]
        zxid, results = self.leader.propose(session, parts, request.op == "multi")
        self.apply(zxid)
        return zxid, results

    def end(self, session: str) -> int:
        zxid = self.leader.end(session)
        if self.fault == "ephemerals stay":
            self.leader.log[zxid - 1] = []
        self.apply(zxid)
        return zxid

    def apply(self, zxid: int) -> None:
        for event in self.tree.apply(self.leader.log[zxid - 1], zxid):
            for link in self.links:
                link.hear(*event)


class Link:
    """One connection, and its watches."""

    def __init__(self, service: Served, connection: socket.socket) -> None:
        self.service, self.socket = service, connection
        self.talk = Conversation(1, 1, "", lambda _: None, keeps_data=True)
        self.session = ""
        self.arms: set[tuple[str, str]] = set()

    def serve(self) -> None:
        with self.socket:
            try:
                while self._next():
                    pass
            except OSError:
                pass  # the client is gone
        with self.service.lock:
            if self in self.service.links:
                self.service.links.remove(self)

    def _exactly(self, size: int) -> bytes:
        data = b""
        while len(data) < size:
            part = self.socket.recv(size - len(data))
            if not part:
                raise ConnectionResetError
            data += part
        return data

    def _send(self, message: bytes) -> None:
        self.socket.sendall(len(message).to_bytes(4) + message)

    def _next(self) -> bool:
        line = self.talk.sent(self._exactly(int.from_bytes(self._exactly(4))))
        assert line is not None
        with self.service.lock:
            if isinstance(line, Connect):
                return self._greet(int(line.session, 16))
            return self.service.owners[self.session] is self and self._answer(line)

    def _greet(self, asked: int) -> bool:
        sessions = self.service.sessions
        is_served = not asked or sessions.get(asked, False)
        session = (asked or next(self.service.ids)) if is_served else 0
        sessions[session] = True
        self.session = f"0x{session:x}"
        hello = (0).to_bytes(4) + (4000 if is_served else 0).to_bytes(4) + session.to_bytes(8)
        hello += (16).to_bytes(4) + bytes(16) + b"\0"
        self.talk.received(hello)
        self._send(hello)
        if is_served:
            self.service.links.append(self)
            self.service.owners[self.session] = self
        return is_served

    def _answer(self, request: Request) -> bool:
        error, body, zxid = 0, b"", self.service.tree.zxid
        if request.op == "closeSession":
            zxid = self.service.end(self.session)
            self.service.sessions[int(self.session, 16)] = False
        elif request.op in WRITES:
            zxid, results = self.service.write(self.session, request)
            if request.op == "multi":
                body = self._of_parts(request, results)
            else:
                error = ERRORS.get(results[0].error, 0)
                body = b"" if error else self._of(request.op, request.path or "/", results[0])
        else:
            error, body = self._read(request)
        header = wire.ANSWER.pack(request.xid, zxid, error)
        self.talk.received(header)
        self._send(header + body)
        return request.op != "closeSession"

    def _of(self, op: str, path: str, result: Result) -> bytes:
        if op == "create":
            return string(result.path or "") + packed(result.stat)
        if op == "setACL":
            return packed(self.service.tree.nodes[path].stat())
        return packed(result.stat) if op == "setData" else b""

    def _of_parts(self, request: Request, results: list[Result]) -> bytes:
        body = b""
        is_refused = any(result.error for result in results)
        kinds = {"create": Operation.CREATE2, "setData": Operation.SET_DATA, "check": Operation.CHECK}
        for part, result in zip(request.parts, results, strict=True):
            if is_refused:
                body += wire.MULTI_HEADER.pack(-1, False, 0) + ERRORS.get(result.error, 0).to_bytes(4, signed=True)
            else:
                body += wire.MULTI_HEADER.pack(kinds[part.op], False, 0) + self._of(part.op, part.path, result)
        return body + wire.MULTI_HEADER.pack(-1, True, -1)

    def _read(self, request: Request) -> tuple[int, bytes]:
        path = request.path or "/"
        node = self.service.tree.nodes.get(path)
        match request.op:
            case "ping" | "sync":
                return 0, string(path)
            case "addWatch":
                self.arms.add((path, request.watch))
                return 0, b""
            case "removeWatches":
                gone = {each for each in self.arms if each[0] == path}
                self.arms -= gone
                return (0 if gone else -121), b""
            case "setWatches":
                self._set_watches(request)
                return 0, b""
            case "multiRead":
                return 0, self._read_parts(request)
        if node is None:
            if request.watch and request.op == "exists":
                self.arms.add((path, "exist"))
            return -101, b""
        if request.watch:
            self.arms.add((path, "child" if request.op == "getChildren" else "data"))
        if request.op == "getChildren":
            names = sorted(node.names)
            return 0, len(names).to_bytes(4) + b"".join(map(string, names)) + packed(node.stat())
        data = node.data if self.service.fault != "stale reads" or node.version < 3 else "1.0"
        return 0, (string(data) if request.op == "getData" else b"") + packed(node.stat())

    def _read_parts(self, request: Request) -> bytes:
        body = b""
        for part in request.parts:
            node = self.service.tree.nodes.get(part.path)
            if node is None:
                body += wire.MULTI_HEADER.pack(-1, False, -101) + (-101).to_bytes(4, signed=True)
            else:
                body += wire.MULTI_HEADER.pack(wire.GET_DATA, False, 0) + string(node.data) + packed(node.stat())
        return body + wire.MULTI_HEADER.pack(-1, True, -1)

    def _set_watches(self, request: Request) -> None:
        nodes, since = self.service.tree.nodes, request.relative
        for path in request.data_watches:
            if path not in nodes:
                self._tell("NodeDeleted", path, -1)
            elif nodes[path].changed > since:
                self._tell("NodeDataChanged", path, -1)
            else:
                self.arms.add((path, "data"))
        for path in request.child_watches:
            if path not in nodes:
                self._tell("NodeDeleted", path, -1)
            elif nodes[path].below > since:
                self._tell("NodeChildrenChanged", path, -1)
            else:
                self.arms.add((path, "child"))
        for path in request.exist_watches:
            if path in nodes:
                self._tell("NodeCreated", path, -1)
            else:
                self.arms.add((path, "exist"))
        self.arms |= {(path, "persistent") for path in request.persistent_watches}
        self.arms |= {(path, "recursive") for path in request.recursive_watches}

    def hear(self, kind: str, path: str, zxid: int) -> None:
        standing = {(path, arm) for arm in ARMS[kind]} & self.arms
        above = path
        while kind != "NodeChildrenChanged" and above:
            standing |= {(above, "recursive")} & self.arms
            above = above.rpartition("/")[0]
        if standing and self.service.fault != "events are lost":
            self._tell(kind, path, zxid)
        self.arms -= {each for each in standing if each[1] not in ("persistent", "recursive")}

    def _tell(self, kind: str, path: str, zxid: int) -> None:
        body = EVENTS[kind].to_bytes(4) + (3).to_bytes(4) + string(path)
        with suppress(OSError):  # its client is gone
            self._send(wire.ANSWER.pack(wire.EVENT, zxid, 0) + body)
