"""What is said of a run: for each of the six properties a code, and where the evidence is if it is violated.

    run              int64
    <property>       int32   NOT_EXERCISED, HOLDS or VIOLATED, of the run as if it were recorded to its end
    <property>_at    int64   if violated: the least packed zxid that shows it; null if it is not known

in the columns that `columns_of` names.
"""

from typing import TYPE_CHECKING

from pyspark.sql import functions as F  # noqa: N812  # the usual name

from invariants import Status

if TYPE_CHECKING:
    from pyspark.sql import Column

SIX = (
    "integrity",
    "total order",
    "agreement",
    "local primary order",
    "global primary order",
    "primary integrity",
)
"""The properties of DSN 2011, III-A."""

REPAIRABLE = ("integrity", "agreement")
"""What later events can repair: a broadcast that was missing, a process that catches up."""

NOT_EXERCISED, HOLDS, VIOLATED = range(3)


def columns_of(name: str) -> tuple[str, str]:
    """The columns of the code and of the evidence of a property."""
    column = name.replace(" ", "_")
    return column, f"{column}_at"


VERDICTS = ("run", *(column for name in SIX for column in columns_of(name)))
"""The columns of a table of findings."""


def said(name: str, exercised: "Column", at: "Column") -> "tuple[Column, Column]":
    """The two columns of a property that is violated where `at` is not null."""
    code, place = columns_of(name)
    found = F.when(at.isNotNull(), VIOLATED).when(exercised, HOLDS).otherwise(NOT_EXERCISED)
    return found.alias(code), at.alias(place)


def status_of(name: str, code: int, complete: bool) -> Status:
    """The verdict on a property. What a run that was cut off may yet repair, or exercise, is left open."""
    if code == VIOLATED and (complete or name not in REPAIRABLE):
        return "violated"
    if not complete:
        return "inconclusive"
    return "holds" if code == HOLDS else "not exercised"
