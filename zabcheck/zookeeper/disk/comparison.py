"""The histories of several servers side by side: where they agree, and where they do not.

A zxid stands for one transaction on all servers (DSN 2011, III): two are always wrong. That a server's history ends
earlier than others is not: the server may be behind, or down. A server may also have more at its end than the others,
which went on in a later epoch without it: no quorum has acknowledged that, and the server has to drop it when it comes
back. It is wrong once the server has taken part in that epoch itself (`currentEpoch`), or has transactions of it.
"""

from bisect import bisect_left
from collections.abc import Sequence
from itertools import pairwise
from typing import Literal

from msgspec import Struct

from zabcheck.zookeeper.disk.contents import DiskContents
from zabcheck.zookeeper.disk.log_analysis import Stretch, is_covered
from zabcheck.zookeeper.disk.transaction_log import LogRecord, record_at
from zabcheck.zookeeper.wire.zxids import epoch_of


class Holding(Struct, frozen=True):
    """The state of one zxid at a server. `stretch` is where it is, for "transaction".

    "snapshot": a snapshot covers it, so its transaction cannot be seen. "nothing": the server has later transactions,
    and not this one. "not yet": the server's history ends before.
    """

    what: Literal["transaction", "snapshot", "nothing", "not yet"]
    stretch: Stretch | None = None


class Difference(Struct, frozen=True):
    """Consecutive zxids at which servers differ in the same way.

    `kind` is "conflict" (two transactions under one zxid), "missing" (a transaction that a server passed over) or
    "tail" (a transaction only of servers that took no part in later epochs); all but "tail" are wrong.
    `holdings` has the state of each server at `first`.
    """

    kind: Literal["conflict", "missing", "tail"]
    first: int
    last: int
    holdings: tuple[Holding, ...]


class Comparison(Struct, frozen=True):
    """A comparison of servers' histories.

    `compared` is the number of zxids that are in the logs of two servers or more; the servers agree on all of them up
    to `agree`. `behind` has for each server the number of zxids after its last one that others have.
    """

    compared: int
    agree: int | None
    differences: tuple[Difference, ...]
    behind: tuple[int, ...]


def compare(disks: Sequence[DiskContents]) -> Comparison:
    """Compare the logs of several servers. O(transactions), and O(stretches squared) if many of them overlap."""
    cuts = sorted(
        {cut for disk in disks for each in disk.stretches for cut in (each.first, each.end)}
        | {snapshot.zxid + 1 for disk in disks for snapshot in disk.snapshots}
    )
    # For each server the stretch whose range begins with a cut; if there are several, the last one.
    held: list[dict[int, Stretch]] = [{} for _ in disks]
    for disk, ranges in zip(disks, held, strict=True):
        for stretch in disk.stretches:
            for at in range(bisect_left(cuts, stretch.first), bisect_left(cuts, stretch.end)):
                ranges[cuts[at]] = stretch
    compared, agree = 0, None
    differences: list[Difference] = []
    behind = [0] * len(disks)
    # Not `last`: damage may keep a boot from the rest.
    ends = [max((each.end - 1 for each in disk.stretches), default=disk.last) for disk in disks]
    for first, end in pairwise(cuts):
        stretches = [ranges.get(first) for ranges in held]
        there = [stretch for stretch in stretches if stretch is not None]
        if not there:
            continue
        if len(there) > 1:
            compared += end - first
        holdings = tuple(
            _holding(disk, stretch, end, last) for disk, stretch, last in zip(disks, stretches, ends, strict=True)
        )
        for at, holding in enumerate(holdings):
            behind[at] += (end - first) * (holding.what == "not yet")
        found = [*_conflicts(there, first, end, holdings)]
        if not found and any(holding.what == "nothing" for holding in holdings):
            found.append(Difference(_missing(disks, holdings, end), first, end - 1, holdings))
        if not differences and len(there) > 1:
            until = found[0].first if found else end
            agree = until - 1 if until > first else agree
        differences += found
    return Comparison(compared, agree, tuple(_joined(differences)), tuple(behind))


def _holding(disk: DiskContents, stretch: Stretch | None, end: int, last: int) -> Holding:
    if stretch is not None:
        return Holding("transaction", stretch)
    if is_covered(end - 1, disk.snapshots):
        return Holding("snapshot")
    return Holding("nothing" if last >= end else "not yet")


def _missing(disks: Sequence[DiskContents], holdings: Sequence[Holding], end: int) -> Literal["missing", "tail"]:
    """Return "tail" if only servers have it that know nothing of the later epoch, else "missing"."""
    epochs = []
    for disk, holding in zip(disks, holdings, strict=True):
        if holding.what == "nothing":
            later = [each.first for each in disk.stretches if each.first >= end]
            epochs.append(epoch_of(min(later, default=disk.last)))
    known = [
        max(disk.current_epoch or 0, epoch_of(disk.last))
        for disk, holding in zip(disks, holdings, strict=True)
        if holding.what == "transaction"
    ]
    return "tail" if max(known) < min(epochs) else "missing"


def _conflicts(there: Sequence[Stretch], first: int, end: int, holdings: tuple[Holding, ...]) -> list[Difference]:
    """Find where the servers that have a transaction do not all have the same one."""
    parts = [stretch.identities[first - stretch.first : end - stretch.first] for stretch in there]
    if all(part == parts[0] for part in parts):
        return []
    differs = [at for at in range(end - first) if any(part[at] != parts[0][at] for part in parts)]
    return [Difference("conflict", first + at, first + at, holdings) for at in differs]


def _joined(differences: Sequence[Difference]) -> list[Difference]:
    """Join consecutive differences that are alike."""
    joined: list[Difference] = []
    for each in differences:
        before = joined[-1] if joined else None
        if before is not None and _is_next(before, each):
            joined[-1] = Difference(each.kind, before.first, each.last, before.holdings)
        else:
            joined.append(each)
    return joined


def _is_next(before: Difference, each: Difference) -> bool:
    if before.kind != each.kind or before.last + 1 != each.first:
        return False
    return [holding.what for holding in before.holdings] == [holding.what for holding in each.holdings]


def first_records(difference: Difference) -> tuple[LogRecord | None, ...]:
    """Read each server's record at the first zxid of a difference. OSError if a file cannot be read any more."""
    return tuple(
        None
        if holding.stretch is None
        else record_at(holding.stretch.path, holding.stretch.offsets[difference.first - holding.stretch.first])
        for holding in difference.holdings
    )
