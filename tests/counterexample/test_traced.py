"""The story of a trace: what can be told where only the events are known."""

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import chain

import pytest

from invariants import (
    Accept,
    Broadcast,
    Crash,
    Cut,
    Deliver,
    Drop,
    Event,
    Header,
    Local,
    Promise,
    Ready,
    Receive,
    Recover,
    Restore,
    Send,
    Txn,
    Zxid,
    check,
)
from tests.counterexample.pages import STORIES, left_out, long_schedule, merged, minimised, saved, told, trace
from tests.invariants.builders import A, B, broadcasts, deliveries, restore, whole
from zabcheck.counterexample import traced
from zabcheck.counterexample.forms.page import page
from zabcheck.counterexample.forms.terminal import to_text
from zabcheck.counterexample.story import Story, flights_of, states_after
from zabcheck.counterexample.traced import MOST_ROWS, first_deliveries, story_of_trace
from zabcheck.search.run import replay


def story(*events: Event, processes: int = 3) -> Story:
    return told(whole(events, processes=processes))


def rows(of: Story) -> list[tuple[int, int | None, str]]:
    return [(moment.step, moment.process, moment.action) for moment in of.moments]


# Rows.


def test_a_row_is_one_thing_that_happened_and_what_it_led_to() -> None:
    found = story(
        Promise(1, 0, 1),
        Send(1, 0, 2, 1, "PROPOSE", "a"),
        Send(1, 0, 3, 2, "PROPOSE", "a"),
        Receive(2, 0, 1, 1),
        Accept(2, 0, 1, A),
        Send(2, 0, 1, 3, "ACK", ""),
        Receive(1, 0, 2, 3),
        *broadcasts(1, 1, A),
        *deliveries(1, A, B),
        Crash(1, 0),
        Recover(1, 1),
    )
    assert rows(found) == [
        (2, 1, "promises epoch 1"),
        (5, 2, "← p1 PROPOSE(a)"),
        (8, 1, "← p2 ACK"),
        (9, 1, ""),
        (11, 1, ""),
        (12, 1, "crash"),
        (13, 1, "recovers"),
    ]
    assert [moment.shown for moment in found.moments][3] == (*broadcasts(1, 1, A), *deliveries(1, A))
    assert found.moments[0].sent == (("PROPOSE(a)", (2, 3)),)
    assert found.moments[1].sent == (("ACK", (1,)),)
    assert found.moments[1].peer == 1


def test_what_a_process_does_of_itself_has_its_own_row_and_line() -> None:
    """Without messages nothing says what led to what, and each is told."""
    found = story(*broadcasts(1, 1, A, B), Promise(2, 0, 1), Accept(2, 0, 1, A), Accept(2, 0, 1, B), *deliveries(2, B))
    assert rows(found)[2:] == [
        (4, 2, "promises epoch 1"),
        (5, 2, ""),
        (6, 2, f"accepts {B}"),
        (7, 2, ""),
    ]
    assert f"5 accepts {A} in epoch 1 ◀W1" in to_text(found, 200), "the witness is told once"
    assert found.trace == tuple(enumerate((event for _, event in found.trace), 2))


def test_what_is_said_of_an_event_names_its_own_line() -> None:
    """A message led to it, but who looks it up looks for the event."""
    found = story(Send(1, 0, 2, 1, "COMMIT", ""), Receive(2, 0, 1, 1), *deliveries(2, A, B))
    assert rows(found) == [(2, 1, ""), (3, 2, "← p1 COMMIT")]
    assert found.violation is not None
    [event] = found.violation.witness
    assert (found.step_of(event), found.place_of(event)) == (3, 4)
    assert found.place_of(Promise(1, 0, 1)) is None
    assert f"p2 delivered {A} at line 4" in found.explanation[0]
    drawn = page(found)
    assert 'data-step="3">line 4</a>' in drawn
    assert "lines</dd>" not in drawn, "rows are no lines, so they are not counted as such"


def test_events_of_another_process_or_incarnation_are_never_in_the_row() -> None:
    found = story(Promise(1, 0, 1), Promise(2, 0, 1), Promise(1, 1, 2))
    assert [process for _, process, _ in rows(found)] == [1, 2, 1]


@pytest.mark.parametrize("about", ["trace", "merged", "left out"])
def test_the_rows_keep_each_process_in_its_own_order(about: str) -> None:
    """Nothing is lost, nothing is told twice, and no event comes before one that it followed."""
    of = STORIES[about]()
    events = [event for _, event in of.trace]
    assert [step for step, _ in of.trace] == sorted(step for step, _ in of.trace)
    if about != "left out":
        assert list(chain.from_iterable(moment.shown for moment in of.moments)) == events
    wanted = {
        "trace": replay(saved("no-truncation.primary-integrity")).events,
        "merged": replay(saved("no-truncation.primary-integrity")).events,
        "left out": replay(long_schedule(250)).events,
    }[about]
    for process in range(1, of.processes + 1):
        assert of_process(events, process) == of_process(wanted[1:-1], process)
    for moment in of.moments:
        assert {event.process for event in moment.shown if isinstance(event, Local)} <= {moment.process}


def of_process(events: Sequence[Event], process: int) -> list[Event]:
    return [e for e in events if isinstance(e, Local) and e.process == process and not isinstance(e, Send | Receive)]


# Messages.


def test_a_message_is_followed_from_where_it_was_sent_to_where_it_ends() -> None:
    found = story(
        Send(1, 0, 2, 1, "A", "x"),
        Send(1, 0, 3, 2, "A", "y"),
        Cut(1, 3),
        Drop(2),
        Send(1, 0, 2, 4, "B", ""),
        Receive(2, 0, 1, 1),
        Receive(3, 0, 1, 9),
        Drop(8),
    )
    ways = [(f.number, f.sender, f.to, f.name, f.sent, f.received, f.lost) for f in found.flights]
    assert ways == [
        (1, 1, 2, "A(x)", 2, 7, None),
        (2, 1, 3, "A(y)", 2, None, 5),
        (4, 1, 2, "B", 6, None, None),
    ]
    assert [flight.name for moment in found.moments for flight in moment.lost] == ["A(y)"]
    assert rows(found)[1:] == [
        (4, None, "cut p1 → p3"),
        (5, None, ""),
        (6, 1, ""),
        (7, 2, "← p1 A(x)"),
        (8, 3, "← p1 message 9"),
    ], "what nobody sent has no name"


def test_the_messages_are_those_of_the_run_executed_again() -> None:
    executed, from_trace = minimised(), trace()

    def ways(of: Story) -> list[tuple[int, int, int, str, bool, bool]]:
        return [
            (f.number, f.sender, f.to, f.name, f.received is not None, f.lost is not None)
            for f in sorted(of.flights, key=lambda f: f.number)
        ]

    assert ways(from_trace) == ways(executed)
    assert from_trace.delivered == executed.delivered
    assert {v.property for v in from_trace.verdicts if v.violation} == {
        v.property for v in executed.verdicts if v.violation
    }


# States.


def test_the_state_is_what_the_events_say() -> None:
    found = story(
        Promise(1, 0, 3),
        *broadcasts(1, 3, A),
        *deliveries(1, A, B),
        Crash(1, 0),
        Recover(1, 1),
        restore(1, A, incarnation=1),
    )
    states = [states_after(found, row)[1] for row in range(-1, len(found.moments))]
    assert [(state[""], state["epoch"], state["delivered"]) for state in states] == [
        ("up", "⊥", "0"),
        ("up", "3", "0"),
        ("up", "3", f"1, last {A}"),
        ("up", "3", f"2, last {B}"),
        ("down", "3", f"2, last {B}"),
        ("up", "3", "0"),
        ("up", "3", f"1, up to {A.zxid}"),
    ]


def test_what_a_process_beyond_the_header_does_is_told_too() -> None:
    """The reader refuses such a trace; a story made otherwise must not fail."""
    header = Header(1, 1, "mine")
    events = [(2, Deliver(7, 0, A)), (3, Cut(7, 8))]
    found = story_of_trace(header, events, check(whole(()), ["integrity"]), unit="line", sha256="")
    assert [moment.process for moment in found.moments] == [7, None]
    assert "p7" in page(found)


# Deliveries.


def test_first_deliveries_by_incarnation() -> None:
    events = [
        *deliveries(1, A, B, A),
        *deliveries(1, B, incarnation=1),
        restore(2, A, B),
        *deliveries(2, B),
        Restore(3, 0, Zxid(1, 9), 9, 12345),
        *deliveries(3, A),
    ]
    assert first_deliveries(events) == ((1, 0, (A, B)), (1, 1, (B,)), (2, 0, (A, B)), (3, 0, (A,)))


# What is left out.


def many(count: int) -> Iterator[Event]:
    for number in range(1, count + 1):
        txn = Txn(Zxid(1, number), "v")
        yield Broadcast(1, 0, 1, txn)
        yield from (Deliver(process, 0, txn) for process in (2, 3))


def test_a_short_trace_is_shown_whole() -> None:
    assert len(story(*many(MOST_ROWS // 3)).moments) == MOST_ROWS // 3 * 3


@pytest.mark.slow
def test_a_long_trace_is_shown_around_its_witness_and_counted_elsewhere() -> None:
    wrong = Txn(Zxid(1, 5000), "nobody broadcast it")
    events = [*many(2000), Deliver(2, 0, wrong), *many(1000)]
    found = told(whole(events, processes=3))
    assert found.violation is not None
    gaps = [moment.action for moment in found.moments if "left out" in moment.action]
    assert len(gaps) == 2
    assert len(found.moments) <= MOST_ROWS + 2
    left = sum(int(gap.split()[1].replace(",", "")) for gap in gaps)
    assert left + sum(len(moment.shown) for moment in found.moments) == len(events)
    assert any(Deliver(2, 0, wrong) in moment.shown for moment in found.moments)
    assert len(found.trace) == len(events), "what is left out is still known"
    steps = [moment.step for moment in found.moments]
    assert steps == sorted({*steps})
    for text in (to_text(found, 100), page(found)):
        assert "left out" in text


def folded(*events: Event) -> Story:
    return told(whole(events, processes=3), folded=True)


def test_what_happens_to_many_transactions_shares_a_row_for_each_process() -> None:
    work = [*many(500)]
    again = [Deliver(3, 1, Txn(Zxid(1, number), "v")) for number in (1, 2)]
    found = folded(*work, Crash(3, 0), Recover(3, 1), *again)
    assert rows(found) == [
        (2, 1, "broadcasts 500 transactions, ⟨1,1⟩ to ⟨1,500⟩"),
        (3, 2, "delivers 500 transactions, ⟨1,1⟩ to ⟨1,500⟩"),
        (4, 3, "delivers 500 transactions, ⟨1,1⟩ to ⟨1,500⟩"),
        (1502, 3, "crash"),
        (1503, 3, "recovers"),
        (1504, 3, ""),
        (1505, 3, ""),
    ]
    assert states_after(found, 2)[3]["delivered"].startswith("500, last ")
    assert len(found.trace) == len(work) + 4
    for text in (to_text(found, 100), page(found)):
        assert "delivers 500 transactions" in text


def test_the_witness_has_a_row_of_its_own_among_the_folded_ones() -> None:
    wrong = Txn(Zxid(1, 5000), "nobody broadcast it")
    found = folded(*many(100), Deliver(2, 0, wrong), *many(2))
    assert found.violation is not None
    assert found.violation.witness == (Deliver(2, 0, wrong),)
    assert found.step_of(Deliver(2, 0, wrong)) == 302
    steps = [moment.step for moment in found.moments]
    assert steps == sorted({*steps})
    assert len(steps) == 3 + 1 + 6, "two of a kind are not worth folding"


def test_states_include_what_was_left_out() -> None:
    wrong = Txn(Zxid(1, 5000), "nobody broadcast it")
    found = told(whole([*many(2000), Deliver(2, 0, wrong)], processes=3))
    last = states_after(found, len(found.moments) - 1)
    assert last[2]["delivered"] == f"2,001, last {wrong}"
    assert last[3]["delivered"].startswith("2,000, ")


def test_what_changed_where_nothing_is_shown_is_told_there() -> None:
    wrong = Txn(Zxid(1, 5000), "nobody broadcast it")
    found = told(whole([Promise(3, 0, 7), *many(2000), Deliver(2, 0, wrong)], processes=3))
    changed = [
        (moment.action.startswith("…"), change.added)
        for moment in found.moments
        for change in moment.changes.get(3, ())
        if change.variable == "epoch"
    ]
    assert changed == [(True, ("7",))]


def test_messages_of_rows_that_are_left_out_are_left_out() -> None:
    found = left_out()
    shown = {moment.step for moment in found.moments}
    assert any("left out" in moment.action for moment in found.moments)
    assert all(flight.sent in shown or flight.received in shown for flight in found.flights)
    numbers = [flight.number for flight in found.flights]
    assert len(numbers) == len({*numbers})


def test_it_looks_at_each_event_only_so_often(monkeypatch: pytest.MonkeyPatch) -> None:
    """Twice the trace is twice the work, counted in calls, not in seconds."""

    def work(count: int) -> int:
        calls: Counter[str] = Counter()
        for name in ("_follow", "_goes_with", "_moment"):
            original = getattr(traced, name)

            def counting(*arguments: object, name: str = name, original: object = original) -> object:
                calls[name] += 1
                return original(*arguments)  # type: ignore[operator]  # it is a function

            monkeypatch.setattr(traced, name, counting)
        told(whole(list(many(count)), processes=3))
        monkeypatch.undo()
        return calls.total()

    small, large = work(1000), work(4000)
    assert 0 < large <= 4.2 * small


# The units.


def test_the_unit_is_a_line_an_event_or_a_step() -> None:
    assert (trace().unit, merged().unit, minimised().unit) == ("line", "event", "step")
    assert "each process's own order only" in merged().settings
    assert trace().settings == ()
    assert not trace().schedule
    assert Ready in {type(event) for _, event in trace().trace}


def test_a_message_that_arrives_twice_is_drawn_twice() -> None:
    sent, first, again = Send(1, 0, 2, 1, "ACK", ""), Receive(2, 0, 1, 1), Receive(2, 0, 1, 1)
    flights = flights_of(enumerate([[sent], [first], [again], [Drop(1)]], 1))
    assert [(each.number, each.sent, each.received, each.lost) for each in flights] == [
        (1, 1, 2, None),
        (1, 1, 3, None),
        (1, 1, None, 4),
    ]
