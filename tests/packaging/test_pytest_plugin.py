"""The output of pytest for a test of zabcheck, with the plugin and without it."""

from pathlib import Path

import pytest

from tests.packaging.plugin import ROOT, failing_tests

TESTS = (
    (ROOT / "tests/protocols/own/hasty.py").read_text(encoding="utf-8")
    + """

class Clumsy(Hasty):
    def on_request(self, value):
        self.deliver(self.latest[-1])

TestHasty = zabcheck.machine_for(Hasty, runs=200, properties="agreement").TestCase
TestClumsy = zabcheck.machine_for(Clumsy, runs=200).TestCase
TestIdle = zabcheck.machine_for("zab", runs=1, steps=4, properties="redelivery").TestCase

def test_of_somebody_else():
    assert 1 == 2
"""
)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Make a folder with those tests."""
    (tmp_path / "test_mine.py").write_text(TESTS)
    return tmp_path


def printed(folder: Path, *options: str) -> str:
    return failing_tests(folder, "--hypothesis-seed=1", *options)


def saved(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


@pytest.mark.slow
def test_the_report_is_shown_and_no_python(folder: Path) -> None:
    out = printed(folder)
    assert "agreement is violated\np" in out
    assert "the protocol's own code raised an exception; no property was judged\n" in out
    assert "    self.deliver(self.latest[-1])\n" in out
    assert "exercised by none of" in out
    assert "\nagain:  pytest --hypothesis-seed=1 test_mine.py::TestHasty::runTest\n" in out
    assert "\nkept:" not in out, "a run with a seed uses no database"
    assert "E       assert 1 == 2" in out, "other tests are shown as ever"
    for noise in (
        "Falsifying example",
        "find_with",
        "hypothesis/",
        "unittest/",
        "testing.py",
        "PropertyBroken",
        "StepRaised",
    ):
        assert noise not in out
    assert {name.partition("-")[0] for name in saved(folder / "reports")} == {"test_mine"}
    assert len(saved(folder / "reports")) == 8
    end = out[out.index("= zabcheck =") :]
    for name in saved(folder / "reports"):
        assert f"  wrote reports/{name}\n" in end
    assert "FAILED test_mine.py::TestHasty::runTest" in out


@pytest.mark.slow
def test_one_seed_gives_one_counterexample_wherever_it_is_written_and_in_workers(folder: Path) -> None:
    printed(folder)
    there = printed(folder, "--zabcheck-out=elsewhere")
    assert saved(folder / "reports") == saved(folder / "elsewhere")
    assert "wrote elsewhere/test_mine-Hasty-agreement-" in there
    workers = printed(folder, "-n", "1", "--zabcheck-out=workers")
    assert saved(folder / "reports") == saved(folder / "workers")
    assert "agreement is violated\np" in workers
    assert "  wrote workers/test_mine-Hasty-agreement-" in workers[workers.index("= zabcheck =") :]


@pytest.mark.slow
def test_a_folder_that_the_test_names_wins(folder: Path) -> None:
    (folder / "test_mine.py").write_text(TESTS.replace("runs=200", "runs=200, out='mine'"))
    printed(folder, "--zabcheck-out=elsewhere")
    assert len(saved(folder / "mine")) == 8
    assert not (folder / "elsewhere").exists()


@pytest.mark.slow
def test_without_the_plugin_a_test_fails_with_the_same_report(folder: Path) -> None:
    out = printed(folder, "-p", "no:zabcheck")
    assert "agreement is violated" in out
    assert "Falsifying example" not in out
    assert len(saved(folder / "reports")) == 8


@pytest.mark.slow
@pytest.mark.parametrize("workers", ["0", "1"])
def test_the_summary_has_one_line_a_test_also_in_ci(
    folder: Path, monkeypatch: pytest.MonkeyPatch, workers: str
) -> None:
    """Where CI is set, pytest does not shorten what a test failed with."""
    monkeypatch.setenv("CI", "true")
    out = printed(folder, "--tb=no", "--zabcheck-out=out", "-n", workers)
    summary = out[out.index("= short test summary info =") :].splitlines()[1:-1]
    assert summary == [
        "FAILED test_mine.py::TestHasty::runTest - agreement is violated",
        "FAILED test_mine.py::TestClumsy::runTest"
        " - the protocol's own code raised an exception; no property was judged",
        "FAILED test_mine.py::TestIdle::runTest - exercised by none of 1 runs: redelivery; more `runs` may help",
        "FAILED test_mine.py::test_of_somebody_else - assert 1 == 2",
    ]
    assert "Traceback" not in out


@pytest.mark.slow
def test_a_root_folder_above_the_current_one_changes_nothing(folder: Path) -> None:
    out = printed(folder, "--rootdir=..")
    assert "  wrote reports/test_mine-Hasty-agreement-" in out[out.index("= zabcheck =") :]
    assert "\nagain:  pytest --hypothesis-seed=1 test_mine.py::TestHasty::runTest\n" in out


@pytest.mark.slow
def test_without_a_seed_what_failed_is_tried_first_by_the_next_run(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("CI", "TF_BUILD", "GITHUB_ACTIONS"):
        monkeypatch.delenv(name, raising=False)  # there Hypothesis has no database
    monkeypatch.setenv("HYPOTHESIS_STORAGE_DIRECTORY", str(folder / "its own"))
    first, second = failing_tests(folder), failing_tests(folder)
    assert first.count("kept:   in Hypothesis' database; the next run tries it first\n") == 2
    assert second.count("kept:   in Hypothesis' database by an earlier run, and tried first; ") == 2
    again = [line for line in first.splitlines() if line.startswith("again:  ")]
    assert again == [line for line in second.splitlines() if line.startswith("again:  ")]
    option = again[0].split()[2]
    assert again[0] in failing_tests(folder, option), "the seed finds it again"
    assert "kept:" not in failing_tests(folder, option)
