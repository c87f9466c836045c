"""Formulas in SMT-LIB 2.6, the language that solvers read (smt-lib.org)."""

from collections.abc import Iterable, Mapping

from zabcheck.proof.logic import (
    SORTS,
    Atom,
    Both,
    Either,
    Exists,
    ForAll,
    Formula,
    Named,
    Not,
    Same,
    Term,
)
from zabcheck.proof.relations import RELATIONS
from zabcheck.proof.steps import Step

Names = dict[int, str]
"""The name of each variable that is known at a place of a formula, by its number."""


def preamble() -> list[str]:
    """Return the declarations that every obligation begins with."""
    return [
        "(set-logic UF)",
        *(f"(declare-sort {sort.__name__} 0)" for sort in SORTS),
        "(declare-const zero Epoch)",
        "(declare-fun before (Epoch Epoch) Bool)",
        "(declare-fun precedes (Transaction Transaction) Bool)",
        "(declare-fun epoch-of (Transaction) Epoch)",
        "(declare-fun member (Node Quorum) Bool)",
        *(f"(declare-fun {name} ({_sorts(sorts)}) Bool)" for name, sorts in RELATIONS.items()),
    ]


def declarations(step: Step) -> tuple[list[str], Names]:
    """Return the constants for the terms of a step, and their names."""
    names = _named(step.terms, {})
    return [f"(declare-const {names[t.number]} {type(t).__name__})" for t in step.terms], names


def after(step: Step, names: Names) -> list[str]:
    """Return the definition of each relation after the step."""
    lines = []
    added = {each.relation: each for each in step.change.adds}
    for name, sorts in RELATIONS.items():
        arguments = added[name].variables if name in added else tuple(sort("x") for sort in sorts)
        inside = _named(arguments, names)
        held = f"({name} {' '.join(inside[term.number] for term in arguments)})"
        body = f"(or {held} {text(added[name].formula, inside)})" if name in added else held
        lines.append(f"(define-fun {name}-after ({_bound(arguments, inside)}) Bool {body})")
    return lines


def text(formula: Formula, names: Mapping[int, str] | None = None) -> str:
    """Return a formula as text."""
    known = dict(names or {})
    match formula:
        case Atom(relation, terms, after):
            return f"({relation}{'-after' if after else ''} {' '.join(_term(term, known) for term in terms)})"
        case Same(one, other):
            return f"(= {_term(one, known)} {_term(other, known)})"
        case Named(name):
            return name
        case Not(inner):
            return f"(not {text(inner, known)})"
        case Both(formulas):
            return _joined("and", [text(each, known) for each in formulas], "true")
        case Either(formulas):
            return _joined("or", [text(each, known) for each in formulas], "false")
        case ForAll(variables, inner) | Exists(variables, inner):
            inside = _named(variables, known)
            word = "forall" if isinstance(formula, ForAll) else "exists"
            return f"({word} ({_bound(variables, inside)}) {text(inner, inside)})"
    raise TypeError(f"not a formula: {formula!r}")


def _joined(word: str, parts: list[str], none: str) -> str:
    if len(parts) < 2:
        return parts[0] if parts else none
    return f"({word} {' '.join(parts)})"


def _term(term: Term, names: Names) -> str:
    if term.of is not None:
        return f"({term.name} {_term(term.of, names)})"
    return term.name if term.constant else names[term.number]


def _named(terms: Iterable[Term], known: Names) -> Names:
    """Return the names with those of these terms, each distinguished from the others by a number where needed."""
    names = dict(known)
    for term in terms:
        taken = set(names.values()) | {"zero"}
        name, more = term.name, 1
        while name in taken:
            more += 1
            name = f"{term.name}{more}"
        names[term.number] = name
    return names


def _sorts(sorts: Iterable[type[Term]]) -> str:
    return " ".join(sort.__name__ for sort in sorts)


def _bound(terms: Iterable[Term], names: Names) -> str:
    return " ".join(f"({names[term.number]} {type(term).__name__})" for term in terms)
