"""The event at which a run of a real ensemble is no run of Zab any more."""

from pathlib import Path

import pytest
from msgspec.structs import replace

from docs.generators.zookeeper import HEALTHY, LOST_WRITE, extracted
from invariants import Broadcast
from zabcheck.zookeeper.report import departure as departing
from zabcheck.zookeeper.report.departure import KIND, departure
from zabcheck.zookeeper.report.runs import EnsembleSummary, noticed_in
from zabcheck.zookeeper.trace.notes import NoEnd
from zabcheck.zookeeper.verdict.judge import judge


def test_a_healthy_run_is_one_of_zab_to_the_end() -> None:
    judged = judge(HEALTHY)
    assert departure(judged) == ""
    assert KIND not in dict(noticed_in(judged))


def test_the_packet_is_told_before_a_property_breaks(tmp_path: Path) -> None:
    assert departure(judge(extracted("applied-again-3.8.0", tmp_path))) == (
        "p1 (incarnation 1) accepts the initial history of epoch 2, up to ⟨1,5⟩: that is no instance of step f.2.1 "
        "(adopt): the initial history of epoch 2 has c3.3⟨1,6⟩ and 1 more, too (line 193, packet 77); "
        "so `initial history accepted` is false for p1, epoch 2, c3.3⟨1,6⟩: a process that adopted an epoch "
        "accepted all of its initial history (f.2.1); "
        "the first property that breaks, primary integrity, does so 50 events later"
    )


def test_the_conjunct_may_be_false_after_a_later_event() -> None:
    """The history that server 1 provides changes nothing yet. The part of it that is taken as initial history does."""
    assert departure(judge(LOST_WRITE)) == (
        "p1 (incarnation 1) provides its history up to ⟨1,3⟩ for epoch 3: that is no instance of step f.1.2 "
        "(promise): it had accepted c3.1⟨1,4⟩ in epoch 2 (line 157, server-1.1.log:52); "
        "p1 (incarnation 1) accepts the initial history of epoch 3, up to ⟨1,3⟩ (line 158, server-1.1.log:52): "
        "`not choosable` is false for epoch 1, epoch 3, c3.1⟨1,4⟩: a transaction that a later initial history lacks is "
        "not committed in an epoch, and never will be. Every quorum has a process that left the epoch without having "
        "accepted the transaction in it; "
        "the first property that breaks, invariant 4, does so with it"
    )


def test_reports_have_it_among_what_is_noticed() -> None:
    judged, summary = judge(LOST_WRITE), EnsembleSummary("3.8.0", 3)
    summary.add(judged, 7, 1.0)
    assert dict(noticed_in(judged))[KIND] == summary.noticed[KIND].text == departure(judged)
    assert KIND not in summary.wrong


@pytest.mark.parametrize("properties", [["core"], ["integrity"]])
def test_a_choice_of_properties_has_no_departure(properties: list[str]) -> None:
    assert departure(judge(LOST_WRITE, properties)) == ""


def test_a_trace_with_holes_has_no_departure() -> None:
    judged = judge(LOST_WRITE)
    holes = replace(judged.observation, holes=(NoEnd(),))
    assert departure(judged._replace(observation=holes)) == ""


def test_a_run_of_too_many_broadcasts_has_no_departure(monkeypatch: pytest.MonkeyPatch) -> None:
    judged = judge(LOST_WRITE)
    broadcasts = sum(isinstance(event, Broadcast) for event in judged.observation.events)
    monkeypatch.setattr(departing, "MOST_BROADCASTS", broadcasts)
    assert departure(judged) != ""
    monkeypatch.setattr(departing, "MOST_BROADCASTS", broadcasts - 1)
    assert departure(judged) == ""
