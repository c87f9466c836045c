"""Phase 2 (Paxos Made Simple, 2.2 and 3), and learning (2.3): values are proposed, accepted, chosen, delivered."""

import pytest

from invariants import Broadcast, Deliver, Halt, Ready, Txn, Zxid
from tests.protocols.paxos.builders import BALLOT, A, B, C, accepted, acceptor, asking, established, proposer, up, value
from tests.protocols.zab.builders import at_once, gives_up, sent, written
from zabcheck.protocols.base import Lost, Request, Started, TimedOut
from zabcheck.protocols.paxos.acceptor import on_phase_2a, on_timed_out
from zabcheck.protocols.paxos.messages import NO_OP, Chosen, Phase2a, Phase2b, Proposal
from zabcheck.protocols.paxos.process import Variant, abandon, on_started
from zabcheck.protocols.paxos.proposer import can_broadcast, on_chosen, on_lost, on_phase_2b, on_request
from zabcheck.protocols.switches import Switches

ONE = Variant(outstanding="one")
BATCHES = Variant(outstanding="one", batches=True)
X, Y = value(BALLOT, 1, "x"), value(BALLOT, 2, "y")


def test_2a_of_a_new_value_goes_to_all_that_have_promised() -> None:
    """abcast: z is the ballot, and the place of the value among those of this primary."""
    p = established(2, proposals={1: A}, chosen={1: A}, delivered=1, ready=True)
    effects = on_request(p, 1, Request("x"))
    assert effects[0] == Broadcast(1, 0, BALLOT, Txn(Zxid(BALLOT, 1), "x"))
    assert sent(effects) == [(a, Phase2a(BALLOT, 2, X)) for a in (1, 2)]


def test_several_proposals_may_be_outstanding() -> None:
    p = established(2)
    for text in "xyz":
        assert on_request(p, 1, Request(text))
    assert [*p.proposals] == [1, 2, 3]
    assert p.delivered == 0


@pytest.mark.parametrize(
    "p", [proposer(2), asking(2), established(2, proposals={1: A}), up()], ids=["join", "1a", "not ready", "no leader"]
)
def test_nobody_broadcasts_before_ready(p: object) -> None:
    assert not can_broadcast(p)  # type: ignore[arg-type]  # as parametrised
    assert on_request(p, 1, Request("x")) == []  # type: ignore[arg-type]  # as parametrised


def test_a_counter_that_would_overflow_forces_a_new_ballot() -> None:
    p = established(2, switches=Switches(counter_limit=1))
    assert not gives_up(on_request(p, 1, Request("x")))
    assert gives_up(on_request(p, 1, Request("y")))


def test_with_one_outstanding_the_next_request_waits() -> None:
    p = established(2, variant=ONE)
    assert on_request(p, 1, Request("x"))
    assert not can_broadcast(p)
    assert on_chosen(p, 1, Chosen(1, X)) == [Deliver(1, 0, X[0])]
    assert can_broadcast(p)


def test_a_batch_is_what_was_requested_while_one_was_outstanding() -> None:
    p = established(2, variant=BATCHES)
    assert sent(on_request(p, 1, Request("x")))
    for counter, text in ((2, "y"), (3, "z")):
        assert on_request(p, 1, Request(text)) == [Broadcast(1, 0, BALLOT, Txn(Zxid(BALLOT, counter), text))]
    batch = (*Y, *value(BALLOT, 3, "z"))
    effects = on_chosen(p, 1, Chosen(1, X))
    assert effects[0] == Deliver(1, 0, X[0])
    assert sent(effects) == [(a, Phase2a(BALLOT, 2, batch)) for a in (1, 2)]


def test_2b_follows_once_the_proposal_is_durable() -> None:
    a = acceptor(promised=BALLOT, accepted=accepted(i27=(1, A), i28=(1, B)))
    effects = on_phase_2a(a, 1, Phase2a(BALLOT, 27, C))
    assert at_once(effects) == []
    assert written(effects) == [{"accepted": accepted(i27=(BALLOT, C), i28=(1, B))}]
    assert sent(effects) == [(1, Phase2b(BALLOT, 27))]


def test_a_process_that_accepts_a_later_ballot_has_promised_it() -> None:
    a = acceptor(promised=1)
    [write] = written(on_phase_2a(a, 1, Phase2a(BALLOT, 1, A)))
    assert write == {"promised": BALLOT, "accepted": {1: Proposal(BALLOT, A)}}


def test_a_proposal_below_the_promise_is_not_accepted() -> None:
    a = acceptor(promised=BALLOT + 1)
    assert gives_up(on_phase_2a(a, 1, Phase2a(BALLOT, 1, A)))
    assert a.accepted == {}
    assert on_phase_2a(acceptor(), 3, Phase2a(BALLOT, 1, A)) == []


def test_a_quorum_that_accepts_chooses() -> None:
    p = established(2, 3, 4, n=5, proposals={1: A})
    assert on_phase_2b(p, 1, Phase2b(BALLOT, 1)) == []
    assert on_phase_2b(p, 4, Phase2b(BALLOT, 1)) == []
    assert on_phase_2b(p, 4, Phase2b(BALLOT, 1)) == []  # one acceptor counts once
    assert sent(on_phase_2b(p, 2, Phase2b(BALLOT, 1))) == [(a, Chosen(1, A)) for a in (1, 2, 3, 4)]


def test_acceptances_of_another_ballot_or_of_what_is_chosen_change_nothing() -> None:
    p = established(2, proposals={1: A, 2: B}, chosen={1: A}, delivered=1)
    assert on_phase_2b(p, 2, Phase2b(BALLOT - 3, 2)) == []
    assert on_phase_2b(p, 2, Phase2b(BALLOT, 1)) == []
    assert p.accepts == {}


def test_learners_deliver_in_the_order_of_instances() -> None:
    a = acceptor()
    assert on_chosen(a, 1, Chosen(2, B)) == []
    assert on_chosen(a, 1, Chosen(4, C)) == []
    assert on_chosen(a, 1, Chosen(1, A)) == [Deliver(2, 0, A[0]), Deliver(2, 0, B[0])]
    assert on_chosen(a, 1, Chosen(3, NO_OP)) == [Deliver(2, 0, C[0])]
    assert on_chosen(a, 1, Chosen(3, NO_OP)) == []
    assert on_chosen(a, 3, Chosen(5, A)) == []  # of another proposer than its own
    assert a.delivered == 4


def test_a_batch_is_delivered_whole() -> None:
    assert on_chosen(acceptor(), 1, Chosen(1, (*A, *B))) == [Deliver(2, 0, A[0]), Deliver(2, 0, B[0])]


def test_a_primary_is_ready_when_all_that_phase_1_found_is_delivered() -> None:
    p = established(2, proposals={1: A, 2: B})
    assert on_chosen(p, 1, Chosen(1, A)) == [Deliver(1, 0, A[0])]
    assert on_chosen(p, 1, Chosen(2, B)) == [Deliver(1, 0, B[0]), Ready(1, 0, BALLOT)]
    assert can_broadcast(p)


def test_a_process_that_leaves_keeps_what_is_durable_or_learned() -> None:
    a = established(2, proposals={1: A}, accepted=accepted(i1=(BALLOT, A)), chosen={1: A}, delivered=1)
    abandon(a)
    assert a == up(1, promised=BALLOT, accepted=accepted(i1=(BALLOT, A)), chosen={1: A}, delivered=1)


def test_an_acceptor_leaves_after_a_time_out_or_when_the_connection_is_closed() -> None:
    assert gives_up(on_timed_out(acceptor(), 2, TimedOut()))
    assert on_timed_out(up(), 2, TimedOut()) == []
    assert gives_up(on_lost(acceptor(), 1, Lost(1)))
    assert on_lost(acceptor(), 3, Lost(3)) == []


def test_a_proposer_stops_without_a_quorum_of_acceptors() -> None:
    p = established(2, 3)
    assert on_lost(p, 3, Lost(3)) == []
    assert gives_up(on_lost(p, 2, Lost(2)))


def test_an_altered_record_stops_the_process() -> None:
    assert on_started(up(), 2, Started()) == []
    [effect] = on_started(up(), 2, Started(intact=False))
    assert isinstance(effect, Halt)
