"""The report of a run of a real ensemble, beside its trace."""

import json
from pathlib import Path

from msgspec.structs import replace

from docs.generators.zookeeper import HEALTHY, LOST_WRITE, extracted
from invariants import Crash
from tests.counterexample.pages import trace
from zabcheck.cli.zookeeper.recordings import story_of
from zabcheck.counterexample.forms.decided import decided
from zabcheck.counterexample.forms.page import page
from zabcheck.counterexample.forms.story_json import to_json
from zabcheck.counterexample.forms.terminal import to_text
from zabcheck.text.words import phrase
from zabcheck.zookeeper.recording.folder import Recorder
from zabcheck.zookeeper.recording.records import (
    Cast,
    Chose,
    Ended,
    Exited,
    Killed,
    PowerLost,
    Reached,
    Read,
    Run,
    Started,
)
from zabcheck.zookeeper.report.runs import what_was_done, worst_in
from zabcheck.zookeeper.verdict.judge import judge

DONE = (("0.5 s", "kill -9 of A"), ("1.5 s", "wait for a leader, 4 s at most: nobody leads"))


def test_what_was_done_is_read_from_the_recording(tmp_path: Path) -> None:
    recorder = Recorder(tmp_path)
    for record in (
        Run(1, "3.8.0", 3),
        Started(900_000, 3, 0),
        Cast(1_000_000, {"A": 3}),
        Chose(1_500_000, 0, "kill -9 of A"),
        Chose(2_500_000, 1, "wait for a leader, 4 s at most"),
        Killed(3_000_000, 2),
        Exited(3_500_000, 1, 13),
        Chose(6_500_000, 1, "wait for a leader, 4 s at most", "nobody leads"),
        Read(7_000_000, 3, ()),
        Read(7_000_001, 2, ()),
        Ended(8_000_000, True),
    ):
        recorder.record(record)
    recorder.close()
    assert tuple(what_was_done(tmp_path)) == (
        ("", "A is p3; pN is server N"),
        *DONE,
        ("2.0 s", "  p2 is killed"),
        ("2.5 s", "  p1 ends by itself with exit code 13"),
        ("6.0 s", "all is healed and up, and every server is read"),
    )


def test_what_a_power_failure_took_is_said_in_the_words_of_a_crash_in_the_simulator(tmp_path: Path) -> None:
    recorder = Recorder(tmp_path)
    for record in (
        Run(1, "3.8.0", 3),
        Cast(1_000_000, {"A": 3}),
        Reached(1_500_000, 3, "log-force", "SyncThread:3", "lost"),
        PowerLost(1_600_000, 3, 1, {"log.100000001": 120}),
        PowerLost(1_700_000, 2, 2, {"log.100000001": None, "snapshot.0": None}, "found less"),
        PowerLost(1_800_000, 1, 0, {}),
        PowerLost(1_900_000, 1, 0, {}, undone=("currentEpoch",)),
    ):
        recorder.record(record)
    recorder.close()
    assert [words for _, words in what_was_done(tmp_path)][1:] == [
        "  p3, log-force: SyncThread:3 comes: the power fails",
        f"  p3 is without power: it {phrase(Crash(3, 0, 1))}; log.100000001 ends at byte 120",
        f"  p2 is without power: it {phrase(Crash(2, 0, 2))}; log.100000001 is gone; snapshot.0 is gone (found less)",
        "  p1 is without power: it loses nothing",
        "  p1 is without power: currentEpoch is currentEpoch.tmp again",
    ]


def test_each_form_tells_what_was_done_and_how_to_do_it_again() -> None:
    story = replace(trace(), done=DONE)
    text, markup = to_text(story, 100, file="schedule.json"), page(story, "schedule.json")
    for told in (text, markup):
        assert "zabcheck replay schedule.json" in told
        assert "What was done to the ensemble" in told
        for when, what in DONE:
            assert told.index(when) < told.index(what)
    assert json.loads(to_json(story))["done"] == [{"when": when, "what": what} for when, what in DONE]


def test_each_form_tells_what_it_looks_like_and_what_else_was_wrong() -> None:
    story = replace(trace(), known=("ZOOKEEPER-1, a title: why",), noticed=(("witnesses", "server 1: two of them"),))
    for told in (to_text(story, 100), page(story)):
        where = [told.index(text) for text in ("looks like", "ZOOKEEPER-1, a title: why", "witnesses", "two of them")]
        assert where == sorted(where)
    document = json.loads(to_json(story))
    assert document["known"] == ["ZOOKEEPER-1, a title: why"]
    assert document["noticed"] == [{"kind": "witnesses", "text": "server 1: two of them", "servers": None}]


def test_the_heading_says_what_is_wrong_though_the_trace_breaks_nothing(tmp_path: Path) -> None:
    judged = judge(extracted("late-set-3.9.5", tmp_path))
    story = story_of(judged)
    assert (story.violation, judged.violated, story.worst) == (None, [], "changes last is violated")
    assert to_text(story).startswith("changes last is violated\n\nlooks like       ZOOKEEPER-3598, ")
    drawn = page(story, "")
    assert "<h1>changes last is violated</h1>" in drawn
    assert (
        drawn.index("What happened</h2>")
        < drawn.index("request 4 (setData /r13) of client 13)")
        < drawn.index("The run</h2>")
    )
    at = decided(story)
    assert at is not None
    assert (at.step, at.process, at.what) == (story.threads[-1].until, 1, "T1 goes on after it")
    stale = judged._replace(clients=[])
    assert worst_in(stale) == "digest mismatch"
    lost = judge(LOST_WRITE)
    commit = replace(lost.steps.divergences[0], name="commits_are_kept_by_a_quorum")
    steps = replace(lost.steps, divergences=(commit,))
    assert worst_in(stale._replace(findings=[], steps=steps)) == "a packet follows from no step of Zab"
    assert worst_in(judge(HEALTHY)) == worst_in(lost) == ""
    assert "What happened</h2>" not in page(story_of(judge(HEALTHY)), "")


def test_a_page_of_a_trace_tells_nothing_of_ensembles() -> None:
    for told in (to_text(trace(), 100), page(trace())):
        assert "ensemble" not in told
        assert "zabcheck replay" not in told
    assert json.loads(to_json(trace()))["done"] == []


def test_what_was_done_is_folded_under_the_run() -> None:
    for times in (2, 40):
        made = page(replace(trace(), done=DONE * times))
        folded = f"<details><summary>{2 * times} things"
        assert made.index('id="diagram"') < made.index(folded)
