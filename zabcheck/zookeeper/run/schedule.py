"""Schedules for a real ensemble: what is done to it, in order. They are data, like the simulator's schedules.

A real ensemble has its own clocks and threads, so a schedule decides less than in the simulator: what is done, and
after which packet, but not what the servers do in between. A replay is best effort; how often it shows the same is
counted.

A server is named by a *role*, so that a schedule means the same in every run, whichever server is elected: "A" is the
first leader of the run, "B", "C", … are the others, those with higher numbers first; "leader" is the server that leads
when the choice comes. A choice that does not apply when it comes (a server to kill that is down, say) is passed over,
so that every sub-sequence of a schedule is a schedule.
"""

from collections.abc import Iterator
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta, Struct

from zabcheck.invariants.diagnosis import NOT_DECODED, malformed, place_of
from zabcheck.zookeeper.debugger.fields import FieldError, field_named
from zabcheck.zookeeper.debugger.points import PointError, named
from zabcheck.zookeeper.run.choices import AnyChoice
from zabcheck.zookeeper.run.choices.choice import LEADER, ROLES
from zabcheck.zookeeper.run.choices.in_step import InStepChoice, OpenedGate
from zabcheck.zookeeper.run.choices.points import PowerLoss
from zabcheck.zookeeper.run.choices.reconfigure import ConfigurationChoice, Reconfigure
from zabcheck.zookeeper.run.choices.servers import DiskChoice, Start
from zabcheck.zookeeper.run.choices.sessions import SessionChoice

SCHEDULE_VERSION = 2
"""Version 2 has stops at points, fields that are read, and what sessions do, which version 1 does not know."""
MAX_BYTES = 1024 * 1024
"""The largest schedule that is read."""
SIZES = (3, 5)
"""Servers that vote."""


FIRST_STALL = 1000
"""The decision for the first of the `STALLS`; the next are those for the others."""
STALLS = (0.005, 0.1, 0.5, 2.5)
"""Seconds for which a thread can stand still."""
_DECISION = r"([0-9.]+/[A-Za-z0-9_.-]+@)?\d+:\d+"
DECISIONS = rf"^({_DECISION}(,{_DECISION})*)?$"
"""The pattern of decisions: `thread@number:decision`; without a thread they are numbered through the whole run."""


class ThreadOrder(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """The order of threads in a simulated execution: drawn from `seed`, or as `decisions` has it.

    "uniform": of 1000 points at which another thread may go on, it does at `first`. "priorities": the thread with the
    highest priority goes on, and of a million points `first` take its priority away. Of a million points the thread
    stands still at `second`. "fifo": the thread that has waited longest goes on. Decisions are the ones that are not
    the default, `thread@number:decision,…`; `places` says where in the servers' code the threads were, if they are few.
    With another version of `java` the same order is another run.
    """

    seed: Annotated[int, Meta(ge=0, le=2**63 - 1)] = 0
    strategy: Literal["uniform", "priorities", "fifo"] = "uniform"
    first: Annotated[int, Meta(ge=0, le=1_000_000)] = 20
    second: Annotated[int, Meta(ge=0, le=1_000_000)] = 0
    decisions: Annotated[str, Meta(pattern=DECISIONS)] | None = None
    places: tuple[str, ...] = ()
    java: int | None = None

    def words(self) -> list[str]:
        """Describe the decisions, each in a line below the first, if their places are known."""
        decisions = zip((self.decisions or "").split(","), self.places, strict=False)
        lines = [f"  {_decided(*each)}" for each in decisions]
        return ["thread scheduling decisions:", *lines] if lines else []


def _decided(decision: str, place: str) -> str:
    thread, _, rest = decision.partition("@")
    server, _, kind = thread.partition("/")
    number, _, start = server.partition(".")
    who = f"{kind} of server {number}" + (f" (start {start})" if start else "")
    where = f" in {place}" if place else ""
    stall = int(rest.partition(":")[2]) - FIRST_STALL
    if stall >= 0:
        return f"{who} stalls for {STALLS[stall % len(STALLS)]} s{where}"
    return f"another thread runs while {who} is{where or ' running'}"


class JvmProperty(Struct, frozen=True, forbid_unknown_fields=True):
    """A property of the servers' JVMs, such as `jute.maxbuffer`: only ZooKeeper's, as a schedule may be anybody's."""

    name: Annotated[str, Meta(pattern=r"^(zookeeper|jute|znode)\.[A-Za-z0-9._-]+$", max_length=100)]
    value: Annotated[str, Meta(pattern=r"^[A-Za-z0-9._-]*$", max_length=100)]


class EnsembleSchedule(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """A schedule for a real ensemble of `servers` servers that vote, `observers` that do not, and `joiners`.

    Joiners are started with a list of servers, or never; nobody knows them before.

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
    joiners: Annotated[int, Meta(ge=0, le=2)] = 0
    properties: tuple[JvmProperty, ...] = ()
    simulated: ThreadOrder | None = None
    """The order of threads in simulated servers; None: it is drawn."""

    @property
    def points(self) -> tuple[str, ...]:
        """Return the points that it names, each once."""
        return tuple(dict.fromkeys(point for choice in self.choices for _, point in choice.at_points))

    @property
    def cuts_power(self) -> bool:
        """Return True if a power failure needs to know how much each server has forced to its disk."""
        return any(isinstance(choice, PowerLoss) for choice in self.choices)

    @property
    def needs_agent(self) -> bool:
        """Return True if it can be executed only with the debug agent in each server."""
        return any(choice.needs_agent for choice in self.choices)

    @property
    def waits_long(self) -> bool:
        """Return True if servers wait minutes for each other (`server.PATIENT_LIMITS`)."""
        return self.needs_agent and self.patient

    @property
    def in_step(self) -> bool:
        """Return True if the ensemble is kept in step with a run of the model: then the first choice opens the gate."""
        return any(isinstance(choice, InStepChoice) for choice in self.choices)

    @property
    def reconfigures(self) -> bool:
        """Return True if the configuration may change: then each server keeps it in a file that ZooKeeper writes."""
        return any(isinstance(choice, Reconfigure) for choice in self.choices)

    @property
    def has_sessions(self) -> bool:
        """Return True if sessions do something in it, besides the clients that write."""
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
    """Decode the schedule in a file called `name`. EnsembleScheduleError if it is none."""
    try:
        schedule = _decoder.decode(data)
    except NOT_DECODED as error:
        said = malformed(data, error, EnsembleSchedule, "schedule", "1 or 2")
        raise EnsembleScheduleError(f"{name}{said}") from None
    for path, said in _complaints(schedule):
        raise EnsembleScheduleError(f"{name}{place_of(data, path)}: {said}")
    return schedule


def _complaints(schedule: EnsembleSchedule) -> Iterator[tuple[str, str]]:
    """Name the faults of a schedule whose fields have the right types, each with the path of its field."""
    for newer, what in (
        (schedule.in_step, "a gate"),
        (schedule.needs_agent, "points, fields or power failures"),
        (schedule.has_sessions, "sessions"),
        (schedule.observers, "observers"),
        (schedule.joiners, "servers that join"),
        (schedule.properties, "properties"),
        (any(isinstance(choice, Start) and choice.voters for choice in schedule.choices), "lists of servers"),
        (any(isinstance(choice, DiskChoice) for choice in schedule.choices), "wiped or restored disks"),
        (any(isinstance(choice, ConfigurationChoice) for choice in schedule.choices), "unwritten configurations"),
    ):
        if schedule.version == 1 and newer:
            yield "version", f"expected {SCHEDULE_VERSION} for a schedule with {what}, found 1"
    if schedule.in_step and not isinstance(schedule.choices[0], OpenedGate):
        yield "choices[0]", "expected `gate`, as later choices keep servers in step"
    there = sorted({*ROLES[: schedule.servers + schedule.observers + schedule.joiners], LEADER})
    for number, choice in enumerate(schedule.choices):
        for field, role in choice.roles:
            if role not in there:
                yield f"choices[{number}].{field}", f"expected one of {', '.join(there)}, found {role}"
            elif schedule.in_step and role == LEADER:
                yield f"choices[{number}].{field}", "expected a server, behind a gate"
        if isinstance(choice, Start):
            yield from ((f"choices[{number}].{field}", said) for field, said in _of_list(choice))
        try:
            for _, point in choice.at_points:
                named(point)
        except PointError as error:
            yield f"choices[{number}].point", str(error)
        try:
            for field in choice.memory_fields:
                field_named(field)
        except FieldError as error:
            yield f"choices[{number}].fields", str(error)


def _of_list(choice: Start) -> Iterator[tuple[str, str]]:
    """Name the faults of the list of servers that a server is started with."""
    listed = [*choice.voters, *choice.observers]
    if choice.observers and not choice.voters:
        yield "observers", "expected `voters`, too"
    elif listed and choice.server not in listed:
        yield "voters", f"expected {choice.server} in its own list, without which it does not start"
    elif len({*listed}) < len(listed):
        yield "voters", f"expected each server once in voters and observers, found {', '.join(listed)}"
    elif LEADER in listed:
        yield "voters", f"expected a server, found {LEADER}"


def is_for_an_ensemble(data: bytes) -> bool:
    """Return True if a saved schedule is meant for a real ensemble, rather than for the simulator.

    The simulator has a protocol `zookeeper`, too: the number of its servers is called `processes`.
    """
    try:
        head = msgspec.json.decode(data, type=_Head)
        return head.protocol == "zookeeper" and head.processes is None
    except NOT_DECODED:  # the simulator, which reads it then, says what is wrong
        return False


class _Head(Struct):
    protocol: str = ""
    processes: object = None


def replaced(schedule: EnsembleSchedule, **fields: str) -> EnsembleSchedule:
    """Return the same schedule with other fields."""
    return msgspec.structs.replace(schedule, **fields)


def converted(data: dict[str, Any]) -> EnsembleSchedule:
    """Decode the schedule in a recording. EnsembleScheduleError if it is none."""
    try:
        return msgspec.convert(data, EnsembleSchedule)
    except msgspec.ValidationError as error:
        raise EnsembleScheduleError(f"the schedule of a recording: {error}") from None
