"""A search whose states do not fit into memory goes on in files, finds the same, and leaves nothing."""

import os
from collections.abc import Callable
from contextlib import suppress
from itertools import chain, pairwise, repeat
from pathlib import Path
from random import Random

import numpy as np
import pytest

from tests.explore.at_once.test_many import ABRUPT, ANY, SPACES, space
from tests.explore.told import everything, states_of
from tests.tiers import sweep
from zabcheck.explore import portions as portions_module
from zabcheck.explore import space as module
from zabcheck.explore.bounds import Bounds
from zabcheck.explore.results import Progress
from zabcheck.explore.space import Space
from zabcheck.explore.states import spilled as spilled_module
from zabcheck.explore.states.compact import Compact, Tree
from zabcheck.explore.states.memory import CannotSpill
from zabcheck.explore.states.spilled import InFiles, SortedRun, merged

MEMORY = 100
NEVER = 1 << 40
SMALL = Bounds(2, 1, 1, ANY, 1)


def memory_is(*amounts: int) -> Callable[[], int]:
    """Return what tells these amounts, one after the other, and the last one from then on."""
    told = chain(amounts, repeat(amounts[-1]))
    return lambda: next(told)


@pytest.fixture
def soon(monkeypatch: pytest.MonkeyPatch) -> None:
    """Memory is used up once some states were expanded, and few states wait, a few keys are in a block."""
    monkeypatch.setattr(portions_module, "LARGE", 1)
    monkeypatch.setattr(module, "_LOOK", 20)
    monkeypatch.setattr(module, "used", memory_is(MEMORY + 1, MEMORY + 1, 0))
    monkeypatch.setattr(spilled_module, "_FEWEST", 30)
    monkeypatch.setattr(spilled_module, "_EACH", NEVER)
    monkeypatch.setattr(spilled_module, "_BLOCK", 7)


def spilled(searched: Space, folder: Path) -> tuple[object, ...]:
    """Explore so that the states have to go to files; return everything that is found."""
    found = everything(searched, memory=MEMORY, folder=folder)
    assert isinstance(searched.states, InFiles)
    return found


@pytest.mark.usefixtures("soon")
@pytest.mark.parametrize("name", sweep(("neither", "cuts"), normal=("neither",)))
def test_in_files_the_same_is_found(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    bounds, switches, how = SPACES[name]
    in_files = spilled(space(bounds, switches, **how), tmp_path)
    monkeypatch.setattr(portions_module, "LARGE", NEVER)
    assert in_files == everything(space(bounds, switches, **how))
    assert list(tmp_path.iterdir()) == []


@pytest.mark.usefixtures("soon")
@pytest.mark.parametrize("mutant", sweep(("keep-own-history", "commit-on-own-ack"), normal=("commit-on-own-ack",)))
def test_known_bugs_are_found_by_the_same_runs(mutant: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    bounds = Bounds(2, 2, 1, 1, 1)
    in_files = everything(space(bounds, ABRUPT, mutant), memory=MEMORY, folder=tmp_path)
    monkeypatch.setattr(portions_module, "LARGE", NEVER)
    assert in_files == everything(space(bounds, ABRUPT, mutant))


@pytest.mark.usefixtures("soon")
def test_progress_tells_what_is_in_files(tmp_path: Path) -> None:
    told = list[Progress]()
    searched = space(SMALL, ABRUPT)
    searched.explore(MEMORY, told.append, folder=tmp_path)
    assert told[0].on_disk == 0
    for each in told[1:]:
        assert each.on_disk >= each.states * (8 + 4 + 2 + 1 + 8)  # a key is in its column and in a run


@pytest.mark.slow
@pytest.mark.usefixtures("soon")
def test_states_in_files_are_in_the_checkpoint(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Memory ends again, and now nothing helps: the search goes on from there later."""
    file, ended = tmp_path / "checkpoint", space(SMALL, ABRUPT)
    monkeypatch.setattr(module, "used", memory_is(MEMORY + 1, MEMORY + 1, 0, 0, 0, MEMORY + 1))
    unfinished = ended.explore(MEMORY, folder=tmp_path, checkpoint=file)
    assert isinstance(ended.states, InFiles)
    assert not unfinished.whole
    assert unfinished.states == len(list(ended.rows()))
    monkeypatch.setattr(module, "used", memory_is(MEMORY + 1, MEMORY + 1, 0))
    resumed, whole = space(SMALL, ABRUPT), space(SMALL, ABRUPT)
    assert resumed.explore(MEMORY, folder=tmp_path, checkpoint=file, resume=True) == whole.explore()
    assert isinstance(resumed.states, InFiles)
    assert states_of(resumed) == states_of(whole)


@pytest.mark.usefixtures("soon")
def test_where_tables_alone_use_up_memory_nothing_is_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "used", lambda: 1 << 50)
    searched = space(SMALL, ABRUPT)
    assert not searched.explore(MEMORY, folder=tmp_path).whole
    assert isinstance(searched.states, Compact)


def open_files(folder: Path) -> list[str]:
    """The files in this folder that this process has open, those without a name too."""
    found = []
    for handle in os.listdir("/proc/self/fd"):
        with suppress(FileNotFoundError):  # that of the list itself
            found.append(os.readlink(f"/proc/self/fd/{handle}"))
    return [file for file in found if file.startswith(str(folder))]


@pytest.mark.usefixtures("soon")
def test_after_ctrl_c_nothing_is_left(tmp_path: Path) -> None:
    searched, calls = space(SMALL, ABRUPT), iter(range(10))

    def look() -> None:
        if next(calls, None) is None:
            raise KeyboardInterrupt

    ended = searched.explore(MEMORY, folder=tmp_path, look_for_interrupt=look)
    assert ended.interrupted
    assert isinstance(searched.states, InFiles)
    assert ended.states == len(searched.states)
    assert list(tmp_path.iterdir()) == []  # also while the search is there, so after kill -9, too
    assert open_files(tmp_path)
    del searched
    assert open_files(tmp_path) == []


@pytest.mark.usefixtures("soon")
def test_files_that_cannot_be_written_are_named(tmp_path: Path) -> None:
    folder = tmp_path / "file"
    folder.touch()
    with pytest.raises(CannotSpill, match=rf"^{folder}: "):
        space(SMALL, ABRUPT).explore(MEMORY, folder=folder)


# The files.


def keys_of(rng: Random, most: int, number: int) -> list[int]:
    return sorted({rng.randrange(most) for _ in range(number)})


@pytest.fixture
def short_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spilled_module, "_BLOCK", 7)


@pytest.mark.usefixtures("short_blocks")
@pytest.mark.parametrize("number", [1, 7, 14, 100])
def test_a_run_has_what_was_put_into_it(number: int, tmp_path: Path) -> None:
    rng = Random(number)
    keys = keys_of(rng, 1 << 64, number)
    run = SortedRun(tmp_path)
    for start in range(0, len(keys), 5):
        run.append(np.array(keys[start : start + 5], np.uint64))
    asked = sorted({0, (1 << 64) - 1, *keys, *(key ^ 1 for key in keys)})
    assert run.has(np.array(asked, np.uint64)).tolist() == [key in keys for key in asked]
    for few in (asked[:1], asked[-1:], keys[:1], keys[-1:]):
        assert run.has(np.array(few, np.uint64)).tolist() == [few[0] in keys]


@pytest.mark.usefixtures("short_blocks")
@pytest.mark.parametrize("sizes", [(1, 1), (100, 3), (3, 100), (50, 60)])
def test_runs_are_merged_in_order(sizes: tuple[int, int], tmp_path: Path) -> None:
    rng = Random(1)
    one = keys_of(rng, 1 << 64, sizes[0])
    other = keys_of(rng, one[-1], sizes[1])
    runs = [SortedRun(tmp_path), SortedRun(tmp_path)]
    for run, keys in zip(runs, (one, other), strict=True):
        run.append(np.array(keys, np.uint64))
    whole = merged(*runs, tmp_path)
    both = sorted((*one, *other))
    assert np.concatenate(list(whole.blocks())).tolist() == both
    assert whole.has(np.array(both, np.uint64)).all()


def test_there_are_few_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spilled_module, "_FEWEST", 100)
    rng, states, known = Random(1), Compact(Tree(3)), dict[tuple[int, ...], None]()
    states.add(np.zeros((1, 3), np.int64), *np.zeros((3, 1), np.int64))
    known[0, 0, 0] = None
    in_files = InFiles(states, tmp_path, 0)
    for _ in range(100):
        rows = [tuple(rng.randrange(20) for _ in range(3)) for _ in range(100)]
        in_files.add(np.array(rows), *np.zeros((3, 100), np.int64))
        known |= dict.fromkeys(rows)
    in_files.settle()
    assert list(in_files.rows()) == list(known)
    sizes = [len(run) for run in in_files._runs]
    assert sum(sizes) == len(known)
    assert all(before >= 2 * after for before, after in pairwise(sizes))
