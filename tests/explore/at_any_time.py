"""The processes that an exhaustive search came across, which reductions may not make fewer."""

from collections.abc import Iterator

from zabcheck.explore.portions import Portions
from zabcheck.explore.space import Space
from zabcheck.simulation.next_state import LocalProcess


def processes_at_any_time(searched: Space) -> list[LocalProcess]:
    """Return each process of a state that was visited, and of those between moves that are made at once.

    Those between are in no state that is kept.
    """
    states = searched.local_states
    numbers = {number for row in searched.rows() for number in row[:-2]} | {*_after_moves_at_once(searched)}
    return [searched.components.processes[states.made_of[number][0]] for number in numbers]


def _after_moves_at_once(searched: Space) -> Iterator[int]:
    """Return the local states after moves that are made at once, one by one or in many states."""
    for expansion in searched.local_states.expansions.values():
        if expansion.at_once:
            yield from (move.local_state for move in expansion.moves)
    if isinstance(searched._portions, Portions) and searched._portions.many is not None:
        arrays = searched._portions.many._arrays
        for start, count, at_once in zip(arrays.start, arrays.count, arrays.at_once, strict=True):
            if at_once:
                yield from arrays.moves.local_state[start : start + count].tolist()
