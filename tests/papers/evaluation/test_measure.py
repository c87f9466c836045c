"""Throughput, latency and recovery: figures by hand, and who judges."""

import pytest
from msgspec.structs import replace

from zabcheck.mutants.catalogue import mutated
from zabcheck.papers.evaluation.costs import MILLISECOND, SECOND, Costs, Disk
from zabcheck.papers.evaluation.measure import (
    WAYS,
    Stuck,
    VerdictCounts,
    broadcast,
    latency,
    recovery,
    relay,
    throughput,
)
from zabcheck.papers.evaluation.plan import Plan
from zabcheck.protocols.base import Effect, Message
from zabcheck.protocols.zab import ZAB
from zabcheck.protocols.zab.messages import Ack, AckLd
from zabcheck.protocols.zab.process import Process


@pytest.mark.parametrize("detect", [MILLISECOND, SECOND])
def test_a_recovery_by_hand(detect: int) -> None:
    """Server 3 lacks one transaction of epoch 2, which server 2 has; a header takes 480 ns, a zxid 64 more.

    Besides the messages each phase has one sync of server 2; that of server 3 ends before its answer comes.
    """
    row = recovery(VerdictCounts(), 3, 9, "missing", Disk("d", 100_000, rate=10**8), Costs(), 1, detect)
    way, sync = 50_000 + 1_000, 100_000 + 600
    cepoch, newepoch, ack_e = 480 + 2 * 64, 480 + 64, 480 + 8_672
    assert row.lacked == 1
    assert row.discovery_ns == cepoch + way + newepoch + way + sync + ack_e + way
    assert row.synchronization_ns == 480 + way + sync + 480 + way
    assert row.all_ns == row.discovery_ns + row.synchronization_ns + 480 + way
    assert row.sent == 76 + 68 + 60 + 1084 + 60 + 60 + 60


def test_a_bug_of_the_protocol_is_seen() -> None:
    """The leader delivers what its network card has not sent to anybody yet, and stops."""
    judged = VerdictCounts()
    recovery(judged, 5, 9, "full", Plan().disk("cache"), Costs(), 100, 0, mutated("zab", "commit-on-own-ack"))
    assert "violated" in {row.status for row in judged.rows()}


def test_a_single_operation_with_and_without_commits_by_hand() -> None:
    """Its proposal takes 8,672 ns on the wire, every other message 480, and one that follows another waits for it."""
    way = 50_000 + 1_000
    acknowledged = 8_672 + way + 480 + way
    star, acks = (broadcast(VerdictCounts(), 3, commits, Costs()) for commits in WAYS)
    assert (star.messages, star.leader_ns, star.last_ns) == (6, acknowledged, acknowledged + 2 * 480 + way)
    assert (acks.messages, acks.leader_ns, acks.last_ns) == (8, acknowledged, acknowledged)
    for servers in (2, 5):
        star, acks = (broadcast(VerdictCounts(), servers, commits, Costs()) for commits in WAYS)
        assert (star.messages, acks.messages) == (3 * (servers - 1), servers**2 - 1)


def test_a_single_operation_along_a_chain_by_hand() -> None:
    """Server 2 passes the proposal on before it sends its ACK, with which the leader commits.

    A proposal names the zxid before it, in 64 ns, and what the leader sends names server 3, in 8 ns.
    """
    way, proposal, name = 50_000 + 1_000, 8_672 + 64, 8
    committed = name + proposal + way + proposal + 480 + way
    assert relay(VerdictCounts(), 3, "chain", Costs(), 1, 1).last_ns == committed + name + 2 * (480 + way)


def nothing(process: Process, sender: int, message: Message) -> list[Effect]:
    """A step that does nothing."""
    return []


def test_a_protocol_that_does_not_get_on_is_no_figure() -> None:
    """The leader ignores every ACK."""
    broken = replace(ZAB, steps={**ZAB.steps, Ack: nothing})
    with pytest.raises(Stuck):
        throughput(VerdictCounts(), 3, None, Costs(), 50, 50, "x", broken)
    with pytest.raises(Stuck):
        latency(VerdictCounts(), 3, None, Costs(), "x", broken)
    with pytest.raises(Stuck):
        broadcast(VerdictCounts(), 3, "leader", Costs(), broken)
    with pytest.raises(Stuck):
        latency(VerdictCounts(), 3, None, Costs(), "x", replace(ZAB, steps={**ZAB.steps, AckLd: nothing}))


def test_the_first_who_deliver_warm_up_and_are_not_counted() -> None:
    row = throughput(VerdictCounts(), 3, None, Costs(), 10, 10, "x")
    assert row.latency_ns == pytest.approx(10 * 10**9 / row.operations_per_second, rel=0.25)
