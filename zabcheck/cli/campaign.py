"""`zabcheck campaign`: very many runs, on every core or on a cluster; and what they come to."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from enum import StrEnum
from functools import wraps
from secrets import randbelow
from shlex import quote
from time import monotonic
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
from rich.progress import Progress as Bar

from invariants import select
from invariants.quorums import quorums_of
from zabcheck.campaign.report.terminal import render_short
from zabcheck.campaign.results import CampaignReport
from zabcheck.cli.campaign_report import fields, make, needed
from zabcheck.cli.campaign_report import report as campaign_report
from zabcheck.cli.commands import (
    BAD_INPUT,
    INCONCLUSIVE,
    OK,
    VIOLATED,
    BadInput,
    Format,
    Formats,
    Properties,
    app,
    complain,
    guarded,
)
from zabcheck.cli.files import bad_input_for
from zabcheck.cli.output import make_console, print_json, print_path
from zabcheck.mutants.catalogue import CATALOGUE, mutated
from zabcheck.protocols.switches import switches_of
from zabcheck.search.run import MAX_PROCESSES, MAX_STEPS

if TYPE_CHECKING:
    from zabcheck.campaign.driver import Progress
    from zabcheck.campaign.plan import Plan
    from zabcheck.campaign.store import Store

RUNS = 10_000
STEPS = 200
MINIMISE = 100
UNPLANTED = "none"
"""Names the protocol as it is, among mutants."""
ALL = "all"

campaigns = typer.Typer(invoke_without_command=True, context_settings={"help_option_names": ["-h", "--help"]})
app.add_typer(campaigns, name="campaign")


class Kept(StrEnum):
    """Whose events are stored."""

    events = "events"
    violations = "violations"
    none = "none"


@campaigns.callback()
def campaign(
    context: typer.Context,
    runs: Annotated[int | None, typer.Option(min=1, help=f"How many runs; {RUNS:,} if not said.")] = None,
    protocol: Annotated[
        str | None, typer.Option(help="Which protocol to check: see `zabcheck list`; or `module:Class`; else zab.")
    ] = None,
    mutant: Annotated[
        list[str] | None,
        typer.Option(
            metavar="M",
            help="Plant this known bug; `all` of them; `none` is the protocol as it is (may be repeated).",
        ),
    ] = None,
    seed: Annotated[int | None, typer.Option(min=0, max=2**64 - 1, help="The same seed gives the same runs.")] = None,
    out: Annotated[
        str | None, typer.Option(metavar="DIR", help="Where to: a folder, or a URI as in s3://bucket/campaign.")
    ] = None,
    keep: Annotated[
        Kept | None, typer.Option(help="Whose events to store: of all runs, of the violating ones, of none.")
    ] = None,
    master: Annotated[
        str | None,
        typer.Option(metavar="URL", help="The Spark to use, as in spark://host:7077 or sc://host; else this machine."),
    ] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Go on with the campaign in --out.")] = False,
    processes: Annotated[
        int | None, typer.Option(min=1, max=MAX_PROCESSES, help="How many; else each run draws it.")
    ] = None,
    steps: Annotated[
        int | None, typer.Option(min=1, max=MAX_STEPS, help=f"At most about so many steps a run; {STEPS} if not said.")
    ] = None,
    quorums: Annotated[
        str | None, typer.Option(help="`majority`, `weights 3,1,1` or `sets 1+2,2+3`; else each run draws it.")
    ] = None,
    switch: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME=VALUE", help="Fix a switch that each run would draw (may be repeated)."),
    ] = None,
    property: Properties = None,
    minimise: Annotated[
        str | None,
        typer.Option(
            metavar="N",
            help=f"How many violating runs to minimise of each bug and property, or `all`; {MINIMISE} if not said.",
        ),
    ] = None,
    format: Formats = Format.text,
) -> int:
    """Make very many runs of the swarm on Spark, store them, minimise what breaks, and report.

    A campaign that was stopped, by whatever, goes on with --resume. `zabcheck campaign report DIR` tells the whole.
    """
    if context.invoked_subcommand is not None:
        return 0
    wishes = {
        "protocol": protocol,
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
    plan = None if resume else _planned(wishes)
    with needed():
        from zabcheck.campaign import driver
        from zabcheck.campaign.session import session
        from zabcheck.campaign.store import Store

        store = Store(out or f"reports/campaign-{plan.seed if plan else ''}")
        if plan is None:
            plan = _resumed(store, wishes)
        elif store.plan() is not None:
            raise BadInput(f"--out {store.place}: holds a campaign already; --resume goes on with it")
        with Console(stderr=True).status("starting Spark"):
            spark = session(master)
        if not resume:
            store.begin(plan)
        try:
            with _live(plan) as show:
                driver.run(spark, store, plan, show)
        except KeyboardInterrupt:
            parts = f"{len(store.finished())} of {plan.parts} parts are finished"
            again = f"zabcheck campaign --resume --out {quote(store.place)}"
            return complain(f"interrupted: {parts}; {again} goes on", INCONCLUSIVE)
    report, tables = make(store.place, master)
    if format is Format.json:
        print_json("campaign", **fields(report, tables))
    else:
        console = make_console()
        console.print(render_short(report), crop=False)
        console.print()
        print_path(console, f"wrote {store.place}; zabcheck campaign report {quote(store.place)} tells more")
    return _exit_code(report)


def _exit_code(report: CampaignReport) -> int:
    """As for a search: what is violated comes first, then code that raised, then what no run exercised."""
    [overview] = report.tables.overview
    if overview.violating:
        return VIOLATED
    if overview.raised:
        return BAD_INPUT
    return OK if all(row.exercised for row in report.tables.properties) else INCONCLUSIVE


def _planned(wishes: Mapping[str, Any]) -> "Plan":
    """A new campaign. BadInput for a name or value that there is not."""
    with needed():
        from zabcheck.campaign.plan import VERSION, Plan, runs_a_part
    protocol, runs = wishes.get("protocol", "zab"), wishes.get("runs", RUNS)
    mutants = tuple(_mutants(protocol, wishes.get("mutant", [UNPLANTED])))
    with bad_input_for(ValueError):
        checked = [mutated(protocol, mutant) for mutant in mutants]
        kinds = select(wishes.get("property") or checked[0].properties)
    with bad_input_for(ValueError, "--switch: "):
        switches = switches_of(wishes.get("switch", ()))
    processes, quorums = wishes.get("processes"), wishes.get("quorums")
    if quorums is not None:
        if processes is None:
            raise BadInput(f"--quorums {quorums}: expected --processes, too")
        with bad_input_for(ValueError, "--quorums: "):
            quorums_of(quorums, processes)
    seed = wishes.get("seed", randbelow(2**32))
    minimise = wishes.get("minimise", str(MINIMISE))
    if minimise != ALL and not (minimise.isascii() and minimise.isdigit()):
        raise BadInput(f"--minimise {minimise}: expected a number, or `{ALL}`")
    return Plan(
        VERSION,
        protocol,
        mutants,
        seed,
        runs,
        runs_a_part(runs),
        wishes.get("keep", Kept.events.value),
        wishes.get("steps", STEPS),
        processes,
        quorums,
        tuple(kind.name for kind in kinds),
        switches,
        None if minimise == ALL else int(minimise),
    )


def _mutants(protocol: str, named: Sequence[str]) -> list[str | None]:
    """What each name stands for; that there is such a mutant is not looked at."""
    known = [name for name, each in CATALOGUE.items() if each.protocol == protocol]
    if ALL in named and not known:
        raise BadInput(f"--mutant {ALL}: protocol `{protocol}` has no known bugs")
    names = [name for each in named for name in (known if each == ALL else [each])]
    return [None if name == UNPLANTED else name for name in dict.fromkeys(names)]


def _resumed(store: "Store", wishes: Mapping[str, Any]) -> "Plan":
    """The campaign that is there. BadInput if something else is asked for than what it is."""
    plan = store.plan()
    if plan is None:
        raise BadInput(f"--resume: {store.place} holds no campaign")
    known = {"protocol": plan.protocol, "processes": plan.processes}  # what other options are read by
    wanted = _planned({**{name: wish for name, wish in known.items() if wish is not None}, **wishes})
    for name, option in _OPTIONS.items():
        if option in wishes and getattr(wanted, name) != getattr(plan, name):
            wish = wishes[option]
            said = " ".join(wish) if isinstance(wish, list) else wish
            had = _told(getattr(plan, name))
            raise BadInput(
                f"--{option} {said}: the campaign in {store.place} has {had}; leave it out, or name another --out"
            )
    return plan


def _told(value: Any) -> str:
    """What a plan has in a field, as its user would have said it."""
    if value is None or value == {}:
        return "none"
    if isinstance(value, tuple):
        return ", ".join(_told(each) for each in value)
    return ", ".join(f"{name}={each}" for name, each in value.items()) if isinstance(value, dict) else str(value)


_OPTIONS = {
    "protocol": "protocol",
    "mutants": "mutant",
    "seed": "seed",
    "runs": "runs",
    "keep": "keep",
    "steps": "steps",
    "processes": "processes",
    "quorums": "quorums",
    "properties": "property",
    "switches": "switch",
    "minimise": "minimise",
}
"""The option that decides each field of a plan."""


@contextmanager
def _live(plan: "Plan") -> Iterator[Any]:
    """On standard error: a bar, if that is a terminal; and that a cluster does nothing, in any case."""
    from zabcheck.campaign.tasks import PATIENCE

    console = Console(stderr=True)
    bar = Bar(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[note]}"),
        TimeRemainingColumn(),
        console=console,
        transient=True,
        disable=not console.is_terminal,
    )
    start = monotonic()
    with bar:
        making = bar.add_task("parts", total=plan.parts, note="")
        minimising = bar.add_task("minimising", total=None, note="", visible=False)
        waiting = False

        def show(progress: "Progress") -> None:
            nonlocal waiting
            if progress.idle >= PATIENCE and not waiting:
                complain(f"no task has been running for {PATIENCE:.0f} s; still waiting for Spark to have a free core")
            waiting = progress.idle >= PATIENCE
            rate = (progress.runs - progress.resumed) / max(monotonic() - start, 1e-9)
            note = f"{progress.runs:,} runs, {rate:,.0f} a second, {progress.failing:,} violating"
            bar.update(making, completed=progress.finished, note=note)
            if progress.to_minimise:
                bar.update(minimising, completed=progress.minimised, total=progress.to_minimise, visible=True)

        yield show


@campaigns.command("report")
@wraps(campaign_report)
def report(*args: Any, **kwargs: Any) -> int:
    """See `zabcheck.cli.campaign_report`."""
    return guarded(lambda: campaign_report(*args, **kwargs))
