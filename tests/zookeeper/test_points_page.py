"""docs/zookeeper-points.md shows what the command prints, and every field that can be read."""

import pytest

from docs.generators.zookeeper_points import PAGE, made
from zabcheck.zookeeper.debugger.fields import FIELDS


@pytest.mark.slow
def test_the_page_is_up_to_date() -> None:
    assert made() == {PAGE: PAGE.read_text(encoding="utf-8")}


def test_the_page_has_every_field() -> None:
    rows = [line for line in PAGE.read_text(encoding="utf-8").splitlines() if line.startswith("| `")]
    assert [row for row in rows if row.split("|")[1].strip(" `") in FIELDS] == [
        f"| `{field.name}` | {field.what} |" for field in FIELDS.values()
    ]
