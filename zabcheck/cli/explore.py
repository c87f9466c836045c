"""`zabcheck explore`: every state within bounds, or the shortest run that breaks a property."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from shlex import quote
from time import process_time
from typing import Annotated, Any, NamedTuple

import msgspec
import typer
from msgspec import structs
from rich.console import Console
from rich.progress import Progress as Bar
from rich.progress import SpinnerColumn, TextColumn

from zabcheck.cli.commands import (
    BadInput,
    Exec,
    FixedQuorums,
    Format,
    Formats,
    Mutants,
    Properties,
    ProtocolFailed,
    Protocols,
    command,
    complain,
    switches,
)
from zabcheck.cli.commands import named as named_protocol
from zabcheck.cli.files import bad_input_for, bad_path, check_file, check_out, read, writing
from zabcheck.cli.next_step import again, given, one_at_a_time, to_loss, to_play
from zabcheck.cli.output import interrupts, make_console, print_json, print_path
from zabcheck.cli.replay import load_schedule
from zabcheck.cli.run import protocol_failed
from zabcheck.cli.verdict import INCONCLUSIVE, OK, VIOLATED, conclude
from zabcheck.counterexample.explain import explain_replay
from zabcheck.counterexample.forms import terminal
from zabcheck.counterexample.saving import save
from zabcheck.explore import UNLIMITED, CannotExplore, Exploration, exploration, report
from zabcheck.explore.bounds import MOST, MOST_SNAPSHOTS, SMALL, Bounds
from zabcheck.explore.exploration import BY_VOTE, COARSE, MOST_PROCESSES
from zabcheck.explore.results import Progress
from zabcheck.explore.states.checkpoint import CheckpointError
from zabcheck.explore.states.memory import CannotSpill, used
from zabcheck.invariants.quorums import MAJORITY, quorums_of
from zabcheck.mutants.catalogue import mutated
from zabcheck.protocols.adapter import tells_highest_epoch
from zabcheck.protocols.base import StepRaised
from zabcheck.protocols.switch_settings import switches_of
from zabcheck.protocols.switches import completed
from zabcheck.search.run import ProtocolRaised
from zabcheck.simulation import schedule as schedules
from zabcheck.text.nodes import option_of
from zabcheck.text.words import as_text, counted

GIB = 2**30
MEMORY = 4.0
"""The memory of a search in GiB, unless --memory says more."""

_OPTIONS = {"properties": "property", "switches": "switch", "bounds": "processes", "changes": "change"}
"""The options that have another name than the argument of `explore.explore`."""


# The bounds, and what else only this command takes.

ProcessCount = Annotated[
    int | None,
    typer.Option(
        "--processes",
        metavar="N",
        min=1,
        max=MOST_PROCESSES,
        help=f"The number of processes; default: {SMALL.processes}.",
    ),
]
Epochs = Annotated[
    int | None,
    typer.Option(
        "--epochs", metavar="N", min=0, max=99, help=f"The last epoch that may be promised; default: {SMALL.epochs}."
    ),
]
Txns = Annotated[
    int | None,
    typer.Option(
        "--txns",
        metavar="N",
        min=0,
        max=MOST,
        help=f"The number of client requests that are taken, by all primaries together; default: {SMALL.txns}.",
    ),
]
Timeouts = Annotated[
    str | None,
    typer.Option(
        "--timeouts",
        metavar="N",
        help="The number of time-outs, and of oracles that change their mind in the middle of an iteration, or "
        f"`unlimited`; default: {SMALL.timeouts}.",
    ),
]
Crashes = Annotated[
    str | None,
    typer.Option(
        "--crashes",
        metavar="N",
        help=f"The number of crashes, or `unlimited`; default: {SMALL.crashes}. A process may recover at any time.",
    ),
]
Cuts = Annotated[
    str | None,
    typer.Option(
        "--cuts",
        metavar="N",
        help=f"The number of connections that break, or `unlimited`; default: {SMALL.cuts}.",
    ),
]
Snapshots = Annotated[
    int | None,
    typer.Option(
        "--snapshots",
        metavar="N",
        min=0,
        max=MOST_SNAPSHOTS,
        help="The number of snapshots that processes write although nothing asks them to, with and without a purge of "
        f"all before; default: {SMALL.snapshots}.",
    ),
]
Changes = Annotated[
    list[str] | None,
    typer.Option(
        "--change",
        metavar="CONFIG",
        help="A configuration that clients ask for, as `config 1,2,4`; several are asked for in this order, each once. "
        "Only for a protocol whose configuration changes; by default none.",
    ),
]
Coarse = Annotated[
    list[str] | None,
    typer.Option(
        "--switch",
        metavar="NAME=VALUE",
        autocompletion=switches,
        help="Set a switch; defaults here: sync=atomic, closing=abrupt, and where processes vote elections=oracle.",
    ),
]
Symmetry = Annotated[
    bool,
    typer.Option(
        "--symmetry/--no-symmetry", help="Visit one of all states that differ in the names of processes alone."
    ),
]
PartialOrder = Annotated[
    bool, typer.Option("--por/--no-por", help="Try only one order of moves that commute (partial-order reduction).")
]
Certified = Annotated[
    Path | None,
    typer.Option(
        "--certify",
        metavar="SCHEDULE",
        help="Decide whether this counterexample is the shortest within the bounds that it uses.",
    ),
]
After = Annotated[
    Path | None,
    typer.Option("--after", metavar="SCHEDULE", help="Begin every run with this one, which the bounds count, too."),
]
CheckpointFile = Annotated[
    Path | None,
    typer.Option("--checkpoint", metavar="FILE", help="Save the search to this file now and then, and on Ctrl-C."),
]
Resume = Annotated[bool, typer.Option("--resume", help="Continue from the --checkpoint, with the same options.")]
Memory = Annotated[
    float,
    typer.Option(
        "--memory",
        min=0.05,
        help="When this many GiB are used, states go to files.",
    ),
]
Out = Annotated[
    Path, typer.Option("--out", help="The folder for a counterexample, and for what does not fit into memory.")
]


@command
def explore(
    protocol: Protocols = None,
    exec: Exec = None,
    mutant: Mutants = None,
    processes: ProcessCount = None,
    epochs: Epochs = None,
    txns: Txns = None,
    timeouts: Timeouts = None,
    crashes: Crashes = None,
    cuts: Cuts = None,
    snapshots: Snapshots = None,
    change: Changes = None,
    quorums: FixedQuorums = None,
    switch: Coarse = None,
    property: Properties = None,
    symmetry: Symmetry = True,
    por: PartialOrder = True,
    certify: Certified = None,
    after: After = None,
    checkpoint: CheckpointFile = None,
    resume: Resume = False,
    memory: Memory = MEMORY,
    out: Out = Path("reports"),
    format: Formats = Format.text,
) -> int:
    """Visit every state within bounds: prove that nothing breaks there, or give the shortest run that breaks it."""
    _check_files(out, checkpoint, resume)
    limits = _limits(epochs, txns, timeouts, crashes, cuts, snapshots)
    bounds = structs.replace(SMALL, processes=processes or SMALL.processes, changes=tuple(change or ()), **limits)
    question: dict[str, Any] = {
        "mutant": mutant,
        "processes": processes,
        "change": change,
        "quorums": quorums,
        "switch": switch,
        "after": after,
    }
    with (
        _refused(certify),
        bad_input_for(CheckpointError, "--checkpoint "),
        bad_path("--checkpoint", checkpoint or Path()),
        _spilling(),
        progress(process_time(), resume) as show,
        interrupts() as look_for_interrupt,
    ):
        how: dict[str, Any] = {
            "properties": property,
            "symmetry": symmetry,
            "memory": memory * GIB,
            "folder": out,
            "on_progress": show.states,
            "look_for_interrupt": look_for_interrupt,
        }
        if certify is not None:
            found = _certified(certify, (protocol, exec), question, limits, how)
        else:
            how |= {"reduction": por, "checkpoint": checkpoint, "resume": resume, "on_followed": show.followed}
            name = named_protocol(protocol, exec)
            if after is not None:
                how["after"] = load_schedule(read(after, schedules.MAX_BYTES), str(after), protocol, exec)[1]
            system = MAJORITY if quorums is None else quorums
            found = _explored(name, mutant, bounds, system, switch or (), how)
    return _finish(found, bounds if certify is None else None, checkpoint, out, format)


def _limits(
    epochs: int | None,
    txns: int | None,
    timeouts: str | None,
    crashes: str | None,
    cuts: str | None,
    snapshots: int | None,
) -> dict[str, int]:
    """Return the bounds that options set, by the names that `Bounds` has for them."""
    limits = {
        "epochs": epochs,
        "txns": txns,
        "timeouts": None if timeouts is None else number_of("--timeouts", timeouts),
        "crashes": None if crashes is None else number_of("--crashes", crashes),
        "cuts": None if cuts is None else number_of("--cuts", cuts),
        "snapshots": snapshots,
    }
    return {name: value for name, value in limits.items() if value is not None}


def _explored(
    protocol: str,
    mutant: str | None,
    bounds: Bounds,
    quorums: str,
    settings: Sequence[str],
    how: Mapping[str, Any],
) -> Exploration:
    """Visit every state within `bounds`. ProtocolFailed if no process can start, so that there is no first state."""
    with bad_input_for(ValueError):
        checked = mutated(protocol, mutant)
    if not tells_highest_epoch(checked):
        complain(report.without_highest_epoch(checked.name))
    usual = completed(COARSE if checked.vote is None else BY_VOTE, checked.switches)
    with bad_input_for(ValueError, "--switch: "):
        chosen = structs.replace(usual, **switches_of(settings, checked, structs.asdict(usual)))
    try:
        return exploration.explore(protocol, mutant=mutant, bounds=bounds, quorums=quorums, switches=chosen, **how)
    except StepRaised as raised:
        family = quorums_of(quorums, bounds.processes)
        raise protocol_failed(ProtocolRaised(raised, checked, (), chosen, family), how["folder"]) from None


def _certified(
    file: Path,
    named: tuple[str | None, str | None],
    question: Mapping[str, Any],
    limits: Mapping[str, int],
    how: Mapping[str, Any],
) -> Exploration:
    """Decide whether the schedule in a file is the shortest. BadInput for an option that the schedule decides."""
    for option, value in question.items():
        if value is not None:
            raise BadInput(f"--{option}: with --certify that comes from the schedule")
    protocol, schedule = load_schedule(read(file, schedules.MAX_BYTES), str(file), *named)
    return exploration.certify(schedule, protocol=protocol, limits=limits, **how)


def _check_files(out: Path, checkpoint: Path | None, resume: bool) -> None:
    """BadInput if files cannot be where they are to be."""
    if resume and checkpoint is None:
        raise BadInput("--resume: expected --checkpoint FILE, too")
    if checkpoint is not None:
        check_file("--checkpoint", checkpoint)
    check_out(out)


@contextmanager
def _refused(schedule: Path | None) -> Iterator[None]:
    """Turn a refusal of the search into BadInput that names the option, or the `schedule` in a file."""
    try:
        yield
    except CannotExplore as error:
        value = error.value
        if error.argument is None:
            raise BadInput(error.reason) from None
        if error.argument == "schedule":
            where = f"{schedule}" + ("" if value is None else f", field `{value}`")
        elif error.argument == "protocol" and value is not None and option_of(value):
            where = option_of(value).strip()
        else:
            where = f"--{_OPTIONS.get(error.argument, error.argument)}" + ("" if value is None else f" {value}")
        raise BadInput(f"{where}: {error.reason}") from None


@contextmanager
def _spilling() -> Iterator[None]:
    """Turn states that cannot be written to disk into BadInput: the disk is full, say."""
    try:
        yield
    except CannotSpill as error:
        raise BadInput(f"--out {error}") from None


def number_of(option: str, text: str) -> int:
    """Return how often something may happen, given as a number or as `unlimited`. BadInput for anything else."""
    if text == "unlimited":
        return UNLIMITED
    if not (text.isascii() and text.isdigit() and len(text) < 3 and int(text) <= MOST):
        raise BadInput(f"{option} {text}: expected a number from 0 to {MOST}, or `unlimited`")
    return int(text)


class _ProgressCallbacks(NamedTuple):
    """The callbacks of a search: for the states visited so far, then for the states whose leaders were followed."""

    states: Callable[[Progress], None]
    followed: Callable[[int, int], None]


@contextmanager
def progress(start: float, resumed: bool) -> Iterator[_ProgressCallbacks]:
    """Show a line on standard error, if that is a terminal. It has no end: how many states there are is not known.

    `start` is the CPU time of this process when the search began, in seconds. If the search is `resumed`, the first
    that is told of it is what its checkpoint holds, which counts for nothing in how fast it is.
    """
    console = Console(stderr=True)
    bar = Bar(
        SpinnerColumn(),
        TextColumn("{task.description}"),
        console=console,
        transient=True,
        disable=not console.is_terminal,
    )
    with bar:
        task = bar.add_task("reading the checkpoint" if resumed else "exploring", total=None)
        before = [] if resumed else [0]

        def states(at: Progress) -> None:
            memory = f"{used() / GIB:.1f} GiB"
            if at.on_disk:
                memory += f", and {at.on_disk / GIB:.1f} GiB in files"
            before.append(at.transitions)
            del before[1:]
            rate = (at.transitions - before[0]) / max(0.001, process_time() - start)
            bar.update(
                task,
                description=f"{counted(at.states, 'state', 'states')} so far, "
                f"{at.states - at.expanded:,} waiting, level {at.depth}, {rate:,.0f} transitions a second, {memory}",
            )

        def followed(states: int, done: int) -> None:
            bar.update(
                task, description=f"what a leader comes to, from {done:,} of {counted(states, 'state', 'states')}"
            )

        yield _ProgressCallbacks(states, followed)


def _finish(found: Exploration, bounds: Bounds | None, checkpoint: Path | None, out: Path, format: Format) -> int:
    """Print what was found, and write the counterexample; return the exit code.

    `bounds` are those of the search; None if a run was to be certified. `checkpoint` is the file to which a search that
    was interrupted has written how far it came.
    """
    replayed = found.counterexample
    counterexample, story, files = None, None, []
    if replayed is not None:
        story = explain_replay(replayed, decisive=found.broken is not None)
        with writing("--out", out):
            files = save(out, replayed, story)
        if story.raised is not None and not story.raised.is_modelled:
            raise ProtocolFailed(story, files[0] if files else None, files)
        counterexample = {
            "violation": story.violation,
            "raised": story.raised,
            "steps": replayed.steps,
            "schedule": replayed.schedule,
        }
    code = code_of(found)
    with writing("--checkpoint", checkpoint or Path()):
        if found.unwritten is not None:
            raise found.unwritten
    if format is Format.json:
        told = msgspec.to_builtins(structs.replace(found, counterexample=None, unwritten=None))
        del told["unwritten"]
        wider = [each._asdict() for each in report.wider(found)] if found.whole else []
        told |= {"counterexample": counterexample, "wider": wider, "files": [as_text(file) for file in files]}
        print_json("explore", **told)
    else:
        console = make_console()
        console.print(report.render(found))
        if story is not None:
            console.print()
            console.print(terminal.render(story, quote(str(files[0])) if files else "FILE"), crop=False)
        for file in files:
            print_path(console, f"wrote {file}")
        if story is not None and (loss := to_loss(files, story)):
            print_path(console, f"what a user loses: {loss}")
        if found.interrupted and checkpoint is not None and found.unwritten is None:
            print_path(console, f"wrote {checkpoint}")
        then = to_play(files, found.protocol) or _next(found, bounds, checkpoint)
        conclude(console, code, report.result(found), then)
    return code


ANOTHER_SEARCH = {"checkpoint": None, "resume": None}
"""Changes of the command line for other bounds or switches, of which a checkpoint knows nothing."""


def _next(found: Exploration, bounds: Bounds | None, checkpoint: Path | None) -> str:
    """Return the command after a search that has found nothing; "" if none proves more.

    `bounds` are those of the search; None if a run was to be certified.
    """
    if found.interrupted and bounds is not None and checkpoint is None:
        smaller = " # or, with fewer states: --processes 2" if bounds.processes > 2 else ""
        return again(checkpoint="explore.checkpoint") + smaller
    if found.interrupted and bounds is not None:
        return again(resume=True)
    if found.interrupted:
        return again()
    if code_of(found) != OK and not found.whole:
        return again(memory=2 * float(given("memory") or MEMORY))
    if bounds is None:
        return ""
    if found.unexercised:
        return again(**ANOTHER_SEARCH, **report.enough(bounds))
    return one_at_a_time([(each.option, each.value) for each in report.wider(found)], **ANOTHER_SEARCH)


def code_of(found: Exploration) -> int:
    """Return the exit code of a search."""
    if found.broken is not None or found.raised:
        return VIOLATED
    if found.interrupted:
        return INCONCLUSIVE
    if found.certified:
        return OK if found.tried == found.certified - 1 else INCONCLUSIVE
    return OK if found.whole and not found.unexercised else INCONCLUSIVE
