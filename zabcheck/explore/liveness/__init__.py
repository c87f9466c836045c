"""Continuations of a state: a leader and a quorum are undisturbed (`undisturbed`), or all are left alone (`rests`)."""
