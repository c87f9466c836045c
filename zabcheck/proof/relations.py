"""The state of the abstraction: relations that record what has happened, over any number of processes and epochs.

Relations only grow. So a message that is lost, late or repeated needs no step: its content stays true, and a receiver
may act on it at any later time, or never. A crash needs none either: each relation records what is on a disk (or
in a message that left after it was), and a disk forgets nothing that it has synced.
"""

from collections.abc import Callable
from functools import wraps
from typing import Any, ClassVar, Protocol

from zabcheck.proof.logic import SORTS, Atom, Epoch, Formula, Node, Term, Transaction, parameters


def relation(function: Callable[..., None]) -> Callable[..., Formula]:
    """Make a relation of a definition that has only a name, arguments and a docstring."""
    name = function.__name__

    @wraps(function)
    def atom(self: "Relations", *terms: Any) -> Formula:
        return Atom(name, terms, self.after)

    atom.is_relation = True  # type: ignore[attr-defined]
    return atom


class Relations:
    """Some relations, each of which its subclass defines: those before a step or, if `after`, after it."""

    sorts: ClassVar[tuple[type[Term], ...]]
    """The things that the relations are about."""
    relations: ClassVar[dict[str, tuple[type[Term], ...]]]
    """Each relation by its name, with the sorts of its arguments."""
    places: ClassVar[dict[str, int]]
    """The place of each relation in a tuple that has the things of each sort first (`compiled.World`)."""

    def __init_subclass__(cls) -> None:
        own = {name: each for name, each in vars(cls).items() if hasattr(each, "is_relation")}
        new = {name: tuple(type(term) for term in parameters(each)) for name, each in own.items()}
        cls.relations = {**getattr(cls, "relations", {}), **new}
        cls.places = {name: place for place, name in enumerate(cls.relations, len(SORTS))}

    def __init__(self, after: bool = False) -> None:
        self.after = after


class State(Relations):
    """The relations of the proof of safety."""

    sorts = SORTS

    @relation
    def promised(self, n: Node, e: Epoch, l: Node) -> None:
        """n promised e to l, with an ACK-E that counts (f.1.2)."""

    @relation
    def left(self, n: Node, e: Epoch) -> None:
        """n promised an epoch later than e, so f.p > e."""

    @relation
    def led(self, e: Epoch, l: Node) -> None:
        """l chose the initial history of e: it leads e (l.1.2)."""

    @relation
    def opened(self, e: Epoch) -> None:
        """The initial history of e is chosen; that of epoch 0 is empty (definition IV.2)."""

    @relation
    def initial(self, e: Epoch, t: Transaction) -> None:
        """t is in I_e, the initial history of e."""

    @relation
    def adopted(self, n: Node, e: Epoch) -> None:
        """n set f.a to e (f.2.1)."""

    @relation
    def accepted(self, n: Node, e: Epoch, t: Transaction) -> None:
        """n accepted t in e: in I_e (f.2.1), or as a proposal (f.3.2). It is on n's disk, and n acknowledges it."""

    @relation
    def established(self, e: Epoch, l: Node) -> None:
        """A quorum adopted e from l (definition V.1)."""

    @relation
    def proposed(self, e: Epoch, t: Transaction) -> None:
        """The primary of e broadcast t (l.3.1)."""

    @relation
    def knew(self, u: Transaction, t: Transaction) -> None:
        """The primary that broadcast u had delivered t when it did, in whatever incarnation."""

    @relation
    def committed(self, e: Epoch, t: Transaction) -> None:
        """A quorum acknowledged t to the leader of e (l.2.2, l.3.2)."""

    @relation
    def delivered(self, n: Node, t: Transaction) -> None:
        """n delivered t, in this incarnation or an earlier one, or took it over with a snapshot (f.2.2, f.3.3)."""

    def history(self, e: Epoch, t: Transaction) -> Formula:
        """Return H(e, t): t is in the history of e, which is the initial one and the later broadcasts."""
        return self.initial(e, t) | self.proposed(e, t)


class WithHistories(Protocol):
    """A state in which epochs have histories."""

    def history(self, e: Epoch, t: Transaction) -> Formula:
        """Return H(e, t): t is in the history of e."""


RELATIONS = State.relations
"""Each relation by its name, with the sorts of its arguments."""
