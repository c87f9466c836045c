"""Each known bug breaks what the catalogue says, and is told from the others and from no bug at all."""

import pytest

from invariants import PROPERTIES
from tests.search.builders import RECORDED, breaks_alone, broken, on
from zabcheck.mutants.catalogue import CATALOGUE, mutated
from zabcheck.protocols import PROTOCOLS
from zabcheck.search.run import Replay, replay

each_recorded = pytest.mark.parametrize("name", RECORDED)
each_mutant = pytest.mark.parametrize("mutant", CATALOGUE)


def recorded(mutant: str) -> list[str]:
    """The properties for which there is a recorded schedule that breaks them."""
    return [str(schedule.violates) for schedule in RECORDED.values() if schedule.mutant == mutant]


@each_mutant
def test_the_properties_that_a_mutant_is_known_to_break_are_those_that_it_was_seen_to_break(mutant: str) -> None:
    breaks = CATALOGUE[mutant].breaks
    assert set(breaks) <= set(PROPERTIES)
    assert len(set(breaks)) == len(breaks)
    assert sorted(breaks) == sorted(recorded(mutant))


@each_recorded
def test_a_recorded_schedule_breaks_its_property_judged_alone(name: str) -> None:
    schedule = RECORDED[name]
    assert name == f"{schedule.mutant}.{str(schedule.violates).replace(' ', '-')}"
    assert breaks_alone(schedule)


@each_recorded
def test_the_protocol_without_the_bug_survives_it(name: str) -> None:
    assert broken(on(RECORDED[name], None)) == []


@each_mutant
def test_it_is_told_apart_from_every_other(mutant: str) -> None:
    """For each other mutant there is a recorded schedule that breaks its property with this one, and not with that."""
    shortest = sorted((s for s in RECORDED.values() if s.mutant == mutant), key=lambda s: len(s.choices))
    protocol = CATALOGUE[mutant].protocol
    others = [name for name, other in CATALOGUE.items() if name != mutant and other.protocol == protocol]
    assert [other for other in others if all(breaks_alone(on(schedule, other)) for schedule in shortest)] == []


@each_mutant
def test_the_property_that_is_named_first_breaks_first(mutant: str) -> None:
    """When all are judged together, in the shortest run in which one breaks before the end."""
    replays = [replay(schedule) for schedule in RECORDED.values() if schedule.mutant == mutant]
    detections = [(replayed.steps, detected) for replayed in replays if (detected := detected_in(replayed))]
    _, detected = min(detections, key=lambda each: each[0])
    first = CATALOGUE[mutant].breaks[0]
    assert detected[first] == min(detected.values())


def detected_in(replayed: Replay) -> dict[str, int]:
    """The properties that are broken before the end, each with the number of the event."""
    violations = [verdict.violation for verdict in replayed.verdicts if verdict.violation is not None]
    return {violation.property: violation.detected for violation in violations if violation.detected is not None}


@each_mutant
def test_an_entry_says_what_it_is(mutant: str) -> None:
    entry = CATALOGUE[mutant]
    assert entry.name == mutant
    assert entry.protocol in PROTOCOLS
    assert entry.wrong
    assert entry.source
    assert entry.faults


@each_mutant
def test_a_mutant_is_the_protocol_but_for_its_step(mutant: str) -> None:
    entry, original = CATALOGUE[mutant], PROTOCOLS[CATALOGUE[mutant].protocol]
    bug = mutated(entry.protocol, mutant)
    assert list(bug.steps) == list(original.steps)
    assert [kind for kind in bug.steps if bug.steps[kind] is not original.steps[kind]] == list(entry.steps)
    assert mutated(entry.protocol) is original


@pytest.mark.parametrize(("protocol", "mutant"), [("zap", None), ("zap", "no-truncation"), ("zab", "no-such-bug")])
def test_a_name_that_there_is_not_is_refused_with_those_that_there_are(protocol: str, mutant: str | None) -> None:
    with pytest.raises(ValueError, match=r"^no (protocol|mutant) `.*; expected one of: .*[a-z]+") as caught:
        mutated(protocol, mutant)
    of_zab = [name for name, entry in CATALOGUE.items() if entry.protocol == "zab"]
    expected = of_zab if protocol == "zab" else PROTOCOLS
    assert ", ".join(expected) in str(caught.value)
