"""Runs of an ensemble: one after the other, each judged; the shortest schedule that shows the same; replays.

The servers have clocks and threads of their own, so a schedule that once showed something may not do so again. What is
said to be shown was seen in the run whose recording is kept; how often the schedule shows it again is counted.
"""

import shutil
from collections.abc import Callable, Sequence
from pathlib import Path
from time import monotonic
from typing import NamedTuple

import msgspec

from zabcheck.ensemble.distribution import Distribution
from zabcheck.ensemble.ensemble import EnsembleError
from zabcheck.ensemble.execute import execute
from zabcheck.ensemble.judge import Judged, judge
from zabcheck.ensemble.schedule import Choice, EnsembleSchedule, Write

SMALLER_COUNTS = (1, 3, 20, 100)
SMALLER_SIZES = (10, 1000)


class Attempt(NamedTuple):
    """One execution of a schedule. `judged` has what is wrong; `error` is what was wrong with the ensemble itself.

    `interrupted`: Ctrl-C came before its end.
    """

    schedule: EnsembleSchedule
    judged: Judged
    seconds: float
    error: str = ""
    interrupted: bool = False

    def shows(self, wanted: str) -> bool:
        """Whether what is called `wanted` was seen, whether the run is recorded to its end or not."""
        return wanted in self.judged.wrong or wanted in self.judged.noticed


def attempt(
    schedule: EnsembleSchedule,
    distribution: Distribution,
    folder: Path,
    properties: Sequence[str] | None = None,
    keep_data: bool = False,
) -> Attempt:
    """Execute and judge; the recording is in `folder`, which is made anew. Seconds to a minute, by what is waited for.

    An ensemble that fails is an attempt with an `error`, whose recording is partial; so is that of a run in which
    Ctrl-C came, which the caller has to go on with. The servers' data directories are removed, unless `keep_data`:
    what matters of them is in the recording.
    """
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    start = monotonic()
    error = ""
    interrupted = False
    try:
        execute(schedule, distribution, folder)
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


def minimise(schedule: EnsembleSchedule, shows: Callable[[EnsembleSchedule], bool], seconds: float) -> EnsembleSchedule:
    """The shortest schedule found, within about `seconds`, for which `shows` is true; `schedule` itself if none is.

    Leaves out choices, ever smaller parts of them, then writes less. A candidate that happens not to show it again is
    lost; the result is short, not shortest.
    """
    until = monotonic() + seconds
    part = max(1, len(schedule.choices) // 2)
    while monotonic() < until:
        start = 0
        shorter = False
        while start < len(schedule.choices) and monotonic() < until:
            candidate = _with(schedule, schedule.choices[:start] + schedule.choices[start + part :])
            if shows(candidate):
                schedule, shorter = candidate, True
            else:
                start += part
        if part == 1 and not shorter:
            break
        part = part if shorter and part == 1 else max(1, part // 2)
    for field, values in (("count", SMALLER_COUNTS), ("size", SMALLER_SIZES)):
        for position, choice in enumerate(schedule.choices):
            for value in values if isinstance(choice, Write) else ():
                if value >= getattr(choice, field) or monotonic() >= until:
                    break
                smaller = msgspec.structs.replace(schedule.choices[position], **{field: value})
                candidate = _with(schedule, [*schedule.choices[:position], smaller, *schedule.choices[position + 1 :]])
                if shows(candidate):
                    schedule = candidate
                    break
    return schedule


def _with(schedule: EnsembleSchedule, choices: Sequence[Choice]) -> EnsembleSchedule:
    return msgspec.structs.replace(schedule, choices=tuple(choices))
