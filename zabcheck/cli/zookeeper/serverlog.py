"""`zabcheck zookeeper serverlog`: reads the logs that operators have of their servers, and says what is wrong."""

from pathlib import Path
from typing import Annotated

import typer

from zabcheck.cli.commands import Format, Formats, command_of
from zabcheck.cli.files import bad_input_for, check_out, writing
from zabcheck.cli.next_step import another
from zabcheck.cli.output import make_console, print_json, print_path
from zabcheck.cli.verdict import INCONCLUSIVE, OK, VIOLATED, conclude
from zabcheck.cli.zookeeper.command import zookeeper
from zabcheck.text.files import write_all
from zabcheck.text.words import as_text
from zabcheck.zookeeper.bugs.catalogue import BUGS
from zabcheck.zookeeper.report import serverlogs as reports
from zabcheck.zookeeper.report.serverlogs import Logs
from zabcheck.zookeeper.serverlogs.problems import problems
from zabcheck.zookeeper.serverlogs.reading import ServerLogError, read
from zabcheck.zookeeper.serverlogs.timeline import reigns, timeline

PAGE = "serverlog.html"


@command_of(zookeeper)
def serverlog(
    files: Annotated[
        list[Path],
        typer.Argument(metavar="FILE…", help="Logs of servers, also rotated (.1, .gz), or a folder with logs in it."),
    ],
    out: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help=f"Write a page with the whole timeline there: {PAGE}."),
    ] = None,
    format: Formats = Format.text,
) -> int:
    """Read servers' own logs: who led when, what is wrong, and which known bug it may be."""
    if out is not None:
        check_out(out)
    with bad_input_for(ServerLogError):
        logs = _logs(files)
    wrong = any(each.wrong for each in logs.problems)
    code = VIOLATED if wrong else OK if logs.moments else INCONCLUSIVE
    written: list[Path] = []
    if out is not None:
        with writing("--out", out):
            written = write_all(out, {PAGE: reports.page(logs).encode()})
    if format is Format.json:
        print_json("zookeeper serverlog", **reports.as_json(logs), files=[as_text(each) for each in written])
        return code
    console = make_console()
    console.print(reports.render(logs), crop=False)
    for each in written:
        print_path(console, f"wrote {each}")
    why = reports.verdict(logs) if logs.moments else "no line tells of an election, a start, a leader or an error"
    kept = [bug.name for bug in BUGS]
    may_be = [each.issue.name for problem in logs.problems for each in problem.suspects if not each.lacks]
    bug = next((name for name in may_be if name in kept), "")
    return conclude(console, code, why, another("zookeeper", "catalogue", bug=bug, list=True) if bug else "")


def _logs(files: list[Path]) -> Logs:
    servers = read(files)
    timelines = [timeline(each, at) for at, each in enumerate(servers)]
    led = [reign for moments in timelines for reign in reigns(moments)]
    moments = sorted((each for told in timelines for each in told), key=lambda each: each.time)
    return Logs(
        tuple(servers),
        tuple(moments),
        tuple(sorted(led, key=lambda each: each.begins.time)),
        tuple(problems(servers, timelines, led)),
    )
