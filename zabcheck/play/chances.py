"""Estimates the chances that a property breaks, from each position of a run; and finds a run from here that breaks one.

Random continuations answer both: from a fork of the simulator the swarm goes on, judged by what the run has shown so
far and what it shows from then on. A curve of such shares jumps where the bug happens (Antithesis shows runs so).
"""

from collections.abc import Callable, Sequence
from contextlib import suppress

from zabcheck.invariants import Event, Invariant, Judge, select
from zabcheck.play.session import Session
from zabcheck.protocols.base import StepRaised
from zabcheck.search.run import Run
from zabcheck.search.swarm import go_on, run_seed
from zabcheck.simulation.choices import Choice
from zabcheck.simulation.simulator import Simulator

TRIES = 200
"""The continuations from each position."""
STEPS = 60
"""The most steps of a continuation, about."""
TRIES_TO_BREAK = 1000
"""The continuations that are made to find a violation."""


class GivenUp(Exception):
    """The time for an answer was over after `tried` continuations."""

    def __init__(self, tried: int) -> None:
        super().__init__(tried)
        self.tried = tried


def _never() -> bool:
    return False


def chances(
    session: Session,
    property_: str,
    tries: int = TRIES,
    steps: int = STEPS,
    seed: int = 1,
    is_over: Callable[[], bool] = _never,
) -> list[int]:
    """Return for each position up to here in how many of `tries` continuations the property breaks, or is broken.

    The run ends here, and a continuation where it stops: a property may be one that only the end of a run breaks.

    The same seed gives the same numbers. ValueError if there is no such property; GivenUp once `is_over`. Some 20 CPU
    ms a position and 200 tries with three processes.
    """
    kinds = select([property_])
    found = []
    judged = _judged(session, kinds)
    for place, (simulator, judge) in enumerate(judged, 1):
        if any(judge.all_violated()) or (place == len(judged) and _ends_broken(judge.fork())):
            found.append(tries)
            continue
        broken = 0
        for each in range(tries):
            if is_over():
                raise GivenUp(len(found) * tries + each)
            broken += _breaks(simulator, judge, run_seed(seed, each), steps) is not None
        found.append(broken)
    return found


def break_from_here(
    session: Session,
    properties: Sequence[str],
    tries: int = TRIES_TO_BREAK,
    steps: int = STEPS,
    seed: int = 1,
    is_over: Callable[[], bool] = _never,
) -> tuple[Choice, ...] | None:
    """Return choices that lead from here to a violation of one of these properties; None if none of the tries does.

    They are the fewest of all tries, without those that are not needed. Nothing is tried once `is_over`: GivenUp if
    nothing was found until then. ValueError if there is no such property.
    """
    simulator, judge = _judged(session, select(properties))[-1]
    found: tuple[Choice, ...] | None = None
    for each in range(tries):
        if is_over():
            if found is None:
                raise GivenUp(each)
            break
        choices = _breaks(simulator, judge, run_seed(seed, each), steps)
        if choices is not None and (found is None or len(choices) < len(found)):
            found = choices
    return None if found is None else _needed(simulator, judge, found)


def _judged(session: Session, kinds: Sequence[type[Invariant]]) -> list[tuple[Simulator, Judge]]:
    """Return the simulator of each position up to here, with a judge of these properties alone."""
    judge = Judge(kinds, quorums=session.simulator.quorums)
    found = []
    for position in session.here.path:
        _observe(judge, position.events)
        found.append((session.simulator_at(position), judge.fork()))
    return found


def _observe(judge: Judge, events: Sequence[Event]) -> None:
    for event in events:
        judge.observe(event)


def _run(simulator: Simulator, judge: Judge) -> Run:
    run = Run.of(simulator, judge)
    run.simulator.remember, run.simulator.executed = True, []
    return run


def _breaks(simulator: Simulator, judge: Judge, seed: int, steps: int) -> tuple[Choice, ...] | None:
    """Go on by the moves of a seed. Return the choices that broke a property; None if none did."""
    run = _run(simulator, judge)
    with suppress(StepRaised):  # no property is judged in a run whose code raised
        go_on(run, seed, steps)
        if run.broken is not None or _ends_broken(run.judge):
            return tuple(run.simulator.executed)
    return None


def _ends_broken(judge: Judge) -> bool:
    return any(judge.violated_at_end())


def _needed(simulator: Simulator, judge: Judge, choices: tuple[Choice, ...]) -> tuple[Choice, ...]:
    """Leave out each choice without which a property breaks as well, again and again."""
    shortened = True
    while shortened:
        shortened = False
        for place in range(len(choices) - 1, -1, -1):
            fewer = _executed(simulator, judge, choices[:place] + choices[place + 1 :])
            if fewer is not None:
                choices, shortened = fewer, True
                break
    return choices


def _executed(simulator: Simulator, judge: Judge, choices: Sequence[Choice]) -> tuple[Choice, ...] | None:
    """Return the choices of these that were possible, until a property breaks; None if none does."""
    run = _run(simulator, judge)
    with suppress(StepRaised):
        for choice in choices:
            run.execute(choice)
            if run.broken is not None:
                return tuple(run.simulator.executed)
        if _ends_broken(run.judge):
            return tuple(run.simulator.executed)
    return None
