"""A search that forgets of iterations what nobody comes back to says the same, or searches again."""

from itertools import cycle
from typing import Any

import pytest
from msgspec.structs import replace

from invariants import CommitEpoch, Deliver, select
from invariants.quorums import Quorums
from tests.explore.told import states_of
from tests.tiers import sweep
from zabcheck.explore import Bounds, explore
from zabcheck.explore.bounds import UNLIMITED
from zabcheck.explore.judges import WentOn, judged_in_every_state
from zabcheck.explore.results import SearchResult
from zabcheck.explore.space import Space
from zabcheck.explore.tables.components import NO_CONNECTION, NOTHING, Components, LeftIteration
from zabcheck.mutants.catalogue import CATALOGUE, mutated
from zabcheck.protocols.base import Effect, Elected, Protocol
from zabcheck.protocols.switches import Switches
from zabcheck.simulation import choices

ATOMIC, ABRUPT = Switches(sync="atomic"), Switches(sync="atomic", closing="abrupt")
ALL = tuple(kind for kind in select(mutated("zab").properties) if judged_in_every_state(kind))
SPACES = {
    "a crash": (Bounds(2, 2, 1, 1, 1), ATOMIC),
    "a crash, abrupt": (Bounds(2, 2, 2, 1, 1), ABRUPT),
    "any faults": (Bounds(2, 2, 1, UNLIMITED, UNLIMITED), ABRUPT),
    "a cut": (Bounds(2, 2, 1, 1, 0, 1), ATOMIC),
    "three processes": (Bounds(3, 2, 1, 1, 0), ABRUPT),
    "a disk": (Bounds(2, 2, 1, 1, 1), Switches(closing="abrupt")),
}


def searched(
    bounds: Bounds, switches: Switches, *, forgetful: bool, reduction: bool = True, protocol: Protocol | None = None
) -> tuple[Space, SearchResult]:
    checked = mutated("zab") if protocol is None else protocol
    quorums = Quorums(bounds.processes)
    space = Space(checked, quorums, switches, bounds, ALL, reduction=reduction, moments=False, forgetful=forgetful)
    return space, space.explore()


def states_but_for_monitors(space: Space) -> set[tuple[int, ...]]:
    """Return the states without what the properties know of them."""
    return {state[:-1] for state in states_of(space)}


@pytest.mark.parametrize("reduction", sweep([True, False], normal=[True]), ids=["reduced", "unreduced"])
@pytest.mark.parametrize("name", sweep(SPACES, normal=("any faults",)))
def test_the_same_states_are_reached(name: str, reduction: bool) -> None:
    bounds, switches = SPACES[name]
    (knowing, said), (forgetting, also_said) = (
        searched(bounds, switches, forgetful=forgetful, reduction=reduction) for forgetful in (False, True)
    )
    assert also_said.states < said.states
    assert states_but_for_monitors(forgetting) == states_but_for_monitors(knowing)
    for field in ("whole", "broken", "exercised", "switched_off"):
        assert getattr(also_said, field) == getattr(said, field), field
    assert set(also_said.goals) == set(said.goals)


ZAB = [name for name, mutant in CATALOGUE.items() if mutant.protocol == "zab" and mutated("zab", name).environment.fifo]


GO_ON = ("reuse-highest-epoch", "broadcast-before-established")
"""The bugs by which an epoch that is over gets another primary, or a primary broadcasts without being told."""


@pytest.mark.parametrize(
    ("mutant", "bounds"),
    sweep(
        list(zip(ZAB[1::2], cycle((Bounds(2, 2, 2, 1, 1), Bounds(3, 2, 2, 1, 0)))))[::3],
        normal=[(ZAB[1], Bounds(2, 2, 2, 1, 1))],
    ),
    ids=lambda value: value.in_words() if isinstance(value, Bounds) else value,
)
def test_a_mutant_is_caught_as_soon(mutant: str, bounds: Bounds) -> None:
    _, said = searched(bounds, ABRUPT, forgetful=False, protocol=mutated("zab", mutant))
    try:
        _, also_said = searched(bounds, ABRUPT, forgetful=True, protocol=mutated("zab", mutant))
    except WentOn:
        assert mutant in GO_ON
        assert said.broken is not None
        return
    assert (also_said.broken, len(also_said.choices)) == (said.broken, len(said.choices))
    assert also_said.states <= said.states


def test_a_process_that_leaves_an_iteration_shows_it() -> None:
    """It leaves by a time-out, a crash, a closed connection; or first of all if it is told a leader in an iteration."""
    components = Components(mutated("zab"), Quorums(2), ABRUPT, tells_of_leaving=True)
    alone = (NO_CONNECTION, NO_CONNECTION)

    def after(*chosen: choices.AnyChoice) -> list[str]:
        """The kinds of the events of the last one of these choices of process 2."""
        process, opened, links_to, events = components.start[1], alone, alone, NOTHING
        for choice in chosen:
            outcome = components.execute(process, opened, links_to, choice, 0)
            assert outcome is not None
            process, opened, events = outcome.process, outcome.opened, outcome.events
            links_to = tuple(dict(outcome.links_to).get(index, link) for index, link in enumerate(links_to))
        return [type(event).__name__ for event in components.events[events]]

    assert after(choices.Elect(2, 1)) == []
    assert after(choices.Elect(2, 1), choices.Timeout(2)) == ["LeftIteration"]
    assert after(choices.Elect(2, 1), choices.Reset(2, 1), choices.Notice(2, 1)) == ["LeftIteration"]
    assert after(choices.Elect(2, 1), choices.Elect(2, 2)) == ["LeftIteration"]
    assert after(choices.Elect(2, 1), choices.Crash(2)) == ["Crash", "LeftIteration"]
    assert after(choices.Crash(2)) == ["Crash", "LeftIteration"]


def test_a_process_that_is_a_quorum_alone_leaves_before_it_leads_again() -> None:
    space = Space(mutated("zab"), Quorums(1), ABRUPT, Bounds(1, 2, 1, 1, 0), ALL, forgetful=True)
    space.explore()
    again = [
        events for events in space.components.events if events and isinstance(events[0], LeftIteration) and events[1:]
    ]
    assert any(isinstance(each, CommitEpoch) for events in again for each in events)


def test_leaving_is_not_told_to_properties_that_forget_nothing() -> None:
    remembered = select(["invariant 1", "invariant 3"])
    space = Space(mutated("zab"), Quorums(2), ABRUPT, Bounds(2, 2, 1, 1, 1), remembered, forgetful=True)
    space.explore()
    assert not any(isinstance(each, LeftIteration) for events in space.components.events for each in events)


def delivering_when_elected() -> Protocol:
    """Zab, but a process that is told a leader delivers what it has, the last first: outside of any phase."""
    zab = mutated("zab")
    told = zab.steps[Elected]

    def elected(f: Any, sender: int, m: Elected) -> list[Effect]:
        late = [txn for txn in f.history if txn not in f.delivered]
        return [*(Deliver(f.id, f.incarnation, txn) for txn in late[::-1]), *told(f, sender, m)]

    return replace(zab, name="delivers-when-elected", commutes=False, steps={**zab.steps, Elected: elected})


@pytest.mark.slow
def test_where_a_process_goes_on_with_what_it_left_all_is_searched_again() -> None:
    bounds = Bounds(2, 2, 1, 1, 1)
    with pytest.raises(WentOn):
        searched(bounds, ABRUPT, forgetful=True, protocol=delivering_when_elected())
    _, known = searched(bounds, ABRUPT, forgetful=False, protocol=delivering_when_elected())
    found = explore(
        delivering_when_elected(),
        bounds=bounds,
        properties=[kind.name for kind in ALL],
    )
    assert known.broken is not None
    assert found.broken == known.broken
    taken_for_zab = replace(delivering_when_elected(), commutes=True)
    found = explore(taken_for_zab, bounds=bounds, properties=[kind.name for kind in ALL])
    assert (found.broken, found.reduction) == (known.broken, False)
