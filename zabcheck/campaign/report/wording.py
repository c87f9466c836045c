"""Names and figures as a campaign's report writes them, for its sentences, tables and plots."""

from collections.abc import Iterable
from math import log

from zabcheck.campaign.findings import ERROR
from zabcheck.campaign.results import BrokenRow, SettingRow
from zabcheck.text.words import counted

AS_IT_IS = "as it is"
"""Stands for the protocol without a mutant."""


def named(mutant: str | None) -> str:
    """Return a mutant's name, or "as it is" for None."""
    return AS_IT_IS if mutant is None else mutant


def what_failing_runs_do(broken: Iterable[BrokenRow]) -> str:
    """Return the kind of failure of these rows' runs as a verb, as in "violate a property", also if there are none."""
    are_errors = {row.property == ERROR for row in broken if row.first}
    ways = {False: "violate a property", True: "end with an error of the code that is modelled"}
    return " or ".join(ways[each] for each in sorted(are_errors or {False}))


def drawn(row: SettingRow) -> str:
    """Return the draw of a row as text: "crash", "5 processes", "sync atomic"."""
    if row.kind == "processes":
        return counted(int(row.value), "process", "processes")
    return row.value.replace("_", " ") if row.kind in ("move", "switch") else f"{row.kind} {row.value}"


def figures_name(figure: str) -> str:
    """Return the name of a distribution's figure."""
    return {"longest": "longest delivered sequence", "seconds": "CPU milliseconds"}.get(figure, figure)


def ratio(row: SettingRow) -> str:
    """Return the ratio with its interval, as in "1.83 (1.62 to 2.07)"."""
    return f"{_factor(row.ratio)} ({_factor(row.low)} to {_factor(row.high)})"


def stands_out(row: SettingRow) -> bool:
    """Return True if 1 is outside the interval of the ratio."""
    return row.low > 1 or (row.high is not None and row.high < 1)


def by_influence(rows: Iterable[SettingRow]) -> list[SettingRow]:
    """Sort the rows by how far the ratio is from 1, in either direction; rows that do not stand out come last."""

    def influence(row: SettingRow) -> tuple[bool, float]:
        bound = row.low if row.low > 1 else row.high if row.high is not None and row.high < 1 else 1.0
        return not stands_out(row), -abs(log(max(bound, 1e-9)))

    return sorted(rows, key=influence)


def percent(part: float) -> str:
    """Return a share in percent, with two digits if it is below 10 %."""
    return f"{100 * part:.0f} %" if part == 0 or part >= 0.1 else f"{100 * part:.2g} %"


def _factor(value: float | None) -> str:
    return "unbounded" if value is None else f"{value:,.2f}"
