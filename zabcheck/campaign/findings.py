"""A finding of a campaign: the runs that broke one property in one way."""

from msgspec import Struct

FINDINGS = "findings"
"""The folder that they are in, of a campaign's folder."""
INDEX = f"{FINDINGS}/findings.json"


class Finding(Struct, frozen=True):
    """What violating runs came down to when they were minimised.

    `property` is "raised" if the protocol's own code raised. `runs` is how many came down to this, `run` the number of
    the first and `seed` its seed; `steps` are those of the minimised schedule. `schedule` and `report` are names of
    files in `findings/`. `how` names the kinds of choices that it takes, but for mere progress.
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
