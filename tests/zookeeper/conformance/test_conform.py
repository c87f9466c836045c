"""Recordings of real servers against the model: what conforms, and where a recording that was altered does not."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any, get_args

import pytest

from docs.generators.zookeeper import extracted
from invariants import EMPTY, NO_ZXID, Txn, Zxid
from invariants.quorums import Quorums
from tests.tiers import sweep
from zabcheck.search.run import Replay, replay_on
from zabcheck.zookeeper.conformance.attempt import Attempt
from zabcheck.zookeeper.conformance.conform import Conformance, SeenPacket, conform, release_of
from zabcheck.zookeeper.conformance.merge import not_enabled
from zabcheck.zookeeper.conformance.refusals import RuledOut, compare_log, on_disk
from zabcheck.zookeeper.model import ZOOKEEPER
from zabcheck.zookeeper.model.database import Snapshot
from zabcheck.zookeeper.model.server import Phase, start
from zabcheck.zookeeper.model.switches import Release, ZooKeeperSwitches
from zabcheck.zookeeper.recording.folder import RECORDING

RECORDINGS = Path(__file__).parents[1]
HEALTHY, LOST_WRITE = RECORDINGS / "healthy-3.8.0", RECORDINGS / "lost-write-3.8.0"
ARCHIVES = (
    "5094-3.9.5",
    "ack-before-trunc-3.9.5",
    "numbered-not-applied-3.8.0",
    "stale-log-3.9.5",
    "trunc-keeps-one-3.9.5",
)

Record = dict[str, Any]


def altered(recording: Path, folder: Path, change: Callable[[list[Record]], None]) -> Path:
    """A copy of a recording whose records are changed."""
    copy = Path(shutil.copytree(recording, folder / "altered"))
    records = [json.loads(line) for line in (copy / RECORDING).read_text().splitlines()]
    change(records)
    (copy / RECORDING).write_text("".join(f"{json.dumps(record)}\n" for record in records))
    return copy


def zxid(epoch: int, counter: int) -> int:
    return Zxid(epoch, counter).packed()


def violated(replayed: Replay) -> set[str]:
    return {each.property for each in replayed.verdicts if each.status == "violated"}


# What conforms.


def test_a_run_of_the_model_explains_a_healthy_ensemble() -> None:
    found = conform(HEALTHY)
    assert (found.verdict, found.undecided, found.differences) == ("conforms", (), ())
    assert found.schedule is not None
    replayed = replay_on(ZOOKEEPER, found.schedule)
    assert replayed.skipped == 0
    assert [
        each.property for each in replayed.verdicts if each.status == "violated" and each.property != "invariant 4"
    ] == []


def test_the_run_of_the_model_breaks_what_the_real_one_broke() -> None:
    """Durability is the exception, for the model has no clients; a write is lost in both."""
    found = conform(LOST_WRITE)
    assert found.schedule is not None
    assert {"agreement", "primary integrity"} <= violated(replay_on(ZOOKEEPER, found.schedule))


@pytest.mark.parametrize("name", ARCHIVES)
def test_findings_conform_in_their_version(name: str, tmp_path: Path) -> None:
    assert conform(extracted(name, tmp_path)).verdict == "conforms"


def _up_to_date_late(*packets: int) -> Callable[[list[Record]], None]:
    """A server is sent UPTODATE after the first PROPOSAL, and acknowledges it then."""

    def change(records: list[Record]) -> None:
        for record in records:
            if record.get("packet") in packets:
                record["time"] += 49_100

    return change


@pytest.mark.parametrize("packets", [(14, 16), (13, 15), (13, 14, 15, 16)])
def test_a_proposal_may_leave_before_uptodate(packets: tuple[int, ...], tmp_path: Path) -> None:
    assert conform(altered(HEALTHY, tmp_path, _up_to_date_late(*packets))).verdict == "conforms"


# What does not.


def differs(found: Conformance) -> tuple[int, str]:
    """The server and the source of the only difference."""
    assert found.verdict == "differs", found.undecided
    assert found.schedule is None
    [difference] = found.differences
    return difference.server, difference.source


def test_a_recording_is_no_run_of_another_version(tmp_path: Path) -> None:
    """The write that 3.8.0 lost had been acknowledged by a thread, which later versions wait for."""
    assert differs(conform(LOST_WRITE, "3.9.2")) == (1, "packet 48")
    found = conform(extracted("ack-before-trunc-3.9.5", tmp_path), "3.9.2")
    assert differs(found) == (3, "the disk of server 3 after incarnation 0")
    assert found.differences[0].guards == (
        "its log would have c2.1⟨1,4⟩ on the disk, which its disk has not (4 records are forced)",
    )


def _sends_another_zxid(records: list[Record]) -> None:
    """The COMMIT of ⟨1,4⟩ to server 1 becomes one of ⟨1,5⟩."""
    [packet] = [r for r in records if r.get("packet") == 51 and r["record"] == "sent"]
    assert (packet["kind"], packet["zxid"]) == ("COMMIT", zxid(1, 4))
    packet["zxid"] = zxid(1, 5)


def _sends_snap(records: list[Record]) -> None:
    """The first DIFF becomes a SNAP."""
    packet = next(r for r in records if r.get("kind") == "DIFF")
    packet["kind"] = "SNAP"


def _forgets(records: list[Record]) -> None:
    """The disk of server 3 loses the last record, which it has acknowledged."""
    [disk] = [r for r in records if r["record"] == "disk" and (r["server"], r["incarnation"]) == (3, 1)]
    disk["log"].pop()


def _writes_another_epoch(records: list[Record]) -> None:
    [disk] = [r for r in records if r["record"] == "disk" and (r["server"], r["incarnation"]) == (3, 1)]
    disk["current_epoch"] = 1


def _acknowledges_before_the_proposal(records: list[Record]) -> None:
    """The ACK of ⟨2,4⟩ was sent when the PROPOSAL had not been passed on."""
    [ack] = [r for r in records if r.get("packet") == 132 and r["record"] == "sent"]
    assert (ack["kind"], ack["zxid"]) == ("ACK", zxid(2, 4))
    ack["time"] -= 20_000


def _commits_alone(records: list[Record]) -> None:
    """No ACK of ⟨2,4⟩ ever comes, and it is committed."""
    acks = {r["packet"] for r in records if r.get("kind") == "ACK" and r["zxid"] == zxid(2, 4)}
    records[:] = [r for r in records if r.get("packet") not in acks]


def _answer_of_a_follower(records: list[Record]) -> Record:
    """Client 3 is told by server 3, which follows, that ⟨2,4⟩ is done."""
    [found] = [r for r in records if r["record"] == "acknowledged" and r["zxid"] == zxid(2, 4)]
    assert (found["client"], found["number"], found["server"]) == (3, 5, 3)
    return found


def _answers_what_was_never_applied(records: list[Record]) -> None:
    _answer_of_a_follower(records)["zxid"] = zxid(2, 99)


def _answers_too_early(records: list[Record]) -> None:
    """Before the server can have read the COMMIT, and so before its log says that it is applied."""
    [commit] = [r for r in records if r.get("kind") == "COMMIT" and (r["zxid"], r["receiver"]) == (zxid(2, 4), 3)]
    _answer_of_a_follower(records)["time"] = commit["time"] - 20_001


def _read_of(server: int, records: list[Record]) -> Record:
    [found] = [r for r in records if r["record"] == "read" and r["server"] == server]
    return found


def _lacks_a_node(records: list[Record]) -> None:
    """The creation of a node that nobody reads at server 1 is in its log, and below what the read had reached."""
    read = _read_of(1, records)
    read["nodes"].remove(["/c2-3", zxid(2, 3)])
    read["reached"] = zxid(2, 3)


def _snapshots(records: list[Record]) -> list[int]:
    """Return the snapshots of server 2 at the end: it wrote one when it began to lead."""
    [disk] = [r for r in records if r["record"] == "disk" and (r["server"], r["incarnation"]) == (2, 0)]
    assert disk["snapshots"] == [zxid(0, 0), zxid(1, 7)]
    return disk["snapshots"]  # type: ignore[no-any-return]  # it is JSON


def _loses_a_snapshot(records: list[Record]) -> None:
    _snapshots(records).pop()


def _has_another_snapshot(records: list[Record]) -> None:
    _snapshots(records).append(zxid(2, 3))


def _labels_a_snapshot_otherwise(records: list[Record]) -> None:
    _snapshots(records)[1] = zxid(1, 6)


QUICK = ("SNAP for DIFF",)
"""The others take seconds: all that the server may have done before has to be ruled out."""
ALTERED: dict[str, tuple[Callable[[list[Record]], None], tuple[int, str]]] = {
    "SNAP for DIFF": (_sends_snap, (3, "packet 7")),
    "a record is missing on the disk": (_forgets, (3, "the disk of server 3 after incarnation 1")),
    "another epoch on the disk": (_writes_another_epoch, (3, "the disk of server 3 after incarnation 1")),
    "an ACK too early": (_acknowledges_before_the_proposal, (3, "packet 132")),
    "a COMMIT without a quorum": (_commits_alone, (2, "packet 133")),
    "a snapshot is missing": (_loses_a_snapshot, (2, "the disk of server 2 after incarnation 0")),
    "a snapshot with another label": (_labels_a_snapshot_otherwise, (2, "the disk of server 2 after incarnation 0")),
    "a read that lacks a node": (_lacks_a_node, (1, "the read of server 1")),
    "an answer under another zxid": (_answers_what_was_never_applied, (3, "the answer to write 5 of client 3")),
    "an answer too early": (_answers_too_early, (3, "the answer to write 5 of client 3")),
}


@pytest.mark.parametrize("name", sweep(ALTERED, normal=QUICK))
def test_what_was_altered_is_found_where_it_is(name: str, tmp_path: Path) -> None:
    change, where = ALTERED[name]
    found = conform(altered(HEALTHY, tmp_path, change))
    assert found.verdict == "differs", found.undecided
    assert where in [(each.server, each.source) for each in found.differences]


KINDS = ("FOLLOWERINFO", "LEADERINFO", "ACKEPOCH", "DIFF", "NEWLEADER", "ACK", "UPTODATE", "PROPOSAL", "COMMIT")


def _first(kind: str, records: list[Record]) -> Record:
    return next(record for record in records if record["record"] == "sent" and record["kind"] == kind)


def _left_out(kind: str) -> Callable[[list[Record]], None]:
    def change(records: list[Record]) -> None:
        number = _first(kind, records)["packet"]
        records[:] = [record for record in records if record.get("packet") != number]

    return change


def _sent_twice(kind: str) -> Callable[[list[Record]], None]:
    def change(records: list[Record]) -> None:
        number, more = _first(kind, records)["packet"], 1 + max(record.get("packet", 0) for record in records)
        for at in reversed([at for at, record in enumerate(records) if record.get("packet") == number]):
            records.insert(at + 1, {**records[at], "packet": more})

    return change


def _of_another_epoch(kind: str) -> Callable[[list[Record]], None]:
    def change(records: list[Record]) -> None:
        packet = _first(kind, records)
        packet["zxid"] += zxid(2, 0)
        if "txn" in packet:
            packet["txn"]["zxid"] = packet["zxid"]

    return change


CHANGED = [
    (how, kind)
    for how in (_left_out, _sent_twice, _of_another_epoch)
    for kind in KINDS
    if (how, kind) != (_of_another_epoch, "UPTODATE")  # its zxid says nothing
]


@pytest.mark.parametrize(("how", "kind"), sweep(CHANGED, normal=CHANGED[::4]))
def test_each_packet_has_to_be_there_once_and_in_its_epoch(
    how: Callable[[str], Callable[[list[Record]], None]], kind: str, tmp_path: Path
) -> None:
    found = conform(altered(HEALTHY, tmp_path, how(kind)))
    assert found.verdict == "differs", found.undecided


@pytest.mark.slow
def test_a_write_that_was_lost_cannot_be_read(tmp_path: Path) -> None:
    """Server 1 lost ⟨1,4⟩, which 3.8.0 does; to have it again at the end is something else."""

    def has_it(records: list[Record]) -> None:
        _read_of(1, records)["nodes"].append(["/c3-1", zxid(1, 4)])

    [difference] = conform(altered(LOST_WRITE, tmp_path, has_it)).differences
    assert (difference.server, difference.source) == (1, "the read of server 1")
    assert difference.guards == ("its tree would not have c3.1⟨1,4⟩, which was read",)


def test_what_a_read_had_not_reached_may_be_missing(tmp_path: Path) -> None:
    def early(records: list[Record]) -> None:
        _lacks_a_node(records)
        _read_of(1, records)["reached"] = zxid(2, 2)

    assert conform(altered(HEALTHY, tmp_path, early)).verdict == "conforms"


@pytest.mark.slow
def test_the_difference_of_a_snapshot_is_told(tmp_path: Path) -> None:
    [difference] = conform(altered(HEALTHY, tmp_path, _has_another_snapshot)).differences
    assert (difference.server, difference.source) == (2, "the disk of server 2 after incarnation 0")
    assert difference.what.endswith(", snapshots ⟨0,0⟩ ⟨1,7⟩ ⟨2,3⟩")
    assert "its disk would not have the snapshot ⟨2,3⟩, and has it" in difference.guards


def test_after_a_power_failure_snapshots_are_not_compared(tmp_path: Path) -> None:
    """It may have taken one, as in the recording of 2872, in which one is gone; nor is what no disk has yet."""

    def fail(records: list[Record]) -> None:
        _labels_a_snapshot_otherwise(records)
        lost = {"record": "powerlost", "time": records[9]["time"], "server": 2, "lost": 0, "files": {}}
        records.insert(9, lost)

    def written_none(records: list[Record]) -> None:
        _snapshots(records).clear()

    assert conform(altered(HEALTHY, tmp_path / "a", fail)).verdict == "conforms"
    assert conform(altered(HEALTHY, tmp_path / "b", written_none)).verdict == "conforms"
    assert conform(extracted("unforced-snapshot-3.9.3", tmp_path)).verdict == "conforms"


def test_a_leader_may_end_before_it_has_written_its_snapshot() -> None:
    """Its log says first that it leads. Any other one is written before the server does something else."""
    server = start(1, 0, Quorums(3), {}, ZooKeeperSwitches(version="3.8.0", grain="G5"))
    server.snapshots = (Snapshot(NO_ZXID, EMPTY), Snapshot(Zxid(1, 2), EMPTY))
    both, first = (NO_ZXID, Zxid(1, 2)), (NO_ZXID,)
    server.leader, server.phase = 1, Phase.DISCOVERY
    assert on_disk(server, both) == server.snapshots
    assert on_disk(server, first) == server.snapshots[:1]
    server.phase = Phase.SYNCHRONIZATION
    with pytest.raises(RuledOut, match="would have the snapshot ⟨1,2⟩, and does not have it"):
        on_disk(server, first)


def test_a_record_that_trunc_has_kept_may_be_overwritten() -> None:
    """N2 keeps ⟨2,1⟩, and the next file is named after ⟨2,1⟩, too: it is there once, if its file began with it."""
    server = start(1, 0, Quorums(3), {}, ZooKeeperSwitches(version="3.8.0", grain="G5"))
    first, kept, later = Txn(Zxid(1, 1), "v1"), Txn(Zxid(2, 1), "v2"), Txn(Zxid(2, 2), "v3")
    attempt = Attempt(server, 0)
    server.log = twice = (first, kept, kept)
    compare_log(attempt, (first, kept, kept, later), appended=1)
    assert server.log == twice
    compare_log(attempt, (first, kept, later), appended=1)
    assert server.log == (first, kept)
    server.log = (first, later, later)
    with pytest.raises(RuledOut, match="record 2 of its log would be v3⟨2,2⟩, and its disk has v2⟨2,1⟩"):
        compare_log(attempt, (first, kept, later), appended=1)


def test_a_vote_with_another_zxid_is_a_difference(tmp_path: Path) -> None:
    copy = Path(shutil.copytree(HEALTHY, tmp_path / "copy"))
    log = copy / "server-2.0.log"
    text = log.read_text()
    assert text.count("proposed zxid=0x100000007") == 1
    log.write_text(text.replace("proposed zxid=0x100000007", "proposed zxid=0x100000006"))
    server, source = differs(conform(copy))
    assert (server, source.partition(":")[0]) == (2, "server-2.0.log")


@pytest.fixture(scope="module")
def another_zxid(tmp_path_factory: pytest.TempPathFactory) -> Conformance:
    return conform(altered(HEALTHY, tmp_path_factory.mktemp("recordings"), _sends_another_zxid))


@pytest.mark.slow
@pytest.mark.xdist_group("another zxid")
def test_a_difference_tells_the_last_state_and_what_the_model_would_do(another_zxid: Conformance) -> None:
    [difference] = [each for each in another_zxid.differences if each.server == 3]
    assert difference.source == "packet 50"
    assert difference.what == "COMMIT(⟨1,4⟩) to server 2", "it goes to both at once"
    assert difference.state[""] == "leads, broadcast"
    assert 0 < difference.explained < difference.observations
    assert difference.guards == (
        "if it read packet 46, it would send COMMIT(⟨1,4⟩) to server 1, and it sent COMMIT(⟨1,5⟩) (packet 51)",
        "if it read packet 45, it would send COMMIT(⟨1,4⟩) to server 1, and it sent COMMIT(⟨1,5⟩) (packet 51)",
        "if its thread sync went on, it would send COMMIT(⟨1,4⟩) to server 1, and it sent COMMIT(⟨1,5⟩) (packet 51)",
    )
    assert difference.packet == SeenPacket("COMMIT", "⟨1,4⟩", 2)


@pytest.mark.slow
@pytest.mark.xdist_group("another zxid")
def test_differences_are_in_the_order_of_their_times_and_what_comes_before_is_a_run(another_zxid: Conformance) -> None:
    found = another_zxid
    times = [each.time for each in found.differences]
    assert len(times) > 1
    assert times == sorted(times)
    assert found.before is not None
    assert len(found.before.choices) > 50
    assert not_enabled(found.before) == []


# What nothing can be said of.


def test_a_server_whose_log_is_missing_is_left_open(tmp_path: Path) -> None:
    copy = Path(shutil.copytree(HEALTHY, tmp_path / "copy"))
    (copy / "server-1.0.log").unlink()
    found = conform(copy)
    assert (found.verdict, found.undecided) == (
        "undecided",
        (
            "server 1: server-1.0.log: it does not say whom the server follows",
            "server-1.0.log: No such file or directory",
        ),
    )


def test_nothing_is_said_where_every_log_is_missing(tmp_path: Path) -> None:
    copy = Path(shutil.copytree(HEALTHY, tmp_path / "copy"))
    for log in copy.glob("server-*.log"):
        log.unlink()
    found = conform(copy)
    assert (found.verdict, len(found.undecided) > 2) == ("undecided", True)


@pytest.mark.slow
def test_what_can_be_refuted_is_although_the_recording_has_no_end(tmp_path: Path) -> None:
    def cut(records: list[Record]) -> None:
        del records[-1]

    def cut_and_alter(records: list[Record]) -> None:
        _sends_another_zxid(records)
        cut(records)

    found = conform(altered(HEALTHY, tmp_path / "a", cut))
    assert (found.verdict, found.undecided) == ("undecided", ("the recording has no end",))
    assert conform(altered(HEALTHY, tmp_path / "b", cut_and_alter)).verdict == "differs"


def test_a_packet_that_the_model_does_not_have_is_named(tmp_path: Path) -> None:
    def observe(records: list[Record]) -> None:
        next(r for r in records if r.get("kind") == "FOLLOWERINFO")["kind"] = "OBSERVERINFO"

    found = conform(altered(HEALTHY, tmp_path, observe))
    assert (found.verdict, found.undecided) == ("undecided", ("the model has no packet OBSERVERINFO (packet 1)",))


def test_a_disk_that_is_emptied_and_one_that_fails_are_named(tmp_path: Path) -> None:
    def wipe(records: list[Record]) -> None:
        [start] = [i for i, r in enumerate(records) if r["record"] == "started" and r["incarnation"] == 1]
        records.insert(start, {"record": "wiped", "time": records[start]["time"] - 1, "server": 3})

    def fail(records: list[Record]) -> None:
        records.insert(9, {"record": "reached", "time": 1, "server": 3, "point": "p", "thread": "t", "what": "failed"})

    assert conform(altered(HEALTHY, tmp_path / "a", wipe)).undecided == (
        "the model has no disk that is emptied or replaced (server 3)",
    )
    assert conform(altered(HEALTHY, tmp_path / "b", fail)).undecided == (
        "the model has no disk that fails while the process goes on (server 3)",
    )


def test_servers_whose_list_changes_are_not_compared_with_a_model_of_one_list(tmp_path: Path) -> None:
    def start_with_a_list(records: list[Record]) -> None:
        next(each for each in records if each["record"] == "started")["voters"] = [1, 2, 3, 4]

    def reconfigure(records: list[Record]) -> None:
        records.insert(9, {"record": "reconfigures", "time": 1, "client": 11, "number": 1, "leaving": [3]})

    for change in (start_with_a_list, reconfigure):
        found = conform(altered(HEALTHY, tmp_path / change.__name__, change))
        assert (found.verdict, found.undecided) == ("undecided", ("the model has no lists of servers that change",))


def test_a_disk_on_which_nothing_was_may_be_emptied(tmp_path: Path) -> None:
    """The disk of a server that does not come up before a schedule begins is one."""

    def wipe(records: list[Record]) -> None:
        first = next(i for i, each in enumerate(records) if each["record"] == "started" and each["server"] == 3)
        fails, time = dict(records[first]), records[first]["time"] - 9
        for each in records:
            if each.get("server") == 3 and "incarnation" in each:
                each["incarnation"] += 1
        ends = [{"record": what, "time": time + 1, "server": 3} for what in ("killed", "wiped")]
        records[first:first] = [{**fails, "time": time}, *ends]

    folder = altered(HEALTHY, tmp_path, wipe)
    for number in (1, 0):
        (folder / f"server-3.{number}.log").rename(folder / f"server-3.{number + 1}.log")
    (folder / "server-3.0.log").touch()
    assert conform(folder).verdict == "conforms"


def test_after_too_many_states_nothing_is_said() -> None:
    found = conform(HEALTHY, most_states=50)
    assert found.verdict == "undecided"
    assert found.undecided[0].startswith("server 1: 50 states were tried, and none leads to ")


# Versions.


@pytest.mark.parametrize(
    ("version", "release"),
    [
        ("3.4.10", "3.4.10"),
        ("3.4.14", None),
        ("3.5.8", "3.5.5"),
        ("3.6.2", None),
        ("3.6.4", "3.6.3"),
        ("3.7.2", "3.8.0"),
        ("3.8.4", "3.8.0"),
        ("3.8.5", "3.9.2"),
        ("3.9.1", "3.8.0"),
        ("3.9.4", "3.9.5"),
        ("3.9.5-SNAPSHOT", "3.9.5"),
        ("3.10.0", None),
        ("trunk", None),
        ("3.²", None),
    ],
)
def test_a_version_is_compared_with_the_release_that_does_the_same(version: str, release: str | None) -> None:
    assert release_of(version) == release
    assert release is None or release in get_args(Release)


def test_a_version_that_the_model_does_not_have_is_named(tmp_path: Path) -> None:
    def older(records: list[Record]) -> None:
        records[0]["zookeeper"] = "3.3.6"

    assert conform(altered(HEALTHY, tmp_path, older)).undecided == ("the model has no ZooKeeper 3.3.6",)
