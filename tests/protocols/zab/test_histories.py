"""DSN 2011, end of IV, and V-A: ACK-E and NEWLEADER need not carry whole histories, only what is missing."""

from random import Random

import pytest

from invariants import EMPTY, NO_ZXID, Chain, Txn, Zxid
from tests.invariants.builders import A, B, C, D, E
from tests.protocols.zab.builders import AB, EPOCH, established, follower, proposing, sent, synchronizing, txn
from tests.tiers import sweep
from zabcheck.protocols.base import Elected, Persist
from zabcheck.protocols.switches import ZabSwitches
from zabcheck.protocols.zab.follower import on_elected, on_newepoch, on_newleader
from zabcheck.protocols.zab.histories import Missing, Whole, carry, last_common, lasts_of, received
from zabcheck.protocols.zab.leader import on_ack_e, on_cepoch
from zabcheck.protocols.zab.messages import AckE, CEpoch, NewEpoch, NewLeader
from zabcheck.protocols.zab.process import Phase

MISSING = ZabSwitches(histories="missing")
ABD = AB.append(D)


def random_histories(rng: Random) -> tuple[Chain, Chain]:
    """Two as Zab may leave them: of each epoch a prefix, and alike up to the last zxid that both have."""
    common = [Txn(Zxid(epoch, counter), "v") for epoch in (1, 2) for counter in range(1, rng.randint(0, 3) + 1)]
    left, right = list(common), list(common)
    epoch = 3
    for _ in range(rng.randint(0, 3)):
        side = rng.choice((left, right))
        side += [Txn(Zxid(epoch, counter), "v") for counter in range(1, rng.randint(1, 3) + 1)]
        epoch += 1
    return Chain.of(left[: rng.randint(0, len(left))] if rng.random() < 0.3 else left), Chain.of(right)


@pytest.mark.parametrize("seed", sweep(range(100), normal=range(20)))
def test_what_is_missing_gives_the_receiver_the_history_of_the_sender(seed: int) -> None:
    own, other = random_histories(Random(seed))
    for sender, receiver in ((own, other), (other, own)):
        carried = carry(sender, EMPTY, lasts_of(receiver))
        assert isinstance(carried, Missing)
        assert received(receiver, carried) == sender
        assert carried.zxid == sender.zxid
        assert len(carried.txns) == sender.length - sender.common_prefix(receiver).length


@pytest.mark.parametrize("seed", sweep(range(100), normal=range(20)))
def test_the_last_common_zxid_is_that_of_the_common_prefix(seed: int) -> None:
    own, other = random_histories(Random(seed))
    assert last_common(own, lasts_of(other)) == own.common_prefix(other).zxid


def test_the_last_zxid_of_each_epoch_is_told_the_latest_first() -> None:
    assert lasts_of(Chain.of([A, B, D, E])) == (E.zxid, B.zxid)
    assert lasts_of(EMPTY) == ()


def test_nothing_in_common_is_the_zxid_of_an_empty_history() -> None:
    assert last_common(AB, ()) == NO_ZXID
    assert last_common(EMPTY, lasts_of(AB)) == NO_ZXID
    assert last_common(Chain.of([D]), lasts_of(AB)) == NO_ZXID


def test_a_process_that_does_not_tell_its_history_is_sent_all() -> None:
    assert carry(AB, EMPTY, None) == Whole(AB)
    assert received(Chain.of([C]), Whole(AB)) == AB


def test_a_log_that_was_cut_gives_what_it_has_or_a_snapshot() -> None:
    """A part that was cut off can be sent to nobody; a snapshot stands for it."""
    base = Chain.of([A])
    assert carry(ABD, base, lasts_of(AB)) == Missing(B.zxid, (D,))
    assert carry(ABD, base, lasts_of(base)) == Missing(A.zxid, (B, D))
    assert carry(ABD, base, lasts_of(EMPTY)) == Whole(ABD, base)
    assert carry(ABD, base, None) == Whole(ABD, base)


# In the steps.


def test_f_1_1_cepoch_tells_what_the_follower_has_where_only_that_is_sent() -> None:
    assert sent(on_elected(follower(history=AB, switches=MISSING), 2, Elected(1))) == [(1, CEpoch(0, (B.zxid,)))]
    assert sent(on_elected(follower(history=AB), 2, Elected(1))) == [(1, CEpoch(0))]


def test_f_1_2_ack_e_brings_what_the_leader_lacks() -> None:
    f = follower(phase=Phase.DISCOVERY, accepted_epoch=1, current_epoch=1, history=AB, switches=MISSING)
    assert sent(on_newepoch(f, 1, NewEpoch(EPOCH, (A.zxid,)))) == [(1, AckE(1, Missing(A.zxid, (B,))))]


def test_l_1_2_the_leader_puts_the_chosen_history_together() -> None:
    """It takes the follower's transactions after the last that both have, in place of its own."""
    private = Txn(Zxid(1, 2), "private")
    leader = proposing(1, 2, history=Chain.of([A, private]), switches=MISSING)
    on_ack_e(leader, 1, AckE(1, Missing(private.zxid, ())))
    on_ack_e(leader, 2, AckE(2, Missing(A.zxid, (txn(2, 1),))))
    assert leader.proposed == Chain.of([A, txn(2, 1)])


def test_l_2_1_each_follower_is_sent_what_it_lacks() -> None:
    leader = proposing(1, 2, history=AB, lasts={1: (B.zxid,), 2: (A.zxid,)}, switches=MISSING)
    on_ack_e(leader, 1, AckE(1, Missing(B.zxid, ())))
    proposals = sent(on_ack_e(leader, 2, AckE(1, Missing(A.zxid, ()))))
    assert proposals == [
        (1, NewLeader(EPOCH, Missing(B.zxid, ()))),
        (2, NewLeader(EPOCH, Missing(A.zxid, (B,)))),
    ]


def test_l_3_3_a_late_joiner_is_sent_what_it_lacks_of_the_initial_history_and_of_what_was_broadcast() -> None:
    """I_e' ∘ β_e', from the last zxid on that CEPOCH told of: what is outstanding is part of it."""
    leader = established(1, 2, proposed=ABD, switches=MISSING)
    assert sent(on_cepoch(leader, 3, CEpoch(1, (A.zxid,))))[1] == (3, NewLeader(EPOCH, Missing(A.zxid, (B, D))))


def test_f_2_1_a_follower_drops_what_comes_after_the_last_common_transaction() -> None:
    f = synchronizing(history=Chain.of([A, C]), switches=MISSING)
    on_newleader(f, 1, NewLeader(EPOCH, Missing(A.zxid, (B,))))
    assert f.history == AB


# Snapshots in the place of a log that was cut.


def test_f_2_1_a_snapshot_comes_onto_the_disk_with_the_history() -> None:
    base = Chain.of([A])
    f = synchronizing()
    [written, *_] = on_newleader(f, 1, NewLeader(EPOCH, Whole(AB, base)))
    assert (f.history, f.base, f.snapshot) == (AB, base, base)
    assert isinstance(written, Persist)
    assert written.fields == {"current_epoch": EPOCH, "history": AB, "snapshot": base, "base": base}


@pytest.mark.parametrize("base", [EMPTY, Chain.of([A])], ids=["no snapshot", "the same snapshot"])
def test_f_2_1_without_news_of_it_only_history_and_epoch_are_written(base: Chain) -> None:
    f = synchronizing(base=base, snapshot=base)
    [written, *_] = on_newleader(f, 1, NewLeader(EPOCH, Whole(AB, base)))
    assert f.base == base
    assert isinstance(written, Persist)
    assert list(written.fields) == ["current_epoch", "history"]


def test_f_2_1_a_later_snapshot_of_its_own_is_kept() -> None:
    f = synchronizing(history=AB, snapshot=AB)
    on_newleader(f, 1, NewLeader(EPOCH, Whole(ABD, Chain.of([A]))))
    assert (f.base, f.snapshot) == (EMPTY, AB)


def test_f_2_1_a_log_that_goes_further_back_is_not_cut_because_the_leaders_is() -> None:
    f = synchronizing(history=AB)
    on_newleader(f, 1, NewLeader(EPOCH, Whole(ABD, AB)))
    assert (f.base, f.snapshot) == (EMPTY, EMPTY)


def test_f_2_1_a_log_that_was_cut_further_stays_so() -> None:
    f = synchronizing(history=AB, base=AB, snapshot=AB)
    on_newleader(f, 1, NewLeader(EPOCH, Whole(ABD, Chain.of([A]))))
    assert (f.base, f.snapshot) == (AB, AB)
