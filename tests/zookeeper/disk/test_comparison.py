"""The histories of several servers side by side."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.zookeeper.disk.disks import create, disk, log, snapshot, zxid
from zabcheck.zookeeper.disk.comparison import Comparison, Difference, compare, first_records
from zabcheck.zookeeper.disk.contents import DiskContents, scan
from zabcheck.zookeeper.wire.zxids import shown

E1 = [zxid(1, counter) for counter in range(1, 11)]
E2 = [zxid(2, counter) for counter in range(1, 4)]


class Server(NamedTuple):
    """A server: zxids, of which some stand for another transaction; snapshots; currentEpoch."""

    zxids: Sequence[int]
    others: Sequence[int] = ()
    snapshots: Sequence[int] = (0,)
    current: int = 2

    def at(self, directory: Path) -> DiskContents:
        data = log([create(each, "/other" if each in self.others else "") for each in self.zxids])
        logs: Mapping[int, bytes] = {self.zxids[0]: data} if self.zxids else {}
        return scan(disk(directory, logs, {each: snapshot() for each in self.snapshots}, 9, self.current))


def compared(folder: Path, *servers: Server) -> Comparison:
    return compare([server.at(folder / str(number)) for number, server in enumerate(servers)])


def told_as(difference: Difference) -> tuple[str, str, str, list[str]]:
    holdings = [holding.what for holding in difference.holdings]
    return difference.kind, shown(difference.first), shown(difference.last), holdings


def test_servers_that_agree(tmp_path: Path) -> None:
    """One is behind, one had the beginning in a snapshot, one has it all in two files."""
    found = compared(tmp_path, Server(E1 + E2), Server(E1[:7]), Server(E1[4:] + E2, snapshots=(E1[3],)))
    assert found == Comparison(13, E2[-1], (), (0, 6, 0))


def test_two_transactions_under_one_zxid(tmp_path: Path) -> None:
    found = compared(tmp_path, Server(E1), Server(E1, others=[E1[4], E1[5], E1[8]]), Server(E1[:5]))
    assert [told_as(each) for each in found.differences] == [
        ("conflict", "⟨1,5⟩", "⟨1,5⟩", ["transaction"] * 3),
        ("conflict", "⟨1,6⟩", "⟨1,6⟩", ["transaction", "transaction", "not yet"]),
        ("conflict", "⟨1,9⟩", "⟨1,9⟩", ["transaction", "transaction", "not yet"]),
    ]
    assert (found.compared, found.agree) == (10, E1[3])
    paths = [None if each is None else each.txn.path for each in first_records(found.differences[1])]
    assert paths == ["/n100000006", "/other", None]


def test_in_a_row_conflicts_are_one(tmp_path: Path) -> None:
    found = compared(tmp_path, Server(E1), Server(E1, others=E1[:4]))
    assert [told_as(each)[:3] for each in found.differences] == [("conflict", "⟨1,1⟩", "⟨1,4⟩")]
    assert found.agree is None


@pytest.mark.parametrize(
    ("first", "second", "kind"),
    [
        (Server(E1, current=1), Server(E1[:8] + E2), "tail"),
        (Server(E1, current=2), Server(E1[:8] + E2), "missing"),
        (Server(E1 + E2), Server(E1[:8] + E2), "missing"),
        (Server(E1, current=1), Server(E1[:8] + E2, current=1), "tail"),
        (Server(E1, current=1), Server(E1[:8] + E1[9:], current=1), "missing"),
        (Server(E1, current=1), Server(E1[:8], snapshots=(0, E2[0])), None),
    ],
)
def test_what_a_server_passed_over(first: Server, second: Server, kind: str | None, tmp_path: Path) -> None:
    """A server that took no part in the next epoch may have more at the end of the one before."""
    for each, servers in enumerate([(first, second), (second, first)]):
        found = compared(tmp_path / str(each), *servers)
        assert [difference.kind for difference in found.differences] == ([] if kind is None else [kind])


def test_what_is_in_a_snapshot_cannot_be_seen(tmp_path: Path) -> None:
    found = compared(tmp_path, Server(E1), Server(E1[:3] + E1[8:], snapshots=(0, E1[6])))
    [difference] = found.differences
    assert told_as(difference) == ("missing", "⟨1,8⟩", "⟨1,8⟩", ["transaction", "nothing"])
    assert first_records(difference)[1] is None


def test_the_last_of_repeated_transactions_counts(tmp_path: Path) -> None:
    data = log([*map(create, E1), create(E1[3], "/other"), create(E1[4])])
    first = scan(disk(tmp_path / "1", {E1[0]: data}))
    second = Server(E1, others=[E1[3]]).at(tmp_path / "2")
    assert compare([first, second]).differences == ()


@given(st.lists(st.tuples(st.integers(0, 10), st.sets(st.integers(0, 9)), st.sampled_from([0, 3, 7])), max_size=3))
def test_conflicts_and_counts_are_those_of_a_plain_reading(
    tmp_path_factory: pytest.TempPathFactory, drawn: list[tuple[int, set[int], int]]
) -> None:
    servers = [Server(E1[:end], [E1[at] for at in others], (0, E1[covered])) for end, others, covered in drawn]
    found = compared(tmp_path_factory.mktemp("servers"), *servers)
    conflicts, count = [], 0
    for at, each in enumerate(E1):
        there = [at in others for end, others, _ in drawn if at < end]
        count += len(there) > 1
        conflicts += [each] if len({*there}) > 1 else []
    assert found.compared == count
    reported = [at for each in found.differences for at in range(each.first, each.last + 1) if each.kind == "conflict"]
    assert reported == conflicts
    assert len(found.differences) <= max(1, len(conflicts))
