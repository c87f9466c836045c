"""Violating runs come down to short schedules, and those that are alike to one finding."""

from pathlib import Path

import pytest

from invariants.quorums import MAJORITY
from tests.campaign.plans import made, plan_of, rows
from tests.search.builders import failure_of
from zabcheck.campaign.findings import RAISED
from zabcheck.campaign.minimised import (
    RUNS_A_PIECE,
    FailingRun,
    MinimisedRun,
    Minimiser,
    group_alike,
    name_of,
    pieces_of,
    read,
    select_runs,
    write_findings,
)
from zabcheck.campaign.store import Store, StoreError

PLAN = plan_of(20, "commit-on-own-ack", minimise=None, processes=None)


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Store:
    return made(tmp_path_factory.mktemp("campaign"), PLAN)


@pytest.fixture(scope="module")
def failing(store: Store) -> list[FailingRun]:
    return [FailingRun(row["mutant"], row["broken"], row["run"]) for row in rows(store) if row["broken"]]


@pytest.fixture(scope="module")
def found(store: Store, failing: list[FailingRun]) -> list[MinimisedRun]:
    minimiser = Minimiser(PLAN, store)
    for piece in pieces_of(failing):
        minimiser.work(piece)
    return read(store, pieces_of(failing))


@pytest.mark.slow
def test_every_run_breaks_what_it_broke_in_few_steps(found: list[MinimisedRun], failing: list[FailingRun]) -> None:
    assert [each.failing for each in found] == failing
    assert len(found) > 10
    for each in found:
        failure = failure_of(each.schedule, each.failing.property)
        assert failure is not None
        assert failure.steps == each.steps <= 20


def test_like_runs_are_one_finding_with_the_shortest_in_front(found: list[MinimisedRun]) -> None:
    groups = group_alike(found)
    assert len(groups) < len(found) / 4
    assert sorted(each.failing.run for group in groups for each in group) == [each.failing.run for each in found]
    for group in groups:
        assert len({(each.failing.property, each.how) for each in group}) == 1
        assert group[0].steps == min(each.steps for each in group)
    assert len({(group[0].failing.property, group[0].how) for group in groups}) == len(groups)


def test_how_it_breaks_names_moves_and_the_shape_of_the_witness(found: list[MinimisedRun]) -> None:
    hows = {each.how for each in found if each.failing.property == "chosen"}
    assert ("lead", "request", "accept@a", "deliver@a") in hows


def test_what_was_minimised_is_not_minimised_again(
    store: Store, failing: list[FailingRun], found: list[MinimisedRun]
) -> None:
    [piece, *_] = pieces_of(failing)
    before = Path(store.root, name_of(piece)).stat().st_mtime_ns
    Minimiser(PLAN, store).work(piece)
    assert Path(store.root, name_of(piece)).stat().st_mtime_ns == before


def test_as_many_as_wanted_of_each_mutant_and_property_are_chosen() -> None:
    runs = [FailingRun(mutant, name, run) for run in range(5) for mutant in ("a", None) for name in ("x", RAISED)]
    assert select_runs(runs, None) == sorted(runs, key=lambda each: each.run)
    assert len(select_runs(runs, 2)) == 8
    assert {each.run for each in select_runs(runs, 2)} == {0, 1}
    assert select_runs(reversed(runs), 1) != []
    assert select_runs(runs, 0) == []


def test_a_piece_is_named_after_its_runs() -> None:
    runs = [FailingRun(None, "x", run) for run in range(2 * RUNS_A_PIECE + 1)]
    pieces = pieces_of(runs)
    assert [each for piece in pieces for each in piece] == runs
    assert len({name_of(piece) for piece in pieces}) == len(pieces) == 3
    assert name_of(pieces[0]) != name_of(runs[: RUNS_A_PIECE - 1])


def test_a_file_that_is_corrupt_is_named(store: Store, failing: list[FailingRun], found: list[MinimisedRun]) -> None:
    [piece, *_] = pieces_of(failing)
    content = store.read(name_of(piece)) or b""
    store.write(name_of(piece), content[:50])
    with pytest.raises(StoreError, match=f"{name_of(piece)}: expected minimised schedules"):
        read(store, [piece])
    store.write(name_of(piece), content)


def test_the_report_has_the_most_frequent_first_and_every_file(store: Store, found: list[MinimisedRun]) -> None:
    findings = write_findings(PLAN, store, group_alike(found))
    assert [each.runs for each in findings] == sorted((each.runs for each in findings), reverse=True)
    for each in findings:
        assert store.read(f"findings/{each.schedule}")
        assert each.property.encode() in (store.read(f"findings/{each.report}") or b"")


def test_what_the_user_fixed_stays_as_it_is(tmp_path: Path) -> None:
    plan = plan_of(10, "commit-on-own-ack", quorums="weights 1,1,1", switches={"histories": "full"})
    store = made(tmp_path, plan)
    [row, *_] = [row for row in rows(store) if row["broken"]]
    small = Minimiser(plan, store).minimised(FailingRun(row["mutant"], row["broken"], row["run"]))
    assert small.schedule.quorums == "weights 1,1,1" != MAJORITY
    assert small.schedule.switches.histories == "full"
