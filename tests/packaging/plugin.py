"""Runs pytest in a folder, with the plugin, whether or not the installed package has an entry point for it."""

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).parents[2]
TIMEOUT = 600


def failing_tests(folder: Path, *options: str) -> str:
    """Return the output of pytest on the tests in `folder`; some have to fail."""
    return _printed(folder, options, status=1)


def passing_tests(folder: Path, *options: str) -> str:
    """Return the output of pytest on the tests in `folder`; all have to pass."""
    return _printed(folder, options, status=0)


def _printed(folder: Path, options: Sequence[str], status: int) -> str:
    info = folder / "path/plugin-0.dist-info"
    info.mkdir(parents=True, exist_ok=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: plugin\nVersion: 0\n")
    (info / "entry_points.txt").write_text("[pytest11]\nzabcheck = zabcheck.pytest_plugin\n")
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join([str(info.parent), str(ROOT)]),
        "PYTHONIOENCODING": "utf-8",
        "COLUMNS": "100",
    }
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "--rootdir=.", *options],
        cwd=folder,
        env=environment,
        capture_output=True,
        encoding="utf-8",
        timeout=TIMEOUT,
        check=False,
    )
    assert done.returncode == status, done.stdout + done.stderr
    return done.stdout
