"""The steps in which a causal atomic broadcast is not Paxos.

A process hands over all of its own broadcasts that it has not delivered, in one value. So whoever has the value chosen
in an instance has their order chosen with it, and no broadcast of a process is delivered without those before it. What
others have broadcast needs no such care: what a process had delivered was chosen in an instance before.
"""

from collections.abc import Callable

from zabcheck.invariants import Broadcast, Deliver, Txn, Zxid
from zabcheck.protocols.base import Buffer, Effect, Elected, Persist, ProcessId, Request, Send
from zabcheck.protocols.causal.messages import HandOver
from zabcheck.protocols.causal.process import Process, already_delivered, undelivered
from zabcheck.protocols.paxos import acceptor, proposer
from zabcheck.protocols.paxos.messages import Chosen, Phase1b, Value
from zabcheck.protocols.paxos.proposer import OVERFLOW, can_broadcast, propose_waiting


def on_elected(p: Process, sender: ProcessId, m: Elected) -> list[Effect]:
    """The oracle names a proposer: it gets what the process has broadcast under others, too."""
    effects = acceptor.on_elected(p, sender, m)
    return [*effects, *hand_over(p, undelivered(p))]


def hand_over(p: Process, value: Value) -> list[Effect]:
    """Hand a value over to the proposer once it is on the disk; a proposer hands it to itself."""
    assert p.leader is not None
    return [Persist(), Send(p.leader, HandOver(value))] if value else []


def on_hand_over(p: Process, sender: ProcessId, m: HandOver) -> list[Effect]:
    """Propose what was handed over, in the next instance, unless it is delivered; once phase 1 is over.

    It is not asked who was primary when: a proposer has the broadcasts of earlier primaries delivered after its own.
    """
    known = already_delivered(p)
    fresh = tuple(txn for txn in m.value if txn not in known)
    if not p.leads or not fresh:
        return []
    p.waiting = (*p.waiting, *fresh)
    return propose_waiting(p) if p.established else []


def on_phase_1b(p: Process, sender: ProcessId, m: Phase1b) -> list[Effect]:
    """Phase 2 (a) of what was accepted before, then of what was handed over in the meantime."""
    effects = proposer.on_phase_1b(p, sender, m)
    return [*effects, *propose_waiting(p)] if p.leads and p.established else effects


def on_request(
    p: Process, sender: ProcessId, m: Request, before: Callable[[Process], Value] = undelivered
) -> list[Effect]:
    """The primary broadcasts a value, with the next zxid of its ballot, and hands it over behind those `before` it.

    What a crash keeps of it is broadcast, too: the process hands it over when it is up again.
    """
    if not can_broadcast(p):
        return []
    if p.counter >= p.switches.counter_limit:
        return [OVERFLOW]
    earlier = before(p)
    p.counter += 1
    txn = Txn(Zxid(p.ballot, p.counter), m.value)
    p.broadcast = (*p.broadcast, txn)
    shown = Broadcast(p.id, p.incarnation, p.ballot, txn)
    return [Buffer((shown,), broadcast=p.broadcast), *hand_over(p, (*earlier, txn))]


def on_chosen(p: Process, sender: ProcessId, m: Chosen) -> list[Effect]:
    """Learn a chosen value, and deliver of it what is not delivered yet: it may be in several instances."""
    known = already_delivered(p)
    effects: list[Effect] = []
    for effect in proposer.on_chosen(p, sender, m):
        if isinstance(effect, Deliver):
            if effect.txn in known:
                continue
            known.add(effect.txn)
        effects.append(effect)
    return effects
