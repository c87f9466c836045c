"""`python -m zabcheck`."""

import os
import sys

# Python has put the current folder first: a `csv.py` beside a trace would be imported in place of Python's own.
# It stays where it is zabcheck's own, in a checkout: who can write there can change zabcheck itself.
if not sys.flags.safe_path and sys.path[:1] == [os.getcwd()] != [os.path.dirname(os.path.dirname(__file__))]:
    del sys.path[0]

from zabcheck.cli import main  # the path had to be put right first

main()
