"""Log files: whole records, torn tails, and damage."""

import struct
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
    log,
    number,
    real,
    record,
    text,
    txn,
    vector,
    with_digest,
    zxid,
)
from zabcheck.zookeeper.disk.transaction_log import Flaw, LogRecord, operation_name, read_log, record_at, zxid_of_name
from zabcheck.zookeeper.wire.jute import LoggedTxn, Operation

REAL = real("log.100000001")

FIRST = create(zxid(1, 1))
THREE = [create(zxid(1, counter), data=b"x" * counter) for counter in (1, 2, 3)]


@pytest.fixture(scope="session")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("log") / "log.100000001"


def read(file: Path, data: bytes) -> list[LogRecord | Flaw]:
    file.write_bytes(data)
    return [*read_log(file)]


def told(found: list[LogRecord | Flaw]) -> list[int | tuple[str, int]]:
    """The counters of records, and the kinds of flaws with their offsets."""
    return [(each.kind, each.offset) if isinstance(each, Flaw) else each.txn.zxid & 0xFFFFFFFF for each in found]


def offsets(txns: list[bytes]) -> list[int]:
    """Return the places at which the records of these transactions begin, and the last one ends."""
    found = [len(LOG_HEADER)]
    for data in txns:
        found.append(found[-1] + len(record(data)))
    return found


def test_a_record_has_its_transaction_its_place_its_time_and_its_digest(file: Path) -> None:
    first, second = read(file, log([FIRST, with_digest(create(zxid(1, 2), "/a"), 77)]))
    assert isinstance(first, LogRecord)
    assert isinstance(second, LogRecord)
    assert (first.offset, first.time, first.data, first.digest) == (16, TIME, FIRST, None)
    assert first.txn == LoggedTxn(zxid(1, 1), SESSION, 1, Operation.CREATE2, "/n100000001", len(FIRST))
    assert (second.txn.path, second.data, second.digest) == ("/a", create(zxid(1, 2), "/a"), 77)
    assert second.offset == 16 + len(record(FIRST))
    assert record_at(file, second.offset) == second
    assert record_at(file, second.offset + 1) is None


BODIES = {
    Operation.ERROR: number(-101),
    Operation.CREATE_SESSION: number(4000),
    Operation.CLOSE_SESSION: vector([text("/a"), text("/b/c")]),
    Operation.CREATE: text("/a") + text(None) + vector([EVERYBODY, EVERYBODY]) + b"\1" + number(3),
    Operation.CREATE2: text("/a") + text(b"") + vector([]) + b"\0" + number(3),
    Operation.CREATE_CONTAINER: text("/a") + text(b"v") + vector([EVERYBODY]) + number(3),
    Operation.CREATE_TTL: text("/a") + text(b"v") + vector([EVERYBODY]) + number(3) + struct.pack(">q", 9),
    Operation.DELETE: text("/a"),
    Operation.DELETE_CONTAINER: text("/a"),
    Operation.SET_DATA: text("/a") + text(b"v" * 50) + number(7),
    Operation.RECONFIG: text("/a") + text(b"v" * 50) + number(7),
    Operation.SET_ACL: text("/a") + vector([EVERYBODY]) + number(7),
    Operation.MULTI: vector([number(Operation.DELETE) + text(text("/a"))]),
}


@pytest.mark.parametrize("kind", BODIES, ids=lambda kind: kind.name)
def test_the_digest_after_each_kind_of_body_is_found(kind: Operation, file: Path) -> None:
    data = txn(zxid(1, 1), kind, BODIES[kind])
    plain, digested = read(file, log([data, with_digest(data, 2**63 + 5)]))
    assert isinstance(plain, LogRecord)
    assert isinstance(digested, LogRecord)
    assert (plain.digest, digested.digest) == (None, 2**63 + 5)
    assert plain.identity == digested.identity
    assert plain.txn.path == ("" if kind in (-1, -10, -11, 14) else "/a")


def test_the_body_of_a_session_that_is_closed_may_be_empty_as_before_3_6(file: Path) -> None:
    data = txn(zxid(1, 1), Operation.CLOSE_SESSION)
    one_path = txn(zxid(1, 2), Operation.CLOSE_SESSION, vector([text("/abc")]))  # as long as a digest
    found = read(file, log([data, with_digest(data, 5), one_path]))
    assert [each.digest for each in found if isinstance(each, LogRecord)] == [None, 5, None]


def test_a_type_that_is_not_known_is_a_transaction_too(file: Path) -> None:
    [found] = read(file, log([txn(zxid(1, 1), 99, b"whatever")]))
    assert isinstance(found, LogRecord)
    assert (found.txn.type, found.txn.path, operation_name(99)) == (99, "", "99")
    assert [operation_name(kind) for kind in (1, -10, 21, 7, 20)] == [
        "create",
        "createSession",
        "createTTL",
        "setACL",
        "deleteContainer",
    ]


def test_the_parts_of_a_failed_multi_count_as_errors(file: Path) -> None:
    def multi(*kinds: int) -> bytes:
        return txn(zxid(1, 1), Operation.MULTI, vector([number(kind) + text(number(-2)) for kind in kinds]))

    found = read(file, log([multi(5, -1, -1), multi(-1, -1, -1), multi(5, 5, 5), multi(1, 5, 5)]))
    identities = [each.identity for each in found if isinstance(each, LogRecord)]
    assert identities[0] == identities[1]
    assert len({*identities}) == 3


@pytest.mark.parametrize("padding", [0, 5, 12, 1000, 3 << 20])
def test_zeros_after_the_records_are_no_flaw(padding: int, file: Path) -> None:
    assert told(read(file, log(THREE, padding))) == [1, 2, 3]
    assert told(read(file, log([], padding))) == []


def test_an_empty_file_is_one_that_was_killed_early(file: Path) -> None:
    assert [told(read(file, data)) for data in (b"", b"ZK", bytes(16), bytes(100))] == [[("torn", 0)]] * 4


def test_another_file_is_none_of_zookeeper(file: Path) -> None:
    assert told(read(file, b"#!/bin/sh\necho hello world")) == [("header", 0)]


@pytest.mark.parametrize("left", [1, 5, 9, 11, 12, 13, 30, -1])
@pytest.mark.parametrize("padding", [0, 200])
def test_the_first_part_of_a_record_is_a_torn_tail(left: int, padding: int, file: Path) -> None:
    """Its first bytes are zeros, so a very short part cannot be seen."""
    data = log(THREE, 0) + record(create(zxid(1, 4)))[:left] + bytes(padding)
    expected: list[int | tuple[str, int]] = [1, 2, 3]
    if left != 1:
        expected.append(("torn", offsets(THREE)[-1]))
    found = told(read(file, data))
    assert found == expected or (left == 1 and padding == 0 and found[:3] == expected)


def changed(data: bytes, at: int, new: bytes) -> bytes:
    return data[:at] + new + data[at + len(new) :]


def test_damage_is_told_with_its_place_and_what_follows_is_read(file: Path) -> None:
    data, [first, second, third, end] = log(THREE), offsets(THREE)
    at = second
    for kind, damaged in {
        "checksum": changed(data, at + 40, b"\xff"),
        "end": changed(data, third - 1, b"C"),
        "length": changed(data, at + 8, b"\x80"),
        "hole": changed(data, at, bytes(third - at)),
        "body": log([FIRST, b"short", THREE[2]]),
    }.items():
        assert told(read(file, damaged)) == [1, (kind, second), 3], kind
    # All lengths that are wrong, of the last record too.
    for wrong in (*range(40), 10**6):
        found = told(read(file, changed(data, third + 8, number(wrong))))
        assert found[:2] == [1, 2]
        assert found[2] in [(kind, third) for kind in ("checksum", "end", "length")], wrong
    assert told(read(file, changed(data, first + 8, number(10**6)))) == [("length", first), 2, 3]
    assert end == len(data) - 100


def test_a_zxid_or_a_path_that_makes_no_sense_is_damage(file: Path) -> None:
    negative = txn(-5, Operation.ERROR, number(1))
    no_text = txn(zxid(1, 1), Operation.DELETE, text(b"/\xff"))
    far = txn(zxid(1, 1), Operation.DELETE, number(10**6))
    for data in (negative, txn(0, Operation.ERROR, number(1)), no_text, far):
        assert told(read(file, log([data, THREE[1]]))) == [("body", 16), 2]


def test_there_is_an_end_to_looking_at_damage(file: Path) -> None:
    bad = record(FIRST)[:-5] + b"xxxxB"
    found = told(read(file, LOG_HEADER + (bad + record(FIRST)) * 300))
    assert len([each for each in found if isinstance(each, tuple)]) == 100


def test_a_real_log_is_read(file: Path) -> None:
    found = read(file, REAL)
    txns = [each.txn for each in found if isinstance(each, LogRecord)]
    assert len(txns) == len(found)
    assert [each.zxid for each in txns] == [zxid(1, counter) for counter in range(1, len(txns) + 1)]
    kinds = [operation_name(each.type) for each in txns]
    assert {"createSession", "create", "setData", "multi", "delete", "closeSession"} <= {*kinds}
    assert all(each.digest for each in found if isinstance(each, LogRecord))


@given(st.integers(0, len(REAL)), st.integers(0, 40))
def test_any_truncation_of_a_file_gives_a_prefix_of_its_transactions(file: Path, cut: int, padding: int) -> None:
    whole = read(file, REAL)
    found = read(file, REAL[:cut] + bytes(padding))
    records = [each for each in found if isinstance(each, LogRecord)]
    assert records == whole[: len(records)]
    assert [each.kind for each in found[len(records) :] if isinstance(each, Flaw)] in ([], ["torn"])


@given(st.integers(16 * 8, len(REAL) * 8 - 1), st.sampled_from([0, 64]))
def test_a_flipped_bit_in_a_record_is_found(file: Path, bit: int, padding: int) -> None:
    whole = read(file, REAL)
    damaged = bytearray(REAL)
    damaged[bit // 8] ^= 1 << bit % 8
    found = read(file, bytes(damaged) + bytes(padding))
    [flaw] = [each for each in found if isinstance(each, Flaw)]
    assert flaw.kind != "torn"
    assert flaw.offset <= bit // 8
    # All other records are there.
    assert [each for each in whole if each in found] == [each for each in found if isinstance(each, LogRecord)]
    assert len(found) == len(whole)


@given(st.binary(max_size=300))
def test_any_bytes_get_an_answer(file: Path, data: bytes) -> None:
    for start in (b"", LOG_HEADER, LOG_HEADER + bytes(4)):
        assert all(isinstance(each, LogRecord | Flaw) for each in read(file, start + data))


def test_names_of_files() -> None:
    names = {"log.0": 0, "log.1a": 26, "log.xyz": None, "log": None, "log.": None, "snapshot.1": None, "log.1.gz": 1}
    assert {name: zxid_of_name(name, "log") for name in names} == names
    assert zxid_of_name(f"log.{'f' * 17}", "log") is None
