"""A command as a protocol: the table of steps of its nodes, and what a report shows of them."""

import shlex
from collections.abc import Hashable, Mapping
from copy import copy
from functools import cache, partial
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Raw
from msgspec.structs import replace

from zabcheck.invariants import select
from zabcheck.invariants.diagnosis import like
from zabcheck.invariants.quorums import Family, Quorums, Weighted
from zabcheck.protocols import step_limit
from zabcheck.protocols.adapter import PROPERTIES, register
from zabcheck.protocols.base import (
    CannotTellApart,
    Connect,
    Effect,
    Elected,
    Lost,
    Outside,
    ProcessId,
    Protocol,
    Request,
    Started,
    TimedOut,
)
from zabcheck.protocols.environment import NOBODY_LOOKS_AROUND
from zabcheck.protocols.external.maelstrom import log_protocol
from zabcheck.protocols.external.node import Command, Node, NodeMessage, Synced
from zabcheck.protocols.external.rest import TASKS
from zabcheck.protocols.external.shown import describe, show
from zabcheck.protocols.external.wire import (
    DISK,
    ZABCHECK,
    ElectedBody,
    Init,
    InitOk,
    Line,
    LostBody,
    RequestBody,
    SyncedBody,
    TimedOutBody,
    answer_of,
    name_of,
)
from zabcheck.protocols.switches import LETTER, Switches
from zabcheck.text.nodes import NodeCommand

STEP_SECONDS = 10.0
"""The seconds, by the clock, that a node may take for an answer."""


# Steps.


def _on_started(p: Node, sender: ProcessId, m: Started) -> list[Effect]:
    if isinstance(p.quorums, Family):
        raise ValueError("a node counts quorums by weights: expected `majority` or `weights …`")
    everyone = range(1, p.quorums.size + 1)
    weights = p.quorums.weights if isinstance(p.quorums, Weighted) else (1,) * p.quorums.size
    body = Init(
        msg_id=1,
        node_id=name_of(p.id),
        node_ids=tuple(name_of(each) for each in everyone),
        weights={name_of(each): weight for each, weight in zip(everyone, weights, strict=True)},
        incarnation=p.incarnation,
        seed=p.id * 1_000_003 + p.incarnation,
        counter_limit=p.counter_limit,
        mutant=p.of.mutant,
        disk=dict(p.disk),
        intact=m.intact,
    )
    p.init = body
    return p.tell(ZABCHECK, body)


def _on_elected(p: Node, sender: ProcessId, m: Elected) -> list[Effect]:
    p.leader, p.primary = m.leader, None
    return [Connect(m.leader), *p.tell(ZABCHECK, ElectedBody(name_of(m.leader)))]


def _on_request(p: Node, sender: ProcessId, m: Request) -> list[Effect]:
    return p.tell(ZABCHECK, RequestBody(m.value)) if p.primary is not None else []


def _on_lost(p: Node, sender: ProcessId, m: Lost) -> list[Effect]:
    return p.tell(ZABCHECK, LostBody(name_of(m.peer)))


def _on_timed_out(p: Node, sender: ProcessId, m: TimedOut) -> list[Effect]:
    return p.tell(ZABCHECK, TimedOutBody())


def _on_synced(p: Node, sender: ProcessId, m: Synced) -> list[Effect]:
    return p.tell(DISK, SyncedBody(m.msg_id))


def _on_message(p: Node, sender: ProcessId, m: NodeMessage) -> list[Effect]:
    return p.tell(name_of(sender), Raw(m.body))


def _abandon(p: Node) -> None:
    p.leader = p.primary = None


def _can_broadcast(p: Node) -> bool:
    return p.primary is not None


def _highest_epoch(p: Node) -> int:
    known = p.primary or 0
    return max(known, p.snapshot().epoch) if p.of.saves and not p.failed else known


def _identity(p: Node) -> Hashable:
    """Return what a node remembers, which is in no process of the system afterwards until the node moves again.

    CannotTellApart if it does not tell that.
    """
    if p.failed:
        return p.number
    try:
        saved = p.snapshot()
    except Outside as error:
        raise CannotTellApart(_told(error)) from None
    p.rest()
    return saved.ordered, p.primary


def _no_identity(p: Node) -> Hashable:
    raise CannotTellApart("expected nodes that save and restore their state: `snapshot` of their `init_ok`")


# The table.


@cache
def external(command: str) -> Protocol:
    """Return the protocol that the nodes of `command` implement, and remember it by its name, "exec:" and the command.

    A command after "maelstrom:" starts nodes that were written for Maelstrom (`maelstrom`).
    The words of the command are as a shell splits them. One node is started, to see whether it answers `init`.
    ValueError, in one line, if it cannot be started, or does not answer as it should.
    """
    of_nodes = NodeCommand(command)
    name = of_nodes.protocol
    try:
        words = shlex.split(of_nodes.program)
    except ValueError as error:
        raise ValueError(f"`{command}`: {error}") from None
    if not words:
        raise ValueError("expected a command, found nothing")
    if of_nodes.is_of_maelstrom:
        return register(_tried(log_protocol(name, words)))
    of = Command(words)
    greeting = _greeting(of)
    of.pool.resets, of.saves = greeting.reset, greeting.snapshot
    of.kinds = {kind: _kind(kind) for kind in greeting.kinds}
    table = _table(name, of, greeting)

    @cache
    def plant(mutant: str) -> Protocol:
        if mutant not in greeting.mutants:
            known = like(mutant, greeting.mutants) if greeting.mutants else "its `init_ok` names none"
            raise ValueError(f"no mutant `{mutant}` of `{command}`; {known}")
        with_bug = copy(of)
        with_bug.mutant = mutant
        return replace(table, mutant=mutant, start=partial(_start, with_bug))

    return register(replace(table, plant=plant))


def _table(name: str, of: Command, greeting: InitOk) -> Protocol:
    """Return the protocol of nodes that greet so."""
    return Protocol(
        name=name,
        summary="a process in any language, single-stepped over its stdin and stdout",
        source="docs/any-language.md",
        steps={
            Started: _on_started,
            Elected: _on_elected,
            Request: _on_request,
            Lost: _on_lost,
            TimedOut: _on_timed_out,
            Synced: _on_synced,
            **dict.fromkeys((NodeMessage, *of.kinds.values()), _on_message),
        },
        start=partial(_start, of),
        abandon=_abandon,
        can_broadcast=_can_broadcast,
        describe=describe,
        show=show,
        legend=(("", "⟨epoch,counter⟩"), ("⊥", "none")),
        kinds={kind: name for name, kind in of.kinds.items()},
        properties=PROPERTIES if greeting.properties is None else greeting.properties,
        identity=_identity if greeting.snapshot else _no_identity,
        highest_epoch=_highest_epoch,
        step_seconds=STEP_SECONDS,
        bugs=greeting.mutants,
        environment=NOBODY_LOOKS_AROUND,
    )


def saves(protocol: Protocol) -> bool:
    """Return True if the nodes of this protocol save and restore their state, so that every state can be visited."""
    return protocol.identity is _identity


def _start(
    of: Command, process: ProcessId, incarnation: int, quorums: Quorums, disk: Mapping[str, Any], at: Switches
) -> Node:
    p = Node(of, process, incarnation, quorums, at.sync == "atomic")
    p.disk, p.counter_limit = disk, at.counter_limit
    return p


def _greeting(of: Command) -> InitOk:
    """Start one node, all by itself, and return its `init_ok`. ValueError, in one line, if it has none that will do."""
    node = Node(of, 1, 0, Quorums(1), True)
    step_limit.calls.seconds = STEP_SECONDS
    try:
        _on_started(node, 1, Started())
    except Outside as error:
        raise ValueError(_told(error)) from None
    assert node.journal is not None
    _, _, written = node.journal
    body = answer_of(msgspec.json.decode(written[-1], type=Line).body)
    assert isinstance(body, InitOk)
    try:
        select(body.properties)
    except ValueError as error:
        raise ValueError(f"the node's `init_ok`, `properties`: {error}") from None
    if body.snapshot and not body.reset:
        raise ValueError("the node's `init_ok`: expected `reset`, too, as it understands `snapshot`")
    return body


def _tried(protocol: Protocol) -> Protocol:
    """Start one node of Maelstrom, all by itself. ValueError, in one line, if it does not answer `init`."""
    if not Path(TASKS.format("self")).is_dir():
        raise ValueError("nodes of Maelstrom: expected Linux, whose /proc tells when a program is at rest")
    step_limit.calls.seconds = protocol.step_seconds
    node = protocol.start(1, 0, Quorums(1), {}, LETTER)
    try:
        protocol.steps[Started](node, 1, Started())
    except Outside as error:
        raise ValueError(_told(error)) from None
    return protocol


def _told(error: Outside) -> str:
    """Return in one line what a node did wrong."""
    told = (" ".join(line.split()) for line in error.lines[1:])
    return "; ".join((f"the node {error}", *told))


def _kind(name: str) -> type[NodeMessage]:
    made: Any = msgspec.defstruct(name, [], bases=(NodeMessage,), frozen=True, module=__name__)
    kind: type[NodeMessage] = made  # whose type says only that it is a Struct
    return kind
