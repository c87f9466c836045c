"""Recovery mode (LADIS 2008, 4.2), repaired: the gaps of the text are filled, and nothing else is changed.

The differences from the letter (`zabcheck.protocols.ladis.letter`), and their reasons:

- "Requiring that a quorum of servers recognize a server as the leader for that epoch": here a server recognises a
  leader durably before it takes anything from it, and only one leader for each epoch. In the letter, nothing on the
  disk keeps two leaders from taking the same epoch (ZOOKEEPER-335). So the new epoch is greater than that of the
  highest zxid in the log *and* than any epoch that the quorum has recognised: a leader that failed may have left no
  zxid.
- "Using a zxid with the epoch bits set to this new epoch and the counter set to zero": here the leader begins its epoch
  with a record of that zxid, which its followers write to their logs. Without the record, a log that a later leader has
  taken over is not higher than a log that it has passed over, and what the later leader committed can be lost.
- The leader tells a follower to truncate its log "to the last committed proposal for that epoch", the epoch of the
  follower's latest proposal. The leader may have none of that epoch. So a follower tells the last zxid of each epoch
  that it has, and the leader finds the last one that both have.
- The truncation, the proposals and the new leader's record become durable at the follower in one write. Written one by
  one, a crash in between leaves a log that no leader ever had.

Leader election is the adversarial oracle: it may name any server. "Having the new leader being a server process with
highest zxid is an optimization": a leader without it finds the server that has it, and fetches what it lacks.
"""

from zabcheck.invariants import Adopt, Chain, Promise, Truncate, Zxid
from zabcheck.protocols.base import Changed, Connect, Effect, Elected, GiveUp, Persist, ProcessId, Send
from zabcheck.protocols.ladis.broadcast import acknowledge
from zabcheck.protocols.ladis.messages import (
    AckEpoch,
    Commit,
    Fetch,
    FollowerInfo,
    NewEpoch,
    NewLeader,
    Proposal,
    Supply,
    Trunc,
)
from zabcheck.protocols.ladis.process import Follower, Leader, Mode, abandon, epoch_of, first_of
from zabcheck.protocols.zab.histories import last_common, lasts_of


def on_elected(f: Follower, sender: ProcessId, m: Elected) -> list[Effect]:
    """4: a server that comes online starts in recovery mode, and connects to the leader."""
    abandon(f)
    f.leader = m.leader
    f.mode = Mode.RECOVERY
    return [Connect(m.leader), Send(m.leader, FollowerInfo(f.zxid, f.recognised, lasts(f.history)))]


def lasts(history: Chain) -> tuple[int, ...]:
    """Return the last zxid of each epoch in the log, packed, the latest first."""
    return tuple(zxid.packed() for zxid in lasts_of(history))


def common(log: Chain, told: tuple[int, ...]) -> Zxid:
    """Return the highest zxid in both `log` and the log with these `lasts`; up to it the two logs are the same."""
    return last_common(log, tuple(map(Zxid.unpack, told)))


# The leader is recognised.


def on_follower_info(l: Leader, sender: ProcessId, m: FollowerInfo) -> list[Effect]:
    """4.2: with a quorum, choose the epoch: one more than that of the highest zxid, and than any recognised.

    A follower that connects later is asked to recognise the leader as well.
    """
    if not l.leads:
        return []
    l.followers = {**l.followers, sender: m}
    l.recognisers = tuple(each for each in l.recognisers if each != sender)
    l.listed = tuple(each for each in l.listed if each != sender)
    if l.epoch:
        return [Send(sender, NewEpoch(l.epoch))]
    if not l.quorums.contains(l.followers):
        return []
    l.highest = l.zxid
    l.epoch = 1 + max(max(epoch_of(info.zxid), info.epoch) for info in l.followers.values())
    return [*(Send(each, NewEpoch(l.epoch)) for each in l.followers), *fetch(l, tuple(l.followers))]


def on_new_epoch(f: Follower, sender: ProcessId, m: NewEpoch) -> list[Effect]:
    """4.2: a quorum of servers recognizes a server as the leader for an epoch; durably, and one for each epoch."""
    if sender != f.leader or f.incoming is not None:
        return []
    if m.epoch < f.recognised:
        return [GiveUp("a leader of a later epoch was recognised")]
    f.incoming = f.history
    if m.epoch == f.recognised:
        return [Send(sender, AckEpoch(m.epoch, counts=False))]
    f.recognised = m.epoch
    return [
        Persist(recognised=m.epoch),
        Promise(f.id, f.incarnation, m.epoch, sender),
        Send(sender, AckEpoch(m.epoch)),
    ]


def on_ack_epoch(l: Leader, sender: ProcessId, m: AckEpoch) -> list[Effect]:
    """4.2: recognised by a quorum, and with the highest zxid of it, the leader takes over.

    An ACKEPOCH that does not count, before that, shows that another leader may have been recognised for this epoch: the
    leader gives up, and can choose a later epoch.
    """
    if not l.leads or sender not in l.followers or m.epoch != l.epoch:
        return []
    if l.log is not None:
        return synchronise(l, sender)
    if not m.counts:
        return [GiveUp("the epoch was recognised before")]
    l.recognisers = (*l.recognisers, sender)
    return take_over_if_recognised(l)


# The leader has the highest zxid of a quorum.


def fetch(l: Leader, quorum: tuple[ProcessId, ...]) -> list[Effect]:
    """4.2: find out from a group of followers which one contains the highest zxid, and fetch missing transactions.

    Of several that have it the first in `quorum` is asked, which came first: by its name none is before another.
    Returns no effects if the leader itself has the highest zxid.
    """
    best = max(quorum, key=lambda each: (l.followers[each].zxid, each == l.id))
    if l.followers[best].zxid <= l.highest:
        return []
    l.fetches_from = best
    return [Send(best, Fetch(lasts(l.history)))]


def on_fetch(f: Follower, sender: ProcessId, m: Fetch) -> list[Effect]:
    """4.2: the follower with the highest zxid supplies what the leader lacks."""
    if sender != f.leader:
        return []
    after = common(f.history, m.lasts)
    known = f.history.up_to(after).length
    return [Send(sender, Supply(after.packed(), tuple(f.history.after(known)), f.zxid))]


def on_supply(l: Leader, sender: ProcessId, m: Supply) -> list[Effect]:
    """4.2: what the leader has fetched takes the place of its own log; on its disk when it is its own follower."""
    return take_over_if_recognised(l) if has_fetched(l, sender, m) else []


def has_fetched(l: Leader, sender: ProcessId, m: Supply) -> bool:
    """Take SUPPLY over if the leader waits for it; return whether it does."""
    if not l.leads or l.fetches_from != sender:
        return False
    l.fetches_from = None
    l.fetched = supplied(l, m)
    l.highest = m.zxid
    return True


def supplied(l: Leader, m: Supply) -> Chain:
    """Return the log of the sender of SUPPLY, rebuilt from the part of it that the leader has."""
    history = l.history.up_to(Zxid.unpack(m.after))
    for txn in m.txns:
        history = history.append(txn)
    return history


def take_over_if_recognised(l: Leader) -> list[Effect]:
    """4.2: a newly elected leader proposes all messages that are in its log, to those that have recognised it."""
    if l.fetches_from is not None or not l.quorums.contains(l.recognisers):
        return []
    missing = fetch(l, l.recognisers)
    if missing:
        return missing
    l.log = l.history if l.fetched is None else l.fetched
    l.start = l.latest = first_of(l.epoch)
    return [effect for each in l.recognisers for effect in synchronise(l, each)]


# The followers are synchronised.


def synchronise(l: Leader, follower: ProcessId) -> list[Effect]:
    """4.2: queue any PROPOSAL that the follower has not seen, then a COMMIT up to the last message committed.

    Before the PROPOSALs, the follower is told to forget what the leader does not have; after them comes the record of
    the new leader, on which the follower writes it all. Then the leader adds the follower to the broadcast list for
    future PROPOSALs and ACKs.
    """
    assert l.log is not None
    told = l.followers[follower].lasts
    after = common(l.log, told)
    known = l.log.up_to(after).length
    effects: list[Effect] = [Send(follower, Trunc(after.packed()))] if told and told[0] != after.packed() else []
    effects += [Send(follower, Proposal(txn)) for txn in l.log.after(known)]
    effects.append(Send(follower, NewLeader(l.start)))
    if l.active:
        effects.append(Send(follower, Commit(l.committed)))
    l.listed = (*l.listed, follower)
    if l.switches.counts_everywhere and not (l.active and l.latest <= l.committed):
        l.brought = {**l.brought, follower: l.latest}
    return effects


def on_trunc(f: Follower, sender: ProcessId, m: Trunc) -> list[Effect]:
    """4.2: the leader tells the follower to truncate its log (i.e., forget); on the disk, with what comes behind it."""
    if sender != f.leader or f.incoming is None:
        return []
    f.incoming = f.incoming.up_to(Zxid.unpack(m.zxid))
    return [Changed()]


def on_new_leader(f: Follower, sender: ProcessId, m: NewLeader) -> list[Effect]:
    """4.2: the log of the leader, with a record of the new epoch and counter zero, on the disk in one write; then ACK.

    A follower whose log already has more of this epoch acknowledges that instead.
    """
    if sender != f.leader or f.incoming is None:
        return []
    old, f.history, f.incoming = f.history, f.incoming, None
    f.zxid = max(m.zxid, f.history.zxid.packed())
    effects: list[Effect] = [Persist(history=f.history, zxid=f.zxid)]
    if not f.history.starts_with(old):
        kept = f.history.common_prefix(old)
        effects.append(Truncate(f.id, f.incarnation, kept.zxid, kept.length))
    h = f.history
    effects.append(Adopt(f.id, f.incarnation, epoch_of(m.zxid), h.zxid, h.length, h.hash))
    return [*effects, *acknowledge(f)]
