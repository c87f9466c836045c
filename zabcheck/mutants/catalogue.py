"""Known bugs of Zab, each as one step replaced: the checker's own test.

An entry says what is wrong, where it comes from, which property breaks first when all are judged together, which
others break when judged alone, and the least set of faults that shows it.
"""

from collections.abc import Mapping
from functools import partial
from typing import Any

from msgspec import Struct, structs

from invariants import Chain
from zabcheck.protocols import PROTOCOLS
from zabcheck.protocols.base import Effect, Message, ProcessId, Protocol, Request, Stimulus
from zabcheck.protocols.zab.follower import accept_initial_history, on_newepoch, on_newleader, provide_history
from zabcheck.protocols.zab.histories import received
from zabcheck.protocols.zab.leader import broadcast, can_broadcast, on_ack, on_ack_e, on_request
from zabcheck.protocols.zab.messages import Ack, AckE, NewEpoch, NewLeader
from zabcheck.protocols.zab.process import Follower, Leader, Phase


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


_DERIVED = "derived from the step's condition in DSN 2011, IV"

CATALOGUE: dict[str, Mutant] = {
    mutant.name: mutant
    for mutant in (
        Mutant(
            "commit-on-own-ack",
            "zab",
            "the leader commits without a quorum of ACKs (step l.3.2)",
            _DERIVED,
            ("primary integrity", "agreement", "total order"),
            "a leader that is cut off",
            {Ack: commit_on_own_ack},
        ),
        Mutant(
            "accept-equal-epoch",
            "zab",
            "NEWEPOCH(e') with e' = f.p is accepted and counted, also from another leader (step f.1.2)",
            _DERIVED,
            ("agreement", "total order", "primary integrity"),
            "two candidates that share a follower; no crash",
            {NewEpoch: accept_equal_epoch},
        ),
        Mutant(
            "broadcast-before-established",
            "zab",
            "the leader broadcasts before a quorum has acknowledged NEWLEADER (steps l.2.2, f.3.1)",
            _DERIVED,
            ("primary integrity",),
            "one change of leader",
            {Request: broadcast_early},
            {"can_broadcast": may_broadcast_early},
        ),
        Mutant(
            "history-by-zxid-only",
            "zab",
            "the initial history is chosen by f.zxid alone, without f.a (step l.1.2)",
            _DERIVED,
            ("primary integrity", "total order", "agreement", "global primary order"),
            "an epoch whose broadcasts only its leader has, and a longer old history elsewhere",
            {AckE: partial(on_ack_e, choose=follower_of_highest_zxid)},
        ),
        Mutant(
            "no-truncation",
            "zab",
            "a follower keeps the transactions that the initial history does not have (step f.2.1)",
            _DERIVED,
            ("primary integrity", "total order", "agreement", "global primary order"),
            "a leader that crashes and rejoins",
            {NewLeader: keep_private_transactions},
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
