"""The properties of servers, as formulas about a state. The invariant implies each of them."""

from zabcheck.proof import properties
from zabcheck.proof.conjuncts import claim
from zabcheck.proof.implemented.servers import Servers
from zabcheck.proof.logic import ZERO, Epoch, Formula, Node, Quorum, Transaction, epoch_of, every, member, same, some


@claim
def primary_integrity(s: Servers, n: Node, l: Node, f: Epoch, t: Transaction, u: Transaction) -> Formula:
    """Primary integrity (III-A): before it proposes, a primary delivers what anybody delivers of earlier epochs."""
    earlier = s.proposed(f, t) & s.led(f, l) & s.delivered(n, u) & (epoch_of(u) < f)
    return earlier >> (s.initial(f, u) & s.delivered(l, u))


@claim
def durability(s: Servers, e: Epoch, t: Transaction) -> Formula:
    """Durability: a committed transaction is on the disks of a quorum, whatever each has written or lost since."""
    return s.committed(e, t) >> some(lambda q: every(lambda n: member(n, q) >> s.forced(n, t), Node), Quorum)


@claim
def final_agreement(s: Servers, n: Node, m: Node, e: Epoch, t: Transaction, u: Transaction) -> Formula:
    """Final agreement: of the databases of two servers that serve in one epoch, one is a prefix of the other."""
    both = s.serving(n) & s.serving(m) & s.at(n, e) & s.at(m, e)
    return (both & s.tree(n, t) & s.tree(m, u)) >> (s.tree(m, t) | s.tree(n, u))


@claim
def data_agree(s: Servers, n: Node, e: Epoch, t: Transaction, u: Transaction) -> Formula:
    """A server that serves has in memory every committed transaction before its last, and only committed ones."""
    serves = s.serving(n) & s.at(n, e) & s.tree(n, u)
    return serves >> (s.committed(e, u) & ((s.committed(e, t) & (t < u)) >> s.tree(n, t)))


@claim
def nobody_else_leads(s: Servers, e: Epoch, l: Node, q: Quorum) -> Formula:
    """If a quorum promised an epoch to a server, no other one leads it: that may choose, if it has not (l.1.2)."""
    promised = every(lambda n: member(n, q) >> s.promised(n, e, l), Node)
    return (promised & s.opened(e) & (ZERO < e)) >> s.led(e, l)


@claim
def epoch_uniqueness(s: Servers, e: Epoch, k: Node, l: Node) -> Formula:
    """An epoch has at most one leader, established or not (V-C)."""
    return (s.led(e, k) & s.led(e, l)) >> same(k, l)


PROPERTIES = (
    properties.integrity,
    properties.total_order,
    properties.agreement,
    properties.local_primary_order,
    properties.global_primary_order,
    primary_integrity,
    properties.in_the_order_of_zxids,
    properties.committed_survives,
    durability,
    final_agreement,
    data_agree,
    epoch_uniqueness,
    nobody_else_leads,
)
"""All of them, those of III-A first."""
