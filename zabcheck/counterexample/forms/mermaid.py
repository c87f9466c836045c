"""A run as a Mermaid sequence diagram, which GitHub and many wikis draw within a text.

A message is drawn at the step that handles or loses it (then with a cross); messages that were still under way are
drawn at the end, dotted. What the outside saw, and what befell a process or the network, are notes. Every line has the
number of its step.

Text from outside may contain Mermaid's own syntax. So everything but letters, digits and a few signs is written as a
character code, as `#59;` (https://mermaid.js.org/syntax/sequenceDiagram.html). By default Mermaid refuses a diagram of
more than 50,000 characters, which is a run of about a thousand steps.
"""

from collections.abc import Iterator, Sequence

from zabcheck.counterexample.pieces import Labels, Tone, entries_of
from zabcheck.counterexample.story import Flight, Moment, Story
from zabcheck.invariants import Corrupt
from zabcheck.invariants.events import OnLink
from zabcheck.text.words import clean, name

LONGEST_TEXT = 160
NOTED: tuple[Tone, ...] = ("action", "fault", "event", "txn", "witness")
"""The kinds of text that go into a note; changes of variables and sent messages stay out."""
PLAIN = frozenset(" ()[]/.,=+-_'⟨⟩→←⊥−×◀…")
"""The characters that are written as they are, besides letters and digits."""


def to_mermaid(story: Story, labels: Labels) -> str:
    """Return the diagram, to be put into a code block marked as `mermaid`."""
    received: dict[int, list[Flight]] = {}
    for flight in story.flights:
        if flight.received is not None:
            received.setdefault(flight.received, []).append(flight)
    lines = [f"participant {name(process)}" for process in range(1, story.processes + 1)]
    for moment in story.moments:
        lines += _moment(story, moment, received.get(moment.step, ()), labels)
    under_way = [flight for flight in story.flights if flight.received is None and flight.lost is None]
    lines += [f"{name(flight.sender)}--){name(flight.to)}: {_text(flight.name)}" for flight in under_way]
    return "".join(["sequenceDiagram\n", *(f"    {line}\n" for line in lines)])


def _moment(story: Story, moment: Moment, arrived: Sequence[Flight], labels: Labels) -> Iterator[str]:
    for flight in arrived:
        yield f"{name(flight.sender)}->>{name(flight.to)}: {_text(f'{moment.step} {flight.name}')}"
    for entry in entries_of(moment, labels):
        noted = [
            piece.text if piece.label is None else f"{piece.text} ◀{piece.label}"
            for piece in entry.pieces
            if _is_noted(piece.tone, moment) and not (arrived and piece.tone == "action")
        ]
        if noted:
            over = _over(story, moment) if entry.process is None else name(entry.process)
            yield f"Note over {over}: {_text(f'{moment.step} ' + ', '.join(noted))}"
    for flight in moment.lost:
        yield f"{name(flight.sender)}-x{name(flight.to)}: {_text(f'{moment.step} {flight.name}')}"


def _is_noted(tone: Tone, moment: Moment) -> bool:
    return tone in NOTED or (tone == "disk" and any(isinstance(event, Corrupt) for event in moment.shown))


def _over(story: Story, moment: Moment) -> str:
    """Return what a note stands over: the two ends of the link that changed, or all processes."""
    ends: set[int] = set()
    for event in moment.shown:
        if isinstance(event, OnLink):
            ends |= {event.sender, event.receiver}
    first, last = (min(ends), max(ends)) if ends else (1, story.processes)
    return name(first) if first == last else f"{name(first)},{name(last)}"


def _text(text: str) -> str:
    cleaned = clean(text, longest=LONGEST_TEXT)
    return "".join(each if each.isalnum() or each in PLAIN else f"#{ord(each)};" for each in cleaned)
