"""A part of a campaign stores the runs that the plan names, each as it was, and the same each time."""

from collections import Counter
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from invariants import Broadcast, Crash, Deliver, End, Establish, Event, Header, check
from invariants.columns import events_of
from tests.campaign.plans import EVERY, begun, made, plan_of, rows
from zabcheck.campaign import part as parts
from zabcheck.campaign.findings import ERROR
from zabcheck.campaign.part import Maker, RecordedRun
from zabcheck.campaign.schema import RUNS
from zabcheck.campaign.store import EVENTS_FOLDER, Store, name_of
from zabcheck.search.coverage import Coverage, State, fingerprint
from zabcheck.search.run import Search
from zabcheck.search.swarm import find


def stored(store: Store, part: int) -> dict[int, list[Event]]:
    """The events of a part, by run."""
    found: dict[int, list[Event]] = {}
    file = pq.ParquetFile(f"{store.root}/{name_of(EVENTS_FOLDER, part)}")
    for run, seq, event in events_of(file.iter_batches(), "part"):
        found.setdefault(run, []).append(event)
        assert seq == len(found[run])
    return found


@pytest.fixture(scope="module")
def mixed(tmp_path_factory: pytest.TempPathFactory) -> Store:
    """Thirty runs, every other one with a planted bug."""
    return made(tmp_path_factory.mktemp("mixed"), plan_of(30, None, "no-truncation"))


def test_one_row_a_run_in_order(mixed: Store) -> None:
    found = rows(mixed)
    plan = plan_of(30, None, "no-truncation")
    assert [row["run"] for row in found] == list(range(30))
    assert [row["part"] for row in found] == [0] * 10 + [1] * 10 + [2] * 10
    assert [row["seed"] for row in found] == [str(plan.seed_of(run)) for run in range(30)]
    assert [row["mutant"] for row in found] == [None, "no-truncation"] * 15


def test_a_run_is_the_one_that_its_seed_makes_anywhere(mixed: Store) -> None:
    """`zabcheck run --engine swarm --runs 1 --seed SEED` is the same run."""
    for row in rows(mixed)[:6]:
        runs = []
        search = Search(plan_of().search(row["mutant"]).protocol, 3, None, 1, 100, int(row["seed"]), runs.append)
        broken = find(search)
        assert (broken and broken.property) == row["broken"]
        assert [run.simulator.steps for run in runs] == [row["steps"]]


def test_the_events_say_what_the_row_says(mixed: Store) -> None:
    by_run = {run: lines for part in range(3) for run, lines in stored(mixed, part).items()}
    assert sorted(by_run) == list(range(30))
    for row in rows(mixed):
        header, *events, end = by_run[row["run"]]
        assert header == Header(1, row["processes"], "zab", row["quorums"])
        assert end == End(row["events"], complete=True)
        kinds = Counter(map(type, events))
        assert (kinds[Broadcast], kinds[Deliver], kinds[Crash]) == (
            row["broadcasts"],
            row["deliveries"],
            row["crashes"],
        )
        assert len({event.epoch for event in events if isinstance(event, Establish)}) == row["epochs"]
        verdicts = check(by_run[row["run"]], EVERY)
        assert [each.property for each in verdicts if each.status == "violated"] == row["violated"]
        assert {each.property: each.judged for each in verdicts} == dict(row["judged"])
        coverage = Coverage(3)
        for event in events:
            if type(event) in coverage.observers:
                coverage.observers[type(event)](event)
        assert len(coverage.states) == row["reached"]


def test_something_was_planted_and_found(mixed: Store) -> None:
    found = rows(mixed)
    assert {row["mutant"] for row in found if row["violated"]} == {"no-truncation"}
    for row in found:
        assert (row["broken"] is None) == (row["violated"] == [])
        assert row["broken"] is None or row["broken"] in row["violated"]


def test_states_are_told_by_the_first_run_of_the_part_that_was_in_them(mixed: Store) -> None:
    for part in range(3):
        own = [row for row in rows(mixed) if row["part"] == part]
        told = [state for row in own for state in row["states"]]
        assert len(told) == len(set(told))
        assert len(own[0]["states"]) == own[0]["reached"]
        assert all(len(row["states"]) <= row["reached"] for row in own)
        assert len(own[-1]["states"]) < own[-1]["reached"]
    assert fingerprint(next(iter(Coverage(3).states))) in rows(mixed)[0]["states"]


@pytest.mark.parametrize("keep", ["violations", "none"])
def test_only_the_events_that_are_wanted_are_kept(keep: str, mixed: Store, tmp_path: Path) -> None:
    store = made(tmp_path, plan_of(30, None, "no-truncation", keep=keep))
    assert rows(store) == rows(mixed)
    if keep == "none":
        assert store.names(EVENTS_FOLDER) == []
    else:
        kept = {run for part in range(3) for run in stored(store, part)}
        assert kept == {row["run"] for row in rows(mixed) if row["violated"]}
        assert kept


def test_a_run_in_which_the_protocol_raises_is_told_and_not_judged(tmp_path: Path) -> None:
    store = made(tmp_path, plan_of(10, protocol="tests.protocols.own.raising:RaisingAtOnce"))
    for row in rows(store):
        assert row["raised"] is not None
        assert "RuntimeError" in row["raised"]
        assert "\n" not in row["raised"]
        assert (row["broken"], row["violated"], row["judged"], row["goals"]) == (None, [], [], [])
    for lines in stored(store, 0).values():
        assert lines[-1] == End(len(lines) - 2, complete=False)


@pytest.mark.slow
def test_a_run_that_an_error_of_the_modelled_code_ends_is_a_failing_one(tmp_path: Path) -> None:
    switches = {"version": "3.8.0", "defects": "4394", "errors": "raised"}
    plan = plan_of(60, protocol="zookeeper", switches=switches, properties=("integrity",), steps=200, processes=None)
    store = made(tmp_path, plan)
    ended = [row for row in rows(store) if row["broken"] is not None]
    assert ended
    for row in ended:
        assert (row["broken"], row["violated"], row["judged"]) == (ERROR, [ERROR], [])
        assert "NullPointerException" in row["raised"]
    complete = {run: lines[-1].complete for part in range(plan.parts) for run, lines in stored(store, part).items()}
    assert {run for run, was in complete.items() if not was} == {row["run"] for row in ended}


def test_a_campaign_with_few_steps_and_other_switches(tmp_path: Path) -> None:
    store = made(tmp_path, plan_of(10, steps=20, processes=5, switches={"histories": "full"}))
    for row in rows(store):
        assert row["processes"] == 5
        assert dict(row["switches"])["histories"] == "full"


def test_it_is_told_how_many_runs_are_made_while_a_part_is_made(
    mixed: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A task whose process was killed tells it for ever, and counts for nothing once the part is finished."""
    store = begun(tmp_path, plan_of(30, None, "no-truncation"))
    (tmp_path / "runs/.part-000001.2-made.0f.tmp").touch()
    told: list[dict[int, int]] = []

    class Watched(Maker):
        def record(self, number: int, known: dict[State, int]) -> RecordedRun:
            told.append(store.under_way())
            return super().record(number, known)

    monkeypatch.setattr(parts, "_TOLD", 4)
    Watched(plan_of(30, None, "no-truncation"), store).make(1)
    assert told == [{1: 2}] * 4 + [{1: 4}] * 4 + [{1: 8}] * 2
    assert store.finished()
    assert [path.name for path in (tmp_path / "runs").glob(".*")] == [".part-000001.2-made.0f.tmp"]
    assert store.read(name_of(EVENTS_FOLDER, 1)) == mixed.read(name_of(EVENTS_FOLDER, 1))
    store.sweep()
    assert store.under_way() == {}


def test_nothing_half_written_is_left_where_the_disk_is_full(tmp_path: Path) -> None:
    store = begun(tmp_path, plan_of())
    maker = Maker(plan_of(), store)
    (tmp_path / "runs").rmdir()
    (tmp_path / "runs").write_text("in the way")
    with pytest.raises(ValueError, match="runs"):
        maker.make(0)
    assert [path.name for path in (tmp_path / EVENTS_FOLDER).iterdir()] == ["part-000000.parquet"]


def test_the_schema_is_documented() -> None:
    import zabcheck.campaign.schema as module

    documented = [
        line.split()[0] for line in str(module.__doc__).splitlines() if line.startswith("    ") and line.split()
    ]
    assert [name for name in documented if name in RUNS.names] == RUNS.names
