"""The moves of processes and the states of properties, computed once and looked up by number from then on.

`components` has processes and connections, and the outcomes of choices. `local_states` puts a process's moves together
from these, and `monitors` has the facts that the properties still need. `successors` puts both together: the
successors of a state, except for those that `reduction` leaves out. `symmetry` picks the states that stand for others.
"""
