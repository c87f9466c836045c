"""A run, executed and explained: everything that a report draws, as data, so that a report computes nothing anew."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from zabcheck.invariants import Drop, Event, Receive, Send, Txn, Verdict, Violation

Variables = Mapping[str, str | tuple[str, ...]]
"""The variables of a process as text, a sequence as its entries; "" is what the process does."""


class Change(Struct, frozen=True):
    """A variable of a process that a step changed.

    For a sequence `removed` and `added` say how its end changed; for anything else they are the old and the new value.
    A set is a sorted sequence here (`is_set`): both name the members that come after the first one that is new or gone.
    The variable "" is what the process does: its role and its phase, or that it is down; `parts` are then the old and
    the new ones, each by itself.
    """

    variable: str
    removed: tuple[str, ...]
    added: tuple[str, ...]
    is_sequence: bool = False
    is_set: bool = False
    parts: tuple[tuple[str, ...], tuple[str, ...]] | None = None

    @property
    def gone(self) -> tuple[str, ...]:
        """The entries shown as removed: of a set only the members that are gone; never a ⊥."""
        if self.is_sequence and self.removed == ("⊥",):
            return ()
        return tuple(each for each in self.removed if not (self.is_set and each in self.added))

    @property
    def new(self) -> tuple[str, ...]:
        """The entries shown as added: of a set only its new members."""
        return tuple(each for each in self.added if not (self.is_set and each in self.removed))


class Flight(Struct, frozen=True):
    """A message, with the numbers of the steps that sent, received and lost it; None if no step did.

    `number` is that of the message; one that arrives twice has two flights. `text` says what the message carries. A
    message that was under way when the run began was sent by no step.
    """

    number: int
    sender: int
    to: int
    kind: str
    text: str
    sent: int | None
    received: int | None = None
    lost: int | None = None

    @property
    def name(self) -> str:
        """The name of the message and what it carries: "NEWEPOCH(1)"."""
        return f"{self.kind}({self.text})" if self.text else self.kind


class Moment(Struct, frozen=True):
    """One step of a run.

    `process` is who moved; None for what happened to the network. `action` says what was chosen, and `peer` whose
    message (or closed connection) it was about. `shown` holds what the outside saw of it, `sent` the messages that
    left ("NEWEPOCH(1)", and to whom), `lost` those that will never arrive, `changes` what changed at whom. `syncs`: the
    process forced its disk.
    """

    step: int
    process: int | None
    peer: int | None
    action: str
    shown: tuple[Event, ...]
    sent: tuple[tuple[str, tuple[int, ...]], ...]
    lost: tuple[Flight, ...]
    changes: Mapping[int, tuple[Change, ...]]
    unsynced: Mapping[int, int]
    syncs: bool = False


class Next(Struct, frozen=True):
    """A step that may come next: `process` handles the message of this number; None: it does something of its own.

    With `is_possible` False the message is under way and cannot be handled yet.
    """

    process: int
    message: int | None
    is_possible: bool = True


ThreadEnd = Literal["goes on", "killed"]
"""The end of a thread's stay at a point."""


class HeldThread(Struct, frozen=True):
    """A thread of a process that stood still while others of the process went on.

    It was held after the step `since` (None: before the first one that is shown) until the step `until` was over (None:
    until the end); `end` says how that ended: it "goes on", or its process was "killed". `label` marks it ("T1"),
    `head` says in a line which thread it is and where it stood, and `told` what it was about to do and what it held up,
    a sentence each.
    """

    label: str
    process: int
    since: int | None
    until: int | None
    end: ThreadEnd
    head: str
    told: tuple[str, ...]


class RaisedException(Struct, frozen=True):
    """An exception that a step of the protocol raised, in a line, with the lines of its own code that led there.

    `stimulus` is what `process` was handling.
    """

    process: int
    stimulus: str
    error: str
    traceback: tuple[str, ...]
    is_modelled: bool = False
    """True if the protocol models this error of the code that it stands for."""

    @property
    def title(self) -> str:
        """The kind of error, in a few words."""
        modelled = "the code that is modelled has an error"
        return modelled if self.is_modelled else "the protocol's own code raised an exception"


class Decisive(Struct, frozen=True):
    """The step after which the violation could no longer be avoided, as far as was tried.

    `step` counts from 1; 0: it could not be avoided even from the start; None: even the end of the run can be mended,
    or if some continuations were `unfinished`, it is open.
    From each prefix of the run `tried` undisturbed continuations were tried. `saved_by` says which of them avoids the
    violation from just before `step`: `leader` leads `members`, or with None whoever leads goes on. None if
    none does. `sentence` says it all.
    """

    step: int | None
    tried: int
    saved_by: str | None
    leader: int | None
    members: tuple[int, ...]
    sentence: str
    unfinished: int = 0


class Chances(Struct, frozen=True):
    """The chances that `property` breaks, by position of a run: in how many of `tries` random continuations it does.

    After `steps[i]` steps it breaks in `broken[i]` of them. Where that jumps the bug happens.
    """

    property: str
    tries: int
    steps: tuple[int, ...]
    broken: tuple[int, ...]


class Mismatch(Struct, frozen=True):
    """An act of a real ensemble that no step of the model explains: the last row of a story, after the model's run.

    `title` heads the page, `summary` says the same in a sentence, `label` in a few words. `facts` are what is known of
    it, each kind with its lines.
    """

    process: int
    title: str
    summary: str
    label: str
    facts: tuple[tuple[str, tuple[str, ...]], ...]


class ServerStep(Struct, frozen=True):
    """A step of a server of a real ensemble that is none `of` the model of its version, or of Zab.

    `source` is the packet, the line of a log or the disk that shows it, and `what` the step as text.
    """

    of: Literal["the model", "Zab"]
    server: int
    what: str
    source: str


class ServersPart(Struct, frozen=True):
    """The part of a real ensemble's servers in a broken promise to clients, as far as it is known.

    `steps` are the first ones, up to the finding, that are none of the model or of Zab. `compared` tells whether the
    recording is a run of the model: that run `breaks` these properties, too. `known` are the bugs that it looks like.
    """

    steps: tuple[ServerStep, ...]
    compared: Literal["conforms", "differs", "undecided"]
    breaks: tuple[str, ...]
    known: tuple[str, ...]


class Argument(Struct, frozen=True):
    """A paper's argument by a run: `title` in a few words, `shows` in sentences, `source` with its section."""

    title: str
    source: str
    shows: str


class Story(Struct, frozen=True):
    """A schedule executed and explained, or a trace. `wrong` says which bug was planted, if one was."""

    protocol: str
    mutant: str | None
    processes: int
    choices: int
    schedule: bytes
    """The schedule as `zabcheck replay` reads it from a file; nothing if only a trace is known."""
    wrong: str | None
    sha256: str
    verdicts: tuple[Verdict, ...]
    violation: Violation | None
    moments: tuple[Moment, ...]
    delivered: tuple[tuple[int, int, tuple[Txn, ...]], ...]
    """(process, incarnation, first deliveries), each incarnation that delivered or restored something."""
    trace: tuple[tuple[int, Event], ...] = ()
    """All that the run showed, but for what was sent and received, each event with its step, or its own line; also of
    steps left out."""
    flights: tuple[Flight, ...] = ()
    """The messages between processes, in the order of sending."""
    initial: Mapping[int, Variables] = {}
    """The variables of each process before the first step; what the steps change leads on from there."""
    legend: tuple[tuple[str, str], ...] = ()
    """The meanings of a process's variables."""
    settings: tuple[str, ...] = ()
    """Settings that differ from the defaults: quorums that are no majorities, switches that are set."""
    done: tuple[tuple[str, str], ...] = ()
    """The actions on a real ensemble with their times, in order; its schedule is in a file of its own."""
    simulated: bool = False
    """True if the servers of that ensemble were simulated, and not processes."""
    is_ordered: bool = True
    """False where only the order of each process's own events is known (merged logs)."""
    unit: str = "step"
    """The unit of the moments' numbers: a step, or in a trace a line of its file, or an event."""
    raised: RaisedException | None = None
    """The exception that ended the run; None if there was none. With one, no property is judged."""
    explanation: tuple[str, ...] = ()
    """Sentences on what broke the property in this run."""
    decisive: Decisive | None = None
    """The decisive step, if it was asked for and found."""
    is_minimal: bool = True
    """False if the time for shortening it was over before each choice had been tried to be left out."""
    known: tuple[str, ...] = ()
    """The known ZooKeeper issues that a run of a real ensemble looks like."""
    noticed: tuple[tuple[str, str], ...] = ()
    """Other findings in a run of a real ensemble: kind and place."""
    servers: Mapping[str, ServersPart] = {}
    """The part of the servers in those findings that are of clients, by the kind."""
    worst: str = ""
    """The heading of a report on a real ensemble whose trace violates no property: its worst finding that counts as
    wrong."""
    threads: tuple[HeldThread, ...] = ()
    """The threads of a real ensemble that were held, in the order in which they stopped."""
    argument: Argument | None = None
    """The argument of the paper that has this run, if one has it."""
    mismatch: Mismatch | None = None
    """The first difference of a real ensemble from this run of the model."""

    @property
    def shortened(self) -> str:
        """Say how far it was shortened, if not to the end."""
        if self.is_minimal:
            return ""
        return f"in part: time ran out, and some of the {self.choices} choices may not be needed"

    @property
    def ensemble(self) -> str:
        """Name the kind of ensemble that something was done to."""
        return "simulated ensemble" if self.simulated else "ensemble"

    def step_of(self, event: Event) -> int | None:
        """Return the step that showed this event first; None if no step did."""
        return next((moment.step for moment in self.moments if event in moment.shown), None)

    def place_of(self, event: Event) -> int | None:
        """Return the step, or the trace's line, where this event stands first; its row may begin before that line."""
        return next((number for number, other in self.trace if other == event), None)


def flights_of(steps: Iterable[tuple[int | None, Sequence[Event]]]) -> tuple[Flight, ...]:
    """Return the messages in the order in which they were sent, each with the steps that sent, received and lost it.

    `steps` has each step with the events that it showed; None is the number of what happened before the first step. A
    message of which the sending is not shown is left out. One that arrives, or is lost, twice has a flight each time.
    """
    flights: dict[int, list[Flight]] = {}
    for step, events in steps:
        for event in events:
            match event:
                case Send(message=message):
                    flights[message] = [Flight(message, event.process, event.to, event.kind, event.text, step)]
                case Receive(message=message) | Drop(message=message) if message in flights:
                    received, lost = (step, None) if isinstance(event, Receive) else (None, step)
                    last = flights[message][-1]
                    if last.received is None and last.lost is None:
                        flights[message].pop()
                    flights[message].append(replace(last, received=received, lost=lost))
    return tuple(flight for each in flights.values() for flight in each)


def sent_in(
    events: Sequence[Event], flights: Mapping[int, Flight], *, by_several: bool = False
) -> tuple[tuple[str, tuple[int, ...]], ...]:
    """Return the messages that left in a step, as `Moment.sent`; with their senders if `by_several` processes."""
    sent: dict[str, tuple[int, ...]] = {}
    for event in events:
        if isinstance(event, Send):
            text = flights[event.message].name + (f" from p{event.process}" if by_several else "")
            sent[text] = (*sent.get(text, ()), event.to)
    return tuple(sent.items())


def handled_in(events: Sequence[Event], flights: Mapping[int, Flight]) -> str:
    """Return the name of the message that a step handled; "" if it handled none that is in `flights`."""
    handled = (flights.get(event.message) for event in events if isinstance(event, Receive))
    return next((flight.name for flight in handled if flight is not None), "")


def shown_in(events: Sequence[Event]) -> tuple[Event, ...]:
    """Return the events of a step that the outside saw, as `Moment.shown`: all but messages."""
    return tuple(event for event in events if not isinstance(event, Send | Receive))


def lost_in(events: Sequence[Event], flights: Mapping[int, Flight]) -> tuple[Flight, ...]:
    """Return the messages that will never arrive after a step, as `Moment.lost`."""
    return tuple(flights[event.message] for event in events if isinstance(event, Drop) and event.message in flights)


def states_after(story: Story, position: int) -> dict[int, dict[str, str | tuple[str, ...]]]:
    """Return the variables of each process after the step at `position` (from 0; -1: at the start). O(changes)."""
    states = {process: dict(state) for process, state in story.initial.items()}
    for moment in story.moments[: position + 1]:
        for process, changes in moment.changes.items():
            for change in changes:
                before = states[process].get(change.variable, ())
                if change.is_sequence:
                    before = before if isinstance(before, tuple) else ()  # it was ⊥
                    states[process][change.variable] = (*before[: len(before) - len(change.removed)], *change.added)
                else:
                    [states[process][change.variable]] = change.added
    return states
