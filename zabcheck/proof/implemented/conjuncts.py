"""The inductive invariant of servers: formulas true at the start, which each step keeps if all are true before it.

Three of them carry the proof, and are about disks as they are between any two writes:

- *logs match*: whatever is on a disk or in memory is, up to its last transaction, the history of that one's epoch. So a
  log that is cut or copied only in part is still the beginning of some history.
- *acknowledged stays*: what a server has acknowledged is on its disk, or some later epoch began without it.
- *not choosable*: what a later epoch began without is committed by nobody, and never will be.
"""

from msgspec.structs import replace

from zabcheck.proof import conjuncts as paper
from zabcheck.proof.conjuncts import claim
from zabcheck.proof.implemented.servers import Servers
from zabcheck.proof.logic import (
    ZERO,
    Epoch,
    Formula,
    Node,
    Quorum,
    Transaction,
    epoch_of,
    every,
    member,
    same,
    some,
)

# The two files of epochs.


@claim
def epochs_rise(s: Servers, n: Node, d: Epoch, e: Epoch) -> Formula:
    """acceptedEpoch is one number: a server that reached an epoch reached and left all earlier ones."""
    reached = (s.reached(n, e) & (d < e)) >> (s.reached(n, d) & s.left(n, d))
    return reached & (s.left(n, e) >> s.reached(n, e)) & s.reached(n, ZERO)


@claim
def one_promise(s: Servers, n: Node, e: Epoch, k: Node, l: Node) -> Formula:
    """A server promises an epoch to one leader only (f.1.2), and has written it to acceptedEpoch before."""
    return ((s.promised(n, e, k) & s.promised(n, e, l)) >> same(k, l)) & (s.promised(n, e, k) >> s.reached(n, e))


@claim
def current_is_accepted(s: Servers, n: Node, e: Epoch) -> Formula:
    """currentEpoch is not later than acceptedEpoch, and only an epoch with an initial history is written to it."""
    return (s.current(n, e) >> (s.reached(n, e) & s.opened(e))) & (s.adopted(n, e) >> s.current(n, e))


# Leaders, and the histories of epochs.

histories_match = replace(paper.logs_match, name="histories match")


@claim
def primaries_are_established(s: Servers, e: Epoch, t: Transaction) -> Formula:
    """Only an established leader proposes or commits."""
    return (s.proposed(e, t) | s.committed(e, t)) >> some(lambda l: s.established(e, l), Node)


@claim
def established_have_committed(s: Servers, e: Epoch, l: Node, t: Transaction) -> Formula:
    """The initial history of an established leader is committed."""
    return (s.established(e, l) & s.initial(e, t)) >> s.committed(e, t)


# Logs and memory, between any two writes.


@claim
def logs_match(s: Servers, n: Node, t: Transaction, u: Transaction) -> Formula:
    """Up to one of its transactions, a log is the history of the epoch of the transaction."""
    own = epoch_of(t)
    up_to_t = s.log(n, t) & (u <= t)
    return up_to_t >> ((s.log(n, u) >> s.history(own, u)) & (s.history(own, u) >> s.log(n, u)))


@claim
def memory_matches(s: Servers, n: Node, t: Transaction, u: Transaction) -> Formula:
    """Up to one of its transactions, a database is the history of the epoch of the transaction."""
    own = epoch_of(t)
    up_to_t = s.tree(n, t) & (u <= t)
    return up_to_t >> ((s.tree(n, u) >> s.history(own, u)) & (s.history(own, u) >> s.tree(n, u)))


@claim
def forced_is_a_prefix(s: Servers, n: Node, t: Transaction, u: Transaction) -> Formula:
    """The forced part of a log is a prefix of it."""
    return s.forced(n, t) >> (s.log(n, t) & ((s.log(n, u) & (u < t)) >> s.forced(n, u)))


@claim
def accepted_before_logged(s: Servers, n: Node, t: Transaction) -> Formula:
    """A log and a database have transactions of epochs up to acceptedEpoch alone."""
    return (s.log(n, t) | s.tree(n, t)) >> s.reached(n, epoch_of(t))


@claim
def loaded_from_disk(s: Servers, n: Node, t: Transaction) -> Formula:
    """A server that has not joined a leader has in memory what its log and snapshot have."""
    return ~s.joined(n) >> ((s.tree(n, t) >> s.log(n, t)) & (s.log(n, t) >> s.tree(n, t)))


@claim
def joined_an_epoch(s: Servers, n: Node, e: Epoch) -> Formula:
    """Only the leader of an epoch with an initial history is joined; who serves or has SNAP or TRUNC has joined."""
    return ((s.joined(n) & s.at(n, e)) >> (s.opened(e) & (ZERO < e))) & ((s.serving(n) | s.unsaved(n)) >> s.joined(n))


@claim
def joined_have_its_history(s: Servers, n: Node, e: Epoch, t: Transaction) -> Formula:
    """A server that has joined has in its log only what is in the leader's history, once it has its snapshot."""
    return (s.follows(n, e) & s.log(n, t)) >> s.history(e, t)


@claim
def joined_apply_what_is_known(s: Servers, n: Node, e: Epoch, t: Transaction) -> Formula:
    """A server that has joined has in memory what its leader has as committed or initial; DIFF applies logged ones."""
    known = (s.joined(n) & s.at(n, e) & s.tree(n, t)) >> s.known(e, t)
    return known & ((s.joined(n) & ~s.unsaved(n) & s.tree(n, t)) >> s.log(n, t))


# Acknowledgements.


@claim
def acknowledged_in_the_epoch(s: Servers, n: Node, e: Epoch, t: Transaction) -> Formula:
    """A server acknowledges in an epoch transactions of its history, after NEWLEADER."""
    return s.acked(n, e, t) >> (s.history(e, t) & s.adopted(n, e))


@claim
def acknowledged_is_a_prefix(s: Servers, n: Node, e: Epoch, t: Transaction, u: Transaction) -> Formula:
    """The transactions that a server acknowledged in an epoch are a prefix of its history, and have all of I_e."""
    before = (s.acked(n, e, t) & s.history(e, u) & (u < t)) >> s.acked(n, e, u)
    return before & ((s.adopted(n, e) & s.initial(e, u)) >> s.acked(n, e, u))


@claim
def acknowledged_stays(s: Servers, n: Node, e: Epoch, t: Transaction) -> Formula:
    """A server has on its disk all that it acknowledged, and I_e of its currentEpoch, but what a later epoch lacks."""
    owed = s.acked(n, e, t) | (s.current(n, e) & s.initial(e, t))
    return owed >> (s.forced(n, t) | (s.lacked(e, t) & s.left(n, e)))


@claim
def snapshot_loses_nothing(s: Servers, n: Node, e: Epoch, t: Transaction) -> Formula:
    """Behind SNAP or TRUNC, what counts as acknowledged, and what the log has of I_e, is in memory, to be saved."""
    owed = s.acked(n, e, t) | (s.initial(e, t) & (s.current(n, e) | s.log(n, t)))
    return (s.unsaved(n) & s.at(n, e) & owed) >> s.tree(n, t)


@claim
def reports_have_what_was_acknowledged(s: Servers, n: Node, d: Epoch, e: Epoch, l: Node, t: Transaction) -> Formula:
    """An ACKEPOCH reports what its server acknowledged in earlier epochs, but what a later epoch began without."""
    return (s.promised(n, e, l) & s.acked(n, d, t) & (d < e)) >> (s.reported(n, e, t) | s.lacked(d, t))


@claim
def written_later(s: Servers, n: Node, e: Epoch, t: Transaction) -> Formula:
    """Everything in a log from before its server's currentEpoch e is in I_e, or in that of a later epoch."""
    earlier = s.current(n, e) & s.log(n, t) & (epoch_of(t) < e)
    return earlier >> (s.initial(e, t) | s.carried(e, t))


# Commits.


@claim
def later_epochs(s: Servers, e: Epoch, f: Epoch, t: Transaction) -> Formula:
    """An epoch carried or lacked a transaction if a later one began with it, or without it, or carried or lacked it."""
    carried = s.carried(f, t) | (s.opened(f) & s.initial(f, t))
    lacked = s.lacked(f, t) | (s.opened(f) & ~s.initial(f, t))
    return (e < f) >> ((carried >> s.carried(e, t)) & (lacked >> s.lacked(e, t)))


@claim
def committed_by_a_quorum(s: Servers, e: Epoch, t: Transaction) -> Formula:
    """A transaction committed in an epoch is in its history, and a quorum's acknowledgements of it count."""
    acked = some(lambda q: every(lambda n: member(n, q) >> s.acked(n, e, t), Node), Quorum)
    return s.committed(e, t) >> (s.history(e, t) & acked)


@claim
def committed_in_order(s: Servers, e: Epoch, t: Transaction, u: Transaction) -> Formula:
    """Everything before a committed transaction in the history is committed."""
    return (s.committed(e, t) & s.history(e, u) & (u < t)) >> s.committed(e, u)


@claim
def not_choosable(s: Servers, e: Epoch, t: Transaction, q: Quorum) -> Formula:
    """A transaction that a later epoch lacks is not committed in e, and never will be: of every quorum one has left e.

    That server has not acknowledged the transaction in e.
    """
    return s.lacked(e, t) >> some(lambda n: member(n, q) & s.left(n, e) & ~s.acked(n, e, t), Node)


@claim
def not_skipped(s: Servers, e: Epoch, t: Transaction, q: Quorum) -> Formula:
    """If a later epoch began with what I_e should have, e is not established, and never will be."""
    skipped = s.carried(e, t) & (epoch_of(t) < e) & ~s.initial(e, t)
    return skipped >> some(lambda n: member(n, q) & s.left(n, e) & ~s.adopted(n, e), Node)


# Deliveries.


@claim
def servers_serve_their_epoch(s: Servers, n: Node, e: Epoch, t: Transaction) -> Formula:
    """A server that serves has delivered its memory, and all of its epoch's initial history, which is committed."""
    serves = s.serving(n) & s.at(n, e)
    of_i = s.initial(e, t) >> (s.committed(e, t) & s.delivered(n, t) & s.tree(n, t))
    return serves >> (of_i & (s.tree(n, t) >> s.delivered(n, t)) & ~s.unsaved(n))


CONJUNCTS = (
    epochs_rise,
    one_promise,
    current_is_accepted,
    paper.leaders_have_promises,
    paper.opened_by_leaders,
    paper.initial_is_earlier,
    paper.proposed_in_its_epoch,
    paper.established_lead,
    primaries_are_established,
    established_have_committed,
    histories_match,
    logs_match,
    memory_matches,
    forced_is_a_prefix,
    accepted_before_logged,
    loaded_from_disk,
    joined_an_epoch,
    joined_have_its_history,
    joined_apply_what_is_known,
    acknowledged_in_the_epoch,
    acknowledged_is_a_prefix,
    acknowledged_stays,
    snapshot_loses_nothing,
    reports_have_what_was_acknowledged,
    written_later,
    later_epochs,
    committed_by_a_quorum,
    committed_in_order,
    not_choosable,
    not_skipped,
    servers_serve_their_epoch,
    paper.delivered_was_committed,
    paper.delivered_is_a_prefix,
    paper.primary_is_up_to_date,
)
"""The invariant is all of these together; some are those of the paper's Zab."""
