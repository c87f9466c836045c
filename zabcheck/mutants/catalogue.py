"""Known bugs of Zab, each as one step replaced: the checker's own test.

An entry says what is wrong, where it comes from, which property breaks first when all are judged together, which
others break when judged alone, and the least set of faults that shows it.
"""

from collections.abc import Mapping
from functools import partial
from typing import Any

from msgspec import Struct, structs

from invariants import AckEpoch, Chain, Deliver, Zxid
from zabcheck.protocols import PROTOCOLS
from zabcheck.protocols.base import Effect, Message, ProcessId, Protocol, Request, Send, Started, Stimulus
from zabcheck.protocols.zab.follower import (
    accept_initial_history,
    on_commit,
    on_commit_ld,
    on_newepoch,
    on_newleader,
    on_propose,
    provide_history,
)
from zabcheck.protocols.zab.histories import received
from zabcheck.protocols.zab.leader import broadcast, can_broadcast, on_ack, on_ack_e, on_request
from zabcheck.protocols.zab.messages import Ack, AckE, Commit, CommitLd, NewEpoch, NewLeader, Propose
from zabcheck.protocols.zab.process import Follower, Leader, Link, Phase, Process, on_started, restore_snapshot


class Mutant(Struct, frozen=True):
    """One known bug. `steps` replaces entries of the protocol's table, `replaces` the other functions of it."""

    name: str
    protocol: str
    wrong: str
    source: str
    breaks: tuple[str, ...]
    faults: str
    steps: dict[type[Message] | type[Stimulus], Any]
    replaces: dict[str, Any] = {}

    def apply(self, protocol: Protocol) -> Protocol:
        """The protocol with this bug."""
        return structs.replace(protocol, steps={**protocol.steps, **self.steps}, **self.replaces)


def commit_on_own_ack(l: Leader, sender: ProcessId, m: Ack) -> list[Effect]:
    """Step l.3.2, but the leader's own ACK is enough."""
    return on_ack(l, sender, m, is_quorum=lambda followers: l.id in followers)


def accept_equal_epoch(f: Follower, sender: ProcessId, m: NewEpoch) -> list[Effect]:
    """Step f.1.2, but e' = f.p is acknowledged as a new promise, whoever proposes it."""
    if sender == f.leader and f.phase is Phase.DISCOVERY and m.epoch == f.accepted_epoch:
        f.phase = Phase.SYNCHRONIZATION
        return provide_history(f, sender, m)
    return on_newepoch(f, sender, m)


def may_broadcast_early(l: Leader) -> bool:
    """Broadcasting is possible as soon as the initial history is chosen."""
    return can_broadcast(l) or (l.leads and l.proposed is not None)


def broadcast_early(l: Leader, sender: ProcessId, m: Request) -> list[Effect]:
    """Step l.3.1, but without waiting for a quorum of ACK-LDs and ready(e')."""
    return broadcast(l, m.value) if may_broadcast_early(l) else on_request(l, sender, m)


def follower_of_highest_zxid(acks: Mapping[ProcessId, AckE]) -> ProcessId:
    """Step l.1.2, but f.a is not looked at."""
    return max(acks, key=lambda f: (acks[f].history.zxid, -f))


def keep_private_transactions(f: Follower, sender: ProcessId, m: NewLeader) -> list[Effect]:
    """Step f.2.1, but what the follower has and I_e' does not is kept, in its place."""
    if sender != f.leader or f.phase is not Phase.SYNCHRONIZATION or m.epoch != f.accepted_epoch:
        return on_newleader(f, sender, m)
    merged = sorted({*f.history, *received(f.history, m.history)})
    return accept_initial_history(f, m, Chain.of(merged))


def promise_before_disk(f: Follower, sender: ProcessId, m: NewEpoch) -> list[Effect]:
    """Step f.1.2, but ACK-E goes out before f.p is on the disk."""
    return _sent_first(on_newepoch(f, sender, m))


def ack_before_disk(f: Follower, sender: ProcessId, m: Propose) -> list[Effect]:
    """Step f.3.2, but ACK goes out before the proposal is on the disk."""
    return _sent_first(on_propose(f, sender, m))


def _sent_first(effects: list[Effect]) -> list[Effect]:
    sent = [effect for effect in effects if isinstance(effect, Send | AckEpoch)]
    return sent + [effect for effect in effects if effect not in sent]


def deliver_named_on_commit_ld(f: Follower, sender: ProcessId, m: CommitLd) -> list[Effect]:
    """Step f.2.2, but of what is not delivered only the transaction that COMMIT-LD names is."""
    return _only_last_delivery(on_commit_ld(f, sender, m))


def deliver_named_on_commit(f: Follower, sender: ProcessId, m: Commit) -> list[Effect]:
    """Step f.3.3, but of what is not delivered only the transaction that COMMIT names is."""
    return _only_last_delivery(on_commit(f, sender, m))


def _only_last_delivery(effects: list[Effect]) -> list[Effect]:
    delivered = [effect for effect in effects if isinstance(effect, Deliver)]
    return [effect for effect in effects if effect not in delivered[:-1]]


def broadcast_to_synced(l: Leader, sender: ProcessId, m: Request) -> list[Effect]:
    """Step l.3.1, but a follower that has yet to acknowledge NEWLEADER gets no PROPOSE."""
    effects = on_request(l, sender, m)
    return [each for each in effects if not isinstance(each, Send) or l.links[each.to] is Link.SYNCED]


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


_DERIVED = "derived from the step's condition in DSN 2011, IV"

CATALOGUE: dict[str, Mutant] = {
    mutant.name: mutant
    for mutant in (
        Mutant(
            "commit-on-own-ack",
            "zab",
            "the leader commits without a quorum of ACKs (step l.3.2)",
            _DERIVED,
            (
                "primary integrity",
                "total order",
                "agreement",
                "local primary order",
                "po causal order",
                "strict causality",
                "prefix",
                "redelivery",
                "convergence",
                "reliable delivery",
                "state",
            ),
            "a leader that is cut off",
            {Ack: commit_on_own_ack},
        ),
        Mutant(
            "accept-equal-epoch",
            "zab",
            "NEWEPOCH(e') with e' = f.p is accepted and counted, also from another leader (step f.1.2)",
            _DERIVED,
            (
                "invariant 3",
                "total order",
                "agreement",
                "local primary order",
                "primary integrity",
                "po causal order",
                "strict causality",
                "prefix",
                "invariant 4",
                "epoch uniqueness",
                "zxid uniqueness",
                "reliable delivery",
            ),
            "two candidates that share a follower; no crash",
            {NewEpoch: accept_equal_epoch},
        ),
        Mutant(
            "broadcast-before-established",
            "zab",
            "the leader broadcasts before a quorum has acknowledged NEWLEADER (steps l.2.2, f.3.1)",
            _DERIVED,
            (
                "primary integrity",
                "strict causality",
            ),
            "one change of leader",
            {Request: broadcast_early},
            {"can_broadcast": may_broadcast_early},
        ),
        Mutant(
            "history-by-zxid-only",
            "zab",
            "the initial history is chosen by f.zxid alone, without f.a (step l.1.2)",
            _DERIVED,
            (
                "primary integrity",
                "total order",
                "strict causality",
                "redelivery",
                "reliable delivery",
                "state",
            ),
            "an epoch whose broadcasts only its leader has, and a longer old history elsewhere",
            {AckE: partial(on_ack_e, choose=follower_of_highest_zxid)},
        ),
        Mutant(
            "no-truncation",
            "zab",
            "a follower keeps the transactions that the initial history does not have (step f.2.1)",
            _DERIVED,
            (
                "primary integrity",
                "total order",
                "agreement",
                "global primary order",
                "po causal order",
                "strict causality",
                "causal order",
                "invariant 4",
                "reliable delivery",
                "state",
            ),
            "a leader that crashes and rejoins",
            {NewLeader: keep_private_transactions},
        ),
        Mutant(
            "promise-not-durable",
            "zab",
            "ACK-E is sent before f.p is on the disk (step f.1.2)",
            _DERIVED,
            (
                "invariant 3",
                "total order",
                "agreement",
                "primary integrity",
                "strict causality",
                "redelivery",
                "invariant 4",
                "reliable delivery",
                "state",
            ),
            "a follower that crashes after it promised, and two leaders",
            {NewEpoch: promise_before_disk},
        ),
        Mutant(
            "ack-before-sync",
            "zab",
            "ACK is sent before the proposal is on the disk (step f.3.2)",
            _DERIVED,
            (
                "primary integrity",
                "agreement",
                "reliable delivery",
                "state",
            ),
            "a follower that crashes after it acknowledged",
            {Propose: ack_before_disk},
        ),
        Mutant(
            "commit-only-named",
            "zab",
            "COMMIT and COMMIT-LD deliver the transaction that they name, and none before it (steps f.2.2, f.3.3)",
            _DERIVED,
            (
                "local primary order",
                "integrity",
                "total order",
                "agreement",
                "primary integrity",
                "po causal order",
                "strict causality",
                "prefix",
                "redelivery",
                "invariant 5",
                "reliable delivery",
                "state",
            ),
            "a late joiner and two transactions",
            {CommitLd: deliver_named_on_commit_ld, Commit: deliver_named_on_commit},
        ),
        Mutant(
            "propose-to-acked-only",
            "zab",
            "PROPOSE goes only to followers that have acknowledged NEWLEADER (step l.3.1)",
            "Apache ZooKeeper, zookeeper-specifications/protocol-spec/issues.md, issue 1",
            (
                "agreement",
                "total order",
                "local primary order",
                "primary integrity",
                "po causal order",
                "prefix",
                "redelivery",
                "invariant 4",
                "invariant 5",
                "reliable delivery",
                "state",
            ),
            "a late joiner",
            {Request: broadcast_to_synced},
        ),
        Mutant(
            "ignore-digest",
            "zab",
            "a record that was altered on the disk is read as it is",
            "derived from LADIS 2008, 2: corruption is detected by digests",
            (
                "invariant 4",
                "integrity",
                "total order",
                "agreement",
                "local primary order",
                "primary integrity",
                "po causal order",
                "prefix",
                "zxid uniqueness",
                "reliable delivery",
            ),
            "an altered record and a recovery",
            {Started: start_from_altered_log},
        ),
        Mutant(
            "deliver-initial-history-last",
            "zab",
            "the initial history is delivered after the first transactions of the epoch (steps f.2.2, f.3.3)",
            _DERIVED,
            (
                "global primary order",
                "integrity",
                "total order",
                "primary integrity",
                "po causal order",
                "strict causality",
                "causal order",
                "invariant 2",
                "state",
            ),
            "one change of leader",
            {CommitLd: ready_before_delivering, Commit: deliver_new_before_old},
        ),
        Mutant(
            "redeliver-with-gap",
            "zab",
            "after a recovery one transaction is not delivered again",
            "derived from LADIS 2008, 2",
            (
                "primary integrity",
                "integrity",
                "total order",
                "agreement",
                "local primary order",
                "po causal order",
                "strict causality",
                "prefix",
                "redelivery",
                "reliable delivery",
                "state",
            ),
            "one crash",
            {Started: recover_past_a_gap},
        ),
        Mutant(
            "counter-wraps",
            "zab",
            "a counter that overflows starts again within the epoch (step l.3.1)",
            _DERIVED,
            (
                "zxid uniqueness",
                "total order",
                "agreement",
                "primary integrity",
                "po causal order",
                "invariant 2",
                "invariant 4",
                "invariant 5",
                "reliable delivery",
                "state",
            ),
            "an epoch with more transactions than counters",
            {Request: broadcast_with_wrapped_counter},
        ),
    )
}


def mutated(protocol: str, mutant: str | None = None) -> Protocol:
    """The protocol of this name, with this mutant's step if one is named.

    ValueError, with the names there are, if there is no such protocol, or no such mutant of it.
    """
    if protocol not in PROTOCOLS:
        raise ValueError(f"no protocol `{protocol}`; expected one of: {', '.join(PROTOCOLS)}")
    if mutant is None:
        return PROTOCOLS[protocol]
    names = [name for name, each in CATALOGUE.items() if each.protocol == protocol]
    if mutant not in names:
        raise ValueError(f"no mutant `{mutant}` of protocol `{protocol}`; expected one of: {', '.join(names)}")
    return CATALOGUE[mutant].apply(PROTOCOLS[protocol])
