"""An exhaustive search: it sees what there is to see, no more and no less, and its counterexamples are the shortest."""

from collections import deque
from collections.abc import Hashable, Iterator, Sequence
from functools import cache
from random import Random
from typing import Any

import pytest
from msgspec import structs

from invariants import Event, select
from invariants.quorums import Quorums, quorums_of
from tests.tiers import sweep
from zabcheck.explore import portions as portions_module
from zabcheck.explore.bounds import UNLIMITED, Bounds
from zabcheck.explore.judges import judged_in_every_state
from zabcheck.explore.results import Progress, SearchResult
from zabcheck.explore.space import Space
from zabcheck.explore.tables import components
from zabcheck.explore.tables.components import Components
from zabcheck.mutants.catalogue import CATALOGUE, mutated
from zabcheck.protocols.base import CannotTellApart
from zabcheck.protocols.switches import Switches
from zabcheck.protocols.zab.process import Link
from zabcheck.search.run import replay, schedule_of
from zabcheck.simulation.channels import NOBODY
from zabcheck.simulation.choices import AnyChoice, Crash, Elect, Notice, Receive, Recover, Request, Sync, Timeout
from zabcheck.simulation.content import of_value
from zabcheck.simulation.next_state import Model, next_state
from zabcheck.simulation.simulator import Simulator

ATOMIC, SEPARATE = Switches(sync="atomic"), Switches()
PROPERTIES = tuple(kind for kind in select(None) if judged_in_every_state(kind))
SMALL = {
    "one process": (Bounds(1, 2, 2, 1, 1), ATOMIC),
    "two processes": (Bounds(2, 1, 1, 1, 0), ATOMIC),
    "two epochs": (Bounds(2, 2, 1, 1, 0), ATOMIC),
    "a crash": (Bounds(2, 1, 1, 0, 1), ATOMIC),
    "a disk": (Bounds(2, 1, 1, 0, 1), SEPARATE),
    "unlimited": (Bounds(2, 1, 1, UNLIMITED, 0), ATOMIC),
    "three processes": (Bounds(3, 1, 1, 0, 0), ATOMIC),
}
each_space = pytest.mark.parametrize("name", sweep(SMALL, normal=("one process", "two processes")))


@cache
def space(name: str, symmetry: bool) -> tuple[Space, SearchResult]:
    bounds, switches = SMALL[name]
    made = Space(mutated("zab"), Quorums(bounds.processes), switches, bounds, PROPERTIES, symmetry=symmetry)
    return made, made.explore()


def found(mutant: str | None, bounds: Bounds, *, symmetry: bool = True, quorums: str = "majority") -> SearchResult:
    family = quorums_of(quorums, bounds.processes)
    return Space(mutated("zab", mutant), family, ATOMIC, bounds, PROPERTIES, symmetry=symmetry).explore()


# The states that there are, by the simulator alone: every choice is executed in a copy of every state.


def seen_by_the_simulator(
    bounds: Bounds, switches: Switches, protocol: str = "zab", quorums: Quorums | None = None
) -> set[Hashable]:
    def silent(event: Event) -> None:
        return None

    first = Simulator(mutated(protocol), bounds.processes, silent, quorums=quorums, switches=switches, remember=False)
    waiting = [(first, bounds.timeouts, bounds.crashes, bounds.changes)]
    seen = {key(*waiting[0])}
    while waiting:
        simulator, timeouts, crashes, changes = waiting.pop()
        for choice in choices(bounds.processes, changes):
            left = [timeouts, crashes]
            if isinstance(choice, Timeout) or (isinstance(choice, Elect) and is_busy(simulator, choice.process)):
                left[0] -= left[0] != UNLIMITED
            if isinstance(choice, Crash):
                left[1] -= 1
            if (left[0] < 0 and timeouts != UNLIMITED) or left[1] < 0:
                continue
            is_change = isinstance(choice, Request) and choice.value is not None
            if isinstance(choice, Request) and not is_change and simulator.requests == bounds.txns:
                continue
            after = simulator.fork(silent)
            if not after.execute(choice) or epoch(after) > bounds.epochs:
                continue
            state = (after, left[0], left[1], changes[is_change:])
            if key(*state) not in seen:
                seen.add(key(*state))
                waiting.append(state)
    return seen


def choices(processes: int, changes: Sequence[str] = ()) -> Iterator[AnyChoice]:
    for process in range(1, processes + 1):
        yield from (Sync(process), Request(process), Timeout(process), Recover(process))
        yield from (Request(process, change) for change in changes[:1])
        yield from (Crash(process, keep) for keep in range(3))
        for other in range(1, processes + 1):
            yield Elect(process, other)
            if other != process:
                yield from (Receive(process, other), Notice(process, other))


def is_busy(simulator: Simulator, process: int) -> bool:
    return simulator.following[process] != NOBODY


def epoch(simulator: Simulator) -> int:
    up = [state for state in simulator.states if state is not None]
    return max((max(state.accepted_epoch, state.new_epoch) for state in up), default=0)


def key(simulator: Simulator, timeouts: int, crashes: int, changes: tuple[str, ...]) -> Hashable:
    """A state without what the properties know."""
    identity = simulator.protocol.identity
    assert identity is not None
    return (
        tuple(None if state is None else identity(state) for state in simulator.states),
        tuple(
            (of_value(disk.durable), tuple((of_value(w.fields), of_value(w.withheld)) for w in disk.unsynced))
            for disk in simulator.disks
        ),
        frozenset(
            (pair, c.follower_end, c.leader_end, c.broken, c.supersedes, messages(c.to_leader), messages(c.to_follower))
            for pair, c in simulator.connections.items()
        ),
        tuple(simulator.following),
        tuple(simulator.halted),
        simulator.requests,
        timeouts,
        crashes,
        len(changes),
    )


def messages(queue: object) -> tuple[Hashable, ...]:
    return tuple(of_value(message) for message, _ in queue)  # type: ignore[attr-defined]  # a deque of parcels


@each_space
def test_it_sees_the_states_that_the_simulator_can_reach_and_no_others(name: str) -> None:
    explorer, explored = space(name, symmetry=False)
    assert explored.whole
    without_monitors = {row[:-1] for row in explorer.rows()}
    assert len(without_monitors) == len(seen_by_the_simulator(*SMALL[name]))


@each_space
def test_with_symmetry_it_sees_the_same_states_up_to_names(name: str) -> None:
    whole, _ = space(name, symmetry=False)
    reduced, explored = space(name, symmetry=True)
    assert explored.whole
    again = Space(mutated("zab"), Quorums(SMALL[name][0].processes), SMALL[name][1], SMALL[name][0], PROPERTIES)
    assert again.explore() == explored
    assert whole.symmetry is None
    assert reduced.symmetry is not None
    assert explored.exercised == space(name, symmetry=False)[1].exercised
    orbits = {orbit(reduced, row) for row in reduced.rows()}
    assert sum(map(len, orbits)) == len({row[:-1] for row in whole.rows()})


def orbit(explorer: Space, state: tuple[int, ...]) -> frozenset[tuple[int, ...]]:
    """The state under all names, without what the properties know: that may tell more than it needs to."""
    symmetry = explorer.symmetry
    assert symmetry is not None
    return frozenset(symmetry.renamed(state, names)[:-1] for names in symmetry.renamings)


# The shortest run.


QUICK = ("quorum-off-by-one", "commit-on-own-ack", "counter-wraps", "promise-not-durable")


@pytest.mark.parametrize(
    "mutant",
    sweep(("quorum-off-by-one", "commit-on-own-ack", "reuse-highest-epoch"), normal=("commit-on-own-ack",)),
)
def test_a_counterexample_is_as_short_with_symmetry_as_without_and_real(mutant: str) -> None:
    bounds = Bounds(3, 2, 1, 1, 0)
    explored = {symmetry: found(mutant, bounds, symmetry=symmetry) for symmetry in (True, False)}
    assert len(explored[True].choices) == len(explored[False].choices) == explored[True].depth
    for each in explored.values():
        assert each.broken is not None
        schedule = schedule_of("zab", mutant, 3, each.choices, each.broken, switches=ATOMIC)
        replayed = replay(schedule, [each.broken])
        assert [verdict.status for verdict in replayed.verdicts] == ["violated"]
        assert (replayed.steps, replayed.skipped) == (len(each.choices), 0)
        assert len(each.choices) <= 14


def test_no_run_of_fewer_steps_breaks_anything() -> None:
    """All runs there are are judged, each by itself."""
    explored = found("commit-on-own-ack", Bounds(2, 1, 1, 0, 0))
    assert explored.broken is not None
    length = len(explored.choices)
    broken = {len(run) for run in runs("commit-on-own-ack", 2, length) if is_broken("commit-on-own-ack", run)}
    assert broken == {length}


def runs(mutant: str, processes: int, length: int) -> Iterator[tuple[AnyChoice, ...]]:
    """All runs of up to so many steps without a time-out or crash, to the first violation."""
    waiting: list[tuple[AnyChoice, ...]] = [()]
    while waiting:
        run = waiting.pop()
        for choice in choices(processes):
            if isinstance(choice, Timeout | Crash | Recover | Sync):
                continue
            simulator = Simulator(mutated("zab", mutant), processes, lambda _: None, switches=ATOMIC)
            for each in run:
                simulator.execute(each)
            if isinstance(choice, Elect) and is_busy(simulator, choice.process):
                continue
            if (isinstance(choice, Request) and simulator.requests) or not simulator.execute(choice):
                continue
            longer = (*run, choice)
            yield longer
            if len(longer) < length and not is_broken(mutant, longer):
                waiting.append(longer)


def is_broken(mutant: str, run: tuple[AnyChoice, ...]) -> bool:
    verdicts = replay(schedule_of("zab", mutant, 2, run, switches=ATOMIC), [kind.name for kind in PROPERTIES]).verdicts
    return any(verdict.status == "violated" for verdict in verdicts)


# Bounds and quorums.


def test_a_fault_without_a_bound_needs_no_counter() -> None:
    counted, unlimited = space("two processes", symmetry=True)[1], space("unlimited", symmetry=True)[1]
    assert unlimited.whole
    assert counted.states < unlimited.states
    assert unlimited.switched_off == {"epochs": unlimited.switched_off["epochs"]}


LIMITED = (Bounds(2, 2, 1, 0, 1), Bounds(2, 1, 1, 0, 0, 1), Bounds(2, 9, 0, 1, 1))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("bounds", "reduction"),
    sweep(
        [(bounds, reduction) for bounds in LIMITED for reduction in (False, True)],
        normal=[(LIMITED[0], True), (LIMITED[1], False)],
    ),
)
def test_a_bound_limits_a_search_exactly_if_a_greater_one_adds_states(bounds: Bounds, reduction: bool) -> None:
    def searched(wider: Bounds) -> SearchResult:
        return Space(mutated("zab"), Quorums(2), ATOMIC, wider, PROPERTIES, reduction=reduction).explore()

    few = searched(bounds)
    for each in ("epochs", "txns", "timeouts", "crashes", "cuts"):
        more = searched(structs.replace(bounds, **{each: getattr(bounds, each) + 1}))
        assert (more.states > few.states) == (each in few.limiting), each


def test_what_the_bounds_switch_off_is_counted() -> None:
    assert space("two processes", symmetry=True)[1].switched_off["epochs"] > 0
    assert space("two epochs", symmetry=True)[1].switched_off == {}
    assert found(None, Bounds(2, 0, 1, 0, 0)).exercised["chosen"] is False


@pytest.mark.slow
def test_without_memory_it_ends_and_says_so() -> None:
    explorer = Space(mutated("zab"), Quorums(3), ATOMIC, Bounds(3, 1, 1, 1, 0), PROPERTIES)
    told: list[Progress] = []
    explored = explorer.explore(memory=1, on_progress=told.append)
    assert not explored.whole
    assert explored.broken is None
    assert [each.states for each in told] == [explored.states]


def test_processes_that_the_quorums_treat_differently_are_not_taken_for_one() -> None:
    """With weights 2, 1, 1 only the last two can be exchanged."""
    family = quorums_of("weights 2,1,1", 3)
    explorer = Space(mutated("zab"), family, ATOMIC, Bounds(3, 1, 0, 0, 0), PROPERTIES)
    assert explorer.symmetry is not None
    assert explorer.symmetry.renamings == [(0, 1, 2, 3), (0, 1, 3, 2)]
    plain = Space(mutated("zab"), family, ATOMIC, Bounds(3, 1, 0, 0, 0), PROPERTIES, symmetry=False)
    reduced, whole = explorer.explore(), plain.explore()
    assert reduced.whole
    orbits = {orbit(explorer, row) for row in explorer.rows()}
    assert sum(map(len, orbits)) == len({row[:-1] for row in plain.rows()})
    assert whole.whole


@pytest.mark.parametrize("mutant", QUICK)
def test_these_bugs_show_within_small_bounds(mutant: str) -> None:
    if mutant == "counter-wraps":
        explorer = Space(
            mutated("zab", mutant),
            Quorums(1),
            Switches(sync="atomic", counter_limit=1),
            Bounds(1, 1, 2, 0, 0),
            PROPERTIES,
        )
        explored = explorer.explore()
    else:
        explored = found(mutant, Bounds(3, 2, 1, 1, 1))
    assert explored.broken in CATALOGUE[mutant].breaks


def test_what_a_protocol_keeps_is_told_apart_by_what_is_in_it() -> None:
    assert of_value(deque([1, 2])) == of_value(deque([1, 2])) != of_value(deque([2, 1]))
    assert of_value({"a": [1]}) == of_value({"a": [1]}) != of_value({"a": [2]})
    assert of_value({2, 1}) == of_value({1, 2})
    assert of_value([Link.ASKED]) == of_value([Link.ASKED]) != of_value([Link.SYNCED])

    class Opaque:
        __slots__ = ("x",)
        __hash__ = None  # type: ignore[assignment]  # so nobody can tell

    with pytest.raises(CannotTellApart, match=r"^a Opaque among the variables"):
        of_value(Opaque())


def test_a_choice_is_executed_once_for_whom_it_names(monkeypatch: pytest.MonkeyPatch) -> None:
    executed, put_together = list[AnyChoice](), list[Any]()
    next_state, outcome = components.next_state, Components.outcome

    def executing(model: Any, process: Any, connections: Any, choice: Any, *others: Any) -> Any:
        executed.append(choice)
        return next_state(model, process, connections, choice, *others)

    def putting_together(self: Components, *parts: Any) -> Any:
        put_together.append(parts)
        return outcome(self, *parts)

    monkeypatch.setattr(components, "next_state", executing)
    monkeypatch.setattr(Components, "outcome", putting_together)
    assert found(None, Bounds(3, 1, 1, 0, 0)).whole
    assert 0 < len(executed) < len(put_together) * 0.8


COUNTED = [
    ("zab", Bounds(3, 1, 1, 1, 1, 1), Switches(sync="atomic", closing="abrupt")),
    ("zab", Bounds(2, 2, 1, 1, 1), SEPARATE),
    ("zookeeper", Bounds(3, 2, 1, 0, 1, 0, 1), Switches(sync="atomic", closing="abrupt", elections="oracle")),
]
"""Spaces with faults that are counted."""


@pytest.mark.parametrize(
    ("protocol", "bounds", "switches"), sweep(COUNTED, normal=COUNTED[1:2]), ids=["zab", "a disk", "zookeeper"]
)
def test_a_move_that_is_put_together_of_parts_is_what_the_choice_makes_of_all_links_at_once(
    protocol: str, bounds: Bounds, switches: Switches, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(portions_module, "LARGE", 1 << 40)  # arrays put moves together themselves
    kinds, quorums = select(["core", "epoch uniqueness"]), Quorums(bounds.processes)
    searched = Space(mutated(protocol), quorums, switches, bounds, kinds)
    searched.explore(levels=12)
    states, made = searched.local_states, searched.components
    model, expansions = Model(made.protocol, quorums, switches), sorted(states.expansions.items())
    for (mask, local_state, *links_to), expansion in Random(1).sample(expansions, 600):
        number, *opened = states.made_of[local_state]
        process, pairs = made.processes[number], dict(enumerate(zip(opened, links_to, strict=True), 1))
        connections: dict[Any, Any] = {}
        for other, pair in pairs.items():
            connections |= made._connections(process.id, other, pair)[0]
        for move in expansion.moves:
            choice, requests = states.choices[move.choice], mask >> 40
            whole = next_state(model, process, connections, choice, requests)  # type: ignore[arg-type]  # it is one of a process
            assert whole is not None
            component, *now_opened = states.made_of[move.local_state]
            assert made.key_of(made.processes[component]) == made.key_of(whole.process)
            now_to = list(links_to)
            for other_place, link in move.links:
                now_to[other_place] = link
            for other, pair in pairs.items():
                after = made._links(process.id, other, pair, whole.connections, {}, whole.replaced)
                assert after == (now_opened[other - 1], now_to[other - 1])


def test_renamings_are_found_once_for_each_order_of_kinds() -> None:
    symmetry = space("three processes", symmetry=True)[0].symmetry
    assert symmetry is not None
    assert 1 < len(symmetry._ordered) <= 13, "three can be ordered, with ties, in 13 ways"
