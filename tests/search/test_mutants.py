"""Each known bug breaks what the catalogue says, and is told from the others and from no bug at all."""

from copy import copy

import pytest

from invariants import FURTHER, PROPERTIES, Zxid, select
from invariants.quorums import Quorums
from tests.search.builders import RECORDED, breaks_alone, broken, on
from tests.tiers import sweep
from zabcheck.mutants.catalogue import CATALOGUE, mutated
from zabcheck.protocols import PROTOCOLS
from zabcheck.protocols.base import NoAddedState
from zabcheck.protocols.switches import LETTER
from zabcheck.protocols.zab.messages import CEpoch
from zabcheck.search.run import Replay, Search, replay, simulate
from zabcheck.search.swarm import find

each_recorded = pytest.mark.parametrize("name", sweep(RECORDED, normal=list(RECORDED)[::9]))
each_mutant = pytest.mark.parametrize("mutant", CATALOGUE)


def recorded(mutant: str) -> list[str]:
    """The properties for which there is a recorded schedule that breaks them."""
    return [str(schedule.violates) for schedule in RECORDED.values() if schedule.mutant == mutant]


@each_mutant
def test_the_properties_that_a_mutant_is_known_to_break_are_those_that_it_was_seen_to_break(mutant: str) -> None:
    breaks = CATALOGUE[mutant].breaks
    assert set(breaks) <= {*PROPERTIES, *FURTHER}
    assert len(set(breaks)) == len(breaks)
    assert sorted(breaks) == sorted(recorded(mutant))


@each_recorded
def test_a_recorded_schedule_breaks_its_property_judged_alone(name: str) -> None:
    schedule = RECORDED[name]
    assert name == f"{schedule.mutant}.{str(schedule.violates).replace(' ', '-')}"
    assert breaks_alone(schedule)


@each_recorded
def test_the_protocol_without_the_bug_survives_it(name: str) -> None:
    """Judged by what it promises."""
    schedule = on(RECORDED[name], None)
    assert broken(schedule, PROTOCOLS[schedule.protocol].properties) == []


@pytest.mark.parametrize("mutant", sweep(CATALOGUE, normal=[*CATALOGUE][::3]))
def test_it_is_told_apart_from_every_other(mutant: str) -> None:
    """For each other mutant there is a recorded schedule of this one that breaks its property with this one alone.

    The entry names the bugs that break whatever this one does: for each of them there is one of theirs instead.
    """
    shortest = {
        name: sorted((s for s in RECORDED.values() if s.mutant == name), key=lambda s: len(s.choices))
        for name, other in CATALOGUE.items()
        if other.protocol == CATALOGUE[mutant].protocol
    }
    alike = [other for other in shortest if all(breaks_alone(on(schedule, other)) for schedule in shortest[mutant])]
    alike.remove(mutant)
    assert sorted(alike) == sorted(CATALOGUE[mutant].within)
    for wider in alike:
        assert not all(breaks_alone(on(schedule, mutant)) for schedule in shortest[wider]), wider


@each_mutant
def test_the_property_that_is_named_first_breaks_first(mutant: str) -> None:
    """It does if all are judged together, in the shortest run in which one breaks before the end, if there is one."""
    replays = [replay(schedule) for schedule in RECORDED.values() if schedule.mutant == mutant]
    detections = [(replayed.steps, detected) for replayed in replays if (detected := detected_in(replayed))]
    first = CATALOGUE[mutant].breaks[0]
    if detections:
        _, detected = min(detections, key=lambda each: each[0])
        assert detected[first] == min(detected.values())
    else:
        assert all(first in violated_in(replayed) for replayed in replays)


@pytest.mark.parametrize("mutant", sweep(CATALOGUE, normal=("broadcast-before-established", "no-truncation")))
def test_some_runs_break_nothing_that_its_entry_does_not_name(mutant: str) -> None:
    """Judged by all other properties alone, so that what breaks sooner does not hide them."""
    protocol = mutated(CATALOGUE[mutant].protocol, mutant)
    others = tuple(kind.name for kind in select(protocol.properties) if kind.name not in CATALOGUE[mutant].breaks)
    found = find(Search(protocol, None, others, runs=40, rng=1))
    assert found is None, f"{found.property}, with seed {found.seed}: python -m tests.record {mutant}"


def detected_in(replayed: Replay) -> dict[str, int]:
    """The properties that are broken before the end, each with the number of the event."""
    return {name: detected for name, detected in violated_in(replayed).items() if detected is not None}


def violated_in(replayed: Replay) -> dict[str, int | None]:
    """The properties that are broken, each with the number of the event; None if that is the end."""
    violations = [verdict.violation for verdict in replayed.verdicts if verdict.violation is not None]
    return {violation.property: violation.detected for violation in violations}


@each_mutant
def test_an_entry_says_what_it_is_and_a_mutant_is_the_protocol_but_for_its_step(mutant: str) -> None:
    entry, original = CATALOGUE[mutant], PROTOCOLS[CATALOGUE[mutant].protocol]
    bug = mutated(entry.protocol, mutant)
    assert list(bug.steps) == list(original.steps)
    assert [kind for kind in bug.steps if bug.steps[kind] is not original.steps[kind]] == list(entry.steps)
    assert mutated(entry.protocol) is original
    assert entry.name == mutant
    assert entry.protocol in PROTOCOLS
    assert entry.wrong
    assert entry.source
    assert entry.faults


@each_mutant
def test_the_state_that_a_mutant_adds_is_treated_like_all_state(mutant: str) -> None:
    """In each step of its shortest run: under other names, and under its own again, it is the same process."""
    protocol = mutated(CATALOGUE[mutant].protocol, mutant)
    schedule = min((s for s in RECORDED.values() if s.mutant == mutant), key=lambda s: len(s.choices))
    ids = range(1, schedule.processes + 1)
    unchanged, turned, back = (0, *ids), (0, *ids[1:], 1), (0, len(ids), *ids[:-1])
    simulator = simulate(protocol, schedule, lambda _: None)
    added: set[bool] = set()
    for choice in schedule.choices:
        simulator.execute(choice)
        for process in (state for state in simulator.states[1:] if state is not None):
            assert protocol.identity is not None
            same = protocol.identity(process)
            added.add(process.added != (CATALOGUE[mutant].state or NoAddedState)())
            if protocol.rename is not None:
                assert protocol.identity(protocol.rename(process, unchanged)) == same
                other = protocol.rename(process, turned)
                assert protocol.identity(protocol.rename(other, back)) == same
                assert list(protocol.describe(other)) == list(protocol.describe(process))
            left = copy(process)
            protocol.abandon(left)
            assert protocol.identity(process) == same, "a copy is a process of its own"
            assert left.added == process.added.abandoned()
    assert added == ({False, True} if CATALOGUE[mutant].state else {False})


def test_acks_of_old_connections_are_the_followers_under_other_names_too() -> None:
    """There are five processes: the ACK that process 3 gave before counts as one more of process 3."""
    rename, identity = PROTOCOLS["zab"].rename, PROTOCOLS["zab"].identity
    assert rename is not None
    assert identity is not None
    bug = mutated("zab", "count-acks-not-senders")
    leader = bug.start(1, 0, Quorums(5), {}, LETTER)
    leader.leader = 1
    leader.acks = {1: Zxid(1, 1), 3: Zxid(1, 1)}
    bug.steps[CEpoch](leader, 3, CEpoch(0))
    assert bug.describe(leader)["old ACKs"] == ("p3 ⟨1,1⟩",)
    assert identity(rename(leader, (0, 1, 2, 3, 4, 5))) == identity(leader)
    assert bug.describe(rename(leader, (0, 1, 2, 4, 3, 5)))["old ACKs"] == ("p4 ⟨1,1⟩",)


def test_a_mutant_says_whether_its_moves_commute() -> None:
    for name, entry in CATALOGUE.items():
        assert mutated(entry.protocol, name).commutes == (PROTOCOLS[entry.protocol].commutes and entry.commutes)
    assert [name for name, entry in CATALOGUE.items() if not entry.commutes] == [
        "stale-proposal-accepted",
        "ignore-closed-connection",
        "keep-waiting-requests",
        "rebuild-without-resending",
        "send-again-as-new",
    ]


@pytest.mark.parametrize(("protocol", "mutant"), [("raft", None), ("raft", "no-truncation"), ("zab", "xyz")])
def test_a_name_that_there_is_not_is_refused_with_those_that_there_are(protocol: str, mutant: str | None) -> None:
    with pytest.raises(ValueError, match=r"^no (protocol|mutant) `.*; expected one of: .*[a-z]+") as caught:
        mutated(protocol, mutant)
    of_zab = [name for name, entry in CATALOGUE.items() if entry.protocol == "zab"]
    expected = of_zab if protocol == "zab" else PROTOCOLS
    assert ", ".join(expected) in str(caught.value)
