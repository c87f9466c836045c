"""The versions of ZooKeeper as orders of sub-steps: what each does, since when, and by which issue.

A version is a row of values, one for each thing in which releases differ as far as Zab is concerned. A step looks at
the value and at nothing else, so a bug is a value too, and so is its repair. `docs/zookeeper-model.md` shows the table.
"""

from collections.abc import Mapping
from functools import cache
from typing import Literal, get_args

from msgspec import Struct
from msgspec.structs import replace

from zabcheck.protocols.switches import Defects, Release


class Version(Struct, frozen=True):
    """What a version does. The defaults are those of 3.9.5; numbers are those of ZOOKEEPER issues.

    `newleader`: what a follower does with a synchronisation when NEWLEADER comes. F2: nothing of a DIFF is logged
    before UPTODATE (2678). F3: the epoch, then all that came is logged (3911). F4: the same, the log first (4785). F5:
    what is committed is logged and applied, then the epoch; the rest is logged after UPTODATE (4394, 4712).
    `leave`: what a server that was running does with its memory when it leaves an iteration: it is kept as it is
    (3.4.10 and 3.4.11), or what the log has more is applied to it (2845).
    `log_sync`: whether a leader synchronises a follower from the log where committedLog does not go back far enough.
    3.4: there is only committedLog, and TRUNC may cross epochs. unchecked: also across a gap. checked: not across a gap
    between log and committedLog (2418). never: it sends a snapshot, as with snapshotSizeFactor -1.
    `snapshot_on_lead`: `Leader.lead` writes a snapshot (not 3.4.6 to 3.4.14: 1558).
    `diff_sets_lpz`: DIFF assigns lastProcessedZxid before its transactions have come (2355).
    `forwards_from_lpz`: behind a SNAP the leader forwards what is later than the snapshot, not than the follower.
    `commits_in_order`: a proposal waits for the one before it (3.5).
    `clears_snap`: a server that leaves between SNAP and NEWLEADER drops what it received (3642).
    `clears_trunc`: the same between TRUNC and NEWLEADER (5094; open).
    `caches_applied`: what a follower applies while it is synchronised enters committedLog (4925).
    `refuses_holes`: a hole within an epoch is an error: among PROPOSALs, in committedLog, in the log at load (4925).
    `truncates_exactly`: TRUNC(z) removes the first record above z if the log has no record z (N2; open).
    `drops_newer_snapshots`: TRUNC(z) removes the snapshots that hold more than z (4837; open).
    `snapshot_replaces`: the snapshot that a follower writes at NEWLEADER removes the log and the older snapshots: the
    log has a gap below that snapshot, and may have records of an abandoned branch (2832; open).
    `forgets_acks`: when a follower's connection ends, its acknowledgements no longer count (N1; open).
    """

    newleader: Literal["F2", "F3", "F4", "F5"] = "F5"
    leave: Literal["kept", "fast-forward"] = "fast-forward"
    log_sync: Literal["3.4", "unchecked", "checked", "never"] = "checked"
    snapshot_on_lead: bool = True
    diff_sets_lpz: bool = False
    forwards_from_lpz: bool = True
    commits_in_order: bool = True
    clears_snap: bool = True
    clears_trunc: bool = False
    caches_applied: bool = True
    refuses_holes: bool = True
    truncates_exactly: bool = False
    drops_newer_snapshots: bool = False
    snapshot_replaces: bool = False
    forgets_acks: bool = False


_V395 = Version()
_V393 = replace(_V395, caches_applied=False, refuses_holes=False)
_V392 = replace(_V393, newleader="F4")
_V380 = replace(_V393, newleader="F3")
_V355 = replace(_V393, newleader="F2", log_sync="unchecked", forwards_from_lpz=False, clears_snap=False)
_V3410 = replace(
    _V355, leave="kept", log_sync="3.4", snapshot_on_lead=False, diff_sets_lpz=True, commits_in_order=False
)

VERSIONS: Mapping[Release, Version] = {
    "3.4.10": _V3410,
    "3.5.5": _V355,
    "3.6.3": _V380,
    "3.8.0": _V380,
    "3.9.2": _V392,
    "3.9.3": _V393,
    "3.9.5": _V395,
}
"""The releases that can be chosen. 3.6.3 and 3.8.0 differ in threads only, which this grain does not have."""

REPAIRS: Mapping[Defects, Mapping[str, object]] = {
    "2355": {"diff_sets_lpz": False},
    "2832": {"snapshot_replaces": True},
    "2845": {"leave": "fast-forward"},
    "2846": {"log_sync": "never", "snapshot_replaces": True},
    "3642": {"clears_snap": True},
    "3911": {"newleader": "F5"},
    "4837": {"drops_newer_snapshots": True},
    "4925": {"caches_applied": True, "refuses_holes": True},
    "5094": {"clears_trunc": True},
    "n1": {"forgets_acks": True},
    "n2": {"truncates_exactly": True},
}
"""What repairs each known defect of this grain; those of 2832, 2846, 4837, 5094, N1 and N2 are not in any release.

"3911" stands for all that comes of a NEWLEADER that is not F5: 3911, 4643, 4394 and 4712 as far as this grain has them.
"2846" stands for 2418 as well: the log is used no more.
"""
assert {"all", "none", *REPAIRS} == set(get_args(Defects))


@cache
def version_of(release: Release, defects: Defects) -> Version:
    """Return what `release` does if it has all of its known defects, none of them, or only the one that is named.

    A defect of the switch `commits_in_order` is not known; 3.4's table without its own defects is that of 3.9.5.
    """
    version = VERSIONS[release]
    if defects == "all":
        return version
    kept = REPAIRS.get(defects, {})
    wanted: dict[str, object] = {}
    for repair in REPAIRS.values():
        wanted |= repair
    return replace(version, **{name: value for name, value in wanted.items() if name not in kept})
