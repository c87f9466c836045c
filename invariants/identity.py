"""What a judge still needs to know of a trace: two judges with one identity say the same of every continuation.

An exhaustive search meets the same state of a protocol after different traces, and may take them for one if the
properties need not tell them apart either. So the identity is all that a judge remembers, but for what it only counts
(how often a property was judged; whether it ever was stays in it), and for who is named in a witness.
"""

from collections.abc import Hashable, Mapping
from enum import Enum
from typing import Any

from msgspec import Struct

from invariants.base import Invariant, Judge
from invariants.chain import Chain
from invariants.quorums import Quorums
from invariants.record import Record, Sent

_COUNTED = frozenset(
    [
        "accepts",
        "acks",
        "adopts",
        "actors",
        "cases",
        "changes",
        "deliveries",
        "established",
        "pairs",
        "repeats",
        "restores",
        "starts",
    ]
)
"""Numbers that only grow, of which nothing but whether they are 0 matters to a verdict."""
_PASSED_OVER = frozenset(("record", "order", "quorums", "budget", "new_links", "new_sents", "new_positions"))
"""Links to what has an identity of its own, and what is the same for a whole search."""


def identity(judge: Judge) -> Hashable:
    """Of what `judge` has observed. O(what it remembers). Only while nothing is broken: after that, nothing is told."""
    return (_record(judge.record), *(_invariant(each) for each in judge.invariants))


def _record(record: Record) -> Hashable:
    kept = _kept(record)
    kept["_left"] = frozenset(record._left)  # where sequences ended; by whom is a matter of witnesses
    return _content(kept)


def _invariant(invariant: Invariant) -> Hashable:
    kept = _kept(invariant)
    if not isinstance(kept.get("least"), Mapping):
        kept.pop("least", None)  # which violation is the least; where several are kept, they are what is on record
    return _content(kept)


def _kept(remembers: object) -> dict[str, Any]:
    return {name: value for name, value in vars(remembers).items() if name not in _PASSED_OVER}


def _content(value: Any) -> Hashable:
    """`value` as something that can be hashed, and is equal for what is equal."""
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
            return frozenset(
                (_content(key), bool(item) if key in _COUNTED else _content(item)) for key, item in value.items()
            )
        case set() | frozenset():
            return frozenset(map(_content, value))
        case list() | tuple():
            return tuple(map(_content, value))
        case Struct():
            return type(value).__name__, tuple(_content(getattr(value, name)) for name in value.__struct_fields__)
        case _:
            slots = getattr(type(value), "__slots__", None) or vars(value)
            return type(value).__name__, tuple((name, _content(getattr(value, name))) for name in slots)
