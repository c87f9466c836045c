"""The report on the disks of ZooKeeper's servers, for a terminal and as JSON."""

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from msgspec import Struct
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from zabcheck.invariants import Zxid
from zabcheck.text.pen import unbroken
from zabcheck.text.words import LONGEST_PATH, as_text, clean, counted
from zabcheck.zookeeper.bugs.traces import BugTrace
from zabcheck.zookeeper.disk.boot import Refusal
from zabcheck.zookeeper.disk.comparison import Comparison, Difference, first_records
from zabcheck.zookeeper.disk.contents import DiskContents
from zabcheck.zookeeper.disk.log_analysis import DiskFinding, Stretch
from zabcheck.zookeeper.disk.snapshot import Snapshot
from zabcheck.zookeeper.disk.transaction_log import LogRecord, operation_name
from zabcheck.zookeeper.report.bugs import spans
from zabcheck.zookeeper.wire.zxids import COUNTER, shown, shown_range

MOST = 30
"""The number of findings of a server that are shown, and of differences; JSON has all of them."""

_LATEST = 3  # snapshots are shown


class ShownTxn(Struct, frozen=True):
    """A transaction of a log. `session` is in hexadecimal, `time` in ms since 1970, `size` in bytes."""

    zxid: Zxid
    session: str
    cxid: int
    type: str
    path: str
    size: int
    time: int
    file: str
    offset: int


def shown_txn(path: Path, record: LogRecord) -> ShownTxn:
    """Make the JSON form of a record of a log file."""
    txn = record.txn
    return ShownTxn(
        Zxid.unpack(txn.zxid),
        f"0x{txn.session & (1 << 64) - 1:x}",
        txn.cxid,
        operation_name(txn.type),
        txn.path,
        txn.size,
        record.time,
        path.name,
        record.offset,
    )


def line(path: Path, record: LogRecord) -> str:
    """Return a transaction in one line: its zxid as in the paper and as in ZooKeeper's tools, and its time in UTC."""
    txn = shown_txn(path, record)
    return f"{txn.zxid} 0x{record.txn.zxid:x} {_time(txn.time)} {_request(txn)}, {txn.file} byte {txn.offset}"


def _time(milliseconds: int) -> str:
    """Return a time, given in ms since 1970, as "2026-11-22T20:14:31.125Z"; a file may hold one that is no date."""
    try:
        moment = datetime.fromtimestamp(milliseconds // 1000, UTC)
    except (OverflowError, ValueError, OSError):
        return f"{milliseconds} ms"
    return f"{moment:%Y-%m-%dT%H:%M:%S}.{milliseconds % 1000:03}Z"


def _request(txn: ShownTxn) -> str:
    about = f" {txn.path}" if txn.path else ""
    return f"{txn.type}{about}, session {txn.session} request {txn.cxid}"


def name_of(disk: DiskContents) -> str:
    """Return the name of a server."""
    return f"server {disk.number}" if disk.number is not None else as_text(disk.directory)


def ranges(stretches: Sequence[Stretch]) -> list[tuple[int, int]]:
    """Return the first and the last zxid of each unbroken range, over all files."""
    joined: list[tuple[int, int]] = []
    for stretch in stretches:
        if joined and joined[-1][1] + 1 == stretch.first and stretch.first & COUNTER:
            joined[-1] = joined[-1][0], stretch.end - 1
        else:
            joined.append((stretch.first, stretch.end - 1))
    return joined


def wrong_kinds(
    disks: Sequence[DiskContents], comparison: Comparison | None, traces: Sequence[BugTrace] = ()
) -> list[str]:
    """Return the kinds of faults, each once; none if there is no fault."""
    differences = comparison.differences if comparison is not None else ()
    kinds: list[str] = [finding.kind for disk in disks for finding in disk.findings if finding.wrong]
    kinds += [difference.kind for difference in differences if difference.kind != "tail"]
    kinds += [f"a trace of {trace.bug}" for trace in traces if trace.wrong]
    return list(dict.fromkeys(kinds))


def wrong_servers(
    disks: Sequence[DiskContents], comparison: Comparison | None, traces: Sequence[BugTrace] = ()
) -> list[str]:
    """Return the names of the servers that something is wrong with; of a conflict, of all that have the zxid."""
    wrong = {at for at, disk in enumerate(disks) if any(finding.wrong for finding in disk.findings)}
    wrong |= {trace.server for trace in traces if trace.wrong}
    for difference in comparison.differences if comparison is not None else ():
        guilty = {"missing": "nothing", "conflict": "transaction"}.get(difference.kind)
        wrong |= {at for at, holding in enumerate(difference.holdings) if holding.what == guilty}
    return [name_of(disks[at]) for at in sorted(wrong)]


def render(
    disks: Sequence[DiskContents], comparison: Comparison | None, traces: Sequence[BugTrace] = ()
) -> RenderableType:
    """Render each server, then the servers side by side, and the traces of known bugs."""
    parts: list[RenderableType] = []
    for disk in disks:
        parts += (_server(disk), "")
    if comparison is not None:
        parts += _compared(disks, comparison)
    if traces:
        parts += _traced(disks, traces)
    return Group(*parts)


def _traced(disks: Sequence[DiskContents], traces: Sequence[BugTrace]) -> Iterator[RenderableType]:
    yield Text("known bugs of ZooKeeper that leave such traces", "bold")
    table = Table.grid(padding=(0, 2, 0, 0))
    table.add_column(no_wrap=True)
    table.add_column()
    for trace in traces:
        where = f"{clean(name_of(disks[trace.server]))}: {trace.why}"
        table.add_row(Text(trace.bug, "yellow"), Text(f"{where}; the bug: {trace.title} ({spans(trace.affected)})"))
    yield table
    yield ""


def _server(disk: DiskContents) -> RenderableType:
    table = Table.grid(padding=(0, 2, 0, 0))
    table.add_column(no_wrap=True)
    table.add_column()
    rows = ranges(disk.stretches)
    few = [shown_range(*row) for row in (rows if len(rows) <= MOST else [*rows[: MOST - 1], rows[-1]])]
    if len(rows) > MOST:
        few.insert(-1, f"and {len(rows) - MOST} more ranges")
    logs_in: list[Text] = []
    if disk.log_directory.parent not in (disk.directory, disk.directory.parent):
        logs_in = [unbroken(Text(f"logs in    {clean(as_text(disk.log_directory), longest=LONGEST_PATH)}"))]
    table.add_row(
        "log", f"{counted(disk.records, 'transaction', 'transactions')}: {', '.join(few)}" if few else "empty"
    )
    older = len(disk.snapshots) - _LATEST
    latest = ", ".join(map(_snapshot, disk.snapshots[-_LATEST:])) or "none"
    table.add_row("snapshots", f"{older} older, {latest}" if older > 0 else latest)
    table.add_row("epochs", f"accepted {_or_none(disk.accepted_epoch)}, current {_or_none(disk.current_epoch)}")
    if disk.boot is not None:
        after = disk.records - disk.below
        loads = (
            f"a boot loads snapshot {shown(disk.boot.zxid)} and what is after it: {shown(disk.last)} is the last one"
        )
        table.add_row("history", loads if after else f"a boot loads snapshot {shown(disk.boot.zxid)}")
    for refusal in disk.refusals:
        table.add_row(Text("start", "bold red" if refusal.always else "yellow"), Text(clean(_refusal(refusal))))
    for finding in disk.findings[:MOST]:
        style = "bold red" if finding.wrong else "yellow"
        table.add_row(Text("wrong" if finding.wrong else "note", style), Text(clean(_finding(finding))))
    if len(disk.findings) > MOST:
        table.add_row("", f"and {len(disk.findings) - MOST} more, which --format json tells")
    where = clean(as_text(disk.directory), longest=LONGEST_PATH)
    head = Text.assemble((clean(name_of(disk)), "bold"), f": {where}" if disk.number is not None else "")
    return Group(unbroken(head), *logs_in, table)


def _refusal(refusal: Refusal) -> str:
    who = "no version starts"
    if refusal.since is not None:
        who = f"{refusal.since} and later do not start; earlier versions do, and say nothing"
    if refusal.before is not None:
        who = f"versions before {refusal.before} do not start"
    where = Path(refusal.file).name + ("" if refusal.offset is None else f", byte {refusal.offset}")
    return f"{who}: {where}: {refusal.why}"


def _snapshot(snapshot: Snapshot) -> str:
    told_as = f"{shown(snapshot.zxid)} ({counted(snapshot.nodes, 'node', 'nodes')})"
    return told_as if snapshot.state == "whole" else f"{shown(snapshot.zxid)} ({snapshot.state})"


def _or_none(epoch: int | None) -> str:
    return "unknown" if epoch is None else str(epoch)


def _finding(finding: DiskFinding) -> str:
    where = Path(finding.file).name + ("" if finding.offset is None else f", byte {finding.offset}")
    return f"{finding.kind}, {where}: {finding.message}"


def _compared(disks: Sequence[DiskContents], comparison: Comparison) -> Iterator[RenderableType]:
    names = [clean(name_of(disk)) for disk in disks]
    yield Text("side by side", "bold")
    if not comparison.compared:
        yield "no transaction is in the logs of two servers"
    elif comparison.agree is not None:
        until = f", up to {shown(comparison.agree)}" if comparison.differences else ""
        yield (
            f"{counted(comparison.compared, 'transaction is', 'transactions are')} in two logs at least; they agree"
            + (until or " everywhere")
        )
    for name, behind in zip(names, comparison.behind, strict=True):
        if behind:
            yield f"{name} ends {counted(behind, 'transaction', 'transactions')} before the others"
    if comparison.differences:
        table = Table("zxids", *names, pad_edge=False, box=None, padding=(0, 2, 0, 0))
        for difference in comparison.differences[:MOST]:
            style = "yellow" if difference.kind == "tail" else "bold red"
            cells = [Text(clean(each)) for each in _cells(difference)]
            table.add_row(Text(shown_range(difference.first, difference.last), style), *cells)
        yield table
        if len(comparison.differences) > MOST:
            yield f"and {len(comparison.differences) - MOST} more, which --format json tells"
    yield ""


def _cells(difference: Difference) -> Iterator[str]:
    for holding, record in zip(difference.holdings, first_records(difference), strict=True):
        if holding.stretch is None or record is None:
            yield {"snapshot": "in a snapshot", "nothing": "missing", "not yet": "ends before"}.get(holding.what, "?")
        else:
            extra = "to be dropped: " if difference.kind == "tail" else ""
            yield f"{extra}{_request(shown_txn(holding.stretch.path, record))}"


def as_json(
    disks: Sequence[DiskContents], comparison: Comparison | None, traces: Sequence[BugTrace] = ()
) -> dict[str, Any]:
    """Return the fields of the JSON form."""
    return {
        "servers": [_disk_as_json(disk) for disk in disks],
        "comparison": _comparison_as_json(comparison),
        "traces": [
            {
                "bug": trace.bug,
                "title": trace.title,
                "affected": [{"first": first, "cured": cured} for first, cured in trace.affected],
                "server": disks[trace.server].number,
                "directory": as_text(disks[trace.server].directory),
                "why": trace.why,
                "wrong": trace.wrong,
            }
            for trace in traces
        ],
    }


def _zxid(packed: int | None) -> Zxid | None:
    return None if packed is None else Zxid.unpack(packed)


def _disk_as_json(disk: DiskContents) -> dict[str, Any]:
    return {
        "directory": as_text(disk.directory),
        "log_directory": as_text(disk.log_directory),
        "server": disk.number,
        "accepted_epoch": disk.accepted_epoch,
        "current_epoch": disk.current_epoch,
        "records": disk.records,
        "history": [{"first": _zxid(first), "last": _zxid(last)} for first, last in ranges(disk.stretches)],
        "boot": {
            "snapshot": _zxid(disk.boot.zxid) if disk.boot is not None else None,
            "last": _zxid(disk.last),
            "below": disk.below,
            "refusals": [
                {
                    "why": each.why,
                    "file": as_text(each.file),
                    "offset": each.offset,
                    "since": each.since,
                    "before": each.before,
                }
                for each in disk.refusals
            ],
        },
        "logs": [
            {
                "file": log.path.name,
                "records": log.records,
                "first": _zxid(log.first),
                "last": _zxid(log.last),
                "read": log.read,
            }
            for log in disk.logs
        ],
        "snapshots": [
            {
                "file": each.path.name,
                "zxid": _zxid(each.zxid),
                "state": each.state,
                "message": each.message,
                "sessions": each.sessions,
                "nodes": each.nodes,
                "size": each.size,
            }
            for each in disk.snapshots
        ],
        "findings": [
            {
                "kind": each.kind,
                "wrong": each.wrong,
                "file": as_text(each.file),
                "offset": each.offset,
                "zxid": _zxid(each.zxid),
                "message": each.message,
            }
            for each in disk.findings
        ],
    }


def _comparison_as_json(comparison: Comparison | None) -> dict[str, Any] | None:
    if comparison is None:
        return None
    return {
        "compared": comparison.compared,
        "agree": _zxid(comparison.agree),
        "behind": comparison.behind,
        "differences": [
            {
                "kind": each.kind,
                "first": _zxid(each.first),
                "last": _zxid(each.last),
                "holdings": [
                    {
                        "what": holding.what,
                        "txn": shown_txn(holding.stretch.path, record)
                        if holding.stretch is not None and record
                        else None,
                    }
                    for holding, record in zip(each.holdings, first_records(each), strict=True)
                ],
            }
            for each in comparison.differences
        ],
    }
