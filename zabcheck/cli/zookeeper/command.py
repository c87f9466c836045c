"""`zabcheck zookeeper`: breaks an ensemble of real servers, simulated or processes, and judges what it does."""

import shutil
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from secrets import randbelow
from typing import Annotated

import typer

from zabcheck.cli.commands import BadInput, Commands, Format, Formats, Properties, app, example_of, guarded
from zabcheck.cli.files import bad_input_for, check_out, ending, writing
from zabcheck.cli.next_step import again, another
from zabcheck.cli.output import make_console, print_json, print_path, progress
from zabcheck.cli.verdict import INCONCLUSIVE, OK, VIOLATED, conclude, named
from zabcheck.cli.zookeeper.builds import (
    Classpath,
    Home,
    Java,
    Simulated,
    found_distribution,
    quick_to_start,
    simulates,
)
from zabcheck.cli.zookeeper.recordings import SCHEDULE, keep, save_report
from zabcheck.cli.zookeeper.shorten import Shortening
from zabcheck.counterexample.forms import terminal
from zabcheck.counterexample.story import Story
from zabcheck.invariants import select
from zabcheck.text.words import as_text, counted
from zabcheck.zookeeper.recording.folder import RecordingError
from zabcheck.zookeeper.report import runs as reports
from zabcheck.zookeeper.report.packets import render_divergence
from zabcheck.zookeeper.report.runs import EnsembleSummary
from zabcheck.zookeeper.report.threads import ThreadOrders
from zabcheck.zookeeper.report.threads import render as thread_orders
from zabcheck.zookeeper.run import schedule as schedules
from zabcheck.zookeeper.run.distribution import Distribution
from zabcheck.zookeeper.run.draw import draw
from zabcheck.zookeeper.run.schedule import EnsembleSchedule
from zabcheck.zookeeper.verdict.judge import SEVEREST, RecordingVerdict

RUNS, RUNS_SIMULATED = 10, 100
"""Runs of processes, and of simulated servers, unless it is said how many: a minute or two."""
CONFIRMED = 3
"""Executions on processes of what simulated servers show, unless it is said how many."""
FAILURES_IN_A_ROW = 3
"""The number of failed runs in a row after which the search ends: the ensemble itself failed in each."""

zookeeper = typer.Typer(
    name="zookeeper",
    cls=Commands,
    invoke_without_command=True,
    epilog=example_of("zookeeper"),
    help="Break an ensemble of unmodified ZooKeeper servers on purpose, and judge what it does.",
)
app.add_typer(zookeeper, name="zookeeper")


@zookeeper.callback()
def ensemble(
    context: typer.Context,
    seed: Annotated[
        int | None, typer.Option(min=0, max=2**63 - 1, help="The seed of the first run; the others follow.")
    ] = None,
    runs: Annotated[
        int | None,
        typer.Option(min=1, help="How many runs; by default 100, or 10 with --processes, 5 to 10 seconds each."),
    ] = None,
    servers: Annotated[int, typer.Option(help="How many servers: 3 or 5.")] = 3,
    threads: Annotated[
        bool, typer.Option("--threads", help="Hold single threads of the servers at drawn points, too.")
    ] = False,
    sessions: Annotated[
        bool, typer.Option("--sessions", help="Have sessions change, delete and read nodes, move and end, too.")
    ] = False,
    observers: Annotated[int, typer.Option(min=0, max=2, help="How many more servers, which do not vote.")] = 0,
    disks: Annotated[
        bool,
        typer.Option(
            "--disks",
            help="Wipe or restore the disk of a server, have writes of epochs fail and power losses undo renames, too.",
        ),
    ] = False,
    simulated: Simulated = None,
    jobs: Annotated[int, typer.Option(min=1, max=64, help="How many runs go on at a time.")] = 1,
    property: Properties = None,
    java: Java = None,
    home: Home = None,
    classpath: Classpath = None,
    minimise: Annotated[
        int,
        typer.Option(
            metavar="SECONDS",
            min=0,
            help="How long to look for a shorter schedule, if something is wrong; of simulated servers two executions "
            "stand for a second. It is then executed 5 times more, simulated 20 times.",
        ),
    ] = 120,
    confirm: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            min=0,
            help="How many times to execute on real processes what simulated servers have shown; by default 3.",
        ),
    ] = None,
    out: Annotated[Path, typer.Option(help="Where recordings and reports are written.")] = Path("reports"),
    keep: Annotated[
        bool,
        typer.Option("--keep", help="Keep every run: its recording, and the data directories for `zookeeper logs`."),
    ] = False,
    format: Formats = Format.text,
) -> int:
    """Break an ensemble of unmodified ZooKeeper servers on purpose, and judge what it does."""
    if context.invoked_subcommand is not None:
        for option in context.command.params:
            source = context.get_parameter_source(option.name or "")
            if source is not None and source.name == "COMMANDLINE":
                raise BadInput(f"{option.opts[0]} does not go with the command `{context.invoked_subcommand}`")
        return OK

    def search() -> int:
        names = judging(property)
        if servers not in schedules.SIZES:
            raise BadInput(f"--servers {servers}: expected 3 or 5")
        is_simulated = simulates(simulated, java)
        if confirm and not is_simulated:
            raise BadInput("--confirm: only for simulated servers, these are processes")
        check_out(out)
        distribution = found_distribution(java, home, classpath)
        first = randbelow(2**32) if seed is None else seed
        number = runs or (RUNS_SIMULATED if is_simulated else RUNS)
        times = CONFIRMED * is_simulated if confirm is None else confirm
        with quick_to_start(distribution, number, is_simulated) as quick:
            searching = Searching(quick, servers, names, out, keep, jobs, threads, sessions, observers, disks)
            return searching.search(range(first, first + number), minimise, format, times)

    return guarded(search)


def judging(properties: Sequence[str] | None) -> list[str] | None:
    """Return the names of the properties that --property names, None for all. BadInput if there is no such one."""
    with bad_input_for(ValueError):
        return None if properties is None else [kind.name for kind in select(properties)]


class Searching:
    """A search: all runs are added up, and those in which something is wrong are kept."""

    def __init__(
        self,
        distribution: Distribution,
        servers: int,
        properties: Sequence[str] | None,
        out: Path,
        keep: bool,
        jobs: int,
        threads: bool = False,
        sessions: bool = False,
        observers: int = 0,
        disks: bool = False,
    ) -> None:
        self.disks = disks
        self.sessions = sessions
        self.observers = observers
        self.threads = ThreadOrders() if threads else None
        self.distribution = distribution
        self.servers = servers
        self.properties = properties
        self.out = out
        self.keep = keep
        self.jobs = jobs
        self.summary = EnsembleSummary(distribution.version, servers, simulated=distribution.simulation is not None)
        self.kept: list[Path] = []
        self.worst: tuple[EnsembleSchedule, RecordingVerdict] | None = None
        """The worst run; once a shorter schedule was found, the run that shows the same with it."""
        self.shortening: Shortening | None = None

    def search(self, seeds: Sequence[int], minimise: int, format: Format, confirm: int = 0) -> int:
        """Run, minimise and report; return the exit code. After Ctrl-C what was done until then is reported."""
        files: list[Path] = []
        story: Story | None = None
        schedule: EnsembleSchedule | None = None
        try:
            self._run_all(seeds)
            if self.worst is not None:
                folder = self._folder("minimised")
                self.shortening = Shortening(*self.worst, self.distribution, self.properties, folder)
                self.shortening.shorten(minimise)
                self.shortening.confirm(confirm)
        except KeyboardInterrupt:
            self.summary.interrupted = True
        if self.shortening is not None:
            self.worst = self.shortening.schedule, self.shortening.judged
        if self.worst is not None:
            schedule, judged = self.worst
            schedule = schedules.replaced(schedule, zookeeper=self.distribution.version, finds=judged.wrong[0])
            with writing("--out", self.out):
                story, files = save_report(schedule, judged)
            if judged.folder not in self.kept:
                self.kept.append(judged.folder)
        if format is Format.json:
            print_json(
                "zookeeper",
                **self.summary.as_json(),
                **({} if self.threads is None else self.threads.as_json()),
                counterexample=story
                and story.violation
                and {
                    "violation": story.violation,
                    "schedule": schedule,
                    "files": [as_text(file) for file in files],
                    "again": again_of(self.shortening),
                    "on_processes": on_processes(self.shortening),
                },
                kept=[as_text(folder) for folder in self.kept],
            )
            return outcome(self.summary)[0]
        return self._print(story, files)

    def _folder(self, name: str) -> Path:
        return self.out / f"zookeeper-{self.distribution.version}-{self.servers}-{name}"

    def _run_all(self, seeds: Sequence[int]) -> None:
        """Do all runs, unless too many fail one after the other."""
        from zabcheck.zookeeper.run.search import attempts

        failures = 0
        threads = self.threads is not None
        drawn = {seed: draw(seed, self.servers, threads, self.sessions, self.observers, self.disks) for seed in seeds}
        tasks = [(schedule, self._folder(f"seed-{seed}")) for seed, schedule in drawn.items()]
        with (
            progress(len(seeds), "running") as advance,
            closing(attempts(tasks, self.distribution, self.properties, self.jobs, self.keep)) as tries,
        ):
            for number, seed in enumerate(seeds):
                with ending("--out", self.out), bad_input_for(RecordingError):
                    tried = next(tries, None)
                if tried is None:  # Ctrl-C came before it was begun
                    break
                folder = tasks[number][1]
                judged = tried.judged
                self.summary.add(judged, seed, tried.seconds, tried.error)
                if self.threads is not None:
                    self.threads.add(folder)
                if judged.wrong or tried.error or tried.interrupted or self.keep:
                    self._keep(folder, tried.schedule, judged)
                else:
                    shutil.rmtree(folder)
                if judged.wrong and (self.worst is None or _rank(judged) < _rank(self.worst[1])):
                    self.worst = tried.schedule, judged
                self.summary.interrupted |= tried.interrupted
                failures = failures + 1 if tried.error else 0
                if failures == FAILURES_IN_A_ROW:
                    break
                advance(f"{counted(len(self.summary.wrong), 'thing', 'things')} wrong", number + 1)
        if self.summary.interrupted:
            raise KeyboardInterrupt

    def _keep(self, folder: Path, schedule: EnsembleSchedule, judged: RecordingVerdict) -> None:
        with ending("--out", self.out):
            keep(folder, schedule, judged)
        self.kept.append(folder)

    def _print(self, story: Story | None, files: Sequence[Path]) -> int:
        console = make_console()
        console.print(reports.render(self.summary))
        if self.threads is not None:
            console.print("", thread_orders(self.threads), self.threads.total(), sep="\n")
        if story is not None:
            console.print()
            console.print(terminal.render(story, str(files[0]) if files else "FILE"), crop=False)
        if self.worst is not None and self.worst[1].steps.divergences:
            console.print()
            console.print(render_divergence(self.worst[1].steps.divergences[0]), crop=False)
        said = [] if self.shortening is None else [*self.shortening.sentences()]
        if said:
            console.print("", *said, "", sep="\n")
        for file in files:
            print_path(console, f"wrote {file}")
        for folder in self.kept:
            print_path(console, f"kept {folder}")
        code, why = outcome(self.summary)
        schedule = next((file for file in files if file.name == SCHEDULE), None)
        then = "" if code == OK else again(runs=2 * max(1, self.summary.runs))
        if schedule is not None:
            then = another("replay", str(schedule), keep=["java", "zookeeper-home", "classpath"])
        return conclude(console, code, why, then)


def again_of(shortening: Shortening | None) -> dict[str, int | bool] | None:
    """Count how often the shortest schedule showed the same again, for the JSON form; None if that was not counted."""
    if shortening is None or not shortening.times:
        return None
    exactly = {} if shortening.schedule.simulated is None else {"exactly": shortening.exactly}
    return {"shown": shortening.shown, "times": shortening.times, **exactly}


def on_processes(shortening: Shortening | None) -> dict[str, int] | None:
    """Count how often what simulated servers showed was shown on processes; None if none was started for that."""
    if shortening is None or not shortening.processes:
        return None
    return {"shown": shortening.confirmed, "times": shortening.processes}


def outcome(summary: EnsembleSummary) -> tuple[int, str]:
    """Return the exit code for runs of an ensemble, and why."""
    runs, what = counted(summary.runs, "run", "runs"), f"ZooKeeper {summary.zookeeper}"
    if summary.wrong:
        wrong = [f"{seen.name} in {seen.runs:,}" for seen in summary.wrong.values()]
        return VIOLATED, f"of {runs} of {what} something is wrong: {named(wrong)}"
    if summary.interrupted:
        return INCONCLUSIVE, f"interrupted after {runs}, in which nothing was wrong with {what}"
    if summary.failed:
        return INCONCLUSIVE, f"the ensemble itself failed in {summary.failed:,} of {runs}: {summary.error}"
    if summary.partial:
        return (
            INCONCLUSIVE,
            f"{summary.partial:,} of {runs} not recorded to the end: what could change is left open",
        )
    if not any(summary.exercised.values()):
        return INCONCLUSIVE, f"nothing in {runs} exercised any property"
    exercised = [name for name, times in summary.exercised.items() if times]
    judged = f"none of the {len(exercised)} properties" if len(exercised) > 1 else f"nothing: {named(exercised)} is all"
    return OK, f"{what} broke {judged} that {runs} exercised"


def _rank(judged: RecordingVerdict) -> int:
    """Rank a run by what is wrong in it: the lower, the worse."""
    return SEVEREST.index(judged.wrong[0]) if judged.wrong[0] in SEVEREST else len(SEVEREST)
