"""The theory of liveness, from which its obligations follow."""

from collections.abc import Sequence

from zabcheck.proof.liveness.assumptions import ASSUMPTIONS
from zabcheck.proof.liveness.conjuncts import CONJUNCTS
from zabcheck.proof.liveness.example import EXAMPLE, UNIVERSE
from zabcheck.proof.liveness.iteration import Iteration
from zabcheck.proof.liveness.stages import PROPERTIES, STAGES, Stage, nothing_comes_before
from zabcheck.proof.liveness.steps import STEPS
from zabcheck.proof.logic import Atom, Both, ForAll, Formula, Not
from zabcheck.proof.obligations import Theory
from zabcheck.proof.steps import Step

GIVEN = {"leads", "lasting", "abandoned", "promised", "has_history", "delivered"}
"""The relations of which the start says nothing: earlier iterations and the network decide on them."""


def start(s: Iteration) -> Formula:
    """Return the formula of the start: nothing has happened in this iteration."""
    parts = []
    for name, sorts in Iteration.relations.items():
        if name not in GIVEN:
            terms = tuple(sort("x") for sort in sorts)
            nothing = Not(Atom(name, terms))
            parts.append(ForAll(terms, nothing) if terms else nothing)
    return Both(tuple(parts))


def theory(steps: Sequence[Step] = STEPS, stages: Sequence[Stage] = tuple(STAGES)) -> Theory:
    """Return the theory of liveness, with these steps and stages."""
    stays = (each.stays for each in stages)
    return Theory(
        steps,
        CONJUNCTS,
        (*(each.possible for each in stages), *PROPERTIES),
        ASSUMPTIONS,
        Iteration,
        start,
        kept=(nothing_comes_before, *(claim for claim in stays if claim is not None)),
        ends=tuple((each.step, each.ends) for each in stages),
        universe=UNIVERSE,
        example=EXAMPLE,
    )
