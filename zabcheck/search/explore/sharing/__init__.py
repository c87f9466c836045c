"""How the states of a level are expanded, and by whom: a portion at a time, by several processes, on Spark."""
