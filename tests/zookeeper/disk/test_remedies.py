"""Recommendations against what is wrong on disks. Whatever costs nothing is done, and the disk is read again."""

from pathlib import Path
from shutil import rmtree

import pytest

from tests.zookeeper.disk.disks import create, disk, log, snapshot, zxid
from zabcheck.zookeeper.disk.comparison import compare
from zabcheck.zookeeper.disk.contents import DiskContents, scan
from zabcheck.zookeeper.disk.remedies import LostRange, Remedy, remedies

E1 = [zxid(1, counter) for counter in range(1, 11)]
E0 = [*range(1, 11)]


def advised(*disks: DiskContents) -> list[Remedy]:
    return remedies(disks, compare(disks) if len(disks) > 1 else None)


def wrong(found: DiskContents) -> list[str]:
    return [each.kind for each in found.findings if each.wrong]


ONE_FILE = {
    "damage that no boot reads": ("log.1", "move", 0),
    "an empty log in the middle": ("log.6", "move", 0),
    "a part of the header": ("log.b", "move", 0),
    "a snapshot that ends the server": ("snapshot.8", "move", 0),
    "a copy that differs": ("log.6.bak", "move", 0),
    "a file of another server": ("log.2", "move", 0),
    "a wrong name": ("log.7", "rename", 6),
}


@pytest.mark.parametrize("what", ONE_FILE)
def test_one_file_is_enough(what: str, tmp_path: Path) -> None:
    name, action, value = ONE_FILE[what]
    place = disk(tmp_path, {1: E0[:5], 6: E0[5:]}, {0: snapshot(), 6: snapshot()}, None, None) / "version-2"
    whole = log([*map(create, E0[:5])])
    content = {
        "damage that no boot reads": whole[:40] + b"\xff" + whole[41:],
        "an empty log in the middle": b"",
        "a part of the header": b"ZKLG\0",
        "a snapshot that ends the server": snapshot().replace(b"/zookeeper", b"/zookeepe\xff", 1),
        "a copy that differs": log([create(7, "/other")]),
        "a file of another server": log([create(zxid(9, 1))]),
        "a wrong name": (place / "log.6").read_bytes(),
    }[what]
    (place / name).write_bytes(content)
    if what == "an empty log in the middle":
        (place / "log.7").write_bytes(log([*map(create, E0[6:])]))
        (place / "log.1").write_bytes(log([*map(create, E0[:6])]))
        (place / "snapshot.6").unlink()
    if what == "a wrong name":
        (place / "log.6").unlink()
    [remedy] = advised(scan(tmp_path))
    assert (remedy.action, Path(remedy.file).name, remedy.value, remedy.lost) == (action, name, value, ())
    if action == "move":
        Path(remedy.file).unlink()
    else:
        Path(remedy.file).rename(place / f"log.{remedy.value:x}")
    found = scan(tmp_path)
    assert (wrong(found), found.refusals, found.last, advised(found)) == ([], (), 10, [])


def test_a_server_is_filled_again_by_more_than_half(tmp_path: Path) -> None:
    damaged = log([*map(create, E1)])
    disks = [disk(tmp_path / "1", {E1[0]: E1[:8]}), disk(tmp_path / "2", {E1[0]: E1[:7]})]
    third = disk(tmp_path / "3", {E1[0]: damaged[:40] + b"\xff" + damaged[41:]})
    [remedy] = advised(*map(scan, [*disks, third]))
    lost = (LostRange(E1[8], E1[9], 1),)
    assert remedy == Remedy("sync", (2,), ("damage", "gap", "missing"), sources=(0, 1), lost=lost)
    rmtree(third / "version-2")
    disk(tmp_path / "new", {E1[0]: E1[:8]}).joinpath("version-2").rename(third / "version-2")
    assert advised(*map(scan, [*disks, third])) == []


def test_without_half_all_are_filled_by_the_one_that_has_most(tmp_path: Path) -> None:
    gap = [*E1[:4], *E1[5:]]
    disks = [disk(tmp_path / str(at), {E1[0]: zxids}) for at, zxids in enumerate((gap, gap, E1[:7]))]
    [remedy] = advised(*map(scan, disks))
    assert remedy == Remedy("restore", (0, 1), ("gap", "missing"), sources=(2,), lost=(LostRange(E1[7], E1[9], 2),))
    [nobody] = advised(*map(scan, disks[:2]))
    assert (nobody.action, nobody.servers) == ("backup", (0, 1))


def test_the_server_that_most_contradict_is_filled_again(tmp_path: Path) -> None:
    other = log([*map(create, E1[:5]), create(E1[5], "/other")])
    logs = (E1[:6], other, E1[:6])
    disks = [disk(tmp_path / str(at), {E1[0]: each}) for at, each in enumerate(logs)]
    [remedy] = advised(*map(scan, disks))
    assert remedy == Remedy("sync", (1,), ("conflict",), sources=(0, 2), lost=(LostRange(E1[5], E1[5], 1),))


def test_a_server_by_itself(tmp_path: Path) -> None:
    gap = scan(disk(tmp_path / "one of several", {E1[0]: [*E1[:4], *E1[5:]]}))
    assert [each.action for each in advised(gap)] == ["compare"]
    alone = scan(disk(tmp_path / "alone", {1: [*E0[:4], *E0[5:]]}, accepted=None, current=None))
    assert [each.action for each in advised(alone)] == ["backup"]


def test_a_log_of_a_server_that_stands_alone_is_cut(tmp_path: Path) -> None:
    data = log([*map(create, E0[:6])])
    at = len(log([*map(create, E0[:4])], 0))
    damaged = data[: at + 40] + b"\xff" + data[at + 41 :]
    place = disk(tmp_path, {1: damaged, 7: E0[6:]}, accepted=None, current=None) / "version-2"
    [remedy] = advised(scan(tmp_path))
    assert (remedy.action, Path(remedy.file).name, remedy.value) == ("cut", "log.1", at)
    assert remedy.lost == (LostRange(6, 10, 1),)
    (place / "log.1").write_bytes(damaged[: remedy.value])
    (place / "log.7").unlink()
    found = scan(tmp_path)
    assert (wrong(found), found.refusals, found.last) == ([], (), 4)


def test_a_setting_and_a_directory(tmp_path: Path) -> None:
    long = scan(disk(tmp_path / "long", {E1[0]: log([create(E1[0], data=bytes(2_200_000))])}))
    [remedy] = advised(long)
    assert (remedy.action, remedy.value) == ("buffer", 1_100_042)
    [elsewhere] = advised(scan(disk(tmp_path / "none", {}, {0: snapshot(), E1[4]: snapshot()})))
    assert elsewhere.action == "elsewhere"


def test_no_remedy_is_advised_for_a_missing_tail(tmp_path: Path) -> None:
    later = [disk(tmp_path / str(at), {E1[0]: [*E1[:7], zxid(2, 1)]}, None, 2, 2) for at in range(2)]
    assert advised(*map(scan, [*later, disk(tmp_path / "old", {E1[0]: E1})])) == []
