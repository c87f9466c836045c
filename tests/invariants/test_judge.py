"""The judge: growing traces, continuations, and what it costs."""

import sys
from collections.abc import Callable, Iterable
from random import Random
from types import FrameType

import pytest

from invariants import (
    PROPERTIES,
    Broadcast,
    Chain,
    Deliver,
    Event,
    Invariant,
    Judge,
    Ready,
    TraceError,
    Txn,
    Verdict,
    Zxid,
    check,
    select,
)
from tests.invariants.builders import A, B, C, D, broadcasts, deliveries, restore, whole
from tests.invariants.traces import random_trace
from tests.tiers import sweep


def judging(events: Iterable[Event]) -> Judge:
    return continued(Judge(select(), "global"), events)


def continued(judge: Judge, events: Iterable[Event]) -> Judge:
    for event in events:
        judge.observe(event)
    return judge


def by_name(verdicts: Iterable[Verdict]) -> dict[str, str]:
    return {verdict.property: verdict.status for verdict in verdicts}


def total_size(value: object, seen: set[int]) -> int:
    """Return the number of entries in the containers that can be reached from here."""
    if id(value) in seen or isinstance(value, type | Callable):
        return 0
    seen.add(id(value))
    if isinstance(value, Chain):
        return 0  # counted where it is kept
    if isinstance(value, dict):
        return len(value) + sum(total_size(each, seen) for each in value.values())
    if isinstance(value, list | tuple | set):
        return len(value) + sum(total_size(each, seen) for each in value)
    if hasattr(value, "__dict__"):
        return total_size(vars(value), seen)
    return 0


def operations(act: Callable[[], object]) -> int:
    """Return the number of function calls that it takes, of Python and of C."""
    count = 0

    def profile(frame: FrameType, event: str, argument: object) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    sys.setprofile(profile)
    try:
        act()
    finally:
        sys.setprofile(None)
    return count


def correct_run(transactions: int, processes: int = 5, incarnations: int = 1) -> list[Event]:
    """One primary; everybody delivers everything, in each incarnation from the start again."""
    txns = [Txn(Zxid(1, counter), "v") for counter in range(1, transactions + 1)]
    events = broadcasts(1, 1, *txns)
    for incarnation in range(incarnations):
        for process in range(1, processes + 1):
            events += deliveries(process, *txns, incarnation=incarnation)
    return events


# Choosing properties.


def test_what_is_no_event_is_refused() -> None:
    for wrong in ("abc", [{"event": "deliver"}]):
        with pytest.raises(TypeError, match="expected an event"):
            check(wrong)  # type: ignore[arg-type]  # that is the point


def test_all_properties_come_in_the_order_of_the_paper() -> None:
    assert [kind.name for kind in select()] == list(PROPERTIES)
    assert list(PROPERTIES)[:6] == [
        "integrity",
        "total order",
        "agreement",
        "local primary order",
        "global primary order",
        "primary integrity",
    ]


def test_properties_are_chosen_by_name_with_spaces_or_hyphens() -> None:
    assert [kind.name for kind in select(["total-order", "integrity"])] == ["integrity", "total order"]
    assert select(["local primary order"]) == select(["local-primary-order"])
    assert select([]) == []


def test_an_unknown_property_is_an_error_that_names_the_known_ones() -> None:
    with pytest.raises(ValueError, match="no property `disorderly`; expected one of: integrity, total order, agr"):
        select(["integrity", "disorderly"])
    with pytest.raises(ValueError, match=r"no property `total disorder`; did you mean `total order`\?$"):
        select(["integrity", "total-disorder"])
    with pytest.raises(ValueError, match="no property `x`"):
        check([], ["x"])


@pytest.mark.parametrize("kind", PROPERTIES.values(), ids=list(PROPERTIES))
def test_every_property_states_its_sentence_and_source(kind: type[Invariant]) -> None:
    assert kind.statement.endswith(".")
    assert "DSN 2011, " in kind.source or "LADIS 2008, " in kind.source
    assert kind.__doc__ is not None or sys.modules[kind.__module__].__doc__


def test_a_violation_carries_what_a_report_needs() -> None:
    [verdict] = check(whole([*broadcasts(1, 1, A), *deliveries(1, A), *broadcasts(2, 2, D)]), ["primary-integrity"])
    assert verdict.violation is not None
    assert verdict.violation.property == verdict.property == "primary integrity"
    assert verdict.violation.statement == PROPERTIES["primary integrity"].statement
    assert verdict.violation.source == "DSN 2011, III-A"
    assert verdict.violation.detected == 2


def test_an_empty_trace_exercises_nothing() -> None:
    assert set(by_name(check([])).values()) == {"not exercised"}


# The order of a process's events.


@pytest.mark.parametrize("event", [Deliver(2, 0, A), Broadcast(2, 0, 1, A), restore(2)])
def test_an_incarnation_cannot_come_back(event: Event) -> None:
    judge = judging([*deliveries(2, A, incarnation=1), *deliveries(3, A)])
    with pytest.raises(TraceError, match="field `incarnation`: expected 1 or more at process 2, found 0"):
        judge.observe(event)


def test_incarnations_may_leave_numbers_out() -> None:
    judging([*deliveries(2, A, incarnation=1), *deliveries(2, A, incarnation=7)])


def test_events_of_no_property_are_counted_and_change_nothing() -> None:
    judge = judging([Ready(1, 0, 1), *deliveries(1, A, B), Ready(1, 0, 2), *deliveries(2, B)])
    assert judge.broken["total order"] == judge.count - 1 == 4
    assert by_name(judge.finish()) == by_name(judging([*deliveries(1, A, B), *deliveries(2, B)]).finish())


# Continuations.


@pytest.mark.parametrize("seeds", sweep((range(30), range(30, 750)), normal=(range(30),)), ids=str)
def test_a_fork_says_what_a_judge_says_that_saw_the_same(seeds: range) -> None:
    """At any point of a trace, with whatever is still waiting there; and the original goes its own way."""
    for seed in seeds:
        events, other = random_trace(seed).events, random_trace(seed + 5000).events
        at = Random(seed).randint(0, len(events))
        highest = 1 + max((event.incarnation for event in events), default=0)  # type: ignore[attr-defined]  # all local
        other = [_later(event, highest) for event in other]
        original = judging(events[:at])
        fork = original.fork()
        first, second = (fork, original) if seed % 2 else (original, fork)
        continued(first, other)
        continued(second, events[at:])
        for judge, saw in ((first, events[:at] + other), (second, events)):
            expected = judging(saw)
            assert judge.finish() == expected.finish(), f"seed {seed}"
            assert judge.broken == expected.broken
            assert judge.count == expected.count


def _later(event: Event, incarnations: int) -> Event:
    """The same event in a later incarnation, so that it can follow any other."""
    values = {name: getattr(event, name) for name in event.__struct_fields__}
    return type(event)(**values | {"incarnation": values["incarnation"] + incarnations})


def test_what_waits_for_a_prefix_waits_in_each_fork_by_itself() -> None:
    """A primary took over a snapshot; what it had delivered turns up in one continuation only."""
    events: list[Event] = [*broadcasts(1, 1, A, B), restore(2, A), *broadcasts(2, 2, D), *deliveries(2, D)]
    original = judging(events)
    forks = [original.fork() for _ in range(3)]
    assert by_name(continued(forks[0], deliveries(1, A)).finish())["primary integrity"] == "holds"
    assert by_name(forks[1].finish())["primary integrity"] == "not exercised"
    assert by_name(continued(forks[2], deliveries(1, A, B)).finish())["primary integrity"] == "violated"
    assert by_name(original.finish()) == by_name(judging(events).finish())
    assert by_name(original.finish())["integrity"] == "violated"


def test_a_fork_of_a_fork_is_independent_too() -> None:
    one = judging([*deliveries(1, A, B), restore(2, C), *deliveries(2, A)])
    two = one.fork()
    three = continued(two.fork(), deliveries(2, B))
    continued(two, deliveries(3, B))
    assert "total order" in two.broken
    assert "total order" not in one.broken
    assert "total order" not in three.broken


# Cost.


def test_memory_does_not_grow_with_deliveries() -> None:
    """It is for distinct transactions and processes: whoever delivers what others did costs nothing.

    Redelivery alone needs more for a process once it delivers something again.
    """
    transactions, processes = 50, 5
    sizes = [
        total_size(judging(correct_run(transactions, processes, incarnations)), set()) for incarnations in (1, 2, 40)
    ]
    assert sizes[0] < sizes[1] == sizes[2]


def test_memory_does_not_grow_with_repeats_and_snapshots() -> None:
    txns = [Txn(Zxid(1, counter), "v") for counter in range(1, 31)]
    start = [*broadcasts(1, 1, *txns), *deliveries(1, *txns)]
    more: list[Event] = []
    for incarnation in range(40):
        more.append(restore(2, *txns[:10], incarnation=incarnation))
        more += deliveries(2, *txns, *txns, incarnation=incarnation)
        more += broadcasts(1, 1, *txns)
    few, many = (judging([*start, *more[: len(more) // n]]) for n in (20, 1))
    assert total_size(many, set()) <= total_size(few, set()) + 10
    assert "violated" not in by_name(many.finish()).values()


def test_memory_does_not_grow_with_repeats_after_a_snapshot_that_is_not_on_record() -> None:
    record = judging([restore(2, C), *deliveries(2, *[A, B] * 1000), *broadcasts(2, 2, *[D] * 1000)]).record
    [(_, waiting)] = record.unmatched()
    assert len(waiting.done) == 3


def test_memory_grows_with_distinct_transactions_no_faster_than_they_do() -> None:
    small, large = (total_size(judging(correct_run(n)), set()) for n in (200, 400))
    assert large <= 2.1 * small


@pytest.mark.parametrize("end", ["judging", "finishing"])
def test_operations_grow_no_faster_than_the_trace(end: str) -> None:
    counts = []
    for transactions in (300, 600):
        events = correct_run(transactions, incarnations=2)
        if end == "judging":
            counts.append(operations(lambda events=events: judging(events)))  # type: ignore[misc]  # bound now
        else:
            counts.append(operations(judging(events).finish))
    assert counts[1] <= 2.2 * counts[0]


def test_operations_grow_no_faster_than_a_trace_of_many_epochs() -> None:
    """Each epoch has a primary of its own, and each process starts anew in it from a snapshot."""

    def run(epochs: int) -> list[Event]:
        events: list[Event] = []
        log: list[Txn] = []
        for epoch in range(1, epochs + 1):
            primary = epoch % 3 + 1
            links = [Txn(Zxid(epoch, 1), "v"), Txn(Zxid(epoch, 2), "w")]
            events += [restore_at(process, epoch, log) for process in (1, 2, 3)]
            events += broadcasts(primary, epoch, *links, incarnation=epoch)
            log += links
            for process in (1, 2, 3):
                events += deliveries(process, *links, incarnation=epoch)
        return events

    hashes = Chain.of([])

    def restore_at(process: int, incarnation: int, log: list[Txn]) -> Event:
        nonlocal hashes
        hashes = Chain.of(log) if len(log) < len(hashes) else hashes
        for txn in log[len(hashes) :]:
            hashes = hashes.append(txn)
        event = restore(process, incarnation=incarnation)
        return type(event)(process, incarnation, hashes.zxid, hashes.length, hashes.hash)

    few, many = run(200), run(400)
    assert operations(lambda: judging(many)) <= 2.4 * operations(lambda: judging(few))
    assert by_name(judging(many).finish())["primary integrity"] == "holds"


@pytest.mark.slow
def test_a_long_trace_is_judged() -> None:
    events = correct_run(20_000, processes=3, incarnations=3)
    assert len(events) == 200_000
    statuses = by_name(check(whole(events, "global")))
    assert set(statuses.values()) == {"holds", "not exercised"}
    assert statuses["local primary order"] == statuses["total order"] == "holds"


def test_snapshots_that_wait_for_each_other_need_no_stack() -> None:
    """Each incarnation went on from what the next one in the file delivers: the last event sets all of them free."""
    count = 5000
    txns = [Txn(Zxid(1, counter), "v") for counter in range(1, count + 1)]
    chain = Chain.of(txns)
    events: list[Event] = []
    for incarnation, length in enumerate(range(count - 1, 0, -1)):
        prefix = chain.prefix(length)
        events.append(type(restore(2))(2, incarnation, prefix.zxid, length, prefix.hash))
        events += deliveries(2, txns[length], incarnation=incarnation)
    events += [*broadcasts(1, 1, *txns), *deliveries(1, txns[0])]
    statuses = by_name(judging(events).finish())
    assert statuses["integrity"] == statuses["local primary order"] == "holds"
