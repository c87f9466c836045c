"""The signatures of known bugs of ZooKeeper: each is a function of the evidence of a run, named after the fault.

A signature is no proof: another bug may look the same.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple, TypeVar

from zabcheck.invariants import Zxid
from zabcheck.zookeeper.rules.packets import Divergence
from zabcheck.zookeeper.trace.notes import (
    ActivationMissed,
    CameBack,
    ConfigurationSkipped,
    CountedNotLogged,
    CutAboveSnapshot,
    CutRecordKept,
    EpochTakenTwice,
    EpochWithoutHistory,
    HoleInLog,
    InformedNotLogged,
    ListsPart,
    Note,
    SnapshotLost,
    SnapshotTakenOver,
)
from zabcheck.zookeeper.verdict.findings import Ahead, Finding, OtherDigest
from zabcheck.zookeeper.wire.zxids import shown


class Forgot(NamedTuple):
    """A server named a history up to `told` in an ACK-E when it had one up to `had` (invariant 4 is violated).

    `restarted`: it was started again in between.
    """

    server: int
    told: Zxid
    had: Zxid
    restarted: bool


class PassedOver(NamedTuple):
    """A server has broadcast `zxid`, the first transaction of an epoch, and lacked it later as a leader.

    It was not started again in between, and had named a history in the election in which `zxid` is. It brought
    `follower` a history up to `brought`, as leader of epoch `epoch`.
    """

    server: int
    zxid: Zxid
    epoch: int
    follower: int
    brought: Zxid


class ProposedLate(NamedTuple):
    """A server has broadcast `zxid` as leader of epoch `epoch`, which is a later one."""

    server: int
    zxid: Zxid
    epoch: int


class StaleNode(NamedTuple):
    """A node that ends as of transaction `has` at one server, `should` at another; both have delivered the two."""

    server: int
    path: str
    has: int
    should: int


class StaleSync(NamedTuple):
    """A sync of client `client` was answered as of `told`, after the write `done` had been answered."""

    client: int
    told: Zxid
    done: Zxid


class Overtaking(NamedTuple):
    """Request `request` of client `client` was refused, without a zxid, before an earlier one of it was answered."""

    client: int
    request: int
    error: str


class WatchNotTold(NamedTuple):
    """Client `client` watches a node for good, and a change of it was not told.

    `also`: it has asked for another watch of that node since.
    """

    client: int
    path: str
    also: bool


SeenByClients = StaleSync | Overtaking | WatchNotTold


class Evidence(NamedTuple):
    """The evidence that a signature can use. `notes` are those of the run's observation, `seen` is what clients saw."""

    divergences: Sequence[Divergence]
    findings: Sequence[Finding]
    forgot: Sequence[Forgot]
    notes: Sequence[Note]
    passed_over: Sequence[PassedOver] = ()
    behind: Sequence[StaleNode] = ()
    proposed_late: Sequence[ProposedLate] = ()
    seen: Sequence[SeenByClients] = ()


Signature = Callable[[Evidence], str | None]
"""Returns the reason why a run looks like an issue, in a sentence; None if it does not."""


# The parts of signatures.


_FORGETS = ("ack_e_keeps_the_history", "newleader_keeps_what_the_leader_acknowledged")
"""The rules against forgetting acknowledged transactions: of a follower, seen in ACKEPOCH, and of a leader."""


def _diverges(evidence: Evidence, *names: str) -> Iterator[Divergence]:
    return (each for each in evidence.divergences if each.name in names)


def _first(reasons: Iterable[str]) -> str | None:
    return next(iter(reasons), None)


_N = TypeVar("_N", bound=Note)


def _noted(evidence: Evidence, kind: type[_N]) -> Iterator[_N]:
    return (each for each in evidence.notes if isinstance(each, kind))


def _note(evidence: Evidence, kind: type[Note]) -> str | None:
    """Return the words of the first note of a kind."""
    return _first(each.words() for each in _noted(evidence, kind))


def _said(evidence: Evidence, *parts: str) -> str | None:
    """Find a server that logged an error with all of these in it: ZooKeeper's own words."""
    return _first(
        f"server {each.server} says {parts[0]!r}" + (f" in {parts[1]}" if len(parts) > 1 else "")
        for each in evidence.findings
        if each.server_says(*parts)
    )


def _forgot(evidence: Evidence, said: str, *syncs: str) -> str | None:
    """Find a server that was started again, and lacks what it had claimed to have."""
    return _first(
        f"server {each.server} was started again without what its {said} (packet {each.contradicts.packet}) told of"
        + (f", behind {each.contradicts.sync}" if each.contradicts.sync else "")
        for each in _diverges(evidence, *_FORGETS)
        if each.contradicts is not None
        and each.contradicts.what == said
        and each.contradicts.restarted
        and each.contradicts.sync in syncs
    )


# The signatures.


def cannot_load_its_epoch(evidence: Evidence) -> str | None:
    """QuorumPeer.loadDataBase refuses a database that is newer than the file currentEpoch."""
    return _said(evidence, "is older than the last zxid")


def promised_less_than_it_adopted(evidence: Evidence) -> str | None:
    """QuorumPeer.loadDataBase refuses a file acceptedEpoch that is older than currentEpoch."""
    return _said(evidence, "is less than the current epoch")


def promises_an_epoch_again(evidence: Evidence) -> str | None:
    """AtomicFileWritingIdiom keeps silent about a file that could not be forced to the disk or renamed.

    A server of which that is acceptedEpoch, and not currentEpoch, does not start any more.
    """
    again = (
        f"server {each.server} should have {each.expected}, and has {each.seen} (packet {each.packet})"
        for each in _diverges(evidence, "ack_e_promises_an_epoch_once")
    )
    return _first(again) or promised_less_than_it_adopted(evidence)


def stops_at_an_empty_log(evidence: Evidence) -> str | None:
    """A log file is made before its header is written: a crash in between leaves an empty one."""
    return _said(evidence, "java.io.EOFException", "FileHeader.deserialize")


def forgot_a_snapshot_in_memory(evidence: Evidence) -> str | None:
    """The server named a history in ACKEPOCH that came by a SNAP which it never acknowledged."""
    return _forgot(evidence, "ACKEPOCH", "SNAP")


def forgot_the_diff(evidence: Evidence) -> str | None:
    """The server acknowledged NEWLEADER after a DIFF, and its log lacks some of that."""
    return _forgot(evidence, "ACK of NEWLEADER", "DIFF")


def cannot_read_the_end_of_a_session(evidence: Evidence) -> str | None:
    """A transaction closeSession names all ephemeral nodes of its session, and no length is checked before."""
    return _said(evidence, "Unreasonable length", "QuorumPacket.deserialize")


def fails_at_a_commit(evidence: Evidence) -> str | None:
    """The proposal was logged at NEWLEADER, and is no longer in the list where its COMMIT looks for it."""
    return _said(evidence, "NullPointerException", "Learner.syncWithLeader")


def adopted_the_epoch_without_the_history(evidence: Evidence) -> str | None:
    """The file currentEpoch was written, the log not yet. A server that follows says so; one that leads may not."""
    told = (
        f"server {each.server} has the epoch, without its history (packet {each.packet})"
        for each in _diverges(evidence, "ack_e_has_the_initial_history")
    )
    return _first(told) or _note(evidence, EpochWithoutHistory)


def acknowledged_a_proposal_too_early(evidence: Evidence) -> str | None:
    """The thread that logs was faster than the one that acknowledges NEWLEADER."""
    return _first(
        f"server {each.server} sends {each.seen} before its ACK of NEWLEADER (packet {each.packet})"
        for each in _diverges(evidence, "ack_ld_comes_first")
    )


def fails_at_an_acknowledgement(evidence: Evidence) -> str | None:
    """The connection is closed twice, by the thread that acknowledges too."""
    return _said(evidence, "NullPointerException", "SendAckRequestProcessor")


def is_shut_down_in_part(evidence: Evidence) -> str | None:
    """The thread that logs goes on after the server has left its leader.

    If that was before UPTODATE, memory is not even brought up to the log: the server says less than it acknowledged, is
    sent the same once more, and logs that twice. If an observer becomes a voter, it has in memory what its log lacks.
    An observer that counted at NEWLEADER forgets for another reason.
    """
    counted = {each.server for each in _noted(evidence, CountedNotLogged)}
    lags = (
        f"server {each.server} goes on from before its ACK of NEWLEADER (packet {each.contradicts.packet}), "
        "and was not started again since"
        for each in _diverges(evidence, *_FORGETS)
        if each.contradicts is not None
        and each.contradicts.what == "ACK of NEWLEADER"
        and each.contradicts.sync == "DIFF"
        and not each.contradicts.restarted
    )
    behind = (
        f"server {each.server} has acknowledged a history up to {each.had}, and tells of {each.told}, without having "
        "been started again"
        for each in evidence.forgot
        if not each.restarted and each.server not in counted
    )
    observed = (each.words() for each in _noted(evidence, InformedNotLogged) if each.logs)
    return _has_more(evidence, "DIFF", "SNAP") or _first(lags) or _first(behind) or _first(observed)


def got_back_what_was_cut(evidence: Evidence) -> str | None:
    """TRUNC shortens the log, and the database is loaded from a snapshot that is newer."""
    return _has_more(evidence, "TRUNC") or _note(evidence, CutAboveSnapshot)


def _has_more(evidence: Evidence, *syncs: str) -> str | None:
    return _first(
        f"server {each.server} has {each.seen} after an ACK of NEWLEADER behind {each.contradicts.sync} "
        f"(packet {each.contradicts.packet}), and nobody has sent it that since"
        for each in _diverges(evidence, "ack_e_has_nothing_else")
        if each.contradicts is not None and each.contradicts.sync in syncs
    )


_GAPS = ("proposals_have_no_gap", "proposals_continue_one_history")
"""The rules against a hole in a leader's proposals."""


def reads_a_log_that_a_snapshot_overtook(evidence: Evidence) -> str | None:
    """A server that takes over a snapshot keeps its log: it still has records that should be cut, and lacks new ones.

    As leader it brings others up to date from that log: it has them cut committed transactions, and does not send these
    again. So the end of its snapshot is in the gap. The snapshot of a server that only came late to its first leader
    overtook nothing.
    """
    return _first(
        f"server {each.server} had taken over a snapshot up to {snapshot.zxid}; as a leader it sends {each.seen} "
        f"instead of {each.expected}"
        for each in _diverges(evidence, *_GAPS)
        for snapshot in _noted(evidence, SnapshotTakenOver)
        if snapshot.server == each.server
        if each.gap is not None and each.gap.after < snapshot.zxid.packed() < each.gap.zxid
    )


def keeps_its_log_behind_a_snapshot(evidence: Evidence) -> str | None:
    """The log still has transactions that a snapshot replaced in memory; a server that leaves reads them again."""
    return _note(evidence, CameBack)


def passes_a_hole_on(evidence: Evidence) -> str | None:
    """The leader's list of committed transactions has a hole, or ends too early."""
    gaps = (
        f"server {each.server} leads, and leaves out transactions: {each.seen} instead of {each.expected}"
        for each in _diverges(evidence, *_GAPS)
        if each.gap is not None and each.gap.leaves_out
    )
    short = (
        f"server {each.server} leads, and brings {each.seen} instead of {each.expected}"
        for each in _diverges(evidence, "newleader_has_the_best_history", _FORGETS[1])
    )
    return _first(gaps) or _first(short)


def forgot_what_it_had_in_memory(evidence: Evidence) -> str | None:
    """A synchronisation with TRUNC was broken off: memory was ahead of the log.

    Then the log goes on behind a hole, with which a server does not start from 3.9.4 on.
    """
    refuses = (
        f"server {each.server} cannot start: its log has a hole"
        for each in evidence.findings
        if each.kind == "could not start" and each.server_says("cached out of order")
    )
    return _forgot(evidence, "ACKEPOCH", "TRUNC") or _note(evidence, HoleInLog) or _first(refuses)


def applies_a_transaction_again(evidence: Evidence) -> str | None:
    """A server that leaves its leader loads its log, and does not wait for the thread that delivers.

    What it remembers as committed may end with that thread's transaction: as a leader it cuts later ones off. And where
    that transaction sets the data of a node, it undoes what was set since. From 3.9.4 on the server refuses to remember
    it out of order, and its main thread ends.
    """
    late_servers = _servers_ahead(evidence, Ahead.LOG)
    late = _first(f"the digest of server {each} does not fit: {Ahead.LOG.value}" for each in late_servers)
    cut = _first(
        f"; as a leader it brings {each.seen} instead of {each.expected}"
        for each in _diverges(evidence, _FORGETS[1], "newleader_has_the_best_history")
        if each.server in late_servers
    )
    undone = _first(
        f"the digest of server {each.server} does not fit, and in the end it has {each.path} as of {shown(each.has)}, "
        f"though it has delivered {shown(each.should)}, which changes that node, too"
        for each in evidence.behind
        if any(finding.kind == "digest mismatch" and finding.server == each.server for finding in evidence.findings)
    )
    if late is not None:
        return late + (cut or "")
    return undone or _said(evidence, "cached out of order", "from thread QuorumPeer")


def compares_digests_behind_a_snapshot(evidence: Evidence) -> str | None:
    """A leader goes on while it sends a snapshot, and digests of what that already has are compared nevertheless."""
    servers = _servers_ahead(evidence, Ahead.SNAPSHOT)
    return _first(f"the digest of server {each} does not fit: {Ahead.SNAPSHOT.value}" for each in servers)


def _servers_ahead(evidence: Evidence, why: Ahead) -> list[int]:
    """Return the servers whose digest does not fit because their tree was ahead."""
    return [each.server for each in evidence.findings if isinstance(each.fact, OtherDigest) and each.fact.ahead is why]


def proposes_what_an_ended_leader_has_numbered(evidence: Evidence) -> str | None:
    """The thread that gives zxids outlives its leader, and hands a transaction to the one that the server now has."""
    late = (
        f"server {each.server} has broadcast {each.zxid} as leader of epoch {each.epoch}"
        for each in evidence.proposed_late
    )
    return _first(late) or _said(evidence, "NullPointerException", "ProposalRequestProcessor.processRequest")


def counts_an_ack_of_before_a_trunc(evidence: Evidence) -> str | None:
    """The leader forgets no ACK, and has a returning follower cut off transactions that it has not applied itself."""
    return _first(
        f"server {each.server} leads, and sends {each.seen}"
        for each in _diverges(evidence, "commits_are_kept_by_a_quorum")
    )


def keeps_a_record_that_was_cut(evidence: Evidence) -> str | None:
    """FileTxnLog.truncate cuts behind the first record that is not before the zxid, also if that is a later one."""
    return _first(each.words() for each in _noted(evidence, CutRecordKept) if not each.has_cut)


def goes_on_after_a_disk_error(evidence: Evidence) -> str | None:
    """The thread that logs ends, and the server joins again with what it has in memory, which its log may lack."""
    return _said(evidence, "Severe unrecoverable error", "SyncThread", "java.io.IOException")


_WITHIN_A_RECORD = ("Severe unrecoverable error", "java.io.IOException", "FileTxnLog.append")


def logs_behind_half_a_record(evidence: Evidence) -> str | None:
    """A write failed within a record; when the server starts again, it takes the log for ended there."""
    failed = [each.server for each in evidence.findings if each.server_says(*_WITHIN_A_RECORD)]
    return _first(
        f"server {each.server} was started again after a write failed within a record, without what its ACK "
        f"(packet {each.contradicts.packet}) told of"
        for each in _diverges(evidence, *_FORGETS)
        if each.server in failed and each.contradicts is not None and each.contradicts.restarted
    )


def lost_a_snapshot_that_it_acknowledged(evidence: Evidence) -> str | None:
    """The snapshot that NEWLEADER is acknowledged with, behind a TRUNC, is not forced to the disk."""
    return _note(evidence, SnapshotLost)


def counts_as_applied_what_it_has_numbered(evidence: Evidence) -> str | None:
    """Leader.startZkServer sets lastProcessedZxid to the last zxid given, when the threads that give zxids have begun.

    The first transaction of its epoch is then in its log only, and is not loaded when the server gives up.
    """
    return _first(
        f"server {each.server} led, and has broadcast {each.zxid}; as leader of epoch {each.epoch} it brings server "
        f"{each.follower} a history up to {each.brought}, though it was not started again in between"
        for each in evidence.passed_over
    )


def votes_with_what_it_has_not_logged(evidence: Evidence) -> str | None:
    """An observer need not log what it is informed of; made a voter, it keeps its memory, and logs what follows."""
    return _first(each.words() for each in _noted(evidence, InformedNotLogged) if not each.logs)


def misses_a_configuration_behind_a_write(evidence: Evidence) -> str | None:
    """Learner.syncWithLeader looks for the configuration of COMMITANDACTIVATE in the first proposal that it keeps only.

    A server that has joined so has the list without itself, with which it does not start.
    """
    return _first(
        each.words()
        for each in _noted(evidence, ActivationMissed)
        if any(said.server == each.server and said.server_says("not in the peer list") for said in evidence.findings)
    )


def activates_what_is_not_committed(evidence: Evidence) -> str | None:
    """NEWLEADER names the configuration that was proposed last, and UPTODATE activates it at whoever is synchronised.

    Its leader has not activated that, so it refuses this learner when the learner comes back. Or two ensembles part,
    with the same epoch, one of them with the learner whose part has changed.
    """
    changed = _said(evidence, "changes proposed in reconfig", "Learner.syncWithLeader")
    parted = (
        f"{changed}, and the first transaction of an epoch follows {each.seen} instead of {each.expected}"
        for each in _diverges(evidence, "proposals_continue_one_history")
        if changed is not None
    )
    return _said(evidence, "has a later activated configuration") or _first(parted)


def sees_a_configuration_behind_one_that_it_skipped(evidence: Evidence) -> str | None:
    """A server keeps the active configuration, and the one that was proposed last: what was between them is forgotten.

    With those two it leads, or elects, beside the configuration in between.
    """
    return _note(evidence, ConfigurationSkipped)


def takes_an_epoch_with_the_active_configuration(evidence: Evidence) -> str | None:
    """Leader.getEpochToPropose and waitForEpochAck ask for a quorum of the active configuration only."""
    return _note(evidence, EpochTakenTwice)


def counts_an_observer_that_has_logged_nothing(evidence: Evidence) -> str | None:
    """Leader.waitForNewLeaderAck asks if who acknowledges is a voter of the pending configuration; an observer may be.

    Learner.syncWithLeader logs at NEWLEADER for a follower only, and at UPTODATE the observer leaves.
    """
    return _note(evidence, CountedNotLogged)


def finds_nobody_to_designate(evidence: Evidence) -> str | None:
    """Leader.getDesignatedLeader takes the first of those besides the leader that have acknowledged; there is none."""
    return _said(evidence, "NoSuchElementException", "Leader.getDesignatedLeader")


def goes_on_without_writing_its_configuration(evidence: Evidence) -> str | None:
    """QuorumPeer logs that it cannot write the proposed, or the active, configuration, and has it in memory only."""
    proposed = _said(evidence, "Error writing next dynamic config file to disk")
    return proposed or _said(evidence, "Error closing file")


def goes_by_lists_with_disjoint_quorums(evidence: Evidence) -> str | None:
    """Each server counts the quorums of the list in its own configuration, and never compares it with another's."""
    return _note(evidence, ListsPart)


def a_deposed_leader_answers_a_sync(evidence: Evidence) -> str | None:
    """A leader answers a sync of its own client without asking anybody, until it notices that it leads no more."""
    return _first(_stale(each) for each in _syncs(evidence) if each.told.epoch < each.done.epoch)


def a_sync_passes_a_commit_by(evidence: Evidence) -> str | None:
    """A leader answers a sync of its own client as a read, ahead of what it has committed and not applied.

    Leader.tryToCommit sends COMMIT to the followers before it tells the leader's own CommitProcessor.
    """
    return _first(_stale(each) for each in _syncs(evidence) if each.told.epoch == each.done.epoch)


def _syncs(evidence: Evidence) -> Iterator[StaleSync]:
    return (each for each in evidence.seen if isinstance(each, StaleSync))


def _stale(sync: StaleSync) -> str:
    return f"client {sync.client} was answered a sync as of {sync.told} after {sync.done} had been answered"


def refuses_before_it_answers(evidence: Evidence) -> str | None:
    """ZooKeeperServer.authWriteRequest refuses at once, before the request is put behind those that wait."""
    return _first(
        f"client {each.client} was refused request {each.request} ({each.error}), without a zxid, before it was "
        "answered an earlier one"
        for each in evidence.seen
        if isinstance(each, Overtaking) and each.error in ("NoAuth", "InvalidACL")
    )


def has_one_mode_for_a_watched_node(evidence: Evidence) -> str | None:
    """WatchManager keeps one mode for a connection and a path, so a standard watch ends a persistent one."""
    return _first(
        f"client {each.client} watches {each.path} for good and in another way, and was not told a change"
        for each in evidence.seen
        if isinstance(each, WatchNotTold) and each.also
    )
