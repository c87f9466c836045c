"""The journal of a search: which entries of its tables were filled, in which order.

A part gets its number when it is first made, so numbers depend on that order alone: tables that are filled by the same
journal have the same numbers. That is enough to make them again, and much less than what is in them.
"""

from typing import Literal, NoReturn

Table = Literal["expansions", "singles", "links", "members renamed", "ghosts", "ghosts renamed", "kinds"]
"""A table, by what it gives."""

Key = tuple[int | tuple[int, ...], ...]
"""What was looked up: the arguments of the function that fills the table."""

Journal = list[tuple[Table, Key]]
"""An entry is written before it is filled. What that fills too comes after it, and is not filled again."""


class NotInTable(Exception):
    """Something was looked up that is not in a table, and the table must not be filled."""


class Closed(Journal):
    """The journal of tables that must not be filled."""

    def append(self, entry: object) -> NoReturn:
        """Called before an entry is filled."""
        raise NotInTable
