"""`zabcheck explore`: every state within bounds, or the shortest run that breaks a property."""

import resource
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from shlex import quote
from time import process_time
from typing import Annotated

import msgspec
import typer
from msgspec import structs
from rich.console import Console
from rich.progress import Progress as Bar
from rich.progress import SpinnerColumn, TextColumn

from invariants import select
from invariants.quorums import MAJORITY, quorums_of
from zabcheck.cli.commands import (
    INCONCLUSIVE,
    OK,
    VIOLATED,
    BadInput,
    Format,
    Formats,
    Properties,
    ProtocolFailed,
    Protocols,
    command,
)
from zabcheck.cli.files import bad_input_for, bad_path, check_out
from zabcheck.cli.output import make_console, print_json, print_path
from zabcheck.counterexample import save
from zabcheck.mutants.catalogue import mutated
from zabcheck.protocols.switches import Switches, switches_of
from zabcheck.report import exploration, terminal
from zabcheck.report.exploration import Exploration
from zabcheck.report.words import as_text
from zabcheck.search.explain import explain_replay
from zabcheck.search.explore.bounds import UNLIMITED, Bounds
from zabcheck.search.explore.parts import CannotTellApart
from zabcheck.search.explore.space import Explored, Progress, Space, judged_in_every_state
from zabcheck.search.run import replay, schedule_of
from zabcheck.simulation.schedule import Schedule

GIB = 2**30
MOST_PROCESSES = 5
"""With more, there are more renamings than pay, and more states than can be seen."""


@command
def explore(
    protocol: Protocols = "zab",
    mutant: Annotated[str | None, typer.Option(metavar="M", help="Plant this known bug.")] = None,
    processes: Annotated[int, typer.Option(min=1, max=MOST_PROCESSES, help="How many processes.")] = 3,
    epochs: Annotated[int, typer.Option(min=0, max=99, help="No process promises a later epoch.")] = 2,
    txns: Annotated[int, typer.Option(min=0, max=99, help="How many client requests a primary takes.")] = 1,
    timeouts: Annotated[
        str, typer.Option(metavar="N", help="How many time-outs, and changes of mind of oracles; or `unlimited`.")
    ] = "1",
    crashes: Annotated[int, typer.Option(min=0, max=99, help="How many crashes; a process recovers at any time.")] = 0,
    quorums: Annotated[str, typer.Option(metavar="Q", help="The quorum system.")] = MAJORITY,
    switch: Annotated[
        list[str] | None, typer.Option(metavar="NAME=VALUE", help="Set a switch; sync=atomic if it is not set.")
    ] = None,
    property: Properties = None,
    symmetry: Annotated[
        bool, typer.Option("--symmetry/--no-symmetry", help="Take states for one that differ in names alone.")
    ] = True,
    memory: Annotated[float, typer.Option(min=0.05, help="End when so many GiB are used.")] = 4.0,
    out: Annotated[Path, typer.Option(help="Where a counterexample is written.")] = Path("reports"),
    format: Formats = Format.text,
) -> int:
    """Visit every state within bounds: prove that nothing breaks there, or give the shortest run that breaks it."""
    with bad_input_for(ValueError):
        checked = mutated(protocol, mutant)
        kinds = tuple(kind for kind in select(property or checked.properties) if judged_in_every_state(kind))
    if not kinds:
        raise BadInput("--property: expected one that can be judged in every state, so none of the group `liveness`")
    with bad_input_for(ValueError, "--quorums: "):
        family = quorums_of(quorums, processes)
    with bad_input_for(ValueError, "--switch: "):
        set_ = switches_of(switch or ())
    switches = Switches(**{"sync": "atomic", **set_})
    for name, wrong in (("elections", "together"), ("application", "key-value")):
        if getattr(switches, name) == wrong:
            raise BadInput(f"--switch {name}={wrong}: expected another value, an exhaustive search does not know that")
    check_out(out)
    bounds = Bounds(processes, epochs, txns, number_of("--timeouts", timeouts), crashes)
    start = process_time()
    with progress(start) as show, bad_input_for(CannotTellApart, f"--protocol {protocol}: "):
        space = Space(checked, family, switches, bounds, kinds, symmetry=symmetry)
        found = space.explore(memory * GIB, show)
    values = msgspec.to_builtins(switches)  # those that are not as the letter of the paper has them
    settings = (*([quorums] if quorums != MAJORITY else []), *(f"{name} {value}" for name, value in values.items()))
    result = Exploration(
        protocol=protocol,
        mutant=mutant,
        bounds=bounds.in_words(),
        settings=settings,
        symmetry=space.symmetry is not None,
        states=found.states,
        transitions=found.transitions,
        depth=found.depth,
        parts=found.parts,
        whole=found.whole,
        broken=found.broken,
        exercised=tuple(name for name, was in found.exercised.items() if was),
        unexercised=tuple(name for name, was in found.exercised.items() if not was),
        switched_off=found.switched_off,
        seconds=round(process_time() - start, 2),
    )
    schedule = schedule_of(protocol, mutant, processes, (), quorums=quorums, switches=switches)
    return finish(result, found, schedule, out, format)


def number_of(option: str, text: str) -> int:
    """How often something may happen; `unlimited` for any number of times."""
    if text == "unlimited":
        return UNLIMITED
    if not (text.isascii() and text.isdigit() and len(text) < 3):
        raise BadInput(f"{option} {text}: expected a number from 0 to 99, or `unlimited`")
    return int(text)


@contextmanager
def progress(start: float) -> Iterator[Callable[[Progress], None]]:
    """A line on standard error, if that is a terminal. No end is told: how many states there are is not known."""
    console = Console(stderr=True)
    bar = Bar(
        SpinnerColumn(),
        TextColumn("{task.description}"),
        console=console,
        transient=True,
        disable=not console.is_terminal,
    )
    with bar:
        task = bar.add_task("exploring", total=None)

        def show(at: Progress) -> None:
            used = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / GIB
            rate = at.transitions / max(0.001, process_time() - start)
            bar.update(
                task,
                description=f"{at.states:,} states, {at.states - at.done:,} of them waiting, {at.depth} steps deep, "
                f"{rate:,.0f} transitions a second, {used:.1f} GiB; how many there are is not known",
            )

        yield show


def finish(
    result: Exploration,
    found: Explored,
    schedule: Schedule,
    out: Path,
    format: Format,
) -> int:
    """Print what was found, and write the counterexample; the exit code."""
    counterexample, story, files = None, None, []
    if found.choices:
        schedule = structs.replace(schedule, choices=found.choices, violates=found.broken)
        replayed = replay(schedule, None if found.broken is None else [found.broken])
        story = explain_replay(replayed, decisive=found.broken is not None)
        assert found.raised or story.violation is not None, "the simulator does what was looked up"
        with bad_path("--out", out):
            files = save(out, replayed, story)
        if found.raised:
            raise ProtocolFailed(story, files[0], files)
        counterexample = {"violation": story.violation, "steps": replayed.steps, "schedule": schedule}
    if format is Format.json:
        print_json(
            "explore",
            **msgspec.to_builtins(result),
            counterexample=counterexample,
            files=[as_text(file) for file in files],
        )
    else:
        console = make_console()
        console.print(exploration.render(result))
        if story is not None:
            console.print()
            console.print(terminal.render(story, quote(str(files[0]))), crop=False)
        for file in files:
            print_path(console, f"wrote {file}")
    if result.broken is not None:
        return VIOLATED
    return OK if result.whole and not result.unexercised else INCONCLUSIVE
