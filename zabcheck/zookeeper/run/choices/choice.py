"""What every choice of an ensemble's schedule has: how it is written as JSON, and how servers are named in it."""

from collections.abc import Iterator
from typing import Annotated, ClassVar, Literal

from msgspec import Meta, Struct

Role = Literal["A", "B", "C", "D", "E", "F", "G", "leader"]
ROLES: tuple[Role, ...] = ("A", "B", "C", "D", "E", "F", "G")
"""The servers that vote, and then the observers."""
LEADER: Role = "leader"
ROLE_FIELDS = ("server", "sender", "receiver", "of", "to", "peer")
"""The fields of choices that name a server."""
Seconds = Annotated[float, Meta(ge=0, le=30)]
Size = Annotated[int, Meta(ge=0, le=900_000)]
"""Bytes in a node."""


class Choice(Struct, frozen=True, tag_field="choice", tag=str.lower, omit_defaults=True, forbid_unknown_fields=True):
    """Base of all choices; `choice` is the name of the kind in the JSON form."""

    needs_agent: ClassVar[bool] = False
    """Whether each server needs the debug agent for it."""

    @property
    def words(self) -> str:
        """Say the choice to a reader, in one line."""
        raise NotImplementedError

    @property
    def roles(self) -> Iterator[tuple[str, Role]]:
        """Yield the fields that name a server, with the role that each names."""
        for field in ROLE_FIELDS:
            role: Role | None = getattr(self, field, None)
            if role is not None:
                yield field, role

    @property
    def points(self) -> tuple[str, ...]:
        """Return the named points of threads at which it acts (docs/zookeeper-points.md)."""
        return ()

    @property
    def memory_fields(self) -> tuple[str, ...]:
        """Return the fields of a server's memory that it reads (docs/zookeeper-points.md#fields)."""
        return ()
