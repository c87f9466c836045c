"""The lines between zabcheck and a node; docs/any-language.md explains each field.

A line is one JSON object, framed as Maelstrom's users know it: `{"src": …, "dest": …, "body": {"type": …}}`. Nodes are
called p1, p2, …; besides them there are "zabcheck" and "disk".
"""

from functools import cache
from typing import Any, Literal, Union

import msgspec
from msgspec import Raw, Struct, field

from zabcheck.invariants import Broadcast, Chain, Deliver, Event, Halt, Local, Ready, Txn
from zabcheck.invariants.events import PROTOCOL_EVENTS as PROTOCOL
from zabcheck.invariants.events import AckEpoch, Adopt, ClientAck, FinalRead, Restore, State

ZABCHECK, DISK = "zabcheck", "disk"

SHOWN: tuple[type[Local], ...] = (Broadcast, Deliver, Ready, Halt, Restore, State, ClientAck, FinalRead, *PROTOCOL)
"""The events that a node can tell."""
_OF_A_HISTORY = (Adopt, AckEpoch, Restore)
"""Events in which a node lists the transactions of a history; zabcheck computes `zxid`, `length` and `hash`."""


class Line(Struct, frozen=True):
    """A line: `body` goes from `src` to `dest`. `id` numbers the lines that a node is sent; it answers with it."""

    src: str
    dest: str
    body: Raw
    id: int = 0


class Body(Struct, frozen=True):
    """The part of a body that each has. A message from node to node may have whatever else it likes."""

    type: str


# What a node is sent.


class Init(Struct, frozen=True, tag="init", tag_field="type", forbid_unknown_fields=True):
    """Start, for the first time or again, with what the disk has kept in `disk`: its fields by name.

    `msg_id` is always 1. `weights` has the weight of each node: a quorum has more than half of all. `incarnation` is
    how many times this node has started again. `seed` is where random numbers come from, if the node needs any.
    `counter_limit` is the highest counter of an epoch. `mutant` names the known bug that is planted, if one is. With
    `intact` false what is in `disk` is not what was written: a record was altered.
    """

    msg_id: int
    node_id: str
    node_ids: tuple[str, ...]
    weights: dict[str, int]
    incarnation: int
    seed: int
    counter_limit: int
    mutant: str | None
    disk: dict[str, Any]
    intact: bool


class Reset(Struct, frozen=True, tag="reset", tag_field="type", forbid_unknown_fields=True):
    """Forget everything, as if just started: `init` follows. Only a node is sent this whose `init_ok` says `reset`."""


class ElectedBody(Struct, frozen=True, tag="elected", tag_field="type", forbid_unknown_fields=True):
    """The leader oracle names `leader`; every connection was closed, and one to the leader is open."""

    leader: str


class RequestBody(Struct, frozen=True, tag="request", tag_field="type", forbid_unknown_fields=True):
    """A client asks for `value` to be broadcast; only a node is asked that has told `ready`."""

    value: str


class LostBody(Struct, frozen=True, tag="lost", tag_field="type", forbid_unknown_fields=True):
    """The connection to `peer` is closed at the other end."""

    peer: str


class TimedOutBody(Struct, frozen=True, tag="timed_out", tag_field="type", forbid_unknown_fields=True):
    """No heartbeat came in time: from the leader, or, at a leader, from a quorum."""


class TakeSnapshotBody(Struct, frozen=True, tag="snapshot", tag_field="type", forbid_unknown_fields=True):
    """Tell all that you remember, as a value. Only a node is sent this whose `init_ok` says `snapshot`."""


class RestoreFrom(Struct, frozen=True, tag="restore", tag_field="type", forbid_unknown_fields=True):
    """Forget everything, and be the node that has told `state` in a `snapshot_ok`; the rest is as in its `init`."""

    node_id: str
    node_ids: tuple[str, ...]
    weights: dict[str, int]
    incarnation: int
    seed: int
    counter_limit: int
    mutant: str | None
    state: Any


class SyncedBody(Struct, frozen=True, tag="synced", tag_field="type", forbid_unknown_fields=True):
    """Tells a node that everything written before the `sync` with this `msg_id` is durable. Its source is "disk"."""

    in_reply_to: int


Stimulus = Init | Reset | ElectedBody | RequestBody | LostBody | TimedOutBody | TakeSnapshotBody | RestoreFrom
"""The messages from "zabcheck" to a node."""


# What a node answers.


class InitOk(Struct, frozen=True, tag="init_ok", tag_field="type", forbid_unknown_fields=True):
    """The node has started: the end of its answer to `init`.

    `reset`: it understands `reset`, so it need not be started anew for each run. `snapshot`: it understands
    `snapshot` and `restore` as well, so that every state can be visited; for that it has to understand `reset`.
    `kinds` names every type of message that its nodes send to each other, `properties` the properties and groups that
    it can be judged by, `mutants` the known bugs that `init` can plant in it.
    """

    in_reply_to: int
    reset: bool = False
    snapshot: bool = False
    kinds: tuple[str, ...] = ()
    properties: tuple[str, ...] | None = None
    mutants: tuple[str, ...] = ()


class Done(Struct, frozen=True, tag="done", tag_field="type", forbid_unknown_fields=True):
    """The end of the answer to the line with this `id`: the node does nothing until the next line."""

    in_reply_to: int


class ResetOk(Struct, frozen=True, tag="reset_ok", tag_field="type", forbid_unknown_fields=True):
    """The node is as it was when it was started, and waits for `init`."""

    in_reply_to: int


class SnapshotOk(Struct, frozen=True, tag="snapshot_ok", tag_field="type", forbid_unknown_fields=True):
    """All that the node remembers, in `state`; the same value whenever nothing that comes can tell the difference.

    `epoch` is the highest epoch that it has promised or proposed, 0 for none: a search of every state is bounded by it.
    """

    in_reply_to: int
    epoch: int
    state: Raw


class RestoreOk(Struct, frozen=True, tag="restore_ok", tag_field="type", forbid_unknown_fields=True):
    """The node remembers what is in the `state` that it was sent, and nothing else."""

    in_reply_to: int


class Abandon(Struct, frozen=True, tag="give_up", tag_field="type", forbid_unknown_fields=True):
    """Close every connection, and wait for the oracle: a legal retreat, never an error."""

    reason: str


class ReportedState(Struct, frozen=True, tag="state", tag_field="type", forbid_unknown_fields=True):
    """The variables of a node by name, for reports alone; an array is shown entry by entry."""

    variables: dict[str, Any]


class Failure(Struct, frozen=True, tag="error", tag_field="type", forbid_unknown_fields=True):
    """The node cannot go on: this ends the run, as an exception does in Python."""

    text: str
    code: int = 0


Answer = InitOk | Done | ResetOk | SnapshotOk | RestoreOk | Abandon | ReportedState | Failure
"""The messages from a node to "zabcheck", besides events."""


def _node_event(kind: type[Local]) -> type[Struct]:
    """Return the body that tells of such an event: its fields but for the process and its incarnation."""
    hidden = ("process", "incarnation", *(("zxid", "length", "hash") if kind in _OF_A_HISTORY else ()))
    fields: list[Any] = [("type", Literal["event"])]
    if kind in _OF_A_HISTORY:
        fields.append(("history", tuple[Txn, ...]))
    for each in msgspec.structs.fields(kind):
        if each.name == "leader":
            fields.append(("leader", str | None, None))  # a node calls another one by its name
        elif each.name not in hidden:
            plain = (each.name, each.type)
            fields.append(plain if each.required else (*plain, field(default=each.default)))
    return msgspec.defstruct(
        f"{kind.__name__}Body",
        fields,
        namespace={"__doc__": kind.__doc__, "__module__": __name__},
        tag_field="event",
        tag=kind.__struct_config__.tag,
        frozen=True,
        forbid_unknown_fields=True,
    )


BODIES: dict[type[Struct], type[Local]] = {_node_event(kind): kind for kind in SHOWN}
"""By body: the event that it tells of."""

AnyEventBody: Any = Union[tuple(BODIES)]  # noqa: UP007  # made when this module is loaded


class Write(Struct, frozen=True, tag="write", tag_field="type", forbid_unknown_fields=True):
    """Write these fields to the disk, all or none. They are durable once a `sync` after them is answered.

    Until then a crash keeps any prefix of what was written. `events` are told when the write is durable: because of a
    `sync`, or because a crash has kept it.
    """

    fields: dict[str, Any]
    events: tuple[AnyEventBody, ...] = ()


class Sync(Struct, frozen=True, tag="sync", tag_field="type", forbid_unknown_fields=True):
    """Ask for all that was written so far to be synced; `synced` with this `msg_id` tells when it is."""

    msg_id: int


LINES: dict[str, tuple[str, str, tuple[Any, ...]]] = {
    "zabcheck to node": ("zabcheck", "^p[1-9][0-9]*$|^node$", (Stimulus,)),
    "disk to node": ("disk", "^p[1-9][0-9]*$", (SyncedBody,)),
    "node to zabcheck": ("^p[1-9][0-9]*$|^node$", "zabcheck", (Answer, AnyEventBody)),
    "node to disk": ("^p[1-9][0-9]*$", "disk", (Write | Sync,)),
    "node to node": ("^p[1-9][0-9]*$", "^p[1-9][0-9]*$", ()),
}
"""The lines that there are: patterns for `src` and `dest`, and the bodies; () for one that has a type."""

_LINE = msgspec.json.Decoder(Line)
_BODY = msgspec.json.Decoder(Body)
_ANSWER = msgspec.json.Decoder(Answer)
_EVENT = msgspec.json.Decoder(AnyEventBody)
_DISK = msgspec.json.Decoder(Write | Sync)

line_of = _LINE.decode
"""Decode a line. msgspec.DecodeError if it is none."""


def type_of(body: Raw) -> str:
    """Return the type of a body. msgspec.DecodeError if it has none."""
    return _BODY.decode(body).type


def answer_of(body: Raw) -> Answer | Struct:
    """Decode what a node sends to "zabcheck": an `Answer`, or the body of an event. msgspec.DecodeError if neither."""
    found: Answer | Struct = _EVENT.decode(body) if type_of(body) == "event" else _ANSWER.decode(body)
    return found


def on_disk(body: Raw) -> Write | Sync:
    """Decode what a node sends to "disk". msgspec.DecodeError if it is nothing that a disk does."""
    found: Write | Sync = _DISK.decode(body)
    return found


def event_of(body: Struct, process: int, incarnation: int) -> Event:
    """Return the event that a body tells of, as one of this process."""
    kind = BODIES[type(body)]
    values = {name: getattr(body, name) for name in body.__struct_fields__ if name != "type"}
    if kind in _OF_A_HISTORY:
        history = Chain.of(values.pop("history"))
        values |= {"zxid": history.zxid, "length": history.length, "hash": history.hash}
    if (leader := values.get("leader")) is not None:
        values["leader"] = number_of(leader)
        if not values["leader"]:
            raise ValueError(f"`leader` is {leader!r}, expected p1, p2, …")
    return kind(process=process, incarnation=incarnation, **values)


def name_of(process: int) -> str:
    """Return what the lines call a process."""
    return f"p{process}"


@cache
def number_of(name: str) -> int:
    """Return the number of the process of this name; 0 if there can be none."""
    digits = name[1:]
    return int(digits) if name[:1] == "p" and digits.isascii() and digits.isdigit() and len(digits) < 9 else 0


def dump(src: str, dest: str, id: int, body: object) -> bytes:
    """Return a line for a node."""
    return msgspec.json.encode({"id": id, "src": src, "dest": dest, "body": body}) + b"\n"
