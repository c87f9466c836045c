"""Known bugs of Zab, as DSN 2011 and as LADIS 2008 have it, each as one step replaced: the checker's own test.

An entry says what is wrong, where it comes from, which property breaks first when all are judged together, which
others break when judged alone, and the least set of faults that shows it.
"""

from functools import partial
from typing import Any

from msgspec import structs

from zabcheck.invariants.diagnosis import like
from zabcheck.mutants.causal_steps import nothing_before
from zabcheck.mutants.channel_steps import (
    Counts,
    next_of_any_iteration,
    receive_next_of_any_iteration,
    send_again_as_new,
    whatever_comes_later,
)
from zabcheck.mutants.ladis_steps import (
    count_acks_of_any_epoch,
    deliver_own_log_at_acks,
    forget_the_leaders_record,
    keep_own_log,
    keep_what_waits,
    keep_what_waits_when_elected,
    keep_what_was_skipped,
)
from zabcheck.mutants.mutant import Mutant
from zabcheck.mutants.reconfiguration_steps import (
    AsksWhatItHasSeen,
    ChangesByNewOnly,
    ChangesByOldOnly,
    ChangesTwice,
    CompletesInOld,
    DiscoversInOld,
    ElectsInNew,
    ElectsInOld,
    GoesOnInOld,
    IgnoresPending,
    LastSeen,
    Overtaking,
    activate_on_accepting,
    activate_on_adopting,
    count_joiner_that_waits,
    keep_noted_change,
    lead_on_in_same_epoch,
    lead_on_unpromised,
    let_joiner_wait,
    note_proposed_change,
    propose_second_change,
    propose_to_joiner_that_waits,
)
from zabcheck.mutants.relay_steps import accept_past_a_hole, rebuild_without_resending
from zabcheck.mutants.running_epoch_steps import (
    SomebodyCameBack,
    Stragglers,
    answer_before_counting,
    by_own_count,
    commit_initial_history_to_late_joiner,
    count_no_acks_after_return,
    ignore_closed_connection,
    leave_newcomers_waiting,
    leave_stragglers_waiting,
    note_who_comes_back,
)
from zabcheck.mutants.steps import (
    AcksOfOldConnections,
    accept_again,
    accept_equal_epoch,
    accept_from_any_leader,
    ack_before_disk,
    broadcast_early,
    broadcast_to_synced,
    broadcast_with_wrapped_counter,
    commit_on_own_ack,
    commit_what_was_acknowledged,
    commit_with_old_acks,
    deliver_named_on_commit,
    deliver_named_on_commit_ld,
    deliver_new_before_old,
    establish_with_old_acks,
    follower_of_highest_zxid,
    highest_promise,
    keep_acks_of_old_connection,
    keep_longer_history,
    keep_old_link,
    keep_own_history,
    keep_private_transactions,
    may_broadcast_early,
    promise_again,
    promise_before_disk,
    propose_again_to_late_joiner,
    ready_before_delivering,
    recover_past_a_gap,
    start_from_altered_log,
    start_with_half_of_them,
)
from zabcheck.protocols import PROTOCOLS, adapter
from zabcheck.protocols.base import (
    Elected,
    Lost,
    Protocol,
    Request,
    Run,
    Started,
    TimedOut,
)
from zabcheck.protocols.causal.steps import on_request as on_causal_request
from zabcheck.protocols.channel import steps as channel
from zabcheck.protocols.channel.below import over_lossy_links
from zabcheck.protocols.environment import Environment
from zabcheck.protocols.ladis import messages as ladis
from zabcheck.protocols.reconfiguration import messages as reconfiguration
from zabcheck.protocols.reconfiguration.process import starting
from zabcheck.protocols.zab import ZAB, under
from zabcheck.protocols.zab.follower import on_commit_ld
from zabcheck.protocols.zab.leader import on_ack_e, on_cepoch
from zabcheck.protocols.zab.messages import Ack, AckE, AckLd, CEpoch, Commit, CommitLd, NewEpoch, NewLeader, Propose

_CHANGES = "derived from the steps of Shraer et al., USENIX ATC 2012 (docs/reconfiguration.md)"
_DERIVED = "derived from the step's condition in DSN 2011, IV"


def _named(properties: str) -> tuple[str, ...]:
    """Split a list of names."""
    return tuple(properties.split(", "))


_WITHOUT_COMMITS = "derived from LADIS 2008, 4.1: the followers broadcast the ACKs to each other"
_ALONG_A_PATH = "derived from DSN 2011, VII: a broadcast tree or chain replication"
_RELAYING = Environment(switches={"dissemination": ((50, "chain"), (50, "tree"))})
_COUNTING = Environment(switches={"commits": ((100, "acks"),)})
_LOSSY = structs.replace(ZAB.environment, switches={"links": ((100, "lossy"),)})


def _below(**wrong: Any) -> Any:
    """Return what puts channels below Zab of which something is wrong."""
    return partial(under, over=partial(over_lossy_links, **wrong))


CATALOGUE: dict[str, Mutant] = {
    mutant.name: mutant
    for mutant in (
        Mutant(
            "quorum-off-by-one",
            "zab",
            "a quorum is half of the processes, rounded down, instead of more than half",
            "derived from definition II.1 of DSN 2011",
            _named(
                "chosen, integrity, total order, agreement, local primary order, global primary order, primary "
                "integrity, po causal order, strict causality, prefix, causal order, redelivery, invariant 2, "
                "invariant 4, invariant 5, epoch uniqueness, zxid uniqueness, convergence, reliable delivery, epoch "
                "progress, state"
            ),
            "none",
            {},
            {"start": start_with_half_of_them},
        ),
        Mutant(
            "reuse-highest-epoch",
            "zab",
            "the leader proposes the highest epoch promised, and followers promise e' = f.p again (steps l.1.1, f.1.2)",
            _DERIVED,
            _named(
                "epoch uniqueness, total order, agreement, local primary order, po causal order, strict causality, "
                "prefix, causal order, redelivery, invariant 4, invariant 5, chosen, zxid uniqueness, zxid assignment, "
                "convergence, reliable delivery, epoch progress, state"
            ),
            "a second candidate",
            {CEpoch: partial(on_cepoch, choose=highest_promise), NewEpoch: promise_again},
        ),
        Mutant(
            "accept-equal-epoch",
            "zab",
            "NEWEPOCH(e') with e' = f.p is accepted and counted, also from another leader (step f.1.2)",
            _DERIVED,
            _named(
                "invariant 3, total order, agreement, local primary order, primary integrity, po causal order, strict "
                "causality, prefix, redelivery, invariant 4, chosen, epoch uniqueness, zxid uniqueness, reliable "
                "delivery, epoch progress, state"
            ),
            "two candidates that share a follower; no crash",
            {NewEpoch: accept_equal_epoch},
        ),
        Mutant(
            "promise-not-durable",
            "zab",
            "ACK-E is sent before f.p is on the disk (step f.1.2)",
            _DERIVED,
            _named(
                "invariant 3, total order, agreement, primary integrity, strict causality, redelivery, invariant 4, "
                "reliable delivery, state"
            ),
            "a follower that crashes after it promised, and two leaders",
            {NewEpoch: promise_before_disk},
        ),
        Mutant(
            "ack-before-sync",
            "zab",
            "ACK is sent before the proposal is on the disk (step f.3.2)",
            _DERIVED,
            _named(
                "chosen, total order, agreement, primary integrity, po causal order, strict causality, redelivery, "
                "reliable delivery, epoch progress, state"
            ),
            "a follower that crashes after it acknowledged",
            {Propose: ack_before_disk},
        ),
        Mutant(
            "commit-on-own-ack",
            "zab",
            "the leader commits without a quorum of ACKs (step l.3.2)",
            _DERIVED,
            _named(
                "chosen, integrity, total order, agreement, local primary order, primary integrity, po causal order, "
                "strict causality, prefix, redelivery, invariant 5, convergence, reliable delivery, epoch progress, "
                "state"
            ),
            "a leader that is cut off",
            {Ack: commit_on_own_ack},
        ),
        Mutant(
            "commit-only-named",
            "zab",
            "COMMIT and COMMIT-LD deliver the transaction that they name, and none before it (steps f.2.2, f.3.3)",
            _DERIVED,
            _named(
                "local primary order, integrity, total order, agreement, primary integrity, po causal order, strict "
                "causality, prefix, redelivery, invariant 5, reliable delivery, epoch progress, state"
            ),
            "a late joiner and two transactions",
            {CommitLd: deliver_named_on_commit_ld, Commit: deliver_named_on_commit},
        ),
        Mutant(
            "broadcast-before-established",
            "zab",
            "the leader broadcasts before a quorum has acknowledged NEWLEADER (steps l.2.2, f.3.1)",
            _DERIVED,
            _named("zxid assignment, primary integrity, strict causality, epoch progress"),
            "one change of leader",
            {Request: broadcast_early},
            {"can_broadcast": may_broadcast_early},
        ),
        Mutant(
            "stale-proposal-accepted",
            "zab",
            "a follower that goes to another leader still accepts proposals of the one before (steps f.1.1, f.3.2)",
            _DERIVED,
            _named(
                "invariant 3, total order, agreement, local primary order, global primary order, primary integrity, "
                "po causal order, strict causality, prefix, causal order, redelivery, invariant 1, invariant 4, "
                "invariant 5, chosen, convergence, reliable delivery, epoch progress, state"
            ),
            "a change of leader that the old one does not notice",
            {Elected: keep_old_link, Propose: accept_from_any_leader},
        ),
        Mutant(
            "history-by-zxid-only",
            "zab",
            "the initial history is chosen by f.zxid alone, without f.a (step l.1.2)",
            _DERIVED,
            _named(
                "primary integrity, total order, agreement, local primary order, global primary order, po causal "
                "order, strict causality, prefix, causal order, redelivery, reliable delivery, epoch progress, state"
            ),
            "an epoch whose broadcasts only its leader has, and a longer old history elsewhere",
            {AckE: partial(on_ack_e, choose=follower_of_highest_zxid)},
        ),
        Mutant(
            "keep-own-history",
            "zab",
            "the initial history is that of the leader, not the best of a quorum (step l.1.2)",
            _DERIVED,
            _named(
                "invariant 4, integrity, total order, agreement, local primary order, global primary order, primary "
                "integrity, po causal order, strict causality, prefix, causal order, redelivery, invariant 2, "
                "invariant 5, convergence, reliable delivery, epoch progress, state"
            ),
            "one change of leader",
            {AckE: keep_own_history},
        ),
        Mutant(
            "keep-longer-history",
            "zab",
            "a follower keeps its own history where it is longer than the initial history (step f.2.1)",
            _DERIVED,
            _named(
                "chosen, integrity, total order, agreement, local primary order, global primary order, primary "
                "integrity, po causal order, strict causality, prefix, causal order, redelivery, invariant 2, "
                "invariant 4, invariant 5, reliable delivery, epoch progress, state"
            ),
            "two changes of leader",
            {NewLeader: keep_longer_history},
        ),
        Mutant(
            "no-truncation",
            "zab",
            "a follower keeps the transactions that the initial history does not have (step f.2.1)",
            _DERIVED,
            _named(
                "invariant 4, integrity, total order, agreement, local primary order, global primary order, primary "
                "integrity, po causal order, strict causality, prefix, causal order, redelivery, invariant 2, chosen, "
                "convergence, reliable delivery, epoch progress, state"
            ),
            "a leader that crashes and rejoins",
            {NewLeader: keep_private_transactions},
        ),
        Mutant(
            "non-fifo-link",
            "zab",
            "a link reorders what is sent on it",
            "derived from DSN 2011, II: channels are FIFO",
            _named(
                "invariant 1, total order, agreement, local primary order, primary integrity, po causal order, strict "
                "causality, prefix, causal order, redelivery, invariant 3, invariant 4, invariant 5, chosen, reliable "
                "delivery, epoch progress, state"
            ),
            "none but that one message overtakes another",
            {},
            {"environment": Environment(fifo=False)},
        ),
        Mutant(
            "count-acks-not-senders",
            "zab",
            "ACKs are counted by connection: one of a follower that reconnected counts twice (step l.3.2)",
            _DERIVED,
            _named(
                "chosen, total order, agreement, local primary order, primary integrity, po causal order, strict "
                "causality, prefix, redelivery, invariant 5, convergence, reliable delivery, state"
            ),
            "a connection that is opened again",
            {CEpoch: keep_acks_of_old_connection, AckLd: establish_with_old_acks, Ack: commit_with_old_acks},
            processes=5,
            state=AcksOfOldConnections,
        ),
        Mutant(
            "propose-to-acked-only",
            "zab",
            "PROPOSE goes only to followers that have acknowledged NEWLEADER (step l.3.1)",
            "Apache ZooKeeper, zookeeper-specifications/protocol-spec/issues.md, issue 1",
            _named(
                "epoch progress, chosen, total order, agreement, local primary order, primary integrity, po causal "
                "order, prefix, causal order, redelivery, invariant 4, invariant 5, reliable delivery, state"
            ),
            "a late joiner",
            {Request: broadcast_to_synced},
        ),
        Mutant(
            "duplicate-proposal",
            "zab",
            "a late joiner gets what is not committed within NEWLEADER and as PROPOSE, and accepts both (l.3.3, f.3.2)",
            "Apache ZooKeeper, zookeeper-specifications/protocol-spec/issues.md, issue 2",
            _named(
                "invariant 2, integrity, total order, agreement, primary integrity, strict causality, redelivery, "
                "invariant 4, invariant 5, chosen, reliable delivery, state"
            ),
            "a late joiner",
            {CEpoch: propose_again_to_late_joiner, Propose: accept_again},
        ),
        Mutant(
            "commit-ld-zxid",
            "zab",
            "COMMIT-LD to a late joiner carries the zxid of its ACK-LD, committed or not (step l.3.4)",
            "Apache ZooKeeper, zookeeper-specifications/protocol-spec/issues.md, issue 3",
            _named(
                "chosen, total order, agreement, primary integrity, po causal order, strict causality, redelivery, "
                "reliable delivery, epoch progress, state"
            ),
            "a late joiner and a change of leader",
            {AckLd: commit_what_was_acknowledged},
            processes=5,
        ),
        Mutant(
            "ignore-digest",
            "zab",
            "a record that was altered on the disk is read as it is",
            "derived from LADIS 2008, 2: corruption is detected by digests",
            _named(
                "epoch uniqueness, integrity, total order, agreement, local primary order, primary integrity, po "
                "causal order, strict causality, prefix, redelivery, invariant 4, chosen, zxid uniqueness, "
                "convergence, reliable delivery, epoch progress, state"
            ),
            "an altered record and a recovery",
            {Started: start_from_altered_log},
        ),
        Mutant(
            "deliver-initial-history-last",
            "zab",
            "the initial history is delivered after the first transactions of the epoch (steps f.2.2, f.3.3)",
            _DERIVED,
            _named(
                "primary integrity, integrity, total order, global primary order, po causal order, strict causality, "
                "causal order, redelivery, invariant 2, epoch progress, state"
            ),
            "one change of leader",
            {CommitLd: ready_before_delivering, Commit: deliver_new_before_old},
        ),
        Mutant(
            "redeliver-with-gap",
            "zab",
            "after a recovery one transaction is not delivered again",
            "derived from LADIS 2008, 2",
            _named(
                "primary integrity, integrity, total order, agreement, local primary order, po causal order, strict "
                "causality, prefix, redelivery, reliable delivery, epoch progress, state"
            ),
            "one crash",
            {Started: recover_past_a_gap},
        ),
        Mutant(
            "counter-wraps",
            "zab",
            "a counter that overflows starts again within the epoch (step l.3.1)",
            _DERIVED,
            _named(
                "zxid uniqueness, total order, agreement, local primary order, primary integrity, po causal order, "
                "strict causality, prefix, causal order, redelivery, invariant 2, invariant 4, invariant 5, chosen, "
                "zxid assignment, reliable delivery, epoch progress, state"
            ),
            "an epoch with more transactions than counters",
            {Request: broadcast_with_wrapped_counter},
        ),
        Mutant(
            "commit-ld-initial",
            "zab",
            "COMMIT-LD to a late joiner leaves out what was committed since the epoch began (step l.3.4)",
            _DERIVED,
            _named("epoch progress"),
            "a late joiner",
            {AckLd: commit_initial_history_to_late_joiner},
            within=("deliver-initial-history-last",),
        ),
        Mutant(
            "commit-ld-before-counting",
            "zab",
            "a late ACK-LD is answered before it is counted, so its sender is not told what it helps to commit "
            "(step l.3.4)",
            _DERIVED,
            _named("epoch progress"),
            "a late joiner",
            {AckLd: answer_before_counting},
            within=("deliver-initial-history-last", "late-cepoch-unanswered"),
        ),
        Mutant(
            "late-ack-ld-unanswered",
            "zab",
            "the ACK-LD of a follower that was sent NEWLEADER in phase 2 is never answered in phase 3 (step l.3.4)",
            _DERIVED,
            _named("epoch progress"),
            "a slow follower",
            {AckLd: leave_stragglers_waiting},
            state=Stragglers,
            within=("propose-to-acked-only", "commit-ld-zxid", "deliver-initial-history-last", "commit-ld-initial"),
        ),
        Mutant(
            "late-cepoch-unanswered",
            "zab",
            "the CEPOCH of a follower that is new to an established leader is never answered (step l.3.3)",
            _DERIVED,
            _named("epoch progress"),
            "a late joiner",
            {CEpoch: leave_newcomers_waiting},
            within=("deliver-initial-history-last", "commit-ld-initial"),
        ),
        Mutant(
            "ignore-closed-connection",
            "zab",
            "a follower does not notice that its leader has closed their connection",
            "derived from DSN 2011, V-C: a follower without its leader goes back to ELECTION",
            _named("epoch progress"),
            "a leader that gives up or crashes",
            {Lost: ignore_closed_connection},
        ),
        Mutant(
            "no-acks-after-return",
            "zab",
            "an established leader counts no ACK any more once a follower has come back (steps l.3.2, l.3.3)",
            _DERIVED,
            _named("epoch progress"),
            "a follower that connects again",
            {CEpoch: note_who_comes_back, Ack: count_no_acks_after_return},
            state=SomebodyCameBack,
            within=("propose-to-acked-only",),
        ),
        Mutant(
            "keep-own-log",
            "ladis",
            "a new leader that lacks what a follower of its quorum has does not fetch it",
            "derived from LADIS 2008, 4.2: the new leader has the highest zxid of a quorum",
            _named(
                "primary integrity, integrity, total order, agreement, global primary order, po causal order, strict "
                "causality, causal order, redelivery, reliable delivery, epoch progress, state"
            ),
            "one change of leader",
            {ladis.Supply: keep_own_log},
        ),
        Mutant(
            "keep-skipped",
            "ladis",
            "a follower that is told to truncate its log does not",
            "derived from LADIS 2008, 4.2: a skipped message must remain skipped",
            _named(
                "chosen, total order, agreement, global primary order, primary integrity, po causal order, strict "
                "causality, causal order, reliable delivery, epoch progress, state"
            ),
            "a leader that crashes and comes back",
            {ladis.Trunc: keep_what_was_skipped},
        ),
        Mutant(
            "no-leader-record",
            "ladis",
            "a new leader begins its epoch without a record of it: the highest zxid is always that of a message",
            "derived from LADIS 2008, 4.2: the zxid with the new epoch and counter zero",
            _named(
                "primary integrity, total order, agreement, global primary order, po causal order, strict causality, "
                "causal order, redelivery, reliable delivery, epoch progress, state"
            ),
            "two changes of leader",
            {ladis.NewLeader: forget_the_leaders_record},
        ),
        Mutant(
            "keep-waiting-requests",
            "ladis",
            "a leader that is deposed keeps the requests that wait, and proposes them before it is ready to lead again",
            "derived from LADIS 2008, 4.2: the number of proposals in flight is bounded",
            _named("zxid assignment, primary integrity, strict causality, convergence"),
            "a leader with too many requests that is deposed and leads again",
            {Elected: keep_what_waits_when_elected},
            {"abandon": keep_what_waits, "environment": Environment(switches={"outstanding": ((60, 1), (40, 2))})},
        ),
        Mutant(
            "count-acks-of-any-epoch",
            "ladis",
            "without COMMITs, a follower counts ACKs of an epoch that it has not recognised",
            _WITHOUT_COMMITS,
            _named(
                "chosen, epoch progress, primary integrity, reliable delivery, total order, agreement, "
                "po causal order, strict causality, redelivery, state"
            ),
            "a change of leader",
            {ladis.Ack: count_acks_of_any_epoch},
            {"environment": _COUNTING},
            processes=5,
        ),
        Mutant(
            "deliver-own-log-at-acks",
            "ladis",
            "without COMMITs, a follower delivers at ACKs what it has in its own log, before it has the leader's",
            _WITHOUT_COMMITS,
            _named(
                "chosen, primary integrity, total order, agreement, reliable delivery, redelivery, epoch progress, "
                "state, po causal order, strict causality"
            ),
            "a change of leader, and a late joiner",
            {ladis.Ack: deliver_own_log_at_acks},
            {"environment": _COUNTING},
        ),
        Mutant(
            "count-from-nothing",
            "zab",
            "without COMMITs, a late joiner delivers only what it has counted ACKs of, not what COMMIT-LD says",
            _WITHOUT_COMMITS,
            ("epoch progress",),
            "a late joiner",
            {CommitLd: partial(on_commit_ld, committed=by_own_count)},
            {"environment": _COUNTING},
            within=("deliver-initial-history-last", "commit-ld-before-counting"),
        ),
        Mutant(
            "accept-past-a-hole",
            "zab",
            "along a chain or a tree, a follower accepts a PROPOSE that leaves a hole in h_f (step T.4)",
            _ALONG_A_PATH,
            _named("chosen, total order, agreement, local primary order, po causal order, prefix"),
            "a late joiner",
            {Propose: accept_past_a_hole},
            {"environment": _RELAYING},
        ),
        Mutant(
            "rebuild-without-resending",
            "zab",
            "a leader whose relay is gone does not send again what may be lost with it (step T.6)",
            _ALONG_A_PATH,
            ("epoch progress",),
            "a follower that goes away",
            {Lost: rebuild_without_resending},
            {"environment": _RELAYING},
            within=("late-ack-ld-unanswered", "ignore-closed-connection"),
        ),
        Mutant(
            "lossy-past-a-gap",
            "zab",
            "over lossy links, a channel takes any message with a higher number than the last one, not the next alone",
            "derived from DSN 2011, II: prefix",
            _named(
                "chosen, total order, agreement, local primary order, primary integrity, po causal order, "
                "causal order, prefix, reliable delivery, redelivery, invariant 1, invariant 4, invariant 5, "
                "epoch progress, state, integrity, strict causality"
            ),
            "none: the link delays a frame",
            {},
            {"environment": _LOSSY, "below": _below(takes=whatever_comes_later)},
        ),
        Mutant(
            "lossy-old-iteration",
            "zab",
            "over lossy links, a channel takes the message with the next number, in whichever iteration it was sent",
            "derived from DSN 2011, II: single iteration",
            _named("invariant 4, invariant 1, epoch uniqueness, zxid uniqueness, agreement, epoch progress"),
            "a new iteration",
            {},
            {"environment": _LOSSY, "below": _below(takes=next_of_any_iteration)},
        ),
        Mutant(
            "change-by-new-only",
            "zab-reconfiguration",
            "a configuration change is committed by a quorum of its own configuration alone (R.4)",
            _CHANGES,
            _named(
                "chosen, total order, agreement, local primary order, global primary order, primary integrity, po "
                "causal order, strict causality, prefix, causal order, redelivery, invariant 4, epoch uniqueness, "
                "zxid uniqueness, reliable delivery, activation, one chain"
            ),
            "one change of leader",
            {},
            {"start": starting(ChangesByNewOnly)},
            processes=4,
        ),
        Mutant(
            "change-by-old-only",
            "zab-reconfiguration",
            "a configuration change is committed by a quorum of the configuration before it alone (R.4)",
            _CHANGES,
            _named(
                "chosen, total order, agreement, primary integrity, po causal order, strict causality, redelivery, "
                "convergence, reliable delivery, activation, one chain"
            ),
            "a leader that is lost",
            {},
            {"start": starting(ChangesByOldOnly)},
            processes=3,
        ),
        Mutant(
            "after-change-by-old",
            "zab-reconfiguration",
            "what comes after a configuration change is committed by the configuration before it (R.8)",
            _CHANGES,
            _named(
                "chosen, total order, agreement, primary integrity, strict causality, redelivery, convergence, "
                "reliable delivery, epoch progress"
            ),
            "one change of leader",
            {},
            {"start": starting(GoesOnInOld)},
            processes=5,
        ),
        Mutant(
            "ignore-pending-change",
            "zab-reconfiguration",
            "a new leader that finds a configuration change goes on in the configuration before it (R.9)",
            _CHANGES,
            _named(
                "chosen, total order, agreement, primary integrity, po causal order, strict causality, redelivery, "
                "epoch uniqueness, reliable delivery, epoch progress, activation, one chain"
            ),
            "one change of leader",
            {},
            {"start": starting(IgnoresPending)},
            processes=4,
        ),
        Mutant(
            "complete-with-old-only",
            "zab-reconfiguration",
            "a new leader completes a configuration change with the configuration before it alone (R.9, R.10)",
            _CHANGES,
            _named(
                "chosen, total order, agreement, primary integrity, po causal order, strict causality, redelivery, "
                "epoch uniqueness, zxid uniqueness, activation, one chain"
            ),
            "one change of leader",
            {},
            {"start": starting(CompletesInOld)},
            processes=5,
        ),
        Mutant(
            "discover-in-old-only",
            "zab-reconfiguration",
            "a new leader that finds a configuration change has promises of the configuration before it alone (R.10)",
            _CHANGES,
            _named(
                "primary integrity, total order, agreement, po causal order, strict causality, redelivery, epoch "
                "progress"
            ),
            "two candidates",
            {},
            {"start": starting(DiscoversInOld)},
            processes=5,
            within=("complete-with-old-only",),
        ),
        Mutant(
            "second-change-early",
            "zab-reconfiguration",
            "a second configuration change is proposed while the first is pending, and passes it over (R.1)",
            _CHANGES,
            _named("chosen, agreement, primary integrity, activation, one chain"),
            "one change of leader",
            {Request: propose_second_change},
            {"start": starting(ChangesTwice)},
            processes=5,
            state=Overtaking,
        ),
        Mutant(
            "activate-on-ack",
            "zab-reconfiguration",
            "a configuration is active where its change is accepted, before it is committed (R.5)",
            _CHANGES,
            _named(
                "activation, total order, agreement, local primary order, global primary order, primary integrity, po "
                "causal order, strict causality, prefix, causal order, redelivery, invariant 4, chosen, epoch "
                "uniqueness, zxid uniqueness, convergence, reliable delivery, epoch progress, one chain"
            ),
            "one change of leader",
            {NewLeader: activate_on_adopting, Propose: activate_on_accepting},
            processes=4,
        ),
        Mutant(
            "joiner-acks-early",
            "zab-reconfiguration",
            "a joiner accepts a configuration change before it has the history, and its ACK counts (R.0)",
            _CHANGES,
            _named(
                "invariant 1, total order, agreement, local primary order, primary integrity, po causal order, "
                "prefix, invariant 4, one chain"
            ),
            "one change of leader",
            {
                Request: propose_to_joiner_that_waits,
                Ack: count_joiner_that_waits,
                reconfiguration.CEpoch: let_joiner_wait,
            },
            processes=4,
        ),
        Mutant(
            "elect-in-old-only",
            "zab-reconfiguration",
            "a process in which a configuration is active elects by the one before it (R.10)",
            _CHANGES,
            _named(
                "chosen, total order, agreement, primary integrity, po causal order, strict causality, redelivery, "
                "convergence, reliable delivery, epoch progress, activation, one chain"
            ),
            "one change of leader",
            {},
            {"start": starting(ElectsInOld)},
            processes=5,
        ),
        Mutant(
            "elect-in-new-only",
            "zab-reconfiguration",
            "a process that has accepted a configuration change elects by its configuration alone (R.9, R.10)",
            _CHANGES,
            _named(
                "chosen, total order, agreement, local primary order, global primary order, primary integrity, po "
                "causal order, strict causality, prefix, causal order, redelivery, invariant 4, epoch uniqueness, "
                "zxid uniqueness, convergence, reliable delivery, activation, one chain"
            ),
            "one change of leader",
            {},
            {"start": starting(ElectsInNew)},
            processes=5,
        ),
        Mutant(
            "lead-on-unpromised",
            "zab-reconfiguration",
            "the process that is named to lead on takes an epoch that no quorum has promised (R.7)",
            _CHANGES,
            _named(
                "invariant 4, total order, agreement, strict causality, redelivery, epoch uniqueness, zxid uniqueness"
            ),
            "two candidates",
            {reconfiguration.Designated: lead_on_unpromised},
            processes=4,
        ),
        Mutant(
            "lead-on-in-same-epoch",
            "zab-reconfiguration",
            "the process that is named to lead on does so in the epoch of the leader before (R.7)",
            _CHANGES,
            _named(
                "epoch uniqueness, total order, agreement, local primary order, primary integrity, po causal order, "
                "strict causality, prefix, redelivery, invariant 4, invariant 5, chosen, zxid uniqueness, zxid "
                "assignment, reliable delivery, epoch progress, one chain"
            ),
            "none",
            {reconfiguration.Designated: lead_on_in_same_epoch},
            processes=4,
        ),
        Mutant(
            "keep-cut-off-change",
            "zab-reconfiguration",
            "a configuration change that was cut off a history is still asked for (R.11)",
            _CHANGES,
            _named("convergence, reliable delivery"),
            "one change of leader",
            {NewLeader: keep_noted_change, Propose: note_proposed_change},
            {"start": starting(AsksWhatItHasSeen)},
            processes=4,
            state=LastSeen,
        ),
        Mutant(
            "hand-over-newest-alone",
            "causal",
            "a primary hands over what it broadcasts without its earlier broadcasts, which it has not delivered yet",
            "derived from DSN 2011, I, figure 1, and definition III.1",
            _named("local primary order, po causal order, prefix, full causal order"),
            "two changes of leader",
            {Request: partial(on_causal_request, before=nothing_before)},
        ),
        Mutant(
            "send-again-as-new",
            "channel",
            "a message that is sent again gets a new number, as if it were another one",
            "derived from DSN 2011, II: integrity",
            _named("integrity"),
            "a time-out",
            {TimedOut: send_again_as_new},
            processes=2,
        ),
        Mutant(
            "receive-past-a-gap",
            "channel",
            "a receiver takes any message with a higher number than the last one, not the next alone",
            "derived from DSN 2011, II: prefix",
            _named("local primary order"),
            "none: a frame overtakes another",
            {Run: partial(channel.on_run, data=partial(channel.on_data, takes=whatever_comes_later))},
            processes=2,
        ),
        Mutant(
            "receive-of-old-iteration",
            "channel",
            "a receiver goes on with iterations that are over: it takes the next message of each",
            "derived from DSN 2011, II: single iteration",
            _named("global primary order"),
            "a new iteration",
            {Run: partial(channel.on_run, data=receive_next_of_any_iteration)},
            processes=2,
            state=Counts,
        ),
    )
}


def mutated(protocol: str, mutant: str | None = None) -> Protocol:
    """Return the protocol of this name, with this mutant's steps if one is named.

    A class of the user's has to be imported already: `zabcheck.protocols.adapter.imported`. ValueError, with the names
    there are, if there is no such protocol, or no such mutant of it.
    """
    return planted(PROTOCOLS[protocol] if protocol in PROTOCOLS else adapter.find(protocol), mutant)


def planted(protocol: Protocol, mutant: str | None) -> Protocol:
    """Return the protocol with this known bug, or as it is for None. ValueError if the protocol has no such mutant."""
    if mutant is None:
        return protocol
    if protocol.plant is not None:
        return protocol.plant(mutant)
    names = [name for name, each in CATALOGUE.items() if each.protocol == protocol.name]
    if mutant not in names:
        if mutant in CATALOGUE:
            said = f"it is one of protocol `{CATALOGUE[mutant].protocol}`"
        else:
            said = like(mutant, names) if names else "it has none"
        raise ValueError(f"no mutant `{mutant}` of protocol `{protocol.name}`; {said}")
    return CATALOGUE[mutant].apply(protocol)


def bug_of(protocol: Protocol) -> Mutant:
    """Return a protocol that has a bug, such as a class of the user's, as a mutant to be found."""
    return Mutant(protocol.name, protocol.name, protocol.summary, protocol.source, (), "unknown", {}, is_whole=True)


def bugs_of(protocol: Protocol) -> dict[str, Mutant]:
    """Return the known bugs of a protocol, by name: those of the catalogue, or those that it has itself."""
    if protocol.plant is None:
        return {name: each for name, each in CATALOGUE.items() if each.protocol == protocol.name}
    wrong = "a bug that its nodes name"
    return {name: Mutant(name, protocol.name, wrong, protocol.source, (), "unknown", {}) for name in protocol.bugs}
