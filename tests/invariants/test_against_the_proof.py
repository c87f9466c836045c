"""The formulas that the proof shows for any number of processes say of a finished trace what the judges say.

A state of the proof has no order of events: a process delivers in the order of zxids. So only traces that keep that
order are compared, and of these the properties whose formulas speak of broadcasts and deliveries alone.
"""

from functools import cache
from itertools import pairwise

import pytest

from invariants import check
from tests.invariants.builders import whole
from tests.invariants.oracle import Reading
from tests.invariants.traces import random_trace
from tests.tiers import sweep
from zabcheck.proof import properties
from zabcheck.proof.conjuncts import Claim
from zabcheck.proof.finite import Facts, Universe, holds
from zabcheck.proof.relations import State

EXACT = (properties.integrity, properties.agreement, properties.local_primary_order)
"""The formulas that are true exactly where the property is not violated."""
SEEDS = range(700)
blocks = pytest.mark.parametrize("seeds", sweep((SEEDS[:120], SEEDS[120:]), normal=(SEEDS[:120],)), ids=str)

Zxid = tuple[int, int, str]


@cache
def states(seeds: range) -> list[tuple[dict[str, str], Universe, Facts]]:
    """Return the verdicts on each random trace that keeps the order of zxids, and the state that it ends in."""
    found = []
    for seed in seeds:
        events = random_trace(seed).events
        reading = Reading(events)
        if keeps_the_order_of_zxids(reading):
            verdicts = {verdict.property: verdict.status for verdict in check(whole(events, "global"))}
            found.append((verdicts, *state_of(reading)))
    return found


def keeps_the_order_of_zxids(reading: Reading) -> bool:
    """Return True if each epoch has one primary, and zxids ascend wherever something is broadcast or delivered."""
    broadcasts: dict[int, list[Zxid]] = {}
    primaries: dict[int, tuple[int, int, int]] = {}
    for cast in reading.casts:
        if cast.event.epoch != cast.txn.zxid.epoch:
            return False
        if primaries.setdefault(cast.event.epoch, cast.primary) != cast.primary:
            return False
        broadcasts.setdefault(cast.event.epoch, []).append(thing(cast.txn))
    sequences = [*broadcasts.values(), *([thing(txn) for txn in sequence] for _, sequence in reading.segments)]
    return not reading.unmatched and all(a[:2] < b[:2] for sequence in sequences for a, b in pairwise(sequence))


def thing(txn: object) -> Zxid:
    zxid = txn.zxid  # type: ignore[attr-defined]  # a Txn
    return zxid.epoch, zxid.counter, txn.value  # type: ignore[attr-defined]  # a Txn


def state_of(reading: Reading) -> tuple[Universe, Facts]:
    """Return the facts of a trace: each incarnation, or part of one after a snapshot, is a process of the proof."""
    proposed = {("proposed", (cast.event.epoch, thing(cast.txn))) for cast in reading.casts}
    nodes = [f"n{number}" for number in range(len(reading.segments))]
    delivered = {
        ("delivered", (node, thing(txn)))
        for node, (_, sequence) in zip(nodes, reading.segments, strict=True)
        for txn in sequence
    }
    transactions = tuple(sorted({fact[1][-1] for fact in proposed | delivered}))
    epochs = tuple(sorted({0, *(txn[0] for txn in transactions)}))
    return Universe(tuple(nodes), (), epochs, transactions), frozenset(proposed | delivered)


def is_true(claim: Claim, universe: Universe, facts: Facts) -> bool:
    return holds(claim.of(State()), universe, facts)


@blocks
@pytest.mark.parametrize("claim", EXACT, ids=lambda claim: claim.name)
def test_the_formula_is_false_exactly_where_the_judge_finds_a_violation(claim: Claim, seeds: range) -> None:
    seen = set()
    for verdicts, universe, facts in states(seeds):
        violated = verdicts[claim.name] == "violated"
        assert is_true(claim, universe, facts) is not violated
        seen.add(violated)
    assert seen == {True, False}


@pytest.mark.slow
def test_the_formula_of_total_order_is_false_wherever_the_judge_finds_a_violation() -> None:
    """It also holds processes to what others delivered, so it may be false elsewhere."""
    name, found = properties.total_order.name, states(SEEDS)
    violated = [state for verdicts, *state in found if verdicts[name] == "violated"]
    others = [state for verdicts, *state in found if verdicts[name] != "violated"]
    assert len(violated) > 10
    assert not any(is_true(properties.total_order, *state) for state in violated)
    assert any(is_true(properties.total_order, *state) for state in others)
