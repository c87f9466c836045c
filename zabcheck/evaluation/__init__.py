"""The evaluation of DSN 2011, VII, in simulated time: the protocol's own steps on a network and disks with costs.

`costs` says what takes how long, `cluster` runs servers by it, `measure` puts load on them and reads the clock.
"""
