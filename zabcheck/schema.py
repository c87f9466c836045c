"""JSON Schemas of traces, of schedules, of the lines between zabcheck and a node, and of histories of clients.

They are generated from the types that decode them, so the two cannot drift apart.

They are meant for editors, and for programs in other languages that write traces. `zabcheck schema` prints them, and
`docs/*.schema.json` are the same. docs/traces.md says what a schema cannot say.
"""

from inspect import cleandoc
from typing import Any

import msgspec
from msgspec.structs import fields as fields_of

from zabcheck.invariants import trace
from zabcheck.protocols.external.wire import LINES
from zabcheck.protocols.switch_settings import kinds
from zabcheck.protocols.switches import Switches
from zabcheck.simulation.schedule import Schedule, with_switches
from zabcheck.text.words import as_document
from zabcheck.zookeeper.clients.history import HistoryLine

SCHEMAS: dict[str, tuple[Any, str]] = {
    "trace": (trace.Line, "A line of a trace of zabcheck: the header, an event, or the end"),
    "schedule": (Schedule, "A schedule of zabcheck"),
    "node": (LINES, "A line between zabcheck and a node, in either direction"),
    "history": (HistoryLine, "A line of a history of clients: the header, a record, or the end"),
}
"""Each schema's type and title, by name; LINES stands for its lines, Schedule for those of any protocol."""


def schema(name: str) -> dict[str, Any]:
    """Return the JSON Schema (draft 2020-12) of this name. KeyError if there is none."""
    kind, title = SCHEMAS[name]
    root, definitions = _lines() if kind is LINES else _one(_of_any_protocol() if kind is Schedule else kind)
    for definition in definitions.values():
        definition["description"] = _told(definition["description"])
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": title, **root, "$defs": definitions}


def _of_any_protocol() -> Any:
    """Return the type of a schedule with the switches of every protocol."""
    fields = {field.name: (field.name, field.type, field.default) for kind in kinds() for field in fields_of(kind)}
    named = {"__doc__": Switches.__doc__}
    every = msgspec.defstruct("Switches", fields.values(), bases=(Switches,), frozen=True, namespace=named)
    return with_switches(every)


def _one(kind: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    [root], definitions = msgspec.json.schema_components([kind])
    return root, definitions


def _lines() -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the schema of a line of a node, and its definitions: who writes to whom decides what the body may be."""
    kinds = [kind for _, _, bodies in LINES.values() for kind in bodies]
    roots, definitions = msgspec.json.schema_components(kinds)
    schemas = iter(roots)
    forms = []
    for title, (src, dest, bodies) in LINES.items():
        some = {"type": "object", "properties": {"type": {"type": "string"}}, "required": ["type"]}
        body = {"anyOf": [next(schemas) for _ in bodies]} if bodies else some
        ends = {name: _named(pattern) for name, pattern in (("src", src), ("dest", dest))}
        properties = {"id": {"type": "integer"}, **ends, "body": body}
        forms.append({"title": title, "type": "object", "properties": properties, "required": ["src", "dest", "body"]})
    return {"anyOf": forms}, definitions


def _named(pattern: str) -> dict[str, Any]:
    return {"type": "string", "pattern": pattern} if pattern.startswith("^") else {"const": pattern}


def as_file(name: str) -> bytes:
    """Return the content of the file with the schema of this name."""
    return as_document(schema(name))


def _told(docstring: str) -> str:
    """Return a docstring without its indentation and without its examples, which are in Python."""
    return cleandoc(docstring).partition(">>>")[0].strip()
