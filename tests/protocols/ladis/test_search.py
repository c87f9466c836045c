"""Searches of LADIS 2008: of its letter, and of what is repaired."""

from collections.abc import Hashable, Mapping
from typing import Any

import pytest
from msgspec import Struct, structs

from invariants import select
from invariants.quorums import Quorums
from tests.protocols.ladis.builders import AB, ABC, took_over
from tests.search.walk import Walk
from zabcheck.explore.bounds import Bounds
from zabcheck.explore.space import Space
from zabcheck.protocols import PROTOCOLS
from zabcheck.protocols.base import AddedState, Protocol
from zabcheck.protocols.ladis.process import Mode, identity
from zabcheck.protocols.switches import Switches
from zabcheck.search.goals import GOALS
from zabcheck.search.run import Search
from zabcheck.search.swarm import find
from zabcheck.search.tally import Tally
from zabcheck.simulation.simulator import Simulator

LETTER, REPAIRED = PROTOCOLS["ladis-2008"], PROTOCOLS["ladis"]
ATOMIC = Switches(sync="atomic")
NO_CUT_LOGS = "received snapshot"
"""The goal that no run can reach: the log is never cut, so nobody needs the snapshot of another."""


def names(protocol: Protocol) -> tuple[str, ...]:
    return tuple(kind.name for kind in select(protocol.properties))


@pytest.mark.parametrize("property_", ["epoch uniqueness", "zxid uniqueness", "total order", "agreement", "redelivery"])
def test_the_letter_of_the_paper_breaks(property_: str) -> None:
    """ZOOKEEPER-335: two leaders of one epoch, and what comes of that."""
    found = find(Search(LETTER, 3, (property_,), runs=300, rng=1))
    assert found is not None


def search(processes: int, runs: int, seed: int = 1) -> Tally:
    tally = Tally(select(REPAIRED.properties))
    assert find(Search(REPAIRED, processes, names(REPAIRED), runs, rng=seed, on_run=tally.add)) is None
    return tally


@pytest.mark.slow
def test_repaired_it_survives() -> None:
    assert search(3, 100).runs == 100


@pytest.mark.slow
def test_repaired_it_survives_whatever_it_is_exposed_to() -> None:
    tally = search(3, 500)
    assert [name for name, runs in tally.exercised.items() if not runs] == []
    assert [goal for goal in GOALS if not tally.goals[goal]] == [NO_CUT_LOGS]


@pytest.mark.slow
@pytest.mark.parametrize("processes", [3, 5])
def test_repaired_it_survives_many_runs(processes: int) -> None:
    assert search(processes, 700).runs == 700


def as_it_is(value: object) -> object:
    return dict(value) if isinstance(value, Mapping) else value


def fields(struct: Struct) -> dict[str, object]:
    return {name: as_it_is(value) for name, value in structs.asdict(struct).items()}


@pytest.mark.parametrize("protocol", [LETTER, REPAIRED], ids=lambda protocol: protocol.name)
def test_no_step_changes_a_value_that_it_was_given(protocol: Protocol) -> None:
    taken: dict[str, int] = {}

    def watched(name: str, step: Any) -> Any:
        def watch(process: Any, sender: int, stimulus: Any) -> Any:
            held, before = structs.asdict(process), fields(process)
            effects = step(process, sender, stimulus)
            assert {field: as_it_is(value) for field, value in held.items()} == before
            taken[name] = taken.get(name, 0) + bool(effects)
            return effects

        return watch

    steps = {kind: watched(kind.__name__, step) for kind, step in protocol.steps.items()}
    for seed in range(3):
        walk = Walk(Simulator(structs.replace(protocol, steps=steps), 3, lambda _: None), seed)
        for _ in range(1500):
            walk.step()
    assert {kind.__name__ for kind in protocol.steps} == {name for name, count in taken.items() if count}


class Added(AddedState, frozen=True):
    """State as a known bug might add it."""

    def identity(self, process: Any) -> Hashable:
        return "added"


def test_the_identity_of_a_server_is_all_of_it() -> None:
    """The identity lacks only who it is, how often it has recovered, and what never changes."""
    server = took_over(1, 2)
    values: dict[str, Any] = {
        "history": ABC,
        "zxid": 7,
        "recognised": 7,
        "snapshot": AB,
        "delivered": AB,
        "mode": Mode.BROADCAST,
        "leader": 3,
        "incoming": AB,
        "heard": {3: 7 << 32},
        "followers": {},
        "epoch": 7,
        "recognisers": (1,),
        "fetches_from": 3,
        "fetched": AB,
        "highest": 7,
        "log": ABC,
        "latest": 7,
        "start": 7,
        "listed": (1,),
        "acks": {1: 7},
        "active": True,
        "committed": 7,
        "brought": {3: 7},
        "waiting": ("v",),
        "instance": 7,
        "added": Added(),
    }
    fields_of_it = ["id", "incarnation", "quorums", "switches", *values]
    assert sorted(fields_of_it) == sorted(server.__struct_fields__)
    others = [identity(structs.replace(server, **{name: value})) for name, value in values.items()]
    assert len({identity(server), *others}) == len(values) + 1
    assert identity(took_over(2, 1)) == identity(server)


def test_every_state_within_small_bounds_is_right() -> None:
    bounds = Bounds(2, 2, 1, 0, 1)
    space = Space(REPAIRED, Quorums(2), ATOMIC, bounds, select(["core", "chosen", "epoch uniqueness"]))
    explored = space.explore()
    assert explored.whole
    assert explored.broken is None
