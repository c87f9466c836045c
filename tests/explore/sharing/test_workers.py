"""However many processes search, they find what one finds, in the same order."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import Any

import pytest

from invariants import select
from invariants.quorums import quorums_of
from tests.explore.at_once.test_many import BY_VOTE, by_vote
from tests.explore.states.test_spilled import MEMORY, memory_is
from tests.explore.told import all_of
from tests.tiers import sweep
from zabcheck.explore import space as module
from zabcheck.explore.at_once import many as many_module
from zabcheck.explore.bounds import UNLIMITED, Bounds
from zabcheck.explore.explored import Progress
from zabcheck.explore.sharing import portions as portions_module
from zabcheck.explore.sharing import slicing as slicing_module
from zabcheck.explore.sharing.dealing import Deck
from zabcheck.explore.sharing.merging import Merge
from zabcheck.explore.sharing.portions import PortionAnswer, Portions
from zabcheck.explore.sharing.slicing import Answer, Sharing
from zabcheck.explore.sharing.workers import WorkerDied, cpu_seconds, forked
from zabcheck.explore.space import Space
from zabcheck.explore.states.spilled import Spilled
from zabcheck.explore.tables.judges import judged_in_every_state
from zabcheck.mutants.catalogue import mutated
from zabcheck.protocols.switches import Switches

PROPERTIES = tuple(kind for kind in select(None) if judged_in_every_state(kind))
ATOMIC, ABRUPT = Switches(sync="atomic"), Switches(sync="atomic", closing="abrupt")
ROOT = Path(__file__).parents[3]
TIMEOUT = 600
"""Seconds; only ends what hangs."""

SPACES: dict[str, tuple[str | None, Bounds, Switches, dict[str, bool]]] = {
    "symmetry": (None, Bounds(3, 1, 1, 1, 0), ATOMIC, {}),
    "reduction": (None, Bounds(3, 1, 1, 1, 1), ABRUPT, {"reduction": True}),
    "reduction alone": (None, Bounds(3, 1, 1, 0, 0), ATOMIC, {"symmetry": False, "reduction": True}),
    "unlimited faults": (None, Bounds(2, 2, 1, UNLIMITED, UNLIMITED), ABRUPT, {"reduction": True}),
    "neither": (None, Bounds(2, 2, 1, 2, 0), ATOMIC, {"symmetry": False}),
    "a mutant": ("reuse-highest-epoch", Bounds(3, 2, 1, 1, 1), ABRUPT, {"reduction": True}),
    "a mutant, with symmetry": ("commit-on-own-ack", Bounds(3, 2, 1, 1, 0), ATOMIC, {}),
    "a mutant, with neither": ("commit-on-own-ack", Bounds(3, 2, 1, 1, 0), ATOMIC, {"symmetry": False}),
}


def space(name: str, quorums: str = "majority") -> Space:
    mutant, bounds, switches, reduced = SPACES[name]
    family = quorums_of(quorums, bounds.processes)
    return Space(mutated("zab", mutant), family, switches, bounds, PROPERTIES, **reduced)


@pytest.fixture
def small_levels(monkeypatch: pytest.MonkeyPatch) -> None:
    """Levels are shared that are not worth it, in portions of a few states; numpy is not used."""
    monkeypatch.setattr(slicing_module, "LARGE", 40)
    monkeypatch.setattr(module, "PORTION", 50)
    monkeypatch.setattr(module, "find_spec", lambda _: None)


@pytest.fixture
def small_levels_in_arrays(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same, and numpy is used."""
    monkeypatch.setattr(slicing_module, "LARGE", 40)
    monkeypatch.setattr(module, "LARGE", 1)
    monkeypatch.setattr(portions_module, "LARGE", 40)
    monkeypatch.setattr(portions_module, "_LEAST", 10)
    monkeypatch.setattr(portions_module, "_MOST", 50)
    monkeypatch.setattr(many_module, "FEWEST", 20)
    monkeypatch.setattr(many_module, "MOST", 80)


@pytest.mark.usefixtures("small_levels_in_arrays")
@pytest.mark.parametrize("name", sweep(SPACES, normal=("a mutant, with symmetry",)))
def test_any_number_of_workers_finds_in_arrays_what_one_finds(name: str) -> None:
    one, several = space(name), space(name)
    assert all_of(several, several.explore(workers=3)) == all_of(one, one.explore())


@pytest.fixture
def workers_alone(small_levels_in_arrays: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """The search expands no states itself, where a level is shared: it takes over all that there is."""
    draws = Deck.draws

    def drawn(self: Deck, part: int) -> Iterator[int]:
        return iter(()) if part == 0 else draws(self, part)

    monkeypatch.setattr(Deck, "draws", drawn)


@pytest.mark.usefixtures("workers_alone")
@pytest.mark.parametrize("name", sweep(SPACES, normal=("unlimited faults",)))
def test_what_workers_alone_find_in_arrays_is_what_one_finds(name: str) -> None:
    one, several = space(name), space(name)
    assert all_of(several, several.explore(workers=2)) == all_of(one, one.explore())


@pytest.mark.slow
@pytest.mark.usefixtures("workers_alone")
@pytest.mark.parametrize("name", BY_VOTE)
def test_what_workers_find_of_elections_by_vote_is_what_one_finds(name: str) -> None:
    bounds, switches, how = BY_VOTE[name]
    one, several = by_vote(bounds, switches, **how), by_vote(bounds, switches, **how)
    assert all_of(several, several.explore(workers=3)) == all_of(one, one.explore())


@pytest.mark.slow
@pytest.mark.usefixtures("workers_alone")
@pytest.mark.parametrize("mutant", ["ignore-closed-connection", "redeliver-with-gap", "commit-only-named"])
def test_workers_find_known_bugs_by_the_same_runs(mutant: str) -> None:
    protocol, bounds = mutated("zab", mutant), Bounds(2, 2, 1, 1, 1)
    one, several = (
        Space(protocol, quorums_of("majority", 2), ABRUPT, bounds, PROPERTIES, reduction=True) for _ in range(2)
    )
    assert all_of(several, several.explore(workers=3)) == all_of(one, one.explore())


@pytest.mark.slow
@pytest.mark.usefixtures("workers_alone")
@pytest.mark.parametrize("name", ["unlimited faults", "symmetry"])
def test_arrays_go_on_from_a_checkpoint_of_any_number_of_workers(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also if it was written in the middle of a level: numbers are given in the order of the journal alone."""
    monkeypatch.setattr(module, "_LOOK", 300)
    one = space(name)
    expected = all_of(one, one.explore())
    for first, second in ((1, 3), (3, 2)):
        file, rounds = tmp_path / f"checkpoint of {first} and {second}", 0
        found = space(name).explore(memory=1, checkpoint=file, workers=first)
        while not found.whole:
            resumed, rounds = space(name), rounds + 1
            memory = 1 if rounds < 4 else float("inf")
            found = resumed.explore(memory, checkpoint=file, resume=True, workers=second)
        assert rounds == 4
        assert all_of(resumed, found) == expected


@pytest.mark.slow
@pytest.mark.usefixtures("small_levels_in_arrays")
def test_states_go_to_files_while_workers_expand_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """From then on no level is shared."""
    one, several = space("neither"), space("neither")
    expected = all_of(one, one.explore())
    monkeypatch.setattr(module, "_LOOK", 60)
    monkeypatch.setattr(module, "used", memory_is(*[0] * 40, MEMORY + 1, MEMORY + 1, 0))
    assert all_of(several, several.explore(workers=2, memory=MEMORY, folder=tmp_path)) == expected
    assert isinstance(several.states, Spilled)


@pytest.mark.usefixtures("workers_alone")
def test_workers_expand_states_in_arrays_and_leave_none_to_the_search(monkeypatch: pytest.MonkeyPatch) -> None:
    answered, left = list[int](), list[bytes]()
    take = Portions._take

    def noted(self: Portions, portions: Sequence[range], merge: Merge, answer: PortionAnswer) -> Any:
        answered.append(len(portions[answer.portion]))
        left.append(answer.found[0])
        return take(self, portions, merge, answer)

    monkeypatch.setattr(Portions, "_take", noted)
    explored = space("neither").explore(workers=2)
    assert sum(answered) > explored.states / 2
    assert not b"".join(left)


@pytest.mark.usefixtures("small_levels")
@pytest.mark.parametrize("name", sweep(SPACES, normal=("a mutant, with symmetry",)))
def test_any_number_of_workers_finds_what_one_finds(name: str) -> None:
    one = space(name)
    expected = all_of(one, one.explore())
    for workers in (2, 3):
        several = space(name)
        assert all_of(several, several.explore(workers=workers)) == expected


@pytest.mark.usefixtures("small_levels")
@pytest.mark.parametrize("share", [0.02, 0.3, 0.9])
@pytest.mark.slow
def test_how_a_level_is_cut_makes_no_difference(share: float, monkeypatch: pytest.MonkeyPatch) -> None:
    one = space("unlimited faults")
    expected = all_of(one, one.explore())

    def learn(self: Sharing, own: float, worker: float, taking: float) -> None:
        self.share = share

    monkeypatch.setattr(Sharing, "learn", learn)
    several = space("unlimited faults")
    assert all_of(several, several.explore(workers=2)) == expected


@pytest.mark.slow
@pytest.mark.usefixtures("small_levels")
def test_quorums_that_treat_processes_differently() -> None:
    one, several = space("symmetry", "weights 2,1,1"), space("symmetry", "weights 2,1,1")
    assert all_of(several, several.explore(levels=14, workers=2)) == all_of(one, one.explore(levels=14))


@pytest.mark.slow
@pytest.mark.usefixtures("small_levels")
def test_workers_go_on_from_a_checkpoint_of_one_process_and_the_other_way_round(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_LOOK", 500)
    one = space("unlimited faults")
    expected = all_of(one, one.explore())
    for first, second in ((1, 2), (2, 1)):
        file = tmp_path / f"checkpoint of {first}"
        assert not space("unlimited faults").explore(memory=1, checkpoint=file, workers=first).whole
        resumed = space("unlimited faults")
        assert all_of(resumed, resumed.explore(checkpoint=file, resume=True, workers=second)) == expected


def test_the_work_is_shared(monkeypatch: pytest.MonkeyPatch) -> None:
    """Else all the tests above would be of one process. Most of what workers find is taken over."""
    taken: list[Answer] = []
    take = Space._take

    def noted(self: Space, rows: list[tuple[int, ...]], answer: Answer) -> object:
        taken.append(answer)
        return take(self, rows, answer)

    monkeypatch.setattr(Space, "_take", noted)
    monkeypatch.setattr(slicing_module, "LARGE", 40)
    monkeypatch.setattr(module, "find_spec", lambda _: None)
    explored = space("symmetry").explore(workers=2)
    counts = [transitions for answer in taken for transitions, _ in answer.counts()]
    taken_over = [each for each in counts if each != slicing_module.AGAIN]
    assert explored.states / 4 < len(taken_over)
    assert len(counts) / 3 < len(taken_over)


def test_a_level_is_cut_in_order() -> None:
    level = [(number,) for number in range(5000)]
    for number in (1, 2, 3, 7):
        slices = Sharing(number).slices(level)
        assert list(chain.from_iterable(slices)) == level
        assert len(slices) == number
    assert Sharing(4).slices(level[:100]) == [level[:100]]


# Workers that die, and none that stays.


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The processes that are forked in this test, and no others of this process: Spark's, of another test, may run."""
    pids: list[int] = []
    fork = os.fork

    def noted() -> int:
        if pid := fork():
            pids.append(pid)
        return pid

    monkeypatch.setattr(os, "fork", noted)
    return pids


def assert_ended(pids: list[int]) -> None:
    """They are gone, and have been waited for: nothing is left of them, not even a zombie."""
    for pid in pids:
        with pytest.raises(ChildProcessError):
            os.waitpid(pid, os.WNOHANG)


def test_a_worker_that_is_killed_ends_the_search(started: list[int]) -> None:
    def killed() -> Iterator[Answer]:
        os.kill(os.getpid(), signal.SIGKILL)
        yield from ()

    with forked([killed]) as [worker], pytest.raises(WorkerDied, match=r"^a worker process was ended by SIGKILL, so"):
        worker.answer(Answer)
    assert len(started) == 1
    assert_ended(started)


def test_a_worker_that_fails_ends_the_search_and_says_why(
    started: list[int], capfd: pytest.CaptureFixture[str]
) -> None:
    def failing() -> Iterator[Answer]:
        yield from ()
        raise MemoryError

    with (
        forked([failing]) as [worker],
        pytest.raises(WorkerDied, match=r"^a worker process failed with exit code 1, so"),
    ):
        worker.answer(Answer)
    assert len(started) == 1
    assert_ended(started)
    said = capfd.readouterr().err
    assert said.startswith("Traceback (most recent call last):")
    assert said.endswith("\nMemoryError\n")


@pytest.mark.slow
@pytest.mark.parametrize("levels", ["small_levels", "small_levels_in_arrays"])
def test_no_worker_is_left_when_the_search_ends_early(
    levels: str, started: list[int], request: pytest.FixtureRequest
) -> None:
    request.getfixturevalue(levels)

    def stop(at: Progress) -> None:
        assert len(started) >= 2  # for each level two
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        space("reduction").explore(on_progress=stop, workers=3)
    assert_ended(started)


def test_the_time_of_workers_counts() -> None:
    def busy() -> Iterator[Answer]:
        while time.process_time() < 0.3:
            pass
        yield from ()

    before = cpu_seconds()
    with forked([busy]) as [worker]:
        while not worker.has_ended:
            worker.drain()
    assert cpu_seconds() - before > 0.25


def test_no_worker_is_left_that_waits(started: list[int]) -> None:
    def waiting() -> Iterator[Answer]:
        signal.pause()
        yield from ()

    def interrupted() -> None:
        with forked([waiting, waiting]):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert len(started) == 2
    assert_ended(started)


@pytest.mark.slow
def test_ctrl_c_ends_all_of_them() -> None:
    """As a terminal does it: all processes of the group get it."""
    program = (
        "from tests.explore.sharing.test_workers import *; from invariants.quorums import Quorums;"
        "slicing_module.LARGE = 40; tell = lambda at: print(flush=True);"
        "Space(mutated('zab'), Quorums(3), ABRUPT, Bounds(3, 2, 2, 2, 2), PROPERTIES, reduction=True)"
        ".explore(on_progress=tell, workers=2)"
    )
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-c", program]
    searching = subprocess.Popen(
        command,
        cwd=ROOT,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
        # Whoever runs the tests in the background may have them ignore Ctrl-C.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    assert searching.stdout is not None
    searching.stdout.readline()
    os.killpg(searching.pid, signal.SIGINT)
    _, said = searching.communicate(timeout=TIMEOUT)
    assert searching.returncode == -signal.SIGINT
    assert said.count(b"KeyboardInterrupt") == 1
    deadline = time.monotonic() + TIMEOUT
    while time.monotonic() < deadline:
        try:
            os.killpg(searching.pid, 0)
        except ProcessLookupError:
            return
        time.sleep(0.01)
    pytest.fail("a worker is left")
