"""Epoch progress: what a running epoch owes once it is at rest, without a new election."""

from collections.abc import Iterator
from random import Random

import pytest

from invariants import Broadcast, Deliver, Event, Quiescent, Ready, Restore, Txn, Zxid
from tests.invariants.builders import A, B, D, broadcasts, deliveries, ensemble, judge, restore, summary, witness
from tests.invariants.oracle import Cast, Finding, Reading
from tests.invariants.protocol_oracle import Found, finding

NAME = "epoch progress"


def leads(process: int = 1, rest: int = 1, *, primary: bool = True, incarnation: int = 0) -> Quiescent:
    return Quiescent(process, incarnation, rest, process, "none", primary)


def follows(process: int, leader: int = 1, rest: int = 1) -> Quiescent:
    return Quiescent(process, 0, rest, leader, "open")


DONE: list[Event] = [*broadcasts(1, 1, A), *deliveries(1, A), *deliveries(2, A)]
LEFT = Quiescent(3, 0, 1, 1, "closed")


def test_what_the_leader_delivered_and_a_connected_follower_lacks_is_a_violation() -> None:
    verdict = judge(NAME, [*DONE, *deliveries(1, B), leads(), follows(2), follows(3)])
    assert witness(verdict) == (Deliver(1, 0, A), leads(), follows(3))
    assert summary(verdict) == (
        "p3 never delivered a⟨1,1⟩, which its leader p1 has delivered, and nothing is left to be done"
    )


def test_what_a_leader_broadcast_and_never_delivered_is_a_violation_if_a_quorum_is_connected() -> None:
    events = [*DONE, *broadcasts(1, 1, B), leads(), follows(2), follows(3)]
    verdict = judge(NAME, events[:-1], processes=3)
    assert witness(verdict) == (Broadcast(1, 0, 1, B), leads())
    assert summary(verdict) == (
        "p1 never delivered b⟨1,2⟩, which it broadcast, although a quorum is connected to it and nothing is left to be "
        "done"
    )
    assert judge(NAME, events[:-2], processes=3).status == "not exercised"
    assert judge(NAME, events[:-1], quorums="weights 0,0,1,0,0,0,0,0,0").status == "holds"


def test_a_process_that_is_at_rest_twice_is_judged_twice() -> None:
    verdict = judge(NAME, [*DONE, leads(), *broadcasts(1, 1, B), leads(), follows(2)], processes=3)
    assert (verdict.status, witness(verdict)) == ("violated", (Broadcast(1, 0, 1, B), leads()))


def test_a_process_that_follows_a_leader_that_has_closed_their_connection_has_lost_it() -> None:
    verdict = judge(NAME, [LEFT])
    assert witness(verdict) == (LEFT,)
    assert summary(verdict) == (
        "p3 still follows p1, which has closed their connection, and nothing is left to be done"
    )
    assert judge(NAME, [*DONE, leads(), follows(2), Quiescent(3, 0, 1)]).status == "holds"


def test_a_process_that_has_delivered_its_leaders_history_owes_nothing() -> None:
    verdict = judge(NAME, [*DONE, *deliveries(2, B), leads(), follows(2)])
    assert (verdict.status, verdict.judged) == ("holds", 1)


def test_what_a_snapshot_brought_is_delivered() -> None:
    events: list[Event] = [*deliveries(1, A, B), restore(2, A, B), leads(), follows(2)]
    assert judge(NAME, events).status == "holds"
    assert judge(NAME, [restore(2, A), *deliveries(2, B), follows(2), *deliveries(1, A, B), leads()]).status == "holds"
    lacking = [restore(2, A), follows(2), *deliveries(1, A, B), leads()]
    assert witness(judge(NAME, lacking)) == (Deliver(1, 0, B), leads(), follows(2))


@pytest.mark.parametrize(
    "member",
    [
        Quiescent(2, 0, 1, 1, "waiting"),
        Quiescent(2, 0, 1, 3, "open"),
        Quiescent(2, 0, 1),
        Quiescent(2, 0, 2, 1, "open"),
    ],
)
def test_a_process_that_is_not_connected_to_an_established_leader_at_that_rest_owes_nothing(member: Quiescent) -> None:
    assert judge(NAME, [*deliveries(1, A), leads(), member]).status == "not exercised"
    assert judge(NAME, [*deliveries(1, A), leads(primary=False), follows(2)]).status == "not exercised"


def test_what_was_broadcast_in_an_earlier_epoch_may_be_lost() -> None:
    lost = [*broadcasts(1, 1, B), Ready(1, 0, 2)]
    assert judge(NAME, [*DONE, *lost, leads(), follows(2)], processes=3).status == "holds"
    assert (
        judge(
            NAME,
            [*DONE, *broadcasts(1, 1, B), *broadcasts(1, 2, D), *deliveries(1, D), leads(), follows(2)],
            processes=3,
        ).violation
        is not None
    )


def test_each_rest_is_judged_by_what_was_done_until_then() -> None:
    late = [*deliveries(1, A), leads(), follows(2), *deliveries(2, A), leads(rest=2), follows(2, rest=2)]
    assert witness(judge(NAME, late)) == (Deliver(1, 0, A), leads(), follows(2))
    early = [leads(), follows(2), *deliveries(1, A), *deliveries(2, A), leads(rest=2), follows(2, rest=2)]
    assert judge(NAME, early).judged == 1


def test_a_new_incarnation_has_delivered_nothing() -> None:
    events: list[Event] = [*deliveries(1, A), *deliveries(2, A), leads(), Quiescent(2, 1, 1, 1, "open")]
    assert witness(judge(NAME, events))[-1] == Quiescent(2, 1, 1, 1, "open")


def test_a_trace_that_is_cut_off_is_judged_by_the_rests_that_it_has() -> None:
    assert judge(NAME, [LEFT], complete=False).status == "violated"
    assert judge(NAME, [*DONE, leads(), follows(2)], complete=False).status == "inconclusive"


def test_it_is_found_with_the_last_event_that_shows_it() -> None:
    verdict = judge(NAME, [*deliveries(1, A), leads(), follows(2), follows(3)], "global")
    assert verdict.violation is not None
    assert verdict.violation.detected == 2


EDGES = [
    (
        [*deliveries(1, A), leads(), follows(2)],
        [("W1 p1 delivers a⟨1,1⟩", "never: p2 delivers a⟨1,1⟩", "missing")],
        "it has to follow",
    ),
    (
        [*broadcasts(1, 1, A), leads(), *(follows(process) for process in range(2, 6))],
        [("W1 p1 broadcasts a⟨1,1⟩ in epoch 1", "never: p1 delivers a⟨1,1⟩", "missing")],
        "it has to follow",
    ),
    (
        [LEFT],
        [
            (
                "W1 p3 is at rest, following p1, which has closed their connection",
                "never: p3 looks for another leader",
                "missing",
            )
        ],
        "it has to follow",
    ),
]


def literal(reading: Reading) -> Finding:
    """At each rest: who is connected to an established leader, what both had delivered, what the leader broadcast."""
    rests = [event for event in reading.events if isinstance(event, Quiescent)]
    exercised = False
    lacking: Found = []
    for leader in rests:
        if not leader.primary or leader.leader != leader.process:
            continue
        owed = had(reading, leader)
        followers = [p for p in rests if (p.rest, p.leader, p.connection) == (leader.rest, leader.process, "open")]
        for p in followers:
            has = had(reading, p)
            exercised |= bool(owed)
            for txn in owed or ():
                if has is not None and txn not in has:
                    delivery = Deliver(leader.process, leader.incarnation, txn)
                    lacking.append(((txn, p.process, leader.process, leader.rest), (delivery, leader, p)))
        if 2 * (len(followers) + 1) > ensemble(reading.events):
            for cast in in_its_epoch(reading, leader):
                exercised = True
                if owed is not None and cast.txn not in owed:
                    rank = cast.txn, leader.process, leader.process, leader.rest
                    lacking.append((rank, (cast.event, leader)))
    lost: Found = [((p.process, p.rest), (p,)) for p in rests if p.connection == "closed"]
    return finding(exercised or bool(lost), lacking or lost)


def before(reading: Reading, event: Quiescent) -> list[Event]:
    """Return what this incarnation did before the event, in its own order."""
    own = [each for each in reading.events if getattr(each, "process", 0) == event.process]
    until = own[: next(i for i, each in enumerate(own) if each is event)]
    return [each for each in until if getattr(each, "incarnation", None) == event.incarnation]


def had(reading: Reading, event: Quiescent) -> tuple[Txn, ...] | None:
    """Return what this incarnation had delivered when it came to rest; None if that is not on record."""
    done = [each for each in before(reading, event) if isinstance(each, Broadcast | Deliver | Restore)]
    if not done:
        return ()
    starts = [i for i, each in enumerate(done) if isinstance(each, Restore) or i == 0]
    segments = [each for each in reading.all_segments if each.actor == (event.process, event.incarnation)]
    segment = segments[len(starts) - 1]
    steps = [each for each in done[starts[-1] :] if not isinstance(each, Restore)]
    return None if segment.prefix is None else segment.sequence(len(steps))


def in_its_epoch(reading: Reading, leader: Quiescent) -> Iterator[Cast]:
    own = before(reading, leader)
    casts = [cast for cast in reading.casts if any(cast.event is each for each in own)]
    first = [cast.event for cast in casts]
    epochs = [e.epoch for e in own if isinstance(e, Ready) or (isinstance(e, Broadcast) and any(e is f for f in first))]
    yield from (cast for cast in casts if cast.event.epoch == epochs[-1])


def own_trace(rng: Random) -> list[Event]:
    """Nine processes, most of which follow p1 or p2, and deliver most of what is broadcast, before one rest or two."""
    events: list[Event] = []
    txns = [Txn(Zxid(1, counter), "x") for counter in range(1, rng.randint(0, 3) + 1)]
    leaders = rng.choice(((1,), (1,), (1, 2)))
    done = dict.fromkeys(range(1, 10), 0)
    careless = rng.choice((0.0, 0.0, 0.0, 0.02, 0.1))
    for rest in range(1, rng.randint(1, 2) + 1):
        for leader in leaders:
            if rng.random() < 0.5:
                events.append(Ready(leader, 0, rng.choice((1, 1, 2))))
            if rng.random() < 0.7:
                events += broadcasts(leader, 1, *txns)
        aim = rng.randint(0, len(txns))
        for process in done:
            if rng.random() < 0.1:
                restored = restore(process, *txns[: rng.randint(0, aim)])
                events.append(restored)
                done[process] = restored.length
            much = aim if rng.random() >= careless else rng.randint(0, len(txns))
            events += deliveries(process, *txns[done[process] : much])
            done[process] = max(done[process], much)
        lonely = rng.random() < 0.3
        for process in rng.sample(range(1, 10), 9):
            if process in leaders:
                events.append(leads(process, rest, primary=rng.random() < 0.9))
            elif lonely or rng.random() < 0.2:
                events.append(Quiescent(process, 0, rest, *rng.choice(((None, "none"), (1, "waiting")))))
            else:
                connection = "closed" if rng.random() < careless else "open"
                events.append(Quiescent(process, 0, rest, rng.choice(leaders), connection))
    return events
