"""`zabcheck play --servers`: what servers did for a run of the model, beside each of its steps."""

import json
from pathlib import Path
from threading import Event
from typing import Any

import pytest

from tests.cli.command import BROKEN_SCHEDULE
from tests.cli.conftest import Command
from tests.cli.zookeeper.conftest import fake
from tests.cli.zookeeper.test_on_servers import LOST_WRITE, recorded_as
from zabcheck.cli.play import desk_of
from zabcheck.cli.zookeeper.layer import layer_of
from zabcheck.play.desk import Desk, Layer, Servers
from zabcheck.play.regions import regions
from zabcheck.play.session import Session
from zabcheck.search.run import named_by
from zabcheck.simulation import choices
from zabcheck.simulation import schedule as schedules
from zabcheck.simulation.schedule import Schedule

MATCHED: dict[str, Any] = {"wrong": ["durability"], "difference": None, "error": ""}
DIFFERENCE = {"choice": 20, "text": "x", "server": 3, "field": "state", "model": "2", "seen": "1"}


def report(*runs: dict[str, Any], **fields: Any) -> bytes:
    return json.dumps({"zookeeper": "3.8.0", "simulated": False, "choices": 28, "runs": runs, **fields}).encode()


def desk(*runs: dict[str, Any]) -> Desk:
    """A desk at the end of the run, with these executions."""
    schedule = schedules.load(LOST_WRITE.read_bytes(), "run")
    run, layer = layer_of(report(*runs), "report", schedule, "run")
    one = desk_of(Session.of(named_by(run), run), None)
    one.layers.append(layer)
    return one


def test_what_the_servers_did_is_told_beside_each_step(
    zabcheck: Command, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """The report is what the command itself prints; without one the servers do the run, and what is asked."""
    executed = recorded_as(monkeypatch, "lost-write-3.8.0")
    told = zabcheck("replay", LOST_WRITE, "--on-zookeeper", *fake(tmp_path), "--format", "json")
    (tmp_path / "report.json").write_text(told.out, encoding="utf-8")
    said = zabcheck("play", LOST_WRITE, "--servers", "report.json", stdin=b"\n\n").out
    assert zabcheck("play", LOST_WRITE, "--on-zookeeper", *fake(tmp_path), stdin=b"\n\n").out == said
    _, first, second = said.split("step ")[:3]
    title = "\nservers of ZooKeeper 3.8.0 (p1 is C, p2 is B, p3 is A):"
    assert title in first
    assert "\n  let nobody elect any more\n" in first
    assert "\n  pass FOLLOWERINFO on C → B\n" in second
    assert "\n  1 server compared: as in the model in 1 of 1 execution\n" in second
    begun = zabcheck("play", "--protocol", "zookeeper", "--on-zookeeper", *fake(tmp_path), stdin=b"lead 3 1 2\nx\nq\n")
    assert f"{title} matched to the end; broke durability, " in begun.out
    assert "\n  let nobody elect any more\n" in begun.out
    assert len(executed[-1].choices) < len(executed[0].choices)


def test_the_picture_marks_the_steps_until_an_execution_differs() -> None:
    one = desk(MATCHED, {**MATCHED, "difference": DIFFERENCE})
    shown = regions(one)
    rows = shown["picture"].partition("<ol")[2].split("<li")[1:29]
    marks = ["≠" if "≠ servers" in row else "=" if "= servers" in row else "" for row in rows]
    assert marks[20:] == ["≠"] + [""] * 7
    assert set(marks[:20]) <= {"=", ""}
    assert marks.count("=") > 15
    assert "1 execution differed before" in shown["servers"]
    one.session.go(21)
    at = regions(one)["servers"]
    assert "as in the model in 1 of 2 executions" in at
    assert "server 3, state: the model has 2, the server 1; broke durability" in at
    one.session.do(choices.Crash(1))
    assert "nothing is known here" in regions(one)["servers"]


def test_servers_that_are_asked_do_the_branch_up_to_here() -> None:
    """A choice that stands for several has what was done for each of them."""
    asked = []

    def execute(schedule: Schedule) -> Layer:
        asked.append(schedule)
        return layer_of(report(MATCHED, choices=len(schedule.choices)), "report", schedule, "run")[1]

    one = desk({**MATCHED, "difference": {**DIFFERENCE, "choice": 1}})
    one.servers = Servers("servers of ZooKeeper 3.8.0", execute, Event())
    one.session.go(1)
    one.session.do(choices.Settle(2))
    assert "they have not done this: they can be asked below" in regions(one)["servers"]
    assert "What do servers of ZooKeeper 3.8.0 do?" in regions(one)["ask"]
    one.act(b'{"act":"ask","question":"servers"}')
    settled = len(one.session.here.executed)
    assert asked == [one.session.schedule()]
    assert one.layers[-1].places == (1, *[one.session.here.number] * settled)
    assert regions(one)["picture"].count("= servers") >= settled > 1
    assert "matched to the end; broke durability." in regions(one)["answer"]
    one.session.go(28)
    assert "1 execution differed before" in regions(one)["servers"], "it is of the first run"


def test_an_execution_that_was_cut_off_marks_nothing() -> None:
    one = desk({**MATCHED, "error": "interrupted"})
    assert "servers</span>" not in regions(one)["picture"]
    assert "not complete: interrupted; broke durability" in regions(one)["servers"]


def test_a_difference_at_the_start_is_told_at_the_first_step() -> None:
    one = desk({**MATCHED, "difference": {**DIFFERENCE, "choice": -1}})
    one.session.go(1)
    [layer] = one.layers
    assert layer.mark(one.session.here) == "≠"
    assert layer.said_at(one.session.here)[-1].startswith("server 3, state: ")


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (b"{", "report.json, line 1: expected a report as one JSON object, "),
        (report(choices=27), "report.json, line 1, field `choices`: expected 28, those of run.json, found 27"),
        (report(zookeeper="2.0.0"), "report.json, line 1, field `zookeeper`: the model has no ZooKeeper 2.0.0"),
        (report(zookeeper="3.9.5"), "run.json: cannot be had on real servers: its version is 3.8"),
        (report(choices="x"), "report.json, line 1, field `choices`: Expected `int`, got `str`; a report is what"),
        (report({**MATCHED, "difference": {**DIFFERENCE, "choice": 28}}), "report.json, line 1, field `choices`: "),
    ],
)
def test_a_report_of_something_else_is_refused(zabcheck: Command, tmp_path: Path, data: bytes, why: str) -> None:
    (tmp_path / "report.json").write_bytes(data)
    (tmp_path / "run.json").write_bytes(LOST_WRITE.read_bytes())
    refused = zabcheck("play", "run.json", "--servers", "report.json")
    assert refused.code == 2
    assert refused.err.startswith(f"zabcheck: {why}")


def test_only_a_saved_run_of_the_model_has_servers(zabcheck: Command, tmp_path: Path) -> None:
    (tmp_path / "report.json").write_bytes(report(MATCHED))
    (tmp_path / "run.json").write_bytes(BROKEN_SCHEDULE)
    assert "expected a run of the model `zookeeper`" in zabcheck("play", "run.json", "--servers", "report.json").err
    zab = zabcheck("play", "--on-zookeeper", *fake(tmp_path))
    assert zab.err == "zabcheck: --on-zookeeper: expected a run of the model `zookeeper`, found `zab`\n"
    lesson = zabcheck("play", "--lesson", "quorum", "--on-zookeeper")
    assert lesson.err == "zabcheck: --on-zookeeper: only for a run of the model `zookeeper` that goes on\n"
    beside = zabcheck("play", "--scenario", "zab-joining", "--servers", "report.json")
    assert (beside.code, beside.err) == (2, "zabcheck: --servers: only beside a saved schedule\n")
    alone = zabcheck("play", "run.json", "--classpath", "x")
    assert (alone.code, alone.err) == (2, "zabcheck: --classpath: only with --on-zookeeper\n")
