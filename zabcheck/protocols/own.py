"""A protocol of your own, as a class whose methods are its steps. This is all you need to know.

    class Copy(zabcheck.Message):              # a message; it cannot be changed once it is made
        txn: zabcheck.Txn

    class Naive(zabcheck.Process):
        messages = (Copy,)                     # every kind of message that is sent
        durable = ("log",)                     # the variables that can be written to the disk
        log: tuple = ()                        # variables start with these values

        def on_elected(self, leader): ...      # what can happen to a process
        def on_request(self, value): ...
        def on_copy(self, sender, m: Copy): ...

**What you write.** For each kind of message a method named after it (`NewEpoch`: `on_new_epoch`), or `on_message` for
all kinds that have none; and those of the methods below, from `on_started` to `on_corrupted`, that matter to you. No
kind of message may be named after one of these: `Request` would have the method `on_request`.

**What you call in them**: `send`, `persist`, `ready`, `broadcast`, `deliver`, `give_up`, `halt` and `show`. These take
effect in order, after the method has returned. Variables change at once.

**The disk.** What follows a `persist` in the same step (each `send`, `deliver`, `ready`, another `persist`, …) is
withheld until the disk is synced, and is lost if the process crashes before. A `send`, `ready` or `give_up` that is
withheld is also dropped if the oracle names a leader before. Other steps may come in between: a process that counts
itself towards a quorum once its own write is durable sends itself a message after the `persist`.

**Connections.** When `on_elected` is called, the process is connected to its leader and to no other process. A leader
can answer a follower only after it has handled a message from that follower: so a follower sends something in
`on_elected`. Messages arrive in order or not at all; a message to a process without a connection is lost. A message to
the process itself is handled right after the step.

**Crashes.** A process that recovers is a new object: its variables are as at the first start, except those in
`durable`, which have the values last written and synced. Everything that was only in memory is lost.

**Be deterministic.** The same schedule has to give the same run: no clock, no random numbers, no input or output, no
iteration over a set. Values may be changed in place: whatever is sent or persisted is copied.
"""

from collections.abc import Collection
from copy import deepcopy
from typing import Any, ClassVar

import msgspec

from zabcheck.invariants import Broadcast, ClientAck, Deliver, Event, FinalRead, Halt, Local, Ready, Restore, State, Txn
from zabcheck.invariants.events import PROTOCOL_EVENTS
from zabcheck.invariants.quorums import Quorums
from zabcheck.protocols.base import STEP_SECONDS, Effect, GiveUp, Message, Persist, ProcessId, Send
from zabcheck.protocols.environment import NOBODY_LOOKS_AROUND, Environment

SHOWN = (*PROTOCOL_EVENTS, Restore, State, ClientAck, FinalRead)
"""The events that `Process.show` takes: each other event has its own method, or is shown by the simulator."""


class Process:
    """One process of a protocol; a subclass is the protocol. The docstring of the module says how to write one.

    Every step finds these attributes: `id` (the process's number, from 1 up), `incarnation` (how often it has
    recovered), `processes` (the numbers of all processes, its own included), `leader` (whom the oracle named last, or
    None), `primary` (the epoch in which it is ready, or None), `leads` (True if it is its own leader) and
    `counter_limit` (the highest counter of an epoch).
    """

    messages: ClassVar[tuple[type[Message], ...]] = ()
    """Every kind of message that is sent."""
    durable: ClassVar[tuple[str, ...]] = ()
    """The names of the variables that `persist` writes and a recovery finds again."""

    environment: ClassVar[Environment] = NOBODY_LOOKS_AROUND
    """The channels, and what a search may do to them. By default channels are FIFO, as Zab's are."""
    step_seconds: ClassVar[float] = STEP_SECONDS
    """The CPU seconds that a method may take; one that has not returned by then counts as one that raises."""

    id: ProcessId
    """The number of the process, from 1 up."""
    incarnation: int
    """The number of times that the process has recovered."""
    processes: tuple[ProcessId, ...]
    """All processes, this one included."""
    leader: ProcessId | None
    """The process that the oracle named last; None before that, and after this process gives up."""
    primary: int | None
    """The epoch of the last `ready`; None after this process gives up, or its oracle names a leader again."""
    counter_limit: int
    """The highest counter of an epoch: 1, 2 or 3 in a few runs, 2**32 - 1 in the others."""

    _quorums: Quorums
    _effects: list[Effect] | None = None  # None outside of a step

    # What can happen. Override what matters to you.

    def on_started(self) -> None:
        """The process is up, for the first time or again, and the durable variables have what the disk kept."""

    def on_elected(self, leader: ProcessId) -> None:
        """The leader oracle names `leader`, which may be this process; it may be wrong, and name another to others."""

    def on_message(self, sender: ProcessId, m: Any) -> None:
        """Handle a message whose kind has no method."""
        raise NotImplementedError(f"{type(self).__name__} has no method for {type(m).__name__}")

    def can_broadcast(self) -> bool:
        """Return True if a client's request can be taken; by default on a primary. Must not change anything."""
        return self.primary is not None

    def highest_epoch(self) -> int:
        """Return the highest epoch that this process has promised or proposed, as far as it remembers; change nothing.

        `zabcheck explore --epochs` bounds it, and the epochs of `ready`, `broadcast` and `show`. Override it if epochs
        can rise without these: else the search may never end. By default the epoch of which this is the primary.
        """
        return self.primary or 0

    def on_request(self, value: str) -> None:
        """A client asks for `value` to be broadcast; `can_broadcast` has returned True."""

    def on_lost(self, peer: ProcessId) -> None:
        """`peer` has closed the connection. By default a follower of `peer` gives up."""
        if peer == self.leader:
            self.give_up(f"the connection to p{peer} is closed")

    def on_timed_out(self) -> None:
        """Handle that no heartbeat came in time. By default a process that has a leader, or leads, gives up."""
        if self.leader is not None:
            self.give_up("time-out")

    def on_corrupted(self) -> None:
        """Called in place of `on_started` if a record on the disk is not what was written. By default: halt."""
        self.halt("the digest of a record on its disk does not match")

    # What a step can do.

    def send(self, to: ProcessId, m: Message) -> None:
        """Send `m`. ValueError if there is no process `to`; TypeError if the kind of `m` is not in `messages`."""
        if to not in self.processes:
            raise ValueError(f"no process {to!r}; there are 1 to {len(self.processes)}")
        if type(m) not in self.messages:
            raise TypeError(f"a {type(m).__name__} is sent, which is not in `messages` of {type(self).__name__}")
        self._do(Send(to, deepcopy(m)))

    def persist(self, **variables: Any) -> None:
        """Set these variables, as in `persist(log=(*self.log, txn))`, and write them to the disk, all or none.

        Without arguments all variables in `durable` are written. ValueError for a variable that is not in `durable`.
        """
        for name, value in variables.items():
            if name not in self.durable:
                raise ValueError(f"`{name}` is not in `durable` of {type(self).__name__}")
            setattr(self, name, value)
        written = {name: getattr(self, name) for name in variables or self.durable}
        self._do(Persist(**deepcopy(written)))

    def ready(self, epoch: int) -> None:
        """Become the primary of `epoch`: clients may ask as soon as this takes effect."""
        self.primary = epoch
        self._show(Ready(self.id, self.incarnation, epoch))

    def broadcast(self, txn: Txn) -> None:
        """abcast(txn), as the primary of the epoch in its zxid. This tells zabcheck only: sending is up to you."""
        self._show(Broadcast(self.id, self.incarnation, txn.zxid.epoch, txn))

    def deliver(self, txn: Txn) -> None:
        """abdeliver(txn): from here on the transaction counts as committed."""
        self._show(Deliver(self.id, self.incarnation, txn))

    def give_up(self, reason: str) -> None:
        """Close every connection, and wait for the oracle: a legal retreat, never an error.

        `leader` and `primary` are None at once, so no client asks any more.
        """
        self._do(GiveUp(reason))
        self.leader = self.primary = None

    def halt(self, reason: str) -> None:
        """Stop this process, for good."""
        self._show(Halt(self.id, self.incarnation, reason))

    def show(self, event: Event) -> None:
        """Show an event, such as `Promise(self.id, self.incarnation, epoch)`, to the properties that judge it.

        TypeError if its kind is not in `SHOWN`; ValueError if it is an event of another process.
        """
        if not isinstance(event, SHOWN):
            raise TypeError(f"expected one of: {', '.join(kind.__name__ for kind in SHOWN)}; found {event!r:.60}")
        if (event.process, event.incarnation) != (self.id, self.incarnation):
            raise ValueError(f"{event!r:.60} is not of p{self.id}, incarnation {self.incarnation}")
        self._show(event)

    # What a step can ask.

    @property
    def leads(self) -> bool:
        """True if the oracle named this process itself."""
        return self.leader == self.id

    def is_quorum(self, members: Collection[ProcessId]) -> bool:
        """Return True if these processes include a quorum."""
        return self._quorums.contains(sorted(set(members)))

    # For the adapter.

    def _do(self, effect: Effect) -> None:
        if self._effects is None:
            raise RuntimeError("only a step can do that: a method whose name begins with `on_`")
        self._effects.append(effect)

    def _show(self, event: Local) -> None:
        # The judges take it for granted that an event holds what its type says.
        self._do(msgspec.convert(msgspec.to_builtins(event), type(event)))

    def __copy__(self) -> "Process":
        twin = object.__new__(type(self))
        vars(twin).update(deepcopy(vars(self)))
        return twin
