"""What processes can do, and what properties know, found out once and looked up by number from then on.

`components` has processes and connections, and what a choice makes of them. `local_states` puts together of these what
a process can do, and `monitors` has what the properties still need to know. `successors` puts both together: what comes
after a state, as far as `reduction` does not leave it out. Which state stands for others is told by `symmetry`.
"""
