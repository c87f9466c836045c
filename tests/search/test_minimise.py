"""A minimised schedule breaks the same property, and cannot do without any of its choices."""

import pytest
from msgspec import structs

from tests.search.builders import RECORDED, breaks_alone, broken, failure_of, minimised
from tests.tiers import sweep
from zabcheck.protocols.base import Protocol
from zabcheck.search.minimise import Failure, breaks
from zabcheck.search.run import schedule_of
from zabcheck.simulation.choices import (
    AnyChoice,
    Corrupt,
    Crash,
    Cut,
    Elect,
    Heal,
    Lead,
    Recover,
    Request,
    Settle,
    Split,
    Sync,
    Timeout,
)
from zabcheck.simulation.schedule import Schedule

NOISY: tuple[AnyChoice, ...] = (
    Timeout(4),
    Lead(1, (2, 3, 4, 5)),
    Settle(9),
    Request(1, "x"),
    Settle(9),
    Split((5,)),
    Request(1, "y"),
    Sync(1),
    Crash(1, 1),
    Heal(),
    Lead(2, (3, 4)),
    Settle(9),
    Request(2, "z"),
    Request(2, "w"),
    Settle(9),
    Recover(1),
    Cut(3, 4),
    Elect(1, 2),
    Settle(9),
    Crash(5),
)


def noisy(mutant: str | None = "no-truncation") -> Schedule:
    """A leader comes back with a transaction that nobody else has; and much that has nothing to do with it."""
    return schedule_of("zab", mutant, 5, NOISY)


@pytest.fixture(scope="module")
def minimal() -> Schedule:
    return minimised(noisy(), "total order")


def without(schedule: Schedule, index: int) -> Schedule:
    return structs.replace(schedule, choices=schedule.choices[:index] + schedule.choices[index + 1 :])


def test_it_breaks_the_same_property(minimal: Schedule) -> None:
    assert minimal.violates == "total order"
    assert minimal.mutant == "no-truncation"
    assert breaks_alone(minimal)


def test_time_outs_are_left_out_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """A node that keeps its own time is waited for at each, by the clock, whenever the schedule is executed."""
    waited = []

    def counted(protocol: Protocol, schedule: Schedule, property_: str) -> Failure | None:
        waited.append(any(isinstance(choice, Timeout) for choice in schedule.choices))
        return breaks(protocol, schedule, property_)

    monkeypatch.setattr("zabcheck.search.minimise.breaks", counted)
    idle = (Lead(1, (2,)), Timeout(2), Timeout(1)) * 5
    shorter = minimised(structs.replace(noisy(), choices=(*idle, *NOISY)), "total order")
    assert breaks_alone(shorter)
    assert waited[:3] == [True, True, False]  # as it is, taken apart, without them
    assert not any(waited[3:])


def test_no_single_choice_can_be_left_out(minimal: Schedule) -> None:
    assert not [index for index in range(len(minimal.choices)) if breaks_alone(without(minimal, index))]


def test_every_choice_that_is_left_is_executed(minimal: Schedule) -> None:
    assert failure_of(minimal, "total order") == (minimal.choices, len(minimal.choices))


def test_processes_that_do_not_matter_are_left_out(minimal: Schedule) -> None:
    assert minimal.processes == 3
    executed = failure_of(noisy(), "total order")
    assert executed is not None
    assert len(minimal.choices) < executed.steps / 3


def test_what_is_minimal_stays_as_it_is(minimal: Schedule) -> None:
    assert minimised(minimal, "total order") == minimal


@pytest.mark.parametrize("name", sweep(RECORDED, normal=list(RECORDED)[::36]))
def test_recorded_schedules_are_minimal(name: str) -> None:
    schedule = RECORDED[name]
    assert not [index for index in range(len(schedule.choices)) if breaks_alone(without(schedule, index))]


def test_one_that_breaks_nothing_is_refused() -> None:
    with pytest.raises(ValueError, match="the schedule does not break total order"):
        minimised(noisy(mutant=None), "total order")
    with pytest.raises(ValueError, match="the schedule does not break integrity"):
        minimised(noisy(), "integrity")


def test_what_comes_after_the_violation_is_left_out() -> None:
    longer = structs.replace(noisy(), choices=(*NOISY, Timeout(2), Timeout(3)))
    assert failure_of(longer, "total order") == failure_of(noisy(), "total order")


PASSING: tuple[AnyChoice, ...] = (
    Lead(1, (2, 3)),
    Settle(9),
    Request(1, "x"),
    Settle(9),
    Request(1, "y"),
    Sync(1),
    Crash(1),
    Lead(2, (3,)),
    Settle(9),
    Request(2, "z"),
    Settle(9),
    Recover(1),
    Elect(1, 2),
    Settle(9),
)
"""Process 1 delivers x, y, z, and the others x, z: they disagree until it has delivered z."""


def test_a_violation_that_passes_is_none() -> None:
    passing = schedule_of("zab", "no-truncation", 3, PASSING)
    assert broken(passing, ["agreement"]) == []
    assert failure_of(passing, "agreement") is None


@pytest.mark.slow
def test_a_violation_is_found_although_an_earlier_one_passed() -> None:
    lasting = schedule_of("zab", "no-truncation", 3, (*PASSING, Split((1,)), Request(2, "w"), Settle(9)))
    assert broken(lasting, ["agreement"]) == ["agreement"]
    assert breaks_alone(minimised(lasting, "agreement"))


def test_without_time_the_violation_is_handed_back_all_the_same() -> None:
    hasty = minimised(noisy(), "total order", seconds=0)
    assert breaks_alone(hasty)


def test_values_become_plain() -> None:
    """Values that do not matter: of a request, of an altered record, of the writes that a crash keeps."""
    before = (Lead(1, (2,)), Settle(9), Request(1, "x"), Settle(9), Request(1, "y"), Settle(9))
    after = (Corrupt(1, 1), Crash(1, 3), Recover(1), Lead(1, (2,)), Settle(9))
    found = minimised(schedule_of("zab", "ignore-digest", 2, (*before, *after)), "invariant 4")
    assert [choice for choice in found.choices if isinstance(choice, Corrupt)] != []
    assert [choice for choice in found.choices if isinstance(choice, Request) and choice.value is not None] == []
    assert [choice for choice in found.choices if isinstance(choice, Corrupt) and choice.record] == []
    assert [choice for choice in found.choices if isinstance(choice, Crash) and choice.keep] == []
