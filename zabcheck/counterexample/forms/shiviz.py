"""A run as a log for ShiViz, which draws it and compares it with others: https://bestchai.bitbucket.io/shiviz/

Each event takes two lines: the host with its vector clock as JSON, then what happened. A host is a process, and an
event is its part in one step. The clocks are those of Fidge (1988) and Mattern ("Virtual time and global states of
distributed systems", 1989): one event happened before another if and only if its clock is less. What happens to the
network alone is no process's event, and is left out; so is the clock of a message that was sent before the steps that
are shown.

ShiViz accepts such a log only if each host counts its own events 1, 2, 3, …, and the clocks agree with the messages.
"""

import json
from collections.abc import Iterator, Mapping

from msgspec import Struct

from zabcheck.counterexample.forms.diagram import processes_of
from zabcheck.counterexample.pieces import Labels, entries_of
from zabcheck.counterexample.story import Flight, Moment, Story
from zabcheck.text.words import clean, name

REGEX = r"(?<host>\S*) (?<clock>{.*})\n(?<event>.*)"
"""The pattern of an event: the first line of a file for ShiViz. The second line is empty, as the file has one run."""


class StampedEvent(Struct, frozen=True):
    """The event of `process` in `step`, with its vector clock after it: how many events of each process it knows."""

    step: int
    process: int
    clock: Mapping[int, int]


def to_shiviz(story: Story, labels: Labels) -> str:
    """Return the log, to be saved as a file and opened in ShiViz."""
    moments = {moment.step: moment for moment in story.moments}
    lines = [REGEX, ""]
    for event in stamped(story):
        clock = {name(process): event.clock[process] for process in sorted(event.clock)}
        lines += [
            f"{name(event.process)} {json.dumps(clock)}",
            _text(story, moments[event.step], event.process, labels),
        ]
    return "\n".join(lines) + "\n"


def stamped(story: Story) -> Iterator[StampedEvent]:
    """Yield the events in the order of the run, with their clocks. O(events × processes + messages)."""
    sent: dict[int, list[Flight]] = {}
    received: dict[int, list[Flight]] = {}
    for flight in story.flights:
        if flight.sent is not None:
            sent.setdefault(flight.sent, []).append(flight)
        if flight.received is not None:
            received.setdefault(flight.received, []).append(flight)
    clocks: dict[int, dict[int, int]] = {}
    carried: dict[int, Mapping[int, int]] = {}  # by the number of the message
    for moment in story.moments:
        arrived, left = received.get(moment.step, []), sent.get(moment.step, [])
        took_part = (*processes_of(moment), *(flight.to for flight in arrived), *(flight.sender for flight in left))
        for process in dict.fromkeys(took_part):
            clock = clocks.get(process, {})
            for flight in arrived:
                if flight.to == process:
                    other = carried.get(flight.number, {})
                    clock = clock | {each: max(time, clock.get(each, 0)) for each, time in other.items()}
            clock = clock | {process: clock.get(process, 0) + 1}
            clocks[process] = clock
            yield StampedEvent(moment.step, process, clock)
        carried.update({flight.number: clocks[flight.sender] for flight in left})


def _text(story: Story, moment: Moment, process: int, labels: Labels) -> str:
    """Return, in one line, what the step was, and what it did at `process`."""
    said = [f"{story.unit} {moment.step}"]
    for entry in entries_of(moment, labels):
        if entry.process in (None, moment.process, process):
            said += [piece.text if piece.label is None else f"{piece.text} ◀{piece.label}" for piece in entry.pieces]
    return clean("  ".join(said))
