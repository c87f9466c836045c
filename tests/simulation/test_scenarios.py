"""Whole runs, event by event."""

from collections.abc import Sequence

import invariants
from invariants import (
    EMPTY,
    NO_ZXID,
    Accept,
    AckEpoch,
    Adopt,
    Broadcast,
    Chain,
    CommitEpoch,
    Deliver,
    Establish,
    Event,
    Promise,
    Ready,
    Truncate,
    Txn,
    Zxid,
    check,
)
from zabcheck.protocols import PROTOCOLS
from zabcheck.simulation.choices import Choice, Crash, Elect, Lead, Receive, Recover, Request, Settle, Sync
from zabcheck.simulation.simulator import Simulator

X, Y = Txn(Zxid(1, 1), "x"), Txn(Zxid(1, 2), "y")
Z = Txn(Zxid(2, 1), "z")


def events_of(choices: Sequence[Choice], since: int = 0) -> list[Event]:
    """Return what the choices show, from the choice number `since` on; none of the six properties is broken."""
    events: list[Event] = []
    simulator = Simulator(PROTOCOLS["zab"], 3, events.append)
    start = 0
    for index, choice in enumerate(choices):
        if index == since:
            start = len(events)
        simulator.execute(choice)
    assert "violated" not in {verdict.status for verdict in check(events)}
    return events[start:]


def promised(process: int, incarnation: int, epoch: int, current: int, *txns: Txn) -> list[Event]:
    """The promise of `epoch`, which here the process of that number leads, answered with f.a and these transactions.

    `current` is f.a.
    """
    h = Chain.of(txns)
    return [
        Promise(process, incarnation, epoch, leader=epoch),
        AckEpoch(process, incarnation, epoch, current, h.zxid, h.length, h.hash),
    ]


EPOCH_1: list[Choice] = [Lead(1, (2, 3)), Settle(9)]


def test_an_epoch_without_a_fault() -> None:
    """Two rounds of messages lead to the established epoch, one more to each delivery."""
    assert events_of([*EPOCH_1, Request(1, "x"), Settle(9)]) == [
        *promised(1, 0, 1, 0),
        *promised(2, 0, 1, 0),
        *promised(3, 0, 1, 0),
        *(Adopt(process, 0, 1, NO_ZXID, 0, EMPTY.hash) for process in (1, 2, 3)),
        Establish(1, 0, 1),
        CommitEpoch(1, 0, 1),
        Ready(1, 0, 1),
        CommitEpoch(2, 0, 1),
        CommitEpoch(3, 0, 1),
        Broadcast(1, 0, 1, X),
        *(Accept(process, 0, 1, X) for process in (1, 2, 3)),
        *(Deliver(process, 0, X) for process in (1, 2, 3)),
    ]


def test_a_follower_joins_while_transactions_are_outstanding() -> None:
    """x is committed and y is not when it is sent NEWLEADER; z of the same epoch follows it."""
    z = Txn(Zxid(1, 3), "z")
    before = [Lead(1, (2,)), Settle(9), Request(1, "x"), Settle(9), Request(1, "y")]
    joins: list[Choice] = [Elect(3, 1), Receive(1, 3), Request(1, "z"), Receive(3, 1), Sync(3), Receive(3, 1), Sync(3)]
    answered: list[Choice] = [Receive(1, 3), Receive(1, 3), Receive(3, 1), Receive(3, 1), Sync(3)]
    history = Chain.of([X, Y])
    assert events_of([*before, *joins, *answered], since=len(before)) == [
        Broadcast(1, 0, 1, z),
        *promised(3, 0, 1, 0),
        Adopt(3, 0, 1, Y.zxid, 2, history.hash),
        CommitEpoch(3, 0, 1),
        Deliver(3, 0, X),
        Accept(3, 0, 1, z),
    ]
    whole = events_of([*before, *joins, *answered, Settle(9)])
    assert [event.txn for event in whole if isinstance(event, Deliver) and event.process == 3] == [X, Y, z]


def test_what_only_a_crashed_leader_had_is_truncated() -> None:
    """y reached no other process: when its leader comes back, y is gone, and nobody ever delivers it."""
    before = [*EPOCH_1, Request(1, "x"), Settle(9), Request(1, "y"), Sync(1), Crash(1)]
    anew: list[Choice] = [Lead(2, (3,)), Settle(9), Request(2, "z"), Settle(9)]
    back: list[Choice] = [Recover(1), Elect(1, 2), Settle(9)]
    history = Chain.of([X])
    assert events_of([*before, *anew, *back], since=len(before) - 1) == [
        invariants.Crash(1, 0),
        *promised(2, 0, 2, 1, X),
        *promised(3, 0, 2, 1, X),
        *(Adopt(process, 0, 2, X.zxid, 1, history.hash) for process in (2, 3)),
        Establish(2, 0, 2),
        CommitEpoch(2, 0, 2),
        Ready(2, 0, 2),
        CommitEpoch(3, 0, 2),
        Broadcast(2, 0, 2, Z),
        *(Accept(process, 0, 2, Z) for process in (2, 3)),
        *(Deliver(process, 0, Z) for process in (2, 3)),
        invariants.Recover(1, 1),
        *promised(1, 1, 2, 1, X, Y),
        Truncate(1, 1, X.zxid, 1),
        Adopt(1, 1, 2, Z.zxid, 2, history.append(Z).hash),
        CommitEpoch(1, 1, 2),
        Deliver(1, 1, X),
        Deliver(1, 1, Z),
    ]
