"""The records of an ensemble's run: servers that start and end, packets, faults, clients and their answers.

Times are microseconds since 1970, of one clock: all the servers run on this machine. They order what different
sources tell about one server; no property looks at them.

A zxid is in ZooKeeper's packed form here; `invariants.Zxid.unpack` gives the pair.
"""

from typing import Any, Literal

from msgspec import Struct

from zabcheck.zookeeper.wire.client import EventType
from zabcheck.zookeeper.wire.jute import LoggedTxn


class Record(Struct, frozen=True, tag_field="record", tag=str.lower, omit_defaults=True):
    """Base of all records."""


class Run(Record, frozen=True):
    """The first record: the version of ZooKeeper, the number of servers, and the executed schedule, as a JSON object.

    The last `observers` of the servers do not vote, and belong to no quorum: observers, and servers that join later.
    `simulated`: the servers were simulated, and no processes.
    """

    version: Literal[1]
    zookeeper: str
    servers: int
    schedule: dict[str, Any] | None = None
    observers: int = 0
    simulated: bool = False

    @property
    def quorum(self) -> int:
        """The number of servers in a quorum."""
        return (self.servers - self.observers) // 2 + 1


class Timed(Record, frozen=True):
    """Base of the records that have a time."""

    time: int


# Servers: their starts and ends, and their disks.


class Started(Timed, frozen=True):
    """Server `server` was started: its incarnation number `incarnation` (from 0) begins.

    If its configuration has another list of servers than those that the run began with, `voters` and `observers` are
    that list.
    """

    server: int
    incarnation: int
    voters: tuple[int, ...] = ()
    observers: tuple[int, ...] = ()


class Killed(Timed, frozen=True):
    """Server `server` was killed (kill -9)."""

    server: int


class Stopped(Timed, frozen=True):
    """Server `server` was killed because the run is over, so this is no fault."""

    server: int


class Exited(Timed, frozen=True):
    """Server `server` ended by itself, with this exit code."""

    server: int
    code: int


class PowerLost(Timed, frozen=True):
    """The power of server `server` failed: `lost` writes are gone that were not forced to its disk.

    `files` has the size that each file was cut to, None if the file is not there any more. `short` names data that was
    to be kept and was not there, if any. `undone` has the names that files had got and lost again.
    """

    server: int
    lost: int
    files: dict[str, int | None]
    short: str = ""
    undone: tuple[str, ...] = ()


class Paused(Timed, frozen=True):
    """Server `server` stands still (SIGSTOP)."""

    server: int


class Resumed(Timed, frozen=True):
    """Server `server` goes on (SIGCONT)."""

    server: int


class Disk(Timed, frozen=True):
    """The contents of a server's disk after the end of an incarnation.

    `log` has every whole record of the transaction logs, file by file; `snapshots` has the zxids of the snapshots that
    can be read. An epoch is None if its file is missing. `notes` are faults of the disk, a sentence each.
    """

    server: int
    incarnation: int
    log: tuple[LoggedTxn, ...]
    snapshots: tuple[int, ...] = ()
    accepted_epoch: int | None = None
    current_epoch: int | None = None
    notes: tuple[str, ...] = ()


class Wiped(Timed, frozen=True):
    """The data directory of server `server` was emptied before the server was started again.

    If it was replaced by an older copy, `copy` has what is in that.
    """

    server: int
    copy: Disk | None = None


# The network. A link goes from one server to another, over all connections between the two.


class Opened(Timed, frozen=True):
    """A connection from `client` to the port of `server`; `port` is "quorum" or "election"."""

    connection: int
    client: int
    server: int
    port: str


class Closed(Timed, frozen=True):
    """Connection `connection` is closed, `by` one of its ends or the proxy."""

    connection: int
    by: str = ""


class Sent(Timed, frozen=True):
    """The proxy has read a whole packet that `sender` sent to `receiver` (quorum ports only).

    `packet` is a number, unique in the run. `kind` is the name of the packet ("ACKEPOCH"), or its type if that is not
    known. `epoch` is the one in the data of ACKEPOCH. `txn` is the transaction of a PROPOSAL, an INFORM or a REQUEST
    (whose zxid is 0). `size` is in bytes; a SNAP counts with its whole snapshot, and is recorded when that was read.
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

    @property
    def plain_kind(self) -> str:
        """The kind of the packet, which may have a configuration become active besides.

        "COMMIT" for COMMITANDACTIVATE, "INFORM" for INFORMANDACTIVATE.
        """
        return {"COMMITANDACTIVATE": "COMMIT", "INFORMANDACTIVATE": "INFORM"}.get(self.kind, self.kind)


class Passed(Timed, frozen=True):
    """Packet number `packet` was passed on to its receiver."""

    packet: int


class Lost(Timed, frozen=True):
    """Packet number `packet` will never be passed on: its connection is closed."""

    packet: int


class Undecoded(Timed, frozen=True):
    """Bytes from `sender` to `receiver` that could not be decoded, because of `reason`; they are passed on as they are.

    Some reasons hold for the rest of this connection in this direction (`wire.streams.is_for_good`): no further packet
    of it is recorded.
    """

    connection: int
    sender: int
    receiver: int
    reason: str


class Fault(Timed, frozen=True):
    """A fault of a link: "cut", "mend", "hold", "release", "trap", "delay" or "reset"; or of all links: "heal".

    `kind` is the kind of packet for "hold" and "trap", the milliseconds for "delay".
    """

    what: str
    sender: int = 0
    receiver: int = 0
    kind: str = ""


class Reached(Timed, frozen=True):
    """Thread `thread` of server `server` has come to `point`.

    `what` is the consequence: the thread is "held", the server is "killed", the call has "failed", or the power is
    "lost".
    """

    server: int
    point: str
    thread: str
    what: str


class FieldsRead(Timed, frozen=True):
    """Fields in the memory of server `server`, by name: zxids are packed. None if the server did not have one then."""

    server: int
    values: dict[str, int | None]


class Differed(Timed, frozen=True):
    """The first difference of server `server` from the run of the model that it is kept in step with."""

    server: int
    field: str
    model: str
    seen: str


class ZxidSet(Timed, frozen=True):
    """The counter of server `server`, which leads, was set in its memory.

    `before` is the zxid of the last transaction until then; the next one comes right after `after`.
    """

    server: int
    before: int
    after: int


class Cast(Timed, frozen=True):
    """The roles of the schedule, each with the server that plays it."""

    roles: dict[str, int]


class Chose(Timed, frozen=True):
    """The choice of the schedule that is executed from here on, in words.

    It comes once more with a `note` if it was not done, or not to its end; `idle` if it did nothing but take time.
    `leader` is the role of the server that leads, if the choice names it so.
    """

    number: int
    text: str
    note: str = ""
    idle: bool = False
    leader: str = ""


# The clients.


class Session(Timed, frozen=True):
    """Client `client` has opened this session, at `server`."""

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
    """Client `client` was told by `server` that its write number `number` is done, under this zxid."""

    client: int
    number: int
    zxid: int
    server: int


class Unanswered(Timed, frozen=True):
    """Client `client` was told that its write number `number` failed, or may have failed."""

    client: int
    number: int
    error: str


class NodeState(Struct, frozen=True, array_like=True, omit_defaults=True):
    """A node as read from a server. `content` is the CRC-32 of its data; `owner` the session of an ephemeral, else 0.

    `created` and `changed` are the zxids of the transactions that created and last changed it (czxid, mzxid).
    """

    path: str
    created: int
    changed: int
    version: int
    content: int
    owner: int = 0


class Requested(Timed, frozen=True):
    """The session of client `client` has sent request `number`, which concerns all of `paths`.

    `what` is "create", "ephemeral", "set", "delete", "multi", "get", "exists", "children", "sync", "watch",
    "reconfigure" (see `Reconfigures`) or "close". `version` is the one that a set expects, -1 for any; `content` the
    CRC-32 of the data that is written. A get, exists or children that `watches` hears of the next change, a watch of
    each. Numbers go on in a client's next session.
    """

    client: int
    session: int
    number: int
    what: str
    paths: tuple[str, ...] = ()
    version: int = -1
    content: int = 0
    watches: bool = False


class Reconfigures(Timed, frozen=True):
    """Request `number` of client `client` asks for a configuration in which these servers vote, observe, or are not.

    The other servers stay what they are. From here on the quorums of the run are not those that it began with.
    """

    client: int
    number: int
    voters: tuple[int, ...] = ()
    observers: tuple[int, ...] = ()
    leaving: tuple[int, ...] = ()


class Replied(Timed, frozen=True):
    """Request `number` of the session of client `client` has its answer: "" if it is done, else the name of an error.

    "ConnectionLoss" means that the answer is not known. `zxid` is the transaction of a change, else the server's last
    one. `node` is the node that a get has read, or an exists, which does not tell the content.
    """

    client: int
    number: int
    error: str = ""
    zxid: int = 0
    node: NodeState | None = None


class Heard(Timed, frozen=True):
    """A watch of a session has told of a change, as `zxid`, which servers before 3.9.0 do not say (-1)."""

    client: int
    session: int
    type: EventType
    path: str
    zxid: int = -1


class Unwatched(Timed, frozen=True):
    """A session has lost the connection on which it had watches, and so these."""

    client: int
    session: int


class Read(Timed, frozen=True):
    """The contents of server `server` at the end, after a sync: the nodes that clients created, each with its czxid.

    `nodes` are those that are never changed; `states` has them and the changed ones, with all their known fields.
    `reached`: the contents are not older than this zxid.
    """

    server: int
    nodes: tuple[tuple[str, int], ...]
    states: tuple[NodeState, ...] = ()
    reached: int = 0


class NotRead(Timed, frozen=True):
    """Server `server` could not be read at the end, because of `error`.

    `thread` is the method in which its main thread was, `said` the line of its log that says best why it does not work;
    each is empty if that is not known.
    """

    server: int
    error: str
    thread: str = ""
    said: str = ""


class Ended(Timed, frozen=True):
    """The last record; `complete` if everything was recorded, otherwise `error` is the reason."""

    complete: bool
    error: str = ""


def changes_members(record: "AnyRecord") -> bool:
    """Return True if from here on a server may go by another list of servers than that which the run began with."""
    return isinstance(record, Reconfigures) or (isinstance(record, Started) and bool(record.voters))


AnyRecord = (
    Run
    | Started
    | Killed
    | Stopped
    | Exited
    | PowerLost
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
    | Reached
    | FieldsRead
    | Differed
    | ZxidSet
    | Cast
    | Chose
    | Session
    | Asked
    | Acknowledged
    | Unanswered
    | Requested
    | Reconfigures
    | Replied
    | Heard
    | Unwatched
    | Read
    | NotRead
    | Ended
)
