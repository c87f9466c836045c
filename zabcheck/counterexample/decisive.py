"""The decisive step of a run: the one after which a violation could no longer be avoided, found by trying.

From a prefix of the run the violation is *avoidable* if one of some undisturbed continuations does not break the
property. In each of them every link works, who is down recovers, one process leads all the others, clients ask it, and
everything arrives; each process is tried as leader. Nobody is left out: without the process that went astray nearly
every violation could be avoided until the last step. Only for a property that asks for the promise of a `Stabilise`,
its least quorums are tried. And what a running epoch owes (epoch progress) is asked of that epoch: the ensemble is left
alone, with no new leader, then all are asked to broadcast, and it is left alone again.

A continuation counts only if the ensemble gets on in it: a quorum delivers something that the leader broadcast. Else a
standstill would avoid everything. Before clients ask, and after it, rounds pass until nothing is left to be done or the
property is violated for good. A continuation that has no end after `MOST_ROUNDS` rounds decides nothing: if none of the
others avoids the violation from there, it is open which step decides, and that is told, with the number of rounds.

The decisive step is the one behind the last prefix from which the violation is avoidable. A violation may be avoidable
from a prefix and from no shorter one (a recovery repairs what a crash had broken), so the search is no bisection: it
goes back from the end, one choice at a time, and stops at the first prefix that can be saved.

That nothing avoids it means that nothing that was tried does: how many there were is told, and `continuations` names
them, so that the claim can be checked.
"""

from collections.abc import Iterator, Sequence
from itertools import combinations, islice
from typing import Literal, NamedTuple

from zabcheck.counterexample.story import Decisive
from zabcheck.invariants import Broadcast, Deliver, EpochProgress, Event, Invariant, Judge, Stabilised, Txn, select
from zabcheck.invariants.quorums import Quorums
from zabcheck.protocols.base import Elected, StepRaised
from zabcheck.protocols.switches import Switches
from zabcheck.search.recording import Prefix, Recording
from zabcheck.search.run import Observer, Replay, dispatch
from zabcheck.simulation import choices
from zabcheck.simulation.choices import REQUESTS, Choice, Settle, is_at_rest, is_least
from zabcheck.simulation.simulator import Simulator
from zabcheck.text.words import names

MOST_TRIES = 1000
"""The most continuations that are tried for a run; one takes one to three milliseconds with three processes."""
MOST_ROUNDS = 1000
"""The rounds that an ensemble has to come to rest; a `Stabilise` and a `Quiesce` have those of their own."""
MOST_QUORUMS = 6
"""The number of least quorums that each leader is tried with, for a property that needs them."""


_End = Literal["avoided", "violated", "raised", "at a standstill", "open"]
"""The end of a continuation: the property holds and the ensemble got on; or not; or there was no end yet."""
_OTHERWISE: dict[_End, str] = {
    "at a standstill": "the ensemble does not get on",
    "raised": "the protocol's own code raises an exception",
}
"""The ends that break nothing and avoid nothing, in words."""


class Continuation(NamedTuple):
    """An undisturbed end of a run: `leader` leads `members`; None: whoever leads goes on."""

    leader: int | None
    members: tuple[int, ...]
    choices: tuple[Choice, ...]


class _JudgedPrefix(NamedTuple):
    """A prefix of the run, and what judges it."""

    prefix: Prefix
    judge: Judge


def continuations(quorums: Quorums, switches: Switches, property_: type[Invariant]) -> list[Continuation]:
    """Return the continuations to try from each prefix, by leader."""
    everyone = tuple(range(1, quorums.size + 1))
    if property_ is EpochProgress:
        requests = [choices.Request(process) for process in everyone]  # of which only a primary takes one
        return [Continuation(None, everyone, (choices.Quiesce(), *requests, choices.Quiesce()))]
    if _has_own_rounds(property_):
        return [
            Continuation(leader, members, (choices.Stabilise(leader, members),))
            for leader in everyone
            for members in islice(_least_quorums(quorums, leader, everyone), MOST_QUORUMS)
        ]
    return [Continuation(leader, everyone, _with_everyone(leader, everyone, switches)) for leader in everyone]


def _has_own_rounds(property_: type[Invariant]) -> bool:
    """Return True if its continuations are choices that let rounds pass themselves: a `Stabilise`, or a `Quiesce`."""
    return property_.group == "liveness"


def _with_everyone(leader: int, everyone: Sequence[int], switches: Switches) -> tuple[Choice, ...]:
    """Return the choices of a `Stabilise`, but with all processes."""
    repairs = [repair for process in everyone for repair in (choices.Wake(process), choices.Recover(process))]
    followers = tuple(process for process in everyone if process != leader)
    requests = [choices.Request(leader)] * min(REQUESTS, switches.counter_limit)
    return (
        choices.Heal(),
        *repairs,
        choices.Lead(leader, followers),
        Settle(MOST_ROUNDS),
        *requests,
        Settle(MOST_ROUNDS),
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

    None if it lies before all prefixes that are recorded.

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
    after: list[_End] = []  # of the continuations from the prefix before which this one is
    for judged in reversed(prefixes):
        simulator = judged.prefix.simulator
        ends: list[_End] = []
        for by in _leader_first(simulator, tried):
            end = _end_of(judged, by, kind)
            if end == "avoided" and simulator is last:
                return _mended(recording, property_, len(tried), by)
            if end == "avoided":
                return _avoidable(simulator.steps + 1, last.steps, by, after)
            ends.append(end)
        if "open" in ends:
            return _open(simulator.steps, kind, ends)
        after = ends
    return _unavoidable(after) if prefixes[0].prefix.choices == 0 else None


def _tried(replayed: Replay, kind: type[Invariant]) -> list[Continuation]:
    return continuations(replayed.quorums, replayed.schedule.switches, kind)


def _judged(recording: Recording, kinds: Sequence[type[Invariant]]) -> list[_JudgedPrefix]:
    """Judge each of the recorded prefixes by the events that the run showed until then."""
    events = recording.replay.events[1:-1]
    judge = Judge(kinds, quorums=recording.replay.quorums)
    found, seen = [], 0
    for prefix in recording.prefixes:
        for event in events[seen : prefix.events]:
            judge.observe(event)
        seen = prefix.events
        found.append(_JudgedPrefix(prefix, judge.fork()))
    return found


def _leader_first(simulator: Simulator, tried: Sequence[Continuation]) -> list[Continuation]:
    """Sort the continuations: first those whose leader most processes follow now."""
    following = simulator.following[1:]
    return sorted(tried, key=lambda each: -following.count(each.leader or 0))


def _end_of(judged: _JudgedPrefix, continuation: Continuation, kind: type[Invariant]) -> _End:
    """Return what becomes of the property when the run goes on like this."""
    judge = judged.judge.fork()
    progress = _Progress(continuation.leader)
    simulator = judged.prefix.simulator.fork(dispatch(judge.observers, progress.observers))
    ended = True
    try:
        for choice in continuation.choices:
            if isinstance(choice, Settle):
                ended = ended and _comes_to_rest(simulator, judge, choice.rounds)
            else:
                simulator.execute(choice)
    except StepRaised:
        return "raised"
    if kind is EpochProgress:
        ended = is_at_rest(simulator)
    elif progress.taken_back:
        ended = False
    [verdict] = judge.finish(complete=ended)
    if verdict.status == "violated":
        return "violated"
    if not ended:
        return "open"
    if kind is EpochProgress:
        return "avoided"  # a new leader is no way out, so there may be none to get on
    return "avoided" if progress.made(simulator.quorums) else "at a standstill"


def _comes_to_rest(simulator: Simulator, judge: Judge, most_rounds: int) -> bool:
    """Let rounds pass until nothing is left to be done, or the property is violated for good.

    Return False if neither is so after `most_rounds`.
    """
    for _ in range(most_rounds):
        if judge.broken and any(verdict.violation for verdict in judge.fork().settle()):
            return True
        if not simulator.execute(Settle(1)):
            return True
    return False


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
        self.leader = event.process  # an election may name another than was asked for
        self.taken_back = not event.quorum

    def broadcast(self, event: Broadcast) -> None:
        if event.process == self.leader:
            self.delivered.setdefault(event.txn, {})

    def deliver(self, event: Deliver) -> None:
        if event.txn in self.delivered:
            self.delivered[event.txn][event.process] = None

    def made(self, quorums: Quorums) -> bool:
        return any(quorums.contains(list(processes)) for processes in self.delivered.values())


def _none(ends: Sequence[_End]) -> str:
    said = (
        "the only undisturbed continuation does not avoid it"
        if len(ends) == 1
        else f"none of the {len(ends)} undisturbed continuations that were tried avoids it"
    )
    others = [f"in {count} of them {told}" for end, told in _OTHERWISE.items() if (count := ends.count(end))]
    return f"{said} ({' and '.join(others)})" if others else said


def _unavoidable(ends: Sequence[_End]) -> Decisive:
    said = f"The violation could not be avoided even from the start: {_none(ends)}"
    return Decisive(0, len(ends), None, None, (), f"{said}.")


def _avoidable(step: int, last: int, by: Continuation, after: Sequence[_End]) -> Decisive:
    saved_by = f"{_undisturbed(by)} from there: nothing breaks"
    if step == last:
        said = f"Only the last step, {last}, completes the violation; until then it could be avoided ({saved_by})"
    else:
        before = f"before it the violation could be avoided ({saved_by})"
        said = f"Step {step} of {last} decides: {before}, after it {_none(after)}"
    return Decisive(step, len(after), saved_by, by.leader, by.members, f"{said}.")


def _open(step: int, kind: type[Invariant], ends: Sequence[_End]) -> Decisive:
    """State that what follows `step` decides nothing, as continuations from there have no end within the bound."""
    unfinished = ends.count("open")
    tried = f"undisturbed continuations that were tried {f'after step {step}' if step else 'from the start'}"
    bound = f"within {choices.MOST_ROUNDS if _has_own_rounds(kind) else MOST_ROUNDS:,} rounds"
    if unfinished == len(ends):
        no_end = f"none of the {len(ends)} {tried} has an end {bound}"
    else:
        has = "has" if unfinished == 1 else "have"
        no_end = f"{unfinished} of the {len(ends)} {tried} {has} no end {bound}, and no other avoids the violation"
    said = f"It is open which step decides: {no_end}."
    return Decisive(None, len(ends), None, None, (), said, unfinished)


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
