"""A run, executed and explained, as JSON for programs: everything that a report draws.

Texts are not cleaned, as JSON has an escape for whatever a terminal would obey. Only half of a surrogate pair, which
UTF-8 cannot hold, becomes the text `\\ud800`. docs/output.md describes the fields.
"""

import json
from typing import Any

import msgspec

from zabcheck.counterexample.pieces import labels_of, meanings
from zabcheck.counterexample.story import Moment, Story
from zabcheck.text.words import as_document, as_text


def to_json(story: Story) -> bytes:
    """Return `fields` as a JSON document in UTF-8."""
    return as_document(fields(story))


def fields(story: Story) -> dict[str, Any]:
    """Return the story as dictionaries, lists, strings, numbers and truth values."""
    witness = labels_of(story.violation).items()
    found = {
        "protocol": story.protocol,
        "mutant": story.mutant,
        "wrong": story.wrong,
        "processes": story.processes,
        "settings": story.settings,
        "done": [{"when": when, "what": what} for when, what in story.done],
        "simulated": story.simulated,
        "known": story.known,
        "noticed": [{"kind": kind, "text": text, "servers": story.servers.get(kind)} for kind, text in story.noticed],
        "worst": story.worst,
        "threads": story.threads,
        "argument": story.argument,
        "mismatch": story.mismatch,
        "unit": story.unit,
        "is_ordered": story.is_ordered,
        "sha256": story.sha256,
        "schedule": json.loads(story.schedule) if story.schedule else None,
        "verdicts": story.verdicts,
        "violation": story.violation,
        "witness": [{"label": label, "step": story.step_of(event), "event": event} for event, label in witness],
        "raised": story.raised,
        "explanation": story.explanation,
        "decisive": story.decisive,
        "legend": meanings(story),
        "initial": [{"process": process, "variables": state} for process, state in story.initial.items()],
        "steps": [_step(moment) for moment in story.moments],
        "messages": story.flights,
        "delivered": [
            {"process": process, "incarnation": incarnation, "txns": txns}
            for process, incarnation, txns in story.delivered
        ],
    }
    whole: dict[str, Any] = _whole(msgspec.to_builtins(found))
    return whole


def _step(moment: Moment) -> dict[str, Any]:
    return {
        "step": moment.step,
        "process": moment.process,
        "peer": moment.peer,
        "action": moment.action,
        "events": moment.shown,
        "sent": [{"text": text, "to": to} for text, to in moment.sent],
        "lost": [flight.number for flight in moment.lost],
        "changes": [
            {
                "process": process,
                "variable": change.variable,
                "removed": change.removed,
                "added": change.added,
                "is_sequence": change.is_sequence,
            }
            for process, changes in moment.changes.items()
            for change in changes
        ],
        "unsynced": [{"process": process, "writes": writes} for process, writes in moment.unsynced.items()],
    }


def _whole(value: Any) -> Any:
    """Return `value` with every half of a surrogate pair replaced."""
    match value:
        case str():
            return as_text(value)
        case list() | tuple():
            return [_whole(each) for each in value]
        case dict():
            return {_whole(key): _whole(each) for key, each in value.items()}
        case _:
            return value
