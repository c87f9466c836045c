"""The least that helps against what is wrong on the disks of servers, and the transactions that it costs.

A server is emptied only if more than half of the servers have a sound disk: they fill it again. Nothing here changes a
disk.
"""

from collections import defaultdict
from collections.abc import Collection, Iterator, Sequence
from itertools import pairwise
from typing import Literal

from msgspec import Struct

from zabcheck.zookeeper.disk.comparison import Comparison, Difference
from zabcheck.zookeeper.disk.contents import DiskContents
from zabcheck.zookeeper.disk.log_analysis import Stretch, is_covered
from zabcheck.zookeeper.disk.transaction_log import record_at
from zabcheck.zookeeper.wire.zxids import epoch_of

Action = Literal["move", "rename", "buffer", "elsewhere", "sync", "restore", "compare", "cut", "backup"]


class LostRange(Struct, frozen=True):
    """Consecutive transactions that only disks have which are given up: `servers` of them.

    In a conflict the disks that are kept have others under these zxids.
    """

    first: int
    last: int
    servers: int


class Remedy(Struct, frozen=True):
    """A recommended action on the servers at these positions among the disks. It `mends` these kinds of findings.

    move       move `file` away
    rename     rename `file` to log.`value`, in hexadecimal the zxid that it begins with
    buffer     set jute.maxbuffer to `value` or more
    elsewhere  give the directory that has the logs
    sync       empty the server, which the `sources` fill again
    restore    empty all of these servers, which the one of `sources` fills again
    compare    give the disks of the other servers of the ensemble, too
    cut        cut `file` at byte `value`, and move the logs after it away
    backup     take the files of the servers from a backup
    """

    action: Action
    servers: tuple[int, ...]
    mends: tuple[str, ...]
    file: str = ""
    value: int = 0
    sources: tuple[int, ...] = ()
    lost: tuple[LostRange, ...] = ()


def remedies(
    disks: Sequence[DiskContents], comparison: Comparison | None, traced: Sequence[tuple[int, str]] = ()
) -> list[Remedy]:
    """Recommend an action for everything that is wrong; `traced` are servers and bugs of which traces are wrong."""
    found = [remedy for at, disk in enumerate(disks) for remedy in _of_files(at, disk)]
    moved = {(each.servers[0], each.file) for each in found if each.action == "move"}
    mended = {(each.servers[0], each.file, each.mends[0]) for each in found}
    faults: dict[int, dict[str, None]] = defaultdict(dict)
    for at, disk in enumerate(disks):
        for finding in disk.findings:
            place = at, finding.file
            if finding.wrong and place not in moved and (*place, finding.kind) not in mended:
                faults[at][finding.kind] = None
    for at, bug in traced:
        faults[at][bug] = None
    damaged = set(faults)
    for difference in comparison.differences if comparison is not None else ():
        for at in _minority(difference):
            faults[at][difference.kind] = None
    alone = [at for at in faults if len(disks) == 1 or disks[at].alone]
    found += [_by_itself(disks, at, tuple(faults.pop(at))) for at in sorted(alone)]
    if faults:
        remedy = _of_ensemble(disks, faults, damaged, () if comparison is None else comparison.differences)
        found = [each for each in found if not set(each.servers) <= set(remedy.servers)] + [remedy]
    return found


def _of_files(at: int, disk: DiskContents) -> Iterator[Remedy]:
    """Recommend what mends a disk by one file or one setting, without a loss."""
    if disk.lacks_logs:
        yield Remedy("elsewhere", (at,), ("empty",))
    logs = {str(log.path): log for log in disk.logs}
    boots_on = {str(path.path) for path in disk.snapshots if path.state == "damaged"} if disk.boot is not None else ()
    refused = {each.file for each in disk.refusals if each.offset == 0}
    done = set()
    for finding in disk.findings:
        log = logs.get(finding.file)
        if finding.file in done:
            continue
        remedy = None
        if finding.kind == "copy" or finding.file in boots_on:
            remedy = Remedy("move", (at,), (finding.kind,), finding.file)
        elif finding.kind == "name" and finding.zxid is not None:
            kept = any(str(each.path) == finding.file for each in disk.stretches)
            action: Action = "rename" if kept else "move"
            remedy = Remedy(action, (at,), ("name",), finding.file, finding.zxid if kept else 0)
        elif log is not None and finding.kind == "start" and finding.offset is not None:
            record = record_at(log.path, finding.offset)
            assert record is not None, "it was read before"
            remedy = Remedy("buffer", (at,), ("start",), finding.file, -(-record.length // 2))
        elif log is not None and (
            (finding.kind == "damage" and not log.read) or (not log.records and finding.file in refused)
        ):
            remedy = Remedy("move", (at,), (finding.kind,), finding.file)
        if remedy:
            done.add(finding.file)
            yield remedy


def _minority(difference: Difference) -> list[int]:
    """Return the servers that have something else at these zxids than more than half of all; all if none are."""
    if difference.kind == "tail":
        return []
    groups: dict[object, list[int]] = defaultdict(list)
    for at, holding in enumerate(difference.holdings):
        if holding.stretch is not None:
            groups[holding.stretch.identities[difference.first - holding.stretch.first]].append(at)
        elif holding.what == "nothing":
            groups["nothing"].append(at)
    agreed = next((group for group in groups.values() if 2 * len(group) > len(difference.holdings)), [])
    if not agreed and difference.kind == "missing":
        return groups["nothing"]
    return sorted(at for group in groups.values() if group is not agreed for at in group)


def _by_itself(disks: Sequence[DiskContents], at: int, mends: tuple[str, ...]) -> Remedy:
    """Recommend what to do with a server beside which no other one is known."""
    disk = disks[at]
    if not disk.alone:
        return Remedy("compare", (at,), mends)
    logs = {str(log.path) for log in disk.logs}
    refusal = next((each for each in disk.refusals if each.always and each.file in logs), None)
    if refusal is None or disk.boot is None:
        return Remedy("backup", (at,), mends)
    lost = [each for each in _held(disk.stretches) if each[1] - 1 > disk.last]
    ranges = tuple(LostRange(max(first, disk.last + 1), end - 1, 1) for first, end in lost)
    return Remedy("cut", (at,), mends, refusal.file, refusal.offset or 0, lost=ranges)


def _of_ensemble(
    disks: Sequence[DiskContents],
    faults: dict[int, dict[str, None]],
    damaged: Collection[int],
    differences: Sequence[Difference],
) -> Remedy:
    """Recommend to fill servers again: the faulty ones from more than half, else all from the one that has most."""
    mends = tuple(dict.fromkeys(kind for at in sorted(faults) for kind in faults[at]))
    sound = [at for at in range(len(disks)) if at not in faults and not _never_starts(disks[at])]
    if 2 * len(sound) > len(disks):
        servers = tuple(sorted(faults))
        return Remedy("sync", servers, mends, sources=tuple(sound), lost=_lost(disks, sound, differences))
    whole = [at for at in range(len(disks)) if at not in damaged and not _never_starts(disks[at])]
    if not whole:
        return Remedy("backup", tuple(range(len(disks))), mends)
    best = max(whole, key=lambda at: (disks[at].current_epoch or epoch_of(disks[at].last), disks[at].last, -at))
    others = tuple(at for at in range(len(disks)) if at != best)
    return Remedy("restore", others, mends, sources=(best,), lost=_lost(disks, [best], differences))


def _never_starts(disk: DiskContents) -> bool:
    return any(each.always for each in disk.refusals)


def _held(stretches: Sequence[Stretch]) -> list[tuple[int, int]]:
    """Return the zxids of stretches as ranges that do not overlap, from the first to before the end."""
    held: list[tuple[int, int]] = []
    for first, end in sorted((each.first, each.end) for each in stretches):
        if held and first <= held[-1][1]:
            held[-1] = held[-1][0], max(end, held[-1][1])
        else:
            held.append((first, end))
    return held


def _lost(
    disks: Sequence[DiskContents], kept: Collection[int], differences: Sequence[Difference]
) -> tuple[LostRange, ...]:
    """Find the transactions that none of the disks `kept` has. O(stretches × log stretches + differences)."""
    changes: dict[int, list[int]] = defaultdict(lambda: [0, 0])
    for at, disk in enumerate(disks):
        for first, end in _held(disk.stretches):
            changes[first][at not in kept] += 1
            changes[end][at not in kept] -= 1
    snapshots = tuple(snapshot for at in kept for snapshot in disks[at].snapshots)
    lost: list[LostRange] = []
    keepers = holders = 0
    cuts = sorted(changes)
    for cut, end in pairwise(cuts):
        keepers, holders = keepers + changes[cut][0], holders + changes[cut][1]
        if holders and not keepers and not is_covered(cut, snapshots):
            lost.append(LostRange(cut, end - 1, holders))
    for each in differences:
        identities = [
            None if holding.stretch is None else holding.stretch.identities[each.first - holding.stretch.first]
            for holding in each.holdings
        ]
        there = {identities[at] for at in kept if identities[at] is not None}
        others = sum(identity is not None and identity not in there for identity in identities)
        if each.kind == "conflict" and there and others:
            lost.append(LostRange(each.first, each.last, others))
    return tuple(sorted(lost, key=lambda each: each.first))
