"""The threads that were held in a run of a real ensemble: where, for how long, and with which effect on others.

A recording has the time at which a thread came to a point; the time at which it went on follows from the choices of the
schedule. Both are put among the lines of the trace by their times, which are exact to a millisecond or so.
"""

import re
from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence

from msgspec import Struct

from zabcheck.counterexample.story import HeldThread, Story, ThreadEnd
from zabcheck.invariants import Event, Local, Receive, Send
from zabcheck.text.words import name, phrase
from zabcheck.zookeeper.debugger.catalogue import CATALOGUE
from zabcheck.zookeeper.recording.folder import read
from zabcheck.zookeeper.recording.records import (
    Acknowledged,
    AnyRecord,
    Asked,
    Cast,
    Chose,
    Exited,
    Fault,
    Killed,
    Reached,
    Stopped,
)
from zabcheck.zookeeper.run.choices.choice import LEADER
from zabcheck.zookeeper.run.choices.points import Go
from zabcheck.zookeeper.run.schedule import EnsembleSchedule
from zabcheck.zookeeper.verdict.judge import RecordingVerdict

FIRST_LINE = 2
"""The line of a trace with its first event; line 1 is the header."""
MOST_TOLD = 4
"""The number of acts of a process that are listed, at most, while one of its threads was held."""


class Stay(Struct):
    """A thread's time at a point, in microseconds; `end` is None as long as nothing has ended it."""

    server: int
    point: str
    thread: str
    since: int
    until: int = 0
    end: ThreadEnd | None = None


def held_threads(judged: RecordingVerdict, schedule: EnsembleSchedule | None, story: Story) -> tuple[HeldThread, ...]:
    """Find the threads that were held in a run, for its story. RecordingError if its recording cannot be read."""
    records = list(read(judged.folder))
    times = judged.observation.times
    shown = [moment.step for moment in story.moments]

    def row(time: int) -> int | None:
        """Return the last row that is shown of what had happened by then."""
        line = bisect_right(times, time) + FIRST_LINE - 1
        before = bisect_right(shown, line)
        return shown[before - 1] if before else None

    return tuple(
        HeldThread(
            f"T{number}",
            stay.server,
            row(stay.since),
            row(stay.until) if stay.end is not None else None,
            stay.end or "goes on",
            f"{_thread(stay.thread)} of {name(stay.server)} is held at {stay.point}",
            tuple(_told(stay, judged, records)),
        )
        for number, stay in enumerate(stays_of(records, schedule), start=1)
    )


def stays_of(records: Sequence[AnyRecord], schedule: EnsembleSchedule | None) -> list[Stay]:
    """Find when and where threads were held, by the records of a run and the schedule that it executed."""
    stays: list[Stay] = []
    notes = {record.number: record.note for record in records if isinstance(record, Chose)}
    last = max((record.time for record in records if isinstance(record, Chose)), default=0)
    roles: Mapping[str, int] = {}

    def end(time: int, how: ThreadEnd, server: int | None = None, point: str | None = None) -> None:
        for stay in stays:
            if stay.end is None and server in (None, stay.server) and point in (None, stay.point):
                stay.until, stay.end = time, how

    for record in records:
        match record:
            case Cast(roles=cast):
                roles = cast
            case Reached(time, server, point, thread, "held"):
                stays.append(Stay(server, point, thread, time))
            case Chose(time, number, leader=leader) if schedule is not None and not notes[number]:
                choice = schedule.choices[number]
                if isinstance(choice, Go):
                    # Recordings of 0.1.0 do not name the leader: then every thread held there goes on.
                    end(time, "goes on", roles.get(leader if choice.server == LEADER else choice.server), choice.point)
            case Killed(time, server) | Exited(time, server) | Stopped(time, server):
                end(time, "killed", server)
            case Fault(time, "heal") if time >= last:  # the end of the run lets every thread go on
                end(time, "goes on")
    return stays


def _thread(name: str) -> str:
    """Return the name of a thread without the part that differs from run to run: "QuorumPeer[myid=2](plain=…)"."""
    return re.split(r"[\[(:/]", name)[0].rstrip("-")


def _told(stay: Stay, judged: RecordingVerdict, records: Sequence[AnyRecord]) -> Iterator[str]:
    """Yield sentences on a held thread: its next act, acts of its process without it, and events after it went on."""
    if stay.point in CATALOGUE:
        yield CATALOGUE[stay.point].what
    until = stay.until if stay.end is not None else int(getattr(records[-1], "time", stay.since))
    observation = judged.observation
    own = [
        (time, event)
        for time, event in zip(observation.times, observation.events, strict=True)
        if isinstance(event, Local) and event.process == stay.server and not isinstance(event, Receive)
    ]
    meanwhile = [event for time, event in own if stay.since < time <= until]
    yield (
        f"meanwhile {name(stay.server)} {_listed(meanwhile)}"
        if meanwhile
        else (f"meanwhile {name(stay.server)} does nothing that is seen")
    )
    if stay.end == "killed":
        yield "it is held until its process is killed"
        return
    then = [event for time, event in own if time > until]
    if then:
        yield f"when it goes on, {name(stay.server)} {_did(then[0])}"
    waiting = _waiting(records, stay.since, until)
    if waiting:
        yield f"{waiting} write{'s' if waiting > 1 else ''} had no answer until then, and got one later"


def _waiting(records: Sequence[AnyRecord], since: int, until: int) -> int:
    """Count the writes that were asked for before a thread went on, and answered after it did."""
    asked = {(each.client, each.number) for each in records if isinstance(each, Asked) and each.time <= until}
    answers = {(each.client, each.number): each.time for each in records if isinstance(each, Acknowledged)}
    return sum(write in asked and time > until for write, time in answers.items())


def _listed(events: Sequence[Event]) -> str:
    did = list(dict.fromkeys(map(_did, events)))
    said = ", ".join(did[:MOST_TOLD])
    return said + (f", and {len(did) - MOST_TOLD} more" if len(did) > MOST_TOLD else "")


def _did(event: Event) -> str:
    return f"sends {event.kind} to {name(event.to)}" if isinstance(event, Send) else phrase(event)
