"""What a schedule did, step by step, as data for a report: who moved, what it did, and what changed by it."""

from collections.abc import Mapping, Sequence

from msgspec import Struct

from invariants import (
    Broadcast,
    Deliver,
    Establish,
    Event,
    Halt,
    Ready,
    Receive,
    Restore,
    Send,
    Txn,
    Verdict,
    Violation,
)
from zabcheck.mutants.catalogue import CATALOGUE, mutated
from zabcheck.search.run import Replay, replay
from zabcheck.simulation import schedule as choices
from zabcheck.simulation.schedule import Choice, Schedule
from zabcheck.simulation.simulator import Simulator


class Change(Struct, frozen=True):
    """A variable of a process that a step changed.

    For a sequence `removed` and `added` say how its end changed; for anything else they are the old and the new value.
    """

    variable: str
    removed: tuple[str, ...]
    added: tuple[str, ...]
    is_sequence: bool = False


class Moment(Struct, frozen=True):
    """One step of a run.

    `process` is who moved; None for what happened to the network. `action` says what was chosen. `shown` holds what
    the outside saw of it, `sent` the messages that left ("NEWEPOCH(1)", and to whom), `changes` what changed at whom.
    """

    step: int
    process: int | None
    action: str
    shown: tuple[Event, ...]
    sent: tuple[tuple[str, tuple[int, ...]], ...]
    changes: Mapping[int, tuple[Change, ...]]
    unsynced: Mapping[int, int]


class Story(Struct, frozen=True):
    """A schedule executed and explained."""

    schedule: Schedule
    wrong: str | None
    sha256: str
    verdicts: tuple[Verdict, ...]
    violation: Violation | None
    moments: tuple[Moment, ...]
    delivered: tuple[tuple[int, int, tuple[Txn, ...]], ...]
    """(process, incarnation, first deliveries), each incarnation that delivered or restored something."""

    def step_of(self, event: Event) -> int | None:
        """The step that showed this event first."""
        return next((moment.step for moment in self.moments if event in moment.shown), None)


def explain(schedule: Schedule, properties: Sequence[str] | None = None) -> Story:
    """Execute `schedule` and tell what happened. ValueError if it names a protocol or mutant that there is not."""
    return explain_replay(replay(schedule, properties))


def explain_replay(replayed: Replay) -> Story:
    """What happened in `replayed`. O(steps × (processes + length of the histories))."""
    schedule = replayed.schedule
    shown: list[Event] = []
    protocol = mutated(schedule.protocol, schedule.mutant)
    simulator = Simulator(protocol, schedule.processes, shown.append, network=True)
    before = _states(simulator)
    shown.clear()
    texts: dict[int, str] = {}
    moments: list[Moment] = []
    for choice in _fine(schedule):
        if not simulator.execute(choice):
            continue
        after = _states(simulator)
        sent: dict[str, tuple[int, ...]] = {}
        for event in shown:
            if isinstance(event, Send):
                text = f"{event.kind}({event.text})"
                texts[event.message] = text
                sent[text] = (*sent.get(text, ()), event.to)
        changes = {
            process: found for process in simulator.ids if (found := tuple(_changes(before[process], after[process])))
        }
        moments.append(
            Moment(
                step=len(moments) + 1,
                process=getattr(choice, "process", None),
                action=_action(choice, shown, texts),
                shown=tuple(event for event in shown if not isinstance(event, Send | Receive)),
                sent=tuple(sent.items()),
                changes=changes,
                unsynced={p: len(simulator.disks[p].unsynced) for p in simulator.ids},
            )
        )
        before = after
        shown.clear()
    violation = next((v.violation for v in _by_schedule(replayed) if v.violation is not None), None)
    mutant = CATALOGUE.get(schedule.mutant) if schedule.mutant else None
    return Story(
        schedule=schedule,
        wrong=mutant.wrong if mutant else None,
        sha256=replayed.sha256,
        verdicts=tuple(replayed.verdicts),
        violation=violation,
        moments=tuple(moments),
        delivered=tuple(_delivered(replayed.events)),
    )


def _by_schedule(replayed: Replay) -> list[Verdict]:
    """The verdicts, the property that the schedule names first, then in the order of detection."""

    def rank(verdict: Verdict) -> tuple[bool, float]:
        detected = verdict.violation.detected if verdict.violation is not None else None
        return verdict.property != replayed.schedule.violates, float("inf") if detected is None else detected

    return sorted(replayed.verdicts, key=rank)


def _fine(schedule: Schedule) -> Sequence[Choice]:
    """The fine choices that `schedule` executes."""
    simulator = Simulator(mutated(schedule.protocol, schedule.mutant), schedule.processes, lambda _: None)
    for choice in schedule.choices:
        simulator.execute(choice)
    return simulator.executed


State = Mapping[str, str | tuple[str, ...]]


def _states(simulator: Simulator) -> dict[int, State]:
    """The variables of each process as text; a process that is down has none."""
    describe = simulator.protocol.describe
    return {p: describe(simulator.states[p]) if simulator.is_up(p) else {"": "down"} for p in simulator.ids}


def _changes(before: State, after: State) -> list[Change]:
    changes = []
    for variable, new in after.items():
        old = before.get(variable, () if isinstance(new, tuple) else "")
        if old == new or ("" in before and before[""] == "down" and not new):
            continue
        if isinstance(new, tuple) and isinstance(old, tuple):
            common = next(
                (i for i, (a, b) in enumerate(zip(old, new, strict=False)) if a != b), min(len(old), len(new))
            )
            changes.append(Change(variable, old[common:], new[common:], is_sequence=True))
        else:
            changes.append(Change(variable, (str(old),), (str(new),)))
    return changes


def _action(choice: Choice, shown: Sequence[Event], texts: Mapping[int, str]) -> str:
    """What was chosen, in a few words, as seen by the process that moves."""
    match choice:
        case choices.Elect():
            return "oracle: lead" if choice.leader == choice.process else f"oracle: follow p{choice.leader}"
        case choices.Receive():
            text = next((texts.get(e.message, "") for e in shown if isinstance(e, Receive)), "")
            return f"← p{choice.sender} {text}"
        case choices.Sync():
            return "disk: sync"
        case choices.Request():
            return "client: request"
        case choices.Timeout():
            return "time-out"
        case choices.Notice():
            return f"notices: p{choice.peer} closed"
        case choices.Crash():
            return "crash" + (f", {choice.keep} writes survive" if choice.keep else "")
        case choices.Recover():
            return "recover"
        case choices.Snapshot():
            return "snapshot"
        case choices.Cut():
            return f"cut p{choice.sender} → p{choice.receiver}"
        case choices.Heal():
            return "every link healed"
        case choices.Reset():
            return f"connection with p{choice.peer} reset"
        case _:
            raise TypeError(f"not a fine choice: {choice!r}")


def _delivered(events: Sequence[Event]) -> list[tuple[int, int, tuple[Txn, ...]]]:
    """The first deliveries of each incarnation; one that restored a snapshot starts with its prefix."""
    sequences: dict[tuple[int, int], list[Txn]] = {}
    longest: list[Txn] = []
    for event in events:
        if isinstance(event, Restore):
            known = max((s for (p, _), s in sequences.items() if p == event.process), key=len, default=longest)
            sequences[event.process, event.incarnation] = known[: event.length]
        elif isinstance(event, Deliver):
            sequence = sequences.setdefault((event.process, event.incarnation), [])
            if event.txn not in sequence:
                sequence.append(event.txn)
            longest = max(longest, sequence, key=len)
    return [(process, incarnation, tuple(txns)) for (process, incarnation), txns in sorted(sequences.items())]


SHOWN_TO_READERS = (Broadcast, Deliver, Ready, Establish, Restore, Halt)
"""The events that a report mentions by themselves; the others show as changes of variables."""

__all__ = ["SHOWN_TO_READERS", "Change", "Moment", "Story", "explain", "explain_replay"]
