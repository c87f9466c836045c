"""The abstract states of a run: what they keep, what they forget, and that a fingerprint is the same everywhere."""

from collections.abc import Iterable

import pytest

from invariants import (
    Accept,
    Adopt,
    CommitEpoch,
    Crash,
    Deliver,
    Elect,
    Establish,
    Event,
    Halt,
    Promise,
    Recover,
    Restore,
    select,
)
from invariants.events import EVENTS, Txn, Zxid
from zabcheck.mutants.catalogue import mutated
from zabcheck.search.coverage import Coverage, fingerprint, states_of
from zabcheck.search.run import Search
from zabcheck.search.swarm import drive

X = Txn(Zxid(1, 1), "x")
Y = Txn(Zxid(1, 2), "y")


def covered(processes: int, events: Iterable[Event]) -> Coverage:
    coverage = Coverage(processes)
    for event in events:
        coverage.observers[type(event)](event)
    return coverage


def last(processes: int, *events: Event) -> tuple[int, ...]:
    coverage = covered(processes, events)
    return coverage.state()


def test_all_begin_alike() -> None:
    assert len(covered(5, []).states) == 1
    assert covered(5, []).states == covered(2, []).states


@pytest.mark.parametrize(
    "event",
    [
        Promise(1, 0, 1),
        Adopt(1, 0, 1, X.zxid, 1, 7),
        CommitEpoch(1, 0, 1),
        Establish(1, 0, 1),
        Accept(1, 0, 1, X),
        Crash(1, 0),
        Halt(1, 0, "altered"),
        Restore(1, 0, X.zxid, 1, 7),
    ],
)
def test_a_changed_process_is_a_new_state(event: Event) -> None:
    assert len(covered(3, [event]).states) == 2


def test_which_process_it_is_does_not_count() -> None:
    assert last(3, Promise(1, 0, 1), Crash(2, 0)) == last(3, Promise(3, 0, 1), Crash(1, 0))


def test_how_many_processes_are_in_one_situation_does_not_count() -> None:
    assert last(3, Promise(1, 0, 1), Promise(2, 0, 1)) == last(7, *(Promise(each, 0, 1) for each in range(1, 7)))


def test_numbers_of_epochs_and_transactions_do_not_count_but_their_order_does() -> None:
    assert last(2, Promise(1, 0, 1), Promise(2, 0, 2)) == last(2, Promise(1, 0, 4), Promise(2, 0, 9))
    assert last(2, Promise(1, 0, 1), Promise(2, 0, 2)) != last(2, Promise(1, 0, 2), Promise(2, 0, 2))
    assert last(2, Accept(1, 0, 1, X), Accept(2, 0, 1, Y)) != last(2, Accept(1, 0, 1, Y), Accept(2, 0, 1, Y))


def test_a_leader_that_is_elected_anew_or_crashes_leads_no_more() -> None:
    leads = [Promise(1, 0, 1), Establish(1, 0, 1)]
    assert last(1, *leads) != last(1, *leads, Elect(1, 0, 1))
    assert last(1, *leads, Elect(1, 0, 1)) == last(1, Promise(1, 0, 1), Elect(1, 0, 1))
    assert last(1, *leads, Crash(1, 0), Recover(1, 1)) == last(1, Promise(1, 0, 1), Elect(1, 0, 1))


def test_a_state_that_comes_again_counts_once() -> None:
    assert len(covered(1, [Crash(1, 0), Recover(1, 1), Crash(1, 1), Recover(1, 2)]).states) == 2


def test_every_kind_that_is_looked_at_is_an_event() -> None:
    assert set(Coverage(1).observers) <= set(EVENTS)


def test_a_run_of_zab_goes_through_many_states_and_the_same_ones_each_time() -> None:
    def states(seed: int) -> list[tuple[int, ...]]:
        watching: list[Coverage] = []

        def watch(drawn: object) -> list[object]:
            watching.append(Coverage(3))
            return [watching[0].observers]

        drive(Search(mutated("zab"), 3), select("integrity"), seed, watch)  # type: ignore[arg-type]  # a list of tables
        return list(watching[0].states)

    assert len(states(1)) > 10
    assert states(1) == states(1)
    assert states(1) != states(2)


def test_fingerprints_are_fixed_and_differ() -> None:
    assert fingerprint((24,)) == 2670314646339325078
    states = covered(3, [Promise(1, 0, 1), Accept(1, 0, 1, X), Crash(2, 0), Recover(2, 1)]).states
    assert len({fingerprint(state) for state in states}) == len(states) == 4


def test_the_states_of_a_trace_are_those_of_its_events_one_by_one() -> None:
    """Events that change no situation, as deliveries do, are passed over."""
    events = [Promise(1, 0, 1), Adopt(1, 0, 1, Zxid(0, 0), 0, 0), Establish(1, 0, 1), Accept(1, 0, 1, X)]
    assert states_of([*events, Deliver(1, 0, X)], 3) == {*covered(3, events).states}
