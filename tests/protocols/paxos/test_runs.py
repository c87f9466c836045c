"""The runs of the scenarios: each schedule still gives what `runs.json` says, and those of Figure 1 have its shape."""

from pathlib import Path
from typing import Any

import msgspec
import pytest
from msgspec import structs

import invariants
from invariants import Broadcast, Deliver, Establish, Event, Send, Zxid
from tests.search.builders import simulator_of
from zabcheck.protocols.paxos.messages import Proposal
from zabcheck.protocols.switches import completed
from zabcheck.search.run import replay
from zabcheck.simulation import schedule as schedules
from zabcheck.simulation.choices import Crash
from zabcheck.simulation.schedule import Schedule

RUNS = Path(__file__).parents[3] / "zabcheck/papers/scenarios/paxos"
INDEX: dict[str, dict[str, Any]] = msgspec.json.decode(Path(__file__).with_name("runs.json").read_bytes())
LAST = 4
"""The number of a process's last deliveries that the index has."""


def load(name: str) -> Schedule:
    return schedules.load((RUNS / f"{name}.schedule.json").read_bytes(), name)


def delivered(events: list[Event]) -> dict[str, dict[str, str]]:
    """Return the last delivery of each process, with its place."""
    sequences: dict[str, list[str]] = {}
    for event in events:
        if isinstance(event, Deliver):
            again = f" incarnation {event.incarnation}" if event.incarnation else ""
            sequences.setdefault(f"p{event.process}{again}", []).append(str(event.txn))
    return {
        process: {str(place): txn for place, txn in list(enumerate(txns, 1))[-LAST:]}
        for process, txns in sequences.items()
    }


def test_every_run_is_in_the_index() -> None:
    assert sorted(INDEX) == sorted(path.name.removesuffix(".schedule.json") for path in RUNS.glob("*.schedule.json"))


@pytest.mark.parametrize("name", INDEX)
def test_a_run_comes_out_as_the_index_says(name: str) -> None:
    schedule, expected = load(name), INDEX[name]
    replayed = replay(schedule)
    assert replayed.skipped == 0
    assert [v.property for v in replayed.verdicts if v.status == "violated"] == expected["violated"]
    assert schedule.violates in (*expected["violated"][:1], *([None] if not expected["violated"] else []))
    assert delivered(replayed.events) == expected["delivered"]


Cell = tuple[int, str] | None
"""A proposal that an acceptor has accepted in an instance: the ballot and the value."""


def tables(schedule: Schedule, first: int) -> list[list[list[Cell]]]:
    """Return what the disks of p1, p2 and p3 hold of three instances from `first` on, each time that it has changed."""
    found: list[list[list[Cell]]] = []
    simulator = simulator_of(schedule)
    for choice in schedule.choices:
        simulator.execute(choice)
        disks = [simulator.disks[process].durable.get("accepted", {}) for process in simulator.ids]
        table = [[_cell(accepted.get(first + i)) for i in range(3)] for accepted in disks]
        if not found or found[-1] != table:
            found.append(table)
    return found


def _cell(proposal: Proposal | None) -> Cell:
    return None if proposal is None else (proposal.ballot, " + ".join(txn.value for txn in proposal.value))


@pytest.mark.parametrize("name", ["figure-1", "figure-1-crashes"])
def test_the_acceptors_accept_what_they_do_in_figure_1(name: str) -> None:
    """A and B at one acceptor, of ballot 1; C at others, of ballot 2; with ballot 3 a quorum has C, B and D."""
    seen = tables(load(name), 27)
    p1: list[Cell] = [(1, "A"), (1, "B"), None]
    nothing: list[Cell] = [None, None, None]
    second: list[Cell] = [(2, "C"), None, None]
    third: list[Cell] = [(3, "C"), (3, "B"), (3, "D")]
    at = [seen.index(table) for table in ([p1, nothing, nothing], [p1, second, second], [third, second, third])]
    assert at == sorted(at)
    assert at[-1] == len(seen) - 1


@pytest.mark.parametrize(("name", "ballots"), [("figure-1-found", (1, 2, 4)), ("figure-1-shortest", (1, 2, 3))])
def test_what_was_found_has_the_shape_of_figure_1(name: str, ballots: tuple[int, int, int]) -> None:
    """Nothing more is in it: the first primary broadcasts A and B, the second C; the third has C and B chosen."""
    schedule = load(name)
    replayed = replay(schedule)
    broadcasts = [event for event in replayed.events if isinstance(event, Broadcast)]
    first, second, third = ballots
    assert sorted(event.txn.zxid for event in broadcasts) == [Zxid(first, 1), Zxid(first, 2), Zxid(second, 1)]
    assert [e.epoch for e in replayed.events if isinstance(e, Establish)] == [first, second, third]
    a, b, c = (event.txn.value for event in sorted(broadcasts, key=lambda event: event.txn.zxid))
    seen = tables(schedule, 1)
    holders = {
        (value, process)
        for table in seen
        for process, cells in enumerate(table, 1)
        for cell in cells
        if cell is not None and cell[0] < third
        for value in [cell[1]]
    }
    assert {process for value, process in holders if value in (a, b)} == {1}
    assert 1 not in {process for value, process in holders if value == c}
    assert [[(third, c), (third, b), None]] * 2 == [cells for cells in seen[-1] if cells[0] == (third, c)]
    [sequence] = {
        tuple(event.txn.value for event in replayed.events if isinstance(event, Deliver) and event.process == p)
        for p in {event.process for event in replayed.events if isinstance(event, Deliver)}
    }
    assert sequence == (c, b)


def test_with_crashes_nobody_proposes_before_the_one_before_has_crashed() -> None:
    schedule = load("figure-1-crashes")
    simulator = simulator_of(schedule)
    seen: dict[int, None] = {}
    for choice in schedule.choices:
        simulator.execute(choice)
        proposers = [state.id for state in simulator.states if state is not None and state.leads]
        assert len(proposers) <= 1
        seen |= dict.fromkeys(proposers)
    assert list(seen) == [1, 2, 3]
    assert [choice.process for choice in schedule.choices if isinstance(choice, Crash)] == [1, 2]


def test_where_one_process_alone_proposes_it_has_crashed_before_the_second_ballot() -> None:
    replayed = replay(load("one-proposer"))
    of_p1 = [
        (type(e).__name__, getattr(e, "epoch", 0))
        for e in replayed.events
        if isinstance(e, Establish | invariants.Crash)
    ]
    assert of_p1 == [("Establish", 1), ("Crash", 0), ("Establish", 4), ("Establish", 7)]
    assert {e.process for e in replayed.events if isinstance(e, Establish | Broadcast)} == {1}


def test_the_gap_is_filled_with_a_no_op_and_what_follows_is_delivered() -> None:
    """Two primaries are enough where a message may overtake another. The first one crashes before A is accepted."""
    replayed = replay(load("gap"))
    assert [e.epoch for e in replayed.events if isinstance(e, Establish)] == [1, 2]
    assert [e.text for e in replayed.events if isinstance(e, Send) and e.kind == "2A" and e.process == 2] == [
        "2, 1: no-op",
        "2, 2: B⟨1,2⟩",
    ]


def test_the_same_choices_are_made_with_zab_and_with_batches() -> None:
    figure = load("figure-1")
    for name in ("figure-1-zab", "figure-1-batches"):
        assert load(name).choices == figure.choices
        assert completed(figure.switches, type(load(name).switches)) == load(name).switches


@pytest.mark.parametrize("name", ["one-outstanding", "batches"])
def test_what_the_cures_leave_open_is_delivered_by_nobody(name: str) -> None:
    """The later primary broadcast in ignorance of what came back, but no process applied what it broadcast."""
    replayed = replay(load(name))
    old, late = sorted(e.txn for e in replayed.events if isinstance(e, Broadcast))
    assert {e.txn for e in replayed.events if isinstance(e, Deliver)} == {old}
    assert old.zxid.epoch < late.zxid.epoch
    with_barrier = replay(structs.replace(load(name), protocol="paxos-barrier"))
    assert [v.property for v in with_barrier.verdicts if v.status == "violated"] == []
