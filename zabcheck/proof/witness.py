"""The witness of a broken claim: those facts of a state that make the claim false, the missing ones too."""

from collections.abc import Iterator

from zabcheck.proof.finite import Bound, Fact, Facts, Universe, bindings, holds, thing
from zabcheck.proof.logic import Atom, Both, Either, Exists, ForAll, Formula, Not
from zabcheck.proof.relations import RELATIONS

Seen = tuple[Fact, bool]
"""A fact, and whether it is so."""


def witness(formula: Formula, universe: Universe, facts: Facts, bound: Bound) -> tuple[Seen, ...]:
    """Return facts that decide whether a formula is true, each once, in the order in which the formula has them.

    Where one part decides, such as a false part of an "and", only the first such part is followed. What is so in
    every state, such as the order of two zxids, is no fact.
    """
    return tuple(dict.fromkeys(_deciding(formula, universe, facts, bound)))


def _deciding(formula: Formula, universe: Universe, facts: Facts, bound: Bound) -> Iterator[Seen]:
    match formula:
        case Atom(relation, terms):
            if relation in RELATIONS:
                fact = relation, tuple(thing(term, bound) for term in terms)
                yield fact, fact in facts
        case Not(inner):
            yield from _deciding(inner, universe, facts, bound)
        case Both(formulas) | Either(formulas):
            yield from _of_parts(isinstance(formula, Both), [(part, bound) for part in formulas], universe, facts)
        case ForAll(variables, inner) | Exists(variables, inner):
            parts = [(inner, each) for each in bindings(variables, universe, bound)]
            yield from _of_parts(isinstance(formula, ForAll), parts, universe, facts)


def _of_parts(is_and: bool, parts: list[tuple[Formula, Bound]], universe: Universe, facts: Facts) -> Iterator[Seen]:
    """Yield what decides an "and" or an "or": the first part that alone does, or else all parts."""
    alone = [part for part in parts if holds(part[0], universe, facts, part[1]) is not is_and]
    for inner, bound in alone[:1] or parts:
        yield from _deciding(inner, universe, facts, bound)
