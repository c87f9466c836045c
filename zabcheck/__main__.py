"""`python -m zabcheck`."""

from zabcheck.cli import main

main()
