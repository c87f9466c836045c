"""The evaluation of DSN 2011, VII, in simulated time: the protocol's own steps on a network and disks with costs.

`costs` says how long everything takes, `cluster` runs servers at these costs, `measure` puts load on the servers and
reads the clock, and `plan` decides which runs are made. `results` has the figures, `report` shows them in
the terminal, and `plots` draws them.
"""
