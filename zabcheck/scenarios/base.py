"""What a scenario is: a run that a paper argues with, as data, and the outcome that it must have."""

from collections.abc import Mapping

from msgspec import Struct

from invariants import End, Event, Header
from invariants.quorums import MAJORITY
from zabcheck.protocols.switches import LETTER, Switches
from zabcheck.simulation.choices import AnyChoice
from zabcheck.simulation.schedule import Schedule

_MOST, _LAST = 12, 4
"""So many transactions are told, or so many of the last ones."""


class Written(Struct, frozen=True):
    """A trace written by hand, as a figure draws it: the events of its processes, in the order of time."""

    processes: int
    events: tuple[Event, ...]

    @property
    def trace(self) -> list[Event]:
        """With its header and its end."""
        return [Header(1, self.processes, "written by hand"), *self.events, End(len(self.events))]


class Outcome(Struct, frozen=True):
    """What has to come of a run. What is not named does not matter.

    `violated` is the property that has to break, and `witness` is what has to be said of it. With None nothing breaks
    that was judged. `holds` names properties that have to be exercised, and to hold. `judged_by` is None for those of
    the protocol. `delivered` is by process what its last incarnation has delivered first, in order, `histories` what is
    in its log in the end; both as texts with a blank between the transactions: "a⟨1,1⟩ b⟨1,2⟩". `goals` are those that
    have to be reached.
    """

    violated: str | None = None
    witness: str | None = None
    holds: tuple[str, ...] = ()
    judged_by: tuple[str, ...] | None = None
    delivered: Mapping[int, str] = {}
    histories: Mapping[int, str] = {}
    goals: tuple[str, ...] = ()

    def sentences(self) -> list[str]:
        """The outcome in words, a sentence each."""
        said = ["No property is violated." if self.violated is None else f"Violated: {self.violated}."]
        if self.witness is not None:
            said = [f"Violated: {self.violated}, for {self.witness}."]
        if self.holds:
            said.append(f"Exercised, and not violated: {', '.join(self.holds)}.")
        said += [f"p{process} delivers {_or_nothing(txns)}." for process, txns in self.delivered.items()]
        said += [f"p{process} has in its log {_or_nothing(txns)}." for process, txns in self.histories.items()]
        said += [f"Reached: {goal}." for goal in self.goals]
        return said


def _or_nothing(txns: str) -> str:
    """Of many the first one and the last ones."""
    first, *others = txns.split() or ["nothing"]
    if len(others) > _MOST:
        return f"{first} … {' '.join(others[-_LAST:])}, {len(others) + 1} in all"
    return txns or "nothing"


class Scenario(Struct, frozen=True):
    """A run to learn from. `shows` is two or three sentences; `source` names the paper, and the section or figure."""

    name: str
    title: str
    source: str
    shows: str
    run: Schedule | Written
    outcome: Outcome


def scheduled(
    protocol: str,
    processes: int,
    *choices: AnyChoice,
    mutant: str | None = None,
    switches: Switches = LETTER,
    quorums: str = MAJORITY,
) -> Schedule:
    """The run of these choices, coarse ones among them."""
    return Schedule(1, protocol, processes, choices, mutant, quorums, None, switches)
