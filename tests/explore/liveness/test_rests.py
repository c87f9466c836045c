"""An ensemble that is left alone in every state of a search: what is looked up is what the simulator does."""

from collections import Counter
from collections.abc import Sequence

import pytest
from msgspec import structs

from invariants import EpochProgress, Judge, Quiescent
from invariants.quorums import quorums_of
from tests.explore.liveness.test_undisturbed import SAFETY, SMALL, THREE, VOTING, Case
from tests.tiers import sweep
from zabcheck.explore import Bounds, explore
from zabcheck.explore.liveness.quorum_run import Ending
from zabcheck.explore.liveness.rests import Rests, find_undone
from zabcheck.explore.runs import run_to
from zabcheck.explore.tables.renaming import renamed_choice
from zabcheck.mutants.catalogue import CATALOGUE, mutated
from zabcheck.protocols.base import StepRaised
from zabcheck.protocols.environment import NOBODY_LOOKS_AROUND
from zabcheck.protocols.switches import Switches
from zabcheck.simulation.choices import AnyChoice, Quiesce, Request
from zabcheck.simulation.simulator import Simulator

FOUND = {
    "commit-ld-initial": THREE,
    "commit-ld-before-counting": THREE,
    "late-ack-ld-unanswered": THREE,
    "late-cepoch-unanswered": THREE,
    "ignore-closed-connection": Bounds(2, 1, 1, 0, 1),
    "no-acks-after-return": Bounds(3, 1, 1, 1, 0),
}
"""Bounds within which a mutant leaves something undone that nothing else finds."""

AGREEING = {
    "three processes": Case(THREE, properties=SAFETY, symmetry=False),
    "two processes": Case(SMALL, properties=SAFETY, symmetry=False),
    "a disk": Case(Bounds(2, 1, 1, 0, 1), switches=Switches(), properties=SAFETY, symmetry=False),
    "cuts": Case(Bounds(2, 1, 1, 1, 0, 1), properties=SAFETY, symmetry=False),
    "a leader that nobody hears": Case(THREE, mutated("zab", "late-ack-ld-unanswered"), symmetry=False),
    "one that counts too late": Case(THREE, mutated("zab", "commit-ld-before-counting"), symmetry=False),
    "servers that vote": Case(Bounds(2, 2, 1, 1, 0), mutated("zookeeper"), VOTING, properties=SAFETY, symmetry=False),
    "one that follows nobody": Case(SMALL, mutated("zab", "ignore-closed-connection"), symmetry=False),
}


def simulated(case: Case, run: Sequence[AnyChoice], alone: Sequence[AnyChoice]) -> Ending:
    """Return what the simulator and the judge of the property make of this run, and of being left alone then."""
    quorums = quorums_of(case.quorums, case.bounds.processes)
    judge = Judge([EpochProgress], quorums=quorums)
    simulator = Simulator(case.protocol, quorums.size, judge.observe, quorums=quorums, switches=case.switches)
    try:
        for choice in (*run, *alone):
            simulator.execute(choice)
    except StepRaised:
        return Ending(None, raised=True)
    [verdict] = judge.finish()
    return Ending(verdict.property if verdict.status == "violated" else None, raised=False)


@pytest.mark.parametrize("name", sweep(AGREEING, normal=()))
def test_what_is_looked_up_is_what_the_simulator_does(name: str) -> None:
    case = AGREEING[name]
    space = case.space()
    rests = Rests(space)
    given: Counter[Ending] = Counter()
    rows = list(enumerate(space.rows()))
    for state, row in rows[::3] if len(rows) > 1000 else rows:
        run, names = run_to(space, state)
        ending = rests.ending(row)
        assert ending is not None
        alone = [renamed_choice(choice, names) for choice in rests.run_from(row)]
        assert ending == simulated(case, run, alone), run
        given[ending] += 1
    assert rests.exercised
    assert len(given) == (1 if case.protocol.mutant is None else 2)


@pytest.mark.parametrize("name", sweep(FOUND, normal=("ignore-closed-connection",)))
def test_what_a_running_epoch_leaves_undone_is_found_by_nothing_else(name: str) -> None:
    bounds = FOUND[name]
    found = explore(mutant=name, bounds=bounds)
    assert (found.broken, found.trap) == ("epoch progress", "rest")
    assert found.counterexample is not None
    assert found.broken in CATALOGUE[name].breaks
    alone = [choice for choice in found.counterexample.schedule.choices if isinstance(choice, Quiesce | Request)]
    assert isinstance(alone[-1], Quiesce)
    others = [kind.name for kind in SAFETY]
    assert explore(mutant=name, bounds=bounds, properties=[*others, "convergence"]).broken is None


LARGER = [Bounds(2, 2, 2, 1, 1), Bounds(3, 1, 1, 1, 0)]


@pytest.mark.parametrize("reduction", [False, True])
@pytest.mark.parametrize("bounds", sweep([THREE, *LARGER], normal=[THREE]))
def test_zab_leaves_nothing_undone(bounds: Bounds, reduction: bool) -> None:
    space = Case(bounds, reduction=reduction, properties=SAFETY).space()
    found = find_undone(space)
    assert found.trap is None
    assert found.exercised
    rests, states = Rests(space), list(space.rows())
    followed = sum(rests.ending(row) is not None for row in states)
    assert followed == len(states) or reduction
    assert followed


def test_a_protocol_that_knows_no_rest_is_not_left_alone() -> None:
    protocol = structs.replace(mutated("zab", "late-ack-ld-unanswered"), environment=NOBODY_LOOKS_AROUND)
    assert explore(protocol, bounds=THREE).broken is None


def test_the_run_that_is_found_shows_the_rest() -> None:
    found = explore(mutant="ignore-closed-connection", bounds=FOUND["ignore-closed-connection"])
    assert found.counterexample is not None
    last = found.counterexample.events[-2]
    assert isinstance(last, Quiescent)
    assert last.connection == "closed"
