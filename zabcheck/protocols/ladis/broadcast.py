"""Broadcast mode (LADIS 2008, 4.1): a two-phase commit without aborts, over FIFO channels."""

from zabcheck.invariants import Accept, Broadcast, Establish, Ready, Txn, Zxid
from zabcheck.protocols.base import Changed, Effect, GiveUp, Persist, ProcessId, Request, Send
from zabcheck.protocols.ladis.messages import Ack, Commit, Proposal
from zabcheck.protocols.ladis.process import Follower, Leader, Mode, deliver_up_to, first_of


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
    return [Persist(history=f.history, zxid=f.zxid), *accepted, Send(sender, Ack(f.zxid))]


def on_ack(l: Leader, sender: ProcessId, m: Ack) -> list[Effect]:
    """4.1: with ACKs from a quorum the leader broadcasts a COMMIT, and delivers the message locally.

    It is a follower of its own, so it is sent one, too.
    """
    if not l.leads or l.log is None or sender not in l.listed:
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
            effects += [Send(each, Commit(zxid)) for each in l.listed]
            return [*effects, *propose_waiting(l)]
    return []


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
    effects = deliver_up_to(f, m.zxid)
    if begins and f.leads:
        f.instance = f.epoch
        effects.append(Ready(f.id, f.incarnation, f.epoch))
    return effects
