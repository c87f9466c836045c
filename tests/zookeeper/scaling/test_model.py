"""The second judge of `scale`: the model of ZooKeeper executes the runs that it tells of reconfigurations."""

import pytest

from tests.zookeeper.model.reconfigured import Ensemble
from tests.zookeeper.scaling.plans import JOIN, PLANS, THREE, reconfigured
from zabcheck.simulation.choices import Elect, Heal, Hold, Request, Settle, Timeout
from zabcheck.zookeeper.scaling.judge import Moment, judge
from zabcheck.zookeeper.scaling.plan import Reconfigure, ScalePlan


def named(voters: tuple[int, ...]) -> str:
    return "config " + ",".join(map(str, voters))


def lead(e: Ensemble, servers: tuple[int, ...]) -> int:
    """Let one of these lead the others, and broadcast; return it."""
    e.do(*map(Timeout, servers), Heal())
    for leader in servers:
        e.lead(leader, *(each for each in servers if each != leader))
        if e.do(Request(leader)):
            e.settle()
            return leader
        e.do(*map(Timeout, servers))
    raise AssertionError(f"none of {servers} leads")


def executed(run: tuple[Moment, ...]) -> Ensemble:
    """Execute in the model what a judgement of `scale` tells, up to the loss of the write."""
    first = next(each.server for each in run if each.kind == "asks")
    e = Ensemble(5, named(THREE), defects="none")
    e.lead(first, *(each for each in THREE if each != first))
    for moment in run:
        match moment.kind:
            case "joins":
                e.do(Elect(moment.server, first), Settle(9))
            case "asks":
                e.do(*(Hold(first, each, "PROPOSAL") for each in range(1, 6) if each != first))
                assert e.change(first, named(moment.voters))
            case "learns":
                others = {*range(1, 6)} - {first, moment.server}
                e.do(Timeout(moment.server), Heal(), *(Hold(first, each, "PROPOSAL") for each in sorted(others)))
                e.do(Elect(moment.server, first), Settle(9))
            case "leads" | "loses":
                e.do(*(Hold(first, each, "PROPOSAL") for each in range(1, 6) if each != first))
                lead(e, moment.servers)
    return e


@pytest.mark.parametrize(
    "plan",
    [
        PLANS["two at once by a reconfiguration"][0],
        reconfigured(JOIN[0], Reconfigure(add=(4,), remove=(3,))),
        reconfigured(*JOIN, Reconfigure(add=(4, 5), remove=(1, 2))),
    ],
)
def test_the_model_parts_where_scale_loses_a_write(plan: ScalePlan) -> None:
    [found] = judge(plan).findings
    assert found.issue == "pending-config"
    assert "agreement" in executed(found.run).broken()
