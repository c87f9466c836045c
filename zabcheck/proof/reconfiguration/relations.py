"""The state of Zab with configurations that change: that of Zab, and which configurations are active, and where.

A change is a transaction that makes a configuration (`makes`). A history tells which configuration governs at each of
its places: that of the last change before it. As histories match up to a transaction, that is the same in every history
that has the transaction, so it is a function of it (`under`).
"""

from zabcheck.proof.logic import (
    FIRST,
    SORTS,
    Config,
    Epoch,
    Formula,
    Node,
    Quorum,
    Transaction,
    every,
    makes,
    of,
    same,
    some,
    under,
)
from zabcheck.proof.relations import State, relation


class Configured(State):
    """The relations of the proof of safety with configurations that change."""

    sorts = (*SORTS, Config)

    @relation
    def base(self, e: Epoch, c: Config) -> None:
        """The leader of e chose its initial history while c was active there (l.1.2)."""

    @relation
    def asked(self, e: Epoch, l: Node, c: Config) -> None:
        """l asked for promises of e while c was active there (l.1.1)."""

    @relation
    def active(self, n: Node, c: Config) -> None:
        """c is active at n, or was (R.5, R.12)."""

    def is_made(self, e: Epoch, c: Config) -> Formula:
        """Return the formula that I_e has the change to c, or that c is the first configuration."""
        return same(c, FIRST) | some(lambda u: makes(u, c) & self.initial(e, u), Transaction)

    def known(self, e: Epoch, c: Config) -> Formula:
        """Return the formula that the change to c was committed in an epoch before e, or that c is the first one."""
        earlier = some(lambda u, d: makes(u, c) & self.committed(d, u) & (d < e), Transaction, Epoch)
        return same(c, FIRST) | earlier

    def is_chosen(self, c: Config) -> Formula:
        """Return the formula that the change to c was committed, or that c is the first configuration."""
        return same(c, FIRST) | some(lambda u, d: makes(u, c) & self.committed(d, u), Transaction, Epoch)

    def may_establish(self, e: Epoch, c: Config, q: Quorum) -> Formula:
        """Return the formula that q is a quorum of c and of each later configuration whose change I_e has (R.9)."""
        later = every(lambda u, d: (makes(u, d) & self.initial(e, u) & (c < d)) >> of(q, d), Transaction, Config)
        return of(q, c) & later

    def is_behind(self, e: Epoch, t: Transaction) -> Formula:
        """Return the formula that t is not before the change to the configuration that e began in."""
        return every(lambda c: self.base(e, c) >> (c <= under(t)), Config)
