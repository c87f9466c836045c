"""`zabcheck mutants`: does the checker find every known bug, how soon, and by which property?

With `--record` it keeps what it finds of one bug: its schedules, and its pages in the gallery.
"""

from collections.abc import Iterator, Mapping, Sequence
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import msgspec
import typer
from rich.console import Console
from rich.live import Live

from zabcheck.cli.commands import STEPS, BadInput, Engines, Exec, Properties, Steps, command, known_bugs
from zabcheck.cli.commands import named as named_protocol
from zabcheck.cli.files import bad_input_for, bad_path, check_out, writing
from zabcheck.cli.next_step import again
from zabcheck.cli.output import interrupts, make_console, print_json, print_path
from zabcheck.cli.run import protocol_failed
from zabcheck.cli.verdict import INCONCLUSIVE, OK, VIOLATED, conclude, named
from zabcheck.counterexample.forms.gallery import index_of_bugs, pages
from zabcheck.invariants import PROPERTIES, select
from zabcheck.invariants.diagnosis import like
from zabcheck.mutants.catalogue import CATALOGUE, bugs_of, mutated
from zabcheck.mutants.mutant import Mutant
from zabcheck.search.engines import DEFAULT, Engine
from zabcheck.search.hunt import Budget, Hunt, MutantSummary, hunt, row_of
from zabcheck.search.kept_schedules import (
    also_broken,
    break_first,
    broken_without,
    file_name,
    not_told_apart,
    recorded,
)
from zabcheck.search.kept_schedules import record as search_and_keep
from zabcheck.search.report import matrix
from zabcheck.search.run import ProtocolRaised
from zabcheck.simulation.schedule import Schedule, ScheduleError, dump
from zabcheck.text.files import write, write_all
from zabcheck.text.words import clean, counted

MOST_SEEDS = 10_000
SCHEDULES, GALLERY = Path("tests/schedules"), Path("reports/gallery")
"""Where a checkout has the schedules of known bugs, and their pages."""
REPORTS = Path("reports")
"""Where a run is written in which the code of a known bug raises, without --out."""


class Forms(StrEnum):
    """How the matrix is printed."""

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
Seeds = Annotated[int, typer.Option("--seeds", min=1, max=MOST_SEEDS, help="How many searches for each bug.")]
FirstSeed = Annotated[int, typer.Option("--seed", min=0, help="The seed of the first search; the others follow it.")]
Runs = Annotated[int, typer.Option("--runs", min=1, help="At most how many runs a search.")]
Seconds = Annotated[float, typer.Option("--seconds", min=0.0, help="At most about so many CPU seconds a search.")]
Record = Annotated[
    str | None,
    typer.Option(
        "--record",
        metavar="M",
        help="Search for this known bug once more for each property that it breaks, and write its shortest "
        "schedules, and its pages in the gallery. In a checkout.",
    ),
]
Schedules = Annotated[Path, typer.Option("--schedules", metavar="DIR", help="With --record: where the schedules are.")]
Gallery = Annotated[Path, typer.Option("--gallery", metavar="DIR", help="With --record: where the gallery is.")]
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
    record: Record = None,
    schedules: Schedules = SCHEDULES,
    gallery: Gallery = GALLERY,
    out: Out = None,
    format: Annotated[Forms, typer.Option("--format", help="How to print the result.")] = Forms.text,
) -> int:
    """Search for every known bug; print which property caught it, how soon, and how short its counterexample is."""
    with bad_input_for(ValueError):
        kinds = select(property)
    bugs = _known(exec, (*(mutant or ()), *([] if record is None else [record])))
    if out is not None:
        check_out(out)
    every = range(seed, seed + seeds)
    budget = Budget(runs, steps or STEPS, seconds)
    if record is not None:
        if mutant or exec is not None or out is not None or format is not Forms.text:
            raise BadInput("--record cannot be combined with --mutant, --exec, --out or --format")
        wanted = [name for name in CATALOGUE[record].breaks if property is None or name in {k.name for k in kinds}]
        return _record(CATALOGUE[record], wanted, every, engine, budget, schedules, gallery)
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
    searches = counted(seeds, "search", "searches")
    if survived:
        longer = again(mutant=survived, runs=10 * budget.runs, seconds=10 * budget.seconds)
        return f"{named(survived)} not found, in {searches} each", longer
    if interrupted:
        return f"interrupted after {counted(sum(row.hunts for row in rows), 'search', 'searches')}", again(seeds=1)
    bugs = counted(len(rows), "known bug is", "known bugs are")
    missed = [row.mutant for row in rows if row.found < row.hunts]
    return f"{bugs} found, in {searches} each" + (f", though not in every one: {named(missed)}" if missed else ""), ""


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


def _record(
    mutant: Mutant,
    properties: Sequence[str],
    seeds: Sequence[int],
    engine: Engine,
    budget: Budget,
    folder: Path,
    gallery: Path,
) -> int:
    """Write the schedules of one mutant, and its pages; say what its entry in the catalogue lacks."""
    console = make_console()
    for option, path in (("--schedules", folder), ("--gallery", gallery)):
        if not path.is_dir():
            raise BadInput(f"{option} {path}: no such directory; run in a checkout of zabcheck, or say where it is")
    known = _read(folder, mutant)
    lacking = []
    with interrupts() as look:
        try:
            for each in search_and_keep(mutant, known, properties, seeds, engine, budget, lambda _: look()):
                if each.schedule is None:
                    lacking.append(each.property)
                    console.print(f"{each.property}: not found", style="bold red")
                    continue
                known[each.property] = each.schedule
                said = "new" if each.is_new else "as it was"
                console.print(f"{each.property}: {counted(each.steps, 'step', 'steps')}, {said}")
                if each.is_new:
                    file = folder / file_name(mutant.name, each.property)
                    with writing("--schedules", folder):
                        print_path(console, f"wrote {write(file, dump(each.schedule))}")
        except KeyboardInterrupt:
            return conclude(console, INCONCLUSIVE, "interrupted: not every property was searched for", again())
        except ProtocolRaised as failed:
            raise protocol_failed(failed, REPORTS) from None
    with writing("--gallery", gallery):
        for path in _write_pages(mutant, known, folder, gallery):
            print_path(console, f"wrote {path}")
    more = also_broken(mutant, known.values())
    if more:
        console.print(f"these break as well, and `breaks` does not name them: {', '.join(more)}", style="yellow")
    wrong = list(_shortcomings(mutant, known, lacking, folder))
    for sentence in wrong:
        console.print(sentence, style="bold red")
    if wrong:
        return conclude(console, VIOLATED, f"the entry of {mutant.name} is not complete", f"mend it, then {again()}")
    shown = counted(len(known), "schedule shows", "schedules show")
    return conclude(console, OK, f"the entry of {mutant.name} says what its {shown}")


def _read(folder: Path, mutant: Mutant) -> dict[str, Schedule]:
    with bad_path("--schedules", folder), bad_input_for(ScheduleError):
        return recorded(folder, mutant)


def _write_pages(mutant: Mutant, known: Mapping[str, Schedule], folder: Path, gallery: Path) -> Iterator[Path]:
    """Write the pages of one mutant, and the index anew: of all mutants whose first schedule is there."""
    first = {name: _read(folder, entry).get(entry.breaks[0]) for name, entry in CATALOGUE.items()}
    schedule = known.get(mutant.breaks[0])
    if schedule is not None:
        for name, content in pages(mutant.name, schedule):
            yield write(gallery / name, content)
    yield write(gallery / "index.html", index_of_bugs({name: each for name, each in first.items() if each is not None}))


def _shortcomings(mutant: Mutant, known: Mapping[str, Schedule], lacking: Sequence[str], folder: Path) -> Iterator[str]:
    """Describe the fault of the catalogue's entry, as far as its schedules show it."""
    schedules = list(known.values())
    if lacking:
        yield f"not found: {', '.join(lacking)}; try more --seeds, or leave them out of `breaks`"
    for name in broken_without(schedules):
        yield f"the schedule of {name} breaks it without the bug as well"
    first = break_first(schedules)
    if first and mutant.breaks[0] not in first:
        which = "it" if len(first) == 1 else "one of them"
        yield f"what breaks first in the shortest run: {', '.join(first)}; name {which} first in `breaks`"
    alike = not_told_apart(mutant, schedules, lambda other: _read(folder, other).values())
    if alike:
        names = ", ".join(alike)
        yield f"not told apart from {names}; record with another --seed, or name a bug that breaks more in `within`"
