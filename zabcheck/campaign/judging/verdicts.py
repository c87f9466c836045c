"""The verdicts on a run, as columns: a code for each of the six properties, and where a violation shows.

    run              int64
    <property>       int32   NOT_EXERCISED, HOLDS or VIOLATED, as if the run had been recorded to its end
    <property>_at    int64   if violated: the least packed zxid at which that shows; null if it is not known

`columns_of` gives the names of a property's columns.
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
"""The properties whose violation later events can repair: with a missing broadcast, by a process that catches up."""

NOT_EXERCISED, HOLDS, VIOLATED = range(3)


def columns_of(name: str) -> tuple[str, str]:
    """Return the names of a property's columns: of its code, and of where a violation shows."""
    column = name.replace(" ", "_")
    return column, f"{column}_at"


VERDICTS = ("run", *(column for name in SIX for column in columns_of(name)))
"""The columns of a table of verdicts."""


def verdict_columns(name: str, exercised: "Column", at: "Column") -> "tuple[Column, Column]":
    """Return the two columns of a property that is violated where `at` is not null."""
    code, place = columns_of(name)
    found = F.when(at.isNotNull(), VIOLATED).when(exercised, HOLDS).otherwise(NOT_EXERCISED)
    return found.alias(code), at.alias(place)


def status_of(name: str, code: int, complete: bool) -> Status:
    """Return the verdict on a property; "inconclusive" for what later events might still repair or exercise."""
    if code == VIOLATED and (complete or name not in REPAIRABLE):
        return "violated"
    if not complete:
        return "inconclusive"
    return "holds" if code == HOLDS else "not exercised"
