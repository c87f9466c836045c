"""The wheel holds one package and nothing else, and works where nothing of this folder is."""

import os
import re
import shutil
import subprocess
import sys
import sysconfig
import tomllib
from email import message_from_bytes
from email.message import Message
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import pytest

ROOT = Path(__file__).parents[2]
PROJECT: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
pytestmark = pytest.mark.xdist_group("wheel")

TIMEOUT = 900
NOT_SOURCES = (".git", ".venv", "__pycache__", ".*_cache", ".hypothesis", "reports", "build", "dist", "*.egg-info")


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Built from a copy of the sources, without the network."""
    folder = tmp_path_factory.mktemp("wheel")
    shutil.copytree(ROOT, folder / "sources", symlinks=True, ignore=shutil.ignore_patterns(*NOT_SOURCES))
    return build("--wheel", folder / "sources", folder / "dist")


def build(kind: str, sources: Path, out: Path) -> Path:
    """The file of this kind that is built from the sources."""
    command = [sys.executable, "-m", "build", kind, "--no-isolation", "--outdir", str(out), "."]
    done = subprocess.run(command, cwd=sources, capture_output=True, text=True, timeout=TIMEOUT, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    [file] = out.iterdir()
    return file


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A fresh environment with the wheel in it. Its scripts."""
    return install(tmp_path_factory.mktemp("environment"), str(wheel))


def install(folder: Path, *what: str) -> Path:
    """A fresh environment with this in it; what it requires is borrowed from this one. Its scripts."""
    create = [sys.executable, "-m", "venv", "--without-pip", str(folder)]
    subprocess.run(create, timeout=TIMEOUT, check=True)
    paths = sysconfig.get_paths(vars={"base": str(folder), "platbase": str(folder)})
    borrowed = Path(paths["purelib"]) / "borrowed.pth"
    borrowed.write_text(sysconfig.get_path("purelib") + "\n")
    pip = [sys.executable, "-m", "pip", "--python", str(folder), "install", "--quiet", "--no-deps", "--no-index"]
    environment = {**os.environ, "PIP_DISABLE_PIP_VERSION_CHECK": "1"}
    command = [*pip, "--no-build-isolation", "--ignore-installed", *what]
    subprocess.run(command, env=environment, timeout=TIMEOUT, check=True)
    return Path(paths["scripts"])


def run(installed: Path, *command: str, code: int = 0) -> str:
    """Return the output of a command in the fresh environment."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    done = subprocess.run(
        [str(installed / command[0]), *command[1:]],
        cwd=installed,
        env={**environment, "PYTHONIOENCODING": "utf-8"},
        capture_output=True,
        encoding="utf-8",
        timeout=TIMEOUT,
        check=False,
    )
    assert done.returncode == code, done.stdout + done.stderr
    return done.stdout


def test_it_holds_one_package_and_nothing_else(wheel: Path) -> None:
    with ZipFile(wheel) as archive:
        names = archive.namelist()
    top = {name.partition("/")[0] for name in names}
    assert {name for name in top if not name.endswith(".dist-info")} == {"zabcheck"}
    assert len(top) == 2
    assert {"zabcheck/py.typed", "zabcheck/invariants/py.typed"} <= set(names)
    folders = [ROOT / "zabcheck", ROOT / "zabcheck/invariants"]  # the second is a link, which rglob does not follow
    sources = {str(path.relative_to(ROOT)) for folder in folders for path in folder.rglob("*.py")}
    sources.remove("zabcheck/invariants/checkout.py")
    assert {name for name in names if name.endswith(".py")} == sources


def test_it_is_under_the_licence(wheel: Path) -> None:
    with ZipFile(wheel) as archive:
        [name] = [name for name in archive.namelist() if name.endswith("licenses/LICENSE")]
        assert archive.read(name) == (ROOT / "LICENSE").read_bytes()


def metadata(archive: ZipFile) -> Message:
    [name] = [name for name in archive.namelist() if name.endswith(".dist-info/METADATA")]
    return message_from_bytes(archive.read(name))


def test_it_says_which_version_it_is_and_where_it_is_from(wheel: Path) -> None:
    with ZipFile(wheel) as archive:
        told = metadata(archive)
    assert told["Version"] == PROJECT["version"]
    assert told["License-Expression"] == "Apache-2.0"
    assert told.get_all("Project-URL") == [f"{label}, {url}" for label, url in PROJECT["urls"].items()]
    assert told.get_all("Classifier") == PROJECT["classifiers"]
    assert told.get_payload(decode=True) == (ROOT / "README.md").read_bytes()


@pytest.mark.slow
def test_the_wheel_of_the_sdist_is_the_same(wheel: Path, tmp_path: Path) -> None:
    sources = wheel.parents[1] / "sources"
    sdist = build("--sdist", sources, tmp_path / "sdist")
    assert sdist.name == f"zabcheck-{PROJECT['version']}.tar.gz"
    shutil.unpack_archive(sdist, tmp_path)
    again = build("--wheel", tmp_path / sdist.name.removesuffix(".tar.gz"), tmp_path / "wheel")
    with ZipFile(wheel) as first, ZipFile(again) as second:
        assert {name: first.read(name) for name in first.namelist()} == {
            name: second.read(name) for name in second.namelist()
        }


@pytest.mark.slow
def test_another_project_called_invariants_is_left_alone(installed: Path, tmp_path: Path) -> None:
    """There is one on the package index."""
    (tmp_path / "invariants.py").write_text("broken =")
    code = f"""
import pkgutil, sys
sys.path.insert(0, {str(tmp_path)!r})
import zabcheck.cli, zabcheck.invariants
zabcheck.cli.all_commands()
for module in pkgutil.walk_packages(zabcheck.__path__, "zabcheck."):
    if module.name not in ("zabcheck.__main__", "zabcheck.pytest_plugin"):
        __import__(module.name)
assert "invariants" not in sys.modules
print(zabcheck.invariants.__file__, zabcheck.__file__, sep="\\n")
"""
    for file in run(installed, "python", "-c", code).splitlines():
        assert Path(file).is_relative_to(installed.parent)


@pytest.mark.slow
def test_the_sources_can_be_installed_in_place(wheel: Path, tmp_path: Path) -> None:
    """`make` does it so; `invariants` can be imported then, too, and is the same."""
    sources = wheel.parents[1] / "sources"
    scripts = install(tmp_path, "--editable", str(sources))
    code = "import invariants.columns, zabcheck; print(zabcheck.__file__, zabcheck.invariants is invariants)"
    assert run(scripts, "python", "-c", code) == f"{sources / 'zabcheck/__init__.py'} True\n"


@pytest.mark.slow
def test_the_command_is_there(installed: Path) -> None:
    assert "no-truncation" in run(installed, "zabcheck", "list")
    assert run(installed, "python", "-m", "zabcheck", "--version") == f"zabcheck {PROJECT['version']}\n"


@pytest.mark.slow
def test_pytest_finds_the_plugin(installed: Path) -> None:
    assert "--zabcheck-out" in run(installed, "python", "-m", "pytest", "--help", "-p", "no:cacheprovider")


@pytest.mark.slow
def test_a_test_of_a_protocol_of_ones_own_works(installed: Path, tmp_path: Path) -> None:
    """The one that README shows."""
    [code] = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(encoding="utf-8"), re.DOTALL)
    (tmp_path / "test_mine.py").write_text(code)
    pytest_ = ("python", "-m", "pytest", "-q", "-p", "no:cacheprovider", "--rootdir", str(tmp_path))
    out = tmp_path / "out"
    printed = run(installed, *pytest_, "--zabcheck-out", str(out), str(tmp_path / "test_mine.py"), code=1)
    assert " is violated" in printed
    [schedule] = out.glob("*.schedule.json")
    assert f"wrote {schedule}" in printed


@pytest.mark.slow
def test_the_command_searches(installed: Path, tmp_path: Path) -> None:
    command = ("zabcheck", "run", "--seed", "1", "--runs", "40", "--property", "core", "--out", str(tmp_path))
    printed = run(installed, *command)
    assert "seed 1: 40 runs" in printed
