"""The versions of ZooKeeper as orders of sub-steps: the behaviour of each, since when, and by which issue.

A version is a row of values, one for each respect in which releases differ as far as Zab is concerned. A step looks at
the value and at nothing else, so a bug is a value too, and so is its repair. `docs/zookeeper-model-versions.md` has the
table.
"""

from collections.abc import Mapping
from functools import cache
from typing import Any, Literal, get_args

from msgspec import Struct
from msgspec.structs import replace

from zabcheck.zookeeper.model.switches import LETTER, Defects, Grain, Release


class Version(Struct, frozen=True):
    """The behaviour of a version. The defaults are those of 3.9.5; numbers are those of ZOOKEEPER issues.

    `promises_epochs`: a server promises an epoch, and writes down which it has promised and adopted; else a leader
    takes the epoch behind that of its last transaction, and a follower knows of one by the zxid of NEWLEADER (335).
    `waits_for_quorum`: a leader counts as established, lastProcessedZxid is ⟨e',0⟩, once a quorum has acknowledged
    NEWLEADER; else as soon as it leads (790).
    `forwards_at_once`: a leader forwards to a follower from the moment at which it finds out what to send it; else a
    transaction applied in between is sent to nobody (962).
    `cuts_branches`: a follower whose zxid lies within committedLog, but is not there, is sent TRUNC; else DIFF (1154).
    `counts_every_epoch`: e' is greater than every acceptedEpoch, in whatever order they come (1343).
    `knows_last_proposed`: a leader that has proposed nothing yet knows that its own history is not empty; else a server
    without any is sent an empty DIFF (1319).
    `epoch_at_newleader`: a follower writes currentEpoch before it acknowledges NEWLEADER; else when UPTODATE comes
    (1282).
    `logs_late_commits`: a transaction committed between NEWLEADER and UPTODATE is logged; else it is applied to memory
    only, behind the snapshot (1264).
    `notices_lost_epochs`: a file of an epoch that cannot be forced to the disk is an error; else the server goes on,
    and a crash may undo what it has promised and adopted (4311).
    `takes_epoch_of_log`: a server whose log is of a later epoch than the file currentEpoch starts with that epoch; else
    it does not start (1653; open). Its log is the beginning of the history of a leader of that epoch. 3.4.6 to 3.4.14
    do that: a file, updatingEpoch, is there while snapshot and currentEpoch are written.
    `reopens_log`: a log that is written when TRUNC comes is closed before it is cut; else the next record is written
    where the old end was, and a load stops at the zeros before it (1489).
    `snapshots_always`: at NEWLEADER a follower writes a snapshot behind DIFF, too (until 2678: F1).
    `logs`: the part of a synchronisation that a follower logs when NEWLEADER comes; the rest is logged after UPTODATE.
    nothing (2678: F2). all (3911: F3 and F4). committed: and that is applied as well (4394, 4712: F5).
    `epoch_first`: then it writes currentEpoch before it logs (4643).
    `awaits_log`: it waits until that is on the disk before it acknowledges; else the logging thread does it (4646).
    `keeps_commits`: a COMMIT between NEWLEADER and UPTODATE is kept, for whatever transaction (4394).
    `leave`: the end of an iteration at a server that was running. cleared: waiting records are logged, and memory is
    loaded anew, also by a server that was not running (up to 3.4.6). kept: waiting records are logged, and memory
    stays as it is (3.4.10 and 3.4.11: 2845). halted: the log is applied to memory, then waiting records are logged
    (4712). leaks: the log is applied to memory, and a follower's logging thread goes on (4712). drained: waiting
    records are logged, then the log is applied to memory.
    `sync_dies`: a logging thread that forces the log while its server leaves ends with the next acknowledgement, as the
    socket is gone by then: records that wait behind that are not logged (4409).
    `outlives_disk_error`: a write to the log that fails ends the logging thread, and the iteration, not the process:
    memory keeps transactions that the log lacks (4882; open, pull request 2268). Else it is a crash like others.
    `reloads_if_behind`: a server that was running, and leaves with a log that is behind its memory, loads its database
    anew (4882; open, pull request 2268).
    `joins_commit`: leaving waits for the thread that applies; else that one may apply a transaction once more (3598).
    `log_sync`: use of the log to synchronise a follower for which committedLog does not go back far enough.
    3.4: there is only committedLog, and TRUNC may cross epochs. unchecked: also across a gap. checked: not across a gap
    between log and committedLog (2418). never: it sends a snapshot, as with snapshotSizeFactor -1.
    `snapshot_on_lead`: `Leader.lead` writes a snapshot (not 3.4.6 to 3.4.14: 1558).
    `diff_sets_lpz`: DIFF assigns lastProcessedZxid before its transactions have come (2355).
    `copies_first`: the bytes of a SNAP are written before NEWLEADER is queued; else a transaction applied
    meanwhile is in the SNAP, beyond its zxid, and NEWLEADER is acknowledged without it (3104).
    `forwards_from_lpz`: behind a SNAP the leader forwards transactions later than the snapshot, not than the follower.
    `commits_in_order`: a proposal waits for the one before it (3.5).
    `clears_snap`: a server that leaves between SNAP and NEWLEADER drops the SNAP (3642).
    `clears_trunc`: the same between TRUNC and NEWLEADER (5094; open, pull request 2459).
    `caches_applied`: transactions that a follower applies while it is synchronised enter committedLog (4925).
    `refuses_holes`: a hole within an epoch is an error: among PROPOSALs, in committedLog, in the log at load (4925).
    `truncates_exactly`: TRUNC(z) removes the first record above z if the log has no record z (N2; open).
    `forces_cut`: TRUNC waits until the cut is on the disk (N4; open). Where it does not, a power loss undoes it.
    `drops_newer_snapshots`: TRUNC(z) removes the snapshots that hold more than z (4837; open).
    `skips_newer_snapshots`: TRUNC(z) loads the newest snapshot that is not labelled above z, and leaves the others
    where they are, for the next load to find (4837; open, pull request 2172).
    `snapshot_replaces`: the snapshot that a follower writes at NEWLEADER removes the log and the older snapshots: the
    log has a gap below that snapshot, and may have records of an abandoned branch (2832; open).
    `forces_snapshot`: the snapshot that a follower writes at NEWLEADER is on the disk before it acknowledges (2872).
    `forces_cut_snapshot`: so is the one that it writes behind a TRUNC (N3; open).
    `counts_numbered`: a new leader takes requests, and then counts those numbered by then as applied, as
    lastProcessedZxid is assigned after `startup` (open). Only the grain G5 has that.
    `compares_committed`: a leader synchronises a follower by all committed transactions, not only the applied ones, and
    no longer counts earlier acknowledgements of the follower (N1; open).
    """

    promises_epochs: bool = True
    waits_for_quorum: bool = True
    forwards_at_once: bool = True
    cuts_branches: bool = True
    counts_every_epoch: bool = True
    knows_last_proposed: bool = True
    epoch_at_newleader: bool = True
    logs_late_commits: bool = True
    notices_lost_epochs: bool = True
    takes_epoch_of_log: bool = False
    reopens_log: bool = True
    snapshots_always: bool = False
    logs: Literal["nothing", "all", "committed"] = "committed"
    epoch_first: bool = False
    awaits_log: bool = True
    keeps_commits: bool = True
    leave: Literal["cleared", "kept", "halted", "leaks", "drained"] = "drained"
    sync_dies: bool = False
    outlives_disk_error: bool = True
    reloads_if_behind: bool = False
    joins_commit: bool = False
    log_sync: Literal["3.4", "unchecked", "checked", "never"] = "checked"
    snapshot_on_lead: bool = True
    diff_sets_lpz: bool = False
    copies_first: bool = True
    forwards_from_lpz: bool = True
    commits_in_order: bool = True
    clears_snap: bool = True
    clears_trunc: bool = False
    caches_applied: bool = True
    refuses_holes: bool = True
    truncates_exactly: bool = False
    forces_cut: bool = False
    drops_newer_snapshots: bool = False
    skips_newer_snapshots: bool = False
    snapshot_replaces: bool = False
    forces_snapshot: bool = True
    forces_cut_snapshot: bool = False
    counts_numbered: bool = True
    compares_committed: bool = False


_V395 = Version()
_V393 = replace(_V395, caches_applied=False, refuses_holes=False)
_V392 = replace(_V393, logs="all", keeps_commits=False, leave="leaks", sync_dies=True)
_V380 = replace(_V392, epoch_first=True, awaits_log=False)
_V355 = replace(
    _V393,
    notices_lost_epochs=False,
    logs="nothing",
    epoch_first=True,
    leave="halted",
    joins_commit=True,
    log_sync="unchecked",
    forwards_from_lpz=False,
    clears_snap=False,
    forces_snapshot=False,
)
_V3410 = replace(
    _V355,
    notices_lost_epochs=True,
    takes_epoch_of_log=True,
    leave="kept",
    log_sync="3.4",
    copies_first=False,
    snapshot_on_lead=False,
    diff_sets_lpz=True,
    commits_in_order=False,
)
_V342 = replace(
    _V3410,
    counts_every_epoch=False,
    takes_epoch_of_log=False,
    reopens_log=False,
    snapshots_always=True,
    leave="cleared",
    outlives_disk_error=False,
    snapshot_on_lead=True,
    counts_numbered=False,
)

_V340 = replace(_V342, knows_last_proposed=False, epoch_at_newleader=False, logs_late_commits=False)

VERSIONS: Mapping[Release, Version] = {
    "3.3.1": replace(_V340, promises_epochs=False, waits_for_quorum=False, forwards_at_once=False, cuts_branches=False),
    "3.4.0-rc0": _V340,
    "3.4.2": _V342,
    "3.4.10": _V3410,
    "3.5.5": _V355,
    "3.6.3": replace(_V380, notices_lost_epochs=False, sync_dies=False),
    "3.8.0": _V380,
    "3.8.4": _V380,
    "3.9.2": _V392,
    "3.9.3": _V393,
    "3.9.5": _V395,
    "master": _V395,
    "pr-1130": replace(_V395, joins_commit=True),
    "pr-2172": replace(_V395, skips_newer_snapshots=True),
    "pr-2268": replace(_V395, reloads_if_behind=True),
    "pr-2459": replace(_V395, clears_trunc=True),
}
"""The releases that can be chosen, and 3.9.5 with a change that was proposed. master is that of July 2026.

3.3.1 has the four faults of 3.3.1, and otherwise the behaviour of 3.4.0-rc0: its own packets come in another order.
"""

LIKE: Mapping[Release, Release] = {"3.5.0": "3.5.5", "3.5.2": "3.5.5", "3.5.3": "3.5.5"}
"""The releases of `zookeeper-reconfiguration` alone, each with the one that it is like but for configurations.

So the other things in which they differ are not modelled.
"""

REPAIRS: Mapping[Defects, Mapping[str, object]] = {
    "335": {"promises_epochs": True},
    "790": {"waits_for_quorum": True, "promises_epochs": True},
    "962": {"forwards_at_once": True},
    "1154": {"cuts_branches": True, "log_sync": "never"},
    "1264": {"logs_late_commits": True},
    "1282": {"epoch_at_newleader": True},
    "1319": {"knows_last_proposed": True},
    "1343": {"counts_every_epoch": True},
    "1489": {"reopens_log": True},
    "1653": {"takes_epoch_of_log": True},
    "2355": {"diff_sets_lpz": False},
    "2832": {"snapshot_replaces": True},
    "2845": {"leave": "drained"},
    "2846": {"log_sync": "never", "snapshot_replaces": True},
    "2872": {"forces_snapshot": True},
    "3023": {"logs": "committed"},
    "3104": {"copies_first": True, "forwards_from_lpz": True},
    "3598": {"joins_commit": True, "refuses_holes": True},
    "3642": {"clears_snap": True},
    "3911": {"logs": "committed"},
    "4311": {"notices_lost_epochs": True},
    "4394": {"logs": "committed", "keeps_commits": True},
    "4409": {"sync_dies": False},
    "4643": {"epoch_first": False},
    "4646": {"logs": "committed", "awaits_log": True},
    "4685": {"logs": "committed", "awaits_log": True},
    "4712": {"leave": "drained"},
    "4712c": {"logs": "committed", "leave": "drained"},
    "4837": {"drops_newer_snapshots": True},
    "4882": {"outlives_disk_error": False, "refuses_holes": True},
    "4925": {"caches_applied": True, "refuses_holes": True},
    "5094": {"clears_trunc": True},
    "n1": {"compares_committed": True},
    "n2": {"truncates_exactly": True},
    "n3": {"forces_cut_snapshot": True},
    "n4": {"forces_cut": True, "snapshot_replaces": True},
}
"""The values that repair each known defect. 1653, 2832, 2846, 3598, 4837, 4882, 5094 and N1 to N4 are open.

A value may belong to several: a defect alone keeps all values that its repair names. "4712" is in how a server leaves
that was running; "4712c" is in what one forgets that was not running, but had acknowledged. 3023, 4394, 4646 and 4685
all concern the moment at which a server logs; with one of them, parts of the others are there. "2846" stands for 2418:
the log is used no more. 1154 is in the table of 3.4 and before. 790 harms only if promises of epochs are missing (335).
3598 harms up to 3.9.3, where committedLog may end with a transaction that was applied again; so `refuses_holes` repairs
its effect, and that of 4882.
"""
ON_REQUEST: tuple[Defects, ...] = ("790", "962", "3104", "4311", "4882", "n3")
"""The defects that need something which no run has unless they are named; "all" does not include them.

790: memory that outlives an iteration, as that of 3.3.1 does not. 962 and 3104: a leader that applies while a follower
is being synchronised. 4311 and 4882: a disk that fails. N3: a power loss that takes a snapshot, and leaves what was
forced after it.
"""
_OF_ANOTHER = {
    ("2845", "leave", "cleared"),
    ("4712", "leave", "cleared"),
    ("4712c", "leave", "cleared"),
    ("2845", "leave", "halted"),
    ("2845", "leave", "leaks"),
    ("4712", "leave", "kept"),
    ("4712c", "leave", "kept"),
}
"""The values (defect, field, value) that a repair replaces as well, but that show another defect than the one named."""
OF_CHANGES: tuple[Defects, ...] = ("1784", "2172", "2959")
"""The defects of configurations that change, which only `zookeeper-reconfiguration` has."""
assert {"all", "none", *REPAIRS, *OF_CHANGES} == set(get_args(Defects))

COARSEST: Mapping[Defects, Grain] = {
    "1653": "G1",
    "3023": "G3",
    "3598": "G4",
    "4409": "G2",
    "4643": "G1",
    "4646": "G2",
    "4685": "G2",
    "4712": "G2",
    "4882": "G2",
    "5094": "G3",
    "n1": "G2",
    "n3": "G3",
}
"""The coarsest grain in which a defect shows; those that are not named show in all."""


@cache
def version_of(release: Release, defects: Defects) -> Version:
    """Return the behaviour of `release` with all of its known defects, none of them, or only the one that is named.

    No defect of `commits_in_order` is known; that of `counts_numbered` stays, as no search reaches it.
    3.4's table without its own defects is that of 3.9.5.
    """
    version = VERSIONS[LIKE.get(release, release)]
    if defects == "all":
        return version
    kept = [each for each in REPAIRS.get(defects, {}) if (defects, each, getattr(version, each)) not in _OF_ANOTHER]
    wanted: dict[str, object] = {}
    for repair in REPAIRS.values():
        wanted |= repair
    return replace(version, **{name: value for name, value in wanted.items() if name not in kept})


def contradiction(values: Mapping[str, Any]) -> str:
    """Return why these values of switches cannot show the one defect that they name; "" if they can."""
    release, defects, grain = (values.get(name, getattr(LETTER, name)) for name in ("version", "defects", "grain"))
    if release in LIKE or defects in OF_CHANGES:
        setting = f"version={release}" if release in LIKE else f"defects={defects}"
        return f"{setting}: only of the protocol zookeeper-reconfiguration"
    if defects in ("all", "none"):
        return ""
    with_it = [each for each in VERSIONS if version_of(each, defects) != version_of(each, "none")]
    if release not in with_it:
        return f"defects={defects}: version {release} does not have it, expected version={' or '.join(with_it)}"
    coarsest = COARSEST.get(defects, "G0")
    if "grain" in values and grain < coarsest:
        return f"defects={defects}: it does not show in grain {grain}, expected grain={coarsest} or a finer one"
    return ""


def handlers_take_turns(version: Version, defects: Defects) -> bool:
    """Return True if handlers synchronise followers in two steps, between which the leader may apply (962, 3104)."""
    return defects != "all" and not (version.forwards_at_once and version.copies_first)
