"""docs/campaigns.md: what it shows of a report is real, and so is what its examples print."""

from pathlib import Path

import pytest

from docs.generators import campaigns
from zabcheck.campaign.results import Tables
from zabcheck.campaign.store import Store

pytestmark = pytest.mark.xdist_group("spark")


@pytest.mark.slow
@pytest.mark.usefixtures("spark")  # the examples take the session that is there
def test_what_the_page_shows_is_real(campaign: Store, found: Tables, tmp_path: Path) -> None:
    assert campaign.plan() == campaigns.PLAN
    assert campaigns.page(campaign, found, tmp_path) == campaigns.PAGE.read_text(encoding="utf-8")


def test_every_example_is_tried() -> None:
    text = campaigns.PAGE.read_text(encoding="utf-8")
    assert text.count("```python") == len(campaigns.EXAMPLE.findall(text)) == 2
    assert text.count("```text") == len(campaigns.SHOWN.findall(text)) + 2 == 6
