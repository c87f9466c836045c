"""The contents of the report on a campaign on simulated servers: sentences, and sheets."""

from collections.abc import Iterator

from zabcheck.campaign.findings import FINDINGS
from zabcheck.campaign.report.sheets import Phrase, Sheet, sheet
from zabcheck.campaign.report.wording import percent
from zabcheck.text.words import counted
from zabcheck.zookeeper.campaign.results import EnsembleReport, FaultRow

MOST_FAULTS = 8
"""The most faults of a bug that the terminal shows."""


def title(report: EnsembleReport) -> str:
    """Return the plan in one line."""
    plan = report.plan
    more = ["with threads held"] if plan.threads else []
    more += ["with sessions"] if plan.sessions else []
    more += ["with changed disks"] if plan.disks else []
    more += [counted(plan.observers, "observer", "observers")] if plan.observers else []
    what = f"a campaign on simulated servers of ZooKeeper {', '.join(report.names())}"
    return ", ".join([what, f"{plan.servers} servers", *more, f"seed {plan.seed}"])


def headlines(report: EnsembleReport) -> Iterator[Phrase]:
    """Yield the sentences that matter most."""
    rows = report.tables.versions
    seconds = sum(row.seconds for row in rows)
    packets = sum(row.packets for row in rows)
    yield Phrase(
        f"{counted(report.runs, 'run', 'runs')}, {counted(packets, 'packet', 'packets')} judged, "
        f"{seconds:,.1f} CPU seconds, {seconds / max(1, report.runs):.2f} a run"
    )
    missing = report.plan.total - report.runs
    if missing:
        yield Phrase(f"unfinished: {counted(missing, 'run is', 'runs are')} missing", "warning")
    failed = sum(row.failed for row in rows)
    if failed:
        yield Phrase(f"the ensemble itself failed in {counted(failed, 'run', 'runs')}", "warning")


def versions(report: EnsembleReport) -> Sheet:
    """Make the sheet of versions, in the order of the plan."""
    rows = [
        (
            row.zookeeper,
            f"{row.runs:,}",
            Phrase(f"{row.wrong:,}", "bad" if row.wrong else ""),
            f"{row.failed:,}",
            f"{row.partial:,}",
            f"{row.acknowledged:,} of {row.asked:,}",
            f"{row.epochs:,}",
            percent(row.delivered / row.logged) if row.logged else "",
            f"{row.seconds / row.runs:.2f}",
        )
        for row in report.tables.versions
    ]
    note = "How many runs were wrong, failed, or were not recorded to the end; the share of logged deliveries seen."
    columns = ("version", "runs", "wrong", "failed", "partial", "writes acknowledged", "epochs", "seen", "CPU s a run")
    return sheet("versions", "Versions", note, columns, 1, rows)


def reached(report: EnsembleReport) -> Sheet:
    """Make the sheet that tells whether more runs of a version are likely to find more."""
    rows = [
        (row.zookeeper, f"{row.states:,}", f"{row.orders:,}", f"{row.since_new:,} of {row.runs:,}")
        for row in report.tables.versions
    ]
    note = "A packet order is three packets one after another at a server. While new ones come, more runs are worth it."
    columns = ("version", "abstract states", "packet orders", "runs since the last new one")
    return sheet("reached", "Reached", note, columns, 1, rows)


def bugs(report: EnsembleReport) -> Sheet:
    """Make the sheet of bugs: for each version what is wrong, then the known issues that it looks like."""
    total = {row.zookeeper: row.runs for row in report.tables.versions}
    rows = [
        (
            row.zookeeper,
            f"looks like {row.bug}" if row.is_known else row.bug,
            f"{row.runs:,} ({percent(row.runs / total[row.zookeeper])})",
            row.seed,
            f"{row.seconds:,.1f}",
        )
        for row in report.tables.bugs
    ]
    note = "In how many runs it was seen; the seed of the first, and the CPU seconds of all runs up to that one."
    return sheet("bugs", "Bugs", note, ("version", "bug", "runs", "first seed", "CPU s"), 2, rows)


def faults(report: EnsembleReport, most: int | None = None) -> Sheet:
    """Make the sheet of bugs by fault; all, or of each bug the `most` faults that matter most."""
    rows = []
    groups: dict[tuple[str, str], list[FaultRow]] = {}
    for row in report.tables.faults:
        groups.setdefault((row.zookeeper, row.bug), []).append(row)
    for of_bug in groups.values():
        of_bug = of_bug if most is None else [row for row in of_bug if row.found]
        for row in sorted(of_bug, key=lambda row: (-row.low, row.fault))[:most]:
            ratio = "unbounded" if row.ratio is None else f"{row.ratio:,.2f}"
            high = "unbounded" if row.high is None else f"{row.high:,.2f}"
            rows.append(
                (
                    row.zookeeper,
                    row.bug,
                    row.fault,
                    Phrase(f"{ratio} ({row.low:,.2f} to {high})", "good" if row.low > 1 else ""),
                    f"{row.found:,} in {row.runs:,}",
                    f"{row.found_without:,} in {row.runs_without:,}",
                )
            )
    note = (
        "Runs that have the fault, or whose threads have that order, and runs that do not. The ratio of the two shares "
        "has a 95 % interval; above 1 the bug is more frequent with the fault."
    )
    columns = ("version", "bug", "fault", "ratio", "found in runs with", "without")
    return sheet("faults", "Faults", note, columns, 3, rows)


def findings(report: EnsembleReport) -> Sheet:
    """Make the sheet of findings."""
    rows = [
        (
            row.zookeeper,
            row.wrong,
            row.known,
            Phrase(row.schedule, file=f"{FINDINGS}/{row.schedule}"),
            f"{row.choices:,}",
            f"{row.runs:,}",
            row.seed,
        )
        for row in report.tables.findings
    ]
    note = f"Runs in which the same is wrong; the schedule, in {FINDINGS}/, is that of the first."
    columns = ("version", "wrong", "looks like", "schedule", "choices", "runs", "first seed")
    return sheet("findings", "Findings", note, columns, 4, rows)
