"""A counterexample to induction: a small state of the invariant, and a step after which a conjunct is broken.

Such a state need not be one that a run reaches. If it is not, the invariant is too weak, not the protocol wrong.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import product

from msgspec import Struct

from zabcheck.proof import smtlib
from zabcheck.proof.finite import (
    FIXED,
    Bound,
    Fact,
    Facts,
    Thing,
    Universe,
    bindings,
    bindings_of,
    ground,
    holds,
    replaced,
    take,
    thing,
)
from zabcheck.proof.implemented.servers import Servers
from zabcheck.proof.liveness.iteration import Iteration
from zabcheck.proof.logic import FALSE, Atom, Both, Either, Equality, Exists, ForAll, Formula, NamedConstant, Not, Term
from zabcheck.proof.obligations import Obligation
from zabcheck.proof.reconfiguration.relations import Configured
from zabcheck.proof.relations import Relations, State

SHOWN = {
    "promised": ("{0} promised {1} to {2}", "{0} did not promise {1} to {2}"),
    "led": ("{1} leads {0}", "{1} does not lead {0}"),
    "initial": ("{1} is in the initial history of {0}", "{1} is not in the initial history of {0}"),
    "adopted": ("{0} adopted {1}", "{0} did not adopt {1}"),
    "accepted": ("{0} accepted {2} in {1}", "{0} did not accept {2} in {1}"),
    "opened": ("{0} has an initial history", "{0} has no initial history"),
    "established": ("{1} is established in {0}", "{1} is not established in {0}"),
    "proposed": ("{1} was broadcast in {0}", "{1} was not broadcast in {0}"),
    "knew": ("the primary of {0} had delivered {1}", "the primary of {0} had not delivered {1}"),
    "committed": ("{1} was committed in {0}", "{1} was not committed in {0}"),
    "delivered": ("{0} delivered {1}", "{0} did not deliver {1}"),
    "left": ("{0} left {1}", "{0} did not leave {1}"),
}
"""The sentences that state and deny a fact of each relation, in the order in which facts are told."""
SHOWN_WITH_CONFIGURATIONS = {
    **SHOWN,
    "base": ("{0} began in {1}", "{0} did not begin in {1}"),
    "asked": ("{1} asked for promises of {0} in {2}", "{1} did not ask for promises of {0} in {2}"),
    "active": ("{1} was active at {0}", "{1} was not active at {0}"),
}
"""The same with configurations that change."""
SHOWN_OF_AN_ITERATION = {
    "leads": ("{0} is the leader", "{0} is not the leader"),
    "lasting": ("{0} is never closed", "{0} may be closed"),
    "abandoned": ("before {0} its follower's leader closed their connection", "before {0} no leader closed theirs"),
    "promised": ("{0}: f.p is {1}", "{0}: f.p is not {1}"),
    "has_history": ("{0} has {1} in the history that it provides", "{0} does not have {1} in its history"),
    "opened": ("CEPOCH was sent on {0}", "no CEPOCH was sent on {0}"),
    "asked": ("the leader has the CEPOCH of {0}", "the leader does not have the CEPOCH of {0}"),
    "counted": ("a CEPOCH of {0} counts", "no CEPOCH of {0} counts"),
    "returned": ("{0} has come back", "{0} has not come back"),
    "epoch_chosen": ("e' is chosen", "e' is not chosen"),
    "new": ("e' is {0}", "e' is not {0}"),
    "in_time": ("the leader had the CEPOCH of {0} when it chose e'", "the CEPOCH of {0} came after e' was chosen"),
    "offered": ("NEWEPOCH was sent on {0}", "no NEWEPOCH was sent on {0}"),
    "answered": ("ACK-E was sent on {0}", "no ACK-E was sent on {0}"),
    "discovered": ("the leader has the ACK-E of {0}", "the leader does not have the ACK-E of {0}"),
    "provided": ("{0} provided its history", "{0} did not provide its history"),
    "history_chosen": ("I_e' is chosen", "I_e' is not chosen"),
    "initial": ("{0} is in I_e'", "{0} is not in I_e'"),
    "sent_history": ("NEWLEADER was sent on {0}", "no NEWLEADER was sent on {0}"),
    "carried": ("the NEWLEADER of {0} has {1}", "the NEWLEADER of {0} does not have {1}"),
    "adopted": ("ACK-LD was sent on {0}", "no ACK-LD was sent on {0}"),
    "synced": ("the leader has the ACK-LD of {0}", "the leader does not have the ACK-LD of {0}"),
    "acknowledged": ("an ACK-LD of {0} counts", "no ACK-LD of {0} counts"),
    "established": ("the leader is established", "the leader is not established"),
    "released": ("COMMIT-LD was sent on {0}", "no COMMIT-LD was sent on {0}"),
    "joined": ("{0} is in phase 3", "{0} is not in phase 3"),
    "proposed": ("{0} was broadcast", "{0} was not broadcast"),
    "sent": ("PROPOSE({1}) was sent on {0}", "no PROPOSE({1}) was sent on {0}"),
    "accepted": ("{1} was accepted on {0}", "{1} was not accepted on {0}"),
    "acked": ("the leader has an ACK of {0} for {1}", "the leader has no ACK of {0} for {1}"),
    "committed": ("{0} was committed", "{0} was not committed"),
    "told": ("COMMIT or COMMIT-LD on {0} covers {1}", "no COMMIT or COMMIT-LD on {0} covers {1}"),
    "delivered": ("{0} delivered {1}", "{0} did not deliver {1}"),
}
"""The same for the relations of an iteration."""
SHOWN_OF_SERVERS = {
    **{name: said for name, said in SHOWN.items() if name not in ("accepted", "knew")},
    "reached": ("{0}'s acceptedEpoch is {1} or later", "{0}'s acceptedEpoch is before {1}"),
    "left": ("{0}'s acceptedEpoch is later than {1}", "{0}'s acceptedEpoch is not later than {1}"),
    "current": ("{0} wrote {1} to currentEpoch", "{0} did not write {1} to currentEpoch"),
    "log": ("{0} has {1} in its log", "{0} does not have {1} in its log"),
    "forced": ("{0} has {1} on its disk", "{0} does not have {1} on its disk"),
    "tree": ("{0} has {1} in memory", "{0} does not have {1} in memory"),
    "joined": ("{0} has joined its leader", "{0} has not joined its leader"),
    "unsaved": ("{0} has yet to write a snapshot", "{0} has no snapshot to write"),
    "serving": ("{0} serves", "{0} does not serve"),
    "acked": ("an ACK of {0} for {2} counts in {1}", "no ACK of {0} for {2} counts in {1}"),
    "reported": ("{0} reported {2} with its ACKEPOCH of {1}", "{0} did not report {2} with its ACKEPOCH of {1}"),
    "lacked": ("an epoch later than {0} began without {1}", "no epoch later than {0} began without {1}"),
    "carried": ("an epoch later than {0} began with {1}", "no epoch later than {0} began with {1}"),
    "adopted": ("{0} acknowledged NEWLEADER of {1}", "{0} did not acknowledge NEWLEADER of {1}"),
}
"""The same for the relations of servers."""
SENTENCES: dict[type[Relations], dict[str, tuple[str, str]]] = {
    State: SHOWN,
    Configured: SHOWN_WITH_CONFIGURATIONS,
    Iteration: SHOWN_OF_AN_ITERATION,
    Servers: SHOWN_OF_SERVERS,
}


def say(about: type[Relations], fact: Fact, is_so: bool = True) -> str:
    """Return a fact of some relations as a sentence, or the sentence that denies it."""
    relation, things = fact
    return SENTENCES[about][relation][0 if is_so else 1].format(*map(show, things))


Seen = tuple[Fact, bool]
"""A fact, and True if the state has it."""


class Counterexample(Struct, frozen=True):
    """A state, a step possible in it, and what the step breaks; if the obligation has no step, only the state."""

    obligation: Obligation
    universe: Universe
    before: Facts
    things: dict[str, Thing]
    """The arguments of the step, by the names of its terms."""
    after: Facts
    broken: dict[str, Thing]
    """The values that break the claim, by the names of its variables."""
    witness: tuple[Seen, ...]
    """The facts after the step that make the claim false."""

    @property
    def about(self) -> type[Relations]:
        """Return the relations of the state."""
        return self.obligation.theory.about

    @property
    def claim(self) -> str:
        """Return the name of the broken claim."""
        return self.obligation.claim.name

    def lines(self) -> Iterator[str]:
        """Yield it as text: the state before, the step, its additions and removals, and the broken claim."""
        yield "before:"
        yield from (f"  {each}" for each in _told(self.about, self.before))
        if step := self.obligation.step:
            yield f"step {step.number} ({step.name}), with {named(self.things)}: adds"
            yield from (f"  {each}" for each in _told(self.about, self.after - self.before))
            if gone := self.before - self.after:
                yield "and removes"
                yield from (f"  {each}" for each in _told(self.about, gone))
        yield f"broken: {self.claim}, for {named(self.broken)}"


def show(it: Thing) -> str:
    """Return a thing's name: p1, epoch 2, ⟨2,1⟩, {p1, p2} or p1's connection 1."""
    if isinstance(it, frozenset):
        return "{" + ", ".join(sorted(it)) + "}"
    if isinstance(it, tuple) and isinstance(it[0], str):
        return f"{it[0]}'s connection {it[1]}"
    if isinstance(it, tuple):
        return f"{''.join(map(str, it[2:3]))}⟨{it[0]},{it[1]}⟩"
    return f"epoch {it}" if isinstance(it, int) else str(it)


def named(things: Mapping[str, Thing]) -> str:
    """Return the value of each variable as text."""
    return ", ".join(f"{name} = {show(it)}" for name, it in things.items())


def _told(about: type[Relations], facts: Facts) -> list[str]:
    """Return facts as sentences, in the order of the relations; facts of every state are left out."""
    order = list(SENTENCES[about])
    usual = {("opened", (0,)), *(fact for fact in facts if fact[0] == "adopted" and fact[1][1:] == (0,))}
    ordered = sorted(facts - usual, key=lambda fact: (order.index(fact[0]), [show(each) for each in fact[1]]))
    told = [say(about, fact) for fact in ordered if fact[0] != "left"]
    left: dict[Thing, list[str]] = {}
    for name, things in ordered:
        if name == "left":
            left.setdefault(things[0], []).append(f"{things[1]}")
    told += [f"{node} left {'epoch' if len(each) == 1 else 'epochs'} {', '.join(each)}" for node, each in left.items()]
    return told or ["nothing has happened"]


class Script(Struct, frozen=True):
    """The search for a counterexample as SMT-LIB without quantifiers, and the meanings of its constants."""

    text: str
    facts: dict[str, Fact]
    choices: dict[str, tuple[Term, Thing]]


def script(obligation: Obligation, universe: Universe) -> Script:
    """Write the negation of an obligation in a universe. A model of it is a counterexample."""
    return _Writer(obligation, universe).script()


class _Writer:
    """Writes a script, and keeps the constants that it has named."""

    def __init__(self, obligation: Obligation, universe: Universe) -> None:
        self.obligation = obligation
        self.universe = universe
        self.step = obligation.step
        self.terms = self.step.terms if self.step else ()
        self.facts: dict[str, Fact] = {}
        self.choices: dict[str, tuple[Term, Thing]] = {}
        self.adds: dict[Fact, Formula] = {}
        self.replaced: set[str] = set()
        if self.step:
            self.adds, self.replaced = self._added(), replaced(self.step)

    def script(self) -> Script:
        universe = self.universe
        parts = [self._of(formula) for _, formula in self.obligation.hypotheses()]
        parts.append(self._of(Not(self.obligation.goal)))
        lines = [f"(assert {smtlib.text(part)})" for part in parts]
        for term in self.terms:
            options = [self._choice(term, it) for it in universe.all(type(term))]
            lines.append(f"(assert {smtlib.text(Either(tuple(options)))})")
            lines += [
                f"(assert {smtlib.text(Not(Both((one, other))))})"
                for index, one in enumerate(options)
                for other in options[:index]
            ]
        names = [*self.facts, *self.choices]
        return Script("\n".join([*(f"(declare-const {n} Bool)" for n in names), *lines]), self.facts, self.choices)

    def _fact(self, fact: Fact, after: bool) -> Formula:
        """Return a formula for a fact: after the step, if it held before or the step adds it."""
        if after and fact[0] in self.replaced:
            return self.adds.get(fact, FALSE)
        name = "|" + " ".join([fact[0], *map(show, fact[1])]) + "|"
        self.facts[name] = fact
        return Either((NamedConstant(name), self.adds[fact])) if after and fact in self.adds else NamedConstant(name)

    def _choice(self, term: Term, it: Thing) -> Formula:
        name = f"|{term.name} = {show(it)}|"
        self.choices[name] = (term, it)
        return NamedConstant(name)

    def _cases(self, formula: Formula) -> Iterator[tuple[Bound, list[Formula]]]:
        """Yield the values of the step's terms in a formula, each with the choices that this means."""
        used = _terms(formula)
        terms = [term for term in self.terms if term.number in used]
        for things in product(*(self.universe.all(type(term)) for term in terms)):
            chosen = list(zip(terms, things, strict=True))
            yield {term.number: it for term, it in chosen}, [self._choice(*each) for each in chosen]

    def _of(self, formula: Formula) -> Formula:
        """Return the formula for any values of the step's terms."""
        if isinstance(formula, Both):
            return Both(tuple(self._of(each) for each in formula.formulas))
        cases = []
        for bound, choices in self._cases(formula):
            then = ground(formula, self.universe, bound, self._fact)
            cases.append(Either((*map(Not, choices), then)))
        return Both(tuple(cases))

    def _added(self) -> dict[Fact, Formula]:
        assert self.step is not None
        found: dict[Fact, list[Formula]] = {}
        for addition in self.step.change.adds:
            for bound, choices in self._cases(addition.formula):
                for things in product(*(self.universe.all(type(v)) for v in addition.variables)):
                    inside = {**bound, **{v.number: it for v, it in zip(addition.variables, things, strict=True)}}
                    formula = ground(addition.formula, self.universe, inside, self._fact)
                    if formula != FALSE:
                        found.setdefault((addition.relation, things), []).append(Both((*choices, formula)))
        return {fact: Either(tuple(ways)) for fact, ways in found.items()}


def _terms(formula: Formula) -> set[int]:
    """Return the numbers of the terms that a formula mentions."""
    match formula:
        case Atom(_, terms):
            return {_base(term).number for term in terms}
        case Equality(one, other):
            return {_base(one).number, _base(other).number}
        case Not(inner) | ForAll(_, inner) | Exists(_, inner):
            return _terms(inner)
        case Both(formulas) | Either(formulas):
            return {number for each in formulas for number in _terms(each)}
    return set()


def _base(term: Term) -> Term:
    return term if term.of is None else _base(term.of)


def counterexample(
    obligation: Obligation, universe: Universe, true: Callable[[str], bool], found: Script
) -> Counterexample:
    """Return the counterexample of a model; `true` returns True for the constants that are true in it."""
    before = frozenset(fact for name, fact in found.facts.items() if true(name))
    things = {term.number: it for name, (term, it) in found.choices.items() if true(name)}
    terms = obligation.step.terms if obligation.step else ()
    return counterexample_of(obligation, universe, before, [things[term.number] for term in terms])


def counterexample_of(
    obligation: Obligation, universe: Universe, before: Facts, things: Sequence[Thing] = ()
) -> Counterexample:
    """Return the counterexample in this state, with a step for these things if there is one.

    AssertionError if the step is not possible, or breaks nothing.
    """
    step, claim, after = obligation.step, obligation.claim, before
    if step is not None:
        then = take(step, universe, before, things)
        assert then is not None, "the solver's step is not possible"
        after = then
    says = claim.says(obligation.theory.about(), *claim.terms)
    of_step = bindings_of(step, things) if step else {}
    state = before if obligation.kind == "lemma" else after
    for each in product(*(universe.all(type(term)) for term in claim.terms)):
        bound = of_step | {term.number: it for term, it in zip(claim.terms, each, strict=True)}
        if not holds(says, universe, state, bound):
            about = {term.name: it for term, it in zip(step.terms, things, strict=True)} if step else {}
            broken = {term.name: it for term, it in zip(claim.terms, each, strict=True)}
            return Counterexample(
                obligation, universe, before, about, after, broken, witness(says, universe, state, bound)
            )
    raise AssertionError("the solver's state breaks nothing")


def witness(formula: Formula, universe: Universe, facts: Facts, bound: Bound) -> tuple[Seen, ...]:
    """Return the facts that make a formula true or false, missing ones too, each once, in the formula's order.

    Where one part decides, such as a false part of an "and", only the first such part is followed. A truth of
    every state, such as the order of two zxids, is no fact.
    """
    return tuple(dict.fromkeys(_deciding(formula, universe, facts, bound)))


def _deciding(formula: Formula, universe: Universe, facts: Facts, bound: Bound) -> Iterator[Seen]:
    match formula:
        case Atom(relation, terms):
            if relation not in FIXED:
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
    """Yield the facts that decide an "and" or an "or": those of the first part that alone does, or else of all."""
    alone = [part for part in parts if holds(part[0], universe, facts, part[1]) is not is_and]
    for inner, bound in alone[:1] or parts:
        yield from _deciding(inner, universe, facts, bound)
