"""The run that leads to a state, rebuilt from the predecessor and choice that a search keeps of each state."""

from itertools import pairwise
from typing import Protocol

from zabcheck.explore.states.compact import How, InArrays
from zabcheck.explore.tables.local_states import STOPS_READING, LocalStates
from zabcheck.explore.tables.renaming import Names, renamed_choice
from zabcheck.explore.tables.successors import Row, Successors
from zabcheck.simulation.choices import AnyChoice


class FoundStates(Protocol):
    """The states that a search has found, and how it has found each."""

    local_states: LocalStates
    successors: Successors
    namings: dict[Names, int]
    """The number of each renaming."""

    @property
    def states(self) -> InArrays: ...

    def canonical(self, row: Row) -> tuple[Row, Names]: ...


def run_to(space: FoundStates, state: int) -> tuple[tuple[AnyChoice, ...], Names]:
    """Return the choices that lead to a state, and their names for each process, by its name in the state's row.

    The state is counted from 0 on in the order of `Space.rows`. O(steps).
    """
    known, namings = space.states, list(space.namings)
    found, how = [next(known.rows(state, state + 1))], list[How]()
    while state:
        how.append(known.how(state))
        state = how[-1].before
        found.append(next(known.rows(state, state + 1)))
    choices: list[AnyChoice] = []
    originally = tuple(range(len(space.local_states.components.ids) + 1))  # by the present name of a process
    for (before, after), (_, by, naming) in zip(pairwise(reversed(found)), reversed(how), strict=True):
        names = namings[naming]
        for number in _path(space, before, by, after, names):
            if number != STOPS_READING:
                choice = space.local_states.choices[number]
                assert choice is not None
                choices.append(renamed_choice(choice, originally))
        back = {name: process for process, name in enumerate(names)}
        originally = tuple(originally[back[name]] for name in range(len(names)))
    return tuple(choices), originally


def _path(space: FoundStates, row: Row, first: int, after: Row, names: Names) -> list[int]:
    """Return the numbers of all choices that lead from this state, in one transition of the search, to another."""
    for found in space.successors.of(row):
        if found.first == first and (after, names) == space.canonical(tuple(found.row)):
            return found.choices()
    raise AssertionError("a state was reached from the one before it")
