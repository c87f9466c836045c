"""The parts of the tests that belong to one property, found by its name.

The tests of a property are a module beside this one with `NAME = "its name"`. Its literal reading is the function
`literal` of that module, or the one that is named after the property in `oracle`, `protocol_oracle`, `liveness_oracle`
or `client_oracle`. If the random traces of others seldom break it, the function `own_trace` of that module makes better
ones.
"""

from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from random import Random
from types import ModuleType

from invariants import GROUPS, PROPERTIES, Event
from tests.invariants import client_oracle, liveness_oracle, oracle, protocol_oracle
from tests.invariants.oracle import Finding, Reading

Literal = Callable[[Reading], Finding]


def _modules() -> dict[str, ModuleType]:
    found = {}
    for path in sorted(Path(__file__).parent.glob("test_*.py")):
        if "\nNAME = " in path.read_text(encoding="utf-8"):
            module = import_module(f"tests.invariants.{path.stem}")
            found[module.NAME] = module
    return found


def _literal(name: str) -> Literal | None:
    places = [(MODULES.get(name), "literal")]
    places += [(module, name.replace(" ", "_")) for module in (oracle, protocol_oracle, liveness_oracle, client_oracle)]
    return next((found for place in places if (found := getattr(*place, None)) is not None), None)


MODULES: dict[str, ModuleType] = _modules()
"""The module of the tests of each property."""

LITERAL: dict[str, Literal] = {
    name: literal for name in (*PROPERTIES, *MODULES) if (literal := _literal(name)) is not None
}
"""The literal reading of each property."""

OWN_TRACES: dict[str, Callable[[Random], list[Event]]] = {
    name: module.own_trace for name, module in MODULES.items() if hasattr(module, "own_trace")
}
"""The makers of random traces for one property alone, where the module of its tests has such a function."""

OF_CLIENTS = {name: literal for name, literal in LITERAL.items() if name in GROUPS["clients"]}
"""The literal readings of what clients were told and have read."""

OF_SEQUENCES = {name: literal for name, literal in LITERAL.items() if not PROPERTIES[name].looks_at}
"""The literal readings of what is broadcast and delivered, restored and recovered."""

OF_THE_PROTOCOL = {
    name: literal for name, literal in LITERAL.items() if name not in OF_CLIENTS and name not in OF_SEQUENCES
}
"""The literal readings of all that look at other events as well."""
