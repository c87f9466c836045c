"""docs/counterexamples.md shows what its commands and its Python print."""

import pytest

from docs.generators.counterexamples import made


@pytest.mark.slow
def test_the_page_is_up_to_date() -> None:
    for page, text in made().items():
        assert page.read_text(encoding="utf-8") == text
