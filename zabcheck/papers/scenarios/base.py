"""A scenario: a run that a paper argues with, as data, and the outcome that it must have."""

from collections.abc import Mapping

from msgspec import Struct

from zabcheck.invariants import End, Event, Header
from zabcheck.invariants.quorums import MAJORITY
from zabcheck.protocols.switches import LETTER, Switches
from zabcheck.simulation.choices import AnyChoice
from zabcheck.simulation.schedule import Schedule

_MOST, _LAST = 12, 4
"""The most transactions of a text that are shown after its first, and how many of the last ones if there are more."""


class HandWrittenTrace(Struct, frozen=True):
    """A trace written by hand, as a figure draws it: the events of its processes, in the order of time."""

    processes: int
    events: tuple[Event, ...]

    @property
    def trace(self) -> list[Event]:
        """The whole trace: header, events, end."""
        return [Header(1, self.processes, "written by hand"), *self.events, End(len(self.events))]


class Outcome(Struct, frozen=True):
    """The outcome that a run must have. Anything else does not matter.

    `violated`: the property that has to break; None: no property breaks that the run is judged by.
    `witness`: the summary of that violation for a reader, if its witness matters (`Scenario.witness`).
    `holds`: the properties that have to be exercised and to hold.
    `judged_by`: the properties, or groups of them, that judge the run; None: those of the protocol.
    `delivered`: for each process the first deliveries of its last incarnation, in order.
    `histories`: for each process its log at the end. Both are texts with a blank between transactions:
    "a⟨1,1⟩ b⟨1,2⟩".
    `goals`: the goals that have to be reached.
    """

    violated: str | None = None
    witness: str | None = None
    holds: tuple[str, ...] = ()
    judged_by: tuple[str, ...] | None = None
    delivered: Mapping[int, str] = {}
    histories: Mapping[int, str] = {}
    goals: tuple[str, ...] = ()

    def sentences(self) -> list[str]:
        """Return the outcome in words, one sentence for each demand."""
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
    """Return the transactions as text, shortened in the middle if there are many; "nothing" if there are none."""
    first, *others = txns.split() or ["nothing"]
    if len(others) > _MOST:
        return f"{first} … {' '.join(others[-_LAST:])}, {len(others) + 1} in all"
    return txns or "nothing"


class Scenario(Struct, frozen=True):
    """A run to learn from, and its outcome.

    `shows` says in two or three sentences what the run shows; `source` names the paper and the section or figure.
    `witness`: the events that have to break the property of the outcome; empty if any may.
    """

    name: str
    title: str
    source: str
    shows: str
    run: Schedule | HandWrittenTrace
    outcome: Outcome
    witness: tuple[Event, ...] = ()


def scheduled(
    protocol: str,
    processes: int,
    *choices: AnyChoice,
    mutant: str | None = None,
    switches: Switches = LETTER,
    quorums: str = MAJORITY,
) -> Schedule:
    """Return the run of these choices, which may be coarse."""
    return Schedule(1, protocol, processes, choices, mutant, quorums, None, switches)
