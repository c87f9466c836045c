"""Screens one history in parts and in columns, as `clients.division` judges it.

The stages are the same. They hand columns on; about the whole history they know only facts on its sessions, on writes
that were given up, and on containers. One task reads the zxid and time of each write and sync, and of the reads that
may be the oldest.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, TypeVar

import msgspec
import numpy as np
from msgspec import Struct

from zabcheck.zookeeper.clients.division import Division, Executor, Files, PieceSummary, groups_of, whole_of
from zabcheck.zookeeper.clients.history import NOBODY, HistoryHeader
from zabcheck.zookeeper.clients.judge import asked
from zabcheck.zookeeper.clients.screen import (
    IN_REAL_TIME,
    OF_EPHEMERALS,
    OF_NODES,
    OF_SESSIONS,
    OF_WATCHES,
    Screen,
    lives,
    orders,
    total,
)
from zabcheck.zookeeper.clients.screen.columns import (
    MODES,
    NO_ID,
    OPS,
    Bools,
    Columns,
    Gathering,
    Ints,
    Numbers,
    Table,
    Unusual,
)
from zabcheck.zookeeper.clients.screen.nodes import CREATE, DELETE, NEVER, Nodes
from zabcheck.zookeeper.clients.screen.parts import (
    Lines,
    Packed,
    decode_part,
    gathered,
    numbers_in,
    packed,
    unpacked,
)
from zabcheck.zookeeper.clients.tree import ancestors, parent
from zabcheck.zookeeper.clients.watches import lists_of

Cases = dict[str, int | None]
_PIECE = 1 << 40
"""A number above those of all lines of a piece."""
_decode_tables = msgspec.msgpack.Decoder(list[Packed]).decode
P = TypeVar("P")


class DealtPiece(PieceSummary, frozen=True):
    """The result of stage 1, with the highest zxid."""

    latest: int


class SessionStage(Struct, frozen=True):
    """The result of stage 2. `lost` and `ends` are `orders.AbandonedWrites` and `lives.Ends`; `made` has containers."""

    cases: Cases
    lost: list[tuple[str, int, int]]
    ends: list[tuple[str, int, int]]
    made: list[str]
    watched: list[str]
    recursively: list[str]


class NodeStage(Struct, frozen=True):
    """The result of stage 3. `ephemerals` and `gone` are `lives.Ephemerals` and `lives.GoneNodes`."""

    cases: Cases
    ephemerals: list[tuple[str, int, int, int]]
    gone: tuple[int, list[tuple[str, int]]] | None
    unsettled: list[str]
    """The watched nodes that may have changed, or one below them, without a record of it."""


class TimeStage(Struct, frozen=True):
    """The result of the stage that reads all times; `age` is the longest, in ns, for which a read missed a write."""

    cases: Cases
    age: int | None


class SessionFacts(Struct, frozen=True):
    """The facts about sessions that stage 3 needs: `watched`, `recursively` have the groups that watch a node."""

    lost: list[tuple[str, int, int]]
    made: frozenset[str]
    watched: dict[str, list[int]]
    recursively: dict[str, list[int]]


class CaseCounts(NamedTuple):
    """The result for a whole history: the cases of each promise, as `ScreenedHistory.cases`."""

    header: HistoryHeader
    is_whole: bool
    cases: Cases
    age: int | None
    """As `ScreenedHistory.age`."""


def look_divided(
    gather: Callable[[P, Gathering], None],
    pieces: Sequence[P],
    shares: int,
    folder: str,
    run: Executor,
    names: Sequence[str],
) -> CaseCounts:
    """Screen a history in pieces.

    Unusual as for `ScreenedHistory`; NotDivided if the pieces do not fit together.
    """

    def of_all(work: Callable[[Any], Any], items: Sequence[Any], kind: Any) -> list[Any]:
        found = run(lambda item: _unless_unusual(work, item), items, kind | None)
        if None in found:
            raise Unusual
        return found

    dealt: list[DealtPiece] = of_all(
        lambda each: deal(gather, each[0], each[1], shares, folder), [*enumerate(pieces)], DealtPiece
    )
    header, is_whole = whole_of(dealt)
    if header.initial == "given":
        raise Unusual
    latest = max(each.latest for each in dealt)
    named = [each.name for each in asked(header, names)]
    division = Division(header, shares, folder)
    groups = [*enumerate(groups_of(shares, [each for some in dealt for each in some.sessions]))]
    of_sessions: list[SessionStage] = of_all(
        lambda each: look_at_sessions(division, each[0], each[1], named), groups, SessionStage
    )
    facts = _session_facts(of_sessions)
    of_nodes: list[NodeStage] = of_all(
        lambda share: look_at_nodes(division, share, facts, latest, named), range(shares), NodeStage
    )
    age: int | None = None
    found = [*(each.cases for each in of_sessions), *(each.cases for each in of_nodes)]
    found.append(_of_lives(of_sessions, of_nodes, named))
    if not OF_WATCHES.keys().isdisjoint(named):
        unsettled = sorted({path for each in of_nodes for path in each.unsettled})
        watching = [group for group, some in zip(groups, of_sessions, strict=True) if some.watched]
        found += of_all(
            lambda each: look_at_watches(division, each[0], each[1], unsettled, latest, named), watching, Cases
        )
    if not IN_REAL_TIME.keys().isdisjoint(named):
        [of_times] = of_all(lambda _: look_at_times(division, named), [0], TimeStage)
        found.append(of_times.cases)
        age = of_times.age
    if "containers and TTL" in named:
        gone = [(share, each.gone) for share, each in enumerate(of_nodes)]
        found += of_all(lambda each: look_below(division, *each), gone, Cases)
    cases = {name: total(each[name] for each in found if name in each) for name in named}
    return CaseCounts(header, is_whole, cases, age)


def _unless_unusual(work: Callable[[P], Any], item: P) -> Any:
    try:
        return work(item)
    except Unusual:
        return None


def _cases(screens: Mapping[str, Screen], columns: Columns, nodes: Nodes, names: Sequence[str]) -> Cases:
    def look(screen: Screen) -> int | None:
        try:
            return screen(columns, nodes)
        except Unusual:
            return None

    return {name: look(screen) for name, screen in screens.items() if name in names}


def deal(gather: Callable[[P, Gathering], None], number: int, piece: P, shares: int, folder: str) -> DealtPiece:
    """Deal out the lines of a piece by client. Unusual. O(lines) time and memory."""
    gathering, begin = Gathering(), number * _PIECE
    gathering.length = begin
    gather(piece, gathering)
    if gathering.end is not None and gathering.end[0] != gathering.length - 1:
        raise Unusual
    count = gathering.length - begin
    sessions = {
        (line.session, line.client % shares): None
        for some in (gathering.connects, gathering.connected)
        for _, line in some
        if line.session != NOBODY
    }
    lines = Lines(gathering)
    answers = lines.tables[1]
    latest = int(answers["zxid"].max(initial=0)) if answers else 0
    bucket, files = lines.clients() % shares, Files(folder)
    for share in np.unique(bucket).tolist():
        files.write("lines", share, f"{number:06}", lines.part(bucket == share))
    end = None if gathering.end is None else gathering.end[1]
    return DealtPiece(count, gathering.header, end, [*sessions], latest)


def _read_lines(division: Division, kind: str, shares: Iterable[int]) -> Gathering:
    files = Files(division.folder)
    return gathered(part for share in shares for part in files.read(kind, share, _one_part))


def _one_part(raw: bytes) -> list[Any]:
    return [decode_part(raw)]


def look_at_sessions(division: Division, group: int, buckets: Sequence[int], names: Sequence[str]) -> SessionStage:
    """Screen the sessions of some buckets, and send their operations on, by node. Unusual."""
    lines = Lines(_read_lines(division, "lines", buckets))
    columns = lines.columns(division.header)
    nodes = Nodes(columns)
    cases = _cases(OF_SESSIONS, columns, nodes, names)
    files, by = Files(division.folder), f"{group:06}"
    for share, rows in _shares(division, columns, nodes):
        files.write("rows", share, by, lines.part(_lines_of(columns, rows, len(lines))))
    times = orders.times_of(columns, nodes)
    files.write("times", 0, by, [packed({name: values}, {}) for name, values in times._asdict().items()])
    lost, ends = orders.lost_in(columns, nodes), lives.ends_in(columns, nodes)
    effects = nodes.effects
    is_deleted = effects["mode"] & (MODES["container"] | MODES["ttl"]) > 0
    made = np.unique(effects["created"][is_deleted]).tolist()
    watched, recursively = _watched(columns)
    paths = columns.all_paths
    return SessionStage(
        cases,
        [(paths[path], content, until) for path, content, until in zip(*(each.tolist() for each in lost), strict=True)],
        [*zip(columns.sessions, ends.closed.tolist(), ends.wrote.tolist(), strict=True)],
        [paths[path] for path in made],
        [*watched],
        [*recursively],
    )


def _shares(division: Division, columns: Columns, nodes: Nodes) -> Iterator[tuple[int, Ints]]:
    """Yield for each share the operations about its nodes, and those that may change their children."""
    effects, reads = nodes.effects, nodes.reads()
    is_child = np.isin(effects["op"], [CREATE, DELETE])
    named = np.concatenate([effects["path"], effects["created"]])
    above = nodes.parents[named[np.tile(is_child, 2)]]
    path = np.concatenate([reads["path"], named, above])
    of_effects = np.tile(effects["row"], 2)
    row = np.concatenate([reads["row"], of_effects, of_effects[np.tile(is_child, 2)]])
    share_of = np.array([division.share_of(each) for each in columns.all_paths], np.int64)
    pairs = np.sort(share_of[path] * len(columns.op) + row)
    pairs = pairs[np.diff(pairs, prepend=-1) > 0]
    if len(pairs):
        for some in np.split(pairs, np.flatnonzero(np.diff(pairs // len(columns.op))) + 1):
            yield int(some[0]) // len(columns.op), some % len(columns.op)


def _lines_of(columns: Columns, rows: Ints, count: int) -> Bools:
    """Return which lines belong to operations, or open their connections."""
    chosen = np.zeros(count, np.bool_)
    chosen[columns.sent[rows]] = True
    chosen[columns.answered[rows][columns.answer[rows] >= 0]] = True
    for connection in np.unique(columns.connection[rows]).tolist():
        chosen[columns.opened[connection]] = True
    return chosen


def _watched(columns: Columns) -> tuple[dict[str, None], dict[str, None]]:
    """Return the paths that these sessions watch or hear of, and those that they watch recursively."""
    watches = (columns.watch > 0) | (columns.op == OPS["addWatch"])
    numbers = np.unique(np.concatenate([columns.path[watches], columns.events["path"]])).tolist()
    watched = dict.fromkeys(columns.all_paths[number] for number in numbers if number != NO_ID)
    recursively: dict[str, None] = {}
    for request in columns.watches.values():
        if request.path is not None and request.watch == "recursive":
            recursively[request.path] = None
        for kind, paths in lists_of(request):
            watched |= dict.fromkeys(paths)
            if kind == "recursive":
                recursively |= dict.fromkeys(paths)
    return watched, recursively


def look_at_nodes(division: Division, share: int, facts: SessionFacts, latest: int, names: Sequence[str]) -> NodeStage:
    """Screen the nodes of a share, and send on the sightings of watched ones, and of those in containers. Unusual."""
    gathering = _read_lines(division, "rows", [share])
    columns = Lines(gathering).columns(division.header)
    nodes = Nodes(columns, lambda path: division.share_of(path) == share, latest)
    cases = _cases(OF_NODES, columns, nodes, names)
    numbers = columns.path_numbers
    lost = [(numbers[path], content, until) for path, content, until in facts.lost if path in numbers]
    columns_of_lost = (np.array([each[number] for each in lost], np.int64) for number in range(3))
    if not orders.is_none_late(orders.AbandonedWrites(*columns_of_lost), nodes):
        cases["writes in the order sent"] = None
    ephemerals, gone = lives.ephemerals_in(columns, nodes), lives.gone_in(columns, nodes)
    paths = columns.all_paths
    _send_seen(division, share, facts, nodes)
    unsettled = (paths[number] for number in np.flatnonzero(nodes.unsettled & nodes.is_owned).tolist())
    above = {up for path in unsettled for up in (path, *ancestors(path))}
    return NodeStage(
        cases,
        [*zip(columns.sessions, *(each.tolist() for each in ephemerals), strict=True)],
        gone and (gone.nodes, [*zip([paths[path] for path in gone.path.tolist()], gone.since.tolist(), strict=True)]),
        sorted(above & facts.watched.keys()),
    )


def _send_seen(division: Division, share: int, facts: SessionFacts, nodes: Nodes) -> None:
    """Send on the states of nodes, and the changes of their children, to the groups and shares that need them."""
    paths, to = nodes.columns.all_paths, defaultdict(list)
    for number in np.flatnonzero(nodes.is_owned).tolist():
        path = paths[number]
        groups = {*facts.watched.get(path, ())}
        if facts.recursively:
            groups |= {group for up in (path, *ancestors(path)) for group in facts.recursively.get(up, ())}
        for group in groups:
            to["seen", group].append(number)
        if parent(path) in facts.made:
            to["below", division.share_of(parent(path))].append(number)
    data, children = nodes.settled_states(), {name: nodes.children[name] for name in ("path", "start", "until", "row")}
    for (kind, receiver), some in to.items():
        tables = []
        for table in (data, children):
            rows = np.flatnonzero(np.isin(table["path"], some))
            tables.append(packed({name: values[rows] for name, values in table.items()}, {"path": paths}))
        Files(division.folder).write(kind, receiver, f"{share:06}", tables)


def _seen(division: Division, kind: str, receiver: int, gathering: Gathering) -> list[list[Table]]:
    """Return the sightings of nodes, and of their children, that were sent on."""
    tables: list[list[Table]] = [[], []]
    for number, some in enumerate(Files(division.folder).read(kind, receiver, _decode_tables)):
        if some.length:
            tables[number % 2].append(unpacked(some, numbers_in(gathering)))
    return tables


def look_at_watches(
    division: Division, group: int, buckets: Sequence[int], unsettled: Sequence[str], latest: int, names: Sequence[str]
) -> Cases:
    """Screen the watches of the sessions in some buckets. Unusual."""
    Files(division.folder).expect("lines", buckets)
    gathering = _read_lines(division, "lines", buckets)
    seen = _seen(division, "seen", group, gathering)
    columns = Lines(gathering).columns(division.header)
    nodes = Nodes(columns, latest=latest)
    nodes.take_seen(*seen)
    mine = [columns.path_numbers[path] for path in unsettled if path in columns.path_numbers]
    nodes.unsettled[mine] = True
    return _cases(OF_WATCHES, columns, nodes, names)


def look_at_times(division: Division, names: Sequence[str]) -> TimeStage:
    """Screen the order in real time of all writes and syncs, and the age of reads."""
    columns: dict[str, list[Any]] = {name: [np.zeros(0, np.bool_)] for name in orders.Times._fields}
    for some in Files(division.folder).read("times", 0, _decode_tables):
        for name, values in unpacked(some, {}).items():
            columns[name].append(values)
    times = orders.Times(**{name: np.concatenate(some) for name, some in columns.items()})
    cases = {name: screen(times) for name, screen in IN_REAL_TIME.items() if name in names}
    return TimeStage(cases, orders.greatest_age(times))


def look_below(division: Division, share: int, gone: tuple[int, list[tuple[str, int]]] | None) -> Cases:
    """Screen the children of the containers of a share that are gone."""
    if gone is None or not gone[1]:
        return {"containers and TTL": gone and gone[0]}
    gathering = Gathering()
    gathering.header = division.header
    seen = _seen(division, "below", share, gathering)
    paths = [gathering.paths[path] for path, _ in gone[1]]
    nodes = Nodes(Columns(gathering))
    nodes.take_seen(*seen)
    since = np.array([each for _, each in gone[1]], np.int64)
    return {"containers and TTL": lives.containers(lives.GoneNodes(gone[0], np.array(paths, np.int64), since), nodes)}


def _session_facts(parts: Sequence[SessionStage]) -> SessionFacts:
    watched: dict[str, list[int]] = defaultdict(list)
    recursively: dict[str, list[int]] = defaultdict(list)
    for group, part in enumerate(parts):
        for path in part.watched:
            watched[path].append(group)
        for path in part.recursively:
            recursively[path].append(group)
    lost = [each for part in parts for each in part.lost]
    return SessionFacts(lost, frozenset(path for part in parts for path in part.made), watched, recursively)


def _of_lives(of_sessions: Sequence[SessionStage], of_nodes: Sequence[NodeStage], names: Sequence[str]) -> Cases:
    """Compare the ends of all sessions with the sightings of their nodes."""
    numbers = Numbers()
    ends = [(numbers[name], *each) for part in of_sessions for name, *each in part.ends]
    nodes = [(numbers[name], *each) for part in of_nodes for name, *each in part.ephemerals]
    closed, wrote = np.full(len(numbers), NEVER), np.zeros(len(numbers), np.int64)
    made, gone, until = np.zeros(len(numbers), np.int64), np.full(len(numbers), NEVER), np.zeros(len(numbers), np.int64)
    for number, *each in ends:
        closed[number], wrote[number] = min(closed[number], each[0]), max(wrote[number], each[1])
    for number, *each in nodes:
        made[number] += each[0]
        gone[number], until[number] = min(gone[number], each[1]), max(until[number], each[2])
    ephemerals = lives.Ephemerals(made, gone, until)
    return {
        name: screen(ephemerals, lives.Ends(closed, wrote)) for name, screen in OF_EPHEMERALS.items() if name in names
    }
