"""`zabcheck explain --step`: walk through a run in the terminal, each step with the state after it."""

from typing import BinaryIO

from rich.console import Console

from zabcheck.cli.output import print_path
from zabcheck.counterexample.forms import terminal
from zabcheck.counterexample.story import Story

HELP = "Enter: next, b: back, w: next of the witness, a number: to that one, q: end"


def walk(story: Story, console: Console, answers: BinaryIO) -> None:
    """Show a step, read a line, show the next; until the last one is left, or the lines end."""
    steps = [moment.step for moment in story.moments]
    witness = sorted(
        {step for event in (story.violation.witness if story.violation else ()) if (step := story.step_of(event))}
    )
    at = 0
    console.print(terminal.render_heading(story))
    print_path(console, HELP)
    while at < len(steps):
        console.print(terminal.render_step(story, at), crop=False)
        line = answers.readline()
        answer = line.decode(errors="replace").strip()
        if not line or answer == "q":
            return
        at = _next(answer, at, steps, witness)


def _next(answer: str, at: int, steps: list[int], witness: list[int]) -> int:
    """Return the position that the answer asks for; the same one again if that is not possible."""
    if answer == "b":
        return max(0, at - 1)
    if answer == "w":
        later = [step for step in witness if step > steps[at]] or witness
        return steps.index(later[0]) if later else at
    if answer.isdecimal():
        return steps.index(int(answer)) if int(answer) in steps else at
    return at + 1 if not answer or answer == "n" else at
