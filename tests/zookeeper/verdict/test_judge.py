"""One run, judged: what is wrong by name, the severest first, and what is told of it."""

from pathlib import Path

from msgspec.structs import replace

from invariants import AckEpoch, Adopt, Zxid
from tests.zookeeper.notation import BROADCAST, records
from tests.zookeeper.recordings import Recording, create, zxid
from tests.zookeeper.trace.observed import HEALTHY
from zabcheck.cli.zookeeper.recordings import story_of
from zabcheck.counterexample.forms.page import page
from zabcheck.counterexample.forms.terminal import to_text
from zabcheck.text.pen import text_of
from zabcheck.zookeeper.recording.folder import Recorder
from zabcheck.zookeeper.recording.records import Cast, Chose, Killed, Read, Reconfigures, Started
from zabcheck.zookeeper.report.runs import EnsembleSummary, render, what_was_done
from zabcheck.zookeeper.verdict.judge import forgot, governed, judge, passed_over, proposed_late
from zabcheck.zookeeper.verdict.signatures import Forgot, PassedOver, ProposedLate

A_WRITE = create(zxid(1, 1), 1, 1)


def lost_write(folder: Path) -> Recording:
    """An acknowledged write that nobody has in the end, with a schedule's choices."""
    recording = Recording(folder)
    recording.start(1, 2, 3)
    recording.lead(3, (1, 2), 1)
    recording.record.record(Cast(recording.tick(), {"A": 3, "B": 2, "C": 1}))
    recording.record.record(Chose(recording.tick(), 0, "a write of 10 bytes at C"))
    recording.write(3, (1, 2), A_WRITE, 1)
    recording.record.record(Chose(recording.tick(), 1, "wait for a leader, 2 s at most"))
    recording.record.record(Chose(recording.tick(), 1, "wait for a leader, 2 s at most", "nobody leads"))
    recording.record.record(Killed(recording.tick(), 2))
    for server in (1, 2, 3):
        recording.record.record(Read(recording.tick(), server, ()))
    recording.end(1, 3)
    return recording


def test_a_healthy_run_has_nothing_wrong() -> None:
    judged = judge(HEALTHY)
    assert judged.wrong == judged.noticed == []
    assert all(each.logged == each.delivered for each in judged.coverage)


def test_a_lost_write_is_told_first(tmp_path: Path) -> None:
    lost_write(tmp_path)
    judged = judge(tmp_path)
    assert judged.wrong == ["durability", "witnesses"]
    assert judge(tmp_path, ["integrity"]).violated == []


def test_properties_of_quorums_are_undecided_once_another_configuration_is_in_the_run(tmp_path: Path) -> None:
    """The trace names the quorums of the beginning. Whatever does not depend on quorums is judged as ever."""
    for asked in (True, False):
        folder = tmp_path / str(asked)
        folder.mkdir()
        recording = Recording(folder)
        recording.start(1, 2, 3)
        recording.lead(3, (1, 2), 1)
        if asked:
            recording.record.record(Reconfigures(recording.tick(), 11, 1, leaving=(1,)))
        recording.write(3, (1, 2), A_WRITE, 1)
        recording.read(1, 2, 3, txns=(A_WRITE,))
        recording.end(1, 2, 3)
        judged = judge(folder)
        told = {verdict.property: verdict.status for verdict in judged.verdicts}
        assert told["chosen"] == ("inconclusive" if asked else "holds")
        assert (told["epoch progress"] == "inconclusive") == asked
        assert told["durability"] == "holds"
        assert judged.wrong == []
    for voters in ((), (1, 2, 3)):
        told = {each.property: each.status for each in governed(judged.verdicts, [Started(0, 3, 1, voters)])}
        assert (told["chosen"] == "inconclusive") == bool(voters)


def test_what_was_done_is_told_with_what_came_of_it(tmp_path: Path) -> None:
    lost_write(tmp_path)
    first, *rest = what_was_done(tmp_path)
    assert first == ("", "A is p3, B is p2, C is p1; pN is server N")
    assert [what.strip() for _, what in rest] == [
        "a write of 10 bytes at C",
        "wait for a leader, 2 s at most: nobody leads",
        "p2 is killed",
        "all is healed and up, and every server is read",
    ]
    assert rest[0][0] == "0.0 s"


def test_the_report_says_what_was_done_and_what_it_looks_like(tmp_path: Path) -> None:
    lost_write(tmp_path)
    story = story_of(judge(tmp_path))
    assert story.violation is not None
    assert story.violation.property == "durability"
    text, html = to_text(story), page(story)
    assert "nobody leads" in text
    assert "nobody leads" in html
    assert "looks like" not in text + html
    text, html = (tell(replace(story, known=("ZOOKEEPER-1, a bug",))) for tell in (to_text, page))
    assert "looks like  ZOOKEEPER-1, a bug" in text
    assert "<dt>looks like</dt><dd>ZOOKEEPER-1, a bug</dd>" in html


def test_runs_are_added_up(tmp_path: Path) -> None:
    lost_write(tmp_path)
    summary = EnsembleSummary("3.8.0", 3)
    assert judge(tmp_path).counts == (1, 1, 1)
    for seed in (7, 8):
        summary.add(judge(tmp_path), seed, 2.0)
    assert (summary.runs, summary.acknowledged, summary.epochs) == (2, 2, 2)
    assert summary.wrong["durability"].runs == 2
    assert summary.wrong["durability"].first == 7
    assert summary.exercised["convergence"] == 0
    text = text_of(render(summary), 120)
    assert "durability                violated                            2              2           7" in text
    assert "2           7  witnesses: " in text
    assert "2 of 2 writes" in text


def test_a_forgetful_server_is_told_with_whether_it_was_started_again(tmp_path: Path) -> None:
    """Server 1 has accepted a transaction, and provides an empty history for the next epoch."""
    for restarted in (False, True):
        folder = tmp_path / str(restarted)
        folder.mkdir()
        recording = Recording(folder)
        recording.start(1, 2, 3)
        recording.lead(3, (1, 2), 1)
        recording.accept(3, (1, 2), A_WRITE)
        recording.kill(3)
        if restarted:
            recording.kill(1)
            recording.start(1)
        recording.look(1, 2)
        recording.discover(2, (1,), 2, 0)
        recording.end(1, 2)
        judged = judge(folder)
        assert "invariant 4" in judged.violated
        told = list(forgot(judged.observation, judged.verdicts))
        assert told == [Forgot(1, Zxid(0, 0), Zxid(1, 1), restarted)]
        assert any(isinstance(event, AckEpoch | Adopt) for event in judged.observation.events)
        assert ("ZOOKEEPER-4712" in [each.issue.key for each in judged.known]) != restarted


def test_a_commit_that_no_quorum_has_is_wrong_before_anything_is_lost(tmp_path: Path) -> None:
    """An ACK of before a TRUNC counts: no property is broken yet."""
    recorder = Recorder(tmp_path)
    proposed = BROADCAST, "1>2 PROPOSAL 1:3", "2>1 ACK 1:3"
    back = "closed 2>1", "2>1 FOLLOWERINFO 1:0", "1>2 LEADERINFO 1:0", "2>1 ACKEPOCH 1:3 a=-1"
    for record in records(*proposed, *back, "1>2 TRUNC 1:2", "1>2 PROPOSAL 1:3", "1>2 NEWLEADER 1:0", "1>2 COMMIT 1:3"):
        recorder.record(record)
    recorder.close()
    judged = judge(tmp_path)
    assert judged.wrong == ["commits_are_kept_by_a_quorum"]
    assert judged.noticed == []


def test_what_a_leader_passes_over_is_found_whoever_tells_it_first(tmp_path: Path) -> None:
    """Server 3 numbers ⟨2,1⟩, which nobody gets, and brings server 1 a history without it as leader of epoch 3."""
    for restarted in (False, True):
        folder = tmp_path / str(restarted)
        folder.mkdir()
        recording = Recording(folder)
        recording.start(1, 2, 3)
        recording.lead(3, (1, 2), 1)
        recording.write(3, (1, 2), A_WRITE, 1)
        recording.kill(2)
        recording.lead(3, (1,), 2, zxid(1, 1))
        numbered = create(zxid(2, 1), 3, 1)
        recording.propose(3, numbered)
        recording.disks[3].append(numbered)
        if restarted:
            recording.kill(3)
            recording.start(3)
        recording.look(3, reach=zxid(2, 1))
        recording.look(1, reach=zxid(1, 1))
        recording.discover(3, (1,), 3, zxid(1, 1))
        recording.diff(3, 1, 3, up_to=zxid(1, 1))
        recording.establish(3, 3)
        recording.up_to_date(3, 1, 3)
        recording.end(1, 3)
        observation = judge(folder).observation
        adopted = [event for event in observation.events if isinstance(event, Adopt) and event.epoch == 3]
        assert {(event.process, event.zxid) for event in adopted} == {(3, Zxid(2, 1)), (1, Zxid(1, 1))}
        found = [] if restarted else [PassedOver(3, Zxid(2, 1), 3, 1, Zxid(1, 1))]
        assert list(passed_over(observation)) == found
        backwards = replace(observation, events=observation.events[::-1], sources=observation.sources[::-1])
        assert list(passed_over(backwards)) == found


def test_a_server_that_was_killed_with_less_on_its_disk_was_not_brought_less(tmp_path: Path) -> None:
    """This is ZOOKEEPER-4643: it had written the epoch, and not what came before NEWLEADER."""
    recording = Recording(tmp_path)
    recording.start(1, 2, 3)
    recording.lead(3, (1, 2), 1)
    recording.kill(1)
    recording.write(3, (2,), A_WRITE, 1)
    recording.lead(3, (2,), 2, zxid(1, 1))
    recording.start(1)
    recording.look(1)
    recording.discover(3, (1,), 2, 0, rejoin=True)
    recording.packet(3, 1, "DIFF", zxid(1, 1))
    recording.proposal(3, 1, A_WRITE)
    recording.packet(3, 1, "COMMIT", zxid(1, 1))
    recording.packet(3, 1, "NEWLEADER", zxid(2, 0))
    recording.line(1, "quorum.Learner", "Learner received NEWLEADER message")
    recording.kill(1)
    recording.epochs[1] = 2
    recording.end(2, 3)
    judged = judge(tmp_path)
    adopted = {(each.process, each.zxid) for each in judged.observation.events if isinstance(each, Adopt)}
    assert (1, Zxid(0, 0)) in adopted
    assert [each.issue.key for each in judged.known] == ["ZOOKEEPER-4643"]


def test_what_an_ended_leader_has_numbered_is_broadcast_by_the_next_if_anybody_is_sent_it(tmp_path: Path) -> None:
    numbered = create(zxid(1, 2), 3, 1)
    for is_sent in (False, True):
        folder = tmp_path / str(is_sent)
        folder.mkdir()
        recording = Recording(folder)
        recording.start(1, 2, 3)
        recording.lead(3, (1, 2), 1)
        recording.write(3, (1, 2), A_WRITE, 1)
        recording.lead(3, (1, 2), 2, zxid(1, 1))
        recording.propose(3, numbered)
        if is_sent:
            recording.proposal(3, 1, numbered)
        recording.end(1, 2, 3)
        found = [ProposedLate(3, Zxid(1, 2), 2)] * is_sent
        assert list(proposed_late(judge(folder).observation)) == found
