"""The proof's properties on recordings of real ensembles: the first event that is no step of Zab."""

from pathlib import Path

import zabcheck.proof.monitors  # noqa: F401  # adds the properties
from docs.generators.zookeeper import extracted
from invariants import check
from zabcheck.ensemble.verdict.judge import judge

RECORDINGS = Path(__file__).parents[1] / "ensemble"


def summary(folder: Path, name: str) -> str | None:
    """What is wrong with a recording by one property; None if nothing is."""
    [verdict] = judge(folder, [name]).verdicts
    assert verdict.judged > 30
    return None if verdict.violation is None else verdict.violation.summary


def test_a_healthy_ensemble_takes_steps_of_the_abstraction() -> None:
    folder = RECORDINGS / "healthy-3.8.0"
    assert summary(folder, "refinement") is None
    assert summary(folder, "proof") is None


def test_a_forgotten_acknowledgement_is_seen_before_anybody_is_harmed(tmp_path: Path) -> None:
    folder = extracted("ack-before-trunc-3.9.5", tmp_path)
    refused, outside = summary(folder, "refinement"), summary(folder, "proof")
    assert refused == (
        "p3 (incarnation 1) provides its history up to ⟨1,3⟩ for epoch 2: that is no instance of step f.1.2 (promise)"
    )
    assert outside is not None
    assert "`not choosable` is false, for e = epoch 1, f = epoch 2, t = c2.1⟨1,4⟩" in outside
    six = check(judge(folder, ["core"]).observation.trace(), ["core"])
    assert "violated" not in [verdict.status for verdict in six]
