"""The tables of a campaign are what plain Python finds in the same rows."""

from collections import Counter
from collections.abc import Callable, Iterable
from itertools import pairwise
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

from tests.campaign.campaigns import PART, change, copied, rows_of
from tests.campaign.plans import EVERY, made, plan_of
from zabcheck.campaign import tables
from zabcheck.campaign.results import SettingRow, Tables
from zabcheck.campaign.store import Store, StoreError
from zabcheck.campaign.tables import ratios
from zabcheck.campaign.tables.counts import FIGURES, PLACES, overview_table, raised_table
from zabcheck.campaign.tables.engines import in_process, on_spark, stored_runs
from zabcheck.campaign.tables.saturation import growth_table, saturation_table
from zabcheck.campaign.tables.settings import settings_table
from zabcheck.search.goals import GOALS

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.xdist_group("spark")

Rows = list[dict[str, Any]]


@pytest.fixture(scope="session")
def rows(campaign: Store) -> Rows:
    return rows_of(campaign)


def total(rows: Iterable[dict[str, Any]], name: str) -> Any:
    return sum(row[name] for row in rows)


def broken(rows: Rows) -> Rows:
    return [row for row in rows if row["broken"] is not None]


@pytest.mark.slow
def test_spark_makes_the_same_tables(spark: "SparkSession", found: Tables, campaign: Store) -> None:
    """All of them, to the last digit."""
    plan = campaign.plan()
    assert plan is not None
    on_it = tables.make(spark, campaign, plan)
    for name in Tables.__struct_fields__:
        assert getattr(on_it, name) == getattr(found, name), name


@pytest.mark.slow
def test_cpu_seconds_are_whole_microseconds(rows: Rows) -> None:
    """The order in which they are added up, which differs from machine to machine, then decides no last digit."""
    assert [row["seconds"] for row in rows] == [round(row["seconds"], 6) for row in rows]


# What happened.


def test_the_overview_sums_the_rows_up(found: Tables, rows: Rows) -> None:
    [overview] = found.overview
    as_it_is = [row for row in rows if row["mutant"] is None]
    for name in ("steps", "events", "broadcasts", "deliveries", "crashes", "epochs"):
        assert getattr(overview, name) == total(rows, name) > 0, name
    assert overview.seconds == pytest.approx(total(rows, "seconds"), abs=1e-6)
    assert (overview.runs, overview.planned_runs) == (len(rows), 300)
    assert (overview.parts, overview.planned_parts) == (6, 6)
    assert overview.longest == max(row["longest"] for row in rows)
    assert (overview.violating, overview.raised) == (len(broken(rows)), 0)
    assert (overview.as_it_is, overview.broken_as_it_is) == (len(as_it_is), 0)
    assert overview.states == len({state for row in rows for state in row["states"]})


def test_each_property_has_its_numbers_of_judged_and_broken_runs(found: Tables, rows: Rows) -> None:
    assert [each.property for each in found.properties] == [*EVERY]
    for each in found.properties:
        judged = [row["judged"][each.property] for row in rows]
        assert (each.exercised, each.judged) == (sum(times > 0 for times in judged), sum(judged))
        assert each.violated == sum(each.property in row["violated"] for row in rows)
        assert each.first == sum(each.property == row["broken"] for row in rows)
    assert sum(each.first for each in found.properties) == len(broken(rows)) > 0


def test_each_goal_has_its_runs_and_the_first_of_them(found: Tables, rows: Rows) -> None:
    assert [each.goal for each in found.goals] == list(GOALS)
    for each in found.goals:
        reached = [row["run"] for row in rows if each.goal in row["goals"]]
        assert (each.runs, each.first) == (len(reached), min(reached, default=None))


def test_each_mutant_has_its_rate_and_time_of_detection(found: Tables, rows: Rows) -> None:
    assert [each.mutant for each in found.mutants] == [None, "no-truncation", "commit-ld-zxid"]
    for each in found.mutants:
        mine = [row for row in rows if row["mutant"] == each.mutant]
        assert (each.runs, each.steps, each.violating) == (len(mine), total(mine, "steps"), len(broken(mine)))
        assert each.seconds == pytest.approx(total(mine, "seconds"), abs=1e-6)
        assert each.rate == pytest.approx(1e6 * each.violating / each.steps)
        waits, spent = [], 0.0
        for row in mine:
            spent += row["seconds"]
            if row["broken"] is not None:
                waits.append(spent)
                spent = 0.0
        if waits:
            assert (each.median_seconds, each.worst_seconds) == pytest.approx((median(waits), max(waits)), abs=2e-6)
        else:
            assert (each.median_seconds, each.worst_seconds) == (None, None)
    assert [each.violating > 0 for each in found.mutants] == [False, True, True]


def test_each_mutant_has_its_first_and_its_other_violations(found: Tables, rows: Rows) -> None:
    first = Counter((row["mutant"], row["broken"]) for row in broken(rows))
    violated = Counter((row["mutant"], name) for row in rows for name in row["violated"])
    assert {(each.mutant, each.property): each.first for each in found.broken if each.first} == first
    assert {(each.mutant, each.property): each.violated for each in found.broken if each.violated} == violated


# Is it saturated?


def test_the_growth_is_that_of_going_through_the_runs(found: Tables, rows: Rows) -> None:
    seen: set[int] = set()
    goals: set[str] = set()
    violating, width = 0, 8  # 300 runs at 40 points
    points = []
    for start in range(0, len(rows), width):
        block, before, discovering = rows[start : start + width], len(seen), 0
        for row in block:
            discovering += not seen.issuperset(row["states"])
            seen |= {*row["states"]}
            goals |= {*row["goals"]}
            violating += row["broken"] is not None
        new = len(seen) - before
        runs = start + len(block)
        points.append((runs, len(seen), new, discovering, 1000 * new / len(block), len(goals), violating))
    assert [msgspec.structs.astuple(each) for each in found.growth] == points
    assert len(points) == 38


def test_saturation_is_judged_by_the_last_runs_and_by_what_only_one_part_reached(found: Tables, rows: Rows) -> None:
    [end] = found.saturation
    reached: dict[int, set[int]] = {}
    for row in rows:
        for state in row["states"]:
            reached.setdefault(state, set()).add(row["part"])
    once = [parts for parts in reached.values() if len(parts) == 1]
    twice = sum(len(parts) == 2 for parts in reached.values())
    assert (end.runs, end.states, end.parts, end.part_runs) == (300, len(reached), 6, PART)
    assert end.only_once == len(once)
    assert end.reachable == pytest.approx(len(reached) + 5 / 6 * len(once) * (len(once) - 1) / (2 * (twice + 1)))
    # Good and Turing's figure is the mean, over the parts, of what would have been new had that part come last.
    unseen_before = [sum(parts == {part} for parts in once) for part in range(6)]
    assert end.next_part == pytest.approx(sum(unseen_before) / 6)
    last = found.growth[-4:]
    assert (end.last_runs, end.last_new) == (28, sum(each.new for each in last))
    assert end.last_discovering == sum(each.discovering for each in last)
    assert (end.low, end.high) == ratios.share(end.last_discovering, 28)
    assert end.low < end.chance < end.high


# Which faults matter?

MATTERS: dict[str, Callable[[dict[str, Any], str], bool]] = {
    "move": lambda row, value: value in row["weights"],
    "switch": lambda row, value: row["switches"][value.split()[0]] == value.split()[1],
    "order": lambda row, value: row["order"] == value,
    "demoted": lambda row, value: str(row["demoted"]) == value,
    "cycle": lambda row, value: str(row["cycle"]) == value,
    "processes": lambda row, value: str(row["processes"]) == value,
    "quorums": lambda row, value: value == "weighted" and row["quorums"] != "majority",
}


def expected(each: SettingRow, rows: Rows) -> SettingRow:
    """The row as plain Python makes it."""
    group = [row for row in rows if each.in_all or row["mutant"] == each.mutant]
    base = [row for row in group if each.kind != "demoted" or row["order"] == "priorities"]
    one = [row for row in base if MATTERS[each.kind](row, each.value)]
    other = [row for row in base if not MATTERS[each.kind](row, each.value)]
    new = [[len(row["states"]) for row in runs] for runs in (one, other)]
    steps = total(one, "steps"), total(other, "steps")
    if broken(group):
        measure, counts = "detections", (len(broken(one)), len(broken(other)))
        rates = [1e6 * count / number for count, number in zip(counts, steps, strict=True)]
        ratio, low, high = ratios.of_rates(counts[0], steps[0], counts[1], steps[1])
    else:
        measure, counts = "new states", (sum(new[0]), sum(new[1]))
        rates = [count / len(runs) for count, runs in zip(counts, new, strict=True)]
        squares = [sum(number * number for number in each) for each in new]
        ratio, low, high = ratios.of_means(counts[0], squares[0], len(one), (counts[1], squares[1], len(other)))
    ratio, low, high = (None if value == float("inf") else value for value in (ratio, low, high))
    return SettingRow(
        each.in_all,
        each.mutant,
        each.kind,
        each.value,
        measure,
        *(len(one), steps[0], counts[0], rates[0]),
        *(len(other), steps[1], counts[1], rates[1]),
        ratio,
        low,
        high,
    )


def test_runs_with_a_fault_are_compared_with_those_without_it(found: Tables, rows: Rows) -> None:
    for each in found.settings:
        assert each == expected(each, rows)
    groups = {(each.in_all, each.mutant): each.measure for each in found.settings}
    assert groups == {
        (True, None): "detections",
        (False, None): "new states",
        (False, "no-truncation"): "detections",
        (False, "commit-ld-zxid"): "detections",
    }
    drawn = {(each.kind, each.value) for each in found.settings if each.in_all}
    assert {kind for kind, _ in drawn} == {*MATTERS}
    assert {("move", "crash"), ("move", "ring"), ("switch", "sync atomic"), ("processes", "7")} <= drawn
    assert not [value for _, value in drawn if "separate" in value or "4294967295" in value or value == "moves"]


@pytest.mark.slow
def test_without_a_violation_new_states_are_compared(sound: Store) -> None:
    found = settings_table(in_process(stored_runs(sound)), [None])
    assert {(each.in_all, each.measure) for each in found} == {(True, "new states")}
    assert list(found) == [expected(each, rows_of(sound)) for each in found]


# How runs are spread.


def test_distributions_are_numpys(found: Tables, rows: Rows) -> None:
    assert [each.figure for each in found.distributions] == list(FIGURES)
    for each in found.distributions:
        values = [round(row[each.figure], 6) for row in rows]
        expected = np.percentile(values, [0, 50, 90, 99, 100])
        assert msgspec.structs.astuple(each)[1:] == pytest.approx(tuple(expected)), each.figure


def test_the_last_digits_of_a_percentile_are_not_kept() -> None:
    """Nine tenths of the way from 2452 to 2467 microseconds: 0.002453500000000001 or ...004, as one interpolates."""
    one, other = 0.9 * 0.002452 + 0.1 * 0.002467, 0.002452 + 0.1 * (0.002467 - 0.002452)
    assert round(one, PLACES) == round(other, PLACES) == 0.0024535


def test_a_histogram_counts_each_run_once_where_it_belongs(found: Tables, rows: Rows) -> None:
    for figure in FIGURES:
        bins = [each for each in found.histograms if each.figure == figure]
        assert sum(each.runs for each in bins) == len(rows)
        assert all(one.high == pytest.approx(next.low) for one, next in pairwise(bins))
        if figure != "seconds":  # those can lie on an edge but for the last digit
            for place, each in enumerate(bins):
                last = place == len(bins) - 1
                inside = [
                    row for row in rows if each.low <= row[figure] < each.high or (last and row[figure] >= each.low)
                ]
                assert each.runs == len(inside), each


# The folder.


def test_each_table_is_written_for_a_notebook(found: Tables, campaign: Store, tmp_path: Path) -> None:
    store = copied(campaign, tmp_path / "c")
    names = tables.write(store, found)
    assert [Path(name).name for name in names] == [f"{name}.parquet" for name in Tables.__struct_fields__]
    assert {path.name for path in (tmp_path / "c/tables").iterdir()} == {Path(name).name for name in names}
    for name in Tables.__struct_fields__:
        read = pq.read_table(tmp_path / f"c/tables/{name}.parquet").to_pylist()
        assert read == [msgspec.structs.asdict(row) for row in getattr(found, name)], name
    assert found.raised == ()
    assert pq.read_schema(tmp_path / "c/tables/raised.parquet").names == ["mutant", "raised", "runs", "first"]


def test_tables_that_cannot_be_written_are_told(found: Tables, campaign: Store, tmp_path: Path) -> None:
    store = copied(campaign, tmp_path / "c")
    (tmp_path / "c/tables").write_text("in the way")
    with pytest.raises(StoreError, match=r"c/tables/overview\.parquet: ") as raised:
        tables.write(store, found)
    assert "\n" not in str(raised.value)


@pytest.mark.slow
def test_what_is_not_finished_yet_is_left_out(spark: "SparkSession", campaign: Store, tmp_path: Path) -> None:
    """In a folder whose name would be a pattern, or be encoded in a URI; by Spark, too."""
    store = copied(campaign, tmp_path / "a [b] {c,d}%20ü*")
    runs_folder = Path(store.place) / "runs"
    (runs_folder / "part-000002.parquet").unlink()
    (runs_folder / ".part-000002.parquet.0123.tmp").write_bytes(b"half of it")
    plan, rows = store.plan(), rows_of(store)
    assert plan is not None
    ask = in_process(stored_runs(store))
    overview = overview_table(ask, plan)
    assert (overview.runs, overview.parts, overview.planned_parts, overview.planned_runs) == (250, 5, 6, 300)
    assert on_spark(spark, store)("SELECT count(*) FROM runs") == [(250,)]
    grown, _ = growth_table(ask, ())
    states = len({state for row in rows for state in row["states"]})
    assert (grown[-1].runs, grown[-1].states, sum(each.new for each in grown)) == (250, states, states)


def test_a_single_part_tells_nothing_of_the_next(sound: Store) -> None:
    rows = stored_runs(sound)
    ask = in_process(rows.filter(pc.equal(rows["part"], 0)))
    end = saturation_table(*growth_table(ask, ()), 1, PART)
    assert (end.parts, end.next_part, end.reachable) == (1, None, None)
    assert end.only_once == end.states > 0


@pytest.mark.slow
def test_exceptions_are_told_the_most_frequent_first(spark: "SparkSession", campaign: Store, tmp_path: Path) -> None:
    store = copied(campaign, tmp_path / "c")
    says = {1: "KeyError: 1", 4: "KeyError: 1", 2: "TypeError: [a] <b>"}

    def raise_in(table: pa.Table) -> pa.Table:
        said = [says.get(run) for run in table["run"].to_pylist()]
        return table.set_column(table.schema.get_field_index("raised"), "raised", pa.array(said, pa.string()))

    change(store, "runs/part-000000.parquet", raise_in)
    for ask in (in_process(stored_runs(store)), on_spark(spark, store)):
        assert [msgspec.structs.astuple(each) for each in raised_table(ask)] == [
            ("no-truncation", "KeyError: 1", 2, 1),
            ("commit-ld-zxid", "TypeError: [a] <b>", 1, 2),
        ]


@pytest.mark.parametrize("column", ["run", "judged", "states"])
def test_a_file_that_is_damaged_inside_is_named_in_one_line(column: str, campaign: Store, tmp_path: Path) -> None:
    """Its footer is fine."""
    store = copied(campaign, tmp_path / "c")
    path = tmp_path / "c/runs/part-000003.parquet"
    group = pq.ParquetFile(path).metadata.row_group(0)
    columns = [group.column(number) for number in range(group.num_columns)]
    chunk = next(each for each in columns if each.path_in_schema.split(".")[0] == column)
    data = bytearray(path.read_bytes())
    start = chunk.dictionary_page_offset or chunk.data_page_offset
    data[start : start + chunk.total_compressed_size] = bytes(chunk.total_compressed_size)
    path.write_bytes(data)
    with pytest.raises(StoreError) as raised:
        tables.check(store)
    assert str(raised.value).startswith(f"{path}: ")
    assert "\n" not in str(raised.value)


@pytest.mark.slow
def test_what_spark_says_against_a_file_is_one_line(spark: "SparkSession", campaign: Store, tmp_path: Path) -> None:
    """The file looks as if it had changed since it was looked at."""
    store, plan = copied(campaign, tmp_path / "c"), campaign.plan()
    for name in store.finished().values():
        change(store, name, lambda table: table.drop_columns(["steps"]))
    assert plan is not None
    with pytest.raises(StoreError) as raised:
        tables.make(spark, store, plan)
    assert str(raised.value).startswith(f"{store.place}: ")
    assert "`steps`" in str(raised.value)
    assert "\n" not in str(raised.value)


def test_goals_that_need_events_which_no_run_shows(tmp_path: Path) -> None:
    own = plan_of(10, protocol="tests.protocols.own.alone:Alone")
    unseen = tables.unseen(made(tmp_path / "own", own), own)
    assert unseen["truncation"] == ("truncate",)
    assert unseen["partial replication"] == ("accept", "adopt", "establish")
    assert not {"three epochs", "power loss", "restored snapshot"} & unseen.keys()
    ours = plan_of(10)
    assert tables.unseen(made(tmp_path / "ours", ours), ours) == {}
    few = msgspec.structs.replace(own, keep="violations")
    assert tables.unseen(made(tmp_path / "few", few), few) == {}
