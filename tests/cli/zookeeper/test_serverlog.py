"""`zabcheck zookeeper serverlog`."""

import json
from pathlib import Path

import pytest

from tests.cli.command import ROOT
from tests.cli.conftest import Command

LOGS = ROOT / "tests/zookeeper/serverlogs/logs"


def test_a_server_that_does_not_start_and_is_older_than_a_client(zabcheck: Command) -> None:
    result = zabcheck("zookeeper", "serverlog", str(LOGS / "older-than-a-client"))
    assert (result.code, result.err) == (1, "")
    text = " ".join(result.out.split())
    for words in (
        "wrong server 1: does not start: Unable to load database on disk: java.io.IOException: The current epoch, 5, "
        "is older than the last zxid, 25769803776",
        "may be ZOOKEEPER-1653: a crash before the file currentEpoch is written leaves a server that cannot start",
        "not ZOOKEEPER-2332, ZOOKEEPER-4882, ZOOKEEPER-5094, unforced-snapshot: the error is another one",
        "to settle it: zabcheck zookeeper logs DIR, with a copy of the data directory of server 1",
        "server 1: is at ⟨12,4⟩, and refuses a client that has seen ⟨13,0⟩; no line says that it got there",
        "FAIL: server 1: does not start; server 1: behind; next: zabcheck zookeeper catalogue --bug ZOOKEEPER-1653",
    ):
        assert words in text, words


def test_paths_longer_than_a_line_are_not_broken(zabcheck: Command, tmp_path: Path) -> None:
    folder = tmp_path / "the-logs-of-all-servers-of-the-production-cluster" / "of-the-last-week-of-november"
    for server in (1, 2, 3):
        log = folder / f"server-{server}" / "zookeeper.log"
        log.parent.mkdir(parents=True)
        log.write_bytes((LOGS / f"half-record-3.8.0/zookeeper-{server}.log").read_bytes())
    lines = zabcheck("zookeeper", "serverlog", *[str(folder / f"server-{each}") for each in (1, 2, 3)]).out.splitlines()
    for server in (1, 2, 3):
        assert f"server {server}  {folder}/server-{server}/zookeeper.log" in lines
    assert any(line.endswith("(zookeeper.log:8)") for line in lines)


def test_a_page_and_json_of_three_servers(zabcheck: Command, tmp_path: Path) -> None:
    result = zabcheck("zookeeper", "serverlog", str(LOGS / "half-record-3.8.0"), "--out", "out", "--format", "json")
    said = json.loads(result.out)
    assert (result.code, said["command"], said["files"]) == (1, "zookeeper serverlog", ["out/serverlog.html"])
    assert [each["server"] for each in said["servers"]] == [1, 2, 3]
    assert [(each["epoch"], each["server"]) for each in said["leaders"]] == [(1, "server 2"), (2, "server 3")]
    assert [each["kind"] for each in said["problems"]] == ["fatal error", "forgot", "lost"]
    lost = said["problems"][2]
    assert (lost["moment"]["zxid"], lost["moment"]["other"], lost["moment"]["line"]) == ([1, 4], [1, 5], 22)
    page = (tmp_path / "out/serverlog.html").read_text()
    for words in ("is told to cut its log to ⟨1,4⟩", '<th scope="col">server 3</th>', "may be half-record"):
        assert words in page, words


@pytest.mark.parametrize(
    ("text", "code", "why"),
    [
        (
            "2026-01-31 12:00:00,000 [myid:1] - INFO  [main:QuorumPeer@1] - FOLLOWING\n",
            0,
            "PASS: the logs of 1 server tell of nothing wrong, in 1 lines",
        ),
        (
            "2026-01-31 12:00:00,000 [myid:1] - INFO  [main:Other@1] - hello\n",
            3,
            "INCONCLUSIVE: no line tells of an election, a start, a leader or an error",
        ),
        ("hello\n", 2, "a.log: expected the log of a ZooKeeper server"),
    ],
)
def test_the_verdict(zabcheck: Command, tmp_path: Path, text: str, code: int, why: str) -> None:
    (tmp_path / "a.log").write_text(text)
    result = zabcheck("zookeeper", "serverlog", "a.log")
    assert result.code == code
    assert why in result.out + result.err
