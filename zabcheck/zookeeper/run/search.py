"""Runs of an ensemble, each judged.

The servers have clocks and threads of their own, so a schedule that once showed something may not do so again. All that
is reported was seen in the run whose recording is kept; how often the schedule shows it again is counted.
"""

import shutil
from collections.abc import Generator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from pathlib import Path
from threading import Event
from time import monotonic
from typing import NamedTuple

from zabcheck.zookeeper.run.distribution import Distribution
from zabcheck.zookeeper.run.ensemble import EnsembleError
from zabcheck.zookeeper.run.execute import execute
from zabcheck.zookeeper.run.schedule import EnsembleSchedule
from zabcheck.zookeeper.verdict.judge import RecordingVerdict, judge
from zabcheck.zookeeper.verdict.known_issues import looks_like


class Attempt(NamedTuple):
    """One execution of a schedule. `judged` has what is wrong; `error` is what was wrong with the ensemble itself.

    `interrupted`: Ctrl-C came before the end.
    """

    schedule: EnsembleSchedule
    judged: RecordingVerdict
    seconds: float
    error: str = ""
    interrupted: bool = False

    def shows(self, wanted: str) -> bool:
        """Return True if `wanted` was seen, even if the run was not recorded to its end.

        It names a property, a kind of finding, a rule for packets, or the number of a known issue whose signature fits.
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
    """Execute and judge a schedule; the recording is in `folder`, which is made anew.

    Takes seconds to a minute as processes, a tenth of a second simulated; then the attempt's schedule has the order of
    threads that it had.

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
        if distribution.simulation is not None:
            schedule = distribution.simulation.execute(schedule, folder, stop, exact)
        else:
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

    with ThreadPoolExecutor(jobs) as pool:

        def end() -> None:
            # Those that wait first: else an attempt that ends because of `stop` lets one of them begin.
            pool.shutdown(wait=False, cancel_futures=True)
            stop.set()

        untold = {
            pool.submit(attempt, schedule, distribution, folder, properties, keep_data, stop): folder
            for schedule, folder in tasks
        }
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
            for future, folder in untold.items():
                _discard(future, folder)


def _discard(future: "Future[Attempt]", folder: Path) -> None:
    """Wait for the end of an attempt that nobody takes, and remove its folder."""
    if not future.cancelled():
        wait([future])
        shutil.rmtree(folder, ignore_errors=True)
