"""`zabcheck zookeeper judge`: judges recordings that were kept, with this version of zabcheck."""

from pathlib import Path
from typing import Annotated

import typer

from invariants import select
from zabcheck.cli.commands import BadInput, Format, Formats, Properties, command_of
from zabcheck.cli.files import bad_input_for, bad_path
from zabcheck.cli.output import make_console, print_json, print_path
from zabcheck.cli.verdict import VIOLATED, conclude
from zabcheck.cli.zookeeper.command import outcome, save_report, story_of, zookeeper
from zabcheck.counterexample.forms import terminal
from zabcheck.text.words import as_text
from zabcheck.zookeeper.recording.folder import RECORDING, RecordingError
from zabcheck.zookeeper.report import runs as reports
from zabcheck.zookeeper.report.packets import render_packets
from zabcheck.zookeeper.report.runs import EnsembleSummary
from zabcheck.zookeeper.run.schedule import EnsembleSchedule, EnsembleScheduleError, converted
from zabcheck.zookeeper.verdict.judge import Judged
from zabcheck.zookeeper.verdict.judge import judge as judge_recording


@command_of(zookeeper)
def judge(
    folders: Annotated[
        list[Path], typer.Argument(metavar="DIR...", help="Folders of recordings, or a folder with several in it.")
    ],
    property: Properties = None,
    write: Annotated[bool, typer.Option("--write", help="Write trace and report beside each recording.")] = False,
    format: Formats = Format.text,
) -> int:
    """Judge recordings of an ensemble again."""
    with bad_input_for(ValueError):
        names = None if property is None else [kind.name for kind in select(property)]
    judged: list[Judged] = []
    for folder in (each for above in folders for each in recordings_in(above)):
        with bad_input_for(RecordingError):
            judged.append(judge_recording(folder, names))
    versions = {(each.zookeeper, each.observation.header.processes) for each in judged}
    if len(versions) > 1:
        raise BadInput(f"{folders[0]}: expected recordings of one version and one number of servers")
    summary = EnsembleSummary(judged[0].zookeeper, judged[0].observation.header.processes)
    files: list[Path] = []
    for each in judged:
        summary.add(each, None, 0.0)
        if write:
            with bad_path("DIR", each.folder):
                files += save_report(schedule_of(each), each)[1]
    code, why = outcome(summary)
    if format is Format.json:
        print_json("zookeeper judge", **summary.as_json(), files=[as_text(file) for file in files])
    else:
        console = make_console()
        for each in judged:
            if each.violated or any(verdict.violation for verdict in each.clients):
                print_path(console, str(each.folder), style="bold")
                console.print(terminal.render(story_of(each), ""), crop=False)
                console.print()
            if each.steps.divergences:
                print_path(console, str(each.folder), style="bold")
                console.print(render_packets(each.steps), crop=False)
                console.print()
        console.print(reports.render(summary))
        for file in files:
            print_path(console, f"wrote {file}")
        then = "the same with --write, for pages to step through" if code == VIOLATED and not write else ""
        conclude(console, code, why, then)
    return code


def recordings_in(folder: Path) -> list[Path]:
    """Return the folder if it is a recording's, else those in it that are, in the order of their names."""
    with bad_path("DIR", folder):  # a name may be too long to be asked for
        if (folder / RECORDING).exists() or not folder.is_dir():
            return [folder]
        found = sorted(each for each in folder.iterdir() if (each / RECORDING).exists())
    return found or [folder]  # reading it says what is wrong with it


def schedule_of(judged: Judged) -> EnsembleSchedule | None:
    """Return the schedule in the recording, None if it has none. BadInput if it is not a schedule."""
    if judged.schedule is None:
        return None
    with bad_input_for(EnsembleScheduleError, f"{judged.folder}: "):
        return converted(judged.schedule)
