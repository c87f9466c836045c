"""`zabcheck zookeeper gate`: the checks that a patch of ZooKeeper has to pass before it is merged."""

import re
import shutil
import tempfile
from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path
from shlex import quote
from time import monotonic
from typing import TYPE_CHECKING, Annotated

import typer
from msgspec import structs

from zabcheck.cli.commands import BadInput, Format, Formats, command_of
from zabcheck.cli.files import check_out, ending
from zabcheck.cli.gate import CODES, JUnit, Summary, check_reports, tell_github, write_reports
from zabcheck.cli.next_step import again, given
from zabcheck.cli.output import doing, make_console, print_json, print_path
from zabcheck.cli.verdict import conclude
from zabcheck.cli.zookeeper.builds import (
    Classpath,
    Home,
    Java,
    Simulated,
    found_distribution,
    quick_to_start,
    simulates,
)
from zabcheck.cli.zookeeper.catalogue import bugs_named, bugs_option
from zabcheck.cli.zookeeper.command import FAILURES_IN_A_ROW, zookeeper
from zabcheck.cli.zookeeper.conform import PAGE, release_named
from zabcheck.cli.zookeeper.failure import Failure
from zabcheck.cli.zookeeper.shorten import MEASURED
from zabcheck.gate import report
from zabcheck.gate.checks import Outcome, Status
from zabcheck.text.words import counted
from zabcheck.zookeeper.bugs.catalogue import BUGS, Bug
from zabcheck.zookeeper.bugs.executed import Executions, not_executable
from zabcheck.zookeeper.conformance.conform import Conformance, conform, release_of
from zabcheck.zookeeper.conformance.gate import (
    CATALOGUE,
    CONFORMANCE,
    EXPECTED,
    SEARCH,
    Expectations,
    PatchReport,
    RecordingCheck,
    excuse_of,
    failure_of,
    is_expected,
    of_bug,
    of_conformance,
    of_raised,
    of_rates,
    of_search,
)
from zabcheck.zookeeper.conformance.rates import RaisedRate, Tally, drawn, measured, sights
from zabcheck.zookeeper.model.switches import Release
from zabcheck.zookeeper.report import bugs as reports
from zabcheck.zookeeper.run.distribution import Distribution
from zabcheck.zookeeper.run.draw import draw
from zabcheck.zookeeper.run.places import executable
from zabcheck.zookeeper.run.schedule import EnsembleSchedule

if TYPE_CHECKING:
    from zabcheck.zookeeper.run.search import Attempt

SERVERS = 3
BUDGET = "15m"
SECONDS_EACH = 15
"""The least time that is worth planning for an execution: it takes some 5 to 15 seconds."""
SECONDS_SIMULATED = 1
"""The same on simulated servers, the start of their JVM included."""
MOST_FAILURES = 3
"""The number of drawn runs with a fault after which the search ends."""
SHORTENINGS = 6
"""The number of executions for which there has to be time if a drawn run is to be made short on the servers."""
AT_ONCE = 8
"""Drawn runs of simulated servers between two looks at the clock; of each such lot one is compared with the model."""
JOBS = 2
"""Drawn runs of simulated servers at a time."""
LEAST_TO_SHORTEN, MOST_TO_SHORTEN = 20, 60
"""Seconds that a drawn run of simulated servers gets to be made short."""
CONFIRMED = 2
"""Executions of the result as processes, if there is time."""
SECONDS_FOR_MODEL, LEAST_FOR_MODEL = 10.0, 1.0
"""CPU seconds that a run of the model gets to be made short; the least is for a budget that is used up."""
NO_MODEL = "none"
"""The value of --release with which nothing is compared with the model."""


@command_of(zookeeper)
def gate(
    java: Java = None,
    home: Home = None,
    classpath: Classpath = None,
    budget: Annotated[
        str,
        typer.Option(metavar="TIME", help="How long it may take, as in 90s, 10m or 1h30m; the last run still ends."),
    ] = BUDGET,
    repairs: Annotated[
        list[str] | None,
        bugs_option("The patch is to repair this bug, so it is a failure if it is shown (may be repeated)."),
    ] = None,
    simulated: Simulated = None,
    strict: Annotated[
        bool, typer.Option("--strict", help="A bug that the version is known to have is a failure, too.")
    ] = False,
    bug: Annotated[
        list[str] | None,
        bugs_option("Of the catalogue only this bug (4643, ack-before-trunc); repeat it for several."),
    ] = None,
    times: Annotated[int, typer.Option(min=1, help="How often each schedule of the catalogue is executed.")] = 1,
    seed: Annotated[
        int, typer.Option(min=0, max=2**62, help="The seed of the first drawn run; the others follow.")
    ] = 1,
    release: Annotated[
        str | None,
        typer.Option(
            metavar="VERSION", help=f"Compare with this version of the model, not that of the jars; `{NO_MODEL}`: none."
        ),
    ] = None,
    expect: Annotated[
        list[str] | None,
        typer.Option(
            metavar="TEXT",
            help="The patch means to differ from the model where the report of a difference has this text.",
        ),
    ] = None,
    out: Annotated[Path, typer.Option(help="Where each failure is kept, with its schedule and page.")] = Path(
        "reports"
    ),
    junit: JUnit = None,
    summary: Summary = None,
    format: Formats = Format.text,
) -> int:
    """Say whether a patched ZooKeeper may be merged: known bugs, drawn faults, and the model; made for CI.

    Replays the schedules of known bugs on the servers, draws faults and orders of threads for the
    rest of the budget, and compares all recordings with the model of that version. A bug that the
    version of the jars is known to have is told, and is no failure.
    """
    chosen, repaired = bugs_named(bug) if bug else list(BUGS), bugs_named(repairs or ())
    chosen += [each for each in repaired if each not in chosen]
    simulated = simulates(simulated, java)
    seconds = _seconds_for(budget, len(chosen) * times, SECONDS_SIMULATED if simulated else SECONDS_EACH)
    check_out(out)
    check_reports(junit, summary)
    named = None if release == NO_MODEL else release_named(release)
    distribution = found_distribution(java, home, classpath)
    model = None if release == NO_MODEL else named or _model_of(distribution)
    expected = Expectations(distribution.version, tuple(repaired), strict)
    gating = Gating(distribution, expected, model, out, seconds, simulated, tuple(expect or ()))
    gating.run(chosen, times, seed)
    return _tell(gating, junit, summary, format)


def _seconds_for(budget: str, executions: int, each: int) -> int:
    """Return the seconds of the budget. BadInput if they are too few for these executions and a drawn run."""
    seconds, least = seconds_of(budget), (executions + 1) * each
    if seconds < least:
        what = f"{counted(executions, 'schedule', 'schedules')} and a drawn run"
        raise BadInput(f"--budget {budget}: expected at least {least}s for {what}, or fewer --bug")
    return seconds


def _model_of(distribution: Distribution) -> Release:
    """Return the version of the model for a build. BadInput if the model has none."""
    release = release_of(distribution.version)
    if release is None:
        raise BadInput(f"the model has no ZooKeeper {distribution.version}: expected --release VERSION or {NO_MODEL}")
    return release


def seconds_of(budget: str) -> int:
    """Return how many seconds a time such as 90s, 10m or 1h30m is. BadInput if it is none."""
    parts = re.fullmatch(r"(?:(\d{1,4})h)?(?:(\d{1,6})m)?(?:(\d{1,8})s?)?", budget)
    if parts is None or not budget:
        raise BadInput(f"--budget {budget}: expected a time such as 90s, 10m or 1h30m")
    hours, minutes, seconds = (int(part or 0) for part in parts.groups())
    return (hours * 60 + minutes) * 60 + seconds


class Gating:
    """One pass of the gate, of `budget` seconds. Recordings that fail are kept in `out`, the others are removed.

    `executed` has what the catalogue's schedules showed, `outcomes` the results of the gate. `model` is the version of
    the model that recordings are compared with; None: with none.
    """

    def __init__(
        self,
        distribution: Distribution,
        expected: Expectations,
        model: Release | None,
        out: Path,
        budget: float,
        simulated: bool = False,
        differences: Sequence[str] = (),
    ) -> None:
        self.executed: list[Executions] = []
        self.outcomes: list[Outcome] = []
        self.interrupted = False
        self.expected = expected
        self.model = model
        self._distribution = distribution
        self._simulated = simulated
        self._differences = differences
        self._lacking: tuple[str, ...] = ()
        """Points of drawn schedules that the patched code does not have."""
        self.before = measured().get(distribution.version) if simulated and not expected.strict else None
        """The rates of faults in drawn runs of the release; None: each fault of a drawn run counts."""
        self._comparing = 0.0
        """Seconds that comparisons with the model have taken."""
        self._out = out
        self._start = monotonic()
        self._until = self._start + budget
        self._compared: list[RecordingCheck] = []
        self._runs = self._packets = 0

    @property
    def report(self) -> PatchReport:
        """Return the result, in the form that every gate's has."""
        return PatchReport(tuple(self.outcomes), (), self._runs, self._packets, round(monotonic() - self._start, 3))

    @property
    def _over(self) -> str:
        """Return why nothing more can be executed, or ""."""
        if self.interrupted:
            return "interrupted"
        return "" if monotonic() < self._until else "the budget is used up"

    def run(self, bugs: Sequence[Bug], times: int, seed: int) -> None:
        """Execute everything. Ctrl-C ends it early, with what is known."""
        with tempfile.TemporaryDirectory(prefix="zabcheck-") as folder, doing("the gate begins") as say:
            run = Path(folder, "run")
            try:
                with quick_to_start(self._distribution, len(bugs) * times + 1, self._simulated) as self._distribution:
                    for bug in bugs:
                        say(f"catalogue, {bug.name}; {len(self.report.of('failed'))} failed")
                        self._replay(bug, times, run)
                    if self.before is None:
                        self._search(seed, run, say)
                    else:
                        self._search_by_rates(seed, run, say, Tally(self.before))
            except KeyboardInterrupt:  # before or after all executions
                self.interrupted = True
        if self.model is not None:
            self.outcomes += of_conformance(self._compared, self.model)

    def _replay(self, bug: Bug, times: int, folder: Path) -> None:
        """Execute the schedule of a bug of the catalogue."""
        begun, schedule = monotonic(), bug.schedule()
        executed = Executions(bug, self.expected.zookeeper)
        self.executed.append(executed)
        executed.cannot = not_executable(schedule, self._distribution)
        failures: list[str] = []
        failure: Failure | None = None
        try:
            while not executed.cannot and executed.times < times and not self._over:
                tried = self._execute(schedule, folder)
                shows = any(map(tried.shows, bug.finds))
                executed.add(shows, tried.judged, tried.error)
                why = failure_of(bug, shows, tried.judged, self.expected)
                failures += [why] if why else []
                first = failure is None and bool(why)
                if first:
                    failure = self._keep(bug.name, tried)
                    executed.kept = failure.folder
                compared = self._compare(bug.name, tried, failure, excuse_of(bug, shows, self.expected))
                if failure is not None and first and compared is not None:
                    failure.minimise(compared, self._seconds_for_model)
        except KeyboardInterrupt:
            self.interrupted = True
        over = self._over if executed.times < times else ""
        detail, files = ("", ()) if failure is None else (failure.detail, failure.files)
        outcome = of_bug(executed, self.expected, failures, over, detail, files)
        if outcome is not None:
            self._add(outcome, begun)

    def _add(self, outcome: Outcome, begun: float) -> None:
        """Add an outcome, with the time that it took since `begun`."""
        self.outcomes.append(structs.replace(outcome, seconds=round(monotonic() - begun, 3)))

    def _search(self, seed: int, folder: Path, say: Callable[[str], None]) -> None:
        """Draw faults for the rest of the budget, and for every second run orders of threads, too."""
        runs = known = failed = in_a_row = broken = 0
        longest, start = 0.0, monotonic()
        error, over = "", self._over
        try:
            while not over and (not runs or monotonic() + longest < self._until) and broken < MOST_FAILURES:
                say(f"search, seed {seed}; {len(self.report.of('failed'))} failed")
                begun = monotonic()
                schedule = self._executable(draw(seed, SERVERS, threads=seed % 2 == 0))
                tried = self._execute(schedule, folder)
                runs += 1
                unexplained = self.expected.unexplained(tried.judged)
                known += bool(tried.judged.wrong) and not unexplained
                failed += bool(tried.error)
                in_a_row = in_a_row + 1 if tried.error else 0
                error = tried.error or error
                over = f"{in_a_row} failed one after the other" if in_a_row == FAILURES_IN_A_ROW else ""
                longest = max(longest, monotonic() - begun)
                failure = self._keep(f"seed-{seed}", tried) if unexplained else None
                compared = self._compare(f"seed {seed}", tried, failure)
                if failure is not None:
                    broken += 1
                    say(f"search, seed {seed}: something is wrong, and is made short")
                    try:
                        self._shorten(failure, compared, folder, longest)
                    finally:
                        message = f"something is wrong: {', '.join(unexplained)}"
                        detail, files = failure.detail, failure.files
                        self._add(Outcome(SEARCH, f"seed {seed}", "failed", message, detail, files=files), begun)
                seed += 1
        except KeyboardInterrupt:
            self.interrupted = True
            over = "interrupted"
        self._add(of_search(runs, known, failed, error, over, self._lacking), start)

    def _search_by_rates(self, seed: int, folder: Path, say: Callable[[str], None], tally: Tally) -> None:
        """Draw faults for the rest of the budget, until servers show a fault more often than without the patch."""
        start, over = monotonic(), self._over
        found: RaisedRate | None = None
        try:
            while found is None and not over and (not tally.runs or not self._over):
                say(f"search, seed {seed}; {len(self.report.of('failed'))} failed")
                self._draw(range(seed, seed + AT_ONCE), folder, tally)
                seed += AT_ONCE
                over = f"{tally.in_a_row} failed one after the other" if tally.in_a_row >= FAILURES_IN_A_ROW else ""
                found = tally.look(last=bool(over or self._over))
            if found is not None:
                say(f"search, {found.mark}: more often than without the patch; a run is made short")
                self._explain(found, tally.shortest[found.mark], folder)
        except KeyboardInterrupt:
            self.interrupted = True
            over = "interrupted"
        if found is None:
            self._add(of_rates(tally, over, self._lacking), start)

    def _draw(self, seeds: range, folder: Path, tally: Tally) -> None:
        """Execute the drawn schedules of these seeds; one is compared with the model if nothing is wrong in it."""
        from zabcheck.zookeeper.run.search import attempts

        tasks = [(self._executable(drawn(seed)), folder.with_name(f"seed-{seed}")) for seed in seeds]
        with ending("a folder for the run", folder), closing(attempts(tasks, self._distribution, jobs=JOBS)) as tries:
            for seed, tried in zip(seeds, tries, strict=False):
                self._count(tried)
                tally.add(tried)
                if seed == seeds[0] and not tried.judged.wrong:
                    self._compare(f"seed {seed}", tried, None)
                shutil.rmtree(tried.judged.folder)

    def _executable(self, schedule: EnsembleSchedule) -> EnsembleSchedule:
        """Leave out what this build cannot do: the patch may have removed a point."""
        schedule, lacking = executable(schedule, self._distribution)
        self._lacking = tuple(dict.fromkeys((*self._lacking, *lacking)))
        return schedule

    def _explain(self, found: RaisedRate, schedule: EnsembleSchedule, folder: Path) -> None:
        """Keep a run that shows what the release shows less often, make it short, and execute that as processes."""
        begun, tried = monotonic(), self._execute(schedule, folder)
        failure = self._keep(f"seed-{schedule.seed}", tried)
        try:
            self._compare(f"seed {schedule.seed}", tried, failure)
            if tried.shows(found.name):
                failure.shorten(self._distribution, self._seconds_to_shorten, found.name, lambda: self._confirming)
        finally:
            self._add(of_raised(found, failure.detail, failure.files), begun)

    @property
    def _seconds_to_shorten(self) -> int:
        """Return the seconds that a drawn run gets to be made short; a few even if the budget is used up."""
        return int(max(LEAST_TO_SHORTEN, min(MOST_TO_SHORTEN, self._until - monotonic())))

    @property
    def _confirming(self) -> int:
        """Return the number of executions as processes for which there is time."""
        return int(max(0.0, min(CONFIRMED, (self._until - monotonic()) / SECONDS_EACH)))

    def _count(self, tried: "Attempt") -> None:
        """Count an execution. KeyboardInterrupt after Ctrl-C: that execution does not count."""
        if tried.interrupted:
            raise KeyboardInterrupt
        self._runs += 1
        self._packets += tried.judged.steps.packets

    def _execute(self, schedule: EnsembleSchedule, folder: Path) -> "Attempt":
        """Execute a schedule once. KeyboardInterrupt after Ctrl-C: that execution does not count."""
        from zabcheck.zookeeper.run.search import attempt

        with ending("a folder for the run", folder):
            tried = attempt(schedule, self._distribution, folder)
        self._count(tried)
        return tried

    def _compare(self, name: str, tried: "Attempt", failure: Failure | None, excuse: str = "") -> Conformance | None:
        """Compare a recording with the model; keep it if it is a failure, and is not kept already, as `failure`.

        A run of simulated servers takes less than its comparison: half of the time is for runs. The model has none of
        the properties of Java that a schedule may set.
        """
        begun = monotonic()
        has_time = not self._simulated or failure is not None or self._comparing <= (begun - self._start) / 2
        if self.model is None or tried.schedule.properties or not has_time:
            return None
        compared = RecordingCheck(name, conform(tried.judged.folder, self.model), (), excuse, failure is not None)
        self._comparing += monotonic() - begun
        if is_expected(compared, self._differences):
            compared = compared._replace(excuse=EXPECTED)
        if compared.unexpected:
            kept = failure or self._keep(name.replace(" ", "-"), tried)
            kept.compare(compared.conformance)
            compared = compared._replace(files=kept.files)
        self._compared.append(compared)
        return compared.conformance

    def _keep(self, name: str, tried: "Attempt") -> Failure:
        """Keep a run, with its schedule and its page."""
        folder = self._out / f"zookeeper-{self.expected.zookeeper}-{name}"
        return Failure(folder, tried.schedule, tried.judged, self.expected.zookeeper)

    def _shorten(self, failure: Failure, compared: Conformance | None, folder: Path, longest: float) -> None:
        """Make a drawn run short in which something is wrong, within the budget; an execution takes `longest`."""
        if compared is not None:
            failure.minimise(compared, self._seconds_for_model)
        minimal = failure.minimal_on(self._distribution)
        if minimal is not None and monotonic() + longest < self._until:
            tried = self._execute(minimal, folder)
            failure.take(minimal, tried.judged, self.expected.unexplained(tried.judged))
        seconds = int(self._until - monotonic() - MEASURED * longest)
        if not failure.is_short and seconds > SHORTENINGS * longest:
            failure.shorten(self._distribution, seconds)

    @property
    def _seconds_for_model(self) -> float:
        """Return the CPU seconds that a run of the model gets to be made short."""
        return max(LEAST_FOR_MODEL, min(SECONDS_FOR_MODEL, self._until - monotonic()))


def _tell(gating: Gating, junit: Path | None, summary: Path | None, format: Format) -> int:
    """Print the result, write the reports, and return the exit code."""
    found, version = gating.report, gating.expected.zookeeper
    seen = None if gating.before is None else sights()
    in_words = None if seen is None else {name: sight.words() for name, sight in seen.items()}
    status = report.verdict(found)
    totals = [each for each in found.of("passed") if each.suite != CATALOGUE]
    if format is Format.json:
        print_json(
            "zookeeper gate",
            verdict=status,
            interrupted=gating.interrupted,
            zookeeper=version,
            model=gating.model,
            **reports.as_json(gating.executed),
            drawn=None if seen is None else {name: sight._asdict() for name, sight in seen.items()},
            outcomes=found.outcomes,
            runs=found.runs,
            packets=found.steps,
            seconds=found.seconds,
        )
    console = make_console()
    if format is Format.text:
        console.print(reports.beside_expected(gating.executed, in_words))
        console.print()
        console.print(report.render(found), crop=False)
        for each in totals:
            console.print(f"{each.name}: {each.message}")
        for name in dict.fromkeys(name for outcome in found.outcomes for name in outcome.files):
            print_path(console, f"wrote {name}")
    said = "".join(f"- {each.name}: {each.message}\n" for each in totals)
    markdown = f"{report.markdown(found, ())}\n{said}\n{reports.markdown(gating.executed, in_words)}"
    write_reports(console if format is Format.text else None, found, markdown, junit, summary)
    if format is Format.text:
        conclude(console, CODES[status], *_reason(found, status, gating.interrupted))
    tell_github(found, markdown)
    return CODES[status]


def _reason(found: PatchReport, status: Status, interrupted: bool) -> tuple[str, str]:
    """Return the result of the gate, with the first outcome that has this status, and what to do about that one."""
    if status == "passed":
        return report.totals(found), ""
    first = found.of(status)[0]
    shown = PAGE if first.suite == CONFORMANCE else "report.html"
    page = next((name for name in reversed(first.files) if Path(name).name == shown), None)
    longer = f"{2 * seconds_of(given('budget') or BUDGET)}s"
    then = again() if interrupted else again(budget=longer) if status == "inconclusive" else ""
    then = f"open {quote(page)}" if page else then
    return f"{report.totals(found)}; {first.suite}, {first.name}: {first.message}", then
