"""Broadcast mode (LADIS 2008, 4.1): a two-phase commit without aborts, over FIFO channels."""

from zabcheck.invariants import Accept, Broadcast, Establish, Ready, Txn, Zxid
from zabcheck.protocols.base import Cast, Changed, Effect, GiveUp, Persist, ProcessId, Request, Send
from zabcheck.protocols.ladis.messages import Ack, Commit, Proposal
from zabcheck.protocols.ladis.process import Follower, Leader, Mode, deliver_up_to, epoch_of, first_of


def can_broadcast(l: Leader) -> bool:
    """Return True if the leader is active and its application has been told so."""
    return l.instance != 0 and l.instance == l.epoch


def on_request(l: Leader, sender: ProcessId, m: Request) -> list[Effect]:
    """4.1: before proposing a message the leader assigns a monotonically increasing unique id; each one more.

    4.2: the number of proposals in flight is bounded; a request beyond that waits. A counter that would overflow forces
    a new epoch.
    """
    if not can_broadcast(l):
        return []
    if l.latest - first_of(l.epoch) + len(l.waiting) >= l.switches.counter_limit:
        return [GiveUp("the counter would overflow")]
    if not is_full(l):
        return propose(l, m.value)
    l.waiting = (*l.waiting, m.value)
    return [Changed()]


def is_full(l: Leader) -> bool:
    """Return True if as many proposals as may be are not committed yet. O(log length) where there is a bound."""
    assert l.log is not None
    if not l.switches.is_bounded:
        return False
    return l.log.length - l.log.up_to(Zxid.unpack(l.committed)).length >= l.switches.outstanding


def propose(l: Leader, value: str) -> list[Effect]:
    """4.1: the proposal, with the next zxid, is put into the outgoing queue for each follower."""
    assert l.log is not None
    l.latest += 1
    txn = Txn(Zxid.unpack(l.latest), value)
    l.log = l.log.append(txn)
    return [Broadcast(l.id, l.incarnation, l.epoch, txn), *(Send(each, Proposal(txn)) for each in l.listed)]


def on_proposal(f: Follower, sender: ProcessId, m: Proposal) -> list[Effect]:
    """4.1: a follower that receives a proposal writes it to disk, and acknowledges it as soon as it is there."""
    if sender != f.leader:
        return []
    if f.incoming is not None:
        f.incoming = f.incoming.append(m.txn)  # repaired: it is written with the record of the new leader
        return []
    if m.txn.zxid <= f.history.zxid:
        return []
    f.history = f.history.append(m.txn)
    f.zxid = m.txn.zxid.packed()
    accepted = [Accept(f.id, f.incarnation, f.recognised, m.txn)] if f.recognised else []
    return [Persist(history=f.history, zxid=f.zxid), *accepted, *acknowledge(f)]


def on_ack(l: Leader, sender: ProcessId, m: Ack) -> list[Effect]:
    """4.1: with ACKs from a quorum the leader broadcasts a COMMIT, and delivers the message locally.

    It is a follower of its own, so it is sent one, too. Where followers send their ACKs to all, each server counts for
    itself, and one may come from a follower of another leader.
    """
    if not l.leads:
        return keep_ack(l, sender, m) if l.switches.counts_everywhere else []
    if l.log is None or sender not in l.listed or (l.switches.counts_everywhere and epoch_of(m.zxid) != l.epoch):
        return []
    l.acks = {**l.acks, sender: max(m.zxid, l.acks.get(sender, 0))}
    return commit_acknowledged(l)


def commit_acknowledged(l: Leader) -> list[Effect]:
    """COMMIT the highest zxid that a quorum has on disk, unless it is committed; the first COMMIT activates the leader.

    4.2: before proposing any new messages, a newly elected leader first makes sure that all messages that are in its
    transaction log have been proposed to and committed by a quorum of followers.
    """
    for zxid in sorted(l.acks.values(), reverse=True):
        if zxid < l.start or (l.active and zxid <= l.committed):
            break
        if l.quorums.contains([each for each, acked in l.acks.items() if acked >= zxid]):
            effects: list[Effect] = [] if l.active else [Establish(l.id, l.incarnation, l.epoch)]
            l.active = True
            l.committed = zxid
            effects += [Send(each, Commit(zxid)) for each in those_to_tell(l)]
            l.brought = {each: last for each, last in l.brought.items() if last > zxid}
            return [*effects, *propose_waiting(l)]
    return []


def those_to_tell(l: Leader) -> tuple[ProcessId, ...]:
    """Return the followers to which a COMMIT goes: all of the broadcast list.

    Where they count ACKs themselves, only those of them that may have missed some, and the leader's own: when a
    follower was brought up to date, ACKs of what it was told may have gone out already.
    """
    if not l.switches.counts_everywhere:
        return l.listed
    return tuple(each for each in l.listed if each == l.id or each in l.brought)


def propose_waiting(l: Leader) -> list[Effect]:
    """4.2: propose the requests that wait, in their order, as far as there is room now."""
    effects: list[Effect] = []
    while l.waiting and not is_full(l):
        first, *others = l.waiting
        l.waiting = tuple(others)
        effects += propose(l, first)
    return effects


def on_commit(f: Follower, sender: ProcessId, m: Commit) -> list[Effect]:
    """4.1: followers deliver the message when they receive the COMMIT from the leader.

    The first one ends recovery mode. If this server leads, its application may broadcast from then on.
    """
    if sender != f.leader or f.incoming is not None:
        return []
    begins = f.mode is not Mode.BROADCAST
    f.mode = Mode.BROADCAST
    effects = [*deliver_up_to(f, m.zxid), *deliver_acknowledged(f)]
    if begins and f.leads:
        f.instance = f.epoch
        effects.append(Ready(f.id, f.incarnation, f.epoch))
    return effects


# "The leader does not have to send the COMMIT if the followers broadcast the ACKs to each other" (4.1).


def acknowledge(f: Follower) -> list[Effect]:
    """4.1: acknowledge, to the leader, what is on the disk; without COMMITs to all other servers, too, and count it."""
    assert f.leader is not None
    ack = Ack(f.zxid)
    if not f.switches.counts_everywhere:
        return [Send(f.leader, ack)]
    others = [each for each in range(1, f.quorums.size + 1) if each not in (f.id, f.leader)]
    own = [] if f.leads else [Send(f.id, ack)]
    return [Send(f.leader, ack), *own, *(Cast(each, ack) for each in others)]


def keep_ack(f: Follower, sender: ProcessId, m: Ack) -> list[Effect]:
    """4.1 without COMMITs: keep the ACK of another follower, or the own one, and deliver what a quorum has on disk now.

    It may have overtaken the PROPOSAL, and all that the new leader sends, as these come on another link: so it is kept
    in any mode, and counts once its epoch is recognised. ACKs of an epoch that this server has left never do.
    """
    if f.mode is Mode.ELECTION or epoch_of(m.zxid) < f.recognised:
        return []
    f.heard = {**f.heard, sender: m.zxid}
    return [Changed(), *deliver_acknowledged(f)]


def deliver_acknowledged(f: Follower) -> list[Effect]:
    """Deliver, in broadcast mode, what a quorum has on disk in the epoch of this follower, as far as it has that."""
    return deliver_up_to(f, acknowledged(f)) if f.mode is Mode.BROADCAST else []


def acknowledged(f: Follower) -> int:
    """Return the highest zxid that, as far as this server knows, a quorum has on disk in its epoch; 0 if none."""
    acks = {each: zxid for each, zxid in f.heard.items() if epoch_of(zxid) == f.recognised}
    return max((z for z in acks.values() if f.quorums.contains([each for each in acks if acks[each] >= z])), default=0)
