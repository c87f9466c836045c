"""Phase 3 of the db-19 lab, "Broadcast"."""

from zabcheck.invariants import Accept, Broadcast, Txn, Zxid
from zabcheck.protocols.base import Effect, ProcessId, Request, Send
from zabcheck.protocols.db19.messages import Ack, Commit, Propose
from zabcheck.protocols.db19.node import Node, Role, commit_up_to, reset_election_deadline, to_all

_NOBODY: frozenset[ProcessId] = frozenset()


def can_broadcast(n: Node) -> bool:
    """Return True if the node takes a client's request: it leads, and a quorum has its history."""
    return n.role is Role.LEADING and n.synced


def on_request(n: Node, sender: ProcessId, m: Request) -> list[Effect]:
    """`propose(payload)`. The lab does not check whether the history has that zxid already."""
    if not can_broadcast(n):
        return []
    n.next_counter += 1
    zxid = Zxid(n.current_epoch, n.next_counter)
    txn = Txn(zxid, m.value)
    n.history = n.history.append(txn)
    n.ack_set[zxid] = frozenset((n.id,))
    return [
        Broadcast(n.id, n.incarnation, n.current_epoch, txn),
        Accept(n.id, n.incarnation, n.current_epoch, txn),
        *to_all(n, Propose(txn)),
        *try_commit(n, zxid),
    ]


def on_propose(n: Node, sender: ProcessId, m: Propose) -> list[Effect]:
    """Accept a proposal of the node's leader with a zxid higher than all in the history; also behind a gap."""
    zxid = m.txn.zxid
    if n.role is not Role.FOLLOWING or sender != n.leader_id or zxid <= n.history.zxid:
        return []
    n.history = n.history.append(m.txn)
    accepted = Accept(n.id, n.incarnation, zxid.epoch, m.txn)
    return [accepted, *reset_election_deadline(n), Send(sender, Ack(zxid))]


def on_ack(n: Node, sender: ProcessId, m: Ack) -> list[Effect]:
    """Count one more acknowledgement, unless the transaction is committed: no step would read the count then."""
    if n.role is not Role.LEADING or m.zxid <= n.last_committed:
        return []
    n.ack_set[m.zxid] = n.ack_set.get(m.zxid, _NOBODY) | {sender}
    return try_commit(n, m.zxid)


def try_commit(n: Node, zxid: Zxid) -> list[Effect]:
    """Commit everything up to `zxid`, acknowledged or not, if a quorum has acknowledged it."""
    if zxid <= n.last_committed or not n.quorums.contains(n.ack_set.get(zxid, _NOBODY)):
        return []
    n.ack_set.pop(zxid, None)
    return [*commit_up_to(n, zxid), *to_all(n, Commit(zxid))]


def on_commit(n: Node, sender: ProcessId, m: Commit) -> list[Effect]:
    """Commit everything up to `zxid` if the history goes so far; from any sender, and even if something is missing."""
    effects = reset_election_deadline(n) if sender == n.leader_id else []
    if n.last_committed < m.zxid <= n.history.zxid:
        effects += commit_up_to(n, m.zxid)
    return effects
