"""Lists that transactions append to and read, as Jepsen records them: one order without zxids, in linear time.

The reads of a list show the order of its appends, so nothing has to be searched for. Transactions are the nodes of a
graph; its edges are the orders that lists, sessions and, before each transaction that writes, real time give. There is
an order of all if the graph has no cycle (after Kingsbury and Alvaro, VLDB 2020: Elle).
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from itertools import chain, pairwise
from typing import TYPE_CHECKING, NamedTuple

from zabcheck.zookeeper.clients.exchange import Exchange, Operation, Sender
from zabcheck.zookeeper.clients.history import Answer, HistoryHeader, Request
from zabcheck.zookeeper.clients.promise import Findings, Linearizability

if TYPE_CHECKING:
    import networkx as nx  # loaded where a graph is made: it takes longer to import than most commands take

_MOST = 8
"""The number of transactions from which a shortest cycle is looked for."""

Values = tuple[str, ...]


class _Late(NamedTuple):
    """A node before all appends to a list that nobody read; an edge to it stands for edges to all of those."""

    path: str


Node = Operation | int | _Late
"""A transaction, a moment in time, or the node before late appends."""
_Edge = tuple[Node, Node, str | None]
"""Two nodes, the second of which comes after the first, and the reason as text.

In place of a reason, an edge to late appends has the value that the first appended, None if it read the list; an edge
from them has the value that the second appended.
"""


class _Append(NamedTuple):
    """A value that is appended to the list at a path."""

    path: str
    value: str


class _Read(NamedTuple):
    """The values of a list that a transaction read, without its own earlier appends."""

    path: str
    values: Values
    by: Operation


def judge_lists(exchange: Exchange, found: Findings) -> None:
    """Look for an order of all transactions on lists. O(operations) if there is one."""
    lists = _Lists([each for each in exchange.operations if each.request.op == "txn"])
    found.case(len(lists.transactions))
    if not lists.is_unique:
        found.is_undecided = True
    elif lists.transactions and lists.are_readable(found):
        lists.look_for_a_cycle(found, exchange.header)


def _name(read: _Read) -> str:
    return f"{read.by.name} read {_shown(read.values)} from {read.path}"


def _shown(values: Values) -> str:
    return f"[{', '.join(values)}]"


class _Lists:
    """The transactions of a history, and their appends and reads."""

    def __init__(self, operations: list[Operation]) -> None:
        self.transactions = [each for each in operations if each.is_done or not each.is_known]
        self.writers: dict[_Append, Operation] = {}
        self.is_unique = True
        """False if a value was appended to a list twice: nobody can tell which was read."""
        for operation in operations:
            for append in _appends(operation):
                self.is_unique = self.is_unique and append not in self.writers
                self.writers[append] = operation
        self.reads: list[_Read] = []
        self.longest: dict[str, _Read] = {}

    def are_readable(self, found: Findings) -> bool:
        """Return True if all reads of a list are prefixes of one; otherwise note what is wrong."""
        before = len(found.breaches)
        for operation in self.transactions:
            if operation.is_done:
                self._read(operation, found)
        for read in self.reads:
            if len(read.values) > len(self.longest.setdefault(read.path, read).values):
                self.longest[read.path] = read
        for read in self.reads:
            longest = self.longest[read.path]
            if read.values != longest.values[: len(read.values)]:
                other = f"{longest.by.name} read {_shown(longest.values)}"
                found.breach(0, f"{_name(read)}, but {other}, which does not begin with that", read.by, longest.by)
                break
        if len(found.breaches) == before:
            self._look_at_own_orders(found)
        return len(found.breaches) == before

    def _look_at_own_orders(self, found: Findings) -> None:
        """Note two appends of one transaction that are read in the wrong order."""
        for path, read in self.longest.items():
            for value, next_value in pairwise(read.values):
                writer = self.writers[_Append(path, value)]
                if writer is not self.writers[_Append(path, next_value)]:
                    continue
                appended = [*_appends(writer)]
                if appended.index(_Append(path, next_value)) < appended.index(_Append(path, value)):
                    text = f"{_name(read)}, but {writer.name} appended {next_value} before {value}"
                    found.breach(0, text, writer, read.by)

    def _read(self, operation: Operation, found: Findings) -> None:
        """Take the reads of a transaction, each of which has to end with its own earlier appends."""
        own: dict[str, Values] = defaultdict(tuple)
        before: dict[str, Values] = {}
        for part, result in zip(
            operation.request.parts, operation.answer.results if operation.answer else (), strict=False
        ):
            path = str(part.path)
            if part.op == "append":
                own[path] += (str(part.data),)
                continue
            values = result.children or ()
            first = before.setdefault(path, values[: max(0, len(values) - len(own[path]))])
            if values != first + own[path]:
                made = _shown(first + own[path])
                text = f"{operation.name} reads {_shown(values)} from {path}, where its own earlier steps left {made}"
                found.breach(0, text, operation)
        for path, values in before.items():
            self.reads.append(_Read(path, values, operation))
            self._is_written(self.reads[-1], found)

    def _is_written(self, read: _Read, found: Findings) -> None:
        """Note each value that a list must not have: of nobody, of a transaction that failed, or one that is twice."""
        for value in read.values:
            writer = self.writers.get(_Append(read.path, value))
            if writer is read.by:
                found.breach(0, f"{_name(read)}, but appended {value} only afterwards", read.by)
            elif writer is None:
                found.breach(0, f"{_name(read)}, but nobody appended {value}", read.by)
            elif writer.is_known and not writer.is_done:
                found.breach(0, f"{_name(read)}, but {writer.name}, which appended {value}, failed", writer, read.by)
        if len({*read.values}) < len(read.values):
            found.breach(0, f"{_name(read)}, which has a value twice", read.by)

    def look_for_a_cycle(self, found: Findings, header: HistoryHeader) -> None:
        """Note transactions each of which has to come before the next, and the last before the first.

        At first real time counts also before transactions that only read: without a cycle then, there is none at all.
        """
        read = {_Append(path, value) for path, longest in self.longest.items() for value in longest.values}
        happened = {self.writers[append] for append in read}.union(each for each in self.transactions if each.is_done)
        late: dict[str, dict[Operation, str]] = defaultdict(dict)
        for append, writer in self.writers.items():
            if writer in happened and append not in read:
                late[append.path].setdefault(writer, append.value)
        is_timed = header.clock == "one"
        timed = [each for each in self.transactions if each in happened] if is_timed else []

        def edges(are_reads_timed: bool) -> Iterator[_Edge]:
            times = _of_time(timed, are_reads_timed, header.clock_error)
            return chain(self._of_lists(late), _of_sessions(self.transactions), times)

        strictly = Findings()
        if is_timed:
            _look_for_a_cycle(edges(are_reads_timed=True), self.transactions, strictly)
            witness = tuple(
                each for breach in strictly.breaches for each in breach.witness if isinstance(each, Request | Answer)
            )
            if found.reads is None or found.reads.holds:
                found.reads = Linearizability(not witness, witness)
        if not is_timed or strictly.breaches:
            _look_for_a_cycle(edges(are_reads_timed=False), self.transactions, found)

    def _of_lists(self, late: Mapping[str, Mapping[Operation, str]]) -> Iterator[_Edge]:
        """Yield the order that the lists give: a read comes after the appends that it shows and before all others.

        `late` has, by path, the transactions with appends that nobody read, each with the first such value.
        """
        following = {path: [*self._appended(path, read.values)] for path, read in self.longest.items()}
        for path, appended in following.items():
            for (first, value), (second, next_value) in pairwise(appended):
                yield first, second, _after(path, first, value, second, next_value)
            for last, value in appended[-1:]:
                if last not in late[path]:
                    yield last, _Late(path), value
                    continue
                for each, next_value in late[path].items():
                    yield last, each, _after(path, last, value, each, next_value)
        for path, appenders in late.items():
            for writer, value in appenders.items():
                yield _Late(path), writer, value
        circular: dict[str, list[Operation]] = defaultdict(list)
        for path, values, by in self.reads:
            appended, size = following[path], len(values)
            for writer, value in appended[size - 1 : size] if size else ():
                yield writer, by, f"{by.name} read {value} from {path}, which {writer.name} appended"
            if size < len(appended):
                writer, value = appended[size]
                yield by, writer, _without(path, value, by, writer)
            elif by not in late[path]:
                yield by, _Late(path), None
            else:
                yield from _to_others(path, by, late[path], circular[path])

    def _appended(self, path: str, values: Values) -> Iterator[tuple[Operation, str]]:
        return ((self.writers[_Append(path, value)], value) for value in values)


def _to_others(path: str, by: Operation, late: Mapping[Operation, str], circular: list[Operation]) -> Iterator[_Edge]:
    """Yield the edges of a transaction that read all that anybody read of a list, and appended to it late.

    Two such transactions come before each other, so later ones need edges to these two only.
    """
    for writer in late if len(circular) < 2 else circular:
        yield by, writer, _without(path, late[writer], by, writer)
    if len(circular) < 2:
        circular.append(by)


def _after(path: str, first: Operation, value: str, second: Operation, next_value: str) -> str:
    return f"{second.name} appended {next_value} to {path} after {first.name} appended {value}"


def _without(path: str, value: str, by: Operation, writer: Operation) -> str:
    return f"{by.name} read {path} without {value}, which {writer.name} appended"


def _of_sessions(transactions: list[Operation]) -> Iterator[_Edge]:
    last: dict[Sender, Operation] = {}
    for each in transactions:
        before = last.get(each.sender)
        if before is not None:
            yield before, each, f"{before.name} was before {each.name} in its session"
        last[each.sender] = each


def _of_time(transactions: list[Operation], are_reads_timed: bool, error: int) -> Iterator[_Edge]:
    """Yield the edges of real time to transactions that write, or to all; an answer may have come `error` ns later.

    Moments, one for each answer, are nodes too: they stand for an edge from each earlier answer to each later request.
    """
    moments: list[tuple[int, bool, Operation]] = []
    for each in transactions:
        is_timed = are_reads_timed or any(part.op == "append" for part in each.request.parts)
        if each.request.time is not None and is_timed:
            moments.append((each.request.time, False, each))
        if each.is_done and each.answer is not None and each.answer.time is not None:
            moments.append((each.answer.time + error, True, each))
    moments.sort(key=lambda moment: moment[:2])
    latest: int | None = None
    for number, (_, is_answer, each) in enumerate(moments):
        if not is_answer:
            if latest is not None:
                yield latest, each, ""
            continue
        if latest is not None:
            yield latest, number, ""
        latest = number
        yield each, latest, ""


def _look_for_a_cycle(edges: Iterable[_Edge], transactions: list[Operation], found: Findings) -> None:
    import networkx as nx

    graph = nx.DiGraph()
    for before, after, why in edges:
        if before is not after and not graph.has_edge(before, after):
            graph.add_edge(before, after, why=why)
    parts = [part for part in nx.strongly_connected_components(graph) if len(part) > 1]
    number_of = {each: number for number, part in enumerate(parts) for each in part}
    first = next((each for each in transactions if each in number_of), None)
    if first is not None:
        part = graph.subgraph(parts[number_of[first]])
        starts = [each for each in transactions if each in part][:_MOST]
        _tell(min((_cycle(part, start) for start in starts), key=_length), graph, found)


def _cycle(graph: "nx.DiGraph", start: Operation) -> list[Node]:
    """Return the shortest cycle through a node, from it on."""
    import networkx as nx

    paths = nx.shortest_path(graph.reverse(copy=False), start, weight=_weight)
    return min(([start, *reversed(paths[after][1:])] for after in graph[start]), key=_length)


def _weight(before: Node, after: Node, fields: object) -> int:
    """Return the length of an edge of the graph in reverse: late appends are on the way, and do not count."""
    return not isinstance(before, _Late)


def _length(cycle: list[Node]) -> int:
    return sum(not isinstance(each, _Late) for each in cycle)


def _tell(cycle: list[Node], graph: "nx.DiGraph", found: Findings) -> None:
    places = [place for place, each in enumerate(cycle) if isinstance(each, Operation)]
    operations = [each for each in cycle if isinstance(each, Operation)]
    told: list[str] = []
    for place, before, after in zip(places, operations, [*operations[1:], operations[0]], strict=True):
        between = cycle[(place + 1) % len(cycle)]
        if between is after:
            told.append(graph.edges[before, after]["why"])
        elif isinstance(between, _Late):
            value, next_value = graph.edges[before, between]["why"], graph.edges[between, after]["why"]
            if value is None:
                told.append(_without(between.path, next_value, before, after))
            else:
                told.append(_after(between.path, before, value, after, next_value))
        else:
            told.append(f"{before.name} was answered before {after.name} was sent")
    found.breach(0, f"no order explains this: {'; '.join(told)}", *operations)


def _appends(operation: Operation) -> Iterator[_Append]:
    return (_Append(str(each.path), str(each.data)) for each in operation.request.parts if each.op == "append")
