"""The pieces of each step of a run, process by process: what every form of a story draws.

Only what changed is said, never what did not.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from typing import Literal

from msgspec import Struct

from zabcheck.counterexample.story import Change, Moment, ServersPart, Story
from zabcheck.invariants import (
    GROUPS,
    Broadcast,
    ClientAck,
    Clock,
    Corrupt,
    Crash,
    Deliver,
    Elect,
    Event,
    FinalRead,
    Halt,
    Ready,
    Restore,
    Violation,
    explaining_first,
)
from zabcheck.text.words import cut, name, names, phrase

Tone = Literal["action", "fault", "disk", "state", "phase", "message", "lost", "event", "txn", "witness"]

LONGEST_PIECE = 60
"""The longest part of a step, or entry of a sequence, that is shown whole, in characters."""
MOST_ENTRIES = 4
"""The most entries of a sequence that is shown whole; of a longer one the two ends are shown."""

AROUND = 8
"""The number of characters shown before and after the difference of two long values."""

DELIVERED = "delivered"
"""The variable of a trace that counts deliveries; its changes are left out, as the deliveries are shown."""

LOSSES = tuple(name for group in ("core", "clients") for name in GROUPS[group] if name != Clock.name)
"""The properties of which a user of the ensemble notices that they break."""

Labels = Mapping[tuple[int, Event], str]
"""The events of a witness by the step that showed them, and what marks each: "W1"."""


class Piece(Struct, frozen=True):
    """A few words. `tone` says of what kind they are; `label` marks an event of the witness."""

    text: str
    tone: Tone
    label: str | None = None


class Entry(Struct, frozen=True):
    """The pieces of one step at one process; at the network if `process` is None."""

    step: int
    process: int | None
    pieces: tuple[Piece, ...]


def stands_still(story: Story) -> bool:
    """Return True if the run breaks a property of liveness, and none of which a user notices that something is lost."""
    return (
        story.violation is not None
        and story.violation.property in GROUPS["liveness"]
        and not any(each.property in LOSSES for each in story.verdicts if each.status == "violated")
    )


def meanings(story: Story) -> list[str]:
    """Return the entries of the legend as text."""
    return [f"{name} {meaning}".strip() for name, meaning in story.legend]


def servers_part(part: ServersPart | None) -> Iterator[str]:
    """Yield lines on the part of the servers in a broken promise to clients; none if it is not known."""
    if part is None:
        return
    for step in part.steps:
        yield f"no step of {step.of}, at server {step.server}: {step.what} ({step.source})"
    if part.compared == "conforms":
        also = f", and this run breaks {', '.join(part.breaks)}" if part.breaks else ""
        yield f"the servers did what the model of their version does{also}"
    if part.known:
        yield f"looks like {', '.join(part.known)}"


def also_broken(story: Story) -> list[Violation]:
    """Return the violations besides the one that is told, in the order in which they are best read."""
    found = (verdict.violation for verdict in explaining_first(story.verdicts))
    return [each for each in found if each is not None and each != story.violation]


def in_a_line(violation: Violation) -> str:
    """Tell a violation in a line, where another one is told in full."""
    return f"{violation.property}: {violation.summary}"


def labels_of(violation: Violation | None) -> dict[Event, str]:
    """Label the events of the witness W1, W2, …"""
    witness = violation.witness if violation is not None else ()
    return {event: f"W{number}" for number, event in enumerate(dict.fromkeys(witness), 1)}


def labels_by_step(story: Story) -> Labels:
    """Label the events of the witness by the step that showed each first; an event that no step showed has no label."""
    steps = {event: story.step_of(event) for event in labels_of(story.violation)}
    return {(step, event): label for event, label in labels_of(story.violation).items() if (step := steps[event])}


def entries_of(moment: Moment, labels: Labels) -> Iterator[Entry]:
    """Yield the entry of the process that moved, then of any other that the step changed."""
    mine = moment.changes.get(moment.process, ()) if moment.process is not None else ()
    pieces = [
        *([Piece(moment.action, _tone_of(moment))] if moment.action else []),
        *_changed(moment, mine),
        *_shown(moment, labels),
        *(Piece(f"→ {names(to)} {text}", "message") for text, to in moment.sent),
        *(Piece(f"× {name(lost.sender)}→{name(lost.to)} {lost.name}", "lost") for lost in moment.lost),
    ]
    yield Entry(moment.step, moment.process, tuple(pieces))
    for process, changes in moment.changes.items():
        if process != moment.process:
            yield Entry(moment.step, process, tuple(_changed(moment, changes)))


def _tone_of(moment: Moment) -> Tone:
    if moment.process is None or any(isinstance(event, Crash) for event in moment.shown):
        return "fault"
    return "disk" if moment.syncs or any(isinstance(event, Corrupt) for event in moment.shown) else "action"


def _changed(moment: Moment, changes: Iterable[Change]) -> Iterator[Piece]:
    """Yield the changes of one process; of its role and phase only what is new and not said by the step itself."""
    changes = [change for change in changes if change.variable != DELIVERED]
    whole = dict(_whole_records(changes))
    for change in changes:
        record = _record(change)
        if record in whole:
            said = whole[record]
            whole[record] = ""  # once for all its fields
            if said:
                yield Piece(said, "state")
            continue
        if change.variable:
            yield Piece(_change(change), "state")
            continue
        old, new = change.parts or (change.removed, change.added)
        news = [part for part in new if part not in old]
        if any(isinstance(event, Elect) for event in moment.shown):
            news = list(new[1:])
        if any(isinstance(event, Crash) for event in moment.shown):
            news = []
        if news:
            yield Piece(f"[{', '.join(news)}]", "phase")


def _record(change: Change) -> str:
    """Return the record in a dictionary that a variable is a field of: "votes[2]" of "votes[2].epoch"; or ""."""
    entry, bracket, _ = change.variable.rpartition("].")
    return entry + bracket[:1]


def _whole_records(changes: Iterable[Change]) -> Iterator[tuple[str, str]]:
    """Yield each record that a dictionary got or lost as a whole, with what is said of that in one piece."""
    nothing = ((), ("⊥",))
    for record, group in groupby(changes, _record):
        fields = list(group)
        if record and all(change.removed in nothing for change in fields):
            said = ", ".join(f"{change.variable[len(record) + 1 :]} {' '.join(change.added)}" for change in fields)
            yield record, f"{record} +({cut(said, LONGEST_PIECE)})"
        elif record and all(change.added in nothing for change in fields):
            yield record, f"{record} −"


def _change(change: Change) -> str:
    if not change.is_sequence:
        return f"{change.variable} {_difference(change.removed[0], change.added[0])}"
    ends = [*_ends("−", change.gone), *_ends("+", change.new)]
    return " ".join([change.variable, *ends])


def _difference(old: str, new: str) -> str:
    """Return the old and the new value, of two long ones only where they differ and what stands around that."""
    if max(len(old), len(new)) <= LONGEST_PIECE:
        return f"{old}→{new}"
    same = _common(old, new)
    tail = _common(old[same:][::-1], new[same:][::-1])
    start, end = max(same - AROUND, 0), max(tail - AROUND, 0)
    shown = (cut(each[start : len(each) - end], LONGEST_PIECE) for each in (old, new))
    return "→".join(f"{'…' if start else ''}{each}{'…' if end else ''}" for each in shown)


def _common(one: str, other: str) -> int:
    """Return the length of what both begin with."""
    return next((i for i, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other)))


def _ends(sign: str, entries: Sequence[str]) -> list[str]:
    if len(entries) > MOST_ENTRIES:
        return [*_ends(sign, entries[:1]), f"…{len(entries) - 2} more…", *_ends(sign, entries[-1:])]
    return [f"{sign}{cut(entry, LONGEST_PIECE)}" for entry in entries]


_MENTIONED = (Broadcast, Deliver, Ready, Restore, Halt, ClientAck, FinalRead)
"""The events that a step mentions; the others show as changes of variables, or as the action."""


def _shown(moment: Moment, labels: Labels) -> Iterator[Piece]:
    for event in moment.shown:
        label = labels.get((moment.step, event))
        if label is not None:
            yield Piece(phrase(event), "witness", label)
        elif isinstance(event, _MENTIONED) or (isinstance(event, Crash) and event.lost):
            yield Piece(phrase(event), "txn" if isinstance(event, Broadcast | Deliver) else "event")
