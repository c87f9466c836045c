"""What takes how long (DSN 2011, VII). All times are whole nanoseconds of simulated time, all sizes bytes.

Each server has one network card. What it sends to all others goes out one after the other, at the bandwidth of the
card; what it receives comes in likewise. Between two cards a message takes half a ping. To handle a message that came
in takes processor time, one message after the other.

A disk syncs one group at a time: all writes that wait when a sync begins are synced by it (group commit). With a write
cache a sync is short. Without, it waits for the platter.

Which of the numbers are the paper's, and which are assumed, stands in docs/evaluation.md and beside each field here.
"""

from msgspec import Struct

from invariants import Chain
from zabcheck.protocols.base import Message
from zabcheck.protocols.zab.histories import Carried, Whole
from zabcheck.protocols.zab.messages import AckE, CEpoch, NewEpoch, NewLeader, Propose

SECOND, MILLISECOND, MICROSECOND = 10**9, 10**6, 10**3
ZXID = 8
"""Bytes of a zxid, as ZooKeeper packs it."""


class Costs(Struct, frozen=True):
    """A network, a processor, and the size of operations. The paper's numbers are marked; the others are assumed."""

    size: int = 1024
    """Of an operation. The paper's."""
    header: int = 60
    """What every message carries besides: ZooKeeper's fields, and those of TCP and IP. A message that carries no
    operation is nothing else. Assumed."""
    bandwidth: int = 10**9
    """Of a network card, in bits a second, each way. The paper's: gigabit."""
    ping: int = 100 * MICROSECOND
    """There and back. The paper's."""
    cpu: int = 1 * MICROSECOND
    """To handle a message that came in. Assumed."""

    def on_the_wire(self, size: int) -> int:
        """How long a network card takes for so many bytes; at least a nanosecond."""
        return max(1, _divided(size * 8 * SECOND, self.bandwidth))

    def bytes_of(self, message: Message) -> int:
        """How large a message is. O(1): of a history only the length matters."""
        match message:
            case Propose():
                return self.header + self.size
            case AckE() | NewLeader():
                return self.header + (self.header + self.size) * carried(message.history)
            case CEpoch() | NewEpoch():
                return self.header + ZXID * len(message.lasts or ())
            case _:
                return self.header

    def cap(self, servers: int) -> float:
        """The most operations a second that a leader can send to all the others: bandwidth / ((n - 1) × size).

        It counts the operations alone, without headers, ACKs and COMMITs. `servers` is 2 or more.
        """
        return self.bandwidth / (8 * (servers - 1) * self.size)


def carried(history: Carried) -> int:
    """How many transactions a message with this history carries."""
    return history.history.length - history.base.length if isinstance(history, Whole) else len(history.txns)


class Disk(Struct, frozen=True):
    """A disk that the log is written to."""

    name: str
    sync: int
    """How long a sync takes, whatever it writes."""
    rate: int
    """Bytes a second that are written one after the other."""

    def takes(self, size: int) -> int:
        """How long a sync of so many bytes takes."""
        return self.sync + _divided(size * SECOND, self.rate)


NETWORK_ONLY, CACHED, UNCACHED = "network only", "disk with write cache", "disk without write cache"
CACHED_SYNC = 100 * MICROSECOND
"""A sync that ends in the disk's cache. Assumed: a system call, and the way to the disk."""
ROTATION_AND_SEEK = 20 * MILLISECOND
"""The paper's: "around 20 milliseconds"."""
METADATA = 8_333 * MICROSECOND
"""The paper says that its kernel updates metadata as well, and not how long that takes. Assumed: one more revolution
at 7,200 a minute."""
UNCACHED_SYNC = ROTATION_AND_SEEK + METADATA
DISK_RATE = 100 * 10**6
"""Bytes a second. Assumed: a SATA disk of that time, sequentially."""


def appended(before: Chain, after: Chain) -> int:
    """How many transactions have to be written to make the log `after` of `before`. O(1) for one more."""
    if after.length and after.previous is before:
        return 1
    return after.length - after.common_prefix(before).length


def _divided(amount: int, by: int) -> int:
    """Rounded up."""
    return -(-amount // by)
