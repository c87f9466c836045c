"""Histories of clients on disk: JSON Lines, a `HistoryHeader` first and an `HistoryEnd` last.

    {"record":"header","version":1,"initial":"empty"}
    {"record":"connect","client":1,"connection":1,"session":"0x0","timeout":4000}
    {"record":"connected","client":1,"connection":1,"session":"0x1","timeout":4000}
    {"record":"request","client":1,"connection":1,"xid":1,"op":"setData","path":"/a","data":"x"}
    {"record":"answer","client":1,"connection":1,"xid":1,"zxid":5,"stat":{"czxid":2,"mzxid":5,"pzxid":2,"version":1}}
    {"record":"end","count":4}

Only the order of the records of one session counts, over all its connections: requests as they were sent, answers and
events as they came. Those of several sessions may be mixed in any way. Every line is validated; a fault is reported
with file, line, field, and the expected value.
"""

import zlib
from base64 import b64decode
from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache
from io import BytesIO
from itertools import chain
from typing import Annotated, BinaryIO, Literal, NamedTuple

import msgspec
from msgspec import Meta, Struct

from zabcheck.invariants.diagnosis import NOT_DECODED, foreign, why_no_line
from zabcheck.invariants.trace import BLOCK, MAX_LINE, decode_block
from zabcheck.zookeeper.wire.client import EventType

HISTORY_VERSION = 1
NOBODY = "0x0"
"""The session that a client asks for when it has none, and that it is given when its own has ended."""

Zxid = Annotated[int, Meta(ge=-1, le=(1 << 63) - 1)]
"""The packed number of a transaction; 0 and -1 stand for none."""
SESSION = "^0x[0-9a-f]{1,16}$"
Session = Annotated[str, Meta(pattern=SESSION, description="a session such as 0x1a, or 0x0 for none")]
Number = Annotated[int, Meta(ge=-1 << 63, le=(1 << 63) - 1)]
Count = Annotated[int, Meta(ge=0, le=(1 << 63) - 1)]
LATEST = (1 << 62) - 1
"""The highest time: another can be added to it in 64 bits."""
Nanoseconds = Annotated[int, Meta(ge=0, le=LATEST)]
PATH = "^/([^/]+(/[^/]+)*)?$"
Path = Annotated[str, Meta(pattern=PATH, description="a path such as /a/b")]
Digest = Annotated[str, Meta(pattern="^(crc32|xxh3):[0-9a-f]+$", description="a digest such as crc32:1a2b3c4d")]
ERROR = "^([A-Z][A-Za-z]*[a-z][A-Za-z]*|error -?[0-9]+)?$"
Error = Annotated[str, Meta(pattern=ERROR, description="an error such as NoNode, or nothing for what was done")]

OperationName = Literal[
    "create", "delete", "exists", "getData", "setData", "getACL", "setACL", "getChildren", "sync", "ping", "check",
    "multi", "multiRead", "addWatch", "removeWatches", "setWatches", "auth", "reconfig", "closeSession", "other",
    "txn", "append",
]  # fmt: skip


class HistoryError(ValueError):
    """A file is not a history of this version. The message has its name, the line, the field and the expected value."""


class Content(NamedTuple):
    """A node's data, as a digest (`crc32:` or `xxh3:` and hex digits) and its length in bytes."""

    digest: str
    length: int

    def differs(self, other: "Content | None") -> bool:
        """Return True if this is known to be other data: digests of two kinds cannot be compared."""
        if other is None:
            return False
        alike = self.digest.partition(":")[0] == other.digest.partition(":")[0]
        return self.length != other.length or (alike and self.digest != other.digest)


class Line(
    Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True, tag_field="record", rename="camel", gc=False
):
    """Base of all lines. None is part of a cycle, so the garbage collector need not track them."""


class Data(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True, gc=False):
    """Data of a node that is not text: as base64, or as a digest with the length in bytes."""

    base64: str | None = None
    digest: Digest | None = None
    length: Count | None = None

    def __post_init__(self) -> None:
        """Raise ValueError if it is incomplete; a decoder adds the field."""
        if self.base64 is not None:
            b64decode(self.base64, validate=True)
        elif self.digest is None or self.length is None:
            raise ValueError("expected text, `base64`, or a `digest` and the `length` in bytes")


@lru_cache(maxsize=1 << 16)
def content_of(data: str | Data | None) -> Content | None:
    """Return the content of a field `data`; None if there is none."""
    if data is None:
        return None
    if isinstance(data, str):
        return _digested(data.encode())
    if data.base64 is not None:
        return _digested(b64decode(data.base64))
    assert data.digest is not None
    assert data.length is not None
    return Content(data.digest, data.length)


def _digested(raw: bytes) -> Content:
    return Content(f"crc32:{zlib.crc32(raw):08x}", len(raw))


class Stat(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True, rename="camel", gc=False):
    """A node's counters (Programmer's Guide, ZooKeeper Stat Structure). Times are in ms since 1970."""

    czxid: Count
    mzxid: Count
    pzxid: Count
    version: Number
    cversion: Number | None = None
    aversion: Number | None = None
    ctime: Number | None = None
    mtime: Number | None = None
    ephemeral_owner: Session = NOBODY
    data_length: Count | None = None
    num_children: Count | None = None


class HistoryHeader(Line, frozen=True, tag="header"):
    """The first line.

    All writers below the paths in `complete` are recorded. `clock_error` and `bound` are in ns, `tick` is in ms. A read
    has to show each write that was answered more than `bound` before its own answer.
    """

    version: Annotated[int, Meta(ge=1, le=HISTORY_VERSION)]
    service: str = ""
    profile: Literal["zookeeper", "protocol"] = "zookeeper"
    clock: Literal["one", "per-host", "none"] = "none"
    clock_error: Nanoseconds = 0
    bound: Nanoseconds | None = None
    complete: tuple[Path, ...] = ()
    initial: Literal["empty", "given", "unknown"] = "unknown"
    tick: Count = 2000
    values: Literal["unique", "any"] = "any"


class InitialNode(Line, frozen=True, kw_only=True, tag="node"):
    """A node of the tree at the start, as of `zxid`."""

    path: Path
    zxid: Zxid
    stat: Stat
    data: str | Data | None = None


class Record(Line, frozen=True, kw_only=True):
    """Base of the lines of a connection. `time` is in ns, from any start, and never goes back on a connection."""

    client: Count
    connection: Count
    time: Nanoseconds | None = None


class Connect(Record, frozen=True, kw_only=True, tag="connect"):
    """A client connects to `server` and asks for a session, of which it has `seen` this zxid; `timeout` is in ms."""

    session: Session
    server: str | None = None
    seen: Zxid = 0
    timeout: Count = 0


class Connected(Record, frozen=True, kw_only=True, tag="connected"):
    """The answer to `connect`: the session that the client has now, `NOBODY` if it has expired; `timeout` is in ms."""

    session: Session
    timeout: Count = 0
    read_only: bool = False
    local: bool = False


class Part(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True, rename="camel", gc=False):
    """A request within a multi; its fields are those of a `Request`."""

    op: OperationName
    path: Path
    data: str | Data | None = None
    version: Number = -1
    mode: tuple[Literal["sequential", "ephemeral", "container", "ttl"], ...] = ()
    ttl: Count = 0
    restricted: bool = False


class Request(Record, frozen=True, kw_only=True, tag="request"):
    """A request as it was sent. `relative` and the lists are those of setWatches, `watch` also the mode of addWatch.

    It is `restricted` if it sets permissions that do not let everybody read the node. Only Jepsen has a set that
    `expects` data, and is done only if the node has it, and a `txn`, which appends to lists and reads them.
    """

    xid: Number
    op: OperationName
    path: Path | None = None
    data: str | Data | None = None
    version: Number = -1
    mode: tuple[Literal["sequential", "ephemeral", "container", "ttl"], ...] = ()
    ttl: Count = 0
    watch: Literal["", "standard", "persistent", "recursive", "data", "children", "any"] = ""
    parts: tuple[Part, ...] = ()
    relative: Zxid = 0
    data_watches: tuple[Path, ...] = ()
    exist_watches: tuple[Path, ...] = ()
    child_watches: tuple[Path, ...] = ()
    persistent_watches: tuple[Path, ...] = ()
    recursive_watches: tuple[Path, ...] = ()
    restricted: bool = False
    expects: str | Data | None = None


class Result(
    Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True, rename="camel", gc=False
):
    """The result of a part of a multi: an error, or the answer to such a request."""

    error: Error = ""
    path: Path | None = None
    stat: Stat | None = None
    data: str | Data | None = None
    children: tuple[str, ...] | None = None


class Answer(Record, frozen=True, kw_only=True, tag="answer"):
    """The answer to request `xid`; `error` is "" if it was done. A `stray` answer has no request on its connection."""

    xid: Number
    zxid: Zxid = 0
    error: Error = ""
    path: Path | None = None
    stat: Stat | None = None
    data: str | Data | None = None
    children: tuple[str, ...] | None = None
    results: tuple[Result, ...] = ()
    stray: bool = False


class WatchEvent(Record, frozen=True, kw_only=True, tag="event"):
    """An event of a watch."""

    type: EventType
    path: Path
    zxid: Zxid = -1


class Lost(Record, frozen=True, kw_only=True, tag="lost"):
    """The end of a connection. Nobody knows whether its open requests were done."""

    why: str = ""


class ClientMessage(Line, frozen=True, kw_only=True, tag="told"):
    """A message from one client to another, after answer `after`, and before the other sent request `before`."""

    from_: Count = msgspec.field(name="from")
    to: Count
    after: Number
    before: Number


class HistoryEnd(Line, frozen=True, tag="end"):
    """The last line; `count` is the number of lines between header and end."""

    count: Count


HistoryLine = (
    HistoryHeader
    | InitialNode
    | Connect
    | Connected
    | Request
    | Answer
    | WatchEvent
    | Lost
    | ClientMessage
    | HistoryEnd
)
_DECODER: msgspec.json.Decoder[HistoryLine] = msgspec.json.Decoder(HistoryLine)
_encode = msgspec.json.Encoder().encode


Decode = Callable[[bytes, str, int], list[HistoryLine]]
"""Decodes lines, as `decoded_lines` does."""


def dump(lines: Iterable[HistoryLine]) -> Iterator[bytes]:
    """Yield the lines of a history, each with its line feed."""
    for line in lines:
        yield _encode(line) + b"\n"


class HistoryFile:
    """A history that is written line by line. It is complete only after `close`, which writes `end`."""

    def __init__(self, target: BinaryIO) -> None:
        self._target = target
        self._count = -1

    def write(self, line: HistoryLine) -> None:
        """Write a line, the first of which is the header."""
        self._target.write(_encode(line) + b"\n")
        self._count += 1

    def close(self) -> None:
        """Write the end."""
        self._target.write(_encode(HistoryEnd(count=self._count)) + b"\n")


def load(source: BinaryIO, name: str) -> Iterator[HistoryLine]:
    """Yield the lines of a file, header and end included, each valid by itself; `name` is for messages.

    HistoryError, with name, line and field, for a file that is not a history. A missing end is not an error.
    """
    return chain.from_iterable(blocks(source, name))


def blocks(source: BinaryIO, name: str, decode: Decode | None = None) -> Iterator[list[HistoryLine]]:
    """Yield the lines in lists, one for each block that is read. HistoryError as for `load`."""
    decode = decode or decoded_lines
    number = 0
    while block := source.read(BLOCK):
        if not block.endswith(b"\n"):
            block += source.readline(MAX_LINE + 1)
        lines = decode(block, name, number)
        number += len(lines)
        yield lines
    if not number:
        raise HistoryError(f"{name}, line 1: expected a header, the file is empty")


def blocks_within(
    source: BinaryIO, name: str, begin: int, end: int, decode: Decode | None = None
) -> Iterator[list[HistoryLine]]:
    """Yield the lines that start at byte `begin` of a file or later, and before byte `end`, in lists as `blocks` does.

    HistoryError, with the number of the line counted from `begin`, for anything that is not a line of a history.
    """
    decode = decode or decoded_lines
    source.seek(max(0, begin - 1))
    if begin:
        source.readline()
    number, place = 0, source.tell()
    while place < end and (block := source.read(min(BLOCK, end - place))):
        if not block.endswith(b"\n"):
            block += source.readline(MAX_LINE + 1)
        place += len(block)
        lines = decode(block, name, number)
        number += len(lines)
        yield lines


def decoded_lines(block: bytes, name: str, before: int) -> list[HistoryLine]:
    """Decode a block of lines that follows `before` others. HistoryError, with line and field, at the first bad one."""
    lines = decode_block(_DECODER, block) if len(block) <= MAX_LINE else None
    if lines is not None:
        return lines
    return [_decoded(line, name, number) for number, line in enumerate(BytesIO(block), before + 1)]


def _decoded(raw: bytes, name: str, number: int) -> HistoryLine:
    if len(raw) > MAX_LINE:
        raise HistoryError(f"{name}, line {number}: expected at most {MAX_LINE} bytes in a line")
    try:
        return _DECODER.decode(raw)
    except NOT_DECODED as error:
        other = foreign(raw) if number == 1 else None
        why = f": expected {other}" if other is not None else why_no_line(error, raw, HistoryLine)
        raise HistoryError(f"{name}, line {number}{why}") from None
