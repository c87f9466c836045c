"""A service in memory that keeps every promise, and clients that ask it at random: where histories come from.

A leader gives each write its zxid; three servers apply the writes when they like, and answer each connection in order.
A connection may be lost with requests open, a session go on elsewhere, end, or be left to expire.
"""

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from random import Random
from typing import Any

from zabcheck.zookeeper.clients.history import (
    Answer,
    Connect,
    Connected,
    HistoryEnd,
    HistoryHeader,
    HistoryLine,
    Lost,
    Part,
    Request,
    Result,
    Stat,
    WatchEvent,
)

NOBODY = "0x0"
SERVERS = 3
MOST_QUEUED = 30
"""Sequential nodes, beyond which the first is deleted: a long history is no other than a short one."""


@dataclass(slots=True)
class Node:
    data: str
    created: int
    changed: int
    below: int
    version: int = 0
    cversion: int = 0
    owner: str = NOBODY
    creates: int = 0
    names: set[str] = field(default_factory=set)

    def stat(self) -> Stat:
        return Stat(
            self.created,
            self.changed,
            self.below,
            self.version,
            self.cversion,
            0,
            ephemeral_owner=self.owner,
            data_length=len(self.data),
            num_children=len(self.names),
        )


def parent(path: str) -> str:
    return path.rpartition("/")[0] or "/"


class DataTree:
    """The nodes as of a zxid."""

    def __init__(self) -> None:
        self.nodes = {"/": Node("", 0, 0, 0)}
        self.zxid = 0

    def apply(self, changes: "list[Change]", zxid: int) -> list[tuple[str, str, int]]:
        """Make changes of one transaction. Return the events: kind, path, zxid."""
        self.zxid = zxid
        told = []
        for kind, path, data, owner in changes:
            if kind == "create":
                above = self.nodes[parent(path)]
                above.names.add(path.rpartition("/")[2])
                above.cversion, above.creates, above.below = above.cversion + 1, above.creates + 1, zxid
                self.nodes[path] = Node(data, zxid, zxid, zxid, owner=owner)
                told += [("NodeCreated", path, zxid), ("NodeChildrenChanged", parent(path), zxid)]
            elif kind == "delete":
                del self.nodes[path]
                above = self.nodes[parent(path)]
                above.names.discard(path.rpartition("/")[2])
                above.cversion, above.below = above.cversion + 1, zxid
                told += [("NodeDeleted", path, zxid), ("NodeChildrenChanged", parent(path), zxid)]
            elif kind == "set":
                node = self.nodes[path]
                node.data, node.changed, node.version = data, zxid, node.version + 1
                told.append(("NodeDataChanged", path, zxid))
        return told


Change = tuple[str, str, str, str]
"""The kind of a change, its path, data and owner."""


class Refused(Exception):
    """A write that is not done; its name is the error."""


class Leader:
    """Gives each write its zxid, and keeps the transactions."""

    def __init__(self) -> None:
        self.tree = DataTree()
        self.log: list[list[Change]] = []

    def propose(self, session: str, parts: list[Request | Part], is_multi: bool) -> tuple[int, list[Result]]:
        """Return the zxid and the results: of a multi that is refused, nothing is done."""
        zxid = len(self.log) + 1
        changes: list[Change] = []
        results: list[Result] = []
        trial = _Trial(self.tree)
        for part in parts:
            try:
                results.append(trial.take(part, session, zxid, changes))
            except Refused as refused:
                if is_multi:
                    rest = len(parts) - len(results) - 1
                    results = [Result() for _ in results] + [Result(error=str(refused))]
                    results += [Result(error="RuntimeInconsistency")] * rest
                else:
                    results = [Result(error=str(refused))]
                changes = []
                break
        self.log.append(changes)
        self.tree.apply(changes, zxid)
        return zxid, results

    def end(self, session: str) -> int:
        zxid = len(self.log) + 1
        paths = [path for path, node in self.tree.nodes.items() if node.owner == session]
        self.log.append([("delete", path, "", "") for path in sorted(paths)])
        self.tree.apply(self.log[-1], zxid)
        return zxid


class _Trial:
    """The tree as the parts of a transaction change it, before it is done."""

    def __init__(self, tree: DataTree) -> None:
        self.tree = tree
        self.nodes: dict[str, Node | None] = {}

    def at(self, path: str) -> Node | None:
        if path in self.nodes:
            return self.nodes[path]
        found = self.tree.nodes.get(path)
        if found is not None:
            copied = Node(*(getattr(found, name) for name in Node.__slots__))
            copied.names = set(found.names)
            found = self.nodes[path] = copied
        return found

    def take(self, part: Request | Part, session: str, zxid: int, changes: list[Change]) -> Result:
        path = part.path or "/"
        node = self.at(path)
        if part.op == "create":
            return self._create(part, path, session, zxid, changes)
        if node is None:
            raise Refused("NoNode")
        if part.version not in (-1, node.version):
            raise Refused("BadVersion")
        if part.op == "delete":
            if node.names:
                raise Refused("NotEmpty")
            self.nodes[path] = None
            above = self.at(parent(path))
            assert above is not None
            above.names.discard(path.rpartition("/")[2])
            changes.append(("delete", path, "", ""))
            return Result()
        if part.op == "setData":
            node.data, node.changed, node.version = str(part.data), zxid, node.version + 1
            changes.append(("set", path, node.data, ""))
            return Result(stat=node.stat())
        return Result()

    def _create(self, part: Request | Part, path: str, session: str, zxid: int, changes: list[Change]) -> Result:
        above = self.at(parent(path))
        if above is None:
            raise Refused("NoNode")
        if above.owner != NOBODY:
            raise Refused("NoChildrenForEphemerals")
        if "sequential" in part.mode:
            path = f"{path}{above.creates:010d}"
        if self.at(path) is not None:
            raise Refused("NodeExists")
        owner = session if "ephemeral" in part.mode else NOBODY
        made = self.nodes[path] = Node(str(part.data or ""), zxid, zxid, zxid, owner=owner)
        above.names.add(path.rpartition("/")[2])
        above.creates += 1
        changes.append(("create", path, made.data, owner))
        return Result(path=path, stat=made.stat())


class Server:
    def __init__(self, leader: Leader) -> None:
        self.leader, self.tree = leader, DataTree()
        self.connections: list[Client] = []

    def catch_up(self, zxid: int) -> None:
        """Apply writes up to `zxid`. One of a connection here waits for what was asked before it, and is answered."""
        while self.tree.zxid < zxid:
            following = self.tree.zxid + 1
            asking = next((each for each in self.connections if each.waits_for(following)), None)
            while asking is not None and asking.open[0][1] != following:
                asking.answer()
            for event in self.tree.apply(self.leader.log[following - 1], following):
                for client in self.connections:
                    client.hear(*event)
            if asking is not None:
                asking.answer()


class Client:
    """A client that asks at random."""

    def __init__(self, world: "World", number: int) -> None:
        self.world, self.number = world, number
        self.session = NOBODY
        self.server: Server | None = None
        self.connection = self.xid = self.seen = 0
        self.open: deque[tuple[Request, int, list[Result]]] = deque()
        self.arms: dict[tuple[str, str], str] = {}
        self.to_arm: dict[str, set[str]] = {"data": set(), "exist": set(), "child": set()}

    def record(self, kind: Callable[..., HistoryLine], **fields: Any) -> None:
        self.world.add(kind(client=self.number, connection=self.connection, time=self.world.now(), **fields))

    def connect(self) -> None:
        self.connection = self.world.new_connection()
        server = self.world.random.choice(self.world.servers)
        asked = self.session
        self.record(Connect, session=asked, seen=self.seen, timeout=60_000)
        if server.tree.zxid < self.seen:
            self.record(Lost, why="refused")
            return
        if asked in self.world.ended:
            self.session, self.seen = NOBODY, 0
            self.to_arm = {"data": set(), "exist": set(), "child": set()}
            self.record(Connected, session=NOBODY)
            self.record(Lost)
            return
        if asked == NOBODY:
            self.session = self.world.new_session()
        self.server = server
        server.connections.append(self)
        self.record(Connected, session=self.session, timeout=60_000)
        lists = {f"{kind}_watches": tuple(sorted(paths)) for kind, paths in self.to_arm.items()}
        if any(lists.values()):
            self.ask("setWatches", relative=self.seen, **lists)

    def lose(self) -> None:
        assert self.server is not None
        self.server.connections.remove(self)
        self.server = None
        self.open.clear()
        self.arms.clear()
        self.record(Lost)

    def ask(self, op: Any, path: str | None = None, **fields: Any) -> None:
        self.xid += 1
        request = Request(
            client=self.number,
            connection=self.connection,
            time=self.world.now(),
            xid=self.xid,
            op=op,
            path=path,
            **fields,
        )
        self.world.add(request)
        zxid, results = 0, [Result()]
        if op in ("create", "delete", "setData"):
            zxid, results = self.world.leader.propose(self.session, [request], False)
        elif op == "multi":
            zxid, results = self.world.leader.propose(self.session, [*request.parts], True)
        elif op == "closeSession":
            zxid = self.world.leader.end(self.session)
            self.world.ended.add(self.session)
        elif op == "sync":
            zxid = len(self.world.leader.log)
        self.open.append((request, zxid, results))

    def waits_for(self, zxid: int) -> bool:
        return any(each == zxid and request.op != "sync" for request, each, _ in self.open)

    def answer(self) -> None:
        """Have the server answer the oldest request."""
        assert self.server is not None
        request, zxid, results = self.open[0]
        if self.server.tree.zxid < zxid:
            self.server.catch_up(zxid)
            if request.op != "sync":
                return  # it was answered as it was applied
        self.open.popleft()
        tree = self.server.tree
        fields: dict[str, Any] = {}
        if request.op == "multi":
            fields = {"results": tuple(results)}
        elif request.op in ("create", "delete", "setData"):
            fields = {"error": results[0].error, "stat": results[0].stat, "path": results[0].path}
        elif request.op in ("getData", "exists", "getChildren"):
            zxid = tree.zxid
            fields = self._read(request)
        elif request.op == "setWatches":
            zxid = tree.zxid
            self._set_watches(request, tree)
        self.seen = max(self.seen, zxid)
        self.record(Answer, xid=request.xid, zxid=zxid if request.op != "sync" else tree.zxid, **fields)
        self.seen = max(self.seen, tree.zxid if request.op == "sync" else 0)
        if request.op == "closeSession":
            self.session, self.seen = NOBODY, 0
            self.to_arm = {"data": set(), "exist": set(), "child": set()}
            self.lose()

    def _read(self, request: Request) -> dict[str, Any]:
        assert self.server is not None
        path = request.path or "/"
        node = self.server.tree.nodes.get(path)
        kind = "child" if request.op == "getChildren" else "data"
        if node is None:
            if request.watch and request.op == "exists":
                self._arm(path, "exist")
            return {"error": "NoNode"}
        if request.watch:
            self._arm(path, kind)
        fields: dict[str, Any] = {"stat": node.stat()}
        if request.op == "getData":
            fields["data"] = node.data
        if request.op == "getChildren":
            fields["children"] = tuple(sorted(node.names))
        return fields

    def _arm(self, path: str, kind: str) -> None:
        self.arms[path, kind] = kind
        self.to_arm[kind].add(path)

    def _set_watches(self, request: Request, tree: DataTree) -> None:
        for path in request.data_watches:
            node = tree.nodes.get(path)
            self._take_up(path, "data", node, "DataChanged", node is not None and node.changed > request.relative)
        for path in request.child_watches:
            node = tree.nodes.get(path)
            self._take_up(path, "child", node, "ChildrenChanged", node is not None and node.below > request.relative)
        for path in request.exist_watches:
            if path in tree.nodes:
                self._tell("NodeCreated", path, -1, "exist")
            else:
                self.arms[path, "exist"] = "exist"

    def _take_up(self, path: str, arm: str, node: Node | None, change: str, is_changed: bool) -> None:
        if node is None:
            self._tell("NodeDeleted", path, -1, arm)
        elif is_changed:
            self._tell(f"Node{change}", path, -1, arm)
        else:
            self.arms[path, arm] = arm

    def _tell(self, kind: str, path: str, zxid: int, *arms: str) -> None:
        for arm in arms:
            self.arms.pop((path, arm), None)
            self.to_arm[arm].discard(path)
        self.record(WatchEvent, type=kind, path=path, zxid=zxid)

    def hear(self, kind: str, path: str, zxid: int) -> None:
        arms = {
            "NodeCreated": ("exist",),
            "NodeDataChanged": ("data",),
            "NodeDeleted": ("data", "child", "exist"),
            "NodeChildrenChanged": ("child",),
        }[kind]
        standing = [arm for arm in arms if (path, arm) in self.arms]
        if standing:
            self._tell(kind, path, zxid if self.world.tells_zxids else -1, *standing)


class World:
    """The service, its clients, and what is recorded."""

    def __init__(self, seed: int, clients: int = 5) -> None:
        self.random = Random(seed)
        self.tells_zxids = self.random.random() < 0.5
        header = HistoryHeader(1, initial="empty", complete=("/",), clock="one", values="unique")
        self.lines: list[HistoryLine] = [header]
        self.leader = Leader()
        self.servers = [Server(self.leader) for _ in range(SERVERS)]
        self.ended: set[str] = set()
        self.connections = self.sessions = self.time = self.values = 0
        self.clients = [Client(self, number) for number in range(1, clients + 1)]

    def add(self, line: HistoryLine) -> None:
        self.lines.append(line)

    def now(self) -> int:
        self.time += self.random.randrange(1, 1000)
        return self.time

    def new_connection(self) -> int:
        self.connections += 1
        return self.connections

    def new_session(self) -> str:
        self.sessions += 1
        return f"0x{self.sessions:x}"

    def step(self) -> None:
        random, client = self.random, self.random.choice(self.clients)
        if client.server is None:
            if random.random() < 0.3:
                client.connect()
            return
        drawn = random.random()
        if drawn < 0.45:
            self._ask(client)
        elif drawn < 0.85 and client.open:
            client.answer()
        elif drawn < 0.97:
            server = random.choice(self.servers)
            server.catch_up(min(len(self.leader.log), server.tree.zxid + random.randrange(4)))
        elif drawn < 0.985:
            client.lose()
        elif drawn < 0.988:
            client.lose()
            self.ended.add(client.session)
            self.leader.end(client.session)
            self.time += 61_000_000_000
        elif drawn < 0.991:
            client.ask("closeSession")
            while client.server is not None:
                client.answer()

    def _ask(self, client: Client) -> None:
        random = self.random
        if len(client.open) > 6:
            return
        self.values += 1
        data = f"{client.number}.{self.values}"
        path = random.choice(("/r0", "/r1", "/p", "/q", "/p/a", "/p/b", f"/e{client.number}"))
        watch = random.choice(("", "", "standard"))
        match random.randrange(12):
            case 0 | 1 | 2:
                client.ask("getData", path, watch=watch)
            case 3:
                client.ask("exists", path, watch=watch)
            case 4:
                client.ask("getChildren", random.choice(("/p", "/q", "/")), watch=watch)
            case 5 | 6:
                client.ask("setData", path, data=data, version=random.choice((-1, -1, 0, 1, 2)))
            case 7:
                mode = ("ephemeral",) if path.startswith("/e") else ()
                client.ask("create", path, data=data, mode=mode)
            case 8:
                queue = self.leader.tree.nodes.get("/q")
                if queue is not None and len(queue.names) > MOST_QUEUED:
                    client.ask("delete", f"/q/{min(queue.names)}")
                else:
                    client.ask("create", "/q/n", data=data, mode=("sequential",))
            case 9:
                client.ask("delete", path, version=random.choice((-1, 0)))
            case 10:
                parts = [Part(op="setData", path=each, data=f"{data}.{each}") for each in ("/r0", "/r1")]
                parts.append(Part(op="check", path="/p", version=random.choice((-1, 0, 1))))
                client.ask("multi", parts=tuple(parts))
            case 11:
                client.ask("sync", "/")

    def history(self, operations: int) -> list[HistoryLine]:
        """Return a history with at least as many requests."""
        while self.values < operations:
            self.step()
        return [*self.lines, HistoryEnd(len(self.lines) - 1)]
