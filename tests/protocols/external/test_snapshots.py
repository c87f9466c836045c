"""A node that saves and restores its state is explored, and what its snapshot leaves out is told."""

import pytest

from tests.protocols.external.commands import KIT, replayed, wrong
from zabcheck.explore.bounds import Bounds
from zabcheck.explore.exploration import COARSE, CannotExplore, certify, explore
from zabcheck.explore.results import Exploration
from zabcheck.protocols.external import pool
from zabcheck.protocols.external.protocol import external
from zabcheck.protocols.switches import Switches
from zabcheck.simulation.choices import Elect

SMALL = Bounds(processes=2, epochs=1, txns=1, timeouts=0, crashes=0)
AGAIN = Bounds(processes=1, epochs=2, txns=2, timeouts=0, crashes=2)
ALONE = Bounds(processes=1, epochs=2, txns=1, timeouts=1, crashes=1)
BUFFERED = Switches(sync="separate", closing="abrupt")
PROPERTIES = ("core", "causality", "protocol")


def size(found: Exploration) -> tuple[object, ...]:
    """Return what two searches have in common if the protocols are the same."""
    return found.states, found.transitions, found.depth, found.components, found.exercised, found.whole, found.goals


@pytest.mark.parametrize(("bounds", "switches"), [(SMALL, COARSE), (AGAIN, BUFFERED)], ids=["two", "again"])
def test_a_search_of_the_kit_visits_the_states_of_the_protocol_zab(bounds: Bounds, switches: Switches) -> None:
    ours, kit = (
        explore(each, bounds=bounds, switches=switches, properties=PROPERTIES, symmetry=False, reduction=False)
        for each in ("zab", external(KIT).name)
    )
    assert ours.states > 30
    assert size(kit) == size(ours)


def test_it_finds_as_short_a_run_that_breaks_a_property() -> None:
    ours, kit = (
        explore(name, mutant=mutant, bounds=ALONE, switches=BUFFERED, properties=("chosen",), reduction=False)
        for name, mutant in (("zab", "ack-before-sync"), (external(KIT).name, "ack-before-disk"))
    )
    assert (kit.broken, kit.steps) == (ours.broken, ours.steps) == ("chosen", 5)
    assert kit.counterexample is not None
    assert kit.tried == kit.steps - 1
    assert certify(kit.counterexample.schedule).tried == 4


def test_without_snapshots_there_is_no_search_of_every_state() -> None:
    said = r": expected nodes that save and restore their state: `snapshot` of their `init_ok`$"
    with pytest.raises(CannotExplore, match=said):
        explore(external(wrong("counts")).name, bounds=SMALL)


def test_a_node_that_saves_its_state_has_to_understand_reset() -> None:
    with pytest.raises(ValueError, match="expected `reset`, too, as it understands `snapshot`"):
        external(wrong("cannot reset"))


def test_a_snapshot_that_is_none_ends_the_search_with_what_was_written(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pool, "FIRST", ())
    with pytest.raises(CannotExplore, match=r": the node expected `snapshot_ok` alone, .*; it wrote .*\"done\""):
        explore(external(wrong("tells no state")).name, bounds=SMALL)


def test_what_a_snapshot_leaves_out_is_told_in_a_search_of_every_state(monkeypatch: pytest.MonkeyPatch) -> None:
    """The restored node answers otherwise than one that was sent everything, and a replay shows that."""
    monkeypatch.setattr(pool, "RESTORED_TWIN_EVERY", 1)
    monkeypatch.setattr(pool, "FIRST", ())
    found = explore(external(wrong("forgets")).name, bounds=ALONE, properties=("core",))
    assert found.raised
    assert found.counterexample is not None
    raised = found.counterexample.raised
    assert raised is not None
    assert raised.said.startswith("NotDeterministic: does something else each time, or its snapshot leaves something")
    assert [line for line in raised.traceback if '"epoch"' in line]
    assert found.counterexample.steps == 2


def test_what_a_snapshot_leaves_out_is_told_in_any_run() -> None:
    raised = replayed(external(wrong("forgets")), Elect(1, 1), Elect(1, 1)).raised
    assert raised is not None
    assert "its snapshot leaves something out" in raised.said
    assert replayed(external(wrong("forgets")), Elect(1, 1)).raised is None
