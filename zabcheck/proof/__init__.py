"""A proof of Zab for any number of processes, quorums, epochs, transactions and faults.

An abstraction of Zab (`relations`, `steps`), an inductive invariant of it (`conjuncts`) and what follows (`properties`)
are formulas (`logic`); `obligations` says what has to be shown, `prover` decides it with a solver.
"""
