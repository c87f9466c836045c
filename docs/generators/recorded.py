"""The minimised schedules that the tests keep: one for each known bug and each property that it breaks."""

from docs.generators.output import ROOT
from zabcheck.simulation.schedule import Schedule, load

FOLDER = ROOT / "tests/schedules"


def recorded(mutant: str, property_: str) -> Schedule:
    """Return the schedule with which a mutant breaks a property. Raises FileNotFoundError if none was recorded."""
    path = FOLDER / f"{mutant}.{property_.replace(' ', '-')}.json"
    return load(path.read_bytes(), path.name)
