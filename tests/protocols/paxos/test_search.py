"""Searches for Figure 1: what they find by themselves, and what they do not find with the cures, and with Zab."""

import pytest

from invariants import Broadcast, Deliver, Establish, Zxid, select
from tests.protocols.zab.test_purity import guarded
from tests.search.walk import Walk
from tests.tiers import sweep
from zabcheck.counterexample.making import counterexample
from zabcheck.protocols import PROTOCOLS
from zabcheck.protocols.base import Started
from zabcheck.search.goals import GOALS
from zabcheck.search.run import PropertyBroken, Search, replay
from zabcheck.search.swarm import find
from zabcheck.search.tally import Tally
from zabcheck.simulation.simulator import Simulator

PROMISED = ("integrity", "total order", "agreement")
"""The properties that hold of any Paxos."""
BROKEN = ("local primary order", "global primary order", "po causal order", "strict causality", "primary integrity")
"""The properties that Figure 1 breaks, each by itself."""
CURED = (*PROMISED, *BROKEN[:-1], "ladis", "zxid uniqueness", "zxid assignment")
CURES = ("paxos-one-outstanding", "paxos-batches")
RUNS = 120
"""In far fewer runs Figure 1 is found where there is one."""
PAXOS = [name for name in PROTOCOLS if name.startswith("paxos")]


def search(
    protocol: str, *properties: str, runs: int = RUNS, processes: int = 3, seed: int = 1
) -> tuple[PropertyBroken | None, Tally]:
    kinds = select(properties)
    tally = Tally(kinds)
    names = tuple(kind.name for kind in kinds)
    return find(Search(PROTOCOLS[protocol], processes, names, runs, rng=seed, on_run=tally.add)), tally


def is_silent(protocol: str, *properties: str, runs: int = RUNS, processes: int = 3) -> bool:
    """Nothing breaks, and every property had something to judge."""
    broken, tally = search(protocol, *properties, runs=runs, processes=processes)
    return broken is None and tally.runs == runs and all(tally.exercised.values())


@pytest.mark.slow
def test_figure_1_is_found_from_scratch_and_minimised() -> None:
    """Two transactions of the first primary, one of the second; the third has those chosen that Figure 1 says."""
    broken, tally = search("paxos", "local primary order")
    assert broken is not None
    assert tally.runs < 20
    minimised, _ = counterexample(broken)
    events = replay(minimised.schedule).events
    first, second, third = [event.epoch for event in events if isinstance(event, Establish)]
    a, b, c = sorted(event.txn for event in events if isinstance(event, Broadcast))
    assert (a.zxid, b.zxid, c.zxid) == (Zxid(first, 1), Zxid(first, 2), Zxid(second, 1))
    assert first < second < third
    assert [event.txn for event in events if isinstance(event, Deliver)] == [c, b]
    assert minimised.steps <= 24


@pytest.mark.parametrize("property_", BROKEN)
def test_each_order_of_primaries_breaks_by_itself(property_: str) -> None:
    assert search("paxos", property_)[0] is not None


@pytest.mark.slow
def test_zab_has_no_such_run_within_the_same_bounds() -> None:
    assert is_silent("zab", *CURED, "primary integrity")


@pytest.mark.parametrize("protocol", sweep(PAXOS, normal=("paxos", "paxos-unordered")))
def test_whatever_kind_of_paxos_it_is_processes_agree(protocol: str) -> None:
    assert is_silent(protocol, *PROMISED)


@pytest.mark.slow
@pytest.mark.parametrize("protocol", sweep(CURES, normal=("paxos-one-outstanding",)))
def test_with_a_cure_the_orders_of_primaries_hold(protocol: str) -> None:
    assert is_silent(protocol, *CURED)
    broken, _ = search(protocol, "primary integrity")
    assert broken is not None


@pytest.mark.slow
def test_with_a_barrier_all_properties_hold() -> None:
    assert is_silent("paxos-barrier", *CURED, "primary integrity")


@pytest.mark.slow
@pytest.mark.parametrize("processes", [3, 5])
@pytest.mark.parametrize("protocol", PAXOS)
def test_many_runs(protocol: str, processes: int) -> None:
    properties: tuple[str, ...] = PROMISED
    if protocol in CURES:
        properties = CURED
    elif protocol == "paxos-barrier":
        properties = (*CURED, "primary integrity")
    assert is_silent(protocol, *properties, runs=120, processes=processes)


@pytest.mark.slow
def test_a_proposer_that_is_alone_in_all_ballots_is_not_enough() -> None:
    broken, _ = search("paxos-one-proposer", "local primary order", runs=5000)
    assert broken is not None


@pytest.mark.slow
def test_a_search_sees_what_makes_it_hard() -> None:
    """Silence means something only if there were several primaries, at once, with several proposals under way."""
    _, tally = search("paxos", *PROMISED)
    hard = {"three epochs", "several outstanding", "two leaders", "tail lost", "power loss", "repeated delivery"}
    assert hard <= {goal for goal, count in tally.goals.items() if count}
    assert hard <= set(GOALS)


@pytest.mark.parametrize("name", ["paxos", "paxos-unordered", "paxos-batches"])
def test_no_step_changes_a_value_that_it_was_given(name: str) -> None:
    protocol, taken = guarded(PROTOCOLS[name])
    for seed in range(3):
        walk = Walk(Simulator(protocol, 3, lambda _: None), seed)
        for _ in range(700):
            walk.step()
    steps = {kind.__name__ for kind in protocol.steps if kind is not Started}  # that has effects after corruption alone
    assert steps == {step for step, count in taken.items() if count}
