"""Phases 1 and 2 of the db-19 lab, "Discovery & Synchronization"."""

from zabcheck.invariants import Establish, Ready, Truncate
from zabcheck.protocols.base import Effect, ProcessId, Send
from zabcheck.protocols.db19.messages import AckEpoch, AckLeader, Commit, History, NewEpoch, NewLeader
from zabcheck.protocols.db19.node import (
    RESET,
    Node,
    Role,
    adopt,
    become_following,
    commit_up_to,
    promise,
    provide,
    reset_election_deadline,
    to_all,
)


def become_leading(n: Node) -> list[Effect]:
    """Lead: propose an epoch later than all that the node knows of, and start the heartbeat."""
    n.role = Role.LEADING
    n.leader_id = n.id
    n.synced = False
    n.leader_acks = frozenset()
    n.ack_set = {}
    n.pending_new_epoch = max(n.accepted_epoch, n.current_epoch) + 1
    effects: list[Effect] = [RESET, *promise(n, n.pending_new_epoch, n.id), provide(n)]
    n.epoch_acks = frozenset((n.id,))
    effects += to_all(n, NewEpoch(n.pending_new_epoch))
    return effects + try_finish_discovery(n)


def on_new_epoch(n: Node, sender: ProcessId, m: NewEpoch) -> list[Effect]:
    """Promise the epoch if it is not older than the last promise. A follower keeps the leader that it has.

    The deadline is reset in any case, even by a stale epoch. A node that leads becomes a follower only by a later
    epoch; it acknowledges an equal one and goes on leading.
    """
    effects: list[Effect] = []
    if m.new_epoch >= n.accepted_epoch:
        if m.new_epoch > n.accepted_epoch:
            effects += promise(n, m.new_epoch, sender)
            if n.role is not Role.FOLLOWING:
                effects += become_following(n, sender)
        effects += [provide(n), Send(sender, AckEpoch(n.current_epoch, n.history.zxid))]
    return effects + reset_election_deadline(n)


def on_ack_epoch(n: Node, sender: ProcessId, m: AckEpoch) -> list[Effect]:
    """Count one more acknowledgement, of whatever epoch. The sender's history in it is ignored."""
    if n.role is not Role.LEADING:
        return []
    n.epoch_acks |= {sender}
    return try_finish_discovery(n)


def try_finish_discovery(n: Node) -> list[Effect]:
    """Begin the epoch, if a quorum has acknowledged it, with the leader's own history and the counter at 0.

    That happens again with each later acknowledgement, even when transactions were broadcast since.
    """
    if not n.quorums.contains(n.epoch_acks):
        return []
    effects: list[Effect] = []
    if n.current_epoch != n.pending_new_epoch:
        n.current_epoch = n.pending_new_epoch
        effects.append(adopt(n))
    n.next_counter = 0
    n.leader_acks = frozenset((n.id,))
    effects += to_all(n, NewLeader(n.current_epoch, n.history))
    return effects + try_finish_sync(n)


def on_new_leader(n: Node, sender: ProcessId, m: NewLeader) -> list[Effect]:
    """Replace the history of the node by that of the leader, even where the node's own was committed."""
    if m.new_epoch < n.accepted_epoch:
        return []
    effects = promise(n, m.new_epoch, sender)
    n.current_epoch = m.new_epoch
    effects += replace_history(n, m.history)
    if n.role is not Role.FOLLOWING:
        effects += become_following(n, sender)
    return [*effects, *reset_election_deadline(n), Send(sender, AckLeader(m.new_epoch))]


def replace_history(n: Node, history: History) -> list[Effect]:
    """`history = hist`; a truncation is shown."""
    effects: list[Effect] = []
    old, n.history = n.history.chain, history
    if not history.chain.starts_with(old):
        kept = history.chain.common_prefix(old)
        effects.append(Truncate(n.id, n.incarnation, kept.zxid, kept.length))
    return [*effects, adopt(n)]


def on_ack_leader(n: Node, sender: ProcessId, m: AckLeader) -> list[Effect]:
    """Count one more node that has the history of this epoch."""
    if n.role is not Role.LEADING or m.new_epoch != n.current_epoch:
        return []
    n.leader_acks |= {sender}
    return try_finish_sync(n)


def try_finish_sync(n: Node) -> list[Effect]:
    """Let the leader broadcast, and commit its whole history, once a quorum has the history."""
    if n.synced or not n.quorums.contains(n.leader_acks):
        return []
    n.synced = True
    effects: list[Effect] = [
        Establish(n.id, n.incarnation, n.current_epoch),
        Ready(n.id, n.incarnation, n.current_epoch),
    ]
    if n.history.zxid > n.last_committed:
        effects += commit_up_to(n, n.history.zxid)
        effects += to_all(n, Commit(n.last_committed))
    return effects
