"""Reads the logs of servers as operators have them: any usual layout, rotated, compressed, several servers in a file.

Layouts: those of ZooKeeper's log4j.properties and logback.xml, of Debian's, Kafka's and Strimzi's packages, and that of
zabcheck's own recordings. Before a line may stand what journald, docker and kubectl put there; the name in it tells
servers apart. A server is known by its myid, where a line has it, else by that name, else by its file.
"""

import gzip
import re
import zlib
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from heapq import merge
from pathlib import Path
from typing import NamedTuple

import msgspec
from msgspec import Struct

from zabcheck.text.files import content, regular
from zabcheck.zookeeper.trace.server_log import MOST_BYTES, AnyLine, Head, LogParser, seconds_of

DEEPEST = 3
"""Levels below a given directory at which logs are looked for."""


class ServerLogError(Exception):
    """A file is no log of a server, or cannot be read. The message is one line."""


class SourceLine(NamedTuple):
    """A line of a file, counted from 1."""

    file: str
    line: int


class OperatorsLog(Struct, frozen=True):
    """The log of one server, in the order of time. `number` of a line is its position in `places`.

    `server` is its myid, None if no line has it; `name` tells it apart from the others then. `missing` are rotated
    files that lie between those given.
    """

    name: str
    server: int | None
    files: tuple[str, ...]
    lines: tuple[AnyLine, ...]
    places: tuple[SourceLine, ...]
    first: int
    last: int
    missing: tuple[str, ...] = ()


_DATE = (
    r"(?P<day>\d{4}-\d\d-\d\d)[T ](?P<clock>\d\d:\d\d:\d\d)(?:[.,](?P<fraction>\d{1,9}))?"
    r"(?P<zone>Z|[+-]\d\d:?\d\d)?"
)
_LEVEL = r"(?P<level>TRACE|DEBUG|INFO|WARN|ERROR|FATAL)"
_SOURCE = r"(?P<source>[\w.$]+)"
_LAYOUTS = tuple(
    map(
        re.compile,
        (
            rf"{_DATE} (?:\[myid:.*?\] )?- {_LEVEL} +\[.*?:{_SOURCE}@[\d?]+\] - ?(?P<message>.*)",
            rf"{_DATE} (?:\[myid:.*?\] )?\[.*?\] +{_LEVEL} +{_SOURCE} +- ?(?P<message>.*)",
            rf"\[?{_DATE}\]? +{_LEVEL} +(?P<message>.*?) \({_SOURCE}\)(?: \[.{{0,300}}\])?$",
        ),
    )
)
_COLOUR = re.compile(r"\x1b\[[\d;]*m")
_PREFIXES = tuple(
    map(
        re.compile,
        (
            r"[A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d(?:\.\d+)? (?P<name>\S+) [^\s:\[]+(?:\[\d+\])?: ?",  # journald
            r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:[.,]\d+)?[+-]\d\d:?\d\d (?P<name>\S+) [^\s:\[]+\[\d+\]: ?",
            r"(?P<name>[\w.-]+) +\| ",  # docker compose
            r"\[pod/(?P<name>[^/\]]+)(?:/[^\]]+)?\] ",  # kubectl logs --prefix
            r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6,9}(?:Z|[+-]\d\d:\d\d) (?:std(?:out|err) [FP] )?",  # with timestamps
        ),
    )
)
_MY_ID = re.compile(r"\bmy ?id ?[:=] ?(\d{1,9})\b", re.IGNORECASE)
_ROTATED = re.compile(r"(?:\.(?P<number>\d{1,3})|[-_.]\d{4}-?\d\d-?\d\d(?:[-_.T]\d+)*)?(?:\.gz)?$")
_NAMED_AS_LOG = re.compile(r"\.(?:log|out|txt)\b")


class _Line(NamedTuple):
    """A line with its time, for which the lines after it that have none count, too."""

    time: int
    place: SourceLine
    head: Head | None
    text: str


class _Stream(Struct):
    """The lines that one source of logs has: a name in front of the lines, or a file with its rotated ones."""

    name: str
    by_file: dict[str, list[_Line]]
    ids: dict[int, None]


def read(paths: Sequence[Path]) -> list[OperatorsLog]:
    """Read logs, or folders with logs, and return one log for each server. O(lines · log files). ServerLogError."""
    streams: dict[str, _Stream] = {}
    for path, is_named in _files(paths):
        if not _read_file(path, streams) and is_named:
            raise ServerLogError(
                f"{path!s}: expected the log of a ZooKeeper server, with time, level and class in each line; "
                "found no such line"
            )
    if not streams:
        raise ServerLogError(f"{paths[0]!s}: expected logs of ZooKeeper servers, found none")
    servers: dict[str | int, list[_Stream]] = defaultdict(list)
    for stream in (part for each in streams.values() for part in _by_id(each)):
        servers[next(iter(stream.ids), stream.name)].append(stream)
    logs = [_server(key, parts) for key, parts in servers.items()]
    return sorted(logs, key=lambda log: (log.server is None, log.server or 0, log.name))


def _files(paths: Sequence[Path]) -> Iterator[tuple[Path, bool]]:
    """Yield each file, and True if it is given by its name."""
    for path in paths:
        if path.is_dir():
            try:
                found = [*_below(path, DEEPEST)]
            except OSError as error:
                raise ServerLogError(f"{error.filename or path!s}: {error.strerror}") from None
            yield from ((each, False) for each in found)
        else:
            yield path, True


def _below(folder: Path, deepest: int) -> Iterator[Path]:
    for each in sorted(folder.iterdir()):
        if each.is_dir() and not each.is_symlink():
            if deepest:
                yield from _below(each, deepest - 1)
        elif _NAMED_AS_LOG.search(each.name):
            yield each


def _text(path: Path) -> str:
    """Return the text of a log, which may be compressed. ServerLogError if it cannot be read, or is too long."""
    try:
        if path.suffix != ".gz":
            return content(path, MOST_BYTES).decode("utf-8", errors="replace")
        with regular(path) as raw, gzip.open(raw) as file:
            data = file.read(MOST_BYTES + 1)
    except (OSError, EOFError, zlib.error) as error:
        raise ServerLogError(f"{path!s}: {getattr(error, 'strerror', None) or error}") from None
    if len(data) > MOST_BYTES:
        raise ServerLogError(f"{path!s}: expected at most {MOST_BYTES:,} bytes")
    return data.decode("utf-8", errors="replace")


def _read_file(path: Path, streams: dict[str, _Stream]) -> bool:
    """Put each line of a file into the stream of its server; return False if no line is one of a log."""
    own = str(path.parent / _ROTATED.sub("", path.name))
    found = False
    times: dict[str, int] = {}
    for number, raw in enumerate(_text(path).removesuffix("\n").split("\n"), start=1):
        name, text = _without_prefix(_COLOUR.sub("", raw.rstrip("\r")))
        key = name or own
        head = _head(text)
        if head is not None:
            found = True
            times[key] = max(head.time, times.get(key, 0))
        elif key not in times:
            continue  # before the first line of this server
        stream = streams.setdefault(key, _Stream(key, {}, {}))
        line = _Line(times[key], SourceLine(str(path), number), head, text)
        stream.by_file.setdefault(str(path), []).append(line)
        if head is not None and (match := _MY_ID.search(text)):
            stream.ids[int(match[1])] = None
    return found


def _without_prefix(raw: str) -> tuple[str, str]:
    """Take off what the tools that collect logs put before a line; return the name in it, or "", and the rest."""
    name = ""
    if raw.startswith("{"):
        with suppress(msgspec.DecodeError, ValueError):
            fields = msgspec.json.decode(raw)
            raw = str(fields.get("log") or fields.get("MESSAGE") or raw).rstrip("\n")
            name = str(fields.get("_HOSTNAME") or "")
    for _ in range(3):
        match = next((match for each in _PREFIXES if (match := each.match(raw))), None)
        if match is None or _LAYOUTS[0].match(raw) or _LAYOUTS[1].match(raw):
            break
        name = match.groupdict().get("name") or name
        raw = raw[match.end() :]
    return name, raw


def _head(text: str) -> Head | None:
    match = next((match for each in _LAYOUTS if (match := each.match(text))), None)
    if match is None:
        return None
    zone = (match["zone"] or "+0000").replace("Z", "+0000").replace(":", "")
    try:
        time = seconds_of(f"{match['day']}T{match['clock']}{zone}")
    except ValueError:
        return None
    time += int((match["fraction"] or "0").ljust(6, "0")[:6])
    return Head(time, match["level"], match["source"].rpartition(".")[2], match["message"])


def _by_id(stream: _Stream) -> Iterable[_Stream]:
    """Split what has the lines of several servers: a line that names none belongs to the server before it."""
    if len(stream.ids) < 2:
        return [stream]
    parts = {server: _Stream(f"{stream.name}, server {server}", {}, {server: None}) for server in stream.ids}
    now = next(iter(stream.ids))
    for file, lines in stream.by_file.items():
        for line in lines:
            if line.head is not None and (match := _MY_ID.search(line.text)):
                now = int(match[1])
            parts[now].by_file.setdefault(file, []).append(line)
    return parts.values()


def _server(key: str | int, parts: Sequence[_Stream]) -> OperatorsLog:
    """Put the files of a server in the order of time. Lines that are in two files, as in a copy, count once."""
    by_file = {file: lines for part in parts for file, lines in part.by_file.items()}
    ordered = merge(*sorted(by_file.values(), key=lambda lines: lines[0].time), key=lambda line: line.time)
    seen: dict[Head, str] = {}
    parser = LogParser(parts[0].name)
    places: list[SourceLine] = []
    is_copy = False
    for line in ordered:
        if line.head is not None:
            is_copy = seen.setdefault(line.head, line.place.file) != line.place.file
        if not is_copy:
            parser.take(len(places), line.head, line.text)
            places.append(line.place)
    times = [each.time for lines in by_file.values() for each in (lines[0], lines[-1])]
    server = key if isinstance(key, int) else None
    return OperatorsLog(
        name=f"server {key}" if server is not None else parts[0].name,
        server=server,
        files=tuple(by_file),
        lines=parser.end().lines,
        places=tuple(places),
        first=min(times),
        last=max(times),
        missing=tuple(_missing(by_file)),
    )


def _missing(files: Iterable[str]) -> Iterator[str]:
    """Name the files of a rotation between those that are given: zookeeper.log.1 beside zookeeper.log and .log.2."""
    numbers: dict[str, list[int]] = defaultdict(list)
    for file in files:
        match = _ROTATED.search(file)
        assert match is not None, "it may be empty"
        if match["number"] or match.start() == len(file):
            numbers[file[: match.start()]].append(int(match["number"] or 0))
    for base, there in numbers.items():
        yield from (f"{base}.{each}" for each in range(min(there), max(there)) if each and each not in there)
