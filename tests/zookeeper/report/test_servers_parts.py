"""The part of the servers in a broken promise to clients."""

from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from docs.generators.zookeeper import HEALTHY, extracted
from zabcheck.cli.zookeeper.recordings import story_of
from zabcheck.counterexample.forms.page import page
from zabcheck.counterexample.forms.story_json import fields
from zabcheck.counterexample.forms.terminal import to_text
from zabcheck.counterexample.story import ServersPart, ServerStep
from zabcheck.zookeeper.report import servers_parts as parts_of
from zabcheck.zookeeper.report.runs import EnsembleSummary
from zabcheck.zookeeper.report.servers_parts import servers_parts
from zabcheck.zookeeper.verdict.judge import RecordingVerdict, judge

OF_THE_MODEL = ServerStep("the model", 2, "it broadcasts c2.2⟨1,5⟩", "server-2.0.log:455")


def part(judged: RecordingVerdict, name: str = "data agreement") -> ServersPart:
    return servers_parts(judged)[name]


def test_the_first_step_that_is_none_of_the_model_is_named(tmp_path: Path) -> None:
    found = part(judge(extracted("late-proposal-3.9.5", tmp_path)))
    assert found.steps[0] == OF_THE_MODEL
    assert [(each.of, each.server, each.source) for each in found.steps[1:]] == [("Zab", 2, OF_THE_MODEL.source)]
    assert (found.compared, found.breaks, found.known) == ("differs", (), ("late-proposal",))


def test_a_run_of_the_model_breaks_what_it_breaks_there_and_names_the_step_of_zab(tmp_path: Path) -> None:
    found = part(judge(extracted("numbered-not-applied-3.8.0", tmp_path)), "ephemeral nodes")
    assert [(each.of, each.server, each.source) for each in found.steps] == [("Zab", 1, "packet 170")]
    assert (found.compared, found.known) == ("conforms", ("numbered-not-applied",))
    assert "total order" in found.breaks


def test_a_known_bug_is_named_though_no_step_departs(tmp_path: Path) -> None:
    found = servers_parts(judge(extracted("late-set-3.9.5", tmp_path)))
    same = ServersPart((), "conforms", (), ("ZOOKEEPER-3598",))
    assert found == {"changes last": same, "data agreement": same}


def test_a_step_after_the_finding_is_not_its_cause(tmp_path: Path) -> None:
    judged = judge(extracted("late-proposal-3.9.5", tmp_path))
    assert part(_seen_at(judged, 1)).steps == ()


def _seen_at(judged: RecordingVerdict, time: int) -> RecordingVerdict:
    """Return the run with everything that clients saw at another time."""
    clients = []
    for each in judged.clients:
        if each.violation is not None:
            witness: Any = tuple(replace(record, time=time) for record in each.violation.witness)
            each = each._replace(violation=each.violation._replace(witness=witness))
        clients.append(each)
    return judged._replace(clients=clients)


def test_one_of_which_nothing_is_known_is_left_out(tmp_path: Path) -> None:
    judged = _seen_at(judge(extracted("late-proposal-3.9.5", tmp_path)), 1)
    assert servers_parts(judged._replace(known=[])) == {}


def test_nothing_is_compared_if_clients_saw_nothing_wrong(monkeypatch: pytest.MonkeyPatch) -> None:
    def compare(_: Path) -> None:
        raise AssertionError("compared")

    monkeypatch.setattr(parts_of, "conform", compare)
    assert servers_parts(judge(HEALTHY)) == {}


def test_every_form_tells_it_beside_the_finding(tmp_path: Path) -> None:
    story = story_of(judge(extracted("late-proposal-3.9.5", tmp_path)))
    said = f"no step of the model, at server 2: {OF_THE_MODEL.what} ({OF_THE_MODEL.source})"
    lines = [line.strip() for line in to_text(story).splitlines()]
    finding = next(number for number, line in enumerate(lines) if line.startswith("data agreement "))
    assert said in lines[finding + 1 : finding + 4]
    assert f"<br/>{said}<br/>" in page(story).split("data agreement", 1)[1]
    told = {each["kind"]: each["servers"] for each in fields(story)["noticed"]}
    assert told.pop("data agreement")["steps"][0] == {
        "of": "the model",
        "server": 2,
        "what": OF_THE_MODEL.what,
        "source": OF_THE_MODEL.source,
    }
    assert {*told.values()} == {None}


def test_a_summary_has_that_of_the_first_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    judged, summary = judge(extracted("late-set-3.9.5", tmp_path)), EnsembleSummary("3.9.5", 3)
    summary.add(judged, 7, 1.0)
    assert summary.wrong["data agreement"].servers == part(judged)
    monkeypatch.setattr(parts_of, "conform", None)
    summary.add(judged, 8, 1.0)
    wrong = {each["name"]: each["servers"] for each in summary.as_json()["wrong"]}
    assert wrong["changes last"]["known"] == ("ZOOKEEPER-3598",)
    assert wrong["digest mismatch"] is None
