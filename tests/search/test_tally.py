"""The tally of a search: which goals its runs could not reach, and whether followers deliver at all."""

from collections.abc import Sequence

import pytest

from invariants import select
from tests.protocols.external.commands import KIT
from tests.protocols.external.test_maelstrom import command
from tests.protocols.own.alone import Alone
from zabcheck.protocols.adapter import protocol_of
from zabcheck.protocols.base import Protocol
from zabcheck.protocols.external.protocol import external
from zabcheck.protocols.zab import ZAB
from zabcheck.search import swarm
from zabcheck.search.run import Search
from zabcheck.search.tally import SilentFollowers, Tally


def tally_of(protocol: Protocol, processes: int = 3, runs: int = 6, steps: int = 80, followers: bool = True) -> Tally:
    properties = tuple(protocol.properties or ())
    tally = Tally(select(properties), followers)
    assert swarm.find(Search(protocol, processes, properties, runs, steps, 1, tally.add)) is None
    return tally


def test_a_goal_cannot_be_seen_where_a_protocol_does_not_show_what_it_needs() -> None:
    assert tally_of(protocol_of(Alone)).unseen == {
        "partial replication": ("accept", "adopt", "establish"),
        "truncation": ("truncate",),
        "single survivor": ("promise", "accept", "adopt"),
        "late joiner": ("adopt",),
        "loaded late joiner": ("adopt",),
        "restored snapshot": ("restore",),
        "received snapshot": ("restore",),
    }


@pytest.mark.parametrize("steps", [1, 80], ids=["nothing shown yet", "everything shown"])
def test_a_goal_that_has_yet_to_be_reached_is_another_thing(steps: int) -> None:
    tally = tally_of(ZAB, steps=steps)
    assert not all(tally.goals.values())
    assert tally.unseen == {}


def test_nodes_that_take_no_snapshots_cannot_show_those_goals() -> None:
    assert list(tally_of(external(KIT)).unseen) == ["restored snapshot", "received snapshot"]


@pytest.mark.parametrize(("protocol", "found"), [(protocol_of(Alone), True), (ZAB, False)], ids=["alone", "zab"])
def test_followers_that_never_deliver_are_noticed_once_nothing_disturbs_them(protocol: Protocol, found: bool) -> None:
    undelivered = tally_of(protocol).undelivered
    assert (undelivered is not None and undelivered.undisturbed > 0) is found


def test_properties_of_the_users_own_choice_are_judged_alone() -> None:
    assert tally_of(protocol_of(Alone), followers=False).undelivered is None


@pytest.mark.slow
@pytest.mark.parametrize(("how", "silent"), [("kept", [2]), ("one", [])])
def test_a_node_of_maelstrom_that_acknowledges_what_no_poll_shows_is_noticed(how: str, silent: Sequence[int]) -> None:
    undelivered = tally_of(external(command(how)), 2, runs=4, steps=20).undelivered
    assert undelivered == (SilentFollowers(0, tuple(silent)) if silent else None)
