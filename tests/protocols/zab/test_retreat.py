"""Definition V.1, and how an iteration ends (DSN 2011, V-B and V-C)."""

from collections.abc import Sequence
from copy import copy

import pytest

from invariants import NO_ZXID, Establish
from tests.invariants.builders import B
from tests.protocols.zab.builders import (
    AB,
    EPOCH,
    announcing,
    candidate,
    established,
    following,
    gives_up,
    proposing,
    sent,
    synchronizing,
    up,
)
from zabcheck.protocols.base import Elected, Lost, TimedOut
from zabcheck.protocols.zab.follower import on_elected, on_timed_out
from zabcheck.protocols.zab.leader import on_ack_ld, on_cepoch, on_lost
from zabcheck.protocols.zab.messages import AckLd, CEpoch
from zabcheck.protocols.zab.process import Phase, Process, abandon

EVERY_PHASE = [
    up(leader=1, phase=Phase.DISCOVERY),
    synchronizing(),
    following(),
    candidate(),
    announcing(1, 2),
    established(1, 2),
]


@pytest.mark.parametrize(
    ("n", "acknowledging", "is_established"),
    [(1, [1], True), (2, [2], False), (2, [1, 2], True), (3, [2, 3], True), (4, [1, 2], False), (5, [3, 4, 5], True)],
)
def test_v_1_a_leader_is_established_when_a_quorum_accepted_newleader(
    n: int, acknowledging: Sequence[int], is_established: bool
) -> None:
    """The leader of e is established if its NEWLEADER(e, I_e) is accepted by a quorum; it may be without itself."""
    leader = announcing(*range(1, n + 1), n=n)
    shown = [effect for process in acknowledging for effect in on_ack_ld(leader, process, AckLd(EPOCH, B.zxid))]
    assert (Establish(1, 0, EPOCH) in shown) == leader.established == is_established


@pytest.mark.parametrize("f", EVERY_PHASE, ids=lambda f: f"p{f.id} in {f.phase.value}")
def test_v_b_and_v_c_who_misses_the_heartbeats_goes_back_to_election(f: Process) -> None:
    """A follower abandons its leader, and a leader that no quorum is heard of gives up its leadership."""
    assert gives_up(on_timed_out(f, f.id, TimedOut()))


def test_a_process_in_election_has_nothing_to_give_up() -> None:
    assert on_timed_out(up(), 2, TimedOut()) == []


def test_v_c_a_follower_goes_back_to_election_when_its_leader_closes_the_connection() -> None:
    """A closed connection is as good as a missed heartbeat."""
    assert gives_up(on_lost(following(), 1, Lost(1)))


def test_v_c_a_follower_does_not_care_about_other_connections() -> None:
    """It follows one leader at a time."""
    assert on_lost(following(), 3, Lost(3)) == []


def test_v_b_a_leader_considers_a_lost_follower_down() -> None:
    """With a quorum left the epoch goes on, and the lost follower is sent nothing any more."""
    leader = established(1, 2, 3)
    assert on_lost(leader, 3, Lost(3)) == []
    assert list(leader.links) == [1, 2]


@pytest.mark.parametrize(
    "leader", [proposing(1, 2), announcing(1, 2), established(1, 2)], ids=lambda leader: leader.phase.value
)
def test_v_b_a_leader_without_a_quorum_of_followers_gives_up(leader: Process) -> None:
    """Whatever phase it is in, once it has proposed an epoch."""
    assert gives_up(on_lost(leader, 2, Lost(2)))


def test_v_b_a_leader_that_never_had_a_quorum_waits_for_one() -> None:
    """Leadership can only be given up by whom a quorum supported."""
    leader = candidate(n=5)
    on_cepoch(leader, 1, CEpoch(0))
    on_cepoch(leader, 3, CEpoch(0))
    assert on_lost(leader, 3, Lost(3)) == []


def test_a_lost_follower_may_come_back() -> None:
    leader = established(1, 2, 3)
    on_lost(leader, 3, Lost(3))
    assert [to for to, _ in sent(on_cepoch(leader, 3, CEpoch(EPOCH)))] == [3, 3]


def test_nothing_of_an_iteration_outlives_it_but_what_is_durable_or_delivered() -> None:
    """A process may drop its iteration at any time and start a new one with phase 1 (IV)."""
    leader = established(1, 2)
    abandon(leader)
    assert leader == up(process=1, accepted_epoch=EPOCH, current_epoch=EPOCH, history=AB, delivered=AB)
    assert (leader.phase, leader.leader, leader.instance, leader.committed) == (Phase.ELECTION, None, 0, NO_ZXID)


@pytest.mark.parametrize("f", EVERY_PHASE, ids=lambda f: f"p{f.id} in {f.phase.value}")
def test_the_oracle_may_start_a_new_iteration_at_any_time(f: Process) -> None:
    twin = copy(f)
    on_elected(twin, f.id, Elected(3))
    assert (twin.leader, twin.phase) == (3, Phase.DISCOVERY)
    assert (twin.new_epoch, twin.links, twin.proposed) == (0, {}, None)
    assert (twin.accepted_epoch, twin.history) == (f.accepted_epoch, f.history)
