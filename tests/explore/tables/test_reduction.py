"""Partial-order reduction loses nothing: what processes do and show is the same with and without it."""

from itertools import cycle, islice

import pytest
from msgspec.structs import replace

from invariants import select
from invariants.quorums import Quorums
from tests.explore.at_any_time import processes_at_any_time
from tests.tiers import sweep
from zabcheck.explore import space as module
from zabcheck.explore.bounds import CRASH, CUT, TIMEOUT, UNLIMITED, Bounds
from zabcheck.explore.judges import judged_in_every_state
from zabcheck.explore.results import SearchResult
from zabcheck.explore.shortest import search, shorter
from zabcheck.explore.space import Space
from zabcheck.explore.tables.reduction import are_lasting
from zabcheck.explore.tables.successors import Row
from zabcheck.mutants.catalogue import CATALOGUE, mutated
from zabcheck.protocols.switches import Switches
from zabcheck.simulation.channels import NOBODY

PROPERTIES = tuple(kind for kind in select(None) if judged_in_every_state(kind))
QUICK = tuple(kind for kind in PROPERTIES if kind.name in ("primary integrity", "total order", "agreement"))
ABRUPT, GRACEFUL = Switches(sync="atomic", closing="abrupt"), Switches(sync="atomic")
SMALL = Bounds(3, 2, 1, 1, 0)
DISK = Switches(closing="abrupt")
SPACES = {
    "a crash": (Bounds(2, 2, 1, 1, 1), GRACEFUL),
    "a crash, abrupt": (Bounds(2, 2, 1, 1, 1), ABRUPT),
    "two time-outs": (Bounds(2, 2, 2, 2, 0), GRACEFUL),
    "three epochs": (Bounds(2, 3, 1, 2, 0), ABRUPT),
    "a cut": (Bounds(2, 2, 1, 1, 0, 1), GRACEFUL),
    "a cut and a crash": (Bounds(2, 1, 1, 1, 1, 1), ABRUPT),
    "a disk": (Bounds(2, 1, 1, 1, 1), DISK),
    "any time-outs": (Bounds(2, 2, 1, UNLIMITED, 0), GRACEFUL),
    "any faults": (Bounds(2, 2, 1, UNLIMITED, UNLIMITED), ABRUPT),
    "any faults, graceful": (Bounds(2, 1, 1, UNLIMITED, UNLIMITED), GRACEFUL),
    "any cuts": (Bounds(2, 1, 1, UNLIMITED, 0, UNLIMITED), ABRUPT),
    "three processes": (Bounds(3, 1, 1, 1, 0), GRACEFUL),
    "three processes, abrupt": (Bounds(3, 2, 1, 1, 0), ABRUPT),
    "three processes, a crash": (Bounds(3, 2, 1, 0, 1), ABRUPT),
    "three processes, two transactions": (Bounds(3, 1, 2, 1, 0), ABRUPT),
    "three processes, any time-outs": (Bounds(3, 1, 1, UNLIMITED, 0), ABRUPT),
}


def space(
    bounds: Bounds, switches: Switches, *, reduction: bool, mutant: str | None = None, quick: bool = True
) -> Space:
    kinds = QUICK if quick else PROPERTIES
    protocol, quorums = mutated("zab", mutant), Quorums(bounds.processes)
    return Space(protocol, quorums, switches, bounds, kinds, reduction=reduction, moments=False)


def processes_of(explorer: Space) -> set[tuple[object, ...]]:
    """Return what processes have promised, accepted and delivered, at any time; of those that are down the disk."""
    seen: set[tuple[object, ...]] = set()
    for process in processes_at_any_time(explorer):
        durable = (process.disk.durable.get(name) for name in ("accepted_epoch", "current_epoch", "history"))
        seen.add((*durable, None if process.state is None else process.state.delivered))
    return {each for each in seen if each[-1] is not None}


@pytest.mark.parametrize("name", sweep(SPACES, normal=("any faults, graceful", "a cut and a crash")))
def test_processes_come_to_the_same(name: str) -> None:
    whole, reduced = (space(*SPACES[name], reduction=reduction) for reduction in (False, True))
    said = [each.explore() for each in (whole, reduced)]
    assert [each.whole for each in said] == [True, True]
    assert processes_of(whole) == processes_of(reduced)
    assert said[0].exercised == said[1].exercised
    assert said[1].states < said[0].states


MUTANTS = {
    "quorum-off-by-one": (Bounds(3, 1, 1, 1, 0), ABRUPT),
    "reuse-highest-epoch": (Bounds(3, 1, 1, 1, 0), ABRUPT),
    "accept-equal-epoch": (Bounds(2, 1, 0, UNLIMITED, 0), ABRUPT),
    "promise-not-durable": (Bounds(2, 2, 1, 1, 1), ABRUPT),
    "commit-on-own-ack": (Bounds(2, 2, 1, 1, 0), GRACEFUL),
    "commit-only-named": (Bounds(3, 2, 2, 0, 0), ABRUPT),
    "broadcast-before-established": (Bounds(2, 2, 2, 1, 0), GRACEFUL),
    "keep-own-history": (Bounds(2, 2, 2, 1, 0), ABRUPT),
    "keep-longer-history": (Bounds(2, 2, 2, 1, 0), ABRUPT),
    "no-truncation": (Bounds(2, 2, 2, 1, 0), GRACEFUL),
    "propose-to-acked-only": (Bounds(3, 1, 1, 1, 0), ABRUPT),
    "duplicate-proposal": (Bounds(3, 2, 1, 0, 0), ABRUPT),
    "deliver-initial-history-last": (Bounds(2, 2, 2, 1, 0), ABRUPT),
    "redeliver-with-gap": (Bounds(2, 2, 2, UNLIMITED, UNLIMITED), ABRUPT),
    "ack-before-sync": (Bounds(2, 1, 1, 0, 1), DISK),
    "history-by-zxid-only": (Bounds(3, 2, 1, 1, 0), ABRUPT),
    "counter-wraps": (Bounds(1, 1, 2, 0, 0), Switches(sync="atomic", counter_limit=1)),
}
"""Bounds in which the one of each that fits is found, or is not: with and without reduction alike."""
LONG = {
    "keep-own-history",
    "duplicate-proposal",
    "deliver-initial-history-last",
    "reuse-highest-epoch",
    "broadcast-before-established",
    "keep-longer-history",
    "no-truncation",
    "propose-to-acked-only",
    "redeliver-with-gap",
    "history-by-zxid-only",
}


@pytest.mark.parametrize("mutant", sweep(MUTANTS, normal=MUTANTS.keys() - LONG))
def test_a_mutant_is_caught_with_reduction_if_and_only_if_without(mutant: str) -> None:
    assert mutant in CATALOGUE
    said = [space(*MUTANTS[mutant], reduction=each, mutant=mutant, quick=False).explore() for each in (False, True)]
    assert len({each.broken is None for each in said}) == 1
    assert [each.whole for each in said] == [each.broken is None for each in said]


ZAB = [name for name, mutant in CATALOGUE.items() if mutant.protocol == "zab" and mutated("zab", name).environment.fifo]


def held(explorer: Space, row: Row) -> dict[int, int]:
    """Return the processes that never leave, with their leaders, as no fault can come any more."""
    states = explorer.local_states
    if explorer.bounds.affordable(row[-2]) & (TIMEOUT | CRASH | CUT):
        return {}
    ids = explorer.components.ids
    return {p: states.settled_with[row[p - 1]] for p in ids if states.is_held(row, p)}


def who_is_held_stays(explorer: Space, expanded: int) -> bool:
    """Return whether all states are as `reduction` says of these processes; there has to be one."""
    seen = False
    for row in islice(explorer.rows(), expanded):
        before = held(explorer, row)
        seen |= bool(before)
        for after in explorer.successors.of(row):
            if not after.raised and not before.items() <= held(explorer, tuple(after.row)).items():
                return False
    return seen


def test_a_held_thread_stays_with_its_leader() -> None:
    explorer = space(Bounds(3, 2, 1, 1, 0), ABRUPT, reduction=True)
    assert who_is_held_stays(explorer, explorer.explore().states)


@pytest.mark.parametrize("switches", [ABRUPT, GRACEFUL], ids=["abrupt", "graceful"])
def test_a_process_that_stays_anyway_reads_on(switches: Switches) -> None:
    protocol = mutated("zab")
    bounds = Bounds(2, 2, 1, 1, 0)
    both = [
        Space(each, Quorums(bounds.processes), switches, bounds, QUICK, reduction=True, moments=False)
        for each in (replace(protocol, settled=None), protocol)
    ]
    stopping, reading = (each.explore() for each in both)
    assert processes_of(both[0]) == processes_of(both[1])
    assert reading.exercised == stopping.exercised
    assert reading.states < stopping.states


def test_a_leader_that_a_request_makes_leave_holds_nobody() -> None:
    """Where the counter overflows, the leader gives up, and a follower may not have read what it sent before."""
    overflowing = Switches(sync="atomic", closing="abrupt", counter_limit=1)
    explorer = space(Bounds(2, 1, 2, 0, 0), overflowing, reduction=True)
    explorer.explore()
    assert any(
        link is not None and link.is_unread
        for row in explorer.rows()
        for number in row[:-2]
        for link in (explorer.components.links[each] for each in explorer.local_states.made_of[number][1:])
    )


@pytest.mark.slow
@pytest.mark.parametrize(
    ("mutant", "bounds"),
    list(zip(ZAB[::4], cycle((Bounds(3, 2, 1, 1, 0), Bounds(2, 2, 2, UNLIMITED, UNLIMITED)))))[::3],
    ids=lambda value: value.in_words() if isinstance(value, Bounds) else value,
)
def test_every_mutant_is_caught_with_reduction_if_and_only_if_without(mutant: str, bounds: Bounds) -> None:
    """Mutants are among them whose steps are not what the reduction is about, if it takes them for such."""
    said = [space(bounds, ABRUPT, reduction=each, mutant=mutant, quick=False).explore() for each in (False, True)]
    assert len({each.broken is None for each in said}) == 1
    assert [each.whole for each in said] == [each.broken is None for each in said]


@pytest.mark.slow
@pytest.mark.parametrize("mutant", ZAB[::2])
def test_a_known_bug_does_not_make_leave_who_is_held(mutant: str) -> None:
    whole, reduced = (space(Bounds(2, 2, 1, 1, 0), ABRUPT, reduction=each, mutant=mutant) for each in (False, True))
    said = [each.explore() for each in (whole, reduced)]
    assert len({each.broken is None for each in said}) == 1
    if reduced.reduced and said[1].whole:
        assert who_is_held_stays(reduced, said[1].states)
        assert processes_of(whole) == processes_of(reduced)


def test_where_a_violation_may_pass_nobody_is_held() -> None:
    """A transaction that is delivered before a quorum has accepted it looks no different once the quorum has."""
    assert are_lasting(select(("core", "prefix", "epoch uniqueness")))
    assert not are_lasting(select(("agreement",)))
    assert not are_lasting(select(("chosen",)))
    explorer = space(Bounds(2, 1, 1, 0, 0), ABRUPT, reduction=True, quick=False)
    explorer.explore()
    assert set(explorer.local_states.settled_with) == {NOBODY}


def test_what_is_not_lost_with_its_iteration_is_not_reduced() -> None:
    """With this mutant a follower hears its old leader after another one is named, so moves do not commute."""
    unreduced = space(SMALL, ABRUPT, reduction=True, mutant="stale-proposal-accepted", quick=False)
    assert not unreduced.reduced
    assert unreduced.explore().broken is not None


def test_a_lone_leader_is_not_made_to_wait_for_a_follower() -> None:
    assert space(SMALL, ABRUPT, reduction=True).local_states.is_lazy
    assert not space(SMALL, GRACEFUL, reduction=True).local_states.is_lazy
    assert not space(SMALL, ABRUPT, reduction=True, mutant="quorum-off-by-one").local_states.is_lazy
    assert not Space(
        mutated("zab"), Quorums(1), ABRUPT, Bounds(1, 1, 1, 0, 0), QUICK, reduction=True
    ).local_states.is_lazy


@pytest.mark.slow
def test_the_shortest_run_is_searched_for_without_reduction() -> None:
    """The reduced search's run of this one is longer."""
    bounds = Bounds(3, 2, 1, 1, 0)

    def make(reduction: bool) -> Space:
        return space(bounds, ABRUPT, reduction=reduction, mutant="reuse-highest-epoch", quick=False)

    reduced = make(True).explore()
    found = search(make, reduction=True)
    assert len(found.result.choices) == len(make(False).explore().choices) == found.tried + 1
    assert len(reduced.choices) >= len(found.result.choices)
    assert shorter(make, found.result.choices).result.choices == ()
    longer = (*found.result.choices, found.result.choices[-1])
    assert len(shorter(make, longer).result.choices) == len(found.result.choices)


def test_without_memory_it_is_said_how_many_steps_were_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_LOOK", 300)

    def make(reduction: bool) -> Space:
        return space(Bounds(3, 2, 1, 1, 0), ABRUPT, reduction=reduction, mutant="reuse-highest-epoch", quick=False)

    known = make(True).explore().choices
    found = shorter(make, known, memory=1)
    assert found.result.choices == ()
    assert 0 < found.tried < len(known) - 1


def test_levels_end_a_search() -> None:
    explored: SearchResult = space(Bounds(2, 1, 1, 1, 0), ABRUPT, reduction=False).explore(levels=3)
    assert (explored.tried, explored.depth, explored.whole) == (3, 3, False)
