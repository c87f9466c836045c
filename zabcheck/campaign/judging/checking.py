"""Stored traces judged on Spark, and what is to be told of them: counts, and the runs that are broken."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pyspark.errors import PySparkException
from pyspark.sql import functions as F  # noqa: N812  # the usual name

from invariants import Status, TraceError, Verdict
from zabcheck.campaign.judging.facts import facts_of
from zabcheck.campaign.judging.narrow_rows import unpacked
from zabcheck.campaign.judging.properties import explain, judge
from zabcheck.campaign.judging.stored import Stored, read, reason_of
from zabcheck.campaign.judging.verdicts import SIX, VIOLATED, columns_of, status_of
from zabcheck.campaign.session import session

if TYPE_CHECKING:
    from pyspark.sql import Column, Row, SparkSession

EXPLAINED = 20
"""For so many broken runs the witness is looked for."""

LONGEST_EXPLAINED = 5_000_000
"""In events: a witness needs the memory of one executor for the run's transactions."""


@dataclass(frozen=True)
class Broken:
    """A run that violates something. `verdicts` are of what it violates, with witnesses, unless the run is too long.

    `at` has for each violated property a zxid (epoch, counter) that shows it, where DataFrame code knows one.
    """

    trace: str
    run: int
    how: str
    violated: list[str]
    verdicts: list[Verdict]
    at: dict[str, tuple[int, int]]


@dataclass(frozen=True)
class Checked:
    """What is said of all runs together."""

    runs: int
    events: int
    counts: dict[str, dict[Status, int]]
    """For each property in how many runs it has which status."""

    ways: dict[str, int]
    """How many runs were judged in which way, see `zabcheck.campaign.judging.properties`."""

    violated: int
    broken: list[Broken]
    """The first of the violated runs."""


def check_stored(paths: Sequence[str], properties: Sequence[str] = SIX, master: str | None = None) -> Checked:
    """Judge all runs in these paths (see `zabcheck.campaign.judging.stored`) by these of the six.

    TraceError, in one line, for what is no trace or cannot be read; NoSpark and NoJava as `session`.
    """
    spark = session(master)
    try:
        return _checked(spark, paths, properties)
    except Exception as error:
        # What Java raises comes through as it is, by py4j, where Spark has no error of its own for it.
        if isinstance(error, PySparkException) or type(error).__module__.startswith("py4j"):
            raise TraceError(reason_of(error, paths)) from None
        raise


def _checked(spark: "SparkSession", paths: Sequence[str], properties: Sequence[str]) -> Checked:
    stored = read(spark, paths)
    facts = facts_of(stored.events).persist()
    for wrong in facts.filter(F.col("wrong").isNotNull()).orderBy("run").limit(1).collect():
        stored.raise_for(wrong)
    found = judge(stored.events, facts).join(facts.select("run", "complete", "rows"), "run").persist()
    codes = [columns_of(name)[0] for name in properties]
    groups = found.groupBy("how", "complete", *codes).agg(F.count(F.lit(1)).alias("runs"), F.sum("rows").alias("rows"))
    counts: dict[str, dict[Status, int]] = {name: {} for name in properties}
    ways: dict[str, int] = {}
    runs = events = 0
    for row in groups.collect():
        runs += row["runs"]
        events += row["rows"]
        ways[row["how"]] = ways.get(row["how"], 0) + row["runs"]
        for name, code in zip(properties, codes, strict=True):
            status = status_of(name, row[code], row["complete"])
            counts[name][status] = counts[name].get(status, 0) + row["runs"]
    violated = found.filter(_is_violated(properties))
    first = violated.orderBy("run").limit(EXPLAINED).collect()
    number = violated.count() if len(first) == EXPLAINED else len(first)
    return Checked(runs, events, counts, ways, number, _broken(stored, first, properties))


def _is_violated(properties: Sequence[str]) -> "Column":
    found = F.lit(False)
    for name in properties:
        certain = F.lit(True) if status_of(name, VIOLATED, complete=False) == "violated" else F.col("complete")
        found = found | ((F.col(columns_of(name)[0]) == VIOLATED) & certain)
    return found


def _broken(stored: Stored, rows: "list[Row]", properties: Sequence[str]) -> list[Broken]:
    short = [row["run"] for row in rows if row["rows"] <= LONGEST_EXPLAINED]
    explained = explain(stored.events, short) if short else {}
    broken = []
    for row in rows:
        codes = {name: row[columns_of(name)[0]] for name in SIX}
        verdicts = {verdict.property: verdict for verdict in explained.get(row["run"], [])}
        for name, verdict in verdicts.items():
            # They are independent of one another, so this is where a mistake of either shows.
            assert (codes[name] == VIOLATED) == (verdict.status == "violated"), (stored.name_of(row["run"]), name)
        names = [name for name in properties if status_of(name, codes[name], row["complete"]) == "violated"]
        at = {name: unpacked(z) for name in names if (z := row[columns_of(name)[1]]) is not None}
        told = [verdicts[name] for name in names if name in verdicts]
        broken.append(Broken(*stored.place_of(row["run"]), row["how"], names, told, at))
    return broken
