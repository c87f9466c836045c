"""The timeline of a server, from its log: starts, elections, who led in which epoch, synchronisations, errors."""

import re
from collections.abc import Iterator, Sequence
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from zabcheck.zookeeper.serverlogs.reading import OperatorsLog, SourceLine
from zabcheck.zookeeper.trace.server_log import (
    AnyLine,
    DigestMismatch,
    Election,
    Failure,
    LearnerAt,
    OutOfSequence,
    Sending,
    ServerStarted,
    ServerStopped,
    SessionRefused,
    SlowForce,
    SnapshotRead,
    State,
    Supporters,
    Synchronising,
    UpToDate,
    Version,
    without_numbers,
)
from zabcheck.zookeeper.verdict.findings import ErrorLogged, error_logged, is_expected
from zabcheck.zookeeper.wire.zxids import epoch_of

Kind = Literal[
    "start",
    "reads snapshot",
    "looking",
    "following",
    "leading",
    "observing",
    "established",
    "takes over",
    "sends",
    "up to date",
    "left",
    "stopped",
    "refused",
    "slow disk",
    "gap",
    "digest",
    "error",
]


class TimelineEntry(Struct, frozen=True):
    """Something that the server at position `server` says at `time`, in microseconds since 1970; `until` the last time.

    start           its process begins; `text` is the version, if that is said
    reads snapshot  it loads the snapshot of `zxid`
    looking         it looks for a leader, and votes for itself with `zxid`, if that is said
    following, leading, observing
    established     a quorum supports it as the leader of the epoch that begins with `zxid`
    takes over      it is told to take over a DIFF or SNAP (`text`), or to TRUNC its log, to `zxid`
    sends           it sends the same to server `peer`, which told it that its history ends at `other`
    up to date      it has caught up with its leader
    left            it loses its leader, with the exception in `text`
    stopped         it stops leading or following, for the reason in `text`
    refused         it is at `zxid`, and refuses a client that has seen `other`
    slow disk       forcing the log to the disk took `other` milliseconds
    gap             it got the proposal `other` when the next one should have been `zxid`
    digest          its tree has another digest than its leader's after `zxid`, if that is said
    error           `error`, with `text` its message without numbers

    `count` equal ones, one after the other, are one moment, with the greatest `other`.
    """

    kind: Kind
    server: int
    time: int
    place: SourceLine
    until: int
    zxid: int | None = None
    other: int | None = None
    peer: int | None = None
    text: str = ""
    error: ErrorLogged | None = None
    count: int = 1


class Reign(Struct, frozen=True):
    """The server at position `server` leads `epoch` with a quorum, from `begins` to `ends`, if that is said."""

    server: int
    epoch: int
    begins: TimelineEntry
    ends: TimelineEntry | None


_ZXID_OF_DIGEST = re.compile(r"\b[Vv]alue:(\d+)|on txn: -?\d+,-?\d+,(\d+),")
_LEFT = re.compile(r"Exception when (?:following|observing) the leader|Unexpected exception causing shutdown")
_SHUTDOWN = re.compile(r"java\.lang\.Exception: shutdown \w+! reason: (.*)")
_LONG_AGO = 60_000_000
"""Microseconds after which equal moments are told apart."""


def timeline(log: OperatorsLog, server: int) -> list[TimelineEntry]:
    """Return what a log says, in order. O(lines)."""
    told: list[TimelineEntry] = []
    learners: dict[int, int] = {}
    for line in log.lines:
        if isinstance(line, LearnerAt):
            learners[line.peer] = line.zxid
        elif (moment := _moment(line, server, log.places[line.number], learners)) is not None:
            if told and (joined := _joined(told[-1], moment)) is not None:
                told[-1] = joined
            else:
                told.append(moment)
    return told


def _moment(line: AnyLine, server: int, place: SourceLine, learners: dict[int, int]) -> TimelineEntry | None:
    def moment(kind: Kind, **fields: object) -> TimelineEntry:
        return replace(TimelineEntry(kind, server, line.time, place, line.time), **fields)

    match line:
        case ServerStarted():
            return moment("start")
        case Version(text=text):
            return moment("start", text=text.partition("-")[0])
        case SnapshotRead(zxid=zxid):
            return moment("reads snapshot", zxid=zxid)
        case State(role="looking"):
            return moment("looking")
        case State(role="leading"):
            return moment("leading")
        case State(role="following"):
            return moment("following")
        case State():
            return moment("observing")
        case Election(zxid=zxid):
            return moment("looking", zxid=zxid)
        case Supporters(zxid=zxid):
            return moment("established", zxid=zxid)
        case Synchronising(how=how, zxid=zxid):
            return moment("takes over", text=how, zxid=zxid)
        case Sending(how="SNAP", zxid=zxid):
            return moment("sends", text="SNAP", other=zxid)
        case Sending(how=how, zxid=zxid, peer=peer):
            return moment("sends", text=how, zxid=zxid, peer=peer, other=None if peer is None else learners.get(peer))
        case UpToDate():
            return moment("up to date")
        case ServerStopped(reason=reason):
            return moment("stopped", text=reason)
        case SessionRefused(seen=seen, last=last):
            return moment("refused", zxid=last, other=seen)
        case SlowForce(milliseconds=milliseconds):
            return moment("slow disk", other=milliseconds)
        case OutOfSequence(zxid=zxid, expected=expected):
            return moment("gap", zxid=expected, other=zxid)
        case DigestMismatch(message=message):
            found = _ZXID_OF_DIGEST.search(message)
            return moment("digest", zxid=None if found is None else int(found[1] or found[2]))
        case Failure():
            return _of_failure(line, moment("error"))
    return None


def _of_failure(failure: Failure, moment: TimelineEntry) -> TimelineEntry | None:
    """Tell an error; one that a lost connection or an end explains only if the server loses its leader by it."""
    error = error_logged(failure)
    if reason := _SHUTDOWN.match(error.exception):
        return replace(moment, kind="stopped", text=reason[1])
    if not is_expected(failure):
        return replace(moment, error=error, text=without_numbers(error.message))
    if _LEFT.match(failure.message):
        return replace(moment, kind="left", text=error.exception)
    return None


def _joined(before: TimelineEntry, moment: TimelineEntry) -> TimelineEntry | None:
    """Join two moments that are one; None if they are two."""
    if before.kind != moment.kind or moment.kind in ("sends", "established", "following", "leading", "observing"):
        return None
    if moment.kind == "start" and not (before.text and moment.text) and moment.time - before.time < _LONG_AGO:
        return replace(before, text=before.text or moment.text)
    if moment.kind == "looking" and before.zxid is None and moment.zxid is not None:
        return replace(before, zxid=moment.zxid)
    if moment.kind in ("start", "looking", "takes over") or (before.zxid, before.text) != (moment.zxid, moment.text):
        return None
    other = max((each for each in (before.other, moment.other) if each is not None), default=None)
    return replace(before, until=moment.until, other=other, count=before.count + moment.count)


_ENDS_A_REIGN = ("start", "looking", "following", "leading", "observing", "stopped", "left")


def reigns(moments: Sequence[TimelineEntry]) -> Iterator[Reign]:
    """Yield who led when, from what one server says."""
    begins: TimelineEntry | None = None
    for moment in moments:
        if begins is not None and moment.kind in (*_ENDS_A_REIGN, "established"):
            yield _reign(begins, moment)
            begins = None
        if moment.kind == "established":
            begins = moment
    if begins is not None:
        yield _reign(begins, None)


def _reign(begins: TimelineEntry, ends: TimelineEntry | None) -> Reign:
    assert begins.zxid is not None, "a leader names its epoch"
    return Reign(begins.server, epoch_of(begins.zxid), begins, ends)
