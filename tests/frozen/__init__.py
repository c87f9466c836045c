"""Hashes of what a change of the code's shape must not change: `hashes.json`, and what makes it.

    python -m tests.frozen                    compare all that is made by default: some 40 CPU seconds
    python -m tests.frozen swarm/ladis kept   compare the items whose names begin so
    python -m tests.frozen --all              also compare what costs more
    python -m tests.frozen --write [ITEM…]    write these hashes anew, or all that are made by default
    python -m tests.frozen --show DIR [ITEM…] also write what is hashed to a folder, to compare two of them

On demand only: `more` (some 130 CPU seconds), `docs` (some 55, most in processes of their own) and `spark` (a Java).

It prints each difference by the item's name; the exit code is 1 if there is one. An item ends in `/words` if its hash
is that of sentences for readers: summaries, statements, messages, pages. All others are of data: verdicts, numbers,
names, traces, schedules and formats. CPU seconds, and the names of folders and of our modules, are left out of both.
"""
