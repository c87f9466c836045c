"""A table in Markdown of the planted bugs that each file of tests finds by itself.

    python -m tests.power                                   the folders below, every bug of the catalogue: hours
    python -m tests.power tests/search --bugs no-truncation this folder, this bug

For each bug a pytest plants it before it collects: the protocol has the bug whenever a test asks for it by name or
imports it, and so have the modules of its steps. Of each file the normal tests run up to the first that fails. Files
that fail without a bug are named first; they tell nothing. A run that does not end in time fails in the file it is in.
"""

import argparse
import os
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from types import ModuleType

import pytest
from msgspec import structs

from zabcheck.mutants.catalogue import CATALOGUE
from zabcheck.mutants.mutant import Mutant
from zabcheck.protocols import PROTOCOLS

ROOT = Path(__file__).parents[1]
FOLDERS = tuple(f"tests/{name}" for name in ("protocols", "search", "invariants", "papers", "explore"))
NORMAL = "not slow and not browser and not zookeeper and not kits"
SECONDS = 3600.0
"""The time that the tests may take with one bug."""
PLANTED, FOUND = "ZABCHECK_TESTS_PLANTED", "ZABCHECK_TESTS_FOUND"
"""Environment variables for the plugin: the name of the bug, or nothing; and the file to tell in which files fail."""


# The bug, planted in this process.


def plant(mutant: Mutant) -> None:
    """Have its protocol take the steps of this known bug, under the protocol's own name."""
    right = PROTOCOLS[mutant.protocol]
    wrong = structs.replace(mutant.apply(right), mutant=right.mutant)
    for module, name in _places(right):
        value = getattr(module, name)
        if isinstance(value, tuple):
            setattr(module, name, tuple(wrong if each is right else each for each in value))
        else:
            setattr(module, name, wrong)
    for kind, step in mutant.steps.items():
        before = right.steps.get(kind)
        if before is not None and not isinstance(before, partial):
            setattr(sys.modules[before.__module__], before.__name__, step)


def _places(protocol: object) -> Iterator[tuple[ModuleType, str]]:
    """Yield each name of a loaded module of ours that is this protocol, or a tuple with it."""
    for name, module in sorted(sys.modules.items()):
        if name.startswith("zabcheck."):
            for attribute, value in list(vars(module).items()):
                if value is protocol or (isinstance(value, tuple) and any(each is protocol for each in value)):
                    yield module, attribute


class Watching:
    """A plugin of pytest: it plants the bug before anything is collected, and tells which files fail."""

    def __init__(self) -> None:
        self.failed: dict[str, None] = {}
        self.file = ""

    def pytest_runtest_setup(self, item: pytest.Item) -> None:
        """Pass over the tests of a file of which one has failed, and note where we are."""
        file = item.nodeid.partition("::")[0]
        if file in self.failed:
            pytest.skip("its file has found the bug")
        if file != self.file:
            self.file = file
            _tell("in", file)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Note the file of a test that fails."""
        self._note(report.nodeid, report.failed)

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        """Note a file that cannot be collected."""
        self._note(report.nodeid, report.failed)

    def _note(self, nodeid: str, failed: bool) -> None:
        file = nodeid.partition("::")[0]
        if failed and file not in self.failed:
            self.failed[file] = None
            _tell("failed", file)


def _tell(what: str, file: str) -> None:
    with open(os.environ[FOUND], "a", encoding="utf-8") as found:
        found.write(f"{what} {file}\n")


def pytest_load_initial_conftests(early_config: pytest.Config) -> None:
    """Plant the bug that the environment names; pytest calls this before it loads any file of tests."""
    if FOUND in os.environ:
        if os.environ.get(PLANTED):
            plant(CATALOGUE[os.environ[PLANTED]])
        early_config.pluginmanager.register(Watching())


# A pytest for each bug.


def files_that_fail(paths: Sequence[str], bug: str | None, seconds: float = SECONDS) -> list[str]:
    """Run the normal tests there with this bug; return the files in which one fails, or which do not end in time."""
    with tempfile.TemporaryDirectory() as folder:
        found = Path(folder) / "found"
        found.touch()
        environment = {**os.environ, PLANTED: bug or "", FOUND: str(found), "PYTHONPATH": str(ROOT)}
        command = [sys.executable, "-m", "pytest", "-q", "-p", "tests.power", "-p", "no:cacheprovider", "-m", NORMAL]
        ended = True
        try:
            subprocess.run([*command, *paths], cwd=ROOT, env=environment, stdout=subprocess.DEVNULL, timeout=seconds)
        except subprocess.TimeoutExpired:
            ended = False
        lines = [line.split(" ", 1) for line in found.read_text(encoding="utf-8").splitlines()]
    failed = [file for what, file in lines if what == "failed"]
    if not ended and lines and lines[-1][0] == "in":
        failed.append(lines[-1][1])
    return failed


def table(found: Mapping[str, Sequence[str]]) -> str:
    """Return both tables: the bugs by how many of these files find them, and the files by how many bugs they find."""
    lines = ["| bug | files | found by |", "| --- | ---: | --- |"]
    for bug, files in sorted(found.items(), key=lambda each: len(each[1])):
        lines.append(f"| {bug} | {len(files)} | {files[0] if len(files) == 1 else ', '.join(files[:3])} |")
    finds = Counter(file for files in found.values() for file in files)
    alone = Counter(files[0] for files in found.values() if len(files) == 1)
    lines += ["", "| file | finds | which nobody else does |", "| --- | ---: | ---: |"]
    lines += [f"| {file} | {number} | {alone[file]} |" for file, number in sorted(finds.items(), key=_most_first)]
    return "\n".join(lines)


def _most_first(row: tuple[str, int]) -> tuple[int, str]:
    return -row[1], row[0]


def main() -> None:
    """Print the tables, and before them which files fail without a bug."""
    parser = argparse.ArgumentParser(
        "python -m tests.power", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("paths", nargs="*", default=list(FOLDERS), help="files or folders of tests")
    parser.add_argument("--bugs", nargs="+", default=list(CATALOGUE), choices=list(CATALOGUE), metavar="BUG")
    parser.add_argument("--seconds", type=float, default=SECONDS, help="how long the tests may take with one bug")
    options = parser.parse_args()
    anyway = files_that_fail(options.paths, None, options.seconds)
    if anyway:
        print(f"Without a bug fail: {', '.join(anyway)}\n")
    found = {}
    for number, bug in enumerate(options.bugs, 1):
        print(f"{number} of {len(options.bugs)}: {bug}", file=sys.stderr)
        files = files_that_fail(options.paths, bug, options.seconds)
        found[bug] = [file for file in files if file not in anyway]
    print(table(found))


if __name__ == "__main__":
    main()
