"""The paper's properties, as formulas about a state. The invariant implies each of them.

A state has no order of events, but it does not need one: "in the order of zxids" says that what a process has not yet
delivered when it delivers a later transaction is committed nowhere, so it is never delivered after it. With that, "n
delivered u and t, t ≺ u" means that n delivered t first.
"""

from zabcheck.proof.conjuncts import claim
from zabcheck.proof.logic import Epoch, Formula, Node, Quorum, Transaction, epoch_of, every, member, same, some
from zabcheck.proof.relations import State


@claim
def integrity(s: State, n: Node, t: Transaction) -> Formula:
    """Integrity (III-A): what a process delivers, some process has broadcast."""
    return s.delivered(n, t) >> s.proposed(epoch_of(t), t)


@claim
def in_the_order_of_zxids(s: State, n: Node, e: Epoch, t: Transaction, u: Transaction) -> Formula:
    """A process that delivered a transaction has delivered every committed one before it."""
    return (s.committed(e, t) & s.delivered(n, u) & (t < u)) >> s.delivered(n, t)


@claim
def total_order(s: State, n: Node, m: Node, t: Transaction, u: Transaction) -> Formula:
    """Total order (III-A): if n delivers t before u, whoever delivers u delivers t before it."""
    return (s.delivered(n, t) & s.delivered(m, u) & (t < u)) >> s.delivered(m, t)


@claim
def agreement(s: State, n: Node, m: Node, t: Transaction, u: Transaction) -> Formula:
    """Agreement (III-A): if n delivers t and m delivers u, then n delivers u or m delivers t."""
    return (s.delivered(n, t) & s.delivered(m, u)) >> (s.delivered(n, u) | s.delivered(m, t))


@claim
def local_primary_order(s: State, n: Node, e: Epoch, t: Transaction, u: Transaction) -> Formula:
    """Local primary order (III-A): whoever delivers u delivers before it what the same primary broadcast before u."""
    return (s.proposed(e, t) & s.proposed(e, u) & (t < u) & s.delivered(n, u)) >> s.delivered(n, t)


@claim
def global_primary_order(s: State, n: Node, m: Node, e: Epoch, f: Epoch, t: Transaction, u: Transaction) -> Formula:
    """Global primary order (III-A): what an earlier primary broadcast is delivered before what a later one did.

    Once it has delivered u, it has delivered t, or t is delivered by nobody.
    """
    broadcast = s.proposed(e, t) & s.proposed(f, u) & (e < f)
    return (broadcast & s.delivered(n, u) & s.delivered(m, t)) >> ((t < u) & s.delivered(n, t))


@claim
def primary_integrity(s: State, n: Node, l: Node, f: Epoch, t: Transaction, u: Transaction) -> Formula:
    """Primary integrity (III-A): before it broadcasts, a primary delivers what anybody delivers of earlier epochs.

    Their deliveries are in I_f, which is fixed before, and which the primary has delivered whole.
    """
    earlier = s.proposed(f, t) & s.led(f, l) & s.delivered(n, u) & (epoch_of(u) < f)
    return earlier >> (s.initial(f, u) & s.delivered(l, u))


@claim
def committed_survives(s: State, e: Epoch, f: Epoch, t: Transaction) -> Formula:
    """A committed transaction is in the initial history of every later epoch (claim 2 of the technical report)."""
    return (s.committed(e, t) & s.opened(f) & (e < f)) >> s.initial(f, t)


@claim
def one_leader(s: State, e: Epoch, k: Node, l: Node) -> Formula:
    """An epoch has one leader, established or not (V-C)."""
    return (s.led(e, k) & s.led(e, l)) >> same(k, l)


@claim
def epoch_uniqueness(s: State, e: Epoch, k: Node, l: Node) -> Formula:
    """An epoch has at most one established leader (V-C)."""
    return (s.established(e, k) & s.established(e, l)) >> same(k, l)


@claim
def zxid_uniqueness(s: State, e: Epoch, f: Epoch, k: Node, l: Node, t: Transaction) -> Formula:
    """A zxid is broadcast in one epoch, by one primary; and once, as l.3.1 takes a greater one each time (III-A)."""
    by_both = s.proposed(e, t) & s.proposed(f, t) & s.established(e, k) & s.established(f, l)
    return by_both >> (same(e, f) & same(k, l))


@claim
def chosen(s: State, n: Node, t: Transaction) -> Formula:
    """A delivered transaction was accepted by a quorum, in one epoch (definition VI.1)."""
    by = lambda e, q: every(lambda m: member(m, q) >> s.accepted(m, e, t), Node)  # noqa: E731  # the sentence below reads on
    return s.delivered(n, t) >> some(by, Epoch, Quorum)


@claim
def invariant_1(s: State, n: Node, e: Epoch, t: Transaction) -> Formula:
    """Invariant 1 (VI-B): a process accepts a proposal of e only with f.a = e, so it had adopted e."""
    return s.accepted(n, e, t) >> s.adopted(n, e)


@claim
def invariant_3(s: State, n: Node, d: Epoch, e: Epoch, l: Node) -> Formula:
    """Invariant 3 (VI-B): who promised e accepts no proposal of an earlier epoch any more, as it left that."""
    return (s.promised(n, e, l) & (d < e)) >> s.left(n, d)


@claim
def invariant_2(s: State, n: Node, e: Epoch, t: Transaction, u: Transaction) -> Formula:
    """Invariant 2 (VI-B): whoever accepted a proposal of e accepted before it what was proposed in e before."""
    return (s.accepted(n, e, u) & s.proposed(e, t) & (t < u)) >> s.accepted(n, e, t)


@claim
def invariant_4(s: State, e: Epoch, t: Transaction, u: Transaction) -> Formula:
    """Invariant 4 (VI-B): an initial history has what was broadcast in earlier epochs, and all that comes before it.

    That it is the history of one process is what step l.1.2 says.
    """
    whole = (s.history(epoch_of(u), t) & (t < u)) >> s.initial(e, t)
    return s.initial(e, u) >> (s.proposed(epoch_of(u), u) & (epoch_of(u) < e) & whole)


@claim
def invariant_5(s: State, n: Node, e: Epoch, t: Transaction, u: Transaction) -> Formula:
    """Invariant 5 (VI-B): what a process delivers of an epoch is a prefix of what was broadcast in it."""
    of_e = s.delivered(n, u) & same(epoch_of(u), e)
    return of_e >> (s.proposed(e, u) & ((s.proposed(e, t) & (t < u)) >> s.delivered(n, t)))


@claim
def po_causal_order(s: State, n: Node, t: Transaction, u: Transaction) -> Formula:
    """PO causal order (III-B): whoever delivers u delivers before it what the primary of u had delivered.

    What the primary broadcast before u is local primary order. With both, whatever precedes u through any number of
    transactions is delivered before it, one after the other.
    """
    return (s.knew(u, t) & s.delivered(n, u)) >> (s.delivered(n, t) & (t < u))


@claim
def strict_causality(s: State, n: Node, m: Node, t: Transaction, u: Transaction) -> Formula:
    """Strict causality (III-B): of what is delivered, the primary of a later epoch had delivered the earlier one.

    Of one epoch, both were broadcast by one primary.
    """
    return (s.delivered(n, t) & s.delivered(m, u) & (epoch_of(t) < epoch_of(u))) >> s.knew(u, t)


@claim
def not_proposed_again(s: State, e: Epoch, l: Node, q: Quorum) -> Formula:
    """No leader proposes an epoch again whose initial history was chosen: no quorum has f.p below it (l.1.1)."""
    in_q = lambda n, k: member(n, q) & (s.left(n, e) | s.promised(n, e, k))  # noqa: E731  # the sentence below reads on
    return s.led(e, l) >> some(in_q, Node, Node)


PROPERTIES = (
    integrity,
    total_order,
    agreement,
    local_primary_order,
    global_primary_order,
    primary_integrity,
    in_the_order_of_zxids,
    committed_survives,
    one_leader,
    epoch_uniqueness,
    zxid_uniqueness,
    chosen,
    invariant_1,
    invariant_2,
    invariant_3,
    invariant_4,
    invariant_5,
    po_causal_order,
    strict_causality,
    not_proposed_again,
)
"""All of them, those of III-A first."""
