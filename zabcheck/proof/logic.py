"""First-order logic, as much of it as the proofs need: terms, formulas, and quantifiers over six kinds of thing.

A formula is data. It is printed for a solver (`smtlib`), or judged in a universe of a few named things (`finite`).
"""

import inspect
from collections.abc import Callable
from itertools import count
from typing import Any

from msgspec import Struct

_numbers = count()


class Term:
    """A term of a formula: a variable, a constant, or the epoch of a transaction.

    Two variables are the same one if they are the same object, whatever their names: the printer distinguishes names.
    """

    def __init__(self, name: str, of: "Term | None" = None, constant: bool = False) -> None:
        self.name = name
        self.of = of
        self.constant = constant
        self.number = next(_numbers)


class Node(Term):
    """A process."""


class Quorum(Term):
    """A quorum: a set of processes, with the relation `member`."""


class Epoch(Term):
    """An epoch; epoch 0 is the one before all others."""

    def __lt__(self, other: "Epoch") -> "Formula":
        return Atom("before", (self, other))

    def __le__(self, other: "Epoch") -> "Formula":
        return (self < other) | same(self, other)


class Transaction(Term):
    """A transaction, named by its zxid; the order of transactions is that of their zxids."""

    def __lt__(self, other: "Transaction") -> "Formula":
        return Atom("precedes", (self, other))

    def __le__(self, other: "Transaction") -> "Formula":
        return (self < other) | same(self, other)


class Connection(Term):
    """A connection of a follower to a leader, from CEPOCH until it is closed."""


class Config(Term):
    """A configuration; configurations are ordered as the changes that make them, the first one before all others."""

    def __lt__(self, other: "Config") -> "Formula":
        return Atom("older", (self, other))

    def __le__(self, other: "Config") -> "Formula":
        return (self < other) | same(self, other)


SORTS: tuple[type[Term], ...] = (Node, Quorum, Epoch, Transaction)
"""The things that the proof of safety is about."""
ZERO = Epoch("zero", constant=True)
"""The epoch before all others, in which every process begins, with an empty history."""


FIRST = Config("first", constant=True)
"""The configuration that processes start with; no change makes it."""


def epoch_of(t: Transaction) -> Epoch:
    """Return epoch(z) of the transaction's zxid."""
    return Epoch("epoch-of", of=t)


def follower(c: Connection) -> Node:
    """Return the process at the other end of a leader's connection."""
    return Node("follower", of=c)


def under(t: Transaction) -> Config:
    """Return the configuration that governs before a transaction, as far as its history tells."""
    return Config("under", of=t)


def of(q: Quorum, c: Config) -> "Formula":
    """Return the formula that the processes are a quorum of the configuration."""
    return Atom("of", (q, c))


def makes(t: Transaction, c: Config) -> "Formula":
    """Return the formula that the transaction is the change to the configuration."""
    return Atom("makes", (t, c))


def member(n: Node, q: Quorum) -> "Formula":
    """Return the formula that the process is in the quorum."""
    return Atom("member", (n, q))


class Formula(Struct, frozen=True):
    """A formula: true or false in a state."""

    def __and__(self, other: "Formula") -> "Formula":
        return Both((self, other))

    def __or__(self, other: "Formula") -> "Formula":
        return Either((self, other))

    def __invert__(self) -> "Formula":
        return Not(self)

    def __rshift__(self, other: "Formula") -> "Formula":
        """Return the formula that the first implies the second."""
        return Either((Not(self), other))


class Atom(Formula, frozen=True):
    """A relation that holds of these terms; `after` if it is meant after the step."""

    relation: str
    terms: tuple[Term, ...]
    after: bool = False


class Equality(Formula, frozen=True):
    """Two terms that are the same thing."""

    one: Term
    other: Term


class Not(Formula, frozen=True):
    """A formula that is false."""

    formula: Formula


class Both(Formula, frozen=True):
    """Formulas that are all true; none at all is truth itself."""

    formulas: tuple[Formula, ...]


class Either(Formula, frozen=True):
    """Formulas of which at least one is true; none at all is falsehood."""

    formulas: tuple[Formula, ...]


class ForAll(Formula, frozen=True):
    """A formula that is true of everything of these kinds."""

    variables: tuple[Term, ...]
    formula: Formula


class Exists(Formula, frozen=True):
    """A formula that is true of something of these kinds."""

    variables: tuple[Term, ...]
    formula: Formula


class NamedConstant(Formula, frozen=True):
    """A constant of a solver's script, true or false."""

    name: str


TRUE, FALSE = Both(()), Either(())


def same(one: Term, other: Term) -> Formula:
    """Return the formula that two terms are the same thing."""
    return Equality(one, other)


def every(body: Callable[..., Formula], *sorts: type[Term]) -> Formula:
    """Return the formula that `body` is true of everything; its parameters are of these sorts."""
    variables = _variables(body, sorts)
    return ForAll(variables, body(*variables))


def some(body: Callable[..., Formula], *sorts: type[Term]) -> Formula:
    """Return the formula that `body` is true of something; its parameters are of these sorts."""
    variables = _variables(body, sorts)
    return Exists(variables, body(*variables))


def _variables(body: Callable[..., Formula], sorts: tuple[type[Term], ...]) -> tuple[Term, ...]:
    names = list(inspect.signature(body).parameters)
    assert len(names) == len(sorts)
    return tuple(sort(name) for name, sort in zip(names, sorts, strict=True))


def parameters(function: Callable[..., Any]) -> tuple[Term, ...]:
    """Return a term for each annotated parameter of a definition: those that are processes, epochs and so on."""
    found = [(p.name, p.annotation) for p in inspect.signature(function).parameters.values()]
    return tuple(sort(name) for name, sort in found if isinstance(sort, type) and issubclass(sort, Term))
