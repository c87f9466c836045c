"""Schedules drawn in rounds: a server falls behind, comes back, is interrupted, and others go on without one."""

from collections.abc import Callable, Sequence
from functools import cache
from itertools import pairwise

import pytest

from zabcheck.zookeeper.debugger.catalogue import CATALOGUE
from zabcheck.zookeeper.run.choices.choice import Choice
from zabcheck.zookeeper.run.choices.links import Reset
from zabcheck.zookeeper.run.choices.points import AwaitStop, Go, KillAtPoint, Stop
from zabcheck.zookeeper.run.choices.servers import Elected, Kill, KillAll, Start
from zabcheck.zookeeper.run.choices.writes import Write
from zabcheck.zookeeper.run.draw import draw
from zabcheck.zookeeper.run.schedule import EnsembleSchedule, decode, encode
from zabcheck.zookeeper.run.tuning import TUNING

SEEDS = range(1000)


@cache
def drawn() -> list[EnsembleSchedule]:
    return [schedule for seed in SEEDS if (schedule := draw(seed, 3, threads=True)).patient]


def test_most_schedules_with_threads_consist_of_rounds() -> None:
    """There servers wait long for each other: what is held is not taken for dead."""
    assert abs(len(drawn()) / len(SEEDS) - TUNING.in_rounds) < 0.05
    assert all(draw(seed, 3).patient and draw(seed, 3).version == 1 for seed in SEEDS[:20])


@pytest.mark.parametrize("servers", [3, 5])
def test_a_seed_gives_one_schedule_at_points_of_every_version(servers: int) -> None:
    everywhere = set(CATALOGUE) - {"learner-start-threads", "learner-append", "learner-force"}
    seen = set()
    for seed in SEEDS[:300]:
        schedule = draw(seed, servers, threads=True)
        assert schedule == draw(seed, servers, threads=True)
        assert decode(encode(schedule), "x.json") == schedule
        assert set(schedule.points) <= everywhere
        if schedule.patient:
            seen |= set(schedule.points)
    of = TUNING.rounds
    assert seen == {
        *of.slow_follower,
        *of.slow_leader,
        *of.coming_back,
        *of.again,
        *of.beginning,
        of.unheard,
        "sync-forced",
    }


@pytest.mark.parametrize("servers", [3, 5])
def test_a_quorum_is_up_where_a_leader_is_waited_for_and_held_threads_go_on(servers: int) -> None:
    """A server that is killed at a point may have died, or not."""
    for seed in SEEDS[:300]:
        schedule = draw(seed, servers, threads=True)
        up = {*"ABCDE"[:servers]}
        held = set()
        for choice in schedule.choices if schedule.patient else ():
            match choice:
                case KillAll():
                    up, held = set(), set()
                case Kill(server):
                    up.discard(server)
                case Start(server):
                    up.add(server)
                case Stop(server, point):
                    held.add((server, point))
                case Go(server, point):
                    held.discard((server, point))
                case Elected():
                    assert len(up) > servers // 2
                    assert not {(server, point) for server, point in held if point != "sync-forced"}


def counts_an_old_ack(choices: tuple[Choice, ...]) -> bool:
    """Return True if the choices lose a write by an ACK of before a TRUNC (docs/notes/zookeeper-reports.md).

    The leader and one follower log slowly; the other comes back, and is held before it has logged; the leader's thread
    goes on, and the leader is lost.
    """
    for at, choice in enumerate(choices):
        if isinstance(choice, Reset) and isinstance(held := choices[at - 1], Stop | KillAtPoint):
            leader, back = choice.sender, choice.receiver
            slow = {each.server for each in choices[max(0, at - 6) : at - 1] if isinstance(each, Stop)}
            then = choices[at + 1 : at + 9]
            if (
                held.server == back
                and slow > {leader}
                and back not in slow
                and any(isinstance(each, Go) and each.server == leader for each in then)
                and (KillAll() in then or Kill(leader) in then)
            ):
                return True
    return False


def leads_twice_alone(choices: tuple[Choice, ...]) -> bool:
    """Return True if TRUNC can keep a record too many: a leader's own write, a snapshot, and another own write."""
    alone = [at for at, each in enumerate(choices) if isinstance(each, AwaitStop) and each.point == "sync-forced"]
    for first, second in pairwise(alone):
        server = getattr(choices[first], "server", None)
        between = choices[first:second]
        if (
            getattr(choices[second], "server", None) == server
            and any(isinstance(each, Write) for each in between)
            and any(isinstance(each, AwaitStop) and each.point == "learner-serve" for each in between)
        ):
            return True
    return False


def dies_in_a_synchronisation(choices: tuple[Choice, ...]) -> bool:
    """Return True if it has 4643 and 4646: a follower is killed when it has promised, and then its leader."""
    return any(
        isinstance(each, AwaitStop)
        and each.point in ("learner-epoch-written", "sync-append")
        and isinstance(choices[at + 1], Kill)
        for at, each in enumerate(choices[:-1])
    )


@pytest.mark.parametrize("has", [counts_an_old_ack, leads_twice_alone, dies_in_a_synchronisation])
def test_the_choices_that_known_bugs_need_are_drawn_often(has: Callable[[tuple[Choice, ...]], bool]) -> None:
    assert sum(has(schedule.choices) for schedule in drawn()) > 0.05 * len(drawn())


def cut_off_after_a_snapshot(choices: Sequence[Choice]) -> bool:
    """Return True if a server is alone with a write twice; the second time the others write nothing while it is down.

    The first time it takes over a snapshot, then; the second time it is told to cut its log behind that.
    """
    alone = [(place, each.server) for place, each in enumerate(choices) if alone_with_a_write(each)]
    for (first, server), (second, again) in pairwise(alone):
        between = choices[first:second]
        rest = iter(choices[second:])
        elected = any(isinstance(each, Elected) for each in rest)
        if server == again and Start(server) in between and elected and not isinstance(next(rest, None), Write):
            return True
    return False


def alone_with_a_write(choice: Choice) -> bool:
    return isinstance(choice, AwaitStop) and choice.point == "sync-forced"


def test_a_server_may_be_told_to_cut_its_log_behind_a_snapshot() -> None:
    found = sum(cut_off_after_a_snapshot(schedule.choices) for schedule in drawn())
    assert 0.04 * len(drawn()) < found < 0.12 * len(drawn())
