"""The progress of a search, its result, and the result of an exploration."""

from collections.abc import Mapping
from typing import NamedTuple

from msgspec import Struct, field

from zabcheck.search.run import Replay
from zabcheck.simulation.choices import AnyChoice


class Progress(NamedTuple):
    """The progress of a search."""

    states: int
    """The number of visited states."""
    expanded: int
    """The number of those that are expanded."""
    transitions: int
    depth: int
    """The number of the level, from 1 on."""
    on_disk: int = 0
    """Bytes of the states that are in files."""


class SearchResult(Struct, frozen=True):
    """The result of one search. Figures are of levels that are over if something breaks."""

    states: int
    transitions: int
    depth: int
    """The number of levels."""
    whole: bool
    """True if every state was expanded, and nothing is broken."""
    tried: int
    """Without partial-order reduction, every run of up to this number of steps was tried."""
    broken: str | None
    """The name of the property that the run of `choices` violates; it counts as exercised."""
    raised: bool
    """True if the protocol's code raised at the end of the run of `choices`."""
    choices: tuple[AnyChoice, ...]
    """The run; without partial-order reduction no other one that breaks something is shorter."""
    switched_off: dict[str, int]
    """The number of different moves that each bound forbade, by its name."""
    exercised: dict[str, bool]
    """For each property, by name, True if a level that is over had something to judge."""
    goals: tuple[str, ...]
    """The names of the goals that some run was seen to reach in a level that is over."""
    components: int
    """The number of different processes, connections and monitors that the states are made of."""
    limiting: tuple[str, ...] = ()
    """The names of the bounds that forbade a move which some process could have made."""
    interrupted: bool = False
    """True if Ctrl-C ended the search."""


class Exits(Struct, frozen=True):
    """The number of states in which a process has ended by itself, for good, and the reason of one such end."""

    states: int
    reason: str


class Exploration(Struct, frozen=True):
    """The result of an exhaustive search, with what follows it.

    States, transitions, levels and components are of the last search: one for the shortest run, that follows if
    something breaks, never reduces.
    """

    protocol: str
    mutant: str | None
    bounds: str
    """As text: "3 processes, 2 epochs, …"."""
    settings: tuple[str, ...]
    """As text: the quorum system if it is no majority, and each switch whose value is not that of the paper."""
    symmetry: bool
    """True if states that differ in the names of processes alone were identified."""
    reduction: bool
    """True if only one order of moves that commute was tried."""
    states: int
    transitions: int
    depth: int
    """The number of levels."""
    components: int = field(name="parts")
    """The number of different processes, connections and monitors that the states are made of."""
    whole: bool
    """True if every state within the bounds was expanded, and none breaks anything; only then something is proved."""
    broken: str | None
    """The property that the counterexample violates; None if it does not, but the protocol's code raised."""
    steps: int
    """The length of the counterexample, 0 if there is none."""
    tried: int
    """No run of up to this number of steps breaks anything."""
    certified: int
    """The length of the run that was to be certified, or 0."""
    followed: int
    """The number of pairs of a state and a leader with a quorum that were followed, undisturbed; 0 if not asked for."""
    unfinished: int
    """The number of continuations from these pairs that had no end within bounds, so that they decide nothing."""
    trap: str | None
    """The kind of the first of these that makes no progress (`undisturbed.Trap`)."""
    exercised: tuple[str, ...]
    """The properties that had something to judge in some state."""
    unexercised: tuple[str, ...]
    """The other properties, of which nothing is proved."""
    goals: tuple[str, ...]
    """The goals that a run was seen to reach."""
    unreached: tuple[str, ...]
    """The other goals."""
    unseen: Mapping[str, tuple[str, ...]]
    """Goals that no run could be seen to reach, each with the kinds of event that it needs and no run shows."""
    switched_off: Mapping[str, int]
    """The number of different moves that each bound forbade, by its name."""
    limits: Mapping[str, int]
    """The bounds that kept some process from a move, by name: a search that raises any other one visits no more."""
    left_out: tuple[str, ...]
    """Events that happen in no state because of the settings, as in "crashes that lose a write (sync=atomic)"."""
    exits: Exits | None
    """The states in which a process has ended for good; None if there is none, or nobody has looked."""
    seconds: float
    """CPU seconds."""
    counterexample: Replay | None
    interrupted: bool = False
    """True if Ctrl-C ended the search, or what follows it."""
    epochs_of_events_only: bool = False
    """True if the protocol is a class without `highest_epoch`, so that the bound on epochs knows no others."""
    unwritten: OSError | None = None
    """The reason why the last checkpoint could not be written, if it could not."""

    @property
    def raised(self) -> bool:
        """True if the counterexample is one because the protocol's code raises."""
        return self.counterexample is not None and self.counterexample.raised is not None
