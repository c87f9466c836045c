"""Known bugs of ZooKeeper, and the versions that have them: "this looks like ZOOKEEPER-4394", with the evidence.

A signature (`signatures`) is no proof, and is used only for versions that have the bug, as read in ZooKeeper's sources
at its release tags. An entry's `affected` has those versions: from the first one, up to the one in which the bug is
fixed (None: in none up to 3.9.5). Of some bugs in the list no issue is known (`NO_NUMBER`). ZOOKEEPER-3598
is said to be fixed: its repair (79f99af81, in 2019) was reverted (9f1326856) before 3.6.0.

Not in the list, although they concern Zab: bugs that were fixed before 3.6, the oldest version that can be run
(ZOOKEEPER-335, 790, 962, 1154, 1282, 1319, 2845, 3104), and ZOOKEEPER-3023, of which nothing is seen outside.
"""

import re
from collections.abc import Sequence

from msgspec import Struct

from zabcheck.zookeeper.rules.packets import Divergence
from zabcheck.zookeeper.trace.notes import Note
from zabcheck.zookeeper.verdict import signatures
from zabcheck.zookeeper.verdict.findings import Finding
from zabcheck.zookeeper.verdict.signatures import (
    Evidence,
    Forgot,
    PassedOver,
    ProposedLate,
    SeenByClients,
    Signature,
    StaleNode,
)

NO_NUMBER = "no issue known"
"""The key of a bug that was found with zabcheck, and in none of ZooKeeper's issues, as far as they were searched."""

READ = "3.6.3", "3.9.5"
"""The oldest and the newest version of which the catalogue has every bug that is known here."""

Version = tuple[int, ...]
"""3.8.0 is (3, 8, 0)."""


class KnownIssue(Struct, frozen=True):
    """One of ZooKeeper's bugs. `title` is the fault, in our words.

    `name` is that of its issue, and `others` are issues about the same; a bug without an issue (`has_number`) has a
    name in words. `code` has the methods of ZooKeeper with the fault, `Class.method`, or a class for its constructor.
    """

    name: str
    title: str
    affected: tuple[tuple[str, str | None], ...]
    signature: Signature
    others: tuple[str, ...] = ()
    has_number: bool = True
    code: tuple[str, ...] = ()

    @property
    def in_words(self) -> str:
        """The issues, or the name of a bug without any; the fault, and the methods of ZooKeeper that have it."""
        called = self.key if self.has_number else f"{self.name} ({NO_NUMBER})"
        return f"{called}, {self.title}" + (f" ({', '.join(self.code)})" if self.code else "")

    @property
    def key(self) -> str:
        """All its issues as text."""
        return ", ".join((self.name, *self.others)) if self.has_number else NO_NUMBER

    def affects(self, version: str) -> bool:
        """Return True if this version has the bug."""
        return self.span(version) is not None

    def span(self, version: str) -> tuple[str, str | None] | None:
        """Return the span of versions with the bug that this version is in; None if it does not have the bug."""
        asked = parsed(version)
        for first, cured in self.affected:
            if parsed(first) <= asked and (cured is None or asked < parsed(cured)):
                return first, cured
        return None


class IssueMatch(Struct, frozen=True):
    """A run looks like a known issue, because of `why`."""

    issue: KnownIssue
    why: str

    def sentence(self) -> str:
        """Return the match as a sentence."""
        return f"this looks like {self.issue.key} ({self.issue.title}): {self.why}"


def parsed(version: str) -> Version:
    """Return the numbers that a version begins with: "3.5.3-beta" is (3, 5, 3). ValueError if there are none."""
    numbers = re.match(r"\d+(\.\d+)*", version)
    if numbers is None:
        raise ValueError(f"expected a version such as 3.8.0, found {version!r}")
    return tuple(int(part) for part in numbers[0].split("."))


def recognise(
    version: str,
    divergences: Sequence[Divergence],
    findings: Sequence[Finding] = (),
    forgot: Sequence[Forgot] = (),
    notes: Sequence[Note] = (),
    passed_over: Sequence[PassedOver] = (),
    behind: Sequence[StaleNode] = (),
    proposed_late: Sequence[ProposedLate] = (),
    seen: Sequence[SeenByClients] = (),
) -> list[IssueMatch]:
    """Find the known issues that a run of this version looks like, in the order of `ISSUES`. O(issues × evidence)."""
    evidence = Evidence(divergences, findings, forgot, notes, passed_over, behind, proposed_late, seen)
    asked = ((issue, issue.signature(evidence)) for issue in ISSUES if issue.affects(version))
    return [IssueMatch(issue, why) for issue, why in asked if why is not None]


def issue_named(name: str) -> KnownIssue:
    """Return the known issue of this name, or with this among its others. There has to be one."""
    [issue] = [each for each in ISSUES if name in (each.name, *each.others)]
    return issue


def looks_like(key: str, evidence: Evidence) -> bool:
    """Return True if a run looks like the known issue `key`, whatever its version. O(issues × evidence)."""
    return any(issue.key == key and issue.signature(evidence) is not None for issue in ISSUES)


ISSUES: tuple[KnownIssue, ...] = (
    KnownIssue(
        "ZOOKEEPER-1653",
        "a crash before the file currentEpoch is written leaves a server that cannot start",
        (("3.4.0", "3.4.6"), ("3.5.0", None)),
        signatures.cannot_load_its_epoch,
        code=("Learner.syncWithLeader", "QuorumPeer.loadDataBase"),
    ),
    KnownIssue(
        "ZOOKEEPER-1675",
        "a leader that others have replaced answers a sync as of what it knows itself",
        (("3.4.0", None),),
        signatures.a_deposed_leader_answers_a_sync,
        ("ZOOKEEPER-2136",),
        code=("ProposalRequestProcessor.processRequest",),
    ),
    KnownIssue(
        "ZOOKEEPER-2307",
        "a promised epoch that could not be written stays in memory, and counts as written",
        (("3.4.0", "3.5.8"), ("3.6.0", "3.6.3")),
        signatures.promised_less_than_it_adopted,
        code=("QuorumPeer.setAcceptedEpoch",),
    ),
    KnownIssue(
        "ZOOKEEPER-2332",
        "a crash that leaves an empty log file leaves a server that cannot start",
        (("3.4.0", "3.9.3"),),
        signatures.stops_at_an_empty_log,
        code=("FileTxnLog.FileTxnIterator.goToNextLog",),
    ),
    KnownIssue(
        "ZOOKEEPER-2832",
        "a snapshot replaces what a server has in memory, and its log stays as it is",
        (("3.4.0", None),),
        signatures.keeps_its_log_behind_a_snapshot,
        code=("Learner.syncWithLeader", "ZKDatabase.deserializeSnapshot"),
    ),
    KnownIssue(
        "ZOOKEEPER-2846",
        "a leader brings others up to date from a log that a snapshot has overtaken",
        (("3.5.0", None),),
        signatures.reads_a_log_that_a_snapshot_overtook,
        code=("LearnerHandler.syncFollower", "ZKDatabase.getProposalsFromTxnLog"),
    ),
    KnownIssue(
        "ZOOKEEPER-3598",
        "a server that leaves its leader loads its log, and then applies a transaction of it again",
        (("3.6.0", None),),
        signatures.applies_a_transaction_again,
        code=("ZooKeeperServer.shutdown", "ZKDatabase.fastForwardDataBase"),
    ),
    KnownIssue(
        "ZOOKEEPER-3642",
        "a snapshot that was taken over in memory only counts as the server's history",
        (("3.4.0", "3.5.10"), ("3.6.0", "3.6.3")),
        signatures.forgot_a_snapshot_in_memory,
        code=("Learner.syncWithLeader",),
    ),
    KnownIssue(
        "ZOOKEEPER-3911",
        "NEWLEADER is acknowledged before what DIFF brought is logged",
        (("3.5.3", "3.5.10"), ("3.6.0", "3.6.3")),
        signatures.forgot_the_diff,
        code=("Learner.syncWithLeader",),
    ),
    KnownIssue(
        "ZOOKEEPER-4306",
        "the end of a session with many ephemeral nodes is longer than what servers read",
        (("3.6.0", None),),
        signatures.cannot_read_the_end_of_a_session,
        code=("PrepRequestProcessor.pRequest2Txn",),
    ),
    KnownIssue(
        "ZOOKEEPER-4311",
        "an epoch that could not be written counts as written, and is promised again to another leader",
        (("3.5.0", "3.8.0"),),
        signatures.promises_an_epoch_again,
        code=("QuorumPeer.writeLongToFile", "AtomicFileWritingIdiom"),
    ),
    KnownIssue(
        "ZOOKEEPER-4394",
        "a COMMIT between NEWLEADER and UPTODATE makes the follower fail",
        (("3.5.10", "3.6.0"), ("3.6.3", "3.9.3")),
        signatures.fails_at_a_commit,
        code=("Learner.syncWithLeader",),
    ),
    KnownIssue(
        "ZOOKEEPER-4409",
        "the thread that acknowledges fails when the connection is closed already",
        (("3.7.0", "3.9.3"),),
        signatures.fails_at_an_acknowledgement,
        code=("SendAckRequestProcessor.processRequest",),
    ),
    KnownIssue(
        "ZOOKEEPER-4466",
        "a standard watch of a node ends a persistent one of the same connection",
        (("3.6.0", "3.9.0"),),
        signatures.has_one_mode_for_a_watched_node,
        code=("WatchManager.addWatch",),
    ),
    KnownIssue(
        "ZOOKEEPER-4643",
        "the epoch is written before its history",
        (("3.5.3", "3.8.5"), ("3.9.0", "3.9.2")),
        signatures.adopted_the_epoch_without_the_history,
        code=("Learner.syncWithLeader",),
    ),
    KnownIssue(
        "ZOOKEEPER-4646",
        "NEWLEADER is acknowledged while what DIFF brought is still being logged",
        (("3.5.10", "3.6.0"), ("3.6.3", "3.8.5"), ("3.9.0", "3.9.2")),
        signatures.forgot_the_diff,
        ("ZOOKEEPER-4785",),
        code=("Learner.syncWithLeader",),
    ),
    KnownIssue(
        "ZOOKEEPER-4685",
        "a proposal of the initial history is acknowledged before NEWLEADER",
        (("3.5.10", "3.6.0"), ("3.6.3", "3.8.5"), ("3.9.0", "3.9.2")),
        signatures.acknowledged_a_proposal_too_early,
        code=("Learner.syncWithLeader", "LearnerHandler.run"),
    ),
    KnownIssue(
        "ZOOKEEPER-4712",
        "a server that leaves its leader is shut down in part: its memory and its log do not agree",
        (("3.5.10", "3.6.0"), ("3.6.3", "3.9.3")),
        signatures.is_shut_down_in_part,
        code=("Learner.shutdown", "ZooKeeperServer.shutdown"),
    ),
    KnownIssue(
        "ZOOKEEPER-4837",
        "TRUNC loads a snapshot that is newer than the cut",
        (("3.4.0", None),),
        signatures.got_back_what_was_cut,
        code=("ZKDatabase.truncateLog", "FileTxnSnapLog.restore"),
    ),
    KnownIssue(
        "ZOOKEEPER-4882",
        "after a disk error a server goes on with what it has in memory, and its log has a hole",
        (("3.4.10", "3.5.0"), ("3.5.3", None)),
        signatures.goes_on_after_a_disk_error,
        code=("SyncRequestProcessor.run", "ZooKeeperServer.shutdown"),
    ),
    KnownIssue(
        "ZOOKEEPER-4925",
        "what was committed while a server caught up is missing in what it remembers, and in what it sends as a leader",
        (("3.9.3", "3.9.4"),),
        signatures.passes_a_hole_on,
        code=("Learner.syncWithLeader",),
    ),
    KnownIssue(
        "ZOOKEEPER-5094",
        "after a broken-off TRUNC a server's memory is ahead of its log",
        (("3.5.3", None),),
        signatures.forgot_what_it_had_in_memory,
        code=("Learner.syncWithLeader", "ZooKeeperServer.shutdown"),
    ),
    KnownIssue(
        "ack-before-trunc",
        "an ACK of before a TRUNC still counts, though the follower does not have the transaction any more",
        (("3.4.4", None),),
        signatures.counts_an_ack_of_before_a_trunc,
        has_number=False,
        code=("LearnerHandler.syncFollower", "Leader.removeLearnerHandler"),
    ),
    KnownIssue(
        "trunc-keeps-one",
        "TRUNC to a zxid that the log does not have keeps one record too many",
        (("3.4.0", None),),
        signatures.keeps_a_record_that_was_cut,
        has_number=False,
        code=("FileTxnLog.truncate",),
    ),
    KnownIssue(
        "half-record",
        "a write that fails within a record hides all that is logged behind it",
        (("3.4.7", "3.5.0"), ("3.5.1", None)),
        signatures.logs_behind_half_a_record,
        has_number=False,
        code=("FileTxnLog.append", "FileTxnLog.FileTxnIterator.next"),
    ),
    KnownIssue(
        "unforced-snapshot",
        "NEWLEADER is acknowledged with a snapshot that is not forced to the disk",
        (("3.4.0", None),),
        signatures.lost_a_snapshot_that_it_acknowledged,
        has_number=False,
        code=("Learner.syncWithLeader",),
    ),
    KnownIssue(
        "numbered-not-applied",
        "a new leader counts as applied what it has only numbered",
        (("3.4.10", "3.5.0"), ("3.5.3", None)),
        signatures.counts_as_applied_what_it_has_numbered,
        has_number=False,
        code=("Leader.startZkServer",),
    ),
    KnownIssue(
        "late-proposal",
        "the thread that gives zxids outlives its leader, and proposes for the next one of its server",
        (("3.5.0", None),),
        signatures.proposes_what_an_ended_leader_has_numbered,
        has_number=False,
        code=("PrepRequestProcessor.shutdown", "LeaderZooKeeperServer.getLeader"),
    ),
    KnownIssue(
        "snapshot-digest",
        "a follower compares the digests of transactions that the snapshot from its leader has already",
        (("3.9.4", None),),
        signatures.compares_digests_behind_a_snapshot,
        has_number=False,
        code=("Learner.syncWithLeader", "DataTree.compareDigest"),
    ),
    KnownIssue(
        "unlogged-voter",
        "an observer that does not log is made a voter, and acknowledges what it has in memory only",
        (("3.5.3", None),),
        signatures.votes_with_what_it_has_not_logged,
        has_number=False,
        code=("Learner.syncWithLeader", "ObserverZooKeeperServer.setupRequestProcessors"),
    ),
    KnownIssue(
        "missed-activation",
        "a configuration that is committed behind a write, before a server is up to date, is not activated there",
        (("3.5.0", None),),
        signatures.misses_a_configuration_behind_a_write,
        has_number=False,
        code=("Learner.syncWithLeader",),
    ),
    KnownIssue(
        "pending-config",
        "a configuration that is proposed and not committed is activated by whoever is brought up to date meanwhile",
        (("3.5.0", None),),
        signatures.activates_what_is_not_committed,
        has_number=False,
        code=("LearnerHandler.run", "Learner.syncWithLeader"),
    ),
    KnownIssue(
        "skipped-config",
        "a server that is brought up to date keeps the configuration proposed last, and none that became active before",
        (("3.5.0", None),),
        signatures.sees_a_configuration_behind_one_that_it_skipped,
        has_number=False,
        code=("LearnerHandler.run", "QuorumPeer.setLastSeenQuorumVerifier"),
    ),
    KnownIssue(
        "old-config-epoch",
        "a leader takes an epoch with a quorum of the active configuration, not of the one that is pending",
        (("3.5.0", None),),
        signatures.takes_an_epoch_with_the_active_configuration,
        has_number=False,
        code=("Leader.getEpochToPropose", "Leader.waitForEpochAck"),
    ),
    KnownIssue(
        "observer-counted",
        "an observer that is to be a voter counts for NEWLEADER, although it has logged nothing",
        (("3.5.10", "3.6.0"), ("3.6.2", None)),
        signatures.counts_an_observer_that_has_logged_nothing,
        has_number=False,
        code=("Leader.waitForNewLeaderAck", "Learner.syncWithLeader"),
    ),
    KnownIssue(
        "nobody-designated",
        "a leader that alone acknowledged a configuration, which has it at another address, finds nobody to lead on",
        (("3.5.0", None),),
        signatures.finds_nobody_to_designate,
        has_number=False,
        code=("Leader.getDesignatedLeader",),
    ),
    KnownIssue(
        "unwritten-config",
        "a server that cannot write a configuration acknowledges and activates it, and has it in memory only",
        (("3.5.0", None),),
        signatures.goes_on_without_writing_its_configuration,
        has_number=False,
        code=("QuorumPeer.setLastSeenQuorumVerifier", "QuorumPeer.setQuorumVerifier"),
    ),
    KnownIssue(
        "two-lists",
        "servers that are started with another list of servers elect by it, beside a quorum of the list before",
        (("3.4.0", None),),
        signatures.goes_by_lists_with_disjoint_quorums,
        has_number=False,
    ),
    KnownIssue(
        "stale-sync",
        "a leader answers a sync as a read, which passes by what it has committed and not applied",
        (("3.6.0", None),),
        signatures.a_sync_passes_a_commit_by,
        has_number=False,
        code=("CommitProcessor.needCommit",),
    ),
    KnownIssue(
        "eager-refusal",
        "with enableEagerACLCheck a write that is forbidden is refused before earlier requests are answered",
        (("3.6.0", None),),
        signatures.refuses_before_it_answers,
        has_number=False,
        code=("LeaderRequestProcessor.processRequest", "FollowerRequestProcessor.run"),
    ),
)
"""The known issues, in the order of their numbers; those without one come last."""
