"""The recording of an ensemble's run: its records, the folder with them, and the packets of one iteration."""
