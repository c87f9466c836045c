"""The gate: a search with a stated budget, that a change has to pass. `configuration` says what, `checks` does it."""
