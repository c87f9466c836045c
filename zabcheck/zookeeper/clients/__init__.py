"""The promises of ZooKeeper to its clients, and their check on a history of requests, answers and events.

`history` defines the records and reads JSON Lines, `forms` the other files (`parquet`, `edn`). `exchange` pairs
requests with answers, and `tree` collects what is known of each node. Each promise (`promise`) is checked by a function
of these two: in `orders` (with zxids; `registers` and `lists` without), `values`, `children`, `lives`, `watches`.
`judge` applies them all; `minimise` finds the least history that breaks a promise; `words` and `picture` show it.

`screen` looks at the same history in columns, many records at once. It proves nothing: if a promise may be broken, the
judge reads the history again. `division` judges a history in parts, so that no process, on Spark or here, needs all of
it.

`recorder` and `proxy` record histories of a service, `conversation` the messages of one connection; `disturbance`
defines what is done to the servers meanwhile.
"""
