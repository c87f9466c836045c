"""Two judges with one identity say the same of whatever comes."""

from collections.abc import Hashable, Sequence
from random import Random

from invariants import Deliver, Event, Judge, Local, Recover, State, select
from invariants.identity import identity
from tests.invariants.builders import A, B, broadcasts, deliveries
from tests.invariants.traces import random_trace

KINDS = [kind for kind in select(None) if kind.group != "liveness"]


def judge_of(events: Sequence[Event]) -> Judge:
    judge = Judge(KINDS, "global")
    for event in events:
        judge.observe(event)
    return judge


def broken(judge: Judge) -> list[str]:
    return [verdict.property for verdict in judge.finish() if verdict.status == "violated"]


def test_what_is_only_counted_makes_no_difference() -> None:
    once = [*broadcasts(1, 1, A), *deliveries(1, A), *deliveries(2, A)]
    assert identity(judge_of(once)) == identity(judge_of([*once, *deliveries(2, A)]))
    assert identity(judge_of(once)) == identity(judge_of([once[0], once[2], once[1]]))


def test_what_may_matter_makes_one() -> None:
    sent = [*broadcasts(1, 1, A, B)]
    assert identity(judge_of(sent)) != identity(judge_of(broadcasts(1, 1, A)))
    assert identity(judge_of([*sent, *deliveries(1, A)])) != identity(judge_of([*sent, *deliveries(2, A)]))
    assert identity(judge_of(broadcasts(1, 1, A))) != identity(judge_of(broadcasts(2, 1, A)))


def test_of_any_continuation_they_say_the_same() -> None:
    """Prefixes of random traces, in any order of independent events, that nothing has broken yet."""
    alike: dict[Hashable, list[list[Event]]] = {}
    for seed in range(2500):
        rng = Random(seed)
        events = [event for event in random_trace(seed % 60).events if isinstance(event, Local)]
        prefix = shuffled(events[: rng.randrange(1, 9)], rng)
        judge = judge_of(prefix)
        if not broken(judge):
            alike.setdefault(identity(judge), []).append(prefix)
    pairs = [prefixes for prefixes in alike.values() if len({tuple(each) for each in prefixes}) > 1]
    assert len(pairs) > 20
    compared = 0
    for prefixes in pairs:
        lives = {tuple(sorted(lives_of(each).items())) for each in prefixes}
        if len(lives) > 1:
            continue
        for seed in range(3):
            rest = [event for event in random_trace(seed).events if fits(event, prefixes[0])]
            said = {tuple(broken(judge_of([*prefix, *rest]))) for prefix in prefixes}
            assert len(said) == 1, (prefixes, rest)
            compared += 1
    assert compared > 100


def lives_of(events: Sequence[Event]) -> dict[int, int]:
    return {event.process: event.incarnation for event in events if isinstance(event, Local)}


def fits(event: Event, prefix: Sequence[Event]) -> bool:
    """Not of an incarnation that is over."""
    return isinstance(event, Local) and event.incarnation >= lives_of(prefix).get(event.process, 0)


def shuffled(events: Sequence[Local], rng: Random) -> list[Event]:
    """Each process's own events in their order."""
    logs: dict[int, list[Event]] = {}
    for event in events:
        logs.setdefault(event.process, []).append(event)
    mixed: list[Event] = []
    while logs:
        process = rng.choice(sorted(logs))
        mixed.append(logs[process].pop(0))
        if not logs[process]:
            del logs[process]
    return mixed


def test_the_states_of_an_application_are_remembered() -> None:
    before, other = (State(1, 0, A.zxid, 1, digest) for digest in (7, 8))
    assert identity(judge_of([before])) != identity(judge_of([other]))
    assert broken(judge_of([before, State(2, 0, A.zxid, 1, 8)])) == ["state"]
    assert broken(judge_of([other, State(2, 0, A.zxid, 1, 8)])) == []


def test_incarnations_are_told_apart() -> None:
    first = [*broadcasts(1, 1, A), *deliveries(1, A)]
    later = [*first, Recover(1, 1), Deliver(1, 1, A)]
    assert identity(judge_of(later)) != identity(judge_of(first))
    assert broken(judge_of(later)) == []
