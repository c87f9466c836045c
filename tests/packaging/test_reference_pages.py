"""The pages that are made of what the program says of itself, and those for each kind of reader, are up to date."""

import pytest

from docs.generators import commands, detection, properties, run_output, start
from docs.generators.__main__ import QUICK, SLOW, Made, main
from docs.generators.output import DOCS
from invariants import PROPERTIES
from zabcheck.mutants.catalogue import CATALOGUE

PAGES = {"commands": commands.made, "properties": properties.made, "run-output": run_output.made, "start": start.made}


@pytest.mark.parametrize("made", PAGES.values(), ids=PAGES)
@pytest.mark.slow
def test_the_page_is_up_to_date(made: Made) -> None:
    for page, text in made().items():
        assert page.read_text(encoding="utf-8") == text


def test_every_command_is_in_the_table() -> None:
    text = commands.PAGE.read_text(encoding="utf-8")
    table = text.partition(commands.BEGIN)[0]
    assert [
        words
        for words in commands.commands()
        if f"[`zabcheck {' '.join(words)}`](#zabcheck-{'-'.join(words)})" not in table
    ] == []


def test_every_property_is_in_the_overview() -> None:
    """As a row, or as one of several in a row: "invariants 1 to 5, epoch and zxid uniqueness"."""
    overview = properties.PAGE.read_text(encoding="utf-8").partition("<!-- properties -->")[0].lower()
    words = {word for name in PROPERTIES for word in name.split() if not word.isdigit()}
    assert [word for word in sorted(words) if word not in overview] == []


def test_the_page_on_detection_knows_every_bug() -> None:
    """Its figures take many minutes to make; what can be told at once is how many bugs there are, and which."""
    page = detection.PAGE.read_text(encoding="utf-8")
    assert detection.with_number_of_bugs(page) == page
    table = page.partition("## With no option")[2].partition("\n## ")[0]
    assert [name for name in CATALOGUE if f"\n| {name} | " not in table] == []


def test_every_generator_is_named_once_and_others_are_refused(capsys: pytest.CaptureFixture[str]) -> None:
    helpers = {"__init__", "__main__", "output", "recorded", "site"}
    modules = {path.stem for path in (DOCS / "generators").glob("*.py")} - helpers
    assert sorted([*QUICK, *SLOW]) == sorted(module.replace("_", "-") for module in modules)
    assert main(["nothing"]) == 2
    assert "no page nothing" in capsys.readouterr().err
