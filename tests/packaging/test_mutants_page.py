"""docs/mutants.md is the catalogue, and the schedules that were recorded."""

from docs.generators.mutants import made


def test_the_page_is_up_to_date() -> None:
    for page, text in made().items():
        assert page.read_text(encoding="utf-8") == text
