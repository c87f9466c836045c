"""A run as a story: who moved, what it did, and what changed by it."""

import pytest

import invariants
from invariants import NO_ZXID, AckEpoch, Broadcast, Deliver, Establish, Promise, Ready, Send, Txn, Zxid
from tests.search.builders import RECORDED
from tests.tiers import sweep
from zabcheck.counterexample.explain import explain, explain_replay
from zabcheck.counterexample.story import Change, Story
from zabcheck.search.run import replay, schedule_of
from zabcheck.simulation.choices import (
    AnyChoice,
    Crash,
    Cut,
    Elect,
    Heal,
    Hold,
    Lead,
    Mend,
    Notice,
    Overtake,
    Pause,
    Receive,
    Recover,
    Request,
    Reset,
    Settle,
    Snapshot,
    Split,
    Stall,
    Sync,
    Timeout,
    Wake,
)
from zabcheck.simulation.schedule import load

X = Txn(Zxid(1, 1), "x")
EPOCH: tuple[AnyChoice, ...] = (Lead(1, (2, 3)), Settle(9))


def story(*choices: AnyChoice, mutant: str | None = None) -> Story:
    return explain(schedule_of("zab", mutant, 3, choices))


def test_each_step_that_was_executed_is_a_moment() -> None:
    told = story(Sync(1), *EPOCH, Request(1, "x"), Timeout(2), Notice(3, 2))
    assert [moment.step for moment in told.moments] == list(range(1, len(told.moments) + 1))
    assert len(told.moments) == replay(schedule_of("zab", None, 3, (*EPOCH, Request(1, "x"), Timeout(2)))).steps
    assert told.moments[-1].action == "time-out"


def test_a_coarse_choice_is_told_as_what_it_executed() -> None:
    assert [(m.process, m.action) for m in story(Lead(1, (3,))).moments] == [
        (1, "oracle: lead"),
        (3, "oracle: follow p1"),
    ]


def test_a_message_is_told_where_it_is_sent_and_where_it_is_handled() -> None:
    asked, _, answered, _, promised = story(Elect(2, 1), Elect(1, 1), Receive(1, 2), Receive(2, 1), Sync(2)).moments
    assert asked.sent == (("CEPOCH(0)", (1,)),)
    assert answered.action == "← p2 CEPOCH(0)"
    assert answered.peer == 2
    assert answered.sent == (("NEWEPOCH(1)", (2,)),)
    assert promised.sent == (("ACK-E(0, ⟨0,0⟩)", (1,)),)
    assert promised.shown == (Promise(2, 0, 1, 1), AckEpoch(2, 0, 1, 0, NO_ZXID, 0, 0))


def test_one_message_to_several_is_told_once() -> None:
    [moment] = [m for m in story(*EPOCH, Request(1, "x")).moments if m.action == "client: request"]
    assert moment.sent == (("PROPOSE(x⟨1,1⟩)", (2, 3)),)


def does(old: tuple[str, ...], new: tuple[str, ...]) -> Change:
    return Change("", (", ".join(old),), (", ".join(new),), parts=(old, new))


def test_what_a_step_changed_is_told_and_nothing_else() -> None:
    moments = story(Elect(2, 1), Elect(1, 1), Receive(1, 2), Receive(2, 1)).moments
    assert moments[0].changes == {2: (does(("election",), ("follows p1", "discovery")),)}
    assert list(moments[2].changes) == [1]
    assert moments[3].changes == {
        2: (
            does(("follows p1", "discovery"), ("follows p1", "synchronization")),
            Change("f.p", ("⊥",), ("1",)),
        )
    }
    assert moments[3].unsynced == {1: 1, 2: 1, 3: 0}


def test_a_changed_history_is_told_by_its_end() -> None:
    told = story(*EPOCH, Request(1, "x"), Request(1, "y"))
    assert told.moments[-1].changes == {1: (Change("h_f", (), ("y⟨1,2⟩",), is_sequence=True),)}


def test_a_truncation_is_told_as_what_went_and_what_came() -> None:
    private = (*EPOCH, Request(1, "x"), Sync(1), Crash(1), Lead(2, (3,)), Settle(9), Request(2, "z"), Settle(9))
    told = story(*private, Recover(1), Elect(1, 2), Settle(9))
    histories = [c for m in told.moments for c in m.changes.get(1, ()) if c.variable == "h_f"]
    assert Change("h_f", ("x⟨1,1⟩",), ("z⟨2,1⟩",), is_sequence=True) in histories


@pytest.mark.parametrize(
    ("choice", "process", "action"),
    [
        (Crash(2), 2, "crash"),
        (Timeout(2), 2, "time-out"),
        (Snapshot(2), 2, "snapshot"),
        (Elect(3, 3), 3, "oracle: lead"),
        (Cut(1, 2), None, "cut p1 → p2"),
        (Stall(1, 2), None, "link p1 → p2 stalls"),
        (Hold(1, 2, "COMMIT"), None, "holds COMMIT p1 → p2"),
        (Pause(2), 2, "pause"),
        (Reset(2, 1), 2, "connection with p1 reset"),
    ],
)
def test_a_fault_is_told_in_a_few_words(choice: AnyChoice, process: int | None, action: str) -> None:
    last = story(*EPOCH, Request(1), Settle(9), choice).moments[-1]
    assert (last.process, last.action) == (process, action)


def test_an_overtaking_message_is_told() -> None:
    told = story(*EPOCH, Request(1), Request(1), Overtake(1, 2), mutant="non-fifo-link")
    assert (told.moments[-1].process, told.moments[-1].action) == (None, "p1 → p2: the last message overtakes")


def test_repairs_are_told_too() -> None:
    told = story(
        *EPOCH, Cut(1, 2), Mend(1, 2), Pause(1), Wake(1), Cut(1, 2), Heal(), Crash(1), Notice(2, 1), Recover(1)
    )
    assert [moment.action for moment in told.moments[-9:]] == [
        "cut p1 → p2",
        "mend p1 → p2",
        "pause",
        "wakes",
        "cut p1 → p2",
        "every link healed",
        "crash",
        "notices: p1 closed",
        "recover",
    ]


def test_the_step_of_an_event_is_the_first_that_showed_it() -> None:
    told = story(*EPOCH, Request(1, "x"), Settle(9))
    broadcast = told.step_of(Broadcast(1, 0, 1, X))
    assert broadcast is not None
    assert told.moments[broadcast - 1].action == "client: request"
    steps = [told.step_of(event) for event in (Establish(1, 0, 1), Ready(1, 0, 1), Deliver(1, 0, X))]
    assert steps == sorted(step for step in steps if step is not None)
    assert told.step_of(Deliver(1, 0, Txn(Zxid(1, 2), "y"))) is None


def test_messages_are_told_as_messages_and_not_as_events() -> None:
    told = story(*EPOCH)
    assert not [
        event for moment in told.moments for event in moment.shown if isinstance(event, Send | invariants.Receive)
    ]


def test_what_each_incarnation_delivered_first() -> None:
    once = (*EPOCH, Request(1, "x"), Settle(9))
    assert story(*once).delivered == tuple((process, 0, (X,)) for process in (1, 2, 3))
    again = story(*once, Crash(2), Recover(2), Elect(2, 1), Settle(9))
    assert again.delivered == ((1, 0, (X,)), (2, 0, (X,)), (2, 1, (X,)), (3, 0, (X,)))
    restored = story(*once, Snapshot(2), Sync(2), Crash(2), Recover(2))
    assert restored.delivered == ((1, 0, (X,)), (2, 0, (X,)), (2, 1, (X,)), (3, 0, (X,)))


def test_what_was_restored_is_what_the_snapshot_held() -> None:
    """A leader that commits on its own delivers y alone; its snapshot is of the history that replaced that one."""
    run = (*EPOCH, Request(1, "x"), Settle(9), Split((1,)), Request(1, "y"), Sync(1), Lead(2, (3,)), Settle(9))
    back = (Request(2, "z"), Settle(9), Heal(), Elect(1, 2), Settle(9), Snapshot(1), Sync(1), Crash(1), Recover(1))
    told = explain(schedule_of("zab", "commit-on-own-ack", 3, (*run, *back)))
    assert (1, 1, (X, Txn(Zxid(2, 1), "z"))) in told.delivered


@pytest.mark.parametrize("name", sweep(RECORDED, normal=list(RECORDED)[::24]))
def test_a_violation_is_told_with_what_was_planted(name: str) -> None:
    schedule = RECORDED[name]
    told = explain(schedule)
    assert told.violation is not None
    assert told.violation.property == schedule.violates
    assert told.wrong
    assert told.sha256 == replay(schedule).sha256
    assert len(told.moments) == replay(schedule).steps >= len(schedule.choices)
    assert all(told.step_of(event) is not None for event in told.violation.witness)
    assert load(told.schedule, "story") == schedule


def test_the_violation_that_the_schedule_names_is_told() -> None:
    schedule = RECORDED["commit-on-own-ack.total-order"]
    told = explain_replay(replay(schedule))
    assert told.violation is not None
    assert told.violation.property == "total order"


def test_a_run_that_breaks_nothing_has_no_violation() -> None:
    told = story(*EPOCH)
    assert told.violation is None
    assert told.wrong is None
    assert told.mutant is None


def test_a_mutant_that_there_is_not_is_refused() -> None:
    with pytest.raises(ValueError, match="no mutant `x`"):
        explain(schedule_of("zab", "x", 3, ()))


def test_a_flight_knows_the_steps_that_sent_received_and_lost_it() -> None:
    told = story(Lead(1, (2,)), Receive(1, 2), Sync(1), Elect(1, 3), Notice(2, 1))
    flights = [
        (flight.sender, flight.to, flight.kind, flight.sent, flight.received, flight.lost) for flight in told.flights
    ]
    assert flights == [(2, 1, "CEPOCH", 2, 3, None), (1, 2, "NEWEPOCH", 3, None, 6), (1, 3, "CEPOCH", 5, None, None)]
    assert [flight.name for flight in told.flights] == ["CEPOCH(0)", "NEWEPOCH(1)", "CEPOCH(1)"]


def test_what_the_steps_change_leads_on_from_the_initial_state() -> None:
    told = story(*EPOCH, Request(1, "x"), Settle(3), Crash(2), Recover(2))
    states = {process: dict(state) for process, state in told.initial.items()}
    for moment in told.moments:
        for process, changes in moment.changes.items():
            for change in changes:
                before = states[process].get(change.variable, () if change.is_sequence else "")
                if change.is_sequence:
                    assert isinstance(before, tuple)
                    kept = before[: len(before) - len(change.removed)]
                    assert (*kept, *change.removed) == before
                    states[process][change.variable] = (*kept, *change.added)
                else:
                    assert change.removed == (before,)
                    [states[process][change.variable]] = change.added
    assert states[3] == {"": "follows p1, broadcast", "f.p": "1", "f.a": "1", "h_f": ("x⟨1,1⟩",)}
