"""A server of LADIS 2008: its variables, how it starts, and what it delivers.

Every server follows; one that its oracle names as leader leads as well, and is its own follower: what it sends to
itself it handles right after the step. `f` and `l` in the steps are the same server in its two roles.
"""

from collections.abc import Hashable, Mapping, Sequence
from enum import Enum
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from zabcheck.invariants import EMPTY, Chain, Deliver, Halt, Restore, Zxid
from zabcheck.invariants.quorums import Quorums
from zabcheck.protocols.base import (
    NOTHING_ADDED,
    AddedState,
    Effect,
    GiveUp,
    Lost,
    Persist,
    ProcessId,
    Started,
    TakeSnapshot,
    TimedOut,
    renamed,
)
from zabcheck.protocols.ladis.messages import FollowerInfo
from zabcheck.protocols.switches import LadisSwitches, Switches, completed

COUNTER_BITS = 32
"""4.2: the lower 32 bits of a zxid are a simple counter, the higher ones are the epoch."""


class Mode(Enum):
    """4: a server recovers or broadcasts; without a leader it looks for one."""

    ELECTION = "election"
    RECOVERY = "recovery"
    BROADCAST = "broadcast"


class Server(Struct, gc=False):
    """The variables of one server. The values are immutable: steps rebind fields."""

    id: ProcessId
    incarnation: int
    quorums: Quorums
    switches: LadisSwitches = LadisSwitches()

    # On the disk.
    history: Chain = EMPTY
    """The messages in its transaction log."""
    zxid: int = 0
    """The highest zxid of its log; repaired: it may be that of a new leader's record."""
    recognised: int = 0
    """Repaired: the last epoch for which the server recognised a leader."""
    snapshot: Chain = EMPTY
    """The delivered prefix whose effect the application wrote down."""

    # Of the incarnation.
    delivered: Chain = EMPTY
    """The transactions that this incarnation has delivered or restored."""

    # As a follower.
    mode: Mode = Mode.ELECTION
    leader: ProcessId | None = None
    incoming: Chain | None = None
    """Repaired: the log that the leader's messages build up, until the record of the new leader makes it durable."""
    heard: Mapping[ProcessId, int] = {}
    """Without COMMITs: the zxid of the last ACK that came from each server while this one has had its leader."""

    # As a leader.
    followers: Mapping[ProcessId, FollowerInfo] = {}
    """The connected followers, and what each told on connecting."""
    epoch: int = 0
    """The epoch of this leader, once chosen."""
    recognisers: tuple[ProcessId, ...] = ()
    """Repaired: the servers that recognised this leader for its epoch, in this iteration."""
    fetches_from: ProcessId | None = None
    fetched: Chain | None = None
    """The log of the follower with the highest zxid, if that is not the leader itself."""
    highest: int = 0
    """The highest zxid of the fetched log, or else of the leader's own, once the epoch is chosen."""
    log: Chain | None = None
    """The messages that the leader proposes and will commit, once it has taken over."""
    latest: int = 0
    """The highest zxid that the leader has used, once it has taken over."""
    start: int = 0
    """The zxid that a quorum has to acknowledge before anything new is proposed."""
    listed: tuple[ProcessId, ...] = ()
    """The broadcast list: the followers for which the leader has queued everything that they lacked."""
    acks: Mapping[ProcessId, int] = {}
    """The highest zxid that each follower is known to have on its disk."""
    active: bool = False
    committed: int = 0
    brought: Mapping[ProcessId, int] = {}
    """Without COMMITs: the highest zxid that the leader had used when it brought each follower up to date, as long as
    that is not committed."""
    waiting: tuple[str, ...] = ()
    """The requests that wait until fewer proposals are outstanding, the first one first."""

    # Of the application.
    instance: int = 0
    """The epoch in which the application may broadcast."""

    added: AddedState = NOTHING_ADDED
    """Variables that a mutant adds; no step of LADIS 2008 reads them."""

    @property
    def leads(self) -> bool:
        return self.leader == self.id


Follower = Server
Leader = Server


def start(
    process: ProcessId, incarnation: int, quorums: Quorums, durable: Mapping[str, Any], switches: Switches
) -> Server:
    """Return a server as it starts: with what is on its disk, everything else empty."""
    return Server(process, incarnation, quorums, completed(switches, LadisSwitches), **durable)


def on_started(f: Server, sender: ProcessId, m: Started) -> list[Effect]:
    """2: a server that recovers reads its snapshot; the rest is delivered to it again. Corruption stops it."""
    if not m.intact:
        return [Halt(f.id, f.incarnation, "the digest of a record in its log does not match")]
    f.delivered = f.snapshot
    if not f.snapshot:
        return []
    return [Restore(f.id, f.incarnation, f.snapshot.zxid, f.snapshot.length, f.snapshot.hash)]


def on_take_snapshot(f: Server, sender: ProcessId, m: TakeSnapshot) -> list[Effect]:
    """2: periodic snapshots, of what was delivered so far. The log is never cut here."""
    if f.delivered.length <= f.snapshot.length:
        return []
    f.snapshot = f.delivered
    return [Persist(snapshot=f.snapshot)]


def abandon(f: Server) -> None:
    """Leave the leader, or give leadership up; only what is on the disk or delivered is kept.

    A leader that is deposed drops the requests that wait: they have no zxid, and no client was told anything. The paper
    says nothing of them; in its example (2), the client whose leader fails gets an error.
    """
    f.mode = Mode.ELECTION
    f.leader = None
    f.incoming = None
    f.heard = {}
    f.followers = {}
    f.epoch = 0
    f.recognisers = ()
    f.fetches_from = None
    f.fetched = None
    f.highest = 0
    f.log = None
    f.latest = 0
    f.start = 0
    f.listed = ()
    f.acks = {}
    f.active = False
    f.committed = 0
    f.brought = {}
    f.waiting = ()
    f.instance = 0
    f.added = f.added.abandoned()


def has_taken_over(l: Leader) -> bool:
    """Return True once the leader has its log. Before, it counts the connected followers that have recognised it."""
    return l.log is not None


def highest_epoch(f: Server) -> int:
    """Return the last epoch that a server recognised a leader for, or, at a leader, has chosen, if that is higher."""
    return max(f.recognised, f.epoch)


def identity(f: Server) -> Hashable:
    """Return everything that the further steps of a server may depend on.

    Left out is the order in which followers came to a leader, once it does not fetch from any of them any more: from
    then on that only orders the messages to different followers in one step. So is that in which ACKs came to a
    follower, and the ACKs that cannot have it deliver anything any more.
    """
    followers, recognisers = tuple(f.followers.items()), f.recognisers
    return (
        f.history,
        f.zxid,
        f.recognised,
        f.snapshot,
        f.delivered,
        f.mode,
        f.leader,
        f.incoming,
        frozenset(followers) if f.epoch else followers,
        f.epoch,
        frozenset(recognisers) if f.log is not None else recognisers,
        f.fetches_from,
        f.fetched,
        f.highest,
        f.log,
        f.latest,
        f.start,
        frozenset(f.listed),
        frozenset(f.acks.items()),
        f.active,
        f.committed,
        frozenset(f.brought.items()),
        frozenset(item for item in f.heard.items() if _may_count(f, item[1])),
        f.waiting,
        f.instance,
        f.added.identity(f),
    )


def _may_count(f: Server, zxid: int) -> bool:
    """Return True if an ACK of this zxid may still have its follower deliver something under this leader."""
    delivered = f.delivered.zxid.packed() if f.mode is Mode.BROADCAST else 0
    return epoch_of(zxid) >= f.recognised and zxid > delivered


def rename(value: Any, names: Sequence[ProcessId]) -> Any:
    """Return a server or a message with server i called `names[i]`; no message names a server."""
    if not isinstance(value, Server):
        return value
    return replace(
        value,
        id=names[value.id],
        leader=None if value.leader is None else names[value.leader],
        followers=renamed(value.followers, names),
        recognisers=tuple(names[each] for each in value.recognisers),
        fetches_from=None if value.fetches_from is None else names[value.fetches_from],
        listed=tuple(names[each] for each in value.listed),
        acks=renamed(value.acks, names),
        heard=renamed(value.heard, names),
        brought=renamed(value.brought, names),
        added=value.added.renamed(names),
    )


def on_timed_out(f: Server, sender: ProcessId, m: TimedOut) -> list[Effect]:
    """2: timeouts detect failures; 4.2: then the election starts again."""
    return [] if f.mode is Mode.ELECTION else [GiveUp("time-out")]


def on_lost(f: Server, sender: ProcessId, m: Lost) -> list[Effect]:
    """4: broadcast mode lasts until the leader fails or no longer has a quorum of followers."""
    if not f.leads:
        return [GiveUp("the leader closed the connection")] if m.peer == f.leader else []
    f.followers = {follower: info for follower, info in f.followers.items() if follower != m.peer}
    f.recognisers = tuple(each for each in f.recognisers if each != m.peer)
    f.listed = tuple(each for each in f.listed if each != m.peer)
    f.brought = {each: zxid for each, zxid in f.brought.items() if each != m.peer}
    if f.fetches_from == m.peer:
        return [GiveUp("who was asked for its log is gone")]
    if f.epoch and not f.quorums.contains(f.followers):
        return [GiveUp("no quorum of followers is left")]
    return []


def deliver_up_to(f: Follower, zxid: int) -> list[Effect]:
    """Deliver, in the order of the log, everything up to `zxid` that is not delivered.

    If the log does not continue what was delivered, all of it is delivered.
    """
    target = f.history.up_to(Zxid.unpack(zxid))
    if not f.history.starts_with(f.delivered):
        f.delivered = EMPTY
    done = f.delivered.length
    if target.length <= done:
        return []
    f.delivered = target
    return [Deliver(f.id, f.incarnation, txn) for txn in target.after(done)]


def epoch_of(zxid: int) -> int:
    """Return the epoch of a packed zxid (4.2): its high order 32 bits."""
    return zxid >> COUNTER_BITS


def first_of(epoch: int) -> int:
    """Return the packed zxid with the epoch bits set to this epoch, and the counter set to zero (4.2)."""
    return epoch << COUNTER_BITS


def shown(zxid: int) -> str:
    """Return a packed zxid as text for a reader."""
    return str(Zxid.unpack(zxid))
