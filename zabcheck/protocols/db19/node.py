"""The variables of a node of the db-19 lab (its "State"), and what several of its steps do.

A node does not know the time. It has one timer: for elections while it looks or follows, for heartbeats while it leads.
`ResetTimer` starts the timer anew, `TimedOut` says that it has run out. How long it runs is decided by the clock of
`zabcheck.protocols.db19.cluster`; in a search it may run out at any moment.
"""

from collections.abc import Hashable, Mapping
from enum import IntEnum
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

import zabcheck.invariants as invariants
from zabcheck.invariants import NO_ZXID, Adopt, Deliver, Promise, Zxid
from zabcheck.invariants.quorums import Quorums
from zabcheck.protocols.base import Effect, Message, ProcessId, ResetTimer, Send
from zabcheck.protocols.db19.messages import History
from zabcheck.protocols.switches import Switches

RESET = ResetTimer()


class Role(IntEnum):
    """The role of a node, with the number that stands for it in the dump."""

    LOOKING = 0
    FOLLOWING = 1
    LEADING = 2


class Node(Struct, gc=False):
    """The variables of one node. Steps rebind fields and never change values in place, except `ack_set`, for speed.

    The lab counts its nodes from 0, zabcheck its processes from 1: node i of the lab is process i + 1.
    """

    id: ProcessId
    incarnation: int
    quorums: Quorums
    peers: tuple[ProcessId, ...]
    """The other nodes, in ascending order."""

    # Persistent in the text of the lab, in which no node ever stops.
    current_epoch: int = 0
    accepted_epoch: int = 0
    history: History = History()
    last_committed: Zxid = NO_ZXID

    role: Role = Role.LOOKING
    leader_id: ProcessId | None = None

    # Of an election.
    vote_target_id: ProcessId = 0
    vote_target_zxid: Zxid = NO_ZXID
    vote_view: Mapping[ProcessId, ProcessId] = {}
    """The node that each voter votes for."""

    # Of a leader.
    pending_new_epoch: int = 0
    epoch_acks: frozenset[ProcessId] = frozenset()
    leader_acks: frozenset[ProcessId] = frozenset()
    synced: bool = False
    next_counter: int = 0
    ack_set: dict[Zxid, frozenset[ProcessId]] = {}

    def __copy__(self) -> "Node":
        return replace(self, ack_set=self.ack_set.copy())


def start(process: ProcessId, incarnation: int, quorums: Quorums, durable: Mapping[str, Any], at: Switches) -> Node:
    """Return a node before its first election. This protocol writes nothing to a disk, so `durable` is empty."""
    peers = tuple(peer for peer in range(1, quorums.size + 1) if peer != process)
    return Node(process, incarnation, quorums, peers, **durable)


def identity(n: Node) -> Hashable:
    """Return everything that the further steps of a node may depend on.

    Left out are the acknowledgements of what is committed, which no step reads again.
    """
    return (
        n.current_epoch,
        n.accepted_epoch,
        n.history,
        n.last_committed,
        n.role,
        n.leader_id,
        n.vote_target_id,
        n.vote_target_zxid,
        frozenset(n.vote_view.items()),
        n.pending_new_epoch,
        n.epoch_acks,
        n.leader_acks,
        n.synced,
        n.next_counter,
        frozenset((zxid, acks) for zxid, acks in n.ack_set.items() if zxid > n.last_committed),
    )


def to_all(n: Node, message: Message) -> list[Effect]:
    """Send `message` to every other node, in ascending order."""
    return [Send(peer, message) for peer in n.peers]


def reset_election_deadline(n: Node) -> list[Effect]:
    """The lab's function of that name. A leader has no election timer; its heartbeat timer goes on."""
    return [] if n.role is Role.LEADING else [RESET]


def become_following(n: Node, leader: ProcessId) -> list[Effect]:
    """Follow `leader` from here on, whatever the node was before."""
    n.role = Role.FOLLOWING
    n.leader_id = leader
    n.synced = False
    return [RESET]


# What is shown of a node. The lab's text has no events.


def promise(n: Node, epoch: int, leader: ProcessId) -> list[Effect]:
    """`accepted_epoch = epoch`, as `leader` asks for it; shown if it changes."""
    if epoch == n.accepted_epoch:
        return []
    n.accepted_epoch = epoch
    return [Promise(n.id, n.incarnation, epoch, leader)]


def provide(n: Node) -> Effect:
    """Show that the node has promised an epoch and provides its history to the quorum that begins it."""
    chain = n.history.chain
    return invariants.AckEpoch(
        n.id, n.incarnation, n.accepted_epoch, n.current_epoch, chain.zxid, chain.length, chain.hash
    )


def adopt(n: Node) -> Effect:
    """Show that the node has adopted its history as the initial history of its epoch."""
    chain = n.history.chain
    return Adopt(n.id, n.incarnation, n.current_epoch, chain.zxid, chain.length, chain.hash)


def commit_up_to(n: Node, zxid: Zxid) -> list[Effect]:
    """`last_committed = zxid`: deliver what the history has between the old value and the new one."""
    delivered = n.history.between(n.last_committed, zxid)
    n.last_committed = zxid
    return [Deliver(n.id, n.incarnation, txn) for txn in delivered]
