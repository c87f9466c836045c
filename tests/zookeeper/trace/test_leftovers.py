"""Transactions that a snapshot replaced in memory and not in the log (2832), and that an observer did not log."""

import pytest

from invariants import EMPTY, Chain, Txn, Zxid
from zabcheck.zookeeper.trace.leftovers import Leftovers
from zabcheck.zookeeper.trace.notes import InformedNotLogged

ABANDONED, LATER = Txn(Zxid(1, 1), "a"), Txn(Zxid(2, 1), "b")
BEFORE, BEHIND = Zxid(0, 0), Zxid(2, 0)


def replaced(*ends: Zxid) -> Leftovers:
    """Return the leftovers of a server with a transaction, which takes over empty snapshots that end so."""
    found = Leftovers()
    history = Chain.of([ABANDONED])
    for end in ends:
        found.take_over(history, EMPTY, end)
        history = EMPTY
    return found


@pytest.mark.parametrize(
    ("ends", "comes_back"),
    [((), False), ((BEHIND,), False), ((BEFORE,), True), ((BEHIND, BEFORE), True), ((BEHIND, BEHIND), False)],
)
def test_it_comes_back_behind_a_snapshot_that_ends_before_it(ends: tuple[Zxid, ...], comes_back: bool) -> None:
    assert replaced(*ends).may_come_back(ABANDONED.zxid) is comes_back


def test_what_the_snapshot_has_was_not_replaced() -> None:
    found = Leftovers()
    found.take_over(Chain.of([ABANDONED, LATER]), Chain.of([ABANDONED]), BEFORE)
    assert not found.may_come_back(ABANDONED.zxid)
    assert found.may_come_back(LATER.zxid)


def test_what_is_cut_off_or_proposed_again_does_not_come_back() -> None:
    cut, kept, brought = replaced(BEFORE), replaced(BEFORE), replaced(BEFORE)
    cut.cut([], Zxid(0, 0))
    kept.cut([], ABANDONED.zxid)
    brought.bring(ABANDONED.zxid)
    assert [each.may_come_back(ABANDONED.zxid) for each in (cut, kept, brought)] == [False, True, False]


@pytest.mark.parametrize(
    ("logged", "logs"), [((1, 2), None), ((4,), False), ((1, 4), True), ((1,), None), ((3, 4), False)]
)
def test_what_an_observer_was_told_and_has_not_logged_is_noted_if_the_log_goes_on(
    logged: tuple[int, ...], logs: bool | None
) -> None:
    """The third was on its way to the observer when that became a voter, and was proposed to it again."""
    found = Leftovers()
    for counter in (1, 2, 3):
        found.inform(Zxid(1, counter))
    found.bring(Zxid(1, 3))
    lost = Zxid(1, 2) if 1 in logged else Zxid(1, 1)
    noted = [] if logs is None else [InformedNotLogged(4, lost, Zxid(1, 3 if 3 in logged else 4), logs)]
    assert [*found.notes_on(4, [Zxid(1, each) for each in logged], Zxid(0, 0))] == noted
