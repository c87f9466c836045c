"""The verdict on an ensemble's run: its faults, and the known issue that it looks like."""
