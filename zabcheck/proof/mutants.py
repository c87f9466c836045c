"""Known bugs, as far as the abstraction can express them: each as one step replaced, or as an assumption dropped."""

from msgspec import Struct, structs

from zabcheck.proof import steps
from zabcheck.proof.assumptions import ASSUMPTIONS
from zabcheck.proof.finite import HALVES, SMALL
from zabcheck.proof.liveness import mutants as liveness
from zabcheck.proof.logic import ZERO, Epoch, Node, Quorum, Transaction, epoch_of, every, member, same, some
from zabcheck.proof.obligations import Theory
from zabcheck.proof.relations import State
from zabcheck.proof.steps import STEPS, Change, Step, add, add_all, step


@step("f.1.2")
def promise_again(s: State, n: Node, e: Epoch, l: Node) -> Change:
    """NEWEPOCH(e') with e' = f.p is promised, too, whoever it was promised to before."""
    return Change(when=(ZERO < e) & ~s.left(n, e), adds=(add("promised", n, e, l), steps.leave_before(n, e)))


@step("f.1.2")
def promise_without_disk(s: State, n: Node, e: Epoch, l: Node) -> Change:
    """ACK-E is sent, and a crash loses f.p: n has left nothing."""
    return Change(when=(ZERO < e) & steps.fresh(s, n, e), adds=(add("promised", n, e, l),))


@step("l.1.2")
def choose_any(s: State, e: Epoch, l: Node, q: Quorum, b: Node, a: Epoch) -> Change:
    """The history is that of any process of the quorum, such as the leader."""
    own = every(lambda d: (s.adopted(b, d) & (d < e)) >> (d <= a), Epoch)
    return Change(
        when=steps.promised_by_all(s, e, l, q) & member(b, q) & s.adopted(b, a) & (a < e) & own,
        adds=steps.take_history(s, e, l, b, a),
    )


@step("l.1.2")
def choose_by_zxid(s: State, e: Epoch, l: Node, q: Quorum, b: Node, a: Epoch, z: Transaction) -> Change:
    """The history is the one with the highest zxid in the quorum, whatever f.a is."""
    own = every(lambda d: (s.adopted(b, d) & (d < e)) >> (d <= a), Epoch)
    last = every(lambda n, d, t: (member(n, q) & s.accepted(n, d, t) & (d < e)) >> (t <= z), Node, Epoch, Transaction)
    return Change(
        when=steps.promised_by_all(s, e, l, q)
        & member(b, q)
        & s.adopted(b, a)
        & (a < e)
        & own
        & s.accepted(b, a, z)
        & last,
        adds=steps.take_history(s, e, l, b, a),
    )


@step("l.3.1")
def broadcast_early(s: State, e: Epoch, l: Node, t: Transaction) -> Change:
    """The leader broadcasts before it is established, and so before it has delivered I_e."""
    return Change(when=s.led(e, l) & steps.is_next(s, e, t), adds=steps.propose(s, e, l, t))


@step("l.3.1")
def broadcast_before_delivering(s: State, e: Epoch, l: Node, t: Transaction) -> Change:
    """The established leader broadcasts before it has delivered I_e."""
    return Change(when=s.established(e, l) & steps.is_next(s, e, t), adds=steps.propose(s, e, l, t))


@step("l.3.1")
def broadcast_any(s: State, e: Epoch, l: Node, t: Transaction) -> Change:
    """The zxid need not be greater than those before: the counter has begun anew."""
    ready = every(lambda u: s.initial(e, u) >> s.delivered(l, u), Transaction)
    return Change(when=s.established(e, l) & same(epoch_of(t), e) & ready, adds=steps.propose(s, e, l, t))


@step("f.3.2")
def accept_after_leaving(s: State, n: Node, e: Epoch, t: Transaction) -> Change:
    """A follower accepts a proposal of an epoch that it has left."""
    return Change(
        when=s.adopted(n, e) & s.proposed(e, t) & steps.has_all_before(s, n, e, t),
        adds=(add("accepted", n, e, t),),
    )


@step("f.3.2")
def accept_with_gap(s: State, n: Node, e: Epoch, t: Transaction) -> Change:
    """A follower accepts a proposal without those before it, which it may never get."""
    return Change(when=s.adopted(n, e) & ~s.left(n, e) & s.proposed(e, t), adds=(add("accepted", n, e, t),))


@step("l.3.2")
def commit_on_one(s: State, e: Epoch, l: Node, t: Transaction) -> Change:
    """One ACK is enough."""
    one = some(lambda n: s.accepted(n, e, t), Node)
    return Change(when=s.established(e, l) & s.proposed(e, t) & one, adds=(steps.commit_up_to(s, e, t),))


@step("l.3.2")
def commit_unsynced(s: State, e: Epoch, l: Node, t: Transaction, q: Quorum) -> Change:
    """The ACKs of a quorum say that its processes got t, not that t is on their disks."""
    got = every(lambda n: member(n, q) >> s.adopted(n, e), Node)
    return Change(when=s.established(e, l) & s.proposed(e, t) & got, adds=(steps.commit_up_to(s, e, t),))


@step("f.3.3")
def deliver_named(s: State, n: Node, e: Epoch, t: Transaction) -> Change:
    """A process delivers the committed transaction without those before it."""
    return Change(when=s.committed(e, t), adds=(add("delivered", n, t),))


@step("f.3.3")
def deliver_uncommitted(s: State, n: Node, e: Epoch, t: Transaction) -> Change:
    """A late joiner delivers all that it has accepted, committed or not."""
    before = every(lambda u: (s.history(e, u) & (u < t)) >> s.delivered(n, u), Transaction)
    return Change(when=s.accepted(n, e, t) & before, adds=(add("delivered", n, t),))


@step("f.2.1")
def adopt_keeping(s: State, n: Node, e: Epoch, k: Node) -> Change:
    """A follower adopts e and keeps what it had accepted before, also what I_e does not have."""
    kept = add_all(
        "accepted",
        lambda m, f, t: same(m, n) & same(f, e) & (s.initial(e, t) | some(lambda d: s.accepted(n, d, t), Epoch)),
    )
    return Change(when=s.opened(e) & s.promised(n, e, k) & ~s.left(n, e), adds=(add("adopted", n, e), kept))


@step("f.2.1")
def write_epoch_first(s: State, n: Node, e: Epoch, k: Node) -> Change:
    """ZooKeeper 3.8.0: n writes f.a = e; I_e is logged later, by another thread, and the ACK does not wait for that."""
    return Change(when=s.opened(e) & s.promised(n, e, k) & ~s.left(n, e), adds=(add("adopted", n, e),))


@step("f.2.1")
def log_after_epoch(s: State, n: Node, e: Epoch) -> Change:
    """ZooKeeper 3.8.0: the other thread has logged I_e."""
    logged = add_all("accepted", lambda m, f, t: same(m, n) & same(f, e) & s.initial(e, t))
    return Change(when=s.adopted(n, e), adds=(logged,))


@step("f.2.1")
def log_before_epoch(s: State, n: Node, e: Epoch, k: Node, d: Epoch) -> Change:
    """ZooKeeper 3.9.5: n logs I_e while its f.a is still d; then it writes f.a = e, and acknowledges."""
    last = every(lambda f: s.adopted(n, f) >> (f <= d), Epoch)
    logged = add_all("accepted", lambda m, f, t: same(m, n) & same(f, d) & s.initial(e, t))
    return Change(
        when=s.opened(e) & s.promised(n, e, k) & ~s.left(n, e) & s.adopted(n, d) & (d < e) & last, adds=(logged,)
    )


class Mutant(Struct, frozen=True):
    """A known bug in the abstraction: the step it replaces, its replacement, added steps, a dropped assumption."""

    replaced: Step | None
    instead: Step | None = None
    dropped: str = ""
    added: Step | None = None

    def theory(self) -> Theory:
        """Return the theory to prove, which should not succeed."""
        kept = {name: formula for name, formula in ASSUMPTIONS.items() if name != self.dropped}
        changed = tuple(self.instead if each is self.replaced and self.instead else each for each in STEPS)
        added = () if self.added is None else (self.added,)
        universe = HALVES if self.dropped == "quorums intersect" else SMALL
        return structs.replace(Theory(), steps=(*changed, *added), assumptions=kept, universe=universe)


MUTANTS = {
    "quorum-off-by-one": Mutant(None, None, "quorums intersect"),
    "reuse-highest-epoch": Mutant(steps.promise, promise_again),
    "accept-equal-epoch": Mutant(steps.promise, promise_again),
    "promise-not-durable": Mutant(steps.promise, promise_without_disk),
    "ack-before-sync": Mutant(steps.commit, commit_unsynced),
    "commit-on-own-ack": Mutant(steps.commit, commit_on_one),
    "count-acks-not-senders": Mutant(steps.commit, commit_on_one),
    "commit-only-named": Mutant(steps.deliver, deliver_named),
    "broadcast-before-established": Mutant(steps.broadcast, broadcast_early),
    "stale-proposal-accepted": Mutant(steps.accept, accept_after_leaving),
    "history-by-zxid-only": Mutant(steps.choose, choose_by_zxid),
    "keep-own-history": Mutant(steps.choose, choose_any),
    "keep-longer-history": Mutant(steps.adopt, adopt_keeping),
    "no-truncation": Mutant(steps.adopt, adopt_keeping),
    "non-fifo-link": Mutant(steps.accept, accept_with_gap),
    "propose-to-acked-only": Mutant(steps.accept, accept_with_gap),
    "accept-past-a-hole": Mutant(steps.accept, accept_with_gap),
    "commit-ld-zxid": Mutant(steps.deliver, deliver_uncommitted),
    "deliver-initial-history-last": Mutant(steps.deliver, deliver_named),
    "redeliver-with-gap": Mutant(steps.deliver, deliver_named),
    "counter-wraps": Mutant(steps.broadcast, broadcast_any),
}
"""The mutants of `zabcheck list mutants` that the abstraction can express."""

RELEASES = {
    "zookeeper-3.8.0": Mutant(steps.adopt, write_epoch_first, added=log_after_epoch),
    "zookeeper-3.9.5": Mutant(None, added=log_before_epoch),
}
"""Releases of ZooKeeper, which take step f.2.1 in several writes: between two of them a server may crash."""
KNOWN = {**MUTANTS, **RELEASES}


OUTSIDE = {
    "duplicate-proposal": "a history is a set here, so what is accepted twice is there once",
    "ignore-digest": "a disk that alters what it holds is outside: each value is what was broadcast",
    "rebuild-without-resending": "it breaks liveness alone, by a relay, of which the abstraction has none",
    "count-from-nothing": "it breaks liveness alone, by counts of ACKs, of which the abstraction has none",
    "lossy-past-a-gap": "channels are outside: to Zab it is what non-fifo-link is",
    "lossy-old-iteration": "channels are outside: no message is of an old iteration",
    **{name: "it breaks liveness alone: prove it with --liveness" for name in liveness.MUTANTS if name not in MUTANTS},
}
"""The mutants that the abstraction cannot express, each with the reason."""
