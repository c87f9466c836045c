"""In docs/scenarios.md the catalogue of scenarios, what one of them prints, and what a search finds, are generated."""

import pytest

from docs.generators.scenarios import PAGE, made


@pytest.mark.slow
def test_the_page_is_up_to_date() -> None:
    assert made() == {PAGE: PAGE.read_text(encoding="utf-8")}
