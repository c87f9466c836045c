"""The result of an exhaustive search, in a form that does not depend on the order in which it fills its tables.

The numbers of components do; and many states at once are expanded in another order than one by one.
"""

from collections import Counter
from typing import Any

from zabcheck.explore.results import SearchResult
from zabcheck.explore.space import Space
from zabcheck.explore.tables.digests import Digests


def states_of(searched: Space) -> list[tuple[int, ...]]:
    """Return all states in the order of discovery: what was used, and digests of local states and of the monitor."""
    digests, size = Digests(searched.components), len(searched.components.ids)
    made_of, monitors = searched.local_states.made_of, searched.monitors
    local_states = [digests.of(each) for each in made_of]
    rows = searched.rows()
    return [(*map(local_states.__getitem__, row[:size]), row[size], monitors.digest(row[-1])) for row in rows]


def everything(searched: Space, **options: Any) -> tuple[object, ...]:
    """Search; return what was found, every state in order, how it was found, and how much was put into the tables."""
    return all_of(searched, searched.explore(**options))


def all_of(searched: Space, explored: SearchResult) -> tuple[object, ...]:
    """Return the same after a search that has found this."""
    how = [searched.states.how(state) for state in range(explored.states)]
    filled = Counter(table for table, _ in searched.components.journal if table != "kinds")  # asked for early or late
    return explored, states_of(searched), how, filled if explored.whole else None
