"""The steps that the mutants of the catalogue take instead of those of Zab: each is one step, with one thing wrong."""

from collections.abc import Collection, Hashable, Mapping, Sequence
from typing import Any

from msgspec import structs

from zabcheck.invariants import AckEpoch, Chain, Deliver, Zxid
from zabcheck.invariants.quorums import Quorums
from zabcheck.protocols.base import AddedState, Connect, Effect, Elected, ProcessId, Request, Send, Started
from zabcheck.protocols.switches import Switches
from zabcheck.protocols.zab.follower import (
    accept_initial_history,
    accept_proposal,
    on_commit,
    on_commit_ld,
    on_elected,
    on_newepoch,
    on_newleader,
    on_propose,
    promise,
    provide_history,
)
from zabcheck.protocols.zab.histories import Whole, received
from zabcheck.protocols.zab.leader import (
    Acks,
    broadcast,
    can_broadcast,
    on_ack,
    on_ack_e,
    on_ack_ld,
    on_cepoch,
    on_request,
)
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
from zabcheck.protocols.zab.process import Follower, Leader, Link, Phase, Process, on_started, restore_snapshot, start


class HalfOfThem(Quorums, frozen=True):
    """Any ⌊n/2⌋ processes (one, at least) are a quorum: two of these need not intersect."""

    def contains(self, members: Collection[int]) -> bool:
        return len(members) >= max(1, self.size // 2)


def start_with_half_of_them(
    process: ProcessId, incarnation: int, quorums: Quorums, durable: Mapping[str, Any], switches: Switches
) -> Process:
    """Start a process with a wrong idea of what a quorum is."""
    return start(process, incarnation, HalfOfThem(quorums.size), durable, switches)


def highest_promise(promises: Collection[int]) -> int:
    """Step l.1.1, but e' is the highest of the epochs promised, and not one more; 1, if there is none."""
    return max(1, *promises)


def promise_again(f: Follower, sender: ProcessId, m: NewEpoch) -> list[Effect]:
    """Step f.1.2, but e' = f.p is promised like a new epoch."""
    if sender == f.leader and f.phase is Phase.DISCOVERY and m.epoch == f.accepted_epoch:
        return promise(f, sender, m)
    return on_newepoch(f, sender, m)


def accept_equal_epoch(f: Follower, sender: ProcessId, m: NewEpoch) -> list[Effect]:
    """Step f.1.2, but e' = f.p is acknowledged as a new promise, whoever proposes it."""
    if sender == f.leader and f.phase is Phase.DISCOVERY and m.epoch == f.accepted_epoch:
        f.phase = Phase.SYNCHRONIZATION
        return provide_history(f, sender, m)
    return on_newepoch(f, sender, m)


def promise_before_disk(f: Follower, sender: ProcessId, m: NewEpoch) -> list[Effect]:
    """Step f.1.2, but ACK-E goes out before f.p is on the disk."""
    return _sent_first(on_newepoch(f, sender, m))


def ack_before_disk(f: Follower, sender: ProcessId, m: Propose) -> list[Effect]:
    """Step f.3.2, but ACK goes out before the proposal is on the disk."""
    return _sent_first(on_propose(f, sender, m))


def _sent_first(effects: list[Effect]) -> list[Effect]:
    sent = [effect for effect in effects if isinstance(effect, Send | AckEpoch)]
    return sent + [effect for effect in effects if effect not in sent]


def commit_on_own_ack(l: Leader, sender: ProcessId, m: Ack) -> list[Effect]:
    """Step l.3.2, but the leader's own ACK is enough."""
    return on_ack(l, sender, m, is_accepted=lambda acks, zxid: (l.id, True) in [(f, a >= zxid) for f, a in acks])


def deliver_named_on_commit_ld(f: Follower, sender: ProcessId, m: CommitLd) -> list[Effect]:
    """Step f.2.2, but of what is not delivered only the transaction that COMMIT-LD names is."""
    return _only_last_delivery(on_commit_ld(f, sender, m))


def deliver_named_on_commit(f: Follower, sender: ProcessId, m: Commit) -> list[Effect]:
    """Step f.3.3, but of what is not delivered only the transaction that COMMIT names is."""
    return _only_last_delivery(on_commit(f, sender, m))


def _only_last_delivery(effects: list[Effect]) -> list[Effect]:
    delivered = [effect for effect in effects if isinstance(effect, Deliver)]
    return [effect for effect in effects if effect not in delivered[:-1]]


def may_broadcast_early(l: Leader) -> bool:
    """Broadcasting is possible as soon as the initial history is chosen."""
    return can_broadcast(l) or (l.leads and l.proposed is not None)


def broadcast_early(l: Leader, sender: ProcessId, m: Request) -> list[Effect]:
    """Step l.3.1, but without waiting for a quorum of ACK-LDs and ready(e')."""
    return broadcast(l, m.value) if may_broadcast_early(l) else on_request(l, sender, m)


def keep_old_link(f: Follower, sender: ProcessId, m: Elected) -> list[Effect]:
    """Step f.1.1, but a follower that goes to another leader leaves its connection to the one before open."""
    goes_on = f.leader is not None and not f.leads and m.leader not in (f.leader, f.id)
    _, *answer = on_elected(f, sender, m)
    return [Connect(m.leader, closes=not goes_on), *answer]


def accept_from_any_leader(f: Follower, sender: ProcessId, m: Propose) -> list[Effect]:
    """Step f.3.2, but whoever sends a proposal has it accepted."""
    return [] if m.txn.zxid <= f.history.zxid else accept_proposal(f, sender, m)


def follower_of_highest_zxid(acks: Mapping[ProcessId, AckE]) -> ProcessId:
    """Step l.1.2, but f.a is not looked at."""
    return max(acks, key=lambda f: (acks[f].history.zxid, -f))


def keep_own_history(l: Leader, sender: ProcessId, m: AckE) -> list[Effect]:
    """Step l.1.2, but whatever the followers have, I_e' is what the leader has."""
    return on_ack_e(l, sender, structs.replace(m, history=Whole(l.history, l.base)))


def keep_longer_history(f: Follower, sender: ProcessId, m: NewLeader) -> list[Effect]:
    """Step f.2.1, but a follower that has more than I_e' keeps what it has."""
    if sender != f.leader or f.phase is not Phase.SYNCHRONIZATION or m.epoch != f.accepted_epoch:
        return on_newleader(f, sender, m)
    history = received(f.history, m.history)
    return accept_initial_history(f, m, f.history if f.history.length > history.length else history)


def keep_private_transactions(f: Follower, sender: ProcessId, m: NewLeader) -> list[Effect]:
    """Step f.2.1, but what the follower has and I_e' does not is kept, in its place."""
    if sender != f.leader or f.phase is not Phase.SYNCHRONIZATION or m.epoch != f.accepted_epoch:
        return on_newleader(f, sender, m)
    merged = sorted({*f.history, *received(f.history, m.history)})
    return accept_initial_history(f, m, Chain.of(merged))


class AcksOfOldConnections(AddedState, frozen=True):
    """The highest zxid that each follower acknowledged on its last connection but one."""

    acks: Mapping[ProcessId, Zxid] = {}

    def abandoned(self) -> AddedState:
        return AcksOfOldConnections()

    def identity(self, process: Process) -> Hashable:
        """Return the ACKs that still matter: as elsewhere, those of committed transactions do not."""
        return frozenset((follower, max(zxid, process.committed)) for follower, zxid in self.acks.items())

    def renamed(self, names: Sequence[ProcessId]) -> AddedState:
        return AcksOfOldConnections({names[follower]: zxid for follower, zxid in self.acks.items()})

    def described(self) -> dict[str, str | tuple[str, ...]]:
        return {"old ACKs": tuple(f"p{follower} {zxid}" for follower, zxid in sorted(self.acks.items()))}


def _old_acks(l: Leader) -> Acks:
    assert isinstance(l.added, AcksOfOldConnections)
    return l.added.acks


def keep_acks_of_old_connection(l: Leader, sender: ProcessId, m: CEpoch) -> list[Effect]:
    """Step l.3.3, but ACKs belong to a connection: those of the last one still count, beside those of the new one."""
    if l.leads and sender in l.acks:
        acks = dict(l.acks)
        l.added = AcksOfOldConnections({**_old_acks(l), sender: acks.pop(sender)})
        l.acks = acks
    return on_cepoch(l, sender, m)


def establish_with_old_acks(l: Leader, sender: ProcessId, m: AckLd) -> list[Effect]:
    """Steps l.2.2 and l.3.4, but the ACKs of old connections count as those of more followers."""
    return on_ack_ld(l, sender, m, others=_old_acks(l))


def commit_with_old_acks(l: Leader, sender: ProcessId, m: Ack) -> list[Effect]:
    """Step l.3.2, but the ACKs of old connections count as those of more followers."""
    return on_ack(l, sender, m, others=_old_acks(l))


def broadcast_to_synced(l: Leader, sender: ProcessId, m: Request) -> list[Effect]:
    """Step l.3.1, but a follower that has yet to acknowledge NEWLEADER gets no PROPOSE."""
    effects = on_request(l, sender, m)
    return [each for each in effects if not isinstance(each, Send) or l.links[each.to] is Link.SYNCED]


def propose_again_to_late_joiner(l: Leader, sender: ProcessId, m: CEpoch) -> list[Effect]:
    """Step l.3.3, but what is not committed yet, which NEWLEADER has, comes once more as PROPOSE behind it."""
    effects = on_cepoch(l, sender, m)
    if l.proposed is None:
        return effects
    settled = l.proposed.up_to(max(l.initial, l.committed))
    return effects + [Send(sender, Propose(l.new_epoch, txn)) for txn in l.proposed.after(settled.length)]


def accept_again(f: Follower, sender: ProcessId, m: Propose) -> list[Effect]:
    """Step f.3.2, but a duplicate is accepted as well."""
    return accept_proposal(f, sender, m) if sender == f.leader else []


def commit_what_was_acknowledged(l: Leader, sender: ProcessId, m: AckLd) -> list[Effect]:
    """Step l.3.4, but the COMMIT-LD that answers a late ACK-LD carries the zxid of that ACK-LD."""
    late = l.established
    return [
        Send(each.to, CommitLd(l.new_epoch, m.zxid))
        if late and isinstance(each, Send) and isinstance(each.message, CommitLd)
        else each
        for each in on_ack_ld(l, sender, m)
    ]


def start_from_altered_log(f: Process, sender: ProcessId, m: Started) -> list[Effect]:
    """Recovery, but the digests of the records are not looked at."""
    return restore_snapshot(f)


def ready_before_delivering(f: Follower, sender: ProcessId, m: CommitLd) -> list[Effect]:
    """Steps f.2.2 and f.3.1, but the initial history is not delivered yet."""
    before = f.delivered
    effects = on_commit_ld(f, sender, m)
    f.delivered = before if f.history.starts_with(before) and len(before) >= len(f.base) else f.base
    return [effect for effect in effects if not isinstance(effect, Deliver)]


def deliver_new_before_old(f: Follower, sender: ProcessId, m: Commit) -> list[Effect]:
    """Step f.3.3, but what is of this epoch comes before the rest of the initial history."""
    effects = on_commit(f, sender, m)
    new = [each for each in effects if isinstance(each, Deliver) and each.txn.zxid.epoch == f.current_epoch]
    return new + [each for each in effects if each not in new]


def recover_past_a_gap(f: Process, sender: ProcessId, m: Started) -> list[Effect]:
    """Recovery, but the first transaction after the snapshot is taken as delivered already."""
    effects = on_started(f, sender, m)
    if m.intact and f.history.starts_with(f.delivered) and f.history.length > f.delivered.length:
        f.delivered = f.history.prefix(f.delivered.length + 1)
    return effects


def broadcast_with_wrapped_counter(l: Leader, sender: ProcessId, m: Request) -> list[Effect]:
    """Step l.3.1, but the counter after the last one is 1 again, in the same epoch."""
    last = Zxid(l.new_epoch, l.switches.counter_limit)
    full = can_broadcast(l) and l.proposed is not None and l.proposed.zxid == last
    return broadcast(l, m.value, counter=1) if full else on_request(l, sender, m)
