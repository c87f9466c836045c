"""The regression test that is written for a counterexample: run by pytest, broken and repaired."""

import json
import re
import subprocess
import sys
import tomllib
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from tests.counterexample.stories import HOSTILE, SCHEDULES, broken, golden_story, scheduled, traced
from tests.packaging.plugin import ROOT, failing_tests, passing_tests
from tests.tiers import sweep
from zabcheck.counterexample.explain import explain
from zabcheck.counterexample.forms.regression import regression_test
from zabcheck.counterexample.story import Story
from zabcheck.protocols.adapter import imported
from zabcheck.search.run import schedule_of
from zabcheck.simulation import schedule as schedules
from zabcheck.simulation.choices import Lead, Request
from zabcheck.testing import Broken

NAMES = sorted(path.stem for path in SCHEDULES.glob("*.json"))
SOME = (
    "accept-equal-epoch.invariant-3",
    "commit-on-own-ack.agreement",
    "counter-wraps.zxid-uniqueness",
    "no-truncation.agreement",
    "quorum-off-by-one.convergence",
)
MUTANT = re.compile(r'^MUTANT = ".*"  # None: the protocol as it is$', re.MULTILINE)

HASTY = (ROOT / "tests/protocols/own/hasty.py").read_text(encoding="utf-8")


def repaired(text: str) -> str:
    changed, times = MUTANT.subn("MUTANT = None", text)
    assert times == 1
    return changed


def executed(text: str) -> dict[str, object]:
    """Import the file and return its contents."""
    names: dict[str, object] = {}
    exec(compile(text, "test_it.py", "exec"), names)
    return names


def the_test(text: str) -> Callable[[], None]:
    [test] = [each for name, each in executed(text).items() if name.startswith("test_")]
    assert callable(test)
    return test


def ruff(folder: Path) -> None:
    """The settings are those of this project; the folder is another one."""
    settings = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    assert tomllib.loads(settings)["tool"]["ruff"]["line-length"] == 120
    begin, end = settings.index("[tool.ruff]"), settings.index("[tool.mypy]")
    (folder / "pyproject.toml").write_text(settings[begin:end], encoding="utf-8")
    for command in (["check", "--no-cache"], ["format", "--no-cache", "--check", "--diff"]):
        done = subprocess.run(
            [sys.executable, "-m", "ruff", *command, "."], cwd=folder, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.slow
def test_pytest_shows_the_report_as_long_as_the_bug_is_there(tmp_path: Path) -> None:
    for number, name in enumerate(SOME):
        (tmp_path / f"test_{number}.py").write_text(regression_test(scheduled(name)), encoding="ascii")
    out = failing_tests(tmp_path)
    assert f"{len(SOME)} failed" in out
    for name in SOME:
        violation = scheduled(name).violation
        assert violation is not None
        assert f"\n{violation.property} is violated\n" in out
    assert "\nSteps" in out
    for noise in ("replay: ", "wrote", "Traceback", "assert_schedule", "testing.py"):
        assert noise not in out
    assert not (tmp_path / "reports").exists()
    for path in tmp_path.glob("test_*.py"):
        path.write_text(repaired(path.read_text(encoding="ascii")), encoding="ascii")
    assert f"{len(SOME)} passed" in passing_tests(tmp_path)


@pytest.mark.parametrize("first", sweep(range(24), normal=(0,)))
def test_each_of_the_known_bugs_fails_its_test_and_zab_passes_it(first: int) -> None:
    for name in NAMES[first::24]:
        text = regression_test(scheduled(name))
        with pytest.raises(Broken) as found:
            the_test(text)()
        violation = scheduled(name).violation
        assert violation is not None
        assert str(found.value).startswith(f"{violation.property} is violated\n")
        the_test(repaired(text))()


@pytest.mark.slow
def test_the_text_is_as_this_project_writes(tmp_path: Path) -> None:
    stories = {name: scheduled(name) for name in NAMES}
    stories |= {
        "broken": broken(3),
        "hostile": broken(3, HOSTILE),
        "long": broken(3, "word " * 1000),
        "empty": broken(3, ""),
    }
    stories["golden"] = golden_story()
    sets = ",".join("+".join(map(str, range(1, 40))) for _ in range(3))
    stories["quorums"] = replace(
        broken(3), schedule=broken(3).schedule.replace(b'"majority"', f'"sets {sets}"'.encode())
    )
    stories["holds"] = replace(broken(3), violation=None)
    for number, story in enumerate(stories.values()):
        (tmp_path / f"test_{number}.py").write_text(regression_test(story), encoding="ascii")
    ruff(tmp_path)
    plain = regression_test(scheduled("no-truncation.agreement"))
    assert max(map(len, plain.splitlines())) <= 120
    assert plain.count('    {"choice": ') == len(json.loads(scheduled("no-truncation.agreement").schedule)["choices"])


def written(text: str) -> bytes:
    """The schedule in the file, as it would be saved."""
    schedule = executed(text)["SCHEDULE"]
    assert isinstance(schedule, str)
    return schedules.dump(schedules.load(schedule.encode(), "SCHEDULE"))


def with_value(value: str) -> Story:
    schedule = schedule_of("zab", None, 3, [Lead(1, (2, 3)), Request(1, value)])
    return replace(broken(3), mutant=None, schedule=schedules.dump(schedule))


@pytest.mark.parametrize(
    "value", [HOSTILE, HOSTILE * 3, "", '"""', "\\", "\\" * 200, '"' * 200, "\x7f" * 200, "😀 " * 99]
)
def test_any_value_comes_back(value: str) -> None:
    story = with_value(value)
    text = regression_test(story)
    assert text.isascii()
    assert all(line.isprintable() for line in text.splitlines())
    assert written(text) == story.schedule


@given(st.text(st.characters(exclude_categories=("Cs",))))
def test_any_drawn_value_comes_back(value: str) -> None:
    story = with_value(value)
    assert written(regression_test(story)) == story.schedule


def test_a_summary_is_never_more_than_a_docstring() -> None:
    story = broken(3)
    assert story.violation is not None
    for nasty in ('"""\nimport os', "\\", "x" * 5000, "\\" * 300, HOSTILE + "\ud800", ">>> 1", " "):
        text = regression_test(replace(story, violation=replace_summary(story, nasty)))
        test = the_test(text)
        assert test.__doc__ is not None
        assert "primary integrity holds" in test.__doc__.lower()
        assert text.isascii()


def replace_summary(story: Story, summary: str) -> object:
    assert story.violation is not None
    return replace(story.violation, summary=summary)


# A protocol of one's own.


def own_story(protocol: str) -> Story:
    """The story of two leaders, one after the other, that are asked to broadcast."""
    choices = [Lead(1, (2,)), Request(1, "a"), Lead(2, (1,)), Request(2, "b")]
    return explain(schedule_of(imported(protocol).name, None, 2, choices, "agreement"), ["agreement"])


@pytest.mark.slow
def test_a_protocol_of_ones_own_is_imported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "hasty_of_mine.py").write_text(HASTY)
    monkeypatch.syspath_prepend(tmp_path)
    story = own_story("hasty_of_mine:Hasty")
    assert story.violation is not None
    text = regression_test(story)
    assert "\nfrom hasty_of_mine import Hasty\n" in text
    assert "    zabcheck.assert_schedule(SCHEDULE, protocol=Hasty)\n" in text
    assert "MUTANT" not in text
    (tmp_path / "test_it.py").write_text(text)
    ruff(tmp_path)
    out = failing_tests(tmp_path)
    assert "agreement is violated\n" in out
    assert "hasty_of_mine:Hasty, 2 processes" in out
    (tmp_path / "hasty_of_mine.py").write_text(HASTY.replace("self.deliver(txn)", "pass"))
    assert "1 passed" in passing_tests(tmp_path)


@pytest.mark.slow
def test_code_that_raises(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "hasty_that_raises.py").write_text(HASTY.replace("self.deliver(txn)", "self.deliver(txn.zxid[7])"))
    monkeypatch.syspath_prepend(tmp_path)
    story = own_story("hasty_that_raises:Hasty")
    assert story.raised is not None
    text = regression_test(story)
    assert "def test_nothing_raises() -> None:\n" in text
    (tmp_path / "test_it.py").write_text(text)
    ruff(tmp_path)
    out = failing_tests(tmp_path)
    assert "the protocol's own code raised an exception" in out
    assert "self.deliver(txn.zxid[7])" in out
    (tmp_path / "hasty_that_raises.py").write_text(HASTY)
    assert "1 passed" in passing_tests(tmp_path), "it still breaks agreement, but that is another bug"


@pytest.mark.parametrize(
    ("protocol", "imported", "argument"),
    [
        ("mine:Outer.Inner", "from mine import Outer", "protocol=Outer.Inner"),
        ("package.mine:Mine", "from package.mine import Mine", "protocol=Mine"),
        ("__main__:Mine", None, None),
        ("mine:make.<locals>.Mine", None, None),
        ("my-module:Mine", None, None),
        ("class:Mine", None, None),
    ],
)
def test_what_cannot_be_imported_by_name_is_left_to_the_schedule(
    protocol: str, imported: str | None, argument: str | None
) -> None:
    text = regression_test(replace(broken(3), protocol=protocol, mutant=None))
    compile(text, "test_it.py", "exec")
    assert re.findall(r"^from .*", text, re.MULTILINE) == ([imported] if imported else [])
    assert f"assert_schedule(SCHEDULE{f', {argument}' if argument else ''})" in text


def test_a_property_that_the_schedule_does_not_name_is_named() -> None:
    story = broken(3)
    assert story.schedule.count(b'"violates":"primary integrity"') == 1
    other = replace(story, schedule=story.schedule.replace(b'"violates":"primary integrity"', b'"violates":null'))
    text = regression_test(other)
    assert 'assert_schedule(SCHEDULE, mutant=MUTANT, properties="primary integrity")' in text
    with pytest.raises(Broken, match=r"^primary integrity is violated\n"):
        the_test(text)()


def test_a_trace_has_no_regression_test() -> None:
    with pytest.raises(ValueError, match=r"^a regression test needs a schedule"):
        regression_test(traced())


def test_the_test_is_named_after_the_property() -> None:
    assert the_test(regression_test(broken(3))).__name__ == "test_primary_integrity"
    assert the_test(regression_test(scheduled("accept-equal-epoch.invariant-3"))).__name__ == "test_invariant_3"
