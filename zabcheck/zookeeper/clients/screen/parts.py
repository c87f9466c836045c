"""Parts of a history in columns, packed for other processes."""

from collections.abc import Iterable, Mapping, Sequence
from operator import itemgetter
from typing import TypeVar

import numpy as np
import numpy.typing as npt
from msgspec import Struct
from msgspec.msgpack import Decoder

from zabcheck.zookeeper.clients.history import Connect, Connected, HistoryHeader, Lost, Request
from zabcheck.zookeeper.clients.screen.columns import NO_ID, NONE, Bools, Columns, Gathering, Ints, Numbers, Table
from zabcheck.zookeeper.clients.watches import lists_of


class Packed(Struct, frozen=True, array_like=True):
    """A packed table. A constant column is stored as one value; `values` has the meanings of numbers, by column."""

    length: int
    columns: dict[str, tuple[str, bytes]]
    values: dict[str, list[str]]


class Part(Struct, frozen=True, array_like=True):
    """Some lines of a history: tables, and the lines that are in none of them, with their places in the file."""

    tables: list[Packed]
    connects: list[tuple[int, Connect]]
    connected: list[tuple[int, Connected]]
    lost: list[tuple[int, Lost]]
    watches: list[tuple[int, Request]]


R = TypeVar("R")
_BY_LINE = itemgetter(0)
decode_part = Decoder(Part).decode


def packed(table: Table, values: Mapping[str, Sequence[str]]) -> Packed:
    """Pack a table, with the values for which the numbers in some columns stand."""
    length = len(next(iter(table.values()))) if table else 0
    columns: dict[str, tuple[str, bytes]] = {}
    used: dict[str, list[str]] = {}
    for name in table if length else ():
        column = table[name]
        if name in values:
            numbers = np.flatnonzero(np.bincount(column[column >= 0]))
            column = np.where(column >= 0, np.searchsorted(numbers, column), NO_ID).astype(np.int32)
            used[name] = [values[name][number] for number in numbers.tolist()]
        is_one = bool((column == column[0]).all())
        columns[name] = column.dtype.str, (column[:1] if is_one else column).tobytes()
    return Packed(length, columns, used)


def unpacked(some: Packed, numbers: Mapping[str, Numbers]) -> Table:
    """Unpack a table; its values get the numbers that they have in `numbers`, by column."""
    table: Table = {}
    for name, (kind, raw) in some.columns.items():
        column: npt.NDArray[np.int64] = np.frombuffer(raw, kind)
        if name in some.values:
            mine = [numbers[name][value] for value in some.values[name]]
            column = np.array([*mine, NONE if name == "owner" else NO_ID])[column]
            column = column if name == "owner" else column.astype(np.int32)
        table[name] = np.broadcast_to(column, some.length) if len(column) < some.length else column
    return table


def numbers_in(gathering: Gathering) -> dict[str, Numbers]:
    """Return by column the numbers of its values."""
    paths = gathering.paths
    return {"path": paths, "created": paths, "owner": gathering.sessions, "error": gathering.errors}


def values_in(gathering: Gathering) -> dict[str, Sequence[str]]:
    """Return by column the values for which its numbers stand."""
    paths = [*gathering.paths][1:]
    return {"path": paths, "created": paths, "owner": [*gathering.sessions], "error": [*gathering.errors]}


def gathered(parts: Iterable[Part]) -> Gathering:
    """Gather the lines of parts; they keep their places in the file."""
    gathering = Gathering()
    numbers = numbers_in(gathering)
    for part in parts:
        for table, some in zip(gathering.tables, part.tables, strict=True):
            if some.length:
                table.add(unpacked(some, numbers))
        gathering.connects += part.connects
        gathering.connected += part.connected
        gathering.lost += part.lost
        gathering.watches.update(part.watches)
    for request in gathering.watches.values():
        for _, paths in lists_of(request):
            for path in paths:
                gathering.paths[path]
    return gathering


class Lines:
    """Lines that were gathered, numbered consecutively."""

    def __init__(self, gathering: Gathering) -> None:
        """Take all gathered lines."""
        self._gathering = gathering
        self._values = values_in(gathering)
        self.tables = [table.take() for table in gathering.tables]
        beside = [place for some in (gathering.connects, gathering.connected, gathering.lost) for place, _ in some]
        self._places = np.sort(np.concatenate([np.array(beside, np.int64), *map(_lines_of, self.tables[:3])]))
        """The place of each line in the file."""
        for table in filter(None, self.tables):
            table["line"] = np.searchsorted(self._places, table["line"])
        gathering.connects = sorted(self._numbered(gathering.connects), key=_BY_LINE)
        gathering.connected, gathering.lost = self._numbered(gathering.connected), self._numbered(gathering.lost)
        gathering.watches = dict(self._numbered([*gathering.watches.items()]))
        gathering.length = len(self._places)

    def __len__(self) -> int:
        return len(self._places)

    def _numbered(self, lines: Sequence[tuple[int, R]]) -> list[tuple[int, R]]:
        numbers = np.searchsorted(self._places, [place for place, _ in lines]).tolist()
        return [(number, line) for number, (_, line) in zip(numbers, lines, strict=True)]

    def clients(self) -> Ints:
        """Return the client of each line."""
        gathering, client = self._gathering, np.zeros(len(self), np.int64)
        for table in filter(None, self.tables[:3]):
            client[table["line"]] = table["client"]
        for line, record in (*gathering.connects, *gathering.connected, *gathering.lost):
            client[line] = record.client
        return client

    def part(self, chosen: Bools) -> Part:
        """Return some of the lines, and the `connected` line of each connection that they open."""
        gathering, tables = self._gathering, []
        connects = self._some(gathering.connects, chosen)
        opened = {connect.connection for _, connect in connects}
        answered = [number for number, line in gathering.connected if line.connection in opened]
        chosen[answered] = True
        for table in self.tables:
            rows = np.flatnonzero(chosen[_lines_of(table)])
            some = {name: values[rows] for name, values in table.items()}
            if some:
                some["line"] = self._places[some["line"]]
            tables.append(packed(some, self._values))
        return Part(
            tables,
            connects,
            self._some(gathering.connected, chosen),
            self._some(gathering.lost, chosen),
            self._some(gathering.watches.items(), chosen),
        )

    def _some(self, lines: Iterable[tuple[int, R]], chosen: Bools) -> list[tuple[int, R]]:
        return [(int(self._places[number]), line) for number, line in lines if chosen[number]]

    def columns(self, header: HistoryHeader) -> Columns:
        """Return the lines as those of a whole history. Unusual."""
        self._gathering.header = header
        for table, some in zip(self._gathering.tables, self.tables, strict=True):
            if some:
                table.add({**some})
        return Columns(self._gathering)


def _lines_of(table: Table) -> Ints:
    return table["line"] if table else np.zeros(0, np.int64)
