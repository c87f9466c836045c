"""The documentation shows real output: each generated page is as `make docs` would write it now."""

import pytest

from docs.generators.__main__ import QUICK
from tests.tiers import sweep


@pytest.mark.parametrize("name", sweep(QUICK, normal=("mutants",)))
def test_a_page_is_as_it_would_be_written_now(name: str) -> None:
    """If it shows something else on purpose, `make docs` writes it anew."""
    made = QUICK[name]()
    assert made
    for page, text in made.items():
        assert page.read_text(encoding="utf-8") == text, page
