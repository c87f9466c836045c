"""A folder after a power failure: it has never less than was forced."""

from pathlib import Path

import pytest

from tests.zookeeper.disk.disks import LOG_HEADER, create, log, record, zxid
from zabcheck.zookeeper.disk.power_loss import FileCut, Plan, apply, end_of_records, plan
from zabcheck.zookeeper.disk.transaction_log import Flaw, read_log

TXNS = [create(zxid(1, counter), f"/n{counter}") for counter in (1, 2, 3)]
ENDS = [len(LOG_HEADER) + sum(len(record(txn)) for txn in TXNS[:count]) for count in range(4)]
"""The places at which the header ends, and each record."""
FIRST, SECOND = "log.100000001", "log.100000004"
PADDING = bytes(5000)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A log of three records, padded as a server does."""
    (tmp_path / FIRST).write_bytes(log(TXNS) + PADDING)
    return tmp_path


def cut(folder: Path, forced: dict[str, int], records: int = 0, count: int | None = None) -> Plan:
    """Plan, and then do it."""
    made = plan(folder, forced, records, count)
    apply(made, folder)
    return made


@pytest.mark.parametrize(
    ("forced", "records", "count", "keep", "lost"),
    [
        (1, 0, None, ENDS[1], 2),
        (1, 1, None, ENDS[2], 1),
        (1, 0, 7, ENDS[1] + 7, 2),
        (1, 1, 9, ENDS[2] + 9, 1),
        (2, 0, 0, ENDS[2], 1),
    ],
)
def test_what_was_forced_stays_and_of_the_rest_a_prefix(
    folder: Path, forced: int, records: int, count: int | None, keep: int, lost: int
) -> None:
    made = cut(folder, {FIRST: ENDS[forced]}, records, count)
    assert made == Plan((FileCut(FIRST, keep, lost),))
    assert made.lost == lost
    flaws = [each.kind for each in read_log(folder / FIRST) if isinstance(each, Flaw)]
    assert flaws == (["torn"] if count else [])
    assert end_of_records(folder / FIRST) == ENDS[forced + records]


def test_nothing_is_lost_when_all_is_forced(folder: Path) -> None:
    assert cut(folder, {FIRST: ENDS[3]}) == Plan(())
    assert (folder / FIRST).read_bytes() == log(TXNS) + PADDING


@pytest.mark.parametrize(("count", "keep"), [(None, None), (0, 0), (5, 5), (16, 16)])
def test_a_file_that_was_never_forced_is_gone_or_ends_within_its_header(
    folder: Path, count: int | None, keep: int | None
) -> None:
    """Its header is one with its first record."""
    assert cut(folder, {}, 0, count).cuts == (FileCut(FIRST, keep, 3),)
    assert (folder / FIRST).exists() == (keep is not None)
    assert cut(folder, {}, 0, None).cuts in ((), (FileCut(FIRST, None, 1),))


def test_a_file_that_has_only_a_header_or_nothing(folder: Path) -> None:
    (folder / FIRST).write_bytes(LOG_HEADER + PADDING)
    assert plan(folder, {}, 0, 3).cuts == (FileCut(FIRST, 3, 1),)
    assert plan(folder, {FIRST: len(LOG_HEADER)}, 0, None).cuts == ()
    (folder / FIRST).write_bytes(b"")
    assert plan(folder, {}, 0, None).cuts == ()


def test_a_record_in_part_is_no_record_that_can_be_kept_whole(folder: Path) -> None:
    """A server is killed while it writes: what it has written of a record was not forced."""
    (folder / FIRST).write_bytes(log(TXNS)[: ENDS[3] - 4])
    assert end_of_records(folder / FIRST) == ENDS[2]
    assert plan(folder, {FIRST: ENDS[2]}, 0, 2).cuts == (FileCut(FIRST, ENDS[2] + 2, 1),)


def test_a_later_file_keeps_what_is_forced_of_it_and_loses_the_rest(folder: Path) -> None:
    """An earlier incarnation was killed before it forced ⟨1,3⟩; the next one began a new file."""
    more = [create(zxid(1, counter)) for counter in (4, 5)]
    (folder / SECOND).write_bytes(log(more))
    forced = len(LOG_HEADER) + len(record(more[0]))
    made = plan(folder, {FIRST: ENDS[2], SECOND: forced}, 0, None)
    assert made.cuts == (FileCut(FIRST, ENDS[2], 1), FileCut(SECOND, forced, 1))
    assert plan(folder, {FIRST: ENDS[2], SECOND: forced}, 1, None).cuts == (FileCut(SECOND, forced, 1),)


@pytest.mark.parametrize(
    ("forced", "records", "count", "short"),
    [
        (2, 2, None, "expected 2 writes to the log that were not forced, found 1"),
        (3, 0, 5, "expected a write to the log that was not forced, to keep 5 bytes of it, found none"),
        (3, 0, 0, ""),
        (2, 0, 5000, f"expected less than the {ENDS[3] - ENDS[2]} bytes of the next write, found 5000"),
        (2, 1, None, ""),
    ],
)
def test_more_cannot_be_kept_than_there_is(
    folder: Path, forced: int, records: int, count: int | None, short: str
) -> None:
    made = plan(folder, {FIRST: ENDS[forced]}, records, count)
    assert made.short == short
    assert not short or not made.cuts


def test_snapshots_that_were_not_forced_are_lost_only_if_the_schedule_says_so(folder: Path) -> None:
    for name in ("snapshot.0", "snapshot.100000002"):
        (folder / name).write_bytes(b"ZKSN")
    forced = {"snapshot.0"}
    all_of_the_log = {FIRST: ENDS[3]}
    assert plan(folder, all_of_the_log, 0, None).cuts == ()
    assert plan(folder, all_of_the_log, 0, None, forced).cuts == (FileCut("snapshot.100000002", None, 1),)
