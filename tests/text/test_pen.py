"""The output of a console ends where its text ends, and is no command to a CI system."""

import re

import pytest
from rich.console import Group
from rich.table import Table
from rich.text import Text

from zabcheck.text.pen import text_of


def table(*cells: str) -> Table:
    made = Table.grid(padding=(0, 2, 0, 0))
    made.add_row(*cells)
    made.add_row("a longer cell", "x")
    return made


@pytest.mark.parametrize("color", [False, True])
def test_no_line_ends_with_a_blank(color: bool) -> None:
    shown = text_of(Group(table("a", "b"), Text("bold ", "bold"), "", "end  "), 40, color)
    lines = re.sub(r"\x1b\[[\d;]*m", "", shown).split("\n")
    assert lines == ["a              b", "a longer cell  x", "bold", "", "end", ""]


@pytest.mark.parametrize(
    "value", ["::error::x", " \t::stop-commands::x", f"{'a' * 40}::error::x", f"{'b ' * 20}::error file=a::x"]
)
def test_no_line_begins_like_a_command(value: str) -> None:
    for made in (Text(value), table(value, ""), Text.assemble((value[:1], "red"), value[1:])):
        shown = text_of(made, 40)
        assert [line for line in shown.splitlines() if line.lstrip().startswith("::")] == []


def test_the_rest_of_such_a_line_stays_as_it_is() -> None:
    assert text_of(Text("std::x\n  ::error::y")) == "std::x\n  \\x3a:error::y\n"
