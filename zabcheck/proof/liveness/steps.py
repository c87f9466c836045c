"""The steps of one iteration of a leader. Unlike in the proof of safety, a process acts on a message that was sent.

A step has the paper's number: it handles one message, or does at once what a quorum of them allows.
"""

from collections.abc import Callable
from functools import partial

from zabcheck.proof import steps
from zabcheck.proof.liveness.iteration import Iteration
from zabcheck.proof.logic import (
    Connection,
    Epoch,
    Formula,
    Node,
    Quorum,
    Transaction,
    every,
    follower,
    member,
    same,
    some,
)
from zabcheck.proof.steps import Addition, Change, add

step = partial(steps.step, about=Iteration)
add_all = partial(steps.add_all, among=Iteration.relations)


def all_of(q: Quorum, body: Callable[[Node], Formula]) -> Formula:
    """Return the formula that `body` is true of all of a quorum."""
    return every(lambda n: member(n, q) >> body(n), Node)


@step("f.1.1")
def connect(s: Iteration, c: Connection) -> Change:
    """A follower that has left the iteration before, of whatever leader (V-C), sends CEPOCH."""
    return Change(when=~s.opened(c), adds=(add("opened", c),))


@step("l.3.3")
def hear_cepoch(s: Iteration, c: Connection) -> Change:
    """The leader gets CEPOCH: it counts for l.1.1, and is answered at once with NEWEPOCH if there is an e' already.

    NEWLEADER(e', I_e' ∘ β_e') goes with it if there is an I_e', too.
    """
    return get_cepoch(s, c, s.epoch_chosen(), s.history_chosen())


def get_cepoch(s: Iteration, c: Connection, offers: Formula, sends: Formula) -> Change:
    """Return the step by which the leader notes a CEPOCH, answered with NEWEPOCH and NEWLEADER under two conditions."""
    return Change(
        when=s.opened(c) & ~s.asked(c),
        adds=(
            add("asked", c),
            add("counted", follower(c)),
            add_all("returned", lambda n: same(n, follower(c)) & s.acknowledged(n)),
            add_all("offered", lambda d: same(d, c) & offers),
            *send_history(s, c, sends),
        ),
    )


def send_history(s: Iteration, c: Connection, when: Formula) -> tuple[Addition, ...]:
    """Return the additions by which the leader sends NEWLEADER with all of its history, under a condition."""
    carried = add_all("carried", lambda d, t: same(d, c) & when & s.history(t))
    return add_all("sent_history", lambda d: same(d, c) & when), carried


@step("l.1.1")
def choose_epoch(s: Iteration, e: Epoch, q: Quorum) -> Change:
    """With CEPOCHs of a quorum the leader chooses e', greater than all f.p in the CEPOCHs that it has, and sends it."""
    return Change(
        when=~s.epoch_chosen() & all_of(q, s.counted) & is_greater(s, e),
        adds=(add("epoch_chosen"), add("new", e), add_all("in_time", s.asked), add_all("offered", s.asked)),
    )


def is_greater(s: Iteration, e: Epoch) -> Formula:
    """Return the formula that an epoch is greater than all f.p in the CEPOCHs that the leader has."""
    return every(lambda c, f: (s.asked(c) & s.promised(c, f)) >> (f < e), Connection, Epoch)


@step("f.1.2")
def promise(s: Iteration, c: Connection) -> Change:
    """A follower gets NEWEPOCH(e') with f.p ≤ e', and sends ACK-E."""
    return Change(when=s.offered(c) & ~s.refuses(c) & ~s.answered(c), adds=(add("answered", c),))


@step("l.3.3")
def hear_ack_e(s: Iteration, c: Connection) -> Change:
    """The leader gets ACK-E. If there is an I_e' by now, it answers with NEWLEADER(e', I_e' ∘ β_e').

    With a NEWLEADER that was sent behind NEWEPOCH there is nothing left to do. Before there is an I_e', an ACK-E that
    does not count makes the leader give up, unless it has one of that follower that does.
    """
    late = s.history_chosen()
    return Change(
        when=s.answered(c) & ~s.discovered(c) & ~s.sent_history(c) & (s.counts(c) | s.provided(follower(c)) | late),
        adds=(
            add("discovered", c),
            add_all("provided", lambda n: same(n, follower(c)) & s.counts(c)),
            *send_history(s, c, late),
        ),
    )


@step("l.1.2")
def choose_history(s: Iteration, q: Quorum, b: Node) -> Change:
    """With ACK-Es of a quorum q, of which b's is the latest, the leader chooses I_e' and sends it (l.2.1).

    Of finitely many ACK-Es one is the latest; that it is b's makes no difference here.
    """
    return Change(
        when=~s.history_chosen() & s.epoch_chosen() & all_of(q, s.provided) & member(b, q),
        adds=(
            add("history_chosen"),
            add_all("initial", lambda t: s.has_history(b, t)),
            add_all("sent_history", s.discovered),
            add_all("carried", lambda c, t: s.discovered(c) & s.has_history(b, t)),
        ),
    )


@step("f.2.1")
def adopt(s: Iteration, c: Connection) -> Change:
    """A follower gets NEWLEADER: it sets f.a to e', accepts the history and sends ACK-LD."""
    return Change(
        when=s.sent_history(c) & s.answered(c) & ~s.adopted(c),
        adds=(add("adopted", c), add_all("accepted", lambda d, t: same(d, c) & s.carried(c, t))),
    )


@step("l.3.4")
def hear_ack_ld(s: Iteration, c: Connection) -> Change:
    """The leader gets ACK-LD, which counts as an ACK of all it covers. Once established, it answers with COMMIT-LD."""
    return Change(
        when=s.adopted(c) & ~s.synced(c),
        adds=(*count_ack_ld(s, c), *release(s, c, s.established(), s.committed)),
    )


def count_ack_ld(s: Iteration, c: Connection) -> tuple[Addition, ...]:
    """Return the additions by which the leader counts an ACK-LD."""
    covered = add_all("acked", lambda n, t: same(n, follower(c)) & s.carried(c, t))
    return add("synced", c), add("acknowledged", follower(c)), covered


def release(
    s: Iteration, c: Connection, when: Formula, covers: Callable[[Transaction], Formula]
) -> tuple[Addition, ...]:
    """Return the additions by which the leader answers an ACK-LD, under a condition, with COMMIT-LD."""
    told = add_all("told", lambda d, t: same(d, c) & when & covers(t))
    return add_all("released", lambda d: same(d, c) & when), told


@step("l.2.2")
def establish(s: Iteration, q: Quorum) -> Change:
    """With ACK-LDs of a quorum the leader is established, and sends COMMIT-LD to all whose ACK-LD it has."""
    return Change(
        when=~s.established() & s.history_chosen() & all_of(q, s.acknowledged),
        adds=(
            add("established"),
            add_all("committed", s.initial),
            add_all("released", s.synced),
            add_all("told", lambda c, t: s.synced(c) & s.initial(t)),
        ),
    )


@step("f.2.2")
def join(s: Iteration, c: Connection) -> Change:
    """A follower gets COMMIT-LD, and begins phase 3."""
    return Change(when=s.released(c) & s.adopted(c) & ~s.joined(c), adds=(add("joined", c),))


@step("l.3.1")
def broadcast(s: Iteration, t: Transaction) -> Change:
    """The primary, which has delivered I_e', broadcasts t, greater than all before, to all that were sent NEWLEADER."""
    return Change(
        when=s.established() & is_ready(s) & every(lambda u: s.history(u) >> (u < t), Transaction),
        adds=propose(t, s.sent_history),
    )


def is_ready(s: Iteration) -> Formula:
    """Return the formula that the leader is in phase 3, as its own follower, and has delivered I_e'."""

    def is_ready_on(c: Connection) -> Formula:
        delivered = every(lambda u: s.initial(u) >> s.delivered(follower(c), u), Transaction)
        return s.leads(follower(c)) & s.joined(c) & delivered

    return some(is_ready_on, Connection)


def propose(t: Transaction, to: Callable[[Connection], Formula]) -> tuple[Addition, ...]:
    """Return the additions by which t is broadcast to some connections."""
    return add("proposed", t), add_all("sent", lambda c, u: same(u, t) & to(c))


@step("f.3.2")
def accept(s: Iteration, c: Connection, t: Transaction) -> Change:
    """A follower gets PROPOSE(t), after all that was sent before on the connection, and acknowledges it."""
    return Change(
        when=s.sent(c, t) & s.adopted(c) & got_all_before(s, c, t) & ~s.accepted(c, t), adds=(add("accepted", c, t),)
    )


def got_all_before(s: Iteration, c: Connection, t: Transaction) -> Formula:
    """Return the formula that the follower has all that was sent on its connection before t."""
    return every(lambda u: (s.on(c, u) & (u < t)) >> s.accepted(c, u), Transaction)


@step("l.3.2")
def hear_ack(s: Iteration, c: Connection, t: Transaction) -> Change:
    """The leader gets ACK(t), behind the ACK-LD of the connection."""
    return Change(when=s.accepted(c, t) & s.synced(c) & ~s.acked(follower(c), t), adds=(add("acked", follower(c), t),))


@step("l.3.2")
def commit(s: Iteration, t: Transaction, q: Quorum) -> Change:
    """With ACKs of a quorum the established leader commits all up to t, and sends COMMIT to all whose ACK-LD it has."""
    return Change(when=can_commit(s, t, q), adds=commit_up_to(s, t, s.synced))


def can_commit(s: Iteration, t: Transaction, q: Quorum) -> Formula:
    """Return the formula that an established leader has ACKs of a quorum for t of its history, not committed yet."""
    return s.established() & s.history(t) & ~s.committed(t) & all_of(q, lambda n: s.acked(n, t))


def commit_up_to(s: Iteration, t: Transaction, to: Callable[[Connection], Formula]) -> tuple[Addition, ...]:
    """Return the additions by which all up to t is committed, with COMMIT to some connections."""

    def covered(u: Transaction) -> Formula:
        return s.history(u) & (u <= t)

    return add_all("committed", covered), add_all("told", lambda c, u: to(c) & covered(u))


@step("f.3.3")
def deliver(s: Iteration, c: Connection, t: Transaction) -> Change:
    """A follower in phase 3 delivers what COMMIT-LD or COMMIT covers, in order (f.2.2 likewise)."""
    return Change(
        when=s.joined(c)
        & s.told(c, t)
        & s.accepted(c, t)
        & delivered_all_before(s, c, t)
        & ~s.delivered(follower(c), t),
        adds=(add("delivered", follower(c), t),),
    )


def delivered_all_before(s: Iteration, c: Connection, t: Transaction) -> Formula:
    """Return the formula that the follower delivered all that it accepted before t."""
    return every(lambda u: (s.accepted(c, u) & (u < t)) >> s.delivered(follower(c), u), Transaction)


STEPS = (
    connect,
    hear_cepoch,
    choose_epoch,
    promise,
    hear_ack_e,
    choose_history,
    adopt,
    hear_ack_ld,
    establish,
    join,
    broadcast,
    accept,
    hear_ack,
    commit,
    deliver,
)
"""All steps, in the order of the paper's phases."""
