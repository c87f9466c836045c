"""Durability: what a client was told is done is in what is read at the end."""

from invariants import ClientAck, FinalRead, Txn
from tests.invariants.builders import A, B, C, deliveries, judge, summary, witness

NAME = "durability"


def acknowledged(process: int, txn: Txn, incarnation: int = 0) -> ClientAck:
    return ClientAck(process, incarnation, txn)


def read(process: int, *txns: Txn, incarnation: int = 0) -> FinalRead:
    return FinalRead(process, incarnation, txns)


def test_what_a_client_was_told_and_nobody_has_at_the_end_is_lost() -> None:
    verdict = judge(NAME, [acknowledged(2, A), acknowledged(1, B), read(2, A), read(1, A)])
    assert witness(verdict) == (acknowledged(1, B), read(1, A))
    assert summary(verdict) == "p1 told a client that b⟨1,2⟩ is done, and no final read has it"


def test_it_is_enough_that_one_read_has_it() -> None:
    verdict = judge(NAME, [acknowledged(1, A), acknowledged(2, B), read(1, A), read(2, B, A)])
    assert (verdict.status, verdict.judged) == ("holds", 2)


def test_what_was_delivered_without_an_answer_may_be_lost() -> None:
    assert judge(NAME, [*deliveries(1, A, B), acknowledged(1, A), read(1, A)]).status == "holds"


def test_without_a_read_nothing_is_said() -> None:
    assert judge(NAME, [acknowledged(1, A)]).status == "not exercised"


def test_without_an_answer_nothing_is_said() -> None:
    assert judge(NAME, [read(1, A)]).status == "not exercised"


def test_the_order_of_answer_and_read_in_a_merged_log_does_not_matter() -> None:
    assert judge(NAME, [read(1, A), acknowledged(2, A)]).status == "holds"
    assert witness(judge(NAME, [read(1, A), acknowledged(2, B)])) == (acknowledged(2, B), read(1, A))


def test_the_witness_is_the_least_transaction_by_whom_and_the_least_read() -> None:
    events = [acknowledged(1, C), acknowledged(3, B), acknowledged(2, B, 1), acknowledged(2, B), read(2, A), read(1)]
    assert witness(judge(NAME, events)) == (acknowledged(2, B), read(1))


def test_a_trace_that_is_cut_off_may_lack_the_read_that_has_it() -> None:
    assert judge(NAME, [acknowledged(1, A), read(1)], complete=False).status == "inconclusive"
