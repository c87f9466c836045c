"""docs/zookeeper-logs.md and docs/zookeeper-serverlogs.md show what `zabcheck zookeeper logs` and `serverlog` print.

The servers' disks are made of what ZooKeeper 3.8.0 wrote: one is as it was, in one a byte is damaged, and one belongs
to a server that was killed while it wrote.
"""

import shutil
from pathlib import Path
from tempfile import TemporaryDirectory

from docs.generators.output import DOCS, ROOT, read, with_output

PAGE = DOCS / "zookeeper-logs.md"
PAGE_OF_SERVER_LOGS = DOCS / "zookeeper-serverlogs.md"
SERVER_LOGS = ROOT / "tests/zookeeper/serverlogs/logs/4837-3.9.5"
WRITTEN = ROOT / "tests/zookeeper/zookeeper-3.8.0"
DAMAGED = 470
"""A byte in setData /queue."""
LEFT = 250
"""Bytes of the log at whose end the server was killed."""


def made() -> dict[Path, str]:
    """Return the page with the output of its commands."""
    with TemporaryDirectory() as folder:
        servers(Path(folder))
        shutil.copytree(SERVER_LOGS, Path(folder, "logs"))
        return {page: with_output(read(page), Path(folder)) for page in (PAGE, PAGE_OF_SERVER_LOGS)}


def servers(folder: Path) -> None:
    """Write the data directories of three servers, below `ensemble`."""
    first, second = written("log.100000001"), written("log.10000000c")
    start, later = {"snapshot.0": written("snapshot.0")}, {"snapshot.10000000a": written("snapshot.10000000a")}
    damaged = bytearray(first)
    damaged[DAMAGED] ^= 1
    disk(folder / "ensemble/s1", 1, {"log.100000001": first, "log.10000000c": second, **start, **later})
    disk(folder / "ensemble/s2", 2, {"log.100000001": bytes(damaged), "log.10000000c": second, **start})
    disk(folder / "ensemble/s3", 3, {"log.100000001": first, "log.10000000c": second[:LEFT], **start, **later})


def disk(folder: Path, server: int, files: dict[str, bytes]) -> None:
    """Write the data directory of one server."""
    (folder / "version-2").mkdir(parents=True)
    (folder / "myid").write_text(f"{server}\n")
    for name in ("acceptedEpoch", "currentEpoch"):
        (folder / "version-2" / name).write_text("1")
    for name, content in files.items():
        (folder / "version-2" / name).write_bytes(content)


def written(name: str) -> bytes:
    """Return what a server of ZooKeeper 3.8.0 wrote; of a log without the zeros after it."""
    return bytes.fromhex((WRITTEN / f"{name}.hex").read_text())
