"""The findings of a campaign: each stands for the runs that broke one property in one way."""

from msgspec import Struct

FINDINGS = "findings"
"""The folder of the findings, in the campaign's folder."""
INDEX = f"{FINDINGS}/findings.json"
RAISED = "raised"
"""Stands in place of a property if the protocol's own code raised."""
ERROR = "error"
"""Stands in place of a property if the modelled code has an error, which ends the run."""


class Finding(Struct, frozen=True):
    """The common result of minimising one or more failing runs.

    `property` is RAISED or ERROR if none is violated. `runs` is the number of runs with this result,
    `run` the number of the first of them and `seed` its seed; `steps` is the length of the minimised schedule.
    `schedule` and `report` are names of files in `findings/`. `how` names the kinds of choices in the schedule, apart
    from those that are mere progress.
    """

    mutant: str | None
    property: str
    runs: int
    run: int
    seed: str
    steps: int
    summary: str
    schedule: str
    report: str
    how: str = ""
