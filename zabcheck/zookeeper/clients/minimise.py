"""The least part of a history that breaks a promise in the same way: with the same witness.

A request goes with its answer, and a connection with the answer to it. The header stays, so its claims of completeness
do not hold for the part: it proves no more than the whole history, but it is short enough to read. As a rule the
witness and its connections are enough, so larger parts are tried only after smaller ones: the witness; everything about
its nodes and their parents and siblings; everything of its clients; all.
"""

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from time import process_time
from typing import NamedTuple

from zabcheck.zookeeper.clients.exchange import read
from zabcheck.zookeeper.clients.history import (
    Answer,
    Connect,
    Connected,
    Data,
    HistoryEnd,
    HistoryError,
    HistoryHeader,
    HistoryLine,
    InitialNode,
    Record,
    Request,
)
from zabcheck.zookeeper.clients.judge import judge
from zabcheck.zookeeper.clients.picture import paths_of
from zabcheck.zookeeper.clients.promise import Breach
from zabcheck.zookeeper.clients.registers import REGISTERS
from zabcheck.zookeeper.clients.tree import parent
from zabcheck.zookeeper.leaving_out import leave_out_parts

SECONDS = 10.0
"""CPU seconds that are spent on the broken promises of a history together; most take a hundredth of one."""
MOST_LINES = 100_000
"""The number of lines of the longest part that is judged."""


class Numbered(NamedTuple):
    """A line of a history, and its number in the file."""

    number: int
    line: HistoryLine


class Least(NamedTuple):
    """The least part that was found: its header, and the lines after it; `is_minimal` if each of them is needed."""

    header: HistoryHeader
    lines: tuple[Numbered, ...]
    is_minimal: bool

    def history(self) -> Iterator[HistoryLine]:
        """Yield its lines as a history, with the end."""
        yield self.header
        yield from (each.line for each in self.lines)
        yield HistoryEnd(count=len(self.lines))


_Value = tuple[str | None, str | Data | None]
_Unit = list[Numbered]
"""Lines that stay or go together: a request and its answer, a connection and the answer to it, or another line."""


def least(
    lines: Iterable[HistoryLine], breach: Breach, promises: Collection[str], seconds: float = SECONDS
) -> Least | None:
    """Return the least part of a whole history by which each of these promises has this breach.

    None if no part of at most `MOST_LINES` lines has it. `lines` are read at most four times, once for each extent.
    After `seconds` of CPU time, when the running judgement has ended, the best part so far is returned.
    """
    until = process_time() + seconds
    for extent in _WHOLE_NODES if _are_searched(promises) else _EXTENTS:
        shortest = _Shortest(lines, breach, promises, extent(breach), lambda: process_time() < until)
        if shortest.breaks():
            return shortest.least()
        if not shortest.more():
            break
    return None


def _are_searched(promises: Collection[str]) -> bool:
    """Return True if one of these promises is judged by a search for an order."""
    return not {each.name for each in REGISTERS}.isdisjoint(promises)


def _extent_of_witness(breach: Breach) -> Callable[[_Unit], bool]:
    connections = _connections(breach)
    return lambda unit: isinstance(unit[0].line, Connect) and unit[0].line.connection in connections


def _extent_of_nodes(breach: Breach) -> Callable[[_Unit], bool]:
    nodes = {path for record in breach.witness for path in paths_of(record)}
    above = {parent(path) for path in nodes}
    wanted = nodes | above

    def is_near(unit: _Unit) -> bool:
        paths = [path for _, line in unit for path in paths_of(line)]
        return not paths or any(path in wanted or parent(path) in wanted for path in paths)

    return is_near


def _extent_of_clients(breach: Breach) -> Callable[[_Unit], bool]:
    clients = {record.client for record in breach.witness if isinstance(record, Record)}
    return lambda unit: not isinstance(unit[0].line, Record) or unit[0].line.client in clients


def _extent_of_all(breach: Breach) -> Callable[[_Unit], bool]:
    return bool


_EXTENTS = (_extent_of_witness, _extent_of_nodes, _extent_of_clients, _extent_of_all)
"""The extents, the smallest first: each function returns, for a breach, the test for the lines that it has besides the
witness."""


_WHOLE_NODES = (_extent_of_nodes, _extent_of_all)
"""The extents that have either all operations on a node or none."""


def _connections(breach: Breach) -> set[int]:
    return {record.connection for record in breach.witness if isinstance(record, Record)}


class _Shortest:
    """The shortest part so far within one extent of a history."""

    def __init__(
        self,
        lines: Iterable[HistoryLine],
        breach: Breach,
        promises: Collection[str],
        is_in: Callable[[_Unit], bool],
        more: Callable[[], bool],
    ) -> None:
        self.more = more
        self._breach = breach
        self._promises = promises
        self._is_searched = _are_searched(promises)
        self._header, self._units = _units(lines, {*breach.witness}, is_in)
        self._writers = Counter(each for unit in self._units for each in _written(unit))

    def breaks(self) -> bool:
        """Return True if the whole extent has the breach."""
        return self._header is not None and self._shows(self._units)

    def least(self) -> Least:
        """Leave out all lines that can be left out."""

        def shown(start: int, end: int) -> bool:
            left = [*self._units[:start], *self._units[end:]]
            is_shown = self._shows(left)
            if is_shown:
                self._units = left
            return is_shown

        leave_out_parts(lambda: len(self._units), shown, self.more)
        assert self._header is not None
        return Least(self._header, tuple(_in_order(self._units)), self.more())

    def _shows(self, units: Sequence[_Unit]) -> bool:
        """Return True if these lines have this very breach as the least one of each promise."""
        assert self._header is not None
        if self._is_searched and not self._has_writers(units):
            return False
        part = Least(self._header, tuple(_in_order(units)), is_minimal=False)
        try:
            judgements = judge(read(part.history(), ""), self._promises)
        except HistoryError:  # a connection is gone, and what was sent on it is not
            return False
        return all(each.breach == self._breach for each in judgements)

    def _has_writers(self, units: Sequence[_Unit]) -> bool:
        """Return True if all writes of each value that is read are there.

        That no order exists is not proved by the witness alone: without a write, orders may be missing that the whole
        history allows.
        """
        writers = Counter(each for unit in units for each in _written(unit))
        return all(writers[each] == self._writers[each] for unit in units for each in _read(unit))


def _written(unit: _Unit) -> Iterator[_Value]:
    request = unit[0].line
    if isinstance(request, Request) and request.op in ("setData", "create"):
        yield request.path, request.data


def _read(unit: _Unit) -> Iterator[_Value]:
    """Yield the values that a register was found, or expected, to have."""
    request, answer = unit[0].line, unit[-1].line
    if isinstance(request, Request) and request.expects is not None:
        yield request.path, request.expects
    if isinstance(request, Request) and isinstance(answer, Answer) and answer.data is not None:
        yield request.path, answer.data


def _units(
    lines: Iterable[HistoryLine], witness: Collection[Record | InitialNode], is_in: Callable[[_Unit], bool]
) -> tuple[HistoryHeader | None, list[_Unit]]:
    """Return the header and the units of an extent with the witness; no header if they exceed `MOST_LINES` lines."""
    header: HistoryHeader | None = None
    found: list[_Unit] = []
    open_: dict[tuple[int, object], _Unit] = {}
    length = 0

    def close(unit: _Unit) -> None:
        nonlocal length
        if is_in(unit) or any(line in witness for _, line in unit):
            found.append(unit)
            length += len(unit)

    for number, line in enumerate(lines, 1):
        match line:
            case HistoryHeader():
                header = line
            case HistoryEnd():
                pass
            case Connect():
                open_[line.connection, None] = [Numbered(number, line)]
            case Request():
                # A ping may be sent while another waits, and has the same number.
                if (waiting := open_.pop((line.connection, line.xid), None)) is not None:
                    close(waiting)
                open_[line.connection, line.xid] = [Numbered(number, line)]
            case Connected() | Answer():
                xid = line.xid if isinstance(line, Answer) else None
                close([*open_.pop((line.connection, xid), []), Numbered(number, line)])
            case _:
                close([Numbered(number, line)])
        if length > MOST_LINES:
            return None, []
    for unit in open_.values():
        close(unit)
    return header, sorted(found, key=lambda unit: unit[0].number)


def _in_order(units: Iterable[_Unit]) -> list[Numbered]:
    return sorted((each for unit in units for each in unit), key=lambda each: each.number)
