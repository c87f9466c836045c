"""The variables of a node of the db-19 lab (its "State"), and what several of its steps do.

A node does not know the time. It has one timer: that of its election while it has no leader or follows one, that of its
heartbeat while it leads. `ResetTimer` starts it anew, `TimedOut` says that it has run out; how long it runs is up to
the clock of `zabcheck.protocols.db19.cluster`, and in a search any moment may be the one.
"""

from collections.abc import Hashable, Mapping
from enum import IntEnum
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

import invariants
from invariants import NO_ZXID, Adopt, Deliver, Promise, Zxid
from invariants.quorums import Quorums
from zabcheck.protocols.base import Effect, Message, ProcessId, ResetTimer, Send
from zabcheck.protocols.db19.messages import History
from zabcheck.protocols.switches import Switches

RESET = ResetTimer()


class Role(IntEnum):
    """What a node is, by the numbers that the dump has for it."""

    LOOKING = 0
    FOLLOWING = 1
    LEADING = 2


class Node(Struct, gc=False):
    """One node. Steps rebind its fields and leave the values alone, but for `ack_set`, which may be large.

    The lab counts its nodes from 0, processes are counted from 1: node i of the lab is process i + 1.
    """

    id: ProcessId
    incarnation: int
    quorums: Quorums
    peers: tuple[ProcessId, ...]
    """The others, in ascending order."""

    # Persistent, says the lab; nothing ever stops there.
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
    """Whom each voter votes for."""

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
    """A node before its first election. Nothing is written to a disk here, so `durable` has nothing."""
    peers = tuple(peer for peer in range(1, quorums.size + 1) if peer != process)
    return Node(process, incarnation, quorums, peers, **durable)


def identity(n: Node) -> Hashable:
    """All of a node that its further steps may depend on.

    Nobody asks again for the acknowledgements of what is committed.
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
    """`message` to every other node, in ascending order."""
    return [Send(peer, message) for peer in n.peers]


def reset_election_deadline(n: Node) -> list[Effect]:
    """The lab's function of that name. A leader has no election timer: the one that it has goes on."""
    return [] if n.role is Role.LEADING else [RESET]


def become_following(n: Node, leader: ProcessId) -> list[Effect]:
    """The node gives up what it was, and has a leader from here on."""
    n.role = Role.FOLLOWING
    n.leader_id = leader
    n.synced = False
    return [RESET]


# What is shown of it. Nothing of this is in the lab's text.


def promise(n: Node, epoch: int) -> list[Effect]:
    """`accepted_epoch = epoch`, which is shown if it was another."""
    if epoch == n.accepted_epoch:
        return []
    n.accepted_epoch = epoch
    return [Promise(n.id, n.incarnation, epoch)]


def provide(n: Node) -> Effect:
    """The node has promised an epoch, and its history is counted among those of the quorum that begins it."""
    chain = n.history.chain
    return invariants.AckEpoch(
        n.id, n.incarnation, n.accepted_epoch, n.current_epoch, chain.zxid, chain.length, chain.hash
    )


def adopt(n: Node) -> Effect:
    """The history of the node is the initial one of its epoch."""
    chain = n.history.chain
    return Adopt(n.id, n.incarnation, n.current_epoch, chain.zxid, chain.length, chain.hash)


def commit_up_to(n: Node, zxid: Zxid) -> list[Effect]:
    """`last_committed = zxid`: what the history has between the old one and the new is delivered."""
    delivered = n.history.between(n.last_committed, zxid)
    n.last_committed = zxid
    return [Deliver(n.id, n.incarnation, txn) for txn in delivered]
