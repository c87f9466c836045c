"""An exhaustive search where the configuration changes: it sees what there is, and judges by what governs."""

import re
from functools import cache
from typing import Any

import pytest
from msgspec import structs

from docs.generators.output import DOCS
from invariants import Activation, Chosen, Invariant, OneChain, select
from invariants.quorums import quorums_of
from tests.explore.at_any_time import processes_at_any_time
from tests.explore.test_space import orbit, seen_by_the_simulator
from tests.tiers import sweep
from zabcheck.explore import Bounds, CannotExplore, Exploration, explore
from zabcheck.explore.exploration import COARSE, certify
from zabcheck.explore.judges import judged_in_every_state, monitored
from zabcheck.explore.results import SearchResult
from zabcheck.explore.space import Space
from zabcheck.mutants.catalogue import mutated
from zabcheck.protocols.base import Protocol
from zabcheck.protocols.reconfiguration import RECONFIGURATION
from zabcheck.protocols.switches import completed
from zabcheck.search.run import schedule_of
from zabcheck.simulation import choices
from zabcheck.simulation.simulator import Simulator
from zabcheck.zookeeper.model.reconfiguration import RECONFIGURATION as ZOOKEEPER
from zabcheck.zookeeper.model.reconfiguration.switches import ReconfigurationSwitches

NAME = RECONFIGURATION.name
PROPERTIES = tuple(kind for kind in select(RECONFIGURATION.properties) if judged_in_every_state(kind))


def bounds(processes: int, epochs: int, txns: int, *changes: str, cuts: int = 0, crashes: int = 0) -> Bounds:
    return Bounds(processes, epochs, txns, 0, crashes, cuts, changes=changes)


# First configuration, bounds, the property that breaks first, and after how many steps.
FOUND: dict[str, tuple[str, Bounds, str, int]] = {
    "change-by-new-only": ("config 1,2,3", bounds(4, 1, 1, "config 1,2,4"), "chosen", 14),
    "change-by-old-only": ("config 1", bounds(3, 1, 1, "config 2,3"), "chosen", 14),
    "after-change-by-old": ("config 1,2", bounds(3, 1, 1, "config 2,3"), "chosen", 23),
    "ignore-pending-change": ("config 1,2", bounds(3, 2, 0, "config 1,3", cuts=1), "chosen", 24),
    "complete-with-old-only": ("config 1,2", bounds(3, 2, 0, "config 2,3", cuts=1), "chosen", 24),
    "second-change-early": ("config 1,2", bounds(3, 1, 0, "config 3", "config 1,2"), "chosen", 23),
    "activate-on-ack": ("config 1,2,3", bounds(4, 1, 0, "config 1,2,4"), "activation", 8),
    "joiner-acks-early": ("config 1,2,3", bounds(4, 1, 1, "config 1,2,4"), "invariant 1", 12),
    "elect-in-old-only": ("config 1,2", bounds(3, 2, 1, "config 2,3", cuts=1), "chosen", 24),
    "elect-in-new-only": ("config 1,2", bounds(3, 2, 0, "config 2,3", cuts=1), "chosen", 24),
    "lead-on-in-same-epoch": ("config 1,2", bounds(3, 1, 1, "config 2,3"), "epoch uniqueness", 27),
}
QUICK = ("activate-on-ack", "change-by-old-only", "second-change-early", "after-change-by-old")
ALIKE = ("activate-on-ack", "elect-in-new-only", "complete-with-old-only")
"""Bugs that few processes show."""


ROW = re.compile(r"^\| ([a-z-]+) \| [1-9].* \| ([a-z0-9 ]+) \| (\d+) \| ([\d,]+) \|$", re.MULTILINE)
DOCUMENTED = {
    mutant: (broken, int(steps), int(states.replace(",", "")))
    for mutant, broken, steps, states in ROW.findall((DOCS / "reconfiguration.md").read_text(encoding="utf-8"))
}
"""For each known bug the property, the steps and the states, as docs/reconfiguration.md has them."""


@cache
def found(mutant: str | None, quorums: str, within: Bounds, *, symmetry: bool = True) -> Exploration:
    return explore(NAME, mutant=mutant, quorums=quorums, bounds=within, symmetry=symmetry)


def searched(
    quorums: str, within: Bounds, kinds: tuple[type[Invariant], ...] = PROPERTIES, **how: Any
) -> tuple[Space, SearchResult]:
    how = {"symmetry": False, "mutant": None, "forgetful": False, **how}
    protocol = mutated(NAME, how.pop("mutant"))
    made = Space(protocol, quorums_of(quorums, within.processes), COARSE, within, kinds, **how)
    return made, made.explore()


@pytest.mark.parametrize("mutant", sweep(FOUND, normal=QUICK))
def test_a_known_bug_is_found_by_its_shortest_run(mutant: str) -> None:
    quorums, within, broken, steps = FOUND[mutant]
    told = found(mutant, quorums, within)
    assert (told.broken, told.steps, told.tried) == (broken, steps, steps - 1)
    assert (broken, steps, told.states) == DOCUMENTED[mutant]
    assert told.counterexample is not None
    assert told.counterexample.schedule.quorums == quorums


def test_one_is_found_only_where_a_write_may_be_late() -> None:
    within = Bounds(2, 2, 0, 1, 0, changes=("config 2",))
    separate = structs.replace(COARSE, sync="separate")
    told = explore(NAME, mutant="lead-on-unpromised", quorums="config 1", bounds=within, switches=separate)
    assert (told.broken, told.steps, told.tried) == ("invariant 4", 19, 18)
    assert (told.broken, told.steps, told.states) == DOCUMENTED["lead-on-unpromised"]


def test_a_write_that_waits_for_another_is_part_of_the_state() -> None:
    """Who reads COMMIT of a change writes what is committed, and behind that what is active."""
    separate = structs.replace(COARSE, sync="separate")
    within = bounds(2, 1, 0, "config 2")
    told = explore(NAME, mutant="activate-on-ack", quorums="config 1,2", bounds=within, switches=separate)
    assert (told.broken, told.steps, told.tried) == ("activation", 14, 13)


@pytest.mark.parametrize(
    ("quorums", "change"), [("config 1", "config 1,2"), ("config 1,2", "config 2"), ("config 1", "config 2")]
)
def test_it_sees_the_states_that_the_simulator_can_reach_and_no_others(quorums: str, change: str) -> None:
    within = bounds(2, 1, 1, change)
    made, explored = searched(quorums, within)
    assert explored.whole
    by_simulator = seen_by_the_simulator(within, COARSE, NAME, quorums_of(quorums, 2))
    assert len({row[:-1] for row in made.rows()}) == len(by_simulator)


@pytest.mark.parametrize(
    ("quorums", "change", "renamings"),
    [
        ("config 1,2", "config 1,2,3", 2),
        ("config 1,2", "config 3", 2),
        ("config 1,2,3", "config 1,2", 1),  # R.6 names the lowest of two that have acknowledged equally much
        ("config 1", "config 1,2,3", 2),
        ("config 1,2,3", "config 1,2,3", 6),
    ],
)
def test_processes_that_belong_to_the_same_configurations_are_interchangeable(
    quorums: str, change: str, renamings: int
) -> None:
    made, _ = searched(quorums, bounds(3, 1, 0, change), (Chosen,), symmetry=True)
    assert made.symmetry is not None
    assert len(made.symmetry.renamings) == renamings


@pytest.mark.parametrize(
    ("quorums", "within"),
    sweep(
        [
            ("config 1,2", bounds(3, 1, 1, "config 1,2,3")),
            ("config 1,2", bounds(3, 2, 0, "config 3")),
            ("config 1", bounds(3, 1, 1, "config 1,2,3")),
        ],
        normal=[("config 1,2", bounds(3, 2, 0, "config 3"))],
    ),
)
def test_with_symmetry_it_sees_the_same_states_up_to_names(quorums: str, within: Bounds) -> None:
    (whole, one), (reduced, other) = (searched(quorums, within, symmetry=symmetry) for symmetry in (False, True))
    assert (one.whole, other.whole) == (True, True)
    assert one.exercised == other.exercised
    assert reduced.symmetry is not None
    orbits = {orbit(reduced, row) for row in reduced.rows()}
    assert sum(map(len, orbits)) == len({row[:-1] for row in whole.rows()})


REDUCED = [
    (RECONFIGURATION, "config 1,2", Bounds(2, 2, 1, 1, 0, changes=("config 1",))),
    (RECONFIGURATION, "config 1,2", bounds(3, 1, 1, "config 2,3")),
    (RECONFIGURATION, "config 1,2", bounds(3, 2, 0, "config 2,3", cuts=1)),
    (ZOOKEEPER, "config 1", bounds(2, 2, 1, "config 1,2", crashes=1)),
    (ZOOKEEPER, "config 1,2", Bounds(3, 2, 0, 1, 0, changes=("config 2,3",))),
]


@pytest.mark.parametrize(("protocol", "first", "within"), sweep(REDUCED, normal=(REDUCED[1], REDUCED[3])))
def test_everybody_comes_to_the_same_with_partial_order_reduction(
    protocol: Protocol, first: str, within: Bounds
) -> None:
    """A process may leave because of what it reads, and have another leader at once."""
    switches = COARSE if protocol is RECONFIGURATION else ReconfigurationSwitches(sync="atomic", closing="abrupt")
    quorums, kinds = quorums_of(first, within.processes), tuple(select(["integrity", "total order", "agreement"]))
    seen = []
    for reduction in (False, True):
        made = Space(protocol, quorums, switches, within, kinds, symmetry=False, reduction=reduction, moments=False)
        assert made.explore().whole
        disks = {
            (each.id, str(sorted(each.disk.durable.items()))) for each in processes_at_any_time(made) if each.is_up
        }
        shown = {event for events in made.components.events for event in events}
        seen.append((disks, shown, len(made.states)))
    assert seen[0][:2] == seen[1][:2]
    assert seen[1][2] < seen[0][2] * 0.8


@pytest.mark.parametrize("mutant", sweep((*QUICK, *ALIKE[1:]), normal=QUICK[:1]))
def test_a_counterexample_is_as_short_without_symmetry(mutant: str) -> None:
    quorums, within, broken, steps = FOUND[mutant]
    told = found(mutant, quorums, within, symmetry=False)
    assert (told.broken, told.steps, told.tried) == (broken, steps, steps - 1)


@pytest.mark.parametrize("kind", [Chosen, Activation, OneChain], ids=lambda kind: kind.name)
@pytest.mark.parametrize("mutant", sweep((None, "change-by-old-only", *ALIKE), normal=("change-by-old-only",)))
def test_a_property_says_the_same_without_what_monitors_it(mutant: str | None, kind: type[Invariant]) -> None:
    quorums, within, _, _ = FOUND[mutant or "change-by-old-only"]
    plain = type(f"Plain{kind.__name__}", (kind,), {})
    assert not issubclass(monitored(plain), monitored(kind))
    (_, known), (_, all_) = (searched(quorums, within, (each,), mutant=mutant) for each in (kind, plain))
    assert (known.whole, known.broken, known.exercised) == (all_.whole, all_.broken, all_.exercised)
    assert len(known.choices) == len(all_.choices)
    assert known.states <= all_.states


def test_without_a_bug_nothing_breaks() -> None:
    told = found(None, "config 1,2", bounds(3, 1, 1, "config 2,3"))
    assert (told.whole, told.broken) == (True, None)
    assert {"activation", "one chain", "chosen"} <= set(told.exercised)
    assert (told.followed, told.trap) == (0, None)


def test_a_change_comes_once_and_in_its_order() -> None:
    made, explored = searched("config 1", bounds(2, 1, 0, "config 1,2", "config 2"), (OneChain,))
    assert explored.whole
    assert {row[-2] for row in made.rows()} == {0, 1 << 28, 2 << 28}
    histories = {
        tuple(txn.value for txn in each.state.history) for each in made.components.processes if each.state is not None
    }
    assert histories == {(), ("config 1,2",), ("config 1,2", "config 2")}


def test_a_run_with_changes_can_be_certified() -> None:
    quorums, within, broken, steps = FOUND["activate-on-ack"]
    told = found("activate-on-ack", quorums, within)
    assert told.counterexample is not None
    certified = certify(told.counterexample.schedule)
    assert (certified.certified, certified.tried, certified.broken) == (steps, steps - 1, None)
    assert broken == "activation"


@pytest.mark.parametrize(
    ("protocol", "how", "reason"),
    [
        ("zab", {"bounds": Bounds(changes=("config 1,2",))}, "changes: expected none"),
        (NAME, {"bounds": Bounds(changes=("config 4",))}, "changes config 4: expected one such as `config 1,2`"),
        (NAME, {"bounds": Bounds(changes=("config 1", "config 1"))}, "changes: expected each configuration once"),
        (NAME, {"quorums": "weights 1,1,1"}, "quorums: expected a configuration"),
        ("zab", {"quorums": "config 1,2"}, "quorums: `config 1,2`: expected quorums that are fixed"),
        (NAME, {"properties": ("convergence",)}, "none of the group `liveness`"),
    ],
)
def test_what_it_does_not_know_is_refused(protocol: str, how: dict[str, Any], reason: str) -> None:
    with pytest.raises(CannotExplore) as refused:
        explore(protocol, **how)
    assert reason in str(refused.value)


def test_four_processes_lose_a_write_where_the_old_configuration_alone_is_asked() -> None:
    """2 takes epoch 2 with 3 alone; explore goes on from there, and finds the shortest end."""
    mutant, switches = "discover-in-old-only", completed(COARSE, RECONFIGURATION.switches)
    protocol, quorums = mutated(NAME, mutant), quorums_of("config 1,2,3", 4)
    run = Simulator(protocol, 4, lambda _: None, quorums=quorums, switches=switches)
    taken: list[choices.Choice] = [choices.Elect(1, 1), choices.Elect(2, 1), choices.Settle(9)]
    taken += [choices.Request(1, "config 1,2,4"), choices.Receive(2, 1), choices.Receive(1, 2), choices.Elect(4, 1)]
    taken += [choices.Receive(1, 4), choices.Receive(4, 1)] * 3 + [choices.Receive(1, 4), choices.Request(1)]
    taken += [choices.Receive(4, 1), choices.Receive(4, 1), choices.Receive(1, 4), choices.Elect(2, 2)]
    taken += [choices.Elect(3, 2), choices.Receive(2, 3), choices.Receive(3, 2), choices.Receive(2, 3)]
    taken += [choices.Elect(2, 2), choices.Elect(1, 2)]
    for each in taken:
        run.execute(each)
    begun = schedule_of(NAME, mutant, 4, run.executed, quorums=quorums.name, switches=switches)
    judged: Any = {"quorums": quorums.name, "properties": ["primary integrity"], "reduction": False, "after": begun}
    told = explore(NAME, mutant=mutant, bounds=Bounds(4, 3, 2, 3, changes=("config 1,2,4",)), **judged)
    assert (told.broken, told.steps, told.tried) == ("primary integrity", 34, 33)
