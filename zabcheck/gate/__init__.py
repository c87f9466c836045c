"""The gate: a search with a stated budget that a change has to pass.

`configuration` says what a gate demands, `checks` checks it, `report` shows the result.
"""
