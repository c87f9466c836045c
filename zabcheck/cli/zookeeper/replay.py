"""`zabcheck replay` of a schedule for a real ensemble: counts how often it shows the same again."""

import tempfile
from collections.abc import Callable
from pathlib import Path
from threading import Event
from typing import TYPE_CHECKING

from zabcheck.cli.commands import Format
from zabcheck.cli.files import bad_input_for, ending, writing
from zabcheck.cli.next_step import again
from zabcheck.cli.output import make_console, print_json, print_path, progress
from zabcheck.cli.verdict import INCONCLUSIVE, OK, VIOLATED, conclude
from zabcheck.cli.zookeeper.builds import quick_to_start
from zabcheck.cli.zookeeper.recordings import save_report
from zabcheck.text.files import replace_folder, write
from zabcheck.text.words import as_text, counted
from zabcheck.zookeeper.debugger.class_path import ClassPathError
from zabcheck.zookeeper.debugger.points import PointError
from zabcheck.zookeeper.recording.folder import read
from zabcheck.zookeeper.recording.records import Chose
from zabcheck.zookeeper.run import schedule as schedules
from zabcheck.zookeeper.run.distribution import Distribution
from zabcheck.zookeeper.run.places import places_of
from zabcheck.zookeeper.run.schedule import EnsembleSchedule, EnsembleScheduleError
from zabcheck.zookeeper.trace.observe import write_trace

if TYPE_CHECKING:
    from zabcheck.zookeeper.run.search import Attempt  # it loads the clients' library

TIMES = 5
"""Replays, unless it is said how many."""


def ensemble_schedule(data: bytes, file: Path) -> EnsembleSchedule:
    """Read a schedule for a real ensemble. BadInput if it is none."""
    with bad_input_for(EnsembleScheduleError):
        return schedules.decode(data, str(file))


def replay_ensemble(
    schedule: EnsembleSchedule,
    file: Path,
    times: int | None,
    distribution: Distribution,
    trace: Path | None,
    format: Format,
    exact: bool = False,
    simulated: bool = False,
) -> int:
    """Execute a schedule `times` times, and say what was wrong each time; return the exit code.

    `simulated` servers do exactly the same if it has their order of threads, so once is enough; processes cannot.
    The trace that is written is that of the first run that shows what the schedule was saved for, else of the last.
    """
    with bad_input_for((PointError, ClassPathError), f"{file}: "):
        places_of(schedule, distribution)
    kept = Path("reports", f"{file.name.removesuffix('.json').removesuffix('.schedule')}-{distribution.version}")
    replays = _Replays(schedule, distribution.version, kept, simulated)
    times = times or (1 if replays.is_exact else TIMES)
    interrupted, wrote = repeat(schedule, distribution, times, replays.take, trace, exact=exact, simulated=simulated)
    if format is Format.json:
        print_json(
            "replay",
            schedule=as_text(file),
            zookeeper=distribution.version,
            simulated=simulated,
            finds=schedule.finds,
            times=len(replays.wrong),
            shown=replays.shown,
            partial=replays.partial,
            wrong=replays.wrong,
            errors=replays.errors,
            undone=[
                [{"choice": each.number, "what": each.text, "why": each.note, "idle": each.idle} for each in undone]
                for undone in replays.undone
            ],
            not_read=replays.not_read,
            kept=replays.kept and as_text(replays.kept),
            report=replays.report and as_text(replays.report),
            interrupted=interrupted,
            trace=wrote and as_text(wrote),
        )
        return replays.code
    return replays.tell(wrote)


class _Replays:
    """The replays of a schedule on one version of ZooKeeper, added up: `shown` of them showed what it was saved for.

    `wrong` and `errors` have an item for each: the things that are wrong, and the reason why it was not complete;
    `undone` has the choices that were not done, or not to their end, `not_read` why servers could not be read. The
    first recording with such a server is `kept` as `keep` with "-not-read" behind it; the first that shows what the
    schedule was saved for as `keep`, with its `report`.
    """

    def __init__(self, schedule: EnsembleSchedule, version: str, keep: Path, simulated: bool = False) -> None:
        self.wrong: list[list[str]] = []
        self.errors: list[str] = []
        self.undone: list[list[Chose]] = []
        self.not_read: list[list[str]] = []
        self.kept: Path | None = None
        self.report: Path | None = None
        self.shown = self.partial = 0
        self._java: int | None = None
        self._schedule = schedule
        self._version = version
        self._keep = keep
        self._simulated = simulated

    @property
    def is_exact(self) -> bool:
        """True if each replay is exactly that of the saved order of threads."""
        return self._simulated and self._schedule.simulated is not None

    def take(self, tried: "Attempt", recording: Path) -> bool:
        """Add a replay. Return True if it shows what the schedule was saved for."""
        self.wrong.append(tried.judged.wrong)
        self.errors.append("interrupted" if tried.interrupted else tried.error)
        self.partial += bool(tried.judged.observation.partial)
        self.undone.append([each for each in read(recording) if isinstance(each, Chose) and each.note])
        not_read = [each for each in tried.judged.findings if each.kind == "not read"]
        self.not_read.append([f"server {each.server}: {each.text}" for each in not_read])
        if not_read and self.kept is None:
            self.kept = self._copied(recording, "-not-read")
        if tried.schedule.simulated is not None:
            self._java = tried.schedule.simulated.java
        shows = tried.shows(self._schedule.finds) if self._schedule.finds else bool(tried.judged.wrong)
        self.shown += shows
        if shows and self.report is None:
            folder = self._copied(recording)
            save_report(tried.schedule, tried.judged._replace(folder=folder))
            self.report = folder / "report.html"
        return shows

    def _copied(self, recording: Path, suffix: str = "") -> Path:
        """Keep a recording, and return the folder."""
        folder = self._keep.with_name(self._keep.name + suffix)
        with ending("the folder of the recording", folder.parent):
            replace_folder(folder, recording)
        return folder

    @property
    def passed_over(self) -> int:
        """The number of replays in which a choice did nothing: what the schedule asks for was not tried then."""
        return sum(any(each.idle for each in undone) for undone in self.undone)

    @property
    def code(self) -> int:
        """Return the exit code."""
        if any(self.wrong):
            return VIOLATED
        return INCONCLUSIVE if self.partial or self.passed_over or not self.wrong else OK

    def tell(self, trace: Path | None) -> int:
        """Print each replay and what they come to; return the exit code."""
        console = make_console()
        each_run = zip(self.wrong, self.errors, self.undone, self.not_read, strict=True)
        for number, (names, error, undone, not_read) in enumerate(each_run, start=1):
            told = ", ".join([*names, *([f"not complete: {error}"] if error else [])])
            print_path(console, f"run {number}: {told or 'nothing is wrong'}")
            for why in not_read:
                print_path(console, f"  not read, {why}")
            for each in undone:
                print_path(console, f"  choice {each.number}, {each.text}: {each.note}")
        if self._schedule.zookeeper and self._schedule.zookeeper != self._version:
            console.print(f"it was saved with ZooKeeper {self._schedule.zookeeper}")
        order = self._schedule.simulated
        if order is not None and not self._simulated:
            console.print("it was saved with an order of threads of simulated servers, which processes do not keep to")
        for line in order.words() if order is not None and self._simulated else ():
            console.print(line)
        if order is not None and order.java and self._java and order.java != self._java:
            console.print(
                f"it was saved with Java {order.java}; on Java {self._java} the same decisions lead to another run"
            )
        for kept in (self.kept, self.report and self.report.parent):
            if kept is not None:
                print_path(console, f"kept {kept}")
        if trace is not None:
            print_path(console, f"wrote {trace}")
        number_of = counted(len(self.wrong), "replay", "replays")
        what = self._schedule.finds or "something wrong"
        servers = "simulated servers of " * self._simulated
        why = f"{self.shown} of {number_of} with {servers}ZooKeeper {self._version} show {what}"
        others = sum(map(bool, self.wrong)) - self.shown
        why += f"; in {others:,} something else is wrong" if others > 0 else ""
        why += f"; in {self.passed_over:,} a choice did nothing" if self.passed_over else ""
        why += f"; {self.partial:,} not recorded to the end" if self.partial else ""
        then = f"open {self.report}" if self.report is not None else ""
        if not self.shown and not self.is_exact and self.partial < max(1, len(self.wrong)):
            then = again(times=2 * max(1, len(self.wrong)))
        return conclude(console, self.code, why, then)


def repeat(
    schedule: EnsembleSchedule,
    distribution: Distribution,
    times: int,
    take: Callable[["Attempt", Path], bool],
    trace: Path | None,
    *,
    exact: bool = False,
    simulated: bool = False,
    stop: Event | None = None,
) -> tuple[bool, Path | None]:
    """Execute a schedule `times` times, or until Ctrl-C comes; return whether it came, and the trace if it is written.

    `stop` is another thread's Ctrl-C.

    `take` is handed each attempt and the folder of its recording, and tells whether that shows what is looked for.
    `trace` is where the trace of the first attempt that does is written, else that of the last.
    """
    from zabcheck.zookeeper.run.search import attempt

    shown, wrote = 0, None
    with (
        tempfile.TemporaryDirectory(prefix="zabcheck-") as folder,
        quick_to_start(distribution, times, simulated) as quick,
        progress(times, "running") as advance,
    ):
        run = Path(folder, "run")
        for number in range(1, times + 1):
            try:
                with ending("a folder for the run", Path(folder)):
                    tried = attempt(schedule, quick, run, exact=exact, stop=stop)
            except KeyboardInterrupt:
                return True, wrote
            shows = take(tried, run)
            if trace is not None and not shown:
                with writing("--trace", trace):
                    wrote = write(trace, write_trace(tried.judged.observation, run).read_bytes())
            shown += shows
            advance(f"{shown} show it", number)
            if tried.interrupted:
                return True, wrote
    return False, wrote
