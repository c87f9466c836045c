"""Disks that are wiped: a process comes back with nothing, and what only it had is gone."""

from typing import Any

import pytest
from msgspec import structs

from tests.simulation.chatter import connected
from zabcheck.protocols import PROTOCOLS
from zabcheck.search.moves import weights_for
from zabcheck.search.run import replay, schedule_of
from zabcheck.simulation.choices import Crash, Lead, Recover, Request, Settle, Wipe
from zabcheck.simulation.schedule import dump, load

ALONE = (
    *(Lead(3, (2,)), Settle(8), Request(3), Settle(8)),
    *(Crash(2), Wipe(2), Recover(2), Crash(3), Recover(3)),
    *(Lead(2, (1,)), Settle(8), Request(2), Settle(8)),
)
"""A transaction of processes 2 and 3; 2 loses its disk, and then leads with 1, which never had the transaction."""


@pytest.mark.parametrize(("protocol", "elections"), [("zab", "together"), ("zookeeper", "oracle")])
def test_what_only_a_quorum_with_the_wiped_disk_had_is_gone(protocol: str, elections: Any) -> None:
    known = PROTOCOLS[protocol]
    switches = known.switches(sync="atomic", elections=elections)
    wiped = replay(schedule_of(protocol, None, 3, ALONE, switches=switches), known.properties)
    kept = [each for each in ALONE if not isinstance(each, Wipe)]
    untouched = replay(schedule_of(protocol, None, 3, tuple(kept), switches=switches), known.properties)
    violated = {each.property for each in wiped.verdicts if each.status == "violated"}
    assert {"agreement", "epoch uniqueness"} <= violated, "it has also forgotten what it had promised"
    assert [each.property for each in untouched.verdicts if each.status == "violated"] == []


def test_only_a_disk_with_something_on_it_is_wiped_while_its_process_is_down() -> None:
    chat = connected(2)
    assert chat.do(Wipe(2), Crash(2), Wipe(2)) == [False, True, False], "it is up; nothing is on the disk of this one"


def test_a_schedule_keeps_it() -> None:
    schedule = schedule_of("zab", None, 3, ALONE)
    assert load(dump(schedule), "x.json").choices == ALONE


def test_it_is_drawn_only_where_it_is_asked_for() -> None:
    zab = PROTOCOLS["zab"]
    assert "wipe" not in weights_for(zab)
    environment = structs.replace(zab.environment, moves={"wipe": 2, "request": 18})
    assert weights_for(structs.replace(zab, environment=environment))["wipe"] == 2
