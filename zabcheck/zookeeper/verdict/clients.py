"""The properties that an ensemble's clients rely on: they judge requests, answers and reads.

The properties in `invariants` see a trace of broadcasts and deliveries. These see the clients' side of a recording, so
nodes are judged with their data and versions, whatever the servers' logs say. Each is a function of a `ClientHistory`
that costs O(requests + nodes read); the tests have a brute-force reading of each.

A violation is canonical: that of the least path, then of the earliest request or the least server.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple

from msgspec.structs import replace

from zabcheck.invariants.base import Status
from zabcheck.zookeeper.recording.records import Disk, NodeState, Read, Record, Replied, Requested, Sent
from zabcheck.zookeeper.trace.incarnations import SortedRecording
from zabcheck.zookeeper.trace.names import CLOSE_SESSION
from zabcheck.zookeeper.trace.server_log import Delivering
from zabcheck.zookeeper.wire.zxids import shown

_64_BITS = (1 << 64) - 1
_UNKNOWN = (None, "ConnectionLoss")
"""The errors in the answers to requests that may have been done or not."""


class ClientRequest(NamedTuple):
    """A request, and its answer if one came."""

    asked: Requested
    reply: Replied | None = None

    @property
    def error(self) -> str | None:
        """The error in the answer: "" if the request is done, None if there is no answer."""
        return None if self.reply is None else self.reply.error

    @property
    def known(self) -> int:
        """The zxid as of which the client knows the nodes of this request; 0 if the answer has none."""
        if self.reply is None or self.reply.error:
            return 0
        return self.reply.zxid if self.reply.node is None else self.reply.node.changed

    @property
    def name(self) -> str:
        """The request as text."""
        return f"request {self.asked.number} of client {self.asked.client}"

    @property
    def witness(self) -> tuple[Record, ...]:
        """The records of it."""
        return (self.asked,) if self.reply is None else (self.asked, self.reply)


class ClientHistory(NamedTuple):
    """The requests and answers of sessions, and the final reads of all servers.

    `requests` are in the order in which they were sent; `answers` are those that were answered, in the order of their
    answers. `reads` are one for each server, by number. `ended` has the zxid of the end of each session that a server
    has delivered, or told its client; `may_have_ended` are these, and those whose end was proposed.
    """

    requests: Sequence[ClientRequest]
    answers: Sequence[ClientRequest]
    reads: Sequence[Read]
    ended: dict[int, int]
    may_have_ended: frozenset[int]


class ClientViolation(NamedTuple):
    """A broken property, and the records that show it."""

    summary: str
    witness: tuple[Record, ...]


class ClientVerdict(NamedTuple):
    """The verdict of one property on a run. `judged` counts the cases in which the run could have broken it."""

    property: str
    status: Status
    judged: int
    violation: ClientViolation | None = None


class ClientProperty(NamedTuple):
    """A property: the condition that has to hold, and its source.

    `check` returns how often the property could have been broken, and the violation if there is one.
    """

    name: str
    statement: str
    source: str
    check: Callable[[ClientHistory], tuple[int, ClientViolation | None]]


def judge_clients(history: ClientHistory, is_whole: bool = True) -> list[ClientVerdict]:
    """Judge by all properties. Unless the recording `is_whole`, no violation is believed: something may be missing."""
    verdicts = []
    for each in CLIENT_PROPERTIES.values():
        judged, violation = each.check(history)
        status: Status = "holds" if judged else "not exercised"
        if violation is not None:
            status = "violated" if is_whole else "inconclusive"
        verdicts.append(ClientVerdict(each.name, status, judged, violation if is_whole else None))
    return verdicts


def history_of(recording: SortedRecording) -> ClientHistory:
    """Extract the clients' history from a recording. O(records + lines of logs)."""
    replies = {(each.client, each.number): each for each in recording.records if isinstance(each, Replied)}
    requests = {
        (each.client, each.number): ClientRequest(each, replies.get((each.client, each.number)))
        for each in recording.records
        if isinstance(each, Requested)
    }
    ended = {session_id(session): zxid for session, zxid in _ends_delivered(recording)}
    for each in requests.values():
        if each.asked.what == "close" and each.error == "":
            ended[session_id(each.asked.session)] = each.known
    reads = [each for each in recording.records if isinstance(each, Read) and each.states]
    return ClientHistory(
        [*requests.values()],
        [requests[key] for key in replies if key in requests],
        sorted(reads, key=lambda read: read.server),
        ended,
        frozenset([*ended, *map(session_id, _ends_proposed(recording))]),
    )


def session_id(session: int) -> int:
    """Return the unsigned id of a session, as in logs; packets have a signed one."""
    return session & _64_BITS


def _ends_delivered(recording: SortedRecording) -> Iterator[tuple[int, int]]:
    for server in recording.by_server.values():
        for incarnation in server:
            for line in incarnation.log.lines:
                if isinstance(line, Delivering) and line.type == CLOSE_SESSION:
                    yield line.session, line.zxid


def _ends_proposed(recording: SortedRecording) -> Iterator[int]:
    for record in recording.records:
        if isinstance(record, Disk):
            yield from (txn.session for txn in record.log if txn.type == CLOSE_SESSION)
        elif isinstance(record, Sent) and record.txn is not None and record.txn.type == CLOSE_SESSION:
            yield record.txn.session


# The properties.


def _session_order(history: ClientHistory) -> tuple[int, ClientViolation | None]:
    """Compare each read of a session with the newest state of the node in its earlier answers."""
    may_vanish = {
        path for each in history.requests if each.asked.what in ("delete", "ephemeral") for path in each.asked.paths
    }
    judged = 0
    newest: dict[tuple[int, str], ClientRequest] = {}
    found: list[tuple[str, ClientViolation]] = []
    for request in history.requests:
        for path in request.asked.paths:
            before = newest.get((request.asked.session, path))
            if request.asked.what == "get" and before is not None and request.error in ("", "NoNode"):
                judged += 1
                wrong = _older(path, before, request, path in may_vanish)
                if wrong:
                    found.append((path, ClientViolation(wrong, (*before.witness, *request.witness))))
            if request.known and (before is None or _newness(request) > _newness(before)):
                newest[request.asked.session, path] = request
    overtaken = next(_overtaken(history), None)
    return judged, overtaken or _least(found)


def _newness(request: ClientRequest) -> tuple[int, bool]:
    """Return a rank of what a request shows of a node: of equal ones, the one that wrote it shows its data too."""
    return request.known, request.asked.what != "get"


def _older(path: str, before: ClientRequest, read: ClientRequest, may_vanish: bool) -> str:
    """Return as text how a read is older than the session's earlier answers; "" if it is not."""
    assert read.reply is not None
    node = read.reply.node
    knew = f"{path} as of {shown(before.known)} is known from {before.name}"
    if node is None:
        return "" if may_vanish else f"{knew}, and request {read.asked.number} finds no such node"
    if node.changed < before.known:
        return f"{knew}, and request {read.asked.number} reads it as of {shown(node.changed)}"
    return _not_as_written(before, node)


def _not_as_written(request: ClientRequest, node: NodeState) -> str:
    """Return as text the difference of a node from the last request that changed it; "" if there is none."""
    if request.asked.what in ("get", "delete") or node.changed != request.known:
        return ""
    if node.content != request.asked.content:
        return f"{request.name} wrote {node.path} as {shown(node.changed)}, and other data is read of that"
    if request.asked.version >= 0 and node.version != request.asked.version + 1:
        return (
            f"{request.name} made version {request.asked.version + 1} of {node.path}, and {node.version} is read of "
            f"{shown(node.changed)}"
        )
    return ""


def _overtaken(history: ClientHistory) -> Iterator[ClientViolation]:
    """Find answers that came before that of an earlier request. A lost connection is no answer."""
    latest: dict[int, ClientRequest] = {}
    for answer in history.answers:
        if answer.error in _UNKNOWN:
            continue
        before = latest.get(answer.asked.session, answer)
        if before.asked.number > answer.asked.number:
            text = f"{before.name} was answered before its request {answer.asked.number}"
            yield ClientViolation(text, (*answer.witness, *before.witness))
        latest[answer.asked.session] = max(before, answer, key=lambda each: each.asked.number)


def _ephemerals_end(history: ClientHistory) -> tuple[int, ClientViolation | None]:
    """Look at each ephemeral that was read at a server that had got as far as the end of its session."""
    found: list[tuple[str, ClientViolation]] = []
    closed = {session_id(each.asked.session): each for each in history.requests if each.asked.what == "close"}
    for read in history.reads:
        for node in read.states:
            end = history.ended.get(session_id(node.owner)) if node.owner else None
            if end is not None and end <= read.reached:
                told = closed.get(session_id(node.owner))
                text = (
                    f"server {read.server} has {node.path} at the end, as of {shown(read.reached)}, and its session "
                    f"0x{session_id(node.owner):x} ended with {shown(end)}"
                )
                witness = (*(() if told is None else told.witness), _only(read, node))
                found.append((node.path, ClientViolation(text, witness)))
    created = [each for each in history.requests if each.asked.what == "ephemeral" and each.error == ""]
    judged = sum(session_id(each.asked.session) in history.ended for each in created) if history.reads else 0
    return judged, _least(found)


def _changes_last(history: ClientHistory) -> tuple[int, ClientViolation | None]:
    """Compare what every server has in the end with the last change of each node, and with its last deletion."""
    last: dict[tuple[str, bool], ClientRequest] = {}
    may_be_gone: set[str] = set()
    for request in history.requests:
        for path in request.asked.paths if request.asked.what != "get" else ():
            key = path, request.asked.what == "delete"
            if request.known > (last[key].known if key in last else 0):
                last[key] = request
            if _may_be_gone(request, history):
                may_be_gone.add(path)
    found: list[tuple[str, ClientViolation]] = []
    for read in history.reads:
        nodes = {node.path: node for node in read.states}
        for (path, is_deleted), request in last.items():
            node = nodes.get(path)
            gone = path in may_be_gone or ((path, True) in last and last[path, True].known > request.known)
            wrong = _not_deleted(request, node) if is_deleted else _lost(request, path, node, gone)
            if wrong:
                text = f"{request.name} was told that {path} is {wrong} at server {read.server} in the end"
                witness = (*request.witness, _only(read, *([] if node is None else [node])))
                found.append((path, ClientViolation(text, witness)))
    return len(last) * len(history.reads), _least(found)


def _may_be_gone(request: ClientRequest, history: ClientHistory) -> bool:
    """Return True if a node may be gone because of this request though no answer says so."""
    if request.asked.what == "ephemeral":
        return session_id(request.asked.session) in history.may_have_ended
    return request.asked.what == "delete" and request.error in _UNKNOWN


def _not_deleted(request: ClientRequest, node: NodeState | None) -> str:
    if node is None or node.created > request.known:
        return ""
    return f"deleted with {shown(request.known)}, and it is there as of {shown(node.created)}"


def _lost(request: ClientRequest, path: str, node: NodeState | None, may_be_gone: bool) -> str:
    """Return as text how a change that a client was told of is not in the node; "" if it is, or a later one."""
    if node is None:
        return "" if may_be_gone else f"changed with {shown(request.known)}, and there is no {path}"
    if node.changed < request.known:
        return f"changed with {shown(request.known)}, and it is as of {shown(node.changed)}"
    wrong = _not_as_written(request, node)
    return wrong and f"changed with {shown(request.known)}: {wrong}"


def _data_agreement(history: ClientHistory) -> tuple[int, ClientViolation | None]:
    """Compare each node at all servers. A node that a server did not have yet when it was read is no difference."""
    if len(history.reads) < 2:
        return 0, None
    deleted = {
        path
        for each in history.requests
        if each.asked.what == "delete" and each.error in _UNKNOWN
        for path in each.asked.paths
    }
    at = [(read, {node.path: node for node in read.states}) for read in history.reads]
    paths = sorted({path for _, nodes in at for path in nodes})
    for path in paths:
        for read, nodes in at:
            node = nodes.get(path)
            if node is None or path in deleted or session_id(node.owner) in history.may_have_ended:
                continue
            for other, others in at:
                its = others.get(path)
                if its != node and node.changed <= other.reached and (its is None or its.changed <= node.changed):
                    text = f"server {read.server} has {_in_words(node)}, and server {other.server} has {_in_words(its)}"
                    witness = _only(read, node), _only(other, *([] if its is None else [its]))
                    return len(paths), ClientViolation(f"at the end {text}", witness)
    return len(paths), None


def _in_words(node: NodeState | None) -> str:
    if node is None:
        return "no such node"
    return f"{node.path} as of {shown(node.changed)}, version {node.version}, data with the CRC-32 {node.content:08x}"


def _only(read: Read, *nodes: NodeState) -> Read:
    """Return a read with no more than the nodes that matter."""
    return replace(read, nodes=(), states=nodes)


def _least(found: Iterable[tuple[str, ClientViolation]]) -> ClientViolation | None:
    """Return the violation of the least path."""
    return min(found, key=lambda each: each[0], default=("", None))[1]


_GUIDE = "ZooKeeper Programmer's Guide"

CLIENT_PROPERTIES = {
    each.name: each
    for each in (
        ClientProperty(
            "session order",
            "A session is answered in the order of its requests, and never reads of a node what is older than what it "
            "wrote or read of that node before.",
            f"Hunt et al. 2010, 2.3, FIFO client order; {_GUIDE}, Consistency Guarantees: single system image",
            _session_order,
        ),
        ClientProperty(
            "ephemeral nodes",
            "No ephemeral node is there once its session has ended.",
            f"{_GUIDE}, Ephemeral Nodes",
            _ephemerals_end,
        ),
        ClientProperty(
            "changes last",
            "What a session was told that it has changed is so in the end at every server, or was changed again.",
            f"{_GUIDE}, Consistency Guarantees: reliability",
            _changes_last,
        ),
        ClientProperty(
            "data agreement",
            "A node is the same at every server in the end: its data, its version, its owner, and which transactions "
            "created and last changed it.",
            "after DSN 2011, I and II: primary-backup",
            _data_agreement,
        ),
    )
}
"""The properties by name, in the order of reports."""
