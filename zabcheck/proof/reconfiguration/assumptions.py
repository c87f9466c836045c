"""The assumptions about configurations: those of Zab, but quorums intersect only within one configuration."""

from zabcheck.proof.assumptions import ASSUMPTIONS as OF_ZAB
from zabcheck.proof.assumptions import assumed
from zabcheck.proof.logic import (
    FIRST,
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
    same,
    some,
    under,
)
from zabcheck.proof.reconfiguration.relations import Configured

ASSUMPTIONS: dict[str, Formula] = {name: each for name, each in OF_ZAB.items() if name != "quorums intersect"}
"""Each assumption by its name."""
assumption = assumed(ASSUMPTIONS)


@assumption
def quorums_of_one_configuration_intersect() -> Formula:
    """Any two quorums of one configuration have a process in common; those of two need not (definition II.1)."""
    return every(
        lambda q, r, c: (of(q, c) & of(r, c)) >> some(lambda n: member(n, q) & member(n, r), Node),
        Quorum,
        Quorum,
        Config,
    )


@assumption
def configurations_are_ordered() -> Formula:
    """Configurations are totally ordered, and the first one is before all others."""
    return (
        every(lambda c: ~(c < c) & (FIRST <= c), Config)
        & every(lambda c, d: (c < d) | (d < c) | same(c, d), Config, Config)
        & every(lambda b, c, d: ((b < c) & (c < d)) >> (b < d), Config, Config, Config)
    )


@assumption
def a_change_makes_one_configuration() -> Formula:
    """A change makes one configuration, which no other makes; later changes make later ones, and none the first."""
    return every(lambda t: ~makes(t, FIRST), Transaction) & every(
        lambda t, u, c, d: (makes(t, c) & makes(u, d)) >> (((t < u) >> (c < d)) & (same(t, u) >> same(c, d))),
        Transaction,
        Transaction,
        Config,
        Config,
    )


@assumption
def a_change_governs_what_comes_behind_it() -> Formula:
    """The change to the configuration that governs a transaction comes before the transaction."""
    return every(lambda t, u: makes(u, under(t)) >> (u < t), Transaction, Transaction)


@assumption
def one_missing_is_the_first() -> Formula:
    """Among finitely many transactions that I_e has and I_f lacks, one is the first."""
    s = Configured()

    def missing(e: Epoch, f: Epoch, t: Transaction) -> Formula:
        return s.initial(e, t) & ~s.initial(f, t)

    def first(e: Epoch, f: Epoch, m: Transaction) -> Formula:
        return missing(e, f, m) & every(lambda u: (s.initial(e, u) & (u < m)) >> s.initial(f, u), Transaction)

    return every(
        lambda e, f, t: missing(e, f, t) >> some(lambda m: first(e, f, m) & (m <= t), Transaction),
        Epoch,
        Epoch,
        Transaction,
    )


@assumption
def one_lost_is_the_first() -> Formula:
    """Among finitely many committed transactions that a later initial history lacks, one is the first."""
    s = Configured()

    def lost(e: Epoch, f: Epoch, t: Transaction) -> Formula:
        return s.committed(e, t) & (e < f) & s.opened(f) & ~s.initial(f, t)

    none = every(lambda e, f, t: ~lost(e, f, t), Epoch, Epoch, Transaction)

    def first(e: Epoch, f: Epoch, m: Transaction) -> Formula:
        return lost(e, f, m) & every(lambda d, g, t: lost(d, g, t) >> (m <= t), Epoch, Epoch, Transaction)

    return some(lambda e, f, m: none | first(e, f, m), Epoch, Epoch, Transaction)


@assumption
def one_epoch_is_the_first() -> Formula:
    """Among the epochs behind e whose initial history has the change to a configuration with a quorum, one is first."""
    s = Configured()

    def has(e: Epoch, f: Epoch, c: Config) -> Formula:
        return (e < f) & s.opened(f) & s.is_made(f, c)

    def first(e: Epoch, g: Epoch, c: Config) -> Formula:
        return has(e, g, c) & every(lambda f: has(e, f, c) >> (g <= f), Epoch)

    return every(
        lambda e, f, c, q: (of(q, c) & has(e, f, c)) >> some(lambda g: first(e, g, c), Epoch),
        Epoch,
        Epoch,
        Config,
        Quorum,
    )


@assumption
def one_commitment_is_the_first() -> Formula:
    """Among the epochs that committed something behind u, and have u in their history, one is the first."""
    s = Configured()

    def behind(e: Epoch, t: Transaction, u: Transaction) -> Formula:
        return s.committed(e, t) & s.history(e, u) & (u < t)

    def first(d: Epoch, v: Transaction, u: Transaction) -> Formula:
        return behind(d, v, u) & every(lambda g, x: behind(g, x, u) >> (d <= g), Epoch, Transaction)

    return every(
        lambda e, t, u: behind(e, t, u) >> some(lambda d, v: (d <= e) & first(d, v, u), Epoch, Transaction),
        Epoch,
        Transaction,
        Transaction,
    )
