"""docs/zookeeper-points.md shows what the command prints."""

from docs.generators.zookeeper_points import PAGE, made


def test_the_page_is_up_to_date() -> None:
    assert made() == {PAGE: PAGE.read_text(encoding="utf-8")}
