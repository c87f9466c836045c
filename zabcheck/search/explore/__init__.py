"""Exhaustive search: every state that a protocol can reach within stated bounds.

A state is made of *parts*: one a process (its variables, its disk, whom it follows), one a connection (its two ends and
what is under way), what the bounds have left, and what each property still needs to know. There are few distinct parts
and very many states, so a part is a number, and a state a row of numbers.

What a choice does depends on the parts of the process that moves and of its connections alone, and changes no other. So
the simulator executes it once for each such row of parts (`parts`), with the protocol's own step functions; from then
on it is looked up. There is no second model. The same holds for the properties (`ghosts`): what a judge makes of the
events of a step depends on what it knew before and on these events.

The search is breadth first (`space`), a step at a time, so the first violation that it meets has the shortest run there
is within the bounds, in fine steps. Within a level the order is that of discovery: the result is the same on every
machine.
"""
