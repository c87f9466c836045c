"""`zabcheck campaign --zookeeper`: runs of simulated servers of ZooKeeper, on Spark, and what they show together."""

from collections.abc import Callable, Mapping
from pathlib import Path
from secrets import randbelow
from typing import TYPE_CHECKING, Any

from zabcheck.cli.campaign.plan import RUNS, KeptRuns
from zabcheck.cli.campaign.report import FOLDER, load_page, needed
from zabcheck.cli.commands import BadInput, Format
from zabcheck.cli.files import bad_input_for, check_file, writing
from zabcheck.cli.next_step import another
from zabcheck.cli.output import doing, make_console, print_json, print_path
from zabcheck.cli.verdict import INCONCLUSIVE, OK, VIOLATED, conclude, named
from zabcheck.cli.zookeeper.builds import found_distributions
from zabcheck.invariants import select
from zabcheck.java import version_of
from zabcheck.text.files import write
from zabcheck.text.words import as_text, counted
from zabcheck.zookeeper.run.distribution import PYSPARK
from zabcheck.zookeeper.run.schedule import SIZES

if TYPE_CHECKING:
    from zabcheck.campaign.driver import Progress
    from zabcheck.campaign.store import Store
    from zabcheck.zookeeper.campaign.plan import Build, EnsemblePlan
    from zabcheck.zookeeper.campaign.results import EnsembleReport


def new_plan(wishes: Mapping[str, Any]) -> "EnsemblePlan":
    """Return the plan of a new campaign. BadInput for a value or build that does not exist."""
    with needed():
        from zabcheck.zookeeper.campaign.plan import VERSION, EnsemblePlan, runs_a_part
    servers, runs = wishes.get("servers", SIZES[0]), wishes.get("runs", RUNS)
    if servers not in SIZES:
        raise BadInput(f"--servers {servers}: expected 3 or 5")
    seed = wishes.get("seed", randbelow(2**32))
    if seed >= 2**63 - runs:
        raise BadInput(f"--seed {seed}: expected less than 2^63 with {runs:,} runs")
    with bad_input_for(ValueError):
        names = tuple(kind.name for kind in select(wishes["property"])) if "property" in wishes else None
    return EnsemblePlan(
        VERSION,
        _builds(wishes),
        seed,
        runs,
        runs_a_part(runs),
        wishes.get("keep", KeptRuns.violations.value),
        servers,
        wishes.get("threads", False),
        wishes.get("sessions", False),
        wishes.get("observers", 0),
        names,
        wishes.get("disks", False),
    )


def _builds(wishes: Mapping[str, Any]) -> "tuple[Build, ...]":
    """Return the builds that are named, or the default one. BadInput if there is no such one.

    The jars of PySpark are where each worker has PySpark.
    """
    from zabcheck.zookeeper.campaign.plan import Build

    java, paths = wishes.get("java"), wishes.get("classpath", ())
    found = found_distributions(java, wishes.get("zookeeper-home", ()), paths)
    named_so = ["" for _ in wishes.get("zookeeper-home", ())] + [*paths]
    told = named_so or [""]
    return tuple(
        Build(
            each.version,
            PYSPARK if text == PYSPARK else each.classpath,
            java and str(each.java),
            version_of(each.java),
        )
        for each, text in zip(found, told, strict=True)
    )


def stored_plan(store: "Store") -> "EnsemblePlan | None":
    """Return the plan in the folder, None if it holds none of this kind. StoreError if it cannot be read."""
    from zabcheck.zookeeper.campaign.plan import plan_of

    return plan_of(store)


def resumed_plan(store: "Store", wishes: Mapping[str, Any]) -> "EnsemblePlan":
    """Return the plan in the folder. BadInput if an option asks for something else."""
    plan = stored_plan(store)
    if plan is None:
        raise BadInput(f"--resume: {store.place} holds a campaign that is not on ZooKeeper")
    builds = [name for name in ("java", "zookeeper-home", "classpath") if name in wishes]
    if builds and _builds(wishes) != plan.builds:
        raise _differs(builds[0], store, ", ".join(build.zookeeper for build in plan.builds))
    for name, field in _FIELDS.items():
        had = getattr(plan, field)
        if name in wishes and wishes[name] != had:
            raise _differs(f"{name} {wishes[name]}", store, str(had))
    if "property" in wishes and new_plan({**wishes, "runs": 1}).properties != plan.properties:
        raise _differs("property", store, ", ".join(plan.properties or ("all",)))
    return plan


_FIELDS = {name: name for name in ("seed", "runs", "keep", "servers", "threads", "sessions", "observers", "disks")}


def _differs(option: str, store: "Store", had: str) -> BadInput:
    return BadInput(f"--{option}: the campaign in {store.place} has {had}; leave it out, or name another --out")


def make(spark: Any, store: "Store", plan: "EnsemblePlan", show: "Callable[[Progress], None]") -> None:
    """Make the missing parts. Raises as `zookeeper.campaign.driver.run`."""
    from zabcheck.zookeeper.campaign import driver

    driver.run(spark, store, plan, show)


def report(
    place: str, format: Format, master: str | None = None, html: Path | None = None, in_full: bool = False
) -> int:
    """Report what a campaign shows, in short or in full, and write its tables; return the exit code."""
    if html is not None:
        check_file("--html", html)
        load_page()
    made, tables = _made(place, master)
    code, why = outcome(made)
    drawn: list[Path] = []
    if html is not None:
        from zabcheck.zookeeper.campaign.report import page

        with writing("--html", html):
            drawn.append(write(html, page(made).encode()))
    if format is Format.json:
        from zabcheck.zookeeper.campaign.tables import fields

        files = [*tables, *map(as_text, drawn)]
        print_json("campaign report" if in_full else "campaign", **fields(made.plan, made.tables), files=files)
        return code
    from zabcheck.zookeeper.campaign.report import render

    console = make_console()
    console.print(render(made, not in_full), crop=False)
    console.print()
    full = [f"{counted(len(tables), 'table', 'tables')} to {made.name}/{FOLDER}"] if tables else []
    for each in (*(full if in_full else [made.name]), *drawn):
        print_path(console, f"wrote {each}")
    return conclude(console, code, why, _next_step(made, code, in_full))


def _made(place: str, master: str | None) -> "tuple[EnsembleReport, list[str]]":
    from zabcheck.zookeeper.campaign.results import EnsembleReport

    with needed():
        from zabcheck.campaign import tables as campaign_tables
        from zabcheck.campaign.session import session
        from zabcheck.campaign.store import Store, StoreError
        from zabcheck.zookeeper.campaign import tables

        store = Store(place)
        plan = stored_plan(store)
        assert plan is not None
        tables.check(store)
        spark = None
        if master is not None or not campaign_tables.is_small(store):
            with doing("starting Spark, for the report"):
                spark = session(master)
        made = tables.make(spark, store, plan)
        files: list[str] = []
        with writing("tables", Path(store.place)), bad_input_for(StoreError):
            files = [store.path(name) for name in tables.write(store, made)]
    return EnsembleReport(store.place, plan, made), files


def outcome(made: "EnsembleReport") -> tuple[int, str]:
    """Return the exit code of a campaign, and why."""
    rows, total = made.tables.versions, made.runs
    runs, what = counted(total, "run", "runs"), f"ZooKeeper {', '.join(made.names())}"
    if any(row.wrong for row in rows):
        wrong = [f"{row.bug} with {row.zookeeper} in {row.runs:,}" for row in made.tables.bugs if not row.is_known]
        return VIOLATED, f"of {runs} of {what} something is wrong: {named(wrong)}"
    if total < made.plan.total:
        return INCONCLUSIVE, f"only {total:,} of {counted(made.plan.total, 'run', 'runs')} were made so far"
    for field, why in (("failed", "the ensemble itself failed in"), ("partial", "not recorded to the end were")):
        count = sum(getattr(row, field) for row in rows)
        if count:
            return INCONCLUSIVE, f"{why} {count:,} of {runs} of {what}"
    return OK, f"nothing is wrong in {runs} of {what}"


def _next_step(made: "EnsembleReport", code: int, in_full: bool) -> str:
    if made.runs < made.plan.total:
        return another("campaign", resume=True, out=made.name)
    if not in_full:
        return another("campaign", "report", made.name)
    if code != VIOLATED:
        return ""
    first = made.tables.findings[0]
    [build] = [each for each in made.plan.builds if each.zookeeper == first.zookeeper]
    java = {} if build.java is None else {"java": build.java}
    schedule = f"{made.name}/findings/{first.schedule}"
    return another("replay", schedule, simulated=True, classpath=build.classpath, **java)
