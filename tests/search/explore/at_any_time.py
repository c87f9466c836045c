"""The processes that an exhaustive search came across, which reductions may not make fewer."""

from zabcheck.search.explore.space import Space
from zabcheck.simulation.next_state import LocalProcess


def processes_at_any_time(searched: Space) -> list[LocalProcess]:
    """Return each process of a state that was visited, and of those between moves that are made at once.

    Those between are in no state that is kept.
    """
    states = searched.local_states
    at_once = (expansion.moves for expansion in states.expansions.values() if expansion.at_once)
    numbers = {number for row in searched.rows() for number in row[:-2]}
    numbers |= {move.local_state for moves in at_once for move in moves}
    return [searched.components.processes[states.made_of[number][0]] for number in numbers]
