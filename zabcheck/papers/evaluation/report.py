"""An evaluation in the terminal."""

from collections.abc import Iterator, Mapping, Sequence

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from zabcheck.papers.evaluation.results import (
    BoundRow,
    BroadcastRow,
    Evaluation,
    LatencyRow,
    RecoveryRow,
    RelayRow,
    Settings,
    ThroughputRow,
)
from zabcheck.text.pen import BOLD, RED, Drawing, Pen
from zabcheck.text.words import counted

MILLISECOND, MICROSECOND = 10**6, 10**3
HISTORIES = {"full": "whole histories", "missing": "differences"}
"""The contents of ACK-E and NEWLEADER, for each value of the switch `histories`."""


def render(found: Evaluation) -> RenderableType:
    """Render some sentences, and a table for each measurement."""
    return Drawing(lambda pen: _parts(pen, found))


def _parts(pen: Pen, found: Evaluation) -> Iterator[RenderableType]:
    yield pen.write(
        f"Zab in simulated time: {counted(found.runs, 'run', 'runs')}, {found.seconds:.1f} CPU seconds", BOLD
    )
    for line in sentences(found.settings):
        yield pen.write(line)
    yield Text()
    yield pen.write("Throughput under load, operations a second (DSN 2011, Fig. 6)", BOLD)
    yield _throughput(found.throughput)
    yield Text()
    yield pen.write("Busy at the leader: network card, disk; operations a sync", BOLD)
    yield _busy(found.throughput)
    yield Text()
    yield pen.write(
        f"Load on {counted(found.bounds[0].servers, 'server', 'servers')}, by the proposals that may be outstanding "
        "(LADIS 2008, 4.2): operations a second; latency, milliseconds",
        BOLD,
    )
    yield _bounds(found.bounds)
    yield Text()
    yield pen.write("Latency of a single operation, milliseconds: a client of the leader (Fig. 7), of a follower", BOLD)
    yield _latency(found.latency)
    if found.broadcast:
        yield Text()
        yield pen.write(
            "A single operation with and without COMMITs (LADIS 2008, 4.1), network only: messages; milliseconds until "
            "the leader delivers, and the last server",
            BOLD,
        )
        yield _broadcast(found.broadcast)
    if found.relays:
        yield Text()
        yield pen.write(
            "PROPOSE and COMMIT to all, along a tree, along a chain (DSN 2011, VII), network only: operations a "
            "second; milliseconds until the last server delivers a single one",
            BOLD,
        )
        yield _relays(found.relays)
    if found.recovery:
        yield Text()
        detect = _milliseconds(found.settings.detect_ns)
        yield pen.write(
            f"Recovery after a leader's crash, milliseconds from the election, {detect} ms after the crash", BOLD
        )
        yield _recovery(found.recovery)
    yield Text()
    for each in found.properties:
        runs = f", exercised in {counted(each.exercised, 'run', 'runs')}" if each.exercised else ""
        yield pen.write(f"{each.property}: {each.status}{runs}", RED if each.status == "violated" else "")


def sentences(s: Settings) -> list[str]:
    """Return sentences that say what was simulated."""
    return [
        f"load: {s.operations:,} operations of {s.size:,} bytes, {s.outstanding:,} outstanding",
        f"network: {s.bandwidth // 10**6:,} Mbit/s at each server, ping {_microseconds(s.ping_ns)}",
        f"message: {s.header} bytes besides its operations, {_microseconds(s.cpu_ns)} to handle it",
        f"disk: a sync takes {_milliseconds(s.cached_sync_ns)} ms with write cache, "
        f"{_milliseconds(s.uncached_sync_ns)} ms without, and {s.disk_rate // 10**6:,} MB/s are written",
    ]


def _milliseconds(ns: int) -> str:
    return f"{ns / MILLISECOND:,.3f}".rstrip("0").rstrip(".")


def _microseconds(ns: int) -> str:
    number = f"{ns / MICROSECOND:,.3f}".rstrip("0").rstrip(".")
    return f"{number} microsecond{'' if number == '1' else 's'}"


def _table(*columns: str) -> Table:
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="dim")
    for column in columns:
        table.add_column(column, justify="right")
    return table


def disks_of(rows: Sequence[ThroughputRow] | Sequence[BoundRow] | Sequence[LatencyRow]) -> list[str]:
    """Return the kinds of disk that were measured, in the order of the rows."""
    return list(dict.fromkeys(row.disk for row in rows))


def servers_of(
    rows: Sequence[ThroughputRow]
    | Sequence[LatencyRow]
    | Sequence[BroadcastRow]
    | Sequence[RelayRow]
    | Sequence[RecoveryRow],
) -> list[int]:
    """Return the numbers of servers that were measured, in the order of the rows."""
    return list(dict.fromkeys(row.servers for row in rows))


def _throughput(rows: Sequence[ThroughputRow]) -> Table:
    by = {(row.servers, row.disk): row for row in rows}
    table = _table("servers", "cap", *disks_of(rows))
    for servers in servers_of(rows):
        mine = [by[servers, disk] for disk in disks_of(rows)]
        table.add_row(str(servers), f"{mine[0].cap:,}", *(f"{row.operations_per_second:,}" for row in mine))
    return table


def _busy(rows: Sequence[ThroughputRow]) -> Table:
    by = {(row.servers, row.disk): row for row in rows}
    table = _table("servers", *disks_of(rows))
    for servers in servers_of(rows):
        table.add_row(str(servers), *(_used(by[servers, disk]) for disk in disks_of(rows)))
    return table


def _used(row: ThroughputRow) -> str:
    network = f"{100 * row.network:.0f} %"
    return f"{network}, {100 * row.disk_busy:.0f} %; {row.per_sync:,.1f}" if row.per_sync else network


def _bounds(rows: Sequence[BoundRow]) -> Table:
    by = {(row.outstanding, row.disk): row for row in rows}
    table = _table("outstanding", *disks_of(rows))
    for outstanding in dict.fromkeys(row.outstanding for row in rows):
        mine = [by[outstanding, disk] for disk in disks_of(rows)]
        cells = [f"{row.operations_per_second:,}; {row.latency_ns / MILLISECOND:,.3f}" for row in mine]
        table.add_row(f"{outstanding:,}", *cells)
    return table


def _latency(rows: Sequence[LatencyRow]) -> Table:
    by = {(row.servers, row.disk): row for row in rows}
    table = _table("servers", *disks_of(rows))
    for servers in servers_of(rows):
        mine = [by[servers, disk] for disk in disks_of(rows)]
        cells = [f"{row.leader_ns / MILLISECOND:,.3f}, {row.follower_ns / MILLISECOND:,.3f}" for row in mine]
        table.add_row(str(servers), *cells)
    return table


def ways_of(rows: Sequence[BroadcastRow]) -> list[str]:
    """Return the ways to broadcast that were measured, in the order of the rows."""
    return list(dict.fromkeys(row.way for row in rows))


def _broadcast(rows: Sequence[BroadcastRow]) -> Table:
    def cell(row: BroadcastRow) -> str:
        return f"{row.messages}; {row.leader_ns / MILLISECOND:,.3f}, {row.last_ns / MILLISECOND:,.3f}"

    return _by_servers(servers_of(rows), ways_of(rows), {(row.servers, row.way): cell(row) for row in rows})


def _by_servers(servers: Sequence[int], columns: Sequence[str], cells: Mapping[tuple[int, str], str]) -> Table:
    """Draw a table with a row for each number of servers."""
    table = _table("servers", *columns)
    for number in servers:
        table.add_row(str(number), *(cells[number, column] for column in columns))
    return table


def shapes_of(rows: Sequence[RelayRow]) -> list[str]:
    """Return the shapes that were measured, in the order of the rows."""
    return list(dict.fromkeys(row.shape for row in rows))


def _relays(rows: Sequence[RelayRow]) -> Table:
    def cell(row: RelayRow) -> str:
        return f"{row.operations_per_second:,}; {row.last_ns / MILLISECOND:,.3f}"

    return _by_servers(servers_of(rows), shapes_of(rows), {(row.servers, row.shape): cell(row) for row in rows})


def _recovery(rows: Sequence[RecoveryRow]) -> Table:
    """Draw a row for each history and number of servers, with the two ways to carry histories side by side."""
    table = _table("history", "servers")
    for histories in HISTORIES:
        table.add_column(f"{HISTORIES[histories]}: discovery, synchronization; MB", justify="right")
    cells: dict[tuple[int, int], list[str]] = {}
    for row in rows:
        took = f"{row.discovery_ns / MILLISECOND:,.2f}, {row.synchronization_ns / MILLISECOND:,.2f}"
        cells.setdefault((row.history, row.servers), []).append(f"{took}; {row.sent / 10**6:,.2f}")
    for (history, servers), both in cells.items():
        table.add_row(f"{history:,}", str(servers), *both)
    return table
