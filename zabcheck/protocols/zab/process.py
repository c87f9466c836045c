"""A Zab process: its variables, and how it starts (DSN 2011, IV, table 1, and V).

Every process follows; one that its oracle names as leader leads as well, and is its own follower: what it sends to
itself it handles right after the step. `f` and `l` in the steps are the same process in its two roles.

An iteration is one attempt at the three phases, over one connection to one leader. A process may drop its iteration
at any time; then it is in ELECTION until its oracle names a leader again.
"""

from collections.abc import Collection, Hashable, Mapping, Sequence
from enum import Enum
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from zabcheck.invariants import EMPTY, NO_ZXID, Chain, Halt, Restore, Zxid
from zabcheck.invariants.quorums import Quorums
from zabcheck.protocols.base import (
    NOTHING_ADDED,
    AddedState,
    Effect,
    Persist,
    ProcessId,
    Started,
    TakeSnapshot,
    renamed,
)
from zabcheck.protocols.channel import below
from zabcheck.protocols.channel.process import UnderWay
from zabcheck.protocols.switches import Switches, ZabSwitches, completed
from zabcheck.protocols.zab.messages import Ack, AckE, Commit, Propose


class Phase(Enum):
    """The part of its iteration in which a process is."""

    ELECTION = "election"
    DISCOVERY = "discovery"
    SYNCHRONIZATION = "synchronization"
    BROADCAST = "broadcast"


class Link(Enum):
    """The stage of the exchange between a leader and one of its connected followers."""

    ASKED = "CEPOCH came"
    DISCOVERED = "ACK-E came"
    PROPOSED = "NEWLEADER was sent"
    SYNCED = "ACK-LD came"


class Process(Struct, gc=False):
    """The variables of one process. ⊥ is epoch 0. The values are immutable: steps rebind fields."""

    id: ProcessId
    incarnation: int
    quorums: Quorums
    switches: ZabSwitches = ZabSwitches()

    # Durable (table 1).
    accepted_epoch: int = 0
    """f.p: the last epoch promised."""
    current_epoch: int = 0
    """f.a: the last epoch whose initial history was accepted."""
    history: Chain = EMPTY
    """h_f."""
    snapshot: Chain = EMPTY
    """The delivered prefix whose effect the application wrote down."""
    base: Chain = EMPTY
    """The prefix of h_f that the log no longer has: the snapshot stands for it."""

    # Of the incarnation.
    delivered: Chain = EMPTY
    """The transactions that this incarnation has delivered or restored."""

    # Of the iteration, as a follower.
    phase: Phase = Phase.ELECTION
    leader: ProcessId | None = None
    heard: Mapping[ProcessId, Ack] = {}
    """Without COMMITs: the last ACK that came from each process in this iteration."""
    known: Zxid | None = None
    """With relays: the highest zxid that is known to be committed; None before NEWLEADER is accepted."""
    aside: tuple[Propose, ...] = ()
    """With relays: the proposals that would leave a hole in h_f, in the order of their zxids."""

    # Of the iteration, as a leader.
    new_epoch: int = 0
    """e', once it is chosen (step l.1.1)."""
    promises: Mapping[ProcessId, int] = {}
    """The epochs of the CEPOCHs that came before e' was chosen."""
    acks_e: Mapping[ProcessId, AckE] = {}
    """The ACK-Es that count."""
    lasts: Mapping[ProcessId, tuple[Zxid, ...] | None] = {}
    """The `lasts` of each follower's CEPOCH."""
    links: Mapping[ProcessId, Link] = {}
    """The connected followers."""
    proposed: Chain | None = None
    """I_e' ∘ β_e', once I_e' is chosen (step l.1.2)."""
    proposed_base: Chain = EMPTY
    """The prefix of `proposed` that a snapshot stands for."""
    initial: Zxid = NO_ZXID
    """The last zxid of I_e'."""
    established: bool = False
    acks: Mapping[ProcessId, Zxid] = {}
    """The highest zxid that each follower acknowledged, by ACK or by ACK-LD."""
    committed: Zxid = NO_ZXID
    """The highest zxid that this leader committed."""
    brought: Mapping[ProcessId, Zxid] = {}
    """Without COMMITs: the last zxid in the NEWLEADER of each late joiner, as long as that is not committed."""
    path: tuple[ProcessId, ...] = ()
    """With relays: the followers in the chain or tree, in the order in which they came."""
    waiting: tuple[str, ...] = ()
    """The requests that wait until fewer proposals are outstanding, the first one first."""

    # Of the application at the primary.
    instance: int = 0
    """The epoch of the last ready(e), while it may broadcast (DSN 2011, III)."""

    # The channels over lossy links (`zabcheck.protocols.channel.below`).
    line: below.Line = below.NO_LINE
    """Durable."""
    ends: Mapping[ProcessId, below.End] = {}
    """The channels of the iteration, by the other process."""
    late: bool = False
    """True if the next frame is going to be delayed."""

    added: AddedState = NOTHING_ADDED
    """Variables that a mutant adds; none of the paper's steps reads them."""

    @property
    def leads(self) -> bool:
        return self.leader == self.id

    @property
    def link(self) -> tuple[UnderWay, ...]:
        """The frames that were delayed on their way to the process, and may still arrive."""
        return self.line.link

    def is_quorum(self, members: Collection[ProcessId]) -> bool:
        """Return True if these processes are enough for the present phase of a leader."""
        return self.quorums.contains(members)

    def is_accepted(self, acks: Sequence[tuple[ProcessId, Zxid]], zxid: Zxid) -> bool:
        """Return True if a quorum has acknowledged `zxid`; `acks` has the highest zxid of each process."""
        return self.quorums.contains([f for f, acked in acks if acked >= zxid])


Follower = Process
Leader = Process


def start(
    process: ProcessId, incarnation: int, quorums: Quorums, durable: Mapping[str, Any], switches: Switches
) -> Process:
    """Return a process as it starts: in ELECTION, with its durable variables, everything else empty."""
    return Process(process, incarnation, quorums, completed(switches, ZabSwitches), **durable)


def on_started(f: Process, sender: ProcessId, m: Started) -> list[Effect]:
    """Recovery: the application starts from its snapshot, if it has one; the rest is delivered to it again.

    LADIS 2008, 2: corruption is detected by digests, and stops the process.
    """
    if not m.intact:
        return [Halt(f.id, f.incarnation, "the digest of a record in its log does not match")]
    return restore_snapshot(f)


def restore_snapshot(f: Process) -> list[Effect]:
    """Let the application start from its own snapshot, if it has one."""
    f.delivered = f.snapshot
    if not f.snapshot:
        return []
    return [Restore(f.id, f.incarnation, f.snapshot.zxid, f.snapshot.length, f.snapshot.hash)]


def on_take_snapshot(f: Process, sender: ProcessId, m: TakeSnapshot) -> list[Effect]:
    """Snapshot: the application writes down its state, which reflects what was delivered so far and nothing else.

    With `cut` the log drops the transactions that the snapshot stands for. They were delivered, so none of them will
    ever have to be truncated.
    """
    news = f.delivered.length > f.snapshot.length
    cut = m.cut and f.delivered.length > f.base.length and f.history.starts_with(f.delivered)
    if not news and not cut:
        return []
    if news:
        f.snapshot = f.delivered
    if not cut:
        return [Persist(snapshot=f.snapshot)]
    f.base = f.snapshot
    return [Persist(snapshot=f.snapshot, base=f.base)]


def abandon(f: Process) -> None:
    """Drop the iteration and go back to ELECTION; only what is durable or delivered is kept.

    The requests that wait are dropped with it: they were never broadcast, and nobody was promised anything. Their
    clients ask the next leader, which may have another state.
    """
    f.phase = Phase.ELECTION
    f.leader = None
    f.heard = {}
    f.known = None
    f.aside = ()
    f.new_epoch = 0
    f.promises = {}
    f.acks_e = {}
    f.lasts = {}
    f.links = {}
    f.acks = {}
    f.proposed = None
    f.proposed_base = EMPTY
    f.initial = NO_ZXID
    f.established = False
    f.committed = NO_ZXID
    f.brought = {}
    f.path = ()
    f.waiting = ()
    f.ends = {}
    f.late = False
    f.instance = 0
    f.added = f.added.abandoned()


def is_settled(f: Process) -> bool:
    """Return True if only a lost connection, a time-out or a crash ends its iteration (V-B and V-C).

    A follower is, once it has answered NEWEPOCH: a NEWEPOCH older than f.p is all that makes it give up, as whatever
    the same leader sends later is of the same e'. A leader is, once it has I_e': before that, an ACK-E that does not
    count makes it give up. (So does a counter that overflows, but not unless a client asks.)
    """
    return f.proposed is not None if f.leads else f.phase in (Phase.SYNCHRONIZATION, Phase.BROADCAST)


def highest_epoch(f: Process) -> int:
    """Return the highest of f.p, at a leader e', and over lossy links how often it has connected to another one."""
    return max(f.accepted_epoch, f.new_epoch, *f.line.iterations.values())


def identity(f: Process) -> Hashable:
    """Return everything that the further steps of a process may depend on (DSN 2011, table 1, and the iteration).

    Left out is the order in which followers came to a leader, which only orders the messages to different followers in
    one step, and that in which ACKs came to a follower. Left out is also what no step reads again: the CEPOCHs once e'
    is chosen (l.1.1), the ACK-Es once I_e' is chosen (l.1.2), the end of I_e' once the epoch is established (l.2.2),
    and acknowledgements of what is committed (l.3.2) or delivered.
    """
    proposed = f.proposed is not None
    return (
        f.accepted_epoch,
        f.current_epoch,
        f.history,
        f.snapshot,
        f.base,
        f.delivered,
        f.phase,
        f.leader,
        f.new_epoch,
        None if f.new_epoch else frozenset(f.promises.items()),
        None if proposed else frozenset(f.acks_e.items()),
        frozenset((follower, lasts) for follower, lasts in f.lasts.items() if lasts is not None),
        frozenset(f.links.items()),
        f.proposed,
        f.proposed_base,
        None if f.established else f.initial,
        f.established,
        frozenset((follower, max(zxid, f.committed)) for follower, zxid in f.acks.items()),
        f.committed,
        frozenset(f.brought.items()),
        frozenset(item for item in f.heard.items() if _may_count(f, item[1])),
        f.known,
        f.aside,
        f.path,
        f.waiting,
        *(below.identity(f) if f.switches.lossy else ()),
        f.instance,
        f.added.identity(f),
    )


def _may_count(f: Process, ack: Ack) -> bool:
    """Return True if the ACK may still have its follower deliver something in this iteration."""
    delivered = f.delivered.zxid if f.phase is Phase.BROADCAST else NO_ZXID
    return ack.epoch >= f.accepted_epoch and ack.zxid > delivered


def rename(value: Any, names: Sequence[ProcessId]) -> Any:
    """Return a process or a message with process i called `names[i]`; a message names processes only in a route."""
    if isinstance(value, (Propose, Commit)) and value.route:
        return replace(value, route=tuple(names[each] for each in value.route))
    if not isinstance(value, Process):
        return value
    return replace(
        value,
        id=names[value.id],
        leader=None if value.leader is None else names[value.leader],
        promises=renamed(value.promises, names),
        acks_e=renamed(value.acks_e, names),
        lasts=renamed(value.lasts, names),
        links=renamed(value.links, names),
        acks=renamed(value.acks, names),
        heard=renamed(value.heard, names),
        brought=renamed(value.brought, names),
        path=tuple(names[each] for each in value.path),
        line=below.line_renamed(value.line, names),
        ends=renamed(value.ends, names),
        added=value.added.renamed(names),
    )
