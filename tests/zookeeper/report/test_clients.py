"""Broken promises in a terminal and as a page."""

from xml.etree import ElementTree

import pytest

from tests.zookeeper.clients.broken import PROMISES_BROKEN, broken
from zabcheck.text.pen import text_of
from zabcheck.zookeeper.report.clients import page, render


@pytest.mark.parametrize("width", [60, 80, 140])
def test_a_picture_fits_its_terminal(width: int) -> None:
    for shown in broken(*PROMISES_BROKEN):
        text = text_of(render(shown), width)
        assert all(len(line) <= width for line in text.splitlines())
        assert " wrong" in text


def test_a_page_is_well_formed_and_has_all_records() -> None:
    made = page("history.jsonl", broken(*PROMISES_BROKEN))
    root = ElementTree.fromstring(made.partition("\n")[2])
    text = " ".join("".join(root.itertext()).split())
    for shown in broken(*PROMISES_BROKEN):
        assert shown.summary in text
        assert all(record in text for _, _, record in shown.witness)
    ids = [each.get("id") for each in root.iter() if each.get("id")]
    links = [each.get("href", "")[1:] for each in root.iter("a")]
    assert len(ids) == len({*ids})
    assert {*links} <= {*ids}
