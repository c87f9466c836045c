"""Makes the elections of a run of the model those of servers, which elect the greatest vote of a quorum.

In a run whose elections are of another kind (the switch `elections`) any process may be named, and of equal votes the
one with the highest number wins. The effect of a run seldom depends on numbers, so other ones are tried. A process
that is named a leader which it would not elect joins it, once a quorum follows.
"""

from collections.abc import Iterator
from itertools import combinations, permutations

from msgspec.structs import replace

from zabcheck.invariants.quorums import quorums_of
from zabcheck.search.run import Replay, replay_on
from zabcheck.simulation import choices
from zabcheck.simulation.choices import AnyChoice, Choice
from zabcheck.simulation.schedule import Schedule
from zabcheck.simulation.simulator import Simulator
from zabcheck.zookeeper.model import ZOOKEEPER


def by_vote(schedule: Schedule) -> Schedule | None:
    """Return a run with elections by vote that breaks the same; None if no numbering of its processes makes it one.

    If it names no broken property, each choice has to be possible. Cost: for each order of the processes two runs at
    most, so 240 of five processes.
    """
    numbers = range(1, schedule.processes + 1)
    for order in permutations(numbers):
        names = dict(zip(numbers, order, strict=True))
        run = tuple(each for choice in schedule.choices if (each := choices.renamed(choice, names)) is not None)
        switches = replace(schedule.switches, elections="oracle")
        voted = tuple(_voted(run, replace(schedule, switches=switches)))
        other = replace(schedule, choices=voted, switches=switches)
        if _is_the_same(replay_on(ZOOKEEPER, other)):
            return other
    return None


def _is_the_same(replayed: Replay) -> bool:
    violates = replayed.schedule.violates
    if violates is None:
        return not replayed.skipped
    return any(each.property == violates and each.status == "violated" for each in replayed.verdicts)


def _voted(run: tuple[Choice, ...], schedule: Schedule) -> Iterator[AnyChoice]:
    """Yield the choices of a run with elections by vote, as far as there are such."""
    quorums = quorums_of(schedule.quorums, schedule.processes)
    simulator = Simulator(ZOOKEEPER, schedule.processes, lambda _: None, quorums=quorums, switches=schedule.switches)
    for choice in _together(run, simulator):
        for each in _elected(choice, simulator) if isinstance(choice, choices.Lead) else _joined(choice, simulator):
            simulator.execute(each)
            yield each


def _together(run: tuple[Choice, ...], simulator: Simulator) -> Iterator[Choice]:
    """Yield the choices with one election for a leader and the followers that are told of it next, up to a quorum."""
    taken: set[int] = set()
    for number, choice in enumerate(run):
        if number in taken:
            continue
        if not isinstance(choice, choices.Elect) or choice.process != choice.leader:
            yield choice
            continue
        followers: list[int] = []
        for later, other in enumerate(run[number + 1 :], start=number + 1):
            if simulator.quorums.contains([choice.leader, *followers]):
                break
            if isinstance(other, choices.Elect) and other.process == choice.leader:
                break
            if isinstance(other, choices.Elect) and other.leader == choice.leader:
                followers.append(other.process)
                taken.add(later)
        yield choices.Lead(choice.leader, tuple(followers))


def _elected(choice: choices.Lead, simulator: Simulator) -> list[Choice]:
    """Return an election by the most followers that elect the leader; the others join."""
    for size in range(len(choice.followers), 0, -1):
        for followers in combinations(choice.followers, size):
            trial = simulator.fork(lambda _: None)
            trial.execute(choices.Lead(choice.leader, followers))
            if trial.following[choice.leader] == choice.leader:
                others = [each for each in choice.followers if each not in followers]
                joining = [join for each in others for join in _join(each, choice.leader)]
                return [choices.Lead(choice.leader, followers), *joining]
    return [choice]


def _joined(choice: Choice, simulator: Simulator) -> list[Choice]:
    """Return a choice, preceded by the end of the iteration of any process that joins a leader."""
    if not isinstance(choice, choices.Elect) or not simulator.following[choice.process]:
        return [choice]
    return _join(choice.process, choice.leader)


def _join(process: int, leader: int) -> list[Choice]:
    return [choices.Timeout(process), choices.Elect(process, leader)]
