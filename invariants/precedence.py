"""≺_PO over the transactions of a whole record; `invariants.po_causal_order` says how it is read.

The transactions that a process has delivered, in any incarnation, only become more. So they are one list for each
process that broadcasts, and those that it had delivered before a broadcast are a prefix of that list, as the earlier
broadcasts of a primary are one of β. Nothing need be compared again with each broadcast.
"""

from collections.abc import Callable, Hashable, Iterable, Sequence
from itertools import islice

from zabcheck.invariants.chain import EMPTY, Chain
from zabcheck.invariants.events import Txn
from zabcheck.invariants.record import Record, Sent

Demand = tuple[Hashable, Sequence[Txn], int]
"""The name of a list, the list, and the length of its prefix that has to be delivered before something."""


def lacking(record: Record, demands: Callable[[Sent], Iterable[Demand]]) -> list[Chain]:
    """Return the links before which something is missing that a broadcast of their transaction demands.

    O(links + the lists), and again for each fork what was delivered after it of a list.
    """
    found: list[Chain] = []
    path: list[tuple[Txn, int]] = []  # each transaction, with the number of `changes` before it
    changes: list[tuple[Hashable, int]] = []  # of `done`: what there was before
    held: set[Txn] = set()
    done: dict[Hashable, int] = {}  # by list: a prefix of which everything is held
    for link in record.walk():
        while len(path) >= link.length:
            txn, before = path.pop()
            held.remove(txn)
            while len(changes) > before:
                name, at = changes.pop()
                done[name] = at
        held.add(link.txn)
        path.append((link.txn, len(changes)))
        lacks = False
        sent = record.sent.get(link.txn)
        while sent is not None:
            for name, txns, demanded in demands(sent):
                at = start = done.get(name, 0)
                while at < demanded and txns[at] in held:
                    at += 1
                if at > start:
                    changes.append((name, start))
                    done[name] = at
                lacks |= at < demanded
            sent = sent.other
        if lacks:
            found.append(link)
    return found


class Precedence:
    """The immediate predecessors of each broadcast. O(links + deliveries of the processes that broadcast) to build."""

    def __init__(self, record: Record) -> None:
        self.record = record
        self.txns = {primary: [sent.txn for sent in sents] for primary, sents in record.sequences.items()}
        self.learned: dict[int, dict[Txn, int]] = {}  # by process: the number of those that it delivered before
        self.known: dict[Sent, int] = {}  # the number of these that the process had delivered
        self.sents: dict[int, list[Sent]] = {}  # by process
        for primary, sents in record.sequences.items():
            self.sents.setdefault(primary[1], []).extend(sents)
        for process, sents in self.sents.items():
            sents.sort(key=lambda sent: sent.rank)
            self._learn(process, sents)
        self.lists = {process: list(learned) for process, learned in self.learned.items()}
        self.of_process = {process: [sent.txn for sent in sents] for process, sents in self.sents.items()}

    def _learn(self, process: int, sents: Iterable[Sent]) -> None:
        """Take in what a process had delivered when it made each of its broadcasts; others' broadcasts count only."""
        learned = self.learned[process] = {}
        seen = {EMPTY.hash}

        def learn(link: Chain) -> None:
            txns = []
            while link.hash not in seen:
                seen.add(link.hash)
                txns.append(link.txn)
                link = link.previous
            for txn in reversed(txns):
                if txn in self.record.sent:
                    learned.setdefault(txn, len(learned))

        passed = iter(self.record.passed(process))
        left = next(passed, None)
        for sent in sents:
            while left is not None and left[0] < sent.segment:
                learn(left[2])
                left = next(passed, None)
            learn(self.record.had(sent) or EMPTY)
            self.known[sent] = len(learned)

    def earlier(self, sent: Sent) -> Demand:
        """Return the broadcasts of the same primary, and the number of them that came before this one."""
        return sent.primary, self.txns[sent.primary], sent.place

    def earlier_of_process(self, sent: Sent) -> Demand:
        """Return the broadcasts of the same process in all epochs, and the number of them before this one."""
        process = sent.event.process
        return ("broadcast", process), self.of_process[process], sent.rank

    def delivered(self, sent: Sent) -> Demand:
        """Return the transactions that its process delivered, and the number of them before this broadcast.

        Its own transaction may be one of them.
        """
        process = sent.event.process
        return process, self.lists[process], self.known[sent]

    def has_learned(self, sent: Sent) -> bool:
        """Return True if its process had delivered anything else before this broadcast."""
        known = self.known[sent]
        own = self.learned[sent.event.process].get(sent.txn, known) < known
        return known > own

    def is_immediate(self, x: Txn, y: Txn) -> bool:
        """Return True if x immediately precedes y."""
        for sent in self.record.broadcasts(y):
            if self.learned[sent.event.process].get(x, self.known[sent]) < self.known[sent]:
                return True
            if any(e.primary == sent.primary and e.place < sent.place for e in self.record.broadcasts(x)):
                return True
        return False


class Relation:
    """The transitive closure, found for some transactions at a time.

    A graph, of which a node is a transaction, or what a process had delivered at one of its broadcasts. Nodes that
    precede each other are one component.
    """

    def __init__(self, precedence: Precedence) -> None:
        node = {txn: node for node, txn in enumerate(precedence.record.sent)}
        before: list[list[int]] = [[] for _ in node]  # by node: those from which an edge leads to it
        for process, sents in precedence.sents.items():
            learned, done = iter(precedence.learned[process]), 0
            last: list[int] = []
            for sent in sents:
                known = precedence.known[sent]
                if known > done:
                    before.append([*last, *(node[txn] for txn in islice(learned, known - done))])
                    last, done = [len(before) - 1], known
                before[node[sent.txn]] += last
                if sent.previous is not None:
                    before[node[sent.txn]].append(node[sent.previous.txn])
        component = _components(before)
        self.component = {txn: component[place] for txn, place in node.items()}
        """By transaction; what precedes a transaction is of the same component, or of a lower one."""
        self._before: list[dict[int, None]] = [{} for _ in range(max(component, default=-1) + 1)]
        for place, others in enumerate(before):
            self._before[component[place]].update((component[other], None) for other in others)

    def among(self, sources: Sequence[Txn], reverse: bool = False) -> list[int]:
        """Return for each component those of `sources` that are in it or precede it, as the bits of an integer.

        In `reverse`, those that are in it or that it precedes. O(edges).
        """
        masks = [0] * len(self._before)
        for bit, txn in enumerate(sources):
            masks[self.component[txn]] |= 1 << bit
        for place in reversed(range(len(masks))) if reverse else range(len(masks)):
            mask = masks[place]
            for other in self._before[place]:
                if reverse:
                    masks[other] |= mask
                else:
                    mask |= masks[other]
            masks[place] = mask
        return masks


def _components(before: Sequence[Sequence[int]]) -> list[int]:
    """Return the strongly connected component of each node, numbered so that edges lead upwards (Tarjan 1972)."""
    visited = [0] * len(before)  # the number of the visit, from 1
    low = [0] * len(before)
    place = [0] * len(before)  # in `before`
    component = [-1] * len(before)
    stack: list[int] = []
    visits = components = 0
    for root in range(len(before)):
        waiting = [] if visited[root] else [root]
        while waiting:
            node = waiting[-1]
            if not visited[node]:
                visits += 1
                visited[node] = low[node] = visits
                stack.append(node)
            if place[node] < len(before[node]):
                other = before[node][place[node]]
                place[node] += 1
                if not visited[other]:
                    waiting.append(other)
                elif component[other] < 0:
                    low[node] = min(low[node], visited[other])
                continue
            waiting.pop()
            if waiting:
                low[waiting[-1]] = min(low[waiting[-1]], low[node])
            if low[node] == visited[node]:
                while component[node] < 0:
                    component[stack.pop()] = components
                components += 1
    return component
