"""The decisive step of a run: the one after which a violation could no longer be avoided, found by trying.

From a prefix of the run the violation is *avoidable* if one of some undisturbed continuations does not break the
property. In each of them every link works, who is down recovers, one process leads all the others, clients ask it, and
everything arrives; each process is tried as leader. Nobody is left out: without the process that went astray nearly
every violation could be avoided until the last step. Only for a property that asks for the promise of a `Stabilise`,
its least quorums are tried. And what a running epoch owes (epoch progress) is asked of that epoch: the ensemble is left
alone, with no new leader, then all are asked to broadcast, and it is left alone again.

A continuation counts only if the ensemble gets on in it: a quorum delivers something that the leader broadcast. Else a
standstill would avoid everything. Rounds pass until nothing is left to be done; one in which that is not so after
`MOST_ROUNDS` rounds decides nothing, and nothing is said of a run with a prefix from which none avoids the violation
and one decides nothing.

The decisive step is the one behind the last prefix from which the violation is avoidable. A violation may be avoidable
from a prefix and from no shorter one (a recovery repairs what a crash had broken), so the search is no bisection: it
goes back from the end, one choice at a time, and stops at the first prefix that can be saved.

That nothing avoids it means that nothing that was tried does: how many there were is told, and `continuations` names
them, so that the claim can be checked.
"""

from collections.abc import Iterator, Sequence
from itertools import combinations, islice
from typing import NamedTuple

from zabcheck.counterexample.story import Decisive
from zabcheck.invariants import Broadcast, Deliver, EpochProgress, Event, Invariant, Judge, Stabilised, Txn, select
from zabcheck.invariants.quorums import Quorums
from zabcheck.protocols.base import Elected, StepRaised
from zabcheck.protocols.switches import Switches
from zabcheck.search.recording import Prefix, Recording
from zabcheck.search.run import Observer, Replay, dispatch
from zabcheck.simulation import choices
from zabcheck.simulation.choices import MOST_ROUNDS, REQUESTS, Choice, is_at_rest, is_least
from zabcheck.simulation.simulator import Simulator
from zabcheck.text.words import names

MOST_TRIES = 1000
"""The most continuations that are tried for a run; one takes one to three milliseconds with three processes."""
MOST_QUORUMS = 6
"""The number of least quorums that each leader is tried with, for a property that needs them."""


class Continuation(NamedTuple):
    """An undisturbed end of a run: `leader` leads `members`; None: whoever leads goes on."""

    leader: int | None
    members: tuple[int, ...]
    choices: tuple[Choice, ...]


class _Judged(NamedTuple):
    """A prefix of the run, and what judges it."""

    prefix: Prefix
    judge: Judge


def continuations(quorums: Quorums, switches: Switches, property_: type[Invariant]) -> list[Continuation]:
    """Return the continuations to try from each prefix, by leader."""
    everyone = tuple(range(1, quorums.size + 1))
    if property_ is EpochProgress:
        requests = [choices.Request(process) for process in everyone]  # of which only a primary takes one
        return [Continuation(None, everyone, (choices.Quiesce(), *requests, choices.Quiesce()))]
    if property_.group == "liveness":
        return [
            Continuation(leader, members, (choices.Stabilise(leader, members),))
            for leader in everyone
            for members in islice(_least_quorums(quorums, leader, everyone), MOST_QUORUMS)
        ]
    return [Continuation(leader, everyone, _with_everyone(leader, everyone, switches)) for leader in everyone]


def _with_everyone(leader: int, everyone: Sequence[int], switches: Switches) -> tuple[Choice, ...]:
    """Return the choices of a `Stabilise`, but with all processes."""
    repairs = [repair for process in everyone for repair in (choices.Wake(process), choices.Recover(process))]
    followers = tuple(process for process in everyone if process != leader)
    requests = [choices.Request(leader)] * min(REQUESTS, switches.counter_limit)
    return (
        choices.Heal(),
        *repairs,
        choices.Lead(leader, followers),
        choices.Settle(MOST_ROUNDS),
        *requests,
        choices.Settle(MOST_ROUNDS),
    )


def _least_quorums(quorums: Quorums, leader: int, everyone: Sequence[int]) -> Iterator[tuple[int, ...]]:
    others = [process for process in everyone if process != leader]
    for size in range(len(everyone)):
        for followers in combinations(others, size):
            members = tuple(sorted((leader, *followers)))
            if is_least(quorums, leader, members):
                yield members


def most_prefixes(replayed: Replay, property_: str, most_tries: int = MOST_TRIES) -> int:
    """Return from how many prefixes of a run that breaks `property_` it is tried to avoid that; 0 if from none.

    That is so if the run does not break the property, if a step of the protocol raised in it, or if nobody can be named
    leader, as where processes elect one themselves. At most `most_tries` continuations are tried.
    ValueError if there is no such property.
    """
    [kind] = select([property_])
    if Elected not in replayed.protocol.steps or replayed.raised is not None:
        return 0
    if not any(verdict.property == property_ and verdict.violation is not None for verdict in replayed.verdicts):
        return 0
    return most_tries // len(_tried(replayed, kind))


def find_decisive(recording: Recording, property_: str) -> Decisive | None:
    """Find the decisive step of a run that breaks `property_`.

    None if it lies before all prefixes that are recorded, or if continuations that have no end leave it open.

    `most_prefixes` says how many prefixes to record. Cost: O(events) for the run, and O(rounds × processes^2) for each
    continuation that is tried, a few milliseconds with three processes.
    """
    replayed = recording.replay
    [kind] = select([property_])
    tried = _tried(replayed, kind)
    prefixes = _judged(recording, [kind])
    if not prefixes:
        return None
    last = prefixes[-1].prefix.simulator
    for judged in reversed(prefixes):
        simulator = judged.prefix.simulator
        is_open = False
        for by in _leader_first(simulator, tried):
            avoided = _avoids(judged, by, kind)
            if avoided and simulator is last:
                return _mended(recording, property_, len(tried), by)
            if avoided:
                return _avoidable(simulator.steps + 1, last.steps, len(tried), by)
            is_open |= avoided is None
        if is_open:
            return None
    return _unavoidable(len(tried)) if prefixes[0].prefix.choices == 0 else None


def _tried(replayed: Replay, kind: type[Invariant]) -> list[Continuation]:
    return continuations(replayed.quorums, replayed.schedule.switches, kind)


def _judged(recording: Recording, kinds: Sequence[type[Invariant]]) -> list[_Judged]:
    """Judge each of the recorded prefixes by the events that the run showed until then."""
    events = recording.replay.events[1:-1]
    judge = Judge(kinds, quorums=recording.replay.quorums)
    found, seen = [], 0
    for prefix in recording.prefixes:
        for event in events[seen : prefix.events]:
            judge.observe(event)
        seen = prefix.events
        found.append(_Judged(prefix, judge.fork()))
    return found


def _leader_first(simulator: Simulator, tried: Sequence[Continuation]) -> list[Continuation]:
    """Sort the continuations: first those whose leader most processes follow now."""
    following = simulator.following[1:]
    return sorted(tried, key=lambda each: -following.count(each.leader or 0))


def _avoids(judged: _Judged, continuation: Continuation, kind: type[Invariant]) -> bool | None:
    """Return True if the property stays whole when the run goes on like this and the ensemble makes progress.

    None if that has no end, and could still come to be so.
    """
    judge = judged.judge.fork()
    progress = _Progress(continuation.leader)
    simulator = judged.prefix.simulator.fork(dispatch(judge.observers, progress.observers))
    try:
        for choice in continuation.choices:
            simulator.execute(choice)
        by_promise = kind.group == "liveness" and kind is not EpochProgress
        if by_promise:
            ended = not progress.taken_back
        else:
            ended = is_at_rest(simulator) if kind is EpochProgress else not simulator.execute(choices.Settle(1))
    except StepRaised:
        return False
    [verdict] = judge.finish(complete=ended)
    if verdict.status == "violated":
        return False
    if not ended:
        return None
    if kind is EpochProgress:
        return True  # a new leader is no way out, so there may be none to get on
    return verdict.status == "holds" if by_promise else progress.made(simulator.quorums)


class _Progress:
    """Watches which processes delivered what the leader broadcast, and whether a promise is taken back."""

    def __init__(self, leader: int | None) -> None:
        self.leader = leader
        self.delivered: dict[Txn, dict[int, None]] = {}  # by transaction, the processes
        self.taken_back = False
        self.observers: dict[type[Event], Observer] = {
            Broadcast: self.broadcast,
            Deliver: self.deliver,
            Stabilised: self.stabilised,
        }

    def stabilised(self, event: Stabilised) -> None:
        self.taken_back = not event.quorum

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
    saved_by = f"{_undisturbed(by)} from there: nothing breaks"
    if step == last:
        said = f"Only the last step, {last}, completes the violation; until then it could be avoided ({saved_by})"
    else:
        before = f"before it the violation could be avoided ({saved_by})"
        said = f"Step {step} of {last} decides: {before}, after it {_none(tried)}"
    return Decisive(step, tried, saved_by, by.leader, by.members, f"{said}.")


def _mended(recording: Recording, property_: str, tried: int, by: Continuation) -> Decisive:
    """State that the property holds again if the run goes on; that may be at the cost of others."""
    whole = _judged(recording, select())[-1]
    before = {verdict.property for verdict in whole.judge.fork().finish() if verdict.violation is not None}
    simulator = whole.prefix.simulator.fork(whole.judge.observe)
    for choice in by.choices:
        simulator.execute(choice)
    broken = [verdict.property for verdict in whole.judge.finish() if verdict.violation is not None]
    others = [name for name in broken if name not in before]
    cost = f", but then {others[0]} is broken" if others else ""
    last = recording.replay.steps
    mended = f"after the last step, {last}, {property_} is mended if {_undisturbed(by)}{cost}"
    said = f"The violation is not final: {mended}."
    return Decisive(None, tried, f"{_undisturbed(by)} from there", by.leader, by.members, said)


def _undisturbed(by: Continuation) -> str:
    if by.leader is None:
        return "the ensemble is left alone"
    others = [member for member in by.members if member != by.leader]
    return f"p{by.leader} leads {names(others) if others else 'alone'} undisturbed"
