"""Is a recording of a real ensemble a run of the model of that version (the protocol `zookeeper`)?

Each server is gone through by itself: `observations` has what the recording shows of it, in order; `attempt` is a state
of the model that explains a beginning of that, `moves` are the choices from there; `search` looks for one that explains
all.
`merge` puts the runs of the servers together into one schedule, and `conform` says the verdict. `story` tells where a
recording, or servers that execute a run, differ from the model: a page to step through.
The other way round, `on_servers` makes a schedule for real servers of a run of the model: `by_vote` gives it elections
as servers have them, `held_threads` holds their threads between turns.
`gate` says what executions of a patched ZooKeeper come to, conformance included.
"""
