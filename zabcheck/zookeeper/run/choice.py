"""What every choice of an ensemble's schedule has: how it is written as JSON, and how servers are named in it."""

from typing import Literal

from msgspec import Struct

ROLES = "ABCDEFG"
"""Those of the servers that vote, and then those of the observers."""
LEADER = "leader"

Role = Literal["A", "B", "C", "D", "E", "F", "G", "leader"]
ROLE_FIELDS = ("server", "sender", "receiver", "of", "to", "peer")
"""The fields of choices that name a server."""


class Choice(Struct, frozen=True, tag_field="choice", tag=str.lower, omit_defaults=True, forbid_unknown_fields=True):
    """Base of all choices; `choice` is the name of the kind in the JSON form."""


def roles_of(choice: Choice) -> list[Role]:
    """Return the roles that a choice names, in `ROLE_FIELDS`."""
    return [role for field in ROLE_FIELDS if (role := getattr(choice, field, None)) is not None]
