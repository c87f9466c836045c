"""The assumptions about epochs, transactions and quorums. There are no others; their number is not assumed either."""

from collections.abc import Callable

from zabcheck.proof.logic import ZERO, Epoch, Formula, Node, Quorum, Transaction, epoch_of, every, member, same, some

ASSUMPTIONS: dict[str, Formula] = {}
"""Each assumption by its name."""


def assumed(among: dict[str, Formula]) -> Callable[[Callable[[], Formula]], Callable[[], Formula]]:
    """Add a definition to some assumptions, by its name."""

    def add(function: Callable[[], Formula]) -> Callable[[], Formula]:
        among[function.__name__.replace("_", " ")] = function()
        return function

    return add


assumption = assumed(ASSUMPTIONS)


@assumption
def quorums_intersect() -> Formula:
    """Any two quorums have a process in common (definition II.1)."""
    return every(lambda q, r: some(lambda n: member(n, q) & member(n, r), Node), Quorum, Quorum)


@assumption
def epochs_are_ordered() -> Formula:
    """Epochs are totally ordered, and 0 is the first."""
    return (
        every(lambda e: ~(e < e) & (ZERO <= e), Epoch)
        & every(lambda e, f: (e < f) | (f < e) | same(e, f), Epoch, Epoch)
        & every(lambda e, f, g: ((e < f) & (f < g)) >> (e < g), Epoch, Epoch, Epoch)
    )


@assumption
def transactions_are_ordered() -> Formula:
    """Transactions are totally ordered by their zxids."""
    return (
        every(lambda t: ~(t < t), Transaction)
        & every(lambda t, u: (t < u) | (u < t) | same(t, u), Transaction, Transaction)
        & every(lambda t, u, v: ((t < u) & (u < v)) >> (t < v), Transaction, Transaction, Transaction)
    )


@assumption
def epochs_come_first() -> Formula:
    """A zxid is ordered by its epoch first: a smaller one is of the same epoch or an earlier one (section III)."""
    return every(lambda t, u: (t < u) >> (epoch_of(t) <= epoch_of(u)), Transaction, Transaction)
