"""The shortest schedule of simulated servers: few choices, and few decisions about threads."""

from collections.abc import Callable

import pytest
from msgspec.structs import replace

from zabcheck.zookeeper.run.choices.servers import Kill, Start
from zabcheck.zookeeper.run.choices.writes import Write
from zabcheck.zookeeper.run.schedule import EnsembleSchedule, ThreadOrder
from zabcheck.zookeeper.simulated.minimise import minimise

MANY = ",".join(f"{number}:{1 + number % 3}" for number in range(0, 4000, 2))
CHOICES = (Write("A"), Kill("B"), Start("B"), Write("C"), Kill("A"), Write("B"))


class Servers:
    """Stands for servers that show it if A is killed, and if their order of threads is one that is `wanted`."""

    def __init__(self, wanted: Callable[[ThreadOrder], bool]) -> None:
        self.wanted = wanted
        self.executions = 0

    def shows(self, schedule: EnsembleSchedule) -> EnsembleSchedule | None:
        self.executions += 1
        order = schedule.simulated
        assert order is not None
        if order.decisions is None:
            order = replace(order, decisions=f"{10 * order.seed}:1002,{10 * order.seed + 5}:1001")
        if Kill("A") not in schedule.choices or not self.wanted(order):
            return None
        return replace(schedule, simulated=order)


def decided(order: ThreadOrder) -> list[str]:
    assert order.decisions is not None
    return order.decisions.split(",")


@pytest.mark.parametrize(
    ("wanted", "left", "executions"),
    [
        (lambda _: True, [""], 20),
        (lambda order: "40:1002" in decided(order) or "1000:2" in decided(order), ["40:1002"], 60),
        (lambda order: "1000:2" in decided(order), ["1000:2"], 120),
    ],
    ids=["any order shows it", "a drawn one with few decisions shows it", "one decision of many shows it"],
)
def test_a_shortened_schedule_still_shows_the_violation(
    wanted: Callable[[ThreadOrder], bool], left: list[str], executions: int
) -> None:
    servers = Servers(wanted)
    long = EnsembleSchedule(1, "zookeeper", 3, CHOICES, simulated=ThreadOrder(7, "uniform", 500, 0, MANY))
    short = minimise(long, servers.shows, 240, tuple, lambda: None)
    assert short.choices == (Kill("A"),)
    assert short.simulated is not None
    assert decided(short.simulated) == left
    assert servers.executions <= executions


def test_no_more_executions_than_are_given() -> None:
    servers = Servers(lambda order: "1000:2" in decided(order))
    long = EnsembleSchedule(1, "zookeeper", 3, CHOICES, simulated=ThreadOrder(7, "uniform", 500, 0, MANY))
    short = minimise(long, servers.shows, 50, tuple, lambda: None)
    assert servers.executions <= 50
    assert servers.shows(short) is not None
