"""Epoch uniqueness: at most one primary an epoch."""

from random import Random

import pytest

from invariants import Broadcast, Establish, Event, Promise, Ready
from tests.invariants.builders import A, B, C, D, Order, broadcasts, deliveries, judge, summary, witness

NAME = "epoch uniqueness"


def test_two_leaders_of_an_epoch_are_a_violation() -> None:
    verdict = judge(NAME, [Establish(2, 0, 1), Establish(1, 3, 1)])
    assert witness(verdict) == (Establish(1, 3, 1), Establish(2, 0, 1))
    assert summary(verdict) == "p1 (incarnation 3) was established as leader of epoch 1, and p2 as well"


def test_so_is_one_that_recovered_and_leads_the_same_epoch_again() -> None:
    verdict = judge(NAME, [Establish(2, 0, 1), Establish(2, 1, 1)])
    assert witness(verdict) == (Establish(2, 0, 1), Establish(2, 1, 1))
    assert summary(verdict) == "p2 (incarnation 0) was established as leader of epoch 1, and p2 (incarnation 1) again"


def test_a_leader_for_each_epoch_is_right() -> None:
    own = [Establish(1, 0, 1), Ready(1, 0, 1), *broadcasts(1, 1, A, B), Establish(2, 0, 2), Establish(1, 0, 3)]
    rival = [Promise(1, 0, 1, 1), Promise(3, 0, 1, 2), Promise(2, 0, 2, 2), Promise(3, 0, 3, 1), Promise(1, 0, 3)]
    verdict = judge(NAME, [*own, *rival, Establish(1, 0, 3)])
    assert (verdict.status, verdict.judged) == ("holds", 1)  # only epoch 1 was promised to two


def test_the_witness_is_the_two_least_of_the_lowest_epoch() -> None:
    events = [Establish(p, 0, epoch) for epoch in (5, 4) for p in (3, 1, 2)]
    assert witness(judge(NAME, events)) == (Establish(1, 0, 4), Establish(2, 0, 4))


def test_without_an_established_leader_it_is_not_exercised() -> None:
    assert judge(NAME, [Promise(1, 0, 1, 1), Promise(2, 0, 1, 2)]).status == "not exercised"


def test_where_no_other_process_was_promised_the_epoch_nothing_could_fail() -> None:
    alone: list[Event] = [Promise(1, 0, 1, 1), Promise(2, 0, 1, 1), Promise(3, 0, 1), Establish(1, 0, 1)]
    assert judge(NAME, alone).status == "not exercised"
    assert judge(NAME, [*alone, Promise(3, 0, 1, 3)]).judged == 1


@pytest.mark.parametrize("order", ["global", "per-process"])
def test_two_that_became_ready_or_broadcast_are_a_violation_without_being_established(order: Order) -> None:
    ready = judge(NAME, [Ready(2, 0, 1), Ready(1, 0, 1)], order)
    assert witness(ready) == (Ready(1, 0, 1), Ready(2, 0, 1))
    assert summary(ready) == "p1 became ready to broadcast in epoch 1, and p2 as well"
    both = judge(NAME, [*broadcasts(2, 1, C, B), *broadcasts(1, 1, A)], order)
    assert witness(both) == (Broadcast(1, 0, 1, A), Broadcast(2, 0, 1, B))
    assert summary(both) == "p1 broadcast a⟨1,1⟩ in epoch 1, and p2 broadcast b⟨1,2⟩ in it"
    mixed = judge(NAME, [*broadcasts(2, 1, B), Ready(1, 0, 1), Establish(1, 0, 1)], order)
    assert witness(mixed) == (Establish(1, 0, 1), Broadcast(2, 0, 1, B))
    assert summary(mixed) == "p1 was established as leader of epoch 1, and p2 broadcast b⟨1,2⟩ in it"


def test_what_shows_a_primary_best_is_its_witness_whatever_comes_first() -> None:
    events = [*broadcasts(1, 1, B, A), *broadcasts(2, 1, C), Ready(2, 0, 1), *deliveries(1, A)]
    assert witness(judge(NAME, events)) == (Broadcast(1, 0, 1, A), Ready(2, 0, 1))
    assert witness(judge(NAME, [*events, Establish(2, 0, 1), Ready(1, 0, 1)])) == (Ready(1, 0, 1), Establish(2, 0, 1))


def test_a_violation_is_certain_even_if_the_trace_is_cut_off() -> None:
    assert judge(NAME, [Establish(2, 0, 1), Establish(1, 3, 1)], complete=False).status == "violated"


def own_trace(rng: Random) -> list[Event]:
    """Some promises, and one or two that act as primaries."""
    events: list[Event] = []
    for _ in range(rng.randint(0, 4)):
        epoch, process = rng.randint(1, 2), rng.randint(1, 2)
        kinds = (
            Promise(process, 0, epoch, rng.choice((None, 1, 2))),
            Establish(process, 0, epoch),
            Ready(process, 0, epoch),
            Broadcast(process, 0, epoch, rng.choice((A, B, D))),
        )
        events.append(rng.choice(kinds))
    return events
