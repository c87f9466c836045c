"""`zabcheck mutants`: does the checker find every known bug, how soon, and by which property?"""

from collections.abc import Mapping, Sequence
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import msgspec
import typer
from rich.console import Console
from rich.live import Live

from zabcheck.cli.commands import STEPS, BadInput, Engines, Exec, Properties, Steps, command, known_bugs
from zabcheck.cli.commands import named as named_protocol
from zabcheck.cli.files import bad_input_for, check_out, writing
from zabcheck.cli.next_step import again
from zabcheck.cli.output import interrupts, make_console, print_json, print_path
from zabcheck.cli.run import protocol_failed
from zabcheck.cli.verdict import INCONCLUSIVE, OK, VIOLATED, conclude, named
from zabcheck.invariants import PROPERTIES, select
from zabcheck.invariants.diagnosis import like
from zabcheck.mutants.catalogue import CATALOGUE, bugs_of, mutated
from zabcheck.mutants.mutant import Mutant
from zabcheck.search.engines import DEFAULT, Engine
from zabcheck.search.hunt import Budget, Hunt, MutantSummary, hunt, row_of
from zabcheck.search.report import matrix
from zabcheck.search.run import ProtocolRaised
from zabcheck.simulation.schedule import dump
from zabcheck.text.files import write_all
from zabcheck.text.words import clean, counted

MOST_SEEDS = 10_000
REPORTS = Path("reports")
"""The folder for a run in which the code of a known bug raises, without --out."""


class Forms(StrEnum):
    """The forms in which the matrix is printed."""

    text = "text"
    json = "json"
    markdown = "markdown"


Chosen = Annotated[
    list[str] | None,
    typer.Option(
        "--mutant",
        metavar="M",
        autocompletion=known_bugs,
        help="Only this known bug (may be repeated); see `zabcheck list`.",
    ),
]
Seeds = Annotated[int, typer.Option("--seeds", min=1, max=MOST_SEEDS, help="The number of searches for each bug.")]
FirstSeed = Annotated[int, typer.Option("--seed", min=0, help="The seed of the first search; the others follow it.")]
Runs = Annotated[int, typer.Option("--runs", min=1, help="The most runs of a search.")]
Seconds = Annotated[float, typer.Option("--seconds", min=0.0, help="About how many CPU seconds a search may take.")]
Out = Annotated[
    Path | None, typer.Option("--out", help="Write the shortest counterexample of each bug there, and the matrix.")
]


@command
def mutants(
    mutant: Chosen = None,
    engine: Engines = DEFAULT,
    seeds: Seeds = 5,
    seed: FirstSeed = 1,
    runs: Runs = 20_000,
    steps: Steps = None,
    seconds: Seconds = 60.0,
    property: Properties = None,
    exec: Exec = None,
    out: Out = None,
    format: Annotated[Forms, typer.Option("--format", help="How to print the result.")] = Forms.text,
) -> int:
    """Search for every known bug; print which property caught it, how soon, and how short its counterexample is."""
    with bad_input_for(ValueError):
        kinds = select(property)
    bugs = _known(exec, mutant or ())
    if out is not None:
        check_out(out)
    every = range(seed, seed + seeds)
    budget = Budget(runs, steps or STEPS, seconds)
    entries = [entry for name, entry in bugs.items() if mutant is None or name in mutant]
    properties = None if property is None else tuple(kind.name for kind in kinds)
    hunts, interrupted = _hunt_all(entries, every, engine, budget, properties, out)
    rows = [row_of(name, found) for name, found in hunts.items() if found]
    survived = [row.mutant for row in rows if not row.found and row.hunts == seeds]
    files: list[Path] = []
    if out is not None:
        with writing("--out", out):
            files = _save(out, rows, hunts)
    code = VIOLATED if survived else INCONCLUSIVE if interrupted else OK
    if format is Forms.json:
        searched = {"engine": engine, "seed": seed, "seeds": seeds, "budget": msgspec.to_builtins(budget)}
        print_json("mutants", **searched, mutants=rows, survived=survived, interrupted=interrupted)
    elif format is Forms.markdown:
        print(matrix.markdown(rows, PROPERTIES), end="")
    else:
        console = make_console()
        console.print(matrix.render(rows, PROPERTIES, console.width), crop=False)
        if survived:
            console.print(f"\nnot found: {', '.join(survived)}", style="bold red")
        for file in files:
            print_path(console, f"wrote {file}")
        conclude(console, code, *_reason(rows, survived, interrupted, seeds, budget))
    return code


def _known(exec: str | None, chosen: Sequence[str]) -> Mapping[str, Mutant]:
    """Return the known bugs, or those of the nodes of a command. BadInput if there is none, or a chosen one is not."""
    bugs = CATALOGUE if exec is None else bugs_of(mutated(named_protocol(None, exec)))
    if not bugs:
        raise BadInput("--exec: the nodes name no known bugs: `mutants` of their `init_ok`")
    for name in chosen:
        if name not in bugs:
            raise BadInput(f"no mutant `{clean(name, False, 99)}`; {like(name, bugs)}")
    return bugs


def _reason(
    rows: Sequence[MutantSummary], survived: Sequence[str], interrupted: bool, seeds: int, budget: Budget
) -> tuple[str, str]:
    """Return why the hunts end with their exit code, and what to do next."""
    searches = counted(seeds, "search", "searches") + (" each" if len(rows) > 1 else "")
    if survived:
        longer = again(mutant=survived, runs=10 * budget.runs, seconds=10 * budget.seconds)
        return f"{named(survived)} not found, in {searches}", longer
    if interrupted:
        return f"interrupted after {counted(sum(row.hunts for row in rows), 'search', 'searches')}", again(seeds=1)
    bugs = counted(len(rows), "known bug is", "known bugs are")
    missed = [row.mutant for row in rows if row.found < row.hunts]
    return f"{bugs} found, in {searches}" + (f", though not in every one: {named(missed)}" if missed else ""), ""


def _hunt_all(
    wanted: Sequence[Mutant],
    seeds: range,
    engine: Engine,
    budget: Budget,
    properties: tuple[str, ...] | None,
    out: Path | None,
) -> tuple[dict[str, list[Hunt]], bool]:
    """Return the hunts for each mutant, and whether Ctrl-C ended them. On a terminal the matrix grows meanwhile.

    ProtocolFailed if a step of one raises; the run is then saved to `out`, or to REPORTS.
    """
    hunts: dict[str, list[Hunt]] = {entry.name: [] for entry in wanted}
    console = Console(stderr=True)
    with interrupts() as look, Live(console=console, transient=True, auto_refresh=False) as live:
        for entry in wanted:
            for each in seeds:
                try:
                    hunts[entry.name].append(hunt(entry, each, engine, budget, properties, lambda _: look()))
                except KeyboardInterrupt:
                    return hunts, True
                except ProtocolRaised as error:
                    raise protocol_failed(error, out or REPORTS) from None
                if console.is_terminal:
                    rows = [row_of(name, found) for name, found in hunts.items() if found]
                    live.update(matrix.render(rows, PROPERTIES, console.width), refresh=True)
    return hunts, False


def _save(out: Path, rows: Sequence[MutantSummary], hunts: dict[str, list[Hunt]]) -> list[Path]:
    """Write the matrix in Markdown, and the schedule of the shortest counterexample of each mutant that was found."""
    contents = {"mutants.md": matrix.markdown(rows, PROPERTIES).encode()}
    for name, each in hunts.items():
        found = [(hunt.minimised, hunt.seed, hunt.schedule) for hunt in each if hunt.schedule is not None]
        if found:
            _, _, schedule = min(found, key=lambda hunt: hunt[:2])
            contents[f"{name}.schedule.json"] = dump(schedule)
    return write_all(out, contents)
