"""Judges runs by the steps of Zab."""

from tests.zookeeper.notation import records
from zabcheck.zookeeper.recording.records import Sent
from zabcheck.zookeeper.rules.packets import Divergence, judge


def keeps(*texts: str, servers: int = 3) -> None:
    """No packet diverges."""
    assert [each.sentence() for each in judge(records(*texts, servers=servers)).divergences] == []


def breaks(*texts: str, servers: int = 3) -> Divergence:
    """Nothing diverges before the last packet, which does: its first divergence."""
    whole = records(*texts, servers=servers)
    found = judge(whole).divergences
    assert found, "nothing diverges"
    last = [each for each in whole if isinstance(each, Sent)][-1]
    assert found[0].packet == last.packet, found[0].sentence()
    assert found[0].before[-1].packet == last
    return found[0]
