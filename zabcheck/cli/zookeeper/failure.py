"""A run in which the gate for a patch found something wrong: kept with its schedule and pages, and made short.

A run of the model is made short in seconds, one of real servers in minutes. So what a recording shows is made short in
the model, if it is a run of that, and the servers execute the result once. Where that does not show the same, shorter
schedules of the run itself are tried on the servers.
"""

from collections.abc import Callable
from pathlib import Path
from shlex import quote

from zabcheck.cli.files import ending
from zabcheck.cli.zookeeper.conform import PAGE, save_difference, save_minimal
from zabcheck.cli.zookeeper.recordings import save_report
from zabcheck.cli.zookeeper.shorten import Shortening
from zabcheck.counterexample.forms import terminal
from zabcheck.counterexample.forms.exports import TEXT_WIDTH
from zabcheck.protocols.switches import completed
from zabcheck.simulation.schedule import Schedule
from zabcheck.text.files import replace_folder
from zabcheck.text.words import as_text, counted
from zabcheck.zookeeper.bugs.executed import not_executable
from zabcheck.zookeeper.conformance.conform import Conformance, broken_by
from zabcheck.zookeeper.conformance.on_servers import CannotBeHad, as_servers_are, translate
from zabcheck.zookeeper.model.switches import ZooKeeperSwitches
from zabcheck.zookeeper.run import schedule as schedules
from zabcheck.zookeeper.run.distribution import Distribution
from zabcheck.zookeeper.run.schedule import EnsembleSchedule
from zabcheck.zookeeper.verdict.judge import RecordingVerdict


class Failure:
    """A run in which something is wrong, kept in `folder` with its recording, its schedule and its page.

    `files` are what was written, `story` is the text of the report. `said` has what came of making the run short, a
    sentence each. `minimal` is the shortest run of the model that was found to break the same; `is_short`: there is a
    short schedule of real servers.
    """

    def __init__(self, folder: Path, schedule: EnsembleSchedule, judged: RecordingVerdict, zookeeper: str) -> None:
        self.folder = folder
        self.said: list[str] = []
        self.minimal: Schedule | None = None
        self.is_short = False
        self._zookeeper = zookeeper
        self._schedule = schedule
        with ending("--out", folder.parent):
            replace_folder(folder, judged.folder)
        self._judged = judged._replace(folder=folder)
        self.files: tuple[str, ...] = ()
        self.story = self._save(schedule, self._judged)

    @property
    def detail(self) -> str:
        """Return the report as text, behind the results of making the run short."""
        return "".join(f"{each}\n" for each in self.said) + ("\n" if self.said else "") + self.story

    def compare(self, of: Conformance) -> None:
        """Write a page of the difference, if the recording is no run of the model, and there is no such page yet."""
        if any(Path(name).name == PAGE for name in self.files):
            return
        with ending("--out", self.folder.parent):
            self.files += tuple(map(as_text, save_difference(of, self.folder)))

    def minimise(self, of: Conformance, seconds: float) -> None:
        """Make the run of the model short for at most `seconds` of CPU time, if there is one that breaks something."""
        broken = None if of.schedule is None else broken_by(of.schedule, seconds, self._judged.wrong)
        if of.schedule is None or broken is None or broken.minimal is None:
            return
        self.minimal = broken.minimal
        with ending("--out", self.folder.parent):
            self.files += tuple(map(as_text, save_minimal(broken.minimal, broken.properties[0], self.folder)))
        length, of_whole = len(broken.minimal.choices), counted(len(of.schedule.choices), "choice", "choices")
        self.said.append(f"in the model {length} of {of_whole} are enough to break {broken.properties[0]}")

    def minimal_on(self, distribution: Distribution) -> EnsembleSchedule | None:
        """Return what servers are to do for the minimal run of the model; None if there is none that they can do."""
        if self.minimal is None:
            return None
        try:
            version = completed(self.minimal.switches, ZooKeeperSwitches).version
            run = translate(as_servers_are(self.minimal, version)).schedule
        except CannotBeHad as error:
            self.said.append(f"servers cannot be made to do that: {error}")
            return None
        return None if not_executable(run, distribution) else run

    def take(self, schedule: EnsembleSchedule, judged: RecordingVerdict, wrong: list[str]) -> None:
        """Take an execution of the minimal run of the model, in which this is `wrong`, or nothing.

        It need not be what was wrong in the run: the model has no clients, and what nobody reads is not seen.
        """
        if not wrong:
            self.said.append("servers that did the same broke nothing")
            return
        folder = self._short_folder
        with ending("--out", folder.parent):
            replace_folder(folder, judged.folder)
        finds = next((each for each in wrong if each in self._judged.wrong), wrong[0])
        self._save(schedules.replaced(schedule, finds=finds), judged._replace(folder=folder))
        self.said.append(f"servers that did the same broke {', '.join(wrong)}: {folder.name}")
        self.is_short = True

    def shorten(
        self, distribution: Distribution, seconds: int, wanted: str = "", confirming: Callable[[], int] = lambda: 0
    ) -> None:
        """Look for a short schedule for about `seconds`, on real servers. KeyboardInterrupt after Ctrl-C.

        It is to show `wanted`, or what is worst in the run. What simulated servers show is executed on real processes
        as often as `confirming` returns once it is short.
        """
        shortening = Shortening(self._schedule, self._judged, distribution, None, self._short_folder)
        shortening.wanted = wanted or shortening.wanted
        try:
            shortening.shorten(seconds)
            shortening.confirm(confirming())
        finally:
            length = len(shortening.schedule.choices)
            self.is_short = length < len(self._schedule.choices)
            if self.is_short:
                self._save(schedules.replaced(shortening.schedule, finds=shortening.wanted), shortening.judged)
                of_whole = counted(len(self._schedule.choices), "choice", "choices")
                self.said.append(f"{length} of {of_whole} are enough on servers: {self._short_folder.name}")
            else:
                self.said.append("no shorter schedule was found on servers")
            self.said += shortening.sentences()

    @property
    def _short_folder(self) -> Path:
        return self.folder.with_name(f"{self.folder.name}-short")

    def _save(self, schedule: EnsembleSchedule, judged: RecordingVerdict) -> str:
        """Write schedule and page beside a recording that is kept; return the report as text."""
        finds = schedule.finds or next(iter(judged.wrong), "")
        schedule = schedules.replaced(schedule, zookeeper=self._zookeeper, finds=finds)
        with ending("--out", self.folder.parent):
            story, files = save_report(schedule, judged)
        self.files += tuple(map(as_text, files))
        return terminal.to_text(story, TEXT_WIDTH, file=quote(str(files[0])))
