"""Judges stored traces on Spark, and collects what a person wants to know: counts, and the runs that are broken."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pyspark.errors import PySparkException
from pyspark.sql import functions as F  # noqa: N812  # the usual name

from invariants import Status, TraceError, Verdict
from zabcheck.campaign.judging.facts import facts_of
from zabcheck.campaign.judging.narrow_rows import unpacked
from zabcheck.campaign.judging.properties import STREAMED, explain, judge
from zabcheck.campaign.judging.short import are_short, judge_short
from zabcheck.campaign.judging.stored import StoredTraces, one_line_about, read
from zabcheck.campaign.judging.verdicts import SIX, VIOLATED, columns_of, status_of
from zabcheck.campaign.session import session

if TYPE_CHECKING:
    from pyspark.sql import Column, Row, SparkSession

EXPLAINED = 20
"""The number of broken runs for which a witness is searched."""

LONGEST_EXPLAINED = 5_000_000
"""The longest run, in events, for which a witness is searched: one executor has to hold the run's transactions."""


@dataclass(frozen=True)
class BrokenRun:
    """A run that violates a property.

    `verdicts` has a verdict with its witness for each violated property, unless the run is too long. `at` has, for each
    violated property, a zxid (epoch, counter) at which the violation shows, if the DataFrame code knows one.
    """

    trace: str
    run: int
    how: str
    violated: list[str]
    verdicts: list[Verdict]
    at: dict[str, tuple[int, int]]


@dataclass(frozen=True)
class CheckedRuns:
    """The result for all runs together."""

    runs: int
    events: int
    counts: dict[str, dict[Status, int]]
    """For each property, the number of runs in which it has each status."""

    ways: dict[str, int]
    """How many runs were judged in each way; see `zabcheck.campaign.judging.properties`."""

    violated: int
    broken: list[BrokenRun]
    """The first `EXPLAINED` of the violated runs."""


def check_stored(
    paths: Sequence[str],
    properties: Sequence[str] = SIX,
    master: str | None = None,
    say: Callable[[str], None] = lambda _: None,
) -> CheckedRuns:
    """Judge all runs in the paths by the given ones of the six properties.

    `zabcheck.campaign.judging.stored` says what a path may be, and `zabcheck.campaign.judging.short` which are judged
    in a single job. `say` is told what is going on. TraceError, in one line, for a file that is no trace or cannot be
    read; NoSpark and NoJava as for `session`.
    """
    short = are_short(paths)
    say("starting Spark, to judge")
    spark = session(master, short=short)
    say("Spark is judging")
    try:
        return _checked_short(spark, paths, properties) if short else _checked(spark, paths, properties)
    except Exception as error:
        # Where Spark has no error class of its own, an exception of Java arrives unchanged, through py4j.
        if isinstance(error, PySparkException) or type(error).__module__.startswith("py4j"):
            raise TraceError(one_line_about(error, paths)) from None
        raise


def _checked_short(spark: "SparkSession", paths: Sequence[str], properties: Sequence[str]) -> CheckedRuns:
    judged = judge_short(spark, paths)
    counts: dict[str, dict[Status, int]] = {name: {} for name in properties}
    broken = []
    for name, _, verdicts in judged:
        for verdict in verdicts:
            if verdict.property in counts:
                count = counts[verdict.property]
                count[verdict.status] = count.get(verdict.status, 0) + 1
        told = [each for each in verdicts if each.status == "violated" and each.property in counts]
        if told:
            broken.append(BrokenRun(name, 0, STREAMED, [each.property for each in told], told, {}))
    lines = sum(count for _, count, _ in judged)
    return CheckedRuns(len(judged), lines, counts, {STREAMED: len(judged)}, len(broken), broken[:EXPLAINED])


def _checked(spark: "SparkSession", paths: Sequence[str], properties: Sequence[str]) -> CheckedRuns:
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
    return CheckedRuns(runs, events, counts, ways, number, _broken(stored, first, properties))


def _is_violated(properties: Sequence[str]) -> "Column":
    found = F.lit(False)
    for name in properties:
        certain = F.lit(True) if status_of(name, VIOLATED, complete=False) == "violated" else F.col("complete")
        found = found | ((F.col(columns_of(name)[0]) == VIOLATED) & certain)
    return found


def _broken(stored: StoredTraces, rows: "list[Row]", properties: Sequence[str]) -> list[BrokenRun]:
    short = [row["run"] for row in rows if row["rows"] <= LONGEST_EXPLAINED]
    explained = explain(stored.events, short) if short else {}
    broken = []
    for row in rows:
        codes = {name: row[columns_of(name)[0]] for name in SIX}
        verdicts = {verdict.property: verdict for verdict in explained.get(row["run"], [])}
        for name, verdict in verdicts.items():
            # The two implementations are independent, so a mistake in either one shows here.
            assert (codes[name] == VIOLATED) == (verdict.status == "violated"), (stored.name_of(row["run"]), name)
        names = [name for name in properties if status_of(name, codes[name], row["complete"]) == "violated"]
        at = {name: unpacked(z) for name in names if (z := row[columns_of(name)[1]]) is not None}
        told = [verdicts[name] for name in names if name in verdicts]
        broken.append(BrokenRun(*stored.place_of(row["run"]), row["how"], names, told, at))
    return broken
