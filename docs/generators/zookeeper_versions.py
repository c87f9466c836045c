"""docs/zookeeper-model-versions.md has a table of the values in which releases of ZooKeeper differ in the model."""

from itertools import groupby
from pathlib import Path

from docs.generators.output import DOCS, read
from docs.generators.properties import table
from zabcheck.zookeeper.model.versions import VERSIONS

PAGE = DOCS / "zookeeper-model-versions.md"
BEGIN, END = "<!-- versions -->\n", "<!-- end -->\n"
SAME = {"3.8.4": "3.8.0", "master": "3.9.5"}
"""Releases that are left out of the table, as they have all values of another one."""
PATCHED = "3.9.5"
"""The release that pull requests change."""
MEANINGS = {
    "promises_epochs": ("a server promises epochs, and writes promised and adopted ones down", "335"),
    "waits_for_quorum": ("a leader takes ⟨e',0⟩ as its last zxid only once a quorum has acknowledged NEWLEADER", "790"),
    "forwards_at_once": ("forwarding to a follower starts when the leader decides what to send it", "962"),
    "cuts_branches": ("a follower whose zxid is missing in committedLog is sent TRUNC, not DIFF", "1154"),
    "counts_every_epoch": ("e' is greater than every acceptedEpoch, in whatever order they come", "1343"),
    "knows_last_proposed": ("a leader that has proposed nothing knows that its history is not empty", "1319"),
    "epoch_at_newleader": ("currentEpoch is written before NEWLEADER is acknowledged", "1282"),
    "logs_late_commits": ("a transaction committed between NEWLEADER and UPTODATE is logged", "1264"),
    "notices_lost_epochs": ("a file of an epoch that cannot be forced to the disk is an error", "4311"),
    "takes_epoch_of_log": ("a server whose log is of a later epoch than currentEpoch starts with it", "1653, open"),
    "reopens_log": ("TRUNC closes the log that is being written", "1489"),
    "snapshots_always": ("a follower writes a snapshot at NEWLEADER after DIFF, too", "2678"),
    "logs": ("the part of a synchronisation that is logged at NEWLEADER", "2678, 3911, 4394"),
    "epoch_first": ("currentEpoch is written before that part is logged", "4643, 4785"),
    "awaits_log": ("NEWLEADER is acknowledged only when that part is on the disk", "4646, 4785"),
    "keeps_commits": ("a COMMIT between NEWLEADER and UPTODATE is kept, whatever it is of", "4394"),
    "leave": ("the way in which a running server leaves an iteration ([below](#synchronisation))", "2845, 4712"),
    "sync_dies": ("the logging thread may die of a closed socket while its server leaves", "4409"),
    "outlives_disk_error": ("a failed write to the log ends the logging thread, not the process", "4882, open"),
    "reloads_if_behind": ("a server that leaves with its log behind its memory loads its database", "4882, open"),
    "joins_commit": ("leaving waits for the thread that applies", "3598, open"),
    "log_sync": ("a leader synchronises followers from its log", "1413, 2418"),
    "snapshot_on_lead": ("a new leader writes a snapshot", "1558"),
    "diff_sets_lpz": ("DIFF sets a follower's last zxid before the transactions have come", "2355"),
    "copies_first": ("the bytes of a SNAP are written before NEWLEADER is queued", "3104"),
    "forwards_from_lpz": ("behind a SNAP the leader forwards what is later than the snapshot", "3104"),
    "commits_in_order": ("a proposal waits for the one before it", "reconfiguration"),
    "clears_snap": ("a server that leaves between SNAP and NEWLEADER drops what it received", "3642"),
    "clears_trunc": ("the same between TRUNC and NEWLEADER", "5094, open"),
    "caches_applied": ("transactions that a follower applies while it is synchronised enter committedLog", "4925"),
    "refuses_holes": ("a hole within an epoch is an error", "4925"),
    "truncates_exactly": ("TRUNC(z) removes the first record above z even if the log lacks z", "N2, open"),
    "forces_cut": ("TRUNC waits until the cut is on the disk", "N4, open"),
    "drops_newer_snapshots": ("TRUNC(z) removes the snapshots that hold more than z", "4837, 1549, open"),
    "skips_newer_snapshots": ("TRUNC(z) passes over the snapshots that are labelled above z", "4837, open"),
    "snapshot_replaces": ("the snapshot of NEWLEADER removes the log and older snapshots", "2832, open"),
    "forces_snapshot": ("the snapshot of NEWLEADER is forced to the disk before the ACK", "2872"),
    "forces_cut_snapshot": ("it is forced behind a TRUNC, too", "N3, open"),
    "counts_numbered": ("a new leader counts as applied what it has only numbered", "open"),
    "compares_committed": ("a follower is compared with what is committed, and its old ACKs are forgotten", "N1, open"),
}
"""For each value of a version: what it means, and the issues that are about it."""


def made() -> dict[Path, str]:
    """Return the page with its table."""
    rows = ((f"`{name}`: {meaning}", values(name), issue) for name, (meaning, issue) in MEANINGS.items())
    before, begin, rest = read(PAGE).partition(BEGIN)
    _, end, after = rest.partition(END)
    assert begin, f"{PAGE} has no place for the table"
    assert end, f"{PAGE} has no place for the table"
    return {PAGE: f"{before}{begin}\n{table(('value', 'in', 'issue'), rows)}\n{end}{after}"}


def values(name: str) -> str:
    """Return the releases in which a value is true; of one that is no truth value, each value with its releases."""
    releases = [release for release in VERSIONS if release not in SAME and not release.startswith("pr-")]
    spans = [(value, list(span)) for value, span in groupby(releases, lambda each: getattr(VERSIONS[each], name))]
    if not isinstance(spans[0][0], bool):
        return "; ".join(f"{value} {between(span, releases)}" for value, span in spans)
    having = [between(span, releases) for value, span in spans if value]
    return "; ".join([*having, *brought_by_a_patch(name)]) or "none"


def brought_by_a_patch(name: str) -> list[str]:
    """Return the pull requests that make a value true that is false in the release that they change."""
    if getattr(VERSIONS[PATCHED], name):
        return []
    return [version for version in VERSIONS if version.startswith("pr-") and getattr(VERSIONS[version], name)]


def between(span: list[str], releases: list[str]) -> str:
    """Return consecutive releases in words."""
    if span == releases:
        return "all"
    if span[0] == releases[0]:
        return f"up to {span[-1]}"
    if span[-1] == releases[-1]:
        return f"from {span[0]} on"
    return span[0] if len(span) == 1 else f"{span[0]} to {span[-1]}"
