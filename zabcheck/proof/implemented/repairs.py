"""Other repairs of known defects than the steps have: what the proof accepts, and what falls short of it."""

from zabcheck.proof.implemented import steps
from zabcheck.proof.implemented.defects import Defect, truncate_without_forgetting, unsaved_or_logged
from zabcheck.proof.implemented.servers import Servers
from zabcheck.proof.implemented.steps import become, disconnect, keep, may_load, step
from zabcheck.proof.logic import Epoch, Node, Transaction, epoch_of, every
from zabcheck.proof.steps import Change, add


@step("l.2.1")
def truncate_behind_proposed(s: Servers, n: Node, e: Epoch, z: Transaction) -> Change:
    """TRUNC cuts nothing that the leader has proposed, committed or not. No acknowledgement is forgotten."""
    return truncate_without_forgetting(s, n, e, z, lambda t: s.history(e, t))


@step("l.2.1")
def truncate_behind_committed(s: Servers, n: Node, e: Epoch, z: Transaction) -> Change:
    """TRUNC cuts nothing that is committed. No acknowledgement is forgotten."""
    return truncate_without_forgetting(s, n, e, z, lambda t: s.known(e, t))


@step("crash")
def load_unforced(s: Servers, n: Node, z: Transaction) -> Change:
    """QuorumPeer.loadDataBase: currentEpoch is older than z, the last in n's log, which is not forced."""
    return Change(when=may_load(s, n, z), adds=(add("current", n, epoch_of(z)),))


@step("f.2.1")
def write_epoch_then_force(s: Servers, n: Node, e: Epoch) -> Change:
    """NEWLEADER: n writes its history and currentEpoch, and forces the history before it acknowledges."""
    has_all = every(lambda t: s.initial(e, t) >> s.log(n, t), Transaction)
    return Change(when=s.follows(n, e) & has_all, adds=(add("current", n, e),))


@step("leave")
def leave_and_load(s: Servers, n: Node, z: Transaction) -> Change:
    """The thread that logs has ended, at an error; n loads its database, without what waited for that thread."""
    kept = lambda t: s.log(n, t) & (s.forced(n, t) | (t < z))  # noqa: E731  # two relations become this
    return Change(when=s.joined(n), adds=(become("log", n, kept), become("tree", n, kept), *disconnect(n)))


@step("leave")
def leave_with_a_snapshot(s: Servers, n: Node, e: Epoch) -> Change:
    """Between SNAP or TRUNC and NEWLEADER n writes its memory as a snapshot, forced, and keeps it."""
    return Change(when=s.joined(n) & s.at(n, e), adds=(*keep(n, lambda t: unsaved_or_logged(s, n, t)), *disconnect(n)))


ACCEPTED = {
    "n1-cut-unproposed": Defect(steps.truncate, truncate_behind_proposed),
    "4882-load": Defect(steps.leave, leave_and_load),
    "5094-snapshot": Defect(steps.leave, leave_with_a_snapshot),
}
"""Repairs, each with the number of its defect, with which everything is proved."""
REFUSED = {
    "1653-epoch-of-log-unforced": Defect(steps.load, load_unforced),
    "n1-cut-uncommitted": Defect(steps.truncate, truncate_behind_committed),
    "n3-force-before-ack": Defect(steps.write_epoch, write_epoch_then_force),
}
"""Changes that look like repairs, and are refused."""
