"""Bugs of Zab that are not in the catalogue, and that Hypothesis' machine often misses: see docs/notes/detection.md."""

from collections.abc import Collection, Mapping
from typing import Any

from msgspec import structs

from invariants.quorums import Quorums
from zabcheck.protocols import PROTOCOLS
from zabcheck.protocols.base import Effect, ProcessId, Protocol, Step
from zabcheck.protocols.switches import Switches
from zabcheck.protocols.zab.leader import on_ack, on_ack_e
from zabcheck.protocols.zab.messages import Ack, AckE
from zabcheck.protocols.zab.process import Leader, Process, start

ZAB = PROTOCOLS["zab"]


def commit_with_most_of_the_connected(l: Leader, sender: ProcessId, m: Ack) -> list[Effect]:  # noqa: E741  # as the steps call the leader
    """Step l.3.2, but a majority of the followers that are connected is enough."""

    def is_quorum(followers: Collection[ProcessId]) -> bool:
        return 2 * len([each for each in followers if each in l.links]) > len(l.links)

    return on_ack(l, sender, m, is_accepted=lambda acks, zxid: is_quorum([f for f, acked in acks if acked >= zxid]))


def count_own_ack_ld_when_proposing(l: Leader, sender: ProcessId, m: AckE) -> list[Effect]:  # noqa: E741  # as the steps call the leader
    """Step l.2.1, but the leader takes its own ACK-LD for granted when it sends NEWLEADER, before its disk has it."""
    before = l.proposed
    effects = on_ack_e(l, sender, m)
    if before is None and l.proposed is not None:
        l.acks = {**l.acks, l.id: l.proposed.zxid}
    return effects


def count_heads(
    process: ProcessId, incarnation: int, quorums: Quorums, durable: Mapping[str, Any], switches: Switches
) -> Process:
    """A process as it comes up, but for which quorums are majorities, whatever the weights are."""
    return start(process, incarnation, Quorums(quorums.size), durable, switches)


def take_the_epoch_from_the_last_zxid(
    process: ProcessId, incarnation: int, quorums: Quorums, durable: Mapping[str, Any], switches: Switches
) -> Process:
    """A process as it comes up, but f.a is the epoch of the last transaction of its history."""
    recovered = start(process, incarnation, quorums, durable, switches)
    recovered.current_epoch = recovered.history.zxid.epoch
    return recovered


def _bug(name: str, steps: Mapping[Any, Step], **fields: Any) -> Protocol:
    return structs.replace(ZAB, mutant=name, steps={**ZAB.steps, **steps}, **fields)


MORE_BUGS: dict[str, Protocol] = {
    each.mutant or "": each
    for each in (
        _bug("majority-of-connected", {Ack: commit_with_most_of_the_connected}),
        _bug("heads-instead-of-weights", {}, start=count_heads),
        _bug("own-ack-ld-counted-early", {AckE: count_own_ack_ld_when_proposing}),
        _bug("f.a-from-last-zxid", {}, start=take_the_epoch_from_the_last_zxid),
    )
}
"""Each with what is wrong as its name."""
