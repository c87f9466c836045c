"""The journal of a search: which entries of its tables were filled, in which order.

A component gets its number when it is first made, so numbers depend on that order alone: tables that are filled by the
same journal have the same numbers. A journal is enough to make the tables again, and much smaller than they are.
"""

from typing import Any, Literal, NoReturn

Table = Literal[
    "parts",
    "acts",
    "singles",
    "local states",
    "local states renamed",
    "monitors",
    "monitors renamed",
    "kinds",
    "levels",
    "again",
    "executed",
    "unread",
    "events renamed",
    "judged",
]
"""A table, by what it gives; and what is done at the end of each level, or when a search begins again.

The last four are parts of others. They are in the journal if the search has made them to take over what a worker has
filled in (`merging`).
"""

Key = tuple[int | tuple[int, ...], ...]
"""What was looked up: the arguments of the function that fills in the entry."""

Journal = list[tuple[Table, Key]]
"""An entry is written before it is filled in. Entries that this fills in as well come after it."""


class NotInTable(Exception):
    """An entry was looked up that is not in a table, and the table must not be filled."""


class Closed(Journal):
    """The journal of tables that must not be filled."""

    def append(self, entry: object) -> NoReturn:
        """Raise NotInTable: the entry that is about to be filled in is missing."""
        raise NotInTable

    def extend(self, entries: object) -> NoReturn:
        """Raise NotInTable, as `append`."""
        raise NotInTable


FilledIn = tuple[str, tuple[Any, ...], Any]
"""A table (of those above, or "linked"), a key, and what was filled in there. It comes after all that it is made of."""
