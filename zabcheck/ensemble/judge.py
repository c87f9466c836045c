"""What is said of one run: the properties, the steps, and what else is wrong, from its recording."""

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from invariants import Verdict, check
from zabcheck.ensemble.lives import read_lives
from zabcheck.ensemble.observe import Observation, observe_lives
from zabcheck.ensemble.steps import Judgement, judge_recording


class Judged(NamedTuple):
    """One run, judged."""

    folder: Path
    observation: Observation
    verdicts: list[Verdict]
    steps: Judgement

    @property
    def violated(self) -> list[str]:
        """The names of the properties that are violated."""
        return [verdict.property for verdict in self.verdicts if verdict.status == "violated"]


def judge(folder: Path, properties: Sequence[str] | None = None) -> Judged:
    """Judge the recording in `folder`. O(records and lines of logs)."""
    observation = observe_lives(read_lives(folder))
    verdicts = check(observation.trace(), properties)
    return Judged(folder, observation, verdicts, judge_recording(folder))
