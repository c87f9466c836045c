"""The properties, restated with configurations, and what is particular to these. The invariant implies each of them."""

from zabcheck.proof import properties as of_zab
from zabcheck.proof.conjuncts import claim
from zabcheck.proof.logic import (
    Config,
    Epoch,
    Formula,
    Node,
    Quorum,
    Transaction,
    every,
    makes,
    member,
    of,
    some,
    under,
)
from zabcheck.proof.reconfiguration.consequences import committed_survives, one_leader
from zabcheck.proof.reconfiguration.relations import Configured


@claim
def chosen(s: Configured, n: Node, t: Transaction) -> Formula:
    """A delivered transaction was accepted in one epoch by a quorum of what governs it; of a change's own, too."""

    def accepted(e: Epoch, q: Quorum) -> Formula:
        own = every(lambda d: makes(t, d) >> of(q, d), Config)
        return of(q, under(t)) & own & every(lambda m: member(m, q) >> s.accepted(m, e, t), Node)

    return s.delivered(n, t) >> some(accepted, Epoch, Quorum)


@claim
def not_proposed_again(s: Configured, e: Epoch, l: Node, c: Config, q: Quorum) -> Formula:
    """No leader proposes an epoch again in its configuration: no quorum of that has f.p below it (l.1.1)."""
    in_q = lambda n, k: member(n, q) & (s.left(n, e) | s.promised(n, e, k))  # noqa: E731  # the sentence below reads on
    return (s.led(e, l) & s.base(e, c) & of(q, c)) >> some(in_q, Node, Node)


@claim
def activation(s: Configured, n: Node, c: Config) -> Formula:
    """Only a configuration becomes active whose change was committed, or the first one."""
    return s.active(n, c) >> s.is_chosen(c)


@claim
def one_chain(s: Configured, e: Epoch, f: Epoch, t: Transaction, u: Transaction, c: Config, d: Config) -> Formula:
    """Configurations whose changes are committed are a chain: the history of the later change has the earlier one."""
    both = s.committed(e, t) & makes(t, c) & s.committed(f, u) & makes(u, d)
    return (both & (c < d)) >> (s.history(f, t) & (t < u))


@claim
def superseded_decide_nothing(s: Configured, e: Epoch, f: Epoch, t: Transaction, u: Transaction, d: Config) -> Formula:
    """A configuration governs what is committed behind its committed change, or a later one does."""
    return (s.committed(e, t) & s.committed(f, u) & makes(u, d) & (u < t)) >> (d <= under(t))


RESTATED = {"chosen": chosen, "not proposed again": not_proposed_again}
"""The properties that name a quorum."""
SAME = {"committed survives": committed_survives, "one leader": one_leader}
"""The properties that proofs of other claims use."""
PROPERTIES = (
    *(RESTATED.get(each.name) or SAME.get(each.name) or each for each in of_zab.PROPERTIES),
    activation,
    one_chain,
    superseded_decide_nothing,
)
"""All of them: those of Zab first."""
