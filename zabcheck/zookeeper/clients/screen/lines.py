"""Decodes lines for columns: paths and owners are matched once, when they get a number, not in each line."""

from msgspec.json import Decoder

from zabcheck.invariants.trace import MAX_LINE, decode_block
from zabcheck.zookeeper.clients import history
from zabcheck.zookeeper.clients.history import (
    NOBODY,
    Answer,
    ClientMessage,
    Connect,
    Connected,
    HistoryEnd,
    HistoryHeader,
    HistoryLine,
    InitialNode,
    Lost,
    Part,
    Request,
    Result,
    Stat,
    WatchEvent,
)


class _Stat(Stat, frozen=True, gc=False):
    ephemeral_owner: str = NOBODY


class UnmatchedPart(Part, frozen=True, kw_only=True, gc=False):
    """A part of a multi, with a path that is not matched yet."""

    path: str


class _Request(Request, frozen=True, kw_only=True, tag="request", gc=False):
    path: str | None = None
    parts: tuple[UnmatchedPart, ...] = ()
    data_watches: tuple[str, ...] = ()
    exist_watches: tuple[str, ...] = ()
    child_watches: tuple[str, ...] = ()
    persistent_watches: tuple[str, ...] = ()
    recursive_watches: tuple[str, ...] = ()


class UnmatchedResult(Result, frozen=True, kw_only=True, gc=False):
    """The result of a part, with a path and an owner that are not matched yet."""

    path: str | None = None
    stat: _Stat | None = None


class _Answer(Answer, frozen=True, kw_only=True, tag="answer", gc=False):
    path: str | None = None
    stat: _Stat | None = None
    results: tuple[UnmatchedResult, ...] = ()


class _WatchEvent(WatchEvent, frozen=True, kw_only=True, tag="event", gc=False):
    path: str


_Line = (
    HistoryHeader
    | InitialNode
    | Connect
    | Connected
    | _Request
    | _Answer
    | _WatchEvent
    | Lost
    | ClientMessage
    | HistoryEnd
)
_DECODER: Decoder[HistoryLine] = Decoder(_Line)


def decoded_lines(block: bytes, name: str, before: int) -> list[HistoryLine]:
    """Decode lines as `history.decoded_lines` does, except that `Gathering` has to match paths and owners."""
    lines = decode_block(_DECODER, block) if len(block) <= MAX_LINE else None
    return history.decoded_lines(block, name, before) if lines is None else lines
