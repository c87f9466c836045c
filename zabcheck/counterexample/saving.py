"""Save a counterexample: its schedule, its trace, and its story as a text and as a page."""

import re
from pathlib import Path

from zabcheck.counterexample.forms.exports import FORMS
from zabcheck.counterexample.story import Story
from zabcheck.search.run import Replay
from zabcheck.simulation import schedule as schedules
from zabcheck.text.files import write

TOLD = (".txt", ".html")
"""The forms in which every counterexample is saved, beside its schedule and its trace."""

_LONGEST = 60
"""How much of the name of a protocol, which may be a long command, the name of a file has."""


def save(out: Path, replayed: Replay, story: Story) -> list[Path]:
    """Write `*.schedule.json`, `*.trace.jsonl`, `*.txt` and `*.html` into `out`, each whole or not at all.

    The names say protocol, mutant and property (or "raised"), and hold the start of the trace's SHA-256. Return the
    paths. OSError if `out` cannot be written.
    """
    schedule = replayed.schedule
    failure = schedule.violates if replayed.raised is None else "raised"
    parts = [schedule.protocol, schedule.mutant, failure, replayed.sha256[:8]]
    stem = "-".join(re.sub(r"[^\w.]+", "-", part).strip("-")[:_LONGEST] for part in parts if part)
    schedule_file = f"{stem}.schedule.json"
    told = {f"{stem}{suffix}": FORMS[suffix].make(story, schedule_file) for suffix in TOLD}
    out.mkdir(parents=True, exist_ok=True)
    return [
        write(out / schedule_file, schedules.dump(schedule)),
        write(out / f"{stem}.trace.jsonl", replayed.trace),
        *(write(out / name, content) for name, content in told.items()),
    ]
