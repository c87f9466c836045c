"""Executions of schedules that take a recording instead of starting an ensemble."""

import shutil
from pathlib import Path

import pytest
from msgspec.structs import replace

from tests.cli.command import ROOT
from tests.zookeeper import fake_zookeeper, real
from zabcheck.zookeeper.run.distribution import Distribution
from zabcheck.zookeeper.run.schedule import EnsembleSchedule
from zabcheck.zookeeper.run.search import Attempt
from zabcheck.zookeeper.verdict.judge import judge

RECORDINGS = ROOT / "tests/zookeeper"


@pytest.fixture
def recorded(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Names of recordings, of which each execution takes the next one instead of starting an ensemble; or "Ctrl-C"."""
    names: list[str] = []

    def attempt(
        schedule: EnsembleSchedule, distribution: Distribution, folder: Path, *_: object, **__: object
    ) -> Attempt:
        name = names.pop(0)
        shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(RECORDINGS / name.replace("Ctrl-C", "healthy-3.8.0"), folder, dirs_exist_ok=True)
        if schedule.simulated is not None:
            schedule = replace(schedule, simulated=replace(schedule.simulated, java=17))
        return Attempt(schedule, judge(folder), 1.0, interrupted=name == "Ctrl-C")

    monkeypatch.setattr("zabcheck.zookeeper.run.search.attempt", attempt)
    return names


def fake(folder: Path, behaviour: str = "serves", version: str = "3.8.0") -> tuple[str, ...]:
    """Options for real jars of PySpark, which say they are of this version."""
    return "--java", str(fake_zookeeper.java(folder, behaviour, version)), "--classpath", real.classpath()
