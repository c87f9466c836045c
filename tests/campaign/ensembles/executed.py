"""Campaigns on servers that are not simulated: what an execution leaves is a recording that is kept here."""

import shutil
from collections.abc import Mapping
from pathlib import Path
from threading import Event
from typing import Any

import msgspec
import pytest

from tests.cli.command import ROOT
from zabcheck.campaign.store import Store
from zabcheck.zookeeper.campaign import part
from zabcheck.zookeeper.campaign.part import EnsembleMaker
from zabcheck.zookeeper.campaign.plan import Build, EnsemblePlan
from zabcheck.zookeeper.campaign.schema import ENSEMBLE_RUNS
from zabcheck.zookeeper.run.distribution import Distribution
from zabcheck.zookeeper.run.ensemble import EnsembleError
from zabcheck.zookeeper.run.schedule import EnsembleSchedule, ThreadOrder

RECORDINGS = ROOT / "tests/zookeeper"
HEALTHY, LOST = RECORDINGS / "healthy-3.8.0", RECORDINGS / "lost-write-3.8.0"
PLAN = EnsemblePlan(
    1, (Build("3.8.0", "one.jar"), Build("3.9.5", "other.jar")), 5, 6, 4, "violations", 3, False, False, 0
)


class Kept:
    """In place of simulators: a run of an odd seed loses a write, and the ensemble fails in that of seed 8."""

    def __init__(self, build: Build) -> None:
        self.distribution = Distribution(build.zookeeper, Path("java"), build.classpath, simulation=self)
        self.anew = 0

    def execute(self, schedule: EnsembleSchedule, folder: Path, stop: Event | None, exact: bool) -> EnsembleSchedule:
        assert schedule.seed is not None
        for path in (LOST if schedule.seed % 2 else HEALTHY).iterdir():
            shutil.copy(path, folder)
        if schedule.seed == 8:
            raise EnsembleError("nobody leads")
        return msgspec.structs.replace(schedule, simulated=ThreadOrder(schedule.seed, "uniform", 100, 300, "1:2"))

    def draw_anew(self) -> None:
        self.anew += 1

    def cpu(self) -> float:
        return 0.5 * self.anew


def execute_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have every run leave a recording that is kept here."""
    made: dict[Build, Kept] = {}
    monkeypatch.setattr(part, "_warm_for", lambda build: made.setdefault(build, Kept(build)))


def made(folder: Path, plan: EnsemblePlan = PLAN) -> Store:
    """Make all parts, here and now."""
    store = Store(str(folder))
    store.begin(plan)
    maker = EnsembleMaker(plan, store)
    for number in range(plan.parts):
        maker.make(number)
    return store


def rows(store: Store) -> list[Mapping[str, Any]]:
    """The rows of all parts, in order, without the CPU time."""
    found = [row for name in store.finished().values() for row in store.table(name, ENSEMBLE_RUNS).to_pylist()]
    return sorted(({**row, "seconds": 0.0} for row in found), key=lambda row: int(row["run"]))
