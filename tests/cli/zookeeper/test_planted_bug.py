"""The gate for a patch, on servers with a planted bug."""

import os
import subprocess
from pathlib import Path

import pytest

from tests.cli.conftest import Command
from tests.zookeeper import real
from zabcheck.cli.zookeeper import gate as gating

PLANTED = Path(__file__).parent / "planted/SendAckRequestProcessor.java"


@pytest.mark.kits
def test_a_planted_bug_is_found_on_simulated_servers(
    zabcheck: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The servers are those of PySpark, with one class of another. The search ends once it is found."""
    monkeypatch.setattr(gating, "LEAST_TO_SHORTEN", 15)
    monkeypatch.setattr(gating, "MOST_TO_SHORTEN", 15)
    monkeypatch.setattr(gating, "CONFIRMED", 0)
    subprocess.run(["javac", "-cp", real.classpath(), "-d", tmp_path / "patched", PLANTED], check=True)
    patched = os.pathsep.join((str(tmp_path / "patched"), real.classpath()))
    asked = ("--simulated", "--bug", "2332", "--budget", "1h", "--classpath", patched, "--format", "json")
    told = zabcheck("zookeeper", "gate", *asked).json
    assert told["verdict"] == "failed"
    [found] = [each for each in told["outcomes"] if (each["suite"], each["status"]) == ("search", "failed")]
    assert "without a patch in " in found["message"]
    assert any(name.endswith("-short/schedule.json") for name in found["files"])
