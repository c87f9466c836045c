"""Files that are written whole or not at all, with the mode that their user wants."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from zabcheck.text.files import whole, write


def mode(path: Path) -> int:
    return path.stat().st_mode & 0o777


@pytest.fixture(params=[0o022, 0o027, 0o077, 0o002])
def umask(request: pytest.FixtureRequest) -> Iterator[int]:
    before = os.umask(request.param)
    yield request.param
    os.umask(before)


def test_a_new_file_has_the_mode_that_the_umask_leaves(umask: int, tmp_path: Path) -> None:
    path = write(tmp_path / "a.json", b"new")
    assert (mode(path), path.read_bytes()) == (0o666 & ~umask, b"new")


def test_a_file_that_was_there_keeps_its_mode(umask: int, tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_bytes(b"old")
    path.chmod(0o640)
    write(path, b"new")
    assert (mode(path), path.read_bytes()) == (0o640, b"new")


def test_nothing_is_left_of_a_file_that_was_not_finished(tmp_path: Path) -> None:
    path = write(tmp_path / "a.json", b"old")
    with pytest.raises(ZeroDivisionError), whole(path) as file:
        file.write(b"half" * (1 // 0))
    assert [(each.name, each.read_bytes()) for each in tmp_path.iterdir()] == [("a.json", b"old")]
