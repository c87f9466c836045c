"""The abstraction in a small universe: a few named processes, epochs and transactions.

There every formula is a finite one: "for all" is a long "and". A step can be taken in it, which gives runs; and a
solver finds a counterexample to induction in it, or proves that this universe has none.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import combinations, product
from typing import Any

from msgspec import Struct

from zabcheck.proof.logic import (
    FALSE,
    TRUE,
    Atom,
    Both,
    Config,
    Connection,
    Either,
    Equality,
    Exists,
    ForAll,
    Formula,
    Node,
    Not,
    Quorum,
    Term,
    Transaction,
)
from zabcheck.proof.logic import Epoch as EpochTerm
from zabcheck.proof.relations import State
from zabcheck.proof.steps import Replacement, Step, start


class Configuration(Struct, frozen=True, order=True):
    """A configuration: its place in the order of configurations, and its members."""

    number: int
    members: tuple[str, ...]

    def __str__(self) -> str:
        return f"config {','.join(self.members)}"

    def has_quorum(self, processes: frozenset[str]) -> bool:
        """Return True if more than half of the members are among these processes."""
        return 2 * len(processes & {*self.members}) > len(self.members)


FIRST_OF_THREE = Configuration(0, ("p1", "p2", "p3"))
"""The first configuration in a small universe."""
Txn = (
    tuple[int, int]
    | tuple[int, int, str]
    | tuple[int, int, str, Configuration]
    | tuple[int, int, str, Configuration, Configuration]
)
Thing = str | int | frozenset[str] | Txn | tuple[str, int] | Configuration
"""A process is a name, an epoch a number, a quorum a set of names, a transaction its zxid, with its value if any.

Behind the value come the configuration that governs before the transaction, and the one that it makes, if any.

A connection is the follower's name and a number.
"""
Fact = tuple[str, tuple[Thing, ...]]
"""A relation, and the things that it holds of."""
Bound = dict[int, Thing]
"""The values of a formula's variables, by their numbers."""


class Universe(Struct, frozen=True):
    """A finite universe: the things of each sort, in their order."""

    nodes: tuple[str, ...]
    quorums: tuple[frozenset[str], ...]
    epochs: tuple[int, ...]
    transactions: tuple[Txn, ...]
    connections: tuple[tuple[str, int], ...] = ()
    configurations: tuple[Configuration, ...] = ()

    def all(self, sort: type[Term]) -> Sequence[Thing]:
        """Return all things of a sort."""
        things: dict[type[Term], Sequence[Thing]] = {
            Node: self.nodes,
            Quorum: self.quorums,
            EpochTerm: self.epochs,
            Transaction: self.transactions,
            Connection: self.connections,
            Config: self.configurations,
        }
        return things[sort]


def majorities(nodes: Sequence[str], size: int | None = None) -> tuple[frozenset[str], ...]:
    """Return the quorums of this size: of the smallest majority, if None. Larger sets add nothing."""
    return tuple(frozenset(each) for each in combinations(nodes, size or len(nodes) // 2 + 1))


THREE = ("p1", "p2", "p3")
SMALL = Universe(THREE, majorities(THREE), (0, 1, 2, 3), ((1, 1, "a"), (1, 2, "b"), (2, 1, "c"), (3, 1, "d")))
"""Three processes, three epochs and four transactions: enough for all counterexamples that we know."""
HALVES = Universe(THREE, majorities(THREE, 1), SMALL.epochs, SMALL.transactions)
"""The same where half of the processes, rounded down, are a quorum: two quorums need not intersect."""


FIXED: dict[str, Callable[[Any], bool]] = {
    "member": lambda things: things[0] in things[1],
    "before": lambda things: things[0] < things[1],
    "precedes": lambda things: things[0][:2] < things[1][:2],
    "older": lambda things: things[0].number < things[1].number,
    "of": lambda things: things[1].has_quorum(things[0]),
    "makes": lambda things: things[0][4:] == (things[1],),
}
"""The relations that no step changes, each with the test of the things that it may hold of."""
PARTS: dict[str, Callable[[Any], Thing]] = {
    "epoch-of": lambda whole: whole[0],
    "follower": lambda whole: whole[0],
    "under": lambda whole: whole[3],
}
"""The parts of things that have a name, by the functions that name them."""
CONSTANTS: dict[str, Thing] = {"zero": 0, "first": FIRST_OF_THREE}
"""The things that constants stand for."""


def ground(formula: Formula, universe: Universe, bound: Bound, fact: Callable[[Fact, bool], Formula]) -> Formula:
    """Return the formula without quantifiers; `fact` returns the formula of an atom, before the step or after it."""
    match formula:
        case Atom(relation, terms, after):
            things = tuple(thing(term, bound) for term in terms)
            if relation in FIXED:
                return TRUE if FIXED[relation](things) else FALSE
            return fact((relation, things), after)
        case Equality(one, other):
            return TRUE if thing(one, bound) == thing(other, bound) else FALSE
        case Not(inner):
            denied = ground(inner, universe, bound, fact)
            return FALSE if denied == TRUE else TRUE if denied == FALSE else Not(denied)
        case Both(formulas):
            return _both(ground(each, universe, bound, fact) for each in formulas)
        case Either(formulas):
            return _either(ground(each, universe, bound, fact) for each in formulas)
        case ForAll(variables, inner):
            return _both(ground(inner, universe, each, fact) for each in bindings(variables, universe, bound))
        case Exists(variables, inner):
            return _either(ground(inner, universe, each, fact) for each in bindings(variables, universe, bound))
    raise TypeError(f"not a formula: {formula!r}")


def thing(term: Term, bound: Mapping[int, Thing]) -> Thing:
    """Return the value of a term."""
    if term.of is not None:
        whole = thing(term.of, bound)
        assert isinstance(whole, tuple), "only transactions and connections have a part with a name"
        return PARTS[term.name](whole)
    return CONSTANTS[term.name] if term.constant else bound[term.number]


def bindings(variables: Sequence[Term], universe: Universe, bound: Bound) -> Iterator[Bound]:
    """Yield `bound` with the variables standing for each choice of things in turn."""
    for things in product(*(universe.all(type(variable)) for variable in variables)):
        yield {**bound, **{variable.number: each for variable, each in zip(variables, things, strict=True)}}


def _both(formulas: Iterable[Formula]) -> Formula:
    parts = []
    for each in formulas:
        if each == FALSE:
            return FALSE
        if each != TRUE:
            parts.append(each)
    return parts[0] if len(parts) == 1 else Both(tuple(parts))


def _either(formulas: Iterable[Formula]) -> Formula:
    parts = []
    for each in formulas:
        if each == TRUE:
            return TRUE
        if each != FALSE:
            parts.append(each)
    return parts[0] if len(parts) == 1 else Either(tuple(parts))


Facts = frozenset[Fact]
"""A state: all its facts."""


def _in(facts: Facts) -> Callable[[Fact, bool], Formula]:
    """Return a function that returns the truth of a fact."""

    def fact(each: Fact, after: bool) -> Formula:
        assert not after, "a state alone has no later one"
        return TRUE if each in facts else FALSE

    return fact


def holds(formula: Formula, universe: Universe, facts: Facts, bound: Bound | None = None) -> bool:
    """Return True if a formula about the state before a step is true in this state."""
    return ground(formula, universe, bound or {}, _in(facts)) == TRUE


def at_start(universe: Universe) -> Facts:
    """Return the state that a run begins in: every process is in epoch 0."""
    facts: Facts = frozenset({("opened", (0,)), *(("adopted", (node, 0)) for node in universe.nodes)})
    assert holds(start(State()), universe, facts)
    return facts


def added(step: Step, universe: Universe, bound: Bound, fact: Callable[[Fact, bool], Formula]) -> dict[Fact, Formula]:
    """Return the facts that a step may add, or keep if it replaces their relation, each with its condition."""
    found: dict[Fact, Formula] = {}
    for addition in step.change.adds:
        for each in bindings(addition.variables, universe, bound):
            formula = ground(addition.formula, universe, each, fact)
            if formula != FALSE:
                found[addition.relation, tuple(each[variable.number] for variable in addition.variables)] = formula
    return found


def replaced(step: Step) -> set[str]:
    """Return the names of the relations whose content a step replaces."""
    return {each.relation for each in step.change.adds if isinstance(each, Replacement)}


def take(step: Step, universe: Universe, facts: Facts, things: Sequence[Thing]) -> Facts | None:
    """Return the state after a step with these things, None if it is not possible."""
    bound = bindings_of(step, things)
    if not holds(step.change.when, universe, facts, bound):
        return None
    gone = replaced(step)
    return frozenset(fact for fact in facts if fact[0] not in gone) | added(step, universe, bound, _in(facts)).keys()


def bindings_of(step: Step, things: Sequence[Thing]) -> Bound:
    """Return the values of a step's terms."""
    return {term.number: each for term, each in zip(step.terms, things, strict=True)}
