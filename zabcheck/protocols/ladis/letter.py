"""Recovery mode to the letter of LADIS 2008, 4.2: nothing is added to the text. `recovery` has the repairs."""

from zabcheck.invariants import Truncate, Zxid
from zabcheck.protocols.base import Connect, Effect, Elected, GiveUp, Persist, ProcessId, Send
from zabcheck.protocols.ladis.broadcast import commit_acknowledged
from zabcheck.protocols.ladis.messages import Commit, FollowerInfo, Proposal, Supply, Trunc
from zabcheck.protocols.ladis.process import Follower, Leader, Mode, abandon, epoch_of, first_of
from zabcheck.protocols.ladis.recovery import fetch, has_fetched


def on_elected(f: Follower, sender: ProcessId, m: Elected) -> list[Effect]:
    """4: a server that comes online starts in recovery mode, and connects to the leader.

    Its log is on its disk before FOLLOWERINFO is sent, because the leader counts that zxid as acknowledged.
    """
    abandon(f)
    f.leader = m.leader
    f.mode = Mode.RECOVERY
    return [Connect(m.leader), Persist(history=f.history, zxid=f.zxid), Send(m.leader, FollowerInfo(f.zxid))]


def on_follower_info(l: Leader, sender: ProcessId, m: FollowerInfo) -> list[Effect]:
    """4.2: the new leader has the highest proposal number in a quorum of servers; then it takes over."""
    if not l.leads:
        return []
    l.followers = {**l.followers, sender: m}
    l.listed = tuple(each for each in l.listed if each != sender)
    if l.log is not None:
        return [*synchronise(l, sender), *commit_acknowledged(l)]
    if l.fetches_from is not None or not l.quorums.contains(l.followers):
        return []
    l.highest = l.zxid
    return fetch(l, tuple(l.followers)) or take_over(l)


def on_supply(l: Leader, sender: ProcessId, m: Supply) -> list[Effect]:
    """4.2: what the leader has fetched takes the place of its own log."""
    return take_over(l) if has_fetched(l, sender, m) else []


def take_over(l: Leader) -> list[Effect]:
    """4.2: it will get the epoch of the highest zxid it has in its log, and increment the epoch.

    Nothing says that no other leader does so.
    """
    l.log = l.history if l.fetched is None else l.fetched
    l.start = l.highest
    l.epoch = epoch_of(l.highest) + 1
    l.latest = first_of(l.epoch)
    effects = [effect for each in l.followers for effect in synchronise(l, each)]
    return [*effects, *commit_acknowledged(l)]


def synchronise(l: Leader, follower: ProcessId) -> list[Effect]:
    """4.2: truncate, queue any PROPOSAL that the follower has not seen, then a COMMIT up to the last one committed.

    The leader checks the last committed proposal for the epoch of the follower's latest one. All that is in the log of
    a new leader will be committed; if the log has nothing of that epoch, the follower forgets what it has of it. The
    paper does not provide for a follower that has a proposal of the leader's own epoch, or a later one, that the leader
    has not: then the leader gives up.
    """
    assert l.log is not None
    told = Zxid.unpack(l.followers[follower].zxid)
    after = l.log.up_to(told).zxid
    effects: list[Effect] = []
    if after != told:
        if told.epoch >= l.epoch:
            return [GiveUp("a follower has a proposal of this epoch, or a later one, that the leader has not")]
        after = after if after.epoch == told.epoch else Zxid(told.epoch, 0)
        effects.append(Send(follower, Trunc(after.packed())))
    known = l.log.up_to(after).length
    effects += [Send(follower, Proposal(txn)) for txn in l.log.after(known)]
    if l.active:
        effects.append(Send(follower, Commit(l.committed)))
    l.listed = (*l.listed, follower)
    l.acks = {**l.acks, follower: max(after.packed(), l.acks.get(follower, 0))}
    return effects


def on_trunc(f: Follower, sender: ProcessId, m: Trunc) -> list[Effect]:
    """4.2: the leader tells the follower to truncate its transaction log (i.e., forget)."""
    if sender != f.leader:
        return []
    f.history = f.history.up_to(Zxid.unpack(m.zxid))
    f.zxid = f.history.zxid.packed()
    kept = f.history
    return [Persist(history=kept, zxid=f.zxid), Truncate(f.id, f.incarnation, kept.zxid, kept.length)]
