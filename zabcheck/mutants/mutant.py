"""A known bug: the steps that it takes instead of the right ones, and what is known about it."""

from functools import partial
from typing import Any

from msgspec import Struct, structs

from zabcheck.protocols.base import AddedState, Elected, Lost, Message, Protocol, Start, Step, Stimulus, TimedOut

_BETWEEN_ITERATIONS = (Elected, Lost, TimedOut)
"""The stimuli by which an iteration begins or ends."""


class Mutant(Struct, frozen=True):
    """One known bug of a protocol."""

    name: str
    protocol: str
    """The name of the protocol that it is a bug of."""
    wrong: str
    """A sentence without its full stop that says which step is wrong, and how."""
    source: str
    """The source of the bug."""
    breaks: tuple[str, ...]
    """The properties that break: first the one that breaks first in the shortest run, then those judged alone."""
    faults: str
    """The least faults that it takes."""
    steps: dict[type[Message] | type[Stimulus], Step]
    """The steps that it takes instead of the protocol's."""
    replaces: dict[str, Any] = {}
    """Other fields of the `Protocol` that are replaced, by name."""
    processes: int = 3
    """The number of processes with which a search shows the bug soon."""
    state: type[AddedState] | None = None
    """Variables that the bug adds to those of a process; each field has a default."""
    is_whole: bool = False
    """True if the protocol of that name has the bug as it is: nothing is planted."""
    within: tuple[str, ...] = ()
    """The bugs that break whatever this one was seen to break, and more: only schedules of theirs tell them from it."""

    @property
    def commutes(self) -> bool:
        """True if its moves commute where the protocol's do (`zabcheck.explore.tables.reduction`).

        That is not taken for granted where iterations begin or end in another way than those of the protocol.
        """
        return not any(kind in self.steps for kind in _BETWEEN_ITERATIONS) and "abandon" not in self.replaces

    def apply(self, protocol: Protocol) -> Protocol:
        """Return the protocol with this bug."""
        bug = structs.replace(
            protocol,
            **{
                "mutant": self.name,
                "steps": {**protocol.steps, **self.steps},
                "commutes": protocol.commutes and self.commutes,
                **self.replaces,
            },
        )
        return bug if self.state is None else structs.replace(bug, start=partial(_start_with, bug.start, self.state))


def _start_with(start: Start, state: type[AddedState], *of_the_process: Any) -> Any:
    """Start a process with the state that a mutant adds."""
    process = start(*of_the_process)
    process.added = state()
    return process
