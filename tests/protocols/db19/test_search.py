"""The search of db-19: which choices it makes, and what it tells."""

import pytest

from tests.cli.conftest import Command
from tests.tiers import sweep
from zabcheck.counterexample.explain import explain
from zabcheck.protocols import PROTOCOLS
from zabcheck.search import machine, swarm
from zabcheck.search.moves import weights_for
from zabcheck.search.run import Run, Search, schedule_of
from zabcheck.search.settings import SETTINGS
from zabcheck.simulation.choices import Receive, Settle, Timeout

DONE = {"receive", "request", "timeout", "cut", "mend", "stall", "hold", "heal", "pause", "wake"}
"""The kinds of fine choices that there are in the lab, or that only delay messages."""


def test_only_what_a_protocol_has_is_tried_and_zab_has_it_all() -> None:
    assert weights_for(PROTOCOLS["zab"]) == SETTINGS.weights
    for name in ("db19", "db19-fifo"):
        weights = weights_for(PROTOCOLS[name])
        assert not {"lead", "follow", "elect", "sync", "crash", "recover", "reset"} & set(weights)
        assert weights["timeout"] > SETTINGS.weights["timeout"]
        assert sum(weights.values()) < machine._MOST, "or Hypothesis would never draw the last ones"
    assert weights_for(PROTOCOLS["db19"])["overtake"] == SETTINGS.weights_without_order["overtake"]


@pytest.mark.parametrize(
    ("name", "find"),
    sweep(
        [(name, find) for name in ("db19", "db19-fifo") for find in (swarm.find, machine.find)],
        normal=[("db19", swarm.find), ("db19-fifo", swarm.find)],
    ),
)
def test_nothing_crashes_or_gets_lost_and_no_oracle_speaks(name: str, find: object) -> None:
    made: set[str] = set()

    def on_run(run: Run) -> None:
        made.update(str(choice.__struct_config__.tag) for choice in run.simulator.executed)

    search = Search(PROTOCOLS[name], 3, ("integrity",), runs=60, steps=150, rng=1, on_run=on_run)
    assert find(search) is None  # type: ignore[operator]  # it is a function
    allowed = DONE | ({"overtake"} if name == "db19" else set())
    assert {"receive", "request", "timeout", "cut", "heal", *(allowed - DONE)} <= made <= allowed


def test_a_step_is_told_with_the_lab_s_messages() -> None:
    choices = (Receive(1, 2), Timeout(1), Settle(6))
    told = explain(schedule_of("db19", None, 2, choices))
    assert told.moments[0].action == "← p2 LookForLeader(⟨0,0⟩, epoch 0)"
    assert told.initial[1][""] == "looks, votes p1"
    assert {kind for moment in told.moments for text, _ in moment.sent for kind in [text.partition("(")[0]]} == {
        "LookForLeader",
        "Vote",
        "NewEpoch",
        "AckEpoch",
        "NewLeader",
        "AckLeader",
    }


@pytest.mark.slow
def test_run_finds_minimises_and_explains(zabcheck: Command) -> None:
    result = zabcheck("run", "--protocol", "db19", "--engine", "swarm", "--seed", "1", "--property", "zxid uniqueness")
    assert result.code == 1
    assert "zxid uniqueness is violated" in result.out
    assert "decisive" not in result.out, "nobody can be named leader, so nothing can be tried"
    written = [line for line in result.out.splitlines() if line.startswith("wrote ")]
    schedule = written[0].removeprefix("wrote ")
    assert zabcheck("replay", schedule).code == 1
    assert zabcheck("explain", schedule).code == 1


def test_an_exhaustive_search_does_not_know_it(zabcheck: Command) -> None:
    result = zabcheck("explore", "--protocol", "db19")
    assert (result.code, result.out) == (2, "")
    assert result.err.startswith("zabcheck: --protocol db19: expected one whose processes follow whom an oracle names")
