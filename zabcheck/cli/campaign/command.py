"""`zabcheck campaign`: a great number of runs, on every core or on a cluster, and a short report of them."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import wraps
from time import monotonic
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.progress import BarColumn, TextColumn, TimeRemainingColumn
from rich.progress import Progress as Bar

from zabcheck.campaign.report.terminal import render_short
from zabcheck.cli.campaign.plan import MINIMISE, RUNS, Kept, new_plan, resumed_plan
from zabcheck.cli.campaign.report import fields, make, needed, outcome
from zabcheck.cli.campaign.report import report as campaign_report
from zabcheck.cli.commands import (
    BadInput,
    Command,
    Commands,
    Exec,
    Format,
    Formats,
    Processes,
    Properties,
    Protocols,
    Quorums,
    Settings,
    Steps,
    app,
    complain,
    example_of,
    guarded,
    known_bugs,
)
from zabcheck.cli.next_step import another, source
from zabcheck.cli.output import doing, make_console, print_json, print_path
from zabcheck.cli.verdict import INCONCLUSIVE, conclude, conclude_on_standard_error

if TYPE_CHECKING:
    from zabcheck.campaign.driver import Progress
    from zabcheck.campaign.plan import Plan
    from zabcheck.campaign.store import Store

FEW = 100_000
"""The most runs for which Spark has so little to do that its Java need not be a fast one."""

campaigns = typer.Typer(
    name="campaign",
    cls=Commands,
    invoke_without_command=True,
    epilog=example_of("campaign"),
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.add_typer(campaigns, name="campaign")


Runs = Annotated[int | None, typer.Option("--runs", min=1, help=f"How many runs to make; by default {RUNS:,}.")]
Planted = Annotated[
    list[str] | None,
    typer.Option(
        "--mutant",
        metavar="M",
        autocompletion=known_bugs,
        help="Plant this known bug; `all` plants each of them, `none` is no bug (may be repeated).",
    ),
]
Seed = Annotated[int | None, typer.Option("--seed", min=0, max=2**64 - 1, help="The same seed gives the same runs.")]
Out = Annotated[
    str | None,
    typer.Option("--out", metavar="DIR", help="Where to write: a folder, or a URI as in s3://bucket/campaign."),
]
Keep = Annotated[
    Kept | None,
    typer.Option("--keep", help="Store the events of all runs, of the runs with violations, or of none."),
]
Master = Annotated[
    str | None,
    typer.Option(
        "--master",
        metavar="URL",
        help="The Spark to use, as in spark://host:7077 or sc://host; by default this machine.",
    ),
]
Minimise = Annotated[
    str | None,
    typer.Option(
        "--minimise",
        metavar="N",
        help=f"How many violating runs of each bug and property to minimise, or `all`; by default {MINIMISE}.",
    ),
]


@campaigns.callback()
def campaign(
    context: typer.Context,
    runs: Runs = None,
    protocol: Protocols = None,
    exec: Exec = None,
    mutant: Planted = None,
    seed: Seed = None,
    out: Out = None,
    keep: Keep = None,
    master: Master = None,
    resume: Annotated[bool, typer.Option("--resume", help="Continue the campaign in --out.")] = False,
    processes: Processes = None,
    steps: Steps = None,
    quorums: Quorums = None,
    switch: Settings = None,
    property: Properties = None,
    minimise: Minimise = None,
    format: Formats = Format.text,
) -> int:
    """Make a great number of runs of the swarm on Spark, store them, minimise those that break a property, and report.

    --resume continues a campaign, however it was stopped. `zabcheck campaign report DIR` reports in full.
    """
    if context.invoked_subcommand is not None:
        return 0
    wishes = {
        "protocol": protocol,
        "exec": exec,
        "mutant": mutant,
        "seed": seed,
        "runs": runs,
        "keep": keep and keep.value,
        "steps": steps,
        "processes": processes,
        "quorums": quorums,
        "property": property,
        "switch": switch,
        "minimise": minimise,
    }
    said = {name: wish for name, wish in wishes.items() if wish is not None}
    return guarded(lambda: _campaign(said, out, resume, master, format))


def _campaign(wishes: Mapping[str, Any], out: str | None, resume: bool, master: str | None, format: Format) -> int:
    if resume and out is None:
        raise BadInput("--resume: expected --out DIR, the folder of the campaign")
    plan = None if resume else new_plan(wishes)
    with needed():
        from zabcheck.campaign import driver
        from zabcheck.campaign.session import session
        from zabcheck.campaign.store import Store

        store = Store(out or f"reports/campaign-{plan.seed if plan else ''}")
        begun = store.plan() is not None
        if begun and not resume:
            raise BadInput(f"--out {store.place}: holds a campaign already; --resume goes on with it")
        if plan is None:
            plan = resumed_plan(store, wishes) if begun else _plan_from_the_beginning(store, wishes)
        try:
            with doing("starting Spark, for the runs"):
                spark = session(master, short=plan.runs <= FEW)
            if not begun:
                store.begin(plan)
            with _live(plan) as show:
                driver.run(spark, store, plan, show)
        except KeyboardInterrupt:
            if store.plan() is None:  # Spark had not started yet
                store.begin(plan)
            made = sum(len(plan.runs_of(part)) for part in store.finished())
            return conclude_on_standard_error(
                INCONCLUSIVE,
                f"interrupted: {made:,} of {plan.runs:,} runs are kept",
                another("campaign", resume=True, out=store.place, **source(plan.protocol)),
            )
    report, tables = make(store.place, None)
    code, why = outcome(report)
    if format is Format.json:
        print_json("campaign", **fields(report, tables))
        return code
    console = make_console()
    console.print(render_short(report), crop=False)
    console.print()
    print_path(console, f"wrote {store.place}")
    return conclude(console, code, why, another("campaign", "report", store.place))


def _plan_from_the_beginning(store: "Store", wishes: Mapping[str, Any]) -> "Plan":
    """Return the plan of a campaign of which nothing was written yet. BadInput if something else is in the folder."""
    if not store.is_empty():
        raise BadInput(f"--resume: {store.place} holds no campaign")
    complain(f"--resume: nothing was written to {store.place} yet, so this begins at the beginning")
    return new_plan(wishes)


@contextmanager
def _live(plan: "Plan") -> Iterator[Any]:
    """Show progress on standard error: a bar if that is a terminal, and a line if a cluster runs no task."""
    from zabcheck.campaign.tasks import PATIENCE

    console = Console(stderr=True)
    bar = Bar(
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.completed:,} of {task.total:,} runs{task.fields[note]}"),
        TimeRemainingColumn(),
        console=console,
        transient=True,
        disable=not console.is_terminal,
    )
    start = monotonic()
    with bar:
        making = bar.add_task("making", total=plan.runs, note="")
        minimising = bar.add_task("minimising", total=1, note="", visible=False)
        waiting = False

        def show(progress: "Progress") -> None:
            nonlocal waiting
            if progress.idle >= PATIENCE and not waiting:
                complain(f"no task has been running for {PATIENCE:.0f} s; still waiting for Spark to have a free core")
            waiting = progress.idle >= PATIENCE
            made = progress.runs + progress.under_way
            rate = (made - progress.resumed) / max(monotonic() - start, 1e-9)
            note = f", {rate:,.0f} a second, {progress.failing:,} violating"
            bar.update(making, completed=made, note=note)
            if progress.to_minimise:
                bar.update(minimising, completed=progress.minimised, total=progress.to_minimise, visible=True)

        yield show


@campaigns.command("report", cls=Command, epilog=example_of("campaign report"))
@wraps(campaign_report)
def report(*args: Any, **kwargs: Any) -> int:
    """See `zabcheck.cli.campaign.report`."""
    return guarded(lambda: campaign_report(*args, **kwargs))
