"""A schedule: the environment's choices, in order, and its JSON form: reading, writing, validating.

A choice that is not enabled when its turn comes is skipped, so every sub-sequence of a schedule is a schedule. That
is what makes shrinking work. `choices` has all kinds of choices.

A schedule is the lasting form of a run: a seed means the same run only with the same version of zabcheck and of
Hypothesis. `Simulator.executed` lists the fine choices of a run, so a saved schedule consists of fine choices only.
"""

import re
from collections.abc import Collection
from contextlib import suppress
from functools import cache
from json import JSONDecoder
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta, Struct

from zabcheck.invariants.diagnosis import NOT_DECODED, foreign, message_and_path, why_not_decoded, with_alternatives
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
        raise ScheduleError(f"{name}{malformed(data, error, kind)}") from None
    try:
        quorums_of(schedule.quorums, schedule.processes)
    except ValueError as error:
        raise ScheduleError(f"{name}{line_of(data, 'quorums')}, field `quorums`: {error}") from None
    check_processes(schedule, data, name)
    return schedule


def malformed(data: bytes, error: Exception, kind: Any, what: str = "schedule", version: int = SCHEDULE_VERSION) -> str:
    """Return why `data` is no `what` of this type, with its place: ", line 3: expected …"."""
    if data.lstrip().startswith(b'{"event"'):
        return f": expected a {what}, this looks like a trace"
    if found := foreign(data):
        return f": expected {found}"
    if not data.strip():
        return f", line 1: expected a {what}, the file is empty"
    if not isinstance(error, msgspec.ValidationError):
        return f"{_place(data, error)}: expected a {what} as one JSON object, {why_not_decoded(error)}"
    message, path = message_and_path(error)
    if path in ("version", what):
        return f"{line_of(data, path)}, field `{path}`: expected {version}"
    where = f", field `{path}`" if path else ""
    return f"{line_of(data, path)}{where}: {with_alternatives(message, path, kind)}"


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
                        f"{name}{line_of(data, path)}, field `{path}`: expected a process from 1 to "
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
                f"{name}{line_of(data, path)}, field `{path}`: no message `{choice.kind}` in protocol "
                f"`{schedule.protocol}`; expected one of: {', '.join(kinds)}"
            )


def _place(data: bytes, error: Exception) -> str:
    """Return the line at which the JSON is wrong, ", line 3"; empty if `error` does not have it.

    That is the line of the offending byte, or the last line if the data ends too early.
    """
    byte = re.search(r"\(byte (\d+)\)$", str(error))
    if byte is None and "truncated" not in str(error):
        return ""
    before = data[: int(byte.group(1))] if byte else data.rstrip()
    lines = before.count(b"\n") + 1
    return f", line {lines}"


def line_of(data: bytes, path: str) -> str:
    """Return the line of the value at `path`, such as `choices[3].process`, in a file of JSON: ", line 3".

    If there is no such value, it is the line of the innermost one around it that there is. "" if the file is one line,
    or if it has nothing of the path. Cost: O(the file up to there).
    """
    text = data.decode(errors="replace").rstrip()
    start = at = _after_space(text, 0)
    with suppress(ValueError, IndexError, RecursionError):
        for part in re.findall(r"[^.\[\]]+", path):
            at = _value_in(text, at, part)
    return f", line {text.count(chr(10), 0, at) + 1}" if at > start and chr(10) in text else ""


def _value_in(text: str, at: int, part: str) -> int:
    """Return where the field, or the item, called `part` begins in the object or array that begins at `at`.

    ValueError or IndexError if there is none.
    """
    is_object, index = text[at] == "{", 0
    while text[at] not in "]}":
        at = _after_space(text, at + 1)
        key = str(index)
        if is_object:
            key, at = _JSON.raw_decode(text, at)
            at = _after_space(text, _after_space(text, at) + 1)
        if key == part:
            return at
        _, at = _JSON.raw_decode(text, at)
        at, index = _after_space(text, at), index + 1
    raise ValueError(part)


_JSON = JSONDecoder()


def _after_space(text: str, at: int) -> int:
    while text[at : at + 1].isspace():
        at += 1
    return at
