"""The simulator's step as a pure function: one choice, applied to one process and its connections.

A fine choice that moves a process depends on that process, its disk and its connections, and changes nothing else. So
the outcome is a function of these few values. `next_state` computes it with the simulator itself: it puts the process
into one in which no other process is up, with its connections, and takes them out again after the choice.
Its arguments stay as they are.

The *acts* of the process, on its connections, depend on the process and the choice alone; and the outcome of an act on
the connections between two processes, on these alone. So `next_state` need not be given all connections, and
`after_acts` applies the acts to the others.
"""

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from copy import copy
from typing import Any, NamedTuple

from zabcheck.invariants import Event
from zabcheck.invariants.quorums import Quorums
from zabcheck.protocols.base import Message, Protocol, StepRaised
from zabcheck.protocols.switches import Switches
from zabcheck.simulation.channels import Casts, Channels, Lost
from zabcheck.simulation.choices import Choice
from zabcheck.simulation.disk import Disk
from zabcheck.simulation.network import Connection, Parcel
from zabcheck.simulation.obstacles import Obstacles
from zabcheck.simulation.processes import Processes
from zabcheck.simulation.simulator import Simulator

Connections = Mapping[tuple[int, int], Connection]
"""Connections by (follower, leader)."""
CastMessages = Mapping[tuple[int, int], tuple[Message, ...]]
"""The messages outside of connections in transit, by (sender, receiver)."""
NOTHING_CAST: CastMessages = {}


EVERYBODY = 0


class Act(NamedTuple):
    """An act of a process on its connections `to` another one, or to EVERYBODY: a method, and its arguments."""

    to: int
    name: str
    arguments: tuple[Any, ...]


class LocalProcess(NamedTuple):
    """A process in the simulator: its variables (None: it is down), its disk, and the process that it follows."""

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
    """The state of a process and its connections after a choice, and the events that the choice showed.

    All of it is new; nothing else refers to it. `replaced` names the connections that the step has opened anew between
    two processes that had one before. If the protocol's code `raised`, the run ends there. `acts` are all that can
    concern other connections than those of the process that the choice names.
    """

    process: LocalProcess
    connections: Connections
    cast: CastMessages
    replaced: tuple[tuple[int, int], ...]
    events: tuple[Event, ...]
    raised: bool
    acts: tuple[Act, ...]


class Model:
    """The properties that all processes of a run share. `protocol` is no `mesh`, and no application runs.

    It has a simulator, in which no process is up and nothing in transit except during a step. To make one for each step
    would take as long as the step.
    """

    def __init__(self, protocol: Protocol, quorums: Quorums, switches: Switches) -> None:
        self.protocol = protocol
        self.quorums = quorums
        self.switches = switches
        abrupt = switches.closing == "abrupt"
        self.channels = Channels(quorums.size, _ignore, abrupt=abrupt)
        """Channels for acts alone."""
        self.recording = _Recording(quorums.size, _ignore, abrupt=abrupt)
        """The channels of the simulator."""
        self.processes = Processes(protocol, quorums, switches, _ignore, self.recording, None, network=False)
        self.simulator = Simulator.of(self.processes)

    def start(self) -> tuple[LocalProcess, ...]:
        """Return the processes before the first choice; there is no connection then. StepRaised if one cannot start."""
        shown: list[Event] = []
        size = self.quorums.size
        run = Simulator(self.protocol, size, shown.append, quorums=self.quorums, switches=self.switches)
        assert not run.connections, "nobody follows anybody before the first choice"
        assert not shown, "a process shows nothing before the first choice"
        return tuple(_as_it_is(run.processes, process) for process in run.ids)


def next_state(
    model: Model,
    process: LocalProcess,
    connections: Connections,
    choice: Choice,
    requests: int = 0,
    cast: CastMessages = NOTHING_CAST,
) -> NextState | None:
    """Apply `choice`, which moves `process`, to it and its `connections`; return None if the choice is not enabled.

    `cast` has the messages outside of connections that it has sent, and those that were sent to it.

    `requests` clients have asked before, so that a request without a value gets the next one. The process is taken for
    one in its first incarnation. O(1) simulated steps and O(processes).
    """
    me, shown = process.id, list[Event]()
    assert getattr(choice, "process", me) == me, "a choice moves its process"
    channels, processes, simulator = model.recording, model.processes, model.simulator
    simulator.requests = requests
    raised = False
    try:
        handed = _hand_over(channels, process, connections, cast)
        processes.put_in(me, copy(process.state), process.disk.copy(), process.halted, shown.append)
        try:
            enabled = bool(simulator.execute(choice))
        except StepRaised:
            enabled = raised = True
            processes.halted[me] = True  # another state than before, whatever else the step changes
        if not enabled:
            return None
        left, under_way = _left_in(channels)
        assert all(me in pair for pair in left), "a choice reached further than its process"
        after, replaced, acts = _as_it_is(processes, me), _replaced(left, handed), tuple(channels.acts)
        return NextState(after, left, under_way, replaced, tuple(shown), raised, acts)
    finally:
        processes.take_out(me)
        channels.clear()
        channels.acts.clear()


def after_acts(
    model: Model,
    process: LocalProcess,
    acts: Sequence[Act],
    connections: Connections,
    cast: CastMessages = NOTHING_CAST,
) -> tuple[Connections, CastMessages, tuple[tuple[int, int], ...]]:
    """Apply these `acts` of a process to its `connections` to another process, and to the messages `cast` there.

    Returns connections, messages and replaced connections, as in `NextState`. O(acts).
    """
    channels = model.channels
    try:
        handed = _hand_over(channels, process, connections, cast)
        for act in acts:
            _REPEATED[act.name](channels, *act.arguments)
        left, under_way = _left_in(channels)
        return left, under_way, _replaced(left, handed)
    finally:
        channels.clear()


def _hand_over(channels: Channels, process: LocalProcess, connections: Connections, cast: CastMessages) -> Connections:
    """Let the channels have copies of these connections, and return the copies."""
    handed = {pair: connection.copy() for pair, connection in connections.items()}
    channels.connections.update(handed)
    channels.following[process.id] = process.following
    for link, messages in cast.items():
        channels.casts.queues[link] = deque((each, 0) for each in messages)
    return handed


def _left_in(channels: Channels) -> tuple[Connections, CastMessages]:
    """Return the connections, and the messages outside of them."""
    queues = channels.casts.queues
    cast = {link: tuple([each for each, _ in queue]) for link, queue in queues.items()} if queues else NOTHING_CAST
    return channels.connections.copy(), cast


def _replaced(left: Connections, handed: Connections) -> tuple[tuple[int, int], ...]:
    return tuple([pair for pair, each in left.items() if each is not handed.get(pair, each)])


def _as_it_is(processes: Processes, process: int) -> LocalProcess:
    return LocalProcess(
        process,
        processes.states[process],
        processes.disks[process],
        processes.halted[process],
        processes.channels.following[process],
    )


def _ignore(what: list[Parcel] | Event) -> None:
    """Do nothing: lost messages are not recorded, and a process that is down shows nothing."""


class _Recording(Channels):
    """Channels that record the acts of a process on its connections."""

    __slots__ = ("acts",)

    def __init__(self, processes: int, lost: Lost, *, abrupt: bool) -> None:
        super().__init__(processes, lost, abrupt=abrupt)
        self.acts: list[Act] = []
        self.casts = _RecordingCasts(self.obstacles, self.acts)

    def send(self, process: int, to: int, message: Message) -> int:
        self.acts.append(Act(to, "send", (process, to, message)))
        return super().send(process, to, message)

    def cast(self, process: int, to: int, message: Message) -> int:
        self.acts.append(Act(to, "cast", (process, to, message)))
        return super().cast(process, to, message)

    def open(self, process: int, to: int) -> None:
        self.acts.append(Act(EVERYBODY, "open", (process, to)))  # the process follows another one then
        super().open(process, to)

    def close(self, process: int, *, keep_followed: bool = False) -> None:
        self.acts.append(Act(EVERYBODY, "close", (process, keep_followed)))
        super().close(process, keep_followed=keep_followed)

    def refuse(self, process: int) -> None:
        self.acts.append(Act(EVERYBODY, "refuse", (process,)))
        super().refuse(process)


class _RecordingCasts(Casts):
    """The casts of recording channels."""

    __slots__ = ("acts",)

    def __init__(self, obstacles: Obstacles, acts: list[Act]) -> None:
        super().__init__(obstacles)
        self.acts = acts

    def miss(self, process: int) -> list[Parcel]:
        self.acts.append(Act(EVERYBODY, "miss", (process,)))
        return super().miss(process)


def _close(channels: Channels, process: int, keep_followed: bool) -> None:
    channels.close(process, keep_followed=keep_followed)


def _miss(channels: Channels, process: int) -> None:
    channels.casts.miss(process)


_REPEATED: dict[str, Callable[..., object]] = {
    "send": Channels.send,
    "cast": Channels.cast,
    "open": Channels.open,
    "close": _close,
    "refuse": Channels.refuse,
    "miss": _miss,
}
"""The function that repeats an act, by the name of the act."""
