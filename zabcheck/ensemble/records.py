"""What is recorded while an ensemble runs: servers that start and end, packets, faults, clients and their answers.

Times are microseconds since 1970, of one clock: all the servers run on this machine. They order what different
sources tell about one server; no property looks at them.

A zxid is in ZooKeeper's packed form here; `invariants.Zxid.unpack` gives the pair.
"""

from typing import Any, Literal

from msgspec import Struct

from zabcheck.ensemble.wire.jute import LoggedTxn


class Record(Struct, frozen=True, tag_field="record", tag=str.lower, omit_defaults=True):
    """Base of all records."""


class Run(Record, frozen=True):
    """The first record. `schedule` is the one that is executed, as its JSON object."""

    version: Literal[1]
    zookeeper: str
    servers: int
    schedule: dict[str, Any] | None = None


class Timed(Record, frozen=True):
    """Base of the records that say when."""

    time: int


# The life of a server.


class Started(Timed, frozen=True):
    """Server `server` was started, as its incarnation number `incarnation` (from 0)."""

    server: int
    incarnation: int


class Killed(Timed, frozen=True):
    """It was killed (kill -9)."""

    server: int


class Stopped(Timed, frozen=True):
    """It was killed because the run is over: no fault any more."""

    server: int


class Exited(Timed, frozen=True):
    """It ended by itself, with this exit code."""

    server: int
    code: int


class Paused(Timed, frozen=True):
    """It stands still (SIGSTOP)."""

    server: int


class Resumed(Timed, frozen=True):
    """It goes on (SIGCONT)."""

    server: int


class Disk(Timed, frozen=True):
    """What was on the disk of a server after its incarnation had ended.

    `log` has every whole record of the transaction logs, file by file. `snapshots` are the zxids of the snapshots that
    can be read. An epoch is None where there is no such file. `notes` say what is wrong there, a sentence each.
    """

    server: int
    incarnation: int
    log: tuple[LoggedTxn, ...]
    snapshots: tuple[int, ...] = ()
    accepted_epoch: int | None = None
    current_epoch: int | None = None
    notes: tuple[str, ...] = ()


class Wiped(Timed, frozen=True):
    """Its data directory was emptied before it was started again."""

    server: int


# The network. A link goes from one server to another, over whatever connections there are between the two.


class Opened(Timed, frozen=True):
    """A connection from `client` to the port of `server`; `port` is "quorum" or "election"."""

    connection: int
    client: int
    server: int
    port: str


class Closed(Timed, frozen=True):
    """It is closed, from whichever end, or by the proxy."""

    connection: int
    by: str = ""


class Sent(Timed, frozen=True):
    """The proxy has read a whole packet that `sender` sent to `receiver` (quorum ports only).

    `packet` is its number, unique in the run. `kind` is its name ("ACKEPOCH"), or the number of an unknown one.
    `epoch` is what the data of ACKEPOCH says. `txn` is what a PROPOSAL or INFORM carries; a REQUEST has one with zxid
    0. `size` is in bytes; for SNAP it is that of the whole snapshot, and the packet is read when that is.
    """

    packet: int
    connection: int
    sender: int
    receiver: int
    kind: str
    zxid: int
    epoch: int | None = None
    txn: LoggedTxn | None = None
    size: int = 0


class Passed(Timed, frozen=True):
    """The packet was passed on to its receiver."""

    packet: int


class Lost(Timed, frozen=True):
    """It never will be: its connection is closed."""

    packet: int


class Undecoded(Timed, frozen=True):
    """Something that `sender` sent to `receiver` could not be decoded, because of `reason`; it is passed as it is.

    A reason that begins with "from byte" holds for all that follows on this connection in this direction: nothing more
    of it is recorded.
    """

    connection: int
    sender: int
    receiver: int
    reason: str


class Fault(Timed, frozen=True):
    """What was done to the network: "cut", "mend", "hold", "release", "trap", "delay", "reset" (of a link), "heal".

    `kind` is the kind of packet for "hold" and "trap", the milliseconds for "delay".
    """

    what: str
    sender: int = 0
    receiver: int = 0
    kind: str = ""


class Cast(Timed, frozen=True):
    """Which server plays which role of the schedule."""

    roles: dict[str, int]


class Chose(Timed, frozen=True):
    """The choice of the schedule that is executed from here on, and whether it applied (`note` says why not)."""

    number: int
    text: str
    note: str = ""


# The clients.


class Session(Timed, frozen=True):
    """Client `client` has this session, at `server`."""

    client: int
    session: int
    server: int


class Asked(Timed, frozen=True):
    """Client `client` has sent its write number `number`: the creation of `path`."""

    client: int
    number: int
    path: str
    size: int = 0


class Acknowledged(Timed, frozen=True):
    """It was told that the write is done, under this zxid, by the server that it is connected to."""

    client: int
    number: int
    zxid: int
    server: int


class Unanswered(Timed, frozen=True):
    """It was told that the write failed, or may have failed."""

    client: int
    number: int
    error: str


class Read(Timed, frozen=True):
    """What a sync and a read of everything gave at the end: the nodes that clients created, each with its czxid."""

    server: int
    nodes: tuple[tuple[str, int], ...]


class NotRead(Timed, frozen=True):
    """Server `server` could not be read at the end, because of `error`."""

    server: int
    error: str


class Ended(Timed, frozen=True):
    """The last record; `complete` if everything was recorded, otherwise `error` says what went wrong."""

    complete: bool
    error: str = ""


AnyRecord = (
    Run
    | Started
    | Killed
    | Stopped
    | Exited
    | Paused
    | Resumed
    | Disk
    | Wiped
    | Opened
    | Closed
    | Sent
    | Passed
    | Lost
    | Undecoded
    | Fault
    | Cast
    | Chose
    | Session
    | Asked
    | Acknowledged
    | Unanswered
    | Read
    | NotRead
    | Ended
)
