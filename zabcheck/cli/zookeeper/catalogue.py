"""`zabcheck zookeeper catalogue`: executes the schedules of ZooKeeper's known bugs, and says which of them it has."""

import tempfile
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Annotated, Any

import typer

from zabcheck.cli.commands import Format, Formats, command_of
from zabcheck.cli.files import bad_input_for, check_out, ending
from zabcheck.cli.next_step import again, another
from zabcheck.cli.output import make_console, print_json, print_path, progress
from zabcheck.cli.verdict import INCONCLUSIVE, OK, VIOLATED, conclude, named
from zabcheck.cli.zookeeper.builds import (
    Classpaths,
    Homes,
    Java,
    Simulated,
    found_distributions,
    quick_to_start,
    simulates,
)
from zabcheck.cli.zookeeper.command import zookeeper
from zabcheck.cli.zookeeper.recordings import save_report
from zabcheck.text.files import replace_folder
from zabcheck.text.words import counted
from zabcheck.zookeeper.bugs import catalogue as bugs
from zabcheck.zookeeper.bugs.catalogue import Bug, UnknownBug
from zabcheck.zookeeper.bugs.executed import Executions, not_executable
from zabcheck.zookeeper.report import bugs as reports
from zabcheck.zookeeper.run.distribution import Distribution
from zabcheck.zookeeper.verdict.known_issues import READ, parsed


def _completed(incomplete: str) -> list[str]:
    return [bug.name for bug in bugs.BUGS if bug.name.lower().startswith(incomplete.lower())]


def bugs_option(help: str) -> Any:
    """Return an option that takes names of bugs of the catalogue, which a shell completes."""
    return typer.Option(metavar="NAME", help=help, autocompletion=_completed)


@command_of(zookeeper)
def catalogue(
    bug: Annotated[
        list[str] | None, bugs_option("Only this bug (4643, ack-before-trunc); repeat it for several.")
    ] = None,
    list_only: Annotated[
        bool, typer.Option("--list", help="Only list the bugs, with what is known of each; execute nothing.")
    ] = False,
    version: Annotated[
        str | None,
        typer.Option(metavar="VERSION", help="Only list the bugs that this version has (3.8.4); execute nothing."),
    ] = None,
    times: Annotated[int, typer.Option(min=1, help="How often each schedule is executed.")] = 3,
    simulated: Simulated = None,
    java: Java = None,
    home: Homes = None,
    classpath: Classpaths = None,
    out: Annotated[Path, typer.Option(help="Where a run that shows a bug is kept, with its report.")] = Path("reports"),
    format: Formats = Format.text,
) -> int:
    """Execute the schedules of ZooKeeper's known bugs, or list them: which of them a version has, and what to do."""
    chosen = bugs_named(bug) if bug else list(bugs.BUGS)
    if list_only or version is not None:
        return _list(chosen, version, format)
    check_out(out)
    executing = _Executing(
        chosen, found_distributions(java, home or (), classpath or ()), times, out, simulates(simulated, java)
    )
    interrupted = False
    try:
        executing.run()
    except KeyboardInterrupt:
        interrupted = True
    code, why = outcome(executing.executed, interrupted)
    if format is Format.json:
        print_json("zookeeper catalogue", **reports.as_json(executing.executed), interrupted=interrupted)
        return code
    console = make_console()
    console.print(reports.render(executing.executed))
    for each in executing.executed:
        if each.kept is not None:
            print_path(console, f"kept {each.kept}")
    kept = [each.kept for each in executing.executed if each.kept is not None]
    return conclude(console, code, why, f"open {kept[0]}/report.html" if kept else "")


def _list(chosen: Sequence[Bug], version: str | None, format: Format) -> int:
    """List bugs: those that a version has, or all. Nothing is executed and no jar is read."""
    with bad_input_for(ValueError):
        has = [bug for bug in chosen if version is None or bug.known.affects(version)]
    code, why = _known(len(chosen), [bug.name for bug in has], version)
    if format is Format.json:
        print_json("zookeeper catalogue", bugs=reports.listed_as_json(has, version), zookeeper=version)
        return code
    console = make_console()
    console.print(reports.listed(has, version))
    return conclude(console, code, why, "" if version is None else _next(chosen, has, version))


def _next(chosen: Sequence[Bug], has: Sequence[Bug], version: str) -> str:
    """Return the next step for a version: one whose bugs are known, one with fewer of them, or to execute a bug."""
    oldest, newest = READ
    if parsed(version) < parsed(oldest):
        return again(version=oldest)
    left = [bug for bug in chosen if bug.known.affects(newest)]
    if parsed(version) > parsed(newest) or len(left) < len(has):
        return again(version=newest)
    return another("zookeeper", "catalogue", bug=has[0].name) if has else ""


def _known(asked: int, has: Sequence[str], version: str | None) -> tuple[int, str]:
    """Return the exit code for a version that has these bugs by the sources, and why."""
    if version is None:
        return OK, f"{counted(len(has), 'known bug is', 'known bugs are')} listed, nothing was executed"
    oldest, newest = READ
    if not parsed(oldest) <= parsed(version) <= parsed(newest):
        return INCONCLUSIVE, f"the bugs of ZooKeeper {oldest} to {newest} are known, not all of those of {version}"
    if has:
        return (
            VIOLATED,
            f"ZooKeeper {version} has {len(has)} of {counted(asked, 'known bug', 'known bugs')}: {named(has)}",
        )
    return OK, f"ZooKeeper {version} has none of {counted(asked, 'known bug', 'known bugs')}"


def bugs_named(names: Sequence[str]) -> list[Bug]:
    """Return the bugs of these names, each once. BadInput if there is none of such a name."""
    with bad_input_for(UnknownBug):
        return list(dict.fromkeys(map(bugs.named, names)))


class _Executing:
    """The executions of all `bugs` on all builds: a version after the other, `times` for each bug."""

    def __init__(
        self, bugs: Sequence[Bug], distributions: Sequence[Distribution], times: int, out: Path, simulated: bool
    ) -> None:
        self.executed: list[Executions] = []
        self._bugs = bugs
        self._distributions = distributions
        self._times = times
        self._out = out
        self._simulated = simulated
        self._done = 0

    def run(self) -> None:
        """Execute everything. KeyboardInterrupt after Ctrl-C: what was executed until then counts."""
        total = self._times * len(self._bugs) * len(self._distributions)
        with (
            tempfile.TemporaryDirectory(prefix="zabcheck-") as folder,
            progress(total, "running", "executions") as advance,
        ):
            for distribution in self._distributions:
                with ExitStack() as stack:
                    runs = self._times * len(self._bugs)
                    quick = stack.enter_context(quick_to_start(distribution, runs, self._simulated))
                    for bug in self._bugs:
                        executed = Executions(bug, distribution.version)
                        self.executed.append(executed)
                        executed.cannot = not_executable(bug.schedule(), distribution)
                        for _ in range(0 if executed.cannot else self._times):
                            self._execute(executed, quick, Path(folder, "run"))
                            self._done += 1
                            shown = sum(each.shown for each in self.executed)
                            advance(f"{bug.name} with {distribution.version}; {shown} showed a bug", self._done)

    def _execute(self, executed: Executions, distribution: Distribution, folder: Path) -> None:
        """Execute a bug's schedule once; keep the first run that shows the bug, with its report."""
        from zabcheck.zookeeper.run.search import attempt

        schedule = executed.bug.schedule()
        with ending("a folder for the run", folder):
            tried = attempt(schedule, distribution, folder)
        if tried.interrupted:
            raise KeyboardInterrupt
        shows = any(map(tried.shows, executed.bug.finds))
        executed.add(shows, tried.judged, tried.error)
        if shows and executed.kept is None:
            kept = self._out / f"zookeeper-{executed.zookeeper}-{executed.bug.name}"
            with ending("--out", self._out):
                replace_folder(kept, folder)
                save_report(tried.schedule, tried.judged._replace(folder=kept))
            executed.kept = kept


def outcome(executed: Sequence[Executions], interrupted: bool) -> tuple[int, str]:
    """Return the exit code for executions of the catalogue, and why."""
    times = sum(each.times for each in executed)
    versions = ", ".join(dict.fromkeys(each.zookeeper for each in executed))
    what = f"{counted(times, 'execution', 'executions')} with ZooKeeper {versions}"
    shown = [f"{each.bug.name} ({each.shown} of {each.times} with {each.zookeeper})" for each in executed if each.shown]
    if shown:
        return VIOLATED, f"{what} showed {named(shown)}"
    wrong = {name: None for each in executed for name in each.wrong}
    if wrong:
        return VIOLATED, f"{what} showed none of the bugs, but something else is wrong: {named(wrong)}"
    if interrupted:
        return INCONCLUSIVE, f"interrupted after {what}, which showed no bug"
    partial = sum(each.partial for each in executed)
    cannot = [f"{each.bug.name} with {each.zookeeper}" for each in executed if each.cannot]
    if partial:
        error = next((each.error for each in executed if each.error), "a part of the recording is missing")
        return INCONCLUSIVE, f"{partial} of {what} not recorded to the end: {error}"
    if not times:
        return INCONCLUSIVE, f"nothing could be executed: {named(cannot)}"
    not_executed = f"; not executed: {named(cannot)}" if cannot else ""
    return OK, f"{what} showed none of the bugs{not_executed}"
