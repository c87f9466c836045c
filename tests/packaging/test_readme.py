"""README shows what the commands in it print, and stays short."""

from docs.generators import readme

LONGEST = 85
"""Lines: one and a half screens, with the pictures."""


def test_readme_is_short() -> None:
    assert len(readme.PAGE.read_text(encoding="utf-8").splitlines()) <= LONGEST
