"""Throughput, latency and recovery: the shapes of DSN 2011, VII, in a whole evaluation."""

from itertools import pairwise

import pytest

from zabcheck.papers.evaluation.cluster import SHAPES
from zabcheck.papers.evaluation.costs import CACHED, NETWORK_ONLY, UNCACHED
from zabcheck.papers.evaluation.measure import SIX
from zabcheck.papers.evaluation.plan import Plan, evaluate
from zabcheck.papers.evaluation.results import Evaluation, LatencyRow, RecoveryRow, ThroughputRow

PLAN = Plan(servers=(3, 7, 13), operations=1000, histories=(0, 1000, 10_000))


pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("evaluation")]


@pytest.fixture(scope="module")
def found() -> Evaluation:
    return evaluate(PLAN, print)


def under_load(found: Evaluation, disk: str) -> list[ThroughputRow]:
    return [row for row in found.throughput if row.disk == disk]


def single(found: Evaluation, disk: str) -> list[LatencyRow]:
    return [row for row in found.latency if row.disk == disk]


def recovered(found: Evaluation, histories: str, servers: int) -> list[RecoveryRow]:
    return [row for row in found.recovery if (row.histories, row.servers) == (histories, servers)]


def test_the_network_alone_comes_near_the_cap_and_not_above(found: Evaluation) -> None:
    for row in under_load(found, NETWORK_ONLY):
        assert 0.85 * row.cap < row.operations_per_second < row.cap
        assert row.network == 1.0


def test_the_card_sends_a_proposal_and_a_commit_of_each_operation_to_each(found: Evaluation) -> None:
    for row in under_load(found, NETWORK_ONLY):
        each = (row.servers - 1) * (1024 + 60 + 60) * 8
        assert row.operations_per_second == pytest.approx(10**9 / each, rel=0.001)


def test_a_disk_with_a_cache_is_almost_as_fast_as_none(found: Evaluation) -> None:
    both = zip(under_load(found, NETWORK_ONLY), under_load(found, CACHED), strict=True)
    for without, cached in both:
        assert cached.operations_per_second == pytest.approx(without.operations_per_second, rel=0.02)


def test_without_a_cache_it_is_flat_up_to_seven_servers_and_falls_then(found: Evaluation) -> None:
    three, seven, thirteen = under_load(found, UNCACHED)
    assert three.operations_per_second == seven.operations_per_second
    assert three.disk_busy == seven.disk_busy == 1.0
    assert three.network < seven.network < 0.9
    assert thirteen.operations_per_second < 0.75 * seven.operations_per_second
    assert thirteen.network > 0.97


def test_more_outstanding_proposals_are_faster_until_something_is_saturated(found: Evaluation) -> None:
    network, cached, uncached = (
        [row.operations_per_second for row in found.bounds if row.disk == disk]
        for disk in (NETWORK_ONLY, CACHED, UNCACHED)
    )
    assert network[1:] == [network[-1]] * 3
    assert cached[0] < cached[1] < 0.6 * cached[2]
    assert cached[2] == pytest.approx(cached[3], rel=0.02)
    assert all(a < b for a, b in pairwise(uncached))
    one = PLAN.costs.ping + PLAN.cached_sync
    assert 0.85 * 10**9 / one < cached[0] < 10**9 / one  # of one at a time, each waits for a ping and a sync


def test_half_of_what_is_outstanding_is_synced_at_once(found: Evaluation) -> None:
    """While one half is synced the other waits."""
    three, *_ = under_load(found, UNCACHED)
    assert three.per_sync == PLAN.outstanding / 2
    assert three.operations_per_second < PLAN.outstanding / 2 / (PLAN.uncached_sync / 10**9)


def test_more_servers_are_slower(found: Evaluation) -> None:
    for disk in (NETWORK_ONLY, CACHED):
        assert all(b.operations_per_second < a.operations_per_second for a, b in pairwise(under_load(found, disk)))
        assert all(b.leader_ns > a.leader_ns for a, b in pairwise(single(found, disk)))


def test_a_single_operation_takes_a_ping_a_sync_and_little_more(found: Evaluation) -> None:
    costs = PLAN.costs
    for disk, sync in ((NETWORK_ONLY, 0), (CACHED, PLAN.cached_sync), (UNCACHED, PLAN.uncached_sync)):
        for row in single(found, disk):
            assert costs.ping + sync < row.leader_ns < 1.6 * costs.ping + 1.2 * sync
            assert 2 * costs.ping + sync < row.follower_ns < 3.0 * costs.ping + 1.2 * sync


def test_whole_histories_take_longer_the_longer_they_are_and_differences_do_not(found: Evaluation) -> None:
    for servers in PLAN.servers:
        none, some, many = recovered(found, "full", servers)
        assert none.all_ns < some.all_ns < many.all_ns
        assert many.sent - some.sent == 9000 * 1084 * carriers(servers)
        _, some, many = recovered(found, "missing", servers)
        assert (some.discovery_ns, some.synchronization_ns) == (many.discovery_ns, many.synchronization_ns)
        assert many.sent < recovered(found, "full", servers)[2].sent / 10


def carriers(servers: int) -> int:
    """ACK-E of each follower, and NEWLEADER to it."""
    return 2 * (servers - 2)


def test_a_tree_keeps_its_throughput_and_a_chain_is_the_fastest_and_the_latest(found: Evaluation) -> None:
    rows = {shape: [row for row in found.relays if row.shape == shape] for shape in SHAPES}
    for star, tree, chain in zip(*rows.values(), strict=True):
        assert star.operations_per_second < 1.01 * tree.operations_per_second  # of three servers both are a star
        assert tree.operations_per_second < chain.operations_per_second
        assert star.last_ns <= tree.last_ns < chain.last_ns
    three, *more = (row.operations_per_second for row in rows["tree"])
    assert all(each == pytest.approx(three, rel=0.05) for each in more)
    first, *_ = rows["chain"]
    relay = 2 * 480 + 8_672 + 64  # PROPOSE with the zxid before it, COMMIT and its own ACK leave the first relay's card
    assert first.operations_per_second == pytest.approx(10**9 / relay, rel=0.001)


def test_the_new_leader_fetches_what_it_lacks(found: Evaluation) -> None:
    assert all(100 <= row.lacked <= 200 for row in found.recovery)


def test_more_servers_recover_more_slowly(found: Evaluation) -> None:
    for rows in zip(*(recovered(found, "full", servers) for servers in PLAN.servers), strict=True):
        assert all(a.all_ns < b.all_ns for a, b in pairwise(rows))


def test_every_run_is_judged_by_the_six(found: Evaluation) -> None:
    assert found.runs == PLAN.runs == 69
    assert [(row.property, row.status) for row in found.properties] == [(name, "holds") for name in SIX]
    by = {row.property: row.exercised for row in found.properties}
    assert by["integrity"] == 69
    assert by["primary integrity"] == 18  # of one primary alone there is nothing to judge
