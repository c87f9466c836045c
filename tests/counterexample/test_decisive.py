"""The decisive step: that the runs behind it are as they are said to be, and what it is where the answer is known."""

from collections.abc import Sequence
from typing import Any

import pytest
from msgspec import structs

from invariants import Broadcast, Deliver, Event, select
from invariants.quorums import quorums_of
from tests.search.builders import RECORDED, simulator_of
from zabcheck.counterexample.decisive import Continuation, continuations, find_decisive, most_prefixes
from zabcheck.counterexample.explain import explain
from zabcheck.counterexample.story import Decisive
from zabcheck.mutants.catalogue import mutated, planted
from zabcheck.protocols.base import Effect, Protocol, Send
from zabcheck.protocols.switches import Switches
from zabcheck.protocols.zab.histories import Whole
from zabcheck.protocols.zab.leader import on_ack_e, on_ack_ld
from zabcheck.protocols.zab.messages import AckE, AckLd, NewLeader
from zabcheck.protocols.zab.process import Leader
from zabcheck.search.recording import record
from zabcheck.search.run import replay, replay_on, schedule_of
from zabcheck.simulation.choices import AnyChoice, Choice, Crash, Heal, Lead, Recover, Request, Settle, Split
from zabcheck.simulation.schedule import Schedule

PLAIN = Switches(sync="atomic", elections="together")
EPOCH: tuple[AnyChoice, ...] = (Lead(1, (2, 3)), Settle(6))
SAMPLE = sorted(RECORDED)[::36]


def decisive(schedule: Schedule, property_: str, most_tries: int = 2000) -> Decisive | None:
    replayed = replay(schedule)
    return find_decisive(record(replayed, most_prefixes(replayed, property_, most_tries)), property_)


def found(schedule: Schedule, property_: str) -> Decisive:
    result = decisive(schedule, property_)
    assert result is not None
    return result


def found_on(protocol: Protocol, schedule: Schedule) -> Decisive:
    assert schedule.violates is not None
    replayed = replay_on(protocol, schedule)
    result = find_decisive(record(replayed, most_prefixes(replayed, schedule.violates)), schedule.violates)
    assert result is not None
    return result


def action(schedule: Schedule, step: int | None) -> str:
    assert step is not None
    return explain(schedule).moments[step - 1].action


# Runs of which the answer is known.


def test_a_crash_decides_that_loses_what_was_acknowledged_before_it_was_synced() -> None:
    """Before the crash a sync would do; after it nobody has x any more, and the next broadcast comes without it."""
    epoch: tuple[AnyChoice, ...] = (Lead(1, ()), Settle(6))
    choices = (*epoch, Request(1, "x"), Crash(1), Recover(1), *epoch, Request(1, "y"))
    switches = Switches(elections="together")
    schedule = schedule_of("zab", "ack-before-sync", 1, choices, "primary integrity", switches=switches)
    result = found(schedule, "primary integrity")
    assert action(schedule, result.step) == "crash"
    assert result.sentence == (
        "Step 5 of 10 decides: before it the violation could be avoided (p1 leads alone undisturbed from there: "
        "nothing breaks), after it the only undisturbed continuation does not avoid it."
    )


def first_entry_alone(leader: Leader, sender: int, m: AckE) -> list[Effect]:
    """Steps l.1.2 and l.2.1, but NEWLEADER has the first entry of the history only."""
    return [
        structs.replace(each, message=entries(leader, 1))
        if isinstance(each, Send) and isinstance(each.message, NewLeader)
        else each
        for each in on_ack_e(leader, sender, m)
    ]


def then_the_next(leader: Leader, sender: int, m: AckLd) -> list[Effect]:
    """Step l.2.2, but a follower that acknowledges a part of the history is sent one entry more."""
    assert leader.proposed is not None
    if m.zxid == leader.proposed.zxid:
        return on_ack_ld(leader, sender, m)
    return [Send(sender, entries(leader, leader.proposed.up_to(m.zxid).length + 1))]


def entries(leader: Leader, count: int) -> NewLeader:
    assert leader.proposed is not None
    return NewLeader(leader.new_epoch, Whole(leader.proposed.prefix(min(count, leader.proposed.length))))


def only_p1_is_established(leader: Leader, sender: int, m: AckLd) -> list[Effect]:
    return on_ack_ld(leader, sender, m) if leader.id == 1 else []


def on_own_ack(**steps: Any) -> Protocol:
    """Zab with these steps, in which a leader commits on its own ACK besides."""
    kinds = {kind.__name__: kind for kind in ZAB.steps}
    changed = {kinds[name]: step for name, step in steps.items()}
    return planted(structs.replace(ZAB, steps={**ZAB.steps, **changed}), "commit-on-own-ack")


ZAB = mutated("zab")
ENTRY_BY_ENTRY = on_own_ack(AckE=first_entry_alone, AckLd=then_the_next)
STUCK = on_own_ack(AckLd=only_p1_is_established)


def test_a_leader_that_sends_its_log_entry_by_entry_gets_on_too() -> None:
    """Until p2 broadcasts, p1 may lead again: it is established in more than 120 rounds, two for each entry."""
    requests = [Request(1) for _ in range(60)]
    private = (Split((1,)), Request(1, "x"), Lead(2, (3,)), Settle(150), Request(2, "y"))
    choices = (*EPOCH, *requests, Settle(6), *private)
    schedule = schedule_of("zab", "commit-on-own-ack", 3, choices, "primary integrity", switches=PLAIN)
    result = found_on(ENTRY_BY_ENTRY, schedule)
    assert (result.step, result.leader) == (replay_on(ENTRY_BY_ENTRY, schedule).steps, 1)


def test_a_stable_quorum_that_lacks_nothing_avoids_it_too() -> None:
    """Nobody lacks anything at the start, so reliable delivery asks for nothing there, and nothing breaks it."""
    schedule = RECORDED["no-truncation.reliable-delivery"]
    result = found(schedule, "reliable delivery")
    assert result.step is not None
    assert result.step > 0
    assert result.saved_by == "p3 leads p2 undisturbed from there: nothing breaks"


@pytest.mark.parametrize(
    ("rounds", "unfinished", "sentence"),
    [
        (
            1,
            3,
            "It is open which step decides: none of the 3 undisturbed continuations that were tried after step 20 has "
            "an end within 1 rounds.",
        ),
        (
            5,
            1,
            "It is open which step decides: 1 of the 3 undisturbed continuations that were tried after step 20 has no "
            "end within 5 rounds, and no other avoids the violation.",
        ),
    ],
)
def test_what_has_no_end_within_the_rounds_decides_nothing(
    monkeypatch: pytest.MonkeyPatch, rounds: int, unfinished: int, sentence: str
) -> None:
    """Every continuation of Zab has an end, but not within so few rounds."""
    schedule = RECORDED["no-truncation.total-order"]
    assert found(schedule, "total order").unfinished == 0
    monkeypatch.setattr("zabcheck.counterexample.decisive.MOST_ROUNDS", rounds)
    result = found(schedule, "total order")
    assert (result.step, result.saved_by, result.unfinished) == (None, None, unfinished)
    assert result.sentence == sentence


def test_a_standstill_is_told_as_what_it_is() -> None:
    """Under p2 and p3 nothing breaks, but nothing gets on either."""
    schedule = schedule_of("zab", "commit-on-own-ack", 3, (*EPOCH, Request(1)), "chosen", switches=PLAIN)
    assert found_on(STUCK, schedule).sentence == (
        "The violation could not be avoided even from the start: none of the 3 undisturbed continuations that were "
        "tried avoids it (in 2 of them the ensemble does not get on)."
    )


def test_without_truncation_it_is_decided_when_a_quorum_begins_an_epoch_without_what_one_process_keeps() -> None:
    """Until p3 adopts the empty history too, p1 and p3 are a quorum that takes x over from p1."""
    private = (Split((1,)), Request(1, "x"), Lead(2, (3,)), Settle(6), Request(2, "y"), Settle(3))
    choices = (*EPOCH, *private, Heal(), Lead(2, (1, 3)), Settle(6))
    schedule = schedule_of("zab", "no-truncation", 3, choices, "total order", switches=PLAIN)
    result = found(schedule, "total order")
    assert action(schedule, result.step) == "← p2 NEWLEADER(2, ⟨0,0⟩)"
    assert (result.leader, result.members) == (3, (1, 2, 3))
    assert result.saved_by == "p3 leads p1 p2 undisturbed from there: nothing breaks"


def test_the_last_step_decides_if_all_could_be_well_until_then() -> None:
    """A leader that is cut off delivers on its own ACK: until the broadcast of the next one p1 may lead again."""
    choices = (*EPOCH, Split((1,)), Request(1, "x"), Lead(2, (3,)), Settle(6), Request(2, "y"))
    schedule = schedule_of("zab", "commit-on-own-ack", 3, choices, "primary integrity", switches=PLAIN)
    result = found(schedule, "primary integrity")
    assert result.step == replay(schedule).steps
    assert action(schedule, result.step) == "client: request"
    assert result.sentence == (
        f"Only the last step, {result.step}, completes the violation; until then it could be avoided (p1 leads "
        "p2 p3 undisturbed from there: nothing breaks)."
    )


def test_what_every_run_breaks_is_decided_at_the_start() -> None:
    schedule = schedule_of("zab", "commit-on-own-ack", 3, (*EPOCH, Request(1)), "chosen", switches=PLAIN)
    result = found(schedule, "chosen")
    assert (result.step, result.saved_by, result.leader, result.members) == (0, None, None, ())
    assert result.sentence == (
        "The violation could not be avoided even from the start: none of the 3 undisturbed continuations that were "
        "tried avoids it."
    )


def test_a_violation_that_can_be_mended_is_not_final() -> None:
    """Either process delivers what it lacks if the run goes on, in another order than the other."""
    private = (Split((1,)), Request(1, "x"), Lead(2, (3,)), Settle(6), Request(2, "y"), Settle(3))
    schedule = schedule_of("zab", "commit-on-own-ack", 3, (*EPOCH, *private), "agreement", switches=PLAIN)
    result = found(schedule, "agreement")
    assert result.step is None
    assert result.sentence == (
        f"The violation is not final: after the last step, {replay(schedule).steps}, agreement is mended if p2 "
        "leads p1 p3 undisturbed, but then total order is broken."
    )


def test_a_violation_in_the_middle_of_a_run_was_decided_before_it() -> None:
    choices = (*EPOCH, Split((1,)), Request(1, "x"), Lead(2, (3,)), Settle(6), Request(2, "y"))
    short = schedule_of("zab", "commit-on-own-ack", 3, choices, "primary integrity", switches=PLAIN)
    longer = structs.replace(short, choices=(*choices, Settle(3), Request(2)))
    assert found(longer, "primary integrity").step == found(short, "primary integrity").step


# None.


def test_what_is_not_broken_has_no_decisive_step() -> None:
    assert decisive(schedule_of("zab", None, 3, EPOCH), "agreement") is None


def test_a_run_whose_protocol_raises_has_no_decisive_step() -> None:
    schedule = RECORDED["no-truncation.total-order"]
    replayed = structs.replace(replay(schedule), raised=ValueError("x"))  # type: ignore[arg-type]  # any error will do
    assert most_prefixes(replayed, "total order") == 0


def test_a_property_that_there_is_not_is_refused() -> None:
    with pytest.raises(ValueError, match="no property `x`"):
        decisive(RECORDED["no-truncation.total-order"], "x")


@pytest.mark.parametrize("name", ["no-truncation.total-order", "commit-on-own-ack.chosen"])
def test_the_search_gives_up_after_so_many_continuations(name: str) -> None:
    schedule = RECORDED[name]
    assert schedule.violates is not None
    result = found(schedule, schedule.violates)
    assert result.step is not None
    prefixes = len(executed(schedule)) + 1 if result.step == 0 else replay(schedule).steps - result.step + 2
    enough = prefixes * result.tried
    assert decisive(schedule, schedule.violates, enough) == result
    assert decisive(schedule, schedule.violates, enough - 1) is None
    assert decisive(schedule, schedule.violates, 0) is None


# A story.


def test_a_story_tells_it_if_it_is_asked_to() -> None:
    schedule = RECORDED["no-truncation.total-order"]
    assert explain(schedule).decisive is None
    assert explain(schedule, decisive=True).decisive == decisive(schedule, "total order")
    assert explain(schedule_of("zab", None, 3, EPOCH), decisive=True).decisive is None


# The claims, tried again by other means: each run from the start, as a schedule of its own.


@pytest.mark.parametrize("name", SAMPLE)
def test_the_claims_hold(name: str) -> None:
    check_claims(RECORDED[name])


@pytest.mark.slow
def test_the_claims_hold_for_recorded_schedules() -> None:
    for schedule in list(RECORDED.values())[::5]:
        check_claims(schedule)


def check_claims(schedule: Schedule) -> None:
    property_ = schedule.violates
    assert property_ is not None
    result = found(schedule, property_)
    choices = executed(schedule)
    [kind] = select([property_])
    tried = continuations(quorums_of(schedule.quorums, schedule.processes), schedule.switches, kind)
    assert result.tried == len(tried)
    saved = choices_before(schedule, result.step)
    if saved is not None:
        [by] = [each for each in tried if (each.leader, each.members) == (result.leader, result.members)]
        assert avoids(schedule, choices[:saved], by, property_)
    for prefix in range(0 if saved is None else saved + 1, len(choices) + 1):
        assert not any(avoids(schedule, choices[:prefix], each, property_) for each in tried)


def choices_before(schedule: Schedule, step: int | None) -> int | None:
    """Return the number of choices before this step: all of them for None, None for step 0."""
    if step == 0:
        return None
    simulator = simulator_of(schedule)
    for done, choice in enumerate(executed(schedule)):
        if simulator.steps + 1 == step:
            return done
        simulator.execute(choice)
    assert step is None
    return len(executed(schedule))


def executed(schedule: Schedule) -> list[Choice]:
    simulator = simulator_of(schedule)
    for choice in schedule.choices:
        simulator.execute(choice)
    return simulator.executed


def avoids(schedule: Schedule, prefix: Sequence[Choice], continuation: Continuation, property_: str) -> bool:
    """Return True if this prefix with this end breaks nothing, and somebody delivers what the leader broadcast."""
    whole = structs.replace(schedule, choices=(*prefix, *continuation.choices))
    before = len(replay(structs.replace(schedule, choices=tuple(prefix)), [property_]).events) - 1
    again = replay(whole, [property_])
    if again.raised is not None:
        return False
    [verdict] = again.verdicts
    if property_ == "epoch progress":  # it may be that nobody leads: then nothing is owed
        return verdict.violation is None
    assert continuation.leader is not None
    return verdict.violation is None and delivered_by_quorum(schedule, again.events[before:-1], continuation.leader)


def delivered_by_quorum(schedule: Schedule, events: Sequence[Event], leader: int) -> bool:
    new = [event.txn for event in events if isinstance(event, Broadcast) and event.process == leader]
    quorums = quorums_of(schedule.quorums, schedule.processes)
    return any(
        quorums.contains({event.process for event in events if isinstance(event, Deliver) and event.txn == txn})
        for txn in new
    )
