"""A counterexample as a regression test: a file for pytest that fails as long as the bug is there, and passes then.

The file has the schedule as JSON, one choice a line, so that the difference between two versions can be read. It is
ASCII, whatever the values are: JSON has an escape for every other character, and a raw string of Python leaves it
unchanged. (Nothing ends that string early: a quotation mark within a value has a backslash before it, and JSON never
has three quotation marks in a row without.)
"""

import json
import keyword
import re
import textwrap
from collections.abc import Iterator
from typing import Any

from zabcheck.counterexample.story import Story
from zabcheck.text.nodes import command_of
from zabcheck.text.words import clean

WIDTH = 120
WRAP = 100
"""The width of a docstring's lines."""


def regression_test(story: Story) -> str:
    """Return the text of the file. It tests that a property holds, or that the protocol's code does not raise.

    ValueError for the story of a trace: without a schedule there is nothing to execute.
    """
    if not story.schedule:
        raise ValueError("a regression test needs a schedule: a trace alone cannot be executed again")
    schedule = json.loads(story.schedule)
    own = _own(story.protocol)
    arguments = ["SCHEDULE"]
    if own is not None:
        arguments.append(f"protocol={own[1]}")
    command = command_of(story.protocol)
    if command is not None:
        arguments.append(f"exec={json.dumps(command.text)}")
    if story.mutant is not None:
        arguments.append("mutant=MUTANT")
    if story.raised is not None:
        arguments.append("properties=()")
    elif story.violation is not None and story.violation.property != schedule.get("violates"):
        arguments.append(f"properties={json.dumps(story.violation.property)}")
    parts = ["import zabcheck"]
    if own is not None:
        module, qualified = own
        parts.append(f"\nfrom {module} import {qualified.partition('.')[0]}")
    if story.mutant is not None:
        parts.append(f"\nMUTANT = {json.dumps(story.mutant)}  # None: the protocol as it is")
    parts += [
        f'\nSCHEDULE = r"""\n{_readable(schedule)}\n"""',
        f"\n\ndef {_name(story)}() -> None:\n{_docstring(story)}",
        f"    zabcheck.assert_schedule({', '.join(arguments)})",
    ]
    return "\n".join(parts) + "\n"


def _own(protocol: str) -> tuple[str, str] | None:
    """Return module and class of a user's own protocol, if an `import` can name them."""
    if command_of(protocol) is not None:
        return None
    module, colon, qualified = protocol.partition(":")
    parts = (*module.split("."), *qualified.split("."))
    possible = colon and module != "__main__" and all(_is_name(part) for part in parts)
    return (module, qualified) if possible else None


def _is_name(part: str) -> bool:
    return part.isidentifier() and part.isascii() and not keyword.iskeyword(part)


def _name(story: Story) -> str:
    if story.raised is not None:
        about = "nothing_raises"
    else:
        about = story.violation.property if story.violation is not None else "nothing_is_violated"
    return "test_" + re.sub(r"\W+", "_", about.lower(), flags=re.ASCII).strip("_")


def _docstring(story: Story) -> str:
    if story.raised is not None:
        said = f"The protocol's code does not raise. It did: {story.raised.error}"
    elif story.violation is not None:
        said = f"{story.violation.property} holds. It was violated: {story.violation.summary}"
    else:
        said = "No property is violated"
    text = clean(f"{said[0].upper()}{said[1:]}.", ascii_only=True).replace('"', "'")
    [first, *rest] = textwrap.wrap(text, WRAP, break_on_hyphens=False)
    raw = "r" if "\\" in text else ""
    if not rest:
        return f'    {raw}"""{first}"""'
    return "\n".join([f'    {raw}"""', *(f"    {line}" for line in (first, *rest)), '    """'])


def _readable(schedule: dict[str, Any]) -> str:
    """Return the schedule as JSON, with a line for each field and for each choice."""
    return "{\n" + ",\n".join(_fields(schedule)) + "\n}"


def _fields(schedule: dict[str, Any]) -> Iterator[str]:
    for field, value in schedule.items():
        if field == "choices" and value:
            choices = ",\n".join(f"    {_line(choice)}" for choice in value)
            yield f'  "choices": [\n{choices}\n  ]'
        else:
            line = f"  {_json(field)}: {_json(value)}"
            yield line if len(line) < WIDTH else f"  {_json(field)}:\n    {_line(value)}"


def _line(value: Any) -> str:
    """Return a value as JSON, without spaces if it is too long for a line: it is then one word, which is not broken."""
    text = _json(value)
    if len(text) + 4 < WIDTH:
        return text
    return _json(value, separators=(",", ":")).replace(" ", "\\u0020")


def _json(value: Any, **options: Any) -> str:
    return json.dumps(value, **options).replace("\x7f", "\\u007f")
