"""A counterexample in the terminal: what went wrong, the witness, what each process did, and who delivered what.

Only what changed is shown. Nothing is said by colour alone. `Pen.write` makes everything that is printed, and cleans
it; no text is ever read as markup.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from zabcheck.counterexample.forms.deliveries import draw_delivered
from zabcheck.counterexample.forms.steps import draw_step, draw_steps
from zabcheck.counterexample.pieces import also_broken, in_a_line, labels_of, servers_part
from zabcheck.counterexample.story import Story
from zabcheck.invariants import Event, Violation
from zabcheck.text.nodes import command_of, option_of
from zabcheck.text.pen import BOLD, DIM, RED, Drawing, Pen, padded, text_of
from zabcheck.text.words import LONGEST_PATH, counted, name, sentence

LONGEST_EXPLANATION = 2000
LONGEST_DONE = 200
PAPERS = ("DSN 2011", "LADIS 2008")

# The functions to call.


def render(story: Story, file: str = "FILE") -> RenderableType:
    """Render the whole counterexample; `file` is the name under which its schedule was saved, "" if it was not."""
    parts: list[Callable[[Pen], Iterable[RenderableType]]] = [
        lambda pen: _heading(pen, story.violation, story),
        lambda pen: _done(pen, story),
        lambda pen: _witness(pen, story.violation, story),
        lambda pen: draw_steps(pen, story),
        lambda pen: draw_delivered(pen, story.delivered, story.violation),
        lambda pen: _replay(pen, story, file),
    ]
    return Group(*(Drawing(part) for part in parts))


def render_heading(story: Story) -> RenderableType:
    """Render what went wrong, and the witness."""
    parts = (lambda pen: _heading(pen, story.violation, story), lambda pen: _witness(pen, story.violation, story))
    return Group(*(Drawing(part) for part in parts))


def render_step(
    story: Story,
    position: int,
    kept: Mapping[int, Mapping[str, str | tuple[str, ...]]] = MappingProxyType({}),
    deliveries: Mapping[int, tuple[str, ...]] = MappingProxyType({}),
) -> RenderableType:
    """Render the step at a position (from 0), and the state of every process after it. O(steps before it).

    `kept` has the values on the disk where they are others, and `deliveries` the transactions of a row of their own.
    """
    return Drawing(lambda pen: draw_step(pen, story, position, kept, deliveries))


def render_violation(
    violation: Violation, places: Mapping[Event, str] | None = None, others: Sequence[Violation] = ()
) -> RenderableType:
    """Render what went wrong if only a trace is known; `places` says where the events of the witness stand in it.

    Each of the `others` has a line.
    """
    return Group(
        Drawing(lambda pen: _heading(pen, violation, others=others)),
        Drawing(lambda pen: _witness(pen, violation, places=places or {})),
    )


def to_text(story: Story, width: int = 100, color: bool = False, file: str = "FILE") -> str:
    """Return the counterexample as text, whatever the environment is; with ANSI escapes if `color` is set."""
    return text_of(render(story, file), width, color)


# What went wrong.


def _heading(
    pen: Pen, violation: Violation | None, story: Story | None = None, others: Sequence[Violation] = ()
) -> Iterator[RenderableType]:
    if story is not None and story.raised is not None:
        yield pen.write(f"{story.raised.title}; no property was judged", RED)
        yield pen.write(story.raised.error, BOLD)
    elif violation is None and story is not None and story.worst:
        yield pen.write(story.worst, RED)
    elif violation is None:
        yield pen.write("no property is violated", BOLD)
    else:
        yield pen.write(f"{violation.property} is violated", RED)
        yield pen.write(f"{violation.summary}.", BOLD)
    if story is not None and story.explanation:
        yield Text()
        yield pen.write(" ".join(story.explanation), longest=LONGEST_EXPLANATION)
    table = Table.grid(padding=(0, 2, 0, 0))
    for label, fact in _facts(violation, story, others if story is None else also_broken(story)):
        table.add_row(pen.write(label, DIM), pen.write(fact))
    yield Text()
    yield table
    if story is not None and story.raised is not None and story.raised.traceback:
        yield Text()
        is_node = command_of(story.protocol) is not None
        yield pen.write("What the node was sent, and said" if is_node else "Traceback of the protocol's code", BOLD)
        yield from (pen.write(line) for line in story.raised.traceback)


def _facts(violation: Violation | None, story: Story | None, others: Sequence[Violation]) -> Iterator[tuple[str, str]]:
    if story is not None and story.raised is not None:
        yield "handling", f"{name(story.raised.process)}, {story.raised.stimulus}"
    elif violation is not None and not (story is not None and story.explanation):
        label = "the paper" if violation.source.startswith(PAPERS) else "the rule"
        yield label, f"{violation.statement} ({violation.source})"
    yield from (("also broken" if number == 0 else "", in_a_line(each)) for number, each in enumerate(others))
    if story is None:
        return
    if story.decisive is not None:
        yield "decisive", story.decisive.sentence
    if story.shortened:
        yield "shortened", story.shortened
    if story.wrong is not None:
        yield "planted", f"{story.mutant}: {story.wrong}"
    elif story.mutant is not None:
        yield "planted", story.mutant
    yield from (("looks like" if number == 0 else "", line) for number, line in enumerate(story.known))
    for kind, what in story.noticed:
        yield kind, what
        yield from (("", line) for line in servers_part(story.servers.get(kind)))
    size = [counted(story.processes, "process", "processes"), *story.settings]
    if story.unit == "step":
        size.append(counted(len(story.moments), "step", "steps"))
    yield "run", ", ".join([story.protocol, *size, f"trace SHA-256 {story.sha256[:16]}…"])


def _witness(
    pen: Pen, violation: Violation | None, story: Story | None = None, places: Mapping[Event, str] | None = None
) -> Iterator[RenderableType]:
    """Draw a line for each event of the witness that the steps below do not show."""
    labels = labels_of(violation)
    shown = set() if story is None else {event for moment in story.moments for event in moment.shown}
    listed = {event: label for event, label in labels.items() if event not in shown}
    if not listed:
        return
    yield Text()
    yield pen.write("Witness", BOLD)
    wheres = [pen.write(f"{place}  ", longest=LONGEST_PATH) for place in (places or {}).values()]
    width = max((where.cell_len for where in wheres), default=0)
    for event, label in listed.items():
        where = padded(pen.write((places or {}).get(event, ""), longest=LONGEST_PATH), width)
        yield Text.assemble(pen.mark(label), "  ", where, pen.write(sentence(event)))


def _done(pen: Pen, story: Story) -> Iterator[RenderableType]:
    if not story.done:
        return
    table = Table.grid(padding=(0, 2, 0, 0))
    table.add_column(justify="right", no_wrap=True)
    for when, what in story.done:
        table.add_row(pen.write(when, DIM), pen.write(what, longest=LONGEST_DONE))
    yield Text()
    yield pen.write(f"What was done to the {story.ensemble}", BOLD)
    yield table


# The last line.


def _replay(pen: Pen, story: Story, file: str) -> Iterator[RenderableType]:
    if not ((story.schedule or story.done) and file):
        return
    yield Text()
    option = pen.write(option_of(story.protocol), longest=LONGEST_PATH)
    command = Text.assemble("replay: zabcheck replay ", pen.write(file, longest=LONGEST_PATH), option)
    command.overflow, command.no_wrap = "ignore", True  # so that it can be copied whole
    yield command
