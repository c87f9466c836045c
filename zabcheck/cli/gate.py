"""`zabcheck gate`: the search that a change has to pass in CI."""

import os
from pathlib import Path
from typing import Annotated, NamedTuple

import msgspec
import typer
from rich.console import Console

from zabcheck.cli.commands import Format, Formats, command, look_here
from zabcheck.cli.files import bad_input_for, check_file, check_out, writing
from zabcheck.cli.next_step import again, to_play
from zabcheck.cli.output import interrupts, make_console, print_json, print_path, progress
from zabcheck.cli.verdict import BAD_INPUT, INCONCLUSIVE, OK, VIOLATED, conclude
from zabcheck.counterexample.forms import terminal
from zabcheck.counterexample.story import Story
from zabcheck.gate import report
from zabcheck.gate.checks import Gate, GateReport, Status
from zabcheck.gate.configuration import SAMPLE, Configuration, ConfigurationError, NoConfiguration, kills_of, load
from zabcheck.invariants import PROPERTIES
from zabcheck.text.files import write

CODES: dict[Status, int] = {
    "passed": OK,
    "failed": VIOLATED,
    "error": BAD_INPUT,
    "inconclusive": INCONCLUSIVE,
}

INSTEAD_OF_RUNS = {
    "events": "show these events (docs/your-own-protocol.md#goals), or take the goal out of `goals`",
    "deliveries": 'properties = ["liveness"], which judges that',
}
"""The next step, by what is lacking, where more runs would not help."""

CONFIG = Path("pyproject.toml")
"""The file that has the configuration, unless another one is named."""

JUnit = Annotated[Path | None, typer.Option("--junit", help="Write the outcomes to this file as JUnit XML.")]
Summary = Annotated[Path | None, typer.Option("--summary", help="Write the outcomes to this file as Markdown.")]


@command
def gate(
    config: Annotated[Path, typer.Option(help="The file with a table [tool.zabcheck].")] = CONFIG,
    out: Annotated[
        Path | None, typer.Option(help="Where to write counterexamples, instead of where --config says.")
    ] = None,
    junit: JUnit = None,
    summary: Summary = None,
    format: Formats = Format.text,
) -> int:
    """Search the protocols that a configuration names, within its budget; made for CI.

    The exit code is 0 only if nothing broke, and everything was exercised, every goal reached and every mutant found in
    time.

    What the table may hold, each with an example; all but `protocols` may be left out:

    \b
    [tool.zabcheck]
    protocols = ["zab", "mylib.protocol:Mine"]
    engine = "swarm"
    seeds = [1, 2]
    runs = 2000
    steps = 200
    processes = 3
    properties = ["core"]
    goals = ["three epochs"]
    kills = ["no-truncation"]
    time-limit = 600
    out = "reports"
    """
    look_here()
    with bad_input_for(ConfigurationError):
        try:
            wanted = load(config)
        except NoConfiguration:
            if config == CONFIG and format is Format.text:
                typer.echo(f"a configuration to begin with, for {CONFIG}:\n\n{SAMPLE}")
            raise
    if out is not None:
        wanted = msgspec.structs.replace(wanted, out=str(out))
    check_out(Path(wanted.out), "--out" if out is not None else f"{config}, [tool.zabcheck], key `out`:")
    check_reports(junit, summary)
    passed = _check(wanted)
    found = passed.report
    status = report.verdict(found)
    console = make_console()
    if format is Format.json:
        print_json("gate", verdict=status, interrupted=passed.interrupted, **msgspec.to_builtins(found))
    else:
        for story, file in passed.stories:
            console.print(terminal.render(story, file), crop=False)
            console.print()
        console.print(report.render(found), crop=False)
        for name in dict.fromkeys(name for outcome in found.outcomes for name in outcome.files):
            print_path(console, f"wrote {name}")
    said = report.markdown(found, list(PROPERTIES))
    write_reports(console if format is Format.text else None, found, said, junit, summary)
    if format is Format.text:
        conclude(console, CODES[status], *_reason(found, status, passed.interrupted))
    tell_github(found, said)
    return CODES[status]


def check_reports(junit: Path | None, summary: Path | None) -> None:
    """Check that --junit and --summary name files that can be written. BadInput if they do not."""
    for option, path in (("--junit", junit), ("--summary", summary)):
        if path is not None:
            check_file(option, path)


def write_reports(
    console: Console | None, found: GateReport, markdown: str, junit: Path | None, summary: Path | None
) -> None:
    """Write the reports that --junit and --summary ask for, and name them on the console, if there is one."""
    for option, path, content in (
        ("--junit", junit, report.junit(found)),
        ("--summary", summary, markdown.encode()),
    ):
        if path is not None:
            with writing(option, path):
                write(path, content)
                if console is not None:
                    print_path(console, f"wrote {path}")


def _reason(found: GateReport, status: Status, interrupted: bool) -> tuple[str, str]:
    """Return the result of the gate, with the first outcome that has this status, and what to do about that one."""
    if status == "passed":
        return report.totals(found), ""
    first = found.of(status)[0]
    saved = next((name for name in first.files if name.endswith(".json")), None)
    then = INSTEAD_OF_RUNS.get(first.lacking, "more `runs` or `steps`, or a longer `time-limit`")
    if saved:
        then = to_play([saved], first.suite)
    if interrupted and status == "inconclusive":
        then = again()
    return f"{report.totals(found)}; {first.suite}, {first.name}: {first.message}", then


class Pass(NamedTuple):
    """A finished pass of the gate: what it found, and the counterexamples, each with the file of its schedule."""

    report: GateReport
    stories: list[tuple[Story, str]]
    interrupted: bool


def _check(wanted: Configuration) -> Pass:
    """Run the gate, with progress on a terminal. Ctrl-C ends it after the current run."""
    most = wanted.runs * (len(wanted.protocols) * len(wanted.seeds) + len(kills_of(wanted)))
    with progress(most, "gate") as advance, interrupts() as look_for_interrupt:

        def on_run(_: object) -> None:
            advance(checks.doing, checks.place)
            look_for_interrupt()

        checks = Gate(wanted, on_run)
        return Pass(checks.check(), checks.stories, checks.interrupted)


def tell_github(found: GateReport, markdown: str) -> None:
    """In a job of GitHub Actions, print annotations and write the job's summary; GitHub documents the variables."""
    if os.environ.get("GITHUB_ACTIONS") == "true":
        for line in report.annotations(found):
            typer.echo(line, err=True)
    summary = os.environ.get("GITHUB_STEP_SUMMARY")
    if summary:
        with writing("$GITHUB_STEP_SUMMARY", Path(summary)), open(summary, "a", encoding="utf-8") as file:
            file.write(markdown)
