"""`zabcheck zookeeper judge`: judges recordings that were kept, with this version of zabcheck."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from zabcheck.cli.commands import BadInput, Format, Formats, Properties, command_of
from zabcheck.cli.files import bad_input_for, writing
from zabcheck.cli.next_step import again
from zabcheck.cli.output import make_console, print_json, print_path
from zabcheck.cli.verdict import VIOLATED, conclude
from zabcheck.cli.zookeeper.command import judging, outcome, zookeeper
from zabcheck.cli.zookeeper.recordings import Recordings, recordings_in, save_report, schedule_of, story_of
from zabcheck.counterexample.forms import terminal
from zabcheck.text.words import as_text
from zabcheck.zookeeper.recording.folder import RecordingError
from zabcheck.zookeeper.report import runs as reports
from zabcheck.zookeeper.report.packets import render_packets
from zabcheck.zookeeper.report.runs import EnsembleSummary
from zabcheck.zookeeper.verdict.judge import RecordingVerdict
from zabcheck.zookeeper.verdict.judge import judge as judge_recording


@command_of(zookeeper)
def judge(
    folders: Recordings,
    property: Properties = None,
    write: Annotated[bool, typer.Option("--write", help="Write trace and report beside each recording.")] = False,
    format: Formats = Format.text,
) -> int:
    """Judge recordings of an ensemble again."""
    judged = _judged(folders, judging(property))
    summary = EnsembleSummary(judged[0].zookeeper, judged[0].observation.header.processes)
    files: list[Path] = []
    for each in judged:
        summary.add(each, None, 0.0)
        if write:
            with writing("DIR", each.folder):
                files += save_report(schedule_of(each), each)[1]
    code, why = outcome(summary)
    if format is Format.json:
        print_json("zookeeper judge", **summary.as_json(), files=[as_text(file) for file in files])
        return code
    console = make_console()
    for each in judged:
        _show(console, each)
    console.print(reports.render(summary))
    for file in files:
        print_path(console, f"wrote {file}")
    then = again(write=True) if code == VIOLATED and not write else ""
    return conclude(console, code, why, then)


def _judged(folders: Sequence[Path], names: Sequence[str] | None) -> list[RecordingVerdict]:
    """Judge all recordings in these folders. BadInput if they are not of one version and one number of servers."""
    judged: list[RecordingVerdict] = []
    for folder in (each for above in folders for each in recordings_in(above)):
        with bad_input_for(RecordingError):
            judged.append(judge_recording(folder, names))
    versions = {(each.zookeeper, each.observation.header.processes) for each in judged}
    if len(versions) > 1:
        raise BadInput(f"{folders[0]}: expected recordings of one version and one number of servers")
    return judged


def _show(console: Console, judged: RecordingVerdict) -> None:
    """Print what is wrong in one recording."""
    if judged.violated or any(verdict.violation for verdict in judged.clients):
        print_path(console, str(judged.folder), style="bold")
        console.print(terminal.render(story_of(judged), ""), crop=False)
        console.print()
    if judged.steps.divergences:
        print_path(console, str(judged.folder), style="bold")
        console.print(render_packets(judged.steps), crop=False)
        console.print()
