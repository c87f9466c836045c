"""Drawings of a state that the proof refuses."""

from collections.abc import Callable
from xml.etree import ElementTree

import pytest

from tests.counterexample.induction import states
from tests.text.consoles import InAscii
from zabcheck.counterexample.induction.lanes import CELLS, CELLS_OF_SERVERS, ROWS_OF_SERVERS, Item, drawing
from zabcheck.counterexample.induction.page import page
from zabcheck.counterexample.induction.terminal import render
from zabcheck.proof.counterexample import Counterexample
from zabcheck.proof.implemented.servers import Servers
from zabcheck.proof.relations import RELATIONS
from zabcheck.text.pen import text_of

Made = Callable[[], Counterexample]
ALL: list[Made] = [
    states.stale_proposal,
    states.promise_not_on_disk,
    states.uncommitted_delivery,
    states.new_history,
    states.two_leaders,
]
each_state = pytest.mark.parametrize("made", ALL)

DRAWN = """\
accept after leaving keeps not choosable: refused
This state satisfies the invariant; after f.3.2, “not choosable” is false.

step      f.3.2 accept after leaving, with n = p2, e = epoch 1, t = a⟨1,1⟩
          A follower accepts a proposal of an epoch that it has left.
conjunct  not choosable, false for e = epoch 1, f = epoch 2, t = a⟨1,1⟩, q = {p2, p3}
          A transaction that a later initial history lacks is not committed in an epoch, and never
          will be. Every quorum has a process that left the epoch without having accepted the
          transaction in it.

The state, and what the step changes  ▶ takes the step  + added  → changed  not …: missing

process               p1                        p2                        p3
the step                                        ▶ f.3.2 accept after
                                                leaving
f.p                   2                         2                         0 ◀W4
f.a                   1                         1                         0
history               empty                     empty → a⟨1,1⟩            empty
delivered             nothing                   nothing                   nothing
promised (ACK-E)      e1 to p1  e2 to p1        e1 to p1  e2 to p1
adopted (ACK-LD)      e1                        e1
accepted in e1 (ACK)                            +a⟨1,1⟩ ◀W3

epoch                 1                         2
leader                p1                        p1
established           p1
initial history       empty                     empty ◀W1
                                                not a⟨1,1⟩ ◀W2
broadcast             a⟨1,1⟩

Why it is false
◀W1 epoch 2 has an initial history
◀W2 a⟨1,1⟩ is not in the initial history of epoch 2
◀W3 p2 accepted a⟨1,1⟩ in epoch 1
◀W4 p3 did not leave epoch 1
"""


def row(made: Made, name: str, title: str = "process") -> list[tuple[Item, ...]]:
    """The cells of a row; none if it is not drawn."""
    lanes = next(each for each in drawing(made()).lanes if each.title == title)
    return [cell for each in lanes.rows if each.name == name for cell in each.cells]


def test_every_relation_has_a_place() -> None:
    assert sorted(CELLS) == sorted(RELATIONS)
    assert sorted(CELLS_OF_SERVERS) == sorted(Servers.relations)
    of_epochs = {"reached", "current"}  # a line each above the rows
    told = {relation for rows in ROWS_OF_SERVERS.values() for relation in rows.values()}
    assert {*Servers.relations} - told == {*of_epochs, "left", "opened"}


def test_the_whole_in_a_terminal() -> None:
    assert text_of(render(states.stale_proposal())) == DRAWN


def test_what_is_not_on_the_disk_is_not_in_f_p() -> None:
    """The ACK-E says that p1 promised epoch 1: f.p does not."""
    assert row(states.promise_not_on_disk, "f.p")[0] == (Item("0", labels=("W2",)),)
    assert row(states.promise_not_on_disk, "promised (ACK-E)")[0] == (Item("e1 to p2", "+", labels=("W1",)),)


def test_a_variable_shows_what_it_was() -> None:
    assert row(states.new_history, "f.a")[1] == (Item("3", was="1"),)
    assert row(states.new_history, "history")[1] == (Item("c⟨2,1⟩", was="a⟨1,1⟩"),)
    assert row(states.new_history, "f.a")[0] == (Item("0"),)


def test_what_is_missing_is_drawn_where_it_is_missing() -> None:
    _, cell, _ = row(states.new_history, "accepted in e3 (ACK)")
    assert cell == (Item("b⟨1,2⟩", "not ", labels=("W3",)), Item("c⟨2,1⟩"))


def test_f_p_is_a_bound_if_the_state_lacks_the_promise() -> None:
    """The invariant allows a process to have left epoch 1 and not epoch 0, so that is told."""
    assert row(states.uncommitted_delivery, "f.p")[2] == (Item("≥ 2"),)
    assert row(states.uncommitted_delivery, "left only") == [(), (), (Item("e1"),)]


def test_a_fact_of_no_epoch_is_said_once() -> None:
    assert [each.words for each in drawing(states.uncommitted_delivery()).witness] == [
        "p1 delivered a⟨1,1⟩",
        "a⟨1,1⟩ was not committed in any epoch",
    ]


def test_a_property_has_a_state_and_no_step() -> None:
    shown = drawing(states.two_leaders())
    assert row(states.two_leaders, "leader", "epoch") == [(Item("p1", labels=("W1",)), Item("p2", labels=("W2",)))]
    assert [label for label, *_ in shown.particulars] == ["property"]
    assert row(states.two_leaders, "the step") == []


def test_only_signs_that_occur_are_explained() -> None:
    assert drawing(states.two_leaders()).legend == ()
    assert drawing(states.promise_not_on_disk()).legend == ("▶ takes the step", "+ added")
    assert drawing(states.new_history()).legend == ("▶ takes the step", "+ added", "→ changed", "not …: missing")


@each_state
def test_no_fact_is_lost(made: Made) -> None:
    """Each has an item in a lane, but what is so in every state, and what f.p says."""
    found = made()
    drawn = {
        (item.text, item.sign == "+")
        for lanes in drawing(found).lanes
        for r in lanes.rows
        for c in r.cells
        for item in c
    }
    for fact in found.after:
        name, things = fact
        if name in ("left", "opened") or fact in states.IN_EPOCH_0:
            continue
        assert (CELLS[name](*things)[1], fact not in found.before) in drawn


@each_state
def test_each_mark_of_the_witness_is_in_a_lane(made: Made) -> None:
    shown = drawing(made())
    marks = {
        label for lanes in shown.lanes for r in lanes.rows for cell in r.cells for item in cell for label in item.labels
    }
    assert sorted(marks) == [each.label for each in shown.witness]


@each_state
@pytest.mark.parametrize("width", [60, 80, 100, 200])
def test_it_fits_a_terminal(made: Made, width: int) -> None:
    assert max(map(len, text_of(render(made()), width).splitlines())) <= width


@each_state
def test_it_can_be_written_in_ascii(made: Made) -> None:
    assert text_of(InAscii(render(made()))).isascii()


@each_state
def test_the_page_is_whole_and_loads_nothing(made: Made) -> None:
    written = page([made()])
    root = ElementTree.fromstring(written.replace("<!DOCTYPE html>", ""))
    [heading] = root.iter("h1")
    assert "".join(heading.itertext()) == f"{made().obligation.name}: refused"
    for each in drawing(made()).witness:
        assert written.count(f"◀{each.label}<") >= 1
    assert not [each for each in root.iter() if each.tag in ("script", "link", "img") or "src" in each.attrib]


def test_several_on_one_page_are_listed() -> None:
    root = ElementTree.fromstring(page([made() for made in ALL]).replace("<!DOCTYPE html>", ""))
    targets = [each.attrib["href"].removeprefix("#") for each in root.iterfind(".//nav//a")]
    assert targets == [each.attrib["id"] for each in root.iterfind(".//h2")]
    assert len(targets) == len(ALL)
