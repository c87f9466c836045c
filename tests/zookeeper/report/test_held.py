"""The threads that were held in a recorded run, and what they held up."""

import pytest

from docs.generators.zookeeper import archived
from zabcheck.cli.zookeeper.recordings import story_of
from zabcheck.counterexample.story import HeldThread
from zabcheck.zookeeper.recording.records import Cast, Chose, Reached
from zabcheck.zookeeper.report.held import stays_of
from zabcheck.zookeeper.run.choices.points import Go
from zabcheck.zookeeper.run.schedule import EnsembleSchedule
from zabcheck.zookeeper.verdict.judge import judge


def threads(name: str) -> tuple[HeldThread, ...]:
    with archived(name) as folder:
        return story_of(judge(folder)).threads


def test_a_thread_is_held_from_its_point_until_a_choice_lets_it_go() -> None:
    """ZOOKEEPER-3598: p2 delivers late what its log has, after it has left its leader."""
    delivering, leads, _ = threads("zookeeper-applied-again")
    assert delivering.head == "CommitProcessor of p2 is held at final-apply"
    what, meanwhile, then = delivering.told
    assert what == "a request is about to be applied to the tree of nodes"
    assert meanwhile == ("meanwhile p2 accepts c3.3⟨1,6⟩ in epoch 1, sends ACK to p3, accepts c3.4⟨1,7⟩ in epoch 1")
    assert then == "when it goes on, p2 promises epoch 2"
    assert delivering.end == leads.end == "goes on"
    assert delivering.since is not None
    assert leads.since is not None
    assert delivering.until == leads.until
    assert delivering.since < leads.since
    assert "meanwhile p2 does nothing that is seen" in leads.told


def test_writes_that_had_to_wait_are_counted_and_a_kill_ends_it() -> None:
    """An ACK of before a TRUNC: the leader's logging thread is held, then a follower's until all are killed."""
    held = {each.head: each for each in threads("zookeeper-ack-before-trunc")}
    logging = held["SyncThread of p2 is held at sync-force"]
    assert "1 write had no answer until then, and got one later" in logging.told
    follower = held["SyncThread of p3 is held at sync-append"]
    assert follower.end == "killed"
    assert follower.told[-1] == "it is held until its process is killed"
    assert [each.label for each in held.values()] == [f"T{number}" for number in range(1, len(held) + 1)]


@pytest.mark.parametrize("name", ["zookeeper-stale-log"])
def test_where_no_thread_was_held_none_is_told(name: str) -> None:
    assert threads(name) == ()


def test_the_leaders_thread_goes_on_among_several_at_one_point() -> None:
    """Whoever leads is a field of the choice, whatever its words are."""
    records = [
        Cast(0, {"A": 3, "B": 2, "C": 1}),
        Reached(1, 3, "ack", "a thread", "held"),
        Reached(2, 2, "ack", "a thread", "held"),
        Chose(3, 0, "let it go on", leader="B"),
    ]
    stays = stays_of(records, EnsembleSchedule(2, "zookeeper", 3, (Go("leader", "ack"),)))
    assert [(stay.server, stay.until, stay.end) for stay in stays] == [(3, 0, None), (2, 3, "goes on")]
