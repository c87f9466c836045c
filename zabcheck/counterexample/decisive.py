"""The decisive step of a run: the one after which a violation could no longer be avoided, found by trying.

From a prefix of the run the violation is *avoidable* if one of some undisturbed continuations does not break the
property. In each of them every link works, who is down recovers, one process leads all the others, clients ask it, and
everything arrives; each process is tried as leader. Nobody is left out: without the process that went astray nearly
every violation could be avoided until the last step. Only for a property that asks for the promise of a `Stabilise`,
its least quorums are tried.

A continuation counts only if the ensemble gets on in it: a quorum delivers something that the leader broadcast. Else a
standstill would avoid everything.

The decisive step is the one behind the last prefix from which the violation is avoidable. A violation may be avoidable
from a prefix and from no shorter one (a recovery repairs what a crash had broken), so the search is no bisection: it
goes back from the end, one choice at a time, and stops at the first prefix that can be saved.

That nothing avoids it means that nothing that was tried does: how many there were is told, and `continuations` names
them, so that the claim can be checked.
"""

from collections.abc import Iterator, Sequence
from itertools import combinations, islice
from typing import NamedTuple

from msgspec import structs

from invariants import Broadcast, Deliver, Event, Invariant, Judge, Txn, select
from invariants.quorums import Quorums, quorums_of
from zabcheck.counterexample.story import Decisive
from zabcheck.mutants.catalogue import mutated
from zabcheck.protocols.base import Elected, StepRaised
from zabcheck.protocols.switches import Switches
from zabcheck.search.run import Observer, Replay, dispatch, replay, simulate
from zabcheck.simulation import choices
from zabcheck.simulation.choices import Choice
from zabcheck.simulation.schedule import Schedule
from zabcheck.simulation.simulator import Simulator
from zabcheck.simulation.stabilise import REQUESTS, ROUNDS_TO_DELIVER, ROUNDS_TO_LEAD, is_least
from zabcheck.text.words import names

MOST_TRIES = 1000
"""How many continuations a run is worth; one takes one to three milliseconds with three processes."""
MOST_QUORUMS = 6
"""How many least quorums each leader is tried with, for a property that needs them."""


class Continuation(NamedTuple):
    """An undisturbed end of a run: `leader` leads `members`."""

    leader: int
    members: tuple[int, ...]
    choices: tuple[Choice, ...]


class _Prefix(NamedTuple):
    """The run after the first `choices` of those that it executed."""

    choices: int
    simulator: Simulator
    judge: Judge


def continuations(quorums: Quorums, switches: Switches, property_: type[Invariant]) -> list[Continuation]:
    """What is tried from each prefix, by leader."""
    everyone = tuple(range(1, quorums.size + 1))
    if property_.group == "liveness":
        return [
            Continuation(leader, members, (choices.Stabilise(leader, members),))
            for leader in everyone
            for members in islice(_least_quorums(quorums, leader, everyone), MOST_QUORUMS)
        ]
    return [Continuation(leader, everyone, _with_everyone(leader, everyone, switches)) for leader in everyone]


def _with_everyone(leader: int, everyone: Sequence[int], switches: Switches) -> tuple[Choice, ...]:
    """As `Stabilise`, with all processes."""
    repairs = [repair for process in everyone for repair in (choices.Wake(process), choices.Recover(process))]
    followers = tuple(process for process in everyone if process != leader)
    requests = [choices.Request(leader)] * min(REQUESTS, switches.counter_limit)
    return (
        choices.Heal(),
        *repairs,
        choices.Lead(leader, followers),
        choices.Settle(ROUNDS_TO_LEAD),
        *requests,
        choices.Settle(ROUNDS_TO_DELIVER),
    )


def _least_quorums(quorums: Quorums, leader: int, everyone: Sequence[int]) -> Iterator[tuple[int, ...]]:
    others = [process for process in everyone if process != leader]
    for size in range(len(everyone)):
        for followers in combinations(others, size):
            members = tuple(sorted((leader, *followers)))
            if is_least(quorums, leader, members):
                yield members


def find_decisive(replayed: Replay, property_: str, most_tries: int = MOST_TRIES) -> Decisive | None:
    """The decisive step of a run that breaks `property_`; None if it isn't found within `most_tries` continuations.

    Also None if the run doesn't break it, a step of the protocol raised in it, or nobody can be named leader, as where
    processes elect one themselves. Cost: O(steps) for the run, and
    O(rounds × processes^2) for each continuation that is tried, a few milliseconds with three processes.
    """
    schedule = replayed.schedule
    [kind] = select([property_])
    if Elected not in mutated(schedule.protocol, schedule.mutant).steps:
        return None
    if replayed.raised is not None or not any(
        verdict.property == property_ and verdict.violation is not None for verdict in replayed.verdicts
    ):
        return None
    tried = continuations(quorums_of(schedule.quorums, schedule.processes), schedule.switches, kind)
    prefixes = _last_prefixes(schedule, kind, most_tries // len(tried))
    if not prefixes:
        return None
    last = prefixes[-1]
    for prefix in reversed(prefixes):
        by = next((each for each in _leader_first(prefix.simulator, tried) if _avoids(prefix, each, kind)), None)
        if by is not None:
            if prefix is last:
                return _mended(replayed, property_, len(tried), by)
            return _avoidable(prefix.simulator.steps + 1, last.simulator.steps, len(tried), by)
    return _unavoidable(len(tried)) if prefixes[0].choices == 0 else None


def _last_prefixes(schedule: Schedule, kind: type[Invariant], most: int) -> list[_Prefix]:
    """The last `most` prefixes of the run, the whole run among them, shortest first."""
    judge = Judge([kind], quorums=quorums_of(schedule.quorums, schedule.processes))
    simulator = simulate(schedule, dispatch(judge.observers))
    executed = _executed(schedule)
    prefixes = []
    for done in range(len(executed) + 1):
        if done:
            simulator.execute(executed[done - 1])
        if len(executed) - done < most:
            prefixes.append(_fork(done, simulator, judge))
    return prefixes


def _executed(schedule: Schedule) -> list[Choice]:
    simulator = simulate(schedule, lambda _: None)
    for choice in schedule.choices:
        simulator.execute(choice)
    return simulator.executed


def _fork(done: int, simulator: Simulator, judge: Judge) -> _Prefix:
    twin = judge.fork()
    fork = simulator.fork(dispatch(twin.observers))
    fork.remember = False
    fork.executed = []
    return _Prefix(done, fork, twin)


def _leader_first(simulator: Simulator, tried: Sequence[Continuation]) -> list[Continuation]:
    """Those with the process first that most processes follow now."""
    following = simulator.following[1:]
    return sorted(tried, key=lambda each: -following.count(each.leader))


def _avoids(prefix: _Prefix, continuation: Continuation, kind: type[Invariant]) -> bool:
    """Whether the property is whole if the run goes on like this, and the ensemble gets on."""
    judge = prefix.judge.fork()
    progress = _Progress(continuation.leader)
    simulator = prefix.simulator.fork(dispatch(judge.observers, progress.observers))
    try:
        for choice in continuation.choices:
            simulator.execute(choice)
    except StepRaised:
        return False
    [verdict] = judge.finish()
    if kind.group == "liveness":
        return verdict.status == "holds"
    return verdict.violation is None and progress.made(simulator.quorums)


class _Progress:
    """Who delivered what the leader broadcast."""

    def __init__(self, leader: int) -> None:
        self.leader = leader
        self.delivered: dict[Txn, dict[int, None]] = {}  # by transaction, the processes
        self.observers: dict[type[Event], Observer] = {Broadcast: self.broadcast, Deliver: self.deliver}

    def broadcast(self, event: Broadcast) -> None:
        if event.process == self.leader:
            self.delivered.setdefault(event.txn, {})

    def deliver(self, event: Deliver) -> None:
        if event.txn in self.delivered:
            self.delivered[event.txn][event.process] = None

    def made(self, quorums: Quorums) -> bool:
        return any(quorums.contains(list(processes)) for processes in self.delivered.values())


def _none(tried: int) -> str:
    if tried == 1:
        return "the only undisturbed continuation does not avoid it"
    return f"none of the {tried} undisturbed continuations that were tried avoids it"


def _unavoidable(tried: int) -> Decisive:
    said = f"The violation could not be avoided even from the start: {_none(tried)}"
    return Decisive(0, tried, None, None, (), f"{said}.")


def _avoidable(step: int, last: int, tried: int, by: Continuation) -> Decisive:
    saved_by = f"{_leads(by)} undisturbed from there: nothing breaks"
    if step == last:
        said = f"Only the last step, {last}, completes the violation; until then it could be avoided ({saved_by})"
    else:
        before = f"before it the violation could be avoided ({saved_by})"
        said = f"Step {step} of {last} decides: {before}, after it {_none(tried)}"
    return Decisive(step, tried, saved_by, by.leader, by.members, f"{said}.")


def _mended(replayed: Replay, property_: str, tried: int, by: Continuation) -> Decisive:
    """The property is whole again if the run goes on; that may be at the cost of others."""
    schedule = replayed.schedule
    whole = structs.replace(schedule, choices=(*_executed(schedule), *by.choices))
    before = {verdict.property for verdict in replay(schedule).verdicts if verdict.violation is not None}
    broken = [verdict.property for verdict in replay(whole).verdicts if verdict.violation is not None]
    others = [name for name in broken if name not in before]
    cost = f", but then {others[0]} is broken" if others else ""
    mended = f"after the last step, {replayed.steps}, {property_} is mended if {_leads(by)} undisturbed{cost}"
    said = f"The violation is not final: {mended}."
    return Decisive(None, tried, f"{_leads(by)} undisturbed from there", by.leader, by.members, said)


def _leads(by: Continuation) -> str:
    others = [member for member in by.members if member != by.leader]
    return f"p{by.leader} leads {names(others)}" if others else f"p{by.leader} leads alone"
