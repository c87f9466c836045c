"""An end of the channels: p1 sends, each other process receives. The link to a process is kept with the process."""

from collections.abc import Hashable, Mapping
from typing import Any, Protocol

from msgspec import Struct

from zabcheck.invariants.quorums import Quorums
from zabcheck.protocols.base import NOTHING_ADDED, AddedState, ProcessId
from zabcheck.protocols.channel.messages import Frame
from zabcheck.protocols.switches import LETTER, Switches

SENDER: ProcessId = 1


class UnderWay(Struct, frozen=True):
    """A frame on the link. It arrives twice at most: `repeated` says that it has arrived once."""

    sender: ProcessId
    frame: Frame
    repeated: bool = False


class Outgoing(Struct, frozen=True):
    """The sender's end of a channel."""

    iteration: int
    """The sender's own iteration."""
    of: int
    """The iteration of the receiver."""
    sent: tuple[Any, ...] = ()
    """The values sent; their numbers count from 1."""
    acknowledged: int = 0
    """The number of the values, from the first one on, that the receiver has."""


class Sender(Protocol):
    """The end of a channel at which messages are sent."""

    @property
    def sent(self) -> tuple[Any, ...]: ...
    @property
    def acknowledged(self) -> int: ...


class Receiver(Protocol):
    """The end of a channel at which messages are received."""

    @property
    def iteration(self) -> int: ...
    @property
    def theirs(self) -> int: ...
    @property
    def received(self) -> int: ...


class Process(Struct, gc=False):
    """The variables of one process. The values are immutable: steps rebind fields."""

    id: ProcessId
    incarnation: int
    quorums: Quorums
    switches: Switches = LETTER

    # Durable.
    iteration: int = 0
    """The highest iteration of this process so far."""
    link: tuple[UnderWay, ...] = ()
    """The frames on the link to this process, in the order of sending. A crash does not take them from the link."""

    # Of the incarnation.
    leader: ProcessId | None = None
    """The sender, while there is a connection to it; at the sender, itself."""

    # As the receiver, in its current iteration.
    theirs: int = 0
    """The iteration of the sender whose messages it takes; 0 before the first one."""
    received: int = 0

    # As the sender.
    channels: Mapping[ProcessId, Outgoing] = {}
    """By receiver."""

    added: AddedState = NOTHING_ADDED
    """The variables that a known bug adds."""

    @property
    def sends(self) -> bool:
        return self.leader == self.id


def start(
    process: ProcessId, incarnation: int, quorums: Quorums, durable: Mapping[str, Any], switches: Switches
) -> Process:
    """Return a process as it starts: with what its disk has, and with no channel."""
    return Process(process, incarnation, quorums, switches, **durable)


def abandon(p: Process) -> None:
    """Close all channels. What is on the link stays there."""
    p.leader = None
    p.theirs, p.received = 0, 0
    p.channels = {}
    p.added = p.added.abandoned()


def identity(p: Process) -> Hashable:
    """Return everything that the further steps of a process may depend on."""
    return p.iteration, p.link, p.leader, p.theirs, p.received, tuple(sorted(p.channels.items())), p.added.identity(p)


def highest_iteration(p: Process) -> int:
    """Return the highest iteration of the process."""
    return p.iteration
