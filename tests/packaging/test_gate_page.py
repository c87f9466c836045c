"""docs/gate.md: its configurations do what it shows, and its table has the keys that there are."""

import json
import re
from typing import Any

from msgspec import NODEFAULT, structs

from docs.generators.gate import EXAMPLE, PAGE
from zabcheck.gate.configuration import Configuration

LEFT_OUT = "left out"


def test_every_example_is_tried() -> None:
    text = PAGE.read_text(encoding="utf-8")
    assert len(EXAMPLE.findall(text)) == text.count("```toml") == text.count("```text") == 2


def rows(title: str) -> list[list[str]]:
    """The cells of the table whose first column has this title."""
    [table] = re.findall(rf"^\| {title} \|.*\n\|---.*\n((?:\|.*\n)+)", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    return [[cell.strip(" `") for cell in re.split(r"(?<!\\)\|", row)[1:-1]] for row in table.splitlines()]


def test_the_table_has_every_key_and_its_default() -> None:
    def shown(default: Any) -> str:
        if default is NODEFAULT:
            return "none; it is required"
        return LEFT_OUT if default is None else json.dumps(default)

    fields = structs.fields(Configuration)
    assert {key: default for key, default, _ in rows("key")} == {
        field.encode_name: shown(field.default) for field in fields
    }


# The workflows.


def read_yaml(lines: list[str], indent: int = 0) -> Any:
    """The part of YAML that the page needs: mappings, lists and scalars, two spaces deeper each. AssertionError else.

    It takes what it reads from `lines`.
    """
    found: Any = None
    while lines and len(lines[0]) - len(lines[0].lstrip(" ")) >= indent:
        line = lines.pop(0)
        assert line[:indent].isspace() or not indent
        text = line[indent:]
        assert text[0] not in " \t"
        if text.startswith("- "):
            found = [] if found is None else found
            lines.insert(0, f"{' ' * (indent + 2)}{text[2:]}")
            is_mapping = re.match(r"[\w-]+:( |$)", text[2:])
            found.append(read_yaml(lines, indent + 2) if is_mapping else lines.pop(0).strip())
            continue
        found = {} if found is None else found
        key, colon, value = text.partition(":")
        assert colon
        assert key not in found
        assert value == "" or re.fullmatch(r" [^ #].*", value)
        if value == " |":
            block = []
            while lines and lines[0].startswith(" " * (indent + 2)):
                block.append(lines.pop(0).strip())
            found[key] = block
        else:
            found[key] = value.strip() or read_yaml(lines, indent + 2)
    assert found is not None
    return found


WORKFLOWS = [
    read_yaml(text.splitlines()) for text in re.findall(r"```yaml\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.S)
]
GITHUB, GITLAB = WORKFLOWS


def test_the_workflow_runs_the_gate_and_keeps_what_it_found() -> None:
    steps = GITHUB["jobs"]["gate"]["steps"]
    assert [step.get("uses", step.get("run")).partition("@")[0] for step in steps] == [
        "actions/checkout",
        "actions/setup-python",
        'python -m pip install ".[test]"',
        "zabcheck gate --junit gate.xml",
        "actions/upload-artifact",
    ]
    upload = steps[-1]
    assert upload["if"] == "failure()"
    assert upload["with"]["path"] == [f"{structs.fields(Configuration)[-1].default}/", "gate.xml"]


def test_the_other_one_too() -> None:
    assert GITLAB["gate"]["script"][-1] == "zabcheck gate --junit gate.xml"
    assert GITLAB["gate"]["artifacts"] == {"when": "always", "paths": ["reports/"], "reports": {"junit": "gate.xml"}}
