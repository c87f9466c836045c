"""docs/zookeeper-points.md shows what the command prints, and every field that can be read."""

from docs.generators.zookeeper_points import PAGE
from zabcheck.zookeeper.debugger.fields import FIELDS


def test_the_page_has_every_field() -> None:
    rows = [line for line in PAGE.read_text(encoding="utf-8").splitlines() if line.startswith("| `")]
    assert [row for row in rows if row.split("|")[1].strip(" `") in FIELDS] == [
        f"| `{field.name}` | {field.what} |" for field in FIELDS.values()
    ]
