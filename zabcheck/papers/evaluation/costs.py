"""The costs: how long everything takes (DSN 2011, VII). Times are whole nanoseconds of simulated time, sizes bytes.

Each server has one network card. All that a server sends goes out through it, one message after the other, at the
card's bandwidth; what it receives comes in likewise. Between two cards a message takes half a ping. Handling a message
takes processor time, one message after the other.

A disk syncs one group at a time: a sync covers all writes that wait when it begins (group commit). With a write cache a
sync is short. Without one, it waits for the platter.

Each field says whether its value is the paper's or assumed; docs/evaluation.md lists them all.
"""

from msgspec import Struct

from zabcheck.invariants import Chain
from zabcheck.protocols.base import Message
from zabcheck.protocols.zab.histories import Carried, Whole
from zabcheck.protocols.zab.messages import AckE, CEpoch, Commit, NewEpoch, NewLeader, Propose

SECOND, MILLISECOND, MICROSECOND = 10**9, 10**6, 10**3
ZXID = 8
"""The size of a zxid, as ZooKeeper packs it."""
SERVER = 1
"""The size of a server's name: ZooKeeper numbers servers from 1 to 255."""


class Costs(Struct, frozen=True):
    """The costs of the network and of the processor, and the size of an operation."""

    size: int = 1024
    """Bytes of an operation. The paper's."""
    header: int = 60
    """Bytes of a message in addition to its operations: ZooKeeper's fields, and those of TCP and IP. Assumed."""
    bandwidth: int = 10**9
    """Bandwidth of a network card, in bits a second, each way. The paper's: gigabit."""
    ping: int = 100 * MICROSECOND
    """Round-trip time between two network cards. The paper's."""
    cpu: int = 1 * MICROSECOND
    """Processor time to handle a message. Assumed."""

    def on_the_wire(self, size: int) -> int:
        """Return how long a network card takes for `size` bytes; at least a nanosecond."""
        return max(1, _divided(size * 8 * SECOND, self.bandwidth))

    def bytes_of(self, message: Message) -> int:
        """Return the size of a message. O(1): of a history only the length matters."""
        match message:
            case Propose():
                after = 0 if message.after is None else ZXID
                return self.header + self.size + after + SERVER * len(message.route)
            case Commit():
                return self.header + SERVER * len(message.route)
            case AckE() | NewLeader():
                return self.header + (self.header + self.size) * carried(message.history)
            case CEpoch() | NewEpoch():
                return self.header + ZXID * len(message.lasts or ())
            case _:
                return self.header

    def cap(self, servers: int) -> float:
        """Return the most operations a second that a leader can send to all others: bandwidth / ((n - 1) × size).

        This counts operations only, no headers, ACKs or COMMITs. `servers` is 2 or more.
        """
        return self.bandwidth / (8 * (servers - 1) * self.size)


def carried(history: Carried) -> int:
    """Return how many transactions a message with this history carries."""
    return history.history.length - history.base.length if isinstance(history, Whole) else len(history.txns)


class Disk(Struct, frozen=True):
    """A disk to which a server writes its log."""

    name: str
    sync: int
    """The fixed part of the time that a sync takes."""
    rate: int
    """Bytes a second that the disk writes sequentially."""

    def takes(self, size: int) -> int:
        """Return how long a sync of `size` bytes takes."""
        return self.sync + _divided(size * SECOND, self.rate)


NETWORK_ONLY, CACHED, UNCACHED = "network only", "disk with write cache", "disk without write cache"
CACHED_SYNC = 100 * MICROSECOND
"""The time of a sync that ends in the disk's cache. Assumed: a system call, and the way to the disk."""
ROTATION_AND_SEEK = 20 * MILLISECOND
"""The paper's: "around 20 milliseconds"."""
METADATA = 8_333 * MICROSECOND
"""The paper says that its kernel also updates metadata, but not how long that takes. Assumed: one more revolution at
7,200 a minute."""
UNCACHED_SYNC = ROTATION_AND_SEEK + METADATA
DISK_RATE = 100 * 10**6
"""Bytes a second. Assumed: sequential writes to a SATA disk of that time."""


def appended(before: Chain, after: Chain) -> int:
    """Return how many transactions have to be written to turn the log `before` into `after`. O(1) for one more."""
    if after.length and after.previous is before:
        return 1
    return after.length - after.common_prefix(before).length


def _divided(amount: int, by: int) -> int:
    """Divide, and round up."""
    return -(-amount // by)
