"""Tables in a narrow terminal: a sentence has room to be read."""

import pytest

from invariants import Deliver, Txn, Zxid, check
from zabcheck.cli.tables import LEAST_ROOM, render_catalogue, render_rows, render_verdicts
from zabcheck.text.pen import text_of

BROKEN = check([Deliver(2, 0, Txn(Zxid(1, 1), "a value")), Deliver(1, 0, Txn(Zxid(1, 1), "another value"))])
CATALOGUE = {"mutants": {"a-name-that-is-as-long-as-some": ("what it is in a sentence, with an end", "a source")}}


def test_a_short_sentence_is_beside_its_row() -> None:
    [row] = [line for line in text_of(render_verdicts(BROKEN), 100).splitlines() if line.startswith("integrity ")]
    assert row.split()[:4] == ["integrity", "violated", "2", "p2"]


@pytest.mark.parametrize("width", [40, 60])
def test_a_long_sentence_follows_its_row_over_the_whole_width(width: int) -> None:
    for table in (
        render_verdicts(BROKEN),
        render_catalogue(CATALOGUE),
        render_rows(("a", "b"), [("a" * 30, "b " * 40)]),
    ):
        lines = text_of(table, width).splitlines()
        told = [line for line in lines[1:] if line.startswith("  ")]
        assert max(map(len, lines)) <= width
        assert max(map(len, told)) > width - LEAST_ROOM


def test_a_row_that_follows_a_sentence_has_its_columns() -> None:
    lines = text_of(render_verdicts(BROKEN), 60).splitlines()
    assert lines[:2] == ["property         verdict        judged", "integrity        violated            2"]
    assert lines[2].startswith("  p2 delivered ")
    assert "24 properties    not exercised       0" in lines
    assert {len(line) for line in lines if not line.startswith("  ")} == {len(lines[0])}


def test_names_in_a_narrow_terminal() -> None:
    assert text_of(render_catalogue(CATALOGUE), 50).splitlines() == [
        "mutants",
        "a-name-that-is-as-long-as-some",
        "  what it is in a sentence, with an end",
        "  a source",
    ]
