"""The parts of a state as numbers, and what each choice makes of them.

A table of moves holds, for a process with its connections, every choice that is enabled and what it leads to. It is
filled by the simulator: a process and its connections are put into an empty one, the choice is executed, and what
became of them is taken out again. Nothing but these can influence the outcome, or be changed by it; an assertion sees
to the latter.

Two parts are one if nothing that comes can tell them apart. What a protocol needs no longer may be left out (its
`identity`); the numbers of messages, and incarnations, are left out always: properties know incarnations by themselves.
"""

from collections.abc import Hashable, Iterable, Iterator, Mapping
from copy import copy
from typing import Any, NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from invariants import Chain, Event
from invariants.quorums import Quorums
from zabcheck.protocols.base import Connect, Effect, Protocol, Send, StepRaised
from zabcheck.protocols.switches import Switches
from zabcheck.simulation.channels import NOBODY
from zabcheck.simulation.disk import Disk, Write
from zabcheck.simulation.network import Connection
from zabcheck.simulation.schedule import (
    AnyChoice,
    Crash,
    Elect,
    Notice,
    Receive,
    Recover,
    Request,
    Sync,
    Timeout,
)
from zabcheck.simulation.simulator import Simulator

NO_CONNECTION = 0
NOTHING = 0
"""The number of what no events show."""

_NAMING = ("process", "sender", "receiver", "to", "leader")
"""The fields of events, and of choices, that name a process."""

FREE, TIMEOUT, REQUEST, CRASH = range(4)
"""What a move uses up."""


Names = tuple[int, ...]
"""What each process is called, by its id; entry 0 is not used."""


class CannotTellApart(Exception):
    """A protocol keeps something of which nobody knows whether two of them are equal."""


class Move(NamedTuple):
    """An enabled choice: what becomes of the process and its connections, and the events shown.

    `epoch` is the highest that the process knows of afterwards. `raised` if the protocol's code raised.
    """

    choice: int
    epoch: int
    process: int
    connections: tuple[int, ...]
    events: int
    raised: bool = False


class _Process(NamedTuple):
    """A process as the simulator has it."""

    id: int
    state: Any
    disk: Disk
    halted: bool
    following: int


class Parts:
    """The tables of one search. `pairs` are the possible connections, (follower, leader), in the order of a state."""

    def __init__(self, protocol: Protocol, quorums: Quorums, switches: Switches) -> None:
        self.protocol = protocol
        self.ids = range(1, quorums.size + 1)
        self.pairs = [(follower, leader) for follower in self.ids for leader in self.ids if follower != leader]
        self.incident = {p: [i for i, pair in enumerate(self.pairs) if p in pair] for p in self.ids}
        self.choices: list[AnyChoice] = []
        self._choices: dict[int, list[tuple[int, int]]] = {p: list(self._choices_of(p, switches)) for p in self.ids}
        self.processes: list[_Process] = []
        self.connections: list[Connection | None] = [None]
        self.events: list[tuple[Event, ...]] = [()]
        self._process_ids: dict[Hashable, int] = {}
        self._connection_ids: dict[Hashable, int] = {None: NO_CONNECTION}
        self._event_ids: dict[tuple[Event, ...], int] = {(): NOTHING}
        self._moves: dict[tuple[int, ...], tuple[Move, ...]] = {}
        self._renamed_processes: dict[tuple[int, Names], int] = {}
        self._renamed_connections: dict[tuple[int, Names], int] = {}
        self._renamed_events: dict[tuple[int, Names], int] = {}
        self._shown: list[Event] = []
        self._simulator = Simulator(
            protocol, quorums.size, self._shown.append, quorums=quorums, switches=switches, remember=False
        )
        self.start = tuple(map(self._intern_process, self.ids))
        assert not self._simulator.connections, "nobody follows anybody before the first choice"
        assert not self._shown, "a process shows nothing before the first choice"
        for process in self.ids:
            self._simulator.states[process] = None

    def _choices_of(self, process: int, switches: Switches) -> Iterator[tuple[int, int]]:
        others = [p for p in self.ids if p != process]
        yield from ((self._number(Receive(process, other)), FREE) for other in others)
        yield from ((self._number(Notice(process, other)), FREE) for other in others)
        if switches.sync == "separate":
            yield self._number(Sync(process)), FREE
        yield self._number(Request(process)), REQUEST
        yield from ((self._number(Elect(process, leader)), TIMEOUT) for leader in self.ids)  # free in no iteration
        yield self._number(Timeout(process)), TIMEOUT
        yield self._number(Crash(process)), CRASH
        yield self._number(Recover(process)), FREE

    def _number(self, choice: AnyChoice) -> int:
        self.choices.append(choice)
        return len(self.choices) - 1

    # Moves.

    def moves(self, state: tuple[int, ...], process: int, requests: int, cost: int) -> tuple[Move, ...]:
        """What of this cost `process` can do in `state`; `requests` were made so far. O(1) if it was asked before."""
        size = len(self.ids)
        key = (cost, process, state[process - 1], requests, *(state[size + i] for i in self.incident[process]))
        found = self._moves.get(key)
        if found is None:
            found = self._moves[key] = tuple(self._executed(key))
        return found

    def _executed(self, key: tuple[int, ...]) -> Iterator[Move]:
        wanted, process, part, requests, *connections = key
        before = self.processes[part]
        for number, cost in self._choices[process]:
            choice = self.choices[number]
            if isinstance(choice, Elect) and before.following == NOBODY:
                cost = FREE
            if cost != wanted or not self._may_be_enabled(choice, before, connections):
                continue
            simulator = self._holding(process, before, connections, requests)
            raised = False
            try:
                enabled = simulator.execute(choice)
            except StepRaised:
                enabled, raised = 1, True
            if enabled:
                yield Move(
                    number,
                    _epoch(simulator.states[process], self._shown),
                    self._intern_process(process),
                    tuple(self._intern_connections(process)),
                    self._intern_events(tuple(self._shown)),
                    raised,
                )
            simulator.states[process] = None

    def _may_be_enabled(self, choice: AnyChoice, before: _Process, connections: list[int]) -> bool:
        """False only if it is certainly not; to ask that is much cheaper than to try."""
        if isinstance(choice, Receive | Notice):
            return any(connections)
        return (before.state is None) == isinstance(choice, Recover)

    def _holding(self, process: int, part: _Process, connections: list[int], requests: int) -> Simulator:
        """The simulator with this process and its connections, and nothing else that matters."""
        simulator = self._simulator
        self._shown.clear()
        simulator.states[process] = copy(part.state)
        simulator.disks[process] = part.disk.copy()
        simulator.halted[process] = part.halted
        simulator.following[process] = part.following
        simulator.incarnations[process] = 0
        simulator.requests = requests
        simulator.connections.clear()
        for place, number in zip(self.incident[process], connections, strict=True):
            connection = self.connections[number]
            if connection is not None:
                simulator.connections[self.pairs[place]] = connection.copy()
        simulator.processes.settle(process)
        return simulator

    # Renaming.

    def renamed_process(self, number: int, names: Names) -> int:
        """The part of the same process under its new name."""
        found = self._renamed_processes.get((number, names))
        if found is None:
            part = self.processes[number]
            assert self.protocol.rename is not None
            disk = part.disk.copy()
            for write in disk.unsynced:
                write.withheld = [self._renamed_effect(effect, names) for effect in write.withheld]
            state = None if part.state is None else self.protocol.rename(part.state, names)
            twin = _Process(names[part.id], state, disk, part.halted, names[part.following])
            found = self._renamed_processes[number, names] = self._intern(twin)
        return found

    def renamed_connection(self, number: int, names: Names) -> int:
        """The connection between the same two under their new names."""
        connection = self.connections[number]
        if connection is None:
            return NO_CONNECTION
        found = self._renamed_connections.get((number, names))
        if found is None:
            assert self.protocol.rename is not None
            twin = connection.copy()
            twin.follower, twin.leader = names[connection.follower], names[connection.leader]
            for queue in (twin.to_leader, twin.to_follower):
                parcels = [(self.protocol.rename(message, names), place) for message, place in queue]
                queue.clear()
                queue.extend(parcels)
            found = self._renamed_connections[number, names] = self._intern_connection(twin)
        return found

    def renamed_events(self, number: int, names: Names) -> int:
        """What the same step shows."""
        found = self._renamed_events.get((number, names))
        if found is None:
            events = tuple(_renamed(event, names) for event in self.events[number])
            found = self._renamed_events[number, names] = self._intern_events(events)
        return found

    def _renamed_effect(self, effect: Effect, names: Names) -> Effect:
        if isinstance(effect, Send):
            assert self.protocol.rename is not None
            return Send(names[effect.to], self.protocol.rename(effect.message, names))
        if isinstance(effect, Connect):
            return Connect(names[effect.to], effect.closes)
        return _renamed(effect, names) if isinstance(effect, Event) else effect

    # Parts as numbers.

    def _intern_process(self, process: int) -> int:
        simulator = self._simulator
        return self._intern(
            _Process(
                process,
                simulator.states[process],
                simulator.disks[process],
                simulator.halted[process],
                simulator.following[process],
            )
        )

    def _intern(self, part: _Process) -> int:
        identity = self.protocol.identity or content
        state = part.state
        key = (part.id, None if state is None else identity(state), _disk(part.disk), part.halted, part.following)
        number = self._process_ids.get(key)
        if number is None:
            number = self._process_ids[key] = len(self.processes)
            state = copy(state)
            if hasattr(state, "incarnation"):
                state.incarnation = 0  # the ghosts count them
            self.processes.append(part._replace(state=state, disk=part.disk.copy()))
        return number

    def _intern_connections(self, process: int) -> Iterator[int]:
        connections = self._simulator.connections
        incident = [self.pairs[place] for place in self.incident[process]]
        assert connections.keys() <= {*incident}, "a choice reached further than its process"
        for pair in incident:
            connection = connections.get(pair)
            yield NO_CONNECTION if connection is None else self._intern_connection(connection)

    def _intern_connection(self, connection: Connection) -> int:
        key = _connection(connection)
        number = self._connection_ids.get(key)
        if number is None:
            number = self._connection_ids[key] = len(self.connections)
            self.connections.append(connection.copy())
        return number

    def _intern_events(self, shown: tuple[Event, ...]) -> int:
        number = self._event_ids.get(shown)
        if number is None:
            number = self._event_ids[shown] = len(self.events)
            self.events.append(shown)
        return number


def _renamed(event: Any, names: Names) -> Any:
    """An event of the same step, by the new names."""
    changes = {name: names[getattr(event, name)] for name in _NAMING if name in event.__struct_fields__}
    return replace(event, **changes)


def renamed_choice(choice: AnyChoice, names: Names) -> AnyChoice:
    """The same choice by the new names."""
    changes = {name: names[getattr(choice, name)] for name in (*_NAMING, "peer") if name in choice.__struct_fields__}
    return replace(choice, **changes)


def _epoch(state: Any, shown: list[Event]) -> int:
    """The highest epoch that the process has promised or proposed, or that an event names."""
    of_state = (getattr(state, name, 0) or 0 for name in ("accepted_epoch", "new_epoch"))
    of_events = (getattr(event, "epoch", 0) for event in shown)
    return max((*of_state, *of_events), default=0)


def _connection(connection: Connection) -> tuple[Hashable, ...]:
    return (
        connection.follower,
        connection.leader,
        connection.follower_end,
        connection.leader_end,
        connection.broken,
        connection.supersedes,
        connection.stalled_to_leader,
        connection.stalled_to_follower,
        tuple(content(message) for message, _ in connection.to_leader),
        tuple(content(message) for message, _ in connection.to_follower),
    )


def _disk(disk: Disk) -> Hashable:
    return (
        content(disk.durable),
        tuple(_write(write) for write in disk.unsynced),
        disk.altered,
        content(disk.altered_variables),
    )


def _write(write: Write) -> Hashable:
    return content(write.fields), content(write.withheld)


def content(value: Any) -> Hashable:
    """A value of a protocol as something that can be hashed, equal for what is equal; the order of a dict counts."""
    match value:
        case Quorums() | Switches():
            return None  # the same for all
        case Chain():
            return value
        case Mapping():
            return tuple((content(key), content(item)) for key, item in value.items())
        case list() | tuple():
            return tuple(map(content, value))
        case set() | frozenset():
            return frozenset(map(content, value))
        case Struct():
            fields = (name for name in value.__struct_fields__ if name != "incarnation")
            return type(value).__name__, tuple(content(getattr(value, name)) for name in fields)
        case _ if hasattr(value, "__dict__"):
            kept = {name: item for name, item in vars(value).items() if name != "incarnation"}
            return type(value).__name__, content(kept)
        case Hashable():
            return value
        case Iterable():
            return type(value).__name__, tuple(map(content, value))
        case _:
            raise CannotTellApart(f"a {type(value).__name__} among the variables of a process cannot be compared")
