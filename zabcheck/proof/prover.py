"""Decides obligations with z3: proved, refused with a counterexample, or not decided."""

from collections.abc import Sequence
from time import process_time
from typing import Any, Literal

from msgspec import Struct

from zabcheck.extras import pip_install
from zabcheck.proof.counterexample import Counterexample, Script, counterexample, script
from zabcheck.proof.finite import Thing
from zabcheck.proof.obligations import Obligation

Status = Literal["proved", "refused", "not decided"]
UNITS = 2_000_000
"""The resource units of z3 that stand for a second: on every machine the same work."""
EFFORTS = (1_000_000, 2_000_000, 4_000_000)
"""The budgets of the first tries, in z3's resource units.

How soon z3 ends on formulas with quantifiers depends on its random seed more than on anything else, so a short try with
another seed is worth more than a long one.
"""
MORE = 20_000_000
"""The budget of each try once the small universe is known to have no counterexample, in z3's resource units."""


class NoSolver(Exception):
    """The solver is not installed; the message has the remedy."""


class Decision(Struct, frozen=True):
    """The outcome for an obligation, with its seconds and tries; a proof uses only the assertions in `given`."""

    obligation: Obligation
    status: Status
    seconds: float
    tries: int
    counterexample: Counterexample | None = None
    given: tuple[str, ...] = ()


def load() -> Any:
    """Return the module z3. NoSolver if it is not installed."""
    try:
        import z3
    except ImportError:
        raise NoSolver(f"z3 is not installed: {pip_install('prove')}") from None
    return z3


def decide(obligation: Obligation, seconds: float = 60) -> Decision:
    """Decide an obligation; if it is open after `seconds` of CPU time it is not decided, which is never a proof.

    First some short tries to prove it, each with another seed; then a search for a counterexample in a small universe;
    if that has none, longer tries until the time is over. NoSolver without z3.
    """
    z3 = load()
    begun = process_time()
    text = obligation.script()
    likely = obligation.likely()
    tries = 0

    def result(status: Status, found: Counterexample | None = None, given: Sequence[str] = ()) -> Decision:
        return Decision(obligation, status, process_time() - begun, tries, found, tuple(given))

    for effort in EFFORTS:
        tries += 1
        if _unsatisfiable(z3, obligation.script(likely), effort, tries - 1):
            return result("proved", given=likely)
    if found := refute(obligation):
        return result("refused", found)
    while (left := seconds - (process_time() - begun)) > 0:
        tries += 1
        if _unsatisfiable(z3, text, min(MORE, 1 + int(left * UNITS)), tries - 1):
            return result("proved", given=obligation.given())
    return result("not decided")


def needed(decision: Decision) -> list[str]:
    """Return the names of the assertions that a proof uses: a part of those given, from which the goal follows.

    All that were given if the solver does not decide the smaller obligation.
    """
    z3 = load()
    given, tries = list(decision.given), decision.tries
    context = z3.Context()  # earlier queries would change the result
    parsed = z3.Solver(ctx=context)
    parsed.from_string(decision.obligation.script(given))
    *hypotheses, negated = parsed.assertions()
    assert len(hypotheses) == len(given)
    for seed in range(tries - 1, tries + 3):
        solver = z3.Solver(ctx=context)
        solver.set("random_seed", seed)
        solver.set("rlimit", MORE)
        solver.add(negated)
        for number, each in enumerate(hypotheses):
            solver.assert_and_track(each, z3.Bool(f"given-{number}", context))
        if solver.check() == z3.unsat:
            used = {str(each) for each in solver.unsat_core()}
            return [name for number, name in enumerate(given) if f"given-{number}" in used]
    return given


def _unsatisfiable(z3: Any, text: str, effort: int, seed: int) -> bool:
    """Return True if z3 says `unsat` within this effort; `sat` and `unknown` are both False.

    In a context of its own: earlier queries would change the result within the effort.
    """
    solver = z3.Solver(ctx=z3.Context())
    solver.set("random_seed", seed)
    solver.set("rlimit", effort)
    solver.from_string(text)
    return bool(solver.check() == z3.unsat)


def refute(obligation: Obligation) -> Counterexample | None:
    """Return a counterexample in the small universe, with as few facts as can be; None if that has none.

    It does not depend on earlier queries, so it is the same every time.
    """
    z3 = load()
    universe = obligation.theory.universe
    written = script(obligation, universe)
    solver = z3.Solver(ctx=z3.Context())
    solver.from_string(written.text)
    if solver.check() != z3.sat:
        return None
    model = _least(z3, solver, written)
    return counterexample(obligation, universe, lambda name: _true(z3, model, name), written)


def _constant(z3: Any, name: str, context: Any) -> Any:
    return z3.Bool(name.strip("|"), context)


def _true(z3: Any, model: Any, name: str) -> bool:
    return bool(z3.is_true(model.eval(_constant(z3, name, model.ctx), model_completion=True)))


def _least(z3: Any, solver: Any, written: Script) -> Any:
    """Return a model from which no fact can be left out, with a step on things that are as early as can be.

    The last epochs, transactions and processes go first.
    """
    model = solver.model()
    about = {name: fact[1] for name, fact in written.facts.items()}
    about |= {name: (thing,) for name, (_, thing) in written.choices.items()}
    for name in sorted(about, key=lambda each: _lateness(about[each]), reverse=True):
        if not _true(z3, model, name):
            solver.add(z3.Not(_constant(z3, name, solver.ctx)))
            continue
        solver.push()
        solver.add(z3.Not(_constant(z3, name, solver.ctx)))
        if solver.check() == z3.sat:
            model = solver.model()
            continue
        solver.pop()
    return model


def _lateness(things: Sequence[Thing]) -> tuple[int, int, str]:
    """Return the latest epoch among things, the latest counter, and the last process."""
    epoch, counter, name = 0, 0, ""
    for each in things:
        match each:
            case (str(follower), int(number)):
                counter, name = max(counter, number), max(name, follower)
            case (int(of), int(number), *_):
                epoch, counter = max(epoch, of), max(counter, number)
            case int(of):
                epoch = max(epoch, of)
            case str(process):
                name = max(name, process)
            case frozenset():
                name = max(name, *each)
    return epoch, counter, name
