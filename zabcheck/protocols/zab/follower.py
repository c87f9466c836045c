"""The steps of a follower (DSN 2011, IV and V-C): f.1.1 to f.3.3.

The follower trusts its channel (FIFO, one iteration): it drops duplicates, ignores a COMMIT of what it does not have,
and has no other guard. Sanity checks that stop the process (LADIS 2008, 3) would hide the bugs they guard against.
"""

from collections.abc import Callable, Collection

from zabcheck.invariants import (
    EMPTY,
    NO_ZXID,
    Accept,
    AckEpoch,
    Adopt,
    Chain,
    CommitEpoch,
    Deliver,
    Promise,
    Ready,
    Restore,
    Truncate,
    Zxid,
)
from zabcheck.protocols.base import (
    Cast,
    Changed,
    Connect,
    Effect,
    Elected,
    GiveUp,
    Lost,
    Persist,
    ProcessId,
    Send,
    TimedOut,
)
from zabcheck.protocols.zab.histories import base_of, carry, lasts_of, received
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
from zabcheck.protocols.zab.process import Follower, Phase, abandon
from zabcheck.protocols.zab.relays import in_order, is_of_this_iteration, keep_commit, pass_on

# Phase 1: discovery.


def on_elected(f: Follower, sender: ProcessId, m: Elected) -> list[Effect]:
    """Step f.1.1: a new iteration; send CEPOCH(f.p) to the prospective leader.

    V-C says CEPOCH(f.a); with f.a a leader could propose an epoch that a follower has promised to another.
    """
    abandon(f)
    f.leader = m.leader
    f.phase = Phase.DISCOVERY
    return [Connect(m.leader), Send(m.leader, CEpoch(f.accepted_epoch, lasts(f)))]


def lasts(f: Follower) -> tuple[Zxid, ...] | None:
    """Return what the other side needs to know to send only what is missing; None if it is to send everything."""
    return lasts_of(f.history) if f.switches.histories == "missing" else None


def on_newepoch(f: Follower, sender: ProcessId, m: NewEpoch) -> list[Effect]:
    """Step f.1.2: promise e', then answer ACK-E(f.a, h_f).

    The promise is durable before it is sent: a crash between the two must not forget it. A follower that promised e'
    in an earlier iteration, to whomever, may join a leader of e', but its answer does not count for phase 1: the paper
    lets it acknowledge only e' > f.p (ZooKeeper's follower sends -1 for its epoch then). That answer need not wait for
    the disk: it promises nothing, and ACK-LD comes behind f.p in the write order. It provides no initial history
    either, so it shows no `AckEpoch`: its h_f may hold writes that a crash would lose, and nobody chooses it.
    """
    if sender != f.leader or f.phase is not Phase.DISCOVERY:
        return []  # left over from an abandoned iteration
    if m.epoch < f.accepted_epoch:
        return [GiveUp("NEWEPOCH is older than f.p")]
    if m.epoch == f.accepted_epoch:
        f.phase = Phase.SYNCHRONIZATION
        return [Send(sender, AckE(f.current_epoch, carry(f.history, f.base, m.lasts), counts=False))]
    return promise(f, sender, m)


def promise(f: Follower, sender: ProcessId, m: NewEpoch) -> list[Effect]:
    """Promise e', as in step f.1.2, and give the answer that counts."""
    f.phase = Phase.SYNCHRONIZATION
    f.accepted_epoch = m.epoch
    return [
        Persist(accepted_epoch=m.epoch),
        Promise(f.id, f.incarnation, m.epoch, sender),
        *provide_history(f, sender, m),
    ]


def provide_history(f: Follower, sender: ProcessId, m: NewEpoch) -> list[Effect]:
    """Answer as in step f.1.2: ACK-E(f.a, h_f), by which f provides h_f as the initial history of e'."""
    h = f.history
    return [
        AckEpoch(f.id, f.incarnation, m.epoch, f.current_epoch, h.zxid, h.length, h.hash),
        Send(sender, AckE(f.current_epoch, carry(h, f.base, m.lasts))),
    ]


# Phase 2: synchronization.


def on_newleader(f: Follower, sender: ProcessId, m: NewLeader) -> list[Effect]:
    """Step f.2.1: if f.p = e', set f.a and h_f to e' and I_e' in one atomic write, then acknowledge.

    With f.p ≠ e' the follower starts a new iteration.
    """
    if sender != f.leader or f.phase is not Phase.SYNCHRONIZATION:
        return []
    if m.epoch != f.accepted_epoch:
        return [GiveUp("NEWLEADER is not of the epoch promised")]
    return accept_initial_history(f, m, received(f.history, m.history))


def accept_initial_history(f: Follower, m: NewLeader, history: Chain) -> list[Effect]:
    """Do the atomic part of step f.2.1, with `history` as I_e'.

    A snapshot that comes with it, because the leader's log was cut below it, is written with it.
    """
    old, f.history, f.current_epoch = f.history, history, m.epoch
    if f.switches.relays:
        f.known = NO_ZXID
    effects: list[Effect] = [Persist(current_epoch=m.epoch, history=history)]
    base = base_of(old, f.base, m.history, history)
    if base != f.base:
        f.base = base
        if f.snapshot.length < f.base.length or not f.snapshot.starts_with(f.base):
            f.snapshot = f.base
        effects = [Persist(current_epoch=m.epoch, history=history, snapshot=f.snapshot, base=f.base)]
    if not history.starts_with(old):
        kept = history.common_prefix(old)
        effects.append(Truncate(f.id, f.incarnation, kept.zxid, kept.length))
    effects.append(Adopt(f.id, f.incarnation, m.epoch, history.zxid, history.length, history.hash))
    assert f.leader is not None
    effects.append(Send(f.leader, AckLd(m.epoch, m.history.zxid)))
    return [*effects, *tell_others(f, Ack(m.epoch, m.history.zxid))]


def as_the_leader_says(f: Follower, m: CommitLd) -> Zxid:
    """Return how far the leader has committed."""
    return m.zxid


def on_commit_ld(
    f: Follower,
    sender: ProcessId,
    m: CommitLd,
    committed: Callable[[Follower, CommitLd], Zxid] = as_the_leader_says,
) -> list[Effect]:
    """Steps f.2.2 and f.3.1: deliver the initial history, in order; then, if leading, call ready(e').

    COMMIT-LD carries how far the leader has committed: for a late joiner, part of NEWLEADER may not be. What this
    incarnation has delivered before is not delivered again; that changes nothing, as only first deliveries count
    (definition VI.4). What only a snapshot stands for is taken over from that. (A mutant goes by another zxid.)
    """
    if sender != f.leader or f.phase is not Phase.SYNCHRONIZATION or f.current_epoch != m.epoch:
        return []
    f.phase = Phase.BROADCAST
    effects: list[Effect] = [CommitEpoch(f.id, f.incarnation, m.epoch)]
    if not f.history.starts_with(f.delivered):
        f.delivered = EMPTY  # the initial history does not continue what was delivered: deliver all of it
    if f.delivered.length < f.base.length:
        f.delivered = f.base  # the log does not go back so far: the application takes the snapshot over
        effects.append(Restore(f.id, f.incarnation, f.base.zxid, f.base.length, f.base.hash))
    effects += deliver_up_to(f, committed(f, m))
    effects += deliver_acknowledged(f)
    effects += deliver_known(f)
    if f.leads:
        f.instance = m.epoch
        effects.append(Ready(f.id, f.incarnation, m.epoch))
    return effects


# Phase 3: broadcast.


def on_propose(f: Follower, sender: ProcessId, m: Propose) -> list[Effect]:
    """Step f.3.2: accept the proposal, durably, then acknowledge it.

    A follower that was sent NEWLEADER gets proposals even before COMMIT-LD, and accepts them.
    """
    if f.switches.relays:
        return on_propose_of_path(f, m)
    if sender != f.leader or m.txn.zxid <= f.history.zxid:
        return []  # a duplicate
    return accept_proposal(f, sender, m)


def accept_proposal(f: Follower, sender: ProcessId, m: Propose) -> list[Effect]:
    """Do the atomic part of step f.3.2, and answer."""
    f.history = f.history.append(m.txn)
    return [
        Persist(history=f.history),
        Accept(f.id, f.incarnation, m.epoch, m.txn),
        Send(sender, Ack(m.epoch, m.txn.zxid)),
        *tell_others(f, Ack(m.epoch, m.txn.zxid)),
    ]


def on_commit(f: Follower, sender: ProcessId, m: Commit) -> list[Effect]:
    """Step f.3.3: deliver what is not yet delivered up to z, in the order of the history.

    The history includes writes that this follower has not synced. That is safe: a quorum has synced them, and a
    snapshot comes behind them in the write order.
    """
    if f.switches.relays:
        return on_commit_of_path(f, m)
    if sender != f.leader or f.phase is not Phase.BROADCAST:
        return []
    return deliver_up_to(f, m.zxid)


def deliver_up_to(f: Follower, zxid: Zxid) -> list[Effect]:
    """abdeliver everything of h_f up to `zxid` that is not delivered; nothing if h_f does not have `zxid`."""
    target = f.history.up_to(zxid)
    if target.zxid != zxid:
        return []
    done = f.delivered.length
    if target.length <= done:
        return []
    f.delivered = target
    return [Deliver(f.id, f.incarnation, txn) for txn in target.after(done)]


# Broadcast along a chain or a tree (DSN 2011, VII): the steps of `relays`.


def on_propose_of_path(
    f: Follower, m: Propose, accepted: Callable[[Follower, Propose], Collection[Propose]] = in_order
) -> list[Effect]:
    """Step f.3.2 with relays: pass a proposal on (T.3), and accept what continues h_f (T.4). (A mutant accepts more.)

    Each ACK goes straight to the leader.
    """
    if not is_of_this_iteration(f, m):
        return []
    assert f.leader is not None
    effects = [Changed(), *pass_on(f, m)]
    for each in accepted(f, m):
        effects += accept_proposal(f, f.leader, each)
    return [*effects, *deliver_known(f)]


def on_commit_of_path(f: Follower, m: Commit) -> list[Effect]:
    """Step f.3.3 with relays: pass a COMMIT on (T.3), and deliver up to it as soon as that is possible (T.5)."""
    if not is_of_this_iteration(f, m):
        return []
    return [*pass_on(f, m), *keep_commit(f, m), *deliver_known(f)]


def deliver_known(f: Follower) -> list[Effect]:
    """Deliver, after COMMIT-LD, what is known to be committed by a COMMIT, as far as this follower has it (T.5)."""
    if f.known is None or f.phase is not Phase.BROADCAST:
        return []
    return deliver_up_to(f, min(f.known, f.history.zxid))


# Broadcast without COMMITs (LADIS 2008, 4.1): each follower sends its ACKs to all, and each process counts for itself.


def tell_others(f: Follower, ack: Ack) -> list[Effect]:
    """Send an ACK, after that to the leader, to all other processes, and count it; nothing where the leader COMMITs.

    An ACK-LD tells them as much as an ACK of the last transaction that it covers, or without it they could not know
    that this is accepted by a quorum.
    """
    if not f.switches.counts_everywhere:
        return []
    others = [each for each in range(1, f.quorums.size + 1) if each not in (f.id, f.leader)]
    own = [] if f.leads else [Send(f.id, ack)]
    return [*own, *(Cast(each, ack) for each in others)]


def keep_ack(f: Follower, sender: ProcessId, m: Ack) -> list[Effect]:
    """Keep the ACK of another follower, or the own one, and deliver what is acknowledged by a quorum now.

    It may have overtaken the PROPOSE, and even the NEWEPOCH, as these come on another link: so it is kept in any phase,
    and counts once f.p is its epoch. ACKs of an epoch that this follower has left never do.
    """
    if f.phase is Phase.ELECTION or m.epoch < f.accepted_epoch:
        return []
    f.heard = {**f.heard, sender: m}
    return [Changed(), *deliver_acknowledged(f)]


def deliver_acknowledged(f: Follower) -> list[Effect]:
    """Deliver, after COMMIT-LD, what a quorum has acknowledged in the epoch of this follower, as far as it has that."""
    if f.phase is not Phase.BROADCAST:
        return []
    return deliver_up_to(f, min(acknowledged(f), f.history.zxid))


def acknowledged(f: Follower) -> Zxid:
    """Return the highest zxid that, as far as this follower knows, a quorum has accepted in its epoch."""
    acks = [(each, ack.zxid) for each, ack in f.heard.items() if ack.epoch == f.accepted_epoch]
    return max((zxid for _, zxid in acks if f.is_accepted(acks, zxid)), default=NO_ZXID)


# The end of an iteration (V-C).


def on_timed_out(f: Follower, sender: ProcessId, m: TimedOut) -> list[Effect]:
    """V-B and V-C: without heartbeats a follower abandons its leader, a leader its leadership."""
    if f.phase is Phase.ELECTION:
        return []
    return [GiveUp("time-out")]


def on_lost_leader(f: Follower, m: Lost) -> list[Effect]:
    """V-C: the connection to the leader is closed; the follower goes back to ELECTION."""
    return [GiveUp("the leader closed the connection")] if m.peer == f.leader else []
