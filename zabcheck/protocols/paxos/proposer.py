"""The steps of a proposer, which is the distinguished learner, too (Lamport, "Paxos Made Simple", 2001, 2.2, 2.3, 3).

Phase 1 is done once for all instances from the first on whose value the proposer does not know; then each value takes
phase 2 alone (3). The proposer is the primary of DSN 2011, and its ballot is the epoch.
"""

from collections.abc import Collection, Iterable

from zabcheck.invariants import Broadcast, Establish, Ready, Txn, Zxid
from zabcheck.protocols.base import Effect, GiveUp, Lost, ProcessId, Request, Send
from zabcheck.protocols.paxos.acceptor import learn, on_lost_proposer, promise
from zabcheck.protocols.paxos.messages import (
    NO_OP,
    Chosen,
    Instance,
    Join,
    Phase1a,
    Phase1b,
    Phase2a,
    Phase2b,
    Proposal,
    Value,
)
from zabcheck.protocols.paxos.process import Link, Proposer

# Phase 1.


def own_ballot_after(highest: int, process: ProcessId, processes: int) -> int:
    """Return the least ballot above `highest` that belongs to process p of n: p, p + n, p + 2n, …

    Paxos Made Simple, 2.5: proposers take their numbers from disjoint sets.
    """
    return highest + 1 + (process - highest - 1) % processes


def on_join(p: Proposer, sender: ProcessId, m: Join) -> list[Effect]:
    """Phase 1 (a): once a quorum has joined, choose a ballot above all their promises, and ask for promises of it.

    The proposer first promises the ballot itself, as an acceptor. With that on its disk it never chooses the same
    ballot again, not even after a crash; so it asks the others only then.
    """
    if not p.leads:
        return []
    p.joined = {**p.joined, sender: m.delivered}
    p.links = {**p.links, sender: Link.JOINED}
    if p.ballot:
        return [Send(sender, Phase1a(p.ballot, p.first))] if has_own_promise(p) else []
    p.highest = max(p.highest, m.promised)
    if not p.quorums.contains(p.links):
        return []
    p.ballot = own_ballot_after(p.highest, p.id, p.quorums.size)
    p.first = p.delivered + 1
    return promise(p, p.id, Phase1a(p.ballot, p.first))


def has_own_promise(p: Proposer) -> bool:
    """Return True if the proposer's own promise of its ballot is durable."""
    return p.links.get(p.id) is Link.PROMISED


def on_phase_1b(p: Proposer, sender: ProcessId, m: Phase1b) -> list[Effect]:
    """Phase 2 (a) of what was accepted before: with promises of a quorum, propose it again, in the same instances.

    An acceptor that promises later is sent everything that it lacks.
    """
    if not p.leads or m.ballot != p.ballot or p.links.get(sender) is not Link.JOINED:
        return []
    p.links = {**p.links, sender: Link.PROMISED}
    if p.established:
        return catch_up(p, [sender])
    effects: list[Effect] = []
    if sender == p.id:
        effects += [Send(a, Phase1a(p.ballot, p.first)) for a in p.links if a != p.id]
    p.promises = {**p.promises, sender: m.accepted}
    if not p.quorums.contains(p.promises):
        return effects
    p.established = True
    p.proposals = recovered(p.first, p.promises.values())
    p.promises = {}
    if p.variant.barrier:
        p.proposals = {**p.proposals, p.last + 1: NO_OP}
    effects.append(Establish(p.id, p.incarnation, p.ballot))
    effects += catch_up(p, promised(p))
    return effects + become_ready(p)


def recovered(first: Instance, promises: Iterable[tuple[tuple[Instance, Proposal], ...]]) -> dict[Instance, Value]:
    """Return what has to be proposed in each instance from `first` to the last in which anything was accepted.

    That is the value of the proposal with the highest ballot, for each instance separately; in a gap a no-op (Paxos
    Made Simple, 3).
    """
    highest: dict[Instance, Proposal] = {}
    for accepted in promises:
        for instance, proposal in accepted:
            if instance not in highest or highest[instance].ballot < proposal.ballot:
                highest[instance] = proposal
    last = max(highest, default=first - 1)
    return {i: highest[i].value if i in highest else NO_OP for i in range(first, last + 1)}


def promised(p: Proposer) -> list[ProcessId]:
    """Return the connected acceptors that have promised the ballot."""
    return [a for a, link in p.links.items() if link is Link.PROMISED]


def catch_up(p: Proposer, acceptors: Collection[ProcessId]) -> list[Effect]:
    """Send each acceptor the chosen values that it has not delivered, and 2a for all other proposals."""
    effects: list[Effect] = []
    for a in acceptors:
        for i in range(1, p.last + 1):
            if i not in p.chosen:
                effects.append(Send(a, Phase2a(p.ballot, i, p.proposals[i])))
            elif i > p.joined[a]:
                effects.append(Send(a, Chosen(i, p.chosen[i])))
    return effects


# Phase 2.

OVERFLOW = GiveUp("the counter would overflow")


def can_broadcast(p: Proposer) -> bool:
    """Return True if the primary may broadcast: it has delivered phase 1's values, and may have one more outstanding.

    Paxos lets a proposer go on at once. But a primary computes a change from the state before it (DSN 2011, III), so it
    waits, as it waits for ready(e) in Zab.
    """
    return p.ready and (p.variant.outstanding == "several" or p.variant.batches or not p.outstanding)


def on_request(p: Proposer, sender: ProcessId, m: Request) -> list[Effect]:
    """Phase 2 (a) of what is new: the primary broadcasts it, with the next zxid of its ballot, and proposes it.

    A batch is proposed once nothing is outstanding. A counter that would overflow forces a new ballot, as in Zab.
    """
    if not can_broadcast(p):
        return []
    if p.counter >= p.switches.counter_limit:
        return [OVERFLOW]
    p.counter += 1
    txn = Txn(Zxid(p.ballot, p.counter), m.value)
    p.waiting = (*p.waiting, txn)
    return [Broadcast(p.id, p.incarnation, p.ballot, txn), *propose_waiting(p)]


def propose_waiting(p: Proposer) -> list[Effect]:
    """Propose the waiting transactions in the next instance, unless they have to wait for an outstanding proposal."""
    if not p.waiting or (p.variant.outstanding == "one" and p.outstanding):
        return []
    value, p.waiting = p.waiting, ()
    instance = p.last + 1
    p.proposals = {**p.proposals, instance: value}
    return [Send(a, Phase2a(p.ballot, instance, value)) for a in promised(p)]


# Learning.


def on_phase_2b(p: Proposer, sender: ProcessId, m: Phase2b) -> list[Effect]:
    """Tell every learner the values that a quorum has accepted in one ballot: they are chosen."""
    if not p.leads or m.ballot != p.ballot or m.instance in p.chosen:
        return []
    by = tuple(dict.fromkeys((*p.accepts.get(m.instance, ()), sender)))
    p.accepts = {**p.accepts, m.instance: by}
    if not p.quorums.contains(by):
        return []
    p.accepts = {i: a for i, a in p.accepts.items() if i != m.instance}
    return [Send(a, Chosen(m.instance, p.proposals[m.instance])) for a in promised(p)]


def on_chosen(p: Proposer, sender: ProcessId, m: Chosen) -> list[Effect]:
    """Learn a chosen value; a proposer then goes on with what waited for it."""
    if sender != p.leader:
        return []
    effects = learn(p, m)
    if not p.leads:
        return effects
    return effects + become_ready(p) + propose_waiting(p)


def become_ready(p: Proposer) -> list[Effect]:
    """ready(e), as soon as all that phase 1 found is chosen and delivered here."""
    if p.ready or not p.established or p.outstanding:
        return []
    p.ready = True
    return [Ready(p.id, p.incarnation, p.ballot)]


# The end.


def on_lost(p: Proposer, sender: ProcessId, m: Lost) -> list[Effect]:
    """An acceptor is gone; without a quorum of them the proposer stops."""
    if not p.leads:
        return on_lost_proposer(p, m)
    p.links = {a: link for a, link in p.links.items() if a != m.peer}
    if p.ballot and not p.quorums.contains(p.links):
        return [GiveUp("no quorum of acceptors is left")]
    return []
