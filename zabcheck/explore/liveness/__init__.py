"""What a state comes to if a leader and a quorum are undisturbed (`undisturbed`), or all are left alone (`rests`)."""
