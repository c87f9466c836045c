"""The steps of a leader (DSN 2011, IV and V-B): l.1.1 to l.3.4.

The sources leave open to whom messages go while a follower joins late. Here PROPOSE goes to every follower that was
sent NEWLEADER, and COMMIT to every follower that acknowledged it, so a late joiner gets each transaction once: within
NEWLEADER, or after it.
"""

from collections.abc import Callable, Collection, Mapping, Sequence

from zabcheck.invariants import Broadcast, Establish, Txn, Zxid
from zabcheck.protocols.base import Changed, Effect, GiveUp, Lost, ProcessId, Request, Send
from zabcheck.protocols.zab.follower import keep_ack, lasts, on_lost_leader
from zabcheck.protocols.zab.histories import base_of, carry, received
from zabcheck.protocols.zab.messages import (
    Ack,
    AckE,
    AckLd,
    CEpoch,
    Commit,
    CommitLd,
    NewEpoch,
    NewLeader,
    Propose,
)
from zabcheck.protocols.zab.process import Leader, Link
from zabcheck.protocols.zab.relays import disseminate, given_a_place, rebuild

# Phase 1: discovery.


def later_than_all(promises: Collection[int]) -> int:
    """Return an epoch that is greater than all of these."""
    return max(promises) + 1


def on_cepoch(
    l: Leader,
    sender: ProcessId,
    m: CEpoch,
    choose: Callable[[Collection[int]], int] = later_than_all,
) -> list[Effect]:
    """Steps l.1.1 and l.3.3: with CEPOCHs of a quorum, propose e' greater than any epoch in them.

    A CEPOCH opens a new iteration of that follower. One that comes after e' is chosen, in any phase, is answered with
    NEWEPOCH(e'), and with NEWLEADER(e', I_e' ∘ β_e') once there is one (the paper says so for phase 3 only).
    """
    if not l.leads:
        return []
    l.links = {**l.links, sender: Link.ASKED}
    l.lasts = {**l.lasts, sender: m.lasts}
    if l.new_epoch:
        effects: list[Effect] = [*rebuild(l, sender), Send(sender, NewEpoch(l.new_epoch, lasts(l)))]
        if l.proposed is not None:
            effects += propose_history(l, [sender])
        return effects
    l.promises = {**l.promises, sender: m.epoch}
    if not l.is_quorum(l.promises):
        return []
    l.new_epoch = choose(l.promises.values())
    return [Send(follower, NewEpoch(l.new_epoch, lasts(l))) for follower in l.promises]


def latest_follower(acks: Mapping[ProcessId, AckE]) -> ProcessId:
    """Return the follower f with the highest (f.a, f.zxid); ties go to the lowest id.

    Step l.1.2 says "f'.zxid ≺ f.zxid"; equality has to do too, or two followers that are level could not be chosen.
    """
    return max(acks, key=lambda f: (acks[f].current_epoch, acks[f].history.zxid, -f))


def on_ack_e(
    l: Leader,
    sender: ProcessId,
    m: AckE,
    choose: Callable[[Mapping[ProcessId, AckE]], ProcessId] = latest_follower,
) -> list[Effect]:
    """Steps l.1.2 and l.2.1: with ACK-Es of a quorum, choose I_e', then propose it with NEWLEADER(e', I_e').

    An ACK-E that does not count, before there is an I_e', tells of a promise whose answer will never come: to go on
    waiting for a quorum could be for ever, so the leader drops the iteration and can propose a later epoch.
    """
    if not l.leads or l.links.get(sender) is not Link.ASKED:
        return []
    l.links = {**l.links, sender: Link.DISCOVERED}
    if l.proposed is not None:
        return propose_history(l, [sender])
    if m.counts:
        l.acks_e = {**l.acks_e, sender: m}
    elif sender not in l.acks_e:
        return [GiveUp("a promise of e' was made, and its answer lost")]
    if not l.is_quorum(l.acks_e):
        return []
    best = l.acks_e[choose(l.acks_e)].history
    l.proposed = received(l.history, best)
    l.proposed_base = base_of(l.history, l.base, best, l.proposed)
    l.initial = l.proposed.zxid
    return propose_history(l, [follower for follower, link in l.links.items() if link is Link.DISCOVERED])


# Phase 2: synchronization.


def propose_history(l: Leader, followers: Collection[ProcessId]) -> list[Effect]:
    """Step l.2.1, and its repetition for late joiners in step l.3.3: NEWLEADER(e', I_e' ∘ β_e')."""
    assert l.proposed is not None
    l.links = {**l.links, **dict.fromkeys(followers, Link.PROPOSED)}
    base = l.base if l.current_epoch == l.new_epoch else l.proposed_base  # its log may have been cut since
    return [
        Send(follower, NewLeader(l.new_epoch, carry(l.proposed, base, l.lasts.get(follower)))) for follower in followers
    ]


Acks = Mapping[ProcessId, Zxid]
"""The highest zxid that each of some followers acknowledged."""
NO_ACKS: Acks = {}
Accepted = Callable[[Sequence[tuple[ProcessId, Zxid]], Zxid], bool]
"""Tells whether a zxid may be committed, by the highest zxid that each follower has acknowledged."""


def on_ack_ld(l: Leader, sender: ProcessId, m: AckLd, others: Acks = NO_ACKS) -> list[Effect]:
    """Steps l.2.2 and l.3.4: with ACK-LDs of a quorum the leader is established, and commits e'.

    An ACK-LD counts as an ACK of everything that it covers. The COMMIT-LD that answers a late one carries the last
    zxid that this leader committed, not the one of the ACK-LD: that may not be committed yet. (A mutant counts `others`
    as well.)
    """
    if not l.leads or l.links.get(sender) is not Link.PROPOSED:
        return []
    l.acks = {**l.acks, sender: m.zxid}
    # The sender is not SYNCED yet: what its ACK-LD helps to commit, its own COMMIT-LD will tell it.
    commits = commit_acknowledged(l, l.is_accepted, others) if l.established else []
    l.links = {**l.links, sender: Link.SYNCED}
    l.brought = brought_by(l, sender, m)
    l.path = given_a_place(l, sender)
    if l.established:
        return [*commits, Send(sender, CommitLd(l.new_epoch, l.committed))]
    if not l.is_quorum([*l.acks, *others]):
        return []
    l.established = True
    l.committed = l.initial
    effects: list[Effect] = [Establish(l.id, l.incarnation, l.new_epoch)]
    effects += [Send(f, CommitLd(l.new_epoch, l.committed)) for f, link in l.links.items() if link is Link.SYNCED]
    return effects


def brought_by(l: Leader, joiner: ProcessId, m: AckLd) -> dict[ProcessId, Zxid]:
    """Return `brought` when a follower has accepted NEWLEADER, for a leader that sends no COMMITs (LADIS 2008, 4.1).

    A late joiner has missed ACKs of transactions that its NEWLEADER brought. So it is sent COMMITs as long as those are
    not all committed. ACKs of a transaction that is proposed later reach it, as they are sent later, too.
    """
    brought = {each: zxid for each, zxid in l.brought.items() if each != joiner}
    if l.established and l.switches.counts_everywhere and m.zxid > l.committed:
        brought[joiner] = m.zxid
    return brought


# Phase 3: broadcast.

OVERFLOW = GiveUp("the counter would overflow")


def can_broadcast(l: Leader) -> bool:
    """Return True if ready(e') was called in this iteration: the primary may broadcast."""
    return l.instance != 0 and l.instance == l.new_epoch


def on_request(l: Leader, sender: ProcessId, m: Request) -> list[Effect]:
    """Step l.3.1: the primary broadcasts the next transaction of e', and the leader proposes it.

    LADIS 2008, 4.2: the number of proposals in flight is bounded. A request beyond that waits, and is broadcast, with
    the zxid that comes next then, once enough of them are committed.
    """
    if not can_broadcast(l):
        return []
    if not is_full(l):
        return broadcast(l, m.value)
    assert l.proposed is not None
    if l.proposed.zxid.counter + len(l.waiting) >= l.switches.counter_limit:
        return [OVERFLOW]
    l.waiting = (*l.waiting, m.value)
    return [Changed()]


def is_full(l: Leader) -> bool:
    """Return True if as many proposals as may be are not committed yet. O(log length) where there is a bound."""
    assert l.proposed is not None
    if not l.switches.is_bounded:
        return False
    return l.proposed.length - l.proposed.up_to(l.committed).length >= l.switches.outstanding


def broadcast_waiting(l: Leader) -> list[Effect]:
    """Step l.3.1 for the requests that wait, in their order, as far as there is room now."""
    effects: list[Effect] = []
    while l.waiting and not is_full(l):
        first, *others = l.waiting
        l.waiting = tuple(others)
        effects += broadcast(l, first)
    return effects


def broadcast(l: Leader, value: str, counter: int | None = None) -> list[Effect]:
    """abcast(⟨value, z⟩) with the next z of e', and PROPOSE to every follower that was sent NEWLEADER.

    Counters start at 1. One that would overflow forces a new epoch. (A mutant chooses `counter` itself.)
    """
    assert l.proposed is not None
    last = l.proposed.zxid
    if counter is None:
        counter = last.counter + 1 if last.epoch == l.new_epoch else 1
    if counter > l.switches.counter_limit:
        return [OVERFLOW]
    txn = Txn(Zxid(l.new_epoch, counter), value)
    l.proposed = l.proposed.append(txn)
    proposal = Propose(l.new_epoch, txn, last if l.switches.relays else None)
    proposed = [each for each, link in l.links.items() if link is Link.PROPOSED or link is Link.SYNCED]
    return [Broadcast(l.id, l.incarnation, l.new_epoch, txn), *disseminate(l, proposal, proposed)]


def on_ack(
    l: Leader,
    sender: ProcessId,
    m: Ack,
    is_accepted: Accepted | None = None,
    others: Acks = NO_ACKS,
) -> list[Effect]:
    """Step l.3.2: commit what a quorum of followers has accepted. (Mutants choose `is_accepted`, or count `others`.)

    Where followers send their ACKs to all, one may come from a follower of another leader.
    """
    if not l.leads:
        return keep_ack(l, sender, m) if l.switches.counts_everywhere else []
    if sender not in l.acks or (l.switches.counts_everywhere and m.epoch != l.new_epoch):
        return []
    l.acks = {**l.acks, sender: m.zxid}
    if m.zxid <= l.committed:
        return []  # nothing that this could help to commit
    return commit_acknowledged(l, is_accepted or l.is_accepted, others)


def commit_acknowledged(l: Leader, is_accepted: Accepted, others: Acks = NO_ACKS) -> list[Effect]:
    """COMMIT the highest zxid that a quorum has acknowledged, unless it is committed already.

    Then there is room for requests that wait.
    """
    acks = [*l.acks.items(), *others.items()]
    for zxid in sorted([*l.acks.values(), *others.values()], reverse=True):
        if zxid <= l.committed:
            break
        if is_accepted(acks, zxid):
            l.committed = zxid
            commits = disseminate(l, Commit(l.new_epoch, zxid), those_to_tell(l))
            l.brought = {each: last for each, last in l.brought.items() if last > zxid}
            return [*commits, *broadcast_waiting(l)]
    return []


def those_to_tell(l: Leader) -> list[ProcessId]:
    """Return the followers to which a COMMIT goes: all that acknowledged NEWLEADER.

    Where they count ACKs themselves, only those of them that have missed some, and the leader's own.
    """
    synced = [each for each, link in l.links.items() if link is Link.SYNCED]
    return [each for each in synced if each == l.id or each in l.brought] if l.switches.counts_everywhere else synced


# The end of an iteration (V-B).


def on_lost(l: Leader, sender: ProcessId, m: Lost) -> list[Effect]:
    """V-B: the leader considers that follower down; without a quorum of followers it gives up its leadership."""
    if not l.leads:
        return on_lost_leader(l, m)
    l.links = {each: link for each, link in l.links.items() if each != m.peer}
    l.brought = {each: last for each, last in l.brought.items() if each != m.peer}
    if l.new_epoch and not l.is_quorum(l.links):
        return [GiveUp("no quorum of followers is left")]
    return rebuild(l, m.peer)
