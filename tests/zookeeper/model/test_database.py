"""`ZKDatabase`, `FileTxnSnapLog`, `FileTxnLog`."""

import pytest
from msgspec.structs import replace

from invariants import NO_ZXID, Zxid
from tests.zookeeper.model.builders import A, B, C, D, memory, snapshot, txn
from zabcheck.zookeeper.model.database import (
    FIRST,
    Exit,
    applied,
    fast_forwarded,
    loaded,
    not_later,
    truncated,
    with_proposal,
    with_snapshot,
    without_later,
)
from zabcheck.zookeeper.model.versions import VERSIONS

V393, V395 = VERSIONS["3.9.3"], VERSIONS["3.9.5"]


def test_restore_takes_the_newest_snapshot_and_all_that_is_logged_behind_it() -> None:
    database = loaded((FIRST, snapshot(B.zxid, A, B)), (A, B, C, D), V395, 500)
    assert [*database.tree] == [A, B, C, D]
    assert database.lpz == D.zxid
    assert database.cache == (C, D), "committedLog begins behind the snapshot"


def test_restore_does_not_miss_what_is_below_the_label_and_not_logged() -> None:
    assert [*loaded((snapshot(B.zxid, A, B),), (D,), V395, 500).tree] == [A, B, D]


def test_fast_forward_applies_also_lower_records_behind_the_first_one() -> None:
    database = fast_forwarded(memory(A), (A, D, B), V393, 500)
    assert [*database.tree] == [A, D, B]
    assert database.lpz == D.zxid, "applying only raises it"


def test_process_txn_twice_changes_nothing() -> None:
    assert [*applied(memory(A, B), A, V393, 500).tree] == [A, B]


def test_add_committed_proposal_keeps_a_window() -> None:
    assert with_proposal((A, B), C, V395, 2) == (B, C)


def test_add_committed_proposal_refuses_a_hole_since_3_9_4() -> None:
    assert with_proposal((A,), C, V393, 500) == (A, C)
    with pytest.raises(Exit, match="a hole between ⟨1,1⟩ and ⟨1,3⟩"):
        with_proposal((A,), C, V395, 500)
    assert with_proposal((C,), A, V395, 500) == (C,)
    assert with_proposal((A,), D, V395, 500) == (A, D), "an epoch may begin anywhere"


def test_save_replaces_the_snapshot_of_the_same_label() -> None:
    assert with_snapshot((FIRST,), memory(A)) == (FIRST, snapshot(A.zxid, A))
    assert with_snapshot((snapshot(A.zxid),), memory(A)) == (snapshot(A.zxid, A),)


def test_truncate_log_keeps_the_first_record_that_is_not_below() -> None:
    assert truncated((A, B, C), B.zxid, V395) == (A, B)


def test_truncate_log_keeps_one_too_many_where_the_record_is_missing() -> None:
    """N2: the log of a server that got SNAP(B) and then proposed D."""
    assert truncated((D, txn(2, 2)), B.zxid, V395) == (D,)
    assert truncated((D, txn(2, 2)), B.zxid, replace(V395, truncates_exactly=True)) == ()


def test_truncate_log_fails_without_a_record_as_high() -> None:
    with pytest.raises(Exit, match="TRUNC"):
        truncated((A,), B.zxid, V395)


def test_snapshots_that_hold_more_than_a_truncation_leaves() -> None:
    later = snapshot(Zxid(2, 0), A)
    assert without_later((FIRST, later, snapshot(D.zxid, A, D)), A.zxid) == (FIRST, snapshot(A.zxid, A))
    with pytest.raises(Exit, match="no snapshot goes back as far"):
        without_later((snapshot(D.zxid, A, D),), NO_ZXID)


def test_snapshots_that_are_not_labelled_above_a_truncation() -> None:
    later = snapshot(D.zxid, A)
    assert not_later((FIRST, snapshot(A.zxid, A), later), A.zxid) == (FIRST, snapshot(A.zxid, A))
    with pytest.raises(Exit, match="no snapshot goes back as far"):
        not_later((later,), A.zxid)
