"""Real servers load hundreds of altered disks, and do with each what zabcheck says."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.zookeeper.disk.altered import altered
from zabcheck.zookeeper.disk.boot import Refusal
from zabcheck.zookeeper.disk.contents import scan
from zabcheck.zookeeper.run.distribution import PYSPARK, classpath_of, jars_of_pyspark, version

JAVA = Path("java")
DISKS = 400
BOOTS = Path(__file__).with_name("Boots.java")
OLD = os.pathsep.join([f"{sys.prefix}/zookeeper-3.6.3/*", *map(str, jars_of_pyspark())])
"""The jars of 3.6.3, which `make test-zookeeper` fetches, before those of PySpark."""


def numbers(release: str) -> list[int]:
    return [int(part) for part in release.split(".")]


def applies(refusal: Refusal, release: str) -> bool:
    return (refusal.since is None or numbers(release) >= numbers(refusal.since)) and (
        refusal.before is None or numbers(release) < numbers(refusal.before)
    )


def said(directory: Path, release: str) -> list[str]:
    """Return "fails", or "starts" with the last zxid and the digest of the tree, if that is not empty."""
    found = scan(directory)
    if any(applies(each, release) for each in found.refusals):
        return ["fails"]
    return ["starts", str(found.last), *([] if found.digest is None else [str(found.digest)])]


def boots(directories: list[Path], classpath: str) -> list[list[str]]:
    """Start real servers on these disks, which they may change, and return what each does."""
    command = [str(JAVA), "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-cp", classpath, str(BOOTS)]
    names = "".join(f"{directory}\n" for directory in directories)
    output = subprocess.run(command, input=names, capture_output=True, text=True, check=True).stdout
    lines = [line.split() for line in output.splitlines() if line.startswith("BOOT ")]
    return [words[1:4] if words[1] == "starts" else words[1:2] for words in lines]


@pytest.mark.zookeeper
@pytest.mark.parametrize(
    ("build", "first"),
    [(None, "3.8.0"), (PYSPARK, "3.9.5"), (OLD, "3.6.3")],
    ids=["debian", "pyspark", "older pyspark"],
)
def test_real_servers_do_what_is_said(build: str | None, first: str, tmp_path: Path) -> None:
    classpath = classpath_of(None, build)
    release = version(JAVA, classpath)
    assert release.startswith(first)
    disks = [altered(tmp_path / str(seed), seed) for seed in range(DISKS)]
    expected = [said(each, release) for each in disks]
    found = boots(disks, classpath)
    assert len(found) == DISKS
    told = [real[: len(words)] for real, words in zip(found, expected, strict=True)]
    assert {seed: (told[seed], expected[seed]) for seed in range(DISKS) if told[seed] != expected[seed]} == {}
    assert {words[0] for words in found} == {"starts", "fails"}
    shutil.rmtree(tmp_path)
