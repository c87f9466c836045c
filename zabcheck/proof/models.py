"""Finite models of what obligations assume: an obligation whose hypotheses contradict each other would prove nothing.

A model is data, which a certificate keeps. The hypotheses of an obligation's script are evaluated in it without a
solver: "for all" is a loop over the things of a sort. `finite` evaluates formulas before they are printed; here it is
the text that solvers read which has to be satisfiable. The models are the states of a run of the abstraction.
"""

from collections.abc import Iterator, Mapping
from itertools import product
from typing import TypeVar

from msgspec import Struct

from zabcheck.proof import smtlib
from zabcheck.proof.finite import CONSTANTS, FIXED, PARTS, Facts, Thing, Universe
from zabcheck.proof.obligations import Obligation
from zabcheck.proof.refutation import Expression, expressions, written
from zabcheck.proof.relations import Relations
from zabcheck.proof.subject import Subject

Value = TypeVar("Value")


class Model(Struct, frozen=True, forbid_unknown_fields=True):
    """A finite structure: things by their names, and what is true of them."""

    sorts: dict[str, list[str]]
    """The things of each sort."""
    functions: dict[str, dict[str, str]]
    """The values of each function of one argument."""
    constants: dict[str, str]
    """The thing that each constant stands for: `zero`, and what a step is about."""
    relations: dict[str, list[list[str]]]
    """All tuples of each relation."""


class Evaluation:
    """Evaluates formulas in a model."""

    def __init__(self, model: Model) -> None:
        self.model = model
        self.relations = {name: {tuple(each) for each in tuples} for name, tuples in model.relations.items()}
        self._true: set[Expression] = set()

    def false_in(self, text: str) -> Expression | None:
        """Return the first hypothesis of an obligation that is false in the model; None if all are true.

        ValueError if the model lacks something that a hypothesis is about. Exponential in the depth of quantifiers;
        what was found true is looked up, for most obligations have hypotheses in common.
        """
        *hypotheses, _ = [command[1] for command in expressions(text) if command[0] == "assert"]
        for each in hypotheses:
            if each not in self._true and not self.holds(each, self.model.constants):
                return each
            self._true.add(each)
        return None

    def holds(self, formula: Expression, known: Mapping[str, str]) -> bool:
        """Return True if a formula is true where the names in it stand for these things."""
        match formula:
            case "true" | "false":
                return bool(formula == "true")
            case ("not", denied):
                return not self.holds(denied, known)
            case ("and", *parts):
                return all(self.holds(each, known) for each in parts)
            case ("or", *parts):
                return any(self.holds(each, known) for each in parts)
            case ("forall", bound, body):
                return all(self.holds(body, each) for each in self._choices(bound, known))
            case ("exists", bound, body):
                return any(self.holds(body, each) for each in self._choices(bound, known))
            case ("=", one, other):
                return self._thing(one, known) == self._thing(other, known)
            case str(relation) if relation in self.relations:
                return () in self.relations[relation]
            case (str(relation), *terms) if relation in self.relations:
                return tuple(self._thing(each, known) for each in terms) in self.relations[relation]
        raise ValueError(f"no relation of {written(formula)[:80]}")

    def _choices(self, bound: Expression, known: Mapping[str, str]) -> Iterator[Mapping[str, str]]:
        names = [name for name, _ in bound]
        for things in product(*(_looked_up(self.model.sorts, sort) for _, sort in bound)):
            yield {**known, **dict(zip(names, things, strict=True))}

    def _thing(self, term: Expression, known: Mapping[str, str]) -> str:
        if isinstance(term, str):
            return _looked_up(known, term)
        function, argument = term
        return _looked_up(_looked_up(self.model.functions, function), self._thing(argument, known))


def _looked_up(table: Mapping[str, Value], name: str) -> Value:
    if name not in table:
        raise ValueError(f"no `{name}`")
    return table[name]


def models(subject: Subject) -> dict[str, Model]:
    """Return a model for the start, for the properties and for each step of the subject that the example run takes.

    The model of a step is the state before it, with what it is about.
    """
    theory = subject.theory()
    example, about, steps = theory.example, theory.about, {each.name for each in theory.steps}
    states = list(example.states())
    found = {"start": _model(about, example.universe, states[0], {})}
    for state, (step, things) in zip(states, example.steps, strict=False):
        if step.name in steps:
            _, names = smtlib.declarations(step)
            terms = dict(zip(names.values(), things, strict=True))
            found[step.name] = _model(about, example.universe, state, terms)
    return {**found, "property": _model(about, example.universe, states[-1], {})}


def of(obligation: Obligation) -> str:
    """Return the name of the model in which the hypotheses of an obligation are to be true."""
    return obligation.step.name if obligation.step is not None else obligation.kind


def _model(about: type[Relations], universe: Universe, facts: Facts, terms: Mapping[str, Thing]) -> Model:
    things = {sort.__name__: universe.all(sort) for sort in about.sorts}
    tuples: dict[str, list[list[str]]] = {name: [] for name in about.relations}
    for relation, holds_of in sorted(facts, key=str):
        tuples[relation].append([_name(each) for each in holds_of])
    fixed = {
        "member": ("Node", "Quorum"),
        "before": ("Epoch", "Epoch"),
        "precedes": ("Transaction", "Transaction"),
        "older": ("Config", "Config"),
        "of": ("Quorum", "Config"),
        "makes": ("Transaction", "Config"),
    }
    for relation, (one, other) in fixed.items():
        if one in things and other in things:
            pairs = product(things[one], things[other])
            tuples[relation] = [[_name(each) for each in pair] for pair in pairs if FIXED[relation](pair)]
    parts = {
        "epoch-of": ("Transaction", "Epoch"),
        "follower": ("Connection", "Node"),
        "under": ("Transaction", "Config"),
    }
    functions = {
        name: {_name(each): _name(PARTS[name](each)) for each in things[whole]}
        for name, (whole, part) in parts.items()
        if whole in things and part in things
    }
    sorts = {"zero": "Epoch", "first": "Config"}
    constants = {name: _name(CONSTANTS[name]) for name, sort in sorts.items() if sort in things}
    return Model(
        {sort: [_name(each) for each in every] for sort, every in things.items()},
        functions,
        {**constants, **{name: _name(thing) for name, thing in terms.items()}},
        tuples,
    )


def _name(thing: Thing) -> str:
    """Return the name of a thing: a process, a quorum of some, the number of an epoch, a zxid."""
    if isinstance(thing, frozenset):
        return " ".join(sorted(thing))
    if isinstance(thing, tuple):
        return f"{thing[0]}.{thing[1]}"
    return str(thing)
