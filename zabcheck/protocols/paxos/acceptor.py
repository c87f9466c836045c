"""The steps of an acceptor and of a learner (Lamport, "Paxos Made Simple", 2001, 2.2 and 2.3).

An acceptor answers the one proposer that it is connected to, over a channel as in DSN 2011, II. What it promises and
what it accepts is durable before it says so.
"""

from typing import Any

from zabcheck.invariants import Deliver, Promise
from zabcheck.protocols.base import Connect, Effect, Elected, GiveUp, Lost, Persist, ProcessId, Send, TimedOut
from zabcheck.protocols.paxos.messages import Chosen, Join, Phase1a, Phase1b, Phase2a, Phase2b, Proposal
from zabcheck.protocols.paxos.process import Acceptor, Learner, abandon

FIRST: ProcessId = 1
"""The process that may propose in the variant with one proposer."""


def on_elected(a: Acceptor, sender: ProcessId, m: Elected) -> list[Effect]:
    """The oracle names a proposer: connect to it, and tell it so. A proposer is named to itself."""
    if a.variant.proposers == "first" and m.leader != FIRST:
        return []
    abandon(a)
    a.leader = m.leader
    return [Connect(m.leader), Send(m.leader, Join(a.promised, a.delivered))]


# Phase 1.


def on_phase_1a(a: Acceptor, sender: ProcessId, m: Phase1a) -> list[Effect]:
    """Phase 1 (b): promise the ballot, and tell what was accepted in the instances from `m.first` on.

    A ballot below the promise is refused. A ballot equal to it is promised again: it comes from the same proposer,
    which uses a ballot once, and the first answer was lost. The promise is written again too, because the first write
    may not have been synced.
    """
    if sender != a.leader:
        return []  # left over from another proposer
    if m.ballot < a.promised:
        return [GiveUp("a later ballot is promised")]
    return promise(a, sender, m)


def promise(a: Acceptor, sender: ProcessId, m: Phase1a) -> list[Effect]:
    """Make the promise durable, then answer 1b."""
    a.promised = m.ballot
    accepted = tuple((i, a.accepted[i]) for i in sorted(a.accepted) if i >= m.first)
    return [
        Persist(promised=m.ballot),
        Promise(a.id, a.incarnation, m.ballot, sender),
        Send(sender, Phase1b(m.ballot, accepted)),
    ]


# Phase 2.


def on_phase_2a(a: Acceptor, sender: ProcessId, m: Phase2a) -> list[Effect]:
    """Phase 2 (b): accept the proposal, unless a later ballot is promised; durably, then answer.

    With these channels no 2a is ever refused: a proposer sends it only over a connection on which the acceptor has
    promised its ballot, and an acceptor has one connection at a time. The check is the rule of Paxos all the same.
    """
    if sender != a.leader:
        return []
    if m.ballot < a.promised:
        return [GiveUp("a later ballot is promised")]
    changed: dict[str, Any] = {}
    if m.ballot > a.promised:
        a.promised = changed["promised"] = m.ballot
    a.accepted = changed["accepted"] = {**a.accepted, m.instance: Proposal(m.ballot, m.value)}
    return [
        Persist(**changed),
        Send(sender, Phase2b(m.ballot, m.instance)),
    ]


# Learning.


def learn(p: Learner, m: Chosen) -> list[Effect]:
    """abdeliver what is chosen, in the order of instances: a value waits until all before it are known.

    Only one value is ever chosen in an instance, so it does not matter which process tells.
    """
    if m.instance in p.chosen:
        return []
    p.chosen = {**p.chosen, m.instance: m.value}
    effects: list[Effect] = []
    while p.delivered + 1 in p.chosen:
        p.delivered += 1
        effects += [Deliver(p.id, p.incarnation, txn) for txn in p.chosen[p.delivered]]
    return effects


# The end.


def on_timed_out(a: Acceptor, sender: ProcessId, m: TimedOut) -> list[Effect]:
    """Leave the proposer, or stop proposing: nothing was heard in time."""
    return [] if a.leader is None else [GiveUp("time-out")]


def on_lost_proposer(a: Acceptor, m: Lost) -> list[Effect]:
    """The connection to the proposer is closed."""
    return [GiveUp("the proposer closed the connection")] if m.peer == a.leader else []
