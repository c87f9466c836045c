"""Phase 1 (Paxos Made Simple, 2.2): a proposer chooses a ballot, a quorum promises it and tells what it accepted."""

import pytest

from invariants import Establish, Promise, Ready
from tests.protocols.paxos.builders import BALLOT, A, B, C, accepted, acceptor, asking, established, proposer, up
from tests.protocols.zab.builders import at_once, gives_up, sent, written
from zabcheck.protocols.base import Connect, Elected, Persist, Send
from zabcheck.protocols.paxos.acceptor import on_elected, on_phase_1a
from zabcheck.protocols.paxos.messages import NO_OP, Chosen, Join, Phase1a, Phase1b, Phase2a, Proposal
from zabcheck.protocols.paxos.process import Link, Variant
from zabcheck.protocols.paxos.proposer import on_join, on_phase_1b, own_ballot_after, recovered


def test_an_acceptor_connects_to_the_proposer_that_its_oracle_names() -> None:
    a = acceptor(leader=3, promised=7, delivered=2, ballot=0)
    assert on_elected(a, 2, Elected(1)) == [Connect(1), Send(1, Join(7, 2))]
    assert a.leader == 1


@pytest.mark.parametrize(("highest", "process", "ballot"), [(0, 1, 1), (0, 3, 3), (1, 1, 4), (1, 2, 2), (3, 2, 5)])
def test_no_two_processes_have_a_ballot_in_common(highest: int, process: int, ballot: int) -> None:
    """2.5: different proposers choose their numbers from disjoint sets."""
    assert own_ballot_after(highest, process, 3) == ballot


def test_1a_waits_for_a_quorum_and_exceeds_all_that_it_has_promised() -> None:
    p = proposer(n=5)
    assert on_join(p, 2, Join(6, 0)) == []
    assert p.ballot == 0
    effects = on_join(p, 3, Join(2, 0))
    assert p.ballot == 11
    assert at_once(effects) == []


def test_1a_goes_out_once_the_proposer_has_promised_its_ballot_itself() -> None:
    """Or else, after a crash that forgets it, it could propose two values in one ballot."""
    p = proposer(promised=1, highest=1, delivered=26)
    effects = on_join(p, 2, Join(1, 20))
    assert effects[:2] == [Persist(promised=BALLOT), Promise(1, 0, BALLOT, 1)]
    assert sent(effects) == [(1, Phase1b(BALLOT, ()))]
    assert on_join(p, 3, Join(0, 0)) == []  # the disk has not synced yet
    assert sent(on_phase_1b(p, 1, Phase1b(BALLOT, ()))) == [(2, Phase1a(BALLOT, 27)), (3, Phase1a(BALLOT, 27))]


def test_1a_goes_to_who_joins_later() -> None:
    assert on_join(asking(2), 3, Join(9, 0)) == [Send(3, Phase1a(BALLOT, 1))]


def test_1b_tells_what_was_accepted_from_the_first_instance_on_once_the_promise_is_durable() -> None:
    a = acceptor(promised=1, accepted=accepted(i26=(1, C), i28=(1, B), i27=(1, A)))
    effects = on_phase_1a(a, 1, Phase1a(BALLOT, 27))
    assert at_once(effects) == []
    assert written(effects) == [{"promised": BALLOT}]
    assert sent(effects) == [(1, Phase1b(BALLOT, ((27, Proposal(1, A)), (28, Proposal(1, B)))))]
    assert a.promised == BALLOT


def test_a_ballot_below_the_promise_is_refused() -> None:
    a = acceptor(promised=BALLOT + 1)
    assert gives_up(on_phase_1a(a, 1, Phase1a(BALLOT, 1)))
    assert a.promised == BALLOT + 1


def test_the_same_ballot_is_promised_and_written_again() -> None:
    """The answer may have been lost, and the write that it waited for may not be on the disk."""
    a = acceptor(promised=BALLOT)
    assert written(on_phase_1a(a, 1, Phase1a(BALLOT, 1))) == [{"promised": BALLOT}]


def test_an_acceptor_answers_only_the_proposer_that_it_is_connected_to() -> None:
    assert on_phase_1a(acceptor(), 3, Phase1a(BALLOT, 1)) == []
    assert on_phase_1a(up(), 1, Phase1a(BALLOT, 1)) == []


def test_a_quorum_of_promises_completes_phase_1() -> None:
    p = asking(2, 3, n=5)
    assert on_phase_1b(p, 2, Phase1b(BALLOT, ())) == []
    effects = on_phase_1b(p, 3, Phase1b(BALLOT, ()))
    assert effects == [Establish(1, 0, BALLOT), Ready(1, 0, BALLOT)]


@pytest.mark.parametrize("m", [Phase1b(BALLOT - 3, ()), Phase1b(BALLOT + 3, ())])
def test_a_promise_of_another_ballot_does_not_count(m: Phase1b) -> None:
    p = asking(2)
    assert on_phase_1b(p, 2, m) == []
    assert not p.established


def test_each_instance_by_itself_gets_the_value_of_its_highest_ballot() -> None:
    """The heart of Figure 1: 27 is C, of ballot 2, and 28 is B, of ballot 1."""
    first = ((27, Proposal(1, A)), (28, Proposal(1, B)))
    second = ((27, Proposal(2, C)),)
    for promises in ([first, second], [second, first]):
        assert recovered(27, promises) == {27: C, 28: B}
    assert recovered(27, [(), ()]) == {}


def test_a_gap_is_filled_with_a_no_op() -> None:
    """Paxos Made Simple, 3."""
    assert recovered(1, [((3, Proposal(1, B)),)]) == {1: NO_OP, 2: NO_OP, 3: B}


def test_what_phase_1_found_is_proposed_again_before_anything_new() -> None:
    p = asking(2)
    effects = on_phase_1b(p, 2, Phase1b(BALLOT, ((1, Proposal(1, A)), (2, Proposal(1, B)))))
    proposals = [Phase2a(BALLOT, 1, A), Phase2a(BALLOT, 2, B)]
    assert sent(effects) == [(a, each) for a in (1, 2) for each in proposals]
    assert not p.ready
    assert Ready(1, 0, BALLOT) not in effects


def test_the_barrier_is_a_no_op_behind_what_phase_1_found() -> None:
    p = asking(2, variant=Variant(outstanding="one", barrier=True))
    effects = on_phase_1b(p, 2, Phase1b(BALLOT, ((1, Proposal(1, A)),)))
    assert [m for to, m in sent(effects) if to == 2] == [Phase2a(BALLOT, 1, A), Phase2a(BALLOT, 2, NO_OP)]
    assert not p.ready


def test_a_process_that_promises_later_is_sent_what_it_lacks() -> None:
    """It is sent the value where that is chosen; all else it is asked to accept, even where it knows the value."""
    p = established(2, proposals={2: B, 3: C}, chosen={1: A, 2: B}, first=2, delivered=2)
    p.joined, p.links = {**p.joined, 3: 0}, {**p.links, 3: Link.JOINED}
    assert sent(on_phase_1b(p, 3, Phase1b(BALLOT, ()))) == [
        (3, Chosen(1, A)),
        (3, Chosen(2, B)),
        (3, Phase2a(BALLOT, 3, C)),
    ]
    p.joined, p.links = {**p.joined, 3: 5}, {**p.links, 3: Link.JOINED}
    assert sent(on_phase_1b(p, 3, Phase1b(BALLOT, ()))) == [(3, Phase2a(BALLOT, 3, C))]


def test_only_the_first_process_proposes_where_one_alone_may() -> None:
    alone = Variant(proposers="first")
    assert on_elected(up(variant=alone), 2, Elected(2)) == []
    assert on_elected(up(variant=alone), 2, Elected(3)) == []
    assert on_elected(up(variant=alone), 2, Elected(1))
    assert on_elected(up(process=1, variant=alone), 1, Elected(1))
