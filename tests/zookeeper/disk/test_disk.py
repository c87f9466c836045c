"""A server's disk: what a boot loads, and each thing that can be wrong."""

from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.zookeeper.disk.disks import (
    EVERYBODY,
    LOG_HEADER,
    SESSION,
    TIME,
    create,
    disk,
    log,
    number,
    real,
    record,
    snapshot,
    text,
    txn,
    vector,
    with_digest,
    zxid,
)
from zabcheck.zookeeper.disk.boot import Boot
from zabcheck.zookeeper.disk.contents import DiskContents, DiskError, scan
from zabcheck.zookeeper.disk.snapshot import Node, Stat, content_of, read_snapshot
from zabcheck.zookeeper.disk.transaction_log import Flaw, LogRecord, read_log
from zabcheck.zookeeper.disk.tree import Tree
from zabcheck.zookeeper.wire.jute import Operation, logged_txn
from zabcheck.zookeeper.wire.zxids import shown

E1 = [zxid(1, counter) for counter in range(1, 11)]
"""Ten zxids of epoch 1, as a history has them."""


def findings(found: DiskContents) -> list[tuple[str, bool, str]]:
    """Kind, whether it is wrong, and the zxid."""
    return [(each.kind, each.wrong, "" if each.zxid is None else shown(each.zxid)) for each in found.findings]


def history(found: DiskContents) -> list[str]:
    return [f"{shown(each.first)}+{len(each.offsets)}" for each in found.stretches]


def test_a_sound_disk(tmp_path: Path) -> None:
    logs = {E1[0]: E1[:6], E1[6]: [*E1[6:], zxid(3, 1), zxid(3, 2)]}
    found = scan(disk(tmp_path, logs, {0: snapshot(), E1[7]: snapshot()}, 3, 3, server=7))
    assert found.findings == ()
    assert (found.number, found.accepted_epoch, found.current_epoch, found.records) == (7, 3, 3, 12)
    assert history(found) == ["⟨1,1⟩+6", "⟨1,7⟩+4", "⟨3,1⟩+2"]
    assert found.boot is not None
    assert (found.boot.zxid, found.last, found.below) == (E1[7], zxid(3, 2), 8)
    assert [(each.zxid, each.records, each.first, each.last) for each in found.logs] == [
        (E1[0], 6, E1[0], E1[5]),
        (E1[6], 6, E1[6], zxid(3, 2)),
    ]


def test_logs_may_lie_in_another_directory_and_version_2_may_be_given(tmp_path: Path) -> None:
    data = disk(tmp_path / "data", {}, server=3)
    logs = disk(tmp_path / "logs", {E1[0]: E1}, {}, None, None)
    for found in (scan(data, logs), scan(data / "version-2", logs / "version-2")):
        assert (found.records, found.number, found.findings) == (10, 3, ())
    assert scan(data).records == 0


GAPS: dict[str, tuple[list[int], list[int], list[tuple[str, bool, str]]]] = {
    "in an epoch": ([*E1[:3], *E1[4:]], [0], [("gap", True, "⟨1,5⟩")]),
    "at the beginning": (E1[1:], [0], [("gap", True, "⟨1,2⟩")]),
    "of a new epoch": ([*E1, zxid(2, 2)], [0], [("gap", True, "⟨2,2⟩")]),
    "after a snapshot": (E1[5:], [0, E1[3]], [("gap", True, "⟨1,6⟩")]),
    "none after a snapshot": (E1[5:], [E1[4]], []),
    "none where a snapshot was sent": ([*E1[:3], *E1[7:]], [0, E1[6]], []),
    "covered by a later snapshot": ([*E1[:3], *E1[7:]], [0, E1[8]], [("covered gap", False, "⟨1,8⟩")]),
    "none where logs were purged": (E1[5:], [E1[8]], [("covered gap", False, "⟨1,6⟩")]),
    "a counter that there is not": ([*E1, zxid(2, 0), zxid(2, 1)], [0], [("gap", True, "⟨2,0⟩")]),
    "none where an epoch begins": ([*E1, zxid(2, 1), zxid(7, 1)], [0], []),
}


@pytest.mark.parametrize("what", GAPS)
def test_gaps(what: str, tmp_path: Path) -> None:
    zxids, snapshots, expected = GAPS[what]
    for each, split in enumerate((1, 2)):  # inside a file, or between two
        half = [zxids] if split == 1 else [zxids[:3], zxids[3:]]
        logs = {part[0]: part for part in half if part}
        found = scan(disk(tmp_path / str(each), logs, {at: snapshot() for at in snapshots}, 9, 9))
        assert findings(found) == expected


def test_a_snapshot_that_is_not_whole_covers_nothing(tmp_path: Path) -> None:
    found = scan(disk(tmp_path, {E1[5]: E1[5:]}, {0: snapshot(), E1[4]: snapshot()[:50]}))
    assert findings(found) == [("torn", False, "⟨1,5⟩"), ("gap", True, "⟨1,6⟩")]
    assert found.boot is not None
    assert found.boot.zxid == 0


REPEATS: dict[str, tuple[list[tuple[int, str]], list[tuple[str, bool, str]]]] = {
    "the same once more": ([(5, ""), (6, ""), (7, "")], [("duplicate", False, "⟨1,5⟩")]),
    "the same, and on": ([(9, ""), (10, ""), (11, "")], [("duplicate", False, "⟨1,9⟩")]),
    "another one": ([(5, "/other")], [("conflict", True, "⟨1,5⟩")]),
    "first the same": ([(5, ""), (6, "/x"), (7, "/y")], [("duplicate", False, "⟨1,5⟩"), ("conflict", True, "⟨1,6⟩")]),
    "in two runs": ([(5, ""), (3, "")], [("duplicate", False, "⟨1,5⟩"), ("duplicate", False, "⟨1,3⟩")]),
}


@pytest.mark.parametrize("what", REPEATS)
def test_zxids_that_come_again(what: str, tmp_path: Path) -> None:
    again, expected = REPEATS[what]
    data = log([*map(create, E1), *(create(zxid(1, counter), path) for counter, path in again)])
    found = scan(disk(tmp_path, {E1[0]: data}))
    assert findings(found) == expected
    assert found.last == max(zxid(1, 10), *(zxid(1, counter) for counter, _ in again))
    [first, *_] = found.findings
    assert first.offset == len(log([*map(create, E1)], 0))
    assert "log.100000001, byte " in first.message


def test_one_that_comes_too_late(tmp_path: Path) -> None:
    found = scan(disk(tmp_path, {E1[0]: [*E1[:3], *E1[5:], *E1[3:5]]}))
    assert findings(found) == [("gap", True, "⟨1,6⟩"), ("disorder", True, "⟨1,4⟩")]


def test_a_torn_tail_is_normal_in_any_file(tmp_path: Path) -> None:
    torn = log([*map(create, E1)], 0) + record(create(zxid(1, 11)))[:-30] + bytes(99)
    found = scan(disk(tmp_path, {E1[0]: torn, zxid(2, 1): [zxid(2, 1)], zxid(2, 2): b""}, current=2, accepted=2))
    assert findings(found) == [("torn", False, ""), ("torn", False, "")]
    assert found.findings[1].file.endswith("log.200000002")
    assert found.last == zxid(2, 1)


DAMAGE = {  # what is put in place of some bytes of record 5, and the last zxid that a boot has
    "checksum": (40, b"\xff", 4),
    "length": (8, b"\x80", 4),
    "end": (-1, b"x", 4),
    "hole": (0, bytes(len(record(create(zxid(1, 5))))), 4),
}


@pytest.mark.parametrize("kind", DAMAGE)
def test_damage_in_the_middle(kind: str, tmp_path: Path) -> None:
    at, new, last = DAMAGE[kind]
    data = log([*map(create, E1)])
    start, end = len(log([*map(create, E1[:4])], 0)), len(log([*map(create, E1[:5])], 0))
    place = start + at if at >= 0 else end + at
    found = scan(disk(tmp_path, {E1[0]: data[:place] + new + data[place + len(new) :]}))
    assert findings(found) == [("damage", True, ""), ("gap", True, "⟨1,6⟩")]
    assert (found.findings[0].offset, found.records, found.last) == (start, 9, zxid(1, last))
    assert "whole records follow" in found.findings[0].message


def test_a_boot_loads_the_records_that_fit() -> None:
    def loads(at: int) -> bool:
        data = create(at)
        return boot.loads(LogRecord(0, logged_txn(data), TIME, data, 0, len(data)))

    boot = Boot(5)
    boot.next_file(Path("log.1"), True)
    assert [at for at in (4, 6, 3, 7) if loads(at)] == [6, 3, 7]
    boot.meet(Flaw("end", 0, ""))
    assert not loads(8)
    boot.next_file(Path("log.9"), True)
    assert loads(8)
    boot.meet(Flaw("checksum", 0, "", stops=True))
    boot.next_file(Path("log.a"), True)
    assert not loads(9)


EPOCHS: dict[str, tuple[int | str | None, int | str | None, list[str]]] = {
    "sound": (2, 1, []),
    "no files": (None, None, []),
    "current above accepted": (1, 2, ["start"]),
    "current below the last zxid": (1, 0, ["start"]),
    "accepted below the last zxid": (0, None, ["start"]),
    "no number": (1, "x", ["damage"]),
    "empty": ("", 1, ["damage"]),
}


@pytest.mark.parametrize("what", EPOCHS)
def test_epochs(what: str, tmp_path: Path) -> None:
    accepted, current, expected = EPOCHS[what]
    found = scan(disk(tmp_path, {E1[0]: E1}, accepted=accepted, current=current))
    assert [each.kind for each in found.findings if each.wrong] == expected
    assert all("does not start" in each.message for each in found.findings)


def test_an_epoch_that_was_about_to_be_written(tmp_path: Path) -> None:
    data = disk(tmp_path, {E1[0]: [*E1, zxid(2, 1)]}, accepted=2, current=1)
    assert findings(scan(data)) == [("start", True, "")]
    (data / "version-2" / "currentEpoch.tmp").write_text("2")
    assert findings(scan(data)) == []


def test_a_log_without_a_snapshot(tmp_path: Path) -> None:
    assert findings(scan(disk(tmp_path / "1", {E1[0]: E1}, {}))) == [("start", True, "")]
    assert findings(scan(disk(tmp_path / "2", {}, {}))) == []
    damaged = snapshot()[:60] + b"\xff" + snapshot()[61:]
    assert findings(scan(disk(tmp_path / "3", {}, {0: damaged}))) == [("damage", True, "⟨0,0⟩"), ("start", True, "")]


def test_a_name_that_does_not_fit(tmp_path: Path) -> None:
    assert findings(scan(disk(tmp_path, {E1[2]: E1}))) == [("name", True, "⟨1,1⟩")]


def test_directories_that_cannot_be_read(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    (tmp_path / "empty").mkdir()
    for name, message in {
        "nowhere": "found no directory",
        "file": "found no directory",
        "empty": "found nothing of ZooKeeper",
    }.items():
        with pytest.raises(DiskError, match=message):
            scan(tmp_path / name)
    (tmp_path / "data" / "version-2" / "log.1").mkdir(parents=True)
    assert scan(tmp_path / "data").logs == ()
    with pytest.raises(DiskError, match="nothing of ZooKeeper"):
        scan(tmp_path / "data", tmp_path / "empty")


# The digest of the tree.


def real_disk(tmp_path: Path, *names: str) -> Path:
    files = tmp_path / "version-2"
    files.mkdir()
    for name in names:
        (files / name).write_bytes(real(name))
    (files / "currentEpoch").write_text("1")
    return tmp_path


BOTH_LOGS = ("log.100000001", "log.10000000c")


@pytest.mark.parametrize("snapshots", [["snapshot.0"], ["snapshot.0", "snapshot.10000000a"]])
def test_the_digests_of_a_real_server_are_what_comes_out(snapshots: Sequence[str], tmp_path: Path) -> None:
    """Creations, a sequential and an ephemeral node, multis, one that failed, deletions, permissions, two sessions."""
    found = scan(real_disk(tmp_path, *snapshots, *BOTH_LOGS))
    assert (found.findings, found.records, found.last) == ((), 15, zxid(1, 15))
    tree = Tree()
    read_snapshot(tmp_path / "version-2" / "snapshot.0", tree.put)
    for name in BOTH_LOGS:
        for each in read_log(tmp_path / "version-2" / name):
            assert isinstance(each, LogRecord)
            tree.apply(each)
            assert tree.digest == each.digest


def test_a_digest_that_does_not_fit(tmp_path: Path) -> None:
    data = disk(tmp_path / "other", {E1[0]: log([with_digest(create(E1[0]), 5), with_digest(create(E1[1]), 6)])})
    [finding] = scan(data).findings
    assert (finding.kind, finding.wrong, finding.zxid, finding.offset) == ("digest", True, E1[0], len(LOG_HEADER))
    assert scan(data, digests=False).findings == ()


FUZZY: list[tuple[tuple[int, int] | None, list[int]]] = [
    (None, []),
    ((zxid(0, 9), 1), [E1[0]]),
    ((zxid(0, 10), 1), [E1[0]]),
    ((E1[0], 1), [E1[1]]),
    ((E1[1], 1), []),
    ((E1[5], 1), []),
]


@pytest.mark.parametrize(("digest", "expected"), FUZZY)
def test_a_snapshot_is_compared_after_the_zxid_that_its_digest_names(
    digest: tuple[int, int] | None, expected: list[int], tmp_path: Path
) -> None:
    """Up to then the tree that is loaded may be anything between two states; without a digest, for ever."""
    txns = [with_digest(create(each), 5) for each in E1[:2]]
    found = scan(disk(tmp_path, {E1[0]: log(txns)}, {zxid(0, 10): snapshot(digest=digest)}))
    assert [each.zxid for each in found.findings] == expected


def test_a_body_of_an_unknown_form_ends_the_comparison(tmp_path: Path) -> None:
    odd = txn(E1[0], Operation.SET_ACL, text("/a") + number(5))
    found = scan(disk(tmp_path, {E1[0]: log([odd, with_digest(create(E1[1]), 5)])}))
    assert found.findings == ()


def tree_of(*txns: bytes) -> Tree:
    """An empty tree with the root, and what transactions make of it."""
    tree = Tree()
    tree.put(node_of(""))
    for data in txns:
        tree.apply(LogRecord(0, logged_txn(data), TIME, data, 0, len(data)))
    return tree


def node_of(path: str, data: bytes = b"", **counters: int) -> Node:
    stat = {**dict.fromkeys(Stat.__struct_fields__, 0), **counters}
    return Node(path, len(data), content_of(path, data), Stat(**stat))


def digest_of(*nodes: Node) -> int:
    return sum(node.digest() for node in nodes)


def made(at: int, path: str, data: bytes = b"v", **counters: int) -> Node:
    """A node as it is created."""
    fresh = {"czxid": at, "mzxid": at, "pzxid": at, "ctime": TIME, "mtime": TIME}
    return node_of(path, data, **{**fresh, **counters})


def test_kinds_of_transactions_that_the_real_log_has_not() -> None:
    everybody = vector([EVERYBODY])
    container = txn(1, Operation.CREATE_CONTAINER, text("/c") + text(b"v") + everybody + number(1))
    timed = txn(2, Operation.CREATE_TTL, text("/t") + text(b"v") + everybody + number(2) + (500).to_bytes(8, "big"))
    tree = tree_of(container, timed)
    root = node_of("", pzxid=2, cversion=2)
    owners = made(1, "/c", owner=-(2**63)), made(2, "/t", owner=500 - 2**56)
    assert tree.digest == digest_of(root, *owners)
    gone = txn(3, Operation.DELETE_CONTAINER, text("/c"))
    acl = txn(4, Operation.SET_ACL, text("/t") + everybody + number(1))
    tree = tree_of(container, timed, gone, acl)
    changed = made(2, "/t", owner=500 - 2**56, aversion=1)
    assert tree.digest == digest_of(node_of("", pzxid=3, cversion=2), changed)


def test_a_session_that_ends_takes_its_nodes_along() -> None:
    """It takes those that the transaction names, and those that the tree knows of; before 3.6 it names none."""
    mine, other = create(1, "/m", ephemeral=True), create(2, "/n", ephemeral=True)
    theirs = txn(3, Operation.CREATE, text("/o") + text(b"v") + vector([]) + b"\1" + number(3), SESSION + 1)
    for body in (b"", vector([]), vector([text("/m"), text("/gone")])):
        tree = tree_of(mine, other, theirs, txn(4, Operation.CLOSE_SESSION, body))
        assert tree.digest == digest_of(node_of("", pzxid=4, cversion=3), made(3, "/o", owner=SESSION + 1))


def test_what_cannot_be_done_changes_nothing() -> None:
    """When a fuzzy snapshot is loaded, transactions come that it already has."""
    sets = txn(2, Operation.SET_DATA, text("/nowhere") + text(b"") + number(1))
    acl = txn(2, Operation.SET_ACL, text("/nowhere") + vector([]) + number(1))
    failed = txn(2, Operation.MULTI, vector([number(2) + text(text("/n1")), number(-1) + text(number(-2))]))
    for kept in (
        sets,
        acl,
        failed,
        create(2, "/no/parent"),
        txn(2, Operation.DELETE, text("/no/parent")),
        create(2, "/n1"),
    ):
        assert tree_of(create(1), kept).digest == tree_of(create(1)).digest
    # Of a deletion the parent gets to know, and of a creation in the older form.
    assert tree_of(create(1), txn(5, Operation.DELETE, text("/x"))).digest == digest_of(
        node_of("", pzxid=5, cversion=1), made(1, "/n1")
    )
    again = txn(5, Operation.CREATE, text("/n1") + text(b"") + vector([]) + b"\0" + number(9))
    assert tree_of(create(1), again).digest == digest_of(node_of("", pzxid=5, cversion=9), made(1, "/n1"))


@given(
    st.lists(st.tuples(st.integers(1, 3), st.integers(0, 6), st.sampled_from(["", "/x"])), max_size=14),
    st.sets(st.sampled_from([zxid(e, c) for e in (1, 2, 3) for c in range(7)]), max_size=3),
    st.lists(st.integers(1, 13), max_size=2),
)
def test_findings_are_those_of_a_plain_reading(
    tmp_path_factory: pytest.TempPathFactory,
    drawn: list[tuple[int, int, str]],
    snapshots: set[int],
    splits: list[int],
) -> None:
    """Any records, in any order, in up to three files that are named after their first one."""
    records = [(zxid(epoch, counter), path) for epoch, counter, path in drawn]
    cuts = [0, *sorted(min(split, len(records)) for split in splits), len(records)]
    parts = [records[first:end] for first, end in pairwise(cuts) if first < end]
    logs: dict[int, list[tuple[int, str]]] = {}
    for part in parts:
        logs.setdefault(part[0][0], []).extend(part)
    in_order = [each for name in sorted(logs) for each in logs[name]]
    files = {name: log([create(*each) for each in part]) for name, part in logs.items()}
    covering = {0, *snapshots}
    found = scan(
        disk(tmp_path_factory.mktemp("disk"), files, {at: snapshot() for at in sorted(covering)}, 9, 9), digests=False
    )
    expected = plain_reading(in_order, covering)
    told_of = {(each.kind, each.zxid) for each in found.findings}
    # Zxids in a row that come again are one finding.
    assert told_of <= expected
    assert {each for each in expected if "gap" in each[0]} <= told_of
    assert {kind for kind, _ in told_of} == {kind for kind, _ in expected}
    assert found.records == len(in_order)


def plain_reading(records: list[tuple[int, str]], snapshots: set[int]) -> set[tuple[str, int]]:
    """Each record looked at with all that were before it."""
    found = set()
    for at, (each, path) in enumerate(records):
        before = records[:at]
        if each > max((zxid for zxid, _ in before), default=0):
            reached = {*(zxid for zxid, _ in before), *(s for s in snapshots if s < each)}
            if each & 0xFFFFFFFF != 1 and each - 1 not in reached:
                found.add(("covered gap" if any(s >= each - 1 for s in snapshots) else "gap", each))
        elif all(zxid != each for zxid, _ in before):
            found.add(("disorder", each))
        else:
            first = next(other for zxid, other in before if zxid == each)
            found.add(("duplicate" if first == path else "conflict", each))
    return found
