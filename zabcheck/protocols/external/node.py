"""A node: a process of a run that takes its steps in a process of the system.

A node remembers all that it was sent and has answered since it was started, so that it can go on in another process
(`pool` says when), and so can a copy of it. What it is asked between two steps (what it remembers, whether it takes a
request) is known from its answers: no line is sent for that.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from invariants import Event, Ready
from invariants.quorums import Quorums
from zabcheck.protocols import step_limit
from zabcheck.protocols.base import (
    Buffer,
    Changed,
    Effect,
    GiveUp,
    Message,
    Notify,
    Outside,
    ProcessId,
    Send,
    Stimulus,
)
from zabcheck.protocols.base import Write as WriteAtOnce
from zabcheck.protocols.external.pool import Pool
from zabcheck.protocols.external.running import NotUnderstood, Running
from zabcheck.protocols.external.wire import (
    DISK,
    ZABCHECK,
    Abandon,
    Done,
    Failure,
    InitOk,
    Line,
    Sync,
    Told,
    answer_of,
    dump,
    event_of,
    name_of,
    number_of,
    on_disk,
    type_of,
)
from zabcheck.protocols.external.wire import Write as WriteBody


class NodeMessage(Message, frozen=True):
    """A message from node to node: its body, as the sender wrote it. Each type of body has a subclass."""

    type: str
    body: bytes


class Synced(Stimulus, frozen=True):
    """The disk has synced what was written before the `sync` with this number."""

    msg_id: int


class Failed(Outside):
    """The node says itself that it cannot go on."""


class NotDeterministic(Outside):
    """Two processes that were sent the same lines have answered differently."""


Answer = list[tuple[bytes, Line]]
Journal = tuple[Any, bytes, list[bytes]] | None
"""What a node was sent and has answered: (the journal before, the line, the lines of the answer). None: nothing."""


class Node:
    """One process of a run, started with what its disk kept. Its `running` may be taken away between two steps."""

    def __init__(self, of: "Command", process: ProcessId, incarnation: int, quorums: Quorums, atomic: bool) -> None:
        self.of = of
        self.id = process
        self.incarnation = incarnation
        self.quorums = quorums
        self.atomic = atomic
        self.disk: Mapping[str, Any] = {}
        self.counter_limit = 0
        self.leader: ProcessId | None = None
        self.primary: int | None = None
        self.variables: Mapping[str, Any] = {}
        self.number = 0
        self.journal: Journal = None
        self.running: Running | None = None
        self.twin: Twin | None = None

    def __copy__(self) -> "Node":
        other = object.__new__(Node)
        vars(other).update(vars(self))
        other.running = other.twin = None
        return other

    def __del__(self) -> None:
        if self.running is not None:
            self.of.pool.give_back(self.running)

    # The lines.

    def tell(self, src: str, body: object) -> list[Effect]:
        """Send the node a body, and return what it wants done. `Outside` if it does not answer as it should."""
        self.number += 1
        line = dump(src, name_of(self.id), self.number, body)
        try:
            running = self._go_on() if self.running is None else self.running
            self.of.pool.moved(running)
            answer = running.ask(line, step_limit.calls.seconds)
            effects = self._effects(answer)
        except _Wrong as wrong:
            raise wrong.kind(str(wrong), running.told(line, wrong.written)) from None
        except BaseException:  # also Ctrl-C: the process may be in the middle of an answer
            if self.running is not None:
                self.of.pool.drop(self.running)
                self.running = None
            raise
        written = [each for each, _ in answer]
        if self.twin is not None:
            self.twin.compare(line, written)
        self.journal = self.journal, line, written
        return effects

    def _go_on(self) -> Running:
        """Take a process, and bring it to where this node is."""
        running = self.of.pool.take(self, 2 * self.quorums.size + 2, step_limit.calls.seconds)
        entries = []
        journal = self.journal
        while journal is not None:
            journal, line, before = journal
            entries.append((line, before))
        for line, before in reversed(entries):
            again = [each for each, _ in running.ask(line, step_limit.calls.seconds)]
            self.of.compare(line, before, again, running)
        if not entries and self.of.pool.wants_twin():
            self.twin = Twin(self.of)
        return running

    # What an answer means.

    def _effects(self, answer: Answer) -> list[Effect]:
        """Return what the lines of an answer want done: what goes to the disk comes last, in its order.

        _Wrong for a line that means nothing.
        """
        effects: list[Effect] = []
        to_disk: list[Effect] = []
        for written, line in answer:
            try:
                if line.src != name_of(self.id):
                    raise ValueError(f"its `src` is {line.src!r}, expected {name_of(self.id)!r}")
                if line.dest == ZABCHECK:
                    self._told(answer_of(line.body), effects)
                elif line.dest == DISK:
                    self._on_disk(on_disk(line.body), to_disk)
                else:
                    effects.append(self._message(line))
            except Failed as failed:
                raise _Wrong(str(failed), written, Failed) from None
            except ValueError as error:  # also of msgspec
                raise _Wrong(f"wrote a line that means nothing: {error}", written) from None
        return [*effects, *to_disk] or [Changed()]

    def _told(self, body: object, effects: list[Effect]) -> None:
        match body:
            case Done() | InitOk():
                if body.in_reply_to != self.number:
                    raise ValueError(f"`in_reply_to` is {body.in_reply_to}, expected {self.number}")
                if isinstance(body, InitOk) != (self.number == 1):
                    raise ValueError("expected `init_ok` to end the answer to `init`, and `done` any other")
            case Abandon():
                effects.append(GiveUp(body.reason))
            case Told():
                self.variables = body.variables
            case Failure():
                raise Failed(body.text)
            case _:
                effects.append(self._event(body))

    def _event(self, body: Any) -> Event:
        event = event_of(body, self.id, self.incarnation)
        if isinstance(event, Ready):
            self.primary = event.epoch
        return event

    def _on_disk(self, body: WriteBody | Sync, to_disk: list[Effect]) -> None:
        """Add what a body for the disk does. A write is a `Buffer`: nothing waits for it but `synced`.

        A `sync` right behind a write belongs to it; behind none it is a write of nothing.
        """
        if isinstance(body, WriteBody):
            shows: tuple[Event | Notify, ...] = tuple(self._event(each) for each in body.events)
            to_disk += self._written(body.fields, shows)
            return
        notify = Notify(Synced(body.msg_id))
        if to_disk and isinstance(before := to_disk[-1], Buffer):
            before.shows = (*before.shows, notify)
        else:
            to_disk += self._written({}, (notify,))

    def _written(self, fields: dict[str, Any], shows: tuple[Event | Notify, ...]) -> list[Effect]:
        effect: WriteAtOnce | Buffer = WriteAtOnce() if self.atomic else Buffer(shows)
        effect.fields = fields  # a field may have any name, so none is an argument
        return [effect, *shows] if self.atomic else [effect]

    def _message(self, line: Line) -> Effect:
        to = number_of(line.dest)
        if not 1 <= to <= self.quorums.size:
            raise ValueError(f"its `dest` is {line.dest!r}, expected p1 to p{self.quorums.size}, zabcheck or disk")
        kind = type_of(line.body)
        if self.of.kinds and kind not in self.of.kinds:
            raise ValueError(f"a message of type {kind!r}, but `kinds` of its `init_ok` are {', '.join(self.of.kinds)}")
        return Send(to, self.of.kinds.get(kind, NodeMessage)(kind, bytes(line.body)))


class _Wrong(Exception):
    """A line of an answer means nothing, or says that the node has failed."""

    def __init__(self, why: str, written: bytes, kind: type[Outside] = NotUnderstood) -> None:
        super().__init__(why)
        self.written = written
        self.kind = kind


class Twin:
    """A second process for a node, which is sent the same lines."""

    def __init__(self, of: "Command") -> None:
        self.of = of
        self.running: Running | None = None
        of.pool.take(self, 0, step_limit.calls.seconds, fresh=True)

    def compare(self, line: bytes, before: list[bytes]) -> None:
        """Send the line to the twin. NotDeterministic if the answer differs."""
        if self.running is not None:  # or else the pool has taken it away
            again = [each for each, _ in self.running.ask(line, step_limit.calls.seconds)]
            self.of.compare(line, before, again, self.running)

    def __del__(self) -> None:
        if self.running is not None:
            self.of.pool.give_back(self.running)


class Command:
    """What all nodes of a protocol share."""

    def __init__(self, words: Sequence[str]) -> None:
        self.pool = Pool(words)
        self.kinds: Mapping[str, type[NodeMessage]] = {}
        self.mutant: str | None = None

    def compare(self, line: bytes, before: list[bytes], again: list[bytes], running: Running) -> None:
        """NotDeterministic if two answers to a line differ; the order of the names in an object does not matter."""
        if before == again or list(map(_decoded, before)) == list(map(_decoded, again)):
            return
        self.pool.differed = True
        index = next((i for i, (a, b) in enumerate(zip(before, again, strict=False)) if a != b), 0)
        told = running.told(line, before[index])
        said = f"the other wrote {again[index].decode(errors='replace')}" if index < len(again) else "the other did not"
        raise NotDeterministic(
            "does something else each time: two processes that were sent the same lines have answered differently",
            [*told[:2], said],
        )


def _decoded(written: bytes) -> Any:
    return msgspec.json.decode(written)
