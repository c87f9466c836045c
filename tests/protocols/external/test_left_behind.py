"""No node outlives zabcheck, however that ends."""

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.protocols.external.commands import ROOT

STARTS = """
import os, signal, sys, time
from zabcheck.protocols.external.running import Running
running = Running(sys.argv[2:])
print(running.pid, flush=True)
if sys.argv[1] == "killed":
    os.kill(os.getpid(), signal.SIGKILL)
if sys.argv[1] == "interrupted":
    raise KeyboardInterrupt
"""
NEVER_READS = "import time; print(flush=True); time.sleep(1000)"


@pytest.mark.parametrize("how", ["killed", "interrupted", "ends"])
def test_a_node_that_does_not_look_at_its_input_ends_with_zabcheck(how: str) -> None:
    command = [sys.executable, "-c", STARTS, how, sys.executable, "-c", NEVER_READS]
    variables = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, env=variables)
    ends(int(done.stdout))


def ends(pid: int) -> None:
    """Wait until the process is gone, or nobody has yet asked how it ended; for five minutes at most."""
    for _ in range(30_000):
        if not is_running(pid):
            return
        time.sleep(0.01)
    raise AssertionError(f"process {pid} is left behind")


def is_running(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return False
    return state != "Z"
