"""Disks that are wiped or restored: a process comes back with less than it left, and what only it had is gone."""

from typing import Any

import pytest

from tests.simulation.chatter import connected
from zabcheck.protocols import PROTOCOLS
from zabcheck.search.moves import drawing_disks, weights_for
from zabcheck.search.run import replay, schedule_of
from zabcheck.simulation.choices import BackUp, Crash, Lead, Recover, Request, Restore, Settle, Sync, Wipe
from zabcheck.simulation.schedule import dump, load

ALONE = (
    *(Lead(3, (2,)), Settle(8), Request(3), Settle(8)),
    *(Crash(2), Wipe(2), Recover(2), Crash(3), Recover(3)),
    *(Lead(2, (1,)), Settle(8), Request(2), Settle(8)),
)
"""A transaction of processes 2 and 3; 2 loses its disk, and then leads with 1, which never had the transaction."""

RESTORED = (
    *(Lead(3, (2,)), Settle(8), BackUp(2), Request(3), Settle(8)),
    *(Crash(2), Restore(2), Recover(2), Crash(3), Recover(3)),
    *(Lead(2, (1,)), Settle(8), Request(2), Settle(8)),
)
"""The same, but 2 has the disk that it had before the transaction."""


def violated(protocol: str, elections: Any, choices: tuple[Any, ...]) -> set[str]:
    known = PROTOCOLS[protocol]
    switches = known.switches(sync="atomic", elections=elections)
    run = replay(schedule_of(protocol, None, 3, choices, switches=switches), known.properties)
    return {each.property for each in run.verdicts if each.status == "violated"}


@pytest.mark.parametrize(("protocol", "elections"), [("zab", "together"), ("zookeeper", "oracle")])
def test_what_only_a_quorum_with_the_restored_disk_had_is_gone(protocol: str, elections: Any) -> None:
    broken = violated(protocol, elections, RESTORED)
    assert "agreement" in broken
    assert "epoch uniqueness" not in broken, "the copy has what was promised before"
    kept = tuple(each for each in RESTORED if not isinstance(each, Restore))
    assert violated(protocol, elections, kept) == set()


@pytest.mark.parametrize(("protocol", "elections"), [("zab", "together"), ("zookeeper", "oracle")])
def test_what_only_a_quorum_with_the_wiped_disk_had_is_gone(protocol: str, elections: Any) -> None:
    assert {"agreement", "epoch uniqueness"} <= violated(protocol, elections, ALONE), "it forgot what it had promised"
    kept = tuple(each for each in ALONE if not isinstance(each, Wipe))
    assert violated(protocol, elections, kept) == set()


def test_only_a_disk_with_something_on_it_is_wiped_while_its_process_is_down() -> None:
    chat = connected(2)
    assert chat.do(Wipe(2), Crash(2), Wipe(2)) == [False, True, False], "it is up; nothing is on the disk of this one"


def test_only_a_copy_replaces_a_disk_while_its_process_is_down() -> None:
    chat = connected(2)
    assert chat.do(BackUp(2)) == [False], "nothing is on the disk of this one"
    chat.say(2, 1, "hello", disk=True)
    assert chat.do(Restore(2), Sync(2), BackUp(2), Restore(2)) == [False, True, True, False]
    copied = chat.simulator.disks[2].durable
    chat.say(2, 1, "more", disk=True)
    assert chat.do(Sync(2), Crash(2)) == [True, True]
    assert chat.simulator.disks[2].durable != copied
    assert chat.do(Restore(1), Restore(2)) == [False, True]
    assert chat.simulator.disks[2].durable == copied


def test_a_copy_has_what_was_written_and_not_synced() -> None:
    chat = connected(2)
    chat.say(2, 1, "hello", disk=True)
    assert chat.simulator.disks[2].unsynced
    assert chat.do(BackUp(2), Crash(2)) == [True, True]
    assert not chat.simulator.disks[2].durable
    twin = chat.simulator.fork(lambda _: None)
    assert chat.do(Restore(2)) == [True]
    assert chat.simulator.disks[2].durable
    assert not twin.disks[2].durable, "a fork has a copy of its own"
    assert twin.execute(Restore(2)) == 1


@pytest.mark.parametrize("choices", [ALONE, RESTORED])
def test_a_schedule_keeps_it(choices: tuple[Any, ...]) -> None:
    schedule = schedule_of("zab", None, 3, choices)
    assert load(dump(schedule), "x.json").choices == choices


@pytest.mark.parametrize("name", ["zab", "zookeeper"])
def test_they_are_drawn_only_where_it_is_asked_for(name: str) -> None:
    usual, asked = (weights_for(each) for each in (PROTOCOLS[name], drawing_disks(PROTOCOLS[name])))
    assert not {"wipe", "backup", "restore"} & {*usual}
    assert all(asked[each] for each in ("wipe", "backup", "restore"))
    assert sum(asked.values()) == sum(usual.values())


def test_nothing_is_drawn_for_a_protocol_without_disks() -> None:
    with pytest.raises(
        ValueError, match=r"^expected a protocol whose processes come back from their disks, found db19$"
    ):
        drawing_disks(PROTOCOLS["db19"])
