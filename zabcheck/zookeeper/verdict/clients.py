"""Verdicts on a recorded run by the promises to clients: on its sessions, and on the nodes of its servers in the end.

The properties in `invariants` see a trace of broadcasts and deliveries. These see the clients' side of a recording, so
nodes are judged with their data and versions, whatever the servers' logs say. The promises of
`zabcheck.zookeeper.clients` judge. Here the recording of a run is turned into three kinds of histories for them: the
sessions alone, the sessions with the contents of one server, and the contents of all servers.
"""

from collections.abc import Collection, Hashable, Iterable, Iterator, Sequence
from typing import NamedTuple

from msgspec.structs import replace

from zabcheck.invariants.base import Status
from zabcheck.zookeeper.clients import history as lines
from zabcheck.zookeeper.clients.exchange import WRITES, Exchange, read
from zabcheck.zookeeper.clients.judge import PROMISES
from zabcheck.zookeeper.clients.promise import Breach, Findings
from zabcheck.zookeeper.clients.tree import ROOT, Tree
from zabcheck.zookeeper.recording.records import (
    Disk,
    Heard,
    NodeState,
    Read,
    Record,
    Replied,
    Requested,
    Sent,
    Unwatched,
)
from zabcheck.zookeeper.trace.incarnations import SortedRecording
from zabcheck.zookeeper.trace.names import CLOSE_SESSION
from zabcheck.zookeeper.trace.server_log import Delivering

_64_BITS = (1 << 64) - 1
_UNKNOWN = "ConnectionLoss"
"""The error in the answers to requests that may have been done or not."""


class ClientHistory(NamedTuple):
    """The requests of sessions, their answers and events, as they were recorded, and the final reads of all servers.

    `reads` has one for each server, by number. `ended` has the zxid of each end of a session that a server has
    delivered; `may_have_ended` has these sessions, those that were closed, and those whose end was proposed.
    """

    requests: Sequence[Requested | Replied | Heard | Unwatched]
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
    """A property: the condition that has to hold, its source, and the promises that it consists of."""

    name: str
    statement: str
    source: str
    promises: tuple[str, ...]


def history_of(recording: SortedRecording) -> ClientHistory:
    """Extract the clients' history from a recording. O(records + lines of logs)."""
    requests = [each for each in recording.records if isinstance(each, Requested | Replied | Heard | Unwatched)]
    ended = {session_id(session): zxid for session, zxid in _ends_delivered(recording)}
    closed = [session_id(each.session) for each in requests if isinstance(each, Requested) and each.what == "close"]
    reads = [each for each in recording.records if isinstance(each, Read) and each.states]
    proposed = map(session_id, _ends_proposed(recording))
    return ClientHistory(
        requests, sorted(reads, key=lambda read: read.server), ended, frozenset([*ended, *closed, *proposed])
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


# From records to the lines of a history.


class _Histories:
    """The lines of a history, and the records that each request and its answer were made of."""

    def __init__(self) -> None:
        self.lines: list[lines.HistoryLine] = [lines.HistoryHeader(version=1, clock="one", complete=(ROOT,))]
        self.records: dict[Hashable, list[Record]] = {}
        self._connections: dict[tuple[int, str], int] = {}

    def exchange(self) -> Exchange:
        return read([*self.lines, lines.HistoryEnd(count=len(self.lines) - 1)], "the recording")

    def connection(self, client: int, session: int, server: str | None = None) -> int:
        """Return the open connection of a session, which is a new one if there is none."""
        key = client, _hex(session)
        if key not in self._connections:
            number = self._connections[key] = len(self.lines)
            self.lines += [
                lines.Connect(client=client, connection=number, session=key[1], server=server),
                lines.Connected(client=client, connection=number, session=key[1]),
            ]
        return self._connections[key]

    def ask(self, request: lines.Request, *records: Record) -> None:
        self.lines.append(request)
        self.records[request.connection, request.xid] = [*records]

    def hear(self, record: Heard, time: int) -> None:
        connection = self.connection(record.client, record.session)
        event = lines.WatchEvent(
            client=record.client,
            connection=connection,
            time=time,
            type=record.type,
            path=record.path,
            zxid=record.zxid,
        )
        self.lines.append(event)
        self.records[event] = [record]

    def lose(self, client: int, connection: int) -> None:
        """Close a connection, unless that was done."""
        if connection in self._connections.values():
            self._connections = {key: other for key, other in self._connections.items() if other != connection}
            self.lines.append(lines.Lost(client=client, connection=connection))

    def witness(self, breach: Breach) -> tuple[Record, ...]:
        told = [each for each in breach.witness if isinstance(each, lines.Request | lines.WatchEvent)]
        return tuple(record for each in told for record in self.records.get(_key(each), ()))


def _key(told: lines.Request | lines.WatchEvent) -> Hashable:
    """Return the key of the records of a request, its connection and number, or of an event, the event itself."""
    return told if isinstance(told, lines.WatchEvent) else (told.connection, told.xid)


def _sessions(history: ClientHistory) -> _Histories:
    """Make the history of the sessions' requests, with the ends of sessions that only servers know of."""
    made = _Histories()
    sent: dict[tuple[int, int], tuple[Requested, int]] = {}
    time = 0
    for record in history.requests:
        time = max(time, 1000 * record.time)  # a machine's clock may be set back
        if isinstance(record, Requested):
            connection = made.connection(record.client, record.session)
            sent[record.client, record.number] = record, connection
            made.ask(_request(record, connection, time), record)
        elif isinstance(record, Heard):
            made.hear(record, time)
        elif isinstance(record, Unwatched):
            made.lose(record.client, made.connection(record.client, record.session))
        elif (record.client, record.number) in sent:
            asked, connection = sent[record.client, record.number]
            if record.error == _UNKNOWN:
                made.lose(record.client, connection)
            else:
                made.lines.append(_answer(record, asked, connection, time))
                made.records[connection, record.number].append(record)
    if any(each.what == "children" for each, _ in sent.values()):
        _add_others(made)
    closed = {session_id(each.session) for each, _ in sent.values() if each.what == "close"}
    for session, zxid in sorted(history.ended.items()):
        if session not in closed:
            connection = made.connection(0, session)
            made.ask(lines.Request(client=0, connection=connection, xid=0, op="closeSession"))
            made.lines.append(lines.Answer(client=0, connection=connection, xid=0, zxid=zxid))
    return made


def _add_others(made: _Histories) -> None:
    """Add a creation of unknown outcome below the root: other clients create nodes there that are in no history."""
    number = len(made.lines)
    made.lines += [
        lines.Connect(client=0, connection=number, session=lines.NOBODY),
        lines.Request(client=0, connection=number, xid=0, op="create", path="/others"),
        lines.Lost(client=0, connection=number),
    ]


_OPERATIONS: dict[str, lines.OperationName] = {
    "create": "create",
    "ephemeral": "create",
    "set": "setData",
    "delete": "delete",
    "multi": "multi",
    "get": "getData",
    "exists": "exists",
    "children": "getChildren",
    "sync": "sync",
    "watch": "addWatch",
    "reconfigure": "reconfig",
    "close": "closeSession",
}


def _request(record: Requested, connection: int, time: int) -> lines.Request:
    op, data = _OPERATIONS[record.what], _data(record.content)
    parts: tuple[lines.Part, ...] = ()
    if op == "multi":
        new, own = record.paths
        parts = lines.Part(op="create", path=new, data=data), lines.Part(op="setData", path=own, data=data)
    return lines.Request(
        client=record.client,
        connection=connection,
        time=time,
        xid=record.number,
        op=op,
        path=record.paths[0] if record.paths and op != "multi" else None,
        data=data if op in ("create", "setData") else None,
        version=record.version,
        mode=("ephemeral",) if record.what == "ephemeral" else (),
        watch="" if not record.watches else "persistent" if op == "addWatch" else "standard",
        parts=parts,
    )


def _answer(record: Replied, asked: Requested, connection: int, time: int) -> lines.Answer:
    is_done_multi = asked.what == "multi" and not record.error
    return lines.Answer(
        client=record.client,
        connection=connection,
        time=time,
        xid=record.number,
        zxid=record.zxid,
        error=record.error,
        stat=None if record.node is None else _stat(record.node),
        data=None if record.node is None or asked.what == "exists" else _data(record.node.content),
        results=(lines.Result(),) * len(asked.paths) if is_done_multi else (),
    )


def _data(content: int) -> lines.Data:
    """Return data of which only the CRC-32 is recorded, not the length."""
    return lines.Data(digest=f"crc32:{content:08x}", length=0)


def _stat(node: NodeState) -> lines.Stat:
    """Return the counters of a node; none of the run's nodes has children."""
    return lines.Stat(node.created, node.changed, node.created, node.version, ephemeral_owner=_hex(node.owner))


def _hex(session: int) -> str:
    return f"0x{session_id(session):x}"


def _add_read(made: _Histories, read: Read, paths: Iterable[str], at_least: int, gone: dict[str, int]) -> int:
    """Add reads of these nodes at a server in the end, as of `at_least` or later. Return the number of reads.

    `gone` has the nodes that were deleted, each with the zxid.
    """
    nodes = {node.path: node for node in read.states}
    connection = made.connection(read.server, read.server, f"server {read.server} in the end")
    reached = max(at_least, read.reached, *(node.changed for node in read.states))
    count = 0
    for number, path in enumerate(paths, 1):
        node = nodes.get(path)
        zxid = reached if node is not None else max(reached, gone.get(path, 0))
        request = lines.Request(client=read.server, connection=connection, xid=number, op="getData", path=path)
        made.ask(request, replace(read, nodes=(), states=() if node is None else (node,)))
        made.lines.append(
            lines.Answer(
                client=read.server,
                connection=connection,
                xid=number,
                zxid=zxid,
                error="NoNode" if node is None else "",
                stat=None if node is None else _stat(node),
                data=None if node is None else _data(node.content),
            )
        )
        count += 1
    return count


# The verdicts.


def judge_clients(history: ClientHistory, is_whole: bool = True) -> list[ClientVerdict]:
    """Judge by all properties. Unless the recording `is_whole`, a violation is inconclusive: a record may be missing.

    O(servers · records · log).
    """
    found = {name: _Case() for name in CLIENT_PROPERTIES}
    _judge_sessions(history, found)
    for each in history.reads:
        _judge_server(history, each, found)
    _judge_servers(history, found)
    verdicts = []
    for name, case in found.items():
        violation = case.violation
        status: Status = "holds" if case.judged else "not exercised"
        if violation is not None:
            status = "violated" if is_whole else "inconclusive"
        verdicts.append(ClientVerdict(name, status, case.judged, violation if is_whole else None))
    return verdicts


class _Case:
    """The cases of one property, and its first breach."""

    def __init__(self) -> None:
        self.judged = 0
        self._least: tuple[int, ClientViolation] | None = None

    @property
    def violation(self) -> ClientViolation | None:
        return None if self._least is None else self._least[1]

    def add(self, made: _Histories, breaches: Iterable[Breach], judged: int) -> None:
        self.judged += judged
        for breach in breaches:
            if self._least is None or breach.zxid < self._least[0]:
                self._least = breach.zxid, ClientViolation(breach.summary, made.witness(breach))


def _check(promise: str, exchange: Exchange, tree: Tree) -> Findings:
    found = Findings()
    PROMISES[promise].check(exchange, tree, found)
    return found


def _judge_sessions(history: ClientHistory, found: dict[str, _Case]) -> None:
    """Judge the sessions alone."""
    made = _sessions(history)
    exchange = made.exchange()
    tree = Tree(exchange, _lasting(history))
    for name, case in found.items():
        for promise in CLIENT_PROPERTIES[name].promises if name not in _IN_THE_END else ():
            its = _check(promise, exchange, tree)
            case.add(made, [each for each in its.breaches if _is_of(name, promise, each)], its.judged)


def _is_of(name: str, promise: str, breach: Breach) -> bool:
    """Return True if a breach counts for a property: one that a single session shows counts for the session order."""
    is_of_one = len({each.client for each in breach.witness if isinstance(each, lines.Request)}) == 1
    return promise not in _OF_VALUES or is_of_one == (name == "session order")


def _judge_server(history: ClientHistory, read: Read, found: dict[str, _Case]) -> None:
    """Judge the nodes of one server in the end by the answers to sessions."""
    made = _sessions(history)
    changed = _add_end(made, history, read)
    exchange = made.exchange()
    tree = Tree(exchange, _lasting(history))
    for name in ("ephemeral nodes", "changes last"):
        for promise in CLIENT_PROPERTIES[name].promises:
            its = _check(promise, exchange, tree)
            in_the_end = [each for each in its.breaches if any(isinstance(one, Read) for one in made.witness(each))]
            found[name].add(made, in_the_end, its.judged if name == "ephemeral nodes" else 0)
    found["changes last"].judged += len(changed)


def _add_end(made: _Histories, history: ClientHistory, read: Read) -> set[str]:
    """Add reads at a server in the end: of the nodes that sessions have changed, which are returned, and of others."""
    answers = {(each.client, each.number): each for each in history.requests if isinstance(each, Replied)}
    asked = [each for each in history.requests if isinstance(each, Requested)]
    told = [(each, answers[each.client, each.number].zxid) for each in asked if _is_done(each, answers)]
    changed = {path for each, _ in told if _OPERATIONS[each.what] in WRITES for path in each.paths}
    known = changed | {node.path for node in read.states}
    gone = {path: zxid for each, zxid in told if each.what == "delete" for path in each.paths}
    may_be_gone = _may_be_gone(history) - {node.path for node in read.states}
    _add_read(made, read, sorted(known - may_be_gone), max((zxid for _, zxid in told), default=0), gone)
    return changed


def lines_of(history: ClientHistory) -> list[lines.HistoryLine]:
    """Return the history of the sessions, and of reads at each server in the end, for `zabcheck clients check`."""
    made = _sessions(history)
    for each in history.reads:
        _add_read(made, each, _there_in_the_end(history), 0, {})
        _add_end(made, history, each)
    return [*made.lines, lines.HistoryEnd(count=len(made.lines) - 1)]


def _is_done(asked: Requested, answers: dict[tuple[int, int], Replied]) -> bool:
    answer = answers.get((asked.client, asked.number))
    return answer is not None and not answer.error


def _judge_servers(history: ClientHistory, found: dict[str, _Case]) -> None:
    """Compare the nodes of servers in the end. One that a server did not have yet when it was read is no difference."""
    if len(history.reads) < 2:
        return
    made = _Histories()
    paths = _there_in_the_end(history)
    for each in history.reads:
        _add_read(made, each, paths, 0, {})
    exchange = made.exchange()
    tree = Tree(exchange)
    case = found["data agreement"]
    for promise in CLIENT_PROPERTIES["data agreement"].promises:
        case.add(made, _check(promise, exchange, tree).breaches, 0)
    case.judged += len(paths)


def _there_in_the_end(history: ClientHistory) -> list[str]:
    """Return the nodes that some server has in the end, so that each has to have them."""
    return sorted({node.path for read in history.reads for node in read.states} - _may_be_gone(history))


def _may_be_gone(history: ClientHistory) -> set[str]:
    """Return the nodes that may be gone though no answer says so."""
    answers = [each for each in history.requests if isinstance(each, Replied)]
    answered = {(each.client, each.number) for each in answers if each.error != _UNKNOWN}
    return {
        path
        for each in history.requests
        if isinstance(each, Requested)
        and (
            (each.what == "ephemeral" and session_id(each.session) in history.may_have_ended)
            or (each.what == "delete" and (each.client, each.number) not in answered)
        )
        for path in each.paths
    } | {
        node.path for read in history.reads for node in read.states if session_id(node.owner) in history.may_have_ended
    }


def _lasting(history: ClientHistory) -> Collection[str]:
    """Return the ephemerals of sessions that have not ended."""
    return {
        path
        for each in history.requests
        if isinstance(each, Requested) and session_id(each.session) not in history.may_have_ended
        for path in each.paths
    }


def _as_promised(name: str, promises: tuple[str, ...] = ()) -> ClientProperty:
    promise = PROMISES[name]
    return ClientProperty(name, promise.statement, promise.source, promises or (name,))


_GUIDE = "ZooKeeper Programmer's Guide"
_OF_VALUES = ("reads as of one zxid", "reliability", "agreement", "Stat")
_IN_THE_END = ("ephemeral nodes", "changes last", "data agreement")

CLIENT_PROPERTIES = {
    each.name: each
    for each in (
        ClientProperty(
            "session order",
            "A session is answered in the order of its requests, and never reads of a node what is older than what it "
            "wrote or read of that node before.",
            f"Hunt et al. 2010, 2.3, FIFO client order; {_GUIDE}, Consistency Guarantees: single system image",
            ("answer order", "rising view", "single system image", "own writes", *_OF_VALUES),
        ),
        ClientProperty(
            "ephemeral nodes",
            "No ephemeral node is there once its session has ended.",
            f"{_GUIDE}, Ephemeral Nodes",
            ("ephemeral nodes end",),
        ),
        ClientProperty(
            "changes last",
            "What a session was told that it has changed is so in the end at every server, or was changed again.",
            f"{_GUIDE}, Consistency Guarantees: reliability",
            _OF_VALUES,
        ),
        ClientProperty(
            "data agreement",
            "A node is the same at every server in the end: its data, its version, its owner, and which transactions "
            "created and last changed it.",
            "after DSN 2011, I and II: primary-backup",
            _OF_VALUES,
        ),
        _as_promised("reads as of one zxid", _OF_VALUES),
        *map(_as_promised, ("writes in the order sent", "linearizable writes", "sync", "multi", "conditions")),
        ClientProperty(
            "watches",
            "A watch tells a change before its session is answered as of it, once, for a cause, and in order.",
            f"{_GUIDE}, ZooKeeper Watches: guarantees",
            ("watch fires", "watch fires once, for a cause", "event order", "persistent watches"),
        ),
    )
}
"""The properties by name, in the order of reports."""
