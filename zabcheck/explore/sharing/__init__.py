"""How the states of a level are expanded, and by whom: by this process alone (`portions`), by several, or on Spark.

`workers` are forked for a level. Where states are in arrays, `dealing` tells who expands what, and `merging` takes over
what a worker fills in. Where they are not, the level is cut into slices (`slicing`).
"""
