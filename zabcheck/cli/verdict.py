"""The verdict: the one line that every command ends with, in a word that fits its exit code, and why.

It is a line of its own however long it is, so that `| tail -1` shows it whole; a terminal breaks it where it has to.
"""

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from rich.console import Console
from rich.text import Text

from zabcheck.cli.next_step import again, with_switch
from zabcheck.cli.output import make_console
from zabcheck.counterexample.story import Story
from zabcheck.invariants import GROUPS, Agreement, Clock, Integrity, TotalOrder, Verdict, explaining_first, select
from zabcheck.protocols import PROTOCOLS
from zabcheck.protocols.switches import kept_out
from zabcheck.text.words import LONGEST_PATH, clean

OK, VIOLATED, BAD_INPUT, INCONCLUSIVE = range(4)
"""The exit codes."""

WORDS = {
    OK: ("PASS", "bold green"),
    VIOLATED: ("FAIL", "bold red"),
    BAD_INPUT: ("ERROR", "bold red"),
    INCONCLUSIVE: ("INCONCLUSIVE", "bold yellow"),
}
"""The word of the verdict for each exit code, and its style."""
ATOMIC_BROADCAST = (Integrity.name, TotalOrder.name, Agreement.name)
"""The properties without which a trace says nothing about two processes that deliver the same transactions."""
MOST_NAMES = 4
"""The most names of one kind in a verdict; the others are counted."""


def conclude(console: Console, code: int, why: str, then: str = "") -> int:
    """Print the verdict: the word for this exit code, why, and what to do next. Return the exit code."""
    console.print()
    console.print(line(console, code, why, then), soft_wrap=True)
    return code


def conclude_on_standard_error(code: int, why: str, then: str = "") -> int:
    """Print the verdict of a command that has no result to print it under, as its last line; return the exit code."""
    console = make_console(stderr=True)
    console.print(line(console, code, why, then), soft_wrap=True)
    return code


def line(console: Console, code: int, why: str, then: str = "") -> Text:
    """Return the verdict as a line for this console."""
    word, style = WORDS[code]
    said = f": {why}" + (f"; next: {then}" if then else "")
    return Text.assemble((word, style), clean(said, console.options.ascii_only, LONGEST_PATH))


def named(names: Collection[str], most: int = MOST_NAMES) -> str:
    """Return names as a list, of which only the first few are told: "a, b and 3 more"."""
    first = list(names)[:most]
    return ", ".join(first) + (f" and {len(names) - most} more" if len(names) > most else "")


def are_violated(properties: Collection[str]) -> str:
    """Return that these properties are violated, of which only the first few are named."""
    return f"{named(properties)} {'is' if len(properties) == 1 else 'are'} violated"


def asked_for(properties: Collection[str] | None) -> tuple[str, ...]:
    """Return the properties that stored traces have to exercise, if `check` is to judge by these names or groups.

    The clock is asked for only by its own name: no trace of order "per-process" exercises it.
    """
    if properties is None:
        return ATOMIC_BROADCAST
    return tuple(kind.name for kind in select(properties) if kind is not Clock or Clock.name in properties)


def unexercised(exercised: Mapping[str, object], asked: Collection[str]) -> list[str]:
    """Return the properties for want of which nothing passes: those asked for that nothing exercised.

    If nothing exercised any property at all, all of them. A value of `exercised` is true if the property was exercised.
    """
    idle = [name for name, was in exercised.items() if not was]
    return [name for name in idle if name in asked or len(idle) == len(exercised)]


def on_verdicts(verdicts: Sequence[Verdict], asked: Collection[str] = ()) -> tuple[int, str]:
    """Return the exit code for one trace, and why: it has to exercise each property in `asked`, and one at least."""
    ordered = explaining_first(verdicts)
    of = {status: [v.property for v in ordered if v.status == status] for status in ("holds", "violated")}
    idle = [verdict.property for verdict in verdicts if verdict.status == "not exercised"]
    if of["violated"]:
        return VIOLATED, are_violated(of["violated"])
    if any(verdict.status == "inconclusive" for verdict in verdicts):
        return INCONCLUSIVE, "the trace has no complete `end`, so what could yet change is left open"
    wanting = unexercised({verdict.property: verdict.property not in idle for verdict in verdicts}, asked)
    if wanting:
        return INCONCLUSIVE, f"nothing in it exercised {named(wanting)}"
    hold = f"{len(of['holds'])} properties hold" if len(of["holds"]) > 1 else f"{named(of['holds'])} holds"
    said = f"nothing is violated, {hold}"
    return OK, said + (f"; not exercised: {named(idle)}" if idle else "")


def on_story(story: Story, asked: Collection[str] = ()) -> tuple[int, str]:
    """Return the exit code for one run, and why: an error in the code that is modelled comes before all properties."""
    if story.raised is not None:
        return VIOLATED, f"{story.protocol} has an error: {story.raised.error}"
    return on_verdicts(story.verdicts, asked)


def without(protocol: str, switches: Mapping[str, Any]) -> str:
    """Return what happened in no run of a search because these switches had one value in all, behind a semicolon."""
    known = PROTOCOLS.get(protocol)
    left_out = kept_out(switches, () if known is None else known.environment.never)
    return f"; left out: {', '.join(left_out)}" if left_out else ""


def to_exercise(names: Collection[str], runs: int) -> str:
    """Return what may make a search exercise these properties, which no run did."""
    if any(name in GROUPS["clients"] for name in names):
        return "judge a trace with `client_ack` and `final_read`, or a real ensemble: zabcheck zookeeper"
    if any(name in GROUPS["application"] for name in names):
        return again(runs=10 * runs, switch=with_switch("application=key-value"))
    return again(runs=10 * runs)
