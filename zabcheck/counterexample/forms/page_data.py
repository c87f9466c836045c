"""The data of a counterexample's page, as JSON for its script (page.js)."""

import json
from collections.abc import Collection, Iterator

from zabcheck.counterexample.forms import diagram
from zabcheck.counterexample.forms.decided import decided
from zabcheck.counterexample.pieces import Labels
from zabcheck.counterexample.story import Story
from zabcheck.invariants import Broadcast, Deliver, Txn
from zabcheck.text.words import clean

LONGEST_ENTRY = 200
"""The longest value of a variable that is shown whole, in characters."""


def data(story: Story, labels: Labels) -> str:
    """Return what the script needs, as JSON that is safe within a page."""
    shown = {moment.step for moment in story.moments}
    decision = decided(story)
    document = {
        "unit": story.unit,
        "steps": [moment.step for moment in story.moments],
        "movers": [moment.process for moment in story.moments],
        "points": [list(diagram.processes_of(moment)) for moment in story.moments],
        "initial": [
            [process, [[clean(v), _value(x)] for v, x in state.items()]] for process, state in states_of(story).items()
        ],
        "changes": [
            [
                [process, clean(change.variable), _value(change.removed), _value(change.added), change.is_sequence]
                for process, changes in moment.changes.items()
                for change in changes
            ]
            for moment in story.moments
        ],
        "flights": [*_ways(story, shown), *_deliveries(story)],
        # The page opens there; an argument is read from its beginning.
        "decided": story.moments[0].step if story.argument else decision.step if decision is not None else None,
        "witness": sorted({step for step, _ in labels}),
    }
    made = json.dumps(document, ensure_ascii=False, separators=(",", ":"))
    return made.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e")


def _ways(story: Story, shown: Collection[int]) -> Iterator[list[int]]:
    """Yield sender, receiver and the two steps of each message; 0 stands for a step that is not shown."""
    for flight in story.flights:
        received = flight.received if flight.received is not None and flight.received in shown else 0
        yield [flight.sender, flight.to, flight.sent or 0, received]


def _deliveries(story: Story) -> Iterator[list[int]]:
    """Yield, in the same form, each broadcast with each of its deliveries; for traces, which may have no messages."""
    if story.unit == "step":
        return
    cast: dict[Txn, tuple[int, int]] = {}
    for moment in story.moments:
        for event in moment.shown:
            if isinstance(event, Broadcast):
                cast.setdefault(event.txn, (event.process, moment.step))
            elif isinstance(event, Deliver) and event.txn in cast:
                sender, step = cast[event.txn]
                yield [sender, event.process, step, moment.step]


def _value(value: str | tuple[str, ...]) -> str | list[str]:
    if isinstance(value, str):
        return clean(value, longest=LONGEST_ENTRY)
    return [clean(entry, longest=LONGEST_ENTRY) for entry in value]


def states_of(story: Story) -> dict[int, dict[str, str | tuple[str, ...]]]:
    """Return each process's variables at the start; variables that it gets only later are empty."""
    states = {process: dict(state) for process, state in story.initial.items()}
    for moment in story.moments:
        for process, changes in moment.changes.items():
            for change in changes:
                states[process].setdefault(change.variable, () if change.is_sequence else "")
    return states
