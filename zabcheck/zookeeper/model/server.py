"""One server (`QuorumPeer`): its variables, and how it starts, leaves an iteration, and votes.

`f` and `l` in the steps are a server that follows or leads. Unlike in the paper, a leader is no follower of its own: it
writes its own epochs and log within its steps.
"""

from collections.abc import Callable, Collection, Mapping
from enum import Enum
from typing import Any

from msgspec import Struct

from zabcheck.invariants import EMPTY, NO_ZXID, Accept, Adopt, Chain, Deliver, Restore, Txn, Zxid
from zabcheck.invariants.quorums import Quorums
from zabcheck.protocols.base import (
    Buffer,
    Effect,
    Flush,
    GiveUp,
    Message,
    ModelledError,
    ProcessId,
    Started,
    TimedOut,
    Write,
)
from zabcheck.protocols.switches import Switches, completed
from zabcheck.zookeeper.model import messages
from zabcheck.zookeeper.model.database import (
    FIRST,
    Database,
    Exit,
    Snapshot,
    applied,
    fast_forwarded,
    loaded,
)
from zabcheck.zookeeper.model.switches import LETTER, ZooKeeperSwitches
from zabcheck.zookeeper.model.versions import Version, version_of
from zabcheck.zookeeper.model.votes import NO_ELECTION, Election


class Phase(Enum):
    """The phase of a server's iteration; `BROADCAST` is when its `ZooKeeperServer` is RUNNING."""

    LOOKING = "looking"
    DISCOVERY = "discovery"
    SYNCHRONIZATION = "synchronization"
    BROADCAST = "broadcast"


class Mode(Enum):
    """The way in which a follower is being synchronised (`QuorumPeer.syncMode`); NONE from NEWLEADER on."""

    NONE = "none"
    DIFF = "DIFF"
    SNAP = "SNAP"
    TRUNC = "TRUNC"


class Link(Enum):
    """The last packet that a `LearnerHandler` has had of its follower."""

    ASKED = "FOLLOWERINFO came"
    REFUSED = "its history is newer than the leader's"
    DISCOVERED = "ACKEPOCH came"
    SYNCING = "NEWLEADER was sent"
    SYNCED = "ACK came"


class Outstanding(Struct, frozen=True, gc=False):
    """A proposal not committed yet (`Leader.outstandingProposals`), with the servers that have acknowledged it."""

    txn: Txn
    acks: tuple[ProcessId, ...] = ()


class Unsent(Struct, frozen=True, gc=False):
    """Packets queued for a follower (`queuedPackets`) that will be at `zxid` by then, or by the SNAP in front of it."""

    packets: tuple[Message, ...]
    zxid: Zxid


class Todo(Struct, frozen=True, gc=False):
    """A remaining piece of the main thread's work on a packet, or on what woke it: `step(f, value)`."""

    step: Callable[[Any, Any], list[Effect]]
    value: Any = None

    def __str__(self) -> str:
        return self.step.__name__


class Server(Struct, gc=False):
    """The variables of one server. The values are immutable: steps rebind fields."""

    id: ProcessId
    incarnation: int
    quorums: Quorums
    switches: ZooKeeperSwitches = LETTER

    # Durable: two files, the log, the snapshots by label.
    accepted_epoch: int = 0
    """f.p of DSN 2011."""
    current_epoch: int = 0
    """f.a."""
    log: tuple[Txn, ...] = ()
    snapshots: tuple[Snapshot, ...] = (FIRST,)

    # Of the incarnation. The database outlives iterations.
    database: Database = Database()
    delivered: Chain = EMPTY
    """The history that this incarnation has delivered, or restored: the tree when it last served."""
    left_to_log: tuple[Txn, ...] = ()
    """Records that a logging thread of an earlier iteration has yet to append (4712)."""
    dies_after: int | None = None
    """The number of these that the thread still appends before it ends; None: it appends all (4409)."""
    left_to_apply: Txn | None = None
    """The transaction that an applying thread had in hand when an earlier iteration ended (3598)."""

    writes: bool = False
    """True if the incarnation has written to its log, so `FileTxnLog.logStream` is open, where that matters (1489)."""
    misplaced: bool = False
    """True if a load will not find the records that it writes now (1489)."""
    unforced: bool = False
    """True if the last snapshot may not be on the disk yet (2872)."""
    unwritten: bool = False
    """True if the last snapshot may not be on the disk yet, although later writes were forced (N3)."""
    election: Election = NO_ELECTION
    """FastLeaderElection, where the switch `elections` has one."""

    # Of the iteration.
    phase: Phase = Phase.LOOKING
    leader: ProcessId | None = None

    # Of the iteration: its threads.
    todo: tuple[Todo, ...] = ()
    """The work of the main thread (`QuorumPeer.run`)."""
    to_log: tuple[Txn, ...] = ()
    """Records to append (`SyncRequestProcessor.queuedRequests`)."""
    adopted: tuple[Txn, ...] = ()
    """The records among them left by NEWLEADER: acknowledged as adopted before they are accepted (4646)."""
    to_flush: tuple[Txn, ...] = ()
    """Records appended, and not forced to the disk (`SyncRequestProcessor.toFlush`)."""
    to_apply: tuple[Txn, ...] = ()
    """Committed transactions to apply (`CommitProcessor.committedRequests`); a leader's `toBeApplied`."""

    # Of the iteration, as a follower.
    mode: Mode = Mode.NONE
    received: Chain = EMPTY
    """The tree that came with SNAP."""
    kept: tuple[Txn, ...] = ()
    """Proposals of the synchronisation (`packetsNotCommitted`, later `packetsNotLogged`)."""
    committed: tuple[Zxid, ...] = ()
    """Commits of the synchronisation (`packetsCommitted`)."""
    queued: Zxid | None = None
    """The last proposal of the synchronisation (`lastQueued`)."""
    acknowledged: bool = False
    """True if NEWLEADER came, and was acknowledged (`writeToTxnLog`)."""
    pending: tuple[Txn, ...] = ()
    """Proposals logged, and not committed (`FollowerZooKeeperServer.pendingTxns`)."""

    # Of the iteration, as a leader.
    epoch: int = 0
    """e', once it is chosen (`Leader.epoch`)."""
    connecting: Mapping[ProcessId, int] = {}
    """acceptedEpoch of each server, until e' is chosen (`connectingFollowers`)."""
    summary: tuple[int, Zxid] = (0, NO_ZXID)
    """The epoch and zxid that followers are compared with (`leaderStateSummary`)."""
    electing: tuple[ProcessId, ...] = ()
    """The servers whose ACKEPOCH counts (`electingFollowers`)."""
    finished: bool = False
    """True if the initial history of e' is settled (`electionFinished`)."""
    links: Mapping[ProcessId, Link] = {}
    peers: Mapping[ProcessId, Zxid] = {}
    """lastProcessedZxid of each follower, from ACKEPOCH."""
    unsent: Mapping[ProcessId, Unsent] = {}
    """Packets that wait for forwarding to start (962), or for a SNAP to be written (3104)."""
    new_leader_acks: tuple[ProcessId, ...] = ()
    """The servers that have acknowledged NEWLEADER (`newLeaderProposal`)."""
    log_too_long: bool = False
    """True if the next follower behind committedLog is not synchronised from the log, as that is too long."""
    starts_late: bool = False
    """True if the followers' handlers notice only later that the server serves."""
    due: tuple[ProcessId, ...] = ()
    """Followers whose handlers have yet to notice it: they get UPTODATE when these do."""
    counter: int = 0
    """The counter of the last proposal (`ZooKeeperServer.hzxid`)."""
    outstanding: tuple[Outstanding, ...] = ()

    @property
    def leads(self) -> bool:
        return self.leader == self.id

    @property
    def running(self) -> bool:
        return self.phase is Phase.BROADCAST

    # Overridden where configurations change (`zabcheck.zookeeper.model.reconfiguration`).

    def settles_epoch(self, servers: Collection[ProcessId]) -> bool:
        """Return True if these servers are enough to choose an epoch, and its initial history (l.1.1, l.1.2)."""
        return self.quorums.contains(servers)

    def is_adopted_by(self, servers: Collection[ProcessId]) -> bool:
        """Return True if the initial history is established once these servers have acknowledged NEWLEADER (l.2.2)."""
        return self.quorums.contains(servers)

    def is_acknowledged(self, proposal: Outstanding) -> bool:
        """Return True if enough servers have acknowledged the proposal (l.3.2)."""
        return self.quorums.contains(proposal.acks)

    def committing(self, proposal: Outstanding) -> tuple[list[Effect], Message | None]:
        """`Leader.tryToCommit`: return what comes before COMMIT, and COMMIT itself; or None for an error."""
        return [], messages.Commit(proposal.txn.zxid)

    def starting_up(self) -> list[Effect]:
        """`Leader.startZkServer`: return what comes before `ZooKeeperServer.startup`."""
        return []

    @property
    def observes(self) -> bool:
        """True if the server is a learner that acknowledges nothing but NEWLEADER (`Observer`)."""
        return False

    def proposes_to(self, learner: ProcessId) -> bool:
        """Return True if a leader sends proposals to this learner."""
        return True

    def said_to(self, learner: ProcessId, message: Message) -> Message | None:
        """Return the packet by which a leader tells this learner what `message` says; None: it tells nothing."""
        return message

    def follower_info(self) -> Message:
        return messages.FollowerInfo(self.accepted_epoch)

    def leader_info(self) -> Message:
        return messages.LeaderInfo(self.epoch)

    def new_leader(self) -> Message:
        return messages.NewLeader(self.epoch)

    def up_to_date(self) -> Message:
        return messages.UpToDate()

    # The values of the switches, looked up once.
    version: Version = Version()
    window: int = 0

    def __post_init__(self) -> None:
        self.version = version_of(self.switches.version, self.switches.defects)
        self.window = self.switches.window


Follower = Server
Leader = Server


def start(
    process: ProcessId, incarnation: int, quorums: Quorums, durable: Mapping[str, Any], switches: Switches
) -> Server:
    """Return a server at its start, with the contents of its disk; `on_started` loads the database."""
    return Server(process, incarnation, quorums, completed(switches, ZooKeeperSwitches), **durable)


def on_started(f: Server, sender: ProcessId, m: Started) -> list[Effect]:
    """`QuorumPeer.loadDataBase`: load, and refuse to start with files that contradict each other.

    Nothing of it is delivered: the log may hold records that were never committed. No client is served before UPTODATE.
    A crash between log, or snapshot, and currentEpoch is such a contradiction (1653).
    """
    if not m.intact:
        raise Exit("the checksum of a record does not match")
    f.database = load(f)
    effects: list[Effect] = []
    if not f.version.promises_epochs:
        f.accepted_epoch = f.current_epoch = f.database.lpz.epoch
    if f.database.lpz.epoch > f.current_epoch:
        if not f.version.takes_epoch_of_log:
            raise Exit(f"currentEpoch {f.current_epoch} is older than the last record {f.database.lpz}")
        effects += set_current_epoch(f, f.database.lpz.epoch)
    if f.accepted_epoch < f.current_epoch:
        raise Exit(f"acceptedEpoch {f.accepted_epoch} is older than currentEpoch {f.current_epoch}")
    return effects


def load(f: Server) -> Database:
    """`ZKDatabase.loadDataBase`: load the present contents of the disk."""
    return loaded(f.snapshots, f.log, f.version, f.window)


def vote(f: Server) -> tuple[int, Zxid, ProcessId]:
    """`FastLeaderElection.totalOrderPredicate`: an election takes the greatest (currentEpoch, zxid, id) of its quorum.

    The zxid is that of memory (`getLastLoggedZxid`), never that of the log.
    """
    return last_epoch(f), f.database.lpz, f.id


def last_epoch(f: Server) -> int:
    """Return the epoch of its history (f.a): the file currentEpoch, or that of lastProcessedZxid without one (335)."""
    return f.current_epoch if f.version.promises_epochs else f.database.lpz.epoch


def highest_epoch(f: Server) -> int:
    """Return the higher one of acceptedEpoch and, at a leader, e'."""
    return max(f.accepted_epoch, f.epoch)


def is_overdue(f: Server) -> bool:
    """Return True if the server is in an iteration and does not serve yet: that may take initLimit ticks at most."""
    return f.leader is not None and not f.running


# The end of an iteration.


def finish(f: Server) -> list[Effect]:
    """Let the main thread finish all that it has begun: it reads no packet, and notices nothing, before."""
    effects: list[Effect] = []
    while f.todo:
        effects += do_next(f)
    return effects


def do_next(f: Server) -> list[Effect]:
    """Let the main thread do the next piece of its work. A crash may come between any two."""
    first, f.todo = f.todo[0], f.todo[1:]
    return first.step(f, first.value)


def on_timed_out(f: Server, sender: ProcessId, m: TimedOut) -> list[Effect]:
    """`Follower.followLeader`, `Leader.lead`: a read times out, or a tick finds no quorum of synced learners."""
    effects = finish(f)
    return effects if f.leader is None else effects + give_up(f, "time-out")


class ServerError(ModelledError):
    """A server runs into an error and lives on: an exception in a thread, ERROR in its log, or 3023's assertion."""


def raises(f: Server) -> bool:
    """Return True if an error of the server's code ends the run (the switch `errors`); else the server goes on."""
    return f.switches.errors == "raised"


def give_up(f: Server, reason: str) -> list[Effect]:
    """`QuorumPeer.run`, back to LOOKING: leave the iteration. (Here, as an error of the database ends the process.)"""
    return [*leave(f), GiveUp(reason)]


def leave(f: Server) -> list[Effect]:
    """`Learner.shutdown` and `Leader.shutdown`, then `ZooKeeperServer.shutdown`: leave an iteration.

    A server that was running brings its memory up to its log, uncommitted records included, or keeps it as it is
    (2845); `Version.leave` has the order of that and of its threads' remaining work. One that was not running
    keeps its memory, including the part of a synchronisation that was cut off, unless the version clears that (3642,
    5094). Pull request 2268 makes it check if its log is behind.
    """
    effects: list[Effect] = []
    how = "drained" if f.leads and f.version.leave not in ("cleared", "kept") else f.version.leave
    if how == "cleared":
        effects += drain(f)
        f.database = load(f)
    elif f.running:
        if how in ("kept", "drained"):
            effects += drain(f)
        if how != "kept":
            f.database = fast_forwarded(f.database, readable(f), f.version, f.window)
            if f.to_apply and not f.version.joins_commit:
                f.left_to_apply = f.to_apply[0]
        if how == "halted":
            effects += drain(f)
        if f.version.reloads_if_behind and is_behind(f):
            f.database = load(f)
    elif (f.mode is Mode.SNAP and f.version.clears_snap) or (f.mode is Mode.TRUNC and f.version.clears_trunc):
        f.database = load(f)
    elif how == "drained" and f.acknowledged and f.version.logs == "all":
        effects += drain(f)
        f.database = fast_forwarded(f.database, f.log, f.version, f.window)
    f.dies_after = None if f.left_to_log else may_die_after(f)
    f.left_to_log += f.to_log
    abandon(f)
    return effects


def is_behind(f: Server) -> bool:
    """Return True if memory has a transaction that is later than everything on the disk (4882)."""
    last = max((f.snapshots[-1].label, *(txn.zxid for txn in f.log)))
    return any(txn.zxid > last for txn in f.database.tree)


def readable(f: Server) -> tuple[Txn, ...]:
    """Return the readable records of the log: `FileTxnLog.append` leaves a record in a buffer of Java until a flush.

    So a server that brings its memory up to the log without waiting for its logging thread misses records that are
    appended and not forced. A follower of 3.8.0 was seen to do so. If another thread has appended meanwhile, the order
    of the records does not tell which are forced: then all are returned.
    """
    before = len(f.log) - len(f.to_flush)
    return f.log[:before] if f.log[before:] == f.to_flush else f.log


def drain(f: Server) -> list[Effect]:
    """`SyncRequestProcessor.shutdown`: append and force all waiting records. Nothing is acknowledged any more.

    If the thread has ended by an exception, no thread logs the rest (4409).
    """
    f.to_log = f.to_log[: may_die_after(f)]
    effects = [effect for txn in f.to_log for effect in accept(f, txn)]
    waited = bool(effects or f.to_flush)
    f.to_log = ()
    f.to_flush = ()
    return [*effects, Flush()] if waited else []


def may_die_after(f: Server) -> int | None:
    """Return how many records the logging thread appends before it ends with an acknowledgement; None if it does not.

    It is forcing the log, or about to, behind the first record, and more of them come meanwhile (4409).
    """
    number = 0 if f.to_flush else 1
    return number if f.version.sync_dies and not f.leads and len(f.to_log) > number else None


def abandon(f: Server) -> None:
    """Forget the variables of the iteration."""
    if f.leader is None:
        return  # it has left already
    f.phase = Phase.LOOKING
    f.leader = None
    f.todo = ()
    f.to_log = ()
    f.adopted = ()
    f.to_flush = ()
    f.to_apply = ()
    f.mode = Mode.NONE
    f.received = EMPTY
    f.kept = ()
    f.committed = ()
    f.queued = None
    f.acknowledged = False
    f.pending = ()
    f.epoch = 0
    f.connecting = {}
    f.summary = (0, NO_ZXID)
    f.electing = ()
    f.finished = False
    f.links = {}
    f.peers = {}
    f.unsent = {}
    f.new_leader_acks = ()
    f.log_too_long = False
    f.starts_late = False
    f.due = ()
    f.counter = 0
    f.outstanding = ()


# The parts of both roles that concern disk and tree.


def append(f: Server, txn: Txn) -> list[Effect]:
    """`FileTxnLog.append`: append a record. A crash may lose it until the log is forced."""
    write(f, txn)
    return [Buffer(log=f.log)]


def write(f: Server, txn: Txn) -> None:
    """Put a record where a load will find it, if it does (1489)."""
    f.writes = not f.version.reopens_log
    if not f.misplaced:
        f.log = (*f.log, txn)


def accept(f: Server, txn: Txn) -> list[Effect]:
    """Append a proposal; it is accepted once on the disk (step f.3.2), unless it belongs to the adopted history."""
    if txn in f.adopted:
        return append(f, txn)
    write(f, txn)
    return [Buffer((Accept(f.id, f.incarnation, txn.zxid.epoch, txn),), log=f.log)]


def set_current_epoch(f: Server, epoch: int) -> list[Effect]:
    """`QuorumPeer.setCurrentEpoch`: write the file (f.a of step f.2.1), if there is one (335)."""
    f.current_epoch = epoch
    return write_epoch(f, current_epoch=epoch)


def write_epoch(f: Server, **file: int) -> list[Effect]:
    """`QuorumPeer.writeLongToFile`: write a file of an epoch, if there is one (335).

    A disk that does not take it is no fault of DSN 2011. Where 4311 is asked for, a crash may lose it until the log is
    forced: the server goes on as if the file were written.
    """
    if not f.version.promises_epochs:
        return []
    lost = f.switches.defects == "4311" and not f.version.notices_lost_epochs
    return [Buffer((), **file) if lost else Write(**file)]


def adopt(f: Server, epoch: int) -> Adopt:
    """Return the event of adopting (step f.2.1) the history on the disk and the records given to the logging thread."""
    history = loaded(f.snapshots, f.log + f.to_log, f.version, f.window).tree
    return Adopt(f.id, f.incarnation, epoch, history.zxid, history.length, history.hash)


def apply(f: Server, txn: Txn, *, cached: bool = True) -> list[Effect]:
    """`FinalRequestProcessor` and `ZooKeeperServer.processTxn`: apply; a server that runs thereby delivers (f.3.3)."""
    before = f.database.tree
    f.database = applied(f.database, txn, f.version, f.window, cached=cached)
    if not f.running or f.database.tree is before:
        return []
    f.delivered = f.database.tree
    return [Deliver(f.id, f.incarnation, txn)]


def deliver_tree(f: Server) -> list[Effect]:
    """Deliver the transactions of the tree when the server begins to serve (steps f.2.2 and l.2.2).

    A tree that came by SNAP is taken over as it is. If it does not continue the delivered history, all of it is
    delivered anew.
    """
    tree, effects = f.database.tree, list[Effect]()
    if not tree.starts_with(f.delivered):
        f.delivered = EMPTY
    if f.received.length > f.delivered.length and tree.starts_with(f.received):
        f.delivered = f.received
        effects.append(Restore(f.id, f.incarnation, f.received.zxid, f.received.length, f.received.hash))
    effects += [Deliver(f.id, f.incarnation, txn) for txn in tree.after(f.delivered.length)]
    f.delivered = tree
    return effects
