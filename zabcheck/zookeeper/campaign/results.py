"""The tables of a campaign on simulated servers, as data: its report, and `DIR/tables/NAME.parquet`."""

from collections.abc import Sequence

from msgspec import Struct

from zabcheck.zookeeper.campaign.plan import EnsemblePlan


class VersionRow(Struct, frozen=True):
    """The runs on one version of ZooKeeper, added up; `seconds` is CPU time.

    `wrong` counts the runs in which something is wrong, `failed` those in which the ensemble itself failed, `partial`
    those that were not recorded to the end. `asked` and `acknowledged` count writes, `logged` the deliveries that the
    transaction logs show, and `delivered` those of them that are in the traces. `states` and `orders` count the
    abstract states and packet orders that the runs reached, the last `since_new` of them no new one.
    """

    zookeeper: str
    runs: int
    wrong: int
    failed: int
    partial: int
    asked: int
    acknowledged: int
    epochs: int
    packets: int
    logged: int
    delivered: int
    seconds: float
    states: int
    orders: int
    since_new: int


class BugRow(Struct, frozen=True):
    """One thing that is wrong in runs on a version.

    `bug` is a property, a kind of finding, or a known issue (`is_known`). `runs` counts those that show it, and `seed`
    is that of the first. `seconds` is the CPU time of all runs on the version up to that one.
    """

    zookeeper: str
    bug: str
    is_known: bool
    runs: int
    seed: str
    seconds: float


class FaultRow(Struct, frozen=True):
    """The runs on a version whose schedules have `fault`, or whose threads have that order, and those without it.

    `found` and `found_without` count the runs that show the bug. `ratio` is the share with the fault divided by that
    without it, from `low` to `high` with 95 % confidence; None means infinity.
    """

    zookeeper: str
    bug: str
    fault: str
    runs: int
    found: int
    runs_without: int
    found_without: int
    ratio: float | None
    low: float
    high: float | None


class FindingRow(Struct, frozen=True):
    """Runs on a version in which the same is wrong, and looks like the same known issues; `seed` is that of the first.

    `schedule` is the name of the first run's schedule in `findings/`.
    """

    zookeeper: str
    wrong: str
    known: str
    runs: int
    seed: str
    choices: int
    schedule: str


class EnsembleTables(Struct, frozen=True):
    """All tables of a campaign on simulated servers."""

    versions: tuple[VersionRow, ...]
    bugs: tuple[BugRow, ...]
    faults: tuple[FaultRow, ...]
    findings: tuple[FindingRow, ...]


class EnsembleReport(Struct, frozen=True):
    """The contents of a report."""

    name: str
    """The campaign's folder, which is its name."""
    plan: EnsemblePlan
    tables: EnsembleTables

    @property
    def runs(self) -> int:
        """The runs that were made so far."""
        return sum(row.runs for row in self.tables.versions)

    def names(self) -> Sequence[str]:
        """Return the versions of the plan, in its order."""
        return [build.zookeeper for build in self.plan.builds]
