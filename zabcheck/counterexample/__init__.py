"""A counterexample: the story of a run, what precedes what in it, and which step decided."""
