"""The steps of a follower (`Learner`, `Follower`), with the steps of DSN 2011 that they stand for.

A packet is one step. The main thread's work on NEWLEADER is a list of smaller ones (`Todo`), as a crash may come
between any two; logging and applying belong to other threads (`threads`).
"""

from zabcheck.invariants import AckEpoch, CommitEpoch, Promise, Truncate, Txn, Zxid
from zabcheck.protocols.base import Buffer, Changed, Connect, Effect, Elected, Flush, Lost, ProcessId, Send, Write
from zabcheck.zookeeper.model import messages
from zabcheck.zookeeper.model.database import (
    Database,
    Exit,
    at,
    loaded,
    not_later,
    truncated,
    with_snapshot,
    without_later,
)
from zabcheck.zookeeper.model.server import (
    Follower,
    Mode,
    Phase,
    ServerError,
    Todo,
    adopt,
    append,
    apply,
    deliver_tree,
    finish,
    give_up,
    last_epoch,
    leave,
    load,
    raises,
    set_current_epoch,
    write_epoch,
)
from zabcheck.zookeeper.model.snapshots import purge, take_snapshot, write_snapshots
from zabcheck.zookeeper.model.votes import in_epoch

# Discovery.


def follow(f: Follower, leader: ProcessId) -> list[Effect]:
    """`Learner.connectToLeader`, `registerWithLeader`: send FOLLOWERINFO(acceptedEpoch) (step f.1.1)."""
    f.leader = leader
    f.phase = Phase.DISCOVERY
    return [Connect(leader), Send(leader, f.follower_info())]


def on_leader_info(f: Follower, sender: ProcessId, m: messages.LeaderInfo) -> list[Effect]:
    """`Learner.registerWithLeader`: promise e', then answer with currentEpoch and lastProcessedZxid (step f.1.2).

    The answer has no history: the leader keeps its own. For an epoch that was accepted before, the answer does not
    count.
    """
    if sender != f.leader or f.phase is not Phase.DISCOVERY:
        return []
    promises = f.version.promises_epochs
    if m.epoch < (f.accepted_epoch if promises else last_epoch(f)):
        return give_up(f, "LEADERINFO is older than acceptedEpoch")
    f.phase = Phase.SYNCHRONIZATION
    if m.epoch == f.accepted_epoch and promises:
        return [Send(sender, messages.AckEpoch(None, f.database.lpz))]
    return [*accept_epoch(f, m.epoch), Send(sender, messages.AckEpoch(f.current_epoch, f.database.lpz))]


def accept_epoch(f: Follower, epoch: int) -> list[Effect]:
    """`QuorumPeer.setAcceptedEpoch`; the server then offers the contents of its disk as the initial history.

    In 3.3 nothing is written, so a crash forgets the promise, and so does any server that is asked next (335).
    """
    f.accepted_epoch, f.current_epoch = epoch, last_epoch(f)
    history = load(f).tree
    return [
        *write_epoch(f, accepted_epoch=epoch),
        Promise(f.id, f.incarnation, epoch, f.leader),
        AckEpoch(f.id, f.incarnation, epoch, f.current_epoch, history.zxid, history.length, history.hash),
    ]


# Synchronisation.


def synchronises(f: Follower, sender: ProcessId) -> bool:
    """Return True if the follower is being synchronised by this leader."""
    return sender == f.leader and f.phase is Phase.SYNCHRONIZATION


def on_diff(f: Follower, sender: ProcessId, m: messages.Diff) -> list[Effect]:
    """`Learner.syncWithLeader`, DIFF: the rest of the history comes next; old versions claim to have it (2355)."""
    if synchronises(f, sender):
        f.mode = Mode.DIFF
        if f.version.diff_sets_lpz:
            f.database = at(f.database, m.zxid)
    return []


def on_trunc(f: Follower, sender: ProcessId, m: messages.Trunc) -> list[Effect]:
    """`Learner.syncWithLeader`, TRUNC: cut the log, load the rest, and take `zxid` for the last one.

    The load begins with the newest snapshot, which may hold records that the log has just lost (4837), or with the
    newest of those that are not labelled later. The cut is on the disk when the log is forced the next time, as
    `RandomAccessFile.setLength` does not force it (N4). Up to 3.4.3 another object cuts the file than the one that goes
    on to write it (1489).
    """
    if not synchronises(f, sender):
        return []
    f.mode = Mode.TRUNC
    before = load(f).tree
    f.log = truncated(f.log, m.zxid, f.version)
    if f.version.drops_newer_snapshots:
        f.snapshots = without_later(f.snapshots, m.zxid)
        if f.version.truncates_exactly and [txn for txn in before if txn.zxid <= m.zxid] != list(load(f).tree):
            raise Exit(f"TRUNC({m.zxid}): the disk does not go back as far")
    snapshots = not_later(f.snapshots, m.zxid) if f.version.skips_newer_snapshots else f.snapshots
    f.database = at(loaded(snapshots, f.log, f.version, f.window), m.zxid)
    f.misplaced = f.writes
    kept = before.common_prefix(f.database.tree)
    cut = Write(log=f.log) if f.version.forces_cut else Buffer(log=f.log)
    effects: list[Effect] = [Flush(), *write_snapshots(f), cut]
    if kept.length < before.length:
        effects.append(Truncate(f.id, f.incarnation, kept.zxid, kept.length))
    return effects


def on_snap(f: Follower, sender: ProcessId, m: messages.Snap) -> list[Effect]:
    """`Learner.syncWithLeader`, SNAP: the leader's tree replaces the database in memory. The disk stays as it is."""
    if synchronises(f, sender):
        f.mode = Mode.SNAP
        f.received = m.tree
        f.database = Database(m.tree, m.zxid)
    return []


def on_proposal(f: Follower, sender: ProcessId, m: messages.Proposal) -> list[Effect]:
    """`Follower.processPacket`: while broadcasting, log and acknowledge it (f.3.2); before UPTODATE, keep it.

    Since 3.9.4 a synchronisation with a hole within an epoch is refused (4925).
    """
    if sender != f.leader:
        return []
    if f.phase is Phase.BROADCAST:
        f.pending, f.to_log = (*f.pending, m.txn), (*f.to_log, m.txn)
        return []
    if f.phase is not Phase.SYNCHRONIZATION:
        return []
    zxid, last = m.txn.zxid, f.queued
    follows = last is None or zxid.epoch > last.epoch or zxid == Zxid(last.epoch, last.counter + 1)
    if f.version.refuses_holes and not follows:
        reason = f"the synchronisation has a hole between {last} and {zxid}"
        if raises(f):
            raise ServerError(reason)
        return give_up(f, reason)
    f.queued = zxid
    f.kept = (*f.kept, m.txn)
    return []


def on_commit(f: Follower, sender: ProcessId, m: messages.Commit) -> list[Effect]:
    """`Follower.processPacket`: while broadcasting, deliver (f.3.3); before UPTODATE, apply in memory, or keep.

    A COMMIT behind SNAP or TRUNC (F1: also DIFF) and before NEWLEADER is applied at once, as the snapshot at NEWLEADER
    will hold it. In 3.4.0-rc0 so is a COMMIT behind NEWLEADER, although no snapshot holds it (1264).
    Where nothing is kept a NullPointerException ends the iteration (4394: F3 and F4 between NEWLEADER and UPTODATE).
    """
    if sender != f.leader:
        return []
    if f.phase is Phase.BROADCAST:
        commit(f, m.zxid)
    if f.phase is not Phase.SYNCHRONIZATION:
        return []
    if not f.kept and not f.version.keeps_commits:
        if raises(f):
            raise ServerError(f"Learner.syncWithLeader: a NullPointerException, as COMMIT of {m.zxid} finds no packet")
        return give_up(f, "COMMIT of a proposal that is not kept")
    in_memory = f.mode is not Mode.DIFF or (f.version.snapshots_always and f.version.logs == "nothing")
    if not in_memory or (f.acknowledged and f.version.logs_late_commits):
        f.committed = (*f.committed, m.zxid)
        return []
    if not f.kept or f.kept[0].zxid != m.zxid:
        return []  # a warning in the server's log
    first, f.kept = f.kept[0], f.kept[1:]
    return apply_kept(f, first)


def apply_kept(f: Follower, txn: Txn) -> list[Effect]:
    """Apply a transaction committed before UPTODATE. A hole in committedLog ends the iteration, not the process (4925).

    The exception comes from `ZKDatabase.addCommittedProposal`, behind `DataTree.processTxn`: so memory has it by then.
    """
    try:
        return apply(f, txn, cached=f.version.caches_applied)
    except Exit as hole:
        if raises(f):
            raise
        return [*apply(f, txn, cached=False), *give_up(f, str(hole))]


def commit(f: Follower, zxid: Zxid) -> None:
    """`FollowerZooKeeperServer.commit`: the zxid has to be the first of pendingTxns, or the process exits."""
    if not f.pending:
        return  # a warning in the server's log
    if f.pending[0].zxid != zxid:
        raise Exit(f"COMMIT of {zxid}, but {f.pending[0].zxid} is next")
    f.to_apply, f.pending = (*f.to_apply, f.pending[0]), f.pending[1:]


def on_new_leader(f: Follower, sender: ProcessId, m: messages.NewLeader) -> list[Effect]:
    """`Learner.syncWithLeader`, NEWLEADER: adopt the initial history and the epoch, then acknowledge (step f.2.1).

    The paper demands that both are durable before ACK-LD. After SNAP and TRUNC a snapshot makes the history so. After
    DIFF it depends on the version which records the log has by then, and in which order log and epoch are written. An
    observer logs nothing here.
    """
    if not synchronises(f, sender) or f.acknowledged:
        return []
    is_written = f.mode is not Mode.DIFF or f.version.snapshots_always
    snapshot = [Todo(snapshot_of_leader, f.mode)] if is_written else []
    f.mode = Mode.NONE
    f.acknowledged = True
    log, ack = () if f.observes else (Todo(log_kept),), Todo(acknowledge, m.epoch)
    epoch = (Todo(adopt_epoch, m.epoch),) if f.version.epoch_at_newleader else ()
    f.todo = (*snapshot, *((*epoch, *log) if f.version.epoch_first else (*log, *epoch)), ack)
    return []


def snapshot_of_leader(f: Follower, mode: Mode) -> list[Effect]:
    """NEWLEADER after SNAP or TRUNC: write a snapshot of the present contents of memory.

    No other file has the transactions that came by SNAP, nor those applied behind a TRUNC. Unless the snapshot is
    forced to disk, a crash may lose it (2872): here until the log is forced the next time, as there is one order of
    writes. One behind TRUNC may be lost for longer, while the log behind it stays (N3). That is so only where N3 is
    asked for.
    """
    if mode is Mode.TRUNC and not f.version.forces_cut_snapshot and f.switches.defects == "n3":
        f.unwritten = True
        f.snapshots = with_snapshot(f.snapshots, f.database)
        return [Changed()]
    if f.version.forces_snapshot:
        effects = take_snapshot(f)
        return effects + purge(f, ()) if f.version.snapshot_replaces else effects
    f.unforced = True
    f.snapshots = with_snapshot(f.snapshots, f.database)
    if not f.version.snapshot_replaces:
        return [Buffer(snapshots=f.snapshots)]
    f.snapshots, f.log = f.snapshots[-1:], ()
    return [Buffer(snapshots=f.snapshots, log=f.log)]


def log_kept(f: Follower, _: None) -> list[Effect]:
    """NEWLEADER: log all kept proposals or only the committed ones, and wait for the disk; or have them logged (4646).

    Proposals that are only logged are applied after UPTODATE (4712). Committed ones are applied here (4394), but in
    3.9.3 not added to committedLog (4925). The rest is logged and acknowledged after UPTODATE.
    """
    effects: list[Effect] = []
    match f.version.logs:
        case "nothing":
            pass
        case "all":
            f.pending, f.kept = f.kept, ()
            if not f.version.awaits_log:
                f.to_log = f.adopted = f.pending
                return []
            effects += [effect for txn in f.pending for effect in append(f, txn)]
        case "committed":
            for zxid in f.committed:
                if f.kept and f.kept[0].zxid == zxid:
                    first, f.kept = f.kept[0], f.kept[1:]
                    effects += [*append(f, first), *apply_kept(f, first)]
                    if f.leader is None:
                        return effects
            f.committed = ()
    return [*effects, Flush()] if effects else []


def adopt_epoch(f: Follower, epoch: int) -> list[Effect]:
    """NEWLEADER: write currentEpoch. The history is adopted when both are written, and acknowledged."""
    return set_current_epoch(f, epoch)


def acknowledge(f: Follower, epoch: int) -> list[Effect]:
    """NEWLEADER: the first ACK of the epoch. In 3.3 its zxid, in memory, is the only trace of that epoch (335).

    An observer has adopted nothing by then.
    """
    assert f.leader is not None
    if not f.version.promises_epochs:
        f.database = at(f.database, Zxid(epoch, 0))
    return [*([] if f.observes else [adopt(f, epoch)]), Send(f.leader, messages.Ack(Zxid(epoch, 0)))]


def on_up_to_date(f: Follower, sender: ProcessId, m: messages.UpToDate) -> list[Effect]:
    """`Learner.syncWithLeader`, UPTODATE: start to serve, then hand over what is kept (steps f.2.2 and f.3.1).

    The second ACK of the epoch is ignored by the leader. 3.4.0-rc0 writes the epoch only now (1282). Proposals that
    were logged at NEWLEADER, and not acknowledged then, are acknowledged now; those still kept are to be logged;
    committed ones are to be applied. Transactions of a DIFF are in memory only then, and perhaps after the second ACK.
    A test of ZooKeeper asserts that they are there before, its code does not; so it is an error only where 3023 is
    asked for.
    """
    if not synchronises(f, sender) or not f.acknowledged:
        return []
    asserted = f.switches.defects == "3023" and f.version.logs != "committed" and f.switches.grain >= "G3"
    if asserted and f.committed and raises(f):
        raise ServerError(f"UPTODATE: {f.committed[0]} is committed, and another thread has yet to apply it")
    f.phase = Phase.BROADCAST
    effects: list[Effect] = [] if f.version.epoch_at_newleader else set_current_epoch(f, f.accepted_epoch)
    f.election = in_epoch(f.election, f.current_epoch)
    effects.append(Send(sender, messages.Ack(Zxid(f.current_epoch, 0))))
    effects.append(CommitEpoch(f.id, f.incarnation, f.current_epoch))
    if f.version.awaits_log and not f.observes:
        effects += [Send(sender, messages.Ack(txn.zxid)) for txn in f.pending]
    f.pending, f.to_log, f.kept = (*f.pending, *f.kept), (*f.to_log, *f.kept), ()
    effects += deliver_tree(f)
    for zxid in f.committed:
        commit(f, zxid)
    f.committed = ()
    return effects


def on_lost_leader(f: Follower, m: Lost) -> list[Effect]:
    """`Follower.followLeader`: an IOException on the socket ends the iteration."""
    if m.peer != f.leader:
        return []
    effects = finish(f)
    return effects if f.leader is None else effects + give_up(f, "the leader closed the connection")


def on_elected(f: Follower, sender: ProcessId, m: Elected) -> list[Effect]:
    """`QuorumPeer.run`, FOLLOWING: a server that is in an iteration leaves it first."""
    effects = finish(f)
    if f.phase is not Phase.LOOKING:
        effects += leave(f)
    return effects + follow(f, m.leader)
