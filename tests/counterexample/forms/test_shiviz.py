"""The log for ShiViz, read by its own rules, and its clocks against a brute-force happened before."""

import json
import re
from itertools import combinations

import pytest

from tests.counterexample.stories import HOSTILE, broken, scheduled, traced
from zabcheck.counterexample.forms.shiviz import to_shiviz
from zabcheck.counterexample.pieces import labels_by_step
from zabcheck.counterexample.story import Story

STORIES = {
    "cuts, crash, recovery, reset": broken(3),
    "five processes": broken(5),
    "elections of several": scheduled("no-truncation.agreement"),
    "messages lost": scheduled("accept-equal-epoch.agreement"),
    "a trace": traced(),
    "stabilise": scheduled("quorum-off-by-one.convergence"),
}
EVENT = re.compile(r"(?P<host>\S*) (?P<clock>{.*})\n(?P<event>.*)")
Clocks = dict[tuple[int, str], dict[str, int]]


def read(log: str) -> Clocks:
    """The clock of each event, by step and host. The whole log has to be events."""
    regex, delimiter, rest = log.split("\n", 2)
    assert regex == EVENT.pattern.replace("?P<", "?<")
    assert delimiter == ""
    assert EVENT.sub("", rest).strip() == ""
    clocks = {}
    for found in EVENT.finditer(rest):
        step = re.match(r"\w+ (\d+)", found["event"])
        assert step is not None
        clocks[int(step[1]), found["host"]] = json.loads(found["clock"])
    assert len(clocks) * 2 == rest.count("\n")
    return clocks


def happened_before(story: Story, events: Clocks) -> set[tuple[tuple[int, str], tuple[int, str]]]:
    """Lamport's relation, closed by brute force."""
    after: dict[tuple[int, str], set[tuple[int, str]]] = {event: set() for event in events}
    for one, other in combinations(sorted(events), 2):
        if one[1] == other[1]:
            after[one].add(other)
    for flight in story.flights:
        if flight.sent is not None and flight.received is not None:
            after[flight.sent, f"p{flight.sender}"].add((flight.received, f"p{flight.to}"))
    found = set()
    for start in events:
        reached, to_visit = set(), list(after[start])
        while to_visit:
            event = to_visit.pop()
            if event not in reached:
                reached.add(event)
                to_visit += after[event]
        found |= {(start, event) for event in reached}
    return found


def is_less(one: dict[str, int], other: dict[str, int]) -> bool:
    return one != other and all(time <= other.get(host, 0) for host, time in one.items())


@pytest.mark.parametrize("name", STORIES)
def test_a_clock_is_less_exactly_if_the_event_happened_before(name: str) -> None:
    story = STORIES[name]
    clocks = read(to_shiviz(story, labels_by_step(story)))
    expected = happened_before(story, clocks)
    assert {(a, b) for a in clocks for b in clocks if is_less(clocks[a], clocks[b])} == expected
    assert any(a[1] != b[1] for a, b in expected)
    assert len(expected) < len(clocks) * (len(clocks) - 1) / 2, "some are concurrent"


@pytest.mark.parametrize("name", STORIES)
def test_every_host_counts_its_own_events_without_a_gap(name: str) -> None:
    story = STORIES[name]
    clocks = read(to_shiviz(story, labels_by_step(story)))
    for host in {host for _, host in clocks}:
        own = [clock[host] for (_, of), clock in clocks.items() if of == host]
        assert own == list(range(1, len(own) + 1))
        assert all(0 < clock.get(host, 1) <= len(own) for clock in clocks.values())


def test_a_process_has_an_event_if_and_only_if_it_took_part_in_the_step() -> None:
    story = scheduled("no-truncation.agreement")
    hosts = [{host for at, host in read(to_shiviz(story, {})) if at == step} for step in (1, 2, 8)]
    assert hosts == [{"p1", "p2"}, {"p1"}, {"p1", "p2", "p3"}]
    cut = broken(3)
    network = {moment.step for moment in cut.moments if moment.action.startswith("cut")}
    assert network
    assert network.isdisjoint(step for step, _ in read(to_shiviz(cut, {})))


def test_an_event_says_what_happened_and_marks_the_witness() -> None:
    story = scheduled("no-truncation.agreement")
    log = to_shiviz(story, labels_by_step(story))
    assert 'p1 {"p1": 12, "p2": 12, "p3": 2}\nstep 24  ← p2 COMMIT(⟨2,1⟩)  delivers v1⟨1,1⟩ ◀W1' in log


def test_a_hostile_value_stays_within_its_line() -> None:
    story = broken(3, HOSTILE)
    log = to_shiviz(story, labels_by_step(story))
    assert len(read(log)) == len(read(to_shiviz(broken(3), {})))
    assert all(line.isprintable() for line in log.split("\n"))
