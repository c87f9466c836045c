"""docs/campaigns.md shows the report of a small campaign, and what the examples in Python print of it."""

import re
import shutil
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path
from tempfile import TemporaryDirectory

import msgspec

from docs.generators.output import DOCS, read
from zabcheck.campaign import tables
from zabcheck.campaign.part import Maker
from zabcheck.campaign.plan import Plan
from zabcheck.campaign.report import terminal as report
from zabcheck.campaign.results import CampaignReport, Tables
from zabcheck.campaign.session import session
from zabcheck.campaign.store import Store
from zabcheck.invariants import select
from zabcheck.protocols.base import WITHOUT_CLIENTS
from zabcheck.text.pen import text_of

PAGE = DOCS / "campaigns.md"
SHOWN = re.compile(r"<!-- (.*?) -->\n```text\n(.*?)```", re.DOTALL)
"""A part of the report: its name, what is shown."""
EXAMPLE = re.compile(r"(```python\n(.*?)```\n\nprints\n\n```text\n)(.*?)(?=```)", re.DOTALL)
"""An example: its head, the code, what is shown."""
PLAN = Plan(
    version=1,
    protocol="zab",
    mutants=(None, "no-truncation", "commit-ld-zxid"),
    seed=1,
    runs=300,
    runs_a_part=50,
    keep="violations",
    steps=100,
    processes=None,
    quorums=None,
    properties=tuple(kind.name for kind in select(WITHOUT_CLIENTS)),
    switches={},
    minimise=100,
)


def made() -> dict[Path, str]:
    """Return the page. Needs Spark for the examples, and takes most of a minute."""
    with TemporaryDirectory() as folder:
        campaign = stored(Path(folder) / "made")
        found = tables.make(None, campaign, PLAN)
        session("local[2]")
        return {PAGE: page(campaign, found, Path(folder))}


def stored(folder: Path) -> Store:
    """Make the campaign that the page shows, and return it."""
    store = Store(str(folder))
    store.begin(PLAN)
    maker = Maker(PLAN, store)
    for part in range(PLAN.parts):
        maker.make(part)
    return store


def page(campaign: Store, found: Tables, folder: Path) -> str:
    """Return the page with its output made anew; `folder` is for copies of the campaign."""
    real = parts(campaign, found)
    text = SHOWN.sub(lambda each: f"<!-- {each[1]} -->\n```text\n{real[each[1]]}```", read(PAGE))
    return EXAMPLE.sub(lambda each: each[1] + printed(each[2], campaign, found, folder), text)


def parts(campaign: Store, found: Tables) -> dict[str, str]:
    """Return the parts of the report, by their headings, without CPU times, which are of another length each time."""
    whole = text_of(report.render(CampaignReport("reports/nightly", msgspec.to_builtins(campaign.plan()), found)), 100)
    whole = re.sub(r"[\d.]+ CPU seconds", "… CPU seconds", whole)
    whole = re.sub(r" +CPU s$", "", re.sub(r" +\d\.\d{3} \(\d+\.\d{3}\)$", "", whole, flags=re.M), flags=re.M)
    pieces = whole.split("\n\n")
    return {"in short": f"{pieces[0]}\n", **{piece.partition("\n")[0]: f"{piece.strip()}\n" for piece in pieces[1:]}}


def printed(code: str, campaign: Store, found: Tables, folder: Path) -> str:
    """Return what an example prints where there is such a campaign. (Spark has a current folder of its own.)"""
    place = folder / "reports/nightly"
    shutil.rmtree(place, ignore_errors=True)
    tables.write(Store(str(shutil.copytree(campaign.place, place))), found)
    out = StringIO()
    with redirect_stdout(out):
        exec(compile(code.replace('"reports/nightly', f'"{folder}/reports/nightly'), "example", "exec"), {})
    return "".join(f"{line.rstrip()}\n" for line in out.getvalue().strip("\n").splitlines())
