"""The proof's properties on recordings of real ensembles: the first event that is no step of Zab."""

from pathlib import Path

import pytest

import zabcheck.proof.monitors  # noqa: F401  # adds the properties
from docs.generators.zookeeper import ARCHIVED, HEALTHY, LOST_WRITE, extracted
from invariants import Verdict, check
from tests.tiers import sweep
from zabcheck.zookeeper.report.departure import departure
from zabcheck.zookeeper.verdict.judge import RecordingVerdict, judge

RECORDINGS = {
    "2307-3.6.2": (53, "f.2.1", "packet 67", "promises leave", "none", None),
    "4311-3.6.2": (52, "l.2.2", "server-3.1.log:206", "established lead", "epoch uniqueness", 0),
    "4409-3.8.0": (57, "f.2.1", "packet 237", "delivered is a prefix", "total order", 12),
    "4541-3.8.0": (62, "f.2.1", "packet 94", "delivered is a prefix", "total order", 12),
    "4643-3.8.0": (55, "f.2.1", "disk of server 1", "initial history accepted", "primary integrity", 39),
    "4646-3.8.0": (72, "f.1.2", "server-1.2.log:186", "not choosable", "primary integrity", 25),
    "lost-write-3.8.0": (40, "f.1.2", "server-1.1.log:52", "not choosable", "primary integrity", 19),
    "4837-3.9.5": (51, "f.2.1", "packet 119", "accepted in the epoch", "final agreement", 15),
    "4882-3.9.3": (50, "f.2.1", "disk of server 1", "delivered is a prefix", "total order", 36),
    "4925-3.9.3": (61, "f.2.1", "packet 85", "initial history accepted", "total order", 12),
    "5094-3.8.0": (49, "f.2.1", "packet 107", "delivered is a prefix", "total order", 10),
    "ack-before-trunc-3.9.5": (36, "f.1.2", "server-3.1.log:238", "not choosable", "durability", 44),
    "applied-again-3.8.0": (56, "f.2.1", "packet 77", "initial history accepted", "primary integrity", 50),
    "half-record-3.9.5": (43, "f.1.2", "packet 126", "not choosable", "primary integrity", 32),
    "numbered-not-applied-3.8.0": (74, "f.2.1", "packet 170", "initial history accepted", "total order", 33),
    "late-proposal-3.9.5": (67, "l.3.1", "server-2.0.log:455", "accepted is a prefix", "zxid assignment", 0),
    "unlogged-voter-3.9.5": (227, "f.2.1", "packet 339", "delivered is a prefix", "total order", 6),
    "pending-config-3.9.5": (111, "f.2.1", "server-3.0.log:612", "accepted in the epoch", "epoch uniqueness", 1),
    "skipped-config-3.9.5": (156, "l.2.2", "server-5.0.log:500", "established lead", "epoch uniqueness", 0),
    "old-config-epoch-3.9.5": (115, "f.2.1", "packet 515", "initial history accepted", "primary integrity", -89),
    "two-lists-3.9.5": (69, "l.1.2", "server-1.1.log:431", "not choosable", "primary integrity", 35),
    "promoted-observer-3.8.0": (99, "f.2.1", "packet 343", "delivered is a prefix", "total order", 11),
    "observer-counted-3.8.0": (112, "f.1.2", "server-4.0.log:1546", "not choosable", "primary integrity", 34),
    "nobody-designated-3.9.5": (55, "f.3.3", "server-3.0.log:232", "delivered is a prefix", "agreement", 0),
    "unwritten-config-3.9.5": (237, "f.2.1", "packet 461", "initial history accepted", "epoch uniqueness", -184),
    "stale-log-3.9.5": (96, "f.2.1", "packet 149", "initial history accepted", "total order", 14),
    "unforced-snapshot-3.9.3": (56, "f.2.1", "packet 523", "delivered is a prefix", "total order", 10),
}
"""For each recording how many events change the state of the abstraction; of which step the first event is no instance
that is none, and what shows it; which conjunct is false; which property of clients or of III-A breaks first, and how
many events later; a server that cannot start breaks none."""
NO_DEPARTURE = {
    "healthy-3.8.0": 165,
    "2832-3.9.5": 40,
    "late-set-3.9.5": 70,
    "trunc-keeps-one-3.9.5": 75,
    "missed-activation-3.9.5": 76,
}
"""Recordings of which each event is an instance, with the number of those that change the state."""
PAGE = Path(__file__).parents[2] / "docs/proof.md"
NOTES = Path(__file__).parents[2] / "docs/notes/proof.md"


def judged_recording(name: str, folder: Path) -> RecordingVerdict:
    kept = {each.name: each for each in (HEALTHY, LOST_WRITE)}
    return judge(kept.get(name) or extracted(name, folder))


def of_the_proof(judged: RecordingVerdict) -> list[Verdict]:
    return check(judged.observation.trace(), ["refinement", "proof"])


@pytest.mark.parametrize("name", sweep(RECORDINGS, normal=[*RECORDINGS][::3]))
def test_where_a_recording_leaves_what_is_proved(name: str, tmp_path: Path) -> None:
    changes, step, source, conjunct, breaks, after = RECORDINGS[name]
    judged = judged_recording(name, tmp_path)
    refined, proof = of_the_proof(judged)
    assert (refined.judged, proof.judged) == (changes, changes)
    told = departure(judged)
    assert f"that is no instance of step {step} " in told.partition(" (line ")[0]
    assert f", {source}" in told.partition(" (line ")[2].partition(")")[0]
    assert f"`{conjunct}` is false" in told
    assert refined.violation is not None
    events = judged.observation.events
    first = next(number for number, event in enumerate(events) if event is refined.violation.witness[0])
    of_clients = [each.violation for each in judged.verdicts if each.violation and "invariant" not in each.property]
    detected = {each.property: len(events) if each.detected is None else each.detected for each in of_clients}
    broken = min(detected, key=lambda each: detected[each], default="none")
    assert (broken, detected[broken] - first if detected else None) == (breaks, after)
    row = f"{name} | {changes} | {step} | {source} | {conjunct} | {breaks} | {'' if after is None else after}".rstrip()
    assert f"\n{row}\n" in NOTES.read_text(encoding="utf-8")


@pytest.mark.parametrize("name", NO_DEPARTURE)
def test_a_recording_that_is_a_run_of_zab(name: str, tmp_path: Path) -> None:
    judged = judged_recording(name, tmp_path)
    told = [(each.status, each.judged) for each in of_the_proof(judged)]
    assert told == [("holds", NO_DEPARTURE[name])] * 2
    assert departure(judged) == ""
    assert f"\n{name} | {NO_DEPARTURE[name]} | none | | | " in NOTES.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("name", "difference"),
    [
        ("4409-3.8.0", "it has 6 transactions up to there, not 7"),
        ("4643-3.8.0", "the initial history of epoch 2 has c2.2⟨1,5⟩ and 2 more, too"),
        ("4837-3.9.5", "the history of epoch 2 does not have c3.2⟨1,5⟩"),
        ("ack-before-trunc-3.9.5", "it had accepted c2.1⟨1,4⟩ in epoch 1"),
    ],
)
def test_how_a_history_differs(name: str, difference: str, tmp_path: Path) -> None:
    refined, _ = of_the_proof(judged_recording(name, tmp_path))
    assert refined.violation is not None
    assert refined.violation.summary.endswith(f"): {difference}")


def test_what_the_page_shows_is_what_is_said(tmp_path: Path) -> None:
    said = departure(judged_recording("4643-3.8.0", tmp_path))
    assert said.endswith("the first property that breaks, primary integrity, does so 39 events later")
    assert "(ZOOKEEPER-4643) is named 39 events before a property breaks" in PAGE.read_text(encoding="utf-8")


def test_each_recording_is_in_a_table() -> None:
    assert sorted([*RECORDINGS, *NO_DEPARTURE]) == sorted([HEALTHY.name, LOST_WRITE.name, *ARCHIVED.values()])


def test_a_forgotten_acknowledgement_is_seen_before_anybody_is_harmed(tmp_path: Path) -> None:
    judged = judged_recording("ack-before-trunc-3.9.5", tmp_path)
    _, outside = of_the_proof(judged)
    assert outside.violation is not None
    assert "`not choosable` is false, for e = epoch 1, f = epoch 2, t = c2.1⟨1,4⟩" in outside.violation.summary
    assert "violated" not in [verdict.status for verdict in check(judged.observation.trace(), ["core"])]
