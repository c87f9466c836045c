"""README shows what the commands in it print, and stays short."""

import pytest

from docs.generators import readme

LONGEST = 85
"""Lines: one and a half screens, with the pictures."""


@pytest.mark.slow
def test_what_readme_shows_is_real() -> None:
    for page, text in readme.made().items():
        assert page.read_text(encoding="utf-8") == text


def test_readme_is_short() -> None:
    assert len(readme.PAGE.read_text(encoding="utf-8").splitlines()) <= LONGEST
