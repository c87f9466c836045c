"""Finds the traces that known bugs of ZooKeeper leave on the disks of servers.

A disk shows neither its past nor the version that wrote it. So a trace is no proof: the bugs
whose schedules leave such disks, each with the versions that have it. Disks that look sound are no proof either: a
write that every server has lost leaves nothing.
"""

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from msgspec import Struct

from zabcheck.zookeeper.disk.comparison import Comparison
from zabcheck.zookeeper.disk.contents import DiskContents
from zabcheck.zookeeper.disk.log_analysis import is_covered
from zabcheck.zookeeper.disk.transaction_log import HEADER_SIZE
from zabcheck.zookeeper.verdict.known_issues import issue_named
from zabcheck.zookeeper.wire.zxids import COUNTER, epoch_of, shown, shown_range

KEPT_RECORD = "trunc-keeps-one"
"""The name of the known issue without a number that leaves a trace."""


class BugTrace(Struct, frozen=True):
    """A trace that a bug may have left at the server at position `server` among the disks.

    `bug` is its name in the catalogue, or of a known issue; `affected` are the versions that have it, as of a known
    issue. `wrong`: the server's history is not that of the others, even if nothing else shows it.
    """

    bug: str
    title: str
    affected: tuple[tuple[str, str | None], ...]
    server: int
    why: str
    wrong: bool = False


def traces(disks: Sequence[DiskContents], comparison: Comparison | None) -> list[BugTrace]:
    """Find traces of known bugs, by server and bug each once. O(findings + differences × servers + snapshots).

    A server that stands alone can have none of the bugs that need a leader and a follower.
    """
    found: dict[tuple[str, int], BugTrace] = {}
    for look in _LOOKS:
        for bug, server, why in look(disks, comparison):
            if look is _empty_log or not disks[server].alone:
                found.setdefault((bug, server), _trace(bug, server, why))
    return sorted(found.values(), key=lambda trace: (trace.server, trace.bug))


def _trace(bug: str, server: int, why: str) -> BugTrace:
    issue = issue_named(bug)
    return BugTrace(bug, issue.title, issue.affected, server, why, bug in (KEPT_RECORD, "ZOOKEEPER-4837"))


_Found = Iterator[tuple[str, int, str]]
"""A bug, the position of the server, and the reason."""


def _epoch_is_older(disks: Sequence[DiskContents], comparison: Comparison | None) -> _Found:
    """QuorumPeer.loadDataBase refuses a history that is newer than currentEpoch."""
    for server, disk in enumerate(disks):
        if disk.current_epoch is not None and any(
            each.kind == "start" and Path(each.file).name == "currentEpoch" for each in disk.findings
        ):
            why = f"its last zxid is {shown(disk.last)}, and its current epoch {disk.current_epoch}"
            yield "ZOOKEEPER-1653", server, why


def _empty_log(disks: Sequence[DiskContents], comparison: Comparison | None) -> _Found:
    """A log file is made before its header is written."""
    for server, disk in enumerate(disks):
        newest = disk.logs[-1] if disk.logs else None
        if newest is not None and newest.path.stat().st_size == 0:
            yield "ZOOKEEPER-2332", server, f"its newest log, {newest.path.name}, is empty"


def _hole(disks: Sequence[DiskContents], comparison: Comparison | None) -> _Found:
    """A log has a hole in an epoch that no snapshot covers, within a file that is not damaged.

    A hole between two files looks as if a file is missing, which happens without a bug.
    """
    for server, disk in enumerate(disks):
        if any(each.kind == "damage" for each in disk.findings):
            continue
        for each in disk.findings:
            if each.kind == "gap" and each.offset != HEADER_SIZE and each.zxid is not None and each.zxid & COUNTER > 1:
                why = f"its log has a hole before {shown(each.zxid)}"
                yield "ZOOKEEPER-4409", server, why
                yield "ZOOKEEPER-5094", server, why
                break


def _again(disks: Sequence[DiskContents], comparison: Comparison | None) -> _Found:
    """The thread that logs goes on after the server has left its leader, beside that of the next iteration.

    Behind damage, where a server takes a file for ended, it is sent once more what the file has.
    """
    for server, disk in enumerate(disks):
        if any(each.kind == "damage" for each in disk.findings):
            continue
        each = next((each for each in disk.findings if each.kind in ("duplicate", "disorder")), None)
        if each is not None:
            assert each.zxid is not None, "it comes again"
            assert each.last is not None, "it comes again"
            again = shown_range(each.zxid, each.last)
            yield "ZOOKEEPER-4712", server, f"its log has {again} once more, or out of order"


def _not_applied(disks: Sequence[DiskContents], comparison: Comparison | None) -> _Found:
    """A digest does not fit where a server has a transaction that others lack, or lacks one that others have.

    Behind a whole file that is missing none fits.
    """
    for server, disk in enumerate(disks):
        if any(each.kind == "gap" and each.offset == HEADER_SIZE for each in disk.findings):
            continue
        digest = next((each.zxid for each in disk.findings if each.kind == "digest"), None)
        for difference in comparison.differences if comparison is not None and digest is not None else ():
            if digest is None or difference.last > digest or difference.kind != "missing":
                continue
            which, has = shown(difference.last), difference.holdings[server].what
            if has == "transaction":
                why = f"its log has {which}, which others lack, and its leader had not applied that by {shown(digest)}"
                yield "ZOOKEEPER-4712", server, why
            elif has == "nothing" and epoch_of(digest) > epoch_of(difference.last):
                yield "ZOOKEEPER-4925", server, f"it lacks {which}, which its leader had applied by {shown(digest)}"


def _overtaken(disks: Sequence[DiskContents], comparison: Comparison | None) -> _Found:
    """A server that took over a snapshot still has in its log what others have given up."""
    for difference in comparison.differences if comparison is not None else ():
        for server, (disk, holding) in enumerate(zip(disks, difference.holdings, strict=True)):
            if (
                difference.kind == "missing"
                and holding.what == "transaction"
                and disk.boot is not None
                and disk.boot.zxid > max(each.end - 1 for each in disk.stretches)
                and epoch_of(disk.boot.zxid) > epoch_of(difference.last)
            ):
                why = (
                    f"its log ends with {shown(difference.last)}, which others have given up, and behind that has only "
                    f"snapshot {shown(disk.boot.zxid)}: as a leader it would bring others that log"
                )
                yield "ZOOKEEPER-2846", server, why


def _snapshot_of_what_was_cut(disks: Sequence[DiskContents], comparison: Comparison | None) -> _Found:
    """A boot loads a snapshot with a transaction that no log has, and that others in the same epoch lack."""
    for server, disk in enumerate(disks):
        if disk.boot is None or not disk.boot.zxid & COUNTER or _has(disk, disk.boot.zxid):
            continue
        others = [each for at, each in enumerate(disks) if at != server]
        if any(_has(each, disk.boot.zxid) or is_covered(disk.boot.zxid, each.snapshots) for each in others):
            continue
        if _in_a_later_epoch(disk, others, disk.boot.zxid):
            yield "ZOOKEEPER-4837", server, f"it boots from snapshot {shown(disk.boot.zxid)}, which no other server has"


def _kept_record(disks: Sequence[DiskContents], comparison: Comparison | None) -> _Found:
    """A boot loads a record that others in the same epoch lack, behind a snapshot whose zxid the log lacks."""
    for server, disk in enumerate(disks):
        if disk.boot is None or not disk.boot.zxid & COUNTER or _has(disk, disk.boot.zxid):
            continue
        others = [each for at, each in enumerate(disks) if at != server]
        lost = any(_has(each, disk.last) or is_covered(disk.last, each.snapshots) for each in others)
        if disk.last > disk.boot.zxid and not lost and _in_a_later_epoch(disk, others, disk.last):
            why = (
                f"its log has {shown(disk.last)}, which no other server has, and not {shown(disk.boot.zxid)} before it"
            )
            yield KEPT_RECORD, server, why


def _has(disk: DiskContents, zxid: int) -> bool:
    return any(each.first <= zxid < each.end for each in disk.stretches)


def _in_a_later_epoch(disk: DiskContents, others: Sequence[DiskContents], zxid: int) -> bool:
    """Return True if a server has taken part in a later epoch than that of its `zxid`, and another has, too."""
    own = disk.current_epoch or 0
    return own > epoch_of(zxid) and any((each.current_epoch or 0) >= own for each in others)


_LOOKS: tuple[Callable[[Sequence[DiskContents], Comparison | None], _Found], ...] = (
    _epoch_is_older,
    _empty_log,
    _hole,
    _again,
    _not_applied,
    _overtaken,
    _snapshot_of_what_was_cut,
    _kept_record,
)
