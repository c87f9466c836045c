"""The service in memory behind sockets: all that ZooKeeper's own clients may ask; `faults` has what may be wrong."""

import socket
from contextlib import suppress
from dataclasses import replace
from itertools import count
from threading import RLock, Thread
from time import monotonic

from tests.zookeeper.clients.service import Change, DataTree, Leader, Node
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

    link: "type[Link]"

    def __init__(self, servers: int = 2) -> None:
        self.leader, self.tree = Leader(), DataTree()
        self.before: dict[str, Node] = {}
        """Each node before its data were changed last."""
        self.due: dict[str, float | None] = {}
        """The containers, and the nodes with a time to live, with the end of it."""
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
            Thread(target=self.link(self, connection).serve, daemon=True).start()

    def close(self) -> None:
        for each in self._listeners:
            each.close()
        for link in [*self.links]:
            link.socket.close()

    def write(self, session: str, request: Request) -> tuple[int, list[Result]]:
        parts = [*request.parts] if request.op == "multi" else [request]
        zxid, results = self.leader.propose(session, parts, request.op == "multi")
        self.apply(zxid)
        made = results[0].path
        if made is not None and {"container", "ttl"} & {*request.mode}:
            self.due[made] = monotonic() + request.ttl / 1000 if request.ttl else None
        if zxid % 10 == 0:
            self.collect()
        return zxid, results

    def collect(self) -> None:
        """Delete empty containers, and nodes whose time is over, each by a transaction of its own."""
        for path in [*self.due]:
            node = self.tree.nodes.get(path)
            if node is None:
                del self.due[path]
            elif self.is_due(path, node):
                self.change([("delete", path, "", "")])

    def is_due(self, path: str, node: Node) -> bool:
        end = self.due[path]
        return not node.names and (node.cversion > 0 if end is None else monotonic() >= end)

    def change(self, changes: list[Change]) -> int:
        """Make changes that no client asked for."""
        self.leader.log.append(changes)
        zxid = len(self.leader.log)
        self.leader.tree.apply(changes, zxid)
        self.apply(zxid)
        return zxid

    def end(self, session: str) -> int:
        zxid = self.leader.end(session)
        self.apply(zxid)
        return zxid

    def apply(self, zxid: int) -> None:
        for kind, path, _, _ in self.leader.log[zxid - 1]:
            if kind == "set":
                self.before[path] = replace(self.tree.nodes[path])
        events = self.tree.apply(self.leader.log[zxid - 1], zxid)
        for link in self.links:
            for event in events:
                link.hear(*event)


class Link:
    """One connection, and its watches."""

    def __init__(self, service: Served, connection: socket.socket) -> None:
        self.service, self.socket = service, connection
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, True)
        self.talk = Conversation(1, 1, "", lambda _: None, keeps_data=True)
        self.session = ""
        self.last: Request | None = None
        """The request before."""
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
                return self.greet(line)
            if self.service.owners[self.session] is not self:
                return False
            self.take(line)
            self.last = line
            return line.op != "closeSession"

    def take(self, request: Request) -> None:
        self.reply(request, *self.outcome(request))

    def greet(self, asked: Connect) -> bool:
        session = int(asked.session, 16)
        is_served = not session or self.service.sessions.get(session, False)
        return self.welcome((session or next(self.service.ids)) if is_served else 0)

    def welcome(self, session: int) -> bool:
        self.service.sessions[session] = True
        self.session = f"0x{session:x}"
        hello = (0).to_bytes(4) + (4000 if session else 0).to_bytes(4) + session.to_bytes(8)
        hello += (16).to_bytes(4) + bytes(16) + b"\0"
        self.talk.received(hello)
        self._send(hello)
        if session:
            self.service.links.append(self)
            self.service.owners[self.session] = self
        return session != 0

    def outcome(self, request: Request) -> tuple[int, int, bytes]:
        """Do what is asked. Return the zxid, the error and the rest of the answer."""
        if request.op == "closeSession":
            zxid = self.service.end(self.session)
            self.service.sessions[int(self.session, 16)] = False
            return zxid, 0, b""
        if request.op not in WRITES:
            error, body = self.read(request)
            return self.service.tree.zxid, error, body
        zxid, results = self.service.write(self.session, request)
        return zxid, *self.written(request, results)

    def written(self, request: Request, results: list[Result]) -> tuple[int, bytes]:
        if request.op == "multi":
            return 0, self._of_parts(request, results)
        error = ERRORS.get(results[0].error, 0)
        return error, b"" if error else self._of(request.op, request.path or "/", results[0])

    def reply(self, request: Request, zxid: int, error: int, body: bytes) -> None:
        header = wire.ANSWER.pack(request.xid, zxid, error)
        self.talk.received(header)
        self._send(header + body)

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

    def read(self, request: Request) -> tuple[int, bytes]:
        path = request.path or "/"
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
                self.set_watches(request)
                return 0, b""
            case "multiRead":
                return 0, self._read_parts(request)
        node = self.node(path)
        if request.watch:
            self.arm(path, request.op, node is not None)
        if node is None:
            return -101, b""
        if request.op == "getChildren":
            names = self.names(path, node)
            return 0, len(names).to_bytes(4) + b"".join(map(string, names)) + packed(self.stat(node))
        return 0, (string(node.data) if request.op == "getData" else b"") + packed(self.stat(node))

    def node(self, path: str) -> Node | None:
        """Return a node as a reader finds it."""
        return self.service.tree.nodes.get(path)

    def stat(self, node: Node) -> Stat:
        return node.stat()

    def names(self, path: str, node: Node) -> list[str]:
        """Return a node's children as a reader finds them."""
        return sorted(node.names)

    def arm(self, path: str, op: str, is_there: bool) -> None:
        if is_there:
            self.arms.add((path, "child" if op == "getChildren" else "data"))
        elif op == "exists":
            self.arms.add((path, "exist"))

    def _read_parts(self, request: Request) -> bytes:
        body = b""
        for number, part in enumerate(request.parts):
            node = self.part(part.path, number)
            if node is None:
                body += wire.MULTI_HEADER.pack(-1, False, -101) + (-101).to_bytes(4, signed=True)
            else:
                body += wire.MULTI_HEADER.pack(wire.GET_DATA, False, 0) + string(node.data) + packed(node.stat())
        return body + wire.MULTI_HEADER.pack(-1, True, -1)

    def part(self, path: str, number: int) -> Node | None:
        """Return a node as a part of a multi finds it."""
        return self.node(path)

    def set_watches(self, request: Request) -> None:
        nodes, since = self.service.tree.nodes, request.relative
        for path in request.data_watches:
            if path not in nodes:
                self.tell("NodeDeleted", path, -1)
            elif nodes[path].changed > since:
                self.tell("NodeDataChanged", path, -1)
            else:
                self.arms.add((path, "data"))
        for path in request.child_watches:
            if path not in nodes:
                self.tell("NodeDeleted", path, -1)
            elif nodes[path].below > since:
                self.tell("NodeChildrenChanged", path, -1)
            else:
                self.arms.add((path, "child"))
        for path in request.exist_watches:
            if path in nodes:
                self.tell("NodeCreated", path, -1)
            else:
                self.arms.add((path, "exist"))
        self.arms |= {(path, "persistent") for path in request.persistent_watches}
        self.arms |= {(path, "recursive") for path in request.recursive_watches}

    def hear(self, kind: str, path: str, zxid: int) -> None:
        standing = {(path, arm) for arm in ARMS[kind]} & self.arms
        above = path
        while self.tells_above(kind) and above:
            standing |= {(above, "recursive")} & self.arms
            above = above.rpartition("/")[0]
        if standing:
            self.tell(kind, path, zxid)
        self.arms -= {each for each in standing if each[1] not in self.lasting}

    lasting = ("persistent", "recursive")

    def tells_above(self, kind: str) -> bool:
        return kind != "NodeChildrenChanged"

    def tell(self, kind: str, path: str, zxid: int) -> None:
        body = EVENTS[kind].to_bytes(4) + (3).to_bytes(4) + string(path)
        with suppress(OSError):  # its client is gone
            self._send(wire.ANSWER.pack(wire.EVENT, zxid, 0) + body)


Served.link = Link
