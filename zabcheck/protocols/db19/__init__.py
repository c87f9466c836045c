"""Zab as the db-19 lab has it: FastLeaderElection, discovery, synchronization, broadcast, to the letter of its text.

It is here to be checked, so its flaws stay: docs/db19.md tells what they lead to. The steps are in `election`,
`recovery` and `broadcast`; `cluster` drives them by the lab's clock, zabcheck's simulator as a search chooses.

The search can do more than the lab's clock: a message may take any time, so it may arrive after any number of
elections; any message may overtake any other on its link; any timer may run out at any moment. In neither is a message
lost except by a cut that stays, and in neither does a node stop, as the lab has no crashes. (A hand-written schedule
may also lose messages by `reset`. A search never does, as the lab's partitions do not heal.)
"""

from msgspec import structs

from zabcheck.protocols.base import Activity, Message, Protocol, Request, Started, TimedOut
from zabcheck.protocols.db19 import broadcast, election, messages, node, recovery
from zabcheck.protocols.db19.node import Node, Role
from zabcheck.protocols.environment import MOVES_OF_A_MESH, Environment

KINDS: dict[type[Message], str] = {
    kind: kind.__name__
    for kind in (
        messages.LookForLeader,
        messages.Vote,
        messages.NewEpoch,
        messages.AckEpoch,
        messages.NewLeader,
        messages.AckLeader,
        messages.Propose,
        messages.Ack,
        messages.Commit,
    )
}


def show(message: Message) -> tuple[str, str]:
    """Return the name of a message and what it carries."""
    match message:
        case messages.LookForLeader():
            carries = f"{message.last_zxid}, epoch {message.peer_epoch}"
        case messages.Vote():
            carries = f"p{message.leader}, {message.last_zxid}, epoch {message.peer_epoch}"
        case messages.NewEpoch() | messages.AckLeader():
            carries = f"{message.new_epoch}"
        case messages.AckEpoch():
            carries = f"{message.current_epoch}, {message.last_zxid}"
        case messages.NewLeader():
            carries = f"{message.new_epoch}, {message.history.zxid}"
        case messages.Propose():
            carries = f"{message.txn}"
        case messages.Ack() | messages.Commit():
            carries = f"{message.zxid}"
        case _:
            raise TypeError(f"not a message of db-19: {message!r}")
    return KINDS[type(message)], carries


def describe(n: Node) -> dict[str, str | tuple[str, ...]]:
    """Return the variables of a node that a report shows."""
    activity = Activity("looks", f"votes p{n.vote_target_id}")
    if n.role is Role.LEADING:
        activity = Activity("leads", "synced" if n.synced else "not synced")
    elif n.role is Role.FOLLOWING:
        activity = Activity(f"follows p{n.leader_id}")
    return {
        "": activity,
        "accepted": str(n.accepted_epoch or "⊥"),
        "current": str(n.current_epoch or "⊥"),
        "committed": str(n.last_committed),
        "history": tuple(map(str, n.history.chain)),
    }


DB19 = Protocol(
    name="db19",
    summary="Zab as the db-19 lab has it, where links reorder",
    source="the db-19 lab",
    steps={
        Started: election.on_started,
        TimedOut: election.on_timed_out,
        Request: broadcast.on_request,
        messages.LookForLeader: election.on_look_for_leader,
        messages.Vote: election.on_vote,
        messages.NewEpoch: recovery.on_new_epoch,
        messages.AckEpoch: recovery.on_ack_epoch,
        messages.NewLeader: recovery.on_new_leader,
        messages.AckLeader: recovery.on_ack_leader,
        messages.Propose: broadcast.on_propose,
        messages.Ack: broadcast.on_ack,
        messages.Commit: broadcast.on_commit,
    },
    start=node.start,
    abandon=lambda _: None,
    can_broadcast=broadcast.can_broadcast,
    describe=describe,
    show=show,
    legend=(
        ("", "accepted, current: epochs"),
        ("", "committed: last_committed"),
        ("", "⟨epoch,counter⟩"),
        ("⊥", "none"),
        ("p1", "is node 0 of the lab"),
    ),
    kinds=KINDS,
    properties=("core", "causality", "prefix", "causal order", "protocol"),
    identity=node.identity,
    environment=Environment(
        fifo=False,
        mesh=True,
        never=("crash", "stabilise", "quiesce"),
        moves={**MOVES_OF_A_MESH, "timeout": 8, "reset": 0},
    ),
)

DB19_FIFO = structs.replace(
    DB19,
    name="db19-fifo",
    summary="Zab as the db-19 lab has it, but on links that keep the order",
    environment=structs.replace(DB19.environment, fifo=True),
)

PROTOCOLS = (DB19, DB19_FIFO)
