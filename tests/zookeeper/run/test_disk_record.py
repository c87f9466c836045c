"""What a server's disk holds, as a record."""

from pathlib import Path

from tests.zookeeper.disk.disks import create, disk, log, snapshot, zxid
from zabcheck.zookeeper.run.disk_record import read_disk

E1 = [zxid(1, counter) for counter in range(1, 11)]


def test_a_disk_as_a_record(tmp_path: Path) -> None:
    damaged = log([create(each) for each in E1]) + b"more"
    found = read_disk(disk(tmp_path, {E1[0]: damaged}, {0: snapshot(), 5: snapshot()[:-3]}, 2, None), 3, 1)
    assert (found.server, found.incarnation, found.snapshots) == (3, 1, (0,))
    assert (found.accepted_epoch, found.current_epoch) == (2, None)
    assert [each.zxid for each in found.log] == E1
    assert found.log[2].path == "/n100000003"
    assert [each.partition(":")[0] for each in found.notes] == ["torn", "damage"]
    assert "log.100000001, byte " in found.notes[1]
