"""Judges one history in parts, so that no process needs all of it; each stage reads the files of the one before.

The verdicts, the counts and the witnesses are those of one process.

1. `deal`: the lines of a piece of the file are put into buckets by client.
2. `judge_sessions`: buckets that share sessions are read together. The promises to one session are judged, and each
   operation is sent on: by the nodes that it concerns, by its zxid, and by the times at which it was sent and answered.
3. `judge_nodes`: the promises about nodes are judged, for one share of all paths at a time. Operations on watched nodes
   are sent on to the buckets of the sessions that watch them.
4. `judge_ends`: the ends of ephemeral nodes and of containers are judged; `judge_zxids`, `judge_times`,
   `judge_watches`: the rest.

Besides, stages hand on which nodes are watched, which sessions end, and the highest zxid in each range of time.
"""

import zlib
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from operator import itemgetter
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

import msgspec
import pyarrow as pa
from msgspec import Struct

from zabcheck.zookeeper.clients import lives, orders, registers, values
from zabcheck.zookeeper.clients.exchange import WRITES, Connection, Exchange, Operation, effects_of, read
from zabcheck.zookeeper.clients.history import (
    NOBODY,
    Answer,
    ClientMessage,
    Connect,
    Connected,
    HistoryEnd,
    HistoryError,
    HistoryHeader,
    HistoryLine,
    InitialNode,
    Lost,
    Record,
    Request,
    WatchEvent,
)
from zabcheck.zookeeper.clients.judge import PROMISES, Judgement, asked, judgement_on
from zabcheck.zookeeper.clients.promise import Breach, Findings, Kind, Linearizability
from zabcheck.zookeeper.clients.tree import Tree, ancestors, parent
from zabcheck.zookeeper.clients.watches import WATCHES, lists_of

if TYPE_CHECKING:
    from zabcheck.zookeeper.clients.screen.columns import Gathering  # loads numpy, which not every command needs

_Check = Callable[[Exchange, Tree, Findings], None]
_OF_SESSIONS: dict[str, _Check] = {
    "answer order": orders.answer_order,
    "rising view": orders.rising_view,
    "single system image": orders.system_image,
    "own writes": orders.own_writes_by_zxid,
    "writes in the order sent": orders.order_of_zxids,
    "multi": values.results_of_multis,
    "multi read": values.count_multi_reads,
    "session": lives.sessions,
}
"""The parts of promises that are about one session."""
_OF_NODES: dict[str, _Check] = {
    "own writes": orders.own_writes_in_nodes,
    "reads as of one zxid": values.reads,
    "reliability": values.reliability,
    "agreement": values.agreement,
    "multi": values.views_of_multis,
    "multi read": values.views_of_multi_reads,
    "conditions": values.conditions,
    "Stat": values.counters,
    "sequential nodes": values.sequential,
    "one order": registers.one_order,
}
"""The parts of promises that are about one node, or one and its children."""
_CONCERN_NODES = WRITES.union(orders.TIMELY)


class NotDivided(Exception):
    """The history has to be judged by one process: it has Jepsen's lists, or it contradicts itself."""


# Records that stages write, and results that they return.


class Op(Struct, frozen=True, array_like=True, gc=False):
    """An operation without its connection's other records; `place` is that of its request in the file."""

    place: int
    client: int
    connection: int
    session: str
    server: str | None
    request: Request
    sent: int
    answer: Answer | None
    answered: int | None


class VanishedNode(Struct, frozen=True, array_like=True, gc=False):
    """An ephemeral node that was seen gone though nobody had deleted it (`lives.GoneNode`)."""

    zxid: int
    path: str
    created: Op
    by: Op


class HighestZxid(Struct, frozen=True, array_like=True, gc=False):
    """The operation with the highest zxid of those that were answered in a range of time; of several, the first."""

    zxid: int
    time: int
    op: Op


class GivenUpOp(Struct, frozen=True, array_like=True, gc=False):
    """A write of unknown outcome, and the next write of its session that was done (`orders.GivenUp`)."""

    unknown: Op
    later: Op
    least: int


class DecodableBreach(Struct, frozen=True, array_like=True):
    """A breach whose witness has only records of these kinds, so that it can be decoded."""

    zxid: int
    summary: str
    witness: tuple[InitialNode | Connect | Connected | Request | Answer | WatchEvent | Lost, ...]
    kind: Kind

    def as_breach(self) -> Breach:
        return Breach(self.zxid, self.summary, self.witness, self.kind)


class PartFindings(Struct, frozen=True, array_like=True):
    """The findings on a promise in a part of a history: the number of cases, and the least breach, if there is one."""

    promise: str
    cases: int
    is_undecided: bool
    is_broken: bool
    """True even if the profile leaves all breaches out."""
    breach: DecodableBreach | None
    age: int | None = None
    reads: Linearizability | None = None


class Division(Struct, frozen=True):
    """The facts that all stages need: the header, the number of shares, and the folder of their files.

    `edges` are the times, in ns, at which ranges of time begin, from the second range on.
    """

    header: HistoryHeader
    shares: int
    folder: str
    edges: tuple[int, ...] = ()

    def share_of(self, path: str) -> int:
        """Return the share that has a node."""
        return zlib.crc32(path.encode()) % self.shares

    def range_of(self, time: int) -> int:
        """Return the number of the range that a time is in."""
        return bisect_right(self.edges, time)


class PieceSummary(Struct, frozen=True):
    """The number of lines of a piece, its header and the count in its end, and the sessions of each bucket."""

    lines: int
    header: HistoryHeader | None
    end: int | None
    sessions: list[tuple[str, int]]


class DealtPiece(PieceSummary, frozen=True):
    """The result of stage 1: also the `told` lines, and the first and last time."""

    told: list[ClientMessage]
    first: int | None
    last: int | None


class SessionStage(Struct, frozen=True):
    """The result of stage 2: its findings, and the facts that later stages need."""

    found: list[PartFindings]
    given_up: list[GivenUpOp]
    lives: list[Op]
    """The ends of sessions, and the last writes of sessions with ephemeral nodes."""
    made: list[str]
    """The paths of containers, and of nodes with a time to live."""
    watched: list[str]
    recursively: list[str]
    best: list[tuple[int, HighestZxid | None, HighestZxid | None]]
    """By range of time: the highest zxids of all operations, and of writes."""
    told: list[tuple[int, int, Op]]
    """The operations that `told` lines name, each with its client and number."""


class NodeStage(Struct, frozen=True):
    """The result of stage 3."""

    found: list[PartFindings]
    gone: list[tuple[str, VanishedNode]]
    unsettled: list[str]
    """The watched nodes that may have changed, or one below them, without a record of it."""


class SessionFacts(Struct, frozen=True):
    """The facts about all sessions that stages 3 and 4 need.

    `watched` and `recursively` have, by path, the groups of sessions that watch a node.
    """

    given_up: list[GivenUpOp]
    lives: list[Op]
    made: list[str]
    watched: dict[str, list[int]]
    recursively: dict[str, list[int]]


class NodeFacts(Struct, frozen=True):
    """The facts about all nodes that stage 4 needs."""

    gone: list[tuple[str, VanishedNode]]
    unsettled: list[str]


_ENCODE = msgspec.msgpack.Encoder().encode
_OPS = msgspec.msgpack.Decoder(list[Op])
_Pairs = list[tuple[int, int]]
_AGES = msgspec.msgpack.Decoder(list[tuple[_Pairs, _Pairs]])
_BY_PLACE = itemgetter(0)
_COMPRESSION = "zstd"
"""Compresses columns of mostly rising numbers to an eighth of their size, for a twentieth of the CPU time."""


class Files:
    """The files through which stages hand data on: `kind` and `share` name the reader, `by` the writer."""

    def __init__(self, folder: str) -> None:
        self._folder = Path(folder)

    def write(self, kind: str, share: int, by: str, content: object) -> None:
        target = self._folder / f"{kind}-{share}"
        target.mkdir(exist_ok=True)
        with pa.output_stream(target / by, compression=_COMPRESSION) as file:
            file.write(_ENCODE(content))

    def read(self, kind: str, share: int, decode: Callable[[bytes], list[Any]]) -> Iterator[Any]:
        """Yield the contents that were written for a share, in the order of the writers' names."""
        target = self._folder / f"{kind}-{share}"
        for file in sorted(target.iterdir()) if target.is_dir() else ():
            with pa.input_stream(file, compression=_COMPRESSION) as content:
                yield from decode(content.read())

    def expect(self, kind: str, shares: Iterable[int]) -> None:
        """Raise FileNotFoundError if there is no file for any of these shares."""
        if not any((self._folder / f"{kind}-{share}").is_dir() for share in shares):
            raise FileNotFoundError(f"{self._folder}: files that are needed until the end have been removed")

    def ops(self, kind: str, share: int) -> list[Op]:
        """Return operations, each once, in the order of the history."""
        by_place = {each.place: each for each in self.read(kind, share, _OPS.decode)}
        return [by_place[place] for place in sorted(by_place)]


class _Outgoing:
    """The operations that are sent on, each once by kind and share."""

    def __init__(self) -> None:
        self._ops: dict[tuple[str, int], dict[int, Op]] = defaultdict(dict)

    def add(self, kind: str, share: int, op: Op) -> None:
        self._ops[kind, share][op.place] = op

    def write(self, files: Files, by: str) -> None:
        for (kind, share), ops in self._ops.items():
            files.write(kind, share, by, [*ops.values()])


class _Operations:
    """Operations made from records of files, and their connections, which have no other records."""

    def __init__(self, header: HistoryHeader, ops: Iterable[Op], owns: Callable[[str], bool] | None = None) -> None:
        self.exchange = Exchange(header) if owns is None else Exchange(header, owns=owns)
        self._made: dict[int, Operation] = {}
        self.exchange.operations.extend(map(self.made, ops))

    def made(self, op: Op) -> Operation:
        """Return the operation of a record; for the same request it is the same object."""
        if op.place not in self._made:
            connections = self.exchange.connections
            if op.connection not in connections:
                connect = Connect(client=op.client, connection=op.connection, session=op.session, server=op.server)
                connections[op.connection] = Connection(connect, op.client, op.session, 0)
            request = op.request
            made = Operation(connections[op.connection], request, op.sent, request.op in WRITES)
            if op.answer is not None:
                assert op.answered is not None
                made.take(op.answer, op.answered)
            self._made[op.place] = made
        return self._made[op.place]

    def with_others(self, others: Iterable[Op]) -> Exchange:
        """Return the exchange with further operations, of other parts, in the order of the file."""
        made = {**self._made, **{each.place: self.made(each) for each in others}}
        return replace(self.exchange, operations=[made[place] for place in sorted(made)])


def _found_parts(
    checks: Mapping[str, Callable[[Findings], None]], header: HistoryHeader, names: Sequence[str]
) -> list[PartFindings]:
    """Check some parts of promises. Breaches that the profile does not count are left out."""
    parts = []
    for name, check in checks.items():
        if name in names:
            found = Findings()
            check(found)
            by_code = header.profile == "zookeeper"
            breaches = [each for each in found.breaches if by_code or each.kind == "documented"]
            least = min(breaches, key=lambda each: each.place, default=None)
            breach = None if least is None else DecodableBreach(*least)  # type: ignore[arg-type]
            parts.append(
                PartFindings(name, found.cases, found.is_undecided, bool(found.breaches), breach, reads=found.reads)
            )
    return parts


def _checks_on(checks: Mapping[str, _Check], exchange: Exchange, tree: Tree) -> dict[str, Callable[[Findings], None]]:
    def bind(check: _Check) -> Callable[[Findings], None]:
        return lambda found: check(exchange, tree, found)

    return {name: bind(check) for name, check in checks.items()}


def _concerned(operation: Operation) -> set[str]:
    """Return the paths that an operation may be about, and those whose children it may change."""
    if operation.request.op not in _CONCERN_NODES:
        return set()
    paths = {path for effect in effects_of(operation) for path in (effect.path, effect.created)}
    return paths | {parent(path) for path in paths}


# Stage 1.


_Placed = tuple[int, HistoryLine]
_LINES = msgspec.msgpack.Decoder(list[_Placed])
_NODES = msgspec.msgpack.Decoder(list[tuple[int, InitialNode]])
_PIECE = 1 << 40
"""A number above those of all lines of a piece."""


def deal(blocks: Iterable[Sequence[HistoryLine]], piece: int, shares: int, folder: str) -> DealtPiece:
    """Deal out the lines of a piece of a file. NotDivided if a header or an end is in the wrong place.

    O(lines) time and memory.
    """
    buckets: dict[int, list[_Placed]] = defaultdict(list)
    nodes: dict[int, list[tuple[int, InitialNode]]] = defaultdict(list)
    told: list[ClientMessage] = []
    sessions: dict[tuple[str, int], None] = {}
    times: list[int] = []
    header: HistoryHeader | None = None
    end: int | None = None
    division = Division(HistoryHeader(version=1), shares, folder)
    place = 0
    for place, line in enumerate((line for block in blocks for line in block), 1):
        if end is not None or (isinstance(line, HistoryHeader) and (piece, place) != (0, 1)):
            raise NotDivided
        if isinstance(line, Record):
            bucket = line.client % shares
            buckets[bucket].append((piece * _PIECE + place, line))
            if line.time is not None:
                times.append(line.time)
            if isinstance(line, Connect | Connected) and line.session != NOBODY:
                sessions[line.session, bucket] = None
        elif isinstance(line, InitialNode):
            nodes[division.share_of(line.path)].append((piece * _PIECE + place, line))
        elif isinstance(line, ClientMessage):
            told.append(line)
        elif isinstance(line, HistoryHeader):
            header = line
        else:
            end = line.count
    files, by = Files(folder), f"{piece:06}"
    for bucket, some in buckets.items():
        files.write("lines", bucket, by, some)
    for share, placed in nodes.items():
        files.write("nodes", share, by, placed)
    return DealtPiece(place, header, end, [*sessions], told, min(times, default=None), max(times, default=None))


def _streams(division: Division, buckets: Iterable[int]) -> tuple[Exchange, list[int]]:
    """Return the exchange of the clients of some buckets, and the places of its requests. NotDivided."""
    files = Files(division.folder)
    placed = sorted((each for bucket in buckets for each in files.read("lines", bucket, _LINES.decode)), key=_BY_PLACE)
    lines = [line for _, line in placed]
    try:
        exchange = read([division.header, *lines, HistoryEnd(count=len(lines))], "a part")
    except HistoryError:
        raise NotDivided from None
    return exchange, [place for place, line in placed if isinstance(line, Request)]


# Stage 2.


def judge_sessions(
    division: Division, group: int, buckets: Sequence[int], told: Sequence[ClientMessage], names: Sequence[str]
) -> SessionStage:
    """Judge the sessions of some buckets, and send their operations on. NotDivided as for `deal`."""
    exchange, places = _streams(division, buckets)
    if any(each.request.op == "txn" for each in exchange.operations):
        raise NotDivided
    ops = {each: _op(each, place) for each, place in zip(exchange.operations, places, strict=True)}
    out = _Outgoing()
    made: dict[str, None] = {}
    for operation, op in ops.items():
        for share in {division.share_of(path) for path in _concerned(operation)}:
            out.add("ops", share, op)
        if operation.is_write and operation.is_done:
            if operation.zxid:
                out.add("zxids", operation.zxid % division.shares, op)
            effects = effects_of(operation)
            made |= {each.created: None for each in effects if lives.is_deleted_by_the_service(each)}
    best = [*_answered_in_time(division, ops, out)] if division.header.clock == "one" else []
    files, by = Files(division.folder), f"{group:06}"
    out.write(files, by)
    if "timeliness" in names:
        files.write("ages", 0, by, [orders.times_of_reads_and_writes(exchange)])
    given_up = [GivenUpOp(ops[each.unknown], ops[each.later], each.least) for each in orders.given_up_in(exchange)]
    checks = _checks_on(_OF_SESSIONS, exchange, Tree(Exchange(division.header)))

    def order_sent(found: Findings) -> None:
        orders.order_of_zxids(exchange, Tree(Exchange(division.header)), found)
        found.case(len(given_up))

    found = _found_parts(checks | {"writes in the order sent": order_sent}, division.header, names)
    watched, recursively = _watched(exchange) if any(each.name in names for each in WATCHES) else ({}, {})
    wanted = {key for each in told for key in ((each.from_, each.after), (each.to, each.before))}
    numbered = orders.numbered_once(ops) if wanted else {}
    named = [(*key, ops[numbered[key]]) for key in sorted(wanted & numbered.keys())]
    return SessionStage(found, given_up, [*_lives(exchange, ops)], [*made], [*watched], [*recursively], best, named)


def _op(operation: Operation, place: int) -> Op:
    connection = operation.connection
    return Op(
        place,
        connection.client,
        connection.connect.connection,
        connection.session,
        connection.connect.server,
        operation.request,
        operation.sent,
        operation.answer,
        operation.answered,
    )


def _answered_in_time(
    division: Division, ops: Mapping[Operation, Op], out: _Outgoing
) -> Iterator[tuple[int, HighestZxid | None, HighestZxid | None]]:
    """Send on the operations that real time orders, by ranges of time, and yield the highest zxids of each range.

    An answer can have the highest zxid of all parts only if it has that of all answers so far in this part.
    """
    told: list[tuple[int, int, Operation]] = []
    for operation, op in ops.items():
        request, answer = operation.request, operation.answer
        if not operation.zxid or answer is None:
            continue
        if request.time is not None and (request.op == "sync" or (operation.is_write and operation.is_done)):
            out.add("asked", division.range_of(request.time), op)
        if answer.time is not None:
            told.append((answer.time + division.header.clock_error, op.place, operation))
    if division.header.bound is not None:
        for time, operation in orders.reads_by_clock(ops):
            out.add("reads", division.range_of(time - division.header.bound), ops[operation])
    told.sort(key=lambda each: each[:2])
    best: dict[int, HighestZxid] = {}
    best_writes: dict[int, HighestZxid] = {}
    high = high_write = 0
    for time, _, operation in told:
        op, within = ops[operation], division.range_of(time)
        if operation.zxid > high:
            high = operation.zxid
            best[within] = HighestZxid(high, time, op)
            out.add("told", within, op)
        if operation.is_write and operation.is_done and operation.zxid > high_write:
            high_write = operation.zxid
            best_writes[within] = HighestZxid(high_write, time, op)
            out.add("told", within, op)
    yield from ((within, best.get(within), best_writes.get(within)) for within in sorted({*best, *best_writes}))


def _watched(exchange: Exchange) -> tuple[dict[str, None], dict[str, None]]:
    """Return the paths that these sessions watch or hear of, and those that they watch recursively."""
    watched: dict[str, None] = {}
    recursively: dict[str, None] = {}
    for connection in exchange.connections.values():
        for operation in connection.operations:
            request = operation.request
            if request.path is not None and (request.watch or request.op == "addWatch"):
                watched[request.path] = None
                if request.watch == "recursive":
                    recursively[request.path] = None
            if request.op == "setWatches":
                for kind, paths in lists_of(request):
                    watched |= dict.fromkeys(paths)
                    if kind == "recursive":
                        recursively |= dict.fromkeys(paths)
        watched |= {each.path: None for each in connection.received if isinstance(each, WatchEvent)}
    return watched, recursively


def _lives(exchange: Exchange, ops: Mapping[Operation, Op]) -> Iterator[Op]:
    """Yield the operations that closed sessions, and the last writes of sessions with ephemeral nodes."""
    for life in lives.lives_of(exchange).values():
        if life.closed is not None:
            yield ops[life.closed]
        if life.ephemerals and life.last_write is not None:
            yield ops[life.last_write]


# Stage 3.


class _Share:
    """The records about the nodes of a share."""

    def __init__(self, division: Division, share: int, sessions: SessionFacts) -> None:
        self.division = division
        self.files = Files(division.folder)
        self.ops = self.files.ops("ops", share)
        self.nodes: list[tuple[int, InitialNode]] = [*self.files.read("nodes", share, _NODES.decode)]
        self.owns: Callable[[str], bool] = lambda path: division.share_of(path) == share
        self.made = _Operations(division.header, self.ops, self.owns)
        self.made.exchange.nodes.extend(node for _, node in sorted(self.nodes, key=_BY_PLACE))
        self.tree = Tree(self.made.exchange)
        owners = {
            seen.stat.ephemeral_owner for some in self.tree.data.values() for seen in some if seen.stat is not None
        }
        self.owners = (owners | {op.session for op in self.ops}) - {NOBODY}
        self.lives = self.made.with_others(each for each in sessions.lives if each.session in self.owners)


def judge_nodes(division: Division, share: int, sessions: SessionFacts, names: Sequence[str]) -> NodeStage:
    """Judge the nodes of a share, and send on the operations that watches and containers need."""
    here = _Share(division, share, sessions)
    exchange, tree = here.made.exchange, here.tree
    given_up = [
        orders.GivenUp(here.made.made(each.unknown), here.made.made(each.later), each.least)
        for each in sessions.given_up
    ]
    given_up = [each for each in given_up if any(here.owns(effect.path) for effect in effects_of(each.unknown))]
    checks = _checks_on(_OF_NODES, exchange, tree) | {
        "writes in the order sent": lambda found: orders.effects_of_given_up(given_up, exchange, tree, found),
        "ephemeral nodes stay": lambda found: lives.ephemeral_stays(here.lives, tree, found),
    }
    found = _found_parts(checks, division.header, names)
    by_operation = {id(operation): op for operation, op in zip(exchange.operations, here.ops, strict=True)}
    gone = [
        (session, VanishedNode(each.zxid, each.path, by_operation[id(each.created)], by_operation[id(each.by)]))
        for session, each in lives.first_gone(here.lives, tree).items()
    ]
    _send_on(here, sessions, f"{share:06}")
    above = {up for path in tree.unsettled for up in (path, *ancestors(path))}
    return NodeStage(found, gone, sorted(above & sessions.watched.keys()))


def _send_on(here: _Share, sessions: SessionFacts, by: str) -> None:
    out, made = _Outgoing(), {*sessions.made}
    nodes: dict[tuple[str, int], dict[int, InitialNode]] = defaultdict(dict)

    def to(path: str) -> Iterator[tuple[str, int]]:
        """Yield the receivers of operations on a node: the groups that watch it, and the share of a container above."""
        yield from (("watched", group) for group in sessions.watched.get(path, ()))
        for above in (path, *ancestors(path)) if sessions.recursively else ():
            yield from (("watched", group) for group in sessions.recursively.get(above, ()))
        if parent(path) in made:
            yield "below", here.division.share_of(parent(path))

    for operation, op in zip(here.made.exchange.operations, here.ops, strict=True):
        for kind, share in {each for path in _concerned(operation) if here.owns(path) for each in to(path)}:
            out.add(kind, share, op)
    for place, node in here.nodes:
        for kind, share in to(node.path):
            nodes[f"nodes-{kind}", share][place] = node
    out.write(here.files, by)
    for (kind, share), some in nodes.items():
        here.files.write(kind, share, by, [*some.items()])


# Stage 4.


def judge_ends(
    division: Division, share: int, sessions: SessionFacts, facts: NodeFacts, names: Sequence[str]
) -> list[PartFindings]:
    """Judge the nodes of a share that end with their sessions, or that the service deletes."""
    here = _Share(division, share, sessions)
    gone = {
        session: lives.GoneNode(each.zxid, each.path, here.made.made(each.created), here.made.made(each.by))
        for session, each in facts.gone
        if session in here.owners
    }
    checks: dict[str, Callable[[Findings], None]] = {
        "ephemeral nodes end": lambda found: lives.nodes_after_ends(here.lives, here.tree, gone, found)
    }
    if any(map(here.owns, sessions.made)):
        exchange = here.made.with_others(here.files.ops("below", share))
        below = [node for _, node in here.files.read("nodes-below", share, _NODES.decode)]
        every = Exchange(division.header, [*exchange.nodes, *below], operations=exchange.operations)
        checks["containers and TTL"] = lambda found: lives.containers(exchange, Tree(every), found)
    return _found_parts(checks, division.header, names)


def judge_zxids(division: Division, share: int, names: Sequence[str]) -> list[PartFindings]:
    """Judge the writes of a share of all zxids: no two may have the same."""
    exchange = _Operations(division.header, Files(division.folder).ops("zxids", share)).exchange
    checks = {"linearizable writes": orders.zxids_of_their_own}
    return _found_parts(_checks_on(checks, exchange, Tree(Exchange(division.header))), division.header, names)


def judge_times(
    division: Division,
    within: int,
    before: tuple[HighestZxid | None, HighestZxid | None],
    told: Sequence[tuple[Op, Op]],
    names: Sequence[str],
) -> list[PartFindings]:
    """Judge the order in real time of the requests in a range of time.

    `before` has the highest zxids that were answered before that range, of all operations and of writes; `told` has
    pairs of operations, the first of which is known to have been answered before the second was sent.
    """
    files, made = Files(division.folder), _Operations(division.header, ())
    asked = [(each.request.time or 0, made.made(each)) for each in files.ops("asked", within)]
    due = [
        (time - (division.header.bound or 0), each)
        for time, each in orders.reads_by_clock(map(made.made, files.ops("reads", within)))
    ]
    answered = [(_told_at(division, each), made.made(each)) for each in files.ops("told", within)]
    best, best_write = (None if each is None else made.made(each.op) for each in before)
    answered.sort(key=orders.TIME)
    known = [
        *orders.merged(sorted(asked, key=orders.TIME), answered, best, best_write),
        *(orders.earlier(made.made(after), made.made(first)) for first, after in told),
    ]
    checks: dict[str, Callable[[Findings], None]] = {
        "linearizable writes": lambda found: orders.writes_in_real_time(known, found),
        "sync": lambda found: orders.syncs_in_real_time(known, found),
        "timeliness": lambda found: orders.reads_in_real_time(
            orders.merged(sorted(due, key=orders.TIME), answered, best, best_write), found
        ),
    }
    return _found_parts(checks, division.header, names)


def judge_ages(division: Division) -> list[PartFindings]:
    """Return the longest time for which a read missed a write, in all parts of the history."""
    reads: list[tuple[int, int]] = []
    written: list[tuple[int, int]] = []
    for some_reads, some_written in Files(division.folder).read("ages", 0, _AGES.decode):
        reads += some_reads
        written += some_written
    age = orders.greatest_age(reads, written)
    return [PartFindings("timeliness", 0, is_undecided=False, is_broken=False, breach=None, age=age)]


def _told_at(division: Division, op: Op) -> int:
    assert op.answer is not None
    assert op.answer.time is not None
    return op.answer.time + division.header.clock_error


def judge_watches(
    division: Division, group: int, buckets: Sequence[int], facts: NodeFacts, names: Sequence[str]
) -> list[PartFindings]:
    """Judge the watches of the sessions in some buckets. NotDivided as for `deal`."""
    files = Files(division.folder)
    files.expect("lines", buckets)
    exchange, _ = _streams(division, buckets)
    changes = _Operations(division.header, files.ops("watched", group)).exchange
    nodes = dict(files.read("nodes-watched", group, _NODES.decode))
    changes.nodes.extend(nodes[place] for place in sorted(nodes))
    tree = Tree(changes)
    tree.unsettled.update(facts.unsettled)
    return _found_parts(_checks_on({each.name: each.check for each in WATCHES}, exchange, tree), division.header, names)


# All stages.


P = TypeVar("P")
R = TypeVar("R")


class Executor(Protocol):
    """A function that does the same work for each item, on any machine, and returns the decoded results in order."""

    def __call__(self, work: Callable[[P], R], items: Sequence[P], kind: Any) -> list[R]: ...


def judge_divided(
    gather: "Callable[[P, Gathering], None]",
    read_piece: Callable[[P], Iterable[Sequence[HistoryLine]]],
    pieces: Sequence[P],
    shares: int,
    folder: str,
    run: Executor,
    names: Sequence[str] = (),
) -> list[Judgement]:
    """Judge a history in pieces as `judge_columns` does: by `prove_divided` only the promises that may be broken.

    `gather` and `read_piece` are two ways to read a piece. NotDivided as for `prove_divided`.
    """
    from zabcheck.zookeeper.clients.screen.columns import Unusual
    from zabcheck.zookeeper.clients.screen.division import look_divided

    try:
        with TemporaryDirectory(dir=folder) as through:
            looked = look_divided(gather, pieces, shares, through, run, names)
    except Unusual:
        return prove_divided(read_piece, pieces, shares, folder, run, names)
    doubtful = [name for name, cases in looked.cases.items() if cases is None]
    proved = prove_divided(read_piece, pieces, shares, folder, run, doubtful) if doubtful else []
    judged = {each.promise.name: each for each in proved}
    return [
        judged[name]
        if cases is None
        else judgement_on(
            PROMISES[name], cases, None, looked.age if name == "timeliness" else None, is_whole=looked.is_whole
        )
        for name, cases in looked.cases.items()
    ]


def prove_divided(
    read_piece: Callable[[P], Iterable[Sequence[HistoryLine]]],
    pieces: Sequence[P],
    shares: int,
    folder: str,
    run: Executor,
    names: Sequence[str] = (),
) -> list[Judgement]:
    """Judge a history in pieces as `judge` does, in `shares` parts, with files in this folder.

    NotDivided if one process has to judge it. O(lines · log lines) time, O(lines / shares) memory for a part.
    """
    numbered = [*enumerate(pieces)]
    dealt: list[DealtPiece] = run(lambda each: deal(read_piece(each[1]), each[0], shares, folder), numbered, DealtPiece)
    header, is_whole = whole_of(dealt)
    asked_for = asked(header, names)
    named = [each.name for each in asked_for]
    told = [each for some in dealt for each in some.told]
    division = Division(header, shares, folder, _edges(dealt, shares))
    groups = [*enumerate(groups_of(shares, [each for some in dealt for each in some.sessions]))]
    of_sessions: list[SessionStage] = run(
        lambda each: judge_sessions(division, each[0], each[1], told, named), groups, SessionStage
    )
    sessions = _session_facts(of_sessions)
    numbers = range(shares)
    of_nodes: list[NodeStage] = run(lambda share: judge_nodes(division, share, sessions, named), numbers, NodeStage)
    facts = _node_facts(of_nodes)
    found = [each for some in ([one.found for one in of_sessions] + [one.found for one in of_nodes]) for each in some]
    stages: list[tuple[Callable[[Any], list[PartFindings]], Sequence[Any], tuple[str, ...]]] = [
        (
            lambda share: judge_ends(division, share, sessions, facts, named),
            numbers,
            ("ephemeral nodes end", "containers and TTL"),
        ),
        (lambda share: judge_zxids(division, share, named), numbers, ("linearizable writes",)),
        (
            lambda each: judge_times(division, each[0], each[1], each[2], named),
            [*_ranges(division, of_sessions, told)],
            ("linearizable writes", "sync", "timeliness"),
        ),
        (lambda _: judge_ages(division), [0], ("timeliness",)),
        (
            lambda each: judge_watches(division, each[0], each[1], facts, named),
            [group for group, some in zip(groups, of_sessions, strict=True) if some.watched],
            tuple(each.name for each in WATCHES),
        ),
    ]
    for work, items, promises in stages:
        if not {*promises}.isdisjoint(named):
            found += [each for some in run(work, items, list[PartFindings]) for each in some]
    return [_judgement(name, found, is_whole) for name in named]


def _judgement(name: str, found: Sequence[PartFindings], is_whole: bool) -> Judgement:
    mine = [each for each in found if each.promise == name]
    judged = max(sum(each.cases for each in mine), int(any(each.is_broken for each in mine)))
    breaches = [each.breach.as_breach() for each in mine if each.breach is not None]
    least = min(breaches, key=lambda each: each.place, default=None)
    is_decided = not any(each.is_undecided for each in mine)
    age = max((each.age for each in mine if each.age is not None), default=None)
    judgement = judgement_on(PROMISES[name], judged, least, age, is_whole=is_whole, is_decided=is_decided)
    return judgement._replace(reads=_reads(mine) if least is None else None)


def _reads(found: Sequence[PartFindings]) -> Linearizability | None:
    """Return whether reads are linearizable in all parts, or the witness of the first path at which they are not."""
    told = [each.reads for each in found if each.reads is not None]
    late = [each for each in told if each.holds is False]
    if late:
        return min(late, key=lambda each: [getattr(record, "path", None) or "" for record in each.witness])
    return next((each for each in told if each.holds is None), told[0] if told else None)


def whole_of(dealt: Sequence[PieceSummary]) -> tuple[HistoryHeader, bool]:
    """Return the header of a history, and whether it has an end. NotDivided if it does not fit together."""
    header = dealt[0].header
    lines = sum(each.lines for each in dealt)
    ends = [each.end for each in dealt if each.end is not None]
    if header is None or any(each.end is not None for each in dealt[:-1]) or ends not in ([], [lines - 2]):
        raise NotDivided
    return header, bool(ends)


def _edges(dealt: Sequence[DealtPiece], shares: int) -> tuple[int, ...]:
    """Divide the time of a history into ranges of one length."""
    first = min((each.first for each in dealt if each.first is not None), default=0)
    last = max((each.last for each in dealt if each.last is not None), default=0)
    return tuple(first + (last - first) * number // shares for number in range(1, shares))


def groups_of(buckets: int, sessions: Iterable[tuple[str, int]]) -> list[list[int]]:
    """Group buckets so that each session is in one group."""
    leader = [*range(buckets)]

    def find(bucket: int) -> int:
        while leader[bucket] != bucket:
            bucket = leader[bucket]
        return bucket

    first: dict[str, int] = {}
    for session, bucket in sessions:
        one, other = sorted((find(first.setdefault(session, bucket)), find(bucket)))
        leader[other] = one
    groups: dict[int, list[int]] = defaultdict(list)
    for bucket in range(buckets):
        groups[find(bucket)].append(bucket)
    return [*groups.values()]


def _session_facts(parts: Sequence[SessionStage]) -> SessionFacts:
    watched: dict[str, list[int]] = defaultdict(list)
    recursively: dict[str, list[int]] = defaultdict(list)
    for group, part in enumerate(parts):
        for path in part.watched:
            watched[path].append(group)
        for path in part.recursively:
            recursively[path].append(group)
    return SessionFacts(
        [each for part in parts for each in part.given_up],
        [each for part in parts for each in part.lives],
        [path for part in parts for path in part.made],
        watched,
        recursively,
    )


def _node_facts(parts: Sequence[NodeStage]) -> NodeFacts:
    gone: dict[str, VanishedNode] = {}
    for part in parts:
        for session, each in part.gone:
            other = gone.setdefault(session, each)
            gone[session] = min(each, other, key=lambda one: (one.zxid, one.path))
    return NodeFacts([*gone.items()], sorted({path for part in parts for path in part.unsettled}))


def _ranges(
    division: Division, parts: Sequence[SessionStage], told: Sequence[ClientMessage]
) -> Iterator[tuple[int, tuple[HighestZxid | None, HighestZxid | None], list[tuple[Op, Op]]]]:
    """Yield each range of time with the highest zxids answered before it, the first also with pairs by `told` lines."""
    ops = {(client, xid): op for part in parts for client, xid, op in part.told}
    pairs = [(ops.get((each.from_, each.after)), ops.get((each.to, each.before))) for each in told]
    known = [(first, after) for first, after in pairs if first is not None and after is not None and _has_zxid(first)]
    best: HighestZxid | None = None
    best_write: HighestZxid | None = None
    for within in range(division.shares):
        yield within, (best, best_write), known if not within else []
        for part in parts:
            for number, one, write in part.best:
                if number == within:
                    best, best_write = _better(best, one), _better(best_write, write)


def _has_zxid(op: Op) -> bool:
    return op.answer is not None and op.answer.zxid > 0


def _better(one: HighestZxid | None, other: HighestZxid | None) -> HighestZxid | None:
    """Return the one with the higher zxid; of equal ones, that which came first."""
    both = [each for each in (one, other) if each is not None]
    return max(both, key=lambda each: (each.zxid, -each.time, -each.op.place), default=None)
