"""docs/evaluation.md shows what the command prints, and the numbers of its model."""

import re
from pathlib import Path

import pytest

from docs.generators.evaluation import PAGE, PLOTS, SHOWN, printed
from zabcheck.papers.evaluation.costs import CACHED_SYNC, METADATA, MICROSECOND, MILLISECOND, ROTATION_AND_SEEK
from zabcheck.papers.evaluation.plan import UNDER_WAY, Plan


def shown() -> str:
    [(_, text)] = SHOWN.findall(PAGE.read_text(encoding="utf-8"))
    return str(text)


def rows(text: str, servers: int) -> list[list[str]]:
    """The cells of the tables that are of so many servers."""
    cells = [line.split() for line in text.splitlines()]
    return [row for row in cells if row[:1] == [str(servers)] or row[1:2] == [str(servers)]]


@pytest.mark.slow
def test_what_the_page_shows_of_three_servers_is_real(tmp_path: Path) -> None:
    """All of them take two minutes: `python -m docs.generators evaluation`."""
    mine = rows(printed(tmp_path, "--servers", "3", "--history", "1000"), 3)
    assert len(mine) == 6
    assert [row for row in mine if row not in rows(shown(), 3)] == []


def test_the_page_has_every_number_of_the_model() -> None:
    plan, text = Plan(), PAGE.read_text(encoding="utf-8")
    [table] = re.findall(r"^\| what \| value .*\n\|---.*\n((?:\|.*\n)+)", text, re.MULTILINE)
    values = [row.split("|")[2].strip() for row in table.splitlines()]
    assert values == [
        f"{plan.costs.size:,} bytes",
        f"{plan.outstanding:,}",
        ", ".join(map(str, plan.servers)),
        f"{plan.costs.bandwidth // 10**6:,} Mbit/s",
        f"{plan.costs.ping // MICROSECOND} µs",
        f"{ROTATION_AND_SEEK // MILLISECOND} ms",
        f"{METADATA / MILLISECOND} ms",
        f"{CACHED_SYNC // MICROSECOND} µs",
        f"{plan.disk_rate // 10**6} MB/s",
        f"{plan.costs.header} bytes",
        f"{plan.costs.cpu // MICROSECOND} µs",
        f"{plan.operations:,}",
        f"{plan.detect // MILLISECOND} ms",
        f"{UNDER_WAY}",
    ]


def test_the_plots_are_shown() -> None:
    text = PAGE.read_text(encoding="utf-8")
    assert re.findall(r"\]\((evaluation/\S+?)\)", text) == [f"evaluation/{name}" for name in PLOTS]
    assert all((PAGE.parent / "evaluation" / name).is_file() for name in PLOTS)
