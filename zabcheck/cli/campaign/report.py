"""`zabcheck campaign report`: what all runs of a campaign say together.

Code that needs the extra `spark` is imported only when it is used.
"""

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import msgspec
import typer

from zabcheck.campaign.findings import ERROR, FINDINGS
from zabcheck.campaign.report import terminal as campaign
from zabcheck.campaign.report.wording import what_failing_runs_do
from zabcheck.cli.commands import BadInput, Format, Formats
from zabcheck.cli.files import bad_input_for, check_file, writing
from zabcheck.cli.next_step import another, source, to_play
from zabcheck.cli.output import doing, make_console, print_json, print_path
from zabcheck.cli.verdict import BAD_INPUT, INCONCLUSIVE, OK, VIOLATED, conclude, named, without
from zabcheck.extras import pip_install
from zabcheck.invariants.diagnosis import NOT_DECODED, why_not_decoded
from zabcheck.text.files import write
from zabcheck.text.words import as_text, counted

if TYPE_CHECKING:
    from zabcheck.campaign.results import CampaignReport
    from zabcheck.campaign.store import Store

FOLDER = "tables"


def report(
    directory: Annotated[str, typer.Argument(metavar="DIR", help="The folder of the campaign, a path or a URI.")],
    master: Annotated[
        str | None,
        typer.Option(
            metavar="URL",
            help="The Spark to use, as in spark://host:7077 or sc://host:15002; by default this machine's, and none at "
            "all for a small campaign.",
        ),
    ] = None,
    html: Annotated[Path | None, typer.Option(help="Write a page that stands alone to this file.")] = None,
    format: Formats = Format.text,
) -> int:
    """Report what a campaign has found and covered, and write the tables to DIR/tables.

    The exit code is the campaign's own, and 3 if runs of it are missing.
    """
    draw = None
    if html is not None:
        check_file("--html", html)
        draw = load_page()
    made, tables = make(directory, master)
    code, why = outcome(made)
    page: list[Path] = []
    if html is not None and draw is not None:
        with writing("--html", html):
            page.append(write(html, draw(made).encode()))
    if format is Format.json:
        print_json("campaign report", **fields(made, [*tables, *map(as_text, page)]))
    else:
        console = make_console()
        console.print(campaign.render(made), crop=False)
        console.print()
        if tables:
            print_path(console, f"wrote {counted(len(tables), 'table', 'tables')} to {made.name}/{FOLDER}")
        for each in page:
            print_path(console, f"wrote {each}")
        conclude(console, code, why, _next_step(made, code))
    return code


def outcome(made: "CampaignReport") -> tuple[int, str]:
    """Return the exit code of a campaign, and why: violations first, then code that raised, then what is missing."""
    [total] = made.tables.overview
    runs = counted(total.runs, "run", "runs")
    if total.violating:
        first_to_break = Counter[str]()
        for row in made.tables.broken:
            first_to_break[row.property] += row.first
        first = named([name for name, runs_of_it in first_to_break.most_common() if runs_of_it])
        planted = "" if total.broken_as_it_is else ", each of them with a planted bug"
        of_these = planted if set(+first_to_break) == {ERROR} else f"{planted}; first {first}"
        return VIOLATED, f"{total.violating:,} of {runs} {what_failing_runs_do(made.tables.broken)}{of_these}"
    if total.raised:
        return BAD_INPUT, f"the protocol's own code raised in {total.raised:,} of {runs}; nothing is judged there"
    if total.parts < total.planned_parts:
        return INCONCLUSIVE, f"only {total.runs:,} of {counted(total.planned_runs, 'run', 'runs')} were made so far"
    idle = [row.property for row in made.tables.properties if not row.exercised]
    if idle:
        return INCONCLUSIVE, f"no run of {runs} exercised {named(idle)}"
    judged = [row.property for row in made.tables.properties]
    what = f"any of {len(judged)} properties" if len(judged) > 1 else named(judged)
    return OK, f"none of {runs} violates {what}{without(made.plan['protocol'], made.plan['switches'])}"


def _next_step(made: "CampaignReport", code: int) -> str:
    """Return what to do about a campaign that has this exit code."""
    if code == VIOLATED and made.findings:
        file = "/".join((made.name, FINDINGS, made.findings[0]["schedule"]))
        return to_play([file], made.plan["protocol"])
    [total] = made.tables.overview
    if code == INCONCLUSIVE:
        unfinished = total.parts < total.planned_parts
        resume = another("campaign", resume=True, out=made.name, **source(made.plan["protocol"]))
        return resume if unfinished else "a campaign of more --runs"
    return ""


@contextmanager
def needed() -> Iterator[None]:
    """Turn what Spark, Java or the folder lacks into BadInput, and an extra that is not installed as well."""
    try:
        from zabcheck.campaign.session import NoSpark
        from zabcheck.campaign.store import StoreError
        from zabcheck.campaign.tasks import TaskFailed
        from zabcheck.java import NoJava

        with bad_input_for(NoJava), bad_input_for(NoSpark), bad_input_for(TaskFailed), bad_input_for(StoreError):
            yield
    except ImportError as error:
        raise BadInput(f"this needs Spark: {pip_install('spark')} ({error})") from None


def load_page() -> Callable[["CampaignReport"], str]:
    """Return the function that draws the page. BadInput without matplotlib, before anything takes time."""
    try:
        from zabcheck.campaign.report.page import page
    except ImportError as error:
        raise BadInput(f"this needs Spark: {pip_install('spark')} ({error})") from None
    return page


def fields(made: "CampaignReport", files: list[str]) -> dict[str, Any]:
    """Return the fields of the JSON document, in which a table that always has one row is an object."""
    tables = msgspec.to_builtins(made.tables)
    for name in ("overview", "saturation"):
        [tables[name]] = tables[name]
    return {"plan": made.plan, **tables, "findings": made.findings, "unseen": made.unseen, "files": files}


def make(directory: str, master: str | None) -> tuple["CampaignReport", list[str]]:
    """Make the report, write its tables, and return it with their names. BadInput if the folder is not in order.

    Spark makes the tables if the campaign is large, or if `master` names one.
    """
    from zabcheck.campaign.results import CampaignReport

    with needed():
        from zabcheck.campaign import tables
        from zabcheck.campaign.session import session
        from zabcheck.campaign.store import PLAN, Store, StoreError

        store = Store(directory)
        plan = store.plan()
        if plan is None:
            raise BadInput(f"{directory}: expected the folder of a campaign, there is no {PLAN}")
        found = findings(store)
        tables.check(store)
        if master is None and tables.is_small(store):
            made = tables.make(None, store, plan)
        else:
            with doing("starting Spark, for the report"):
                spark = session(master)
            with doing("Spark is making the tables"):
                made = tables.make(spark, store, plan)
        files: list[str] = []
        with writing("tables", Path(store.place)), bad_input_for(StoreError):
            files = [store.path(name) for name in tables.write(store, made)]
        unseen = tables.unseen(store, plan) if any(not row.runs for row in made.goals) else {}
    return CampaignReport(store.place, msgspec.to_builtins(plan), made, found, unseen), files


def findings(store: "Store") -> list[dict[str, Any]] | None:
    """Return the findings that the campaign has written, None if there are none. BadInput if the file is malformed."""
    from zabcheck.campaign.findings import INDEX, Finding

    content = store.read(INDEX)
    if content is None:
        return None
    try:
        found: list[dict[str, Any]] = msgspec.to_builtins(msgspec.json.decode(content, type=list[Finding]))
    except NOT_DECODED as error:
        raise BadInput(f"{store.path(INDEX)}: expected the findings of a campaign, {why_not_decoded(error)}") from None
    return found
