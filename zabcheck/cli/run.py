"""`zabcheck run`: search, minimise, explain."""

from collections.abc import Collection
from pathlib import Path
from secrets import randbelow
from shlex import quote
from time import process_time
from typing import Annotated, Any, NamedTuple

import msgspec
import typer
from msgspec import structs

from zabcheck.cli.commands import (
    STEPS,
    Engines,
    Exec,
    Format,
    Formats,
    Mutants,
    Processes,
    Properties,
    ProtocolFailed,
    Protocols,
    Quorums,
    Settings,
    Steps,
    command,
)
from zabcheck.cli.commands import named as named_protocol
from zabcheck.cli.files import bad_input_for, check_out, writing
from zabcheck.cli.next_step import again, another, given, to_loss, to_play
from zabcheck.cli.output import interrupts, make_console, print_json, print_path, progress
from zabcheck.cli.verdict import INCONCLUSIVE, OK, VIOLATED, conclude, named, to_exercise, without
from zabcheck.counterexample.forms import terminal
from zabcheck.counterexample.making import counterexample
from zabcheck.counterexample.saving import save
from zabcheck.counterexample.story import Story
from zabcheck.invariants import GROUPS, select
from zabcheck.invariants.quorums import MAJORITY, quorums_of
from zabcheck.mutants.catalogue import mutated
from zabcheck.protocols import PROTOCOLS
from zabcheck.protocols.base import check_quorums
from zabcheck.protocols.switch_settings import switches_of
from zabcheck.search.engines import DEFAULT, Engine, find
from zabcheck.search.goals import GOALS
from zabcheck.search.minimise import SECONDS
from zabcheck.search.moves import drawing_disks
from zabcheck.search.report import summary as summaries
from zabcheck.search.run import (
    DEFAULT_PROCESSES,
    PropertyBroken,
    ProtocolRaised,
    Replay,
    Run,
    Search,
)
from zabcheck.search.tally import PropertySummary, Summary, Tally
from zabcheck.simulation.processes import in_the_middle_of
from zabcheck.text.nodes import command_of
from zabcheck.text.words import as_text, counted

Seed = Annotated[int | None, typer.Option("--seed", min=0, help="The same seed gives the same search.")]
Runs = Annotated[int, typer.Option("--runs", min=1, help="The least number of runs.")]
Out = Annotated[Path, typer.Option("--out", help="Where a counterexample is written.")]


Minimise = Annotated[
    float,
    typer.Option(
        "--minimise",
        metavar="SECONDS",
        min=0,
        help="How much CPU time, and time of nodes that do not answer, to spend on making a counterexample shorter.",
    ),
]
Disks = Annotated[
    bool,
    typer.Option("--disks", help="Wipe disks, or put older copies in their place, too: Zab promises nothing then."),
]


@command
def run(
    protocol: Protocols = None,
    exec: Exec = None,
    mutant: Mutants = None,
    engine: Engines = DEFAULT,
    processes: Processes = None,
    seed: Seed = None,
    runs: Runs = 5000,
    steps: Steps = None,
    quorums: Quorums = None,
    switch: Settings = None,
    disks: Disks = False,
    property: Properties = None,
    minimise: Minimise = SECONDS,
    out: Out = Path("reports"),
    format: Formats = Format.text,
) -> int:
    """Search for a run that breaks a property, minimise it, and explain it."""
    protocol = named_protocol(protocol, exec)
    with bad_input_for(ValueError):
        checked = mutated(protocol, mutant)
        kinds = select(property or checked.properties)
    if disks:
        with bad_input_for(ValueError, "--disks: "):
            checked = drawing_disks(checked)
    if engine is Engine.hypothesis or quorums is not None:
        processes = processes or DEFAULT_PROCESSES
        quorums = quorums or (None if checked.environment.configurations else MAJORITY)
    with bad_input_for(ValueError, "--quorums: "):
        family = None if processes is None or quorums is None else quorums_of(quorums, processes)
        if family is not None:
            check_quorums(checked, family)
    with bad_input_for(ValueError, "--switch: "):
        fixed = switches_of(switch or (), checked)
    keep = (*fixed, *(["quorums"] if quorums is not None else []))
    check_out(out)
    seed = randbelow(2**32) if seed is None else seed
    tally = Tally(kinds, followers=property is None)
    names = tuple(kind.name for kind in kinds)
    start = process_time()
    search = Search(checked, processes, names, runs, steps or STEPS, seed, quorums=family, fixed=fixed)
    found, interrupt = _find(engine, search, tally)
    if isinstance(found, ProtocolRaised) and not found.raised.is_modelled:
        raise protocol_failed(found, out, keep, minimise)
    summary = Summary(
        protocol=protocol,
        mutant=mutant,
        engine=engine,
        processes=processes,
        seed=seed,
        quorums=quorums,
        switches=fixed,
        interrupted=interrupt is not None,
        found_by=None if found is None else found.seed,
        seconds=round(process_time() - start, 3),
        **_sums(tally),
    )
    if found is None:
        return finish_run(summary, format, where=in_the_middle_of(interrupt))
    return _explain(found, summary, keep, minimise, out, format)


def _find(
    engine: Engine, search: Search, tally: Tally
) -> tuple[PropertyBroken | ProtocolRaised | None, KeyboardInterrupt | None]:
    """Search, counting each run, until a run fails, none is left, or Ctrl-C; return the failure, and the Ctrl-C."""
    with progress(search.runs, "searching") as advance, interrupts() as look_for_interrupt:

        def on_run(each: Run) -> None:
            tally.add(each)
            advance(counted(tally.steps, "step", "steps"), tally.runs)
            if tally.violated is None:  # or else this run was the last one anyway
                look_for_interrupt()

        try:
            return find(engine, structs.replace(search, on_run=on_run)), None
        except KeyboardInterrupt as interrupt:
            return None, interrupt
        except ProtocolRaised as error:
            return error, None


def _explain(
    found: PropertyBroken | ProtocolRaised,
    summary: Summary,
    keep: Collection[str],
    seconds: float,
    out: Path,
    format: Format,
) -> int:
    """Minimise the run that was found, save it to `out`, and print all; return the exit code."""
    with bad_input_for(ValueError):
        try:
            replayed, story = counterexample(found, seconds, keep)
        except KeyboardInterrupt:
            summary = structs.replace(summary, interrupted=True)
            replayed, story = counterexample(found, seconds=0)
    files: list[Path] = []
    with writing("--out", out):
        files = save(out, replayed, story)
    return finish_run(summary, format, Counterexample(replayed, story, files))


def protocol_failed(
    error: ProtocolRaised, out: Path, keep: Collection[str] = (), seconds: float = SECONDS
) -> ProtocolFailed:
    """Save the shortest schedule that makes the protocol's code raise; return what to say of it."""
    with bad_input_for(ValueError):
        try:
            replayed, story = counterexample(error, seconds, keep)
        except KeyboardInterrupt:
            replayed, story = counterexample(error, seconds=0, keep=keep)
    files: list[Path] = []
    with writing("--out", out):
        files = save(out, replayed, story)
    return ProtocolFailed(story, files[0] if files else None, files)


def _sums(tally: Tally) -> dict[str, Any]:
    """Return the fields of a summary that are sums over all runs."""
    return {
        "runs": tally.runs,
        "steps": tally.steps,
        "properties": properties_of(tally),
        "goals": tally.goals,
        "sizes": tally.sizes,
        "weighted": tally.weighted,
        "faults": tally.faults,
        "unseen": tally.unseen,
        "undelivered": tally.undelivered,
        "exits": tally.exits,
    }


def properties_of(tally: Tally) -> tuple[PropertySummary, ...]:
    """Sum up what the runs say of each property."""

    def status(name: str) -> str:
        if name == tally.violated:
            return "violated"
        return "holds" if tally.exercised[name] else "not exercised"

    return tuple(
        PropertySummary(name, status(name), tally.exercised[name], tally.judged[name]) for name in tally.judged
    )


class Counterexample(NamedTuple):
    """A counterexample, and the files that it was written to."""

    replayed: Replay
    story: Story
    files: list[Path]

    def as_json(self) -> dict[str, Any]:
        return {
            "violation": self.story.violation,
            "raised": self.story.raised,
            "steps": self.replayed.steps,
            "is_minimal": self.story.is_minimal,
            "sha256": self.replayed.sha256,
            "schedule": self.replayed.schedule,
            "files": [as_text(file) for file in self.files],
        }


def finish_run(summary: Summary, format: Format, found: Counterexample | None = None, where: str = "") -> int:
    """Print what a search found; return the exit code. `where` says in the middle of what Ctrl-C came, if it came."""
    code = code_of(summary, found)
    if format is Format.json:
        print_json("run", **msgspec.to_builtins(summary), counterexample=found and found.as_json())
        return code
    console = make_console()
    console.print(summaries.render(summary, GOALS))
    if found is not None:
        console.print()
        saved = quote(str(found.files[0])) if found.files else "FILE"
        console.print(terminal.render(found.story, saved), crop=False)
        for file in found.files:
            print_path(console, f"wrote {file}")
        if not found.story.is_minimal:
            print_path(console, f"to shorten it further: {_longer(summary)}")
        if loss := to_loss(found.files, found.story):
            print_path(console, f"what a user loses: {loss}")
    return conclude(console, code, *reason(summary, found, where))


def _longer(summary: Summary) -> str:
    """Return the command that finds the same run again, with ten times as long to make it shorter, or the default."""
    seconds = round(max(SECONDS, 10 * float(given("minimise") or SECONDS)))
    if summary.found_by is None:
        return again(seed=summary.seed, minimise=seconds)
    return again(seed=summary.found_by, runs=1, minimise=seconds)


def code_of(summary: Summary, found: Counterexample | None) -> int:
    """Return the exit code of a search."""
    if found is not None:
        return VIOLATED
    if summary.interrupted or summary.undelivered or any(each.status != "holds" for each in summary.properties):
        return INCONCLUSIVE
    return OK


def reason(summary: Summary, found: Counterexample | None, where: str) -> tuple[str, str]:
    """Return why a search ends with its exit code, and what to do next."""
    what = summary.protocol + (f" with mutant {summary.mutant}" if summary.mutant else "")
    runs = counted(summary.runs, "run", "runs")
    if found is not None:
        broken = "a property" if found.story.violation is None else found.story.violation.property
        then = to_play(found.files, summary.protocol)
        if found.story.raised is not None:
            return f"{what} has an error, in run {summary.runs + 1:,}: {found.story.raised.error}", then
        return f"{broken} is violated by {what}, in run {summary.runs:,}", then
    if summary.interrupted:
        return f"interrupted after {runs}, in which {what} broke nothing{where}", again(seed=summary.seed)
    if summary.undelivered is not None:
        return summaries.undelivered(summary.undelivered), to_deliver(summary)
    unexercised = [each.property for each in summary.properties if each.status != "holds"]
    if unexercised:
        return f"no run of {runs} exercised {named(unexercised)}", to_exercise(unexercised, summary.runs)
    fixed = not _changes_configurations(summary.protocol)
    weights = ", some with weights" if summary.weighted and summary.quorums is None and fixed else ""
    covered = f"{runs} of {summaries.sizes_in(summary)}{weights}, with {summaries.faults_in(summary)}"
    judged = [each.property for each in summary.properties]
    broke = f"broke none of {len(judged)} properties" if len(judged) > 1 else f"did not break {named(judged)}"
    ended = "" if summary.exits is None else f"; in {summary.exits.runs:,} of them a process ended for good"
    left_out = without(summary.protocol, summary.switches)
    return f"{what} {broke} in {covered}{ended}{left_out}", to_explore(summary)


def to_deliver(summary: Summary) -> str:
    """Return what shows why followers deliver nothing; "" if nothing judges that."""
    if summary.undelivered is not None and summary.undelivered.undisturbed:
        return again(property="liveness")
    nodes = command_of(summary.protocol)
    is_of_maelstrom = nodes is not None and nodes.is_of_maelstrom
    return "what these answer to `poll` (docs/any-language.md#nodes-of-maelstrom)" if is_of_maelstrom else ""


def _changes_configurations(protocol: str) -> bool:
    """Return True for a protocol of zabcheck's own whose configuration changes."""
    known = PROTOCOLS.get(protocol)
    return known is not None and known.environment.configurations


def to_explore(summary: Summary) -> str:
    """Return the command that visits every state, after a search that has found nothing; "" if there is none.

    It needs nodes that save their state, few processes, and quorums that are fixed; it does not judge every property.
    """
    if _changes_configurations(summary.protocol):
        return ""
    nodes = command_of(summary.protocol)
    if nodes is not None:
        from zabcheck.protocols.external.protocol import external, saves

        if not saves(external(nodes.text)):
            return ""
    if processes := given("processes"):
        from zabcheck.explore.exploration import MOST_PROCESSES

        if int(processes) > MOST_PROCESSES:
            return ""
    in_no_state = (*GROUPS["liveness"], *GROUPS["application"])
    if all(each.property in in_no_state for each in summary.properties):
        return ""
    from zabcheck.explore.report import FINER

    finer = [FINER.get(each, each) for each in given("switch") or ()]
    kept = ["protocol", "exec", "mutant", "processes", "quorums", "property"]
    return another("explore", keep=kept, **({"switch": finer} if finer else {}))
