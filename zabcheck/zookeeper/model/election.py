"""The steps of FastLeaderElection, message by message (the switch `elections=fle`).

DSN 2011 (VII) leaves the election to an oracle. ZooKeeper's own is an exchange of notifications, each with a vote: a
server that hears a greater vote takes it for its own and sends it to all, until a quorum has the same. The messages go
from any server to any other, outside of the connections between a leader and its followers (`QuorumCnxManager`).

Two threads are one here: `WorkerReceiver`, which receives a notification, and `lookForLeader`, which uses it later, are
one step. A server's notification to itself is counted when it is sent. All versions behave like 3.9.5.
"""

from msgspec.structs import replace

from zabcheck.protocols.base import Cast, Effect, Elected, ProcessId, TimedOut
from zabcheck.zookeeper.model import leader, server
from zabcheck.zookeeper.model.server import Phase, Server, vote
from zabcheck.zookeeper.model.votes import (
    Notification,
    State,
    Vote,
    says_it_leads,
    supporters,
    with_notification,
)


def is_due(f: Server) -> bool:
    """Return True if the server has yet to begin its election, or may end it."""
    return f.phase is Phase.LOOKING and (not f.election.looking or f.election.agreed)


def go_on(f: Server) -> list[Effect]:
    """`QuorumPeer.run`, LOOKING: begin an election, or end the one in which a quorum agrees."""
    return conclude(f) if f.election.agreed else look(f)


def look(f: Server) -> list[Effect]:
    """`FastLeaderElection.lookForLeader`: begin the next round, with a vote for oneself."""
    f.election = replace(f.election, round=f.election.round + 1, looking=True, heard=(), outside=(), agreed=False)
    return [*propose(f, own_vote(f)), *look_for_quorum(f)]


def own_vote(f: Server) -> Vote:
    """`getInitId`, `getInitLastLoggedZxid`, `getPeerEpoch`: the vote for oneself, by the present state of memory."""
    return Vote(*vote(f))


def propose(f: Server, proposed: Vote) -> list[Effect]:
    """`updateProposal`, then `sendNotifications`: send the vote to all servers, itself among them."""
    f.election = replace(f.election, vote=proposed)
    told = notification(f)
    f.election = replace(f.election, heard=with_notification(f.election.heard, f.id, told))
    return [Cast(each, told) for each in range(1, f.quorums.size + 1) if each != f.id]


def notification(f: Server) -> Notification:
    """Return the server's notification: while it looks, the vote that it proposes, else that of its last election."""
    assert f.election.vote is not None
    state: State = "LOOKING" if f.phase is Phase.LOOKING else "LEADING" if f.leads else "FOLLOWING"
    return Notification(f.election.vote, f.election.round, state)


def on_timed_out(f: Server, sender: ProcessId, m: TimedOut) -> list[Effect]:
    """`lookForLeader`, nothing comes: send the same notification again. Servers in an iteration have dropped the first.

    A notification that is still in transit is not repeated (`QuorumCnxManager.SEND_CAPACITY` is 1).
    """
    if f.phase is not Phase.LOOKING:
        return server.on_timed_out(f, sender, m)
    return propose(f, f.election.vote) if f.election.looking and f.election.vote and not f.election.agreed else []


def on_notification(f: Server, sender: ProcessId, m: Notification) -> list[Effect]:
    """`WorkerReceiver.run`: answer a sender that is behind; then, while looking for a leader, consider its vote.

    A server that has left an iteration begins its election before it reads a notification.
    """
    if f.phase is not Phase.LOOKING:
        return [Cast(sender, notification(f))] if m.state == "LOOKING" and f.election.vote else []
    effects = [] if f.election.looking else look(f)
    if m.state == "LOOKING" and m.round < f.election.round:
        effects.append(Cast(sender, notification(f)))
    assert f.election.vote is not None
    if f.election.agreed:
        if m.vote <= f.election.vote:
            return effects  # it waits for a greater one, and drops all others
        f.election = replace(f.election, agreed=False)
    if m.state == "LOOKING":
        return effects + on_vote(f, sender, m)
    return effects + on_settled(f, sender, m)


def on_vote(f: Server, sender: ProcessId, m: Notification) -> list[Effect]:
    """`lookForLeader`, LOOKING: take over a later round, and a greater vote. A vote of an earlier round is dropped."""
    election = f.election
    assert election.vote is not None
    effects: list[Effect] = []
    if m.round < election.round:
        return []
    if m.round > election.round:
        f.election = replace(election, round=m.round, heard=())
        effects = propose(f, m.vote if is_greater(f, m.vote, own_vote(f)) else own_vote(f))
    elif is_greater(f, m.vote, election.vote):
        effects = propose(f, m.vote)
    f.election = replace(f.election, heard=with_notification(f.election.heard, sender, m))
    return effects + look_for_quorum(f)


def is_greater(f: Server, new: Vote, current: Vote) -> bool:
    """`totalOrderPredicate`: a server without weight gets no vote but its own."""
    return f.quorums.may_lead(new.leader) and new > current


def look_for_quorum(f: Server) -> list[Effect]:
    """`lookForLeader`, LOOKING: if a quorum votes as this server does, wait for a while, and then end the election."""
    f.election = replace(f.election, agreed=f.quorums.contains(supporters(f.election.heard, notification(f))))
    return []


def on_settled(f: Server, sender: ProcessId, m: Notification) -> list[Effect]:
    """`receivedFollowingNotification`: join the leader that a quorum has, if that leader has said that it leads.

    Votes are not compared any more. If all are of this round, it is the same election, else one that this server has
    missed; then only leader and epoch have to agree, not the votes.
    """
    election = f.election
    if m.round == election.round:
        f.election = election = replace(election, heard=with_notification(election.heard, sender, m))
        known = m.vote.leader == f.id or says_it_leads(election.heard, m.vote.leader)
        if known and f.quorums.contains(supporters(election.heard, m)):
            return settle(f, m)
    f.election = election = replace(election, outside=with_notification(election.outside, sender, m))
    it_leads = m.round == election.round if m.vote.leader == f.id else says_it_leads(election.outside, m.vote.leader)
    if it_leads and f.quorums.contains(supporters(election.outside, m)):
        return settle(f, m)
    return []


def conclude(f: Server) -> list[Effect]:
    """`lookForLeader` after `finalizeWait`: a quorum has the same vote, and no greater one has come.

    That the wait is 200 ms long is no promise: a greater vote may still be in transit. So this may come at any time.
    """
    return settle(f, notification(f))


def settle(f: Server, n: Notification) -> list[Effect]:
    """`setPeerState`, `leaveInstance`, then `QuorumPeer.run`: lead, or follow (steps f.1.1 and l.1.1 begin)."""
    f.election = replace(f.election, round=n.round, vote=n.vote, looking=False, heard=(), outside=(), agreed=False)
    return leader.on_elected(f, f.id, Elected(n.vote.leader))
