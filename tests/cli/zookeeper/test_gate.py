"""`zabcheck zookeeper gate`."""

from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from xml.etree import ElementTree

import pytest
from msgspec import structs

from tests.cli.command import ROOT
from tests.cli.conftest import Command
from tests.cli.zookeeper.conftest import fake
from tests.zookeeper import fake_zookeeper
from zabcheck.cli.zookeeper import failure
from zabcheck.cli.zookeeper import gate as gating
from zabcheck.cli.zookeeper.shorten import Shortening
from zabcheck.simulation.schedule import load
from zabcheck.zookeeper.bugs.catalogue import BUGS, named
from zabcheck.zookeeper.conformance.conform import BrokenProperties
from zabcheck.zookeeper.conformance.gate import Expectations, failure_of
from zabcheck.zookeeper.conformance.rates import Rates
from zabcheck.zookeeper.run.choices.in_step import LetThrough
from zabcheck.zookeeper.run.schedule import EnsembleSchedule, decode

GATE = ("zookeeper", "gate", "--processes", "--bug", "4712", "--budget", "30s")
"""A budget for one execution of the schedule, and for one drawn run."""
HEALTHY, LOST = "healthy-3.8.0", "lost-write-3.8.0"


class Clock:
    """Time passes with executions only: `seconds` with each look that comes after one."""

    def __init__(self, recorded: list[str], seconds: float) -> None:
        self._recorded = recorded
        self._first: int | None = None
        self._seconds = seconds

    def __call__(self) -> float:
        self._first = len(self._recorded) if self._first is None else self._first
        return self._seconds * (self._first - len(self._recorded))


@pytest.fixture(autouse=True)
def slow(monkeypatch: pytest.MonkeyPatch, recorded: list[str]) -> None:
    """Each execution takes 20 seconds of a clock that the gate looks at, and the model makes no run short."""
    monkeypatch.setattr(gating, "monotonic", Clock(recorded, 20))
    monkeypatch.setattr(failure, "broken_by", lambda *_: None)


DRAWN = ("zookeeper", "gate", "--processes", "--bug", "4712", "--strict")
"""A gate of which the second execution is a drawn run."""
KEPT = Path("reports/zookeeper-3.8.0-seed-1")
SHORT = ROOT / "tests/zookeeper/model/schedules/4712c.schedule.json"
"""A run of the model that is short already."""


@pytest.mark.slow
def test_a_drawn_run_is_made_short_in_the_model_and_servers_do_the_same(
    recorded: list[str], zabcheck: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    minimal = load(SHORT.read_bytes(), SHORT.name)
    monkeypatch.setattr(failure, "broken_by", lambda *_: BrokenProperties(("total order",), minimal))
    recorded += [HEALTHY, LOST, LOST, HEALTHY]
    result = zabcheck(*DRAWN, "--budget", "100s", "--summary", "gate.md", *fake(tmp_path))
    assert (result.code, result.err, recorded) == (1, "", [])
    for name in ("minimal.schedule.json", "minimal.html", "../zookeeper-3.8.0-seed-1-short/report.html"):
        assert (tmp_path / KEPT / name).exists()
    markdown = (tmp_path / "gate.md").read_text(encoding="utf-8")
    assert (
        "```text\nin the model 28 of 329 choices are enough to break total order\nservers that did the same broke "
        in markdown
    )
    assert "`reports/zookeeper-3.8.0-seed-1-short/schedule.json`" in markdown
    assert result.out.splitlines()[-1].endswith(f"next: open {KEPT}-short/report.html")
    schedule = decode((tmp_path / f"{KEPT}-short/schedule.json").read_bytes(), "short")
    assert any(isinstance(each, LetThrough) for each in schedule.choices), "the model's packets pass one by one"


@pytest.mark.slow
def test_a_drawn_run_that_the_model_does_not_make_short_is_made_short_on_servers(
    recorded: list[str], zabcheck: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def minimise(schedule: EnsembleSchedule, shows: Callable[[EnsembleSchedule], bool], *rest: Any) -> EnsembleSchedule:
        seconds, idle, keep = rest
        assert seconds == 400 - 2 * 20 - 5 * 20, "what is left, but for executions that count how often it shows"
        idle()
        shorter = structs.replace(schedule, choices=schedule.choices[:1])
        assert shows(shorter)
        keep()
        return shorter

    monkeypatch.setattr("zabcheck.zookeeper.run.minimise.minimise", minimise)
    recorded += [HEALTHY, LOST, LOST, *[LOST] * 4, HEALTHY, *[HEALTHY] * 20]
    told = zabcheck(*DRAWN, "--budget", "400s", *fake(tmp_path), "--format", "json").json
    [drawn] = [each for each in told["outcomes"] if each["status"] == "failed"]
    said = drawn["detail"].splitlines()
    assert said[0].startswith("1 of ")
    assert said[0].endswith(" choices are enough on servers: zookeeper-3.8.0-seed-1-short")
    assert said[1] == "the schedule shows durability in 4 of 5 further executions"
    assert f"{KEPT}-short/report.html" in drawn["files"]
    assert len(decode((tmp_path / f"{KEPT}-short/schedule.json").read_bytes(), "short").choices) == 1


def test_a_bug_that_the_version_has_is_known(recorded: list[str], zabcheck: Command, tmp_path: Path) -> None:
    recorded += [LOST, HEALTHY]
    result = zabcheck(*GATE, *fake(tmp_path))
    assert (result.code, result.err) == (0, "")
    assert [line.rstrip() for line in result.out.splitlines()] == [
        "bug             3.8.0 has it  shown",
        "ZOOKEEPER-4712  yes           1 of 1",
        "",
        "catalogue: 1 of 1 passed",
        "search: 1 of 1 passed",
        "conformance: 1 of 1 passed",
        "drawn runs: 1 run with drawn faults and thread orders",
        "recordings: of 2 recordings 2 are runs of the model of 3.8.0",
        "",
        "PASS: gate passed: 3 of 3 passed, 2 executions, 283 packets, 40 seconds",
    ]
    assert {each.name for each in tmp_path.iterdir()} == {"java-serves-3.8.0"}


def test_a_bug_that_the_version_has_not_is_the_patchs(recorded: list[str], zabcheck: Command, tmp_path: Path) -> None:
    recorded += [LOST, HEALTHY]
    options = ("--release", "3.8.0", "--junit", "gate.xml", "--summary", "gate.md")
    result = zabcheck(*GATE, *options, *fake(tmp_path, version="3.9.3"))
    assert (result.code, result.err) == (1, "")
    why = (
        "shown, and ZooKeeper 3.9.3 does not have it: a server that leaves its leader is shut down in part: its memory "
        "and its log do not agree"
    )
    kept = "reports/zookeeper-3.9.3-ZOOKEEPER-4712"
    assert result.out.splitlines()[-1] == (
        "FAIL: gate failed: 2 of 3 passed, 2 executions, 283 packets, 40 seconds; "
        f"catalogue, ZOOKEEPER-4712: {why}; next: open {kept}/report.html"
    )
    for name in ("schedule.json", "trace.jsonl", "report.html"):
        assert f"wrote {kept}/{name}\n" in result.out
        assert (tmp_path / kept / name).exists()
    root = ElementTree.parse(tmp_path / "gate.xml").getroot()
    assert [(case.attrib["classname"], case.attrib["name"]) for case in root.iter("testcase")] == [
        ("zabcheck.catalogue", "ZOOKEEPER-4712"),
        ("zabcheck.search", "drawn runs"),
        ("zabcheck.conformance", "recordings"),
    ]
    [failure] = root.iter("failure")
    assert failure.attrib["message"] == why
    assert "is violated" in str(failure.text)
    markdown = (tmp_path / "gate.md").read_text(encoding="utf-8")
    assert markdown.startswith("## zabcheck: failed\n")
    assert f"| `catalogue` | `ZOOKEEPER-4712` | failed | `{why}` |" in markdown
    assert "\n- drawn runs: 1 run with drawn faults and thread orders\n" in markdown
    row = "A server that leaves its leader is shut down in part: its memory and its log do not agree."
    assert f"| ZOOKEEPER-4712 | {row} | no | 1 of 1 |\n" in markdown


@pytest.mark.parametrize(
    ("options", "why"),
    [
        (["--strict"], "shown: a server that leaves its leader"),
        (["--repairs", "4712"], "shown, and the patch is to repair it: a server that leaves its leader"),
    ],
)
def test_a_known_bug_that_is_not_let_pass(
    options: list[str], why: str, recorded: list[str], zabcheck: Command, tmp_path: Path
) -> None:
    recorded += [LOST, HEALTHY]
    result = zabcheck(*GATE, *options, *fake(tmp_path))
    assert result.code == 1
    assert f"; catalogue, ZOOKEEPER-4712: {why}" in result.out


@pytest.mark.slow
def test_a_repair_that_works(recorded: list[str], zabcheck: Command, tmp_path: Path) -> None:
    recorded += [HEALTHY, HEALTHY]
    result = zabcheck(*GATE, "--repairs", "4712", *fake(tmp_path))
    assert result.code == 0
    assert " ".join(result.out.split()).startswith(
        "bug 3.8.0 has it shown ZOOKEEPER-4712 yes 0 of 1 not shown, though 3.8.0 without a patch always shows it: "
        "ZOOKEEPER-4712; the patch repairs it, or servers do something else before catalogue: 1 of 1 passed "
    )


@pytest.mark.parametrize(
    ("bug", "version", "is_simulated", "fails"),
    [("4712", "3.8.0", True, True), ("4712", "3.8.0", False, False), ("3598", "3.9.5", True, False)],
)
def test_what_goes_wrong_in_place_of_a_bug_that_always_shows_is_the_patchs(
    bug: str, version: str, is_simulated: bool, fails: bool
) -> None:
    """Processes have clocks of their own, and may fail to show a bug by chance; 3.9.5 does not show 3598."""
    judged: Any = SimpleNamespace(known=[], wrong=["could not start"], simulated=is_simulated)
    why = failure_of(named(bug), False, judged, Expectations(version))
    assert why == ("not shown, but something else is wrong: could not start" if fails else "")


def test_no_known_bug_explains_a_vote_below_a_servers_own() -> None:
    bug, expected = named("3598"), Expectations("3.9.5")
    wrong = ["lower vote", "digest mismatch"]
    judged: Any = SimpleNamespace(known=[SimpleNamespace(issue=bug.known)], wrong=wrong, simulated=False)
    assert expected.unexplained(judged) == ["lower vote"]
    assert failure_of(bug, False, judged, expected) == "not shown, but something else is wrong: lower vote"


@pytest.mark.parametrize(
    ("options", "code"),
    [([], 0), (["--repairs", "4712"], 1), pytest.param(["--strict"], 1, marks=pytest.mark.slow)],
)
def test_a_drawn_run_that_looks_like_a_known_issue(
    options: list[str], code: int, recorded: list[str], zabcheck: Command, tmp_path: Path
) -> None:
    """It does so by the signature of 4712."""
    recorded += [HEALTHY, LOST]
    result = zabcheck(*GATE, *options, *fake(tmp_path))
    assert result.code == code
    assert ("search, seed 1: something is wrong: durability, " in result.out) == bool(code)
    assert (tmp_path / "reports/zookeeper-3.8.0-seed-1/schedule.json").exists() == bool(code)


@pytest.mark.slow
def test_something_else_that_is_wrong(recorded: list[str], zabcheck: Command, tmp_path: Path) -> None:
    """A bug that the version has may look otherwise; so may another; what looks like none of them is a failure."""
    wrong = "ZOOKEEPER-4925: not shown, but something else is wrong: durability, "
    for options, code in (([], 0), (["--repairs", "4712"], 1)):
        recorded += [LOST, HEALTHY, HEALTHY]
        bug = ("zookeeper", "gate", "--processes", "--bug", "4925", "--budget", "45s")
        result = zabcheck(*bug, *options, *fake(tmp_path))
        recorded.clear()
        assert (result.code, wrong in result.out) == (code, bool(code))


@pytest.mark.slow
def test_a_recording_that_is_no_run_of_the_model_is_left_open_unless_something_is_wrong(
    recorded: list[str], zabcheck: Command, tmp_path: Path
) -> None:
    place = "ZOOKEEPER-4712: differs from the model of 3.9.2 at server 1, packet 48: ACK(⟨1,4⟩)"
    for options, code in (([], 3), (["--strict"], 1)):
        recorded[:] = [LOST, HEALTHY]
        result = zabcheck(*GATE, *fake(tmp_path), *options, "--release", "3.9.2")
        assert result.code == code
        assert "conformance: 1 of 2 passed" in result.out
        assert place in " ".join(result.out.split())
        assert ("name it with --expect" in result.out) == (code == 3)
        kept = Path("reports/zookeeper-3.8.0-ZOOKEEPER-4712")
        for name in ("schedule.json", "report.html", "difference.schedule.json", "difference.html"):
            assert f"wrote {kept / name}\n" in result.out
            assert (tmp_path / kept / name).exists()
        page = "difference" if code == 3 else "report"
        assert result.out.splitlines()[-1].endswith(f"next: open {kept}/{page}.html")


def test_a_difference_that_the_patch_means_is_told_and_accepted(
    recorded: list[str], zabcheck: Command, tmp_path: Path
) -> None:
    recorded += [LOST, HEALTHY]
    result = zabcheck(*GATE, *fake(tmp_path), "--release", "3.9.2", "--expect", "ACK(", "--format", "json")
    assert (result.code, result.json["verdict"]) == (0, "passed")
    assert result.json["outcomes"][-1]["message"] == (
        "of 2 recordings 1 is a run of the model of 3.9.2, 1 not; that is to be expected of ZOOKEEPER-4712: --expect"
    )


@pytest.fixture
def rates(monkeypatch: pytest.MonkeyPatch) -> Callable[[Rates], None]:
    """Have these rates be those of 3.8.0, and draw runs one by one."""
    monkeypatch.setattr(gating, "AT_ONCE", 1)
    monkeypatch.setattr(gating, "JOBS", 1)

    def have(before: Rates) -> None:
        monkeypatch.setattr(gating, "measured", lambda: {"3.8.0": before})
        monkeypatch.setattr(failure, "Shortening", NotShorter)

    return have


class NotShorter(Shortening):
    """Finds no shorter schedule."""

    def shorten(self, seconds: int) -> None:
        assert self.wanted == "durability"


def simulated(folder: Path, seconds: int) -> tuple[str, ...]:
    """A gate with a budget, without --simulated: Java is new enough."""
    return "zookeeper", "gate", "--bug", "4643", "--budget", f"{seconds}s", *fake(folder)


def test_what_the_release_shows_as_often_is_no_failure_of_a_simulated_run(
    recorded: list[str], zabcheck: Command, tmp_path: Path, rates: Callable[[Rates], None]
) -> None:
    rates(Rates(1000, dict.fromkeys(("durability", "total order", "looks like ZOOKEEPER-4712"), 1000)))
    recorded += [HEALTHY, LOST, HEALTHY]
    told = zabcheck(*simulated(tmp_path, 60), "--format", "json").json
    assert recorded == []
    drawn = next(each for each in told["outcomes"] if each["name"] == "drawn runs")
    assert drawn["status"] == "passed"
    assert drawn["message"].startswith(
        "2 runs with drawn faults and thread orders, compared with 1,000 of the release "
    )


@pytest.mark.slow
def test_what_simulated_servers_show_more_often_than_the_release_is_the_patchs(
    recorded: list[str], zabcheck: Command, tmp_path: Path, rates: Callable[[Rates], None]
) -> None:
    rates(Rates(1000, {}))
    recorded += [HEALTHY, *[LOST] * 7]
    result = zabcheck(*simulated(tmp_path, 140))
    assert (result.code, result.err, recorded) == (1, "", [])
    told = " ".join(result.out.split())
    assert "failed durability: in 6 of 6 runs, without a patch in 0 of 1,000 (by chance: " in told
    page = tmp_path / "reports/zookeeper-3.8.0-seed-4/report.html"
    assert page.exists()


def test_where_a_bug_is_repaired_a_recording_need_not_be_a_run_of_the_model_that_has_it(
    recorded: list[str], zabcheck: Command, tmp_path: Path
) -> None:
    recorded += [LOST, HEALTHY]
    bug = ("zookeeper", "gate", "--processes", "--bug", "4394", "--budget", "30s")
    options = ("--repairs", "4394", "--release", "3.9.2", "--format", "json")
    told = zabcheck(*bug, *options, *fake(tmp_path)).json
    assert told["outcomes"][-1]["message"] == (
        "of 2 recordings 1 is a run of the model of 3.9.2, 1 not; that is to be expected of ZOOKEEPER-4394: "
        "the model has that bug"
    )
    assert told["verdict"] == "passed"


def test_nothing_is_compared_with_the_model_on_demand(recorded: list[str], zabcheck: Command, tmp_path: Path) -> None:
    recorded += [HEALTHY, HEALTHY]
    told = zabcheck(*GATE, *fake(tmp_path, version="3.9.7"), "--release", "none", "--format", "json").json
    assert (told["verdict"], told["model"]) == ("passed", None)
    assert [each["suite"] for each in told["outcomes"]] == ["catalogue", "search"]


def test_what_was_done_until_ctrl_c_is_told(recorded: list[str], zabcheck: Command, tmp_path: Path) -> None:
    recorded += [HEALTHY, "Ctrl-C"]
    result = zabcheck(*GATE, *fake(tmp_path))
    assert result.code == 3
    assert "0 runs with drawn faults and thread orders; interrupted" in " ".join(result.out.split())
    recorded[:] = ["Ctrl-C"]
    result = zabcheck(*GATE, *fake(tmp_path))
    assert result.code == 3
    assert result.out.splitlines()[-1].startswith("INCONCLUSIVE: gate inconclusive: 0 of 3 passed, 0 executions, ")
    assert "; next: zabcheck zookeeper gate " in result.out
    assert {each.name for each in tmp_path.iterdir()} == {"java-serves-3.8.0"}


def test_what_the_budget_was_too_short_for_is_left_open(
    recorded: list[str], zabcheck: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(gating, "monotonic", Clock(recorded, 100))
    recorded += [HEALTHY]
    result = zabcheck(*GATE, *fake(tmp_path), "--format", "json")
    assert result.code == 3
    assert [(each["status"], each["message"]) for each in result.json["outcomes"]] == [
        ("passed", "shown in 0 of 1, though ZooKeeper 3.8.0 has it"),
        ("inconclusive", "0 runs with drawn faults and thread orders; the budget is used up"),
        ("passed", "of 1 recording 1 is a run of the model of 3.8.0"),
    ]


def test_a_schedule_that_the_version_cannot_execute(recorded: list[str], zabcheck: Command, tmp_path: Path) -> None:
    """There are no classes with the points in this folder. What cannot be executed is demanded of a repair only."""
    for options, code in (([], 0), (["--repairs", "4643"], 3)):
        recorded[:] = [HEALTHY, HEALTHY]
        java = ("--java", str(fake_zookeeper.java(tmp_path, "serves")), "--classpath", str(tmp_path))
        bug = ("zookeeper", "gate", "--processes", "--bug", "4643", "--budget", "30s")
        result = zabcheck(*bug, *options, *java)
        recorded.clear()
        assert result.code == code
        assert "ZOOKEEPER-4643 with 3.8.0 is not executed: " in " ".join(result.out.split())


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--budget", "soon"], "--budget soon: expected a time such as 90s, 10m or 1h30m"),
        (["--budget", ""], "--budget : expected a time such as 90s, 10m or 1h30m"),
        (
            ["--budget", "2m"],
            f"--budget 2m: expected at least {15 * (len(BUGS) + 1)}s for {len(BUGS)} schedules and a drawn run",
        ),
        (["--bug", "464"], "no bug `464`; did you mean `4646`?"),
        (["--repairs", "5088"], "no schedule shows ZOOKEEPER-5088: "),
        (["--release", "3.9.7"], "--release: no `3.9.7`; did you mean `3.9.5`?"),
        (["--times", "0"], "Invalid value for '--times'"),
        (["--out", "a file"], "--out a file: expected a directory, a file is a file"),
        (["--junit", "."], "--junit .: expected the name of a file in a folder that there is"),
        (["--classpath", "nowhere"], "/nowhere: expected a jar or a folder of the class path, found nothing"),
    ],
)
def test_bad_input(arguments: list[str], message: str, zabcheck: Command, tmp_path: Path) -> None:
    (tmp_path / "a file").touch()
    result = zabcheck("zookeeper", "gate", "--processes", *arguments)
    assert (result.code, result.out) == (2, "")
    assert message in result.err
    assert result.err.count("\n") == 1


def test_jars_that_are_none_and_a_version_that_the_model_does_not_have(zabcheck: Command, tmp_path: Path) -> None:
    foreign = ("--java", str(fake_zookeeper.java(tmp_path, "foreign")), "--classpath", str(tmp_path))
    result = zabcheck(*GATE, *foreign)
    assert (result.code, result.out) == (2, "")
    assert f"{tmp_path}: expected the jars of ZooKeeper, found: " in result.err
    result = zabcheck(*GATE, *fake(tmp_path, version="3.9.7-SNAPSHOT"))
    assert (result.code, result.out) == (2, "")
    assert "the model has no ZooKeeper 3.9.7-SNAPSHOT: expected --release VERSION or none" in result.err


@pytest.mark.parametrize(("text", "seconds"), [("90s", 90), ("600", 600), ("10m", 600), ("1h30m", 5400), ("1m5s", 65)])
def test_budgets(text: str, seconds: int) -> None:
    assert gating.seconds_of(text) == seconds
