"""`python -m zabcheck`."""

import os
import sys

# Python has put the current folder first: a `csv.py` beside a trace would be imported in place of Python's own. This
# package is found by now, and has no other part outside of it, so the folder is not needed even in a checkout.
if not sys.flags.safe_path and sys.path[:1] == [os.getcwd()]:
    del sys.path[0]

from zabcheck.cli import main  # the path had to be put right first

main()
