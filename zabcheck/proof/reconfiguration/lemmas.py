"""Lemmas about choosing an initial history: the chain of configurations leads to each that was committed before.

The last one is the argument of the protocol. Of what was committed in earlier epochs let m be the first that the chosen
history lacks. The change to the configuration that governs m is not missing, so the new leader asks a quorum of that,
or begins in a later one.
"""

from msgspec import Struct

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
    of,
    same,
    some,
    under,
)
from zabcheck.proof.obligations import Lemma
from zabcheck.proof.reconfiguration.relations import Configured
from zabcheck.proof.reconfiguration.steps import choose, choose_empty


class Choice(Struct, frozen=True):
    """The terms of both steps that choose an initial history."""

    e: Epoch
    q: Quorum
    b: Node
    a: Epoch
    c: Config
    m: Transaction

    def is_found(self, s: Configured, c: Config) -> Formula:
        """Return the formula that the history has the change to c, or that c is the first configuration."""
        return same(c, FIRST) | some(lambda u: makes(u, c) & s.accepted(self.b, self.a, u), Transaction)

    def is_missing(self, s: Configured, d: Epoch, t: Transaction) -> Formula:
        """Return the formula that t was committed in d, before e, and the history lacks it."""
        return s.committed(d, t) & (d < self.e) & ~s.accepted(self.b, self.a, t)


def base_is_found(s: Configured, x: Choice) -> Formula:
    """The history has the change to the configuration that the epoch begins in."""
    return x.is_found(s, x.c)


def its_configuration_is_found(s: Configured, x: Choice) -> Formula:
    """The history has the change to the configuration that governs the first that is missing."""
    return every(lambda d: x.is_missing(s, d, x.m) >> x.is_found(s, under(x.m)), Epoch)


def its_configuration_is_earlier(s: Configured, x: Choice) -> Formula:
    """The configuration that governs the first that is missing is earlier than the one that the epoch begins in."""
    return every(lambda d: x.is_missing(s, d, x.m) >> (under(x.m) < x.c), Epoch)


def both_are_in_one_history(s: Configured, x: Choice) -> Formula:
    """The first that is missing is in a history that has the change to the configuration that the epoch begins in."""

    def shared(g: Epoch, u: Transaction) -> Formula:
        return makes(u, x.c) & s.history(g, u) & s.history(g, x.m)

    return every(lambda d: x.is_missing(s, d, x.m) >> some(shared, Epoch, Transaction), Epoch)


def nothing_is_missing(s: Configured, x: Choice) -> Formula:
    """The history has all that was committed in earlier epochs."""
    return every(lambda d, t: ~x.is_missing(s, d, t), Epoch, Transaction)


def no_second_leader(s: Configured, x: Choice) -> Formula:
    """The epoch has no initial history yet."""
    return ~s.opened(x.e)


def _lemmas(step, says):
    def of(s: Configured, *terms: object) -> Formula:
        named = {each.name: each for each in step.terms}
        return says(s, Choice(*(named[name] for name in "eqbacm")))

    name = says.__name__.replace("_", " ")
    return Lemma(name, says.__doc__ or "", (), of, step=step)


LEMMAS = tuple(
    _lemmas(step, says)
    for step in (choose, choose_empty)
    for says in (
        base_is_found,
        its_configuration_is_found,
        its_configuration_is_earlier,
        both_are_in_one_history,
        nothing_is_missing,
        no_second_leader,
    )
)
"""The lemmas, in the order in which they follow."""
