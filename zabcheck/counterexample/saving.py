"""From a run that failed to what a person reads: minimised, explained, and saved.

Where the search and the report meet; the command and the test suite's machine both end here.
"""

import os
import re
import tempfile
from collections.abc import Collection
from pathlib import Path

from zabcheck.counterexample.explain import NOT_DETERMINISTIC, explain_replay
from zabcheck.counterexample.forms.exports import FORMS
from zabcheck.counterexample.story import Story
from zabcheck.protocols.base import StepRaised
from zabcheck.search.minimise import SECONDS, minimise_raise
from zabcheck.search.run import Replay, replay
from zabcheck.search.shorten import shortest
from zabcheck.simulation import schedule as schedules
from zabcheck.simulation.schedule import Schedule

TOLD = (".txt", ".html")
"""The forms in which every counterexample is saved, beside its schedule and its trace."""


def counterexample(
    schedule: Schedule, property_: str, seconds: float = SECONDS, keep: Collection[str] = ()
) -> tuple[Replay, Story]:
    """The shortest run that could be found from `schedule` on, executed and explained; `property_` still breaks.

    No more than `seconds` of CPU time go into making it shorter. `keep` names what stays as it is: switches, "quorums".
    ValueError if the property does not break again each time: the protocol is not deterministic.
    """
    replayed = replay(shortest(schedule, property_, seconds, keep), [property_])
    if not any(verdict.status == "violated" for verdict in replayed.verdicts):
        raise ValueError(NOT_DETERMINISTIC)
    return replayed, explain_replay(replayed, decisive=True)


def explain_raise(
    schedule: Schedule, raised: StepRaised, seconds: float = SECONDS, keep: Collection[str] = ()
) -> tuple[Replay, Story]:
    """`counterexample` for a schedule that makes the protocol's code raise: the same exception, in the same line."""
    replayed = replay(minimise_raise(schedule, raised.place, seconds, keep))
    if replayed.raised is None or replayed.raised.place != raised.place:
        raise ValueError(NOT_DETERMINISTIC)
    return replayed, explain_replay(replayed)


def save(out: Path, replayed: Replay, story: Story) -> list[Path]:
    """Write `*.schedule.json`, `*.trace.jsonl`, `*.txt` and `*.html` into `out`, each whole or not at all.

    The names say protocol, mutant and property (or "raised"), and hold the start of the trace's SHA-256. OSError if
    `out` cannot be written.
    """
    schedule = replayed.schedule
    failure = schedule.violates if replayed.raised is None else "raised"
    parts = [schedule.protocol, schedule.mutant, failure, replayed.sha256[:8]]
    stem = "-".join(re.sub(r"[^\w.]+", "-", part).strip("-") for part in parts if part)
    schedule_file = f"{stem}.schedule.json"
    told = {f"{stem}{suffix}": FORMS[suffix].make(story, schedule_file) for suffix in TOLD}
    out.mkdir(parents=True, exist_ok=True)
    return [
        write(out / schedule_file, schedules.dump(schedule)),
        write(out / f"{stem}.trace.jsonl", replayed.trace),
        *(write(out / name, content) for name, content in told.items()),
    ]


def write(path: Path, content: bytes) -> Path:
    """Write a file whole or not at all: beside, then renamed. OSError if that cannot be."""
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
        os.chmod(name, 0o644)
        os.replace(name, path)
    except BaseException:
        os.unlink(name)
        raise
    return path
