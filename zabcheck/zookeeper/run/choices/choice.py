"""The base of all choices of an ensemble's schedule, and the roles by which servers are named in them."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal

from msgspec import Meta, Struct

if TYPE_CHECKING:
    from zabcheck.zookeeper.run.running import Running  # it loads the clients' library

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
    """True if each server needs the debug agent for it."""

    def words(self) -> str:
        """Describe the choice in one line."""
        raise NotImplementedError

    def apply(self, run: "Running") -> None:
        """Do it. Undone if it does not apply, or is not done to its end; EnsembleError if the ensemble fails."""
        raise NotImplementedError

    def plainer(self) -> Sequence["Choice"]:
        """Return choices that do less of the same, the plainest first, for shorter schedules."""
        return ()

    def refusal(self, zookeeper: str) -> str:
        """Return why servers of this version cannot do it, or ""."""
        return ""

    @property
    def roles(self) -> Iterator[tuple[str, Role]]:
        """Yield the fields that name a server, with the role that each names."""
        for field in ROLE_FIELDS:
            role: Role | None = getattr(self, field, None)
            if role is not None:
                yield field, role

    @property
    def at_points(self) -> tuple[tuple[Role, str], ...]:
        """Return the servers and named points (docs/zookeeper-points.md) at which it acts on a thread."""
        return ()

    @property
    def memory_fields(self) -> tuple[str, ...]:
        """Return the fields of a server's memory that it reads (docs/zookeeper-points.md#fields)."""
        return ()
