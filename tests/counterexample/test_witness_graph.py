"""The graph of a counterexample: what it shows, and which edge it marks."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from random import Random

import networkx as nx
import pytest

from invariants import (
    PROPERTIES,
    CommitEpoch,
    Deliver,
    Event,
    Restore,
    Txn,
    Violation,
    Zxid,
    check,
)
from tests.counterexample.witness_cases import CASES
from tests.invariants.builders import (
    FIGURE_4,
    A,
    B,
    C,
    D,
    F,
    Order,
    accepts,
    adopt,
    broadcasts,
    deliveries,
    judge,
    merge,
    restore,
    whole,
)
from tests.invariants.traces import random_trace
from tests.tiers import sweep
from zabcheck.counterexample.causality import Causality
from zabcheck.counterexample.explain import explain
from zabcheck.counterexample.pieces import labels_of
from zabcheck.counterexample.witness_graph import MOST, WHOLE, witness_graph
from zabcheck.simulation import schedule as schedules

SCHEDULES = Path(__file__).parents[1] / "schedules"


def violation(name: str, events: Sequence[Event], order: Order = "per-process", processes: int = 9) -> Violation:
    found = judge(name, events, order, processes=processes).violation
    assert found is not None
    return found


def graph_of(name: str, events: Sequence[Event], order: Order = "per-process", processes: int = 9) -> nx.DiGraph:
    return witness_graph(events, violation(name, events, order, processes))


def text(graph: nx.DiGraph, node: int | str) -> str:
    attributes = graph.nodes[node]
    never = "never: " if attributes.get("never") else ""
    label = f"{attributes['witness']} " if "witness" in attributes else ""
    return f"{never}{label}{attributes['label']}"


def marks(graph: nx.DiGraph) -> set[tuple[str, str, str]]:
    """The marked edges: from what, to what, and the mark."""
    return {(text(graph, a), text(graph, b), mark) for a, b, mark in graph.edges(data="mark") if mark is not None}


def why(graph: nx.DiGraph) -> set[str]:
    return {why for *_, why in graph.edges(data="why") if why is not None}


@pytest.mark.parametrize(("name", "events", "expected", "reason"), CASES)
def test_the_edge_that_breaks_the_property_is_marked(
    name: str, events: list[Event], expected: list[tuple[str, str, str]], reason: str
) -> None:
    graph = graph_of(name, events)
    assert marks(graph) == set(expected)
    assert why(graph) == {reason}
    found = {label for _, label in graph.nodes(data="witness") if label is not None}
    assert found == set(labels_of(violation(name, events)).values())
    assert len(graph) <= WHOLE


def test_a_delivery_in_front_of_its_broadcast_in_time_is_marked() -> None:
    events = [*deliveries(2, A), *broadcasts(1, 1, A)]
    graph = graph_of("clock", events, "global")
    assert marks(graph) == {("W2 p1 broadcasts a⟨1,1⟩ in epoch 1", "W1 p2 delivers a⟨1,1⟩", "broken")}
    assert list(graph.edges(data="rule")) == [(1, 0, "delivers")]


def test_every_property_has_a_case() -> None:
    assert {name for name, *_ in CASES} | {"clock"} == set(PROPERTIES)


def test_the_graph_says_what_came_before_and_nothing_twice() -> None:
    """Two of p2's four deliveries are of use; what follows the witness is not shown."""
    events = [*broadcasts(1, 1, A, B), *deliveries(2, A, B), *broadcasts(2, 2, D), *deliveries(3, D), *deliveries(2, D)]
    graph = graph_of("po causal order", [*events, *deliveries(4, A, B, D)])
    assert [text(graph, node) for node in graph] == [
        "p1 broadcasts a⟨1,1⟩ in epoch 1",
        "p1 broadcasts b⟨1,2⟩ in epoch 1",
        "W1 p2 delivers a⟨1,1⟩",
        "p2 delivers b⟨1,2⟩",
        "W2 p2 broadcasts d⟨2,1⟩ in epoch 2",
        "W3 p3 delivers d⟨2,1⟩",
        "never: p3 delivers a⟨1,1⟩",
    ]
    assert set(graph.edges(data="rule")) == {
        (0, 1, "primary"),
        (0, 2, "delivers"),
        (1, 3, "delivers"),
        (2, 3, "local"),
        (3, 4, "local"),
        (4, 5, "delivers"),
        ("N1", 5, "missing"),
    }


def test_a_delivery_that_a_snapshot_brought_stands_behind_it() -> None:
    events = [*broadcasts(1, 1, A), *deliveries(1, A), restore(2, A), *broadcasts(2, 2, D), *deliveries(3, D)]
    graph = graph_of("po causal order", events)
    assert text(graph, 2) == "p2 takes over a snapshot up to ⟨1,1⟩"
    assert text(graph, "W1") == "W1 p2 delivers a⟨1,1⟩ with a snapshot"
    assert graph.nodes["W1"]["position"] == 2
    assert set(graph.in_edges("W1", data="rule")) == {(2, "W1", "restores")}
    assert graph.has_edge(2, 3)


def test_two_that_one_snapshot_brought_in_the_wrong_order_are_marked() -> None:
    events = [*broadcasts(1, 1, A), *broadcasts(1, 2, D), *deliveries(3, D, A), restore(2, D, A)]
    graph = graph_of("global primary order", events)
    assert marks(graph) == {
        ("W3 p2 delivers d⟨2,1⟩ with a snapshot", "W4 p2 delivers a⟨1,1⟩ with a snapshot", "broken")
    }
    assert graph.edges["W3", "W4"]["rule"] == "local"


def test_what_snapshots_brought_to_two_processes_clashes() -> None:
    """Nobody broadcast either; the least process that has each got it with a snapshot."""
    twin = Txn(A.zxid, "twin")
    events = [*deliveries(3, A), *deliveries(4, twin), restore(1, A), restore(2, twin)]
    graph = graph_of("zxid uniqueness", events)
    [(first, second, rule)] = [(a, b, e["rule"]) for a, b, e in graph.edges(data=True) if "mark" in e]
    assert (first, second, rule) == ("W1", "W2", "clash")


def test_the_primary_that_takes_it_over_too_late_is_shown() -> None:
    events = [*broadcasts(1, 1, A), *deliveries(1, A), *broadcasts(2, 2, D), restore(2, A)]
    expected = ("p2 takes over a snapshot up to ⟨1,1⟩", "W2 p2 broadcasts d⟨2,1⟩ in epoch 2", "missing")
    assert marks(graph_of("primary integrity", events)) == {expected}
    expected = ("W3 p2 delivers a⟨1,1⟩ with a snapshot", "W2 p2 broadcasts d⟨2,1⟩ in epoch 2", "missing")
    events[1:2] = deliveries(3, A)
    assert marks(graph_of("primary integrity", events)) == {expected}


def test_each_sequence_of_a_process_counts_by_itself() -> None:
    """p2 delivers a, goes back to an empty snapshot, and delivers b without a."""
    events = [*broadcasts(1, 1, A, B), *deliveries(2, A), restore(2), *deliveries(2, B)]
    expected = ("never: p2 delivers a⟨1,1⟩ in this sequence", "W3 p2 delivers b⟨1,2⟩", "missing")
    assert marks(graph_of("local primary order", events)) == {expected}


def test_equal_events_are_found_as_the_witness_shows_them_in_a_row() -> None:
    """p1 delivers a and b in one phase; in the next one b comes right before a."""
    phases = [CommitEpoch(1, 0, 1), *deliveries(1, A, B), CommitEpoch(1, 0, 2), *deliveries(1, B, A)]
    graph = graph_of("invariant 2", phases)
    [(first, second)] = [(a, b) for a, b, mark in graph.edges(data="mark") if mark is not None]
    assert (first, second) == (4, 5)


def test_which_of_equal_events_are_meant_does_not_depend_on_how_logs_were_merged() -> None:
    own = [*deliveries(1, A, B, incarnation=0), *deliveries(1, A, C, incarnation=0)]
    others = deliveries(2, A, B, C)
    for seed in range(30):
        events = merge(Random(seed), [*own, *others])
        graph = graph_of("redelivery", events)
        [(first, second)] = [(a, b) for a, b, mark in graph.edges(data="mark") if mark is not None]
        places = [place for place, event in enumerate(events) if isinstance(event, Deliver) and event.process == 1]
        assert [first, second] == places[2:]


def shape(graph: nx.DiGraph) -> tuple[list[str], list[tuple[str, str, str, str | None]]]:
    """Return the graph as a reader sees it, without positions."""
    edges = [(text(graph, a), text(graph, b), edge["rule"], edge.get("mark")) for a, b, edge in graph.edges(data=True)]
    return sorted(text(graph, node) for node in graph), sorted(edges, key=str)


@pytest.mark.slow
def test_it_looks_the_same_however_the_logs_were_merged() -> None:
    compared = 0
    for seed in range(150):
        events = random_trace(seed).events
        if len(set(events)) < len(events):
            continue
        merged = merge(Random(seed), events)
        for found in broken(events):
            assert shape(witness_graph(events, found)) == shape(witness_graph(merged, found)), f"seed {seed}"
            compared += 1
    assert compared > 100


def broken(events: Sequence[Event]) -> Iterable[Violation]:
    return [each.violation for each in check(whole(events)) if each.violation is not None]


@pytest.mark.parametrize("seeds", sweep((range(40), range(40, 400)), normal=(range(40),)), ids=str)
def test_whatever_is_broken_has_a_small_graph_with_a_mark(seeds: range) -> None:
    seen = set()
    for seed in seeds:
        events = random_trace(seed).events
        causality = Causality(events)
        for found in broken(events):
            seen.add(found.property)
            graph = witness_graph(events, found)
            assert len(graph) <= MOST, f"seed {seed}"
            assert marks(graph), f"seed {seed}: {found.property}"
            labels = [label for _, label in graph.nodes(data="witness") if label is not None]
            assert set(labels) == set(labels_of(found).values()), f"seed {seed}: {found.property}"
            for a, b, edge in graph.edges(data=True):
                assert edge.get("mark") in (None, "broken", "missing")
                if isinstance(a, int) and isinstance(b, int) and edge["rule"] not in ("clash", "missing"):
                    assert causality.precedes(a, b), f"seed {seed}: {found.property}"
                if edge.get("mark") == "missing" and isinstance(a, int) and isinstance(b, int):
                    assert not (a < b and causality.rule(a, b) == "local"), f"seed {seed}: {found.property}"
            for node, attributes in graph.nodes(data=True):
                assert ("never" in attributes) == (isinstance(node, str) and node.startswith("N"))
                assert all(isinstance(value, str | int) for value in attributes.values())
    assert len(seen) > 9


def test_a_long_run_is_cut_down_to_what_leads_from_one_event_of_the_witness_to_the_other() -> None:
    """Two hundred epochs, each primary delivers what the last one broadcast; p9 leaves out the first transaction."""
    txns = [Txn(Zxid(epoch, 1), "v") for epoch in range(1, 201)]
    events: list[Event] = []
    for epoch, txn in enumerate(txns, 1):
        primary = 1 + epoch % 3
        events += broadcasts(primary, epoch, txn)
        for process in (1, 2, 3):
            events += deliveries(process, txn)
    events += deliveries(9, txns[50])
    graph = graph_of("po causal order", events)
    assert 4 <= len(graph) <= WHOLE
    assert sum(1 for *_, mark in graph.edges(data="mark") if mark) == 1
    assert [text(graph, node) for node in graph if "witness" in graph.nodes[node]][-1] == "W3 p9 delivers v⟨51,1⟩"


def test_there_are_never_more_nodes_than_fit() -> None:
    """Sixty of two hundred processes accepted what is delivered, which is no quorum."""
    events: list[Event] = []
    for process in range(1, 61):
        events += [adopt(process, 1), *accepts(process, 1, A)]
    events += [*broadcasts(1, 1, A), *deliveries(200, A)]
    graph = graph_of("chosen", events, processes=200)
    assert len(graph) == MOST
    [(first, second, _)] = marks(graph)
    assert first == "never: a quorum accepts a⟨1,1⟩"
    assert second == "W61 p200 delivers a⟨1,1⟩"


def test_a_cycle_and_its_own_events_are_drawn() -> None:
    events = [*deliveries(1, B), *broadcasts(1, 1, A), *deliveries(2, A), *broadcasts(2, 1, B), *deliveries(3, B, A)]
    graph = graph_of("total order", [*events, *deliveries(4, A, B)])
    assert len(marks(graph)) == 1
    assert not nx.is_directed_acyclic_graph(graph)


def test_a_property_of_ones_own_has_a_graph_without_a_mark() -> None:
    own = Violation("mine", "a before b", "nowhere", "it was not", (Deliver(1, 0, B), Deliver(1, 0, A)))
    graph = witness_graph([*broadcasts(1, 1, A, B), *deliveries(1, B, A)], own)
    assert marks(graph) == set()
    assert [label for _, label in graph.nodes(data="witness") if label] == ["W1", "W2"]
    assert len(witness_graph(deliveries(1, A), Violation("mine", "", "", "", ()))) == 0


def test_a_witness_of_another_trace_is_said() -> None:
    found = violation("total order", [*deliveries(1, A, B), *deliveries(2, B)])
    with pytest.raises(ValueError, match=r"^an event of the witness is not in the trace: p2 delivers b⟨1,2⟩$"):
        witness_graph(deliveries(1, A, B), found)


def test_values_are_made_safe_to_draw() -> None:
    nasty = Txn(Zxid(1, 1), "\x1b[2J{0.process}" + "y" * 10**6)
    events = [*broadcasts(1, 1, nasty), *broadcasts(2, 2, D), *deliveries(3, D, nasty)]
    graph = graph_of("causal order", events)
    written = "\n".join(nx.generate_graphml(graph))
    assert "\x1b" not in written
    assert len(written) < 20_000
    [reason] = why(graph)
    assert reason.startswith("\\x1b[2J{0.process}yy")


@pytest.mark.parametrize("path", sorted(SCHEDULES.glob("*.json"))[::10], ids=lambda path: path.stem)
def test_minimised_runs_have_graphs_for_a_reader(path: Path) -> None:
    story = explain(schedules.load(path.read_bytes(), path.name))
    assert story.violation is not None
    events = [event for moment in story.moments for event in moment.shown]
    graph = witness_graph(events, story.violation)
    assert 2 <= len(graph) <= WHOLE
    assert marks(graph)
    for position, attributes in graph.nodes(data=True):
        if isinstance(position, int):
            kept = "witness" in attributes or attributes["kind"] in ("broadcast", "deliver", "restore")
            assert kept
            assert isinstance(events[position], Restore) == (attributes["kind"] == "restore")


def test_figure_4_is_drawn_whole_but_for_what_follows() -> None:
    graph = graph_of("strict causality", FIGURE_4)
    assert {graph.nodes[node]["label"] for node in graph} == {
        "p1 broadcasts a⟨1,1⟩ in epoch 1",
        "p2 broadcasts d⟨2,1⟩ in epoch 2",
        "p1 delivers a⟨1,1⟩",
        "p1 delivers d⟨2,1⟩",
    }
    assert all(F.value not in graph.nodes[node]["label"].split("⟨")[0].split()[-1] for node in graph)
