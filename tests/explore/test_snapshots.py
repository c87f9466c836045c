"""Exhaustive searches in which processes write snapshots although nothing asks them to, and restore them."""

import pytest

from tests.tiers import sweep
from zabcheck.explore import Bounds, explore

BOUNDS = {
    "two processes": Bounds(2, 1, 2, 0, 1, snapshots=1),
    "two epochs": Bounds(2, 2, 2, 1, 1, snapshots=1),
    "two snapshots": Bounds(2, 1, 2, 0, 2, snapshots=2),
}
CASES = [*(("zab", name) for name in BOUNDS), ("ladis", "two processes"), ("ladis", "two snapshots")]


@pytest.mark.parametrize(("protocol", "name"), sweep(CASES, normal=[("zab", "two processes")]))
def test_a_process_that_restores_a_snapshot_goes_on_from_it(protocol: str, name: str) -> None:
    """In what is judged, too: the judges took the transactions behind the snapshot for a fork."""
    found = explore(protocol, bounds=BOUNDS[name])
    assert (found.whole, found.broken) == (True, None)


@pytest.mark.slow
def test_a_bug_is_found_as_soon_where_there_are_snapshots() -> None:
    without, with_snapshots = (
        explore("zab", mutant="no-truncation", bounds=Bounds(2, 3, 2, 1, 1, snapshots=snapshots))
        for snapshots in (0, 1)
    )
    assert (with_snapshots.broken, with_snapshots.steps) == (without.broken, without.steps)
