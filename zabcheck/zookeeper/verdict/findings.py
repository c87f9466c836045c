"""What is wrong in a run beside the properties: as data, each with the server, the step of Zab, and the source.

Faults cause exceptions: a server that loses a connection logs that at length. `EXPECTED` lists what is no finding, and
why; everything else that a server logs as an error is one.

A write has three independent witnesses: the servers' logs, the answers to clients, and the reads at the end. A
contradiction between them is a finding, whatever the properties say.
"""

import re
from collections.abc import Iterator

from msgspec import Struct
from msgspec.structs import replace

from invariants.events import ClientAck, Deliver, FinalRead, Restore, Txn, Zxid
from zabcheck.zookeeper.recording.records import Acknowledged, Asked, Exited, NotRead
from zabcheck.zookeeper.trace.incarnations import Incarnation, SortedRecording
from zabcheck.zookeeper.trace.observe import Observation
from zabcheck.zookeeper.trace.server_log import Delivering, DigestMismatch, Election, Failure, Phase, State

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
"""What is no finding: how the message begins and how the exception begins (regular expressions), and why."""

NEVER_EXPECTED = r"Unable to load database on disk|Unexpected exception, exiting abnormally"
"""How a message begins that is a finding whatever the exception is: the server ends with it."""

_EXPECTED = tuple((re.compile(message), re.compile(exception)) for message, exception, _ in EXPECTED)
_EXCEPTION = re.compile(r"(?:[\w$]+\.)+[\w$]*(?:Exception|Error|Throwable)\b.*")
_CAUSE = "Caused by: "
_NUMBERS = re.compile(r"0x[0-9a-f]+|\d+")
_DIGEST_OF = re.compile(r"\b[Vv]alue:(\d+)|on txn: -?\d+,-?\d+,(\d+),")
"""The transaction after which a digest does not fit, in a server's message; a message may have none."""
LATE = "it was delivered when its server left its leader, and had loaded its log further already"
"""What is said of a digest mismatch that does not mean that the server's history is wrong."""
_CREATES = (1, 15, 19, 21)
"""The types of transactions that create a node (ZooDefs.OpCode)."""


class Finding(Struct, frozen=True):
    """Something that is wrong in a run. `step` is election, discovery, synchronisation or broadcast; "" if in none.

    `kind`: "could not start", "ended by itself", "error", "digest mismatch", "not read", "witnesses". `source` is where
    it was found first, and `text` what was said there; `count` is how often it was found.
    """

    kind: str
    server: int
    incarnation: int
    step: str
    text: str
    source: str
    count: int = 1


def findings(recording: SortedRecording, observation: Observation) -> list[Finding]:
    """Find all that is wrong in a run, by server and incarnation; then the contradictions between witnesses.

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
            found.append(Finding("not read", record.server, last, "", record.error, "final read"))
    if not observation.partial:  # else a witness may be missing
        found += _witnesses(recording, observation)
    return found


# What a server's log says.


def _of_log(incarnation: Incarnation) -> Iterator[Finding]:
    """Find the errors that no fault explains; equal ones are counted."""
    found: dict[tuple[str, str, str], Finding] = {}
    step = "start"
    late = _is_late(incarnation)
    for line in incarnation.log.lines:
        if isinstance(line, State):
            step = "election" if line.role == "looking" else "discovery"
        elif isinstance(line, Phase):
            step = _step(line.text) or step
        elif isinstance(line, Failure | DigestMismatch):
            kind = "digest mismatch" if isinstance(line, DigestMismatch) else "error"
            text = line.message + (f": {LATE}" if late else "") if isinstance(line, DigestMismatch) else _text(line)
            if isinstance(line, Failure) and is_expected(line):
                continue
            key = kind, step, _NUMBERS.sub("…", text)
            known = found.get(key)
            source = f"{incarnation.log.file}:{line.number}"
            first = known or Finding(kind, incarnation.server, incarnation.number, step, text, source, 0)
            found[key] = replace(first, count=first.count + 1)
    yield from found.values()


def _is_late(incarnation: Incarnation) -> bool:
    """Whether all digest mismatches are of one transaction, which was delivered when the tree was ahead of it.

    A server that leaves its leader loads its log up to the end (ZooKeeperServer.shutdown), while the thread that
    delivers may be about to apply a transaction (CommitProcessor.shutdown does not wait for it). The tree has that
    transaction by then, and later ones, but is compared with the digest right after it. What the log shows of this: the
    last transaction that is delivered before or during an election is earlier than the zxid that the server names in
    the election.
    """
    late: dict[int, bool] = {}
    last = reach = 0
    looking = False
    for line in incarnation.log.lines:
        if isinstance(line, State):
            looking = line.role == "looking"
            if not looking:
                last = reach = 0
        elif isinstance(line, Delivering):
            last = line.zxid
        elif isinstance(line, Election):
            reach = line.zxid
        if looking and last:
            late[last] = last < reach
    digests = [_DIGEST_OF.search(line.message) for line in incarnation.log.lines if isinstance(line, DigestMismatch)]
    zxids = dict.fromkeys(int(match[1] or match[2]) for match in digests if match is not None)
    return len(zxids) == 1 and late.get(next(iter(zxids)), False)


def _step(phase: str) -> str:
    """Return the step of Zab of a phase in the server's words."""
    for word, step in (("broadcast", "broadcast"), ("synchronization", "synchronisation"), ("discovery", "discovery")):
        if word in phase:
            return step
    return "election" if phase == "looking" else ""


def is_expected(failure: Failure) -> bool:
    """Whether faults, or the end of a server, explain an error."""
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


def _text(failure: Failure) -> str:
    causes = [number for number, frame in enumerate(failure.frames) if frame.startswith(_CAUSE)]
    first = failure.frames[causes[-1] :] if causes else failure.frames
    where = next((frame.strip() for frame in first if "org.apache.zookeeper" in frame and "at " in frame), "")
    parts = (failure.message.rstrip(": "), _exception(failure), *(first[:1] if causes else ()), where)
    return ", ".join(part for part in parts if part)


def _of_end(incarnation: Incarnation) -> Iterator[Finding]:
    """Find whether the server ended by itself, and why."""
    if not isinstance(incarnation.ended, Exited):
        return
    failures = [line for line in incarnation.log.lines if isinstance(line, Failure) and not is_expected(line)]
    began = any(isinstance(line, State) for line in incarnation.log.lines)
    reason = next(iter(failures), None) if not began else next(reversed(failures), None)  # the others follow from it
    why = "its log says nothing" if reason is None else _text(reason)
    source = incarnation.log.file if reason is None else f"{incarnation.log.file}:{reason.number}"
    kind = "ended by itself" if began else "could not start"
    step = "" if began else "start"
    text = f"exit code {incarnation.ended.code}: {why}"
    yield Finding(kind, incarnation.server, incarnation.number, step, text, source)


# What the witnesses say.


def _witnesses(recording: SortedRecording, observation: Observation) -> Iterator[Finding]:
    created = created_nodes(recording)
    yield from _answers(recording, observation)
    yield from _reads(observation, created)


def created_nodes(recording: SortedRecording) -> dict[Txn, str]:
    """Return the nodes that clients asked for, by the transaction that created each."""
    asked = {record.path for record in recording.records if isinstance(record, Asked)}
    return {txn: path for txn, path in recording.names.created(_CREATES).items() if path in asked}


def _answers(recording: SortedRecording, observation: Observation) -> Iterator[Finding]:
    """Compare the answers to clients with logs and reads; equal contradictions at one server are one finding."""
    paths = {(record.client, record.number): record.path for record in recording.records if isinstance(record, Asked)}
    delivered = {event.txn for event in observation.events if isinstance(event, Deliver)}
    read = [event for event in observation.events if isinstance(event, FinalRead)]
    held = {txn for event in read for txn in event.txns}
    found: dict[tuple[int, str], Finding] = {}
    for record in recording.records:
        if not isinstance(record, Acknowledged):
            continue
        path = paths.get((record.client, record.number), "")
        txn = recording.names.find(Zxid.unpack(record.zxid), path)
        known = "" if txn is None else recording.names.path(txn)
        but = []
        if txn is None:
            but.append(("which no log, packet or disk has", ""))
        else:
            if known and path and known != path:
                but.append(("but that created", f" {known}"))
            if txn not in delivered:
                but.append(("which no server says it delivered", ""))
            if read and txn not in held:
                but.append(("and no server has it at the end", ""))
        for wrong, which in but:
            before = found.get((record.server, wrong))
            if before is None:
                what = f"client {record.client} was told that {path} is created as {Zxid.unpack(record.zxid)}"
                source = f"client {record.client}, write {record.number}"
                last = len(recording.by_server[record.server]) - 1
                before = Finding("witnesses", record.server, last, "", f"{what}, {wrong}{which}", source, 0)
            found[record.server, wrong] = replace(before, count=before.count + 1)
    yield from found.values()


def _reads(observation: Observation, created: dict[Txn, str]) -> Iterator[Finding]:
    """Compare what each server had at the end with what its log says it delivered before."""
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
            if lacks:
                text = f"its final read lacks {_some(lacks, created)}, which it says it delivered"
                yield Finding("witnesses", event.process, event.incarnation, "", text, source)
            if more and not restored[event.process]:
                text = f"its final read has {_some(more, created)}, which it does not say it delivered"
                yield Finding("witnesses", event.process, event.incarnation, "", text, source)


def _some(txns: list[Txn], created: dict[Txn, str]) -> str:
    """Name the first transaction, and how many more there are."""
    first = f"{created.get(txns[0], 'a node')} ({txns[0].zxid})"
    return first if len(txns) == 1 else f"{first} and {len(txns) - 1} more"
