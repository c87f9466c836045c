"""The content of an object in a form that can be hashed and is equal for equal objects."""

from collections.abc import Hashable, Mapping
from enum import Enum
from typing import Any

from msgspec import Struct

from zabcheck.invariants.chain import Chain
from zabcheck.invariants.quorums import Quorums
from zabcheck.invariants.record import Sent


def content(value: Any) -> Hashable:
    """Return the content of `value`, however deep. O(its size)."""
    match value:
        case None | bool() | int() | str() | Enum() | Chain():
            return value
        case Sent():
            before = None if value.previous is None else value.previous.txn
            had = None if value.delivered is None else value.delivered.hash
            return value.primary, value.txn, before, had, value.longest.hash, value.segment, value.rank
        case Quorums():
            return None
        case Mapping():
            return frozenset((content(key), content(item)) for key, item in value.items())
        case set() | frozenset():
            return frozenset(map(content, value))
        case list() | tuple():
            return tuple(map(content, value))
        case Struct():
            return type(value).__name__, tuple(content(getattr(value, name)) for name in value.__struct_fields__)
        case _:
            slots = getattr(type(value), "__slots__", None) or vars(value)
            return type(value).__name__, tuple((name, content(getattr(value, name))) for name in slots)
