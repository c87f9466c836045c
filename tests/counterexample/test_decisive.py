"""The decisive step: that the runs behind it are as they are said to be, and what it is where the answer is known."""

from collections.abc import Sequence

import pytest
from msgspec import structs

from invariants import Broadcast, Deliver, Event, Stabilised, select
from invariants.quorums import quorums_of
from tests.search.builders import RECORDED, simulator_of
from tests.tiers import sweep
from zabcheck.counterexample.decisive import Continuation, continuations, find_decisive, most_prefixes
from zabcheck.counterexample.explain import explain
from zabcheck.counterexample.story import Decisive
from zabcheck.protocols.switches import Switches
from zabcheck.search.recording import record
from zabcheck.search.run import replay, schedule_of
from zabcheck.simulation.choices import AnyChoice, Choice, Crash, Heal, Lead, Recover, Request, Settle, Split
from zabcheck.simulation.schedule import Schedule

PLAIN = Switches(sync="atomic", elections="together")
EPOCH: tuple[AnyChoice, ...] = (Lead(1, (2, 3)), Settle(6))
SAMPLE = sorted(RECORDED)[::9]


def decisive(schedule: Schedule, property_: str, most_tries: int = 2000) -> Decisive | None:
    replayed = replay(schedule)
    return find_decisive(record(replayed, most_prefixes(replayed, property_, most_tries)), property_)


def found(schedule: Schedule, property_: str) -> Decisive:
    result = decisive(schedule, property_)
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


def test_what_has_no_end_within_the_rounds_decides_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every continuation of Zab has an end; one round is too short for nearly all that could avoid the violation."""
    schedule = RECORDED["no-truncation.total-order"]
    assert decisive(schedule, "total order") is not None
    monkeypatch.setattr("zabcheck.counterexample.decisive.MOST_ROUNDS", 1)
    assert decisive(schedule, "total order") is None


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


@pytest.mark.parametrize("name", sweep(SAMPLE, normal=SAMPLE[::4]))
def test_the_claims_hold(name: str) -> None:
    check_claims(RECORDED[name])


@pytest.mark.slow
def test_the_claims_hold_for_each_recorded_schedule() -> None:
    for schedule in RECORDED.values():
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
    """How many choices had been executed before this step; all of them for None, None for step 0."""
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
    """Whether this prefix with this end leaves the property whole, and somebody delivers what the leader broadcast."""
    whole = structs.replace(schedule, choices=(*prefix, *continuation.choices))
    before = len(replay(structs.replace(schedule, choices=tuple(prefix)), [property_]).events) - 1
    again = replay(whole, [property_])
    if again.raised is not None:
        return False
    [verdict] = again.verdicts
    if any(isinstance(event, Stabilised) for event in again.events[before:-1]):
        return verdict.status == "holds"
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
