"""Shortens a schedule that fails to a 1-minimal one: no single choice can be left out.

To fail is to break a property, or to make the protocol's code raise. Because a choice that is not enabled is skipped,
any sub-sequence can be tried. The passes leave out processes, epochs, runs of choices from long to short (delta
debugging, Zeller and Hildebrandt 2002), single ones and pairs; they make the remaining choices plainer, and coarser
where that takes fewer steps: a write that is synced at once, an election as one choice. They are repeated until none of
them helps any more. The property that breaks, or the exception and its place, stays the same.

A 1-minimal schedule may be far from the shortest: a long run, minimised, keeps the shape of its story, its epochs and
detours. So `shortest` tries other runs that break the same property; a short one has no such story to keep.
"""

from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial
from itertools import combinations
from typing import NamedTuple

from msgspec import structs

from zabcheck.invariants import Judge, select
from zabcheck.invariants.quorums import MAJORITY, Quorums, is_configuration, quorums_of
from zabcheck.protocols.base import Protocol, StepRaised
from zabcheck.protocols.step_limit import time_spent
from zabcheck.search import swarm
from zabcheck.search.run import DEFAULT_PROCESSES, PropertyBroken, ProtocolRaised, Search, dispatch, simulate
from zabcheck.simulation import choices
from zabcheck.simulation.choices import Choice, least
from zabcheck.simulation.schedule import Schedule

SECONDS = 30.0
"""CPU seconds that a schedule is worth; most take a tenth of one, those of nodes up to ten."""
MOST_FOR_SUBSETS = 7
"""The most processes of which every subset is tried."""
MOST_FOR_PAIRS = 60
"""The longest schedule of which every pair of choices is tried."""
RUNS = 300
"""The number of other runs that are made at a time, each of up to three times the steps of the best one so far."""
TRIES = 4
"""The number of runs that break the property and are minimised, the shortest first."""


Place = tuple[type[Exception], str, int]
"""The kind of exception that was raised, with its file and line."""


class Failure(NamedTuple):
    """The failure of a schedule: the fine choices that were executed until then, and how many steps they took."""

    choices: tuple[Choice, ...]
    steps: int


class Shortened(NamedTuple):
    """A schedule that was made shorter; `is_minimal` if there was time enough to try to leave out each choice."""

    schedule: Schedule
    is_minimal: bool


Fails = Callable[[Schedule], Failure | None]
_HINT = "if it did before, the protocol is not deterministic"


def broken_by(protocol: Protocol, schedule: Schedule, property_: str) -> Failure:
    """Execute `schedule` until it breaks `property_`. ValueError if it does not."""
    failure = breaks(protocol, schedule, property_)
    if failure is None:
        raise ValueError(f"the schedule does not break {property_}; {_HINT}")
    return failure


def breaks(protocol: Protocol, schedule: Schedule, property_: str) -> Failure | None:
    """Execute `schedule` until `property_` is broken; None if the property stays whole."""
    [kind] = select([property_])
    judge = Judge([kind], quorums=quorums_of(schedule.quorums, schedule.processes))
    try:
        simulator = simulate(protocol, schedule, dispatch(judge.observers))
        for choice in schedule.choices:
            simulator.execute(choice)
            if judge.broken and judge.violated():
                break
    except StepRaised:
        return None
    [verdict] = judge.finish()
    return Failure(tuple(simulator.executed), simulator.steps) if verdict.status == "violated" else None


def raises(protocol: Protocol, schedule: Schedule, place: Place) -> Failure | None:
    """Execute `schedule` until a step raises at `place`; None if none does."""
    failure = Failure((), 0)
    try:
        simulator = simulate(protocol, schedule, lambda _: None)
        for choice in schedule.choices:
            try:
                simulator.execute(choice)
            finally:
                failure = Failure(tuple(simulator.executed), simulator.steps)
    except StepRaised as raised:
        return failure if raised.place == place else None
    return None


def minimise(
    protocol: Protocol, schedule: Schedule, property_: str, seconds: float = SECONDS, keep: Collection[str] = ()
) -> Shortened:
    """Reduce `schedule` to a 1-minimal one, of fine choices, that breaks `property_` on the same protocol.

    `keep` names the parts that stay as they are: switches, or "quorums". After `seconds` of CPU time the best one so
    far is returned, 1-minimal or not; an execution that has begun is ended. ValueError if `schedule` does not break the
    property. Cost: O(n^2) runs for the n choices of the result, each of O(n); O(n log n) runs to get there, as a rule.
    """
    deadline = time_spent() + seconds
    failure = broken_by(protocol, schedule, property_)
    schedule = structs.replace(schedule, violates=property_)
    fails = partial(breaks, protocol, property_=property_)
    return Minimiser(protocol, schedule, failure, fails, deadline, keep).minimal()


def raised_by(protocol: Protocol, schedule: Schedule, place: Place) -> Failure:
    """Execute `schedule` until a step of the protocol raises at `place`. ValueError if none does."""
    failure = raises(protocol, schedule, place)
    if failure is None:
        raise ValueError(f"the schedule does not raise {place[0].__name__} at {place[1]}:{place[2]}; {_HINT}")
    return failure


def minimise_raise(
    protocol: Protocol, schedule: Schedule, place: Place, seconds: float = SECONDS, keep: Collection[str] = ()
) -> Shortened:
    """Reduce, as `minimise` does, a schedule that makes a step raise at `place`. ValueError if it does not."""
    deadline = time_spent() + seconds
    failure = raised_by(protocol, schedule, place)
    schedule = structs.replace(schedule, violates=None)
    return Minimiser(protocol, schedule, failure, partial(raises, protocol, place=place), deadline, keep).minimal()


class Minimiser:
    """Makes a schedule smaller, pass by pass: `best` is the smallest so far that fails, in `steps` steps."""

    def __init__(
        self,
        protocol: Protocol,
        schedule: Schedule,
        failure: Failure,
        fails: Fails,
        deadline: float,
        keep: Collection[str],
    ) -> None:
        self.protocol = protocol
        self.fails = fails
        self.keep = kept(schedule, keep)
        self.deadline = deadline
        self.best = structs.replace(schedule, choices=failure.choices)
        self.steps = failure.steps

    @property
    def over(self) -> bool:
        return time_spent() > self.deadline

    def minimal(self) -> Shortened:
        """Repeat all passes until none of them helps any more, or the time is over; return the best schedule."""
        passes: Sequence[Callable[[], None]] = (
            self._drop_processes,
            self._drop_epochs,
            self._drop_choices,
            self._drop_pairs,
            self._simplify,
            self._make_coarser,
            self._set_back,
            self._name_in_order,
        )
        self._take_apart()
        self._drop_time_outs()
        while not self.over:
            before = self.best
            for each in passes:
                each()
            if self.best == before:
                return Shortened(self.best, not self.over)
        return Shortened(self.best, False)

    def _accept(self, candidate: Schedule, most: int) -> bool:
        """Take `candidate` as the best one if it fails in at most `most` steps. Return True if it does."""
        return self._try(candidate, lambda failure: failure.steps <= most)

    def _shortens(self, choices: Sequence[Choice]) -> bool:
        """Take these choices if they fail and are fewer. Return True if they are.

        The rest of a `Stabilise` may take more steps than it did.
        """
        return self._try(self._with(choices), lambda failure: len(failure.choices) < len(self.best.choices))

    def _try(self, candidate: Schedule, is_better: Callable[[Failure], bool]) -> bool:
        if self.over:
            return False
        failure = self.fails(candidate)
        if failure is None or not is_better(failure):
            return False
        self.best = structs.replace(candidate, choices=failure.choices)
        self.steps = failure.steps
        return True

    def _with(self, choices: Sequence[Choice]) -> Schedule:
        return structs.replace(self.best, choices=tuple(choices))

    # Leaving out.

    def _take_apart(self) -> None:
        """Replace `Stabilise` by its steps, if the schedule fails without its promise, too."""
        if self.over:
            return
        steps: list[Choice] = []
        with suppress(StepRaised):
            simulator = simulate(self.protocol, self.best, lambda _: None)
            simulator.on_step = steps.append
            for choice in self.best.choices:
                simulator.execute(choice)
        self._accept(self._with(steps), self.steps)

    def _drop_time_outs(self) -> None:
        """Leave out all time-outs at once: a node that keeps its own time is waited for at each, by the clock."""
        self._shortens([choice for choice in self.best.choices if not isinstance(choice, choices.Timeout)])

    def _drop_processes(self) -> None:
        """Keep only some of the processes, named anew, the fewest first; a quorum is then a majority of those.

        Several processes are left out at once, because a quorum of four is as large as one of five.
        """
        if self.best.quorums != MAJORITY and "quorums" in self.keep:
            return
        for kept in _some_of(self.best):
            if self._accept(_among(self.best, kept), self.steps):
                return

    def _drop_epochs(self) -> None:
        """Leave out everything from one change of leader to the next."""
        index = 0
        while True:
            choices = self.best.choices
            begins = [i for i, choice in enumerate(choices) if _begins_epoch(choice)] + [len(choices)]
            if index + 1 >= len(begins):
                return
            if not self._shortens(choices[: begins[index]] + choices[begins[index + 1] :]):
                index += 1

    def _drop_choices(self) -> None:
        """Leave out runs of choices, ever shorter ones, until not a single choice can be left out."""
        size = max(1, len(self.best.choices) // 2)
        while not self.over:
            before = len(self.best.choices)
            # From the end: later choices depend on earlier ones, and seldom the other way round.
            start = before - size
            while start > -size:
                choices = self.best.choices
                if self._shortens(choices[: max(start, 0)] + choices[max(start, 0) + size :]):
                    start = min(start, len(self.best.choices) - size)
                else:
                    start -= size
            if size > 1:
                size = max(1, size // 2)
            elif len(self.best.choices) == before:
                return

    def _drop_pairs(self) -> None:
        """Leave out any two choices, until no two can be left out: a fault and its repair, say."""
        while len(self.best.choices) <= MOST_FOR_PAIRS:
            choices = self.best.choices
            pairs = combinations(range(len(choices)), 2)
            if not any(self._shortens(choices[:i] + choices[i + 1 : j] + choices[j + 1 :]) for i, j in pairs):
                return

    # Making plainer.

    def _simplify(self) -> None:
        """Replace a choice by a plainer one where it still fails in no more steps."""
        for index in range(len(self.best.choices)):
            if index >= len(self.best.choices):
                return
            for plainer in self.best.choices[index].plainer():
                choices = self.best.choices
                if self._accept(self._with((*choices[:index], plainer, *choices[index + 1 :])), self.steps):
                    break

    def _make_coarser(self) -> None:
        """Make a write and its sync, or an election, one choice, if the run then takes fewer steps."""
        if self._has("sync", "separate"):
            self._accept(self._switched(sync="atomic"), self.steps - 1)
        if self._has("elections", "apart"):
            together = structs.replace(self._switched(elections="together"), choices=_together(self.best.choices))
            self._accept(together, self.steps - 1)

    def _set_back(self) -> None:
        """Set switches back to the letter of the paper, which is easier to read, even if the run takes more steps.

        Writes and syncs, and elections, are made separate choices only if the run takes no more steps.
        """
        paper = type(self.best.switches)()
        for switch in paper.set_back:
            letter = getattr(paper, switch)
            if switch not in self.keep and getattr(self.best.switches, switch) != letter:
                self._accept_longer(self._switched(**{switch: letter}))
        if self._has("sync", "atomic"):
            syncs = [choices.Sync(process) for process in range(1, self.best.processes + 1)]
            apart = tuple(each for choice in self.best.choices for each in (choice, *syncs))
            self._accept(structs.replace(self._switched(sync="separate"), choices=apart), self.steps)
        if self._has("elections", "together"):
            single = tuple(each for choice in self.best.choices for each in _apart(choice))
            self._accept(structs.replace(self._switched(elections="apart"), choices=single), self.steps)
        if "quorums" not in self.keep and self.best.quorums != MAJORITY:
            self._accept_longer(structs.replace(self.best, quorums=MAJORITY))

    def _has(self, switch: str, value: str) -> bool:
        """Return True if this switch has this value, and may be changed."""
        return switch not in self.keep and getattr(self.best.switches, switch) == value

    def _accept_longer(self, candidate: Schedule) -> None:
        if self._accept(candidate, 2**31):
            self._drop_choices()

    def _switched(self, **values: object) -> Schedule:
        return structs.replace(self.best, switches=structs.replace(self.best.switches, **values))

    def _name_in_order(self) -> None:
        """Rename the processes: 1 is the first that the schedule names, and so on."""
        if self.best.quorums == MAJORITY:
            names: dict[int, int] = {}
            for choice in self.best.choices:
                for process in _named(choice):
                    names.setdefault(process, len(names) + 1)
            for process in range(1, self.best.processes + 1):
                names.setdefault(process, len(names) + 1)
            if any(old != new for old, new in names.items()):
                self._accept(self._with(_renamed(self.best, names)), self.steps)


def kept(schedule: Schedule, keep: Collection[str]) -> Collection[str]:
    """Return the parts that stay as they are: those of `keep`, and a configuration, by which later ones go."""
    return (*keep, "quorums") if is_configuration(schedule.quorums) else keep


def _renamed(schedule: Schedule, names: Mapping[int, int]) -> tuple[Choice, ...]:
    return tuple(new for choice in schedule.choices if (new := choices.renamed(choice, names)) is not None)


def _some_of(schedule: Schedule) -> Iterator[tuple[int, ...]]:
    """Yield the sets of processes to try to keep, the smallest first.

    Of few processes these are all proper subsets; of many, those that the schedule names most often.
    """
    processes = range(1, schedule.processes + 1)
    if len(processes) > MOST_FOR_SUBSETS:
        named = Counter(process for choice in schedule.choices for process in _named(choice))
        ranked = sorted(processes, key=lambda process: (-named[process], process))
        yield from (tuple(sorted(ranked[:kept])) for kept in range(1, len(processes)))
    else:
        for kept in range(1, len(processes)):
            yield from combinations(processes, kept)


def _among(schedule: Schedule, kept: Sequence[int]) -> Schedule:
    """Restrict the schedule to the processes `kept`, without the choices of the others."""
    choices = _renamed(schedule, {old: new for new, old in enumerate(kept, 1)})
    quorums = Quorums(len(kept))
    able = tuple(each for choice in choices if (each := _least(choice, quorums)) is not None)
    return structs.replace(schedule, processes=len(kept), choices=able, quorums=MAJORITY)


def _least(choice: Choice, quorums: Quorums) -> Choice | None:
    """Reduce the quorum of a `Stabilise` to one without a needless member; None if there is none."""
    if not isinstance(choice, choices.Stabilise):
        return choice
    quorum = least(quorums, choice.leader, choice.quorum)
    return None if quorum is None else choices.Stabilise(choice.leader, quorum)


def _named(choice: Choice) -> Iterator[int]:
    """Yield the processes that a fine choice names."""
    for field in ("leader", "process", "sender", "peer", "receiver"):
        if hasattr(choice, field):
            yield getattr(choice, field)
    yield from getattr(choice, "followers", ())
    yield from getattr(choice, "quorum", ())


def _begins_epoch(choice: Choice) -> bool:
    return isinstance(choice, choices.Lead) or (isinstance(choice, choices.Elect) and choice.process == choice.leader)


def _together(steps: Sequence[Choice]) -> tuple[Choice, ...]:
    """Make each change of leader one choice: processes that follow that leader before it leads again follow at once."""
    found: list[Choice] = []
    place: dict[int, int] = {}  # of the last election of a leader
    for choice in steps:
        if not isinstance(choice, choices.Elect):
            found.append(choice)
        elif choice.process == choice.leader:
            place[choice.leader] = len(found)
            found.append(choices.Lead(choice.leader, ()))
        elif choice.leader in place:
            at = place[choice.leader]
            lead = found[at]
            assert isinstance(lead, choices.Lead)
            found[at] = choices.Lead(lead.leader, (*lead.followers, choice.process))
    return tuple(found)


def _apart(choice: Choice) -> Iterator[Choice]:
    if isinstance(choice, choices.Lead):
        yield choices.Elect(choice.leader, choice.leader)
        for follower in choice.followers:
            yield choices.Elect(follower, choice.leader)
    else:
        yield choice


# Other runs.


def shortest(
    protocol: Protocol, schedule: Schedule, property_: str, seconds: float = SECONDS, keep: Collection[str] = ()
) -> Shortened:
    """Minimise `schedule`, and other runs that break `property_`; return the shortest of the results, 1-minimal.

    The result has no more processes than the minimised schedule, and the same quorum system; but the majority is
    preferred, unless "quorums" are kept. It takes `seconds` of CPU time at most, and is the same every time if that is
    enough. ValueError if `schedule` does not break the property.
    """
    deadline = time_spent() + seconds
    found = minimise(protocol, schedule, property_, seconds, keep)
    if time_spent() >= deadline:
        return found
    best = found.schedule
    least = broken_by(protocol, best, property_).steps
    before, first = least + 1, 0
    while least < before and time_spent() < deadline:
        before = least
        for other in _others(protocol, best, property_, range(first, first + RUNS), 3 * least, keep, deadline):
            if time_spent() >= deadline:
                return found
            candidate = minimise(protocol, other, property_, deadline - time_spent(), keep)
            steps = broken_by(protocol, candidate.schedule, property_).steps
            # The majority is the usual quorum system: it is worth some steps.
            if steps < least or (candidate.schedule.quorums == MAJORITY != best.quorums):
                found, best, least = candidate, candidate.schedule, steps
        first += RUNS
    return found


def _others(
    protocol: Protocol,
    best: Schedule,
    property_: str,
    seeds: range,
    steps: int,
    keep: Collection[str],
    deadline: float,
) -> Iterator[Schedule]:
    """Yield other schedules that break the property, the shortest first, with majority quorums if those may change.

    Nothing is yielded if there is no time for all of the seeds.
    """
    if best.quorums == MAJORITY or "quorums" in kept(best, keep):
        quorums = quorums_of(best.quorums, best.processes)
    else:
        quorums = Quorums(max(best.processes, DEFAULT_PROCESSES))
    search = Search(
        protocol,
        quorums.size,
        (property_,),
        steps=steps,
        quorums=quorums,
        fixed={name: getattr(best.switches, name) for name in keep if name != "quorums"},
    )
    kinds = select([property_])
    found: list[tuple[int, int, PropertyBroken]] = []
    for seed in seeds:
        if time_spent() >= deadline:
            return
        with suppress(ProtocolRaised):  # another failure than the one looked for
            run = swarm.drive(search, kinds, seed)
            if run.broken is not None:
                found.append((run.simulator.steps, seed, PropertyBroken(property_, run)))
    for _, _, broken in sorted(found, key=lambda each: each[:2])[:TRIES]:
        yield broken.schedule
