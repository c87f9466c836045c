"""What is recorded while an ensemble runs: the records, the folder with them, and the packets of one iteration."""
