"""Recordings of an ensemble: the folders that a command is given, and the files that it writes into them."""

from hashlib import sha256
from pathlib import Path
from typing import Annotated

import typer
from msgspec import structs

from zabcheck.cli.files import bad_input_for, bad_path
from zabcheck.counterexample.forms.exports import FORMS
from zabcheck.counterexample.saving import TOLD
from zabcheck.counterexample.story import Story
from zabcheck.counterexample.traced import story_of_trace
from zabcheck.invariants.trace import dump
from zabcheck.text.files import write
from zabcheck.zookeeper.clients.history import dump as dump_history
from zabcheck.zookeeper.recording.folder import RECORDING
from zabcheck.zookeeper.report import runs as reports
from zabcheck.zookeeper.report.held import held_threads
from zabcheck.zookeeper.report.servers_parts import servers_parts
from zabcheck.zookeeper.run import schedule as schedules
from zabcheck.zookeeper.run.schedule import EnsembleSchedule, EnsembleScheduleError
from zabcheck.zookeeper.trace.incarnations import read_sorted
from zabcheck.zookeeper.trace.observe import write_trace
from zabcheck.zookeeper.verdict.clients import history_of, lines_of
from zabcheck.zookeeper.verdict.judge import RecordingVerdict

SCHEDULE = "schedule.json"
HISTORY = "history.jsonl"
"""The history of a run's sessions, for `zabcheck clients check`."""

Recordings = Annotated[
    list[Path], typer.Argument(metavar="DIR...", help="Folders of recordings, or a folder with several in it.")
]


def recordings_in(folder: Path) -> list[Path]:
    """Return the folder if it is a recording's, else those in it that are, in the order of their names."""
    with bad_path("DIR", folder):  # a name may be too long to be asked for
        if (folder / RECORDING).exists() or not folder.is_dir():
            return [folder]
        found = sorted(each for each in folder.iterdir() if (each / RECORDING).exists())
    return found or [folder]  # reading it says what is wrong with it


def schedule_of(judged: RecordingVerdict) -> EnsembleSchedule | None:
    """Return the schedule in the recording, None if it has none. BadInput if it is not a schedule."""
    if judged.schedule is None:
        return None
    with bad_input_for(EnsembleScheduleError, f"{judged.folder}: "):
        return schedules.converted(judged.schedule)


def keep(folder: Path, schedule: EnsembleSchedule | None, judged: RecordingVerdict) -> list[Path]:
    """Write the schedule, if it is known, the trace, and the history of sessions beside the recording."""
    saved = [] if schedule is None else [write(folder / SCHEDULE, schedules.encode(schedule))]
    saved.append(write_trace(judged.observation, folder))
    if any(each.judged for each in judged.clients):
        history = history_of(read_sorted(folder))
        if history.requests:
            saved.append(write(folder / HISTORY, b"".join(dump_history(lines_of(history)))))
    return saved


def save_report(schedule: EnsembleSchedule | None, judged: RecordingVerdict) -> tuple[Story, list[Path]]:
    """Write the report of a run, with trace and schedule, beside its recording."""
    saved = keep(judged.folder, schedule, judged)
    story = story_of(judged)
    if schedule is not None and schedule.simulated is not None:
        story = structs.replace(story, done=(*story.done, *(("", line) for line in schedule.simulated.words())))
    for suffix in TOLD:
        content = FORMS[suffix].make(story, "" if schedule is None else SCHEDULE)
        saved.append(write(judged.folder / f"report{suffix}", content))
    return story, saved


def story_of(judged: RecordingVerdict) -> Story:
    """Make the story of a run, for its report; servers are its processes."""
    observation = judged.observation
    placed = [(number, event) for number, event in enumerate(observation.events, start=2)]
    digest = sha256(b"".join(dump(observation.trace()))).hexdigest()
    worst = [verdict for verdict in judged.verdicts if verdict.property == next(iter(judged.violated), None)]
    told = worst or judged.verdicts
    story = story_of_trace(observation.header, placed, told, unit="line", sha256=digest, folded=True)
    known = tuple(f"{each.issue.in_words}: {each.why}" for each in judged.known)
    done, noticed = tuple(reports.what_was_done(judged.folder)), tuple(reports.noticed_in(judged))
    schedule = None if judged.schedule is None else schedules.converted(judged.schedule)
    threads = held_threads(judged, schedule, story)
    return structs.replace(
        story,
        known=known,
        noticed=noticed,
        servers=servers_parts(judged),
        worst=reports.worst_in(judged),
        done=done,
        threads=threads,
        simulated=judged.simulated,
    )
