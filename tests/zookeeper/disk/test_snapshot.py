"""Snapshots: the nodes, the digest, and files that are not whole."""

import struct
from contextlib import suppress
from pathlib import Path

import pyarrow
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.zookeeper.disk.disks import (
    EMPTY_TREE,
    SNAPSHOT_HEADER,
    compressed,
    node,
    number,
    real,
    seal,
    snappy,
    snapshot,
    text,
    zxid,
)
from zabcheck.zookeeper.disk.snappy import BadSnappy, uncompressed
from zabcheck.zookeeper.disk.snapshot import Node, Snapshot, Stat, TreeDigest, read_snapshot

REAL = real("snapshot.10000000a")
TREE = (*EMPTY_TREE, node("/a", b"12345", zxid(1, 3), owner=9), node("/a/ü", None, zxid(1, 12)))


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("snapshot")


def read(folder: Path, data: bytes, name: str = "snapshot.10000000a") -> tuple[Snapshot, list[Node]]:
    (folder / name).write_bytes(data)
    nodes: list[Node] = []
    return read_snapshot(folder / name, nodes.append), nodes


def test_a_snapshot_has_its_nodes_sessions_and_digest(folder: Path) -> None:
    found, nodes = read(folder, snapshot(TREE, {5: 4000, 6: 4000}, (zxid(1, 12), 2**64 - 1), zxid(1, 12)))
    assert (found.state, found.message, found.zxid) == ("whole", "", zxid(1, 10))
    assert (found.sessions, found.nodes, found.size, found.highest) == (2, 6, 15, zxid(1, 12))
    assert (found.digest, found.last_zxid) == (TreeDigest(zxid(1, 12), 2, 2**64 - 1), zxid(1, 12))
    assert [each.path for each in nodes] == ["", "/zookeeper", "/zookeeper/config", "/zookeeper/quota", "/a", "/a/ü"]
    assert (nodes[4].size, nodes[4].stat) == (5, Stat(zxid(1, 3), zxid(1, 3), 0, 0, 0, 0, 0, 9, zxid(1, 3)))


def test_one_without_a_digest_is_whole_too(folder: Path) -> None:
    """Before 3.6 there was none; an empty tree has one of zxid 0; before 3.7 it was a text."""
    assert read(folder, snapshot(TREE, digest=None))[0].state == "whole"
    assert read(folder, snapshot(TREE))[0].digest is None
    before = seal(snapshot(TREE, digest=None) + struct.pack(">qi", zxid(1, 11), 1) + text("ff"))
    assert read(folder, before)[0].digest == TreeDigest(zxid(1, 11), 1, 255)
    no_number = seal(snapshot(TREE, digest=None) + struct.pack(">qi", zxid(1, 11), 1) + text("xyz"))
    assert read(folder, no_number)[0].state == "damaged"


def test_a_compressed_one_is_read(folder: Path) -> None:
    data = compressed(snapshot(TREE))
    found, nodes = read(folder, data, "snapshot.3.gz")
    assert (found.state, found.zxid, len(nodes)) == ("whole", 3, 6)
    assert read(folder, data[:-20], "snapshot.3.gz")[0].state == "torn"
    assert read(folder, data[:30] + b"\xff\xff" + data[32:], "snapshot.3.gz")[0].state == "damaged"
    assert read(folder, b"no gzip at all", "snapshot.3.gz")[0].state == "damaged"


def test_one_that_is_compressed_with_snappy_is_read(folder: Path) -> None:
    """A server of 3.9.5 wrote one, in two blocks; another has blocks of 100 bytes."""
    found, nodes = read(folder, real("snapshot.15.snappy"), "snapshot.15.snappy")
    assert (found.state, found.zxid, found.nodes, found.size, found.sessions) == ("whole", 21, 19, 40285, 1)
    assert found.digest is not None
    assert sum(each.digest() for each in nodes) == found.digest.value
    data = snappy(REAL, 100)
    assert read(folder, data, "snapshot.3.snappy")[0].digest == read(folder, REAL)[0].digest
    assert read(folder, data[:200], "snapshot.3.snappy")[0].state == "torn"
    assert read(folder, data[: 16 + 4 + 10] + b"\xff\xff" + data[32:], "snapshot.3.snappy")[0].state == "damaged"
    assert read(folder, data[:16] + b"\xff" + data[17:], "snapshot.3.snappy")[0].state == "damaged"
    assert read(folder, b"no Snappy at all", "snapshot.3.snappy")[0].state == "damaged"


@given(st.lists(st.tuples(st.binary(min_size=1, max_size=99), st.integers(1, 999)), max_size=20))
def test_snappy_is_uncompressed_as_by_its_library(parts: list[tuple[bytes, int]]) -> None:
    data = b"".join(part * times for part, times in parts)
    assert uncompressed(pyarrow.Codec("snappy").compress(data, asbytes=True)) == data


def test_a_block_of_snappy_whose_length_has_no_end_is_damaged() -> None:
    with pytest.raises(BadSnappy):
        uncompressed(b"\xff" * 9999)


@given(st.binary(max_size=200))
def test_any_block_of_snappy_gets_an_answer(block: bytes) -> None:
    with suppress(BadSnappy):
        uncompressed(block)


def test_a_server_takes_a_compressed_one_that_ends_within_its_digest_for_an_older_one(folder: Path) -> None:
    data = snapshot(TREE, {}, (zxid(1, 12), 5), zxid(1, 12))
    without = len(snapshot(TREE, digest=None))
    for cut, whole in ((without, True), (without + 9, True), (without + 21, False), (len(data) - 20, True)):
        for packed, name in ((compressed(data[:cut]), "snapshot.3.gz"), (snappy(data[:cut]), "snapshot.3.snappy")):
            assert (read(folder, packed, name)[0].state == "whole") is whole


def test_a_real_one_is_whole_and_its_digest_is_the_sum_of_its_nodes(folder: Path) -> None:
    found, nodes = read(folder, REAL)
    assert (found.state, found.nodes, found.sessions) == ("whole", 6, 0)
    assert [each.path for each in nodes if not each.path.startswith("/zoo")] == ["", "/queue", "/queue/job-0000000000"]
    assert found.digest is not None
    assert found.digest.zxid == zxid(1, 10)
    assert sum(each.digest() for each in nodes) == found.digest.value


DAMAGED = {
    "header": b"ZKLG" + REAL[4:],
    "checksum": snapshot(TREE, digest=None)[:-9] + b"x" + text("/"),
    "end": snapshot(TREE, digest=None)[:-1] + b"x",
    "length": SNAPSHOT_HEADER + number(0) + number(1) + struct.pack(">q", 1) + number(1) + number(31) + number(-7),
    "path": seal(SNAPSHOT_HEADER + number(0) + number(0) + node("").replace(text(""), text(b"\xff")) + text("/")),
}


@pytest.mark.parametrize("what", DAMAGED)
def test_what_is_wrong_is_told_with_its_place(what: str, folder: Path) -> None:
    found, _ = read(folder, DAMAGED[what])
    assert found.state == "damaged"
    assert found.message.startswith("byte ")


@given(st.integers(0, len(REAL) - 1))
def test_one_that_ends_too_early_is_not_whole(folder: Path, cut: int) -> None:
    """Unless it ends where one of before 3.6 does, without a digest."""
    found, _ = read(folder, REAL[:cut])
    assert found.state == ("whole" if cut == len(REAL) - 33 else "torn")


@given(st.integers(0, len(REAL) * 8 - 1))
def test_a_flipped_bit_is_found(folder: Path, bit: int) -> None:
    data = bytearray(REAL)
    data[bit // 8] ^= 1 << bit % 8
    assert read(folder, bytes(data))[0].state in ("damaged", "torn")  # torn: by a length that leads behind the end


@given(st.binary(max_size=200))
def test_any_bytes_get_an_answer(folder: Path, data: bytes) -> None:
    for start in (b"", SNAPSHOT_HEADER, SNAPSHOT_HEADER + number(1), SNAPSHOT_HEADER + number(0) + number(0)):
        assert read(folder, start + data)[0].state != "whole"
