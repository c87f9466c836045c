"""Continuations from every state of a search: they end as the simulator does, and what does not get on is found."""

from collections import Counter
from collections.abc import Collection, Hashable
from functools import partial
from typing import Any

import pytest
from msgspec import Struct, structs

from invariants import EMPTY, Event, Halt, Judge, Promise, select
from invariants.quorums import MAJORITY, quorums_of
from tests.tiers import sweep
from zabcheck.explore.bounds import UNLIMITED, Bounds
from zabcheck.explore.exploration import explore
from zabcheck.explore.judges import judged_in_every_state
from zabcheck.explore.liveness.undisturbed import LIVENESS, Continuations, Ending, StableQuorum, Trap, find_trap
from zabcheck.explore.report import facts
from zabcheck.explore.runs import run_to
from zabcheck.explore.space import Space
from zabcheck.explore.tables.successors import Row
from zabcheck.mutants.catalogue import CATALOGUE, mutated
from zabcheck.protocols.base import Effect, Persist, Protocol, Request, Send, Started, StepRaised, TimedOut
from zabcheck.protocols.switches import Switches
from zabcheck.protocols.zab.follower import on_newepoch, promise
from zabcheck.protocols.zab.leader import on_cepoch, on_request
from zabcheck.protocols.zab.messages import CEpoch, NewEpoch
from zabcheck.protocols.zab.process import Follower, Leader, on_started
from zabcheck.search.run import replay, schedule_of
from zabcheck.simulation.choices import AnyChoice, Stabilise, a_round, choose, undisturbed
from zabcheck.simulation.content import of_disk
from zabcheck.simulation.disk import Disk
from zabcheck.simulation.simulator import Simulator
from zabcheck.zookeeper.model.server import Server
from zabcheck.zookeeper.model.switches import ZooKeeperSwitches

SAFETY = tuple(kind for kind in select(None) if judged_in_every_state(kind))
ATOMIC = Switches(sync="atomic")
ABRUPT = Switches(sync="atomic", closing="abrupt")
VOTING = ZooKeeperSwitches(sync="atomic", closing="abrupt", elections="oracle")
SMALL = Bounds(2, 1, 1, 1, 1)
THREE = Bounds(3, 1, 1, 0, 0)


# Protocols that do not get on. Safety is broken by `approach` alone.


def no_later_than_the_least(promises: Collection[int]) -> int:
    """However often it tries again. (One more than the least would do in a later try.)"""
    return max(1, min(promises))


def much_later_than_all(promises: Collection[int]) -> int:
    return max(promises) + 5


def ask_again(f: Follower, sender: int, m: NewEpoch) -> list[Effect]:
    """Step f.1.2, but a follower that has promised e' or a later one says so again, and a leader promises it again."""
    if sender == f.id and m.epoch == f.accepted_epoch:
        return promise(f, sender, m)
    if sender == f.leader and m.epoch <= f.accepted_epoch:
        return [Send(sender, CEpoch(f.accepted_epoch))]
    return on_newepoch(f, sender, m)


def approach(f: Follower, sender: int, m: NewEpoch) -> list[Effect]:
    """Step f.1.2, but a follower comes to e' epoch by epoch, and asks again each time."""
    if sender == f.leader and m.epoch > f.accepted_epoch + 1:
        f.accepted_epoch += 1
        return [Persist(accepted_epoch=f.accepted_epoch), Send(sender, CEpoch(f.accepted_epoch))]
    return on_newepoch(f, sender, m)


def ask_for_the_next(leader: Leader, sender: int, m: CEpoch) -> list[Effect]:
    """Step l.1.1, but whatever a follower has promised, the leader asks for one epoch more."""
    return [] if sender == leader.id else [Send(sender, NewEpoch(m.epoch + 1))]


def promise_and_ask(f: Follower, sender: int, m: NewEpoch) -> list[Effect]:
    """Step f.1.2, but a follower that has promised e' says so as if it had just come."""
    f.accepted_epoch = m.epoch
    return [Persist(accepted_epoch=m.epoch), Send(sender, CEpoch(m.epoch))]


def fail_at_the_third(leader: Leader, sender: int, m: Request) -> list[Effect]:
    """Step l.3.1, but with a mistake in the code."""
    assert leader.history.length < 2
    return on_request(leader, sender, m)


def halt(f: Follower, sender: int, m: TimedOut) -> list[Effect]:
    return [Halt(f.id, f.incarnation, "no heartbeat")]


def halt_with_a_log(f: Follower, sender: int, m: Started) -> list[Effect]:
    return [Halt(f.id, f.incarnation, "there is something in the log")] if f.history else on_started(f, sender, m)


def vote_by_id(f: Server) -> tuple[int]:
    return (f.id,)


def zab(**steps: Any) -> Protocol:
    """Zab with these steps, by the names of what they handle."""
    kinds = {kind.__name__: kind for kind in mutated("zab").steps}
    protocol = mutated("zab")
    return structs.replace(protocol, steps={**protocol.steps, **{kinds[name]: step for name, step in steps.items()}})


STUCK = zab(CEpoch=partial(on_cepoch, choose=no_later_than_the_least))
ROUND_AND_ROUND = zab(CEpoch=partial(on_cepoch, choose=no_later_than_the_least), NewEpoch=ask_again)
SLOW = zab(CEpoch=partial(on_cepoch, choose=much_later_than_all), NewEpoch=approach)
ON_AND_ON = zab(CEpoch=ask_for_the_next, NewEpoch=promise_and_ask)
RAISING = zab(Request=fail_at_the_third)
BY_ID = structs.replace(mutated("zookeeper"), vote=vote_by_id)
HALTING = zab(TimedOut=halt)
HALTING_LATER = zab(Started=halt_with_a_log)


class Case(Struct, frozen=True):
    """A search, all of it, judged by `properties`."""

    bounds: Bounds
    protocol: Protocol = mutated("zab")
    switches: Switches = ATOMIC
    quorums: str = MAJORITY
    reduction: bool = False
    symmetry: bool = True
    properties: tuple[Any, ...] = LIVENESS

    def space(self) -> Space:
        """Return what the search sees."""
        quorums = quorums_of(self.quorums, self.bounds.processes)
        space = Space(
            self.protocol,
            quorums,
            self.switches,
            self.bounds,
            self.properties,
            symmetry=self.symmetry,
            reduction=self.reduction,
        )
        explored = space.explore()
        assert explored.whole
        return space

    def simulated(self, choices: Collection[AnyChoice], stabilise: Stabilise) -> Ending | None:
        """Return what the simulator and the judges of the properties make of this Stabilise at the end of this run."""
        quorums = quorums_of(self.quorums, self.bounds.processes)
        judge = Judge(LIVENESS, quorums=quorums)

        def show(event: Event) -> None:
            judge.observe(event)

        simulator = Simulator(self.protocol, quorums.size, show, quorums=quorums, switches=self.switches)
        for choice in choices:
            assert simulator.execute(choice) == 1
        try:
            simulator.execute(stabilise)
        except StepRaised:
            return Ending(None, raised=True)
        if not simulator.stable:
            return None
        broken = [verdict.property for verdict in judge.finish() if verdict.status == "violated"]
        return Ending(broken[0] if broken else None, raised=False)


AGREEING = {
    "one process": Case(Bounds(1, 2, 2, 1, 1)),
    "two processes": Case(SMALL),
    "two processes, judged by safety": Case(SMALL, properties=SAFETY),
    "a disk": Case(Bounds(2, 1, 1, 0, 1), switches=Switches()),
    "cuts": Case(Bounds(2, 1, 1, 1, 0, 1), switches=Switches(sync="atomic", histories="missing")),
    "unlimited": Case(Bounds(2, 1, 1, UNLIMITED, 0), switches=ABRUPT),
    "counters run out": Case(Bounds(2, 1, 1, 0, 0), switches=Switches(sync="atomic", counter_limit=1)),
    "three processes": Case(THREE),
    "three processes, without symmetry": Case(THREE, symmetry=False),
    "three processes, judged by safety": Case(THREE, properties=SAFETY),
    "weights": Case(THREE, quorums="weights 2,1,1"),
    "stops reading": Case(SMALL, reduction=True),
    "stops reading, a disk": Case(Bounds(2, 1, 1, 1, 0), switches=Switches(), reduction=True),
    "stops reading, three processes": Case(THREE, switches=ABRUPT, reduction=True, properties=SAFETY),
    "always reading": Case(Bounds(2, 1, 1, UNLIMITED, 0), switches=ABRUPT, reduction=True),
}
DISAGREEABLE = {
    "quorum-off-by-one": Case(THREE, mutated("zab", "quorum-off-by-one")),
    "commit-on-own-ack": Case(THREE, mutated("zab", "commit-on-own-ack")),
    "keep-own-history": Case(THREE, mutated("zab", "keep-own-history")),
    "redeliver-with-gap": Case(Bounds(2, 1, 1, 0, 1), mutated("zab", "redeliver-with-gap")),
    "stuck": Case(THREE, STUCK),
    "round and round": Case(THREE, ROUND_AND_ROUND, reduction=True),
    "raising": Case(Bounds(2, 1, 1, 1, 0), RAISING),
}
NOT_FOLLOWED = {
    "halting": Case(SMALL, HALTING),
    "halting later": Case(Bounds(2, 1, 1, 0, 1), HALTING_LATER),
}


def compared(case: Case) -> Counter[Ending | None]:
    """Count how often each ending came, as in the simulator; of many states, from fifty to a hundred."""
    space = case.space()
    continuations = Continuations(space)
    given: Counter[Ending | None] = Counter()
    for state, row in sample(list(space.rows())):
        choices, names = run_to(space, state)
        for stable in continuations.stable_quorums:
            ending = continuations.ending(row, stable)
            ending = ending and ending._replace(ended=True)  # a simulator does not tell that
            assert ending == case.simulated(choices, named(stable, names)), (choices, stable.stabilise)
            given[ending] += 1
    return given


def sample(rows: list[Row]) -> list[tuple[int, Row]]:
    """Return fifty to a hundred states, spread evenly, with their numbers; all if there are fewer."""
    return list(enumerate(rows))[:: 1 + len(rows) // 100]


def named(stable: StableQuorum, names: tuple[int, ...]) -> Stabilise:
    leader, quorum = stable.stabilise.leader, stable.stabilise.quorum
    return Stabilise(names[leader], tuple(sorted(names[member] for member in quorum)))


# They end as the simulator does.


@pytest.mark.parametrize("name", sweep(AGREEING, normal=("one process", "always reading")))
def test_from_no_state_of_zab_does_a_continuation_or_the_simulator_get_stuck(name: str) -> None:
    case = AGREEING[name]
    given = compared(case)
    assert given.keys() == {Ending(None, raised=False)}
    states = case.space()
    checked = find_trap(states).checked
    assert given.total() * len(list(states.rows())) == checked * len(sample(list(states.rows())))


@pytest.mark.parametrize("name", sweep(DISAGREEABLE, normal=("raising",)))
def test_continuations_get_stuck_where_the_simulator_does(name: str) -> None:
    case = DISAGREEABLE[name]
    given = compared(case)
    assert len(given) == 2
    assert None not in given
    assert find_trap(case.space()).trap is not None


@pytest.mark.parametrize("name", sweep(NOT_FOLLOWED, normal=("halting later",)))
def test_a_process_that_has_halted_gets_on_with_nobody(name: str) -> None:
    given = compared(NOT_FOLLOWED[name])
    assert given.keys() == {None, Ending(None, raised=False)}


VOTERS = {
    "two processes": SMALL,
    "two processes, two epochs": Bounds(2, 2, 1, 1, 1),
    "three processes": THREE,
}


@pytest.mark.parametrize("name", sweep(VOTERS, normal=("two processes",)))
@pytest.mark.parametrize(
    "protocol",
    [pytest.param(mutated("zookeeper"), id="right", marks=pytest.mark.slow), pytest.param(BY_ID, id="vote by id")],
)
def test_the_one_that_wins_is_followed_and_the_simulator_comes_to_the_same(name: str, protocol: Protocol) -> None:
    case = Case(VOTERS[name], protocol, VOTING, symmetry=False)
    space = case.space()
    continuations = Continuations(space)
    given: Counter[Ending] = Counter()
    for state, row in sample(list(space.rows())):
        choices, names = run_to(space, state)
        followed = set()
        for stable in continuations.stable_quorums:
            ending = continuations.ending(row, stable)
            if ending is not None:
                assert ending == case.simulated(choices, named(stable, names)), (choices, stable.stabilise)
                followed.add(stable.stabilise.quorum)
                given[ending] += 1
        assert followed == {stable.stabilise.quorum for stable in continuations.stable_quorums}
    assert given.keys() == {Ending(None, False), *([] if protocol is not BY_ID else [Ending("convergence", False)])}


# Traps that are found.


TRAPS = {
    "quorum-off-by-one": SMALL,
    "reuse-highest-epoch": Bounds(3, 1, 1, 2, 0),
    "commit-on-own-ack": THREE,
    "commit-only-named": Bounds(3, 2, 2, 0, 0),
    "stale-proposal-accepted": Bounds(3, 2, 1, 1, 0),
    "keep-own-history": THREE,
    "keep-longer-history": Bounds(3, 2, 1, 1, 0),
    "no-truncation": Bounds(3, 2, 1, 1, 0),
    "propose-to-acked-only": Bounds(3, 2, 2, 0, 0),
    "redeliver-with-gap": Bounds(2, 1, 1, 0, 1),
}
"""Bounds within which a mutant leads to a trap."""


@pytest.mark.parametrize("name", sweep(TRAPS, normal=("commit-on-own-ack", "redeliver-with-gap")))
def test_these_bugs_lead_to_a_trap_within_small_bounds(name: str) -> None:
    bounds, reduction = TRAPS[name], name == "reuse-highest-epoch"  # its space is large
    trap = find_trap(Case(bounds, mutated("zab", name), reduction=reduction).space()).trap
    assert trap is not None
    assert trap.kind == "trap"
    assert trap.broken in CATALOGUE[name].breaks
    schedule = schedule_of("zab", name, bounds.processes, trap.choices, trap.broken, switches=ATOMIC)
    replayed = replay(schedule, [trap.broken])
    assert [verdict.status for verdict in replayed.verdicts] == ["violated"]
    assert replayed.skipped == 0


@pytest.mark.parametrize("reduction", sweep((False, True), normal=(True,)))
@pytest.mark.parametrize(
    "bounds",
    sweep([Bounds(2, 2, 2, 1, 1), Bounds(3, 1, 1, 1, 0), Bounds(3, 2, 1, 0, 0)], normal=[Bounds(3, 2, 1, 0, 0)]),
)
def test_zab_has_no_trap(bounds: Bounds, reduction: bool) -> None:
    told: list[int] = []
    space = Case(bounds, switches=ABRUPT, reduction=reduction, properties=SAFETY).space()
    found = find_trap(space, lambda at: told.append(at.led))
    states = sum(1 for _ in space.rows())
    assert found.trap is None
    assert found.checked == states * (2 if bounds.processes == 2 else 6)
    assert told == list(range(4096, states + 1, 4096))


KINDS = {
    "trap": (Case(THREE, STUCK, properties=SAFETY), {"trap"}, "convergence"),
    "lasso": (Case(THREE, ROUND_AND_ROUND, properties=SAFETY), {"lasso"}, "convergence"),
    "raised": (Case(THREE, RAISING, properties=SAFETY), {"raised"}, None),
}


@pytest.mark.parametrize("kind", sweep(KINDS, normal=()))
def test_how_it_does_not_get_on_is_told(kind: str) -> None:
    case, kinds, broken = KINDS[kind]
    traps = all_traps(case)
    assert {trap.kind for trap in traps} == kinds
    assert {trap.broken for trap in traps} == {broken}
    for trap in traps:
        *run, stabilise = trap.choices
        assert isinstance(stabilise, Stabilise)
        assert case.simulated(run, stabilise) == Ending(trap.broken, kind == "raised")
        if trap.kind in ("trap", "lasso"):
            assert goes_on(case, run, stabilise) == (trap.kind == "lasso")
    assert find_trap(case.space()).trap == traps[0]
    assert min(len(trap.choices) for trap in traps) == len(traps[0].choices)


def test_a_leader_that_takes_many_rounds_gets_on() -> None:
    """Its followers come to its epoch one by one, and that takes more rounds than those of Zab."""
    found = find_trap(Case(Bounds(3, 5, 0, 0, 0), SLOW).space())
    assert (found.trap, found.unfinished) == (None, 0)
    assert found.checked


@pytest.mark.slow
def test_what_has_no_end_decides_nothing() -> None:
    """Each answer makes for another one, and none is like the one before: nobody knows what comes of it."""
    case = Case(Bounds(2, 1, 0, 0, 0), ON_AND_ON)
    found = find_trap(case.space())
    assert found.trap is None
    assert found.unfinished
    assert compared(case).keys() == {Ending(None, raised=False)}
    told = explore(structs.replace(ON_AND_ON, name="on-and-on"), bounds=case.bounds, properties=["core", "liveness"])
    assert (told.whole, told.broken, told.unfinished > 0) == (True, None, True)
    assert {"convergence", "reliable delivery"} <= set(told.unexercised)
    assert "convergence and reliable delivery are not proved" in dict(facts(told))["undecided"]


def goes_on(case: Case, run: Collection[AnyChoice], stabilise: Stabilise) -> bool:
    """Return whether there is still something to do after very many rounds."""
    quorums = quorums_of(case.quorums, case.bounds.processes)
    simulator = Simulator(case.protocol, quorums.size, lambda _: None, quorums=quorums, switches=case.switches)
    leader, quorum = stabilise.leader, stabilise.quorum
    for choice in (*run, *choose(leader, quorum, together=False)):
        simulator.execute(choice)
    for choice in undisturbed(leader, quorum, case.switches, simulator):
        simulator.execute(choice)
    steps = 0
    for _ in range(50):
        round_ = a_round(quorum, simulator.waiting(), simulator.hearing_but_votes())
        steps = sum([simulator.execute(choice) for choice in round_])
    return steps > 0


def all_traps(case: Case) -> list[Trap]:
    space = case.space()
    continuations = Continuations(space)
    pairs = [(state, row, each) for state, row in enumerate(space.rows()) for each in continuations.stable_quorums]
    endings = [(continuations.ending(row, each), state, row, each) for state, row, each in pairs]
    return [continuations.trap(state, row, each) for ending, state, row, each in endings if ending and ending.is_trap]


@pytest.mark.parametrize(
    ("bounds", "switches"),
    [
        (Bounds(2, 2, 1, 1, 0), ATOMIC),
        pytest.param(Bounds(2, 2, 2, 1, 0), ATOMIC, marks=pytest.mark.slow),
        pytest.param(Bounds(2, 1, 1, 1, 1), Switches(), marks=pytest.mark.slow),
        pytest.param(Bounds(2, 1, 2, UNLIMITED, 1), ABRUPT, marks=pytest.mark.slow),
        pytest.param(Bounds(3, 1, 1, 0, 0), ABRUPT, marks=pytest.mark.slow),
    ],
)
def test_with_reduction_a_quorum_has_at_one_moment_all_that_it_may_have(bounds: Bounds, switches: Switches) -> None:
    """Continuations depend on several processes at one moment, of which reduction promises nothing."""
    whole, reduced = (
        starts(Case(bounds, switches=switches, reduction=reduction, symmetry=False, properties=SAFETY))
        for reduction in (False, True)
    )
    assert whole == reduced


def starts(case: Case) -> set[Hashable]:
    """Return for each quorum, in each state, what its members have on disk and have delivered, and what anybody has."""
    space = case.space()
    quorums = Continuations(space).stable_quorums
    found: set[Hashable] = set()
    for row in space.rows():
        known = space.monitors.sequences(row[-1])
        assert known is not None
        delivered = frozenset(known[1].record.delivered())
        local_states = (space.local_states.made_of[number] for number in row[: case.bounds.processes])
        processes = [space.components.processes[number] for number, *_ in local_states]
        has = [(on_disk(each.disk), each.state.delivered if each.is_up else EMPTY) for each in processes]
        for stable in quorums:
            quorum = stable.stabilise.quorum
            found.add((stable.stabilise, tuple(has[member - 1] for member in quorum), delivered))
    return found


def on_disk(disk: Disk) -> Hashable:
    """All but the messages that wait for a sync, and to whom a promise was made that does.

    The messages are lost when a process chooses a leader; no continuation looks at whom a promise was made to.
    """
    kept = disk.copy()
    for write in kept.unsynced:
        write.withheld = [
            structs.replace(effect, leader=None) if isinstance(effect, Promise) else effect
            for effect in write.withheld
            if not isinstance(effect, Send)
        ]
    return of_disk(kept)


@pytest.mark.slow
def test_what_is_lost_by_reduction_is_not_followed() -> None:
    """This mutant keeps the connection to its old leader open, and what is on its way there would be read.

    It says that it is not to be reduced; one that does not say so is reduced, but no such continuation is followed.
    """
    checked = []
    for mutant in (None, "stale-proposal-accepted"):
        taken_for_zab = structs.replace(mutated("zab", mutant), commutes=True)
        space = Case(Bounds(4, 1, 0, 0, 0), taken_for_zab, reduction=True).space()
        pairs = len(Continuations(space).stable_quorums) * sum(1 for _ in space.rows())
        found = find_trap(space)
        assert found.trap is None
        checked.append(found.checked / pairs)
    assert checked[0] == 1
    assert 0.8 < checked[1] < 1


def test_without_a_property_that_reads_sequences_nobody_knows_what_was_delivered() -> None:
    space = Case(Bounds(2, 1, 1, 0, 0), properties=tuple(select("zxid uniqueness"))).space()
    with pytest.raises(ValueError, match="reads delivered sequences"):
        find_trap(space)
