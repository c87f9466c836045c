"""Precedence between the events of a trace: PO-precedence, causal precedence, and happened before.

Three relations over the events of a trace, each of them transitive:

- "po", PO-precedence (DSN 2011, III-B), in the reading of `invariants.po_causal_order`. An event precedes the later
  ones of its process, over all its incarnations, unless it is an abcast. An abcast(x) precedes the later abcasts of the
  same primary (a process in one incarnation and one epoch), and abdeliver(x) at any process.
- "causal", the relation of classical causal order (DSN 2011, definition III.1): an event precedes every later one of
  its process, and abcast(x) precedes abdeliver(x).
- "happened before" (Lamport 1978, "Time, clocks, and the ordering of events in a distributed system"): the same, and
  what precedes the sending of a message precedes what follows its receipt, where the trace shows messages.

A `Restore` stands for the delivery of every transaction of the prefix that it took over, if somebody delivered a prefix
with that hash (wherever in the trace). A transaction that one primary broadcasts again counts once, as in
`invariants.record`: only the first of these is the broadcast of its deliveries. If several primaries broadcast it, each
broadcast precedes each delivery.

An event is a node by its position: its number in the trace from 0, header and end not counted. Nodes are the property
and protocol events (`PROPERTY_EVENTS`, `PROTOCOL_EVENTS`); messages and faults of the network are none. Only the order
of each process's own events matters, so a trace may be merged from logs. In a broken trace an event may precede itself.

Inside, the events that precede a node without another one in between are kept as *groups*: a group has members and
stands above others, whose members count too. A process's own events are such a line of groups, the broadcasts of a
delivered prefix are another. So a restore of 10^5 transactions is one entry, the whole takes O(n) for n events, and a
search looks at each group once.
"""

from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, get_args

from zabcheck.invariants import (
    Broadcast,
    Chain,
    Deliver,
    End,
    Event,
    Header,
    Local,
    Receive,
    Restore,
    Send,
    Txn,
)
from zabcheck.invariants.events import PROPERTY_EVENTS, PROTOCOL_EVENTS
from zabcheck.invariants.record import Record
from zabcheck.text.words import clean, sentence

if TYPE_CHECKING:
    import networkx as nx  # loaded where a graph is made: explanations need this module, and no graph

Relation = Literal["po", "causal", "happened before"]

Rule = Literal["local", "primary", "delivers", "restores", "message", "transitive"]
"""Why a precedes b: both are of one process; both are broadcasts of one primary; a is the broadcast of what b delivers,
or of what is in the snapshot that b takes over; there are messages from a to b; or only by way of other events."""

_NODES = (*PROPERTY_EVENTS, *PROTOCOL_EVENTS)
_Group = int
_Line = tuple[int, ...]
"""The owner of a line: a process, or a primary."""


class Causality:
    """The relation `relation` over the events of a trace. `events` may hold a `Header` and an `End`, in any order.

    Built in O(n) time and memory for n events, messages included. ValueError for an unknown relation;
    TypeError for what is no event; TraceError (a ValueError) if a process goes back to an earlier incarnation.

        >>> from zabcheck.invariants import Broadcast, Deliver, Txn, Zxid
        >>> x = Txn(Zxid(1, 1), "x")
        >>> causality = Causality([Deliver(2, 0, x), Broadcast(1, 0, 1, x)])
        >>> causality.precedes(1, 0), causality.precedes(0, 1)
        (True, False)
        >>> causality.chain(Broadcast(1, 0, 1, x), Deliver(2, 0, x))
        [1, 0]
    """

    def __init__(self, events: Iterable[Event], relation: Relation = "po") -> None:
        if relation not in get_args(Relation):
            raise ValueError(f"no relation `{relation}`; expected one of: {', '.join(get_args(Relation))}")
        self.relation = relation
        self.events: list[Event] = []
        """The events, by position."""
        self._before: dict[int, tuple[_Group, ...]] = {}  # by node
        self._members: list[Sequence[int]] = []  # by group
        self._above: list[tuple[_Group, ...]] = []  # by group
        self._ends: dict[_Line, _Group] = {}
        self._sent: dict[int, _Group] = {}  # by message: what precedes its sending
        self._casts: dict[Txn, list[int]] = {}  # the first of each primary
        self._deliveries: dict[Txn, _Group] = {}  # what precedes each delivery of it
        self._taken: dict[int, Chain] = {}  # by restore: the prefix
        self._prefixes: dict[int, _Group] = {}  # of these, by chain hash: the broadcasts
        self._record = Record()
        for event in events:
            if not isinstance(event, Header | End):
                self._add(event)
        self._settle_restores()

    # Building.

    def _add(self, event: Event) -> None:
        if not isinstance(event, Event):
            raise TypeError(f"expected an event (`invariants.trace.load` reads them from a file), found {event!r:.60}")
        position = len(self.events)
        self.events.append(event)
        match event:
            case Broadcast():
                self._broadcast(position, event)
            case Deliver():
                self._record.deliver(event)
                self._record.new_links.clear()
                self._node(position, event, self._delivery(event.txn))
            case Restore():
                self._record.restore(event)
                self._node(position, event)
            case Send() | Receive() if self.relation == "happened before":
                self._message(event)
            case Local() if isinstance(event, _NODES):
                self._node(position, event)

    def _node(self, position: int, event: Local, *others: _Group) -> None:
        """Add a node, which its process's own events precede, and `others`."""
        line = self._ends.get((event.process,))
        self._before[position] = others if line is None else (line, *others)
        if self.relation != "po" or not isinstance(event, Broadcast):
            self._append((event.process,), (position,))

    def _broadcast(self, position: int, event: Broadcast) -> None:
        primary = event.process, event.incarnation, event.epoch
        self._record.broadcast(event)
        if self._record.new_sents:  # the first of its primary
            self._record.new_sents.clear()
            self._record.new_positions.clear()
            self._casts.setdefault(event.txn, []).append(position)
        if self.relation != "po":
            self._node(position, event)
            return
        line = self._ends.get(primary)
        self._node(position, event, *(() if line is None else (line,)))
        self._append(primary, (position,))

    def _message(self, event: Send | Receive) -> None:
        """Put what precedes a message's sending above the message's group: a `Receive` may stand before its `Send`."""
        message = self._sent.get(event.message)
        if message is None:
            message = self._sent[event.message] = self._group(())
        line = (event.process,)
        if isinstance(event, Receive):
            self._append(line, (), message)
        elif line in self._ends:
            self._above[message] = (*self._above[message], self._ends[line])

    def _group(self, members: Sequence[int], *above: _Group) -> _Group:
        self._members.append(members)
        self._above.append(above)
        return len(self._members) - 1

    def _append(self, line: _Line, members: Sequence[int], *above: _Group) -> None:
        end = self._ends.get(line)
        self._ends[line] = self._group(members, *above) if end is None else self._group(members, end, *above)

    def _delivery(self, txn: Txn) -> _Group:
        group = self._deliveries.get(txn)
        if group is None:
            group = self._deliveries[txn] = self._group(self._casts.setdefault(txn, []))
        return group

    def _settle_restores(self) -> None:
        """Settle all `Restore`s at the end: in merged logs their prefixes may come on record later."""
        links = self._record.links
        for position in self._before:
            event = self.events[position]
            if not isinstance(event, Restore):
                continue
            link = links.get(event.hash)
            if link is None or not link.length or (link.length, link.zxid) != (event.length, event.zxid):
                continue
            self._taken[position] = link
            self._before[position] += (self._prefix(link),)

    def _prefix(self, link: Chain) -> _Group:
        """Return the group of every broadcast of what is in `link`."""
        new = []
        while link.length and link.hash not in self._prefixes:
            new.append(link)
            link = link.previous
        group = self._prefixes.get(link.hash)
        for link in reversed(new):
            members = self._casts.get(link.txn, ())
            group = self._prefixes[link.hash] = self._group(members) if group is None else self._group(members, group)
        assert group is not None
        return group

    # Reading.

    def __len__(self) -> int:
        """Return the number of nodes."""
        return len(self._before)

    def __iter__(self) -> Iterator[int]:
        """Iterate over the positions of the nodes, in the order of the trace."""
        return iter(self._before)

    def __contains__(self, node: object) -> bool:
        """Return True if there is a node at this position, or one that is equal to this event."""
        return node in (self._first if isinstance(node, Event) else self._before)

    def position(self, node: int | Event) -> int:
        """Return the position of a node that is given by its position, or by an event: the first that is equal to it.

        ValueError if there is no such node.
        """
        if node in self:
            return self._first[node] if isinstance(node, Event) else node
        if isinstance(node, Event):
            raise ValueError(f"not in the trace, or no property or protocol event: {clean(sentence(node))}")
        raise ValueError(f"no property or protocol event at position {node} of {len(self.events)} events")

    @cached_property
    def _first(self) -> dict[Event, int]:
        first: dict[Event, int] = {}
        for position in self._before:
            first.setdefault(self.events[position], position)
        return first

    def broadcasts(self, txn: Txn) -> list[int]:
        """Return the positions of the broadcasts of `txn`, of each primary the first, in the order of the trace."""
        return list(self._casts.get(txn, ()))

    def delivers(self, node: int | Event, txn: Txn) -> bool:
        """Return True if this event delivers `txn`, or takes it over. O(log n) unless deliveries forked."""
        position = self.position(node)
        event = self.events[position]
        if isinstance(event, Deliver):
            return event.txn == txn
        return position in self._taken and self._record.contains(self._taken[position], txn)

    def precedes(self, first: int | Event, second: int | Event) -> bool:
        """Return True if `first` precedes `second`. O(n)."""
        return self.chain(first, second) is not None

    def past(self, *nodes: int | Event) -> list[int]:
        """Return the positions of all that precedes one of `nodes`, in the order of the trace. O(n)."""
        return sorted(self._search([self.position(node) for node in nodes], ()))

    def chain(self, first: int | Event, second: int | Event) -> list[int] | None:
        """Return a shortest list of positions from `first` to `second`, each preceding the next by one rule, or None.

        In "happened before" the messages between two of them are one rule. O(n).
        """
        found = self.chains([first], second)
        return found[0] if found else None

    def chains(self, firsts: Iterable[int | Event], second: int | Event) -> list[list[int]]:
        """Return a shortest chain from each of `firsts` that precedes `second`, in their order. O(n) for all."""
        positions = list(dict.fromkeys(self.position(each) for each in firsts))
        end = self.position(second)
        following = self._search([end], positions)
        found = []
        for position in positions:
            if position in following:
                chain = [position, following[position]]
                while chain[-1] != end:
                    chain.append(following[chain[-1]])
                found.append(chain)
        return found

    def _search(self, starts: Sequence[int], wanted: Iterable[int]) -> dict[int, int]:
        """Search backwards from `starts`, breadth first; return for each event found the next one of a shortest chain.

        If some are `wanted`, it ends when all of these are found.
        """
        missing = set(wanted)
        stop = bool(missing)
        following: dict[int, int] = {}
        seen = bytearray(len(self._members))
        waiting = deque(starts)
        while waiting:
            node = waiting.popleft()
            groups = list(self._before[node])
            while groups:
                group = groups.pop()
                if seen[group]:
                    continue
                seen[group] = True
                groups += self._above[group]
                for member in self._members[group]:
                    if member not in following:
                        following[member] = node
                        waiting.append(member)
                        missing.discard(member)
                if stop and not missing:
                    return following
        return following

    def rule(self, first: int | Event, second: int | Event) -> Rule | None:
        """Return the rule by which `first` precedes `second` with no other event in between; None if there is none.

        In "happened before" a message is not looked for. O(log n) as long as nothing forked.
        """
        a, b = self.position(first), self.position(second)
        before, after = self.events[a], self.events[b]
        assert isinstance(before, Local)
        assert isinstance(after, Local)
        if isinstance(before, Broadcast) and a in self._casts[before.txn] and self.delivers(b, before.txn):
            return "delivers" if isinstance(after, Deliver) else "restores"
        if a >= b or before.process != after.process:
            return None
        if self.relation != "po" or not isinstance(before, Broadcast):
            return "local"
        if not isinstance(after, Broadcast):
            return None
        same = (before.incarnation, before.epoch) == (after.incarnation, after.epoch)
        return "primary" if same else None

    # Graphs.

    def to_networkx(self) -> "nx.DiGraph":
        """Return the whole relation as a graph: every node, and edges of which it is the transitive closure.

        A node is a position, with the attributes `position`, `kind`, `process`, `incarnation`, `label` (in words, and
        made safe to draw) and, if it has one, `zxid`; an edge has `rule`. All of these are numbers and strings, for
        GraphML and the like. O(n) edges, and for each restore one a primary whose transactions it took over; for a
        transaction that several primaries broadcast one for each pair of broadcast and delivery. In "happened before"
        the messages between two nodes of a process are followed back for each node anew.
        """
        graph = self._unconnected(self._before)
        for b in self._before:
            graph.add_edges_from((a, b, {"rule": self.rule(a, b) or "message"}) for a in self._nearest(b))
        return graph

    def _unconnected(self, nodes: Iterable[int]) -> "nx.DiGraph":
        import networkx as nx

        graph = nx.DiGraph()
        for node in nodes:
            event = self.events[node]
            assert isinstance(event, Local)
            graph.add_node(node, position=node, **attributes(event))
        return graph

    def _nearest(self, node: int) -> Iterator[int]:
        """Return direct predecessors which all others precede."""
        groups = list(self._before[node])
        if node in self._taken:
            yield from self._latest_casts[groups.pop()]
        seen = set(groups)
        while groups:
            group = groups.pop()
            yield from self._members[group]
            if not self._members[group]:  # a message's
                fresh = [each for each in self._above[group] if each not in seen]
                seen.update(fresh)
                groups += fresh

    @cached_property
    def _latest_casts(self) -> dict[_Group, list[int]]:
        """Return the last broadcast of each line in each prefix that was taken over."""
        latest: dict[_Group, dict[_Line, int]] = {}
        taken = {self._prefixes[link.hash] for link in self._taken.values()}
        for restored in sorted(taken):  # a prefix comes before what continues it
            groups = [restored]
            while (above := self._above[groups[-1]]) and above[0] not in latest:
                groups.append(above[0])
            casts = latest[restored] = dict(latest[above[0]]) if above else {}
            for group in groups:
                for cast in self._members[group]:
                    line = self._line(cast)
                    casts[line] = max(cast, casts.get(line, cast))
        return {group: sorted(casts.values()) for group, casts in latest.items()}

    def _line(self, cast: int) -> _Line:
        event = self.events[cast]
        assert isinstance(event, Broadcast)
        if self.relation == "po":
            return event.process, event.incarnation, event.epoch
        return (event.process,)

    def reduction(self, nodes: Iterable[int | Event]) -> "nx.DiGraph":
        """Return the transitive reduction of the relation between `nodes`: the fewest edges with the same closure.

        Nodes and edges have the attributes that `to_networkx` gives them; the rule of an edge is "transitive" if it
        holds only by way of other events. Nodes that precede each other are kept as a ring, process by process, whose
        first is joined to others; one that precedes itself by way of others has an edge to itself.

        For k nodes with p events in their past, all together: O(p k / 64), and O(k^2 / 64) for each node.
        """
        import networkx as nx

        wanted = sorted({self.position(node) for node in nodes})
        graph = self._unconnected(wanted)
        past = nx.DiGraph()
        past.add_nodes_from(sorted({*self.past(*wanted), *wanted}))
        past.add_edges_from((a, b) for b in list(past) for a in self._nearest(b))
        components = nx.condensation(past)
        component_of = components.graph["mapping"]
        rings: dict[int, list[int]] = {}
        for node in sorted(wanted, key=lambda node: (graph.nodes[node]["process"], node)):
            rings.setdefault(component_of[node], []).append(node)
        edges: list[tuple[int, int]] = []
        for component, ring in rings.items():
            if len(components.nodes[component]["members"]) > 1 or past.has_edge(ring[0], ring[0]):
                edges += zip(ring, [*ring[1:], ring[0]], strict=True)
        for component, covered in _covers(components, rings):
            edges += [(rings[each][0], rings[component][0]) for each in covered]
        for a, b in sorted(edges):
            rule = self.rule(a, b) or ("message" if past.has_edge(a, b) else "transitive")
            graph.add_edge(a, b, rule=rule)
        return graph


def attributes(event: Local) -> dict[str, Any]:
    """Return the attributes of an event in a graph: numbers, and strings that are safe to draw."""
    txn = getattr(event, "txn", None)
    zxid = getattr(event, "zxid", None) if txn is None else txn.zxid
    return {
        "kind": event.__struct_config__.tag,
        "process": event.process,
        "incarnation": event.incarnation,
        "label": clean(sentence(event)),
        **({} if zxid is None else {"zxid": str(zxid)}),
    }


def _covers(dag: "nx.DiGraph", wanted: Iterable[int]) -> Iterator[tuple[int, list[int]]]:
    """Return for each of `wanted` the nearest others that lead to it: those that lead to no other of these.

    networkx has `transitive_reduction`, which would need the closure on `wanted` first and goes through all of its
    edges again and again; with sets as integers it takes a fiftieth of the time, for 1,000 nodes in a row.
    """
    import networkx as nx

    order: list[int] = []  # the wanted ones by bit, in topological order: a set's highest bit leads to no other of it
    below: dict[int, int] = {}  # of each node: the wanted ones that lead to it, and itself
    wanted = set(wanted)
    for node in nx.topological_sort(dag):
        mask = 0
        for before in dag.predecessors(node):
            mask |= below[before]
        if node in wanted:
            yield node, _highest(mask, order, below)
            mask |= 1 << len(order)
            order.append(node)
        below[node] = mask


def _highest(mask: int, order: Sequence[int], below: dict[int, int]) -> list[int]:
    found = []
    while mask:
        node = order[mask.bit_length() - 1]
        found.append(node)
        mask &= ~below[node]
    return found
