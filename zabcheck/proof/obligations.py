"""The obligations: statements that together prove the properties in every state that a run can reach.

The start satisfies each conjunct; each step keeps each conjunct, if all are true before it; and all conjuncts together
imply each property. An obligation is proved if its negation has no model: if a solver says `unsat`.
"""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Any

from msgspec import Struct, field, structs

from zabcheck.proof import smtlib
from zabcheck.proof.assumptions import ASSUMPTIONS
from zabcheck.proof.conjuncts import CONJUNCTS, Claim
from zabcheck.proof.example import EXAMPLE, Example
from zabcheck.proof.finite import SMALL, Universe
from zabcheck.proof.logic import Formula
from zabcheck.proof.properties import PROPERTIES
from zabcheck.proof.relations import Relations, State
from zabcheck.proof.steps import STEPS, Step, start

_OF_QUORUMS = (
    "one promise",
    "leaders have promises",
    "opened by leaders",
    "adopted are open",
    "promises leave",
    "accepted in the epoch",
    "initial is earlier",
    "proposed in its epoch",
    "established lead",
    "committed by a quorum",
)
LIKELY = {
    "initial history accepted": _OF_QUORUMS,
    "accepted is a prefix": (*_OF_QUORUMS, "initial history accepted", "logs match"),
    "logs match": (*_OF_QUORUMS, "accepted is a prefix"),
    "not choosable": (*_OF_QUORUMS, "initial history accepted", "accepted is a prefix"),
    "knew what was committed": ("delivered was committed",),
    "knew what comes before": (
        *_OF_QUORUMS,
        "knew what was committed",
        "delivered was committed",
        "logs match",
    ),
    "knew its initial history": (*_OF_QUORUMS, "primary is up to date"),
}
"""The conjuncts from which claims about Zab are likely to follow."""


class Lemma(Claim, frozen=True, kw_only=True):
    """A statement about the terms of a step, which follows if the step is possible; what the step keeps may use it."""

    step: Step

    def of(self, s: Relations) -> Formula:
        """Return the formula for this state, and the terms of the step."""
        return self.says(s, *self.step.terms)

    def goal(self, before: Relations, after: Relations) -> Formula:
        """Return the formula to prove: that the lemma is true before the step."""
        return self.of(before)


class Theory(Struct, frozen=True):
    """A theory: relations, steps, conjuncts and assumptions, from which the obligations follow."""

    steps: Sequence[Step] = STEPS
    conjuncts: Sequence[Claim] = CONJUNCTS
    properties: Sequence[Claim] = PROPERTIES
    assumptions: Mapping[str, Formula] = field(default_factory=lambda: ASSUMPTIONS)
    about: type[Relations] = State
    start: Callable[[Any], Formula] = start
    likely: Mapping[str, Collection[str]] = field(default_factory=lambda: LIKELY)
    """The conjuncts from which some claims are likely to follow, besides themselves: they are tried first.

    An assumption that is named here is tried first for those claims alone.
    """
    lemmas: Sequence[Lemma] = ()
    """The lemmas of steps, each of which may use those before it."""
    consequences: Sequence[Claim] = ()
    """The claims that follow from the conjuncts and the consequences before them; whatever follows may use them."""
    kept: Sequence[Claim] = ()
    """The claims that each step has to keep besides the conjuncts, where they are true before it."""
    ends: Sequence[tuple[Step, Claim]] = ()
    """The claims that have to be true after one step each."""
    universe: Universe = SMALL
    """The small universe in which counterexamples are looked for."""
    example: Example = EXAMPLE
    """A run in which all of the assumptions are true."""


class Obligation(Struct, frozen=True):
    """One statement to prove: `goal` follows from the hypotheses, after the step if there is one."""

    kind: str
    """`start`, `lemma` (of a step), `step`, `end` (of a step's stage) or `property`."""
    step: Step | None
    claim: Claim
    theory: Theory

    @property
    def name(self) -> str:
        """The statement in words."""
        if self.kind == "start":
            return f"the start satisfies {self.claim.name}"
        if self.step is None:
            return f"the conjuncts imply {self.claim.name}"
        verb = {"end": "ends", "lemma": "implies"}.get(self.kind, "keeps")
        return f"{self.step.name} {verb} {self.claim.name}"

    @property
    def file(self) -> str:
        """Return the name of the obligation's file in a certificate."""
        first = self.step.name if self.step else self.kind
        return f"{first}.{self.claim.name}.smt2".replace(" ", "-")

    def hypotheses(self) -> Iterator[tuple[str, Formula]]:
        """Yield the hypotheses, each with its name: all that is given but the assumptions, which are about no state."""
        before = self.theory.about()
        if self.kind == "start":
            yield "the start", self.theory.start(before)
            return
        for conjunct in self.theory.conjuncts:
            yield conjunct.name, conjunct.of(before)
        for each in self.theory.consequences:
            if each is self.claim and self.step is None:
                break
            yield each.name, each.of(before)
        if self.step is not None:
            yield f"{self.step.name} is possible", self.step.change.when
            for lemma in self.theory.lemmas:
                if lemma is self.claim:
                    break
                if lemma.step == self.step:
                    yield lemma.name, lemma.of(before)

    @property
    def goal(self) -> Formula:
        """Return the formula that has to follow."""
        before = self.theory.about()
        return self.claim.of(before) if self.step is None else self.claim.goal(before, self.theory.about(after=True))

    def given(self) -> list[str]:
        """Return the names of all that is given, in the order of the script: assumptions, then hypotheses."""
        return [*self.theory.assumptions, *(name for name, _ in self.hypotheses())]

    def likely(self) -> list[str]:
        """Return the names of hypotheses from which the goal is likely to follow; all of them if nothing is known."""
        given = self.given()
        likely = self.theory.likely.get(self.name, self.theory.likely.get(self.claim.name))
        if likely is None:
            return [name for name in given if self.kind != "step" or not name.startswith("knew")]
        known = {each.name for each in (*self.theory.conjuncts, *self.theory.consequences, *self.theory.lemmas)}
        known |= {each for those in self.theory.likely.values() for each in those}
        return [name for name in given if name not in known - {self.claim.name, *likely}]

    def comment(self, name: str) -> str:
        """Return the comment before an assertion of what is given."""
        return f"; {'assumed' if name in self.theory.assumptions else 'before'}: {name}"

    def as_in(self, text: str) -> str:
        """Return the script with the hypotheses that a text has, by their comments."""
        lines = set(text.split("\n"))
        return self.script([name for name in self.given() if self.comment(name) in lines])

    def script(self, only: Collection[str] | None = None) -> str:
        """Return the obligation in SMT-LIB: all that is given, and the negation of the goal. Expected: unsat.

        With `only`, a hypothesis that it does not name is left out: what follows from fewer is proved all the more.
        """
        used = self.given() if only is None else only
        about = self.theory.about
        lines = [*smtlib.preamble(about)]
        names: smtlib.Names = {}
        for name, formula in self.theory.assumptions.items():
            if name in used:
                lines += [self.comment(name), f"(assert {smtlib.text(formula)})"]
        if self.step is not None:
            constants, names = smtlib.declarations(self.step)
            lines += [f"; step {self.step.number}, {self.step.name}, is about:", *constants]
        for name, formula in self.hypotheses():
            if name in used:
                lines += [self.comment(name), f"(assert {smtlib.text(formula, names)})"]
        if self.step is not None:
            lines += [f"; the relations after {self.step.name}:", *smtlib.after(about, self.step, names)]
        negated = f"(not {smtlib.text(self.goal, names)})"
        lines += [f"; not so: {self.claim.name}", f"(assert {negated})", "(check-sat)"]
        return "".join(f"{line}\n" for line in lines)


def obligations(theory: Theory) -> list[Obligation]:
    """Return all obligations: of the start, of lemmas, of each step, of the ends of stages, and of the properties."""
    found = [Obligation("start", None, conjunct, theory) for conjunct in theory.conjuncts]
    kept = (*theory.conjuncts, *theory.kept)
    found += [Obligation("lemma", each.step, each, theory) for each in theory.lemmas if each.step in theory.steps]
    found += [Obligation("step", step, each, theory) for step in theory.steps for each in kept]
    found += [Obligation("end", step, claim, theory) for step, claim in theory.ends]
    others = [each for each in theory.properties if each not in theory.consequences]
    return found + [Obligation("property", None, each, theory) for each in (*theory.consequences, *others)]


def leave_out(theory: Theory, conjunct: str) -> Theory:
    """Return a theory without one of its conjuncts: obligations that are refused then need it."""
    return structs.replace(theory, conjuncts=tuple(each for each in theory.conjuncts if each.name != conjunct))
