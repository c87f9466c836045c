"""What a schedule did, step by step, as data for a report: who moved, what it did, and what changed by it."""

from collections.abc import Mapping, Sequence
from contextlib import suppress

from msgspec.structs import replace

from invariants import NO_ZXID, Corrupt, Drop, Event, Receive, Send, Verdict
from invariants.quorums import MAJORITY
from zabcheck.counterexample.decisive import find_decisive
from zabcheck.counterexample.explanation.sentences import explanation
from zabcheck.counterexample.story import Change, Flight, Moment, Raised, State, Story
from zabcheck.counterexample.traced import first_deliveries
from zabcheck.mutants.catalogue import CATALOGUE, mutated
from zabcheck.protocols.base import Message as ProtocolMessage
from zabcheck.protocols.base import Protocol, StepRaised
from zabcheck.protocols.switches import LETTER
from zabcheck.search.run import Replay, replay, simulate
from zabcheck.simulation import choices
from zabcheck.simulation.choices import Choice
from zabcheck.simulation.schedule import Schedule, dump
from zabcheck.simulation.simulator import Simulator
from zabcheck.text.words import names

NOT_DETERMINISTIC = "the same schedule does something else each time: the protocol is not deterministic"


def explain(schedule: Schedule, properties: Sequence[str] | None = None, *, decisive: bool = False) -> Story:
    """Execute `schedule` and tell what happened. ValueError if it names a protocol or mutant that there is not."""
    return explain_replay(replay(schedule, properties), decisive=decisive)


def explain_replay(replayed: Replay, *, decisive: bool = False) -> Story:
    """What happened in `replayed`. O(steps × (processes + length of the histories)).

    With `decisive` also which step decided, which costs more (see `find_decisive`).
    ValueError if it does not happen again: the protocol is not deterministic.
    """
    schedule = replayed.schedule
    again: list[Event] = []
    shown: list[Event] = []
    initial: dict[int, State] = {}
    moments: list[Moment] = []
    flights: dict[int, Flight] = {}
    before: dict[int, State] = {}
    now: int | None = None  # the step that is going on

    def show(event: Event) -> None:
        again.append(event)
        shown.append(event)
        match event:
            case Send():
                flights[event.message] = Flight(event.message, event.process, event.to, event.kind, event.text, now)
            case Receive():
                flights[event.message] = replace(flights[event.message], received=now)
            case Drop():
                flights[event.message] = replace(flights[event.message], lost=now)

    def on_step(choice: Choice) -> None:
        nonlocal before, now
        after = _states(simulator, before)
        sent: dict[str, tuple[int, ...]] = {}
        for event in shown:
            if isinstance(event, Send):
                text = flights[event.message].name
                if not hasattr(choice, "process"):
                    text += f" from p{event.process}"  # several processes took part in the step
                sent[text] = (*sent.get(text, ()), event.to)
        changes = {
            process: found for process in simulator.ids if (found := tuple(_changes(before[process], after[process])))
        }
        moments.append(
            Moment(
                step=len(moments) + 1,
                process=getattr(choice, "process", None),
                peer=getattr(choice, "sender", getattr(choice, "peer", None)),
                action=_action(choice, shown, flights),
                shown=tuple(event for event in shown if not isinstance(event, Send | Receive)),
                sent=tuple(sent.items()),
                lost=tuple(flights[event.message] for event in shown if isinstance(event, Drop)),
                changes=changes,
                unsynced={p: len(simulator.disks[p].unsynced) for p in simulator.ids},
            )
        )
        before = after
        shown.clear()
        now = len(moments) + 1

    protocol = mutated(schedule.protocol, schedule.mutant)
    with suppress(StepRaised):  # `replayed` has it
        simulator = simulate(schedule, show, network=True)
        before = initial = _states(simulator, {})
        shown.clear()
        now = 1
        simulator.on_step = on_step
        for each in schedule.choices:
            simulator.execute(each)
    if again != replayed.events[1:-1]:
        raise ValueError(NOT_DETERMINISTIC)
    violation = next((v.violation for v in _by_schedule(replayed) if v.violation is not None), None)
    trace = tuple((moment.step, event) for moment in moments for event in moment.shown)
    mutant = CATALOGUE.get(schedule.mutant) if schedule.mutant else None
    return Story(
        protocol=schedule.protocol,
        mutant=schedule.mutant,
        processes=schedule.processes,
        choices=len(schedule.choices),
        schedule=dump(schedule),
        wrong=mutant.wrong if mutant else None,
        sha256=replayed.sha256,
        verdicts=tuple(replayed.verdicts),
        violation=violation,
        moments=tuple(moments),
        delivered=first_deliveries(replayed.events),
        trace=trace,
        flights=tuple(flights.values()),
        initial=initial,
        legend=protocol.legend + (("/path=value@version",) if schedule.switches.application == "key-value" else ()),
        settings=_settings(schedule),
        raised=None if replayed.raised is None else _raised(protocol, replayed.raised),
        explanation=() if violation is None else explanation(violation, trace),
        decisive=find_decisive(replayed, violation.property) if decisive and violation is not None else None,
    )


def _raised(protocol: Protocol, raised: StepRaised) -> Raised:
    stimulus = repr(raised.stimulus)
    if isinstance(raised.stimulus, ProtocolMessage):
        kind, text = protocol.show(raised.stimulus)
        stimulus = f"{kind}({text}) from p{raised.sender}"
    return Raised(raised.process, stimulus, raised.said, raised.traceback)


def _settings(schedule: Schedule) -> tuple[str, ...]:
    """The quorum system, unless it is the majority, and the switches that are not as the letter of the paper has it."""
    quorums = [schedule.quorums] if schedule.quorums != MAJORITY else []
    switches = schedule.switches
    changed = [name for name in switches.__struct_fields__ if getattr(switches, name) != getattr(LETTER, name)]
    return (*quorums, *(f"{name} {getattr(switches, name)}" for name in changed))


def _by_schedule(replayed: Replay) -> list[Verdict]:
    """The verdicts, the property that the schedule names first, then in the order of detection."""

    def rank(verdict: Verdict) -> tuple[bool, float]:
        detected = verdict.violation.detected if verdict.violation is not None else None
        return verdict.property != replayed.schedule.violates, float("inf") if detected is None else detected

    return sorted(replayed.verdicts, key=rank)


def _states(simulator: Simulator, before: Mapping[int, State]) -> dict[int, State]:
    """The variables of each process as text.

    A process that is down keeps those that it had, so that its recovery shows what the crash cost it.
    """
    describe = simulator.protocol.describe
    return {
        p: describe(simulator.states[p]) if simulator.is_up(p) else {**before.get(p, {}), "": "down"}
        for p in simulator.ids
    }


def _changes(before: State, after: State) -> list[Change]:
    """What is not there is ⊥, or an empty sequence."""
    changes = []
    for variable in {**before, **after}:
        known = before.get(variable, after.get(variable))
        nothing: str | tuple[str, ...] = () if isinstance(known, tuple) else "⊥"
        old, new = before.get(variable, nothing), after.get(variable, nothing)
        if old == new:
            continue
        if isinstance(new, tuple) and isinstance(old, tuple):
            common = next(
                (i for i, (a, b) in enumerate(zip(old, new, strict=False)) if a != b), min(len(old), len(new))
            )
            changes.append(Change(variable, old[common:], new[common:], is_sequence=True))
        else:
            changes.append(Change(variable, (str(old),), (str(new),)))
    return changes


def _action(choice: Choice, shown: Sequence[Event], flights: Mapping[int, Flight]) -> str:
    """What was chosen, in a few words, as seen by the process that moves."""
    match choice:
        case choices.Elect():
            return "oracle: lead" if choice.leader == choice.process else f"oracle: follow p{choice.leader}"
        case choices.Receive():
            text = next((flights[e.message].name for e in shown if isinstance(e, Receive)), "")
            return f"← p{choice.sender} {text}"
        case choices.Sync():
            return "disk: sync"
        case choices.Request():
            return "client: request"
        case choices.Timeout():
            return "time-out"
        case choices.Notice():
            return f"notices: p{choice.peer} closed"
        case choices.Lead():
            return f"oracles: p{choice.leader} leads {names(choice.followers)}".rstrip()
        case choices.Corrupt():
            [event] = [event for event in shown if isinstance(event, Corrupt)]
            which = event.variable if event.zxid == NO_ZXID else str(event.zxid)
            return f"disk: the record of {which} is altered"
        case choices.Crash():
            return "crash" + (f", first {choice.keep} unsynced kept" if choice.keep else "")
        case choices.Recover():
            return "recover"
        case choices.Snapshot():
            return "snapshot" + (", log cut below it" if choice.cut else "")
        case choices.Cut():
            return f"cut p{choice.sender} → p{choice.receiver}"
        case choices.Mend():
            return f"mend p{choice.sender} → p{choice.receiver}"
        case choices.Stall():
            return f"link p{choice.sender} → p{choice.receiver} stalls"
        case choices.Hold():
            return f"holds {choice.kind} p{choice.sender} → p{choice.receiver}"
        case choices.Overtake():
            return f"p{choice.sender} → p{choice.receiver}: the last message overtakes"
        case choices.Heal():
            return "every link healed"
        case choices.Reset():
            return f"connection with p{choice.peer} reset"
        case choices.Pause():
            return "pause"
        case choices.Wake():
            return "wakes"
        case _:
            raise TypeError(f"not a fine choice: {choice!r}")
