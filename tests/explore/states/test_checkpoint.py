"""A search that was killed goes on from its checkpoint, and finds what it would have found."""

import hashlib
import json
import os
import signal
from collections.abc import Callable
from itertools import count
from pathlib import Path

import pytest

from invariants import Invariant, select
from invariants.quorums import Quorums
from tests.explore.told import all_of
from tests.tiers import sweep
from zabcheck.explore import portions as portions_module
from zabcheck.explore import space as module
from zabcheck.explore.at_once import many as many_module
from zabcheck.explore.bounds import Bounds
from zabcheck.explore.judges import judged_in_every_state
from zabcheck.explore.results import Progress
from zabcheck.explore.space import Space
from zabcheck.explore.states.checkpoint import CheckpointError, steps_of
from zabcheck.mutants.catalogue import CATALOGUE, mutated
from zabcheck.protocols.switches import Switches

PROPERTIES = tuple(kind for kind in select(None) if judged_in_every_state(kind))
ATOMIC = Switches(sync="atomic")
Properties = tuple[type[Invariant], ...]
A_TIMEOUT = Bounds(3, 1, 1, 1, 0)
"""10,499 states."""

SPACES: dict[str, tuple[str | None, Bounds, dict[str, bool]]] = {
    "small": (None, Bounds(2, 2, 1, 1, 0), {}),
    "symmetry": (None, Bounds(2, 2, 1, 1, 1), {}),
    "reduction": (None, Bounds(3, 1, 1, 1, 0), {"reduction": True}),
    "neither": (None, Bounds(2, 2, 1, 2, 0), {"symmetry": False}),
    "a mutant": ("reuse-highest-epoch", Bounds(3, 2, 1, 1, 1), {"reduction": True}),
}
ORDER = tuple(select("total order"))


def space(mutant: str | None, bounds: Bounds, properties: Properties = PROPERTIES, **reduced: bool) -> Space:
    return Space(mutated("zab", mutant), Quorums(bounds.processes), ATOMIC, bounds, properties, **reduced)


@pytest.fixture(autouse=True)
def go_on_from_small_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    """A search of so few states would begin anew."""
    monkeypatch.setattr(module, "RECHECKED", 0)


@pytest.mark.parametrize(
    "name",
    sweep(SPACES, normal=("small",)),
)
def test_a_search_in_portions_finds_what_one_without_a_break_finds(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_LOOK", 100 if name == "small" else 1000)
    mutant, bounds, reduced = SPACES[name]
    whole = space(mutant, bounds, **reduced)
    expected = all_of(whole, whole.explore())
    file = tmp_path / "checkpoint"
    searched = space(mutant, bounds, **reduced)
    explored, portions = searched.explore(memory=1, checkpoint=file), 1
    while not explored.whole and explored.broken is None:
        searched = space(mutant, bounds, **reduced)
        explored, portions = searched.explore(memory=1, checkpoint=file, resume=True), portions + 1
    assert portions > 2
    assert all_of(searched, explored) == expected


@pytest.mark.slow
@pytest.mark.parametrize("large", [1, 1 << 40], ids=["at once", "one by one"])
def test_a_search_that_begins_again_goes_on_from_any_checkpoint(
    large: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It begins again when epoch uniqueness is exercised: before that, and after it, and with what came of it."""
    begun: list[int] = []
    begin_again = Space._begin_again

    def beginning(self: Space) -> None:
        begun.append(len(self.states))
        begin_again(self)

    monkeypatch.setattr(Space, "_begin_again", beginning)
    monkeypatch.setattr(portions_module, "LARGE", large)
    monkeypatch.setattr(module, "_LOOK", 1)
    monkeypatch.setattr(portions_module, "ONE_BY_ONE", 200)
    monkeypatch.setattr(many_module, "FEWEST", 200)
    monkeypatch.setattr(many_module, "MOST", 200)
    bounds = Bounds(3, 1, 0, 1, 0)
    whole = space(None, bounds, reduction=True)
    expected = all_of(whole, whole.explore())
    assert len(begun) == 1
    file, searched = tmp_path / "checkpoint", space(None, bounds, reduction=True)
    explored, portions = searched.explore(memory=1, checkpoint=file), 1
    while not explored.whole:
        searched = space(None, bounds, reduction=True)
        explored, portions = searched.explore(memory=1, checkpoint=file, resume=True), portions + 1
    assert portions > 8
    assert len(begun) == 2
    assert all_of(searched, explored) == expected


def test_a_search_that_is_over_is_over_again(tmp_path: Path) -> None:
    file, searched = tmp_path / "checkpoint", space(None, Bounds(2, 1, 0, 1, 0))
    explored = searched.explore()
    searched.checkpoint(file)
    for _ in range(2):
        again = space(None, Bounds(2, 1, 0, 1, 0))
        assert again.explore(checkpoint=file, resume=True) == explored
        again.checkpoint(file)


def killed(search: Callable[[], object]) -> None:
    """Search in a process of its own, and see that SIGKILL ended it."""
    pid = os.fork()
    if not pid:
        try:
            search()
        finally:
            os._exit(1)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == -signal.SIGKILL


def kill_at(number: int) -> Callable[[object], None]:
    """Return a function that kills the process when it is called for the nth time."""
    calls = count(1)

    def called(_: object) -> None:
        if next(calls) == number:
            os.kill(os.getpid(), signal.SIGKILL)

    return called


@pytest.mark.slow
def test_a_search_that_is_killed_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """SIGKILL between two checkpoints; while one is written; and between two of the process that went on."""
    monkeypatch.setattr(module, "_LOOK", 1000)
    file = tmp_path / "checkpoint"

    def search(resume: bool = True) -> None:
        space(None, A_TIMEOUT, ORDER).explore(on_progress=kill_at(3), checkpoint=file, every=0, resume=resume)

    def search_and_write() -> None:
        os.fsync = kill_at(1)  # nobody else sees this: the process ends
        search()

    killed(lambda: search(resume=False))
    first = file.read_bytes()
    killed(search_and_write)
    assert file.read_bytes() == first
    killed(search)
    assert file.read_bytes() != first
    whole, resumed = space(None, A_TIMEOUT, ORDER), space(None, A_TIMEOUT, ORDER)
    expected = all_of(whole, whole.explore())
    assert all_of(resumed, resumed.explore(checkpoint=file, resume=True)) == expected
    assert len(resumed.components.processes) == len(whole.components.processes)


def interrupt_at(number: int) -> Callable[[], None]:
    """Return a function that says, from its nth call on, that Ctrl-C has come."""
    calls = count(1)

    def look() -> None:
        if next(calls) >= number:
            raise KeyboardInterrupt

    return look


@pytest.mark.slow
def test_ctrl_c_writes_a_checkpoint_and_leaves_the_figures_so_far(tmp_path: Path) -> None:
    """Long before one is due, and after fewer states than progress is told at."""
    file, told = tmp_path / "checkpoint", list[Progress]()
    searched = space(None, A_TIMEOUT, ORDER)
    ended = searched.explore(on_progress=told.append, checkpoint=file, look_for_interrupt=interrupt_at(3))
    assert (ended.interrupted, ended.whole, ended.broken) == (True, False, None)
    assert (ended.states, ended.transitions) == told[-1][:3:2]
    assert 0 < told[-1].expanded < module._LOOK
    whole, resumed, shown = space(None, A_TIMEOUT, ORDER), space(None, A_TIMEOUT, ORDER), list[Progress]()
    expected = all_of(whole, whole.explore())
    found = resumed.explore(on_progress=shown.append, checkpoint=file, resume=True)
    assert shown[0] == told[-1]
    assert all_of(resumed, found) == expected


def test_ctrl_c_without_a_checkpoint_leaves_the_figures_so_far() -> None:
    ended = space(None, A_TIMEOUT, ORDER).explore(look_for_interrupt=interrupt_at(2))
    assert (ended.interrupted, ended.whole) == (True, False)
    assert ended.states > 1


@pytest.mark.slow
def test_progress_is_told_before_the_tables_are_filled_again(made: Path) -> None:
    searched = space(None, A_TIMEOUT)

    class Told(Exception):
        pass

    def told(at: Progress) -> None:
        assert at.expanded > 0
        assert all(table == "local states" for table, _ in searched.components.journal)
        raise Told

    with pytest.raises(Told):
        searched.explore(on_progress=told, checkpoint=made, resume=True)


# Files that it cannot go on from.


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("checkpoints") / "checkpoint"
    assert not space(None, A_TIMEOUT).explore(memory=1, checkpoint=file).whole
    return file


def refusal(file: Path, searched: Space | None = None) -> str:
    searched = searched or space(None, A_TIMEOUT)
    with pytest.raises(CheckpointError) as refused:
        searched.explore(checkpoint=file, resume=True)
    message = str(refused.value)
    assert message.startswith(f"{file}: expected a ")
    assert "\n" not in message
    return message.removeprefix(f"{file}: expected a ")


def test_no_file(tmp_path: Path) -> None:
    assert refusal(tmp_path / "none") == "checkpoint: No such file or directory"


@pytest.mark.parametrize("content", [b"", b"\n", b"{}\n", b'{"format": 8}\n', b"PK\x03\x04" * 100, b"[1]\n"])
def test_another_file(content: bytes, tmp_path: Path) -> None:
    file = tmp_path / "other"
    file.write_bytes(content)
    assert refusal(file) == "checkpoint, found another file"


def test_a_damaged_file(made: Path, tmp_path: Path) -> None:
    file, content = tmp_path / "damaged", made.read_bytes()
    for damaged in (
        content[:-1],
        content[: len(content) // 2],
        content + b"\0",
        content[:-40] + bytes(8) + content[-32:],
    ):
        file.write_bytes(damaged)
        assert refusal(file) == "whole checkpoint, found one that is damaged or cut short"


def test_another_format(made: Path, tmp_path: Path) -> None:
    file = tmp_path / "later"
    file.write_bytes(made.read_bytes().replace(b'"format":8', b'"format":7', 1))
    assert refusal(file) == "checkpoint of format 8, found format 7"


def test_another_version(made: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("zabcheck.explore.states.checkpoint.version", lambda _: "99")
    assert refusal(made).startswith("checkpoint with zabcheck `99`, found `")


@pytest.mark.parametrize(
    ("other", "named"),
    [
        (space(None, Bounds(3, 1, 1, 0, 0)), "bounds `3 processes, 1 epoch, 1 transaction, 0 time-outs, 0 crashes`"),
        (space(None, A_TIMEOUT, symmetry=False), "symmetry `false`, found `true`"),
        (space(None, A_TIMEOUT, reduction=True), "reduction `true`, found `false`"),
        (space("commit-on-own-ack", A_TIMEOUT), "steps `"),
        (Space(mutated("zab"), Quorums(3), ATOMIC, A_TIMEOUT, PROPERTIES[:1]), "properties `"),
        (Space(mutated("zab"), Quorums(3), Switches(), A_TIMEOUT, PROPERTIES), "switches `"),
    ],
)
def test_other_settings(other: Space, named: str, made: Path) -> None:
    assert refusal(made, other).startswith(f"checkpoint with {named}")


def test_other_code_of_the_same_version(made: Path) -> None:
    """The tables come out otherwise."""
    searched = space(None, A_TIMEOUT)
    searched.local_states.switched_off["snapshots"] = 1
    assert refusal(made, searched) == "checkpoint that this version of the code made"


# Files that somebody has written.


def forged(file: Path, change: Callable[[bytearray], None]) -> None:
    """Change what is before the digest, and make the digest anew."""
    content = bytearray(file.read_bytes()[:-32])
    change(content)
    file.write_bytes(content + hashlib.sha256(content).digest())


def with_position(field: str = "position", **changes: int | bool) -> Callable[[bytearray], None]:
    def change(content: bytearray) -> None:
        line, rest = bytes(content).split(b"\n", 1)
        header = json.loads(line)
        header[field] |= changes
        content[:] = json.dumps(header, separators=(",", ":")).encode() + b"\n" + rest

    return change


def cut_states(number: int) -> Callable[[bytearray], None]:
    """Say that there are so many states, all of them expanded, and no others."""

    def change(content: bytearray) -> None:
        line, rest = bytes(content).split(b"\n", 1)
        header = json.loads(line)
        states, width, journal = header["states"], header["width"], header["journal"]
        parts, at = [], journal
        for size in (4, 2, 1, width):
            parts.append(rest[at : at + number * size])
            at += states * size
        header |= {"states": number}
        header["position"] |= {"expanded": number, "level": number, "over": True}
        content[:] = json.dumps(header).encode() + b"\n" + rest[:journal] + b"".join(parts)

    return change


LARGE, SMALL = 100, 1 << 17
"""The number of states that are expanded again: a part of a large search, all of a small one."""
FORGED: dict[str, Callable[[bytearray], None]] = {
    "all is expanded": with_position(expanded=10_000, level=10_000, over=True),
    "more is expanded": with_position(expanded=3000),
    "another level": with_position(depth=3),
    "another end of the level": with_position(level=5000),
    "fewer states": cut_states(2000),
    "more is followed": with_position("followed", led=20_000),
    "a state": lambda content: content.__setitem__(slice(-8, -4), b"\1\0\0\0"),
    "a state of nothing": lambda content: content.__setitem__(slice(-4, None), b"\xff" * 4),
    "the journal": lambda content: content.__setitem__(slice(3000, 3001), b"\xc1"),
}


@pytest.mark.parametrize(
    ("name", "recheck"),
    sweep(
        [(name, recheck) for name in FORGED for recheck in (LARGE, SMALL)],
        normal=[*((name, LARGE) for name in FORGED), ("a state", SMALL)],
    ),
)
def test_a_forged_one_is_refused_or_not_believed(
    name: str, recheck: int, made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "RECHECKED", recheck)
    file, searched = tmp_path / "forged", space(None, A_TIMEOUT)
    file.write_bytes(made.read_bytes())
    forged(file, FORGED[name])
    if recheck == LARGE:
        assert refusal(file) == "checkpoint that this version of the code made"
    else:
        try:
            found = searched.explore(checkpoint=file, resume=True)
        except CheckpointError:
            return
        assert found.states == 10_499
        assert found.whole


def test_every_mutant_has_steps_of_its_own() -> None:
    mutants = [name for name, mutant in CATALOGUE.items() if mutant.protocol == "zab"]
    assert len({steps_of(mutated("zab", mutant)) for mutant in (None, *mutants)}) == len(mutants) + 1


@pytest.mark.slow
def test_what_cannot_be_written_leaves_the_one_before(
    made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file, content = tmp_path / "checkpoint", made.read_bytes()
    file.write_bytes(content)

    def full(handle: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    searched = space(None, A_TIMEOUT)
    assert not searched.explore(memory=1, checkpoint=file, resume=True).whole
    assert "No space left" in str(searched.unwritten)
    assert file.read_bytes() == content
    assert list(tmp_path.iterdir()) == [file]
