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

from zabcheck.cli.campaign.kinds import OF_THE_SWARM, ON_SERVERS, Kind
from zabcheck.cli.campaign.on_servers import report as report_on_servers
from zabcheck.cli.campaign.plan import MINIMISE, RUNS, KeptRuns
from zabcheck.cli.campaign.report import needed
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
from zabcheck.cli.next_step import another
from zabcheck.cli.output import doing
from zabcheck.cli.verdict import INCONCLUSIVE, conclude_on_standard_error
from zabcheck.cli.zookeeper.builds import Classpaths, Homes, Java

if TYPE_CHECKING:
    from zabcheck.campaign.driver import Progress
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
    KeptRuns | None,
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
    zookeeper: Annotated[
        bool,
        typer.Option(
            "--zookeeper",
            help="Make runs of simulated servers of ZooKeeper, on each build that is named; --runs is then of each.",
        ),
    ] = False,
    servers: Annotated[
        int | None, typer.Option(help="With --zookeeper: how many servers, 3 or 5; by default 3.")
    ] = None,
    threads: Annotated[
        bool, typer.Option("--threads", help="With --zookeeper: hold single threads at drawn points, too.")
    ] = False,
    sessions: Annotated[
        bool, typer.Option("--sessions", help="With --zookeeper: have sessions do and suffer something, too.")
    ] = False,
    observers: Annotated[
        int | None, typer.Option(min=0, max=2, help="With --zookeeper: how many more servers, which do not vote.")
    ] = None,
    disks: Annotated[
        bool, typer.Option("--disks", help="With --zookeeper: wipe and restore disks, and have their writes fail, too.")
    ] = False,
    java: Java = None,
    home: Homes = None,
    classpath: Classpaths = None,
    format: Formats = Format.text,
) -> int:
    """Make a great number of runs of the swarm on Spark, store them, minimise those that break a property, and report.

    --resume continues a campaign, however it was stopped. `zabcheck campaign report DIR` reports in full.
    """
    if context.invoked_subcommand is not None:
        return 0
    of_all = {"seed": seed, "runs": runs, "keep": keep and keep.value, "property": property}
    of_the_swarm = {
        "protocol": protocol,
        "exec": exec,
        "mutant": mutant,
        "steps": steps,
        "processes": processes,
        "quorums": quorums,
        "switch": switch,
        "minimise": minimise,
    }
    of_servers = {
        "servers": servers,
        "threads": threads or None,
        "sessions": sessions or None,
        "observers": observers,
        "disks": disks or None,
        "java": java,
        "zookeeper-home": home,
        "classpath": classpath,
    }

    def make() -> int:
        kind = _kind(zookeeper, resume, out)
        mine, others = (of_servers, of_the_swarm) if kind is ON_SERVERS else (of_the_swarm, of_servers)
        for name, wish in others.items():
            if wish is not None:
                raise BadInput(f"--{name}: only {'without' if kind is ON_SERVERS else 'with'} --zookeeper")
        said = {name: wish for name, wish in {**of_all, **mine}.items() if wish is not None}
        return _campaign(kind, said, out, resume, master, format)

    return guarded(make)


def _kind(zookeeper: bool, resume: bool, out: str | None) -> Kind:
    """Return the kind of campaign that is asked for; one that goes on has the kind that it had."""
    if zookeeper or not resume or out is None:
        return ON_SERVERS if zookeeper else OF_THE_SWARM
    with needed():
        from zabcheck.campaign.store import Store

        return ON_SERVERS if ON_SERVERS.stored(Store(out)) is not None else OF_THE_SWARM


def _campaign(
    kind: Kind, wishes: Mapping[str, Any], out: str | None, resume: bool, master: str | None, format: Format
) -> int:
    if resume and out is None:
        raise BadInput("--resume: expected --out DIR, the folder of the campaign")
    plan = None if resume else kind.new(wishes)
    with needed():
        from zabcheck.campaign.session import session
        from zabcheck.campaign.store import PLAN, Store

        store = Store(out or f"reports/campaign-{plan.seed if plan else ''}")
        begun = store.read(PLAN) is not None
        if begun and not resume:
            raise BadInput(f"--out {store.place}: holds a campaign already; --resume goes on with it")
        if plan is None:
            plan = kind.resumed(store, wishes) if begun else _plan_from_the_beginning(kind, store, wishes)
        total = kind.runs(plan)
        try:
            with doing("starting Spark, for the runs"):
                spark = session(master, short=total <= FEW)
            if not begun:
                store.begin(plan)
            with _live(total) as show:
                kind.make(spark, store, plan, show)
        except KeyboardInterrupt:
            if store.read(PLAN) is None:  # Spark had not started yet
                store.begin(plan)
            made = sum(len(plan.runs_of(part)) for part in store.finished())
            return conclude_on_standard_error(
                INCONCLUSIVE,
                f"interrupted: {made:,} of {total:,} runs are kept",
                another("campaign", resume=True, out=store.place, **kind.source(plan)),
            )
    return kind.report(store.place, format)


def _plan_from_the_beginning(kind: Kind, store: "Store", wishes: Mapping[str, Any]) -> Any:
    """Return the plan of a campaign of which nothing was written yet. BadInput if something else is in the folder."""
    if not store.is_empty():
        raise BadInput(f"--resume: {store.place} holds no campaign")
    complain(f"--resume: nothing was written to {store.place} yet, so this begins at the beginning")
    return kind.new(wishes)


@contextmanager
def _live(total: int) -> Iterator[Any]:
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
        making = bar.add_task("making", total=total, note="")
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
    """See `zabcheck.cli.campaign.report`, and `on_servers` for campaigns on ZooKeeper."""

    def make() -> int:
        if _kind(False, True, kwargs["directory"]) is OF_THE_SWARM:
            return campaign_report(*args, **kwargs)
        return report_on_servers(kwargs["directory"], kwargs["format"], kwargs["master"], kwargs["html"], in_full=True)

    return guarded(make)
