"""docs/output.md shows what `zabcheck run --format json` prints."""

import json
import re
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from docs.generators.output import DOCS, read, zabcheck

PAGE = DOCS / "output.md"
COMMAND = ("run", "--mutant", "no-truncation", "--seed", "1", "--format", "json")
EXAMPLE = re.compile(r"(## `zabcheck run`\n(?:[^\n]*\n)*?```json\n)((?:[^\n]*\n)*?)(?=```)")
WIDTH = 120
"""The longest line: whatever fits into it stands in one line."""


def made() -> dict[Path, str]:
    """Return the page with what the command prints now; an example of which only the time differs stays."""
    page = read(PAGE)
    found = EXAMPLE.search(page)
    assert found is not None, f"{PAGE} has no example of run"
    with TemporaryDirectory() as folder:
        result = json.loads(zabcheck(*COMMAND, folder=Path(folder)))
    shorten(result)
    result["seconds"] = json.loads(found[2])["seconds"]
    return {PAGE: page[: found.start(2)] + laid_out(result) + "\n" + page[found.end(2) :]}


def shorten(result: dict[str, Any]) -> None:
    """Leave the first and the last of the choices, and two properties and goals."""
    schedule = result["counterexample"]["schedule"]
    schedule["choices"] = [schedule["choices"][0], schedule["choices"][-1]]
    result["properties"] = result["properties"][:2]
    result["goals"] = dict(list(result["goals"].items())[:2])


def laid_out(value: Any, indent: str = "", room: int = 0) -> str:
    """Return JSON in which a short list or object stands in one line, but never the whole document."""
    inline = json.dumps(value, ensure_ascii=False)
    if (indent and len(indent) + room + len(inline) <= WIDTH) or not isinstance(value, dict | list):
        return inline
    deeper = indent + "  "
    if isinstance(value, list):
        lines = [f"{deeper}{laid_out(each, deeper, 1)}" for each in value]
        return "[\n" + ",\n".join(lines) + f"\n{indent}]"
    keys = {name: json.dumps(name) + ": " for name in value}
    lines = [f"{deeper}{keys[name]}{laid_out(each, deeper, len(keys[name]) + 1)}" for name, each in value.items()]
    return "{\n" + ",\n".join(lines) + f"\n{indent}}}"
