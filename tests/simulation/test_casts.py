"""The messages of an election: from anybody to anybody, in order, and not lost but where the receiver is down."""

from collections.abc import Sequence

from invariants import Drop, Event, Receive, Send
from zabcheck.protocols import PROTOCOLS
from zabcheck.protocols.switches import Switches
from zabcheck.simulation.choices import (
    Choice,
    Crash,
    Cut,
    Elect,
    Heal,
    Hear,
    Lead,
    Pause,
    Recover,
    Reset,
    Run,
    Settle,
    Timeout,
    Wake,
)
from zabcheck.simulation.choices import (
    Receive as ReceiveNext,
)
from zabcheck.simulation.simulator import Simulator

ZOOKEEPER = PROTOCOLS["zookeeper"]
FLE = Switches(sync="atomic", elections="fle")


class Voting:
    """A run of three servers that elect by messages, and its events."""

    def __init__(self, switches: Switches = FLE) -> None:
        self.events: list[Event] = []
        self.run = Simulator(ZOOKEEPER, 3, self.events.append, switches=switches, network=True)

    def do(self, *wanted: Choice) -> list[bool]:
        return [self.run.execute(choice) > 0 for choice in wanted]

    def looks(self, *processes: int) -> None:
        assert all(self.do(*(Run(process, "election") for process in processes)))

    def hearing(self) -> Sequence[tuple[int, int]]:
        return [each[:2] for each in self.run.hearing()]


def test_each_is_heard_once_and_only_by_whom_it_was_sent_to() -> None:
    voting = Voting()
    voting.looks(1)
    assert voting.hearing() == [(2, 1), (3, 1)]
    assert voting.do(Hear(1, 2), Hear(1, 1), ReceiveNext(2, 1), Hear(2, 1), Hear(2, 3)) == [False] * 3 + [True, False]
    assert voting.hearing()[:2] == [(1, 2), (3, 1)]
    assert [event.process for event in voting.events if isinstance(event, Receive)] == [2]


def test_a_cut_link_and_a_paused_process_delay_them() -> None:
    voting = Voting()
    voting.looks(1)
    voting.do(Cut(1, 2), Pause(3))
    assert voting.hearing() == []
    assert voting.do(Hear(2, 1), Hear(3, 1)) == [False, False]
    voting.do(Heal(), Wake(3))
    assert voting.do(Hear(2, 1), Hear(3, 1)) == [True, True]


def test_what_is_still_under_way_is_not_sent_again() -> None:
    voting = Voting()
    voting.looks(1)
    voting.do(Hear(2, 1), Timeout(1))
    sent = [(event.process, event.to) for event in voting.events if isinstance(event, Send)]
    assert sent.count((1, 2)) == 2
    assert sent.count((1, 3)) == 1


def test_a_server_that_was_down_finds_the_last_one_of_each() -> None:
    voting = Voting()
    voting.looks(1, 2)
    voting.do(Hear(1, 2))  # takes its vote over
    assert ("1", 2) in [(str(sender), len(queue)) for (sender, to), queue in queues(voting).items() if to == 3]
    voting.do(Crash(3))
    assert [len(queue) for (_, to), queue in queues(voting).items() if to == 3] == [1, 1]
    assert len([event for event in voting.events if isinstance(event, Drop)]) == 1
    assert (3, 1) not in voting.hearing()
    assert voting.do(Hear(3, 1)) == [False]
    voting.do(Timeout(1), Recover(3))
    assert voting.do(Hear(3, 1), Hear(3, 1)) == [True, False]


def queues(voting: Voting) -> dict[tuple[int, int], list[object]]:
    return {link: list(queue) for link, queue in voting.run.channels.casts.queues.items()}


def test_connections_that_break_do_not_concern_them() -> None:
    voting = Voting()
    voting.do(Settle(9))
    assert voting.run.following[1:] == [3, 3, 3]
    voting.do(Reset(1, 3), Timeout(1), Run(1, "election"), Reset(1, 3))
    assert voting.hearing() == [(2, 1), (3, 1)]


def test_a_fork_goes_its_own_way() -> None:
    voting = Voting()
    voting.looks(1)
    fork = voting.run.fork(lambda _: None)
    assert fork.execute(Hear(2, 1)) == 1
    assert voting.hearing() == [(2, 1), (3, 1)]


def test_nobody_votes_by_messages_where_an_oracle_names_the_leader() -> None:
    voting = Voting(Switches(sync="atomic", elections="oracle"))
    assert voting.do(Run(1, "election"), Hear(1, 2)) == [False, False]
    assert voting.do(Lead(2, (1,))) == [True]
    assert voting.hearing() == []


def test_a_coarse_election_is_fine_choices() -> None:
    voting = Voting()
    assert voting.do(Lead(1, (2,)), Elect(3, 1), Elect(3, 1)) == [True, True, False]
    assert voting.run.following[1:] == [2, 2, 2]
    assert {type(choice) for choice in voting.run.executed} <= {Timeout, Run, Hear}
    again = Voting()
    assert all(again.do(*voting.run.executed))
    assert again.events == voting.events
