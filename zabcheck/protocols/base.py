"""The interface between a protocol and zabcheck: steps that do no input or output.

A step is handed a process and a stimulus (a message, or something local such as a time-out) and returns effects. It
opens no socket, writes no file, reads no clock: the simulator performs the effects. So every run can be repeated, and
every interleaving can be tried.

The state of a process is made of immutable values; a step rebinds fields and never changes the values they held. So a
process is copied by copying its fields.

A step that returns `invariants.Halt` among its effects stops the process for good.

Effects are performed in order. What follows a `Persist` is withheld until the simulator has synced that write: an
answer never leaves before what it promises is durable.

A step that raises is a bug of the protocol's code: the run ends there with `StepRaised`, and no property is judged. So
is a step that never returns: `zabcheck.protocols.step_limit` stops it. A `ModelledError` is one of the code that the
protocol models.

Some names mean another thing elsewhere: here `Request` is what a process handles, `choices.Request` is the choice of a
schedule that leads to it; `Send` is an effect, `invariants.Send` is the event that shows it. Modules that need both
write the other one qualified.
"""

import os
from collections.abc import Callable, Hashable, Mapping, Sequence
from traceback import StackSummary, format_exception_only, walk_tb
from types import FrameType
from typing import Any, TypeVar, dataclass_transform

from msgspec import Struct, field

from zabcheck.invariants import GROUPS, Event
from zabcheck.invariants.quorums import Configuration, Quorums
from zabcheck.protocols.environment import LIKE_ZAB, Environment
from zabcheck.protocols.switches import Switches

ProcessId = int


@dataclass_transform(frozen_default=True, field_specifiers=(field,))
class Message(Struct, frozen=True, gc=False):
    """Base of the messages that processes send to each other. Subclasses are frozen too, and type checkers know it."""


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
    """The application writes a snapshot of its state, the result of its deliveries so far.

    With `cut`, the log may drop the transactions that the snapshot covers.
    """

    cut: bool = False


class Run(Stimulus, frozen=True):
    """The scheduler of the process gives its thread of this name a turn (`Protocol.threads`)."""

    thread: str


# What a step can want done. An `invariants.Event` among the effects is shown to the outside.


class Send(Struct, frozen=True, gc=False):
    """Send `message` to `to`; a message to oneself is handled right after the step."""

    to: ProcessId
    message: Message


class Cast(Struct, frozen=True, gc=False):
    """Send `message` to `to` outside of any connection, whoever leads. That `to` hears it is a choice of its own."""

    to: ProcessId
    message: Message


class _DurableWrite:
    """Base of the effects that write durable variables, each with its value."""

    __slots__ = ("fields",)

    def __init__(self, **fields: object) -> None:
        self.fields = fields

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(f'{name}={value!r}' for name, value in self.fields.items())})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _DurableWrite) and type(other) is type(self) and self.fields == other.fields

    __hash__ = None  # type: ignore[assignment]  # the fields are a dict


class Persist(_DurableWrite):
    """Write these durable variables, all or none: `Persist(current_epoch=2, history=h)`."""

    __slots__ = ()


class Write(_DurableWrite):
    """Write these durable variables at once: they are synced when the step goes on with the next effect.

    For a protocol whose steps say themselves when the disk is waited for. None of its writes may be a `Persist`: there
    is no order between the two. What was written by `Buffer` has to be flushed before it is written by `Write`.
    """

    __slots__ = ()


class Buffer(_DurableWrite):
    """Write these durable variables, all or none, and go on: they are synced by the next `Flush`.

    Until then a crash keeps any prefix of such writes. `shows` are events that tell what is durable by it: they are
    shown once it is, by a `Flush` or because a crash has kept it. A `Notify` among them is for a protocol that has no
    `Flush`: what it writes is synced by choices.
    """

    __slots__ = ("shows",)

    def __init__(self, shows: Sequence["Event | Notify"] = (), **fields: object) -> None:
        self.shows = shows
        self.fields = fields

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Buffer) and (self.fields, self.shows) == (other.fields, other.shows)

    __hash__ = None  # the fields are a dict


class Flush(Struct, frozen=True, gc=False):
    """Wait until all that was written by `Buffer` is synced."""


class Connect(Struct, frozen=True, gc=False):
    """Close every connection and open a new one to `to`; to oneself: be a leader, and accept followers.

    With `closes` False a follower keeps its end of the connections that it has opened to processes other than `to`: it
    still receives what is sent on them, and can answer.
    """

    to: ProcessId
    closes: bool = True


class GiveUp(Struct, frozen=True, gc=False):
    """Drop the current iteration and close every connection; a legal retreat, never an error."""

    reason: str


class Changed(Struct, frozen=True, gc=False):
    """Do nothing. The step may have changed the process, so it counts as enabled."""


class ResetTimer(Struct, frozen=True, gc=False):
    """Start the timer of the process anew, in a protocol that is driven by a clock of its own.

    In the simulator a time-out may come at any time, so there this effect only says that the step was enabled.
    """


class Members(tuple[str, ...]):
    """The members of a set as text, sorted. A report says which came and which went, not how the end changed."""

    __slots__ = ()


class Activity(str):
    """The role of a process and what it is doing in it, as text: "leads, discovery". `parts` has each by itself."""

    parts: tuple[str, ...]

    def __new__(cls, *parts: str) -> "Activity":
        """Join the parts."""
        activity = super().__new__(cls, ", ".join(parts))
        activity.parts = parts
        return activity


Variables = Mapping[str, str | tuple[str, ...]]
"""The variables of a process as text, a sequence as its entries, a set as `Members`; "" is its `Activity`."""


class Notify(Struct, frozen=True, gc=False):
    """Hand the process `stimulus` right after the step; closing its connections does not prevent that.

    Among the `shows` of a `Buffer` it tells the process that the write is durable.
    """

    stimulus: Stimulus


Effect = Send | Cast | Persist | Write | Buffer | Flush | Connect | GiveUp | Changed | ResetTimer | Notify | Event
Step = Callable[[Any, ProcessId, Any], list[Effect]]
"""A step: (the process, the sender or the process itself, the message or stimulus) -> effects.

A step that answers a local stimulus with no effects counts as not enabled: it must leave the process as it was.
"""


class AddedState(Struct, frozen=True):
    """Variables that a variant of a protocol, such as a known bug, adds to a process. A subclass has the fields.

    It is one immutable value, the variable `added` of the process; a step rebinds it. It belongs to the incarnation: a
    process that comes up begins with a new one. All that is done with the other variables is done with it as well, so
    a subclass has to say how.
    """

    def abandoned(self) -> "AddedState":
        """Return what is left of it when the process drops its iteration."""
        raise NotImplementedError

    def identity(self, process: Any) -> Hashable:
        """Return all of it that the next steps of `process` may depend on: see `Protocol.identity`."""
        raise NotImplementedError

    def renamed(self, names: Sequence[ProcessId]) -> "AddedState":
        """Return it with process i called `names[i]`: see `Protocol.rename`."""
        raise NotImplementedError

    def described(self) -> dict[str, str | tuple[str, ...]]:
        """Return the variables that a report shows: see `Protocol.describe`."""
        raise NotImplementedError


class NoAddedState(AddedState, frozen=True):
    """The added state of the protocol itself: nothing."""

    def abandoned(self) -> AddedState:
        return self

    def identity(self, process: Any) -> Hashable:
        return None

    def renamed(self, names: Sequence[ProcessId]) -> AddedState:
        return self

    def described(self) -> dict[str, str | tuple[str, ...]]:
        return {}


NOTHING_ADDED = NoAddedState()


WITHOUT_CLIENTS = tuple(group for group in GROUPS if group != "clients")
"""All groups of properties but the one about what clients were told, which simulated runs seldom show."""


STEP_SECONDS = 5.0
"""The CPU time that a step may take, unless the protocol says otherwise. A step of Zab takes some microseconds."""

Start = Callable[[ProcessId, int, Quorums, Mapping[str, Any], Switches], Any]
"""Makes a process: (its id, its incarnation, the quorums, the contents of its disk, the switches) -> its variables."""


Threads = Mapping[str, Callable[[Any], bool]]
"""The threads of a process by name: whether each has something to do."""


def never(process: Any) -> bool:
    """Return False."""
    return False


def always(process: Any) -> bool:
    """Return True, for any process."""
    return True


_Item = TypeVar("_Item")


def renamed(by_process: Mapping[ProcessId, _Item], names: Sequence[ProcessId]) -> dict[ProcessId, _Item]:
    """Return what is kept by process with process i called `names[i]`, in the same order; for `Protocol.rename`."""
    return {names[process]: item for process, item in by_process.items()}


def no_contradiction(values: Mapping[str, Any]) -> str:
    """Return no contradiction, for any values of switches."""
    return ""


Steps = Mapping[type[Message] | type[Stimulus], Step]
"""The steps of a protocol, by what each of them answers."""


def nothing_below(steps: Steps, switches: Switches) -> Steps:
    """Return the steps of a protocol that uses the simulator's channels whatever the switches are."""
    return steps


def without_threads(switches: Switches) -> Threads:
    """Return the threads of a process that has none: each step does all of its work at once."""
    return {}


class Protocol(Struct, frozen=True):
    """A protocol as a table of steps. A mutant is the same table with one entry replaced.

    `start(process, incarnation, quorums, durable, switches)` makes a process from what its disk kept (nothing, at
    first).
    `abandon(process)` forgets what belongs to the current iteration; it is called for every `GiveUp`.
    `can_broadcast(process)` tells whether the process can take a `Request`.
    `describe(process)` returns the variables that a report shows, by name; a sequence as a tuple of its entries.
    `legend` explains the names of those variables, or of values, in a few words each; with "" for the name, it is a
    remark on all of them.
    `show(message)` returns the name of a message, and its fields in the paper's notation.
    `kinds` maps the types of messages to the names that `show` returns: the kinds that a link can hold.
    `properties` names the properties, or groups, that a run is judged by unless the user asks for others; None: all.
    `identity(process)` returns everything that its further steps may depend on except its incarnation: an exhaustive
    search takes two processes with the same identity for the same state. The order of effects that wait for a write
    counts, so nothing that they are put in order by may be left out. None: all its variables.
    `rename(value, names)` returns a process or a message with process i called `names[i]`. None: the search cannot
    treat processes as interchangeable.
    `highest_epoch(process)` returns the highest epoch that a process has promised or proposed, as far as it remembers;
    an exhaustive search is bounded by it. None: the search knows only the epochs that events name.
    `commutes` tells whether what `zabcheck.explore.tables.reduction` assumes of Zab holds for this protocol.
    `notices_at_once(process)` tells whether it makes no difference when a leader that leads on notices that a follower
    has left, since nothing that it counts gets less. Nobody asks where `commutes` is false.
    `hands_over(process)` tells whether a process whose iteration ends has another leader at once, without an election.
    None: none ever has, and no message ends the iteration of who reads it. Nobody asks where `commutes` is false.
    `settled(process)` tells of a follower whether it leaves its iteration only when it is cut off from its leader, and
    of a leader whether it leaves only when no quorum of followers is left; apart from time-outs and crashes. None:
    nobody knows. An exhaustive search asks, to try fewer moves where no fault can come any more.
    `overdue(process)` tells whether a process waits for a message, and gives up if none comes for too long: where the
    environment leaves the ensemble alone, it times out when nothing is left to be done. None: none does.
    `environment` tells of its channels, and of the choices that there are.
    `threads(switches)` returns the threads of a process by name, each with a function that tells whether it has
    something to do: then a schedule may give it a turn, and the process is handed `Run`. Without threads a process does
    at once all that a stimulus leads to.
    `vote(process)` returns what an election compares, where the switch `elections` is "oracle": a tuple that ends with
    the id of the process, which breaks ties; None: nobody votes.
    Where it is "fle" processes that vote elect a leader by messages (`Cast`), and a thread called "election" begins and
    ends that.
    `governing(processes, leader)` returns the quorums that can go on by themselves with this leader, by what the
    processes, from 1 on, know of configurations. None: those that the run began with.
    `active(process)` returns the quorums by which the process alone would go on. None: those that the run began with.
    `mutant` names the known bug that is planted in it; None: the protocol as it is. A schedule names its protocol by
    `name` and `mutant`.
    `below(steps, switches)` returns its steps with what the switches put between them and the simulator's channels.
    `step_seconds` is how much CPU time a step may take, in seconds, before it is taken for one that never returns.
    `switches` is the kind of its switches; a subclass where it has more than all have.
    `contradiction(values)` says why these values of switches, by name, cannot be meant together; "" if they can.
    `plant(name)` returns the protocol with one of its own known bugs, which `bugs` names, and raises ValueError if it
    has none of that name. None: its bugs are those of `zabcheck.mutants`.
    """

    name: str
    summary: str
    source: str
    steps: Steps
    start: Start
    abandon: Callable[[Any], None]
    can_broadcast: Callable[[Any], bool]
    describe: Callable[[Any], dict[str, str | tuple[str, ...]]]
    show: Callable[[Message], tuple[str, str]]
    legend: tuple[tuple[str, str], ...] = ()
    kinds: Mapping[type[Message], str] = {}
    properties: tuple[str, ...] | None = WITHOUT_CLIENTS
    identity: Callable[[Any], Hashable] | None = None
    rename: Callable[[Any, Sequence[ProcessId]], Any] | None = None
    highest_epoch: Callable[[Any], int] | None = None
    commutes: bool = False
    notices_at_once: Callable[[Any], bool] = always
    hands_over: Callable[[Any], bool] | None = None
    settled: Callable[[Any], bool] | None = None
    overdue: Callable[[Any], bool] | None = None
    environment: Environment = LIKE_ZAB
    threads: Callable[[Switches], Threads] = without_threads
    vote: Callable[[Any], tuple[Any, ...]] | None = None
    governing: Callable[[Sequence[Any], ProcessId], Quorums] | None = None
    active: Callable[[Any], Quorums] | None = None
    mutant: str | None = None
    below: Callable[[Steps, Switches], Steps] = nothing_below
    step_seconds: float = STEP_SECONDS
    plant: "Callable[[str], Protocol] | None" = None
    bugs: tuple[str, ...] = ()
    switches: type[Switches] = Switches
    contradiction: Callable[[Mapping[str, Any]], str] = no_contradiction


def check_quorums(protocol: Protocol, quorums: Quorums) -> None:
    """Raise ValueError if the configuration of this protocol changes and `quorums` are none, or the other way round."""
    if protocol.environment.configurations and not isinstance(quorums, Configuration):
        raise ValueError(
            f"expected a configuration such as `config 1,2,3` for `{protocol.name}`, found `{quorums.name}`"
        )
    if isinstance(quorums, Configuration) and not protocol.environment.configurations:
        raise ValueError(f"`{quorums.name}`: expected quorums that are fixed, as `{protocol.name}` changes none")


_AROUND_A_STEP = (
    "zabcheck.simulation.processes",
    "zabcheck.protocols.own",
    "zabcheck.protocols.adapter",
    "zabcheck.protocols.external.node",
    "zabcheck.protocols.external.protocol",
    "zabcheck.protocols.external.pool",
    "zabcheck.protocols.external.running",
)
"""The modules whose lines are left out of a traceback: they are zabcheck's, not the protocol's."""


class Outside(Exception):
    """An error of a step that is taken outside of Python.

    `lines` tell of it, in place of a traceback: first the line that was sent there, if there are any.
    """

    def __init__(self, why: str, lines: Sequence[str] = ()) -> None:
        super().__init__(why)
        self.lines = tuple(lines)


class ModelledError(Exception):
    """An error of the code that a protocol models, such as an exception that nothing catches there.

    The model knows it: what the process does about it is a step, too. So a step raises this only where it is asked to.
    """


class CannotTellApart(ValueError):
    """Nobody knows whether two processes are in the same state: a protocol keeps a value that cannot be compared."""


class OutsideSilent(Outside):
    """A node has not answered a step in time."""


class StepRaised(Exception):
    """A step of the protocol raised `error` while `process` handled `stimulus`, a message of `sender` or local.

    With `stopped` the step has not returned in time, and `error` says so. `is_modelled`: it is a `ModelledError`.
    """

    def __init__(
        self,
        process: ProcessId,
        sender: ProcessId,
        stimulus: Message | Stimulus,
        error: Exception,
        *,
        stopped: bool = False,
    ) -> None:
        super().__init__(f"p{process}, {stimulus!r}: {type(error).__name__}")
        self.stopped = stopped
        self.is_modelled = isinstance(error, ModelledError)
        self.process = process
        self.sender = sender
        self.stimulus = stimulus
        self.error = error

    def _frames(self) -> list[tuple[FrameType, int]]:
        """Return the frames of the protocol's code and of what it calls, the outermost first, each with its line."""
        frames = list(walk_tb(self.error.__traceback__))
        return [each for each in frames if each[0].f_globals.get("__name__") not in _AROUND_A_STEP]

    @property
    def place(self) -> tuple[type[Exception], str, int]:
        """The type of the exception, and file and line of the innermost frame of the protocol's code.

        Of a step that was stopped: where its function begins, since the line in which it was is a matter of chance.
        """
        frames = self._frames()
        if not frames:
            return type(self.error), "", 0
        if self.stopped:
            code = frames[0][0].f_code
            return type(self.error), code.co_filename, code.co_firstlineno
        frame, line = frames[-1]
        return type(self.error), frame.f_code.co_filename, line

    @property
    def said(self) -> str:
        """The exception in a line: "KeyError: 3"."""
        if self.is_modelled:
            return str(self.error)
        if isinstance(self.error, Outside):
            return f"{type(self.error).__name__}: {self.error}"
        return " ".join(format_exception_only(self.error)[-1].split())

    @property
    def traceback(self) -> tuple[str, ...]:
        """The lines of the traceback in the protocol's code; files below the current directory by relative path."""
        if isinstance(self.error, Outside):
            return self.error.lines
        if self.is_modelled:
            return ()
        summary = StackSummary.extract(iter(self._frames()))
        for frame in summary:
            relative = os.path.relpath(frame.filename)
            frame.filename = frame.filename if relative.startswith(os.pardir) else relative
        return tuple(line.expandtabs() for lines in summary.format() for line in lines.splitlines())
