"""Nodes that were written for Maelstrom, as they are: the workload `kafka`, whose log is a broadcast in one order.

Each request sends a message to the log of one key, and after each step of a node a client polls that node from where it
has come to. The offset of a message is its place in the order: the message at offset i is the transaction ⟨1, i+1⟩,
broadcast when `send_ok` names that offset, and delivered at a node when a poll there returns it. So total order and
agreement say that no client skips what another one sees, and zxid uniqueness that no offset has two messages.

Nothing else is judged. A message that was never acknowledged may be delivered all the same, and nobody knows then who
broadcast it, so integrity is not. Nothing is broadcast by one primary alone, and requests of one client may be answered
in any order, so no property about primaries is. That all is delivered in the end is not, either.

Such a node says neither when its answer ends nor how long it waits for something: `rest` tells how it is stepped.
"""

from collections.abc import Mapping
from functools import partial
from typing import Any, ClassVar, Literal

import msgspec
from msgspec import Raw, Struct

from zabcheck.invariants import Broadcast, Deliver, Txn, Zxid
from zabcheck.invariants.quorums import Quorums
from zabcheck.protocols import step_limit
from zabcheck.protocols.base import (
    Changed,
    Effect,
    Members,
    OutsideSilent,
    ProcessId,
    Protocol,
    Request,
    Send,
    Started,
    TimedOut,
    Write,
)
from zabcheck.protocols.environment import MOVES_OF_A_MESH, Environment
from zabcheck.protocols.external.node import NodeMessage
from zabcheck.protocols.external.pool import Pool
from zabcheck.protocols.external.rest import Resting
from zabcheck.protocols.external.running import NotUnderstood, Running
from zabcheck.protocols.external.shown import show
from zabcheck.protocols.external.wire import Line, dump, line_of
from zabcheck.protocols.switches import Switches

PROPERTIES = ("total order", "agreement", "zxid uniqueness")
PATIENCE = 0.1
"""The seconds, by the clock, that a time-out waits for a node to do something by itself."""
KEY = "1"
"""The log: Maelstrom calls its logs by numbers, too."""
SERVICES = ("lin-kv", "seq-kv", "lww-kv", "lin-tso")
"""The services of Maelstrom. Here each is linearizable and runs beside n0: a node cut off from n0 reaches none."""
_HOST = 1
_STORES = "stores"
"""The name of what the services keep on the disk of their host, as they do not crash with it."""
_NO_KEY, _OTHER_VALUE, _NOT_SUPPORTED = 20, 22, 10


class LogSwitches(Switches, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """The switches of these nodes."""

    restarts: Literal["no", "yes"] = "no"

    meanings: ClassVar[Mapping[str, str]] = {
        **Switches.meanings,
        "restarts": "nodes are never killed (no), or killed and started again, without what they had in memory (yes)",
    }
    set_back: ClassVar[tuple[str, ...]] = (*Switches.set_back, "restarts")

    @property
    def never(self) -> tuple[str, ...]:
        return ("crash",) if self.restarts == "no" else ()


class NetworkMessage(NodeMessage, frozen=True):
    """A message from a node to another one, or to a service, or of a service: `src` and `dest` are its ends."""

    src: str
    dest: str


class _Body(Struct):
    """An answer to a client of Maelstrom, as far as it matters."""

    type: str
    in_reply_to: int | None = None
    offset: int | None = None
    msgs: dict[str, list[tuple[int, Any]]] = {}


_decode = msgspec.json.Decoder(_Body).decode


class LogNode:
    """One process of a run. Its `running` may be taken away between two steps; another one is sent the same lines."""

    def __init__(
        self, pool: Pool, process: ProcessId, incarnation: int, quorums: Quorums, disk: Mapping[str, Any], at: Switches
    ) -> None:
        self.pool = pool
        self.id = process
        self.incarnation = incarnation
        self.size = quorums.size
        self.running: Running | None = None
        self.journal: Any = None
        self.is_ready = False
        self.asked: Mapping[int, str] = {}
        self.number = 0
        self.polling: int | None = None
        self.offset = 0
        self.log: tuple[str, ...] = ()
        self.stores: Mapping[str, Mapping[str, Any]] = disk.get(_STORES, {})

    def __copy__(self) -> "LogNode":
        other = object.__new__(LogNode)
        vars(other).update(vars(self))
        other.running = None
        return other

    def __del__(self) -> None:
        if self.running is not None:
            self.pool.give_back(self.running)

    @property
    def name(self) -> str:
        return _name(self.id)

    def begin(self) -> list[Effect]:
        """Send the node `init`; return what it wants done. OutsideSilent if it does not answer that."""
        ids = [_name(each) for each in range(1, self.size + 1)]
        body = self.ask("init", node_id=self.name, node_ids=ids)
        effects = self._tell(dump(self._client, self.name, self.number, body))
        if not self.is_ready:
            raise OutsideSilent("is at rest, and has not answered `init`")
        return [*effects, Changed()]

    def step(self, src: str, body: object) -> list[Effect]:
        """Send the node a line, then have a client poll it; return what it wants done.

        The answer to a poll is followed by none: it may take messages to others, which would never end.
        """
        was_polled = self.polling is not None
        effects = self._tell(dump(src, self.name, self.number, body))
        if not was_polled:
            effects += self._poll()
        return effects or [Changed()]

    def wait(self) -> list[Effect]:
        """Give the node's own timers time, then have a client poll it, also if an earlier poll was never answered."""
        running = self._process()
        effects = self._effects(running.wait(PATIENCE, step_limit.calls.seconds), running, b"")
        self.polling = None
        return [*effects, *self._poll()] or [Changed()]

    def ask(self, kind: str, **fields: object) -> dict[str, object]:
        """Return the body of a client's request, with a number of its own."""
        self.number += 1
        return {"type": kind, "msg_id": self.number, **fields}

    def _poll(self) -> list[Effect]:
        body = self.ask("poll", offsets={KEY: self.offset})
        self.polling = self.number
        return self._tell(dump(self._client, self.name, self.number, body))

    @property
    def _client(self) -> str:
        return f"c{self.id}"

    def _tell(self, line: bytes) -> list[Effect]:
        running = self._process()
        written = running.tell(line, step_limit.calls.seconds)
        self.journal = self.journal, line
        return self._effects(written, running, line)

    def _process(self) -> Resting:
        """Return the process of this node; if it has none, take one, and bring it to where this node is, or near."""
        if isinstance(self.running, Resting):
            self.pool.moved(self.running)
            return self.running
        running = self.pool.take(self, 2 * self.size + 2, step_limit.calls.seconds)
        assert isinstance(running, Resting)
        lines, journal = [], self.journal
        while journal is not None:
            journal, line = journal
            lines.append(line)
        for line in reversed(lines):
            running.tell(line, step_limit.calls.seconds)
        return running

    # What it has written.

    def _effects(self, written: list[bytes], running: Resting, line: bytes) -> list[Effect]:
        effects: list[Effect] = []
        for each in written:
            try:
                effects += self._meant(line_of(each))
            except ValueError as error:  # also of msgspec
                said = f"wrote a line that means nothing: {error}"
                raise NotUnderstood(said, running.told(line, each)) from None
        return effects

    def _meant(self, line: Line) -> list[Effect]:
        body = _decode(line.body)
        if line.src != self.name:
            raise ValueError(f"its `src` is {line.src!r}, expected {self.name!r}")
        if line.dest in SERVICES:
            return [Send(_HOST, NetworkMessage(body.type, bytes(line.body), line.src, line.dest))]
        if line.dest[:1] == "c":
            return self._answered(body)
        to = _number(line.dest)
        if not 1 <= to <= self.size:
            raise ValueError(f"its `dest` is {line.dest!r}, expected a node, a client, or one of {', '.join(SERVICES)}")
        return [Send(to, NetworkMessage(body.type, bytes(line.body), line.src, line.dest))]

    def _answered(self, body: _Body) -> list[Effect]:
        if body.type == "poll_ok" and body.in_reply_to == self.polling:
            self.polling = None
            return [self._delivered(offset, message) for offset, message in body.msgs.get(KEY, ())]
        self.is_ready = self.is_ready or body.type == "init_ok"
        value = self.asked.get(body.in_reply_to or 0)
        if body.type != "send_ok" or value is None:  # an error says that the client may ask again, which it does not
            return []
        if body.offset is None:
            raise ValueError("`send_ok` has no `offset`")
        return [Broadcast(self.id, self.incarnation, 1, _txn(body.offset, value))]

    def _delivered(self, offset: int, message: object) -> Effect:
        value = _received(message)
        self.offset = max(self.offset, offset + 1)
        self.log = (*self.log, f"{value}⟨1,{offset + 1}⟩")
        return Deliver(self.id, self.incarnation, _txn(offset, value))


# Steps.


def _on_started(p: LogNode, sender: ProcessId, m: Started) -> list[Effect]:
    return p.begin()


def _on_request(p: LogNode, sender: ProcessId, m: Request) -> list[Effect]:
    body = p.ask("send", key=KEY, msg=_sent(m.value))
    p.asked = {**p.asked, p.number: m.value}
    return p.step(f"c{p.id}", body)


def _on_timed_out(p: LogNode, sender: ProcessId, m: TimedOut) -> list[Effect]:
    return p.wait()


def _on_message(p: LogNode, sender: ProcessId, m: NetworkMessage) -> list[Effect]:
    return _serve(p, m) if m.dest in SERVICES else p.step(m.src, Raw(m.body))


def _serve(p: LogNode, m: NetworkMessage) -> list[Effect]:
    """Do what a service does, at once."""
    asked = msgspec.json.decode(m.body)
    store = p.stores.get(m.dest, {})
    answer, after = _served(m.type, asked, store)
    p.stores = {**p.stores, m.dest: after}
    body = {**answer, "msg_id": 0, "in_reply_to": asked.get("msg_id", 0)}
    answered = NetworkMessage(str(body["type"]), msgspec.json.encode(body), m.dest, m.src)
    return [Write(**{_STORES: p.stores}), Send(_number(m.src), answered)]


def _served(
    kind: str, asked: Mapping[str, Any], store: Mapping[str, Any]
) -> tuple[dict[str, object], Mapping[str, Any]]:
    """Return the answer of a service, and what it has stored afterwards."""
    key = _json(asked.get("key"))
    if kind == "ts":
        next_ = store.get(key, 0) + 1
        return {"type": "ts_ok", "ts": next_}, {key: next_}
    if kind == "write":
        return {"type": "write_ok"}, {**store, key: asked.get("value")}
    if kind == "cas" and key not in store and asked.get("create_if_not_exists"):
        return {"type": "cas_ok"}, {**store, key: asked.get("to")}
    if kind not in ("read", "cas"):
        return {"type": "error", "code": _NOT_SUPPORTED, "text": f"no request `{kind}`"}, store
    if key not in store:
        return {"type": "error", "code": _NO_KEY, "text": "not found"}, store
    if kind == "read":
        return {"type": "read_ok", "value": store[key]}, store
    if store[key] != asked.get("from"):
        return {"type": "error", "code": _OTHER_VALUE, "text": f"expected {asked.get('from')!r}"}, store
    return {"type": "cas_ok"}, {**store, key: asked.get("to")}


# Values. Maelstrom's own clients send whole numbers, and nodes may expect nothing else.


def _sent(value: str) -> object:
    return int(value[1:]) if value[:1] == "v" and value[1:].isdecimal() and str(int(value[1:])) == value[1:] else value


def _received(message: object) -> str:
    return message if isinstance(message, str) else f"v{msgspec.json.encode(message).decode()}"


def _txn(offset: int, value: str) -> Txn:
    if offset < 0:
        raise ValueError(f"the offset is {offset}, expected 0 or more")
    return Txn(Zxid(1, offset + 1), value)


def _name(process: ProcessId) -> str:
    """Return what Maelstrom calls a process: n0 is the first one."""
    return f"n{process - 1}"


def _number(name: str) -> int:
    return int(name[1:]) + 1 if name[:1] == "n" and name[1:].isdecimal() and len(name) < 9 else 0


# The table.


def log_protocol(name: str, words: list[str]) -> Protocol:
    """Return the protocol that the nodes of a command implement, which were written for Maelstrom."""
    return Protocol(
        name=name,
        summary="a log of Maelstrom's workload `kafka`; its nodes keep their own time, so runs may differ",
        source="docs/any-language.md",
        steps={
            Started: _on_started,
            Request: _on_request,
            TimedOut: _on_timed_out,
            NetworkMessage: _on_message,
        },
        start=partial(LogNode, Pool(words, Resting)),
        abandon=lambda _: None,
        can_broadcast=lambda _: True,
        describe=_describe,
        show=show,
        legend=(("", "⟨1,offset+1⟩"), ("", "log: what a client at this node has polled")),
        properties=PROPERTIES,
        environment=Environment(
            fifo=False,
            mesh=True,
            never=("stabilise", "quiesce"),
            moves={**MOVES_OF_A_MESH, "timeout": 1, "crash": 2, "recover": 6},
        ),
        switches=LogSwitches,
        step_seconds=10.0,
    )


def _describe(p: LogNode) -> dict[str, str | tuple[str, ...]]:
    stored = {each: [f"{key}: {_json(store[key])}" for key in sorted(store)] for each, store in p.stores.items()}
    return {"": "", "log": p.log, **{name: Members(entries) for name, entries in stored.items()}}


def _json(value: object) -> str:
    """Return a value as text, the same for equal values; a string in quotes, as 1 and "1" are two keys."""
    return msgspec.json.encode(value, order="sorted").decode()
