"""Epoch uniqueness: at most one established leader an epoch."""

from invariants import Establish, Ready
from tests.invariants.builders import A, broadcasts, judge, summary, witness

NAME = "epoch uniqueness"


def test_two_leaders_of_an_epoch_are_a_violation() -> None:
    verdict = judge(NAME, [Establish(2, 0, 1), Establish(1, 3, 1)])
    assert witness(verdict) == (Establish(1, 3, 1), Establish(2, 0, 1))
    assert summary(verdict) == "p1 was established as leader of epoch 1, and p2 as well"


def test_so_is_one_that_recovered_and_leads_the_same_epoch_again() -> None:
    verdict = judge(NAME, [Establish(2, 0, 1), Establish(2, 1, 1)])
    assert witness(verdict) == (Establish(2, 0, 1), Establish(2, 1, 1))
    assert summary(verdict) == "p2 was established as leader of epoch 1, and p2 again"


def test_a_leader_for_each_epoch_is_right() -> None:
    verdict = judge(NAME, [Establish(1, 0, 1), Establish(2, 0, 2), Establish(1, 0, 3), Establish(1, 0, 3)])
    assert (verdict.status, verdict.judged) == ("holds", 4)


def test_the_witness_is_the_two_least_of_the_lowest_epoch() -> None:
    events = [Establish(p, 0, epoch) for epoch in (5, 4) for p in (3, 1, 2)]
    assert witness(judge(NAME, events)) == (Establish(1, 0, 4), Establish(2, 0, 4))


def test_without_an_established_leader_it_is_not_exercised() -> None:
    assert judge(NAME, [Ready(1, 0, 1), Ready(2, 0, 1), *broadcasts(1, 1, A)]).status == "not exercised"


def test_a_violation_is_certain_even_if_the_trace_is_cut_off() -> None:
    assert judge(NAME, [Establish(2, 0, 1), Establish(1, 3, 1)], complete=False).status == "violated"
