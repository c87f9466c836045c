"""`zabcheck mutants`: does the checker find every known bug, how soon, and by which property?"""

from collections.abc import Sequence
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import msgspec
import typer
from rich.console import Console
from rich.live import Live

from invariants import PROPERTIES, select
from zabcheck.cli.commands import INCONCLUSIVE, OK, VIOLATED, BadInput, Properties, command
from zabcheck.cli.files import bad_input_for, bad_path, check_out
from zabcheck.cli.output import interrupts, make_console, print_json, print_path
from zabcheck.mutants.catalogue import CATALOGUE, Mutant
from zabcheck.search.engines import Engine
from zabcheck.search.hunt import Budget, Hunt, MutantSummary, hunt, row_of
from zabcheck.search.report import matrix
from zabcheck.search.run import MAX_STEPS
from zabcheck.simulation import schedule as schedules
from zabcheck.text.files import write
from zabcheck.text.words import clean

MOST_SEEDS = 10_000


class Forms(StrEnum):
    """How the matrix is printed."""

    text = "text"
    json = "json"
    markdown = "markdown"


@command
def mutants(
    mutant: Annotated[
        list[str] | None, typer.Option(metavar="M", help="Only this known bug (may be repeated); see `zabcheck list`.")
    ] = None,
    engine: Annotated[Engine, typer.Option(help="What chooses the moves of each run.")] = Engine.swarm,
    seeds: Annotated[int, typer.Option(min=1, max=MOST_SEEDS, help="How many searches for each bug.")] = 5,
    seed: Annotated[int, typer.Option(min=0, help="The seed of the first search; the others follow it.")] = 1,
    runs: Annotated[int, typer.Option(min=1, help="At most how many runs a search.")] = 20_000,
    steps: Annotated[int, typer.Option(min=1, max=MAX_STEPS, help="At most about so many steps a run.")] = 200,
    seconds: Annotated[float, typer.Option(min=0.0, help="At most about so many CPU seconds a search.")] = 60.0,
    property: Properties = None,
    out: Annotated[
        Path | None, typer.Option(help="Write the shortest counterexample of each bug there, and the matrix.")
    ] = None,
    format: Annotated[Forms, typer.Option("--format", help="How to print the result.")] = Forms.text,
) -> int:
    """Search for every known bug; print which property caught it, how soon, and how short its counterexample is."""
    with bad_input_for(ValueError):
        kinds = select(property)
    for name in mutant or ():
        if name not in CATALOGUE:
            raise BadInput(f"no mutant `{clean(name, False, 99)}`; expected one of: {', '.join(CATALOGUE)}")
    if out is not None:
        check_out(out)
    wanted = [entry for name, entry in CATALOGUE.items() if mutant is None or name in mutant]
    properties = None if property is None else tuple(kind.name for kind in kinds)
    budget = Budget(runs, steps, seconds)
    hunts, interrupted = _hunt_all(wanted, range(seed, seed + seeds), engine, budget, properties)
    rows = [row_of(name, found) for name, found in hunts.items() if found]
    survived = [row.mutant for row in rows if not row.found and row.hunts == seeds]
    if out is not None:
        with bad_path("--out", out):
            files = _save(out, rows, hunts)
    if format is Forms.json:
        print_json(
            "mutants",
            engine=engine,
            seed=seed,
            seeds=seeds,
            budget=msgspec.to_builtins(budget),
            mutants=rows,
            survived=survived,
            interrupted=interrupted,
        )
    elif format is Forms.markdown:
        print(matrix.markdown(rows, PROPERTIES), end="")
    else:
        console = make_console()
        console.print(matrix.render(rows, PROPERTIES, console.width), crop=False)
        if survived:
            console.print(f"\nnot found: {', '.join(survived)}", style="bold red")
        if interrupted:
            console.print("\ninterrupted: this is what was done so far", style="yellow")
        if out is not None:
            for file in files:
                print_path(console, f"wrote {file}")
    if survived:
        return VIOLATED
    return INCONCLUSIVE if interrupted else OK


def _hunt_all(
    wanted: Sequence[Mutant], seeds: range, engine: Engine, budget: Budget, properties: tuple[str, ...] | None
) -> tuple[dict[str, list[Hunt]], bool]:
    """The hunts for each mutant, and whether Ctrl-C ended them. On a terminal the matrix grows while they go on."""
    hunts: dict[str, list[Hunt]] = {entry.name: [] for entry in wanted}
    console = Console(stderr=True)
    with interrupts() as look, Live(console=console, transient=True, auto_refresh=False) as live:
        for entry in wanted:
            for each in seeds:
                try:
                    hunts[entry.name].append(hunt(entry, each, engine, budget, properties, lambda _: look()))
                except KeyboardInterrupt:
                    return hunts, True
                if console.is_terminal:
                    rows = [row_of(name, found) for name, found in hunts.items() if found]
                    live.update(matrix.render(rows, PROPERTIES, console.width), refresh=True)
    return hunts, False


def _save(out: Path, rows: Sequence[MutantSummary], hunts: dict[str, list[Hunt]]) -> list[Path]:
    """The matrix in Markdown, and of each mutant that was found the shortest counterexample's schedule."""
    out.mkdir(parents=True, exist_ok=True)
    files = [write(out / "mutants.md", matrix.markdown(rows, PROPERTIES).encode())]
    for name, each in hunts.items():
        found = [(hunt.minimised, hunt.seed, hunt.schedule) for hunt in each if hunt.schedule is not None]
        if found:
            _, _, schedule = min(found, key=lambda hunt: hunt[:2])
            files.append(write(out / f"{name}.schedule.json", schedules.dump(schedule)))
    return files
