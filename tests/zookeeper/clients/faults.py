"""The service behind sockets with one fault, for each violation that a service may show: what is wrong, in a few lines.

The numbers are those of `docs/notes/clients.md`.
"""

import re
import select
import socket
from collections import defaultdict
from collections.abc import Callable
from dataclasses import replace
from functools import cached_property
from typing import Any, NamedTuple

from msgspec.structs import replace as replaced

from tests.zookeeper.clients.served import WRITES, Link, Served
from tests.zookeeper.clients.service import Node, parent
from zabcheck.zookeeper.clients.history import Connect, Request, Result, Stat


class Fault(NamedTuple):
    """A service that breaks a promise, and whether it shows while connections are cut."""

    promise: str
    service: type[Served]
    is_disturbed: bool = True


FAULTS: dict[str, Fault] = {}
"""By number and what is wrong, as in the documentation."""
Class = type[Link] | type[Served]


def breaks(promise: str, number: str, is_disturbed: bool = True) -> Callable[[Class], Class]:
    """Note a connection or a service with a fault; its name says what is wrong."""

    def keep(wrong: Class) -> Class:
        service = wrong if issubclass(wrong, Served) else type(wrong.__name__, (Faulty,), {"link": wrong})
        FAULTS[f"{number}: {re.sub('(?<!^)(?=[A-Z])', ' ', wrong.__name__).lower()}"] = Fault(
            promise, service, is_disturbed
        )
        return wrong

    return keep


class Faulty(Served):
    """A service that counts when it is to be wrong."""

    def __init__(self) -> None:
        self._turns: dict[str, int] = defaultdict(int)
        self.fragile: set[str] = set()
        self.late: dict[str, list[Request]] = defaultdict(list)
        super().__init__()

    def turn(self, often: int, of: str = "") -> bool:
        """Return True at each call of so many."""
        self._turns[of] += 1
        return self._turns[of] % often == 0

    def undo(self, path: str) -> None:
        """Forget the last change of a node's data."""
        for tree in (self.leader.tree, self.tree):
            tree.nodes[path] = replace(self.before[path], names={*tree.nodes[path].names})


class Wrong(Link):
    service: Faulty

    def is_gone(self) -> bool:
        """Return True if the client has closed the connection after what was read last."""
        try:
            return bool(select.select([self.socket], [], [], 0.002)[0]) and not self.socket.recv(1, socket.MSG_PEEK)
        except ConnectionResetError:
            return True

    def has_more(self) -> bool:
        """Return True if the client has sent more."""
        return bool(select.select([self.socket], [], [], 0)[0])

    def old(self, path: str) -> Node | None:
        """Return a node as it was before its last change."""
        return self.service.before.get(path, self.service.tree.nodes.get(path))


def is_set(request: Request | None) -> bool:
    return request is not None and request.op == "setData"


# Orders and values.


@breaks("own writes", "1")
class OwnWriteNotSeen(Wrong):
    def node(self, path: str) -> Node | None:
        own = self.last is not None and self.last.op == "setData" and self.last.path == path
        return self.old(path) if own else super().node(path)


@breaks("own writes", "2")
class ReadBeforePipelinedWrite(Wrong):
    def reply(self, request: Request, zxid: int, error: int, body: bytes) -> None:
        super().reply(request, zxid - (request.op == "getData" and is_set(self.last)), error, body)


@breaks("reliability", "3")
class AcknowledgedWriteLost(Wrong):
    def take(self, request: Request) -> None:
        zxid, error, body = self.outcome(request)
        if request.op == "setData" and not error and self.service.turn(20):
            self.service.undo(request.path or "")
        self.reply(request, zxid, error, body)


@breaks("reliability", "4")
class SeenWriteLost(Wrong):
    def outcome(self, request: Request) -> tuple[int, int, bytes]:
        made = super().outcome(request)
        if request.op == "setData" and not made[1] and self.is_gone():
            self.service.fragile.add(request.path or "")
        return made

    def node(self, path: str) -> Node | None:
        found = super().node(path)
        if path in self.service.fragile and path in self.service.before:
            self.service.fragile.remove(path)
            self.service.undo(path)
        return found


@breaks("rising view", "5")
class ViewFalls(Wrong):
    def reply(self, request: Request, zxid: int, error: int, body: bytes) -> None:
        super().reply(request, zxid - (request.op == "exists" and self.service.turn(10)), error, body)


@breaks("single system image", "6, 7")
class ViewFallsAfterReconnect(Wrong):
    behind = 0

    def greet(self, asked: Connect) -> bool:
        self.behind = asked.seen - 1
        return super().greet(asked)

    def reply(self, request: Request, zxid: int, error: int, body: bytes) -> None:
        super().reply(request, self.behind if self.behind > 0 and request.op not in WRITES else zxid, error, body)
        self.behind = 0


@breaks("answer order", "8")
class AnswersSwapped(Wrong):
    held: tuple[Any, ...] = ()

    def reply(self, request: Request, zxid: int, error: int, body: bytes) -> None:
        if request.op == "getData" and not self.held and self.has_more() and self.service.turn(5):
            self.held = request, zxid, error, body
            return
        super().reply(request, zxid, error, body)
        if self.held:
            super().reply(*self.held)
            self.held = ()


@breaks("answer order", "8")
class AnswerTwice(Wrong):
    def reply(self, request: Request, zxid: int, error: int, body: bytes) -> None:
        for _ in range(2 if request.op == "getData" and self.service.turn(20) else 1):
            super().reply(request, zxid, error, body)


@breaks("linearizable writes", "9")
class TwoWritesWithOneZxid(Wrong):
    def outcome(self, request: Request) -> tuple[int, int, bytes]:
        zxid, *rest = super().outcome(request)
        return zxid - (request.op in WRITES and self.service.turn(15)), *rest


@breaks("linearizable writes", "10")
class ReadFromTheFuture(Wrong):
    def reply(self, request: Request, zxid: int, error: int, body: bytes) -> None:
        super().reply(request, zxid + (request.op == "exists" and self.service.turn(3)), error, body)


@breaks("writes in the order sent", "11")
class GivenUpWriteComesLate(Wrong):
    def take(self, request: Request) -> None:
        if request.op == "setData" and self.is_gone():
            self.service.late[self.session].append(request)
            return
        super().take(request)
        if request.op in WRITES:
            for late in self.service.late.pop(self.session, []):
                self.service.write(self.session, late)


@breaks("writes in the order sent", "12")
class WritePassedOver(Wrong):
    def take(self, request: Request) -> None:
        is_of_child = request.op == "setData" and parent(request.path or "").endswith("/p")
        if not (is_of_child and request.path in self.service.tree.nodes):
            super().take(request)


@breaks("sync", "13")
class SyncDoesNothing(Wrong):
    told = 0

    def reply(self, request: Request, zxid: int, error: int, body: bytes) -> None:
        self.told = self.told if request.op == "sync" and self.told else zxid
        super().reply(request, self.told, error, body)


@breaks("multi", "14")
class HalfOfAMulti(Wrong):
    def node(self, path: str) -> Node | None:
        return self.old(path) if path.endswith("/m1") and self.service.turn(4) else super().node(path)


@breaks("multi", "15")
class RefusedMultiLeavesAPart(Wrong):
    def written(self, request: Request, results: list[Result]) -> tuple[int, bytes]:
        first = request.parts[0] if request.parts else None
        if first is not None and first.op == "setData" and any(each.error for each in results):
            self.service.change([("set", first.path, str(first.data), "")])
        return super().written(request, results)


@breaks("watch fires once, for a cause", "15", is_disturbed=False)
class RefusedMultiFiresAWatch(Wrong):
    def written(self, request: Request, results: list[Result]) -> tuple[int, bytes]:
        if request.op == "multi" and any(each.error for each in results):
            for link in self.service.links:
                link.hear("NodeDataChanged", request.parts[0].path, self.service.tree.zxid)
        return super().written(request, results)


@breaks("multi", "16")
class MultiResultsWrong(Wrong):
    def written(self, request: Request, results: list[Result]) -> tuple[int, bytes]:
        return super().written(request, results[::-1] if any(each.error for each in results) else results)


@breaks("conditions", "17")
class VersionIgnored(Wrong):
    def outcome(self, request: Request) -> tuple[int, int, bytes]:
        return super().outcome(replaced(request, version=-1) if is_set(request) else request)


@breaks("conditions", "17")
class VersionSkipped(Wrong):
    def outcome(self, request: Request) -> tuple[int, int, bytes]:
        path = request.path or ""
        if request.op == "setData" and path in self.service.tree.nodes and self.service.turn(20):
            for tree in (self.service.leader.tree, self.service.tree):
                tree.nodes[path].version += 1
        return super().outcome(request)


@breaks("conditions", "18")
class RightVersionRefused(Wrong):
    def outcome(self, request: Request) -> tuple[int, int, bytes]:
        if request.op == "setData" and request.version >= 0 and self.service.turn(4):
            return self.service.change([]), -103, b""
        return super().outcome(request)


@breaks("reads as of one zxid", "18")
class NodeNotFound(Wrong):
    def node(self, path: str) -> Node | None:
        return None if path.endswith("/r0") and self.service.turn(10) else super().node(path)


@breaks("reads as of one zxid", "18")
class DeletedChildListed(Wrong):
    def names(self, path: str, node: Node) -> list[str]:
        listed, names = self.listed.get(path, []), super().names(path, node)
        self.listed[path] = names
        return sorted({*names, *listed}) if self.service.turn(3) else names

    @cached_property
    def listed(self) -> dict[str, list[str]]:
        """The children of nodes that this connection was shown last."""
        return {}


@breaks("Stat", "19")
class MzxidWrong(Wrong):
    def stat(self, node: Node) -> Stat:
        found = node.stat()
        return replaced(found, mzxid=found.mzxid - 1) if node.version > 1 and self.service.turn(10) else found


@breaks("Stat", "19")
class ChildrenMiscounted(Wrong):
    def stat(self, node: Node) -> Stat:
        found = node.stat()
        return replaced(found, num_children=len(node.names) + 1) if node.names else found


@breaks("Stat", "20")
class PzxidNotRaised(Faulty):
    def apply(self, zxid: int) -> None:
        above = [parent(path) for kind, path, *_ in self.leader.log[zxid - 1] if kind == "delete"]
        pzxids = {path: self.tree.nodes[path].below for path in above}
        super().apply(zxid)
        for path, pzxid in pzxids.items():
            if path in self.tree.nodes:
                self.tree.nodes[path].below = pzxid


@breaks("Stat", "21")
class CversionRaisedByASet(Faulty):
    def apply(self, zxid: int) -> None:
        super().apply(zxid)
        for kind, path, *_ in self.leader.log[zxid - 1]:
            if kind == "set" and parent(path).endswith("/p"):
                self.tree.nodes[parent(path)].cversion += 1


@breaks("agreement", "22")
class OtherDataOfOneZxid(Wrong):
    def node(self, path: str) -> Node | None:
        found = super().node(path)
        return replace(found, data="1.0") if found is not None and found.version > 2 and self.service.turn(5) else found


@breaks("sequential nodes", "23")
class NumberAgain(Wrong):
    def outcome(self, request: Request) -> tuple[int, int, bytes]:
        made = super().outcome(request)
        if "sequential" in request.mode and not made[1] and self.service.turn(5):
            self.service.leader.tree.nodes[parent(request.path or "")].creates -= 1
        return made


@breaks("sequential nodes", "24", is_disturbed=False)
class NumberSkippedByARefusedMulti(Wrong):
    def written(self, request: Request, results: list[Result]) -> tuple[int, bytes]:
        if request.op == "multi" and "sequential" in request.parts[0].mode and any(each.error for each in results):
            self.service.leader.tree.nodes[parent(request.parts[0].path)].creates += 1
        return super().written(request, results)


# Lives.


@breaks("ephemeral nodes end", "25")
class EphemeralsStay(Faulty):
    share = 0

    def end(self, session: str) -> int:
        zxid = self.leader.end(session)
        changes = self.leader.log[zxid - 1]
        self.leader.log[zxid - 1] = changes[: len(changes) * self.share // 2]
        self.apply(zxid)
        return zxid


@breaks("ephemeral nodes end", "26")
class SomeEphemeralsStay(EphemeralsStay):
    share = 1


@breaks("ephemeral nodes stay", "27")
class EphemeralOfALivingSessionGoes(Wrong):
    def outcome(self, request: Request) -> tuple[int, int, bytes]:
        if request.op in WRITES and self.service.turn(40):
            nodes = self.service.tree.nodes
            self.service.change([("delete", path, "", "") for path in nodes if nodes[path].owner != "0x0"][-1:])
        return super().outcome(request)


@breaks("Stat", "28")
class EphemeralOfAnother(Wrong):
    def stat(self, node: Node) -> Stat:
        found = node.stat()
        return replaced(found, ephemeral_owner="0x77") if node.owner not in ("0x0", self.session) else found


@breaks("session", "29")
class NewSessionInPlaceOfExpired(Wrong):
    def greet(self, asked: Connect) -> bool:
        is_new = asked.session != "0x0" and self.service.turn(2)
        return self.welcome(next(self.service.ids)) if is_new else super().greet(asked)


@breaks("session", "30")
class ExpiredWhileTalking(Wrong):
    def greet(self, asked: Connect) -> bool:
        return self.welcome(0) if asked.session != "0x0" and self.service.turn(4) else super().greet(asked)


@breaks("containers and TTL", "38")
class ContainerGoesWithAChild(Wrong):
    def node(self, path: str) -> Node | None:
        found = super().node(path)
        is_container = path in self.service.due and self.service.due[path] is None
        return None if is_container and found is not None and found.names else found


@breaks("containers and TTL", "38")
class GoneBeforeItsTime(Faulty):
    def is_due(self, path: str, node: Node) -> bool:
        return self.due[path] is not None or super().is_due(path, node)


# Watches.


@breaks("watch fires", "31")
class EventsLost(Wrong):
    def hear(self, kind: str, path: str, zxid: int) -> None:
        """Tell nothing."""


@breaks("watch fires", "31")
class EventAfterTheRead(Wrong):
    held: tuple[Any, ...] = ()

    def tell(self, kind: str, path: str, zxid: int) -> None:
        if zxid > 0 and not self.held and self.service.turn(10):
            self.held = kind, path, zxid
        else:
            super().tell(kind, path, zxid)

    def reply(self, request: Request, zxid: int, error: int, body: bytes) -> None:
        super().reply(request, zxid, error, body)
        if self.held:
            super().tell(*self.held)
            self.held = ()


@breaks("re-arming", "32")
class NothingToldAfterReconnect(Wrong):
    def set_watches(self, request: Request) -> None:
        for kind in ("data", "child", "exist", "persistent", "recursive"):
            self.arms |= {(path, kind) for path in getattr(request, f"{kind}_watches")}


@breaks("watch fires once, for a cause", "33")
class EventTwice(Wrong):
    def tell(self, kind: str, path: str, zxid: int) -> None:
        super().tell(kind, path, zxid)
        if self.service.turn(10):
            super().tell(kind, path, zxid)


@breaks("watch fires once, for a cause", "33")
class EventWithoutAChange(Wrong):
    def arm(self, path: str, op: str, is_there: bool) -> None:
        super().arm(path, op, is_there)
        if is_there and op == "getData" and self.service.turn(10):
            self.hear("NodeDataChanged", path, self.service.tree.zxid)


@breaks("event order", "34")
class EventsSwapped(Wrong):
    held: tuple[Any, ...] = ()

    def tell(self, kind: str, path: str, zxid: int) -> None:
        if zxid > 0 and not self.held:
            self.held = kind, path, zxid
            return
        super().tell(kind, path, zxid)
        if self.held:
            super().tell(*self.held)
            self.held = ()


@breaks("persistent watches", "35")
class PersistentEndsWithAnEvent(Wrong):
    lasting = ()


@breaks("persistent watches", "36")
class RecursiveTellsOfChildren(Wrong):
    def tells_above(self, kind: str) -> bool:
        return True


@breaks("removal", "37")
class FiresAfterRemoval(Wrong):
    def read(self, request: Request) -> tuple[int, bytes]:
        arms = {*self.arms}
        made = super().read(request)
        self.arms |= arms if request.op == "removeWatches" else set()
        return made


@breaks("watch fires once, for a cause", "37")
class GetDataArmsNothing(Wrong):
    def arm(self, path: str, op: str, is_there: bool) -> None:
        super().arm(path, "exists" if op == "getData" and not is_there else op, is_there)


@breaks("multi read", "39")
class TwoTreesInOneMultiRead(Wrong):
    def part(self, path: str, number: int) -> Node | None:
        return self.old(path) if number == 1 else super().part(path, number)
