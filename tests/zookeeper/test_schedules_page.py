"""docs/zookeeper-schedules.md has every choice of a schedule for servers, with its fields."""

import re
from typing import get_args

from docs.generators.output import DOCS
from zabcheck.zookeeper.run.choices import AnyChoice

PAGE = DOCS / "zookeeper-schedules.md"
CHOICES = {str(kind.__struct_config__.tag): set(kind.__struct_fields__) for kind in get_args(AnyChoice)}


def rows() -> list[set[str]]:
    """The names in the first cell of each row: choices that belong together, and their fields."""
    table = PAGE.read_text(encoding="utf-8").partition("## Choices")[2].partition("\nChoices below")[0]
    cells = [line.split("|")[1] for line in table.splitlines() if line.startswith("| `")]
    return [set(re.findall(r"`(\w+)`", cell)) for cell in cells]


def test_every_choice_is_in_the_table() -> None:
    assert set().union(*rows()) >= CHOICES.keys()


def test_choices_have_the_fields_that_the_table_names() -> None:
    """Each row names its fields, but for the last: a run of the model writes its choices."""
    for names in rows()[:-1]:
        choices = names & CHOICES.keys()
        assert names - choices == set().union(*(CHOICES[choice] for choice in choices)), choices
