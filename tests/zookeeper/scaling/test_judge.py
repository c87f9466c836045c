"""Plans of ZooKeeper's issues, and random ones that a second judge without any reduction decides alike."""

from itertools import pairwise

import pytest
from msgspec.structs import replace

from tests.tiers import sweep
from tests.zookeeper.scaling.brute import loses_a_write
from tests.zookeeper.scaling.plans import PLANS, THREE, drawn, plan
from zabcheck.zookeeper.scaling.judge import judge
from zabcheck.zookeeper.scaling.orders import aim, safe_instead
from zabcheck.zookeeper.scaling.plan import Restart, Stop

LOSE = (7, 12, 30, 34, 44, 60, 61, 98, 110, 118, 122, 131, 142, 148)
QUICK = (*LOSE[::2], 24, 31, 33, 48, 72, 77, 80, 125, 140, 150)
"""The others take some five CPU seconds."""
FEW = ("five to three", "3829", "2819", "two at once by a reconfiguration", "joiners of one list", "standalone")
NOTHING_INSTEAD = ("one to three", "standalone", "one is left", "joiners of one list")
"""A server that is alone has to be stopped, or the plan comes to nothing."""


@pytest.mark.parametrize("name", PLANS)
def test_a_plan_of_an_issue(name: str) -> None:
    given, expected = PLANS[name]
    assert [(each.kind, each.step, each.issue) for each in judge(given).findings] == expected


@pytest.mark.parametrize("seed", sweep(sorted({*range(30), *LOSE, *QUICK}), normal=QUICK))
def test_a_second_judge_decides_alike(seed: int) -> None:
    given = drawn(seed)
    found = any(each.kind == "lost write" for each in judge(given).findings)
    assert found == loses_a_write(given) == (seed in LOSE)


@pytest.mark.parametrize("name", [name for name, (_, found) in PLANS.items() if "lost write" in str(found)])
def test_a_run_shows_two_quorums_that_share_nobody(name: str) -> None:
    [found] = judge(PLANS[name][0]).findings
    [acknowledged] = [each for each in found.run if each.kind == "acknowledges"]
    lost = found.run[-1]
    assert lost.kind == "loses"
    assert not {*acknowledged.servers} & {*lost.servers}
    for each in (acknowledged, lost):
        assert each.server in each.servers
        assert {*each.servers} <= {*each.voters}
        assert 2 * len(each.servers) > len(each.voters)
    assert all(before.step <= after.step for before, after in pairwise(found.run))


@pytest.mark.parametrize("name", sweep([name for name, (_, found) in PLANS.items() if found], FEW))
def test_a_plan_in_its_place_is_safe_and_comes_to_the_same(name: str) -> None:
    given, _ = PLANS[name]
    instead = safe_instead(given, judge(given).findings)
    assert (instead is None) == (name in NOTHING_INSTEAD)
    if instead is not None:
        assert judge(instead).findings == ()
        assert aim(instead) == aim(given)


def test_the_fifth_server_may_start_last() -> None:
    """Until it runs, no three of five are without the servers that still have the old list."""
    given, _ = PLANS["three to five at once"]
    instead = safe_instead(given, judge(given).findings)
    assert instead == PLANS["three to five, the fifth last"][0]


@pytest.mark.slow
def test_settings_change_only_if_they_have_to() -> None:
    for name, changed in (
        ("three to five at once", {}),
        ("3829", {"reconfig_enabled": True}),
        ("an observer without a log", {"sync_enabled": True}),
        ("folders that cannot be written", {"readonly": ()}),
    ):
        given, _ = PLANS[name]
        instead = safe_instead(given, judge(given).findings)
        assert instead is not None
        assert instead == replace(given, steps=instead.steps, **changed)


def test_two_of_three_restarting_are_an_outage() -> None:
    given = plan(Restart(1, wait=False), Stop(2), Stop(3))
    assert judge(given).outages == (3,)
    assert judge(plan(*(Restart(each) for each in THREE))).outages == ()
