"""A promise that is judged without zxids: one order of the operations on a node explains what its sessions saw.

The order keeps that of each session, and has a write after everything that was answered before it was sent. It is
searched for as Wing and Gong, and Lowe, do: each state that the search reaches is looked at once.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from zabcheck.zookeeper.clients.exchange import Exchange, Operation, Sender, effects_of
from zabcheck.zookeeper.clients.history import Content, content_of
from zabcheck.zookeeper.clients.lists import judge_lists
from zabcheck.zookeeper.clients.promise import Findings, Linearizability, Promise
from zabcheck.zookeeper.clients.tree import Tree
from zabcheck.zookeeper.clients.words import named

_ACCESSES = ("getData", "setData", "create")
"""The operations that are put into an order."""
_CHANGES = ("create", "setData", "delete")
MOST_STATES = 1_000_000
"""The number of states of one node after which the search gives up."""
_NEVER = 1 << 63

State = tuple[tuple[int, ...], int]
"""The count of operations of each session that are in the order, and the number of the write that set the data."""


class _Step(NamedTuple):
    """An operation of a session: the data that it reads or expects, and the data that it writes.

    `sent` and `answered` are times of one clock, the latter the latest possible; without a clock they order nothing.
    """

    by: Operation
    sees: Content | None
    writes: Content | None
    sent: int = 0
    answered: int = _NEVER


@dataclass(slots=True)
class _Search:
    """The search for an order of the operations on one node."""

    sessions: list[list[_Step]]
    initial: Content | None
    """The data at first; None if nobody read it."""
    are_reads_timed: bool = False
    """True if a read, too, has to come after everything that was answered before it was sent: linearizable reads."""
    answered: list[list[int]] = field(default_factory=list)
    """By session and place: the earliest time at which an operation from this place on was answered."""
    data: list[_Step | None] = field(default_factory=lambda: [None])
    numbers: dict[Operation, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for steps in self.sessions:
            least, answered = _NEVER, [_NEVER]
            for step in reversed(steps):
                least = min(least, step.answered)
                answered.append(least)
                if step.writes is not None:
                    self.numbers[step.by] = len(self.data)
                    self.data.append(step)
            self.answered.append(answered[::-1])

    def furthest(self, most_states: int) -> State | None:
        """Return the state with the most operations in the order; None if there were more than `most_states`."""
        best = first = self._read(tuple(0 for _ in self.sessions), 0)
        waiting, known = [first], {first}
        length = sum(len(steps) for steps in self.sessions)
        while waiting:
            state = waiting.pop()
            if sum(state[0]) > sum(best[0]):
                best = state
            if sum(best[0]) == length:
                return best
            for following in self._following(state):
                if following not in known:
                    known.add(following)
                    waiting.append(following)
            if len(known) > most_states:
                return None
        return best

    def is_whole(self, state: State) -> bool:
        return all(place == len(steps) for place, steps in zip(state[0], self.sessions, strict=True))

    def _fits(self, step: _Step, number: int) -> bool:
        """Return True if the node has the data that an operation reads or expects."""
        last = self.data[number]
        return step.sees is None or step.sees == (self.initial if last is None else last.writes)

    def _read(self, places: tuple[int, ...], number: int) -> State:
        """Put all reads that fit into the order: that rules out nothing for the other operations."""
        reached, is_settled = list(places), False
        while not is_settled:
            is_settled, first = True, self._first(reached) if self.are_reads_timed else _NEVER
            for session, steps in enumerate(self.sessions):
                while reached[session] < len(steps):
                    step = steps[reached[session]]
                    if step.writes is not None or step.sent > first or not self._fits(step, number):
                        break
                    reached[session] += 1
                    is_settled = not self.are_reads_timed
        return tuple(reached), number

    def _first(self, places: Iterable[int]) -> int:
        """Return the earliest time at which an operation that is not in the order yet was answered."""
        return min(answered[place] for place, answered in zip(places, self.answered, strict=True))

    def _following(self, state: State) -> list[State]:
        places, number = state
        first, found = self._first(places), []
        for session, steps in enumerate(self.sessions):
            if places[session] == len(steps):
                continue
            step = steps[places[session]]
            after = (*places[:session], places[session] + 1, *places[session + 1 :])
            if step.writes is None:
                continue
            if not step.by.is_known:
                found.append(self._read(after, number))
            if step.sent <= first and self._fits(step, number):
                found.append(self._read(after, self.numbers[step.by]))
        return found


def one_order(exchange: Exchange, tree: Tree, found: Findings) -> None:
    """Look for an order of the operations on each node whose answers have neither zxids nor counters."""
    registers = _registers(exchange)
    by_sender: dict[str, dict[Sender | Operation, list[_Step]]] = defaultdict(lambda: defaultdict(list))
    last = {each.sender: each for each in exchange.connections.values()} if registers else {}
    for operation in exchange.operations if registers else ():
        path = operation.request.path
        if path is None or path not in registers or operation.request.op not in _ACCESSES:
            continue
        step = _step(operation, exchange)
        if step is not None:
            # It may take effect after later requests of its session on its next connection.
            is_given_up = not operation.is_known and last[operation.sender] is not operation.connection
            by_sender[path][operation if is_given_up else operation.sender].append(step)
    for path in sorted(by_sender):
        _judge([*by_sender[path].values()], found, exchange.header.clock == "one")
    judge_lists(exchange, found)


def _registers(exchange: Exchange) -> set[str]:
    """Return the nodes that are read or set without zxids and counters, and that only sets and creates change.

    Each of these writes has to say what it wrote.
    """
    accesses = [each for each in exchange.operations if each.request.op in _ACCESSES]
    with_zxids = {each.request.path for each in accesses if each.zxid or (each.answer and each.answer.stat)}
    may_be_done = (each for each in accesses if each.is_done or (each.is_write and not each.is_known))
    used = {each.request.path for each in may_be_done if each.request.op != "create"}
    registers = {path for path in used - with_zxids if path is not None and exchange.owns(path)}
    for operation in exchange.writes if registers else ():
        is_plain = operation.request.op in _ACCESSES and not operation.request.mode
        if (is_plain and operation.request.data is not None) or (operation.is_known and not operation.is_done):
            continue
        registers.difference_update(each.created for each in effects_of(operation) if each.op in _CHANGES)
    return registers


def _step(operation: Operation, exchange: Exchange) -> _Step | None:
    """Return an operation on a register as a step of its order; None if it has no place in that."""
    request, answer = operation.request, operation.answer
    sees, writes = content_of(request.expects), content_of(request.data)
    if request.op == "getData":
        sees = content_of(answer.data) if answer is not None and operation.is_done else None
    if not (operation.is_done or (writes is not None and not operation.is_known)):
        return None
    if exchange.header.clock != "one":
        return _Step(operation, sees, writes)
    answered = _NEVER
    if answer is not None and answer.time is not None and operation.is_known:
        answered = answer.time + exchange.header.clock_error
    return _Step(operation, sees, writes, request.time or 0, answered)


def _initial(sessions: list[list[_Step]]) -> list[Content | None]:
    """Return the data that a node may have had at first: data that was read and never written, if there is any.

    Otherwise None, for data that nobody read, and all data that a session read before it wrote.
    """
    every = [step for steps in sessions for step in steps]
    written = {step.writes for step in every}
    seen: dict[Content | None, None] = dict.fromkeys(step.sees for step in every if step.sees is not None)
    unexplained = [each for each in seen if each not in written][:1]
    first = {step.sees for steps in sessions for step in _up_to_a_write(steps)}
    return unexplained or [None, *(each for each in seen if each in first)]


def _up_to_a_write(steps: list[_Step]) -> Iterator[_Step]:
    for step in steps:
        yield step
        if step.writes is not None:
            return


def _judge(sessions: list[list[_Step]], found: Findings, is_timed: bool) -> None:
    found.case(sum(map(len, sessions)))
    strictly = _furthest(sessions, are_reads_timed=True) if is_timed else None
    if strictly is not None and strictly.is_whole:
        found.reads = found.reads or Linearizability(holds=True)
        return
    best = _furthest(sessions, are_reads_timed=False)
    if best is None:
        found.is_undecided = True
    elif not best.is_whole:
        _tell(best, found)
    elif is_timed and (found.reads is None or found.reads.holds is not False):
        found.reads = Linearizability(None) if strictly is None else Linearizability(False, strictly.stuck.by.witness)


class _Furthest(NamedTuple):
    """The state with the most operations of a node in an order."""

    search: _Search
    state: State

    @property
    def is_whole(self) -> bool:
        return self.search.is_whole(self.state)

    @property
    def stuck(self) -> _Step:
        """The first that was answered of the operations that no order can take next."""
        places = zip(self.state[0], self.search.sessions, strict=True)
        heads = [steps[place] for place, steps in places if place < len(steps)]
        return min(heads, key=lambda step: (step.by.answer.time or 0) if step.by.answer is not None else _NEVER)


def _furthest(sessions: list[list[_Step]], *, are_reads_timed: bool) -> _Furthest | None:
    """Return how far an order can go; None if the search gave up."""
    best: _Furthest | None = None
    for initial in _initial(sessions):
        search = _Search(sessions, initial, are_reads_timed)
        state = search.furthest(MOST_STATES)
        if state is None:
            return None
        if best is None or sum(state[0]) > sum(best.state[0]):
            best = _Furthest(search, state)
        if best.is_whole:
            break
    return best


def _tell(best: _Furthest, found: Findings) -> None:
    """Note the operation at which the longest order ends, as a breach."""
    stuck, last = best.stuck, best.search.data[best.state[1]]
    request, answer = stuck.by.request, stuck.by.answer
    data = request.expects if request.op == "setData" or answer is None else answer.data
    written = {step.writes for steps in best.search.sessions for step in steps}
    text = f"no order that sessions and times allow explains why {stuck.by.name} finds {named(data or '')}"
    text += "" if stuck.sees in written else ", which nobody wrote,"
    if last is not None:
        text += f" after {last.by.name} wrote {named(last.by.request.data or '')}"
    found.breach(0, text.removesuffix(","), *([] if last is None else [last.by]), stuck.by)


REGISTERS = (
    Promise(
        "one order",
        "One order explains what was read and written; it keeps that of each session and, before each write, that of "
        "real time.",
        "Lev-Ari et al., ATC 2016: ordered sequential consistency",
        "documented",
        one_order,
    ),
)
"""The promises of this module."""
