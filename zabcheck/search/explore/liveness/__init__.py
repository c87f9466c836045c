"""What each state comes to if nobody disturbs a leader, or if the ensemble is left alone."""
