"""`zabcheck explore`: every state within bounds, or the shortest run that breaks a property."""

import os
import resource
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from shlex import quote
from time import process_time
from typing import Annotated, NamedTuple

import msgspec
import typer
from msgspec import Struct, structs
from rich.console import Console
from rich.progress import Progress as Bar
from rich.progress import SpinnerColumn, TextColumn

from invariants import Invariant, select
from invariants.quorums import MAJORITY, Quorums, quorums_of
from zabcheck.cli.commands import (
    INCONCLUSIVE,
    OK,
    VIOLATED,
    BadInput,
    Format,
    Formats,
    Properties,
    ProtocolFailed,
    command,
)
from zabcheck.cli.files import bad_input_for, bad_path, check_out, read
from zabcheck.cli.output import make_console, print_json, print_path
from zabcheck.cli.replay import load_schedule
from zabcheck.counterexample.explain import explain_replay
from zabcheck.counterexample.forms import terminal
from zabcheck.counterexample.saving import save
from zabcheck.mutants.catalogue import mutated
from zabcheck.protocols.base import Protocol
from zabcheck.protocols.switches import Switches, switches_of
from zabcheck.search.explore import report as exploration
from zabcheck.search.explore.bounds import UNLIMITED, Bounds
from zabcheck.search.explore.checkpoint import CheckpointError
from zabcheck.search.explore.components import CannotTellApart
from zabcheck.search.explore.liveness import LIVENESS, Followed, find_trap
from zabcheck.search.explore.report import Exploration
from zabcheck.search.explore.shortest import NotTried, Shortest, search, shorter, used_by
from zabcheck.search.explore.space import Progress, Space, judged_in_every_state
from zabcheck.search.goals import GOALS
from zabcheck.search.run import replay, replay_on, schedule_of
from zabcheck.simulation import schedule as schedules
from zabcheck.simulation.choices import AnyChoice
from zabcheck.simulation.schedule import Schedule
from zabcheck.text.words import as_text

GIB = 2**30
MOST_PROCESSES = 5
"""With more, there are more renamings than pay, and more states than can be seen."""
COARSE = {"sync": "atomic", "closing": "abrupt"}
"""Switches that are set unless something else is said: without them there are many more states."""

_BOUNDS = Bounds(processes=3, epochs=2, txns=1, timeouts=1, crashes=0, cuts=0)


class _Search(Struct, frozen=True):
    """What is searched, and how. `schedule` has no choices; those of `steps` are to be certified, if there are any.

    `liveness`: whether it is followed, too, what a leader that nobody disturbs comes to.
    """

    schedule: Schedule
    quorums: Quorums
    bounds: Bounds
    properties: tuple[type[Invariant], ...]
    liveness: bool
    symmetry: bool
    reduction: bool
    steps: tuple[AnyChoice, ...] = ()
    exact: bool = False

    def space(self, reduction: bool) -> Space:
        """A search that has not begun."""
        checked = mutated(self.schedule.protocol, self.schedule.mutant)
        switches = self.schedule.switches
        return Space(
            checked,
            self.quorums,
            switches,
            self.bounds,
            self.properties,
            symmetry=self.symmetry,
            reduction=reduction,
            exact=self.exact,
        )


@command
def explore(
    protocol: Annotated[
        str | None, typer.Option(help="Which protocol to check: see `zabcheck list`; or `module:Class`; else zab.")
    ] = None,
    mutant: Annotated[str | None, typer.Option(metavar="M", help="Plant this known bug.")] = None,
    processes: Annotated[
        int | None,
        typer.Option(min=1, max=MOST_PROCESSES, help=f"How many processes; {_BOUNDS.processes} if not said."),
    ] = None,
    epochs: Annotated[
        int | None, typer.Option(min=0, max=99, help=f"No process promises a later epoch; {_BOUNDS.epochs}.")
    ] = None,
    txns: Annotated[
        int | None, typer.Option(min=0, max=99, help=f"How many client requests a primary takes; {_BOUNDS.txns}.")
    ] = None,
    timeouts: Annotated[
        str | None,
        typer.Option(
            metavar="N", help=f"How many time-outs, and changes of mind of oracles, or `unlimited`; {_BOUNDS.timeouts}."
        ),
    ] = None,
    crashes: Annotated[
        str | None,
        typer.Option(
            metavar="N", help=f"How many crashes, or `unlimited`; {_BOUNDS.crashes}. A process recovers at any time."
        ),
    ] = None,
    cuts: Annotated[
        str | None,
        typer.Option(metavar="N", help=f"How many connections that break, or `unlimited`; {_BOUNDS.cuts}."),
    ] = None,
    quorums: Annotated[str | None, typer.Option(metavar="Q", help="The quorum system; majority if not said.")] = None,
    switch: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME=VALUE", help="Set a switch; sync=atomic and closing=abrupt if they are not set."),
    ] = None,
    property: Properties = None,
    symmetry: Annotated[
        bool, typer.Option("--symmetry/--no-symmetry", help="Take states for one that differ in names alone.")
    ] = True,
    por: Annotated[
        bool, typer.Option("--por/--no-por", help="Try only one order of moves that commute (partial-order reduction).")
    ] = True,
    certify: Annotated[
        Path | None,
        typer.Option(metavar="SCHEDULE", help="Tell whether this counterexample is the shortest within what it uses."),
    ] = None,
    workers: Annotated[
        int | None, typer.Option(min=1, max=64, help="How many processes search; if not said, one a core.")
    ] = None,
    checkpoint: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write there now and then how far the search is.")
    ] = None,
    resume: Annotated[
        bool, typer.Option("--resume", help="Go on from the --checkpoint, with the same options.")
    ] = False,
    memory: Annotated[float, typer.Option(min=0.05, help="End when so many GiB are used.")] = 4.0,
    out: Annotated[Path, typer.Option(help="Where a counterexample is written.")] = Path("reports"),
    format: Formats = Format.text,
) -> int:
    """Visit every state within bounds: prove that nothing breaks there, or give the shortest run that breaks it."""
    said = {
        "--protocol": protocol,
        "--mutant": mutant,
        "--processes": processes,
        "--quorums": quorums,
        "--switch": switch,
    }
    if certify is None:
        schedule = _asked_for(
            "zab" if protocol is None else protocol,
            mutant,
            processes or _BOUNDS.processes,
            MAJORITY if quorums is None else quorums,
            switch,
        )
        steps: tuple[AnyChoice, ...] = ()
        least = structs.replace(_BOUNDS, processes=schedule.processes)
    else:
        for option, value in said.items():
            if value is not None:
                raise BadInput(f"{option}: with --certify that comes from the schedule")
        schedule, steps, least = _to_certify(certify)
    limits: dict[str, int | None] = {
        "epochs": epochs,
        "txns": txns,
        "timeouts": None if timeouts is None else number_of("--timeouts", timeouts),
        "crashes": None if crashes is None else number_of("--crashes", crashes),
        "cuts": None if cuts is None else number_of("--cuts", cuts),
    }
    with bad_input_for(ValueError):
        checked = mutated(schedule.protocol, schedule.mutant)
        _refuse_other_channels(schedule, checked)
        names = property or (None if certify is None or schedule.violates is None else [schedule.violates])
        wanted = select(names or checked.properties)
    kinds = tuple(kind for kind in wanted if judged_in_every_state(kind))
    if not kinds:
        raise BadInput("--property: expected one that can be judged in every state, so none of the group `liveness`")
    with bad_input_for(ValueError, "--quorums: "):
        family = quorums_of(schedule.quorums, schedule.processes)
    if resume and checkpoint is None:
        raise BadInput("--resume: expected --checkpoint FILE, too")
    if checkpoint is not None and (checkpoint.is_dir() or not checkpoint.parent.is_dir()):
        raise BadInput(f"--checkpoint {checkpoint}: expected the name of a file in a folder that is there")
    check_out(out)
    searched = _Search(
        schedule,
        family,
        structs.replace(least, **{name: value for name, value in limits.items() if value is not None}),
        kinds,
        liveness=certify is None and any(kind in LIVENESS for kind in wanted),
        symmetry=symmetry,
        reduction=por,
        steps=steps,
    )
    start = process_time()
    with (
        bad_input_for(CannotTellApart, f"--protocol {schedule.protocol}: "),
        bad_input_for(CheckpointError, "--checkpoint "),
        bad_path("--checkpoint", checkpoint or Path()),
        progress(start) as show,
    ):
        limited = _Limited(memory * GIB, workers or cores(), show)
        came, followed = _look(searched, limited, checkpoint, resume)
        if not _is_real(searched, came, followed):
            searched = structs.replace(searched, symmetry=False, exact=True)
            came, followed = _look(searched, limited)
    return _finish(searched, came, followed, process_time() - start, out, format)


def _refuse_other_channels(schedule: Schedule, checked: Protocol) -> None:
    """ValueError if connections are not opened by followers, or do not keep the order."""
    which = f"--mutant {schedule.mutant}" if schedule.mutant else f"--protocol {schedule.protocol}"
    if checked.mesh:
        raise ValueError(
            f"{which}: expected one whose processes follow whom an oracle names, as an exhaustive search knows no "
            "other; `zabcheck run` does"
        )
    if not checked.fifo:
        raise ValueError(
            f"{which}: expected channels that keep the order, as nothing overtakes in an exhaustive search; "
            "`zabcheck run` knows others"
        )


class _Limited(NamedTuple):
    """With how much memory, in bytes, and how many processes; and who is told how far it is."""

    memory: float
    workers: int
    show: "_Shown"


def _look(
    searched: _Search, limited: _Limited, checkpoint: Path | None = None, resume: bool = False
) -> tuple[Shortest, Followed | None]:
    """Search; if all states were seen and nothing breaks, follow what leaders come to."""
    memory, workers, show = limited
    if searched.steps:
        return shorter(searched.space, searched.steps, memory, show.far, workers=workers), None
    came = search(
        searched.space,
        searched.reduction,
        memory,
        show.far,
        workers=workers,
        checkpoint=checkpoint,
        resume=resume,
    )
    if not came.found.whole or not searched.liveness:
        return came, None
    with bad_input_for(ValueError, "--property: "):
        return came, find_trap(came.space, partial(show.followed, came.found.states))


def _is_real(searched: _Search, came: Shortest, followed: Followed | None) -> bool:
    """Whether the simulator shows what was found, if something was.

    It may not, as a property was judged more strictly than it is (`Space`); or where (f.a, f.zxid) tells no history,
    as some bugs make it: then processes are not interchangeable (`symmetry`).
    """
    trap = None if followed is None else followed.trap
    broken, choices = (came.found.broken, came.found.choices) if trap is None else (trap.broken, trap.choices)
    if broken is None:
        return True
    replayed = replay(structs.replace(searched.schedule, choices=choices), [broken])
    return replayed.verdicts[0].status == "violated"


def _asked_for(protocol: str, mutant: str | None, processes: int, quorums: str, switch: list[str] | None) -> Schedule:
    """What the options say, as a schedule without choices."""
    with bad_input_for(ValueError):
        mutated(protocol, mutant)
    with bad_input_for(ValueError, "--switch: "):
        switches = Switches(**{**COARSE, **switches_of(switch or ())})
    for name, wrong in (("elections", "together"), ("application", "key-value")):
        if getattr(switches, name) == wrong:
            raise BadInput(f"--switch {name}={wrong}: expected another value, an exhaustive search does not know that")
    return schedule_of(protocol, mutant, processes, (), quorums=quorums, switches=switches)


def _to_certify(file: Path) -> tuple[Schedule, tuple[AnyChoice, ...], Bounds]:
    """A saved schedule, its steps, and what they use. BadInput if there are choices that are not made here."""
    protocol, schedule = load_schedule(read(file, schedules.MAX_BYTES), str(file))
    if schedule.processes > MOST_PROCESSES:
        raise BadInput(f"{file}, field `processes`: expected at most {MOST_PROCESSES}, found {schedule.processes}")
    # An election that is one choice is several here; an application changes nothing of what is broadcast and delivered.
    apart = structs.replace(schedule.switches, elections="apart", application="none")
    schedule = structs.replace(schedule, switches=apart)
    try:
        steps, bounds = used_by(protocol, schedule)
    except NotTried as kind:
        raise BadInput(f"{file}, field `choices`: an exhaustive search has no `{kind}`") from None
    replayed = replay_on(protocol, schedule, None if schedule.violates is None else [schedule.violates])
    broken = [verdict.property for verdict in replayed.verdicts if verdict.status == "violated"]
    if not broken:
        raise BadInput(f"{file}: expected a run that violates {schedule.violates or 'a property'}; it does not")
    return structs.replace(schedule, violates=broken[0]), steps, bounds


def cores() -> int:
    """How many this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def number_of(option: str, text: str) -> int:
    """How often something may happen; `unlimited` for any number of times."""
    if text == "unlimited":
        return UNLIMITED
    if not (text.isascii() and text.isdigit() and len(text) < 3):
        raise BadInput(f"{option} {text}: expected a number from 0 to 99, or `unlimited`")
    return int(text)


class _Shown(NamedTuple):
    """Who is told how far a search is, and then in how many of all states leaders were followed."""

    far: Callable[[Progress], None]
    followed: Callable[[int, int], None]


@contextmanager
def progress(start: float) -> Iterator[_Shown]:
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

        def far(at: Progress) -> None:
            used = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / GIB
            rate = at.transitions / max(0.001, process_time() - start)
            bar.update(
                task,
                description=f"{at.states:,} of ? states, {at.states - at.done:,} waiting, level {at.depth}, "
                f"{rate:,.0f} a second, {used:.1f} GiB",
            )

        def followed(states: int, done: int) -> None:
            bar.update(task, description=f"what a leader comes to, from {done:,} of {states:,} states")

        yield _Shown(far, followed)


def _finish(
    searched: _Search,
    came: Shortest,
    followed: Followed | None,
    seconds: float,
    out: Path,
    format: Format,
) -> int:
    """Print what was found, and write the counterexample; the exit code."""
    found, schedule, to_certify = came.found, searched.schedule, len(searched.steps)
    trap = None if followed is None else followed.trap
    broken, choices, raised = found.broken, found.choices, found.raised
    if trap is not None:
        broken, choices, raised = trap.broken, trap.choices, trap.kind == "raised"
    exercised = [name for name, was in found.exercised.items() if was]
    if followed is not None and followed.checked:
        exercised += [kind.name for kind in LIVENESS]
    values = msgspec.to_builtins(schedule.switches)  # those that are not as the letter of the paper has them
    system = [schedule.quorums] if schedule.quorums != MAJORITY else []
    result = Exploration(
        protocol=schedule.protocol,
        mutant=schedule.mutant,
        bounds=searched.bounds.in_words(),
        settings=(*system, *(f"{name} {value}" for name, value in values.items())),
        symmetry=searched.symmetry and mutated(schedule.protocol).rename is not None,
        reduction=searched.reduction and mutated(schedule.protocol).commutes and not to_certify,
        states=found.states,
        transitions=found.transitions,
        depth=found.depth,
        parts=found.parts,
        whole=found.whole,
        broken=broken,
        steps=len(choices),
        tried=came.tried,
        certified=to_certify,
        followed=0 if followed is None else followed.checked,
        trap=None if trap is None else trap.kind,
        exercised=tuple(exercised),
        unexercised=tuple(name for name, was in found.exercised.items() if not was),
        goals=found.goals,
        unreached=tuple(goal for goal in GOALS if goal not in found.goals),
        switched_off=found.switched_off,
        seconds=round(seconds, 2),
    )
    counterexample, story, files = None, None, []
    if choices:
        schedule = structs.replace(schedule, choices=choices, violates=broken)
        replayed = replay(schedule, None if broken is None else [broken])
        story = explain_replay(replayed, decisive=broken is not None)
        assert raised or story.violation is not None, "the simulator does what was looked up"
        with bad_path("--out", out):
            files = save(out, replayed, story)
        if raised:
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
    if to_certify:
        return OK if came.tried == to_certify - 1 else INCONCLUSIVE
    return OK if result.whole and not result.unexercised else INCONCLUSIVE
