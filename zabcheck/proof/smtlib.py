"""Formulas in SMT-LIB 2.6, the language that solvers read (smt-lib.org)."""

from collections.abc import Iterable, Mapping

from zabcheck.proof.logic import (
    Atom,
    Both,
    Config,
    Connection,
    Either,
    Epoch,
    Equality,
    Exists,
    ForAll,
    Formula,
    NamedConstant,
    Node,
    Not,
    Quorum,
    Term,
    Transaction,
)
from zabcheck.proof.relations import Relations
from zabcheck.proof.steps import Replacement, Step

Names = dict[int, str]
"""The name of each variable that is known at a place of a formula, by its number."""


FIXED: dict[str, tuple[type[Term], ...]] = {
    "(declare-const zero Epoch)": (Epoch,),
    "(declare-fun before (Epoch Epoch) Bool)": (Epoch,),
    "(declare-fun precedes (Transaction Transaction) Bool)": (Transaction,),
    "(declare-fun epoch-of (Transaction) Epoch)": (Transaction, Epoch),
    "(declare-fun member (Node Quorum) Bool)": (Node, Quorum),
    "(declare-fun follower (Connection) Node)": (Connection, Node),
    "(declare-const first Config)": (Config,),
    "(declare-fun older (Config Config) Bool)": (Config,),
    "(declare-fun under (Transaction) Config)": (Transaction, Config),
    "(declare-fun makes (Transaction Config) Bool)": (Transaction, Config),
    "(declare-fun of (Quorum Config) Bool)": (Quorum, Config),
}
"""The declarations of what no step changes, each with the sorts that it is about."""


def preamble(about: type[Relations]) -> list[str]:
    """Return the declarations that an obligation about these relations begins with."""
    return [
        "(set-logic UF)",
        *(f"(declare-sort {sort.__name__} 0)" for sort in about.sorts),
        *(line for line, sorts in FIXED.items() if {*sorts} <= {*about.sorts}),
        *(f"(declare-fun {name} ({_sorts(sorts)}) Bool)" for name, sorts in about.relations.items()),
    ]


def declarations(step: Step) -> tuple[list[str], Names]:
    """Return the constants for the terms of a step, and their names."""
    names = _named(step.terms, {})
    return [f"(declare-const {names[t.number]} {type(t).__name__})" for t in step.terms], names


def after(about: type[Relations], step: Step, names: Names) -> list[str]:
    """Return the definition of each of these relations after the step."""
    lines = []
    added = {each.relation: each for each in step.change.adds}
    for name, sorts in about.relations.items():
        arguments = added[name].variables if name in added else tuple(sort("x") for sort in sorts)
        inside = _named(arguments, names)
        held = _applied(name, [inside[term.number] for term in arguments])
        body = held
        if name in added:
            body = text(added[name].formula, inside)
            if not isinstance(added[name], Replacement):
                body = f"(or {held} {body})"
        lines.append(f"(define-fun {name}-after ({_bound(arguments, inside)}) Bool {body})")
    return lines


def text(formula: Formula, names: Mapping[int, str] | None = None) -> str:
    """Return a formula as text."""
    known = dict(names or {})
    match formula:
        case Atom(relation, terms, after):
            return _applied(f"{relation}{'-after' if after else ''}", [_term(term, known) for term in terms])
        case Equality(one, other):
            return f"(= {_term(one, known)} {_term(other, known)})"
        case NamedConstant(name):
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


def _applied(name: str, terms: list[str]) -> str:
    return f"({name} {' '.join(terms)})" if terms else name


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
        taken = set(names.values()) | {"zero", "first"}
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
