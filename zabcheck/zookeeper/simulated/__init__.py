"""ZooKeeper's own servers, simulated in one JVM: one thread at a time, in virtual time, the same seed the same bytes.

java/             the simulation: a class loader that rewrites ZooKeeper's classes, a scheduler, a network
simulator.py      one JVM with it, which executes one run after another
ensemble.py       servers, links and clients of a run, as schedules see them
execute.py        a schedule on them, with a recording as real processes leave it
"""
