"""Stored traces, judged on Spark: `checking` does it all, `properties` has the six properties.

The way: `stored` reads the traces, `facts` counts what is in each run, `properties` sends each run to `on_a_path`,
`forked` or `streamed`, and the result has the columns of `verdicts`.
"""
