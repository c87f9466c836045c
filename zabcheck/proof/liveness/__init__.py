"""A proof of Zab's liveness, for any number of processes, connections and transactions (DSN 2011, VI-D, claim 7).

`iteration` and `steps` are another abstraction of Zab than that of safety: one iteration of a leader, in which a
message has to be sent before it arrives. `conjuncts` is its invariant, `stages` has the rule by which liveness follows.
"""
