"""JSON Schemas of what is read, generated from the types that read it, so that the two cannot drift apart.

For editors, and for whoever writes traces in another language. `docs/*.schema.json` are these; `zabcheck schema` prints
them. What a schema cannot say is told in docs/traces.md.
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
"""By name: the type, and what it is."""


def schema(name: str) -> dict[str, Any]:
    """The JSON Schema (draft 2020-12) of this name. KeyError if there is none."""
    kind, title = SCHEMAS[name]
    [root], definitions = msgspec.json.schema_components([kind])
    for definition in definitions.values():
        definition["description"] = _told(definition["description"])
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": title, **root, "$defs": definitions}


def as_file(name: str) -> bytes:
    """The schema of this name as the file that holds it."""
    return msgspec.json.format(msgspec.json.encode(schema(name)), indent=2) + b"\n"


def _told(docstring: str) -> str:
    """A docstring without its indentation and its examples, which are of Python."""
    return cleandoc(docstring).partition(">>>")[0].strip()
