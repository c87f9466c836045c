"""Exhaustive search: every state that a protocol can reach within stated bounds.

There are very many states, made of few distinct *parts*: processes and connections (`parts`). What a choice does
depends on the process that moves and on its connections alone, and changes no other. So the simulator executes it once
for each of these, with the protocol's own step functions; from then on it is looked up (`members`). There is no second
model. The same holds for the properties: what a judge makes of the events of a step depends on what it knew before,
its *ghost*, and on these events (`ghosts`). So a state is a row of numbers: a member for each process, which is that
process with the connections that it has opened, then what the bounds have left, and a ghost.

What comes after a state is in `successors`, the search itself in `space`, breadth first. Within a level the order is
that of discovery: the result is the same on every machine, for any number of `workers`. States that differ in the names
of processes alone are one (`symmetry`), and of moves that commute one order is tried (`reduction`). That keeps no
lengths, so where something breaks, a search without it follows (`shortest`). `liveness` asks of each state of a search
whether a leader gets on from there.
"""
