"""Decides if a recording of a real ensemble is a run of the model of that version (the protocol `zookeeper`).

Each server is explained by itself: `observations` has what the recording shows of it, in order; `attempt` is a state
of the model that explains a beginning of that, `moves` are the choices from there; `search` looks for one that explains
all.
`merge` puts the runs of the servers together into one schedule, and `conform` gives the verdict. `story` makes a page
of the first difference of a recording, or of servers that execute a run, from the model.
The other way round, `on_servers` makes a schedule for real servers from a run of the model: `by_vote` gives it
elections as servers have them, `held_threads` holds their threads between turns.
`gate` sums up executions of a patched ZooKeeper, conformance included.
"""
