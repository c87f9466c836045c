"""A plan decides every run, and nothing else does."""

import pytest

from tests.campaign.plans import plan_of
from zabcheck.campaign import plan as plans
from zabcheck.campaign.plan import LEAST_PARTS, RUNS_A_PART, runs_a_part
from zabcheck.search.swarm import run_seed


def test_the_parts_have_every_run_once() -> None:
    plan = plan_of(37)
    assert plan.parts == 4
    assert [run for part in range(4) for run in plan.runs_of(part)] == list(range(37))
    assert plan_of(1).parts == 1


@pytest.mark.parametrize(
    ("runs", "size"), [(1, 1), (16, 1), (17, 2), (1000, 63), (31_999, 2000), (32_000, 2000), (10**6, 2000)]
)
def test_a_small_campaign_has_small_parts(runs: int, size: int) -> None:
    assert runs_a_part(runs) == size
    assert -(-runs // size) <= max(LEAST_PARTS, runs // RUNS_A_PART + 1)


def test_seeds_are_those_of_the_swarm_and_differ() -> None:
    plan = plan_of(1000, seed=2**64 - 1)
    assert plan.seed_of(7) == run_seed(2**64 - 1, 7)
    assert len({plan.seed_of(run) for run in range(1000)}) == 1000


def test_mutants_come_in_turn() -> None:
    plan = plan_of(30, None, "no-truncation", "counter-wraps")
    assert [plan.mutant_of(run) for run in range(4)] == [None, "no-truncation", "counter-wraps", None]


def test_a_plan_survives_its_file() -> None:
    plan = plan_of(30, None, "no-truncation", switches={"histories": "full"}, quorums="weights 1,1,2", minimise=None)
    assert plans.load(plans.dump(plan), "campaign.json") == plan


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", ", line 1: expected a plan of a campaign, the file is empty"),
        (b"{}", "missing required field `version`"),
        (plans.dump(plan_of()).replace(b'"version": 1', b'"version": 2'), ", line 2, field `version`: expected 1"),
        (
            plans.dump(plan_of()).replace(b'"keep": "events"', b'"keep": "all"'),
            "field `keep`: Invalid value 'all'; expected one of: ",
        ),
        (plans.dump(plan_of()).replace(b'"steps"', b'"step"'), "field `step`: no such field; did you mean `steps`?"),
    ],
)
def test_what_is_no_plan_is_refused(data: bytes, message: str) -> None:
    with pytest.raises(ValueError, match=r"^campaign\.json[,:] ") as raised:
        plans.load(data, "campaign.json")
    assert message in str(raised.value)


def test_a_search_is_what_the_plan_says() -> None:
    search = plan_of(processes=3, quorums="weights 1,1,2", switches={"histories": "full"}).search("no-truncation")
    assert search.quorums is not None
    assert search.quorums.name == "weights 1,1,2"
    assert (search.processes, search.steps, dict(search.fixed)) == (3, 100, {"histories": "full"})
    assert plan_of(processes=None).search(None).processes is None
    with pytest.raises(ValueError, match="no mutant `foo`"):
        plan_of().search("foo")
