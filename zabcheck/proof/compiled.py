"""Formulas as functions of Python: fast enough to judge each event of a long run.

`finite` judges a formula by walking through it. Here the formula is written once as an expression of Python, with
a loop for each variable of a quantifier; a condition is tested in the outermost loop in which all its variables
are known.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from functools import cache
from typing import Any

from zabcheck.proof.conjuncts import Claim
from zabcheck.proof.finite import Thing
from zabcheck.proof.logic import SORTS, Atom, Both, Config, Either, Equality, Exists, ForAll, Formula, Not, Term
from zabcheck.proof.relations import RELATIONS, Relations, State
from zabcheck.proof.steps import Replacement, Step

World = tuple[Any, ...]
"""A state: for each of `SORTS` a tuple of its things, then for each relation, in their order, its tuples.

Configurations, in their order, come last, if the relations are about them.
"""
Tuples = frozenset[tuple[Any, ...]]
"""The tuples of a relation, with things of the sorts in `RELATIONS`."""

Effect = Mapping[str, AbstractSet[tuple[Any, ...]]]
"""The tuples that a step adds, by relation."""
NOTHING: Tuples = frozenset()

_PLACES = {"epoch-of": 0, "under": 3}
"""The places of the parts of a transaction that have a name."""
_CONSTANTS = {"zero": "0", "first": "each_config[0]"}
"""The constants as expressions."""
_THINGS = {sort: f"each_{sort.__name__.lower()}" for sort in (*SORTS, Config)}


def world_of(
    things: Sequence[Sequence[Thing]], relations: Mapping[str, Tuples], about: type[Relations] = State
) -> World:
    """Return a world of these things, by the order of the sorts; a relation that is not named is empty."""
    first, more = things[: len(SORTS)], things[len(SORTS) :]
    return (*first, *(relations.get(name, frozenset()) for name in about.relations), *more)


def of(world: World, relation: str, about: type[Relations] = State) -> Tuples:
    """Return the tuples of a relation."""
    found: Tuples = world[about.places[relation]]
    return found


def with_more(world: World, relations: Effect, about: type[Relations] = State) -> World:
    """Return the world in which these relations have these tuples, too; one that has them already is not copied."""
    changed, places = list(world), about.places
    for name, tuples in relations.items():
        before = changed[places[name]]
        if not before >= tuples:
            changed[places[name]] = before | tuples
    return tuple(changed)


def additions(step: Step, world: World, things: Sequence[Thing]) -> Effect | None:
    """Return what a step with these things adds to each relation, None if it is not possible."""
    when, adds = _step(step)
    if not when(*world, *things):
        return None
    return {name: tuples(*world, *things) for name, tuples, _ in adds}


def is_possible(step: Step, world: World, things: Sequence[Thing]) -> bool:
    """Return True if a step with these things is possible."""
    return _step(step)[0](*world, *things)


def take(step: Step, world: World, things: Sequence[Thing]) -> World | None:
    """Return the world after a step with these things, None if it is not possible, as `finite.take` does."""
    when, adds = _step(step)
    if not when(*world, *things):
        return None
    changed, places = list(world), step.about.places
    for name, tuples, replaces in adds:
        found = frozenset(tuples(*world, *things))
        changed[places[name]] = found if replaces else changed[places[name]] | found
    return tuple(changed)


def broken(claim: Claim, world: World, about: type[Relations] = State) -> dict[str, Thing] | None:
    """Return the least things for which a claim is false, by the names of its variables. None if it is true."""
    found = _claim(claim, about)(*world)  # type: ignore[arg-type]  # a class is hashable
    if not found:
        return None
    least = min(found, key=lambda things: [*map(_order, things)])
    return {term.name: thing for term, thing in zip(claim.terms, least, strict=True)}


def _order(thing: Thing) -> tuple[int, str]:
    """Return the sort key of a thing; that of a set does not depend on the order in which its members are kept."""
    text = str(sorted(thing)) if isinstance(thing, frozenset) else str(thing)
    return len(text), text


@cache
def mentioned(claim: Claim, about: type[Relations] = State) -> frozenset[str]:
    """Return the names of the relations that a claim mentions."""
    return frozenset(_mentioned(claim.says(about(), *claim.terms)))


@cache
def read_by(step: Step) -> frozenset[str]:
    """Return the names of the relations on which the condition of a step, and its additions, depend."""
    change = step.change
    formulas = [change.when, *(addition.formula for addition in change.adds)]
    return frozenset(name for formula in formulas for name in _mentioned(formula)) & RELATIONS.keys()


@cache
def _step(step: Step) -> tuple[Callable[..., bool], list[tuple[str, Callable[..., Any], bool]]]:
    """Return the condition of a step and its additions, as functions of a world and things.

    Of an addition its relation comes first, and whether it replaces the content of that last.
    """
    change, known = step.change, _numbers(step.terms)
    adds = []
    for addition in change.adds:
        loops = _loops(addition.variables, addition.formula, known)
        text = f"{{{_tuple(addition.variables)} {loops}}}"
        adds.append((addition.relation, _function(step.about, step.terms, text), isinstance(addition, Replacement)))
    return _function(step.about, step.terms, _text(change.when, known)), adds


@cache
def _claim(claim: Claim, about: type[Relations]) -> Callable[..., set[tuple[Thing, ...]]]:
    """Return a function of a world that returns the things for which a claim is false."""
    loops = _loops(claim.terms, Not(claim.says(about(), *claim.terms)), frozenset())
    return _function(about, (), f"{{{_tuple(claim.terms)} {loops}}}")


def _function(about: type[Relations], terms: Iterable[Term], body: str) -> Callable[..., Any]:
    first, more = ([_THINGS[sort] for sort in sorts] for sorts in (SORTS, about.sorts[len(SORTS) :]))
    arguments = ", ".join([*first, *about.relations, *more, *map(_name, terms)])
    function: Callable[..., Any] = eval(f"lambda {arguments}: {body}")  # the text is ours: it has nothing from a user
    return function


def _text(formula: Formula, known: frozenset[int]) -> str:
    """Return a formula as an expression, where the variables of these numbers have a value."""
    match formula:
        case Atom("member", (node, quorum)):
            return f"{_name(node)} in {_name(quorum)}"
        case Atom("before" | "precedes" | "older", (one, other)):
            return f"{_name(one)} < {_name(other)}"
        case Atom("of", (quorum, configuration)):
            return f"{_name(configuration)}.has_quorum({_name(quorum)})"
        case Atom("makes", (change, configuration)):
            return f"{_name(change)}[4:] == ({_name(configuration)},)"
        case Atom(relation, terms, after):
            assert not after, "a world alone has no later one"
            return f"{_tuple(terms)} in {relation}"
        case Equality(one, other):
            return f"{_name(one)} == {_name(other)}"
        case Not(inner):
            return f"(not ({_text(inner, known)}))"
        case Both(formulas):
            return _joined(" and ", formulas, known, "True")
        case Either(formulas):
            return _joined(" or ", formulas, known, "False")
        case Exists(variables, inner):
            return f"any(True {_loops(variables, inner, known)})"
        case ForAll(variables, inner):
            return f"(not any(True {_loops(variables, Not(inner), known)}))"
    raise TypeError(f"not a formula: {formula!r}")


def _joined(word: str, formulas: Iterable[Formula], known: frozenset[int], none: str) -> str:
    parts = [_text(each, known) for each in formulas]
    return f"({word.join(parts)})" if parts else none


def _loops(variables: Sequence[Term], formula: Formula, known: frozenset[int]) -> str:
    """Return a loop for each variable, with the conditions that make the formula true of them."""
    conditions = _conditions(formula)
    written = []
    for variable in variables:
        said = next((each for each in conditions if _says(each, variable, known)), None)
        if isinstance(said, Equality):
            conditions.remove(said)
            written.append(f"for {_name(variable)} in ({_name(said.other if said.one is variable else said.one)},)")
        else:
            written.append(f"for {_name(variable)} in {_THINGS[type(variable)]}")
        known |= {variable.number}
        for each in [each for each in conditions if _free(each) <= known]:
            conditions.remove(each)
            written.append(f"if {_text(each, known)}")
    assert not conditions, "the variables of a quantifier are all that its formula adds"
    return " ".join(written)


def _conditions(formula: Formula) -> list[Formula]:
    """Return the parts of a formula that have to be true together."""
    match formula:
        case Both(formulas):
            return [part for each in formulas for part in _conditions(each)]
        case Not(Not(inner)):
            return _conditions(inner)
        case Not(Either(formulas)):
            return [part for each in formulas for part in _conditions(Not(each))]
    return [formula]


def _says(formula: Formula, variable: Term, known: frozenset[int]) -> bool:
    """Return True if a formula equates the variable with a term whose value is known."""
    if not isinstance(formula, Equality):
        return False
    one, other = formula.one, formula.other
    return (one is variable and _free(other) <= known) or (other is variable and _free(one) <= known)


def _free(it: Formula | Term) -> frozenset[int]:
    """Return the numbers of the variables whose values a formula or a term needs."""
    match it:
        case Term():
            return _free(it.of) if it.of is not None else frozenset() if it.constant else frozenset({it.number})
        case Atom(_, terms):
            return frozenset().union(*map(_free, terms))
        case Equality(one, other):
            return _free(one) | _free(other)
        case Not(inner):
            return _free(inner)
        case Both(formulas) | Either(formulas):
            return frozenset().union(*map(_free, formulas))
        case ForAll(variables, inner) | Exists(variables, inner):
            return _free(inner) - _numbers(variables)
    raise TypeError(f"not a formula: {it!r}")


def _mentioned(formula: Formula) -> Iterable[str]:
    match formula:
        case Atom(relation):
            return [relation]
        case Not(inner) | ForAll(_, inner) | Exists(_, inner):
            return _mentioned(inner)
        case Both(formulas) | Either(formulas):
            return [name for each in formulas for name in _mentioned(each)]
    return []


def _numbers(terms: Iterable[Term]) -> frozenset[int]:
    return frozenset(term.number for term in terms)


def _name(term: Term) -> str:
    if term.of is not None:
        return f"{_name(term.of)}[{_PLACES[term.name]}]"
    return _CONSTANTS[term.name] if term.constant else f"v{term.number}"


def _tuple(terms: Iterable[Term]) -> str:
    return "(" + "".join(f"{_name(term)}, " for term in terms) + ")"
