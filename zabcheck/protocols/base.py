"""What a protocol is to zabcheck: steps without input or output.

A process is handed a stimulus (a message, or something local such as a time-out) and returns effects. It opens no
socket, writes no file, reads no clock: the simulator does what the effects say. So every run can be repeated, and
every interleaving can be tried.

The state of a process is made of immutable values; a step rebinds fields and never changes what they held. So a
process is copied by copying its fields.

A step that returns `invariants.Halt` among its effects stops the process for good.

Effects are performed in order. What follows a `Persist` is withheld until the simulator has synced that write: an
answer never leaves before what it promises is durable.

A step that raises is a bug of the protocol's code: the run ends there with `StepRaised`, and no property is judged.
"""

import os
from collections.abc import Callable, Hashable, Mapping, Sequence
from traceback import StackSummary, format_exception_only, walk_tb
from types import FrameType
from typing import Any, dataclass_transform

from msgspec import Struct, field

from invariants import GROUPS, Event
from invariants.quorums import Quorums
from zabcheck.protocols.switches import Switches

ProcessId = int


@dataclass_transform(frozen_default=True, field_specifiers=(field,))
class Message(Struct, frozen=True, gc=False):
    """Base of what processes send to each other. What extends it is frozen as well, and type checkers know that."""


# What can happen to a process, besides a message.


class Stimulus(Struct, frozen=True, gc=False):
    """Base of what happens to a process locally."""


class Started(Stimulus, frozen=True):
    """The process is up, for the first time or after a crash, with what its disk kept.

    With `intact` False the digest of a record does not match what is in it.
    """

    intact: bool = True


class Elected(Stimulus, frozen=True):
    """The leader oracle names `leader` (it may be wrong, and may name another to others)."""

    leader: ProcessId


class TimedOut(Stimulus, frozen=True):
    """No heartbeat came in time: from the leader, or, at a leader, from a quorum."""


class Lost(Stimulus, frozen=True):
    """The connection to `peer` is closed at the other end."""

    peer: ProcessId


class Request(Stimulus, frozen=True):
    """A client asks for `value` to be broadcast."""

    value: str


class TakeSnapshot(Stimulus, frozen=True):
    """The application writes down the state that its deliveries so far have led to.

    With `cut`, what the log holds of them may go.
    """

    cut: bool = False


# What a step can want done. An `invariants.Event` among the effects is shown to the outside.


class Send(Struct, frozen=True, gc=False):
    """Send `message` to `to`; a message to oneself is handled right after the step."""

    to: ProcessId
    message: Message


class Persist:
    """Write these durable variables, all or none: `Persist(current_epoch=2, history=h)`."""

    __slots__ = ("fields",)

    def __init__(self, **fields: object) -> None:
        self.fields = fields

    def __repr__(self) -> str:
        return f"Persist({', '.join(f'{name}={value!r}' for name, value in self.fields.items())})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Persist) and self.fields == other.fields

    __hash__ = None  # type: ignore[assignment]  # the fields are a dict


class Connect(Struct, frozen=True, gc=False):
    """Close every connection and open a new one to `to`; to oneself: be a leader, and accept followers.

    With `closes` False a follower keeps its end of those that it has opened, to others than `to`: it goes on to receive
    what is sent on them, and can answer.
    """

    to: ProcessId
    closes: bool = True


class GiveUp(Struct, frozen=True, gc=False):
    """Drop the current iteration and close every connection; a legal retreat, never an error."""

    reason: str


class Changed(Struct, frozen=True, gc=False):
    """Nothing is to be done, but the step may have changed the process, so that it counts as enabled."""


class ResetTimer(Struct, frozen=True, gc=False):
    """The time-out that the process waits for begins anew: for a protocol with a clock of its own.

    In the simulator a time-out may come at any time, so there it only says that the step was enabled.
    """


Variables = Mapping[str, str | tuple[str, ...]]
"""The variables of a process as text, a sequence as its entries; "" is what the process does."""

Effect = Send | Persist | Connect | GiveUp | Changed | ResetTimer | Event
Step = Callable[[Any, ProcessId, Any], list[Effect]]
"""A step: (the process, the sender or the process itself, the message or stimulus) -> effects.

A local stimulus that is answered with no effects counts as not enabled: it has to leave the process as it was.
"""


WITHOUT_CLIENTS = tuple(group for group in GROUPS if group != "clients")
"""The properties of the broadcast: the others look at what clients were told, which a simulated run seldom shows."""


class Protocol(Struct, frozen=True):
    """A protocol as a table of steps. A mutant is the same table with one entry replaced.

    `start(process, incarnation, quorums, durable, switches)` makes a process from what its disk kept (nothing, at
    first).
    `abandon(process)` forgets what belongs to the current iteration, and is called for every `GiveUp`.
    `can_broadcast(process)` tells whether a `Request` can be taken.
    `describe(process)` gives the variables that a report shows, by their names; a sequence as a tuple of its entries.
    `legend` explains the names of those variables, a few words each.
    `show(message)` gives the name of a message and its fields in the paper's notation.
    `kinds` has the names that `show` gives, by the type of the message: what a schedule can tell a link to hold.
    `fifo` tells whether its channels keep the order of messages: if not, one may overtake those before it.
    `properties` are those, or groups of them, that it is judged by unless others are asked for; None: all.
    `identity(process)` is all that its further steps may depend on, but for its incarnation: two processes with one
    identity are taken for one in an exhaustive search. None: all its variables.
    `rename(value, names)` is a process, or a message, in which process i is called `names[i]`. None: that is not known,
    so that an exhaustive search cannot take processes for interchangeable.
    `commutes` tells whether what `zabcheck.search.explore.reduction` says of Zab holds of it.
    `mesh` tells whether there is a channel from each process to each other from the start, and none opens connections.
    `never` names the kinds of choices, as a schedule does, that its environment does not make.
    `moves` has the weights of moves in a search that are others than for Zab; 0 for a move that there is not.
    `mutant` names the known bug that is planted in it; None: the protocol as it is. `name` and `mutant` are what a
    schedule says of its protocol.
    """

    name: str
    summary: str
    source: str
    steps: Mapping[type[Message] | type[Stimulus], Step]
    start: Callable[[ProcessId, int, Quorums, Mapping[str, Any], Switches], Any]
    abandon: Callable[[Any], None]
    can_broadcast: Callable[[Any], bool]
    describe: Callable[[Any], dict[str, str | tuple[str, ...]]]
    show: Callable[[Message], tuple[str, str]]
    legend: tuple[str, ...] = ()
    kinds: Mapping[type[Message], str] = {}
    fifo: bool = True
    properties: tuple[str, ...] | None = WITHOUT_CLIENTS
    identity: Callable[[Any], Hashable] | None = None
    rename: Callable[[Any, Sequence[ProcessId]], Any] | None = None
    commutes: bool = False
    mesh: bool = False
    never: tuple[str, ...] = ()
    moves: Mapping[str, int] = {}
    mutant: str | None = None


_AROUND_A_STEP = ("zabcheck.simulation.processes", "zabcheck.protocols.own", "zabcheck.protocols.adapter")
"""The modules whose lines in a traceback are not the protocol's."""


class StepRaised(Exception):
    """A step of the protocol raised `error`, when `process` handled `stimulus` (a message: of `sender`)."""

    def __init__(self, process: ProcessId, sender: ProcessId, stimulus: Message | Stimulus, error: Exception) -> None:
        super().__init__(f"p{process}, {stimulus!r}: {type(error).__name__}")
        self.process = process
        self.sender = sender
        self.stimulus = stimulus
        self.error = error

    def _frames(self) -> list[tuple[FrameType, int]]:
        """Those of the protocol's code, and of what it calls, from the outermost on."""
        frames = list(walk_tb(self.error.__traceback__))
        return [each for each in frames if each[0].f_globals.get("__name__") not in _AROUND_A_STEP]

    @property
    def place(self) -> tuple[type[Exception], str, int]:
        """What was raised, and the innermost line of the protocol's code that it came through."""
        frames = self._frames()
        if not frames:
            return type(self.error), "", 0
        frame, line = frames[-1]
        return type(self.error), frame.f_code.co_filename, line

    @property
    def said(self) -> str:
        """The exception in a line: "KeyError: 3"."""
        return " ".join(format_exception_only(self.error)[-1].split())

    @property
    def traceback(self) -> tuple[str, ...]:
        """The lines of the protocol's code that led to it; files below the current directory by their path there."""
        summary = StackSummary.extract(iter(self._frames()))
        for frame in summary:
            relative = os.path.relpath(frame.filename)
            frame.filename = frame.filename if relative.startswith(os.pardir) else relative
        return tuple(line.expandtabs() for lines in summary.format() for line in lines.splitlines())
