"""DSN 2011, III-B: primary order and causal order, of which neither implies the other."""

from itertools import pairwise

from invariants import Broadcast, Deliver, Event, Txn
from zabcheck.papers.scenarios import SCENARIOS
from zabcheck.papers.scenarios.base import Written


def broken_causal_order(events: list[Event]) -> list[tuple[Txn, Txn, int]]:
    """Definition III.1 to the letter: (x, y, p) where x precedes y, and p delivers y without having delivered x.

    abcast(x) precedes abcast(y) by Lamport's happens-before: the order of one process, and each delivery after its
    broadcast; any events of one process count, whatever epochs they are of.
    """
    before: dict[int, set[int]] = {index: set() for index in range(len(events))}
    for index, event in enumerate(events):
        for earlier in range(index):
            other = events[earlier]
            same_process = other.process == event.process  # type: ignore[attr-defined]  # all are local
            sent = isinstance(other, Broadcast) and isinstance(event, Deliver) and other.txn == event.txn
            if same_process or sent:
                before[index] |= before[earlier] | {earlier}
    cast = {event.txn: index for index, event in enumerate(events) if isinstance(event, Broadcast)}
    found = []
    for index, event in enumerate(events):
        if isinstance(event, Deliver):
            done = {e.txn for e in events[:index] if isinstance(e, Deliver) and e.process == event.process}
            first = [txn for txn in cast if cast[txn] in before[cast[event.txn]]]
            found += [(txn, event.txn, event.process) for txn in first if txn not in done]
    return found


def events_of(name: str) -> list[Event]:
    run = SCENARIOS[name].run
    assert isinstance(run, Written)
    return list(run.events)


def test_figure_3_breaks_causal_order_by_z_that_nobody_delivers() -> None:
    found = broken_causal_order(events_of("dsn-figure-3"))
    assert [(str(x), str(y), p) for x, y, p in found] == [("v⟨1,1⟩", "v''⟨3,1⟩", 1), ("v⟨1,1⟩", "v''⟨3,1⟩", 2)]


def test_figure_4_satisfies_causal_order() -> None:
    assert broken_causal_order(events_of("dsn-figure-4")) == []


def test_the_transactions_of_both_are_of_ascending_epochs() -> None:
    for name in ("dsn-figure-3", "dsn-figure-4"):
        txns = [event.txn for event in events_of(name) if isinstance(event, Broadcast)]
        assert all(z.zxid.epoch < later.zxid.epoch for z, later in pairwise(txns))
