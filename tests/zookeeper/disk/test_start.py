"""A server starts with its disk, or not, in which versions; each of these disks was given to real servers, too."""

from pathlib import Path

import pytest

from tests.zookeeper.disk.disks import create, disk, log, number, record, snapshot, text, txn, vector, zxid
from zabcheck.zookeeper.bugs.traces import traces
from zabcheck.zookeeper.disk.contents import DiskContents, scan
from zabcheck.zookeeper.disk.transaction_log import LONGEST_RECORD
from zabcheck.zookeeper.wire.jute import Operation
from zabcheck.zookeeper.wire.zxids import shown

Z = range(17)
"""Zxids of a server that stands alone: their epoch is 0."""
FILES: dict[int, bytes] = {
    files[0]: log([create(at) for at in files]) for files in (Z[1:5], Z[5:8], Z[8:12], Z[12:15], Z[15:])
}


def server(
    folder: Path,
    logs: dict[int, bytes],
    snapshots: tuple[int, ...] = (0, 6, 13),
    accepted: int | str | None = None,
    current: int | str | None = None,
) -> DiskContents:
    return scan(disk(folder, logs, {at: snapshot() for at in snapshots}, accepted, current))


def said(found: DiskContents) -> list[tuple[str, bool]]:
    return [(each.kind, each.wrong) for each in found.findings]


def starts(found: DiskContents) -> list[tuple[str | None, str | None]]:
    """In which versions the server does not start: since one, or before one; both None: in none."""
    return [(each.since, each.before) for each in found.refusals]


def test_damage_in_a_log_that_no_boot_reads(tmp_path: Path) -> None:
    damaged = bytearray(FILES[5])
    damaged[40] ^= 1
    found = server(tmp_path, FILES | {5: bytes(damaged)})
    assert (starts(found), shown(found.last)) == ([], "⟨0,16⟩")
    assert said(found) == [("damage", True), ("covered gap", False)]
    assert "no boot reads this file" in found.findings[0].message


HEADERS: dict[str, tuple[int, bytes, list[tuple[str | None, str | None]], list[tuple[str, bool]]]] = {
    "empty in the middle": (9, b"", [(None, None)], [("damage", True)]),
    "empty at the end": (17, b"", [(None, "3.9.3")], [("torn", False)]),
    "empty, and no boot reads it": (7, b"", [], [("torn", False)]),
    "the first part of a header": (17, b"ZKLG\0", [(None, None)], [("damage", True)]),
    "zeros": (17, bytes(100), [(None, None)], [("damage", True)]),
    "another file": (17, b"#!/bin/sh\nexit 1 # no log", [(None, None)], [("damage", True)]),
}


@pytest.mark.parametrize("what", HEADERS)
def test_a_log_without_a_header(what: str, tmp_path: Path) -> None:
    name, data, refused, findings = HEADERS[what]
    found = server(tmp_path, FILES | {name: data}, (0, 6) if name == 9 else (0, 6, 13))
    assert (starts(found), said(found)) == (refused, findings)
    assert shown(found.last) == ("⟨0,11⟩" if name == 9 else "⟨0,16⟩")


@pytest.mark.parametrize("extra", [0, 1])
def test_a_record_longer_than_the_buffer(extra: int, tmp_path: Path) -> None:
    """The end of a session deletes its ephemeral nodes in one transaction, however many there are."""
    empty = len(txn(2, Operation.CLOSE_SESSION, vector([text("")])))
    close = txn(2, Operation.CLOSE_SESSION, vector([text("p" * (LONGEST_RECORD - empty + extra))]))
    data = log([txn(1, Operation.CREATE_SESSION, number(30_000)), close])
    found = server(tmp_path, {1: data}, (0,))
    assert (starts(found), said(found)) == (([(None, None)], [("start", True)]) if extra else ([], []))
    if extra:
        assert "has 2097151 bytes, and a server reads at most 2097150" in found.findings[0].message
        assert "jute.maxbuffer of 1048576 or more" in found.findings[0].message


def test_a_length_that_is_longer_than_the_buffer_is_no_torn_tail(tmp_path: Path) -> None:
    first = record(create(1))
    data = log([], 0) + first + number(0) + number(7) + number(LONGEST_RECORD + 1) + bytes(50)
    assert starts(server(tmp_path / "1", {1: data}, (0,))) == [(None, None)]
    torn = log([], 0) + first + number(0) + number(7) + number(LONGEST_RECORD) + bytes(50)
    assert starts(server(tmp_path / "2", {1: torn}, (0,))) == []


def test_a_missing_log_is_refused_by_later_versions_and_is_no_bug(tmp_path: Path) -> None:
    logs = {name: data for name, data in FILES.items() if name != 12}
    found = server(tmp_path / "alone", logs, (0, 6))
    assert (starts(found), said(found)) == ([("3.9.4", None)], [("gap", True)])
    assert traces([found], None) == []
    of_one_epoch = [zxid(1, counter) for counter in Z]
    within = log([create(of_one_epoch[at]) for at in (1, 2, 4)])
    ensemble = server(tmp_path / "1", {of_one_epoch[1]: within}, (0,), 1, 1)
    between = log([create(of_one_epoch[at]) for at in (1, 2)])
    behind = {of_one_epoch[1]: between, of_one_epoch[4]: log([create(of_one_epoch[4])])}
    lost = server(tmp_path / "2", behind, (0,), 1, 1)
    assert [each.bug for each in traces([ensemble], None)] == ["ZOOKEEPER-4409", "ZOOKEEPER-5094"]
    assert traces([lost], None) == []


def test_a_gap_right_after_the_snapshot_is_refused_by_none(tmp_path: Path) -> None:
    found = server(tmp_path, {name: data for name, data in FILES.items() if name in (1, 5, 15)}, (0, 11))
    assert (starts(found), said(found)) == ([], [("gap", True)])


def test_a_file_of_another_ensemble_is_put_aside(tmp_path: Path) -> None:
    found = server(tmp_path, FILES | {7: log([create(zxid(9, 1))])})
    assert (starts(found), said(found), shown(found.last)) == ([], [("name", True)], "⟨0,16⟩")
    assert traces([found], None) == []


def test_a_copy_is_put_aside(tmp_path: Path) -> None:
    data = disk(tmp_path / "same", FILES, {at: snapshot() for at in (0, 6, 13)}, 1, 1)
    (data / "version-2" / "log.f.bak").write_bytes(FILES[15])
    found = scan(data)
    assert (starts(found), said(found), shown(found.last)) == ([], [("copy", False)], "⟨0,16⟩")
    assert traces([found], None) == []


def test_a_copy_that_differs_is_wrong_and_one_without_its_log_is_the_log(tmp_path: Path) -> None:
    files = disk(tmp_path, FILES, {at: snapshot() for at in (0, 6, 13)}, 1, 1) / "version-2"
    (files / "log.f.bak").write_bytes(FILES[12])
    assert said(scan(tmp_path))[0] == ("copy", True)
    (files / "log.f").replace(files / "log.f.bak")
    assert said(scan(tmp_path)) == []


TMP: dict[str, tuple[int | str | None, int | str | None, str | None, int]] = {
    "the epoch of the zxid": (2, 1, "2", 0),
    "an epoch above the accepted one": (2, 1, "3", 1),
    "half written": (2, 1, "", 1),
    "no accepted epoch, and a current one above the zxid": (None, 5, None, 1),
    "no accepted epoch": (None, 2, None, 0),
    "more than 64 bits": (9 << 61, 2, None, 1),
}


@pytest.mark.parametrize("what", TMP)
def test_epoch_files(what: str, tmp_path: Path) -> None:
    accepted, current, temporary, refusals = TMP[what]
    logs = {zxid(1, 1): log([create(zxid(1, 1)), create(zxid(2, 1))])}
    data = disk(tmp_path, logs, {0: snapshot()}, accepted, current)
    if temporary is not None:
        (data / "version-2" / "currentEpoch.tmp").write_text(temporary)
    found = scan(data)
    assert len(found.refusals) == refusals
    assert bool(refusals) == any(each.wrong for each in found.findings)


def test_snapshots_that_are_listed_and_cannot_be_read(tmp_path: Path) -> None:
    """A server that lists no snapshot and has no log begins anew; one that lists a damaged one does not start."""
    whole = snapshot()
    damaged = whole[:60] + b"\xff" + whole[61:]
    assert starts(scan(disk(tmp_path / "1", {}, {5: whole[:60]}))) == []
    assert starts(scan(disk(tmp_path / "2", {}, {5: damaged}))) == [(None, None)]
    # The version of its digest says that text follows, at which Java throws what no server catches.
    text_as_digest = snapshot(digest=(1, 7)).replace(number(2) + bytes(7), number(1) + bytes(7))
    assert starts(scan(disk(tmp_path / "3", {}, {0: whole, 5: text_as_digest}))) == [(None, None)]
