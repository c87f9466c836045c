"""What several processes find is what one finds, in the same order."""

import os
import signal
from collections.abc import Iterator
from itertools import chain

import pytest

from invariants import select
from invariants.quorums import Quorums
from zabcheck.mutants.catalogue import mutated
from zabcheck.protocols.switches import Switches
from zabcheck.search.explore import workers as shared
from zabcheck.search.explore.bounds import UNLIMITED, Bounds
from zabcheck.search.explore.space import Space, judged_in_every_state
from zabcheck.search.explore.workers import Answer, Answering, Sharing, WorkerDied, forked

KINDS = tuple(kind for kind in select(None) if judged_in_every_state(kind))
ABRUPT = Switches(sync="atomic", closing="abrupt")


def space(bounds: Bounds, mutant: str | None, *, symmetry: bool, reduction: bool) -> Space:
    quorums = Quorums(bounds.processes)
    return Space(mutated("zab", mutant), quorums, ABRUPT, bounds, KINDS, symmetry=symmetry, reduction=reduction)


@pytest.mark.parametrize(
    ("bounds", "mutant", "symmetry", "reduction"),
    [
        (Bounds(3, 1, 1, 1, 0), None, True, True),
        pytest.param(Bounds(3, 1, 1, 1, 0), None, True, False, marks=pytest.mark.slow),
        pytest.param(Bounds(3, 1, 1, 1, 0), None, False, True, marks=pytest.mark.slow),
        (Bounds(2, 2, 1, UNLIMITED, UNLIMITED), None, True, True),
        (Bounds(2, 1, 1, UNLIMITED, UNLIMITED), None, False, False),
        (Bounds(3, 2, 1, 1, 0), "reuse-highest-epoch", True, False),
        (Bounds(2, 2, 2, 1, 0), "broadcast-before-established", True, True),
    ],
)
def test_the_number_of_workers_changes_nothing(
    bounds: Bounds, mutant: str | None, symmetry: bool, reduction: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shared, "LARGE", 20)
    searches = [space(bounds, mutant, symmetry=symmetry, reduction=reduction) for _ in range(3)]
    found = [each.explore(workers=number) for number, each in enumerate(searches, 1)]
    assert found[0] == found[1] == found[2]
    assert list(searches[0].rows()) == list(searches[1].rows()) == list(searches[2].rows())


def dying() -> Iterator[Answer]:
    os.kill(os.getpid(), signal.SIGKILL)
    yield Answering().answer((), 0)


def failing() -> Iterator[Answer]:
    raise SystemExit(3)
    yield Answering().answer((), 0)


def test_a_worker_that_dies_is_no_hang() -> None:
    with (
        forked([dying]) as [worker],
        pytest.raises(WorkerDied, match=r"^a worker process was ended by SIGKILL, so the"),
    ):
        worker.answer()
    with forked([failing]) as [worker], pytest.raises(WorkerDied, match=r"failed with exit code 1"):
        worker.answer()


def waiting() -> Iterator[Answer]:
    signal.pause()
    yield Answering().answer((), 0)


def test_no_worker_is_left() -> None:
    pids = []

    def interrupted() -> None:
        with forked([waiting, waiting]) as workers:
            pids.extend(worker._pid for worker in workers)
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert len(pids) == 2
    for pid in pids:
        with pytest.raises(ChildProcessError):
            os.waitpid(pid, os.WNOHANG)


def test_a_level_is_cut_in_order() -> None:
    level = [(number,) for number in range(5000)]
    for number in (1, 2, 3, 7):
        slices = Sharing(number).slices(level)
        assert list(chain.from_iterable(slices)) == level
        assert len(slices) == number
    assert Sharing(4).slices(level[:100]) == [level[:100]]
