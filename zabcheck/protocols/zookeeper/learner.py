"""The steps of a follower (`Learner`, `Follower`), with the steps of DSN 2011 that they stand for.

A packet is one step. What its handling writes is durable at once: a crash within a step, and queues between threads,
belong to finer grains.
"""

from invariants import AckEpoch, CommitEpoch, Promise, Truncate, Txn, Zxid
from zabcheck.protocols.base import Connect, Effect, Elected, Lost, ProcessId, Send, Write
from zabcheck.protocols.zookeeper import messages
from zabcheck.protocols.zookeeper.database import Database, Exit, at, truncated, without_later
from zabcheck.protocols.zookeeper.server import (
    Follower,
    Mode,
    Phase,
    abandon,
    accept,
    append,
    apply,
    deliver_tree,
    give_up,
    load,
    purge,
    set_current_epoch,
    take_snapshot,
)

# Discovery.


def follow(f: Follower, leader: ProcessId) -> list[Effect]:
    """`Learner.connectToLeader`, `registerWithLeader`: send FOLLOWERINFO(acceptedEpoch) (step f.1.1)."""
    f.leader = leader
    f.phase = Phase.DISCOVERY
    return [Connect(leader), Send(leader, messages.FollowerInfo(f.accepted_epoch))]


def on_leader_info(f: Follower, sender: ProcessId, m: messages.LeaderInfo) -> list[Effect]:
    """`Learner.registerWithLeader`: promise e', then answer with currentEpoch and lastProcessedZxid (step f.1.2).

    No history goes with it: the leader keeps its own. For an epoch that was accepted before, the answer does not count.
    """
    if sender != f.leader or f.phase is not Phase.DISCOVERY:
        return []
    if m.epoch < f.accepted_epoch:
        return give_up(f, "LEADERINFO is older than acceptedEpoch")
    f.phase = Phase.SYNCHRONIZATION
    if m.epoch == f.accepted_epoch:
        return [Send(sender, messages.AckEpoch(None, f.database.lpz))]
    return [*accept_epoch(f, m.epoch), Send(sender, messages.AckEpoch(f.current_epoch, f.database.lpz))]


def accept_epoch(f: Follower, epoch: int) -> list[Effect]:
    """`QuorumPeer.setAcceptedEpoch`, and what the server then offers as the initial history: what it has on disk."""
    f.accepted_epoch = epoch
    history = load(f).tree
    return [
        Write(accepted_epoch=epoch),
        Promise(f.id, f.incarnation, epoch, f.leader),
        AckEpoch(f.id, f.incarnation, epoch, f.current_epoch, history.zxid, history.length, history.hash),
    ]


# Synchronisation.


def _synchronises(f: Follower, sender: ProcessId) -> bool:
    return sender == f.leader and f.phase is Phase.SYNCHRONIZATION


def on_diff(f: Follower, sender: ProcessId, m: messages.Diff) -> list[Effect]:
    """`Learner.syncWithLeader`, DIFF: what is missing comes next; older versions claim to have it already (2355)."""
    if _synchronises(f, sender):
        f.mode = Mode.DIFF
        if f.version.diff_sets_lpz:
            f.database = at(f.database, m.zxid)
    return []


def on_trunc(f: Follower, sender: ProcessId, m: messages.Trunc) -> list[Effect]:
    """`Learner.syncWithLeader`, TRUNC: cut the log, load what is left, and take `zxid` for the last one.

    The load begins with the newest snapshot, which may hold what the log has just lost (4837).
    """
    if not _synchronises(f, sender):
        return []
    f.mode = Mode.TRUNC
    before = load(f).tree
    f.log = truncated(f.log, m.zxid, f.version)
    if f.version.drops_newer_snapshots:
        f.snapshots = without_later(f.snapshots, m.zxid)
        if f.version.truncates_exactly and [txn for txn in before if txn.zxid <= m.zxid] != list(load(f).tree):
            raise Exit(f"TRUNC({m.zxid}): the disk does not go back as far")
    f.database = at(load(f), m.zxid)
    kept = before.common_prefix(f.database.tree)
    effects: list[Effect] = [Write(log=f.log, snapshots=f.snapshots)]
    if kept.length < before.length:
        effects.append(Truncate(f.id, f.incarnation, kept.zxid, kept.length))
    return effects


def on_snap(f: Follower, sender: ProcessId, m: messages.Snap) -> list[Effect]:
    """`Learner.syncWithLeader`, SNAP: the leader's tree replaces the database in memory. The disk stays as it is."""
    if _synchronises(f, sender):
        f.mode = Mode.SNAP
        f.received = m.tree
        f.database = Database(m.tree, m.zxid)
    return []


def on_proposal(f: Follower, sender: ProcessId, m: messages.Proposal) -> list[Effect]:
    """`Follower.processPacket` while broadcasting: log and acknowledge (step f.3.2); before UPTODATE: keep.

    Since 3.9.4 a synchronisation with a hole within an epoch is refused (4925).
    """
    if sender != f.leader:
        return []
    if f.phase is Phase.BROADCAST:
        f.pending = (*f.pending, m.txn)
        return log_request(f, sender, m.txn)
    if f.phase is not Phase.SYNCHRONIZATION:
        return []
    zxid, last = m.txn.zxid, f.queued
    follows = last is None or zxid.epoch > last.epoch or zxid == Zxid(last.epoch, last.counter + 1)
    if f.version.refuses_holes and not follows:
        return give_up(f, f"the synchronisation has a hole between {last} and {zxid}")
    f.queued = zxid
    f.kept = (*f.kept, m.txn)
    return []


def log_request(f: Follower, leader: ProcessId, txn: Txn) -> list[Effect]:
    """`FollowerZooKeeperServer.logRequest`: append, flush, acknowledge."""
    return [*accept(f, f.current_epoch, txn), Send(leader, messages.Ack(txn.zxid))]


def on_commit(f: Follower, sender: ProcessId, m: messages.Commit) -> list[Effect]:
    """`Follower.processPacket` while broadcasting: deliver (step f.3.3). Before UPTODATE: apply in memory, or keep.

    A COMMIT behind SNAP or TRUNC and before NEWLEADER is applied at once, as the snapshot at NEWLEADER will hold it.
    Where nothing is kept a NullPointerException ends the iteration (4394: F3 and F4 between NEWLEADER and UPTODATE).
    """
    if sender != f.leader:
        return []
    if f.phase is Phase.BROADCAST:
        return commit(f, m.zxid)
    if f.phase is not Phase.SYNCHRONIZATION:
        return []
    if not f.kept and f.version.newleader != "F2":
        return give_up(f, "COMMIT of a proposal that is not kept")
    if f.acknowledged or f.mode is Mode.DIFF:
        f.committed = (*f.committed, m.zxid)
        return []
    if not f.kept or f.kept[0].zxid != m.zxid:
        return []  # a warning in the server's log
    first, f.kept = f.kept[0], f.kept[1:]
    return apply(f, first, cached=f.version.caches_applied)


def commit(f: Follower, zxid: Zxid) -> list[Effect]:
    """`FollowerZooKeeperServer.commit`: it has to be the first of pendingTxns, or the process exits."""
    if not f.pending:
        return []  # a warning in the server's log
    if f.pending[0].zxid != zxid:
        raise Exit(f"COMMIT of {zxid}, but {f.pending[0].zxid} is next")
    first, f.pending = f.pending[0], f.pending[1:]
    return apply(f, first)


def on_new_leader(f: Follower, sender: ProcessId, m: messages.NewLeader) -> list[Effect]:
    """`Learner.syncWithLeader`, NEWLEADER: adopt the initial history and the epoch, then acknowledge (step f.2.1).

    The paper demands that both are durable before ACK-LD. After SNAP and TRUNC a snapshot makes the history so. After
    DIFF it depends on the version what is in the log by then: `Version.newleader`.
    """
    if not _synchronises(f, sender) or f.acknowledged:
        return []
    effects: list[Effect] = []
    if f.mode is not Mode.DIFF:
        effects += take_snapshot(f)
        if f.version.snapshot_replaces:
            effects += purge(f, ())
    match f.version.newleader:
        case "F2":
            pass
        case "F3" | "F4":
            effects += log_all(f)
        case "F5":
            effects += log_committed(f)
    effects += set_current_epoch(f, m.epoch)
    f.mode = Mode.NONE
    f.acknowledged = True
    effects.append(Send(sender, messages.Ack(Zxid(m.epoch, 0))))
    if f.version.newleader == "F3":
        effects += [Send(sender, messages.Ack(txn.zxid)) for txn in f.pending]
    return effects


def log_all(f: Follower) -> list[Effect]:
    """NEWLEADER in F3 and F4: log all that is kept, committed or not; memory follows after UPTODATE (4712)."""
    effects = [effect for txn in f.kept for effect in append(f, txn)]
    f.pending, f.kept = f.kept, ()
    return effects


def log_committed(f: Follower) -> list[Effect]:
    """NEWLEADER in F5: log and apply what is kept and committed; the rest is logged and acknowledged after UPTODATE.

    In 3.9.3 what is applied here is not added to committedLog (4925).
    """
    effects: list[Effect] = []
    for zxid in f.committed:
        if f.kept and f.kept[0].zxid == zxid:
            first, f.kept = f.kept[0], f.kept[1:]
            effects += append(f, first)
            effects += apply(f, first, cached=f.version.caches_applied)
    f.committed = ()
    return effects


def on_up_to_date(f: Follower, sender: ProcessId, m: messages.UpToDate) -> list[Effect]:
    """`Learner.syncWithLeader`, UPTODATE: start to serve, log what is kept, deliver (steps f.2.2 and f.3.1).

    The second ACK of the epoch is ignored by the leader. Then comes what is kept, and its commits.
    """
    if not _synchronises(f, sender) or not f.acknowledged:
        return []
    f.phase = Phase.BROADCAST
    effects: list[Effect] = [Send(sender, messages.Ack(Zxid(f.current_epoch, 0)))]
    effects.append(CommitEpoch(f.id, f.incarnation, f.current_epoch))
    if f.version.newleader == "F4":
        effects += [Send(sender, messages.Ack(txn.zxid)) for txn in f.pending]
    for txn in f.kept:
        effects += log_request(f, sender, txn)
    f.pending, f.kept = (*f.pending, *f.kept), ()
    effects += deliver_tree(f)
    for zxid in f.committed:
        effects += commit(f, zxid)
    f.committed = ()
    return effects


def on_lost_leader(f: Follower, m: Lost) -> list[Effect]:
    """`Follower.followLeader`: an IOException on the socket ends the iteration."""
    return give_up(f, "the leader closed the connection") if m.peer == f.leader else []


def on_elected(f: Follower, sender: ProcessId, m: Elected) -> list[Effect]:
    """`QuorumPeer.run`, FOLLOWING: a server that is in an iteration leaves it first."""
    abandon(f)
    return follow(f, m.leader)
