"""The verdict on a campaign: its exit code, and why."""

import pytest
from msgspec import structs

from tests.campaign.report.campaigns import REPORT
from zabcheck.campaign.findings import ERROR
from zabcheck.campaign.report import sheets
from zabcheck.campaign.results import BrokenRow
from zabcheck.cli.campaign.report import outcome

[TOTAL] = REPORT.tables.overview


def outcome_with(exercised: int = 1, **changes: int) -> tuple[int, str]:
    """Return the outcome of the campaign with these figures, and all of its properties exercised so often."""
    total = structs.replace(TOTAL, **{"violating": 0, "broken_as_it_is": 0, "raised": 0, **changes})
    rows = [structs.replace(row, exercised=exercised) for row in REPORT.tables.properties]
    whole = (
        structs.replace(total, planned_runs=total.runs, planned_parts=total.parts) if "parts" not in changes else total
    )
    return outcome(structs.replace(REPORT, tables=structs.replace(REPORT.tables, overview=[whole], properties=rows)))


@pytest.mark.parametrize(
    ("changes", "code", "said"),
    [
        ({}, 0, "violates any of"),
        ({"violating": 2}, 1, "violate a property, each of them with a planted bug; first "),
        ({"violating": 2, "broken_as_it_is": 1}, 1, "violate a property; first "),
        ({"raised": 3}, 2, "the protocol's own code raised in 3 of "),
        ({"parts": 1, "planned_parts": 2}, 3, "were made so far"),
        ({"exercised": 0}, 3, " exercised "),
    ],
)
def test_it_is_that_of_a_search(changes: dict[str, int], code: int, said: str) -> None:
    found = outcome_with(**changes)
    assert found[0] == code
    assert said in found[1]


def test_it_tells_violations_from_errors_of_the_code_that_is_modelled() -> None:
    def with_broken(*properties: str) -> str:
        rows = [BrokenRow(None, name, 1, 1) for name in properties]
        tables = structs.replace(REPORT.tables, broken=rows)
        return outcome(structs.replace(REPORT, tables=tables))[1]

    error = "end with an error of the code that is modelled"
    assert f" {error}," in with_broken(ERROR)
    assert f" violate a property or {error}," in with_broken("prefix", ERROR)
    assert error not in with_broken("prefix")


def test_one_of_a_thing_is_said_in_the_singular() -> None:
    """In a campaign of one run a part, of which one run was made."""
    [end] = REPORT.tables.saturation
    few = structs.replace(REPORT.tables, saturation=[structs.replace(end, part_runs=1)])
    said = sheets.saturation(structs.replace(REPORT, tables=few))
    assert "new in 1 more run (Good, Turing)" in {row[0].text for row in said.rows}
