"""An ensemble while it runs: the record of a server's disk, and who is interrupted in the end."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

from tests.zookeeper.disk.disks import create, disk, log, snapshot, zxid
from zabcheck.zookeeper.run.running import Running, read_disk

E1 = [zxid(1, counter) for counter in range(1, 11)]


def test_a_disk_as_a_record(tmp_path: Path) -> None:
    damaged = log([create(each) for each in E1]) + b"more"
    found = read_disk(disk(tmp_path, {E1[0]: damaged}, {0: snapshot(), 5: snapshot()[:-3]}, 2, None), 3, 1, 0)
    assert (found.server, found.incarnation, found.snapshots) == (3, 1, (0,))
    assert (found.accepted_epoch, found.current_epoch) == (2, None)
    assert [each.zxid for each in found.log] == E1
    assert found.log[2].path == "/n100000003"
    assert [each.partition(":")[0] for each in found.notes] == ["torn", "damage"]
    assert "log.100000001, byte " in found.notes[1]


def test_servers_that_are_up_and_do_not_serve_are_interrupted() -> None:
    interrupted: list[int] = []
    servers = {number: SimpleNamespace(up=number != 2) for number in (1, 2, 3)}
    ensemble = SimpleNamespace(
        servers=servers, proxy=None, served=lambda number: SimpleNamespace() if number == 1 else None
    )
    stops = SimpleNamespace(interrupt=interrupted.append)
    Running(cast(Any, ensemble), cast(Any, None), cast(Any, stops)).interrupt_waiting()
    assert interrupted == [3]
