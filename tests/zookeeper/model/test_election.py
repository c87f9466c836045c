"""FastLeaderElection: each rule of it, and what comes of thousands of random elections."""

from random import Random
from typing import Any

import pytest
from msgspec.structs import replace

from invariants import Zxid
from tests.zookeeper.model.builders import A, B, following, leading, server, switches
from tests.zookeeper.model.test_search import FOUND, search
from zabcheck.counterexample.explain import explain
from zabcheck.counterexample.forms.terminal import to_text
from zabcheck.protocols import PROTOCOLS
from zabcheck.protocols.base import Cast, Connect, TimedOut
from zabcheck.search import machine
from zabcheck.search.run import MAX_STEPS, Search, schedule_of
from zabcheck.simulation import choices
from zabcheck.simulation.simulator import Simulator
from zabcheck.zookeeper.model import election
from zabcheck.zookeeper.model.server import Phase, Server, vote
from zabcheck.zookeeper.model.switches import ZooKeeperSwitches
from zabcheck.zookeeper.model.votes import Election, Notification, State, Vote

ZOOKEEPER = PROTOCOLS["zookeeper"]
FLE = ZooKeeperSwitches(sync="atomic", elections="fle")


def looking(*log: Any, **fields: Any) -> Server:
    """Server 2 of three in the midst of round 4, which votes for itself."""
    found = server(2, *log, switches=replace(switches(), elections="fle"), election=Election(round=3), **fields)
    election.look(found)
    return found


def says(leader: int, zxid: Zxid = A.zxid, *, epoch: int = 1, round: int = 4, state: State = "LOOKING") -> Notification:
    return Notification(Vote(epoch, zxid, leader), round, state)


def hear(f: Server, sender: int, n: Notification) -> list[tuple[int, Any]]:
    """Let the server hear a notification; return to whom it casts what."""
    return [(each.to, each.message) for each in election.on_notification(f, sender, n) if isinstance(each, Cast)]


# The rules.


def test_it_begins_with_a_vote_for_itself_in_the_next_round() -> None:
    f = server(2, A, election=Election(round=3))
    effects = election.go_on(f)
    assert effects == [Cast(1, says(2)), Cast(3, says(2))]
    assert f.election.heard == ((2, says(2)),)
    assert not election.is_due(f)


def test_a_greater_vote_is_taken_over_and_told() -> None:
    """In the order of epoch, zxid, id."""
    for greater in (says(3), says(1, B.zxid), says(1, epoch=2)):
        f = looking(A)
        assert hear(f, 3, greater) == [(1, greater), (3, greater)]
        assert f.election.agreed, "two of three have the same vote"


def test_a_lesser_vote_is_only_counted() -> None:
    f = looking(A, B)
    assert hear(f, 3, says(3)) == []
    assert hear(f, 1, says(2, B.zxid)) == []
    assert f.election.vote == Vote(1, B.zxid, 2)
    assert f.election.agreed


def test_a_later_round_is_joined_with_the_greater_one_of_both_votes() -> None:
    f = looking(A, B)
    hear(f, 1, says(1))
    mine = says(2, B.zxid, round=7)
    assert hear(f, 3, says(3, round=7)) == [(1, mine), (3, mine)]
    assert [sender for sender, _ in f.election.heard] == [2, 3], "what was said in the round before is forgotten"


def test_a_server_that_is_in_an_earlier_round_is_told_and_does_not_count() -> None:
    f = looking(A)
    assert hear(f, 3, says(3, round=3)) == [(3, says(2))]
    assert f.election.vote == Vote(1, A.zxid, 2)
    assert not f.election.agreed


def test_a_quorum_waits_for_a_greater_vote_and_drops_others() -> None:
    f = looking(A)
    hear(f, 1, says(2))
    assert election.is_due(f)
    before = f.election
    assert hear(f, 3, says(1)) == []
    assert f.election == before
    hear(f, 3, says(3))
    assert f.election.vote == Vote(1, A.zxid, 3)


def test_a_greater_vote_of_an_earlier_round_ends_the_wait_and_nothing_else() -> None:
    """`lookForLeader` puts it back, reads it once more, and drops it: the quorum is looked for with the next vote."""
    f = looking(A)
    hear(f, 1, says(2))
    assert hear(f, 3, says(3, round=3)) == [(3, says(2))]
    assert not election.is_due(f)


def test_the_election_ends_with_a_leader() -> None:
    f = looking(A)
    hear(f, 1, says(2))
    assert Connect(2) in election.go_on(f)
    assert (f.leader, f.phase) == (2, Phase.DISCOVERY)
    g = looking(A)
    hear(g, 3, says(3))
    election.go_on(g)
    assert (g.leader, g.election.looking) == (3, False)


def test_leaders_and_followers_answer_those_that_look() -> None:
    current = Vote(2, A.zxid, 1)
    for f, state in ((leading(A), "LEADING"), (following(A), "FOLLOWING")):
        f.election = Election(round=2, vote=current)
        assert hear(f, 3, says(3)) == [(3, Notification(current, 2, state))]
        assert hear(f, 3, says(3, state="FOLLOWING")) == []


def test_a_quorum_that_has_a_leader_is_joined_without_comparing() -> None:
    f = looking(A, B)
    assert not hear(f, 1, says(3, round=9, epoch=2, state="FOLLOWING"))
    assert f.leader is None
    hear(f, 3, says(3, round=2, epoch=2, state="LEADING"))
    assert (f.leader, f.election.round) == (3, 2), "the two have voted in different rounds"


def test_a_leader_that_does_not_say_so_is_not_joined() -> None:
    f = looking(A)
    hear(f, 1, says(3, state="FOLLOWING"))
    hear(f, 3, says(3))
    assert f.leader is None, "it looks for a leader itself"


def test_followers_of_different_epochs_are_no_quorum() -> None:
    f = looking(A)
    hear(f, 1, says(3, epoch=1, round=2, state="FOLLOWING"))
    hear(f, 3, says(3, epoch=2, round=2, state="LEADING"))
    assert f.leader is None


def test_whom_a_quorum_of_its_round_follows_leads() -> None:
    f = looking(A)
    hear(f, 1, says(2, state="FOLLOWING"))
    hear(f, 3, says(2, state="FOLLOWING"))
    assert f.leads
    g = looking(A)
    hear(g, 1, says(2, round=2, state="FOLLOWING"))
    hear(g, 3, says(2, round=2, state="FOLLOWING"))
    assert g.leader is None, "that was another election"


def test_it_says_the_same_again_when_nothing_comes() -> None:
    f = looking(A)
    assert election.on_timed_out(f, 2, TimedOut()) == [Cast(1, says(2)), Cast(3, says(2))]
    assert election.on_timed_out(server(2, A), 2, TimedOut()) == [], "it has not begun"


def test_a_serving_server_answers_with_its_epoch() -> None:
    run = Simulator(ZOOKEEPER, 3, lambda _: None, switches=FLE)
    run.execute(choices.Settle(20))
    for state in run.states[1:]:
        assert state.election.vote == Vote(1, Zxid(0, 0), 3)
    assert run.following[1:] == [3, 3, 3]


# Many elections.


def begun(random: Random, servers: int) -> Simulator:
    """A run whose servers have random epochs, zxids and rounds."""
    run = Simulator(ZOOKEEPER, servers, lambda _: None, switches=FLE)
    for state in run.states[1:]:
        state.current_epoch = state.accepted_epoch = random.randrange(3)
        state.database = replace(state.database, lpz=Zxid(state.current_epoch, random.randrange(3)))
        state.election = Election(round=random.randrange(3))
    return run


def elect(random: Random, servers: int) -> Simulator:
    """Hold a random election until somebody has a leader; check the post-condition of the oracle of each that has."""
    run = begun(random, servers)
    votes = {process: vote(run.states[process]) for process in run.ids}
    asleep = random.sample(range(1, servers + 1), random.randrange((servers + 1) // 2))
    settled: set[int] = set()
    while True:
        able: list[Any] = [choices.Run(*thread) for thread in run.threads() if thread[0] not in asleep]
        able += [choices.Hear(*each[:2]) for each in run.hearing() if each[0] not in asleep]
        if random.random() < 0.05:
            able.append(
                choices.Timeout(random.choice([p for p in run.ids if not run.following[p] and p not in asleep]))
            )
        if not able:
            return run
        run.execute(random.choice(able))
        for process in run.ids:
            if run.following[process] and process not in settled:
                leader = run.following[process]
                assert run.states[process].election.vote == Vote(*votes[leader])
                assert run.quorums.contains([p for p in run.ids if votes[p] <= votes[leader]])
                settled.add(process)
        if settled:
            return run


@pytest.mark.parametrize("seed", range(8))
def test_a_leader_has_the_greatest_vote_of_a_quorum(seed: int) -> None:
    for number in range(40):
        assert any(elect(Random(f"{seed} {number}"), 3 + number % 3).following)


@pytest.mark.slow
def test_a_leader_has_the_greatest_vote_of_a_quorum_in_thousands_of_elections() -> None:
    for number in range(4000):
        assert any(elect(Random(number), 3 + number % 3).following)


def test_an_election_in_calm_names_whom_the_oracle_names() -> None:
    """Each server hears all that is said before it ends the election."""
    for number in range(60):
        random = Random(number)
        run = begun(random, 3 + number % 3)
        greatest = max(run.ids, key=lambda process: vote(run.states[process]))
        run.execute(choices.Lead(random.choice(run.ids), tuple(run.ids)))
        assert set(run.following[1:]) == {greatest}


def test_a_late_process_joins() -> None:
    run = Simulator(ZOOKEEPER, 3, lambda _: None, switches=FLE)
    run.execute(choices.Lead(2, (1,)))
    assert run.following[1:] == [2, 2, 0]
    assert run.execute(choices.Elect(3, 1)) > 0, "the name in the choice is a wish"
    assert run.following[1:] == [2, 2, 2]
    assert run.execute(choices.Elect(3, 2)) == 0, "it is in an iteration"


# The searches.


@pytest.mark.parametrize(("defects", "seed"), [("3911", 1), ("4712", 1), ("4925", 1)])
def test_the_swarm_finds_with_elections_by_messages(defects: str, seed: int) -> None:
    version, grain = FOUND[defects]
    broken = search(version, defects, 200, seed, grain=grain, elections="fle")[0]
    assert broken is not None
    kinds = {type(choice) for choice in broken.choices}
    assert choices.Hear in kinds
    assert not kinds & {choices.Elect, choices.Lead}


@pytest.mark.slow
def test_hypothesis_finds_with_elections_by_messages() -> None:
    assert search("3.5.5", "3911", 100, 1, machine, grain="G0", elections="fle")[0] is not None


@pytest.mark.slow
def test_with_elections_by_messages_and_without_defects_nothing_is_found() -> None:
    found, tally = search("3.9.5", "none", 60, 1, elections="fle")
    assert found is None
    assert tally.exercised["total order"] > 20
    assert tally.steps > 1.5 * search("3.9.5", "none", 60, 1)[1].steps, "those of elections come on top"


def test_a_run_has_twice_as_many_steps_but_no_more_than_any_run_may_have() -> None:
    short, long = (Search(ZOOKEEPER, steps=steps, fixed={"elections": "fle"}) for steps in (200, MAX_STEPS))
    assert (short.most_steps, long.most_steps) == (400, MAX_STEPS)
    assert Search(ZOOKEEPER, steps=200).most_steps == 200


@pytest.mark.slow
def test_with_elections_by_messages_nothing_is_found_in_a_thousand_runs() -> None:
    assert search("3.9.5", "none", 1000, 2, elections="fle")[0] is None


def test_a_story_shows_the_notifications() -> None:
    text = to_text(explain(schedule_of("zookeeper", None, 2, (choices.Settle(9),), switches=FLE)), 200)
    for shown in ("thread election", "← p2 NOTIFICATION(p2 (0, ⟨0,0⟩), round 1, LOOKING)", "votes for", "follows p2"):
        assert shown in text
