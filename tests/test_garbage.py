"""While a search runs Python looks for garbage seldom, and as often as before when it has ended."""

import gc
from collections.abc import Iterator

import pytest

from zabcheck.explore import Bounds, explore
from zabcheck.garbage import rare_collections


@pytest.fixture(autouse=True)
def _threshold() -> Iterator[None]:
    before = gc.get_threshold()
    gc.freeze()  # all that there is becomes old
    gc.unfreeze()
    yield
    gc.set_threshold(*before)


def test_a_search_leaves_the_collector_as_it_was() -> None:
    gc.set_threshold(701, 11, 12)
    seen: list[int] = []
    explore(bounds=Bounds(2, 1, 1, 0, 0), look_for_interrupt=lambda: seen.append(gc.get_threshold()[0]))
    assert seen
    assert min(seen) >= 100_000
    assert gc.get_threshold() == (701, 11, 12)


def test_so_does_one_that_fails() -> None:
    gc.set_threshold(701, 11, 12)
    with pytest.raises(ValueError, match="why"), rare_collections():
        raise ValueError("why")
    assert gc.get_threshold() == (701, 11, 12)


def test_one_that_is_switched_off_stays_off() -> None:
    gc.set_threshold(0, 11, 12)
    with rare_collections():
        assert gc.get_threshold() == (0, 11, 12)


def test_what_a_search_leaves_is_old_so_that_it_is_not_looked_through_at_once() -> None:
    gc.set_threshold(700, 10, 10)
    with rare_collections():
        kept = [[number] for number in range(20_000)]
        assert gc.get_count()[0] > len(kept) - 1000
    assert gc.get_count()[0] < 1000
    assert gc.get_freeze_count() == 0


@pytest.mark.slow
def test_what_was_frozen_before_stays_so() -> None:
    gc.set_threshold(700, 10, 10)
    kept = [[number] for number in range(20_000)]
    gc.freeze()
    try:
        with rare_collections():
            assert gc.get_freeze_count() > len(kept)
        assert gc.get_freeze_count() > len(kept)
    finally:
        gc.unfreeze()
