"""Faults of a run other than broken properties: as data, each with the server, the step of Zab, and the source.

Faults cause exceptions: a server that loses a connection logs that at length. `EXPECTED` lists errors that are no
findings, with the reasons; everything else that a server logs as an error is one.

A write has three independent witnesses: the servers' logs, the answers to clients, and the reads at the end. A
contradiction between them is a finding, whatever the properties say.
"""

import re
from collections.abc import Iterator
from enum import Enum
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from zabcheck.invariants.events import ClientAck, Deliver, FinalRead, Restore, Txn, Zxid
from zabcheck.zookeeper.recording.records import Acknowledged, Asked, Exited, NotRead
from zabcheck.zookeeper.trace.incarnations import Incarnation, SortedRecording
from zabcheck.zookeeper.trace.observe import ObservedRun
from zabcheck.zookeeper.trace.server_log import (
    CAUSE,
    CommitterEnded,
    CommitterStops,
    DigestMismatch,
    Failure,
    Phase,
    State,
    Synchronising,
    UpToDate,
    without_numbers,
)
from zabcheck.zookeeper.trace.sources import AnswerTo, FinalReading, LogPlace, LogWhole, Source

EXPECTED = (
    ("", r"java\.net\.(SocketException|SocketTimeoutException|ConnectException)\b", "a connection was lost"),
    ("", r"java\.io\.EOFException\b", "the other end of a connection is gone"),
    (
        "",
        r"java\.nio\.channels\.(CancelledKeyException|ClosedChannelException|AsynchronousCloseException)\b",
        "a client's connection is gone",
    ),
    ("", r".*\bEndOfStreamException\b", "a client's connection is gone"),
    ("", r"java\.lang\.InterruptedException\b", "a thread was told to end"),
    ("", r"java\.io\.IOException: ZooKeeperServer not running", "a client came while nobody led"),
    ("", r".*\bSessionExpiredException\b", "a session timed out"),
    ("", r"javax\.management\.InstanceAlreadyExistsException\b", "a name of Java's management, not of Zab"),
    ("", r".*\bzxid lower 32 bits have rolled over\b", "the counter is used up: a new epoch has to begin"),
    (r"Exiting JVM with code", "", "another error tells why"),
    (r"Last transaction was partial\.", "", "a server was killed while it wrote its log"),
    (r"Unhandled scenario for peer sid: \d+ fall back to use snapshot", "", "the leader has another way"),
)
"""Errors that are no findings: regular expressions for the beginnings of message and exception, and the reason."""

NEVER_EXPECTED = r"Unable to load database on disk|Unexpected exception, exiting abnormally"
"""The beginning of a message that is a finding whatever the exception is: the server ends with it."""

_EXPECTED = tuple((re.compile(message), re.compile(exception)) for message, exception, _ in EXPECTED)
_EXCEPTION = re.compile(r"(?:[\w$]+\.)+[\w$]*(?:Exception|Error|Throwable)\b.*")
_CREATES = (1, 15, 19, 21)
"""The types of transactions that create a node (ZooDefs.OpCode)."""


class Fact(Struct, frozen=True):
    """Base of the facts that show a fault."""

    def words(self) -> str:
        """Return the fact as text."""
        raise NotImplementedError

    def server_said(self) -> tuple[str, ...]:
        """Return the server's own words, if it has said anything."""
        return ()


class ErrorLogged(Fact, frozen=True):
    """An error in the server's log, in its own words.

    `exception` is the first line of the stack trace, `cause` that of the innermost cause, and `where` the first place
    in ZooKeeper's code; "" if there is none.
    """

    message: str
    exception: str = ""
    cause: str = ""
    where: str = ""

    def words(self) -> str:
        return ", ".join(filter(None, self.server_said()))

    def server_said(self) -> tuple[str, ...]:
        return self.message, self.exception, self.cause, self.where


class Ahead(Enum):
    """A reason why the tree was ahead of the transaction after which it was compared, as text."""

    LOG = "it was delivered when its server left its leader, and had loaded its log further already"
    SNAPSHOT = "it came again, after a snapshot that had it already"


class OtherDigest(Fact, frozen=True):
    """A digest that does not fit, in the server's words.

    If the tree was `ahead` of the transaction, the history need not be wrong.
    """

    message: str
    ahead: Ahead | None

    def words(self) -> str:
        return self.message + (f": {self.ahead.value}" if self.ahead else "")

    def server_said(self) -> tuple[str, ...]:
        return (self.message,)


class ExitedByItself(Fact, frozen=True):
    """The server ended by itself with exit code `code`; `error` is the last error before that, or the first."""

    code: int
    error: ErrorLogged | None = None

    def words(self) -> str:
        why = "its log says nothing" if self.error is None else self.error.words()
        return f"exit code {self.code}: {why}"

    def server_said(self) -> tuple[str, ...]:
        return () if self.error is None else self.error.server_said()


class CouldNotBeRead(Fact, frozen=True):
    """The final read failed, with `error`. `thread` and `said` are those of the record."""

    error: str
    thread: str = ""
    said: str = ""

    def words(self) -> str:
        thread = f"; its main thread is in {self.thread}" if self.thread else ""
        return self.error + thread + (f"; its log says: {self.said}" if self.said else "")


_By = Literal["everything", "another node", "deliveries", "final reads"]


class AnswerContradicted(Fact, frozen=True):
    """A client was told that `path` is created as `zxid`, and another witness contradicts.

    `by`: no log, packet or disk has the transaction, it created the node `other`, no server says that it delivered it,
    or no server has it at the end.
    """

    client: int
    path: str
    zxid: Zxid
    by: _By
    other: str = ""

    def words(self) -> str:
        but = {
            "everything": "which no log, packet or disk has",
            "another node": f"but that created {self.other}",
            "deliveries": "which no server says it delivered",
            "final reads": "and no server has it at the end",
        }
        return f"client {self.client} was told that {self.path} is created as {self.zxid}, {but[self.by]}"


class ReadContradicted(Fact, frozen=True):
    """The final read lacks what the server says it delivered, or has what it does not say it delivered.

    `path` and `zxid` are of the first such node, of which there are `nodes`.
    """

    lacks: bool
    path: str
    zxid: Zxid
    nodes: int

    def words(self) -> str:
        some = f"{self.path} ({self.zxid})" + (f" and {self.nodes - 1} more" if self.nodes > 1 else "")
        if self.lacks:
            return f"its final read lacks {some}, which it says it delivered"
        return f"its final read has {some}, which it does not say it delivered"


Kind = Literal[
    "could not start",
    "ended by itself",
    "error",
    "digest mismatch",
    "lower vote",
    "nobody leads",
    "not read",
    "witnesses",
]


class Finding(Struct, frozen=True):
    """A fault in a run. `step` is election, discovery, synchronisation or broadcast; "" if in none.

    `source` is where it was found first, and `fact` what shows it; `count` is how often it was found.
    """

    kind: Kind
    server: int
    incarnation: int
    step: str
    fact: Fact
    source: Source
    count: int = 1

    @property
    def text(self) -> str:
        """The fact as text."""
        return self.fact.words()

    def server_says(self, *parts: str) -> bool:
        """Return True if each of these is in a message of the server, an exception, its cause, or a place."""
        said = self.fact.server_said()
        return all(any(part in each for each in said) for part in parts)


def findings(recording: SortedRecording, observation: ObservedRun) -> list[Finding]:
    """Find all faults of a run, by server and incarnation; then the contradictions between witnesses.

    O(lines of the logs + events + nodes read).
    """
    found: list[Finding] = []
    for server in recording.by_server.values():
        for incarnation in server:
            ended = list(_of_end(incarnation))
            found += ended if any(each.kind == "could not start" for each in ended) else [*_of_log(incarnation), *ended]
    for record in recording.records:
        if isinstance(record, NotRead):
            last = len(recording.by_server[record.server]) - 1
            fact = CouldNotBeRead(record.error, record.thread, record.said)
            found.append(Finding("not read", record.server, last, "", fact, FinalReading()))
    if not observation.partial:  # else a witness may be missing
        found += _witnesses(recording, observation)
    return found


# The server's log.


def _of_log(incarnation: Incarnation) -> Iterator[Finding]:
    """Find the errors that no fault explains; equal ones are counted."""
    found: dict[tuple[object, ...], Finding] = {}
    step = "start"
    ahead = _trees_ahead(incarnation)
    for line in incarnation.log.lines:
        if isinstance(line, State):
            step = "election" if line.role == "looking" else "discovery"
        elif isinstance(line, Phase):
            step = _step(line.text) or step
        elif isinstance(line, Failure | DigestMismatch):
            if isinstance(line, Failure) and is_expected(line):
                continue
            kind: Kind = "error" if isinstance(line, Failure) else "digest mismatch"
            why = ahead.get(line.number)
            fact: Fact = error_logged(line) if isinstance(line, Failure) else OtherDigest(line.message, why)
            key = kind, step, why, tuple(without_numbers(each) for each in fact.server_said())
            known = found.get(key)
            source = LogPlace(incarnation.log.file, line.number)
            first = known or Finding(kind, incarnation.server, incarnation.number, step, fact, source, 0)
            found[key] = replace(first, count=first.count + 1)
    yield from found.values()


def _trees_ahead(incarnation: Incarnation) -> dict[int, Ahead]:
    """Find the digest mismatches that are explained by a tree that was ahead, by the number of their line.

    A server that leaves its leader loads its log up to the end (ZooKeeperServer.shutdown), while the thread that
    delivers may be about to apply a transaction (CommitProcessor.shutdown does not wait for it). And the leader goes on
    while it sends a snapshot, which then has transactions that are proposed after it. The tree has the transaction by
    then, and later ones, but is compared with the digest right after it.

    Behind a mismatch that is not explained none is: the history is wrong.
    """
    found: dict[int, Ahead] = {}
    committer_stops = follows_snapshot = False
    for line in incarnation.log.lines:
        match line:
            case CommitterStops() | CommitterEnded():
                committer_stops = isinstance(line, CommitterStops)
            case Synchronising(how=how):
                follows_snapshot = how == "SNAP"
            case State() | UpToDate():
                follows_snapshot = False
            case DigestMismatch(number) if committer_stops:
                found[number] = Ahead.LOG
            case DigestMismatch(number) if follows_snapshot:
                found[number] = Ahead.SNAPSHOT
            case DigestMismatch():
                break
    return found


def _step(phase: str) -> str:
    """Return the step of Zab of a phase in the server's words."""
    for word, step in (("broadcast", "broadcast"), ("synchronization", "synchronisation"), ("discovery", "discovery")):
        if word in phase:
            return step
    return "election" if phase == "looking" else ""


def is_expected(failure: Failure) -> bool:
    """Return True if faults, or the end of a server, explain an error."""
    if re.match(NEVER_EXPECTED, failure.message):
        return False
    exception = _exception(failure)
    return any(
        message.match(failure.message) and cause.match(exception)
        for message, cause in _EXPECTED
        if cause.pattern or not exception
    )


def _exception(failure: Failure) -> str:
    """Return the first line of the stack trace that names an exception; "" if there is none."""
    return next((found[0] for frame in failure.frames if (found := _EXCEPTION.match(frame))), "")


def error_logged(failure: Failure) -> ErrorLogged:
    """Return an error with its exception, cause and place, from the lines that are kept of its stack trace."""
    causes = [number for number, frame in enumerate(failure.frames) if frame.startswith(CAUSE)]
    first = failure.frames[causes[-1] :] if causes else failure.frames
    where = next((frame.strip() for frame in first if "org.apache.zookeeper" in frame and "at " in frame), "")
    return ErrorLogged(failure.message.rstrip(": "), _exception(failure), first[0] if causes else "", where)


def _of_end(incarnation: Incarnation) -> Iterator[Finding]:
    """Yield a finding if the server ended by itself, with the reason."""
    if not isinstance(incarnation.ended, Exited):
        return
    failures = [line for line in incarnation.log.lines if isinstance(line, Failure) and not is_expected(line)]
    began = any(isinstance(line, State) for line in incarnation.log.lines)
    reason = next(iter(failures), None) if not began else next(reversed(failures), None)  # the others follow from it
    file = incarnation.log.file
    source: Source = LogWhole(file) if reason is None else LogPlace(file, reason.number)
    kind: Kind = "ended by itself" if began else "could not start"
    step = "" if began else "start"
    fact = ExitedByItself(incarnation.ended.code, None if reason is None else error_logged(reason))
    yield Finding(kind, incarnation.server, incarnation.number, step, fact, source)


# The witnesses.


def _witnesses(recording: SortedRecording, observation: ObservedRun) -> Iterator[Finding]:
    created = created_nodes(recording)
    yield from _answers(recording, observation)
    yield from _reads(observation, created)


def created_nodes(recording: SortedRecording) -> dict[Txn, str]:
    """Return the nodes that clients asked for, by the transaction that created each."""
    asked = {record.path for record in recording.records if isinstance(record, Asked)}
    return {txn: path for txn, path in recording.names.created(_CREATES).items() if path in asked}


def _answers(recording: SortedRecording, observation: ObservedRun) -> Iterator[Finding]:
    """Compare the answers to clients with logs and reads; equal contradictions at one server are one finding."""
    paths = {(record.client, record.number): record.path for record in recording.records if isinstance(record, Asked)}
    delivered = {event.txn for event in observation.events if isinstance(event, Deliver)}
    read = [event for event in observation.events if isinstance(event, FinalRead)]
    held = {txn for event in read for txn in event.txns}
    found: dict[tuple[int, _By], Finding] = {}
    for record in recording.records:
        if not isinstance(record, Acknowledged):
            continue
        path = paths.get((record.client, record.number), "")
        txn = recording.names.find(Zxid.unpack(record.zxid), path)
        known = "" if txn is None else recording.names.path(txn)
        contradicted: list[_By] = []
        if txn is None:
            contradicted.append("everything")
        else:
            contradicted += ["another node"] if known and path and known != path else []
            contradicted += ["deliveries"] if txn not in delivered else []
            contradicted += ["final reads"] if read and txn not in held else []
        for by in contradicted:
            before = found.get((record.server, by))
            if before is None:
                fact = AnswerContradicted(record.client, path, Zxid.unpack(record.zxid), by, known)
                source = AnswerTo(record.client, record.number)
                last = len(recording.by_server[record.server]) - 1
                before = Finding("witnesses", record.server, last, "", fact, source, 0)
            found[record.server, by] = replace(before, count=before.count + 1)
    yield from found.values()


def _reads(observation: ObservedRun, created: dict[Txn, str]) -> Iterator[Finding]:
    """Compare the final read of each server with the deliveries in its log."""
    delivered: dict[int, dict[Txn, None]] = {}
    restored: dict[int, bool] = {}
    incarnations: dict[int, int] = {}
    for event, source in zip(observation.events, observation.sources, strict=True):
        if not isinstance(event, Deliver | Restore | FinalRead | ClientAck):
            continue
        if incarnations.get(event.process) != event.incarnation:
            incarnations[event.process] = event.incarnation
            delivered[event.process], restored[event.process] = {}, False
        own = delivered[event.process]
        if isinstance(event, Deliver):
            own[event.txn] = None
        elif isinstance(event, Restore):
            restored[event.process] = True
        elif isinstance(event, FinalRead):
            read = dict.fromkeys(event.txns)
            lacks = [txn for txn in own if txn in created and txn not in read]
            more = [txn for txn in event.txns if txn not in own]
            for wrong in (lacks, [] if restored[event.process] else more):
                if wrong:
                    path = created.get(wrong[0], "a node")
                    fact = ReadContradicted(wrong is lacks, path, wrong[0].zxid, len(wrong))
                    yield Finding("witnesses", event.process, event.incarnation, "", fact, source)
