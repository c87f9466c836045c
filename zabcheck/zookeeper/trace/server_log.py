"""Reads a server's own log, in its own order.

A line has the form `2026-01-31T12:00:00.123+0000 [thread] LEVEL class - message`; a line of another form belongs to
the one before it (a stack trace). Most lines say nothing about Zab and are passed over. A line which says that a
transaction was proposed or delivered, or that an election or a synchronisation got somewhere, must never be passed
over by mistake: if it cannot be understood, that is a *problem*, reported with file and line.

The messages are those of ZooKeeper 3.6 to 3.9:

    Leader                  Proposing:: sessionid:0x… type:… cxid:0x… zxid:0x… txntype:…          abcast
    FinalRequestProcessor   Processing request:: sessionid:0x… … txntype:…                        abdeliver
    Leader                  Have quorum of supporters, …; … last processed zxid: 0x…              established
    Learner                 Learner received NEWLEADER message / … UPTODATE message
    Learner                 It took …ms to persist and commit txns in packetsCommitted …          (since 3.8.4, 3.9.1)
    FastLeaderElection      New election. My id = …, proposed zxid=0x…       how far the server's memory reaches
    FastLeaderElection      Notification: my state:…; n.sid:…, n.state:LOOKING, n.leader:…         votes, also its own
    FileTxnSnapLog          Snapshotting: 0x… to …
    FileSnap                Reading snapshot …
    QuorumPeer              LOOKING, FOLLOWING, LEADING, Peer state changed: leading - synchronization …
"""

import re
from datetime import datetime
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple, TypeVar

from msgspec import Struct

from zabcheck.text.files import content
from zabcheck.zookeeper.trace.notes import StrangeLine
from zabcheck.zookeeper.wire.zxids import epoch_of

FRAMES = 5
"""The number of lines of a stack trace that are kept, for an exception and for each of its causes."""
CAUSE = "Caused by: "


MILLISECOND = 1000
"""A millisecond in microseconds: a real server's log has times in whole milliseconds."""


def without_numbers(said: str) -> str:
    """Return a message with … for each number: what is said of another transaction, or at another time, is alike."""
    return _NUMBER.sub("…", said)


class LogLine(Struct, frozen=True):
    """Base of what a line says. `number` counts from 1; `time` is in microseconds."""

    number: int
    time: int


class State(LogLine, frozen=True):
    """The server is "looking", "following", "leading" or "observing" from here on."""

    role: str


class Election(LogLine, frozen=True):
    """The server votes for itself, with the zxid of the last transaction in its memory (or the start of an epoch)."""

    zxid: int


class Vote(LogLine, frozen=True):
    """Server `voter`, this one or another, looks for a leader, and votes for `leader` in `round`, as this server hears.

    The history of the leader ends in `epoch`, which it has begun, and at `zxid`.
    """

    voter: int
    round: int
    leader: int
    epoch: int
    zxid: int

    @property
    def rank(self) -> tuple[int, int, int]:
        """The rank of the leader that is voted for: of two votes the one of higher rank has to win."""
        return self.epoch, self.zxid, self.leader


class Phase(LogLine, frozen=True):
    """The server's own words for the step of Zab: "leading - discovery", "following - synchronization - diff"."""

    text: str


class Request(LogLine, frozen=True):
    """Base of the lines that name a transaction; `type` is the operation's number, -1 for a request that failed."""

    session: int
    cxid: int
    zxid: int
    type: int


class Proposing(Request, frozen=True):
    """The server broadcasts this transaction, as leader."""


class Delivering(Request, frozen=True):
    """The server applies this committed transaction."""


_R = TypeVar("_R", Proposing, Delivering)


class Supporters(LogLine, frozen=True):
    """The server is established as leader; `zxid` is the start of its epoch."""

    zxid: int


class NewLeader(LogLine, frozen=True):
    """The server has received NEWLEADER."""


class UpToDate(LogLine, frozen=True):
    """The server has received UPTODATE."""


class Persisted(LogLine, frozen=True):
    """NEWLEADER: the server has logged and applied what was committed by then, without a line for each."""


class SnapshotTaken(LogLine, frozen=True):
    """The server writes a snapshot of its memory, which reaches up to `zxid`."""

    zxid: int


class SnapshotRead(LogLine, frozen=True):
    """The server loads a snapshot from its disk, which reaches up to `zxid`."""

    zxid: int


class Forced(LogLine, frozen=True):
    """The server will write a snapshot at NEWLEADER though it gets a DIFF, so it applies at once what is committed."""


class Version(LogLine, frozen=True):
    """The version of ZooKeeper that the server runs."""

    text: str


class Failure(LogLine, frozen=True):
    """An exception, or a line of level ERROR; `frames` are the first lines of the stack trace, if there is one."""

    level: str
    source: str
    message: str
    frames: tuple[str, ...] = ()


class DigestMismatch(LogLine, frozen=True):
    """The server's tree has another digest than the leader's had after the same transaction."""

    message: str


class CommitterStops(LogLine, frozen=True):
    """The thread that applies committed transactions is told to end, with the iteration that it belongs to."""


class CommitterEnded(LogLine, frozen=True):
    """The thread that applies committed transactions has ended."""


class ServerStarted(LogLine, frozen=True):
    """The process of a server begins."""


class ServerStopped(LogLine, frozen=True):
    """The server stops leading or following, for this reason in its own words."""

    reason: str


class Synchronising(LogLine, frozen=True):
    """The server, which follows, is told to take over a "DIFF", a "SNAP" or to "TRUNC" its log to `zxid`."""

    how: str
    zxid: int


class Sending(LogLine, frozen=True):
    """The server, which leads, sends `peer`, if the line names it, a DIFF or TRUNC to `zxid`, or a SNAP.

    The `zxid` of a SNAP is that of the peer.
    """

    how: str
    zxid: int
    peer: int | None


class LearnerAt(LogLine, frozen=True):
    """The server, which leads, is told by server `peer` that its history ends at `zxid`."""

    peer: int
    zxid: int


class SessionRefused(LogLine, frozen=True):
    """The server is at `last`, and refuses a client that has seen `seen`."""

    seen: int
    last: int


class SlowForce(LogLine, frozen=True):
    """Forcing the transaction log to the disk took this number of milliseconds."""

    milliseconds: int


class OutOfSequence(LogLine, frozen=True):
    """The server, which follows, got the proposal `zxid`, and should have got `expected`, of the same epoch, before."""

    zxid: int
    expected: int


AnyLine = (
    State
    | Election
    | Phase
    | Proposing
    | Delivering
    | Supporters
    | NewLeader
    | UpToDate
    | Persisted
    | SnapshotTaken
    | SnapshotRead
    | Forced
    | Version
    | Failure
    | DigestMismatch
    | CommitterStops
    | CommitterEnded
    | ServerStarted
    | ServerStopped
    | Synchronising
    | Sending
    | LearnerAt
    | SessionRefused
    | SlowForce
    | OutOfSequence
)


class ServerLog(Struct, frozen=True):
    """The contents of a log file, in order. `problems` are lines that should have been understood and were not."""

    file: str
    lines: tuple[AnyLine, ...] = ()
    problems: tuple[StrangeLine, ...] = ()
    cut: int = MILLISECOND
    """The microseconds of which its times are multiples: a millisecond, or 1 in the logs of simulated servers."""
    votes: tuple[Vote, ...] = ()
    """The votes that the server heard of, its own among them."""


_LINE = re.compile(
    r"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)\.(\d{3})(\d{3})?([+-]\d{4}) \[(.*?)\] +"
    r"(TRACE|DEBUG|INFO|WARN|ERROR|FATAL) +(\S+) +- (.*)"
)
_REQUEST = re.compile(
    r"sessionid:0x([0-9a-f]{1,16}) type:(?:unknown \d+|\S+) cxid:0x([0-9a-f]{1,16}) zxid:0x([0-9a-f]{1,16}) "
    r"txntype:(-?\d+|unknown) reqpath:.*"
)
_NUMBER = re.compile(r"0x[0-9a-f]+|\d+")
_EXCEPTION = re.compile(r"(?:Caused by: )?(?:[\w$]+\.)+[\w$]*(?:Exception|Error|Throwable)\b")
_ZXID = re.compile(r"zxid ?[:=] ?0x([0-9a-f]{1,16})\b")
_VOTE = re.compile(
    r"Notification: my state:\w+; n\.sid:(\d+), n\.state:LOOKING, n\.leader:(\d+), "
    r"n\.round:0x([0-9a-f]+), n\.peerEpoch:0x([0-9a-f]+), n\.zxid:0x([0-9a-f]+),"
)
_DIGEST = re.compile(r"Digests are not matching|digest mismatch|snapshot digest does not match")
_READING = re.compile(r"Reading snapshot .*snapshot\.([0-9a-f]{1,16})\b")
_SNAPSHOT = re.compile(r"Snapshotting: 0x([0-9a-f]+) to ")
_HEX = r"(?:0x)?([0-9a-f]{1,16})\b"
_REFUSED = re.compile(rf"Refusing session.* as it has seen zxid {_HEX} our last zxid is {_HEX}")
_GETTING = (
    ("DIFF", re.compile(rf"Getting a diff from the leader {_HEX}")),
    ("SNAP", re.compile(rf"Getting a snapshot from leader {_HEX}")),
    ("TRUNC", re.compile(rf"Truncating log to get in sync with the leader {_HEX}")),
)
_SENDING = (
    ("DIFF", re.compile(rf"Sending DIFF zxid={_HEX}(?:.*for peer sid: ?(\d+))?")),
    ("TRUNC", re.compile(rf"Sending TRUNC (?:to follower )?zxid(?:ToSend)?={_HEX}(?:.*for peer sid: ?(\d+))?")),
    ("SNAP", re.compile(rf"Sending snapshot last zxid of peer is {_HEX}")),
)
_LEARNER_AT = re.compile(rf"Synchronizing with (?:Learner|Follower) sid: (\d+) .*peerLastZxid={_HEX}")
_SLOW_FORCE = re.compile(r"fsync-ing the write ahead log in .* took (\d+)ms")
_SEQUENCE = re.compile(rf"Got zxid {_HEX} expected {_HEX}")
_OLD_MODE = re.compile(r"^((?:leading|looking)\b.*?) - (?:diff|snap|trunc)$")
"""The phase of a server that follows nobody any more, behind which stands how its last leader has synchronised it."""
_REASON = "Shutdown called. For the reason "
_ROLES = {"LOOKING": "looking", "FOLLOWING": "following", "LEADING": "leading", "OBSERVING": "observing"}
_NEEDED = (
    "Proposing:: ",
    "FinalRequestProcessor - Processing request:: ",
    "Have quorum of supporters",
    "Learner received UPTODATE",
    "Learner received NEWLEADER",
    "New election. My id",
)
"""A line with one of these in it has to be understood."""

MOST_BYTES = 1 << 28
"""The longest log that is read; one of a run of minutes has some megabytes."""

_NO_HEADER = 0xFFFF_FFFF_FFFF_FFFE
"""The zxid that is printed of a request without a transaction: a read, or a write that waits for its turn."""


def read_log(path: Path) -> ServerLog:
    """Read the log file `path`. O(its size). OSError if it cannot be read, or has more than `MOST_BYTES`.

    A last line without a line feed was cut off when the server was killed: it is left out, and is no problem.
    """
    data = content(path, MOST_BYTES)
    text = data.decode("utf-8", errors="replace").split("\n")
    text.pop()  # what is behind the last line feed
    parser = LogParser(path.name)
    for number, raw in enumerate(text, start=1):
        parser.take(number, _head(raw.rstrip("\r")), raw.rstrip("\r"))
    return parser.end()


class Head(NamedTuple):
    """The content of a line itself, without the lines after it. `source` is the class, without its package.

    `cut` are the microseconds of which `time` is a multiple.
    """

    time: int
    level: str
    source: str
    message: str
    cut: int = MILLISECOND


def _head(raw: str) -> Head | None:
    match = _LINE.fullmatch(raw)
    if match is None:
        return None
    second, millisecond, microsecond, offset, _, level, source, message = match.groups()
    time = seconds_of(second + offset) + int(millisecond) * 1000 + int(microsecond or 0)
    return Head(time, level, source.rpartition(".")[2], message, MILLISECOND if microsecond is None else 1)


@lru_cache(maxsize=4)
def seconds_of(text: str) -> int:
    """Convert a time in whole seconds, with its offset from UTC, into microseconds since 1970. ValueError if none."""
    return int(datetime.strptime(text, "%Y-%m-%dT%H:%M:%S%z").timestamp()) * 1_000_000


class LogParser:
    """Takes lines with their numbers in order, and understands each with what belongs to it."""

    def __init__(self, file: str) -> None:
        self.file = file
        self.lines: list[AnyLine] = []
        self.problems: list[StrangeLine] = []
        self.votes: list[Vote] = []
        self._cut = MILLISECOND
        self._open: tuple[int, Head] | None = None  # the number of the last, and what it says
        self._more: list[str] = []  # what follows the last
        self._frames = 0

    def take(self, number: int, head: Head | None, raw: str) -> None:
        """Take the next line; without a `head` it belongs to the one before it."""
        if head is None:
            self._continue(number, raw)
            return
        self._close()
        self._cut = head.cut
        self._open = number, head

    def end(self) -> ServerLog:
        """Return what the lines say."""
        if self._open is not None and self._open[1].message.rstrip().endswith(":") and not self._more:
            self._open = None  # killed before it had printed the exception that this is about: it may be any
        self._close()
        return ServerLog(self.file, tuple(self.lines), tuple(self.problems), self._cut, tuple(self.votes))

    def _continue(self, number: int, raw: str) -> None:
        if any(needed in raw for needed in _NEEDED):
            self._problem(number, raw)
        else:
            if raw.startswith(CAUSE) or not self._more:
                self._frames = 0
            if self._frames < FRAMES:
                self._more.append(raw)
            self._frames += 1

    def _problem(self, number: int, raw: str) -> None:
        self.problems.append(StrangeLine(self.file, number, raw[:120]))

    def _close(self) -> None:
        """Take in the last line with all that followed it."""
        if self._open is None:
            self._more.clear()
            return
        number, (time, level, source, message, _) = self._open
        self._open = None
        said = self._understand(number, time, source, message)
        if said is not None:
            self.lines.append(said)
        elif level in ("ERROR", "FATAL") or any(map(_EXCEPTION.match, self._more)):
            self.lines.append(Failure(number, time, level, source, message, tuple(self._more)))
        self._more.clear()

    def _understand(self, number: int, time: int, source: str, message: str) -> AnyLine | None:
        match source:
            case "FinalRequestProcessor" if message.startswith("Processing request:: "):
                return self._request(Delivering, number, time, message)
            case "Leader" if message.startswith("Proposing:: "):
                return self._request(Proposing, number, time, message)
            case "Leader" if message.startswith("Have quorum of supporters"):
                zxid = self._zxid(number, message)
                return None if zxid is None else Supporters(number, time, zxid)
            case "Learner" if message.startswith("Learner received UPTODATE"):
                return UpToDate(number, time)
            case "Learner" if message.startswith("Learner received NEWLEADER"):
                return NewLeader(number, time)
            case "Learner" if message.startswith("It took ") and "packetsCommitted" in message:
                return Persisted(number, time)
            case "Learner" if message.startswith("Forcing a snapshot write"):
                return Forced(number, time)
            case "FastLeaderElection" if message.startswith("New election. My id"):
                zxid = self._zxid(number, message)
                return None if zxid is None else Election(number, time, zxid)
            case "FastLeaderElection" if match := _VOTE.match(message):
                voter, leader = int(match[1]), int(match[2])
                in_round, epoch, zxid = (int(match[group], 16) for group in (3, 4, 5))
                self.votes.append(Vote(number, time, voter, in_round, leader, epoch, zxid))
            case "FileTxnSnapLog" if match := _SNAPSHOT.match(message):
                return SnapshotTaken(number, time, int(match[1], 16))
            case "FileSnap" if match := _READING.match(message):
                return SnapshotRead(number, time, int(match[1], 16))
            case "QuorumPeer" if message in _ROLES:
                return State(number, time, _ROLES[message])
            case "QuorumPeer" if message.startswith("Peer state changed: "):
                return Phase(number, time, _OLD_MODE.sub(r"\1", message.removeprefix("Peer state changed: ")))
            case "CommitProcessor" if message == "Shutting down":
                return CommitterStops(number, time)
            case "CommitProcessor" if message == "CommitProcessor exited loop!":
                return CommitterEnded(number, time)
            case "QuorumPeerMain" if message.startswith("Starting quorum peer"):
                return ServerStarted(number, time)
            case "Leader" | "Follower" | "Observer" if message.startswith(_REASON):
                return ServerStopped(number, time, message.removeprefix(_REASON))
            case "ZooKeeperServer" if match := _REFUSED.match(message):
                return SessionRefused(number, time, int(match[1], 16), int(match[2], 16))
            case "FileTxnLog" if match := _SLOW_FORCE.match(message):
                return SlowForce(number, time, int(match[1]))
            case "Learner" | "Follower" | "LearnerHandler":
                return _of_a_synchronisation(number, time, message)
        if _DIGEST.search(message):
            return DigestMismatch(number, time, message)
        version = message.partition("zookeeper.version=")[2]
        return Version(number, time, version.split(",")[0]) if version else None

    def _zxid(self, number: int, message: str) -> int | None:
        match = _ZXID.search(message)
        if match is None:
            self._problem(number, message)
            return None
        return int(match[1], 16)

    def _request(self, kind: type[_R], number: int, time: int, message: str) -> _R | None:
        match = _REQUEST.fullmatch(message.partition(":: ")[2])
        if match is None:
            self._problem(number, message)
            return None
        session, cxid, zxid = (int(digits, 16) for digits in match.groups()[:3])
        if match[4] == "unknown" or zxid == _NO_HEADER:
            return None
        return kind(number, time, session, _signed(cxid), zxid, int(match[4]))


def _of_a_synchronisation(number: int, time: int, message: str) -> AnyLine | None:
    """Understand a line of a server that follows, or of a leader's thread for it."""
    if match := _SEQUENCE.match(message):
        zxid, expected = int(match[1], 16), int(match[2], 16)
        is_hole = epoch_of(zxid) == epoch_of(expected) and zxid > expected  # it expects 1 if it has seen none yet
        return OutOfSequence(number, time, zxid, expected) if is_hole else None
    if match := _LEARNER_AT.match(message):
        return LearnerAt(number, time, int(match[1]), int(match[2], 16))
    for how, pattern in _GETTING:
        if match := pattern.match(message):
            return Synchronising(number, time, how, int(match[1], 16))
    for how, pattern in _SENDING:
        if match := pattern.match(message):
            peer = match[2] if how != "SNAP" else None
            return Sending(number, time, how, int(match[1], 16), None if peer is None else int(peer))
    return None


def _signed(number: int) -> int:
    """Return the 32-bit integer that Java printed in hexadecimal, as 32 or 64 bits."""
    number &= 0xFFFF_FFFF
    return number - (1 << 32) if number >> 31 else number
