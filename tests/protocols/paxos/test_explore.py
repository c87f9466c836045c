"""Every state of Paxos within bounds: it takes three ballots and three transactions to break an order of primaries."""

import pytest
from msgspec import structs

from invariants import Deliver, select
from invariants.quorums import Quorums
from tests.protocols.paxos.test_runs import load
from zabcheck.explore.bounds import Bounds
from zabcheck.explore.results import SearchResult
from zabcheck.explore.space import Space
from zabcheck.protocols import PROTOCOLS
from zabcheck.protocols.switches import Switches
from zabcheck.search.run import replay, schedule_of

COARSE = Switches(sync="atomic", closing="abrupt")
LOCAL = ("local primary order",)
FIGURE_1 = Bounds(processes=3, epochs=3, txns=3, timeouts=2)
"""The parts of the run of Figure 1."""


def explored(
    protocol: str, bounds: Bounds, *properties: str, identity: bool = True, reduction: bool = True
) -> SearchResult:
    checked = PROTOCOLS[protocol]
    if not identity:
        checked = structs.replace(checked, identity=None)
    space = Space(checked, Quorums(bounds.processes), COARSE, bounds, tuple(select(properties)), reduction=reduction)
    return space.explore()


def test_what_a_step_cannot_depend_on_makes_no_state_of_its_own() -> None:
    bounds = Bounds(processes=2, epochs=3, txns=2, timeouts=1)
    few, many = (explored("paxos", bounds, "core", "causality", identity=known) for known in (True, False))
    assert few.whole
    assert many.whole
    assert few.states < many.states
    assert (few.broken, few.exercised) == (many.broken, many.exercised) == (None, many.exercised)


def test_one_ballot_breaks_nothing() -> None:
    """As long as the proposer is not replaced, what it proposes is learned in its order."""
    found = explored("paxos", Bounds(processes=3, epochs=1, txns=2, timeouts=1), "core", "causality")
    assert found.whole
    assert found.broken is None
    assert found.exercised["local primary order"]


@pytest.mark.slow
def test_two_ballots_and_two_transactions_break_nothing_either() -> None:
    found = explored("paxos", Bounds(processes=3, epochs=2, txns=2, timeouts=1), "core", "causality")
    assert found.whole
    assert found.broken is None


@pytest.mark.slow
def test_the_shortest_run_is_the_one_on_record() -> None:
    """All processes propose in it, one after the other, as in Figure 1; nothing shorter breaks local primary order."""
    found = explored("paxos", FIGURE_1, *LOCAL, reduction=False)
    assert found.broken == "local primary order"
    assert len(found.choices) == len(load("figure-1-shortest").choices)
    run = replay(schedule_of("paxos", None, 3, found.choices, switches=COARSE), LOCAL)
    assert run.verdicts[0].status == "violated"
    assert [event.txn.zxid.epoch for event in run.events if isinstance(event, Deliver)] == [2, 1]


@pytest.mark.slow
def test_zab_has_none_within_the_same_bounds() -> None:
    found = explored("zab", FIGURE_1, *LOCAL)
    assert found.whole
    assert found.broken is None
    assert found.exercised["local primary order"]
