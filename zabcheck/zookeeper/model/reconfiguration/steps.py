"""The steps in which a server whose configuration changes differs from one whose configuration is fixed."""

from zabcheck.invariants.quorums import configuration_of
from zabcheck.protocols.base import Effect, Elected, ProcessId, Request, TimedOut
from zabcheck.zookeeper.model import leader, learner, messages, server
from zabcheck.zookeeper.model.leader import can_broadcast, handler_ends
from zabcheck.zookeeper.model.learner import synchronises
from zabcheck.zookeeper.model.reconfiguration.member import (
    Designated,
    Member,
    Proposed,
    activate,
    change_of,
    forget_unlogged,
    hand_over,
    is_active,
    see,
)
from zabcheck.zookeeper.model.reconfiguration.messages import (
    CommitAndActivate,
    FollowerInfo,
    Inform,
    InformAndActivate,
    LeaderInfo,
    NewLeader,
    ObserverInfo,
    UpToDate,
    Verifier,
)
from zabcheck.zookeeper.model.server import Link, Phase, ServerError, adopt, finish, give_up, leave, raises
from zabcheck.zookeeper.model.snapshots import take_snapshot

# Election and discovery.


def on_elected(f: Member, sender: ProcessId, m: Elected) -> list[Effect]:
    """`QuorumPeer.run`, LEADING or FOLLOWING; who is no voter of its active configuration is no candidate."""
    if m.leader == f.id and not f.may_lead():
        return []
    f.named = f.designated = None  # they belong to the iteration that ends
    effects = finish(f)
    if f.phase is not Phase.LOOKING:
        effects += leave(f)
    if m.leader == f.id and f.repairs.pending == "history":
        effects += forget_unlogged(f)
    f.observing = m.leader != f.id and f.is_outside()
    if f.unsaved and not f.observing:
        f.unsaved = False
        effects += take_snapshot(f)
    return effects + leader.on_elected(f, sender, m)


def on_designated(f: Member, sender: ProcessId, m: Designated) -> list[Effect]:
    """`QuorumPeer.updateServerState` with `reconfigFlag`: lead, or follow, without an election."""
    return on_elected(f, sender, Elected(m.leader))


def on_timed_out(f: Member, sender: ProcessId, m: TimedOut) -> list[Effect]:
    """`Leader.lead` ends: a leader that may not commit goes over to the designated one."""
    designated = f.designated
    effects = server.on_timed_out(f, sender, m)
    return effects if designated is None or not effects else [*effects, hand_over(designated)]


def on_follower_info(l: Member, sender: ProcessId, m: FollowerInfo) -> list[Effect]:
    """`LearnerHandler.run`, FOLLOWERINFO with a later configuration than the leader's.

    The leader has heard of it in the election, as long as it has not chosen an epoch (`FastLeaderElection`,
    `WorkerReceiver`): it goes on in that one, or gives up if it is no candidate there. Later, such a follower is
    refused ("Follower is ahead of the leader").
    """
    if l.leads:
        if sender in l.observers and l.repairs.observed == "ignored":
            l.new_leader_acks = tuple(each for each in l.new_leader_acks if each != sender)
        others = tuple(each for each in l.observers if each != sender)
        l.observers = (*others, sender) if isinstance(m, ObserverInfo) else others
    if not l.leads or m.active.version <= l.acting.version:
        return leader.on_follower_info(l, sender, m)
    if l.epoch:
        handler_ends(l, sender)
        l.links = {**l.links, sender: Link.REFUSED}
        return []
    told = activate(l, m.active)
    if not l.may_lead():
        return [*told, *give_up(l, "it is no voter of the active configuration")]
    return [*told, *leader.on_follower_info(l, sender, m)]


def on_leader_info(f: Member, sender: ProcessId, m: LeaderInfo) -> list[Effect]:
    """`Learner.registerWithLeader`, LEADERINFO: the follower has heard in the election what is active at its leader."""
    if sender != f.leader or f.phase is not Phase.DISCOVERY:
        return []
    told = activate(f, m.active)
    return [*told, *(change_role(f, sender) or learner.on_leader_info(f, sender, m))]


def change_role(f: Member, leads_on: ProcessId) -> list[Effect]:
    """`QuorumPeer.updateServerState`: go over from a follower to an observer, or back, if its role is another now."""
    if not f.changes_role():
        return []
    return [*give_up(f, "its role changes"), hand_over(leads_on)]


# Synchronisation.


def on_new_leader(f: Member, sender: ProcessId, m: NewLeader) -> list[Effect]:
    """`Learner.syncWithLeader`, NEWLEADER: the configuration that the leader has seen last is the follower's, too."""
    if not synchronises(f, sender) or f.acknowledged:
        return []
    told = [] if m.active is None else activate(f, m.active)
    f.named = m.seen
    return [*told, *(change_role(f, sender) or [*see(f, m.seen), *learner.on_new_leader(f, sender, m)])]


def on_up_to_date(f: Member, sender: ProcessId, m: UpToDate) -> list[Effect]:
    """`Learner.syncWithLeader`, UPTODATE: activate the configuration that NEWLEADER has named, committed or not (R1).

    If the leader does not belong to both, the follower leaves. Repaired, UPTODATE names what is active at the leader.
    A change that is committed by then and not active is one that nobody activates here any more (2172, R6).
    """
    if not synchronises(f, sender) or not f.acknowledged:
        return []
    to, before = m.active or f.named, f.acting.configuration
    assert to is not None, "NEWLEADER has named one"
    told = activate(f, to)
    missed = next((txn for txn in f.kept if txn.zxid in f.committed and not is_active(f, txn)), None)
    if missed is not None and raises(f):
        raise ServerError(f"Learner.syncWithLeader: {missed} is committed, and {f.acting} stays active")
    if told and not (sender in before.members and sender in to.configuration.members):
        return [*told, *give_up(f, "the leader is not in the new configuration")]
    if changed := change_role(f, sender):
        return [*told, *changed]
    effects = learner.on_up_to_date(f, sender, m)
    if f.observing:
        f.adopted = f.to_log
        effects = [adopt(f, f.current_epoch), *effects]
    effects = [*told, *effects]
    if f.logs_nothing():
        f.to_log, f.unsaved = (), f.repairs.outsiders == "saved"
    return effects


# Broadcast.


def on_request(l: Member, sender: ProcessId, m: Request) -> list[Effect]:
    """`PrepRequestProcessor.pRequest2Txn`, `Leader.propose`: what is proposed has to be acknowledged by who has a say.

    A change makes its configuration the one that the leader has seen last, before the proposal leaves. From then on
    every proposal needs a quorum of both, for good.
    """
    to = configuration_of(m.value, l.quorums.size)
    if to is not None and can_broadcast(l) and not l.may_change(to):
        return []
    effects = leader.on_request(l, sender, m)
    if not effects or not l.leads:
        return effects
    *others, last = l.outstanding
    seen = [] if to is None else see(l, Verifier(to, last.txn.zxid))
    l.outstanding = (*others, Proposed(last.txn, last.acks, l.with_a_say()))
    return [*seen, *effects]


def on_proposal(f: Member, sender: ProcessId, m: messages.Proposal) -> list[Effect]:
    """`Follower.processPacket`, `Learner.syncWithLeader`, PROPOSAL: a change is kept in `.next`, then logged."""
    to = change_of(f, m.txn)
    takes = sender == f.leader and f.phase in (Phase.SYNCHRONIZATION, Phase.BROADCAST)
    seen = see(f, to) if to is not None and takes else []
    return [*seen, *learner.on_proposal(f, sender, m)]


def on_commit_and_activate(f: Member, sender: ProcessId, m: CommitAndActivate) -> list[Effect]:
    """`Follower.processPacket`, COMMITANDACTIVATE: activate, commit, and leave if another server is to lead.

    While it is synchronised a follower activates the change only if that is the first proposal that it keeps (R6); in
    3.5.2 and before not at all behind NEWLEADER (2172).
    """
    if sender != f.leader:
        return []
    waiting = f.pending if f.phase is Phase.BROADCAST else f.kept if f.phase is Phase.SYNCHRONIZATION else ()
    if f.phase is Phase.SYNCHRONIZATION and f.acknowledged and not f.changing.activates_late:
        waiting = ()
    looked_at = waiting if f.phase is Phase.SYNCHRONIZATION and f.repairs.kept == "any" else waiting[:1]
    to = next((change_of(f, txn) for txn in looked_at if txn.zxid == m.zxid), None)
    told = [] if to is None else activate(f, to)
    effects = [*told, *learner.on_commit(f, sender, m)]
    if told and f.leader is not None and m.designated != sender:
        return [*effects, *give_up(f, f"p{m.designated} leads on"), hand_over(m.designated)]
    return [*effects, *change_role(f, m.designated)]


def on_inform(f: Member, sender: ProcessId, m: Inform) -> list[Effect]:
    """`Observer.processPacket`, `Learner.syncWithLeader`, INFORM: log it and apply it; nobody waits for the log.

    While it is synchronised, it is kept like a proposal that is committed.
    """
    if sender != f.leader:
        return []
    if f.phase is not Phase.BROADCAST:
        kept = learner.on_proposal(f, sender, messages.Proposal(m.txn))
        return [*kept, *learner.on_commit(f, sender, messages.Commit(m.txn.zxid))]
    f.to_apply = (*f.to_apply, m.txn)
    if f.logs_nothing():
        f.unsaved = f.repairs.outsiders == "saved"
    else:
        f.to_log = (*f.to_log, m.txn)
    return []


def on_inform_and_activate(f: Member, sender: ProcessId, m: InformAndActivate) -> list[Effect]:
    """`Observer.processPacket`, `Learner.syncWithLeader`, INFORMANDACTIVATE: activate; leave if that makes it a voter.

    While it is synchronised, it leaves before it has applied the change. In 3.5.0 it then does not activate it (1784).
    """
    if sender != f.leader or f.phase not in (Phase.SYNCHRONIZATION, Phase.BROADCAST):
        return []
    serves = f.phase is Phase.BROADCAST
    to = change_of(f, m.txn)
    assert to is not None, "it is told of a change"
    told = activate(f, to) if serves or f.changing.activates_informed else []
    informed = on_inform(f, sender, m) if serves or not f.changes_role() else []
    if told and f.leader is not None and (f.changes_role() or m.designated != sender):
        return [*told, *informed, *give_up(f, "its role, or its leader, changes"), hand_over(m.designated)]
    return [*told, *informed]
