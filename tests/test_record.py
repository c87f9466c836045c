"""Records of known bugs: the shortest schedules, and what they say of their entries in the catalogue."""

from pathlib import Path

import pytest
from msgspec import structs

from docs.generators.recorded import FOLDER
from tests.record import (
    Recorded,
    also_broken,
    break_first,
    broken_without,
    file_name,
    keep,
    not_told_apart,
    record,
    recorded,
)
from tests.search.builders import RECORDED
from zabcheck.mutants.catalogue import CATALOGUE
from zabcheck.search.hunt import Budget
from zabcheck.search.minimise import breaks
from zabcheck.search.run import named_by
from zabcheck.simulation.schedule import Schedule, ScheduleError, load

EARLY = CATALOGUE["commit-on-own-ack"]
BUDGET = Budget(2000, 100, 30.0)


def of(mutant: str) -> dict[str, Schedule]:
    return recorded(FOLDER, CATALOGUE[mutant])


def found(known: dict[str, Schedule], *properties: str, budget: Budget = BUDGET) -> list[Recorded]:
    return list(record(EARLY, known, properties, [1], budget))


def steps(schedule: Schedule) -> int:
    assert schedule.violates is not None
    failure = breaks(named_by(schedule), schedule, schedule.violates)
    assert failure is not None
    return failure.steps


def test_kept_schedules_are_found_by_their_names() -> None:
    names = {file_name(mutant, name).removesuffix(".json") for mutant in CATALOGUE for name in of(mutant)}
    assert names == set(RECORDED)


def test_a_file_that_is_no_schedule_is_said(tmp_path: Path) -> None:
    assert recorded(tmp_path, EARLY) == {}
    (tmp_path / file_name(EARLY.name, "total order")).write_text("{")
    with pytest.raises(ScheduleError, match=r"commit-on-own-ack\.total-order\.json"):
        recorded(tmp_path, EARLY)


@pytest.mark.slow
def test_without_anything_there_a_search_finds_schedules_as_good_as_those_that_are_kept() -> None:
    one, other = found({}, "chosen", "agreement")
    for each in (one, other):
        assert each.is_new
        assert each.schedule is not None
        assert (each.schedule.mutant, each.schedule.violates) == (EARLY.name, each.property)
        assert each.steps == steps(each.schedule) <= steps(of(EARLY.name)[each.property])


@pytest.mark.slow
def test_a_schedule_stays_unless_a_better_one_is_found() -> None:
    kept = of(EARLY.name)["chosen"]
    [same] = found({"chosen": kept}, "chosen")
    assert (same.schedule, same.is_new) == (kept, False)
    longer = of(EARLY.name)["agreement"]
    longer = structs.replace(longer, violates="chosen")
    [better] = found({"chosen": longer}, "chosen")
    assert better.is_new
    assert better.steps <= steps(kept) < steps(longer)
    weighted = structs.replace(kept, quorums="weights 1,1")
    [better] = found({"chosen": weighted}, "chosen")
    assert better.is_new
    assert better.schedule is not None
    assert better.schedule.quorums == "majority"


@pytest.mark.slow
def test_a_schedule_that_breaks_nothing_any_more_does_not_stay() -> None:
    whole = structs.replace(of(EARLY.name)["chosen"], choices=())
    of_another = of("no-truncation")["chosen"]
    for stale in (whole, of_another):
        [fresh] = found({"chosen": stale}, "chosen")
        assert fresh.is_new
        [lost] = found({"chosen": stale}, "chosen", budget=Budget(1, 2, 1.0))
        assert lost == Recorded("chosen", None, 0, False)


@pytest.mark.slow
def test_the_schedules_of_the_catalogue_say_nothing_against_it() -> None:
    for name, mutant in CATALOGUE.items():
        schedules = list(of(name).values())
        assert mutant.breaks[0] in break_first(schedules)
        assert broken_without(schedules) == []
        assert not_told_apart(mutant, schedules, lambda other: of(other.name).values()) == []


def test_what_schedules_say_against_an_entry() -> None:
    entry = CATALOGUE["no-truncation"]
    schedules = list(of("no-truncation").values())
    assert break_first(schedules) == ["invariant 4"]
    only = structs.replace(entry, breaks=("invariant 4",))
    assert set(entry.breaks) - {"invariant 4"} <= set(also_broken(only, schedules))
    alike = not_told_apart(entry, [], lambda _: [])
    assert "keep-longer-history" in alike
    assert entry.name not in alike
    assert not_told_apart(entry, schedules, lambda _: []) == []
    narrow = CATALOGUE["no-acks-after-return"]
    assert not_told_apart(narrow, of(narrow.name).values(), lambda _: []) == ["propose-to-acked-only"]
    unnamed = structs.replace(narrow, within=())
    assert not_told_apart(unnamed, of(narrow.name).values(), lambda other: of(other.name).values()) == list(
        narrow.within
    )
    flawed = Path(__file__).parent / "protocols/db19/schedules/db19.chosen.json"
    assert broken_without([*schedules, load(flawed.read_bytes(), flawed.name)]) == ["chosen"]


@pytest.mark.slow
def test_the_schedules_of_a_bug_are_kept_and_what_they_say_against_its_entry_is_said(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    budget = Budget(500, 200, 30.0)
    [said] = keep(EARLY, ["chosen"], [1], budget, tmp_path)
    assert said.startswith("not told apart from "), "one schedule does not tell this bug from all others"
    [file] = tmp_path.iterdir()
    assert load(file.read_bytes(), "schedule").violates == "chosen"
    assert f"wrote {file}" in capsys.readouterr().out
    kept = file.read_bytes()
    assert list(keep(EARLY, ["chosen"], [1], budget, tmp_path)) == [said]
    assert file.read_bytes() == kept
    assert "wrote" not in capsys.readouterr().out
    lost, *_ = keep(EARLY, ["agreement"], [1], Budget(1, 1, 1.0), tmp_path)
    assert lost.startswith("not found: agreement; ")
