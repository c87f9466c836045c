"""Reductions of `--protocol zookeeper` lose nothing: servers come to the same, and the same bugs show."""

from collections.abc import Hashable
from typing import Any

import pytest
from msgspec import structs

from invariants import select
from invariants.quorums import Quorums
from tests.explore.at_any_time import processes_at_any_time
from tests.tiers import sweep
from zabcheck.explore import Bounds, explore
from zabcheck.explore.bounds import SNAPSHOT, UNLIMITED
from zabcheck.explore.exploration import BY_VOTE
from zabcheck.explore.shortest import search
from zabcheck.explore.space import Space
from zabcheck.explore.tables.reduction import DoesNotCommute
from zabcheck.explore.tables.renaming import renamed_choice
from zabcheck.protocols import PROTOCOLS
from zabcheck.protocols.base import Effect, Protocol
from zabcheck.protocols.switches import Switches, completed
from zabcheck.simulation.choices import Lead
from zabcheck.simulation.content import of_value
from zabcheck.zookeeper.model import messages
from zabcheck.zookeeper.model.server import Server, give_up
from zabcheck.zookeeper.model.switches import ZooKeeperSwitches

ZOOKEEPER = PROTOCOLS["zookeeper"]


def everything(f: Server) -> Hashable:
    """All variables of a server, in the order in which they came to be, whether they matter or not."""
    names = [name for name in Server.__struct_fields__ if name not in ("incarnation", "quorums", "switches", "version")]
    return tuple(of_value(getattr(f, name)) for name in names)


UNABRIDGED = structs.replace(ZOOKEEPER, identity=everything)


def space(
    bounds: Bounds,
    switches: dict[str, Any],
    protocol: Protocol = ZOOKEEPER,
    properties: tuple[str, ...] = ("core",),
    *,
    reduction: bool = False,
    symmetry: bool = False,
    ties: bool = False,
) -> Space:
    named = structs.replace(completed(BY_VOTE, ZooKeeperSwitches), **switches)
    found = Space(
        protocol,
        Quorums(bounds.processes),
        named,
        bounds,
        select(properties),
        reduction=reduction,
        symmetry=symmetry,
        moments=False,
    )
    if ties:
        found.successors.ties = True
    return found


def servers_of(searched: Space) -> set[tuple[object, ...]]:
    """Return what servers have promised, logged and delivered, at any time that they are up or have halted."""
    seen: set[tuple[object, ...]] = set()
    for process in processes_at_any_time(searched):
        disk = process.disk.durable
        durable = (disk.get(name) for name in ("accepted_epoch", "current_epoch", "log", "snapshots"))
        state = process.state
        if state is not None or process.halted:
            up = None if state is None else (state.delivered, state.database, state.phase)
            seen.add((*durable, process.halted, up))
    return seen


SPACES: dict[str, tuple[Bounds, dict[str, Any]]] = {
    "two servers": (Bounds(2, 2, 1, 1, 1), {"version": "3.9.5"}),
    "two servers, graceful": (Bounds(2, 2, 1, 1, 1), {"version": "3.9.5", "closing": "graceful"}),
    "two servers, repaired": (Bounds(2, 3, 1, 0, 2), {"version": "3.9.5", "defects": "none"}),
    "two servers, threads": (Bounds(2, 2, 1, 1, 1), {"version": "3.9.5", "grain": "G4", "sync": "separate"}),
    "two servers, leaks": (Bounds(2, 2, 1, 1, 1), {"version": "3.8.0", "grain": "G4", "sync": "separate"}),
    "two servers, no log": (Bounds(2, 2, 1, 1, 1), {"version": "3.5.5", "grain": "G2", "sync": "separate"}),
    "two servers, 3.3": (Bounds(2, 2, 1, 1, 1), {"version": "3.3.1"}),
    "two servers, forwarding late": (Bounds(2, 2, 1, 1, 1), {"version": "3.3.1", "defects": "962"}),
    "two servers, a SNAP late": (Bounds(2, 2, 1, 1, 1), {"version": "3.4.10", "defects": "3104"}),
    "two servers, 3.4": (Bounds(2, 2, 1, 1, 1), {"version": "3.4.10", "defects": "none"}),
    "two servers, a cut": (Bounds(2, 2, 1, 0, 1, 1), {"version": "3.9.5"}),
    "two servers, any time-outs": (Bounds(2, 2, 1, UNLIMITED, 1), {"version": "3.9.5"}),
    "two servers, anybody leads": (Bounds(2, 2, 1, 1, 1), {"version": "3.9.5", "elections": "apart"}),
    "three servers": (Bounds(3, 1, 1, 0, 0), {"version": "3.9.5"}),
    "three servers, two transactions": (Bounds(3, 1, 2, 0, 0), {"version": "3.9.5"}),
    "three servers, threads": (Bounds(3, 1, 1, 0, 0), {"version": "3.9.5", "grain": "G1"}),
    "three servers, a crash": (Bounds(3, 1, 1, 0, 1), {"version": "3.9.5"}),
    "three servers, two epochs": (Bounds(3, 2, 0, 0, 1), {"version": "3.9.5"}),
    "two servers, a snapshot": (Bounds(2, 2, 1, 0, 1, snapshots=1), {"version": "3.9.5"}),
    "two servers, two snapshots": (Bounds(2, 2, 1, 1, 0, snapshots=2), {"version": "3.9.5", "defects": "none"}),
    "two servers, a snapshot, threads": (
        Bounds(2, 2, 1, 0, 1, snapshots=1),
        {"version": "3.9.5", "grain": "G2", "sync": "separate"},
    ),
    "three servers, a snapshot": (Bounds(3, 1, 1, 0, 0, snapshots=1), {"version": "3.9.5"}),
}
THREE = [name for name, (bounds, _) in SPACES.items() if bounds.processes == 3]

LARGE = ("three servers, two transactions", "three servers, a crash")


@pytest.mark.parametrize("name", sweep([each for each in SPACES if each not in LARGE][::2], normal=("two servers",)))
def test_a_variable_that_nobody_reads_any_more_makes_no_difference(name: str) -> None:
    unabridged, abridged = space(*SPACES[name], UNABRIDGED), space(*SPACES[name])
    said = [each.explore() for each in (unabridged, abridged)]
    assert [each.whole for each in said] == [True, True]
    assert servers_of(unabridged) == servers_of(abridged)
    assert said[0].exercised == said[1].exercised
    assert said[1].states < said[0].states


@pytest.mark.parametrize("name", sweep(SPACES, normal=("two servers, repaired",)))
def test_servers_come_to_the_same_in_whatever_order_they_move(name: str) -> None:
    whole, reduced = space(*SPACES[name]), space(*SPACES[name], reduction=True)
    said = [each.explore() for each in (whole, reduced)]
    assert [each.whole for each in said] == [True, True]
    assert servers_of(whole) == servers_of(reduced)
    assert said[0].exercised == said[1].exercised
    assert said[1].states < said[0].states


@pytest.mark.parametrize("name", sweep(THREE, normal=("three servers",)))
def test_servers_come_to_the_same_whatever_they_are_called(name: str) -> None:
    ways: tuple[dict[str, Any], ...] = ({"ties": True}, {"symmetry": True}, {"symmetry": True, "reduction": True})
    searched = [space(*SPACES[name], **way) for way in ways]
    said = [each.explore() for each in searched]
    assert [each.whole for each in said] == [True, True, True]
    whole, symmetric, reduced = map(servers_of, searched)
    assert whole == symmetric == reduced
    assert said[0].exercised == said[1].exercised == said[2].exercised
    assert said[0].states > 2 * said[1].states > 4 * said[2].states


@pytest.mark.slow
def test_symmetry_only_adds_what_another_outcome_of_a_tie_leads_to() -> None:
    exact, symmetric = space(*SPACES["three servers"]), space(*SPACES["three servers"], symmetry=True)
    assert exact.explore().whole
    assert symmetric.explore().whole
    assert servers_of(exact) <= servers_of(symmetric)


@pytest.mark.parametrize(("elections", "processes"), [("oracle", 2), ("fle", 3)])
def test_servers_that_are_not_interchangeable_are_not_taken_for_it(elections: str, processes: int) -> None:
    assert space(Bounds(processes, 1, 1, 0, 0), {"elections": elections}, symmetry=True).symmetry is None


BUGS: dict[str, tuple[Bounds, dict[str, Any], tuple[str, ...]]] = {
    "2845": (Bounds(2, 3, 2, 1, 1), {"version": "3.4.10", "defects": "2845"}, ("core",)),
    "2845, total order": (Bounds(2, 3, 2, 1, 1), {"version": "3.4.10", "defects": "2845"}, ("total order",)),
    "2845, agreement": (Bounds(2, 3, 2, 1, 1), {"version": "3.4.10", "defects": "2845"}, ("agreement",)),
    "2845, integrity": (Bounds(2, 3, 2, 1, 1), {"version": "3.4.10", "defects": "2845"}, ("integrity",)),
    "2845, chosen": (Bounds(2, 3, 2, 1, 1), {"version": "3.4.10", "defects": "2845"}, ("chosen",)),
    "2845, repaired": (Bounds(2, 3, 2, 1, 1), {"version": "3.4.10", "defects": "none"}, ("core",)),
    "1343": (Bounds(3, 1, 0, 1, 0), {"version": "3.4.2", "defects": "1343"}, ("epoch uniqueness",)),
    "1343, repaired": (Bounds(3, 2, 0, 1, 0), {"version": "3.4.2", "defects": "none"}, ("epoch uniqueness",)),
    "335": (Bounds(2, 2, 1, 1, 1), {"version": "3.3.1", "defects": "335"}, ("epoch uniqueness",)),
    "962": (Bounds(3, 1, 2, 0, 0), {"version": "3.3.1", "defects": "962"}, ("core",)),
    "962, repaired": (Bounds(3, 1, 1, 0, 0), {"version": "3.3.1", "defects": "none"}, ("core",)),
    "3104": (Bounds(3, 1, 1, 0, 0), {"version": "3.4.10", "defects": "3104"}, ("invariant 2",)),
    "3911, invariant 5": (Bounds(3, 1, 1, 0, 0), {"version": "3.5.5", "defects": "3911"}, ("invariant 5",)),
}
"""Spaces, and properties that a bug violates there or not: with reduction and symmetry alike."""


@pytest.mark.parametrize("name", sweep(BUGS, normal=("2845",)))
def test_a_property_is_violated_if_and_only_if_it_is_in_an_unreduced_search(name: str) -> None:
    bounds, switches, properties = BUGS[name]
    ways: tuple[dict[str, Any], ...] = ({}, {"reduction": True}, {"reduction": True, "symmetry": True})
    said = [space(bounds, switches, properties=properties, **way).explore() for way in ways]
    assert len({each.broken for each in said}) == 1
    assert [each.whole for each in said] == [each.broken is None for each in said]


@pytest.mark.slow
def test_with_symmetry_the_shortest_run_of_n2_is_found_and_is_real() -> None:
    """Under some names of the servers only: the greatest id wins the ties."""
    switches = structs.replace(completed(BY_VOTE, ZooKeeperSwitches), version="3.9.5", defects="n2")
    found = explore("zookeeper", bounds=Bounds(3, 2, 2, 0, 1), switches=switches, properties=("core",))
    assert (found.broken, found.steps, found.tried, found.symmetry) == ("primary integrity", 24, 23, True)
    assert found.counterexample is not None


def leaves(f: Server, sender: int, m: messages.Ack) -> list[Effect]:
    return give_up(f, "an ACK") if f.leads else []


GIVES_UP = structs.replace(ZOOKEEPER, steps={**ZOOKEEPER.steps, messages.Ack: leaves})
"""A leader that leaves its followers by itself."""


def test_nothing_is_reduced_where_a_leader_leaves_its_followers_by_itself() -> None:
    bounds = Bounds(3, 1, 0, 0, 0)
    with pytest.raises(DoesNotCommute):
        space(bounds, {}, GIVES_UP, reduction=True).explore()
    found = search(lambda reduction: space(bounds, {}, GIVES_UP, reduction=reduction), True)
    assert not found.space.reduced
    assert found.result.whole


def test_snapshots_are_only_written_as_often_as_the_bounds_say() -> None:
    bounds, switches = SPACES["two servers, two snapshots"]
    searched = space(bounds, switches, reduction=True)
    assert searched.reduced
    assert searched.explore().whole
    used = {row[-2] // SNAPSHOT for row in searched.rows()}
    assert used == {0, 1, 2}
    assert bounds.in_words().endswith("0 crashes, 2 snapshots")


def test_where_processes_do_not_vote_nothing_is_reduced_beside_snapshots() -> None:
    zab, quorums, switches = PROTOCOLS["zab"], Quorums(2), Switches(sync="atomic", closing="abrupt")
    for snapshots in (0, 1):
        bounds = Bounds(2, 1, 1, 0, 0, snapshots=snapshots)
        searched = Space(zab, quorums, switches, bounds, select(("core",)), reduction=True)
        assert searched.reduced is (snapshots == 0)


def test_an_election_has_everybody_under_the_new_name() -> None:
    assert renamed_choice(Lead(2, (1, 3)), (0, 3, 1, 2)) == Lead(1, (3, 2))
