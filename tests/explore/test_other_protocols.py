"""Symmetry and reduction of LADIS 2008, Paxos and the causal broadcast lose nothing, nor do they add anything."""

from typing import Any

import pytest
from msgspec import structs

from invariants import select
from invariants.quorums import Quorums
from tests.explore.at_any_time import processes_at_any_time
from tests.explore.test_space import orbit
from tests.tiers import sweep
from zabcheck.explore.bounds import UNLIMITED, Bounds
from zabcheck.explore.exploration import explore
from zabcheck.explore.judges import judged_in_every_state
from zabcheck.explore.space import Space
from zabcheck.mutants.catalogue import CATALOGUE, mutated
from zabcheck.protocols.base import Effect, Message
from zabcheck.protocols.ladis.messages import Fetch, FollowerInfo
from zabcheck.protocols.ladis.process import Server, rename
from zabcheck.protocols.ladis.recovery import fetch
from zabcheck.protocols.paxos.messages import Phase1b
from zabcheck.protocols.switches import Switches

SAFETY = tuple(select(("integrity", "total order", "agreement")))
"""Properties that neither the letter of LADIS 2008 nor Paxos breaks here, so each search goes to its end."""
ALL = tuple(kind for kind in select(None) if judged_in_every_state(kind))
GRACEFUL, ABRUPT = Switches(sync="atomic"), Switches(sync="atomic", closing="abrupt")
SPACES = {
    "a crash": (Bounds(2, 2, 1, 1, 1), GRACEFUL),
    "a crash, abrupt": (Bounds(2, 2, 1, 1, 1), ABRUPT),
    "a cut": (Bounds(2, 2, 1, 1, 0, 1), GRACEFUL),
    "a disk": (Bounds(2, 1, 1, 1, 1), Switches(closing="abrupt")),
    "any faults": (Bounds(2, 2, 1, UNLIMITED, UNLIMITED), ABRUPT),
    "three processes": (Bounds(3, 1, 1, 1, 0), GRACEFUL),
    "three processes, a crash": (Bounds(3, 2, 1, 0, 1), ABRUPT),
}
PROTOCOLS = ("ladis", "ladis-2008", "paxos", "paxos-one-outstanding", "paxos-batches", "paxos-barrier")
LARGE = {("ladis", "three processes, a crash"), ("paxos-barrier", "three processes, a crash")}
EACH = [
    (protocol, name)
    for place, protocol in enumerate(PROTOCOLS)
    for number, name in enumerate(SPACES)
    if (place + 2 * number) % 3 == 1 and (protocol, name) not in LARGE
]
"""Each protocol in every third space, so each space is one of every third protocol."""
EACH.append(("causal", "a cut"))


def space(protocol: str, bounds: Bounds, switches: Switches, **how: Any) -> Space:
    how = {"symmetry": False, "reduction": False, "moments": False, "properties": SAFETY, **how}
    return Space(mutated(protocol), Quorums(bounds.processes), switches, bounds, **how)


def processes_of(explorer: Space) -> set[tuple[object, ...]]:
    """Return what processes have on their disk, and what they have delivered, at any time."""
    return {
        (each.id, str(sorted(each.disk.durable.items())), each.state.delivered)
        for each in processes_at_any_time(explorer)
        if each.state is not None
    }


@pytest.mark.parametrize(("protocol", "name"), sweep(EACH, normal=(("paxos", "a crash, abrupt"),)))
def test_processes_come_to_the_same_with_partial_order_reduction(protocol: str, name: str) -> None:
    whole, reduced = (space(protocol, *SPACES[name], reduction=reduction) for reduction in (False, True))
    said = [each.explore() for each in (whole, reduced)]
    assert [each.whole for each in said] == [True, True]
    assert processes_of(whole) == processes_of(reduced)
    assert said[0].exercised == said[1].exercised
    assert said[1].states < said[0].states * 0.8


SYMMETRIC = {
    "two epochs": (Bounds(2, 2, 1, 1, 0), GRACEFUL),
    "a disk": (Bounds(2, 1, 1, 0, 1), Switches()),
    "three processes": (Bounds(3, 1, 1, 0, 0), GRACEFUL),
    "a time-out": (Bounds(3, 1, 1, 1, 0), ABRUPT),
}


@pytest.mark.parametrize("protocol", ["ladis", "ladis-2008"])
@pytest.mark.parametrize("name", sweep(SYMMETRIC, normal=("two epochs", "three processes")))
def test_with_symmetry_it_sees_the_same_states_up_to_names(protocol: str, name: str) -> None:
    whole, reduced = (space(protocol, *SYMMETRIC[name], symmetry=symmetry) for symmetry in (False, True))
    assert [each.explore().whole for each in (whole, reduced)] == [True, True]
    orbits = {orbit(reduced, row) for row in reduced.rows()}
    assert sum(map(len, orbits)) == len({row[:-1] for row in whole.rows()})


def test_the_supplier_of_a_log_does_not_depend_on_names() -> None:
    """The first that came is taken of two with the highest zxid, under whatever names."""
    names = (0, 3, 1, 2)
    leader = Server(1, 1, Quorums(3), leader=1)
    leader.followers = {1: FollowerInfo(0), 3: FollowerInfo(7), 2: FollowerInfo(7)}
    renamed = rename(leader, names)
    assert fetch(leader, (1, 3, 2))[0].to == 3
    assert fetch(renamed, (3, 2, 1))[0].to == names[3]
    assert (renamed.id, renamed.leader, renamed.fetches_from) == (3, 3, 2)
    assert rename(leader.followers[1], names) is leader.followers[1]


MUTANTS = [name for name, mutant in CATALOGUE.items() if mutant.protocol == "ladis"]


@pytest.mark.slow
@pytest.mark.parametrize("mutant", MUTANTS)
def test_a_mutant_of_ladis_is_caught_if_and_only_if_it_is_without(mutant: str) -> None:
    protocol, bounds = mutated("ladis", mutant), Bounds(2, 3, 2, 1, 0)
    said = [
        Space(protocol, Quorums(2), ABRUPT, bounds, ALL, symmetry=each, reduction=each).explore()
        for each in (False, True)
    ]
    assert len({each.broken is None for each in said}) == 1
    assert said[1].states < said[0].states


def nothing(*_: object) -> list[Effect]:
    """A step that never does anything."""
    return []


@pytest.mark.parametrize(
    ("protocol", "message"), [("ladis", Fetch), ("paxos", Phase1b)], ids=["no supply", "promises that are not heard"]
)
def test_a_process_that_never_goes_on_is_found_with_reduction_too(protocol: str, message: type[Message]) -> None:
    sound = mutated(protocol)
    stuck = structs.replace(sound, name="stuck", steps={**sound.steps, message: nothing})
    for reduction in (False, True):
        found = explore(stuck, bounds=Bounds(2, 2, 1, 1, 0), reduction=reduction, properties=["core", "convergence"])
        assert found.broken == "convergence"


def test_no_ballot_can_be_given_to_another_process() -> None:
    assert mutated("paxos").rename is None
    assert not mutated("paxos-unordered").commutes
