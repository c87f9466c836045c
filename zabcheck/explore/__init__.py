"""Exhaustive search: every state that a protocol can reach within stated bounds. Call `explore` or `certify`.

There are very many states, made of few distinct components, processes and connections; each of these is stored once
and has a number (`components`, as in SPIN's collapse compression). The outcome of a choice depends on the process that
moves and on its connections alone, and changes no other. So it is executed once for each combination of these, with the
protocol's own step functions; from then on it is looked up (`local_states`). There is no second model. The same holds
for the properties: a judge's state after the events of a step depends on these events and on its state before, its
*monitor* (`monitors`); `judges` has what that needs of each property. So a state is a row of numbers: a local state for
each process, which is that process with the connections that it has opened, then the part of the bounds that is used,
and a monitor.

`successors` computes the successors of a state; `space` is the search itself, breadth first. The states are kept by
`compact`, and by `spilled` once memory is used up; many at once are expanded by `at_once`. Within a level the order is
that of discovery: the result is the same on every machine. States that differ only in the names of processes are one
(`symmetry`), and of moves that commute one order is tried (`reduction`). That keeps no lengths, so where something
breaks, a search without it follows (`shortest`). `liveness` checks for each state of a search that a leader makes
progress from there. `exploration` puts all this together, and replays the runs that are found.
"""

from zabcheck.explore.bounds import UNLIMITED, Bounds
from zabcheck.explore.exploration import CannotExplore, certify, explore
from zabcheck.explore.results import Exploration

__all__ = ["UNLIMITED", "Bounds", "CannotExplore", "Exploration", "certify", "explore"]
