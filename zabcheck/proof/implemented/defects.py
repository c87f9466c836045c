"""ZooKeeper's known defects, by the number of their issue: each as a step replaced, or one more, of servers.

All break safety here; `OUTSIDE` has those that do not. n1 to n4 have no issue. docs/zookeeper-model.md tells of each.
"""

from collections.abc import Callable

from msgspec import Struct

from zabcheck.proof.implemented import steps
from zabcheck.proof.implemented.servers import Servers
from zabcheck.proof.implemented.steps import (
    STEPS,
    acknowledge_newleader,
    add_all,
    become,
    disconnect,
    has_initial_forced,
    has_latest_epoch,
    join_unsaved,
    keep,
    lead,
    may_append,
    may_apply,
    may_join,
    may_lead,
    none_reported_later,
    reach,
    restart,
    step,
    stop,
)
from zabcheck.proof.implemented.theory import theory
from zabcheck.proof.logic import TRUE, ZERO, Epoch, Formula, Node, Quorum, Transaction, every, same
from zabcheck.proof.obligations import Theory
from zabcheck.proof.steps import Change, Step, add

# Discovery.


@step("f.1.2")
def promise_without_file(s: Servers, n: Node, e: Epoch, l: Node) -> Change:
    """There is no acceptedEpoch: n answers any leader, of whatever epoch."""
    return Change(when=(ZERO < e) & ~s.joined(n), adds=(add("promised", n, e, l), *reach(s, n, e)))


@step("f.1.2")
def promise_again(s: Servers, n: Node, e: Epoch, l: Node) -> Change:
    """Leader.getEpochToPropose: l proposes the highest acceptedEpoch of its quorum, which n has promised before."""
    return Change(when=(ZERO < e) & ~s.left(n, e) & ~s.joined(n), adds=(add("promised", n, e, l), *reach(s, n, e)))


@step("l.1.2")
def choose_by_label(s: Servers, e: Epoch, l: Node, q: Quorum, d: Epoch, z: Transaction) -> Change:
    """Learner.syncWithLeader, DIFF(z): l had assigned z to lastProcessedZxid before its transactions came."""
    when = may_lead(s, e, l, q) & has_latest_epoch(s, e, l, q, d) & none_reported_later(s, e, q, d, z)
    return Change(when=when, adds=lead(s, e, l))


# Synchronisation, by the leader.


@step("l.2.1")
def diff_of_a_branch(s: Servers, n: Node, e: Epoch, z: Transaction) -> Change:
    """LearnerHandler.syncFollower: n's last is not later than the leader's, so it gets DIFF, of whatever branch."""
    return Change(
        when=may_join(s, n, e) & s.known(e, z) & every(lambda t: s.tree(n, t) >> (t <= z), Transaction),
        adds=(add("joined", n),),
    )


@step("l.2.1")
def truncate_what_is_known(s: Servers, n: Node, e: Epoch, z: Transaction) -> Change:
    """A transaction applied late lowers maxCommittedLog to z: the leader has later ones, and n has to cut them."""
    counts = every(lambda t: (s.acked(n, e, t) & (z < t)) >> s.known(e, t), Transaction)
    return Change(
        when=may_join(s, n, e) & s.log(n, z) & s.known(e, z) & counts,
        adds=(*keep(n, lambda t: s.log(n, t) & (t <= z)), *join_unsaved(n)),
    )


@step("l.2.1")
def truncate_and_count(s: Servers, n: Node, e: Epoch, z: Transaction) -> Change:
    """LearnerHandler.syncFollower compares with what is applied; what n acknowledged of what it cuts still counts."""
    return truncate_without_forgetting(s, n, e, z, lambda t: s.initial(e, t))


def truncate_without_forgetting(
    s: Servers, n: Node, e: Epoch, z: Transaction, spared: Callable[[Transaction], Formula]
) -> Change:
    """Return the step that cuts n's log behind z, but nothing of `spared`; all acknowledgements count."""
    return Change(when=may_cut(s, n, e, z, spared), adds=(*keep(n, lambda t: s.log(n, t) & (t <= z)), *join_unsaved(n)))


def may_cut(s: Servers, n: Node, e: Epoch, z: Transaction, spared: Callable[[Transaction], Formula]) -> Formula:
    """Return the formula that n and the leader of e have z, and that nothing behind z in n's log is in `spared`."""
    behind = every(lambda t: (s.log(n, t) & (z < t)) >> ~spared(t), Transaction)
    return may_join(s, n, e) & s.log(n, z) & s.known(e, z) & behind


@step("l.2.1")
def truncate_inexactly(s: Servers, n: Node, e: Epoch, z: Transaction, w: Transaction) -> Change:
    """FileTxnLog.truncate(z), z not in the log but in the snapshot before: the first record behind z, w, stays."""
    return Change(
        when=may_cut_uncounted(s, n, e, z),
        adds=(*keep(n, lambda t: s.log(n, t) & ((t <= z) | same(t, w))), *join_unsaved(n)),
    )


def may_cut_uncounted(s: Servers, n: Node, e: Epoch, z: Transaction) -> Formula:
    """Return the formula that n may cut its log behind z: nothing there is known, nor counts as acknowledged by n."""
    counted = every(lambda t: s.acked(n, e, t) >> (t <= z), Transaction)
    return may_cut(s, n, e, z, lambda t: s.known(e, t)) & counted


@step("l.2.1")
def truncate_log_alone(s: Servers, n: Node, e: Epoch, z: Transaction) -> Change:
    """FileTxnLog.truncate: a snapshot that Leader.lead wrote has what is cut, and is loaded again."""
    return Change(when=may_cut_uncounted(s, n, e, z), adds=join_unsaved(n))


# Synchronisation, by the follower.


@step("f.2.1")
def write_snapshot_beside_the_log(s: Servers, n: Node, e: Epoch) -> Change:
    """NEWLEADER behind SNAP: the log stays, and has records behind the snapshot, which are replayed."""
    behind = lambda t: s.tree(n, t) | (s.log(n, t) & every(lambda u: s.tree(n, u) >> (u < t), Transaction))  # noqa: E731
    return Change(
        when=s.joined(n) & s.unsaved(n) & s.at(n, e),
        adds=(become("log", n, behind), become("forced", n, behind), stop("unsaved", n)),
    )


@step("f.3.2")
def append_with_gap(s: Servers, n: Node, e: Epoch, t: Transaction) -> Change:
    """n appends what the leader has sent, which is not all that its history has before."""
    return Change(when=may_append(s, n, e, t), adds=(add("log", n, t),))


@step("f.3.2")
def append_of_before(s: Servers, n: Node, e: Epoch, t: Transaction) -> Change:
    """The SyncRequestProcessor of an earlier iteration has not ended: it appends what was in its queue."""
    return Change(when=s.joined(n) & s.reported(n, e, t), adds=(add("log", n, t),))


@step("f.2.1")
def write_epoch_first(s: Servers, n: Node, e: Epoch) -> Change:
    """NEWLEADER: n writes currentEpoch before it logs what came with DIFF."""
    return Change(when=s.follows(n, e), adds=(add("current", n, e),))


@step("f.2.1")
def write_epoch_unforced(s: Servers, n: Node, e: Epoch) -> Change:
    """NEWLEADER: n writes currentEpoch though its snapshot is not forced."""
    has_all = every(lambda t: s.initial(e, t) >> s.log(n, t), Transaction)
    return Change(when=s.follows(n, e) & has_all, adds=(add("current", n, e),))


@step("f.2.1")
def acknowledge_unlogged(s: Servers, n: Node, e: Epoch) -> Change:
    """NEWLEADER behind DIFF: n acknowledges it with nothing logged."""
    return Change(when=s.follows(n, e), adds=(add("current", n, e), *acknowledge_newleader(s, n, e)))


@step("f.2.1")
def acknowledge_queued(s: Servers, n: Node, e: Epoch) -> Change:
    """NEWLEADER behind DIFF: n acknowledges it while transactions wait for the thread that logs."""
    has_all = every(lambda t: s.initial(e, t) >> s.log(n, t), Transaction)
    return Change(
        when=s.follows(n, e) & has_all,
        adds=(add("current", n, e), *acknowledge_newleader(s, n, e)),
    )


@step("f.2.1")
def acknowledge_before_epoch(s: Servers, n: Node, e: Epoch) -> Change:
    """NEWLEADER: n acknowledges it, and writes currentEpoch at UPTODATE."""
    when = s.follows(n, e) & has_initial_forced(s, n, e)
    return Change(when=when, adds=acknowledge_newleader(s, n, e))


@step("f.2.2")
def serve_early(s: Servers, n: Node, e: Epoch, l: Node) -> Change:
    """Leader.lead: l serves before a quorum has acknowledged NEWLEADER."""
    has_all = every(lambda t: s.initial(e, t) >> s.tree(n, t), Transaction)
    return Change(
        when=s.follows(n, e) & s.adopted(n, e) & s.led(e, l) & has_all,
        adds=(add("serving", n), add_all("delivered", lambda m, t: same(m, n) & s.tree(n, t))),
    )


@step("f.2.2")
def serve_unapplied(s: Servers, n: Node, e: Epoch, l: Node) -> Change:
    """UPTODATE: n serves, and has not applied yet what came with DIFF."""
    return Change(
        when=s.follows(n, e) & s.adopted(n, e) & s.established(e, l),
        adds=(add("serving", n), add_all("delivered", lambda m, t: same(m, n) & s.tree(n, t))),
    )


@step("f.3.3")
def apply_unlogged(s: Servers, n: Node, e: Epoch, t: Transaction) -> Change:
    """Learner.syncWithLeader: what is committed between NEWLEADER and UPTODATE is applied, and never logged."""
    return Change(
        when=s.joined(n) & ~s.unsaved(n) & may_apply(s, n, e, t),
        adds=(add("tree", n, t), add_all("delivered", lambda m, u: same(m, n) & same(u, t) & s.serving(n))),
    )


# Leaving, and crashes.


def unsaved_or_logged(s: Servers, n: Node, t: Transaction) -> Formula:
    """Return the formula that t is in n's memory between SNAP or TRUNC and NEWLEADER, in its log at other times."""
    return (s.unsaved(n) & s.tree(n, t)) | (~s.unsaved(n) & s.log(n, t))


@step("leave")
def leave_with_memory(s: Servers, n: Node) -> Change:
    """Learner.shutdown: what is logged is not applied; memory stays as it is, behind the log."""
    return Change(when=s.joined(n), adds=(add_all("forced", lambda m, t: same(m, n) & s.log(n, t)), *disconnect(n)))


@step("leave")
def leave_with_unsaved_memory(s: Servers, n: Node) -> Change:
    """Learner.shutdown between SNAP or TRUNC and NEWLEADER: memory stays, and no snapshot has it."""
    return Change(
        when=s.joined(n),
        adds=(
            add_all("forced", lambda m, t: same(m, n) & s.log(n, t)),
            become("tree", n, lambda t: unsaved_or_logged(s, n, t)),
            *disconnect(n),
        ),
    )


@step("leave")
def leave_without_the_queue(s: Servers, n: Node, z: Transaction) -> Change:
    """The thread that logs has ended, at an error: what waited for it is in memory, and in no log."""
    return Change(
        when=s.joined(n), adds=(become("log", n, lambda t: s.log(n, t) & (s.forced(n, t) | (t < z))), *disconnect(n))
    )


@step("crash")
def crash_behind_cut(s: Servers, n: Node, z: Transaction) -> Change:
    """Whatever was appended after TRUNC stands at a wrong offset of its file: forced, and not read at the start."""
    lost = lambda t: s.log(n, t) & (t < z)  # noqa: E731  # three relations become this
    return Change(when=TRUE, adds=(become("forced", n, lost), *restart(n, lost)))


@step("crash")
def crash_uncut(s: Servers, n: Node, e: Epoch) -> Change:
    """The cut of TRUNC was not forced: after a power loss the log is that with which n promised its epoch."""
    before = lambda t: s.reported(n, e, t)  # noqa: E731  # three relations become this
    return Change(when=s.at(n, e) & s.joined(n), adds=(become("forced", n, before), *restart(n, before)))


class Defect(Struct, frozen=True):
    """A known defect: the step that it replaces, or None if it is one more, and the step as it is with the defect."""

    replaced: Step | None
    instead: Step

    def theory(self) -> Theory:
        """Return the theory to prove, which should not succeed."""
        if self.replaced is None:
            return theory((*STEPS, self.instead))
        return theory(tuple(self.instead if each is self.replaced else each for each in STEPS))


DEFECTS = {
    "335": Defect(steps.promise, promise_without_file),
    "790": Defect(steps.serve, serve_early),
    "962": Defect(steps.append, append_with_gap),
    "1154": Defect(steps.diff, diff_of_a_branch),
    "1264": Defect(steps.apply, apply_unlogged),
    "1282": Defect(steps.acknowledge, acknowledge_before_epoch),
    "1319": Defect(steps.append, append_with_gap),
    "1343": Defect(steps.promise, promise_again),
    "1489": Defect(steps.crash, crash_behind_cut),
    "2355": Defect(steps.choose, choose_by_label),
    "2832": Defect(steps.write_snapshot, write_snapshot_beside_the_log),
    "2845": Defect(steps.leave, leave_with_memory),
    "2846": Defect(steps.append, append_with_gap),
    "2872": Defect(steps.write_epoch, write_epoch_unforced),
    "3023": Defect(steps.serve, serve_unapplied),
    "3598": Defect(steps.truncate, truncate_what_is_known),
    "3642": Defect(steps.leave, leave_with_unsaved_memory),
    "3911": Defect(steps.acknowledge, acknowledge_unlogged),
    "4409": Defect(steps.leave, leave_without_the_queue),
    "4643": Defect(steps.write_epoch, write_epoch_first),
    "4646": Defect(steps.acknowledge, acknowledge_queued),
    "4712": Defect(None, append_of_before),
    "4712c": Defect(steps.leave, leave_with_memory),
    "4837": Defect(steps.truncate, truncate_log_alone),
    "4882": Defect(steps.leave, leave_without_the_queue),
    "4925": Defect(steps.append, append_with_gap),
    "5094": Defect(steps.leave, leave_with_unsaved_memory),
    "n1": Defect(steps.truncate, truncate_and_count),
    "n2": Defect(steps.truncate, truncate_inexactly),
    "n3": Defect(steps.write_epoch, write_epoch_unforced),
    "n4": Defect(steps.crash, crash_uncut),
}
"""The defects by name, as `--switch defects=` has them."""
OUTSIDE = {
    "1653": "a server that does not start loses nothing: here it starts",
    "1784": "it is about configurations that change",
    "2172": "it is about configurations that change",
    "2959": "it is about configurations that change",
    "3104": "it is about the data of nodes: a snapshot that has more than its zxid says",
    "4311": "it needs a disk that fails, and writes here do not",
    "4394": "it breaks liveness alone: a follower leaves again and again",
    "4685": "it breaks liveness alone: an acknowledgement that came early does not count",
}
"""The defects that are no step of servers, or break no property of the proof, each with the reason."""
