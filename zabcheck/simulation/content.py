"""The content of components: all of a process, a disk or a connection that later steps may depend on."""

from collections.abc import Collection, Hashable, Iterable, Mapping
from enum import Enum
from typing import Any

from msgspec import Struct

from zabcheck.invariants import Chain
from zabcheck.invariants.quorums import Quorums
from zabcheck.protocols.base import CannotTellApart, Persist
from zabcheck.protocols.switches import Switches
from zabcheck.simulation.disk import Disk, Write
from zabcheck.simulation.network import Connection, Parcel


def of_connection(connection: Connection) -> tuple[Hashable, ...]:
    """Return all of a connection that later steps may depend on, first the two processes at its ends."""
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


def _messages(queue: Collection[Parcel]) -> Hashable:
    """Return the messages in a queue. They are data, so most of them can be compared as they are."""
    if not queue:
        return ()
    messages = tuple(message for message, _ in queue)
    return messages if is_hashable(messages) else of_value(messages)


def of_disk(disk: Disk) -> Hashable:
    """Return all of a disk that later steps may depend on."""
    durable = tuple((name, disk.durable[name]) for name in sorted(disk.durable))
    return (
        durable if is_hashable(durable) else of_value(durable),
        tuple(_write(write) for write in disk.unsynced),
        disk.altered,
        of_value(disk.altered_variables) if disk.altered_variables else (),
    )


def is_hashable(value: object) -> bool:
    """Return True if a value has a hash."""
    try:
        hash(value)
    except TypeError:
        return False
    return True


def _write(write: Write) -> Hashable:
    return of_value(write.fields), of_value(write.withheld)


def of_value(value: Any) -> Hashable:
    """Return a value of a protocol in a form that has a hash, equal for equal values; the order of a dict counts.

    CannotTellApart if a value in it has no equality that is known. O(size of the value).
    """
    match value:
        case Quorums() | Switches():
            return None  # the same for all
        case Enum():
            return value  # a member refers to its class, and that to the member
        case Chain():
            return value
        case Mapping():
            return tuple((of_value(key), of_value(item)) for key, item in value.items())
        case list() | tuple():
            return tuple(map(of_value, value))
        case set() | frozenset():
            return frozenset(map(of_value, value))
        case Struct():
            fields = (name for name in value.__struct_fields__ if name != "incarnation")
            return type(value).__name__, tuple(of_value(getattr(value, name)) for name in fields)
        case Persist():  # withheld until the one before it is synced
            return type(value).__name__, of_value(value.fields)
        case _ if hasattr(value, "__dict__"):
            kept = {name: item for name, item in vars(value).items() if name != "incarnation"}
            return type(value).__name__, of_value(kept)
        case Hashable():
            return value
        case Iterable():
            return type(value).__name__, tuple(map(of_value, value))
        case _:
            raise CannotTellApart(f"a {type(value).__name__} among the variables of a process cannot be compared")
