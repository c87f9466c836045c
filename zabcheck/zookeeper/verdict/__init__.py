"""What is said of a run of an ensemble: what is wrong, and which known issue it looks like."""
