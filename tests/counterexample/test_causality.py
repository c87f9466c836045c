"""The relations over the events of a trace, against a plain reading of their definitions."""

from collections.abc import Iterator, Sequence
from functools import cache
from itertools import pairwise, product
from random import Random
from typing import get_args
from xml.etree import ElementTree

import networkx as nx
import pytest

from invariants import (
    Broadcast,
    Crash,
    Cut,
    Deliver,
    Event,
    Receive,
    Recover,
    Restore,
    Send,
    TraceError,
    Txn,
    Zxid,
    check,
)
from tests.invariants import oracle
from tests.invariants.builders import (
    FIGURE_3,
    FIGURE_4,
    A,
    B,
    C,
    D,
    E,
    F,
    broadcasts,
    deliveries,
    merge,
    restore,
    whole,
)
from tests.invariants.traces import random_trace
from tests.tiers import sweep
from zabcheck.counterexample.causality import Causality, Relation

Pair = tuple[int, int]
READINGS: list[Relation] = ["po", "causal"]


def rule_of(events: Sequence[Event], relation: Relation, a: int, b: int) -> str | None:
    """The rule by which a precedes b without an event in between, word for word."""
    x, y = events[a], events[b]
    assert isinstance(x, Broadcast | Deliver | Restore | Crash | Recover)
    assert isinstance(y, Broadcast | Deliver | Restore | Crash | Recover)
    if isinstance(x, Broadcast):
        again = any(isinstance(e, Broadcast) and (primary(e), e.txn) == (primary(x), x.txn) for e in events[:a])
        if not again and isinstance(y, Deliver) and y.txn == x.txn:
            return "delivers"
        if not again and x.txn in taken_over(tuple(events)).get(b, ()):
            return "restores"
    if a >= b or x.process != y.process:
        return None
    if relation == "causal" or not isinstance(x, Broadcast):
        return "local"
    return "primary" if isinstance(y, Broadcast) and primary(x) == primary(y) else None


def primary(event: Broadcast) -> tuple[int, int, int]:
    return event.epoch, event.process, event.incarnation


@cache
def taken_over(events: tuple[Event, ...]) -> dict[int, tuple[Txn, ...]]:
    """Return the sequence that each restore took over, if somebody delivered it."""
    prefixes = [(each.restore, each.prefix) for each in oracle.Reading(events).all_segments if each.restore is not None]
    found = {}
    for restored, prefix in prefixes:
        places = [place for place, event in enumerate(events) if event is restored]
        found.update(dict.fromkeys(places, prefix or ()))
    return found


def rules(events: Sequence[Event], relation: Relation) -> dict[Pair, str]:
    pairs = product(range(len(events)), repeat=2)
    return {pair: rule for pair in pairs if (rule := rule_of(events, relation, *pair)) is not None}


def distances(count: int, direct: dict[Pair, str]) -> dict[Pair, int]:
    """Return the number of rules from one event to another: the transitive closure, one rule after the other."""
    after: list[list[int]] = [[b for b in range(count) if (a, b) in direct] for a in range(count)]
    found = {}
    for a in range(count):
        reached, steps = set(after[a]), 1
        edge = reached
        while edge:
            found.update({(a, b): steps for b in edge})
            edge = {c for b in edge for c in after[b]} - reached
            reached |= edge
            steps += 1
    return found


def traces(count: int) -> Iterator[tuple[int, list[Event]]]:
    """Each random trace as it is, and merged in an order that no clock would give."""
    for seed in range(count):
        events = random_trace(seed).events
        yield seed, events
        yield seed, merge(Random(seed), events)


@pytest.mark.parametrize("count", sweep((10, 200), normal=(10,)))
@pytest.mark.parametrize("relation", READINGS)
def test_it_is_the_definition_on_random_traces(relation: Relation, count: int) -> None:
    restores = cycles = 0
    for seed, events in traces(count):
        causality = Causality(whole(events), relation)
        direct = rules(events, relation)
        expected = distances(len(events), direct)
        everything = range(len(events))
        for b in everything:
            past = [a for a in everything if (a, b) in expected]
            assert causality.past(b) == past, f"seed {seed}"
            chains = causality.chains(everything, b)
            assert [chain[0] for chain in chains] == past, f"seed {seed}"
            for chain in chains:
                assert chain[-1] == b
                assert all(pair in direct for pair in pairwise(chain)), f"seed {seed}"
                assert len(chain) - 1 == expected[chain[0], b], f"seed {seed}"
        assert all(causality.rule(*pair) == direct.get(pair) for pair in product(everything, repeat=2)), f"seed {seed}"
        restores += "restores" in direct.values()
        cycles += any((a, a) in expected for a in everything)
    assert restores > count / 4
    assert cycles > count / 20


@pytest.mark.parametrize("count", sweep((10, 30), normal=(10,)))
@pytest.mark.parametrize("relation", READINGS)
def test_precedes_chain_and_past_of_several_agree_with_the_definition(relation: Relation, count: int) -> None:
    for seed, events in traces(count):
        causality = Causality(events, relation)
        expected = distances(len(events), rules(events, relation))
        for a, b in product(range(len(events)), repeat=2):
            assert causality.precedes(a, b) == ((a, b) in expected), f"seed {seed}"
            chain = causality.chain(a, b)
            assert (None if chain is None else len(chain) - 1) == expected.get((a, b)), f"seed {seed}"
        some = Random(seed).sample(range(len(events)), min(3, len(events)))
        assert causality.past(*some) == sorted({a for a, b in expected if b in some})


@pytest.mark.parametrize("count", sweep((10, 150), normal=(10,)))
@pytest.mark.parametrize("relation", READINGS)
def test_the_whole_graph_has_the_relation_as_its_closure(relation: Relation, count: int) -> None:
    for seed, events in traces(count):
        graph = Causality(events, relation).to_networkx()
        direct = rules(events, relation)
        assert {(a, b): rule for a, b, rule in graph.edges(data="rule")}.items() <= direct.items(), f"seed {seed}"
        assert set(nx.transitive_closure(graph).edges) == set(distances(len(events), direct)), f"seed {seed}"


@pytest.mark.parametrize("count", sweep((10, 150), normal=(10,)))
@pytest.mark.parametrize("relation", READINGS)
def test_a_reduction_is_the_least_graph_with_the_restricted_relation_as_its_closure(
    relation: Relation, count: int
) -> None:
    rings = 0
    for seed, events in traces(count):
        expected = distances(len(events), rules(events, relation))
        nodes = sorted(Random(seed).sample(range(len(events)), len(events) * 2 // 3))
        graph = Causality(events, relation).reduction(nodes)
        assert list(graph) == nodes
        closure = {pair for pair in expected if pair[0] in nodes and pair[1] in nodes}
        assert set(nx.transitive_closure(graph).edges) == closure, f"seed {seed}"
        if nx.is_directed_acyclic_graph(graph):
            assert set(nx.transitive_reduction(graph).edges) == set(graph.edges), f"seed {seed}"
        rings += not nx.is_directed_acyclic_graph(graph)
        for a, b, rule in graph.edges(data="rule"):
            assert rule == (rule_of(events, relation, a, b) or "transitive"), f"seed {seed}"
    assert rings > count / 30


@pytest.mark.slow
def test_over_transactions_it_is_the_relation_by_which_the_properties_judge() -> None:
    """x ≺ y if a broadcast of x precedes one of y. Where a transaction has several broadcasts, the properties join
    what leads to the one and what follows from the other; after a snapshot that is not on record they know nothing."""
    compared = 0
    for seed, events in traces(400):
        reading = oracle.Reading(events)
        txns = [cast.txn for cast in reading.casts]
        if reading.unmatched or len(set(txns)) < len(txns):
            continue
        compared += 1
        judged = {(x, y) for x, y in oracle._closure((e.x, e.cast.txn) for e in oracle._immediate(reading)) if x != y}
        causality = Causality(events)
        found = set()
        for x, y in product(txns, repeat=2):
            [first], [second] = causality.broadcasts(x), causality.broadcasts(y)
            if x != y and causality.precedes(first, second):
                found.add((x, y))
        assert found == judged, f"seed {seed}"
    assert compared > 300


def statuses(events: Sequence[Event]) -> dict[str, str]:
    names = ["po causal order", "strict causality"]
    return {verdict.property: verdict.status for verdict in check(whole(events), names)}


def test_figure_3_is_in_po_causal_order_and_not_in_causal_order() -> None:
    z, *_, deliver_last = range(len(FIGURE_3))
    [last] = Causality(FIGURE_3).broadcasts(F)
    assert Causality(FIGURE_3, "causal").precedes(z, last)
    assert not any(isinstance(event, Deliver) and event.txn == A for event in FIGURE_3)
    assert isinstance(FIGURE_3[deliver_last], Deliver)
    assert not Causality(FIGURE_3).precedes(z, last)
    [middle] = Causality(FIGURE_3).broadcasts(D)
    assert Causality(FIGURE_3).precedes(middle, last)
    assert statuses(FIGURE_3) == {"po causal order": "holds", "strict causality": "holds"}


@pytest.mark.parametrize("relation", READINGS)
def test_figure_4_is_in_both_causal_orders_and_not_strictly_causal(relation: Relation) -> None:
    causality = Causality(FIGURE_4, relation)
    [[z], [z_1], [z_2]] = [causality.broadcasts(txn) for txn in (A, D, F)]
    assert not causality.precedes(z, z_1)
    assert not causality.precedes(z_1, z)
    assert causality.precedes(z, z_2)
    assert causality.precedes(z_1, z_2)
    for process in (1, 2, 3):
        delivered = [e.txn for e in FIGURE_4 if isinstance(e, Deliver) and e.process == process]
        assert delivered == [A, D, F]
    assert statuses(FIGURE_4) == {"po causal order": "holds", "strict causality": "violated"}


@pytest.mark.parametrize("relation", get_args(Relation))
def test_the_order_in_which_logs_were_merged_does_not_matter(relation: Relation) -> None:
    for seed in range(80):
        events = random_trace(seed).events
        if len(set(events)) < len(events):
            continue
        merged = merge(Random(seed), events)
        one, other = Causality(events, relation), Causality(merged, relation)
        for event in events:
            past = {events[position] for position in one.past(event)}
            assert past == {merged[position] for position in other.past(event)}, f"seed {seed}"


def test_a_cycle_is_survived() -> None:
    """Each delivered the other's before it was broadcast."""
    events = [*deliveries(1, B), *broadcasts(1, 1, A), *deliveries(2, A), *broadcasts(2, 1, B)]
    causality = Causality(events)
    assert all(causality.precedes(a, b) for a, b in product(range(4), repeat=2))
    assert causality.past(2) == [0, 1, 2, 3]
    assert causality.chain(0, 0) == [0, 1, 2, 3, 0]
    assert set(causality.reduction([0, 2]).edges) == {(0, 2), (2, 0)}
    assert set(causality.reduction([3]).edges) == {(3, 3)}


def test_a_restore_stands_for_the_delivery_of_all_that_it_took_over() -> None:
    events = [restore(2, A, B), *broadcasts(2, 2, D), *broadcasts(1, 1, A, B, C), *deliveries(1, A, B)]
    causality = Causality(events)
    [a], [b], [c], [d] = (causality.broadcasts(txn) for txn in (A, B, C, D))
    assert causality.chain(a, d) == [a, 0, d]
    assert causality.rule(a, 0) == "restores"
    assert causality.rule(0, d) == "local"
    assert causality.precedes(b, d)
    assert not causality.precedes(c, d)
    assert causality.delivers(0, B)
    assert not causality.delivers(0, C)
    assert set(causality.to_networkx().in_edges(0)) == {(b, 0)}


def test_a_snapshot_that_nobody_delivered_stands_for_nothing() -> None:
    right = restore(2, A)
    wrong = Restore(right.process, right.incarnation, right.zxid, right.length + 1, right.hash)
    events = [*broadcasts(1, 1, A), *deliveries(1, A), wrong]
    assert not Causality(events).precedes(0, 2)
    assert Causality([*events[:2], right]).precedes(0, 2)
    assert not Causality([events[0], right]).precedes(0, 1)


def test_prefixes_may_fork_and_come_in_any_order() -> None:
    events = [*broadcasts(1, 1, A, B), *broadcasts(3, 2, D), *deliveries(1, A, B), *deliveries(3, A, D)]
    events += [restore(4, A, D), restore(5, A, B), restore(6, A)]
    causality = Causality(events)
    [a], [b], [d] = (causality.broadcasts(txn) for txn in (A, B, D))
    fourth, fifth, sixth = range(len(events) - 3, len(events))
    graph = causality.to_networkx()
    assert set(graph.in_edges(fourth)) == {(a, fourth), (d, fourth)}
    assert set(graph.in_edges(fifth)) == {(b, fifth)}
    assert set(graph.in_edges(sixth)) == {(a, sixth)}


def test_every_primary_that_broadcasts_a_transaction_precedes_its_delivery_and_a_repeat_does_not() -> None:
    events = [*broadcasts(1, 1, A), *broadcasts(2, 2, A), *broadcasts(1, 1, A), *deliveries(3, A)]
    causality = Causality(events)
    assert causality.past(3) == causality.broadcasts(A) == [0, 1]
    assert causality.past(2) == [0]
    assert causality.position(Broadcast(1, 0, 1, A)) == 0


def test_an_equal_event_is_another_node() -> None:
    causality = Causality([*deliveries(1, A), *deliveries(1, B), *deliveries(1, A)])
    assert list(causality) == [0, 1, 2]
    assert causality.past(2) == [0, 1]
    assert causality.past(Deliver(1, 0, A)) == []


def test_messages_count_in_happened_before_only_and_are_no_nodes() -> None:
    """p1 crashes and tells p3 by way of p2; the logs are merged, so that each receipt comes before its sending."""
    events: list[Event] = [
        Recover(3, 0),
        Receive(3, 0, 2, 8),
        Crash(3, 0),
        Receive(2, 0, 1, 7),
        Send(2, 0, 3, 8, "NEWS"),
        Crash(2, 0),
        Crash(1, 0),
        Send(1, 0, 2, 7, "NEWS"),
        Recover(1, 1),
        Cut(1, 2),
    ]
    causality = Causality(events, "happened before")
    assert list(causality) == [0, 2, 5, 6, 8]
    assert causality.past(2) == [0, 6]
    assert causality.past(5) == [6]
    assert causality.chain(6, 2) == [6, 2]
    edges = {(a, b): rule for a, b, rule in causality.to_networkx().edges(data="rule")}
    assert edges == {(0, 2): "local", (6, 2): "message", (6, 5): "message", (6, 8): "local"}
    assert dict(causality.reduction([6, 2]).edges) == {(6, 2): {"rule": "message"}}
    assert Causality(events).past(2) == [0]


def with_messages(seed: int) -> list[Event]:
    """A random trace with messages put in, some of them lost, some received before they are sent."""
    rng = Random(seed)
    events = random_trace(seed).events
    for number in range(rng.randint(0, 20)):
        sender, receiver = rng.randint(1, 4), rng.randint(1, 4)
        place = rng.randint(0, len(events))
        events.insert(place, Send(sender, 0, receiver, number, "NEWS"))
        if rng.random() < 0.8:
            events.insert(rng.randint(0, len(events)), Receive(receiver, 0, sender, number))
    return events


@pytest.mark.parametrize("count", sweep((10, 200), normal=(10,)))
def test_happened_before_is_the_definition_on_random_traces_with_messages(count: int) -> None:
    messages = 0
    for seed in range(count):
        events = with_messages(seed)
        direct: dict[Pair, str] = {}
        for a, b in product(range(len(events)), repeat=2):
            x, y = events[a], events[b]
            if isinstance(x, Send) and isinstance(y, Receive) and x.message == y.message:
                direct[a, b] = "message"
            elif isinstance(x, Send | Receive) or isinstance(y, Send | Receive):
                if a < b and x.process == y.process:  # type: ignore[union-attr]  # no other events are in it
                    direct[a, b] = "local"
            elif (rule := rule_of(events, "causal", a, b)) is not None:
                direct[a, b] = rule
        causality = Causality(events, "happened before")
        nodes = list(causality)
        assert nodes == [place for place, event in enumerate(events) if not isinstance(event, Send | Receive)]
        expected = {(a, b) for a, b in distances(len(events), direct) if a in nodes and b in nodes}
        assert {(a, b) for b in nodes for a in causality.past(b)} == expected, f"seed {seed}"
        assert set(nx.transitive_closure(causality.to_networkx()).edges) == expected, f"seed {seed}"
        assert set(nx.transitive_closure(causality.reduction(nodes)).edges) == expected, f"seed {seed}"
        messages += "message" in [rule for *_, rule in causality.to_networkx().edges(data="rule")]
    assert messages > count / 2


def test_what_is_no_node_is_said() -> None:
    causality = Causality(whole([*broadcasts(1, 1, A), Cut(1, 2)]))
    assert len(causality) == 1
    assert [each in causality for each in (0, 1, Broadcast(1, 0, 1, A), Cut(1, 2), "abcast")] == [True, False] * 2 + [
        False
    ]
    with pytest.raises(ValueError, match=r"^no property or protocol event at position 1 of 2 events$"):
        causality.past(1)
    with pytest.raises(ValueError, match=r"position -1 of 2"):
        causality.past(-1)
    with pytest.raises(ValueError, match=r"^not in the trace, .*: p2 delivers a⟨1,1⟩$"):
        causality.precedes(0, Deliver(2, 0, A))
    with pytest.raises(ValueError, match="no relation `happens`; expected one of: po, causal, happened before"):
        Causality([], "happens")  # type: ignore[arg-type]  # that is what is tested
    with pytest.raises(TypeError, match="expected an event"):
        Causality(["abcast"])  # type: ignore[list-item]  # that is what is tested
    with pytest.raises(TraceError, match="incarnation"):
        Causality([*deliveries(1, A, incarnation=1), *deliveries(1, A)])


def test_a_graph_can_be_written_whatever_is_in_a_value() -> None:
    nasty = Txn(Zxid(1, 1), '\x00\x1b[31m</node><script>"\uffff' + "y" * 10**6)
    graph = Causality([*broadcasts(1, 1, nasty), *deliveries(2, nasty), Crash(2, 0)]).to_networkx()
    text = "\n".join(nx.generate_graphml(graph))
    assert len(text) < 10_000
    assert len(ElementTree.fromstring(text).findall(".//{*}node")) == 3
    again = nx.parse_graphml(text, node_type=int)
    assert again.nodes[1]["zxid"] == "⟨1,1⟩"
    assert dict(again.nodes) == dict(graph.nodes)
    assert list(again.edges(data="rule")) == [(0, 1, "delivers"), (1, 2, "local")]
    assert "zxid" not in graph.nodes[2]


def test_long_prefixes_that_are_taken_over_again_and_again_cost_one_entry_each() -> None:
    """Every restore is of the whole prefix of one primary: one edge each, not one for each transaction."""
    txns = [Txn(Zxid(1, counter), "v") for counter in range(1, 2001)]
    events = [*broadcasts(1, 1, *txns), *deliveries(1, *txns), *[restore(2, *txns[:900]), restore(2, *txns)] * 500]
    causality = Causality(events)
    graph = causality.to_networkx()
    assert graph.number_of_edges() < 3 * len(events)
    assert len(causality._members) < 3 * len(events)
    assert graph.has_edge(1999, len(events) - 1)
    assert causality.chain(0, len(events) - 1) == [0, len(events) - 1]


def test_the_broadcasts_of_a_primary_precede_each_other_though_nobody_delivers_them() -> None:
    causality = Causality(broadcasts(2, 2, D, E))
    assert causality.chain(0, 1) == [0, 1]
    assert causality.rule(0, 1) == "primary"
