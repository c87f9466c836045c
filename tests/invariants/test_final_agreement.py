"""Final agreement: what is read at the end is the same at every process."""

from invariants import FinalRead, Txn
from tests.invariants.builders import A, B, C, deliveries, judge, summary, witness

NAME = "final agreement"


def read(process: int, *txns: Txn, incarnation: int = 0) -> FinalRead:
    return FinalRead(process, incarnation, txns)


def test_two_reads_that_differ_are_a_violation() -> None:
    verdict = judge(NAME, [read(1, A), read(2, A, B)])
    assert witness(verdict) == (read(2, A, B), read(1, A))
    assert summary(verdict) == ("what was read at the end at p2 has b⟨1,2⟩, and what was read at p1 has not")


def test_the_order_within_a_read_does_not_matter() -> None:
    verdict = judge(NAME, [read(1, A, B), read(2, B, A), read(3, A, B, A)])
    assert (verdict.status, verdict.judged) == ("holds", 2)


def test_two_reads_at_one_process_have_to_be_the_same() -> None:
    assert witness(judge(NAME, [read(1, A), read(1, A, B, incarnation=1)])) == (
        read(1, A, B, incarnation=1),
        read(1, A),
    )


def test_what_was_delivered_does_not_matter() -> None:
    assert judge(NAME, [*deliveries(1, A, B), *deliveries(2, A), read(1), read(2)]).status == "holds"


def test_one_read_is_not_compared_with_anything() -> None:
    assert judge(NAME, [read(1, A)]).status == "not exercised"


def test_the_witness_is_the_least_transaction_then_who_has_it_then_who_lacks_it() -> None:
    events = [read(4, A, C), read(3, A, B), read(2, A, C), read(5, A, B)]
    assert witness(judge(NAME, events)) == (read(3, A, B), read(2, A, C))


def test_a_violation_is_certain_even_if_the_trace_is_cut_off() -> None:
    assert judge(NAME, [read(1, A), read(2)], complete=False).status == "violated"
