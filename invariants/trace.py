"""Traces on disk: JSON Lines, one event a line, a `Header` first and an `End` last.

    {"event":"header","version":1,"processes":3,"protocol":"zab"}
    {"event":"broadcast","process":1,"incarnation":0,"epoch":1,"txn":{"zxid":[1,1],"value":"x"}}
    {"event":"deliver","process":1,"incarnation":0,"txn":{"zxid":[1,1],"value":"x"}}
    {"event":"end","count":2}

Every line is validated; what is wrong is reported as file, line, field, and what was expected.
"""

import re
from collections.abc import Iterable, Iterator
from io import BytesIO
from typing import BinaryIO

import msgspec

from invariants.events import TRACE_VERSION, AnyEvent, End, Event, Header, Local, TraceError

MAX_LINE = 16 * 1024 * 1024
"""The longest line that is read, in bytes. A longer one is no event, and must not fill the memory."""

_DECODER: msgspec.json.Decoder[Event] = msgspec.json.Decoder(AnyEvent | Header | End)
_encode = msgspec.json.Encoder().encode
_PATH = re.compile(r" - at `\$\.?(.*)`$")


def dump(events: Iterable[Event]) -> Iterator[bytes]:
    """The lines of a trace, each with its line feed. `events` includes header and end."""
    for event in events:
        yield _encode(event) + b"\n"


def load(source: BinaryIO, name: str) -> Iterator[Event]:
    """The events of a trace file, header and end included, validated; `name` is for messages.

    TraceError, with name, line and field, for anything that is not a trace of this version. A missing end is not an
    error (the verdict is then inconclusive), but a last line that is cut off is.
    """
    number = 0
    processes = 0
    ended = False
    while line := source.readline(MAX_LINE + 1):
        number += 1
        if len(line) > MAX_LINE:
            raise TraceError(f"{name}, line {number}: expected at most {MAX_LINE} bytes in a line")
        event = _event(line, name, number)
        if number == 1:
            if not isinstance(event, Header):
                raise TraceError(f"{name}, line 1, field `event`: expected `header`, found `{_tag(event)}`")
            processes = event.processes
        elif ended:
            raise TraceError(f"{name}, line {number}: expected nothing after `end`")
        elif isinstance(event, Header):
            raise TraceError(f"{name}, line {number}, field `event`: a second header")
        elif isinstance(event, Local):
            if event.process > processes:
                raise TraceError(
                    f"{name}, line {number}, field `process`: expected 1 to {processes}, found {event.process}"
                )
        elif isinstance(event, End):
            ended = True
            if event.count != number - 2:
                raise TraceError(
                    f"{name}, line {number}, field `count`: expected {number - 2}, the number of events, "
                    f"found {event.count}"
                )
        yield event
    if not number:
        raise TraceError(f"{name}, line 1: expected a header, the file is empty")


def loads(data: bytes, name: str = "trace") -> list[Event]:
    """The events of a trace held in memory; see `load`."""
    return list(load(BytesIO(data), name))


def _event(line: bytes, name: str, number: int) -> Event:
    try:
        return _DECODER.decode(line)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise TraceError(f"{name}, line {number}{_reason(error, line, number)}") from None


def _reason(error: Exception, line: bytes, number: int) -> str:
    """Which field it is, if one can be named, and what is wrong."""
    if number == 1 and b'"choices"' in line:
        return ": expected a trace, this looks like a schedule"
    if isinstance(error, RecursionError):
        return ": nested too deeply"
    if not isinstance(error, msgspec.ValidationError):
        whole = "" if line.endswith(b"\n") else " (the line is cut off)"
        return f": expected a JSON object, {error}{whole}"
    message = str(error)
    field = _PATH.search(message)
    if number == 1 and field and field.group(1) == "version":
        return f", field `version`: expected {TRACE_VERSION}"
    where = f", field `{field.group(1)}`" if field and field.group(1) else ""
    return f"{where}: {_PATH.sub('', message)}"


def _tag(event: Event) -> str:
    return str(event.__struct_config__.tag)


__all__ = ["MAX_LINE", "dump", "load", "loads"]
