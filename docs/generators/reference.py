"""Makes the pages of the site that are in no file of docs/: what the program says of itself, whole."""

from inspect import cleandoc

from msgspec import Struct

from docs.generators import commands
from docs.generators.properties import table
from zabcheck.invariants.events import EVENTS, End, Header
from zabcheck.protocols.switch_settings import values_and_meanings
from zabcheck.simulation.choices import KINDS

SCHEDULES = """# Schedules: choices and switches

A schedule is a JSON document; [Results as JSON](../output.md#schedules) describes its other fields.

## Choices

"""
EVENTS_OF_TRACES = """# The events of a trace

[Traces](../traces.md) describes the format, and how to write a trace.

"""
SWITCHES = """
## Switches

"""


def pages() -> dict[str, str]:
    """Return each page by its place on the site."""
    return {
        "reference/commands.md": commands.reference(),
        "reference/schedules.md": schedules(),
        "reference/events.md": EVENTS_OF_TRACES
        + table(("event", "fields", "meaning"), map(row, (Header, End, *EVENTS))),
    }


def schedules() -> str:
    """Return the page with every kind of choice and every switch, in the words of the code."""
    switches = ((f"`{name}`", values, meaning) for name, (values, meaning) in values_and_meanings().items())
    return (
        SCHEDULES
        + table(("choice", "fields", "meaning"), map(row, KINDS))
        + SWITCHES
        + table(("switch", "values", "meaning"), switches)
    )


def row(kind: type[Struct]) -> tuple[str, str, str]:
    """Return the name of a kind of choice or event, its fields, and the docstring of its class as one line."""
    fields = ", ".join(f"`{name}`" for name in kind.__struct_fields__)
    assert kind.__doc__ is not None
    return f"`{kind.__struct_config__.tag}`", fields, " ".join(cleandoc(kind.__doc__).partition(">>>")[0].split())
