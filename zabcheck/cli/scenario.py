"""`zabcheck scenario`: execute a run that a paper argues with, tell it, and compare it with the expected outcome."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from shlex import quote
from typing import Annotated

import typer
from rich.console import RenderableType
from rich.text import Text

from zabcheck.cli.commands import BadInput, Format, Formats, command, scenarios
from zabcheck.cli.files import check_out, writing
from zabcheck.cli.output import make_console, print_json, print_path
from zabcheck.cli.tables import render_verdicts
from zabcheck.cli.verdict import OK, VIOLATED, conclude
from zabcheck.counterexample.forms import terminal
from zabcheck.counterexample.forms.exports import FORMS
from zabcheck.counterexample.forms.story_json import fields
from zabcheck.counterexample.saving import TOLD
from zabcheck.invariants.diagnosis import like
from zabcheck.papers.scenarios import SCENARIOS
from zabcheck.papers.scenarios.base import Scenario
from zabcheck.papers.scenarios.play import PlayedScenario, play
from zabcheck.text.files import write_all
from zabcheck.text.pen import BOLD, DIM, RED, Drawing, Pen
from zabcheck.text.words import as_text, clean


@command
def scenario(
    name: Annotated[
        str,
        typer.Argument(metavar="NAME", autocompletion=scenarios, help="The scenario: see `zabcheck list scenarios`."),
    ],
    out: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Write its schedule, trace, text and page there.")
    ] = None,
    format: Formats = Format.text,
) -> int:
    """Play a run that a paper argues with, and tell whether the outcome is as expected."""
    asked = scenario_of(name)
    if out is not None:
        check_out(out)
    played = play(asked)
    files: list[Path] = []
    if out is not None:
        with writing("--out", out):
            files = save(out, played)
    about = played.scenario
    if format is Format.json:
        print_json(
            "scenario",
            scenario=about.name,
            title=about.title,
            source=about.source,
            shows=about.shows,
            outcome=about.outcome,
            unmet=played.unmet,
            goals=played.goals,
            files=[as_text(file) for file in files],
            story=fields(played.story),
        )
    else:
        console = make_console()
        console.print(_about(about))
        console.print()
        console.print(terminal.render(played.story, quote(str(files[0])) if files else ""), crop=False)
        console.print()
        console.print(render_verdicts(played.story.verdicts))
        if played.unmet:
            console.print()
            console.print(_unmet(played.unmet))
        for file in files:
            print_path(console, f"wrote {file}")
        why = f"{about.name} has the expected outcome ({about.source})"
        if played.unmet:
            more = f" and {len(played.unmet) - 1:,} more" if len(played.unmet) > 1 else ""
            why = f"{about.name} has another outcome: {played.unmet[0]}{more}"
        conclude(console, VIOLATED if played.unmet else OK, why)
    return VIOLATED if played.unmet else OK


def scenario_of(name: str) -> Scenario:
    """Return the scenario of this name. BadInput, with the names that are like it, if there is none."""
    if name not in SCENARIOS:
        raise BadInput(f"no scenario `{clean(name, False, 99)}`; {like(name, SCENARIOS)}")
    return SCENARIOS[name]


def save(out: Path, played: PlayedScenario) -> list[Path]:
    """Write the schedule, if there is one, and the trace, the text and the page. OSError if `out` cannot be written."""
    story, stem = played.story, played.scenario.name
    contents = {f"{stem}.schedule.json": story.schedule} if story.schedule else {}
    contents[f"{stem}.trace.jsonl"] = played.trace
    for suffix in TOLD:
        contents[f"{stem}{suffix}"] = FORMS[suffix].make(story, f"{stem}.schedule.json")
    return write_all(out, contents)


def _about(scenario: Scenario) -> RenderableType:
    """Render what a scenario is about, and the outcome that it must have."""

    def draw(pen: Pen) -> Iterator[RenderableType]:
        yield pen.write(f"{scenario.name}: {scenario.title}", BOLD)
        yield pen.write(scenario.source, DIM)
        yield Text()
        yield pen.write(scenario.shows)
        yield Text()
        yield pen.write("Expected outcome", BOLD)
        yield from (pen.write(f"- {each}") for each in scenario.outcome.sentences())

    return Drawing(draw)


def _unmet(unmet: Sequence[str]) -> RenderableType:
    """Render what happened in place of the expected outcome."""

    def draw(pen: Pen) -> Iterator[RenderableType]:
        yield pen.write("The outcome is another one:", RED)
        yield from (pen.write(f"- {each}") for each in unmet)

    return Drawing(draw)
