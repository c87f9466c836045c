"""docs/zookeeper-logs.md shows what the command prints; `python -m tests.ensemble.test_logs_page` writes it anew.

The servers are made of what ZooKeeper 3.8.0 wrote: one is as it was, of one a byte is damaged, one was killed while it
wrote.
"""

import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

from tests.ensemble.disk.disks import disk, real, zxid

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs/zookeeper-logs.md"
COMMAND = re.compile(r"```text\n\$ zabcheck (zookeeper logs .*)\n(?:.*\n)*?```\n")


def servers(folder: Path) -> None:
    """The data directories of three servers, below `ensemble`."""
    first, second = real("log.100000001"), real("log.10000000c")
    snapshots = {0: real("snapshot.0"), zxid(1, 10): real("snapshot.10000000a")}
    logs = {zxid(1, 1): first, zxid(1, 12): second}
    disk(folder / "ensemble/s1", logs, snapshots, server=1)
    damaged = bytearray(first)
    damaged[470] ^= 1  # in setData /queue
    disk(folder / "ensemble/s2", {**logs, zxid(1, 1): bytes(damaged)}, {0: real("snapshot.0")}, server=2)
    disk(folder / "ensemble/s3", {**logs, zxid(1, 12): second[:250]}, snapshots, server=3)


def page() -> str:
    """The page with what is printed now, in 100 columns."""
    with tempfile.TemporaryDirectory() as folder:
        servers(Path(folder))

        def printed(found: re.Match[str]) -> str:
            command = [sys.executable, "-m", "zabcheck", *found[1].split()]
            environment = {**os.environ, "COLUMNS": "100", "PYTHONIOENCODING": "utf-8", "PYTHONPATH": str(ROOT)}
            done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, check=False)
            lines = [line.rstrip() for line in done.stdout.decode().splitlines()]
            return "\n".join(["```text", f"$ zabcheck {found[1]}", *lines, "```", ""])

        return COMMAND.sub(printed, PAGE.read_text(encoding="utf-8"))


def test_the_page_is_up_to_date() -> None:
    assert PAGE.read_text(encoding="utf-8") == page()


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
