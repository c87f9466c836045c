"""Schedules for a real ensemble: what is done to it, in order. They are data, like the simulator's schedules.

A real ensemble has its own clocks and threads, so a schedule decides less than in the simulator: what is done, and
after which packet, but not what the servers do in between. A replay is best effort; how often it shows the same is
counted.

A server is named by a *role*, so that a schedule means the same in every run, whichever server is elected: "A" is the
first leader of the run, "B", "C", … are the others, those with higher numbers first; "leader" is the server that leads
when the choice comes. A choice that does not apply when it comes (a server to kill that is down, say) is passed over,
so that every sub-sequence of a schedule is a schedule.
"""

from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta, Struct

from zabcheck.zookeeper.debugger.fields import FieldError, field_named
from zabcheck.zookeeper.debugger.points import PointError, named
from zabcheck.zookeeper.run.choice import LEADER as LEADER
from zabcheck.zookeeper.run.choice import ROLE_FIELDS as ROLE_FIELDS
from zabcheck.zookeeper.run.choice import ROLES as ROLES
from zabcheck.zookeeper.run.choice import Choice as Choice
from zabcheck.zookeeper.run.choice import Role as Role
from zabcheck.zookeeper.run.in_step_choices import (
    Expect,
    InStepChoice,
    Leave,
    LetThrough,
    Lose,
    Meet,
    NoticeEnd,
    OpenedGate,
    in_step_in_words,
)
from zabcheck.zookeeper.run.point_choices import AtPoint as AtPoint
from zabcheck.zookeeper.run.point_choices import AwaitStop as AwaitStop
from zabcheck.zookeeper.run.point_choices import Fail as Fail
from zabcheck.zookeeper.run.point_choices import Go as Go
from zabcheck.zookeeper.run.point_choices import KillAtPoint as KillAtPoint
from zabcheck.zookeeper.run.point_choices import PowerLoss as PowerLoss
from zabcheck.zookeeper.run.point_choices import Step as Step
from zabcheck.zookeeper.run.point_choices import Stop as Stop
from zabcheck.zookeeper.run.point_choices import point_in_words
from zabcheck.zookeeper.run.session_choices import (
    Delete,
    EndSession,
    Ephemeral,
    Get,
    Move,
    Multi,
    SessionChoice,
    SetData,
    session_in_words,
)

SCHEDULE_VERSION = 2
"""Version 2 has stops at points, fields that are read, and what sessions do, which version 1 does not know."""
MAX_BYTES = 1024 * 1024
"""The largest schedule that is read."""
SIZES = (3, 5)
Kind = Literal[
    "FOLLOWERINFO",
    "LEADERINFO",
    "ACKEPOCH",
    "DIFF",
    "TRUNC",
    "SNAP",
    "NEWLEADER",
    "ACK-LD",
    "UPTODATE",
    "PROPOSAL",
    "ACK",
    "COMMIT",
    "OBSERVERINFO",
    "INFORM",
]
_Seconds = Annotated[float, Meta(ge=0, le=30)]


class Write(Choice, frozen=True):
    """The client of `server` asks for `count` writes of `size` bytes each, and does not wait for the answers."""

    server: Role
    count: Annotated[int, Meta(ge=1, le=1000)] = 1
    size: Annotated[int, Meta(ge=0, le=900_000)] = 10


class Settle(Choice, frozen=True):
    """Wait until every write has its answer, `seconds` at most."""

    seconds: _Seconds = 2.0


class Wait(Choice, frozen=True):
    """Let the ensemble go on by itself for `seconds`."""

    seconds: _Seconds


class Kill(Choice, frozen=True):
    """kill -9 of one server."""

    server: Role


class KillAll(Choice, frozen=True):
    """kill -9 of all servers at once: the power fails."""


class Start(Choice, frozen=True):
    """Start a server again, from what its disk has."""

    server: Role


class StartAll(Choice, frozen=True):
    """Start all servers that are down."""


class Pause(Choice, frozen=True):
    """SIGSTOP: the server stands still, and its connections stay open."""

    server: Role


class Resume(Choice, frozen=True):
    """SIGCONT: the server goes on."""

    server: Role


class Cut(Choice, frozen=True):
    """The link from `sender` to `receiver` holds everything back from here on; connections stay open."""

    sender: Role
    receiver: Role


class Mend(Choice, frozen=True):
    """The link from `sender` to `receiver` works again; what waited is passed on."""

    sender: Role
    receiver: Role


class Isolate(Choice, frozen=True):
    """All the links to and from `server` are cut."""

    server: Role


class Reset(Choice, frozen=True):
    """The connections between the two are closed, what waited on them is lost; they may connect again."""

    sender: Role
    receiver: Role


class Hold(Choice, frozen=True):
    """The link from `sender` to `receiver` stops at the next packet of this kind, and behind it.

    ACK-LD is the ACK that answers NEWLEADER.
    """

    sender: Role
    receiver: Role
    kind: Kind


class KillAt(Choice, frozen=True):
    """Kill `server` at the moment when the next packet of this kind is read on the link from `sender` to `receiver`.

    Then the packet goes on its way, as what is in the network when its sender dies. Until then the choices go on.
    """

    server: Role
    sender: Role
    receiver: Role
    kind: Kind


class Await(Choice, frozen=True):
    """Wait until a packet is held on the link from `sender` to `receiver`, `seconds` at most."""

    sender: Role
    receiver: Role
    seconds: _Seconds = 5.0


class Release(Choice, frozen=True):
    """Pass on what is held on the link from `sender` to `receiver`."""

    sender: Role
    receiver: Role


class Delay(Choice, frozen=True):
    """Everything on the link from `sender` to `receiver` takes `milliseconds` longer."""

    sender: Role
    receiver: Role
    milliseconds: Annotated[int, Meta(ge=0, le=1000)]


class Heal(Choice, frozen=True):
    """Every link works: nothing is cut, held or delayed."""


class Elected(Choice, frozen=True):
    """Wait until a server serves as leader, `seconds` at most; from then on "leader" names it."""

    seconds: _Seconds = 5.0


class ReadFields(Choice, frozen=True, tag="read"):
    """Read `fields` of the memory of `server` into the recording (docs/zookeeper-points.md), best while it is held."""

    server: Role
    fields: Annotated[tuple[str, ...], Meta(min_length=1)]


class RollOver(Choice, frozen=True):
    """The counter of `server`, which has to lead, is set in its memory: after `left` transactions it rolls over.

    The leader must not be broadcasting then, so `settle` comes before.
    """

    server: Role
    left: Annotated[int, Meta(ge=0, le=1000)] = 16


AnyChoice = (
    Write
    | Settle
    | Wait
    | Kill
    | KillAll
    | Start
    | StartAll
    | Pause
    | Resume
    | Cut
    | Mend
    | Isolate
    | Reset
    | Hold
    | KillAt
    | Await
    | Release
    | Delay
    | Heal
    | Elected
    | Stop
    | AwaitStop
    | Step
    | Go
    | KillAtPoint
    | Fail
    | PowerLoss
    | ReadFields
    | RollOver
    | SetData
    | Multi
    | Delete
    | Ephemeral
    | Get
    | EndSession
    | Move
    | OpenedGate
    | Meet
    | LetThrough
    | Leave
    | NoticeEnd
    | Lose
    | Expect
)


class EnsembleSchedule(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """A schedule for a real ensemble of `servers` servers that vote, and of `observers` that do not.

    `zookeeper` and `finds` say which version was run and what was wrong when the schedule was saved; a replay may use
    another version. `patient`: while threads are held, servers wait minutes for each other, and not a second or two.
    """

    version: Literal[1, 2]
    protocol: Literal["zookeeper"]
    servers: Literal[3, 5]
    choices: tuple[AnyChoice, ...]
    seed: int | None = None
    zookeeper: str = ""
    finds: str = ""
    patient: bool = True
    observers: Annotated[int, Meta(ge=0, le=2)] = 0

    @property
    def points(self) -> tuple[str, ...]:
        """The points that it names, each once."""
        named = (choice.point for choice in self.choices if isinstance(choice, AtPoint | PowerLoss))
        return tuple(dict.fromkeys(point for point in named if point))

    @property
    def cuts_power(self) -> bool:
        """Whether it is to be seen what each server forces to its disk."""
        return any(isinstance(choice, PowerLoss) for choice in self.choices)

    @property
    def needs_agent(self) -> bool:
        """Whether it can be executed only with the debug agent in each server."""
        return any(
            isinstance(choice, AtPoint | PowerLoss | ReadFields | RollOver | InStepChoice) for choice in self.choices
        )

    @property
    def in_step(self) -> bool:
        """Whether the ensemble is kept in step with a run of the model: then the first choice opens the gate."""
        return any(isinstance(choice, InStepChoice) for choice in self.choices)

    @property
    def has_sessions(self) -> bool:
        """Whether sessions do something in it, besides the clients that write."""
        return any(isinstance(choice, SessionChoice) for choice in self.choices)


class EnsembleScheduleError(ValueError):
    """Not a schedule for an ensemble. The message is one line, with the field."""


_decoder = msgspec.json.Decoder(EnsembleSchedule)


def encode(schedule: EnsembleSchedule) -> bytes:
    """Encode a schedule as JSON, a choice a line."""
    head = msgspec.structs.replace(schedule, choices=())
    fields = msgspec.json.encode(head)
    lines = b",\n  ".join(msgspec.json.encode(choice) for choice in schedule.choices)
    return fields.replace(b'"choices":[]', b'"choices":[\n  ' + lines + b"\n]") + b"\n"


def decode(data: bytes, name: str) -> EnsembleSchedule:
    """Decode the schedule in a file called `name`. EnsembleScheduleError if it is none, or a role does not exist."""
    try:
        schedule = _decoder.decode(data)
    except msgspec.DecodeError as error:
        raise EnsembleScheduleError(f"{name}: {error}") from None
    for newer, what in (
        (schedule.in_step, "a gate"),
        (schedule.needs_agent, "points, fields or power failures"),
        (schedule.has_sessions, "sessions"),
        (schedule.observers, "observers"),
    ):
        if schedule.version == 1 and newer:
            raise EnsembleScheduleError(
                f"{name}: expected version {SCHEDULE_VERSION} of a schedule with {what}, found 1"
            )
    try:
        for point in schedule.points:
            named(point)
    except PointError as error:
        raise EnsembleScheduleError(f"{name}: {error}") from None
    if schedule.in_step and not isinstance(schedule.choices[0], OpenedGate):
        raise EnsembleScheduleError(f"{name}: choices[0]: expected `gate`, as later choices keep servers in step")
    there = {*ROLES[: schedule.servers + schedule.observers], LEADER}
    for number, choice in enumerate(schedule.choices):
        for each in (*choice.servers, choice.around or "A") if isinstance(choice, Meet) else ():
            if each not in there or each == LEADER:
                raise EnsembleScheduleError(f"{name}: choices[{number}].servers: expected one of {_listed(there)}")
        for field in ROLE_FIELDS:
            role = getattr(choice, field, None) or LEADER
            if role not in there:
                expected = f"one of {_listed(there)}"
                raise EnsembleScheduleError(f"{name}: choices[{number}].{field}: expected {expected}, found {role}")
            if schedule.in_step and getattr(choice, field, None) == LEADER:
                raise EnsembleScheduleError(f"{name}: choices[{number}].{field}: expected a server, behind a gate")
        try:
            for field in choice.fields if isinstance(choice, ReadFields | Expect) else ():
                field_named(field)
        except FieldError as error:
            raise EnsembleScheduleError(f"{name}: choices[{number}].fields: {error}") from None
    return schedule


def _listed(roles: set[str]) -> str:
    return ", ".join(sorted(roles))


def is_for_an_ensemble(data: bytes) -> bool:
    """Whether a saved schedule is meant for a real ensemble, rather than for the simulator.

    The simulator has a protocol `zookeeper`, too: the number of its servers is called `processes`.
    """
    try:
        head = msgspec.json.decode(data, type=_Head)
        return head.protocol == "zookeeper" and head.processes is None
    except (msgspec.DecodeError, RecursionError):  # the simulator, which reads it then, says what is wrong
        return False


class _Head(Struct):
    protocol: str = ""
    processes: object = None


def in_words(choice: Choice) -> str:
    """Say a choice to a reader, in one line."""
    match choice:
        case Write(server, count, size):
            return (
                f"{count} writes of {size} bytes at {server}" if count > 1 else f"a write of {size} bytes at {server}"
            )
        case Settle(seconds):
            return f"wait until all writes are answered, {seconds:g} s at most"
        case Wait(seconds):
            return f"wait {seconds:g} s"
        case Kill(server):
            return f"kill -9 of {server}"
        case KillAll():
            return "kill -9 of all"
        case Start(server):
            return f"start {server}"
        case StartAll():
            return "start all that are down"
        case Pause(server):
            return f"SIGSTOP to {server}"
        case Resume(server):
            return f"SIGCONT to {server}"
        case Cut(sender, receiver):
            return f"cut {sender} → {receiver}"
        case Mend(sender, receiver):
            return f"mend {sender} → {receiver}"
        case Isolate(server):
            return f"cut all links of {server}"
        case Reset(sender, receiver):
            return f"reset the connections of {sender} and {receiver}"
        case Hold(sender, receiver, kind):
            return f"hold {kind} on {sender} → {receiver}"
        case KillAt(server, sender, receiver, kind):
            return f"kill -9 of {server} at the next {kind} on {sender} → {receiver}"
        case Await(sender, receiver, seconds):
            return f"wait until a packet is held on {sender} → {receiver}, {seconds:g} s at most"
        case Release(sender, receiver):
            return f"pass on what is held on {sender} → {receiver}"
        case Delay(sender, receiver, milliseconds):
            return f"delay {sender} → {receiver} by {milliseconds} ms"
        case Heal():
            return "heal all links"
        case Elected(seconds):
            return f"wait for a leader, {seconds:g} s at most"
        case AtPoint() | PowerLoss():
            return point_in_words(choice)
        case ReadFields(server, fields):
            return f"read {', '.join(fields)} of {server}"
        case RollOver(server, left):
            return f"the counter of {server} is to roll over after {left} transactions"
        case SessionChoice():
            return session_in_words(choice)
        case InStepChoice():
            return in_step_in_words(choice)
    raise AssertionError(choice)


def replaced(schedule: EnsembleSchedule, **fields: str) -> EnsembleSchedule:
    """Return the same schedule with other fields."""
    return msgspec.structs.replace(schedule, **fields)


def converted(data: dict[str, Any]) -> EnsembleSchedule:
    """Decode the schedule in a recording. EnsembleScheduleError if it is none."""
    try:
        return msgspec.convert(data, EnsembleSchedule)
    except msgspec.ValidationError as error:
        raise EnsembleScheduleError(f"the schedule of a recording: {error}") from None
