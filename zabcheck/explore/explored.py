"""How far a search is, what it has found, and what that shows."""

from collections.abc import Mapping
from typing import NamedTuple

from msgspec import Struct, field

from zabcheck.search.run import Replay
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
    and monitors the states are made of. `exercised` and `goals` are of levels that are over, and so are the others if
    something breaks; what is broken counts as exercised.
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


class Exploration(Struct, frozen=True):
    """What an exhaustive search has shown.

    `whole`: every state within the bounds was expanded, and none breaks anything; only then something is proved.
    `interrupted`: Ctrl-C ended the search, or what follows it, before that.
    `broken` is the property that the `counterexample` violates; both are None if nothing was found, and `broken` alone
    if the protocol's code raised. `steps` is the length of the counterexample, 0 if there is none. No run of up to
    `tried` steps breaks anything. `certified` is the length of the run that was to be certified, or 0.

    `followed`: from how many pairs of a state and a leader with a quorum it was followed what that leads to when nobody
    disturbs it, 0 if that was not asked; `trap`: what came of the first that does not get on (`undisturbed.Trap`).
    `exercised`: the properties that had something to judge in some state; `unexercised`: the others, of which nothing
    is proved. `goals`: those that a run was seen to reach; `unreached`: the others. `switched_off`: how many different
    moves each bound forbade, by its name.

    `bounds` and `settings` tell in words how far the search went. `symmetry`, `reduction`, `states`, `transitions`,
    `depth` (levels) and `components` (of which the states are made) are of the last search: one for the shortest run,
    that follows if something breaks, never reduces. `symmetry`: states that differ in the names of processes alone were
    taken for one. `reduction`: only one order of moves that commute was tried. `seconds` is CPU time.
    """

    protocol: str
    mutant: str | None
    bounds: str
    settings: tuple[str, ...]
    symmetry: bool
    reduction: bool
    states: int
    transitions: int
    depth: int
    components: int = field(name="parts")
    whole: bool
    broken: str | None
    steps: int
    tried: int
    certified: int
    followed: int
    trap: str | None
    exercised: tuple[str, ...]
    unexercised: tuple[str, ...]
    goals: tuple[str, ...]
    unreached: tuple[str, ...]
    switched_off: Mapping[str, int]
    seconds: float
    counterexample: Replay | None
    interrupted: bool = False

    @property
    def raised(self) -> bool:
        """Whether the counterexample is one because the protocol's code raises."""
        return self.counterexample is not None and self.counterexample.raised is not None
