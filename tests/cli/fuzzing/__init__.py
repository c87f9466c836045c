"""Random input of every kind for the command: case NUMBER of a kind is the same everywhere.

Each case ends in a verdict, or in one line that says what is wrong, within a bound of CPU time.
"""
