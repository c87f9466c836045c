"""A schedule: the environment's choices, in order, and its JSON form: reading, writing, validating.

A choice that is not enabled when its turn comes is skipped, so every sub-sequence of a schedule is a schedule. That
is what makes shrinking work. `choices` has all kinds of choices.

A schedule is the lasting form of a run: a seed means the same run only with the same version of zabcheck and of
Hypothesis. `Simulator.executed` lists the fine choices of a run, so a saved schedule consists of fine choices only.
"""

from collections.abc import Collection
from functools import cache
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta, Struct

from zabcheck.invariants.diagnosis import NOT_DECODED, malformed, place_of
from zabcheck.invariants.quorums import MAJORITY, quorums_of
from zabcheck.protocols import PROTOCOLS, adapter
from zabcheck.protocols.switches import LETTER, Switches
from zabcheck.simulation import choices
from zabcheck.simulation.choices import AnyChoice

SCHEDULE_VERSION = 1
MAX_BYTES = 64 * 1024 * 1024
"""The largest schedule that is read."""


class Schedule(Struct, frozen=True, forbid_unknown_fields=True):
    """A run, to be executed again: the protocol, the processes, the switches, and the choices.

    `mutant` names the mutant of the protocol that ran; `violates` the property that broke, if one did.
    """

    version: Literal[1]
    protocol: str
    processes: Annotated[int, Meta(ge=1, le=1000)]
    choices: tuple[AnyChoice, ...]
    mutant: str | None = None
    quorums: str = MAJORITY
    violates: str | None = None
    switches: Switches = LETTER


class _Named(Struct):
    """The part of a schedule that names its protocol."""

    protocol: str


class ScheduleError(ValueError):
    """A schedule that cannot be executed. The message is one line."""


@cache
def with_switches(kind: type[Switches]) -> Any:
    """Return the type of the schedules whose switches are of this kind, for JSON."""
    named = {"__doc__": Schedule.__doc__}
    return msgspec.defstruct("Schedule", [("switches", kind, kind())], bases=(Schedule,), frozen=True, namespace=named)


def protocol_in(data: bytes) -> str:
    """Return the name of the protocol in a schedule; "" if `data` has none, as `load` says."""
    try:
        return msgspec.json.decode(data, type=_Named).protocol
    except NOT_DECODED:
        return ""


def switches_in(data: bytes) -> type[Switches]:
    """Return the kind of switches that the protocol of a schedule has, as far as `data` names one.

    A protocol of the user's may have switches of its own, too; it is known only if it was imported before.
    """
    name = protocol_in(data)
    try:
        return (PROTOCOLS[name] if name in PROTOCOLS else adapter.find(name)).switches
    except ValueError:
        return Switches  # what is wrong is said by who decodes the schedule, or looks for its protocol


def _as_schedule(decoded: Any) -> Schedule:
    return Schedule(**{name: getattr(decoded, name) for name in Schedule.__struct_fields__})


def dump(schedule: Schedule) -> bytes:
    """Return the JSON form: a header, then one choice a line."""
    head, _, _ = msgspec.json.encode(msgspec.structs.replace(schedule, choices=())).partition(b'"choices":[')
    rest = {
        "mutant": schedule.mutant,
        "quorums": schedule.quorums,
        "violates": schedule.violates,
        "switches": schedule.switches,
    }
    choices = b",\n  ".join(msgspec.json.encode(choice) for choice in schedule.choices)
    return head + b'"choices":[\n  ' + choices + b"\n]," + msgspec.json.encode(rest)[1:] + b"\n"


def load(data: bytes, name: str) -> Schedule:
    """Read the schedule in `data` and validate it. `name` names the file in messages.

    ScheduleError with line and field if it is not valid.
    """
    if len(data) > MAX_BYTES:
        raise ScheduleError(f"{name}: expected a schedule of at most {MAX_BYTES} bytes")
    kind = with_switches(switches_in(data))
    try:
        schedule = _as_schedule(msgspec.json.decode(data, type=kind))
    except NOT_DECODED as error:
        raise ScheduleError(f"{name}{malformed(data, error, kind, 'schedule', SCHEDULE_VERSION)}") from None
    try:
        quorums_of(schedule.quorums, schedule.processes)
    except ValueError as error:
        raise ScheduleError(f"{name}{place_of(data, 'quorums')}: {error}") from None
    check_processes(schedule, data, name)
    return schedule


def check_processes(schedule: Schedule, data: bytes, name: str, place: str = "choices[{}]") -> None:
    """Check that every process that a choice names is one of the schedule's. ScheduleError if not.

    `place` is the path of a choice in the file, with braces for its index.
    """
    for index, choice in enumerate(schedule.choices):
        for field_name in choices.process_fields(type(choice)):
            value = getattr(choice, field_name)
            for process in value if isinstance(value, tuple) else (value,):
                if process > schedule.processes:
                    path = f"{place.format(index)}.{field_name}"
                    raise ScheduleError(
                        f"{name}{place_of(data, path)}: expected a process from 1 to "
                        f"{schedule.processes}, found {process}"
                    )


def check_kinds(schedule: Schedule, kinds: Collection[str], data: bytes, name: str, place: str = "choices[{}]") -> None:
    """Check that `schedule`, which was read from `data`, holds messages of these kinds only; `place` as above.

    ScheduleError with line and field if not. The simulator would skip such a choice like any that is not enabled, but
    in a file it is a mistake.
    """
    for index, choice in enumerate(schedule.choices):
        if isinstance(choice, choices.Hold) and choice.kind not in kinds:
            path = f"{place.format(index)}.kind"
            raise ScheduleError(
                f"{name}{place_of(data, path)}: no message `{choice.kind}` in protocol "
                f"`{schedule.protocol}`; expected one of: {', '.join(kinds)}"
            )
