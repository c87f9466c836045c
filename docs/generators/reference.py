"""Makes the pages of the site that are in no file of docs/: what the program says of itself, whole."""

from inspect import cleandoc
from typing import get_args

from docs.generators import commands
from docs.generators.properties import table
from zabcheck.protocols.switches import MEANINGS, values_in_words
from zabcheck.simulation.choices import AnyChoice, Choice

SCHEDULES = """# Schedules: choices and switches

A schedule is a JSON document; [Results as JSON](../output.md#schedules) describes its other fields.

## Choices

"""
SWITCHES = """
## Switches

"""


def pages() -> dict[str, str]:
    """Return each page by its place on the site."""
    return {"reference/commands.md": commands.reference(), "reference/schedules.md": schedules()}


def schedules() -> str:
    """Return the page with every kind of choice and every switch, in the words of the code."""
    switches = ((f"`{name}`", values_in_words(name), meaning) for name, meaning in MEANINGS.items())
    return (
        SCHEDULES
        + table(("choice", "fields", "meaning"), map(row, get_args(AnyChoice)))
        + SWITCHES
        + table(("switch", "values", "meaning"), switches)
    )


def row(choice: type[Choice]) -> tuple[str, str, str]:
    """Return the kind of a choice, its fields, and the docstring of its class as one line."""
    fields = ", ".join(f"`{name}`" for name in choice.__struct_fields__)
    assert choice.__doc__ is not None
    return f"`{choice.__struct_config__.tag}`", fields, " ".join(cleandoc(choice.__doc__).split())
