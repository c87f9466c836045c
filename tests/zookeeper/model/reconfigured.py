"""A run of the model of ZooKeeper with configurations that change, choice by choice."""

from typing import Any

from invariants import Establish, Event
from zabcheck.invariants.quorums import quorums_of
from zabcheck.search.run import replay_on, schedule_of
from zabcheck.simulation import choices
from zabcheck.simulation.simulator import Simulator
from zabcheck.zookeeper.model.reconfiguration import RECONFIGURATION, describe
from zabcheck.zookeeper.model.reconfiguration.switches import ReconfigurationSwitches

C, V = "config 1,2,3", "config 1,2,4"


class Ensemble:
    """A run of `size` servers, of which 1, 2 and 3 are the first configuration, unless another one is given."""

    def __init__(self, size: int = 4, first: str = C, **values: Any) -> None:
        self.events: list[Event] = []
        chosen = ReconfigurationSwitches(**values)
        quorums = quorums_of(first, size)
        self.run = Simulator(RECONFIGURATION, size, self.events.append, quorums=quorums, switches=chosen)

    def do(self, *taken: choices.Choice) -> bool:
        """Take these choices; return True if the last one was enabled."""
        return bool([self.run.execute(choice) for choice in taken][-1])

    def lead(self, leader: int, *followers: int, rounds: int = 9) -> None:
        self.do(choices.Lead(leader, followers), choices.Settle(rounds))

    def change(self, leader: int, to: str = V) -> bool:
        return self.do(choices.Request(leader, to))

    def settle(self) -> None:
        self.do(choices.Settle(9))

    def of(self, kind: type[Event]) -> list[Any]:
        return [event for event in self.events if type(event) is kind]

    def known(self, process: int) -> tuple[str, str]:
        """Return the configuration that is active at a server, and the one that it has seen last."""
        shown = describe(self.run.states[process])
        return str(shown["active"]).split("⟨")[0], str(shown["last seen"]).split("⟨")[0]

    def broken(self) -> list[str]:
        """Return the properties that the run violates."""
        how: Any = {"quorums": self.run.quorums.name, "switches": self.run.switches}
        schedule = schedule_of(RECONFIGURATION.name, None, len(self.run.ids), self.run.executed, **how)
        verdicts = replay_on(RECONFIGURATION, schedule, RECONFIGURATION.properties).verdicts
        return [verdict.property for verdict in verdicts if verdict.status == "violated"]

    def epochs(self) -> list[tuple[int, int]]:
        return [(event.process, event.epoch) for event in self.of(Establish)]
