"""Phase 0 of the db-19 lab, "FastLeaderElection", and its timers."""

from zabcheck.protocols.base import Effect, ProcessId, Send, Started, TimedOut
from zabcheck.protocols.db19.messages import Commit, LookForLeader, NewLeader, Vote
from zabcheck.protocols.db19.node import RESET, Node, Role, become_following, to_all
from zabcheck.protocols.db19.recovery import become_leading


def on_started(n: Node, sender: ProcessId, m: Started) -> list[Effect]:
    """Take the steps before the first tick: `reset_election_deadline(0)`, then enter Looking."""
    return [RESET, *enter_looking(n)]


def on_timed_out(n: Node, sender: ProcessId, m: TimedOut) -> list[Effect]:
    """`on_tick` when the timer has run out: a leader sends a heartbeat, any other node looks for a leader.

    A leader's timer starts again even when there is nothing to send.
    """
    if n.role is Role.LEADING:
        return [RESET, *send_heartbeat(n)]
    return [RESET, *enter_looking(n)]


def send_heartbeat(n: Node) -> list[Effect]:
    """Send a heartbeat: the last Commit once synced, NewLeader while its acknowledgements are missing, else nothing."""
    if n.synced:
        return to_all(n, Commit(n.last_committed))
    if n.quorums.contains(n.epoch_acks):
        return to_all(n, NewLeader(n.current_epoch, n.history))
    return []


def enter_looking(n: Node) -> list[Effect]:
    """The node votes for itself and tells everybody, twice: LookForLeader is taken as a vote as well."""
    n.role = Role.LOOKING
    n.leader_id = None
    n.synced = False
    n.vote_target_id = n.id
    n.vote_target_zxid = n.history.zxid
    n.vote_view = {n.id: n.id}
    return [
        *to_all(n, LookForLeader(n.id, n.history.zxid, n.current_epoch)),
        *to_all(n, vote(n, n.id)),
        *check_election(n),
    ]


def vote(n: Node, leader: ProcessId) -> Vote:
    """Return the vote of `n` for `leader`."""
    return Vote(n.id, n.history.zxid, n.current_epoch, leader)


def on_look_for_leader(n: Node, sender: ProcessId, m: LookForLeader) -> list[Effect]:
    """Handle LookForLeader as a Vote of `src` for itself."""
    return on_vote(n, sender, Vote(m.src, m.last_zxid, m.peer_epoch, m.src))


def on_vote(n: Node, sender: ProcessId, m: Vote) -> list[Effect]:
    """Vote for the voter if it is ahead by (last zxid, id). Whom the voter itself votes for is only counted.

    A node that is not Looking answers, to the sender alone, with the leader that it has.
    """
    if n.role is not Role.LOOKING:
        assert n.leader_id is not None
        return [Send(sender, vote(n, n.leader_id))]
    effects: list[Effect] = []
    if (m.last_zxid, m.voter) > (n.vote_target_zxid, n.vote_target_id):
        n.vote_target_id = m.voter
        n.vote_target_zxid = m.last_zxid
        n.vote_view = {n.id: m.voter}
        effects = to_all(n, vote(n, m.voter))
    n.vote_view = {**n.vote_view, m.voter: m.leader}
    return effects + check_election(n)


def check_election(n: Node) -> list[Effect]:
    """Lead, or follow the candidate of this node, once a quorum votes for that candidate."""
    target = n.vote_target_id
    if not n.quorums.contains([voter for voter, leader in n.vote_view.items() if leader == target]):
        return []
    return become_leading(n) if target == n.id else become_following(n, target)
