"""CPU seconds for the causality graph of a long trace: to build it, and for each kind of query.

Three processes deliver what the primaries of 20 epochs broadcast, and a fourth one takes over a snapshot of all of it
every hundred events. Then the same with the logs one after the other, so that each delivery comes before its broadcast.
"""

from collections.abc import Callable
from statistics import median
from time import process_time
from typing import TypeVar, get_args

from zabcheck.counterexample.causality import Causality, Relation
from zabcheck.invariants import EMPTY, Broadcast, Deliver, Local, Restore, Txn, Zxid

EVENTS = 100_000
EPOCHS = 20
REPEATS = 3
LARGE = 1000
"""The number of nodes in the largest reduction."""

Result = TypeVar("Result")


def main() -> None:
    events = trace()
    merged = sorted(events, key=lambda event: -event.process)
    print(f"CPU seconds, {len(events):,} events, median of {REPEATS}:")
    print(f"  {'':28}{'build':>9}{'precedes':>10}{'past':>9}{'chain':>9}{'reduce 10':>11}{'1,000':>9}{'whole':>9}")
    for relation in get_args(Relation):
        for name, each in (("", events), (", merged", merged)):
            print(f"  {relation + name:28}{measured(each, relation)}", flush=True)


def measured(events: list[Local], relation: Relation) -> str:
    build, causality = timed(lambda: Causality(events, relation))
    first, last = causality.broadcasts(Txn(Zxid(1, 1), "v"))[0], causality.broadcasts(Txn(Zxid(EPOCHS, 1), "v"))[0]
    precedes, holds = timed(lambda: causality.precedes(first, last))
    assert holds
    whole_past, past = timed(lambda: causality.past(last))
    chain, _ = timed(lambda: causality.chain(first, last))
    few, _ = timed(lambda: causality.reduction(past[-10:]))
    many, graph = timed(lambda: causality.reduction(past[-LARGE:]))
    assert len(graph) == LARGE
    whole, _ = timed(causality.to_networkx)
    return f"{build:>9.2f}{precedes:>10.3f}{whole_past:>9.3f}{chain:>9.3f}{few:>11.2f}{many:>9.2f}{whole:>9.2f}"


def timed(do: Callable[[], Result]) -> tuple[float, Result]:
    """Call a function several times; return the median of its CPU seconds, and its result."""
    seconds = []
    for _ in range(REPEATS):
        start = process_time()
        result = do()
        seconds.append(process_time() - start)
    return median(seconds), result


def trace() -> list[Local]:
    events: list[Local] = []
    delivered = EMPTY
    for epoch in range(1, EPOCHS + 1):
        primary = 1 + epoch % 3
        for counter in range(1, EVENTS // EPOCHS // 4 + 1):
            txn = Txn(Zxid(epoch, counter), "v")
            delivered = delivered.append(txn)
            events += [Broadcast(primary, 0, epoch, txn), *(Deliver(process, 0, txn) for process in (1, 2, 3))]
            if counter % 25 == 0:
                events.append(Restore(4, 0, delivered.zxid, delivered.length, delivered.hash))
    return events
