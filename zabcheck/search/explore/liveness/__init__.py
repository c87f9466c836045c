"""What each state comes to if a leader and its quorum are undisturbed (`undisturbed`), or all are left alone (`rests`)."""
