"""Bringing a follower up to date by DIFF, TRUNC or SNAP (`LearnerHandler.syncFollower`).

DSN 2011 sends whole histories, or the part behind the last common transaction (end of IV). ZooKeeper has only one
number, the follower's lastProcessedZxid, and the part of its history that is still in the leader's memory or log.
"""

from collections.abc import Iterable

from zabcheck.invariants import NO_ZXID, Txn, Zxid
from zabcheck.protocols.base import Message, ProcessId
from zabcheck.zookeeper.model.database import Database
from zabcheck.zookeeper.model.messages import Commit, Diff, Proposal, Snap, Trunc
from zabcheck.zookeeper.model.server import Leader


class Queue:
    """The queue for one follower (`queuedPackets`): packets, and the zxid up to which the follower will be."""

    def __init__(self, peer: Zxid) -> None:
        self.peer = peer
        self.packets: list[Message] = []
        self.zxid = peer

    def queue_committed(self, proposals: Iterable[Txn], up_to: Zxid | None, newest: Zxid) -> None:
        """`LearnerHandler.queueCommittedProposals`: DIFF or TRUNC, then the proposals behind `zxid`, each committed.

        All `proposals` are taken for committed and free of gaps, those of the log too (2846). Nothing is queued if a
        TRUNC would have to cross the boundary of an epoch.
        """
        start, fresh, previous = self.zxid, self.zxid.counter == 0, NO_ZXID
        for txn in proposals:
            if up_to is not None and txn.zxid > up_to:
                break
            if txn.zxid < start:
                previous = txn.zxid
                continue
            if not self.packets:
                if txn.zxid == start:
                    self.packets.append(Diff(newest))
                    continue
                if fresh:
                    self.packets.append(Diff(newest))
                elif txn.zxid.epoch != start.epoch:
                    return
                else:
                    self.packets.append(Trunc(previous))
            if txn.zxid > self.zxid:
                self.packets += [Proposal(txn), Commit(txn.zxid)]
                self.zxid = txn.zxid
        if not self.packets and fresh:
            self.packets.append(Diff(newest))


def queued(l: Leader, peer: Zxid) -> Queue:
    """`LearnerHandler.syncFollower`: queue the applied transactions that a follower at `peer` lacks (l.2.1)."""
    queue = Queue(peer)
    if has_nothing(l, peer):
        queue.packets.append(Diff(peer))
        return queue
    (by_cache_only if l.version.log_sync == "3.4" else by_cache_and_log)(l, compared(l, peer), queue)
    if not queue.packets:
        queue.packets = [Snap(l.database.lpz, l.database.tree)]
        queue.zxid = l.database.lpz if l.version.forwards_from_lpz else peer
    return queue


def has_nothing(l: Leader, zxid: Zxid) -> bool:
    """Return True if lastProposed is not above `zxid`: in 3.4.0-rc0 it is 0 until there is a proposal (1319).

    Such a follower counts as one that lacks nothing.
    """
    return zxid == NO_ZXID and not l.counter and not l.version.knows_last_proposed


def forwarded(l: Leader, follower: ProcessId, zxid: Zxid) -> list[Message]:
    """`Leader.startForwarding`: return messages for the committed but not applied (`toBeApplied`) and the outstanding.

    β grows while followers synchronise (l.3.3).
    """
    if has_nothing(l, zxid):
        return []
    packets: list[Message] = []
    for txn in l.to_apply:
        if txn.zxid > zxid:
            packets += [Proposal(txn), Commit(txn.zxid)]
    outstanding = l.outstanding if l.proposes_to(follower) else ()
    return packets + [Proposal(each.txn) for each in outstanding if each.txn.zxid > zxid]


def compared(l: Leader, peer: Zxid) -> Database:
    """Return the database to compare a follower with: all that is applied, although more may be committed (N1).

    The repair appends the committed but not applied transactions to committedLog, if the follower has some of them.
    """
    if not l.version.compares_committed or not l.to_apply or peer < l.to_apply[0].zxid:
        return l.database
    return Database(l.database.tree, l.to_apply[-1].zxid, (*l.database.cache, *l.to_apply))


def by_cache_and_log(l: Leader, database: Database, queue: Queue) -> None:
    """`LearnerHandler.syncFollower` since 3.5.0. If the queue stays empty, a SNAP follows."""
    peer = queue.peer
    if database.lpz == peer:
        queue.packets.append(Diff(peer))
    elif peer > database.newest and peer.counter:
        queue.packets.append(Trunc(database.newest))
        queue.zxid = database.newest
    elif database.oldest <= peer <= database.newest:
        queue.queue_committed(database.cache, None, database.newest)
    elif peer < database.oldest and l.version.log_sync != "never":
        by_log(l, database, queue)


def by_log(l: Leader, database: Database, queue: Queue) -> None:
    """`LearnerHandler.syncFollower`, a follower behind committedLog: first the log, up to where committedLog begins.

    `ZKDatabase.getProposalsFromTxnLog` gives nothing if the log begins behind the follower, or is too long. Since 3.6.0
    a gap between the two ends in a SNAP (2418). A gap within the log is overlooked, and there is one after a SNAP
    (2846).
    """
    peer = queue.peer
    too_long, l.log_too_long = l.log_too_long, False
    if too_long or not l.log or l.log[0].zxid > peer:
        return
    queue.queue_committed(l.log, database.oldest, database.newest)
    if queue.zxid < database.oldest and l.version.log_sync == "checked":
        queue.packets, queue.zxid = [], peer
        return
    queue.queue_committed(database.cache, None, database.newest)


def by_cache_only(l: Leader, database: Database, queue: Queue) -> None:
    """`LearnerHandler.run` of 3.4: committedLog only; a TRUNC may cross the boundary of an epoch.

    3.3 sends DIFF to any follower within committedLog, also to one with a transaction of an abandoned branch (1154).
    """
    peer = queue.peer
    if database.lpz == peer:
        queue.packets.append(Diff(peer))
    elif database.cache and database.oldest <= peer <= database.newest:
        before = [txn.zxid for txn in database.cache if txn.zxid <= peer]
        after = [txn for txn in database.cache if txn.zxid > peer]
        is_there = before[-1] == peer or not l.version.cuts_branches
        queue.packets.append(Diff(database.newest) if is_there else Trunc(before[-1]))
        queue.zxid = database.newest
        for txn in after:
            queue.packets += [Proposal(txn), Commit(txn.zxid)]
    elif database.cache and peer > database.newest:
        queue.packets.append(Trunc(database.newest))
        queue.zxid = database.newest
