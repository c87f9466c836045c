"""A node: a process of a run that takes its steps in a process of the system.

A node remembers all that it was sent and has answered since it was started, so that it can go on in another process
(`pool` says when), and so can a copy of it. What it is asked between two steps (what a report shows, whether it takes a
request) is known from its answers: no line is sent for that.

Some nodes tell all that they remember in a snapshot, from which another process is restored: that is quicker than to
send all lines again, and two nodes with the same snapshot are in the same state. So `zabcheck explore` can visit every
state of such nodes. Whether a snapshot leaves anything out is checked by twins.
"""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import msgspec
from msgspec import Raw, Struct

from zabcheck.invariants import Event, Ready
from zabcheck.invariants.quorums import Quorums
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
    Init,
    InitOk,
    Line,
    ReportedState,
    ResetOk,
    RestoreFrom,
    RestoreOk,
    SnapshotOk,
    Sync,
    TakeSnapshotBody,
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
"""The lines that a node was sent, with its answers: (the journal before, the line, the lines of the answer) or None."""


class SavedState(NamedTuple):
    """The state of a node: `state` as the node wrote it, the same with the keys of all objects sorted, and `epoch`."""

    state: Raw
    ordered: bytes
    epoch: int


class Node:
    """One process of a run, started with what its disk kept. Its `running` may be taken away between two steps.

    `saved` is what it has told of its state, unless it has moved since. After a step that went wrong it has `failed`.
    """

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
        self.init: Init | None = None
        self.saved: SavedState | None = None
        self.failed = False
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
        self.failed = True
        try:
            running = self._go_on() if self.running is None else self.running
            self.of.pool.moved(running)
            answer = running.ask(line, step_limit.calls.seconds)
            effects = self._effects(answer)
        except _Wrong as wrong:
            raise wrong.kind(str(wrong), running.told(line, wrong.written)) from None
        except BaseException:  # also Ctrl-C: the process may be in the middle of an answer
            self._drop()
            raise
        written = [each for each, _ in answer]
        self.saved = None
        self.journal = self.journal, line, written
        if self.twin is not None:
            self.twin.compare(line, written)
            if self.of.saves:
                self.twin.go_on_from(self)
        self.failed = False
        return effects

    def _drop(self) -> None:
        if self.running is not None:
            self.of.pool.drop(self.running)
            self.running = None

    def _go_on(self) -> Running:
        """Take a process, and bring it to where this node is."""
        most, seconds, is_saved = 2 * self.quorums.size + 2, step_limit.calls.seconds, self.saved is not None
        running = self.of.pool.take(self, most, seconds, to_restore=is_saved)
        if is_saved:
            self.restore(running)
            if self.of.pool.wants_restored_twin():
                self.twin = Twin(self, fresh=False)
            return running
        self.send_again(running)
        if self.journal is None and self.of.pool.wants_twin():
            self.twin = Twin(self, fresh=True)
        return running

    def send_again(self, running: Running, *, restored: bool = False) -> None:
        """Send a process all that this node was sent. NotDeterministic if an answer differs.

        `restored` says whether this node was restored from a snapshot.
        """
        entries = []
        journal = self.journal
        while journal is not None:
            journal, line, before = journal
            entries.append((line, before))
        for line, before in reversed(entries):
            again = [each for each, _ in running.ask(line, step_limit.calls.seconds)]
            self.of.compare(line, before, again, running, restored=restored)

    # Snapshots.

    def snapshot(self) -> SavedState:
        """Return what this node remembers. O(1) if it has not moved since it was asked last. `Outside` as in `tell`."""
        if self.saved is None:
            try:
                running = self._go_on() if self.running is None else self.running
                self.saved = self.saved_by(running)
            except BaseException:
                self._drop()
                raise
        return self.saved

    def saved_by(self, running: Running) -> SavedState:
        """Return what a process remembers that does the steps of this node."""
        told: SnapshotOk = self._ask(running, TakeSnapshotBody(), SnapshotOk)
        return SavedState(told.state, msgspec.json.encode(msgspec.json.decode(told.state), order="sorted"), told.epoch)

    def restore(self, running: Running) -> None:
        """Have a process remember what this node, which has a snapshot, remembers."""
        assert self.init is not None
        assert self.saved is not None
        given = {name: getattr(self.init, name) for name in _IN_BOTH}
        self._ask(running, RestoreFrom(**given, state=self.saved.state), RestoreOk)
        running.used = True

    def _ask(self, running: Running, body: Struct, expected: type[Struct]) -> Any:
        """Send a line that is no stimulus; return the body of the answer, which is one line."""
        line = dump(ZABCHECK, name_of(self.id), 0, body)
        [(written, first), *others] = running.ask(line, step_limit.calls.seconds)
        try:
            answer = answer_of(first.body)
        except ValueError as error:
            raise NotUnderstood(f"wrote a line that means nothing: {error}", running.told(line, written)) from None
        if others or not isinstance(answer, expected) or answer.in_reply_to != 0:  # type: ignore[attr-defined]  # both have it
            name = expected.__struct_config__.tag
            raise NotUnderstood(f"expected `{name}` alone, with 0 as `in_reply_to`", running.told(line, written))
        return answer

    def rest(self) -> None:
        """Do without a process until the next step."""
        if self.running is not None:
            self.of.pool.give_back(self.running)
        self.running = self.twin = None

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
            case ResetOk() | SnapshotOk() | RestoreOk():
                raise ValueError("expected `init_ok` to end the answer to `init`, and `done` any other")
            case Abandon():
                effects.append(GiveUp(body.reason))
            case ReportedState():
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
    """A second process for a node, which is sent all that the node was sent, and is `fresh`, or else only reset.

    One of the two was `restored` from a snapshot if the node was, or if the twin was since.
    """

    def __init__(self, node: Node, *, fresh: bool) -> None:
        self.of = node.of
        self.running: Running | None = None
        self.restored = node.saved is not None
        running = self.of.pool.take(self, 0, step_limit.calls.seconds, fresh=fresh)
        node.send_again(running, restored=self.restored)

    def compare(self, line: bytes, before: list[bytes]) -> None:
        """Send the line to the twin. NotDeterministic if the answer differs."""
        if self.running is not None:  # or else the pool has taken it away
            again = [each for each, _ in self.running.ask(line, step_limit.calls.seconds)]
            self.of.compare(line, before, again, self.running, restored=self.restored)

    def go_on_from(self, node: Node) -> None:
        """Compare what both remember, and restore the twin from what the node does. NotDeterministic if it differs."""
        if self.running is None:
            return
        saved, own = node.snapshot(), node.saved_by(self.running)
        if (saved.ordered, saved.epoch) != (own.ordered, own.epoch):
            self.of.pool.differed = True
            raise NotDeterministic(
                f"{_UNLIKE[self.restored]} remember different things",
                [f"its snapshot   {saved.ordered.decode()}", f"the other's    {own.ordered.decode()}"],
            )
        node.restore(self.running)
        self.restored = True

    def __del__(self) -> None:
        if self.running is not None:
            self.of.pool.give_back(self.running)


class Command:
    """State that all nodes of a protocol share."""

    def __init__(self, words: Sequence[str]) -> None:
        self.pool = Pool(words)
        self.kinds: Mapping[str, type[NodeMessage]] = {}
        self.saves = False
        self.mutant: str | None = None

    def compare(
        self, line: bytes, before: list[bytes], again: list[bytes], running: Running, *, restored: bool = False
    ) -> None:
        """NotDeterministic if two answers to a line differ; the order of the names in an object does not matter.

        `restored` says whether one of the two was restored from a snapshot.
        """
        if before == again or list(map(_decoded, before)) == list(map(_decoded, again)):
            return
        self.pool.differed = True
        index = next((i for i, (a, b) in enumerate(zip(before, again, strict=False)) if a != b), 0)
        told = running.told(line, before[index])
        said = f"the other wrote {again[index].decode(errors='replace')}" if index < len(again) else "the other did not"
        raise NotDeterministic(f"{_UNLIKE[restored]} have answered differently", [*told[:2], said])


_UNLIKE = {
    False: "does something else each time: two processes that were sent the same lines",
    True: "does something else each time, or its snapshot leaves something out: a process that was restored from it, "
    "and one that was not,",
}
"""The complaint about two processes that differ; the key is True if one of them was restored from a snapshot."""
_IN_BOTH = tuple(name for name in RestoreFrom.__struct_fields__ if name in Init.__struct_fields__)
"""The fields that an answer to `restore` has in common with one to `init`."""


def _decoded(written: bytes) -> Any:
    return msgspec.json.decode(written)
