"""The story of a schedule, step by step, as data for a report: who moved, what it did, and what changed."""

from collections.abc import Iterator, Mapping, Sequence

from msgspec.structs import replace

from zabcheck.counterexample.decisive import find_decisive, most_prefixes
from zabcheck.counterexample.explanation.sentences import explanation
from zabcheck.counterexample.story import (
    Change,
    Decisive,
    Flight,
    Moment,
    RaisedException,
    Story,
    Variables,
    flights_of,
    handled_in,
    lost_in,
    sent_in,
    shown_in,
)
from zabcheck.counterexample.traced import first_deliveries
from zabcheck.invariants import Event, Violation, explaining_first
from zabcheck.invariants.quorums import MAJORITY
from zabcheck.mutants.catalogue import CATALOGUE
from zabcheck.protocols.base import Activity, Members, Protocol, StepRaised
from zabcheck.protocols.base import Message as ProtocolMessage
from zabcheck.search.recording import Recording, record
from zabcheck.search.run import Replay, replay
from zabcheck.simulation.choices import Sync
from zabcheck.simulation.schedule import Schedule, dump


def explain(schedule: Schedule, properties: Sequence[str] | None = None, *, decisive: bool = False) -> Story:
    """Look up the protocol that a schedule names, execute the schedule, and tell what happened.

    ValueError if there is no such protocol, mutant, quorum system or property, or if the protocol is not deterministic.
    """
    return explain_replay(replay(schedule, properties), decisive=decisive)


def explain_replay(replayed: Replay, *, decisive: bool = False) -> Story:
    """Record the run of `replayed`, and tell what happened in it. O(steps × (processes + length of the histories)).

    With `decisive` also tell which step decided, which costs more (see `find_decisive`).
    ValueError if the run does not happen again: the protocol is not deterministic.
    """
    violation = _violation(replayed)
    if violation is None or not decisive:
        return _story(record(replayed), violation, None)
    recording = record(replayed, most_prefixes(replayed, violation.property))
    return _story(recording, violation, find_decisive(recording, violation.property))


def explain_end(recording: Recording, earlier: Sequence[Sequence[Event]]) -> Story:
    """Tell what happened in the last steps of a run, which are recorded. `earlier` has the events of those before.

    A message that was sent in one of those seems to have been under way from the beginning.
    """
    return _story(recording, _violation(recording.replay), None, earlier)


def _story(
    recording: Recording,
    violation: Violation | None,
    decisive: Decisive | None,
    earlier: Sequence[Sequence[Event]] = (),
) -> Story:
    replayed = recording.replay
    protocol, schedule = replayed.protocol, replayed.schedule
    steps = enumerate((*earlier, *(step.events for step in recording.steps)), 1)
    flights = flights_of([(None, recording.started), *steps])
    first = len(earlier) + 1
    moments = tuple(_moments(recording, {flight.number: flight for flight in flights}, first))
    if earlier:
        flights = _from(first, flights)
    before = ((step, event) for step, events in enumerate(earlier, 1) for event in shown_in(events))
    trace = (*before, *((moment.step, event) for moment in moments for event in moment.shown))
    return Story(
        protocol=schedule.protocol,
        mutant=schedule.mutant,
        processes=schedule.processes,
        choices=len(schedule.choices),
        schedule=dump(schedule),
        wrong=CATALOGUE[schedule.mutant].wrong if schedule.mutant in CATALOGUE else None,
        sha256=replayed.sha256,
        verdicts=tuple(replayed.verdicts),
        violation=violation,
        moments=moments,
        delivered=first_deliveries(replayed.events),
        trace=trace,
        flights=flights,
        initial={
            process: {variable: str(value) if isinstance(value, str) else value for variable, value in state.items()}
            for process, state in _states(recording.initial, {}).items()
        },
        legend=protocol.legend
        + ((("", "/path=value@version"),) if schedule.switches.application == "key-value" else ()),
        settings=_settings(schedule),
        raised=None if replayed.raised is None else _raised(protocol, replayed.raised),
        explanation=() if violation is None else explanation(violation, trace, quorums=schedule.quorums),
        decisive=decisive,
    )


def _from(first: int, flights: Sequence[Flight]) -> tuple[Flight, ...]:
    """Return the messages that were under way at this step or later."""
    ends = ((flight, flight.received if flight.lost is None else flight.lost) for flight in flights)
    kept = (flight for flight, end in ends if end is None or end >= first)
    return tuple(each if (each.sent or 0) >= first else replace(each, sent=None) for each in kept)


def _moments(recording: Recording, flights: Mapping[int, Flight], first: int) -> Iterator[Moment]:
    before = _states(recording.initial, {})
    for number, step in enumerate(recording.steps, first):
        after = _states(step.variables, before)
        yield Moment(
            step=number,
            process=getattr(step.choice, "process", None),
            peer=getattr(step.choice, "sender", getattr(step.choice, "peer", None)),
            action=step.choice.words(step.events, handled_in(step.events, flights)),
            shown=shown_in(step.events),
            sent=sent_in(step.events, flights, by_several=not hasattr(step.choice, "process")),
            lost=lost_in(step.events, flights),
            changes={p: found for p in after if (found := tuple(_changes(before[p], after[p])))},
            unsynced=step.unsynced,
            syncs=isinstance(step.choice, Sync),
        )
        before = after


def _raised(protocol: Protocol, raised: StepRaised) -> RaisedException:
    stimulus = repr(raised.stimulus)
    if isinstance(raised.stimulus, ProtocolMessage):
        kind, text = protocol.show(raised.stimulus)
        stimulus = f"{kind}({text}) from p{raised.sender}"
    return RaisedException(raised.process, stimulus, raised.said, raised.traceback, raised.is_modelled)


def _settings(schedule: Schedule) -> tuple[str, ...]:
    """Return the quorum system, unless it is the majority, and the switches that differ from the paper's letter."""
    quorums = [schedule.quorums] if schedule.quorums != MAJORITY else []
    switches = schedule.switches
    letter = type(switches)()
    changed = [name for name in switches.__struct_fields__ if getattr(switches, name) != getattr(letter, name)]
    return (*quorums, *(f"{name} {getattr(switches, name)}" for name in changed))


def _violation(replayed: Replay) -> Violation | None:
    """Return the violation to explain: of the property that the schedule names, or the one to read first."""
    found = [verdict.violation for verdict in explaining_first(replayed.verdicts) if verdict.violation is not None]
    named = [violation for violation in found if violation.property == replayed.schedule.violates]
    return next(iter(named + found), None)


def _states(variables: Mapping[int, Variables | None], before: Mapping[int, Variables]) -> dict[int, Variables]:
    """Return the variables of each process.

    A process that is down keeps the variables that it had before, so that its recovery shows what the crash cost it.
    """
    return {
        process: {**before.get(process, {}), "": "down"} if known is None else known
        for process, known in variables.items()
    }


def _changes(before: Variables, after: Variables) -> list[Change]:
    """Return what a step changed. A variable that is missing before or after counts as ⊥, or as an empty sequence."""
    changes = []
    for variable in {**before, **after}:
        known = before.get(variable, after.get(variable))
        nothing: str | tuple[str, ...] = () if isinstance(known, tuple) else "⊥"
        old, new = before.get(variable, nothing), after.get(variable, nothing)
        if old == new:
            continue
        if isinstance(new, tuple):
            old = old if isinstance(old, tuple) else (old,)  # ⊥, which one entry stands for until the sequence begins
            common = next(
                (i for i, (a, b) in enumerate(zip(old, new, strict=False)) if a != b), min(len(old), len(new))
            )
            is_set = isinstance(after.get(variable, old), Members)
            changes.append(Change(variable, old[common:], new[common:], is_sequence=True, is_set=is_set))
        else:
            removed = str(old) if isinstance(old, str) else f"[{' '.join(old)}]"
            parts = None if variable else (_parts(old), _parts(new))
            changes.append(Change(variable, (removed,), (str(new),), parts=parts))
    return changes


def _parts(activity: str | tuple[str, ...]) -> tuple[str, ...]:
    return activity.parts if isinstance(activity, Activity) else (str(activity),)
