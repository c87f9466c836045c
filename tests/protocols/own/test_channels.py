"""A class of one's own may say which channels it has."""

import pytest

import zabcheck
from tests.protocols.own.echo import Echo
from zabcheck.protocols.adapter import protocol_of
from zabcheck.protocols.environment import Environment
from zabcheck.simulation.choices import Elect, Overtake, Receive, Request
from zabcheck.simulation.simulator import Simulator


class Rushed(Echo):
    environment = Environment(fifo=False, never=("quiesce",))


class Meshed(Echo):
    environment = Environment(mesh=True)


@pytest.mark.parametrize(("own", "overtakes"), [(Echo, False), (Rushed, True)])
def test_messages_overtake_where_the_class_says_so(own: type[zabcheck.Process], overtakes: bool) -> None:
    simulator = Simulator(protocol_of(own), 2, lambda _: None)
    for choice in (Elect(1, 1), Elect(2, 1), Receive(1, 2), Request(1, "say a"), Request(1, "say b")):
        assert simulator.execute(choice)
    assert bool(simulator.execute(Overtake(1, 2))) == overtakes


def test_a_mesh_is_refused_as_a_class_opens_connections() -> None:
    with pytest.raises(ValueError, match=r"Meshed\.environment: expected an Environment that is no mesh"):
        protocol_of(Meshed)
