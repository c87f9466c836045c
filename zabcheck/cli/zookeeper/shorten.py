"""Shortening by `zabcheck zookeeper --minimise`: the shortest schedule that shows the same, and how often it does."""

import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path

from msgspec import structs

from zabcheck.cli.files import ending
from zabcheck.cli.output import interrupts
from zabcheck.text.words import counted
from zabcheck.zookeeper.run.distribution import Distribution
from zabcheck.zookeeper.run.schedule import EnsembleSchedule
from zabcheck.zookeeper.verdict.judge import RecordingVerdict

MEASURED = 5
"""Further executions of the shortest schedule, to count how often it shows the same."""
MEASURED_SIMULATED = 20
"""The same for simulated servers, with an order of threads each."""
PER_SECOND = 2
"""Executions of simulated servers that stand for a second: a bound in executions gives the same result everywhere."""
UNLUCKY = 2
"""Times that an execution in which the ensemble itself failed is repeated at most."""


class Shortening:
    """The shortest `schedule` so far that shows the same as the run `judged`; then `judged` is the last that did.

    `shown` of `times` executions of the result showed it, not counting those that it was chosen for; of simulated
    servers with other orders of threads, while `exactly` says whether it showed it again with its own. `confirmed` of
    `processes` executions on real processes showed it. The recording of the shortest schedule stays in `folder`.
    """

    def __init__(
        self,
        schedule: EnsembleSchedule,
        judged: RecordingVerdict,
        distribution: Distribution,
        properties: Sequence[str] | None,
        folder: Path,
    ) -> None:
        self.schedule = schedule
        self.judged = judged
        self.wanted = judged.wrong[0]
        self.shown = self.times = self.confirmed = self.processes = 0
        self.exactly = False
        self._distribution = distribution
        self._properties = properties
        self._folder = folder
        self._trial = folder.with_name(f"{folder.name}-trial")
        self._last = schedule, judged

    def shorten(self, seconds: int) -> None:
        """Look for the shortest schedule that shows the same, for about `seconds`, and count how often it does.

        KeyboardInterrupt after Ctrl-C: what was found until then stays. BadInput if nothing can be written there.
        """
        from zabcheck.zookeeper.run.minimise import minimise

        if not seconds:
            return
        try:
            if self._distribution.simulation is not None:
                self._shorten_simulated(PER_SECOND * seconds)
                return
            minimise(self.schedule, self._shows, seconds, self._idle, self._keep)
            for _ in range(MEASURED):
                self._measure(self.schedule)
        finally:
            shutil.rmtree(self._trial, ignore_errors=True)

    def _shorten_simulated(self, executions: int) -> None:
        from zabcheck.zookeeper.simulated.minimise import minimise

        def shows(schedule: EnsembleSchedule) -> EnsembleSchedule | None:
            return self._last[0] if self._shows(schedule) else None

        assert self.schedule.simulated is not None
        drawn = structs.replace(self.schedule.simulated, decisions=None)
        minimise(self.schedule, shows, executions, self._idle, self._keep)
        self.exactly = self._shows(self.schedule)
        for seed in range(MEASURED_SIMULATED):
            self._measure(structs.replace(self.schedule, simulated=structs.replace(drawn, seed=seed)))

    def _idle(self) -> Sequence[int]:
        from zabcheck.zookeeper.run.minimise import idle_in

        return idle_in(self.judged.folder)

    def _measure(self, schedule: EnsembleSchedule) -> None:
        again = self._shows(schedule)
        self.times += 1
        self.shown += again

    def confirm(self, times: int) -> None:
        """Execute the result on real processes, and count how often it shows the same. Ends as `shorten` does."""
        self._distribution = self._distribution._replace(simulation=None)
        try:
            for _ in range(times):
                again = self._shows(structs.replace(self.schedule, simulated=None))
                self.processes += 1
                self.confirmed += again
        finally:
            shutil.rmtree(self._trial, ignore_errors=True)

    def sentences(self) -> Iterator[str]:
        """Describe how often the result shows it again, as far as it was executed again."""
        executions = counted(self.times, "further execution", "further executions")
        if self.times and self.schedule.simulated is not None:
            yield (
                f"simulated servers {'show' if self.exactly else 'do not show'} {self.wanted} again with exactly this "
                f"order of threads, and with others in {self.shown} of {executions}"
            )
            yield from self.schedule.simulated.words()
        elif self.times:
            yield f"the schedule shows {self.wanted} in {self.shown} of {executions}"
        if self.processes:
            times = counted(self.processes, "execution", "executions")
            yield f"on real processes it shows {self.wanted} in {self.confirmed} of {times}"

    def _shows(self, schedule: EnsembleSchedule) -> bool:
        """Execute a schedule, and say whether it shows the same. A run that fails by itself is repeated."""
        from zabcheck.zookeeper.run.search import attempt

        for _ in range(1 + UNLUCKY):
            with ending("--out", self._folder.parent):
                tried = attempt(schedule, self._distribution, self._trial, self._properties)
            if tried.interrupted:
                raise KeyboardInterrupt
            if tried.shows(self.wanted):
                self._last = tried.schedule, tried.judged
                return True
            if not tried.error:
                break
        return False

    def _keep(self) -> None:
        """Keep the run that has just shown it."""
        schedule, judged = self._last
        with interrupts() as look, ending("--out", self._folder.parent):
            shutil.rmtree(self._folder, ignore_errors=True)
            self._trial.rename(self._folder)
            self.schedule, self.judged = schedule, judged._replace(folder=self._folder)
            look()
