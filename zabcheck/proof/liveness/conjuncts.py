"""The invariant of an iteration: nobody whose message has come is forgotten, and nothing is missing on a connection."""

from zabcheck.proof.conjuncts import claim
from zabcheck.proof.liveness.iteration import Iteration
from zabcheck.proof.logic import Connection, Epoch, Formula, Transaction, follower, same, some


@claim
def cepochs_are_answered(s: Iteration, c: Connection) -> Formula:
    """Once there is an e', each CEPOCH that the leader has is answered with NEWEPOCH (l.1.1, l.3.3)."""
    return (s.epoch_chosen() & s.asked(c)) >> s.offered(c)


@claim
def cepochs_count(s: Iteration, c: Connection) -> Formula:
    """Each CEPOCH counts for l.1.1."""
    return s.asked(c) >> s.counted(follower(c))


@claim
def one_new_epoch(s: Iteration, e: Epoch, f: Epoch) -> Formula:
    """There is one e', once it is chosen (l.1.1)."""
    one = ((s.new(e) & s.new(f)) >> same(e, f)) & (s.new(e) >> s.epoch_chosen())
    return one & (s.epoch_chosen() >> some(s.new, Epoch))


@claim
def epochs_are_greater(s: Iteration, c: Connection, e: Epoch, f: Epoch) -> Formula:
    """An e' is greater than all f.p in the CEPOCHs that the leader had when it chose it (l.1.1)."""
    return (s.in_time(c) >> s.epoch_chosen()) & ((s.in_time(c) & s.promised(c, f) & s.new(e)) >> (f < e))


@claim
def ack_es_are_answered(s: Iteration, c: Connection) -> Formula:
    """Once there is an I_e', each ACK-E that the leader has is answered with NEWLEADER (l.2.1, l.3.3)."""
    return (s.history_chosen() & s.discovered(c)) >> s.sent_history(c)


@claim
def ack_es_count(s: Iteration, c: Connection) -> Formula:
    """Until there is an I_e', each follower whose ACK-E the leader has provides a history for l.1.2."""
    return s.discovered(c) >> (s.provided(follower(c)) | s.history_chosen())


@claim
def histories_are_sent_in_order(s: Iteration, c: Connection) -> Formula:
    """NEWLEADER is sent after the CEPOCH and the NEWEPOCH of its connection, once there is an I_e'."""
    return s.sent_history(c) >> (s.asked(c) & s.offered(c) & s.history_chosen())


@claim
def discovered_asked(s: Iteration, c: Connection) -> Formula:
    """An ACK-E answers a NEWEPOCH, and that answers a CEPOCH with e'."""
    offered = s.offered(c) >> (s.asked(c) & s.epoch_chosen())
    return (s.discovered(c) >> s.answered(c)) & (s.answered(c) >> s.offered(c)) & offered


@claim
def all_is_sent(s: Iteration, c: Connection, t: Transaction) -> Formula:
    """Whoever is sent NEWLEADER is sent all of the history of e', within it or after it (l.2.1, l.3.1, l.3.3)."""
    return (s.sent_history(c) & s.history(t)) >> s.on(c, t)


@claim
def nothing_else_is_sent(s: Iteration, c: Connection, t: Transaction) -> Formula:
    """A connection carries only the history of e', after NEWLEADER or within it."""
    return s.on(c, t) >> (s.sent_history(c) & s.history(t))


@claim
def newleader_comes_first(s: Iteration, c: Connection, t: Transaction, u: Transaction) -> Formula:
    """Proposals on a connection come after all that its NEWLEADER carries."""
    return (s.carried(c, t) & s.sent(c, u)) >> (t < u)


@claim
def adopted_accepted(s: Iteration, c: Connection, t: Transaction) -> Formula:
    """Whoever adopted e' accepted the history that NEWLEADER carries (f.2.1)."""
    return (s.adopted(c) & s.carried(c, t)) >> s.accepted(c, t)


@claim
def accepted_adopted(s: Iteration, c: Connection, t: Transaction) -> Formula:
    """A follower accepts what its connection carries, and adopts e' first (f.2.1 before f.3.2)."""
    return s.accepted(c, t) >> (s.adopted(c) & s.on(c, t))


@claim
def accepted_in_order(s: Iteration, c: Connection, t: Transaction, u: Transaction) -> Formula:
    """A follower that accepted t accepted all that its connection carries before t (f.3.2)."""
    return (s.accepted(c, t) & s.on(c, u) & (u < t)) >> s.accepted(c, u)


@claim
def adopted_were_sent(s: Iteration, c: Connection) -> Formula:
    """A follower adopts e' when it gets NEWLEADER (f.2.1)."""
    return s.adopted(c) >> s.sent_history(c)


@claim
def ack_lds_count(s: Iteration, c: Connection, t: Transaction) -> Formula:
    """Each ACK-LD counts for l.2.2, and as an ACK of all that its NEWLEADER carries (l.3.4)."""
    return s.synced(c) >> (s.acknowledged(follower(c)) & s.adopted(c) & (s.carried(c, t) >> s.acked(follower(c), t)))


@claim
def ack_lds_are_answered(s: Iteration, c: Connection) -> Formula:
    """Once the leader is established, each ACK-LD that it has is answered with COMMIT-LD (l.2.2, l.3.4)."""
    return (s.established() & s.synced(c)) >> s.released(c)


@claim
def released_synced(s: Iteration, c: Connection) -> Formula:
    """COMMIT-LD answers an ACK-LD, and makes a follower join phase 3 (l.2.2, f.2.2)."""
    return (s.joined(c) >> s.released(c)) & (s.released(c) >> (s.synced(c) & s.established()))


@claim
def commits_are_told(s: Iteration, c: Connection, t: Transaction) -> Formula:
    """Whoever acknowledged NEWLEADER is told of all that is committed, with COMMIT-LD or COMMIT (l.3.2, l.3.4)."""
    return (s.synced(c) & s.committed(t)) >> s.told(c, t)


@claim
def histories_begin_with_the_initial_one(s: Iteration, t: Transaction) -> Formula:
    """There is an e' before there is an I_e', and no broadcast or commit before l.2.2."""
    return (
        (s.history_chosen() >> s.epoch_chosen())
        & (s.history(t) >> s.history_chosen())
        & ((s.proposed(t) | s.committed(t)) >> s.established())
        & (s.established() >> s.history_chosen())
    )


CONJUNCTS = (
    cepochs_are_answered,
    cepochs_count,
    one_new_epoch,
    epochs_are_greater,
    ack_es_are_answered,
    ack_es_count,
    discovered_asked,
    histories_are_sent_in_order,
    all_is_sent,
    nothing_else_is_sent,
    newleader_comes_first,
    adopted_were_sent,
    adopted_accepted,
    accepted_adopted,
    accepted_in_order,
    ack_lds_count,
    ack_lds_are_answered,
    released_synced,
    commits_are_told,
    histories_begin_with_the_initial_one,
)
"""The invariant is all of these together."""
