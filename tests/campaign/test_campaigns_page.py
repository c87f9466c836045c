"""docs/campaigns.md: what it shows of a report is real, and so is what its examples print.

`python -m tests.campaign.test_campaigns_page` writes the output anew.
"""

import re
import tempfile
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
import pytest

from tests.campaign.campaigns import MUTANTS, NUMBER, copied, made
from tests.cli.command import ROOT
from zabcheck.campaign import tables
from zabcheck.campaign.report import terminal as report
from zabcheck.campaign.results import CampaignReport, Tables
from zabcheck.campaign.store import Store
from zabcheck.text.pen import text_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.xdist_group("spark")

PAGE = ROOT / "docs/campaigns.md"
SHOWN = re.compile(r"<!-- (.*?) -->\n```text\n(.*?)```", re.DOTALL)
EXAMPLE = re.compile(r"```python\n(.*?)```\n\nprints\n\n```text\n(.*?)```", re.DOTALL)


def pieces(campaign: Store, found: Tables) -> dict[str, str]:
    """The parts of the report, by their headings, without what is of another length each time: CPU time."""
    whole = text_of(report.render(CampaignReport("reports/nightly", msgspec.to_builtins(campaign.plan()), found)), 100)
    whole = re.sub(r"[\d.]+ CPU seconds", "… CPU seconds", whole)
    whole = re.sub(r" +CPU s$", "", re.sub(r" +\d\.\d{3} \(\d+\.\d{3}\)$", "", whole, flags=re.M), flags=re.M)
    parts = whole.split("\n\n")
    return {"in short": f"{parts[0]}\n", **{part.partition("\n")[0]: f"{part.strip()}\n" for part in parts[1:]}}


def printed(code: str, campaign: Store, found: Tables, folder: Path) -> str:
    """What an example prints, where there is such a campaign. (Spark has a current folder of its own.)"""
    tables.write(copied(campaign, folder / "reports/nightly"), found)
    out = StringIO()
    with redirect_stdout(out):
        exec(compile(code.replace('"reports/nightly', f'"{folder}/reports/nightly'), "example", "exec"), {})
    return "".join(f"{line.rstrip()}\n" for line in out.getvalue().strip("\n").splitlines())


def filled(text: str, campaign: Store, found: Tables, folder: Path) -> str:
    """The page with its output made anew."""
    real = pieces(campaign, found)
    text = SHOWN.sub(lambda piece: f"<!-- {piece[1]} -->\n```text\n{real[piece[1]]}```", text)
    for number, (code, shown) in enumerate(EXAMPLE.findall(text)):
        out = printed(code, campaign, found, folder / str(number))
        ends = f"```\n\nprints\n\n```text\n{shown}```", f"```\n\nprints\n\n```text\n{out}```"
        text = text.replace(code + ends[0], code + ends[1])
    return text


def test_what_the_page_shows_is_real(campaign: Store, found: Tables) -> None:
    real = pieces(campaign, found)
    shown = SHOWN.findall(PAGE.read_text(encoding="utf-8"))
    assert len(shown) == 4
    for name, text in shown:
        assert text == real[name], name


@pytest.mark.parametrize("number", [0, 1], ids=["pandas", "spark"])
def test_an_example_prints_what_the_page_shows(
    number: int, spark: "SparkSession", campaign: Store, found: Tables, tmp_path: Path
) -> None:
    code, shown = EXAMPLE.findall(PAGE.read_text(encoding="utf-8"))[number]
    assert shown == printed(code, campaign, found, tmp_path)


def test_every_example_is_tried() -> None:
    text = PAGE.read_text(encoding="utf-8")
    assert text.count("```python") == len(EXAMPLE.findall(text)) == 2
    assert text.count("```text") == 6


def main() -> None:
    """Write the output anew."""
    from zabcheck.campaign.session import session

    spark = session("local[2]")
    with tempfile.TemporaryDirectory() as folder:
        campaign = made(Path(folder) / "made", NUMBER, MUTANTS)
        plan = campaign.plan()
        assert plan is not None
        found = tables.make(spark, campaign, plan)
        PAGE.write_text(filled(PAGE.read_text(encoding="utf-8"), campaign, found, Path(folder)), encoding="utf-8")


if __name__ == "__main__":
    main()
