"""docs/properties.md lists every property with its sentence and its source, and the goals of a search."""

from collections.abc import Iterable
from pathlib import Path

from docs.generators.output import DOCS, read
from zabcheck.invariants import GROUPS, OF_CHANGES, OF_OTHERS, PROPERTIES
from zabcheck.search.goals import GOALS, NEEDS
from zabcheck.zookeeper.verdict.clients import CLIENT_PROPERTIES

PAGE = DOCS / "properties.md"


def made() -> dict[Path, str]:
    """Return the page, with what is generated between its comments."""
    group_of = {member: name for name, members in GROUPS.items() for member in members}
    properties = ((kind.name, kind.statement, kind.source, group_of[kind.name]) for kind in PROPERTIES.values())
    tables = {
        "properties": table(("property", "says", "source", "group"), properties),
        "properties of changes": table(
            ("property", "says", "source"), ((kind.name, kind.statement, kind.source) for kind in OF_CHANGES)
        ),
        "properties of others": table(
            ("property", "says", "source"), ((kind.name, kind.statement, kind.source) for kind in OF_OTHERS)
        ),
        "client properties": table(
            ("property", "says", "source"),
            ((each.name, each.statement, each.source) for each in CLIENT_PROPERTIES.values()),
        ),
        "goals": table(
            ("goal", "is reached when", "needs"),
            [
                (goal, meaning, ", ".join(f"`{kind.__struct_config__.tag}`" for kind in NEEDS[goal]))
                for goal, meaning in GOALS.items()
            ],
        ),
    }
    text = read(PAGE)
    for name, content in tables.items():
        before, begin, rest = text.partition(f"<!-- {name} -->\n")
        _, end, after = rest.partition("<!-- end -->\n")
        assert begin, name
        assert end, name
        text = f"{before}{begin}\n{content}\n{end}{after}"
    return {PAGE: text}


def table(titles: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    """Return a table of Markdown."""
    lines = [list(titles), *map(list, rows)]
    lines.insert(1, ["---"] * len(lines[0]))
    return "".join(f"| {' | '.join(cells)} |\n" for cells in lines)
