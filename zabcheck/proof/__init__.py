"""A proof of Zab for any number of processes, quorums, epochs, transactions and faults.

An abstraction of Zab (`relations`, `steps`), an inductive invariant of it (`conjuncts`) and its consequences
(`properties`) are formulas (`logic`); `obligations` makes the proof obligations, `prover` decides them with a solver.
`liveness` has another abstraction, and the theory of what an undisturbed leader gets done; `implemented` has one of
servers with files and memory, as ZooKeeper implements Zab.
"""
