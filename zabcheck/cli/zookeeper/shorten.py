"""Shortening by `zabcheck zookeeper --minimise`: the shortest schedule that shows the same, and how often it does."""

import shutil
from collections.abc import Sequence
from pathlib import Path

from zabcheck.cli.files import bad_path
from zabcheck.cli.output import interrupts
from zabcheck.text.words import counted
from zabcheck.zookeeper.run.distribution import Distribution
from zabcheck.zookeeper.run.schedule import EnsembleSchedule
from zabcheck.zookeeper.verdict.judge import Judged

MEASURED = 5
"""Further executions of the shortest schedule, to count how often it shows the same."""
UNLUCKY = 2
"""Times that an execution in which the ensemble itself failed is repeated at most."""


class Shortening:
    """The shortest `schedule` so far that shows the same as the run `judged`; then `judged` is the last that did.

    `shown` of `times` executions of the result showed it, not counting those that it was chosen for. `out` is where
    recordings are: that of the shortest schedule stays in `folder`.
    """

    def __init__(
        self,
        schedule: EnsembleSchedule,
        judged: Judged,
        distribution: Distribution,
        properties: Sequence[str] | None,
        folder: Path,
    ) -> None:
        self.schedule = schedule
        self.judged = judged
        self.wanted = judged.wrong[0]
        self.shown = self.times = 0
        self._distribution = distribution
        self._properties = properties
        self._folder = folder
        self._trial = folder.with_name(f"{folder.name}-trial")
        self._last = schedule, judged

    def shorten(self, seconds: int) -> None:
        """Look for the shortest schedule that shows the same, for about `seconds`, and count how often it does.

        KeyboardInterrupt after Ctrl-C: what was found until then stays. BadInput if nothing can be written there.
        """
        from zabcheck.zookeeper.run.minimise import idle_in, minimise

        if not seconds:
            return
        try:
            minimise(self.schedule, self._shows, seconds, lambda: idle_in(self.judged.folder), self._keep)
            for _ in range(MEASURED):
                again = self._shows(self.schedule)
                self.times += 1
                self.shown += again
        finally:
            shutil.rmtree(self._trial, ignore_errors=True)

    def sentence(self) -> str:
        """Describe how often the result shows it again; "" if it was not executed again."""
        if not self.times:
            return ""
        executions = counted(self.times, "further execution", "further executions")
        return f"the schedule shows {self.wanted} in {self.shown} of {executions}"

    def _shows(self, schedule: EnsembleSchedule) -> bool:
        """Execute a schedule, and say whether it shows the same. What fails by itself says nothing: once more."""
        from zabcheck.zookeeper.run.search import attempt

        for _ in range(1 + UNLUCKY):
            with bad_path("--out", self._folder.parent):
                tried = attempt(schedule, self._distribution, self._trial, self._properties)
            if tried.interrupted:
                raise KeyboardInterrupt
            if tried.shows(self.wanted):
                self._last = schedule, tried.judged
                return True
            if not tried.error:
                break
        return False

    def _keep(self) -> None:
        """Keep the run that has just shown it."""
        schedule, judged = self._last
        with interrupts() as look, bad_path("--out", self._folder.parent):
            shutil.rmtree(self._folder, ignore_errors=True)
            self._trial.rename(self._folder)
            self.schedule, self.judged = schedule, judged._replace(folder=self._folder)
            look()
