"""The report of a campaign in a terminal."""

from collections.abc import Callable
from typing import Any

import msgspec
import pytest
from rich.cells import cell_len

from tests.campaign.report.campaigns import FINDING, GOLDEN, REPORT, TABLES, golden_texts, worst
from tests.text.consoles import InAscii
from zabcheck.campaign.report import sheets as campaign_sheets
from zabcheck.campaign.report import terminal as campaign
from zabcheck.campaign.report import wording
from zabcheck.campaign.results import CampaignReport, GoalRow, MutantRow, PropertyRow
from zabcheck.text.pen import text_of

FORMS: list[Callable[..., Any]] = [campaign.render, campaign.render_short]


def report_with(**tables: Any) -> CampaignReport:
    return msgspec.structs.replace(REPORT, tables=msgspec.structs.replace(TABLES, **tables))


def overview_with(**figures: int) -> CampaignReport:
    return report_with(overview=(msgspec.structs.replace(TABLES.overview[0], **figures),))


def short(report: CampaignReport) -> str:
    return " ".join(text_of(campaign.render_short(report), 100).split())


@pytest.mark.parametrize("name", ["campaign.100.txt", "campaign-short.100.txt"])
def test_the_output_is_what_it_was(name: str) -> None:
    """If the change is intended: see tests/campaign/report/campaigns.py."""
    assert golden_texts()[name] == (GOLDEN / name).read_text(encoding="utf-8")


@pytest.mark.parametrize("report", [REPORT, worst("of usual length")], ids=["good", "bad"])
def test_the_short_form_fits_a_screen(report: CampaignReport) -> None:
    assert len(text_of(campaign.render_short(report), 100).splitlines()) < 40


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("width", [80, 100])
def test_no_text_can_do_more_than_be_read(form: Callable[..., Any], width: int) -> None:
    out = text_of(form(worst()), width)
    assert not {"\x1b", "\r", "\x00", "\u202e", "\ud800"} & {*out}
    assert max(map(cell_len, out.splitlines())) <= width
    assert "[red]c[/red]" in "".join(out.split("\n"))


@pytest.mark.parametrize("form", FORMS)
def test_where_there_is_only_ascii_nothing_else_is_written(form: Callable[..., Any]) -> None:
    assert text_of(InAscii(form(worst())), 100).isascii()
    assert "v3<2,1>" in text_of(InAscii(campaign.render(REPORT)), 100)


@pytest.mark.parametrize(
    ("report", "said"),
    [
        (REPORT, "the protocol as it is: 400 runs, none violates a property"),
        (overview_with(broken_as_it_is=2), "the protocol as it is: 400 runs, 2 of them violate a property"),
        (overview_with(parts=3, runs=600), "unfinished: 1 of 4 parts is missing, with 200 runs"),
        (overview_with(raised=1), "the protocol's own code raised in 1 run; nothing is judged there"),
        (REPORT, "mutants: the one planted was found"),
        (
            report_with(mutants=(*TABLES.mutants, MutantRow("ignore-digest", 9, 99, 0.1, 0, 0.0, None, None))),
            "mutants not found: ignore-digest",
        ),
        (REPORT, "properties: all 3 were exercised"),
        (report_with(properties=(PropertyRow("clock", 0, 0, 0, 0), *TABLES.properties)), "not exercised: clock"),
        (REPORT, "goals: all 2 were reached"),
        (report_with(goals=(GoalRow("late joiner", 0, None, ""), *TABLES.goals)), "not reached: late joiner"),
        (
            msgspec.structs.replace(
                report_with(goals=(GoalRow("late joiner", 0, None, ""), *TABLES.goals)),
                unseen={"late joiner": ["adopt"]},
            ),
            "goals that cannot be seen, as no run shows `adopt`: late joiner",
        ),
        (
            REPORT,
            "saturation: 9,011 abstract states, 881 of them new in the last 200 runs; 51 % of these runs (44 % to "
            "58 %) reached a new one; the next 200 runs would find about 1,309",
        ),
        (msgspec.structs.replace(REPORT, findings=[]), "Findings: none"),
        (msgspec.structs.replace(REPORT, findings=[FINDING] * 11), "and 5 more"),
    ],
)
def test_the_short_form_says_what_matters(report: CampaignReport, said: str) -> None:
    assert said in short(report)


def test_where_nothing_was_minimised_nothing_is_said_of_findings() -> None:
    assert "indings" not in text_of(campaign.render(msgspec.structs.replace(REPORT, findings=None)), 100)


def test_a_single_part_says_nothing_of_the_next_runs() -> None:
    [end] = TABLES.saturation
    alone = report_with(saturation=(msgspec.structs.replace(end, next_part=None, reachable=None),))
    assert short(alone).count("reached a new one Findings") == 1


def test_a_campaign_without_mutants_says_nothing_of_them() -> None:
    assert "mutants" not in short(report_with(mutants=TABLES.mutants[:1]))


def test_what_matters_most_comes_first_and_what_shows_nothing_last() -> None:
    [(name, rows), _] = campaign_sheets.groups(REPORT)
    assert name == "all runs"
    assert [row.value for row in wording.by_influence(rows)] == ["2", "power_loss", "sync atomic"]
    assert [wording.stands_out(row) for row in rows] == [True, True, False]


def test_a_bound_that_there_is_not_is_said() -> None:
    row = TABLES.settings[-1]
    assert wording.ratio(row) == "1.18 (0.00 to unbounded)"
    assert not wording.stands_out(row)


def test_every_table_is_told() -> None:
    """Each has something in the full form that only it can tell."""
    full = text_of(campaign.render(REPORT), 100)
    for told in ("171,859 steps", "1,739", "not a prefix", "6,835.0", "I4 80, PI 52", "1,637.0", "1.70 (1.19", "275"):
        assert full.count(told) >= 1, told


def test_growth_is_shown_at_some_points_with_the_last_and_rates_between_them() -> None:
    every, some = campaign_sheets.growth(REPORT), campaign_sheets.growth(REPORT, 2)
    assert [row[2].text for row in every.rows] == ["24,805.0", "9,010.0", "6,835.0", "4,405.0"]
    assert [[cell.text for cell in row[:3]] for row in some.rows] == [
        ["400", "6,763", "16,907.5"],
        ["800", "9,011", "5,620.0"],
    ]
