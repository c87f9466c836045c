"""An ensemble that is left alone comes to rest, and the environment tells how."""

import pytest

from invariants import Deliver, Event, Quiescent
from invariants.quorums import Configuration
from tests.search.walk import Walk
from zabcheck.protocols import PROTOCOLS
from zabcheck.protocols.switches import LETTER, Switches
from zabcheck.simulation.choices import (
    Choice,
    Crash,
    Cut,
    Elect,
    Lead,
    Pause,
    Quiesce,
    Receive,
    Request,
    Reset,
    Settle,
    Stabilise,
    Timeout,
)
from zabcheck.simulation.simulator import Simulator

LED: tuple[Choice, ...] = (Lead(1, (2, 3)), Settle(8))


def zab(*choices: Choice, switches: Switches = LETTER, protocol: str = "zab") -> tuple[Simulator, list[Event]]:
    events: list[Event] = []
    checked = PROTOCOLS[protocol]
    quorums = Configuration(3, (1, 2, 3)) if checked.environment.configurations else None
    simulator = Simulator(checked, 3, events.append, quorums=quorums, switches=switches)
    for choice in choices:
        simulator.execute(choice)
    return simulator, events


def at_rest(*choices: Choice, switches: Switches = LETTER, protocol: str = "zab") -> list[Quiescent]:
    """Return what the environment saw of the processes in the last rest."""
    _, events = zab(*choices, switches=switches, protocol=protocol)
    rests = [event for event in events if isinstance(event, Quiescent)]
    return [event for event in rests if event.rest == rests[-1].rest]


LEADS = Quiescent(1, 0, 1, 1, "none", primary=True)
FOLLOW = [Quiescent(2, 0, 1, 1, "open"), Quiescent(3, 0, 1, 1, "open")]


@pytest.mark.parametrize("protocol", ["zab", "ladis"])
@pytest.mark.parametrize("elections", ["apart", "together"])
def test_an_election_is_brought_to_its_end(protocol: str, elections: str) -> None:
    switches = Switches(elections=elections)  # type: ignore[arg-type]  # one of its values
    assert at_rest(Lead(1, (2, 3)), Quiesce(), switches=switches, protocol=protocol) == [LEADS, *FOLLOW]


def test_everything_is_delivered() -> None:
    _, events = zab(*LED, Request(1), Request(1), Quiesce())
    assert [event.process for event in events if isinstance(event, Deliver)].count(3) == 2


def test_nothing_stands_in_the_way() -> None:
    before = (*LED, Cut(1, 2), Cut(3, 1), Pause(2), Request(1))
    simulator, events = zab(*before, Quiesce())
    assert not simulator.disturbed
    assert {event.process for event in events if isinstance(event, Deliver)} == {1, 2, 3}


def test_nobody_is_elected_or_recovered() -> None:
    assert at_rest(Quiesce()) == [Quiescent(process, 0, 1) for process in (1, 2, 3)]
    assert at_rest(*LED, Crash(1), Quiesce()) == [Quiescent(2, 0, 1), Quiescent(3, 0, 1)]


@pytest.mark.parametrize("end", [Reset(1, 3), Timeout(3)])
def test_a_connection_that_is_closed_is_noticed_at_both_ends(end: Choice) -> None:
    assert at_rest(*LED, end, Quiesce()) == [LEADS, FOLLOW[0], Quiescent(3, 0, 1)]


def test_a_client_of_a_process_that_does_not_lead_waits() -> None:
    assert at_rest(Elect(2, 1), Quiesce())[1] == Quiescent(2, 0, 1, 1, "waiting")


def test_a_run_goes_on_after_it() -> None:
    simulator, _ = zab(Lead(1, (2, 3)), Quiesce())
    assert simulator.execute(Request(1)) == 1
    assert at_rest(*LED, Quiesce(), Quiesce()) == [
        Quiescent(each.process, 0, 2, 1, each.connection, each.primary) for each in (LEADS, *FOLLOW)
    ]


def test_it_is_one_choice_and_each_thing_in_it_is_a_step() -> None:
    simulator, _ = zab(*LED)
    simulator.execute(Request(1))
    seen: list[Choice] = []
    simulator.on_step = seen.append
    before = len(simulator.executed)
    steps = simulator.execute(Quiesce())
    assert simulator.executed[before:] == [Quiesce()]
    assert len(seen) == steps > 3
    assert [choice for choice in seen if isinstance(choice, Quiesce)] == [seen[-1]]
    assert Receive(2, 1) in seen
    assert simulator.execute(Quiesce()) == 1  # there is nothing to do but to look


def test_after_a_stabilise_nothing_comes() -> None:
    simulator, _ = zab(*LED, Stabilise(1, (1, 2)))
    assert simulator.execute(Quiesce()) == 0


@pytest.mark.parametrize("protocol", [name for name, each in PROTOCOLS.items() if "quiesce" in each.environment.never])
def test_protocols_that_know_no_rest_are_not_asked(protocol: str) -> None:
    simulator, events = zab(protocol=protocol)
    assert simulator.execute(Quiesce()) == 0
    assert not any(isinstance(event, Quiescent) for event in events)


def test_protocols_that_know_quiescence_are_listed() -> None:
    asked = [name for name, each in PROTOCOLS.items() if "quiesce" not in each.environment.never]
    assert asked == [
        "zab",
        "zab-reconfiguration",
        "ladis",
        "ladis-2008",
        "zookeeper",
    ]


def test_from_wherever_a_walk_has_come_the_ensemble_comes_to_rest() -> None:
    for seed in range(20):
        simulator, events = zab()
        walking = Walk(simulator, seed)
        for _ in range(200):
            walking.step()
        simulator.execute(Quiesce())
        assert not simulator.waiting()
        assert not simulator.unsynced()
        assert not simulator.closed()
        up = [process for process in simulator.ids if simulator.is_up(process)]
        assert [event.process for event in events if isinstance(event, Quiescent)] == up
