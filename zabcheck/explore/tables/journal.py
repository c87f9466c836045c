"""The journal of a search: which entries of its tables were filled, in which order.

A component gets its number when it is first made, so numbers depend on that order alone: tables that are filled by the
same journal have the same numbers. A journal is enough to make the tables again, and much smaller than they are.
"""

from typing import Literal

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
]
"""A table, by its contents; or what is done at the end of each level, or when a search begins again."""

Key = tuple[int | tuple[int, ...], ...]
"""The arguments of the function that fills in the entry."""

Journal = list[tuple[Table, Key]]
"""An entry is written before it is filled in. Entries that this fills in as well come after it."""
