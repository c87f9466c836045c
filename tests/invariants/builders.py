"""Short ways to write traces down."""

from collections.abc import Sequence
from random import Random
from typing import Literal

from invariants import (
    NO_ZXID,
    Accept,
    AckEpoch,
    Adopt,
    Broadcast,
    Deliver,
    End,
    Event,
    Header,
    Restore,
    Txn,
    Verdict,
    Zxid,
    chain_hash,
    check,
)
from invariants.events import Local
from invariants.quorums import MAJORITY

Order = Literal["global", "per-process"]

A, B, C = (Txn(Zxid(1, counter), value) for counter, value in enumerate("abc", 1))
"""Three transactions of epoch 1."""

D, E = (Txn(Zxid(2, counter), value) for counter, value in enumerate("de", 1))
"""Two transactions of epoch 2."""

F = Txn(Zxid(3, 1), "f")
"""One of epoch 3."""


def broadcasts(process: int, epoch: int, *txns: Txn, incarnation: int = 0) -> list[Event]:
    return [Broadcast(process, incarnation, epoch, txn) for txn in txns]


def deliveries(process: int, *txns: Txn, incarnation: int = 0) -> list[Event]:
    return [Deliver(process, incarnation, txn) for txn in txns]


def restore(process: int, *prefix: Txn, incarnation: int = 0) -> Restore:
    """Taking over a snapshot that holds `prefix`."""
    return Restore(process, incarnation, *told(prefix))


def told(history: Sequence[Txn]) -> tuple[Zxid, int, int]:
    """A history as events tell it: its last zxid, its length, its hash."""
    value = 0
    for txn in history:
        value = chain_hash(value, txn)
    return history[-1].zxid if history else NO_ZXID, len(history), value


def ack_epoch(process: int, epoch: int, current: int, *history: Txn, incarnation: int = 0) -> AckEpoch:
    return AckEpoch(process, incarnation, epoch, current, *told(history))


def adopt(process: int, epoch: int, *history: Txn, incarnation: int = 0) -> Adopt:
    return Adopt(process, incarnation, epoch, *told(history))


def accepts(process: int, epoch: int, *txns: Txn, incarnation: int = 0) -> list[Event]:
    return [Accept(process, incarnation, epoch, txn) for txn in txns]


def whole(
    events: Sequence[Event],
    order: Order = "per-process",
    *,
    complete: bool = True,
    processes: int = 9,
    quorums: str = MAJORITY,
) -> list[Event]:
    """These events between a header and an end."""
    return [Header(1, processes, "test", quorums, order), *events, End(len(events), complete)]


def ensemble(events: Sequence[Event]) -> int:
    """The least number of processes that these events can be of."""
    return max([1, *(event.process for event in events if isinstance(event, Local))])


def judge(
    name: str,
    events: Sequence[Event],
    order: Order = "per-process",
    *,
    complete: bool = True,
    processes: int = 9,
    quorums: str = MAJORITY,
) -> Verdict:
    """The verdict of one property."""
    trace = whole(events, order, complete=complete, processes=processes, quorums=quorums)
    [verdict] = check(trace, [name])
    assert (verdict.violation is not None) == (verdict.status == "violated")
    return verdict


def witness(verdict: Verdict) -> tuple[Event, ...]:
    assert verdict.violation is not None
    return verdict.violation.witness


def summary(verdict: Verdict) -> str:
    assert verdict.violation is not None
    return verdict.violation.summary


def split(events: Sequence[Event]) -> dict[int, list[Event]]:
    """The events of each process, in their order; such as belong to no process are left out."""
    logs: dict[int, list[Event]] = {}
    for event in events:
        if isinstance(event, Local):
            logs.setdefault(event.process, []).append(event)
    return logs


def merge(rng: Random, events: Sequence[Event]) -> list[Event]:
    """The events in another order that keeps each process's own; any such order, even one that no clock would give."""
    queues: dict[int, list[Event]] = {}
    for event in events:
        assert isinstance(event, Local)
        queues.setdefault(event.process, []).append(event)
    turns = [process for process, queue in queues.items() for _ in queue]
    rng.shuffle(turns)
    nexts = {process: iter(queue) for process, queue in queues.items()}
    return [next(nexts[process]) for process in turns]


FIGURE_3: list[Event] = [
    *broadcasts(1, 1, A),
    *broadcasts(2, 2, D),
    *deliveries(1, D),
    *deliveries(2, D),
    *broadcasts(1, 3, F),
    *deliveries(1, F),
    *deliveries(2, F),
]
"""p1 broadcasts z = a in epoch 1, delivers z' = d of epoch 2, broadcasts z'' = f in epoch 3; z is never delivered.

DSN 2011, Figure 3; and Figure 4 below.
"""

FIGURE_4: list[Event] = [
    *broadcasts(1, 1, A),
    *broadcasts(2, 2, D),
    *deliveries(3, A, D),
    *broadcasts(3, 3, F),
    *deliveries(1, A, D, F),
    *deliveries(2, A, D, F),
    *deliveries(3, F),
]
"""z = a and z' = d are causally independent, z'' = f comes after both; all are delivered."""
