"""A run, executed and explained: everything that a report draws, as data, so that a report computes nothing anew."""

from collections.abc import Mapping

from msgspec import Struct

from invariants import Event, Txn, Verdict, Violation


class Change(Struct, frozen=True):
    """A variable of a process that a step changed.

    For a sequence `removed` and `added` say how its end changed; for anything else they are the old and the new value.
    The variable "" is what the process does: its role and its phase, or that it is down.
    """

    variable: str
    removed: tuple[str, ...]
    added: tuple[str, ...]
    is_sequence: bool = False


class Message(Struct, frozen=True):
    """A message that left `sender`; `text` is its name and what it carries."""

    sender: int
    to: int
    text: str


class Moment(Struct, frozen=True):
    """One step of a run.

    `process` is who moved; None for what happened to the network. `action` says what was chosen, and `peer` whose
    message (or closed connection) it was about. `shown` holds what the outside saw of it, `sent` the messages that
    left ("NEWEPOCH(1)", and to whom), `lost` those that will never arrive, `changes` what changed at whom.
    """

    step: int
    process: int | None
    peer: int | None
    action: str
    shown: tuple[Event, ...]
    sent: tuple[tuple[str, tuple[int, ...]], ...]
    lost: tuple[Message, ...]
    changes: Mapping[int, tuple[Change, ...]]
    unsynced: Mapping[int, int]


class Raised(Struct, frozen=True):
    """What a step of the protocol raised, in a line, and the lines of its own code that led there.

    `stimulus` is what `process` was handling.
    """

    process: int
    stimulus: str
    error: str
    traceback: tuple[str, ...]


class Story(Struct, frozen=True):
    """A schedule executed and explained. `wrong` says what was planted, if something was."""

    protocol: str
    mutant: str | None
    processes: int
    choices: int
    schedule: bytes
    """The schedule as `zabcheck replay` reads it from a file."""
    wrong: str | None
    sha256: str
    verdicts: tuple[Verdict, ...]
    violation: Violation | None
    moments: tuple[Moment, ...]
    delivered: tuple[tuple[int, int, tuple[Txn, ...]], ...]
    """(process, incarnation, first deliveries), each incarnation that delivered or restored something."""
    legend: tuple[str, ...] = ()
    """What the variables of a process are."""
    settings: tuple[str, ...] = ()
    """What the run has of its own besides: quorums that are no majorities, switches that are set."""
    raised: Raised | None = None
    """What ended the run, if the protocol's code raised; then nothing is said of any property."""

    def step_of(self, event: Event) -> int | None:
        """The step that showed this event first."""
        return next((moment.step for moment in self.moments if event in moment.shown), None)
