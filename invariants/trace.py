"""Traces on disk: JSON Lines, one event a line, a `Header` first and an `End` last.

    {"event":"header","version":1,"processes":3,"protocol":"zab"}
    {"event":"broadcast","process":1,"incarnation":0,"epoch":1,"txn":{"zxid":[1,1],"value":"x"}}
    {"event":"deliver","process":1,"incarnation":0,"txn":{"zxid":[1,1],"value":"x"}}
    {"event":"end","count":2}

Every line is validated; a fault is reported with file, line, field, and the expected value.

The logs of several processes need not be merged into one file first: `merge` reads them side by side, as one trace.
"""

from collections.abc import Collection, Iterable, Iterator, Sequence
from heapq import heappop, heappush
from io import BytesIO
from typing import BinaryIO, TypeVar, get_args

import msgspec
from msgspec.structs import replace

from zabcheck.invariants.diagnosis import NOT_DECODED, foreign, is_nested_too_deeply, why_no_line
from zabcheck.invariants.events import (
    TRACE_VERSION,
    AnyEvent,
    Broadcast,
    End,
    Event,
    Header,
    Local,
    Restore,
    Stabilised,
    TraceError,
)
from zabcheck.invariants.quorums import MAJORITY, Configuration, Quorums, quorums_of

MAX_LINE = 16 * 1024 * 1024
"""The longest line that is read, in bytes. A longer one is no event, and must not fill the memory."""

BLOCK = 2 * 1024 * 1024
"""Bytes that are read at once, where lines are not read one by one."""

T = TypeVar("T")

Line = AnyEvent | Header | End
"""A line of a trace."""

_DECODER: msgspec.json.Decoder[Event] = msgspec.json.Decoder(Line)
_encode = msgspec.json.Encoder().encode
_decode_fields = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode
_FIELDS = frozenset([each.encode_name for kind in get_args(Line) for each in msgspec.structs.fields(kind)] + ["event"])
"""The names of the fields of all lines."""


def dump(events: Iterable[Event]) -> Iterator[bytes]:
    """Yield the lines of a trace, each with its line feed. `events` includes header and end."""
    for event in events:
        yield _encode(event) + b"\n"


def load(source: BinaryIO, name: str) -> Iterator[Event]:
    """Yield the events of a trace file, header and end included, validated; `name` is for messages.

    TraceError, with name, line and field, for anything that is not a trace of this version. A missing end is not an
    error (the verdict is then inconclusive), but a last line that is cut off is.
    """
    empty = True
    for event in in_form(_lines(source, name), name):
        empty = False
        yield event
    if empty:
        raise TraceError(f"{name}, line 1: expected a header, the file is empty")


def _lines(source: BinaryIO, name: str) -> Iterator[Event]:
    """Decode each line by itself, without the fields that the header says to ignore."""
    number = 0
    ignored: Collection[str] = ()
    while line := source.readline(MAX_LINE + 1):
        number += 1
        if len(line) > MAX_LINE:
            raise TraceError(f"{name}, line {number}: expected at most {MAX_LINE} bytes in a line")
        if ignored:
            line = without(line, ignored)
        event = _event(line, name, number)
        if number == 1 and isinstance(event, Header) and event.ignores:
            ignored = ignored_fields(event.ignores, name)
        yield event


def decode_block(decoder: msgspec.json.Decoder[T], data: bytes) -> list[T] | None:
    """Decode lines; None if one of them is not, or may not be, an object of its own that the decoder takes."""
    try:
        lines = decoder.decode_lines(data)
    except NOT_DECODED:
        return None
    # The decoder looks for objects. Each line has one if there are as many as lines, and each line feed is between two.
    between = data.count(b"}\n{") + (data.count(b"}\r\n{") if b"\r" in data else 0)
    return lines if len(lines) == between + 1 == data.count(b"\n") and data.startswith(b"{") else None


def ignored_fields(names: Collection[str], name: str) -> Collection[str]:
    """Return the names of the fields that a header says to ignore. TraceError if an event has one of them."""
    for each in names:
        if each in _FIELDS:
            raise TraceError(f"{name}, line 1, field `ignores`: expected names of no field of an event, found `{each}`")
    return frozenset(names)


def without(line: bytes, ignored: Collection[str]) -> bytes:
    """Return a line without these fields; as it is if it is no JSON object."""
    try:
        fields = _decode_fields(line)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return line
    left = {field: value for field, value in fields.items() if field not in ignored}
    return line if len(left) == len(fields) else _encode(left) + b"\n"


def in_form(lines: Iterable[Event], name: str) -> Iterator[Event]:
    """Yield the lines, each valid by itself, while they make one trace; TraceError at the first that does not.

    So the header comes first, an end last, and no line contradicts the header.
    """
    header: Header | None = None
    ended = False
    for number, event in enumerate(lines, 1):
        if header is None:
            if not isinstance(event, Header):
                raise TraceError(f"{name}, line 1, field `event`: expected `header`, found `{_tag(event)}`")
            header = event
            if is_nested_too_deeply(header.schedule):
                raise TraceError(f"{name}, line 1, field `schedule`: nested too deeply")
            quorums = _quorums(header, name)
        elif ended:
            raise TraceError(f"{name}, line {number}: expected nothing after `end`")
        elif isinstance(event, Header):
            raise TraceError(f"{name}, line {number}, field `event`: a second header")
        elif isinstance(event, Local):
            if event.process > header.processes:
                raise TraceError(
                    f"{name}, line {number}, field `process`: expected 1 to {header.processes}, found {event.process}"
                )
            if isinstance(event, Stabilised) and (wrong := wrong_quorum(event, quorums)):
                raise TraceError(f"{name}, line {number}, field `quorum`: {wrong}")
        elif isinstance(event, End):
            ended = True
            if event.count != number - 2:
                raise TraceError(
                    f"{name}, line {number}, field `count`: expected {number - 2}, the number of events, "
                    f"found {event.count}"
                )
        yield event


def loads(data: bytes, name: str = "trace") -> list[Event]:
    """Return the events of a trace held in memory; see `load`."""
    return list(load(BytesIO(data), name))


def decode(line: bytes, name: str, number: int) -> Event:
    """Decode and validate one line of a trace; `name` and `number`, from 1, are for messages. May raise TraceError."""
    if len(line) > MAX_LINE:
        raise TraceError(f"{name}, line {number}: expected at most {MAX_LINE} bytes in a line")
    return _event(line, name, number)


class Reader:
    """A trace file while it is read: its events (see `load`), and the line of the last one."""

    def __init__(self, source: BinaryIO, name: str) -> None:
        self.source = source
        self.name = name
        self.line = 0

    def __iter__(self) -> Iterator[Event]:
        for event in load(self.source, self.name):
            self.line += 1
            yield event

    def find(self, events: Iterable[Event]) -> dict[Event, int]:
        """Return, by event, the first line from here on that holds it; an event that no line holds is left out.

        O(size of the file) time, O(events) memory. TraceError as from `load`.
        """
        wanted = set(events)
        kinds = {type(event) for event in wanted}
        lines: dict[Event, int] = {}
        for event in self if wanted else ():
            # A header cannot be hashed: it may hold a schedule.
            if type(event) in kinds and event in wanted:
                lines[event] = self.line
                wanted.remove(event)
                if not wanted:
                    break
        return lines


class Merged:
    """Reads several files, each with the events of some processes, as one trace; see `merge`.

    `name` and `line` are the place of the last event.
    """

    def __init__(self, readers: Iterable[Reader]) -> None:
        self.readers = list(readers)
        self._at = self.readers[0] if self.readers else None
        self._home: dict[int, tuple[Reader, int]] = {}  # process: the place of its first event

    @property
    def name(self) -> str:
        return self._at.name if self._at else "nothing"

    @property
    def line(self) -> int:
        return self._at.line if self._at else 0

    def __iter__(self) -> Iterator[Event]:
        sources = [iter(reader) for reader in self.readers]
        yield _common_header([(reader, next(events)) for reader, events in zip(self.readers, sources, strict=True)])
        queue: list[_Turn] = []
        for index, events in enumerate(sources):
            self._take(queue, index, events, (0, 0))
        count, complete = 0, True
        while queue:
            progress, _, _, index, event = heappop(queue)
            reader = self.readers[index]
            if isinstance(event, End):
                complete &= event.complete
                continue
            self._at = reader
            count += 1
            yield event
            self._take(queue, index, sources[index], progress)
        yield End(count, complete)

    def _take(self, queue: "list[_Turn]", index: int, events: Iterator[Event], progress: tuple[int, int]) -> None:
        """Let the next event of a file wait for its turn. A file that is cut off has an end that is not complete."""
        event = next(events, _CUT_OFF)
        process = 0
        if isinstance(event, Local):
            process = event.process
            self._settle(self.readers[index], process)
        heappush(queue, (max(progress, _progress(event)), _rank(event), process, index, event))

    def _settle(self, reader: Reader, process: int) -> None:
        home, line = self._home.setdefault(process, (reader, reader.line))
        if home is not reader:
            raise TraceError(
                f"{reader.name}, line {reader.line}, field `process`: expected all events of process {process} in one "
                f"file, found some in {home.name}, line {line}"
            )


_CUT_OFF = End(0, complete=False)
_Turn = tuple[tuple[int, int], int, int, int, Event]
"""The next event of a file, behind the key of its turn: progress, rank, process, file."""


def merge(sources: Iterable[tuple[BinaryIO, str]]) -> Iterator[Event]:
    """Yield the one trace of several files, as `load` gives one; each file comes with its name.

    Each is a trace of its own, with header and end, of order "per-process"; their headers agree, and the events of one
    process are in one file. TraceError otherwise. The trace is complete if each file is.

    The verdicts and their witnesses are the same for every order that keeps the order within each file. This one lets
    the file come next that is behind the others, by the highest zxid that it has shown; for one zxid the broadcast
    comes first, and a snapshot last. So an event that follows a broadcast or completes a snapshot seldom comes before
    it: the judge need not keep it waiting, and sees a violation early. The order of `sources` does not change it,
    unless events that belong to no process tie. Memory: one event a file. Cost: O(log files) an event.
    """
    return iter(Merged(Reader(source, name) for source, name in sources))


def _progress(event: Event) -> tuple[int, int]:
    """Return the zxid of an event; (0, 0) if it has none."""
    txn = getattr(event, "txn", None)
    zxid = getattr(event, "zxid", None) if txn is None else txn.zxid
    return (0, 0) if zxid is None else (zxid.epoch, zxid.counter)


def _rank(event: Event) -> int:
    """Return the rank of an event among those of one zxid, the least first."""
    return 0 if isinstance(event, Broadcast) else 2 if isinstance(event, Restore) else 1


def _common_header(found: Sequence[tuple[Reader, Event]]) -> Header:
    """Return the header of all files together. TraceError for the first that is not like the others."""
    if not found:
        raise TraceError("expected a trace at least, found nothing to merge")
    first, common = found[0]
    assert isinstance(common, Header)
    for reader, header in found:
        assert isinstance(header, Header)
        if header.order != "per-process":
            raise TraceError(
                f"{reader.name}, line 1, field `order`: expected `per-process` in a file that is merged with others, "
                f"found `{header.order}`"
            )
        for field in ("version", "processes", "protocol", "quorums"):
            expected, value = getattr(common, field), getattr(header, field)
            if value != expected:
                raise TraceError(
                    f"{reader.name}, line 1, field `{field}`: expected `{expected}` as in {first.name}, line 1, "
                    f"found `{value}`"
                )
    return replace(common, schedule=None)


def _event(line: bytes, name: str, number: int) -> Event:
    try:
        return _DECODER.decode(line)
    except NOT_DECODED as error:
        raise TraceError(f"{name}, line {number}{_reason(error, line, number)}") from None


def _quorums(header: Header, name: str) -> Quorums:
    try:
        return quorums_of(header.quorums, header.processes)
    except ValueError as error:
        raise TraceError(f"{name}, line 1, field `quorums`: {error}") from None


def wrong_quorum(event: Stabilised, quorums: Quorums) -> str | None:
    """Return the fault of the quorum of `event`; None if it has none, or takes a promise back.

    Where configurations change, its members need not be a quorum of the first one.
    """
    if not event.quorum:
        return None
    members = set(event.quorum)
    beyond = next((member for member in event.quorum if member > quorums.size), None)
    if beyond is not None:
        return f"expected processes from 1 to {quorums.size}, found {beyond}"
    if event.process not in members:
        return f"expected process {event.process} among its members, found it missing"
    if isinstance(quorums, Configuration) or quorums.contains(members):
        return None
    if quorums.name == MAJORITY:
        return f"expected a majority of {quorums.size} processes, found {len(members)}"
    return f"expected a quorum of `{quorums.name}`, found {len(members)} processes that are none"


def _reason(error: Exception, line: bytes, number: int) -> str:
    """Return the reason of an error, with the name of the faulty field if it is known."""
    if number == 1 and (found := foreign(line)):
        return f": expected {found}"
    if number == 1 and b'"choices"' in line:
        return ": expected a trace, this looks like a schedule"
    message = str(error)
    if number == 1 and isinstance(error, msgspec.ValidationError) and message.endswith(" - at `$.version`"):
        return f", field `version`: expected {TRACE_VERSION}"
    return why_no_line(error, line, Line)


def _tag(event: Event) -> str:
    return str(event.__struct_config__.tag)


__all__ = ["MAX_LINE", "Merged", "Reader", "decode", "dump", "load", "loads", "merge"]
