"""An exhaustive search as a Python caller asks for it: what it says is proved, and the runs that it gives are real.

    from zabcheck.explore import Bounds, explore

    found = explore("zab", bounds=Bounds(processes=2, epochs=2, txns=2))
    assert found.whole and found.broken is None, found.counterexample

Two things are taken for granted in a `Space` that need not be so.

- Processes are interchangeable (`symmetry`); they are not where ids win ties, or (f.a, f.zxid) tells no history. That
  hides no violation, but may make one up. So a run that is found is replayed, and if the simulator shows the violation
  under no names, all is searched again without.
- A process does not go on with an iteration that it has left (`MonitoredInvariant.leave`). If one does, all is searched
  again, and no property forgets anything.
"""

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from time import process_time
from typing import NamedTuple

import msgspec
from msgspec import Struct, structs

from zabcheck.explore.bounds import MOST_CHANGES, SMALL, Bounds
from zabcheck.explore.judges import WentOn, judged_in_every_state
from zabcheck.explore.liveness.rests import RestResult, find_undone
from zabcheck.explore.liveness.undisturbed import LIVENESS, UndisturbedResult, find_trap
from zabcheck.explore.results import Exits, Exploration, Progress
from zabcheck.explore.shortest import TRIED, NotTried, ShortestResult, search, shorter, used_by
from zabcheck.explore.space import CannotFollow, Space
from zabcheck.explore.states.checkpoint import FollowUpPosition
from zabcheck.explore.tables.components import EpochUnknown
from zabcheck.invariants import EpochProgress, Event, Halt, Integrity, Invariant, select
from zabcheck.invariants.quorums import MAJORITY, Configuration, Quorums, configuration_of, quorums_of
from zabcheck.mutants.catalogue import planted
from zabcheck.protocols.adapter import imported, register, tells_highest_epoch
from zabcheck.protocols.base import CannotTellApart, Protocol, check_quorums
from zabcheck.protocols.own import Process
from zabcheck.protocols.switch_settings import refuse_elections
from zabcheck.protocols.switches import Switches, kept_out
from zabcheck.search.goals import EXPECTED, GOALS, possible, unseen
from zabcheck.search.run import Replay, named_by, replay_on, schedule_of
from zabcheck.simulation.choices import AnyChoice, Lead
from zabcheck.simulation.schedule import Schedule
from zabcheck.text.nodes import command_of
from zabcheck.text.words import counted

MOST_PROCESSES = 5
"""The most processes: with more, there are more renamings than pay, and more states than can be visited."""


COARSE = Switches(sync="atomic", closing="abrupt")
"""The switches of a search without others: with the letter of the paper there are many more states."""

BY_VOTE = structs.replace(COARSE, elections="oracle")
"""The same for a protocol whose processes vote: an election names the process with the greatest vote of a quorum."""

_UNKNOWN = (("elections", "together"), ("application", "key-value"))
"""Values of switches that an exhaustive search cannot handle."""


class CannotExplore(ValueError):
    """The arguments cannot be explored, for this `reason`.

    `argument` names the argument at fault, if the reason alone does not, and `value` the wrong part of it.
    """

    def __init__(self, argument: str | None, value: str | None, reason: str) -> None:
        where = [each for each in (argument, value) if each is not None]
        super().__init__(f"{' '.join(where)}: {reason}" if where else reason)
        self.argument = argument
        self.value = value
        self.reason = reason


class _Question(Struct, frozen=True):
    """The arguments of a search. `schedule` has no choices; `steps` are those of the run to certify, if there is one.

    `protocol` is the one that `schedule` names, resolved. `liveness`: follow undisturbed leaders; `rests`: follow the
    ensemble when it is left alone. `forgetful`: as in `Space`.
    """

    protocol: Protocol
    schedule: Schedule
    quorums: Quorums
    bounds: Bounds
    properties: tuple[type[Invariant], ...]
    liveness: bool
    rests: bool
    symmetry: bool
    reduction: bool
    forgetful: bool = True
    steps: tuple[AnyChoice, ...] = ()
    after: tuple[AnyChoice, ...] = ()

    def space(self, reduction: bool) -> Space:
        """Return a search that has not begun."""
        return Space(
            self.protocol,
            self.quorums,
            self.schedule.switches,
            self.bounds,
            self.properties,
            symmetry=self.symmetry,
            reduction=reduction,
            moments=self.liveness or self.rests,
            forgetful=self.forgetful,
            after=self.after,
        )


class _Limits(NamedTuple):
    """The resources of a search: `memory` in bytes, the `folder` for states without room there, and its callbacks.

    One gets the progress, the other raises KeyboardInterrupt once Ctrl-C has come.
    """

    memory: float
    folder: Path | None
    on_progress: Callable[[Progress], None] | None
    on_followed: Callable[[int, int], None] | None
    look_for_interrupt: Callable[[], None]


class _Result(NamedTuple):
    """The result of a search: the property that `choices` break, or the choices after which the code `raised`."""

    shortest: ShortestResult
    followed: UndisturbedResult | None
    alone: RestResult | None
    broken: str | None
    choices: tuple[AnyChoice, ...]
    raised: bool
    interrupted: bool


def explore(
    protocol: str | type[Process] | Protocol = "zab",
    *,
    mutant: str | None = None,
    bounds: Bounds = SMALL,
    quorums: str = MAJORITY,
    switches: Switches = COARSE,
    properties: Iterable[str] | None = None,
    symmetry: bool = True,
    reduction: bool = True,
    after: Schedule | None = None,
    memory: float = float("inf"),
    folder: Path | None = None,
    checkpoint: Path | None = None,
    resume: bool = False,
    on_progress: Callable[[Progress], None] | None = None,
    on_followed: Callable[[int, int], None] | None = None,
    look_for_interrupt: Callable[[], None] = lambda: None,
) -> Exploration:
    """Visit every state of a protocol within `bounds`: prove that nothing breaks there, or give the shortest run.

    `protocol` is the name of one ("zab", or "module:Class"), a subclass of `zabcheck.Process`, or a `Protocol`; with
    the bug `mutant` of the catalogue, if one is named. `quorums` names the quorum system, as in "weights 2,1,1".
    `properties` are names of properties, or of groups of them; None: those that the protocol is judged by. If one of
    liveness is among them (`LIVENESS`), and no other breaks, undisturbed leaders are followed from every state, too.

    All runs begin with that of `after`, if one is given, and the bounds count what it uses. Of that schedule only the
    choices count, each a fine one that moves one process.

    `symmetry` and `reduction` may be switched off; they apply only where the protocol allows them. When this process
    uses `memory` bytes, the states go to files in the `folder` (None: the system's for such files), which are gone when
    the search ends; if the tables alone take that much, the search ends unfinished. `checkpoint` is a
    file that is written now and then; with `resume` the search goes on from there. `look_for_interrupt` is called every
    now and then, also while leaders are followed; a KeyboardInterrupt that it raises ends the search, whose figures so
    far are returned, and writes the checkpoint. `on_progress` is called with the progress of the search, `on_followed`
    with the number of states and the number of those from which leaders were followed.

    The simulator has replayed the counterexample, so it is real.

    Refused, a ValueError, for an unknown name, and for arguments that an exhaustive search cannot handle.
    CheckpointError if `checkpoint` is none of the same search; if it cannot be written, the search goes on. CannotSpill
    if files in `folder` cannot be written. StepRaised if a process cannot start.
    Some microseconds a state, once the tables are filled, and at most 32 bytes.
    """
    start = process_time()
    question = _question(protocol, mutant, bounds, quorums, switches, properties, symmetry, reduction)
    if after is not None:
        question = structs.replace(question, after=_beginning(question, after))
    limits = _Limits(memory, folder, on_progress, on_followed, look_for_interrupt)
    return _answer(question, limits, start, checkpoint, resume)


def certify(
    schedule: Schedule,
    *,
    protocol: Protocol | None = None,
    limits: Mapping[str, int] | None = None,
    properties: Iterable[str] | None = None,
    symmetry: bool = True,
    memory: float = float("inf"),
    folder: Path | None = None,
    on_progress: Callable[[Progress], None] | None = None,
    look_for_interrupt: Callable[[], None] = lambda: None,
) -> Exploration:
    """Find out if a counterexample is the shortest run that violates its property, within the bounds of that run.

    It is if `tried` is one less than `certified`, the steps of the run; a shorter run is the `counterexample`, and if
    neither is so, the search ended unfinished. `protocol` is the one that the schedule names, if that is looked up
    already. `limits` are bounds, by name, that are to be wider than those of the run. A shorter run may violate any of
    the `properties`; None: the one that `schedule.violates` names, or the run does. Or the run ends with an error of
    the code that is modelled; then a shorter one does so, too, or violates integrity. The rest is as in `explore`.

    Refused, a ValueError, for an unknown name, if the run violates nothing, or if it has choices or a number
    of processes that an exhaustive search cannot handle.
    """
    start = process_time()
    if schedule.processes > MOST_PROCESSES:
        raise CannotExplore("schedule", "processes", f"expected at most {MOST_PROCESSES}, found {schedule.processes}")
    try:
        checked = named_by(schedule) if protocol is None else protocol
        asked_for = select(None if properties is None else tuple(properties))
    except ValueError as error:
        raise CannotExplore(None, None, str(error)) from error
    _refuse_other_runs(schedule, checked)
    schedule = _in_fine_steps(schedule)
    steps, least = _used_by(checked, schedule)
    broken = _broken_by(checked, schedule)
    question = _Question(
        checked,
        structs.replace(schedule, violates=broken, choices=()),
        _quorums(schedule, checked),
        structs.replace(least, **(limits or {})),
        _judged(select([broken or Integrity.name]) if properties is None else asked_for),
        liveness=False,
        rests=False,
        symmetry=symmetry,
        reduction=False,
        steps=steps,
    )
    return _answer(question, _Limits(memory, folder, on_progress, None, look_for_interrupt), start)


# The question.


def _question(
    protocol: str | type[Process] | Protocol,
    mutant: str | None,
    bounds: Bounds,
    quorums: str,
    switches: Switches,
    properties: Iterable[str] | None,
    symmetry: bool,
    reduction: bool,
) -> _Question:
    """Return the arguments of `explore` as one object. Refused as there."""
    try:
        checked = _resolved(protocol, mutant)
        wanted = select(checked.properties if properties is None else tuple(properties))
    except ValueError as error:
        raise CannotExplore(None, None, str(error)) from error
    if checked.environment.configurations and quorums == MAJORITY:
        quorums = Configuration(bounds.processes, tuple(range(1, bounds.processes + 1))).name
    _refuse_unknown(switches, bounds)
    schedule = schedule_of(checked.name, checked.mutant, bounds.processes, (), quorums=quorums, switches=switches)
    _refuse_other_runs(schedule, checked)
    _refuse_changes(bounds, checked)
    return _Question(
        checked,
        schedule,
        _quorums(schedule, checked),
        bounds,
        _judged(wanted),
        liveness=any(kind in LIVENESS for kind in wanted) and not checked.environment.configurations,
        rests=EpochProgress in wanted
        and "quiesce" not in checked.environment.never
        and not checked.environment.configurations,
        symmetry=symmetry,
        reduction=reduction,
    )


def _beginning(question: _Question, after: Schedule) -> tuple[AnyChoice, ...]:
    """Return the run that a search is to begin with. Refused if that is none of its protocol and its processes."""
    expected, found = ((each.protocol, each.processes) for each in (question.schedule, after))
    if expected != found:
        said = [f"`{name}` with {counted(number, 'process', 'processes')}" for name, number in (expected, found)]
        raise CannotExplore("after", None, f"expected a run of {said[0]}, found one of {said[1]}")
    for place, choice in enumerate(after.choices, 1):
        if not isinstance(choice, TRIED) or isinstance(choice, Lead):
            raise CannotExplore("after", f"step {place}", "expected a choice that moves one process, and cuts no link")
    return after.choices


def _refuse_unknown(switches: Switches, bounds: Bounds) -> None:
    for name, value in _UNKNOWN:
        if getattr(switches, name) == value:
            reason = "expected another value, an exhaustive search does not know that"
            raise CannotExplore("switches", f"{name}={value}", reason)
    if not 1 <= bounds.processes <= MOST_PROCESSES:
        raise CannotExplore("bounds", None, f"expected 1 to {MOST_PROCESSES} processes, found {bounds.processes}")


def _resolved(protocol: str | type[Process] | Protocol, mutant: str | None) -> Protocol:
    """Return the protocol with the mutant: the one object that is searched, replayed and reported.

    A schedule names it, so a class, or a protocol that zabcheck does not have, is registered by its name.
    """
    if isinstance(protocol, str):
        return planted(imported(protocol), mutant)
    if isinstance(protocol, Protocol) and mutant is None and protocol.mutant is not None:
        return protocol
    return planted(register(protocol), mutant)


def _refuse_other_runs(schedule: Schedule, checked: Protocol) -> None:
    """Refuse a protocol with channels that an exhaustive search does not know, and elections that it does not have."""
    try:
        refuse_elections(schedule.switches.elections, checked)
    except ValueError as error:
        raise CannotExplore("switches", None, str(error)) from None
    if checked.environment.unexplored:
        which = ("mutant", schedule.mutant) if schedule.mutant else ("protocol", schedule.protocol)
        raise CannotExplore(*which, f"expected {checked.environment.unexplored}")


def _refuse_changes(bounds: Bounds, checked: Protocol) -> None:
    """Refuse configurations that clients cannot ask for."""
    if bounds.changes and not checked.environment.configurations:
        raise CannotExplore("changes", None, f"expected none, as the configuration of `{checked.name}` does not change")
    for name in bounds.changes:
        if configuration_of(name, bounds.processes) is None:
            reason = f"expected one such as `config 1,2`, of processes from 1 to {bounds.processes} in ascending order"
            raise CannotExplore("changes", name, reason)
    if len(set(bounds.changes)) < len(bounds.changes):
        raise CannotExplore("changes", None, "expected each configuration once")
    if len(bounds.changes) > MOST_CHANGES:
        raise CannotExplore("changes", None, f"expected at most {MOST_CHANGES}, found {len(bounds.changes)}")


def _quorums(schedule: Schedule, checked: Protocol) -> Quorums:
    try:
        quorums = quorums_of(schedule.quorums, schedule.processes)
        check_quorums(checked, quorums)
    except ValueError as error:
        raise CannotExplore("quorums", None, str(error)) from None
    return quorums


def _in_fine_steps(schedule: Schedule) -> Schedule:
    """Return the schedule with switches that an exhaustive search can handle, and the same events.

    An application changes nothing of the broadcasts and deliveries. If no process votes, an election that is one
    choice is several here.
    """
    switches = structs.replace(schedule.switches, application="none")
    if switches.elections == "together":
        switches = structs.replace(switches, elections="apart")
    return structs.replace(schedule, switches=switches)


def _used_by(checked: Protocol, schedule: Schedule) -> tuple[tuple[AnyChoice, ...], Bounds]:
    """Return the result of `used_by`. Refused if a search cannot handle the choices, or count them."""
    try:
        steps, least = used_by(checked, schedule)
    except NotTried as kind:
        raise CannotExplore(
            "schedule", "choices", f"expected no `{kind}`, a run with one cannot be certified"
        ) from None
    if excess := least.excess():
        raise CannotExplore("schedule", "choices", f"expected {excess}, an exhaustive search does not count further")
    return steps, least


def _broken_by(checked: Protocol, schedule: Schedule) -> str | None:
    """Return the property that a run violates; None if its code raises instead. Refused if it does neither."""
    replayed = replay_on(checked, schedule, None if schedule.violates is None else [schedule.violates])
    broken = next((verdict.property for verdict in replayed.verdicts if verdict.status == "violated"), None)
    if broken is None and (replayed.raised is None or not replayed.raised.is_modelled):
        raise CannotExplore(
            "schedule", None, f"expected a run that violates {schedule.violates or 'a property'}; it does not"
        )
    return broken


def _judged(wanted: Iterable[type[Invariant]]) -> tuple[type[Invariant], ...]:
    kinds = tuple(kind for kind in wanted if judged_in_every_state(kind))
    if not kinds:
        reason = "expected one that can be judged in every state, so none of the group `liveness`"
        raise CannotExplore("properties", None, reason)
    return kinds


# The answer.


def _answer(
    question: _Question, limits: _Limits, start: float, checkpoint: Path | None = None, resume: bool = False
) -> Exploration:
    """Search, and replay the run that is found. If that is not real, search again without symmetry and forgetting."""
    try:
        try:
            found = _search(question, limits, checkpoint, resume)
        except WentOn:
            question = structs.replace(question, forgetful=False)
            found = _search(question, limits)
        replayed = _replayed(question, found)
        if not _is_real(found, replayed):
            question = structs.replace(question, symmetry=False, forgetful=False)
            found = _search(question, limits)
            replayed = _replayed(question, found)
    except (CannotTellApart, EpochUnknown) as error:
        raise CannotExplore("protocol", question.schedule.protocol, str(error)) from None
    except CannotFollow as error:
        reason = "expected a step that is possible within the bounds, and breaks nothing"
        raise CannotExplore("after", str(error), reason) from None
    if not _is_real(found, replayed):
        assert command_of(question.protocol.name) is not None, "the simulator does what was looked up"
        reason = "expected nodes that do the same when they are restored from a snapshot, a run shows that they do not"
        raise CannotExplore("protocol", question.schedule.protocol, reason)
    return _exploration(question, found, replayed, process_time() - start)


def _shortest(question: _Question, limits: _Limits, checkpoint: Path | None, resume: bool) -> ShortestResult:
    """Search for a violation, or for a shorter run than the one that is to be certified."""
    memory, folder, on_progress, _, look = limits
    if question.steps:
        return shorter(question.space, question.steps, memory, on_progress, folder=folder, look_for_interrupt=look)
    return search(
        question.space,
        question.reduction,
        memory,
        on_progress,
        checkpoint=checkpoint,
        resume=resume,
        folder=folder,
        look_for_interrupt=look,
    )


def _search(question: _Question, limits: _Limits, checkpoint: Path | None = None, resume: bool = False) -> _Result:
    """Search; if every state was expanded and nothing breaks, follow the leaders."""
    shortest = _shortest(question, limits, checkpoint, resume)
    explored, followed, alone, interrupted = shortest.result, None, None, shortest.result.interrupted
    if explored.whole and (question.liveness or question.rests):
        followed, alone, interrupted = _follow(question, shortest.space, explored.states, limits, checkpoint)
    for each in (followed, alone):
        if each is not None and each.trap is not None:
            trap = each.trap
            return _Result(shortest, followed, alone, trap.broken, trap.choices, trap.kind == "raised", False)
    return _Result(shortest, followed, alone, explored.broken, explored.choices, explored.raised, interrupted)


def _follow(
    question: _Question, space: Space, states: int, limits: _Limits, checkpoint: Path | None
) -> tuple[UndisturbedResult | None, RestResult | None, bool]:
    """Follow the leaders from each of the `states`, then leave the ensemble alone; True if Ctrl-C ended that."""
    followed, alone = None, None
    write = None if checkpoint is None else space.checkpoint(checkpoint)

    def told(at: FollowUpPosition) -> None:
        space.followed = at
        limits.look_for_interrupt()
        if write is not None:
            write(False)
        if limits.on_followed is not None:
            limits.on_followed(states, at.alone or at.led)

    try:
        if question.liveness:
            followed = find_trap(space, told)
            sums = {"checked": followed.checked, "unfinished": followed.unfinished}
            space.followed = structs.replace(space.followed, led=states, **sums)
        if question.rests and (followed is None or followed.trap is None):
            alone = find_undone(space, told)
    except ValueError as error:
        raise CannotExplore("properties", None, str(error)) from None
    except KeyboardInterrupt:
        if write is not None:
            write(True)
        return followed, alone, True
    return followed, alone, False


def _replayed(question: _Question, found: _Result) -> Replay | None:
    """Have the simulator execute the run that was found, if one was: under names of processes that make it real."""
    if not found.choices:
        return None
    symmetry = found.shortest.space.symmetry
    judged = None if found.broken is None else [found.broken]
    for choices in [found.choices] if symmetry is None else symmetry.under_all_names(found.choices):
        schedule = structs.replace(question.schedule, choices=choices, violates=found.broken)
        replayed = replay_on(question.protocol, schedule, judged)
        if _is_real(found, replayed):
            break
    return replayed


def _is_real(found: _Result, replayed: Replay | None) -> bool:
    """Return True if the simulator shows the violation that was found."""
    if replayed is None:
        return True
    if found.raised:
        return replayed.raised is not None
    return replayed.verdicts[0].status == "violated"


def _left_out(question: _Question, space: Space) -> tuple[str, ...]:
    """Return what happens in no state because of the settings; without a disk, or a crash, no write is lost."""
    schedule, several = question.schedule, question.bounds.processes > 1
    crashes = question.bounds.crashes != 0 and space.components.writes
    never = [*question.protocol.environment.never]
    never += ([] if crashes else ["sync", "corrupt"]) + ([] if several else ["closing", "elections"])
    weights = ("weighted quorums",) if schedule.quorums == MAJORITY and several else ()
    altered = () if "corrupt" in never else ("altered records",)
    return (*kept_out(structs.asdict(schedule.switches), never), *weights, *altered)


def _shown(question: _Question, space: Space) -> frozenset[type[Event]]:
    """Return the kinds of event that some run shows, or that can be expected, also of wider bounds."""
    shown = {type(event) for events in space.components.events for event in events}
    expected = {EXPECTED[kind] for kind in shown if kind in EXPECTED}
    return frozenset(shown | expected) | possible(question.protocol, question.schedule.switches.never)


def _exits(space: Space) -> Exits | None:
    """Count the states in which a process has ended by itself. O(states) if any process has."""
    processes, made_of = space.components.processes, space.local_states.made_of
    ended = {number for number, (process, *_) in enumerate(made_of) if processes[process].halted}
    size = len(space.components.ids)
    states = sum(1 for row in space.rows() if not ended.isdisjoint(row[:size])) if ended else 0
    reasons = (event.reason for events in space.components.events for event in events if isinstance(event, Halt))
    return Exits(states, next(reasons, "")) if states else None


def _exploration(question: _Question, found: _Result, replayed: Replay | None, seconds: float) -> Exploration:
    shortest, followed = found.shortest, found.followed
    explored, schedule = shortest.result, question.schedule
    exercised = [name for name, was in explored.exercised.items() if was]
    unexercised = [name for name, was in explored.exercised.items() if not was]
    if followed is not None and followed.checked and not followed.unfinished:
        exercised += [kind.name for kind in LIVENESS]
    elif followed is not None and not found.interrupted:
        unexercised += [kind.name for kind in LIVENESS]
    if found.alone is not None:
        (exercised if found.alone.exercised else unexercised).append(EpochProgress.name)
    values = msgspec.to_builtins(schedule.switches)  # those that differ from the letter of the paper
    system = [schedule.quorums] if schedule.quorums != MAJORITY else []
    return Exploration(
        protocol=schedule.protocol,
        mutant=schedule.mutant,
        bounds=question.bounds.in_words() + (f", after a run of {len(question.after)} steps" if question.after else ""),
        settings=(*system, *(f"{name} {value}" for name, value in values.items())),
        symmetry=shortest.space.symmetry is not None,
        reduction=shortest.space.reduced,
        states=explored.states,
        transitions=explored.transitions,
        depth=explored.depth,
        components=explored.components,
        whole=explored.whole,
        broken=found.broken,
        steps=len(found.choices),
        tried=shortest.tried,
        certified=len(question.steps),
        followed=0 if followed is None else followed.checked,
        unfinished=0 if followed is None else followed.unfinished,
        trap=next((each.trap.kind for each in (followed, found.alone) if each is not None and each.trap), None),
        exercised=tuple(exercised),
        unexercised=tuple(unexercised),
        goals=explored.goals,
        unreached=tuple(goal for goal in GOALS if goal not in explored.goals),
        unseen=unseen(_shown(question, shortest.space)) if explored.whole else {},
        switched_off=explored.switched_off,
        limits={name: getattr(question.bounds, name) for name in explored.limiting},
        left_out=_left_out(question, shortest.space),
        exits=_exits(shortest.space) if explored.whole else None,
        seconds=round(seconds, 2),
        counterexample=replayed,
        interrupted=found.interrupted,
        epochs_of_events_only=not tells_highest_epoch(question.protocol),
        unwritten=shortest.space.unwritten,
    )
