"""`zabcheck campaign report`: what it prints and writes, and what it says of a folder that is no campaign."""

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.campaign.campaigns import change, copied
from tests.campaign.plans import EVERY
from tests.campaign.report.campaigns import FINDING
from tests.cli.command import ROOT, Result, environment
from tests.cli.conftest import Command
from tests.tiers import sweep
from zabcheck.campaign import session as sessions
from zabcheck.campaign import tables
from zabcheck.campaign.findings import Finding
from zabcheck.campaign.results import Tables
from zabcheck.campaign.store import Store
from zabcheck.cli.campaign import report as command
from zabcheck.extras import pip_install

# In one group, as campaigns that are made once are made once a worker.
pytestmark = pytest.mark.xdist_group("spark")


@pytest.fixture
def store(campaign: Store, tmp_path: Path) -> Store:
    """A campaign in the current folder, to be changed."""
    return copied(campaign, tmp_path / "c")


@pytest.fixture
def _no_spark(monkeypatch: pytest.MonkeyPatch) -> None:
    def started(master: str | None) -> None:
        pytest.fail("Spark is started")

    monkeypatch.setattr(sessions, "session", started)


@pytest.mark.slow
@pytest.mark.usefixtures("_no_spark")
def test_it_prints_the_report_and_writes_all_the_files(store: Store, zabcheck: Command) -> None:
    """The campaign has lost a part, and has a finding. It is small, so no Spark is needed."""
    root = Path(store.root)
    (root / "runs/part-000005.parquet").unlink()
    (root / "findings").mkdir()
    (root / "findings/findings.json").write_bytes(msgspec.json.encode([Finding(**FINDING)]))
    result = zabcheck("campaign", "report", "c", "--html", "c.html")
    assert (result.code, result.err) == (1, "")
    words = " ".join(result.out.split())
    for said in (
        "c: a campaign on zab, seed 1, 100 steps a run 250 runs",
        "unfinished: 1 of 6 parts is missing, with 50 runs",
        f"findings/{FINDING['schedule']}",
        f"wrote {len(Tables.__struct_fields__)} tables to c/tables wrote c.html",
    ):
        assert said in words, said
    assert result.out.splitlines()[-1].startswith("FAIL: ")
    assert f"; next: zabcheck play c/findings/{FINDING['schedule']}" in result.out.splitlines()[-1]
    assert {path.stem for path in (root / "tables").iterdir()} == {*Tables.__struct_fields__}
    text = Path("c.html").read_text(encoding="utf-8")
    page = "".join(ElementTree.fromstring(text.partition("\n")[2]).itertext())
    assert "unfinished: 1 of 6 parts is missing" in page
    assert FINDING["summary"] in page


@pytest.mark.parametrize(("small", "arguments"), [(0, ()), (tables.SMALL, ("--master", "local[2]"))])
def test_spark_is_started_for_a_large_campaign_and_where_it_is_asked_for(
    small: int,
    arguments: tuple[str, ...],
    found: Tables,
    store: Store,
    zabcheck: Command,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked: list[object] = []
    monkeypatch.setattr(tables, "SMALL", small)
    monkeypatch.setattr(sessions, "session", lambda master: asked.append(master) or "a session")
    monkeypatch.setattr(tables, "make", lambda spark, *_: asked.append(spark) or found)
    assert zabcheck("campaign", "report", "c", *arguments).code == 1
    assert asked == [arguments[1] if arguments else None, "a session"]


def test_as_json_it_has_the_documented_form(
    found: Tables, store: Store, zabcheck: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    from tests.cli.documented import assert_documented

    monkeypatch.setattr(tables, "make", lambda *_: found)  # as they are; `store` is a copy of that campaign
    monkeypatch.setattr(command, "load_page", lambda: lambda _: "a page")  # another test looks at a real one
    result = zabcheck("campaign", "report", "c/", "--format", "json", "--html", "c.html")
    assert result.code == 1
    told = result.json
    assert_documented(told)
    assert told["findings"] is None
    assert [len(told[name]) for name in ("properties", "goals", "mutants")] == [len(EVERY), 14, 3]
    assert told["files"] == [*(f"c/tables/{name}.parquet" for name in Tables.__struct_fields__), "c.html"]


Change = Callable[[Path], object]


def without_plan(root: Path) -> None:
    (root / "campaign.json").unlink()


def with_another_plan(root: Path) -> None:
    (root / "campaign.json").write_text('{"version": 2}')


def without_parts(root: Path) -> None:
    for path in (root / "runs").iterdir():
        path.unlink()


def cut_off(root: Path) -> None:
    path = root / "runs/part-000001.parquet"
    path.write_bytes(path.read_bytes()[:-100])


def no_parquet(root: Path) -> None:
    (root / "runs/part-000001.parquet").write_bytes(b"run,seed\n1,2\n")


def without_a_column(root: Path) -> None:
    change(Store(str(root)), "runs/part-000001.parquet", lambda table: table.drop_columns(["goals"]))


def with_another_type(root: Path) -> None:
    def edit(table: pa.Table) -> pa.Table:
        place = table.schema.get_field_index("steps")
        return table.set_column(place, "steps", table["steps"].cast(pa.string()))

    path = root / "runs/part-000001.parquet"
    pq.write_table(edit(pq.read_table(path)), path)


def with_bad_findings(root: Path) -> None:
    (root / "findings").mkdir()
    (root / "findings/findings.json").write_text('[{"mutant": null}]')


@pytest.mark.parametrize(
    ("break_it", "said"),
    [
        (without_plan, "c: expected the folder of a campaign, there is no campaign.json"),
        (with_another_plan, "c/campaign.json, line 1, field `version`: expected 1"),
        (without_parts, "c: no part of this campaign is finished yet"),
        (cut_off, "c/runs/part-000001.parquet: "),
        (no_parquet, "c/runs/part-000001.parquet: "),
        (without_a_column, "c/runs/part-000001.parquet: expected a column `goals`, found none"),
        (with_another_type, "c/runs/part-000001.parquet, column `steps`: expected int32, found string"),
        (with_bad_findings, "c/findings/findings.json: expected the findings of a campaign, "),
    ],
)
def test_what_is_wrong_with_a_campaign_is_one_line(
    break_it: Change, said: str, store: Store, zabcheck: Command
) -> None:
    """All of it is known before Spark is started."""
    break_it(Path(store.root))
    result = zabcheck("campaign", "report", "c")
    assert_one_line(result, said)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["nothing"], "nothing: expected the folder of a campaign"),
        (["x://nowhere/c"], "x://nowhere/c: "),
        (["c", "--html", "there/is/no.html"], "--html there/is/no.html: expected the name of a file"),
        (["c", "--html", "c"], "--html c: expected the name of a file"),
        (["c", "--format", "xml"], "no `xml`; expected one of: text, json"),
        ([], "Missing argument 'DIR'"),
    ],
)
def test_what_is_wrong_with_the_arguments_is_one_line(
    arguments: list[str], said: str, store: Store, zabcheck: Command
) -> None:
    assert_one_line(zabcheck("campaign", "report", *arguments), said)


def assert_one_line(result: Result, said: str) -> None:
    assert (result.code, result.out) == (2, "")
    assert said in result.err
    assert result.err.count("\n") == 1


@pytest.mark.parametrize(
    ("missing", "arguments"),
    sweep(
        [("pyspark", ("--master", "local")), ("pyarrow", ()), ("matplotlib", ("--html", "c.html"))],
        normal=[("pyspark", ("--master", "local"))],
    ),
)
@pytest.mark.slow
def test_without_the_extra_it_is_told_what_to_install(missing: str, arguments: tuple[str, ...], store: Store) -> None:
    """A module that is None cannot be imported, as if it was not installed."""
    command = f"import sys; sys.modules['{missing}'] = None; from zabcheck.cli import main; main()"
    done = subprocess.run(
        [sys.executable, "-c", command, "campaign", "report", store.root, *arguments],
        env=environment(),
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert_one_line(Result(done.returncode, done.stdout, done.stderr), f"this needs Spark: {pip_install('spark')}")


@pytest.mark.slow
def test_where_spark_is_not_is_told_before_long(store: Store) -> None:
    """In a process that has no session yet. Nobody listens at port 1."""
    command = [sys.executable, "-m", "zabcheck", "campaign", "report", store.root, "--master", "spark://127.0.0.1:1"]
    done: Any = subprocess.run(
        command, env=environment(), cwd=ROOT, capture_output=True, text=True, check=False, timeout=600
    )
    assert_one_line(
        Result(done.returncode, done.stdout, done.stderr), "--master spark://127.0.0.1:1: cannot be reached"
    )
