"""Files made to do harm, nested deeply, without an end, or swelling when they are read, are refused in one line."""

import gzip
import os
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cli.command import ROOT
from tests.cli.conftest import Command
from tests.zookeeper.disk.disks import create, disk, log, node, number, real, snapshot, text, txn, with_digest
from zabcheck.campaign import plan as plans
from zabcheck.campaign.plan import Plan
from zabcheck.zookeeper.disk.snapshot import MOST_SWELLING
from zabcheck.zookeeper.wire.jute import Operation

HEADER = (
    '{"event":"header","version":1,"processes":2,"protocol":"zab","schedule":{"a":%s}}\n{"event":"end","count":0}\n'
)
RUN = '{"record":"run","version":1,"zookeeper":"3.8.0","servers":3,"schedule":{"a":%s}}\n'
PLAN = Plan(1, "zab", (None,), 1, 1, 1, "none", 9, 2, None, ("integrity",), {})


def nested(levels: int) -> str:
    return "[" * levels + "]" * levels


@pytest.fixture
def folder(zabcheck: Command, tmp_path: Path) -> Path:
    (tmp_path / "run").mkdir()
    (tmp_path / "campaign").mkdir()
    return tmp_path


def refused(zabcheck: Command, *arguments: str) -> str:
    result = zabcheck(*arguments)
    assert (result.code, result.out) == (2, "")
    assert result.err.startswith("zabcheck: ")
    assert result.err.count("\n") == 1
    return result.err


@pytest.mark.parametrize("levels", [300, 900, 1100, 100_000])
def test_nesting(zabcheck: Command, folder: Path, levels: int) -> None:
    """Between what the decoder takes and what the rest can do there is no gap."""
    deep = nested(levels)
    (folder / "it.json").write_text(deep)
    (folder / "it.jsonl").write_text(HEADER % deep)
    (folder / "run/recording.jsonl").write_text(RUN % deep)
    (folder / "campaign/campaign.json").write_bytes(
        plans.dump(PLAN).replace(b'"switches": {}', b'"x": %s' % deep.encode())
    )
    for file in ("it.json", "it.jsonl"):
        refused(zabcheck, "explain", file)
        refused(zabcheck, "replay", file)
        refused(zabcheck, "check", file)
    refused(zabcheck, "explore", "--certify", "it.json")
    assert "nested too deeply" in refused(zabcheck, "check", "it.jsonl")
    assert "nested too deeply" in refused(zabcheck, "zookeeper", "judge", "run")
    assert "campaign.json" in refused(zabcheck, "campaign", "report", "campaign")
    assert "campaign.json" in refused(zabcheck, "campaign", "--resume", "--out", "campaign")


def device(path: Path) -> None:
    path.symlink_to("/dev/zero")


@pytest.mark.parametrize("make", [os.mkfifo, device, Path.mkdir], ids=["FIFO", "device", "folder"])
def test_a_folder_holds_what_has_no_end(zabcheck: Command, folder: Path, make: Callable[[Path], None]) -> None:
    make(folder / "run/recording.jsonl")
    assert "expected a regular file" in refused(zabcheck, "zookeeper", "judge", "run")
    make(folder / "campaign/campaign.json")
    assert "expected a regular file" in refused(zabcheck, "campaign", "report", "campaign")
    make(folder / "it.jar")
    assert "it.jar: expected a" in refused(zabcheck, "zookeeper", "points", "--classpath", "it.jar")
    disk(folder / "server", {1: real("log.100000001")}, {0: real("snapshot.0")})
    (folder / "server/version-2/currentEpoch").unlink()
    make(folder / "server/version-2/currentEpoch")
    assert "expected a regular file" in refused(zabcheck, "zookeeper", "logs", "server")


def test_a_log_of_a_recorded_server_is_a_device(zabcheck: Command, folder: Path) -> None:
    for file in (ROOT / "tests/zookeeper/healthy-3.8.0").iterdir():
        (folder / "run" / file.name).write_bytes(file.read_bytes())
    (folder / "run/server-1.0.log").unlink()
    device(folder / "run/server-1.0.log")
    assert zabcheck("zookeeper", "judge", "run").code == 3


def test_a_compressed_snapshot_that_swells_is_not_read(zabcheck: Command, folder: Path) -> None:
    disk(folder / "server", {0x100000001: real("log.100000001")}, {})
    swelling = gzip.compress(b"ZKSN" + bytes(10_000_000), 1, mtime=0)
    assert 4 * MOST_SWELLING * len(swelling) < 10_000_000
    (folder / "server/version-2/snapshot.0.gz").write_bytes(swelling)
    result = zabcheck("zookeeper", "logs", "server")
    assert f"it holds more than {MOST_SWELLING} times its compressed size" in result.out.replace("\n", " ")
    assert result.code == 3


def test_a_multi_within_a_multi(zabcheck: Command, folder: Path) -> None:
    inner = number(1) + number(Operation.DELETE) + text(text("/x"))
    nested = txn(1, Operation.MULTI, number(1) + number(Operation.MULTI) + text(inner))
    disk(folder / "server", {1: log([nested])}, {0: real("snapshot.0")})
    assert "byte 16: a multi within a multi" in refused(zabcheck, "zookeeper", "logs", "server")
    assert "byte 16: a multi within a multi" in refused(zabcheck, "zookeeper", "logs", "--no-digests", "server")


def test_as_many_children_as_an_int_can_count(zabcheck: Command, folder: Path) -> None:
    """The next one makes it negative, in ZooKeeper."""
    tree = snapshot([node("", cversion=2**31 - 1)], digest=(0, 0))
    disk(folder / "server", {1: log([with_digest(create(1, "/x"), 0)])}, {0: tree})
    result = zabcheck("zookeeper", "logs", "server")
    assert result.code == 1
    assert "digest" in result.out


def test_a_jar_whose_names_are_no_text(zabcheck: Command, folder: Path) -> None:
    with zipfile.ZipFile(folder / "it.jar", "w") as jar:
        jar.writestr("é", b"")
    (folder / "it.jar").write_bytes((folder / "it.jar").read_bytes().replace("é".encode(), b"\xff\xff"))
    assert "it.jar: expected a jar" in refused(zabcheck, "zookeeper", "points", "--classpath", "it.jar")


def test_a_class_that_swells(zabcheck: Command, folder: Path) -> None:
    with zipfile.ZipFile(folder / "it.jar", "w", zipfile.ZIP_DEFLATED) as jar:
        jar.writestr("org/apache/zookeeper/version/Info.class", bytes((1 << 24) + 1))
    assert "Info.class: expected at most" in refused(zabcheck, "zookeeper", "points", "--classpath", "it.jar")


def test_a_configuration_without_an_end(zabcheck: Command) -> None:
    assert "expected at most" in refused(zabcheck, "gate", "--config", "/dev/zero")
