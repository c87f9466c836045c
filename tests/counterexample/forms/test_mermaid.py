"""The Mermaid diagram, read by a strict grammar of the part of Mermaid's language that it uses."""

import re

import pytest
from msgspec.structs import replace

from invariants import Crash, Recover
from tests.counterexample.stories import HOSTILE, broken, scheduled, traced
from zabcheck.counterexample.forms.mermaid import to_mermaid
from zabcheck.counterexample.pieces import labels_by_step
from zabcheck.counterexample.story import Story
from zabcheck.text.words import clean

TEXT = r"(?P<text>(?:[^#;:<>\"%$&`\\{}\s]|#\d+;| )+)"
LINE = re.compile(
    rf"    (?:participant (?P<participant>p\d+)"
    rf"|(?P<sender>p\d+)(?P<arrow>->>|-x|--\))(?P<to>p\d+): {TEXT}"
    rf"|Note over (?P<over>p\d+(?:,p\d+)?): {TEXT.replace('text', 'note')})"
)


def read(diagram: str) -> list[dict[str, str]]:
    """Return the statement in each line, decoded."""
    first, *lines, last = diagram.split("\n")
    assert (first, last) == ("sequenceDiagram", "")
    said = []
    for line in lines:
        found = LINE.fullmatch(line)
        assert found is not None, line
        parts = {key: value for key, value in found.groupdict().items() if value is not None}
        said.append({key: re.sub(r"#(\d+);", lambda code: chr(int(code[1])), part) for key, part in parts.items()})
    return said


def drawn(story: Story) -> list[dict[str, str]]:
    return read(to_mermaid(story, labels_by_step(story)))


@pytest.mark.parametrize("story", [broken(3), broken(5), scheduled("no-truncation.agreement"), traced()])
def test_every_message_is_drawn_as_what_became_of_it(story: Story) -> None:
    arrows = [each for each in drawn(story) if "arrow" in each]
    expected = []
    for flight in story.flights:
        end = flight.received if flight.received is not None else flight.lost
        arrow = "->>" if flight.received is not None else "-x" if flight.lost is not None else "--)"
        text = flight.name if end is None else f"{end} {flight.name}"
        expected.append({"sender": f"p{flight.sender}", "arrow": arrow, "to": f"p{flight.to}", "text": text})
    key = str
    assert sorted(arrows, key=key) == sorted(expected, key=key)
    assert {"->>", "-x"} <= {each["arrow"] for each in arrows}


def test_participants_are_declared_in_order() -> None:
    assert [each["participant"] for each in drawn(broken(5)) if "participant" in each] == ["p1", "p2", "p3", "p4", "p5"]


def test_notes_tell_what_was_seen_and_what_befell() -> None:
    story = broken(3)
    notes = {(each["over"], each["note"]) for each in drawn(story) if "note" in each}
    steps = {kind: moment.step for moment in story.moments for kind in map(type, moment.shown)}
    cut = next(moment.step for moment in story.moments if moment.action == "cut p1 → p3")
    assert ("p1,p3", f"{cut} cut p1 → p3") in notes
    assert ("p1", f"{steps[Crash]} crash") in notes
    assert ("p1", f"{steps[Recover]} recover") in notes
    assert any(over == "p1" and "broadcasts x⟨1,1⟩ ◀W1" in note for over, note in notes)
    assert any(over == "p3" and note.endswith("delivers v1⟨2,1⟩") for over, note in notes)
    assert not any("disk: sync" in note for _, note in notes)


def test_the_lines_are_in_the_order_of_the_steps() -> None:
    story = broken(3)
    said = [each.get("text") or each.get("note") or "" for each in drawn(story)]
    steps = [int(found[0]) for text in said if (found := re.match(r"\d+(?= )", text))]
    assert len(steps) > 40
    assert steps == sorted(steps)


def test_a_hostile_text_is_shown_and_is_nothing_else() -> None:
    hostile, plain = broken(3, HOSTILE), broken(3)
    assert len(drawn(hostile)) == len(drawn(plain))
    flights = tuple(replace(flight, kind="end", text=HOSTILE + "\ud800") for flight in plain.flights)
    texts = [each["text"] for each in drawn(replace(plain, flights=flights)) if each.get("arrow") == "->>"]
    assert texts
    assert all(text.partition(" ")[2] == clean(f"end({HOSTILE}\ud800)") for text in texts)


def test_one_process_and_no_step_are_drawn_too() -> None:
    assert (
        to_mermaid(replace(broken(3), processes=1, moments=(), flights=()), {})
        == "sequenceDiagram\n    participant p1\n"
    )
