"""Runs of an ensemble, each judged; and a search for the shortest schedule that shows the same.

The servers have clocks and threads of their own, so a schedule that once showed something may not do so again. What is
reported was seen in the run whose recording is kept; how often the schedule shows it again is counted.
"""

import shutil
from collections import Counter
from collections.abc import Callable, Generator, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from pathlib import Path
from threading import Event
from time import monotonic
from typing import NamedTuple

import msgspec

from zabcheck.ensemble.recording.folder import read
from zabcheck.ensemble.recording.records import Chose
from zabcheck.ensemble.run.distribution import Distribution
from zabcheck.ensemble.run.ensemble import EnsembleError
from zabcheck.ensemble.run.execute import DID_NOTHING, execute
from zabcheck.ensemble.run.schedule import Choice, EnsembleSchedule, Write
from zabcheck.ensemble.verdict.judge import Judged, judge
from zabcheck.ensemble.verdict.known_issues import looks_like

ATTEMPTS = 2
"""How often a shorter schedule is tried before it is given up."""
SMALLER_COUNTS = (1, 3, 20, 100)
SMALLER_SIZES = (10, 1000)


class Attempt(NamedTuple):
    """One execution of a schedule. `judged` has what is wrong; `error` is what was wrong with the ensemble itself.

    `interrupted`: Ctrl-C came before the end.
    """

    schedule: EnsembleSchedule
    judged: Judged
    seconds: float
    error: str = ""
    interrupted: bool = False

    def shows(self, wanted: str) -> bool:
        """Whether what is called `wanted` was seen, even if the run was not recorded to its end.

        That is a property, a kind of finding, a rule for packets, or the number of a known issue whose signature fits.
        """
        judged = self.judged
        return wanted in judged.wrong or wanted in judged.noticed or looks_like(wanted, judged.evidence)


def attempt(
    schedule: EnsembleSchedule,
    distribution: Distribution,
    folder: Path,
    properties: Sequence[str] | None = None,
    keep_data: bool = False,
    stop: Event | None = None,
    exact: bool = False,
) -> Attempt:
    """Execute and judge a schedule; the recording is in `folder`, which is made anew. Takes seconds to a minute.

    If the ensemble fails, the attempt has an `error`; if Ctrl-C came or `stop` was set, it is `interrupted`, which the
    caller has to act on. The recording is partial then. The servers' data directories are removed, unless `keep_data`:
    what matters of them is in the recording.
    """
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    start = monotonic()
    error = ""
    interrupted = False
    try:
        execute(schedule, distribution, folder, stop, exact)
    except EnsembleError as failure:
        error = str(failure)
    except KeyboardInterrupt:
        interrupted = True
    finally:
        if not keep_data:
            for data in folder.glob("server-*"):
                if data.is_dir():
                    shutil.rmtree(data)
    return Attempt(schedule, judge(folder, properties), monotonic() - start, error, interrupted)


def attempts(
    tasks: Sequence[tuple[EnsembleSchedule, Path]],
    distribution: Distribution,
    properties: Sequence[str] | None = None,
    jobs: int = 1,
    keep_data: bool = False,
) -> Generator[Attempt, None, None]:
    """Attempt these schedules, each in its folder, `jobs` at a time; yield the attempts in this order.

    After Ctrl-C attempts that are under way are ended, and yielded as interrupted; no more are begun. A caller that
    does not take all of them has to close the iterator, which ends those that are under way, and removes their folders.
    """
    stop = Event()

    def begin(task: tuple[EnsembleSchedule, Path]) -> Attempt:
        schedule, folder = task
        return attempt(schedule, distribution, folder, properties, keep_data, stop)

    with ThreadPoolExecutor(jobs) as pool:

        def end() -> None:
            stop.set()
            pool.shutdown(wait=False, cancel_futures=True)

        untold = {pool.submit(begin, task): task for task in tasks}
        try:
            for future in [*untold]:
                try:
                    if not future.cancelled():
                        wait([future])
                except KeyboardInterrupt:
                    end()
                if future.cancelled():
                    break
                tried = future.result()
                if tried.interrupted:
                    end()
                del untold[future]
                yield tried
        finally:
            end()
            for future, (_, folder) in untold.items():
                if not future.cancelled():
                    wait([future])
                    shutil.rmtree(folder, ignore_errors=True)


def minimise(
    schedule: EnsembleSchedule,
    shows: Callable[[EnsembleSchedule], bool],
    seconds: float,
    idle: Callable[[], Sequence[int]] = tuple,
) -> EnsembleSchedule:
    """Find a short schedule for which `shows` is true, within about `seconds`; `schedule` itself if there is no other.

    Leaves out the choices that were `idle` in the last run that showed it, then others, ever smaller parts of them;
    then writes less. A candidate may by chance not show it, so each gets a second attempt, but not before all have had
    their first: once a choice is left out elsewhere, many second attempts are needless. A candidate that fails twice is
    given up, so the result need not be the shortest.
    """
    minimising = _Minimising(schedule, shows, idle, monotonic() + seconds)
    for attempts in range(1, ATTEMPTS + 1):
        minimising.leave_out(attempts)
        minimising.write_less(attempts)
    return minimising.schedule


class _Minimising:
    """The shortest `schedule` so far, and how often each candidate was tried. Nothing is tried after `until`."""

    def __init__(
        self,
        schedule: EnsembleSchedule,
        shows: Callable[[EnsembleSchedule], bool],
        idle: Callable[[], Sequence[int]],
        until: float,
    ) -> None:
        self.schedule = schedule
        self._shows = shows
        self._idle = idle
        self._until = until
        self._tried: Counter[tuple[Choice, ...]] = Counter()

    def leave_out(self, attempts: int) -> None:
        """Leave out choices, ever smaller parts of them. Each candidate is tried `attempts` times in all."""
        part = max(1, len(self.schedule.choices) // 2)
        while monotonic() < self._until:
            self._leave_out_idle()
            start = 0
            shorter = False
            while start < len(self.schedule.choices) and monotonic() < self._until:
                choices = self.schedule.choices
                if self._shown([*choices[:start], *choices[start + part :]], attempts):
                    shorter = True
                else:
                    start += part
            if part == 1 and not shorter:
                break
            part = part if shorter and part == 1 else max(1, part // 2)

    def write_less(self, attempts: int) -> None:
        """Write less often, then fewer bytes."""
        for field, values in (("count", SMALLER_COUNTS), ("size", SMALLER_SIZES)):
            for position, choice in enumerate(self.schedule.choices):
                for value in values if isinstance(choice, Write) else ():
                    if value >= getattr(choice, field):
                        break
                    choices: list[Choice] = [*self.schedule.choices]
                    choices[position] = msgspec.structs.replace(choices[position], **{field: value})
                    if self._shown(choices, attempts):
                        break

    def _leave_out_idle(self) -> None:
        while idle := {*self._idle()}:
            rest = [choice for number, choice in enumerate(self.schedule.choices) if number not in idle]
            if not self._shown(rest, ATTEMPTS):
                break

    def _shown(self, choices: Sequence[Choice], attempts: int) -> bool:
        candidate = msgspec.structs.replace(self.schedule, choices=tuple(choices))
        while monotonic() < self._until and self._tried[candidate.choices] < attempts:
            self._tried[candidate.choices] += 1
            if self._shows(candidate):
                self.schedule = candidate
                return True
        return False


def idle_in(folder: Path) -> list[int]:
    """Find the choices, by number, that did nothing in a recorded run. RecordingError if it cannot be read.

    They were passed over, or waited for a packet that did not come, or asked for writes of which none could be made.
    """
    return [each.number for each in read(folder) if isinstance(each, Chose) and each.note.startswith(DID_NOTHING)]
