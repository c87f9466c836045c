"""State: equally many transactions applied, equal states."""

from invariants import Event, State
from tests.invariants.builders import A, B, deliveries, judge, summary, witness

NAME = "state"


def state(process: int, length: int, digest: int, incarnation: int = 0) -> State:
    return State(process, incarnation, B.zxid, length, digest)


def test_two_states_after_equally_many_transactions_are_a_violation() -> None:
    verdict = judge(NAME, [state(2, 1, 255), state(1, 1, 16)])
    assert witness(verdict) == (state(1, 1, 16), state(2, 1, 255))
    assert summary(verdict) == "after 1 transaction p1 has state 10, and p2 has state ff"


def test_equal_states_at_equal_lengths_are_right() -> None:
    verdict = judge(NAME, [state(1, 1, 7), state(2, 1, 7), state(1, 2, 8), state(2, 2, 8), state(2, 3, 9)])
    assert (verdict.status, verdict.judged) == ("holds", 2)


def test_one_process_has_to_be_in_the_same_state_again_after_a_crash() -> None:
    verdict = judge(NAME, [state(1, 2, 7), state(1, 2, 8, incarnation=1)])
    assert witness(verdict) == (state(1, 2, 7), state(1, 2, 8, incarnation=1))
    assert summary(verdict) == "after 2 transactions p1 (incarnation 0) has state 7, and p1 (incarnation 1) has state 8"


def test_the_zxid_does_not_matter() -> None:
    other = State(2, 0, A.zxid, 1, 7)
    assert judge(NAME, [state(1, 1, 7), other]).status == "holds"


def test_a_state_that_nothing_compares_with_does_not_exercise_it() -> None:
    events: list[Event] = [state(1, 1, 7), state(2, 2, 8), *deliveries(1, A)]
    assert judge(NAME, events).status == "not exercised"


def test_the_witness_is_the_least_length_then_process_then_the_least_of_another_state() -> None:
    events = [state(1, 5, 7), state(2, 5, 8), state(4, 3, 6), state(3, 3, 7), state(1, 3, 6), state(2, 3, 9)]
    assert witness(judge(NAME, events)) == (state(1, 3, 6), state(2, 3, 9))


def test_a_violation_is_certain_even_if_the_trace_is_cut_off() -> None:
    assert judge(NAME, [state(1, 1, 7), state(2, 1, 8)], complete=False).status == "violated"
