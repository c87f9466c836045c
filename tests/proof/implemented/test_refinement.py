"""The link from the proof of implemented Zab to the model: each step of the model is steps of the proof, or none."""

from pathlib import Path

import pytest

from docs.generators.zookeeper import extracted
from tests.cli.command import ROOT
from tests.proof.implemented.refinement import Companion, transitions
from tests.tiers import sweep
from tests.zookeeper.model.test_search import KEPT, kept
from zabcheck.explore.bounds import Bounds
from zabcheck.invariants.quorums import Quorums, quorums_of
from zabcheck.proof.implemented.steps import STEPS
from zabcheck.search.run import Search, replay_on
from zabcheck.search.swarm import drive
from zabcheck.zookeeper.conformance.conform import conform
from zabcheck.zookeeper.model import ZOOKEEPER
from zabcheck.zookeeper.model.switches import Defects, Grain, ZooKeeperSwitches
from zabcheck.zookeeper.model.threads import SEPARATE

GRAINS = [grain for grain in SEPARATE if grain < "G5"]


RARE = {"load": ("G2", 21), "load snapshot": ("G2", 71), "apply unsaved": ("G3", 12)}
"""Steps that few runs take, each with the grain and the seed of one: a COMMIT behind SNAP, and a power loss between two
files."""


def followed(grain: str, processes: int, seed: int) -> set[str]:
    """The names of the steps that a random run is; it is steps of the proof to its end."""
    elections = "fle" if seed % 3 == 1 else "oracle"
    fixed = {"version": "3.9.5", "defects": "none", "grain": grain, "elections": elections}
    one = Companion(Quorums(processes))
    drive(Search(one.protocol, processes, (), 1, 100, quorums=Quorums(processes), fixed=fixed), [], seed)
    assert one.refused is None, seed
    assert one.followed > 20
    return {step.name for step, _ in one.refinement.taken}


@pytest.mark.parametrize(
    ("grain", "processes", "runs"),
    sweep(
        [("G2", 3, 60), ("G3", 5, 20), *((grain, 3 + 2 * (number % 2), 120) for number, grain in enumerate(GRAINS))],
        [("G2", 3, 60), ("G3", 5, 20)],
    ),
)
def test_each_step_of_the_repaired_model_is_steps_of_the_proof(grain: Grain, processes: int, runs: int) -> None:
    taken = {name for seed in range(runs) for name in followed(grain, processes, seed)}
    assert {step.name for step in STEPS} - taken <= {*RARE, "truncate"}


@pytest.mark.parametrize("step", RARE)
def test_the_rare_steps_are_taken_too(step: str) -> None:
    grain, seed = RARE[step]
    assert step in followed(grain, 3, seed)


def within_bounds(defects: Defects, grain: Grain = "G2") -> ZooKeeperSwitches:
    return ZooKeeperSwitches(sync="separate", elections="oracle", version="3.9.5", defects=defects, grain=grain)


@pytest.mark.parametrize(
    ("bounds", "grain", "reduction", "number"),
    sweep(
        [
            (Bounds(2, 2, 1, 1, 1), "G2", False, 5_637),
            (Bounds(2, 2, 2, 1, 1), "G4", False, 30_267),
            (Bounds(3, 2, 1, 0, 1), "G0", True, 26_201),
        ],
        [(Bounds(2, 2, 1, 1, 1), "G2", False, 5_637)],
    ),
)
def test_each_transition_within_bounds_is_steps_of_the_proof(
    bounds: Bounds, grain: Grain, reduction: bool, number: int
) -> None:
    counted = 0
    for one in transitions(bounds, within_bounds("none", grain), reduction=reduction):
        assert one.refused is None
        counted += 1
    assert counted == number


@pytest.mark.slow
def test_with_a_defect_a_transition_within_bounds_is_refused() -> None:
    *_, last = transitions(Bounds(3, 2, 1, 0, 1), within_bounds("n1"), reduction=True)
    assert last.refused is not None
    assert last.refused.by == "commit"


REFUSED = {
    "335": "accepted_epoch current_epoch",
    "790": "write epoch",
    "962": "append",
    "1154": "diff",
    "1264": "apply",
    "1282": "acknowledge",
    "1319": "write epoch",
    "1343": "promise",
    "1489": "ack",
    "2355": "write epoch",
    "2832": "tree",
    "2832-differ": "tree",
    "2845": "tree",
    "2846-gap": "append",
    "2846-abandoned": "append",
    "3598": "write epoch",
    "3598-agreement": "write epoch",
    "3642": "tree",
    "3911": "write epoch",
    "4311": "accepted_epoch current_epoch",
    "4409": "log",
    "4643": "write epoch",
    "4646": "write epoch",
    "4712-halted": "tree",
    "4712-leaks": "log tree",
    "4712c": "tree",
    "4837": "apply unsaved",
    "4837-skipped": "append",
    "4882": "log tree",
    "4925": "append",
    "5094": "tree",
    "5094-weights": "tree",
    "n1": "commit",
    "n2": "apply unsaved",
    "n3": "forced",
    "n3-weights": "forced",
    "n4": "crash",
}
"""For each kept run of a defect the step that the proof refuses, or what its server shows that no step makes."""
FOLLOWED = ["2872", "3104"]
"""The others: one ends with the power loss that it needs, and what the other loses is data of nodes."""


@pytest.mark.parametrize("schedule", REFUSED)
def test_a_run_of_a_defect_is_refused(schedule: str) -> None:
    run = kept(schedule)
    one = Companion(quorums_of(run.quorums, run.processes))
    replay_on(one.protocol, run, ZOOKEEPER.properties)
    assert one.refused is not None
    assert one.refused.by == REFUSED[schedule]


RECORDINGS = {
    "healthy-3.8.0": None,
    "lost-write-3.8.0": "write epoch",
    "2832-3.9.5": "tree",
    "4409-3.8.0": "log",
    "4541-3.8.0": "log",
    "4643-3.8.0": "write epoch",
    "4646-3.8.0": "write epoch",
    "4837-3.9.5": "apply unsaved",
    "4925-3.9.3": "append",
    "5094-3.8.0": "truncate",
    "5094-3.9.5": "truncate",
    "ack-before-trunc-3.9.5": "commit",
    "applied-again-3.8.0": "truncate",
    "late-set-3.9.5": None,
    "numbered-not-applied-3.8.0": "tree",
    "stale-log-3.9.5": "truncate",
    "trunc-keeps-one-3.9.5": "apply unsaved",
    "unforced-snapshot-3.9.3": "truncate",
}
"""Recordings of real servers, each with what the proof refuses of the model's run that explains it, as in `REFUSED`."""


@pytest.mark.parametrize("recording", sweep(RECORDINGS, ["healthy-3.8.0", "4925-3.9.3", "ack-before-trunc-3.9.5"]))
def test_a_recording_is_refused_at_its_defect(recording: str, tmp_path: Path) -> None:
    folder = ROOT / "tests/zookeeper" / recording
    run = conform(folder if folder.is_dir() else extracted(recording, tmp_path)).schedule
    assert run is not None
    one = Companion(quorums_of(run.quorums, run.processes))
    replay_on(one.protocol, run, ZOOKEEPER.properties)
    assert one.followed > 50
    assert (one.refused and one.refused.by) == RECORDINGS[recording]


def test_every_kept_run_of_a_defect_is_judged() -> None:
    assert sorted([*REFUSED, *FOLLOWED]) == sorted(KEPT)
