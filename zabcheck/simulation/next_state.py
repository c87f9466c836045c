"""What one choice makes of one process and its connections: the simulator's step as a pure function.

A fine choice that moves a process depends on that process, its disk and its connections, and changes nothing else. So
the outcome is a function of these few values. `next_state` computes it with what the simulator has for a choice: with
processes of which only that one is up, and channels that have only its connections. What it is given stays as it is.
"""

from collections import deque
from collections.abc import Mapping
from copy import copy
from typing import Any, NamedTuple

from invariants import Event
from invariants.quorums import Quorums
from zabcheck.protocols.base import Message, Protocol, StepRaised
from zabcheck.protocols.switches import Switches
from zabcheck.simulation.channels import Channels
from zabcheck.simulation.choices import Choice
from zabcheck.simulation.disk import Disk
from zabcheck.simulation.network import Connection, Parcel
from zabcheck.simulation.processes import Processes
from zabcheck.simulation.simulator import Simulator

Connections = Mapping[tuple[int, int], Connection]
"""Connections by (follower, leader)."""
Cast = Mapping[tuple[int, int], tuple[Message, ...]]
"""The messages of elections that are under way, by (sender, receiver)."""
NOTHING_CAST: Cast = {}


class LocalProcess(NamedTuple):
    """A process as the simulator has it: its variables (None: it is down), its disk, and whom it follows."""

    id: int
    state: Any
    disk: Disk
    halted: bool
    following: int

    @property
    def is_up(self) -> bool:
        return self.state is not None

    @property
    def leads(self) -> bool:
        return self.following == self.id


class NextState(NamedTuple):
    """What a choice made of a process and its connections, and the events that it showed.

    All of it is new; nothing else refers to it. `replaced` names the connections that the step has opened anew between
    two processes that had one before. If the protocol's code `raised`, the run ends there.
    """

    process: LocalProcess
    connections: Connections
    cast: Cast
    replaced: tuple[tuple[int, int], ...]
    events: tuple[Event, ...]
    raised: bool


class Model(NamedTuple):
    """What all processes of a run have in common. `protocol` has channels: it is no `mesh`, and no application runs."""

    protocol: Protocol
    quorums: Quorums
    switches: Switches

    def start(self) -> tuple[LocalProcess, ...]:
        """The processes before the first choice; there is no connection then. StepRaised if one cannot start."""
        shown: list[Event] = []
        size = self.quorums.size
        run = Simulator(self.protocol, size, shown.append, quorums=self.quorums, switches=self.switches)
        assert not run.connections, "nobody follows anybody before the first choice"
        assert not shown, "a process shows nothing before the first choice"
        return tuple(_taken_out(run.processes, process) for process in run.ids)


def next_state(
    model: Model,
    process: LocalProcess,
    connections: Connections,
    choice: Choice,
    requests: int = 0,
    cast: Cast = NOTHING_CAST,
) -> NextState | None:
    """What `choice`, which moves `process`, makes of it and its `connections`; None if the choice is not enabled.

    `cast`: what it has cast in elections, and what was cast to it.

    `requests` clients have asked before, so that a request without a value gets the next one. The process is taken for
    one in its first incarnation. O(1) simulated steps and O(processes).
    """
    me, shown = process.id, list[Event]()
    channels = Channels(model.quorums.size, _ignore, abrupt=model.switches.closing == "abrupt")
    handed = {pair: connection.copy() for pair, connection in connections.items()}
    channels.connections.update(handed)
    channels.following[me] = process.following
    channels.ballots.queues.update({link: deque((each, 0) for each in messages) for link, messages in cast.items()})
    processes = Processes(*model, shown.append, channels, None, network=False)
    processes.states[me] = copy(process.state)
    processes.disks[me] = process.disk.copy()
    processes.halted[me] = process.halted
    raised = False
    try:
        enabled = bool(Simulator.of(processes, requests).execute(choice))
    except StepRaised:
        enabled = raised = True
    if not enabled:
        return None
    left = channels.connections
    assert all(me in pair for pair in left), "a choice reached further than its process"
    after = {link: tuple(each for each, _ in queue) for link, queue in channels.ballots.queues.items()}
    replaced = [pair for pair, each in left.items() if each is not handed.get(pair, each)]
    return NextState(_taken_out(processes, me), left, after, tuple(replaced), tuple(shown), raised)


def _taken_out(processes: Processes, process: int) -> LocalProcess:
    return LocalProcess(
        process,
        processes.states[process],
        processes.disks[process],
        processes.halted[process],
        processes.channels.following[process],
    )


def _ignore(lost: list[Parcel]) -> None:
    """Nobody looks at what gets lost."""
