"""How far a search is, and what it has found."""

from typing import NamedTuple

from msgspec import Struct

from zabcheck.simulation.choices import AnyChoice


class Progress(NamedTuple):
    """How far a search is: distinct states, those of them that were expanded, transitions, the level, and how many
    bytes of the states are in files.
    """

    states: int
    expanded: int
    transitions: int
    depth: int
    on_disk: int = 0


class Explored(Struct, frozen=True):
    """What a search found. The run of `choices` violates the property `broken`, or the protocol's code has `raised`.

    Without partial-order reduction no run is shorter. `whole`: every state was expanded, and nothing is broken.
    `interrupted`: Ctrl-C ended the search before that.
    `tried`: without partial-order reduction, every run of up to this number of steps was tried. `switched_off` counts
    the moves that each bound forbade, by its name. `exercised` says for each property whether there was anything to
    judge. `goals` are those that some run was seen to reach. `components`: how many different processes, connections
    and monitors the states are made of.
    """

    states: int
    transitions: int
    depth: int
    whole: bool
    tried: int
    broken: str | None
    raised: bool
    choices: tuple[AnyChoice, ...]
    switched_off: dict[str, int]
    exercised: dict[str, bool]
    goals: tuple[str, ...]
    components: int
    interrupted: bool = False
