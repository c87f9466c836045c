"""Decodes lines for columns: a string that has a number there is matched when it is numbered, not in each line."""

from msgspec.json import Decoder

from zabcheck.invariants.trace import MAX_LINE, decode_block
from zabcheck.zookeeper.clients import history
from zabcheck.zookeeper.clients.history import (
    NOBODY,
    Answer,
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
    Told,
    WatchEvent,
)


class _Stat(Stat, frozen=True, gc=False):
    ephemeral_owner: str = NOBODY


class _Part(Part, frozen=True, kw_only=True, gc=False):
    path: str


class _Request(Request, frozen=True, kw_only=True, tag="request", gc=False):
    path: str | None = None
    parts: tuple[_Part, ...] = ()


class _Result(Result, frozen=True, kw_only=True, gc=False):
    path: str | None = None
    stat: _Stat | None = None


class _Answer(Answer, frozen=True, kw_only=True, tag="answer", gc=False):
    path: str | None = None
    stat: _Stat | None = None
    results: tuple[_Result, ...] = ()


class _WatchEvent(WatchEvent, frozen=True, kw_only=True, tag="event", gc=False):
    path: str


_Line = HistoryHeader | InitialNode | Connect | Connected | _Request | _Answer | _WatchEvent | Lost | Told | HistoryEnd
_DECODER: Decoder[HistoryLine] = Decoder(_Line)


def decoded_lines(block: bytes, name: str, before: int) -> list[HistoryLine]:
    """Decode lines as `history.decoded_lines` does, but for paths and owners, which `Gathering` matches."""
    lines = decode_block(_DECODER, block) if len(block) <= MAX_LINE else None
    return history.decoded_lines(block, name, before) if lines is None else lines
