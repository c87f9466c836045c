"""`zabcheck zookeeper logs`."""

from pathlib import Path

import pytest

from tests.cli.conftest import Command
from tests.zookeeper.disk.disks import EMPTY_TREE, compressed, create, disk, log, node, snapshot, zxid

E1 = [zxid(1, counter) for counter in range(1, 11)]


def three(folder: Path) -> None:
    """Servers that agree; one is behind and was killed while it wrote."""
    disk(folder / "s1", {E1[0]: E1}, server=1)
    disk(folder / "s2" / "data", {E1[0]: log([*map(create, E1[:7])], 0) + bytes(5) + b"torn"}, server=2)
    disk(folder / "s3", {E1[5]: E1[5:]}, {E1[4]: snapshot()}, server=3)
    (folder / "other").mkdir()


def test_servers_below_a_directory_that_agree(zabcheck: Command, tmp_path: Path) -> None:
    three(tmp_path)
    result = zabcheck("zookeeper", "logs", ".")
    assert (result.code, result.err) == (0, "")
    for words in (
        "server 1: s1",
        "10 transactions: ⟨1,1⟩ … ⟨1,10⟩",
        "snapshots  ⟨1,5⟩ (4 nodes)",
        "epochs     accepted 1, current 1",
        "server 2: s2/data",
        "torn, log.100000001, byte",
        "10 transactions are in two logs at least; they agree everywhere",
        "server 2 ends 3 transactions before the others",
        "nothing is wrong",
    ):
        assert words in result.out, words


def test_what_is_wrong_is_shown_and_gives_1(zabcheck: Command, tmp_path: Path) -> None:
    disk(tmp_path / "a", {E1[0]: [*E1[:4], *E1[5:]]}, server=1)
    disk(tmp_path / "b", {E1[0]: log([*map(create, E1[:6]), create(E1[6], "/ot\x1bher")])}, server=2)
    result = zabcheck("zookeeper", "logs", "a", "b")
    assert (result.code, result.err) == (1, "")
    assert "nothing is wrong" not in result.out
    for words in (
        "wrong      gap, log.100000001, byte 404: after ⟨1,4⟩ comes ⟨1,6⟩: without ⟨1,5⟩",
        "they agree, up to ⟨1,4⟩",
        "⟨1,5⟩  missing",
        "/ot\\x1bher",
    ):
        assert words in result.out, words


def test_each_transaction(zabcheck: Command, tmp_path: Path) -> None:
    three(tmp_path)
    lines = zabcheck("zookeeper", "logs", "s3", "--txns").out.splitlines()
    assert lines[:2] == [
        "server 3",
        "⟨1,6⟩ 0x100000006 2023-11-14T22:13:20.000Z create2 /n100000006, "
        "session 0x1000000000000001 request 6, log.100000006 byte 16",
    ]
    [server] = zabcheck("zookeeper", "logs", "s3", "--txns", "--format", "json").json["servers"]
    assert [each["zxid"] for each in server["txns"]] == [[1, counter] for counter in range(6, 11)]
    assert "txns" not in zabcheck("zookeeper", "logs", "s3", "--format", "json").json["servers"][0]


def test_as_json(zabcheck: Command, tmp_path: Path) -> None:
    three(tmp_path)
    found = zabcheck("zookeeper", "logs", "s1", "s2", "s3", "--format", "json").json
    assert [server["server"] for server in found["servers"]] == [1, 2, 3]
    assert found["servers"][2]["boot"] == {
        "snapshot": [1, 5],
        "last": [1, 10],
        "below": 0,
        "refusals": [],
    }
    [torn] = found["servers"][1]["findings"]
    assert (torn["kind"], torn["wrong"], Path(torn["file"]).name) == ("torn", False, "log.100000001")
    assert found["comparison"] == {"compared": 10, "agree": [1, 10], "behind": [0, 3, 0], "differences": []}
    assert zabcheck("zookeeper", "logs", "s1", "--format", "json").json["comparison"] is None


def test_logs_in_a_directory_of_their_own(zabcheck: Command, tmp_path: Path) -> None:
    disk(tmp_path / "data", {}, server=1)
    disk(tmp_path / "logs", {E1[0]: E1}, {}, None, None)
    assert "10 transactions" in zabcheck("zookeeper", "logs", "data", "--log-dir", "logs").out
    result = zabcheck("zookeeper", "logs", "data", "data", "--log-dir", "logs")
    assert (result.code, result.out) == (2, "")
    assert "expected one for each of the 2 directories, found 1" in result.err


def test_a_directory_of_logs_beside_one_of_snapshots_is_the_same_server(zabcheck: Command, tmp_path: Path) -> None:
    disk(tmp_path / "zk1" / "data", {}, server=1)
    disk(tmp_path / "zk1" / "datalog", {E1[0]: E1}, {}, None, None)
    for arguments in (["."], ["zk1/data", "zk1/datalog"]):
        result = zabcheck("zookeeper", "logs", *arguments)
        assert (result.code, result.err) == (0, "")
        for words in ("logs in    zk1/datalog/version-2", "10 transactions", "on the disks of 1 server"):
            assert words in result.out, words
    disk(tmp_path / "zk1" / "another", {E1[0]: E1}, {}, None, None)
    assert zabcheck("zookeeper", "logs", ".").code == 1  # which of the two belongs to it, nobody knows


def test_snapshots_without_a_log_are_inconclusive(zabcheck: Command, tmp_path: Path) -> None:
    disk(tmp_path / "s1", {}, {0: snapshot(), E1[4]: snapshot()}, server=1)
    result = zabcheck("zookeeper", "logs", "s1")
    assert (result.code, result.err) == (3, "")
    assert (
        "INCONCLUSIVE: server 1 has snapshots and no log: if there is a dataLogDir, give it with --log-dir"
        in result.out
    )
    disk(tmp_path / "new", {}, {0: snapshot(), E1[0] - 1: snapshot()}, server=2)
    assert zabcheck("zookeeper", "logs", "new").code == 0


def test_a_snapshot_that_is_not_read_decides_nothing(zabcheck: Command, tmp_path: Path) -> None:
    disk(tmp_path / "s1", {E1[0]: E1}, {0: snapshot()}, server=1)
    assert zabcheck("zookeeper", "logs", "s1").code == 0
    unread = tmp_path / "s1/version-2/snapshot.0.gz"
    unread.write_bytes(compressed(snapshot((node("/a", bytes(2_000_000)), *EMPTY_TREE))))
    unread.with_suffix("").unlink()
    result = zabcheck("zookeeper", "logs", "s1")
    assert result.code == 3
    said = f"INCONCLUSIVE: nothing is known of what was not read: {unread.relative_to(tmp_path)}"
    assert result.out.splitlines()[-1] == said


def test_the_verdict_names_the_server(zabcheck: Command, tmp_path: Path) -> None:
    three(tmp_path)
    disk(tmp_path / "s4", {E1[0]: [*E1[:4], *E1[5:]]}, server=4)
    result = zabcheck("zookeeper", "logs", ".")
    assert "FAIL: something is wrong on the disk of server 4: gap, missing" in result.out
    assert "start      3.9.4 and later do not start; earlier versions do, and say nothing: log.100000001" in result.out
    [refusal] = zabcheck("zookeeper", "logs", "s4", "--format", "json").json["servers"][0]["boot"]["refusals"]
    assert (refusal["since"], refusal["before"], refusal["offset"]) == ("3.9.4", None, 404)


def test_remedies_come_with_the_command_that_checks_them(zabcheck: Command, tmp_path: Path) -> None:
    for server in (1, 2):
        disk(tmp_path / f"s{server}", {E1[0]: E1[:8]}, server=server)
    disk(tmp_path / "s3", {E1[0]: [*E1[:4], *E1[5:]]}, server=3)
    result = " ".join(zabcheck("zookeeper", "logs", ".", "--txns").out.split())
    assert (
        "what now gap, missing stop server 3, rename its version-2 to version-2.old, and start again while server 1, "
        "server 2 run, which fill it again; lost are ⟨1,9⟩ … ⟨1,10⟩ (on 1 of 3: no quorum of these has it) then check "
        "zabcheck zookeeper logs . FAIL"
    ) in result
    [remedy] = zabcheck("zookeeper", "logs", ".", "--format", "json").json["remedies"]
    assert remedy == {
        "action": "sync",
        "mends": ["gap", "missing"],
        "servers": [{"server": 3, "directory": "s3"}],
        "sources": [{"server": at, "directory": f"s{at}"} for at in (1, 2)],
        "file": None,
        "value": None,
        "lost": [{"first": [1, 9], "last": [1, 10], "servers": 1}],
        "check": "zabcheck zookeeper logs .",
    }
    assert zabcheck("zookeeper", "logs", "s1").out.count("what now") == 0


def test_where_servers_have_two_transactions_under_one_zxid_no_history_is_called_unacknowledged(
    zabcheck: Command, tmp_path: Path
) -> None:
    """Two of three servers were started with older copies of their disks, and went on."""
    others = log([create(E1[0]), *(create(each, f"/other{each}") for each in E1[1:3])])
    for number, content in ((1, others), (2, others), (3, E1[:5])):
        disk(tmp_path / f"s{number}", {E1[0]: content}, server=number)
    said = " ".join(zabcheck("zookeeper", "logs", ".").out.split())
    for words in (
        "lost are ⟨1,2⟩ … ⟨1,3⟩ (on 1 of 3: maybe acknowledged), ⟨1,4⟩ … ⟨1,5⟩ (on 1 of 3: maybe acknowledged)",
        "If server 3 has what clients were told, empty server 1, server 2 instead, and start server 3 first",
    ):
        assert words in said, words


ACTIONS = {
    "restore": "stop all servers, keep a copy of each disk, rename version-2 of s1 to version-2.old, start s2 first",
    "compare": "give the disks of the other servers, too: if they are sound, s1 can be emptied; what is lost is",
    "cut": "keep a copy of the disk of s1, cut log.1 at byte 16, and move later logs away; lost are",
    "backup": "restore s1 from a backup",
    "rename": "stop s1, and rename log.2 to log.1; nothing is lost",
    "move": "stop s1, and move log.1.bak out of its directory; nothing is lost",
    "buffer": "start s1 with -Djute.maxbuffer=1100038 or more",
    "elsewhere": "look for the dataLogDir of s1, and give it with --log-dir",
}


@pytest.mark.parametrize("action", ACTIONS)
def test_each_action_in_words(action: str, zabcheck: Command, tmp_path: Path) -> None:
    ones = list(range(1, 6))
    whole = log([*map(create, ones)])
    logs: dict[str, dict[int, bytes | list[int]]] = {
        "restore": {1: [1, 2, 4]},
        "compare": {1: [1, 2, 4]},
        "cut": {1: whole[:40] + b"\xff" + whole[41:]},
        "backup": {1: [1, 2, 4]},
        "rename": {2: ones},
        "move": {1: ones},
        "buffer": {1: log([create(1, data=bytes(2_200_000))])},
        "elsewhere": {},
    }
    several = 0 if action in ("restore", "compare") else None
    snapshots = {3: snapshot()} if action == "elsewhere" else None
    place = disk(tmp_path / "s1", logs[action], snapshots, several, several)
    if action == "move":
        (place / "version-2" / "log.1.bak").write_bytes(whole[:200])
    if action == "restore":
        disk(tmp_path / "s2", {1: ones}, None, 0, 0)
    servers = ["s1", "s2"] if action == "restore" else ["s1"]
    assert ACTIONS[action] in " ".join(zabcheck("zookeeper", "logs", *servers).out.split())


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nowhere"], "nowhere: expected the data directory of a ZooKeeper server, found no directory"),
        (["file"], "file: expected the data directory of a ZooKeeper server, found no directory"),
        (["empty"], "empty: expected version-2, or log.…, snapshot.…, currentEpoch or acceptedEpoch; found nothing"),
        ([], "Missing argument 'DIR…'"),
    ],
)
def test_bad_input(arguments: list[str], message: str, zabcheck: Command, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    (tmp_path / "empty" / "deep" / "deeper").mkdir(parents=True)
    result = zabcheck("zookeeper", "logs", *arguments)
    assert (result.code, result.out) == (2, "")
    assert message in result.err
    assert result.err.count("\n") == 1


def test_much_that_is_wrong_is_cut_short(zabcheck: Command, tmp_path: Path) -> None:
    disk(tmp_path / "a", {2: [2 * counter for counter in range(1, 101)]}, current=9, accepted=9)
    disk(tmp_path / "b", {3: [2 * counter + 1 for counter in range(1, 101)]}, current=9, accepted=9)
    result = zabcheck("zookeeper", "logs", "a", "b")
    assert result.code == 1
    assert result.out.count("and 70 more, which --format json tells") == 2
    assert "and 70 more ranges" in result.out
    assert len(result.out.splitlines()) < 400


def test_the_help_of_zookeeper_tells_what_commands_there_are(zabcheck: Command) -> None:
    result = zabcheck("zookeeper", "--help")
    assert result.code == 0
    for command in ("judge", "logs"):
        assert f"\n  {command} " in result.out
