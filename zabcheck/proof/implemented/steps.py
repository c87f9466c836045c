"""The steps of servers: each is at most one write that a crash may come before or after, and names its Java method.

The switches of the model `zookeeper` at their repaired values: 3.9.5 without its known defects.
"""

from collections.abc import Callable
from functools import partial

from msgspec.structs import replace

from zabcheck.proof import steps
from zabcheck.proof.implemented.servers import Servers
from zabcheck.proof.logic import (
    TRUE,
    ZERO,
    Atom,
    Epoch,
    ForAll,
    Formula,
    Node,
    Not,
    Quorum,
    Term,
    Transaction,
    epoch_of,
    every,
    member,
    same,
)
from zabcheck.proof.steps import Addition, Change, Replacement, add, commit_up_to, is_next

step = partial(steps.step, about=Servers)
add_all = partial(steps.add_all, among=Servers.relations)


def become(relation: str, n: Node, which: Callable[..., Formula]) -> Replacement:
    """Replace the part of a relation that is about n by that of which `which` is true."""
    variables = tuple(sort("x") for sort in Servers.relations[relation])
    of_n = same(variables[0], n)
    return Replacement(relation, variables, (~of_n & Atom(relation, variables)) | (of_n & which(*variables[1:])))


def stop(relation: str, n: Node) -> Replacement:
    """Remove n from a relation."""
    x = Node("x")
    return Replacement(relation, (x,), Atom(relation, (x,)) & ~same(x, n))


@step("f.1.2")
def promise(s: Servers, n: Node, e: Epoch, l: Node) -> Change:
    """Learner.registerWithLeader: n writes acceptedEpoch, then answers with currentEpoch and lastProcessedZxid."""
    return Change(when=(ZERO < e) & ~s.reached(n, e) & ~s.joined(n), adds=(add("promised", n, e, l), *reach(s, n, e)))


def reach(s: Servers, n: Node, e: Epoch) -> tuple[Addition, ...]:
    """Return the additions by which n's acceptedEpoch becomes e, and n reports what is in its memory."""
    return (
        add_all("reached", lambda m, d: same(m, n) & (d <= e)),
        add_all("left", lambda m, d: same(m, n) & (d < e)),
        add_all("reported", lambda m, d, t: same(m, n) & same(d, e) & s.tree(n, t)),
    )


@step("l.1.2")
def choose(s: Servers, e: Epoch, l: Node, q: Quorum, d: Epoch, z: Transaction) -> Change:
    """Leader.waitForEpochAck: of a quorum, none reports more than l, whose last is (d, z). I_e is what l has."""
    when = may_lead(s, e, l, q) & has_latest_epoch(s, e, l, q, d) & s.tree(l, z) & none_reported_later(s, e, q, d, z)
    return Change(when=when, adds=lead(s, e, l))


@step("l.1.2")
def choose_empty(s: Servers, e: Epoch, l: Node, q: Quorum, d: Epoch) -> Change:
    """The same where none of the quorum whose currentEpoch is d reports any transaction."""
    nothing = every(lambda n, t: (member(n, q) & s.current(n, d)) >> ~s.reported(n, e, t), Node, Transaction)
    return Change(when=may_lead(s, e, l, q) & has_latest_epoch(s, e, l, q, d) & nothing, adds=lead(s, e, l))


def may_lead(s: Servers, e: Epoch, l: Node, q: Quorum) -> Formula:
    """Return the formula that a quorum and l itself promised e to l, which leads e once only.

    Then nobody else leads e: the property *nobody else leads* says so, and saying it here spares solvers a detour.
    """
    promised = every(lambda n: member(n, q) >> s.promised(n, e, l), Node)
    return ~s.led(e, l) & ~s.opened(e) & s.promised(l, e, l) & ~s.left(l, e) & ~s.joined(l) & promised


def has_latest_epoch(s: Servers, e: Epoch, l: Node, q: Quorum, d: Epoch) -> Formula:
    """Return the formula that l's currentEpoch is d, and that none in q has reported a later one."""
    latest = every(lambda n, c: (member(n, q) & s.current(n, c) & (c < e)) >> (c <= d), Node, Epoch)
    return s.current(l, d) & (d < e) & latest


def none_reported_later(s: Servers, e: Epoch, q: Quorum, d: Epoch, z: Transaction) -> Formula:
    """Return the formula that none in q whose currentEpoch is d has reported a transaction later than z."""
    return every(lambda n, t: (member(n, q) & s.current(n, d) & s.reported(n, e, t)) >> (t <= z), Node, Transaction)


def lead(s: Servers, e: Epoch, l: Node) -> tuple[Addition, ...]:
    """Return the additions by which l leads e, with what is in its memory as I_e."""
    return (
        add("led", e, l),
        add("opened", e),
        add("joined", l),
        add_all("initial", lambda f, t: same(f, e) & s.tree(l, t)),
        add_all("carried", lambda f, t: (f < e) & s.tree(l, t)),
        add_all("lacked", lambda f, t: (f < e) & ~s.tree(l, t)),
    )


@step("l.2.1")
def diff(s: Servers, n: Node, e: Epoch, z: Transaction) -> Change:
    """LearnerHandler.syncFollower, DIFF: the leader has n's last transaction z. Or n has none."""
    last = s.tree(n, z) & s.known(e, z) & every(lambda t: s.tree(n, t) >> (t <= z), Transaction)
    nothing = every(lambda t: ~s.tree(n, t), Transaction)
    return Change(when=may_join(s, n, e) & (last | nothing), adds=(add("joined", n),))


def may_join(s: Servers, n: Node, e: Epoch) -> Formula:
    """Return the formula that n has connected to the leader of e, another server, which has an initial history."""
    return s.at(n, e) & s.opened(e) & (ZERO < e) & ~s.joined(n) & ~s.led(e, n)


@step("l.2.1")
def forget(s: Servers, n: Node, e: Epoch) -> Change:
    """LearnerHandler.syncFollower, before TRUNC or SNAP: only n's acknowledgements of what is committed still count."""
    m, f, t = Node("m"), Epoch("f"), Transaction("t")
    still = s.acked(m, f, t) & (~same(m, n) | ~same(f, e) | s.known(e, t))
    return Change(when=TRUE, adds=(Replacement("acked", (m, f, t), still),))


@step("l.2.1")
def truncate(s: Servers, n: Node, e: Epoch, z: Transaction) -> Change:
    """LearnerHandler.syncFollower, TRUNC: n cuts its log from z on; all before z is known (FileTxnLog.truncate).

    The cut is forced, and the database is loaded anew.
    """
    known = every(lambda t: (s.log(n, t) & (t < z)) >> s.known(e, t), Transaction)
    return Change(
        when=may_join(s, n, e) & known & all_before(s, n, e, z, lambda t: s.initial(e, t) & s.log(n, t)),
        adds=(*keep(n, lambda t: s.log(n, t) & (t < z)), *join_unsaved(n)),
    )


def all_before(s: Servers, n: Node, e: Epoch, z: Transaction, which: Callable[[Transaction], Formula]) -> Formula:
    """Return the formula that these transactions, and all that the leader of e counts as acknowledged by n, are < z."""
    return every(lambda t: (s.acked(n, e, t) | which(t)) >> (t < z), Transaction)


def keep(n: Node, which: Callable[[Transaction], Formula]) -> tuple[Addition, ...]:
    """Return the changes by which n has these transactions on its disk and in memory, and no others."""
    return become("log", n, which), become("forced", n, which), become("tree", n, which)


def join_unsaved(n: Node) -> tuple[Addition, ...]:
    """Return the additions by which n has joined the leader, and has yet to write a snapshot."""
    return add("joined", n), add("unsaved", n)


@step("l.2.1")
def snap(s: Servers, n: Node, e: Epoch, z: Transaction) -> Change:
    """LearnerHandler.syncFollower, SNAP: n takes over the leader's database of when that had applied all before z."""
    applied = every(lambda t: (s.history(e, t) & (t < z)) >> s.known(e, t), Transaction)
    return Change(
        when=may_join(s, n, e) & applied & all_before(s, n, e, z, lambda t: s.initial(e, t)),
        adds=(become("tree", n, lambda t: s.history(e, t) & (t < z)), *join_unsaved(n)),
    )


@step("f.2.1")
def apply_unsaved(s: Servers, n: Node, e: Epoch, t: Transaction) -> Change:
    """Learner.syncWithLeader, COMMIT behind SNAP or TRUNC: n applies t to its memory alone."""
    return Change(when=s.joined(n) & s.unsaved(n) & may_apply(s, n, e, t), adds=(add("tree", n, t),))


def may_apply(s: Servers, n: Node, e: Epoch, t: Transaction) -> Formula:
    """Return the formula that t is committed in n's epoch e, and that n has applied all before it."""
    before = every(lambda u: (s.history(e, u) & (u < t)) >> s.tree(n, u), Transaction)
    return s.at(n, e) & s.known(e, t) & before


@step("f.2.1")
def write_snapshot(s: Servers, n: Node, e: Epoch) -> Change:
    """Learner.syncWithLeader, NEWLEADER behind SNAP or TRUNC: n writes its memory as a snapshot, forced.

    It stands for the whole history: older snapshots and the log are gone.
    """
    return Change(
        when=s.joined(n) & s.unsaved(n) & s.at(n, e),
        adds=(
            become("log", n, lambda t: s.tree(n, t)),
            become("forced", n, lambda t: s.tree(n, t)),
            stop("unsaved", n),
        ),
    )


@step("f.3.2")
def append(s: Servers, n: Node, e: Epoch, t: Transaction) -> Change:
    """SyncRequestProcessor.run, and NEWLEADER behind DIFF: n appends the next transaction that the leader has sent."""
    return Change(when=may_append(s, n, e, t) & has_all_before(s, n, e, t), adds=(add("log", n, t),))


def may_append(s: Servers, n: Node, e: Epoch, t: Transaction) -> Formula:
    """Return the formula that n follows the leader of e, which has sent t to it."""
    return s.follows(n, e) & s.history(e, t)


def has_all_before(s: Servers, n: Node, e: Epoch, t: Transaction) -> Formula:
    """Return the formula that n's log has everything before t in the history of e."""
    return every(lambda u: (s.history(e, u) & (u < t)) >> s.log(n, u), Transaction)


@step("f.3.2")
def force(s: Servers, n: Node, z: Transaction) -> Change:
    """SyncRequestProcessor.flush: fsync returns for all up to z. Or the system has written that back by itself."""
    return Change(when=TRUE, adds=(add_all("forced", lambda m, t: same(m, n) & s.log(n, t) & (t <= z)),))


@step("f.2.1")
def write_epoch(s: Servers, n: Node, e: Epoch) -> Change:
    """Learner.syncWithLeader, NEWLEADER: once all of I_e is forced, n writes currentEpoch."""
    when = s.follows(n, e) & has_initial_forced(s, n, e)
    return Change(when=when, adds=(add("current", n, e),))


def has_initial_forced(s: Servers, n: Node, e: Epoch) -> Formula:
    """Return the formula that all of I_e is on n's disk."""
    return every(lambda t: s.initial(e, t) >> s.forced(n, t), Transaction)


@step("f.2.1")
def acknowledge(s: Servers, n: Node, e: Epoch) -> Change:
    """Learner.syncWithLeader, NEWLEADER: n acknowledges it, and I_e with it."""
    return Change(when=s.follows(n, e) & s.current(n, e), adds=acknowledge_newleader(s, n, e))


def acknowledge_newleader(s: Servers, n: Node, e: Epoch) -> tuple[Addition, ...]:
    """Return the additions by which n acknowledges NEWLEADER of e, which covers I_e."""
    return add("adopted", n, e), add_all("acked", lambda m, f, t: same(m, n) & same(f, e) & s.initial(e, t))


establish = replace(
    steps.establish,
    text="Leader.waitForNewLeaderAck: a quorum acknowledged NEWLEADER to l, so I_e is committed.",
    about=Servers,
)


@step("f.2.2")
def serve(s: Servers, n: Node, e: Epoch, l: Node) -> Change:
    """Learner.syncWithLeader, UPTODATE, and Leader.startZkServer: n answers clients with all that it has applied."""
    has_all = every(lambda t: s.initial(e, t) >> s.tree(n, t), Transaction)
    return Change(
        when=s.follows(n, e) & s.adopted(n, e) & s.established(e, l) & has_all,
        adds=(add("serving", n), add_all("delivered", lambda m, t: same(m, n) & s.tree(n, t))),
    )


@step("l.3.1")
def broadcast(s: Servers, e: Epoch, l: Node, t: Transaction) -> Change:
    """Leader.propose: l, which serves, proposes t of e, greater than all in the history of e."""
    return Change(
        when=s.established(e, l) & s.serving(l) & s.at(l, e) & is_next(s, e, t), adds=(add("proposed", e, t),)
    )


@step("f.3.2")
def ack(s: Servers, n: Node, e: Epoch, t: Transaction) -> Change:
    """SendAckRequestProcessor: n, which has acknowledged NEWLEADER, acknowledges t, which is on its disk."""
    return Change(when=may_append(s, n, e, t) & s.adopted(n, e) & s.forced(n, t), adds=(count(s, n, e, t),))


def count(s: Servers, n: Node, e: Epoch, t: Transaction) -> Addition:
    """Return the addition by which the leader counts n's ACK of t, which covers all before it."""
    return add_all("acked", lambda m, f, u: same(m, n) & same(f, e) & s.history(e, u) & (u <= t))


@step("l.3.2")
def commit(s: Servers, e: Epoch, l: Node, t: Transaction, q: Quorum) -> Change:
    """Leader.tryToCommit: a quorum acknowledged t, and everything before it is committed with it."""
    return Change(
        when=s.established(e, l) & s.proposed(e, t) & every(lambda n: member(n, q) >> s.acked(n, e, t), Node),
        adds=(commit_up_to(s, e, t),),
    )


@step("f.3.3")
def apply(s: Servers, n: Node, e: Epoch, t: Transaction) -> Change:
    """FinalRequestProcessor, and COMMIT behind DIFF: n applies the next committed transaction of its log.

    It need not be forced: a quorum has it. A server that serves delivers it.
    """
    return Change(
        when=s.joined(n) & ~s.unsaved(n) & s.log(n, t) & may_apply(s, n, e, t),
        adds=(add("tree", n, t), add_all("delivered", lambda m, u: same(m, n) & same(u, t) & s.serving(n))),
    )


@step("leave")
def leave(s: Servers, n: Node) -> Change:
    """ZooKeeperServer.shutdown: what waits for the log is forced, and the database is loaded from the disk."""
    return Change(
        when=s.joined(n),
        adds=(
            add_all("forced", lambda m, t: same(m, n) & s.log(n, t)),
            become("tree", n, lambda t: s.log(n, t)),
            *disconnect(n),
        ),
    )


def disconnect(n: Node) -> tuple[Addition, ...]:
    """Return the changes by which n loses its connection."""
    return stop("joined", n), stop("unsaved", n), stop("serving", n)


@step("crash")
def crash(s: Servers, n: Node, z: Transaction) -> Change:
    """A power loss takes what is not forced, from z on; n starts with what its log and snapshots have."""
    return Change(when=TRUE, adds=restart(n, lambda t: s.log(n, t) & (s.forced(n, t) | (t < z))))


def restart(n: Node, which: Callable[[Transaction], Formula]) -> tuple[Addition, ...]:
    """Return the changes by which n starts with these transactions on its disk, and loads them."""
    return become("log", n, which), become("tree", n, which), *disconnect(n)


@step("crash")
def load(s: Servers, n: Node, z: Transaction) -> Change:
    """QuorumPeer.loadDataBase: currentEpoch is older than z, the last in n's log, so n writes the epoch of z."""
    return Change(when=s.forced(n, z) & may_load(s, n, z), adds=(add("current", n, epoch_of(z)),))


def may_load(s: Servers, n: Node, z: Transaction) -> Formula:
    """Return the formula that n has no leader, and that z is the last in its log."""
    return ~s.joined(n) & s.log(n, z) & every(lambda t: s.log(n, t) >> (t <= z), Transaction)


@step("crash")
def load_snapshot(s: Servers, n: Node, e: Epoch) -> Change:
    """QuorumPeer.loadDataBase: the same where a SNAP was labelled ⟨e,0⟩, which is the zxid that a leader began with."""
    no_other = every(lambda t: s.log(n, t) >> s.history(e, t), Transaction)
    return Change(
        when=~s.joined(n) & s.reached(n, e) & s.opened(e) & has_initial_forced(s, n, e) & no_other,
        adds=(add("current", n, e),),
    )


STEPS = (
    promise,
    choose,
    choose_empty,
    diff,
    forget,
    truncate,
    snap,
    apply_unsaved,
    write_snapshot,
    append,
    force,
    write_epoch,
    acknowledge,
    establish,
    serve,
    broadcast,
    ack,
    commit,
    apply,
    leave,
    crash,
    load,
    load_snapshot,
)
"""All steps, in the order of the paper's phases."""


def start(s: Servers) -> Formula:
    """Return the formula of the start: every server is in epoch 0, with nothing on its disk."""
    of_zero = (
        every(lambda n, e: same(e, ZERO) >> (s.reached(n, e) & s.current(n, e) & s.adopted(n, e)), Node, Epoch)
        & every(lambda n, e: (s.reached(n, e) | s.current(n, e) | s.adopted(n, e)) >> same(e, ZERO), Node, Epoch)
        & every(lambda e: s.opened(e) >> same(e, ZERO), Epoch)
        & s.opened(ZERO)
    )
    for name, sorts in Servers.relations.items():
        if name not in ("reached", "current", "adopted", "opened"):
            terms: tuple[Term, ...] = tuple(sort("x") for sort in sorts)
            of_zero &= ForAll(terms, Not(Atom(name, terms)))
    return of_zero
