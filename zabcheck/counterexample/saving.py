"""Save a counterexample: its schedule, its trace, and its story as a text and as a page."""

import re
from pathlib import Path

from zabcheck.counterexample.forms.exports import FORMS
from zabcheck.counterexample.story import Story
from zabcheck.search.run import Replay
from zabcheck.simulation import schedule as schedules
from zabcheck.text.files import write_all

TOLD = (".txt", ".html")
"""The forms in which every counterexample is saved, beside its schedule and its trace."""

_LONGEST = 60
"""The most characters of a protocol's name, which may be a long command, in the name of a file."""


def save(out: Path, replayed: Replay, story: Story) -> list[Path]:
    """Write `*.schedule.json`, `*.trace.jsonl`, `*.txt` and `*.html` into `out`, each whole or not at all.

    The names say protocol, mutant and property, and hold the start of the trace's SHA-256. In place of the property
    there is "raised" if the protocol's own code raised, and "error" for an error of the code that it models. Return the
    paths. OSError if `out` cannot be written.
    """
    parts = [replayed.schedule.protocol, replayed.schedule.mutant, _failure(replayed), replayed.sha256[:8]]
    stem = "-".join(re.sub(r"[^\w.]+", "-", part).strip("-")[:_LONGEST] for part in parts if part)
    schedule_file = f"{stem}.schedule.json"
    told = {f"{stem}{suffix}": FORMS[suffix].make(story, schedule_file) for suffix in TOLD}
    kept = {schedule_file: schedules.dump(replayed.schedule), f"{stem}.trace.jsonl": replayed.trace}
    return write_all(out, {**kept, **told})


def _failure(replayed: Replay) -> str | None:
    if replayed.raised is None:
        return replayed.schedule.violates
    return "error" if replayed.raised.is_modelled else "raised"
