"""The promises of ZooKeeper to its clients, and their check on a history: what clients asked, and were told.

`history` has the records and the JSON Lines, `forms` the other files (`parquet`, `edn`). `exchange` pairs requests with
answers, and `tree` has of each node what is known of it. Each promise (`promise`) is a function of these two: `orders`
(with zxids; `registers` and `lists` without), `values`, `children`, `lives`, `watches`. `judge` applies them all;
`minimise`, `words` and `picture` make of a broken one the least history that breaks it, and show it.

`screen` looks at the same history in columns, many records at once. It proves nothing: where a promise may be broken,
the judge reads the history again. `division` judges in parts, so that no process, on Spark or here, needs all of it.

`recorder` and `proxy` make histories of a service, `conversation` of what passes on a connection; `disturbance` is what
happens to the servers meanwhile.
"""
