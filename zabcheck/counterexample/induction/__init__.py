"""A counterexample to induction as a drawing: a lane for each process, and what a step changes and breaks."""
