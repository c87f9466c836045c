"""JSON Schemas of traces and schedules, generated from the types that decode them, so the two cannot drift apart.

They are meant for editors, and for programs in other languages that write traces. `zabcheck schema` prints them, and
`docs/*.schema.json` are the same. docs/traces.md says what a schema cannot say.
"""

from inspect import cleandoc
from typing import Any

import msgspec

from invariants import trace
from zabcheck.simulation.schedule import Schedule

SCHEMAS: dict[str, tuple[Any, str]] = {
    "trace": (trace.Line, "A line of a trace of zabcheck: the header, an event, or the end"),
    "schedule": (Schedule, "A schedule of zabcheck"),
}
"""Each schema's type and title, by name."""


def schema(name: str) -> dict[str, Any]:
    """Return the JSON Schema (draft 2020-12) of this name. KeyError if there is none."""
    kind, title = SCHEMAS[name]
    [root], definitions = msgspec.json.schema_components([kind])
    for definition in definitions.values():
        definition["description"] = _told(definition["description"])
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": title, **root, "$defs": definitions}


def as_file(name: str) -> bytes:
    """Return the content of the file with the schema of this name."""
    return msgspec.json.format(msgspec.json.encode(schema(name)), indent=2) + b"\n"


def _told(docstring: str) -> str:
    """Return a docstring without its indentation and without its examples, which are in Python."""
    return cleandoc(docstring).partition(">>>")[0].strip()
