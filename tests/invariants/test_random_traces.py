"""The random traces are worth judging: every defect and every verdict turns up often."""

from collections import Counter

import pytest

from invariants.events import Local
from tests.invariants.by_property import OF_SEQUENCES
from tests.invariants.oracle import Reading
from tests.invariants.traces import DEFECTS, random_trace

TRACES = 600


@pytest.fixture(scope="module")
def defects() -> Counter[str]:
    return Counter(defect for seed in range(TRACES) for defect in random_trace(seed).defects)


@pytest.fixture(scope="module")
def verdicts() -> Counter[tuple[str, str]]:
    readings = [Reading(random_trace(seed).events) for seed in range(TRACES)]
    return Counter((name, oracle(reading)[0]) for reading in readings for name, oracle in OF_SEQUENCES.items())


@pytest.mark.parametrize("defect", DEFECTS)
def test_every_defect_is_frequent(defect: str, defects: Counter[str]) -> None:
    assert defects[defect] >= TRACES // 50


@pytest.mark.slow
@pytest.mark.xdist_group("random traces")
@pytest.mark.parametrize("status", ["violated", "holds", "not exercised"])
@pytest.mark.parametrize("name", OF_SEQUENCES)
def test_every_verdict_is_frequent(name: str, status: str, verdicts: Counter[tuple[str, str]]) -> None:
    assert verdicts[name, status] >= TRACES // 20


def test_many_traces_have_no_defect() -> None:
    assert sum(not random_trace(seed).defects for seed in range(TRACES)) >= TRACES // 10


def test_a_run_without_defects_breaks_nothing() -> None:
    """The generator's own protocol is correct, so what a broken trace shows comes from its defects."""
    clean = [trace.events for trace in map(random_trace, range(TRACES)) if not trace.defects]
    broken = [oracle.__name__ for events in clean for oracle in OF_SEQUENCES.values() if oracle(Reading(events))[1]]
    assert not broken


def test_traces_are_small_and_keep_their_processes_in_order() -> None:
    for seed in range(TRACES):
        events = random_trace(seed).events
        assert 1 <= len(events) <= 40
        latest: dict[int, int] = {}
        for event in events:
            assert isinstance(event, Local)
            assert latest.get(event.process, 0) <= event.incarnation
            latest[event.process] = event.incarnation


def test_a_seed_gives_one_trace() -> None:
    assert random_trace(7).events == random_trace(7).events
