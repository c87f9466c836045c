"""Compares a JSON result of a command with the section about the command in docs/output.md."""

import re
from collections.abc import Iterator
from typing import Any

from tests.cli.command import ROOT

PAGE = (ROOT / "docs/output.md").read_text(encoding="utf-8")
SECTIONS: dict[str, str] = {
    title.replace("`", "").removeprefix("zabcheck "): text
    for title, text in re.findall(r"^## ([^\n]*)\n(.*?)(?=^## |\Z)", PAGE, re.DOTALL | re.MULTILINE)
}
OPEN = (
    *("choices", "delivered", "events", "event", "faults", "first", "goals", "histories", "sizes", "state", "switches"),
    *("variables", "witness"),
)
"""Fields whose objects have names of properties, processes or goals, or are described with traces and schedules."""
ENVELOPE = {"version", "command"}


def fields(value: Any) -> Iterator[str]:
    """Yield the name of each field of a result, however deep."""
    if isinstance(value, dict):
        for name, inner in value.items():
            yield name
            if name not in OPEN or (isinstance(inner, list) and name == "delivered"):
                yield from fields(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from fields(inner)


def explained(title: str) -> str:
    """Return the section, and those that it links to."""
    anchors = {f"#{re.sub('[^a-z0-9 -]', '', name.lower()).replace(' ', '-')}": name for name in SECTIONS}
    anchors |= {f"#zabcheck-{anchor[1:]}": name for anchor, name in anchors.items()}
    links = re.findall(r"\]\((#[\w-]+)\)", SECTIONS[title])
    return "\n".join([SECTIONS[title], *(SECTIONS[anchors[link]] for link in links if link in anchors)])


def named(cells: list[str]) -> set[str]:
    """Return the fields that cells of tables name: `traces[].runs` names both."""
    return {name for cell in cells for path in re.findall(r"`([\w.\[\]]+)`", cell) for name in re.findall(r"\w+", path)}


def assert_documented(told: dict[str, Any], title: str = "", absent: tuple[str, ...] = ()) -> None:
    """Assert that the section names each field of the result, and in its tables' first column no other one.

    `absent` are fields of the first column that this result has not: of what the run did not come to.
    """
    title = title or told["command"]
    text = explained(title)
    rows = r"^\| (.*?) \|"
    on_top = set(told) - ENVELOPE - named(re.findall(rows, text, re.MULTILINE))
    deeper = set(fields(told)) - ENVELOPE - named([text, SECTIONS["Verdicts and violations"]])
    too_many = named(re.findall(rows, SECTIONS[title], re.MULTILINE)) - set(fields(told)) - set(absent)
    assert not on_top | deeper | too_many, (
        f"docs/output.md lacks {sorted(on_top | deeper)}, and {sorted(too_many)} are not there"
    )
