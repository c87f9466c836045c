"""docs/zookeeper-conformance.md shows what the command prints."""

import pytest

from docs.generators.zookeeper_conformance import PAGE, made


@pytest.mark.slow
def test_the_page_is_up_to_date() -> None:
    assert made() == {PAGE: PAGE.read_text(encoding="utf-8")}
