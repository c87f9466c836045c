"""The parts of a state as numbers, and what a choice makes of them.

A choice moves one process: it depends on that process and its connections alone, and changes no other. So a process
and its connections are put into a simulator in which there is nothing else, the choice is executed there, and what
became of them is taken out again. An assertion sees to it that nothing else was reached.

Two parts are one if nothing that comes can tell them apart. What a protocol needs no longer may be left out (its
`identity`); the numbers of messages, and incarnations, are left out always: properties know incarnations by themselves.

A connection may be *deaf*: its follower has decided to read nothing more from it, so what is on its way there is gone.
That is no choice of the simulator, which would just never choose that `Receive` again; see `reduction`.
"""

from collections.abc import Hashable, Iterable, Mapping, Sequence
from copy import copy
from enum import Enum
from typing import Any, NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from invariants import Chain, Event
from invariants.quorums import Quorums
from zabcheck.protocols.base import Connect, Effect, Protocol, Send, StepRaised
from zabcheck.protocols.switches import Switches
from zabcheck.simulation.choices import AnyChoice
from zabcheck.simulation.disk import Disk, Write
from zabcheck.simulation.network import Connection, End, Parcel
from zabcheck.simulation.simulator import Simulator

NO_CONNECTION = 0
NOTHING = 0
"""The number of what no events show."""

_NAMING = ("process", "sender", "receiver", "to", "leader")
"""The fields of events, and of choices, that name a process."""

Names = tuple[int, ...]
"""What each process is called, by its id; entry 0 is not used."""


class CannotTellApart(Exception):
    """A protocol keeps something of which nobody knows whether two of them are equal."""


class Process(NamedTuple):
    """A process as the simulator has it."""

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


class Link(NamedTuple):
    """A connection, and whether its follower reads no more from it."""

    connection: Connection
    deaf: bool = False

    @property
    def is_closed(self) -> bool:
        """Whether an end has yet to be closed because the other is, or because the connection broke."""
        c = self.connection
        return c.broken or c.supersedes or c.follower_end is End.CLOSED or c.leader_end is End.CLOSED


class Outcome(NamedTuple):
    """What a choice made of a process and its connections, and the events that it showed.

    `opened` has the numbers of the links that the process has opened to each process, `links_to` those of the links to
    it; there is none to itself. `epoch` is the highest that the process knows of. `raised` if the protocol's code did.
    """

    process: int
    opened: tuple[int, ...]
    links_to: tuple[int, ...]
    events: int
    epoch: int
    raised: bool


class Parts:
    """The tables of one search."""

    def __init__(self, protocol: Protocol, quorums: Quorums, switches: Switches) -> None:
        self.protocol = protocol
        self.quorums = quorums
        self.switches = switches
        self.ids = range(1, quorums.size + 1)
        self.processes: list[Process] = []
        self.links: list[Link | None] = [None]
        self.events: list[tuple[Event, ...]] = [()]
        self._process_ids: dict[Hashable, int] = {}
        self._link_ids: dict[Hashable, int] = {None: NO_CONNECTION}
        self._event_ids: dict[tuple[Event, ...], int] = {(): NOTHING}
        self._renamed_processes: dict[tuple[int, Names], int] = {}
        self._renamed_links: dict[tuple[int, Names], int] = {}
        self._renamed_events: dict[tuple[int, Names], int] = {}
        self._shown: list[Event] = []
        self._simulator = Simulator(
            protocol, quorums.size, self._shown.append, quorums=quorums, switches=switches, remember=False
        )
        self.start = tuple(map(self._take_process, self.ids))
        assert not self._simulator.connections, "nobody follows anybody before the first choice"
        assert not self._shown, "a process shows nothing before the first choice"
        for process in self.ids:
            self._simulator.states[process] = None

    def execute(
        self, number: int, opened: Sequence[int], links_to: Sequence[int], choice: AnyChoice, requests: int
    ) -> Outcome | None:
        """What `choice` makes of this process with these links (as in `Outcome`); None if it is not enabled.

        `requests` were made so far. O(1) simulated steps.
        """
        process = self.processes[number].id
        opened_by = [(process, other) for other in self.ids]
        opened_to = [(other, process) for other in self.ids]
        deaf = self._put(number, zip((*opened_by, *opened_to), (*opened, *links_to), strict=True), requests)
        raised = False
        try:
            enabled = self._simulator.execute(choice)
        except StepRaised:
            enabled, raised = 1, True
        outcome = None
        if enabled:
            connected = self._simulator.connections.keys()
            assert connected <= {*opened_by, *opened_to}, "a choice reached further than its process"
            outcome = Outcome(
                self._take_process(process),
                self._take_links(opened_by, deaf),
                self._take_links(opened_to, deaf),
                self._intern_events(tuple(self._shown)),
                highest_epoch(self._simulator.states[process], self._shown),
                raised,
            )
        self._simulator.states[process] = None
        return outcome

    def _put(self, number: int, links: Iterable[tuple[tuple[int, int], int]], requests: int) -> list[Connection]:
        """Have this process and its connections in the simulator, and nothing else that matters; the deaf ones."""
        simulator, part = self._simulator, self.processes[number]
        process, deaf = part.id, []
        self._shown.clear()
        simulator.states[process] = copy(part.state)
        simulator.disks[process] = part.disk.copy()
        simulator.halted[process] = part.halted
        simulator.following[process] = part.following
        simulator.incarnations[process] = 0
        simulator.requests = requests
        simulator.connections.clear()
        for pair, link_number in links:
            link = self.links[link_number]
            if link is not None:
                connection = simulator.connections[pair] = link.connection.copy()
                if link.deaf:
                    deaf.append(connection)
        simulator.processes.settle(process)
        return deaf

    def _take_links(self, pairs: Sequence[tuple[int, int]], deaf: list[Connection]) -> tuple[int, ...]:
        found = map(self._simulator.connections.get, pairs)
        return tuple(
            NO_CONNECTION if each is None else self._intern_link(Link(each, any(each is one for one in deaf)))
            for each in found
        )

    def _take_process(self, process: int) -> int:
        simulator = self._simulator
        return self._intern_process(
            Process(
                process,
                simulator.states[process],
                simulator.disks[process],
                simulator.halted[process],
                simulator.following[process],
            )
        )

    def deafened(self, number: int) -> int:
        """The same link when its follower reads no more from it."""
        link = self.links[number]
        assert link is not None
        return self._intern_link(Link(link.connection.copy(), deaf=True))

    def popped(self, number: int) -> int:
        """The same link without the next message to its leader."""
        link = self.links[number]
        assert link is not None
        twin = Link(link.connection.copy(), link.deaf)
        twin.connection.to_leader.popleft()
        return self._intern_link(twin)

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
            twin = Process(names[part.id], state, disk, part.halted, names[part.following])
            found = self._renamed_processes[number, names] = self._intern_process(twin)
        return found

    def renamed_link(self, number: int, names: Names) -> int:
        """The link between the same two under their new names."""
        link = self.links[number]
        if link is None:
            return NO_CONNECTION
        found = self._renamed_links.get((number, names))
        if found is None:
            assert self.protocol.rename is not None
            twin = link.connection.copy()
            twin.follower, twin.leader = names[twin.follower], names[twin.leader]
            for queue in (twin.to_leader, twin.to_follower):
                parcels = [(self.protocol.rename(message, names), place) for message, place in queue]
                queue.clear()
                queue.extend(parcels)
            found = self._renamed_links[number, names] = self._intern_link(Link(twin, link.deaf))
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

    def _intern_process(self, part: Process) -> int:
        key = (part.id, self.variables(part), of_disk(part.disk), part.halted, part.following)
        number = self._process_ids.get(key)
        if number is None:
            number = self._process_ids[key] = len(self.processes)
            state = copy(part.state)
            if hasattr(state, "incarnation"):
                state.incarnation = 0  # the ghosts count them
            self.processes.append(part._replace(state=state, disk=part.disk.copy()))
        return number

    def variables(self, part: Process) -> Hashable:
        """All of a process that its steps may depend on; None if it is down."""
        return None if part.state is None else (self.protocol.identity or content)(part.state)

    def _intern_link(self, link: Link) -> int:
        connection = link.connection
        deaf = link.deaf and connection.follower_end is End.OPEN
        if deaf:
            connection.to_follower.clear()
        key = (deaf, *of_connection(connection))
        number = self._link_ids.get(key)
        if number is None:
            number = self._link_ids[key] = len(self.links)
            self.links.append(Link(connection.copy(), deaf))
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


def highest_epoch(state: Any, shown: Iterable[Event]) -> int:
    """The highest epoch that the process has promised or proposed, or that an event names."""
    of_state = (getattr(state, name, 0) or 0 for name in ("accepted_epoch", "new_epoch", "promised", "ballot"))
    of_events = (getattr(event, "epoch", 0) for event in shown)
    return max((*of_state, *of_events), default=0)


def of_connection(connection: Connection) -> tuple[Hashable, ...]:
    """All of a connection that what comes may depend on; the two that it is between come first."""
    return (
        connection.follower,
        connection.leader,
        connection.follower_end,
        connection.leader_end,
        connection.broken,
        connection.supersedes,
        connection.stalled_to_leader,
        connection.stalled_to_follower,
        _messages(connection.to_leader),
        _messages(connection.to_follower),
    )


def _messages(queue: Iterable[Parcel]) -> Hashable:
    """Messages are data, so most of them can be compared as they are."""
    messages = tuple(message for message, _ in queue)
    return messages if _is_hashable(messages) else content(messages)


def of_disk(disk: Disk) -> Hashable:
    """All of a disk that what comes may depend on."""
    durable = tuple((name, disk.durable[name]) for name in sorted(disk.durable))
    return (
        durable if _is_hashable(durable) else content(durable),
        tuple(_write(write) for write in disk.unsynced),
        disk.altered,
        content(disk.altered_variables),
    )


def _is_hashable(value: object) -> bool:
    try:
        hash(value)
    except TypeError:
        return False
    return True


def _write(write: Write) -> Hashable:
    return content(write.fields), content(write.withheld)


def content(value: Any) -> Hashable:
    """A value of a protocol as something that can be hashed, equal for what is equal; the order of a dict counts."""
    match value:
        case Quorums() | Switches():
            return None  # the same for all
        case Enum():
            return value  # a member refers to its class, and that to the member
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
