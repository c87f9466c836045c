"""`zabcheck zookeeper scale`: judges an operator's plan to add servers or to remove them, before it is carried out."""

from pathlib import Path
from typing import Annotated

import typer

from zabcheck.cli.commands import Format, Formats, command_of
from zabcheck.cli.files import bad_input_for, check_file, read, writing
from zabcheck.cli.next_step import another
from zabcheck.cli.output import make_console, print_json, print_path
from zabcheck.cli.verdict import OK, VIOLATED, conclude
from zabcheck.cli.zookeeper.command import zookeeper
from zabcheck.text.files import write
from zabcheck.text.words import as_text
from zabcheck.zookeeper.report import scaling as reports
from zabcheck.zookeeper.scaling.judge import judge
from zabcheck.zookeeper.scaling.orders import safe_instead
from zabcheck.zookeeper.scaling.plan import MAX_BYTES, PlanError, decode, encode


@command_of(zookeeper)
def scale(
    plan: Annotated[Path, typer.Argument(metavar="PLAN", help="The plan: JSON, `-` for standard input.")],
    write_instead: Annotated[
        Path | None,
        typer.Option("--write", metavar="FILE", help="Write a plan there that is safe, if this one is not."),
    ] = None,
    format: Formats = Format.text,
) -> int:
    """Judge a plan to add servers or remove them: safe at each step, or the run that loses a write, and a safe plan."""
    if write_instead is not None:
        check_file("--write", write_instead)
    with bad_input_for(PlanError):
        wanted = decode(read(plan, MAX_BYTES), as_text(plan))
    judged = judge(wanted)
    instead = safe_instead(wanted, judged.findings) if judged.findings else None
    code = VIOLATED if judged.findings else OK
    written: list[Path] = []
    if write_instead is not None and instead is not None:
        with writing("--write", write_instead):
            write(write_instead, encode(instead))
            written.append(write_instead)
    if format is Format.json:
        files = [as_text(each) for each in written]
        print_json("zookeeper scale", **reports.as_json(wanted, judged, instead), files=files)
        return code
    console = make_console()
    console.print(reports.render(wanted, judged, instead))
    for each in written:
        print_path(console, f"wrote {each}")
    bug = next((each.issue for each in judged.findings if each.bug), "")
    then = another("zookeeper", "catalogue", bug=bug, list=True) if bug and instead is None else ""
    return conclude(console, code, reports.verdict(wanted, judged), then)
