"""The vocabulary of a trace: the events that a run of a broadcast protocol shows to the outside.

A trace is a `Header`, then events, then an `End`. On disk it is JSON Lines (see `invariants.trace`).

Three groups of events:

- those that the properties of DSN 2011, III judge: `Broadcast` (abcast), `Deliver` (abdeliver), `Ready`, and the life
  of a process (`Crash`, `Recover`, `Restore`, `Halt`); `State`, `ClientAck`, `FinalRead`, `Stabilised` and `Quiescent`
  if they were observed;
- protocol events, for the invariants of VI-B: `Promise`, `AckEpoch`, `Adopt`, `Accept`, `Truncate`, `Establish`,
  `CommitEpoch`; `Activate` where configurations change;
- environment events, for drawing only: `Send`, `Receive`, `Drop`, faults of links and disks, `Elect`.

Only the order of each process's own events matters to the properties, so logs of several machines can be merged
in any way. A process that recovers goes on under the next incarnation number, and each incarnation is judged as a
process of its own.

An epoch and a counter are integers of 0 or more, a process is an integer from 1 up, an incarnation one from 0 up.
"""

from typing import Annotated, Any, Literal

from msgspec import UNSET, Meta, Struct, UnsetType

TRACE_VERSION = 1

ProcessId = Annotated[int, Meta(ge=1, le=2**31 - 1)]
Incarnation = Annotated[int, Meta(ge=0, le=2**63 - 1)]
Epoch = Annotated[int, Meta(ge=0, le=2**32 - 1)]
Counter = Annotated[int, Meta(ge=0, le=2**32 - 1)]
Length = Annotated[int, Meta(ge=0, le=2**63 - 1)]
ChainHash = Annotated[int, Meta(ge=0, le=2**63 - 1)]

_COUNTER_BITS = 32


class Zxid(Struct, frozen=True, order=True, array_like=True, gc=False, forbid_unknown_fields=True):
    """A transaction identifier (epoch, counter), ordered by epoch, then counter (DSN 2011, III).

    >>> Zxid(1, 9) < Zxid(2, 1)
    True
    """

    epoch: Epoch
    counter: Counter

    def __str__(self) -> str:
        return f"⟨{self.epoch},{self.counter}⟩"

    def packed(self) -> int:
        """Return ZooKeeper's 64-bit form: the epoch in the upper, the counter in the lower 32 bits."""
        return self.epoch << _COUNTER_BITS | self.counter

    @classmethod
    def unpack(cls, packed: int) -> "Zxid":
        """Return the zxid with this packed form; ValueError if `packed` is negative or longer than 64 bits."""
        if not 0 <= packed < 1 << 2 * _COUNTER_BITS:
            raise ValueError(f"a packed zxid is an integer of 64 bits, not {packed}")
        return cls(packed >> _COUNTER_BITS, packed & (1 << _COUNTER_BITS) - 1)

    def __deepcopy__(self, memo: object) -> "Zxid":
        return self  # there is nothing in it that could change


NO_ZXID = Zxid(0, 0)
"""The zxid of an empty history: it precedes every other."""


class Txn(Struct, frozen=True, order=True, gc=False, forbid_unknown_fields=True):
    """A transaction ⟨v, z⟩. Its identity is the pair: two values under one zxid are two transactions."""

    zxid: Zxid
    value: str

    def __str__(self) -> str:
        return f"{self.value}{self.zxid}"

    def __deepcopy__(self, memo: object) -> "Txn":
        return self  # there is nothing in it that could change


class Event(Struct, frozen=True, gc=False, tag_field="event", tag=str.lower, forbid_unknown_fields=True):
    """Base of all events; `event` is the name of the kind in the JSON form."""


class Local(Event, frozen=True):
    """Base of the events that happen at one process, in one of its incarnations."""

    process: ProcessId
    incarnation: Incarnation


# Events that the properties judge.


class Broadcast(Local, frozen=True):
    """abcast(txn) by `process` as the primary of `epoch`."""

    epoch: Epoch
    txn: Txn


class Deliver(Local, frozen=True):
    """abdeliver(txn) at `process`."""

    txn: Txn


class Ready(Local, frozen=True):
    """ready(epoch): the application may broadcast, as the primary of `epoch`."""

    epoch: Epoch


class Crash(Local, frozen=True):
    """The process stopped; `lost` is the number of its writes that had not reached the disk and are gone."""

    lost: Length = 0


class Recover(Local, frozen=True):
    """The process is up again; `incarnation` is the new one."""


class Restore(Local, frozen=True):
    """The application took over a snapshot that holds the first `length` transactions, up to `zxid`.

    `hash` is the chain hash of that prefix (see `invariants.chain`).
    """

    zxid: Zxid
    length: Length
    hash: ChainHash


class Halt(Local, frozen=True):
    """The process stopped itself, for good."""

    reason: str


class ClientAck(Local, frozen=True, tag="client_ack"):
    """A client was told by `process` that `txn` is done."""

    txn: Txn


class FinalRead(Local, frozen=True, tag="final_read"):
    """The result of a read of everything at `process` at the end."""

    txns: tuple[Txn, ...]


class State(Local, frozen=True):
    """The application's state after the first `length` transactions, the last of them at `zxid`, has this digest.

    Any computation of the digest will do, as long as it is the same at every process. `text` is for
    the reader: the contents of the state, or the part that matters.
    """

    zxid: Zxid
    length: Length
    digest: ChainHash
    text: str = ""


class Stabilised(Local, frozen=True):
    """The promise that the environment keeps the conditions of claim 7 from here to the end (DSN 2011, VI-D).

    The members of `quorum` are up, `process` is one of them, all their oracles name it, and name it again as long as it
    may not broadcast, messages between them are timely, clients ask it to broadcast, and the trace goes on for long
    enough. Without a quorum it takes back what was promised of `process`: the trace ended before all had come that may.
    """

    quorum: tuple[ProcessId, ...]


class Quiescent(Local, frozen=True):
    """The end of all work at `process`, and everywhere else: the ensemble is at rest.

    Everything that was sent has been handled, everything written is on the disks, and each process has noticed which of
    its connections are closed. `rest` numbers the moments of rest of a trace from 1; all processes that are up then
    have an event with this number. `leader` is the process that this one has connected to, or itself if it leads; None
    if it follows no process. `connection` is the one to that leader: "waiting" until the leader has accepted it,
    "closed" where the leader has closed it and the process has not reacted; "none" for a leader, or without one.
    `primary` is True if the process takes a client's request, that is, may broadcast.
    """

    rest: Annotated[int, Meta(ge=1, le=2**31 - 1)]
    leader: ProcessId | None = None
    connection: Literal["none", "waiting", "open", "closed"] = "none"
    primary: bool = False


# Protocol events (DSN 2011, IV and VI-B).


class Promise(Local, frozen=True, omit_defaults=True):
    """f.p := epoch is durable (step f.1.2); `leader` is the one that asked for it with NEWEPOCH, if known."""

    epoch: Epoch
    leader: ProcessId | None = None


class AckEpoch(Local, frozen=True, tag="ack_epoch"):
    """The follower answers NEWEPOCH(epoch) with ACK-E(f.a, h_f) (step f.1.2); h_f has `length` transactions.

    So it provides its history, up to `zxid`, as the initial history of `epoch`. An answer that does not count for
    phase 1, because the promise is an old one, provides nothing: it is no such event.
    """

    epoch: Epoch
    current_epoch: Epoch
    zxid: Zxid
    length: Length
    hash: ChainHash


class Adopt(Local, frozen=True):
    """f.a := epoch and the initial history of `length` transactions, up to `zxid`, are durable (step f.2.1)."""

    epoch: Epoch
    zxid: Zxid
    length: Length
    hash: ChainHash


class Accept(Local, frozen=True):
    """The proposal ⟨epoch, txn⟩ is durable (step f.3.2)."""

    epoch: Epoch
    txn: Txn


class Truncate(Local, frozen=True):
    """An initial history replaced one that was not a prefix of it (f.2.1).

    The first `length` transactions, up to `zxid`, were common to both; the rest of the old history is gone.
    """

    zxid: Zxid
    length: Length


class Establish(Local, frozen=True):
    """`process` is the established leader of `epoch` (definition V.1, step l.2.2)."""

    epoch: Epoch


class CommitEpoch(Local, frozen=True, tag="commit_epoch"):
    """The follower has learned that `epoch` is committed (step f.2.2)."""

    epoch: Epoch


class Activate(Local, frozen=True):
    """The configuration that `txn` names decides at `process` from here on (USENIX ATC 2012; ZooKeeper: activation).

    `process` has delivered `txn`, or was told by another process at which the configuration is active.
    """

    txn: Txn


# Environment events, for drawing.


class Send(Local, frozen=True):
    """A message left `process`; `message` is a number, unique in the trace; `text` is its contents for a reader."""

    to: ProcessId
    message: Length
    kind: str
    text: str = ""


class Receive(Local, frozen=True):
    """The message was handled by `process`."""

    sender: ProcessId
    message: Length


class Drop(Event, frozen=True):
    """The message was lost: its connection was reset."""

    message: Length


class OnLink(Event, frozen=True):
    """Base of the events that concern the link from `sender` to `receiver`."""

    sender: ProcessId
    receiver: ProcessId


class Cut(OnLink, frozen=True):
    """The link from `sender` to `receiver` holds its messages back from here on."""


class Mend(OnLink, frozen=True):
    """The link from `sender` to `receiver` works again."""


class Stall(OnLink, frozen=True):
    """The connection between the two brings no more messages from `sender` to `receiver`; a new one would."""


class Hold(OnLink, frozen=True):
    """The link from `sender` to `receiver` stops at the next message of this kind, and behind it."""

    kind: str


class Overtake(OnLink, frozen=True):
    """The last message that waited on the link from `sender` to `receiver` went to the front."""


class Heal(Event, frozen=True):
    """Every link works again: nothing is cut, stalled or held any more."""


class Pause(Local, frozen=True):
    """The process stands still; it keeps its state, and its connections stay open."""


class Wake(Local, frozen=True):
    """The process goes on after a pause."""


class Corrupt(Local, frozen=True):
    """A record on the disk was altered: that of a durable variable, or, in the log, of the transaction at `zxid`."""

    variable: str
    zxid: Zxid = NO_ZXID


class Elect(Local, frozen=True):
    """The leader oracle of `process` names `leader`."""

    leader: ProcessId


# Around the events.


class Header(Event, frozen=True):
    """The first line of a trace.

    `order` is "global" if the order of the file is the order in time (a simulator's trace), "per-process" if
    only the order of each process's own events is known (merged logs). `schedule` is the schedule that gave the
    trace, as its JSON object, if there is one. `ignores` names fields of other lines, such as times, that are none of
    this format, and are skipped.
    """

    version: Literal[1]
    processes: ProcessId
    protocol: str
    quorums: str = "majority"
    order: Literal["global", "per-process"] = "global"
    schedule: dict[str, Any] | None = None
    ignores: tuple[str, ...] | UnsetType = UNSET


class End(Event, frozen=True):
    """The last line: the number of events between header and end, and `complete` if the run was recorded to its end."""

    count: Length
    complete: bool = True


PROPERTY_EVENTS = (
    Broadcast,
    Deliver,
    Ready,
    Crash,
    Recover,
    Restore,
    Halt,
    State,
    ClientAck,
    FinalRead,
    Stabilised,
    Quiescent,
)
PROTOCOL_EVENTS = (Promise, AckEpoch, Adopt, Accept, Truncate, Establish, CommitEpoch, Activate)
ENVIRONMENT_EVENTS = (Send, Receive, Drop, Cut, Mend, Stall, Hold, Overtake, Heal, Pause, Wake, Corrupt, Elect)
EVENTS = PROPERTY_EVENTS + PROTOCOL_EVENTS + ENVIRONMENT_EVENTS

AnyEvent = (
    Broadcast
    | Deliver
    | Ready
    | Crash
    | Recover
    | Restore
    | Halt
    | State
    | ClientAck
    | FinalRead
    | Stabilised
    | Quiescent
    | Promise
    | AckEpoch
    | Adopt
    | Accept
    | Truncate
    | Establish
    | CommitEpoch
    | Activate
    | Send
    | Receive
    | Drop
    | Cut
    | Mend
    | Stall
    | Hold
    | Overtake
    | Heal
    | Pause
    | Wake
    | Corrupt
    | Elect
)


class TraceError(ValueError):
    """A trace that cannot be judged: malformed, or against its own order. The message is one line."""


class EventError(TraceError):
    """An event that cannot be judged. The message names the field; whoever has read the event knows its place."""
