"""`zabcheck replay`: a saved schedule, executed again."""

import os
from pathlib import Path
from shlex import quote
from typing import Annotated

import typer
from msgspec import structs

from zabcheck.cli.commands import BadInput, Exec, Format, Formats, ProtocolFailed, ProtocolOfFile, command, named
from zabcheck.cli.files import STDIN, bad_input_for, bad_path, read, writing
from zabcheck.cli.next_step import SOURCE, another
from zabcheck.cli.output import make_console, print_json, print_path
from zabcheck.cli.tables import render_verdicts
from zabcheck.cli.verdict import INCONCLUSIVE, VIOLATED, conclude, on_story, on_verdicts
from zabcheck.cli.zookeeper.builds import Classpath, Home, Java, found_distribution, simulates
from zabcheck.cli.zookeeper.on_servers import replay_on_servers
from zabcheck.cli.zookeeper.replay import ensemble_schedule, replay_ensemble
from zabcheck.counterexample.explain import explain_replay
from zabcheck.counterexample.forms import terminal
from zabcheck.counterexample.story import Story
from zabcheck.invariants import FURTHER, PROPERTIES
from zabcheck.invariants.diagnosis import like, place_of
from zabcheck.mutants.catalogue import mutated, planted
from zabcheck.protocols.base import Protocol
from zabcheck.protocols.switch_settings import refuse_elections
from zabcheck.search.run import Replay, replay_on
from zabcheck.simulation import schedule as schedules
from zabcheck.simulation.schedule import Schedule
from zabcheck.text.files import write
from zabcheck.text.nodes import command_of, is_class, untrusted
from zabcheck.text.words import as_text, counted
from zabcheck.zookeeper.run.schedule import is_for_an_ensemble

File = Annotated[Path, typer.Argument(metavar="FILE", help="A saved schedule.")]
TraceOut = Annotated[
    Path | None, typer.Option("--trace", metavar="OUT", help="Write the trace of the run to this file.")
]
Times = Annotated[
    int | None,
    typer.Option(
        "--times",
        metavar="N",
        min=1,
        help="For a real ensemble: how many times; by default 5, or 1 for simulated servers with a saved order "
        "of threads.",
    ),
]
Simulated = Annotated[
    bool | None,
    typer.Option(
        "--simulated/--processes",
        help="Simulate the servers, or start processes; by default as the schedule was saved.",
    ),
]
Exact = Annotated[
    bool,
    typer.Option("--exact", help="For a real ensemble: do each choice as it is written, or say what stands still."),
]
OnZookeeper = Annotated[
    bool,
    typer.Option(
        "--on-zookeeper",
        help="Execute a run of the model `zookeeper` on real servers, once unless --times says more, and compare "
        "both after each choice.",
    ),
]
Save = Annotated[
    Path | None,
    typer.Option(
        "--save", metavar="OUT", help="With --on-zookeeper: write what the servers do as a schedule of its own."
    ),
]
Page = Annotated[
    Path | None,
    typer.Option("--page", metavar="OUT", help="With --on-zookeeper: write a page of where the servers first differ."),
]


@command
def replay_(
    file: File,
    trace: TraceOut = None,
    times: Times = None,
    exact: Exact = False,
    simulated: Simulated = None,
    on_zookeeper: OnZookeeper = False,
    save: Save = None,
    page: Page = None,
    java: Java = None,
    home: Home = None,
    classpath: Classpath = None,
    protocol: ProtocolOfFile = None,
    exec: Exec = None,
    format: Formats = Format.text,
) -> int:
    """Execute a saved schedule again: the same run everywhere, but on a real ensemble only as far as possible."""
    data = read(file, schedules.MAX_BYTES)
    for option, out in (("save", save), ("page", page)):
        if out is not None and not on_zookeeper:
            raise BadInput(f"--{option}: only with --on-zookeeper")
    if is_for_an_ensemble(data):
        if on_zookeeper:
            raise BadInput(f"--on-zookeeper: expected a run of the model, {file} is for real servers already")
        if protocol is not None or exec is not None:
            option = "exec" if protocol is None else "protocol"
            raise BadInput(f"--{option}: only for a schedule of the simulator, which {file} is not")
        if trace is not None:
            check_trace(trace, file)
        of_ensemble = ensemble_schedule(data, file)
        is_simulated = simulates(bool(simulated) if of_ensemble.simulated is None else simulated, java)
        found = found_distribution(java, home, classpath)
        return replay_ensemble(of_ensemble, file, times, found, trace, format, exact, is_simulated)
    if on_zookeeper:
        if protocol is not None or exec is not None or exact:
            option = "exact" if exact else "exec" if protocol is None else "protocol"
            raise BadInput(f"--{option}: does not go with --on-zookeeper")
        _, schedule = load_schedule(data, str(file))
        for option, out in (("--trace", trace), ("--save", save), ("--page", page)):
            if out is not None:
                check_trace(out, file, option)
        found = found_distribution(java, home, classpath)
        return replay_on_servers(schedule, file, times or 1, found, save, trace, page, format, bool(simulated))
    options = {
        "times": times,
        "exact": exact or None,
        "processes" if simulated is False else "simulated": simulated,
        "java": java,
        "zookeeper-home": home,
        "classpath": classpath,
    }
    for option, value in options.items():
        if value is not None:
            raise BadInput(f"--{option}: only for the schedule of a real ensemble, which {file} is not")
    return replay_in_simulator(data, file, protocol, exec, trace, format)


def replay_in_simulator(
    data: bytes, file: Path, protocol: str | None, exec: str | None, trace: Path | None, format: Format
) -> int:
    """Execute a schedule of the simulator, print what happened, and return the exit code."""
    executed, schedule = load_schedule(data, str(file), protocol, exec)
    if trace is not None:
        check_trace(trace, file)
    replayed = replay_on(executed, schedule)
    story = explained(replayed, file) if replayed.raised is not None else None
    if story is not None and story.raised is not None and not story.raised.is_modelled:
        raise ProtocolFailed(story, file)
    wrote = None
    if trace is not None:
        with writing("--trace", trace):
            wrote = write(trace, replayed.trace)
    code, why = on_verdicts(replayed.verdicts) if story is None else on_story(story)
    if format is Format.json:
        print_json("replay", **_fields(replayed, story, file, wrote))
        return code
    console = make_console()
    if code == VIOLATED:
        console.print(terminal.render(story or explained(replayed, file), quote(str(file))), crop=False)
        console.print()
    if story is None:
        console.print(render_verdicts(replayed.verdicts))
    console.print(f"\n{counted(replayed.steps, 'step', 'steps')}, trace SHA-256 {replayed.sha256}")
    if replayed.skipped:
        console.print(f"choices that were not possible when their turn came: {replayed.skipped}")
    if wrote is not None:
        print_path(console, f"wrote {wrote}")
    if code == INCONCLUSIVE and is_class(executed.name):
        why = f"no step raised; {why}"
    if schedule.violates in [v.property for v in replayed.verdicts if v.status != "violated"]:
        why += f"; the schedule is said to violate {schedule.violates}, and does not"
    return conclude(console, code, why, another("play", str(file), keep=SOURCE))


def _fields(replayed: Replay, story: Story | None, file: Path, trace: Path | None) -> dict[str, object]:
    """Return a run of the simulator as the fields of the command's JSON."""
    return {
        "schedule": as_text(file),
        "steps": replayed.steps,
        "skipped": replayed.skipped,
        "sha256": replayed.sha256,
        "trace": trace and as_text(trace),
        "goals": replayed.goals,
        "verdicts": replayed.verdicts,
        "raised": story and story.raised,
    }


def load_schedule(
    data: bytes, file: str, protocol: str | None = None, command: str | None = None
) -> tuple[Protocol, Schedule]:
    """Read a schedule, and look up the protocol that it names, with its mutant; `file` is for messages.

    With `protocol` it is that one, with `command` that of its nodes, whatever the schedule names. A command that only
    the schedule names is not started, and a class not imported: the schedule may be somebody else's.
    ScheduleError if `data` is no schedule; BadInput if something that it names does not exist.
    """
    if is_for_an_ensemble(data):
        raise BadInput(f"{file}: expected a schedule of the simulator, this is one of a real ensemble: zabcheck replay")
    said = named_instead(data, file, protocol, command)  # it may have its own switches
    schedule = with_protocol(schedules.load(data, file), said, command)
    return protocol_of(schedule, data, file), schedule


def named_instead(data: bytes, file: str, protocol: str | None, command: str | None) -> str | None:
    """Return the name of the protocol that options give instead of the one that `data` names; None if they give none.

    BadInput if one is needed: a command is not started, and a class not imported, because a file names it.
    """
    if protocol is not None or command is not None:
        return named(protocol, command)
    if why := untrusted(schedules.protocol_in(data)):
        raise BadInput(f"{file}: {why}")
    return None


def with_protocol(schedule: Schedule, said: str | None, command: str | None) -> Schedule:
    """Return the schedule for the protocol that options give, if any; a mutant is only that of the same protocol."""
    if said is None:
        return schedule
    is_same = said == schedule.protocol or (command and command_of(schedule.protocol))
    return structs.replace(schedule, protocol=said, mutant=schedule.mutant if is_same else None)


def protocol_of(schedule: Schedule, data: bytes, file: str, place: str = "choices[{}]") -> Protocol:
    """Look up the protocol that a schedule names, with its mutant. `data` has it, in a file of this name.

    `place` is the path of a choice in it, with braces for its index. BadInput or ScheduleError with line and field if
    something that it names does not exist.
    """

    def at(field: str) -> str:
        return f"{file}{place_of(data, field)}: "

    with bad_input_for(ValueError, lambda: at("protocol")):
        executed = mutated(schedule.protocol)
    with bad_input_for(ValueError, lambda: at("mutant")):
        executed = planted(executed, schedule.mutant)
    with bad_input_for(ValueError, lambda: at("switches")):
        refuse_elections(schedule.switches.elections, executed)
    if schedule.violates is not None and schedule.violates not in {**PROPERTIES, **FURTHER}:
        said = like(schedule.violates, (*PROPERTIES, *FURTHER))
        raise BadInput(f"{at('violates')}no property `{schedule.violates}`; {said}")
    schedules.check_kinds(schedule, tuple(executed.kinds.values()), data, file, place)
    return executed


def explained(replayed: Replay, file: Path) -> Story:
    """Tell what happened in a run. BadInput if the protocol is not deterministic."""
    with bad_input_for(ValueError, f"{file}: "):
        return explain_replay(replayed, decisive=True)


def check_trace(trace: Path, schedule: Path, option: str = "--trace") -> None:
    """Check that `trace` may be written. BadInput if it is a device, a folder, the schedule itself, or nowhere."""
    with bad_path(option, trace):
        os.stat(os.path.join(trace.absolute().parent, "."))
        if str(trace) == STDIN or (trace.exists() and not trace.is_file()):
            raise BadInput(f"{option} {trace}: expected the name of a file")
        if trace.exists() and schedule.exists() and trace.samefile(schedule):
            raise BadInput(f"{option} {trace}: expected another file than the schedule")
